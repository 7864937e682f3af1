package api_test

import (
	"strings"
	"testing"

	"github.com/contextd/contextd/sdk/api"
)

// TestStandardReasons says every reason in a word of the specification, and each of these to people. Those of a payment are not the
// unexpected one, which tells clients nothing.
func TestStandardReasons(t *testing.T) {
	t.Parallel()
	for _, r := range api.Reasons() {
		word := r.Standard()
		if word.Meaning() == "" {
			t.Errorf("%s is %q, of which there is no meaning", r, word)
		}
		ofTransfers := r == api.ReasonNonceMismatch || r == api.ReasonTxFailed || r == api.ReasonQuoteExpired
		code, status := r.Answer()
		if code == api.CodePaymentInvalid && status == 402 && !ofTransfers && strings.HasPrefix(string(word), "unexpected") {
			t.Errorf("%s is %s", r, word)
		}
	}
	for r, want := range map[api.Reason]api.StandardReason{
		api.ReasonAmountMismatch: "invalid_exact_evm_payload_authorization_value_mismatch",
		api.ReasonWrongRecipient: "invalid_exact_evm_payload_recipient_mismatch",
		api.ReasonBadSignature:   "invalid_exact_evm_payload_signature",
		api.ReasonExpired:        "invalid_exact_evm_payload_authorization_valid_before",
		api.ReasonNotYetValid:    "invalid_exact_evm_payload_authorization_valid_after",
		api.ReasonWrongNetwork:   "invalid_network", api.ReasonWrongToken: "invalid_payment_requirements",
		api.ReasonAlreadyUsed: "invalid_transaction_state", api.ReasonNoFunds: "insufficient_funds",
		api.ReasonMalformedProof: "invalid_payload", api.ReasonSettling: "unexpected_settle_error", "unheard of": "unexpected_verify_error",
	} {
		if got := r.Standard(); got != want {
			t.Errorf("%s is %s, want %s", r, got, want)
		}
	}
	if text := api.StandardReason("word_of_theirs").Meaning(); text != "" {
		t.Errorf("another word means %q", text)
	}
}
