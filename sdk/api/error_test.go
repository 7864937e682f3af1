package api_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/sdk/api"
)

// answers is the table of the decisions, §1, in its order. There missing_token occurs twice; the reason alone means the row of
// subscribe, and the MCP transport's own 401 is built where it is answered.
const answers = `
400 VALIDATION_ERROR    invalid_at
400 VALIDATION_ERROR    invalid_ref
400 VALIDATION_ERROR    invalid_q invalid_k
400 VALIDATION_ERROR    missing_token
400 VALIDATION_ERROR    invalid_request
400 PAYMENT_INVALID     malformed_proof payments_disabled
401 AUTH_MISSING        missing_session
401 AUTH_INVALID        invalid_token invalid_session
401 AUTH_INVALID        key_revoked
401 AUTH_INVALID        invalid_signin
402 PAYMENT_REQUIRED    payment_required
400 VALIDATION_ERROR    invalid_kind invalid_limit invalid_since invalid_min invalid_path invalid_field
400 VALIDATION_ERROR    invalid_points invalid_span invalid_members invalid_row invalid_range invalid_every
400 VALIDATION_ERROR    invalid_table invalid_where invalid_order invalid_agg invalid_over invalid_text
400 VALIDATION_ERROR    invalid_type invalid_arguments invalid_delivery callback_refused
402 PAYMENT_REQUIRED    insufficient_credits
402 PAYMENT_INVALID     amount_mismatch wrong_recipient wrong_token wrong_network payer_mismatch nonce_mismatch
402 PAYMENT_INVALID     tx_failed quote_expired already_used
402 PAYMENT_INVALID     invalid_signature not_yet_valid expired expires_too_late insufficient_funds authorization_used settlement_failed
409 PAYMENT_INVALID     identifier_conflict
403 PACK_NOT_SUBSCRIBED pack_access_denied
403 AUTH_INVALID        cross_origin
403 AUTH_INVALID        reauthentication_required signup_closed owner_disabled insufficient_scope
404 PACK_NOT_FOUND      pack_not_found
404 SNAPSHOT_NOT_FOUND  snapshot_not_found
404 CITATION_NOT_FOUND  citation_not_found
404 VALIDATION_ERROR    nothing_found not_found watch_not_found deposit_not_found key_not_found
405 VALIDATION_ERROR    method_not_allowed
429 QUOTA_EXHAUSTED     quota_exhausted daily_credits_spent
429 RATE_LIMITED        rate_limited too_many_watches
500 INTERNAL_ERROR      internal_error
503 UPSTREAM_ERROR      state_unavailable brief_unavailable
503 UPSTREAM_TIMEOUT    payment_pending settlement_pending chain_unavailable
`

// codes is the enumeration of the specification, §7.
const codes = `AUTH_MISSING AUTH_INVALID QUOTA_EXHAUSTED PACK_NOT_FOUND PACK_NOT_SUBSCRIBED SNAPSHOT_NOT_FOUND CITATION_NOT_FOUND
PAYMENT_REQUIRED PAYMENT_INVALID UPSTREAM_TIMEOUT UPSTREAM_ERROR VALIDATION_ERROR RATE_LIMITED INTERNAL_ERROR`

func TestReasonsAnswerAsDecided(t *testing.T) {
	t.Parallel()
	var reasons []api.Reason
	used := map[api.Code]bool{}
	for line := range strings.Lines(strings.TrimSpace(answers)) {
		fields := strings.Fields(line)
		for _, f := range fields[2:] {
			reason := api.Reason(f)
			reasons = append(reasons, reason)
			code, status := reason.Answer()
			used[code] = true
			if string(code) != fields[1] || fmt.Sprint(status) != fields[0] {
				t.Errorf("%s answers %d %s, want %s %s", reason, status, code, fields[0], fields[1])
			}
		}
	}
	same(t, "reasons", slices.Sorted(slices.Values(api.Reasons())), slices.Sorted(slices.Values(reasons)))
	for _, code := range api.Codes() {
		if !used[code] {
			t.Errorf("no reason answers with %s", code)
		}
	}
	if code, status := api.Reason("nonsense").Answer(); code != api.CodeInternal || status != 500 {
		t.Errorf("an unknown reason answers %d %s, want 500 INTERNAL_ERROR", status, code)
	}
}

func TestCodes(t *testing.T) {
	t.Parallel()
	var want []api.Code
	for _, c := range strings.Fields(codes) {
		want = append(want, api.Code(c))
	}
	same(t, "codes", api.Codes(), want)
}

func TestErrorf(t *testing.T) {
	t.Parallel()
	got := api.Errorf(api.ReasonInvalidK, "k is %d", 51).WithHint("use 1 to %d", 50).WithStatus(413).WithRetryAfter(time.Minute)
	if got.Code != "VALIDATION_ERROR" || got.Reason != "invalid_k" || got.Message != "k is 51" || got.Hint != "use 1 to 50" ||
		got.Status != 413 || got.RetryAfter != time.Minute {
		t.Errorf("made %+v", got)
	}
	if status := api.Errorf(api.ReasonQuotaExhausted, "").Status; status != 429 {
		t.Errorf("status without WithStatus is %d, want that of the reason, 429", status)
	}
	for want, err := range map[string]*api.Error{
		"invalid_k: k is 51":   got,
		"invalid_at":           api.Errorf(api.ReasonInvalidAt, ""),
		"RATE_LIMITED: slower": {Code: api.CodeRateLimited, Message: "slower"},
		"INTERNAL_ERROR":       {Code: api.CodeInternal},
	} {
		if err.Error() != want {
			t.Errorf("text is %q, want %q", err.Error(), want)
		}
	}
}

func TestErrorIs(t *testing.T) {
	t.Parallel()
	err := fmt.Errorf("call fresh: %w", api.Errorf(api.ReasonKeyRevoked, "gone"))
	for _, c := range []struct {
		target error
		want   bool
	}{
		{&api.Error{Code: api.CodeAuthInvalid}, true},
		{&api.Error{Reason: api.ReasonKeyRevoked}, true},
		{&api.Error{Code: api.CodeAuthInvalid, Reason: api.ReasonKeyRevoked}, true},
		{&api.Error{Code: api.CodeAuthInvalid, Reason: api.ReasonInvalidToken}, false},
		{&api.Error{Code: api.CodeAuthMissing, Reason: api.ReasonKeyRevoked}, false},
		{&api.Error{Code: api.CodeAuthMissing}, false},
		{&api.Error{}, false},
		{&api.Error{Status: 401}, false},
		{io.EOF, false},
	} {
		if got := errors.Is(err, c.target); got != c.want {
			t.Errorf("errors.Is(err, %+v) = %v, want %v", c.target, got, c.want)
		}
	}
}

func TestAsErrorHidesTheCause(t *testing.T) {
	t.Parallel()
	quota := api.Errorf(api.ReasonQuotaExhausted, "100 calls").WithRetryAfter(time.Hour)
	if got := api.AsError(fmt.Errorf("charge: %w", quota)); got != quota {
		t.Errorf("got %+v, want the error in the chain", got)
	}
	got := api.AsError(errors.New("open /secret/contextd.db: disk I/O error"))
	if got.Code != api.CodeInternal || got.Reason != api.ReasonInternal || got.Status != 500 {
		t.Errorf("an unknown error became %+v", got)
	}
	wire, err := json.Marshal(api.ErrorBody{Error: got})
	if err != nil {
		t.Fatal(err)
	}
	if s := string(wire) + got.Error(); strings.Contains(s, "secret") || strings.Contains(s, "disk") {
		t.Errorf("the cause reaches the client: %s", s)
	}
	if got.Message == "" || got.Hint == "" {
		t.Errorf("an internal error says nothing: %+v", got)
	}
	for away, want := range map[outOfReach]api.Reason{true: api.ReasonStateUnavailable, false: api.ReasonInternal} {
		got := api.AsError(fmt.Errorf("charge: %w", away))
		if got.Reason != want || (got.RetryAfter > 0) != bool(away) || strings.Contains(got.Error(), "secret") || got.Hint == "" {
			t.Errorf("a server that is out of reach, %t: %+v", away, got)
		}
	}
}

// outOfReach is the error of a server that is or is not.
type outOfReach bool

func (outOfReach) Error() string       { return "dial /secret" }
func (o outOfReach) Unavailable() bool { return bool(o) }

func TestErrorBody(t *testing.T) {
	t.Parallel()
	quote := &api.PaymentRequirements{
		Scheme: "x402", Network: "l2chain", Asset: "USDG", Amount: "0.001", Recipient: "0x" + strings.Repeat("ab", 20),
		ValidUntil: 1767225900, Nonce: "0x" + strings.Repeat("cd", 32),
	}
	full := api.Errorf(api.ReasonPaymentRequired, "pay first").WithHint("send a key").WithRetryAfter(time.Second)
	full.RequestID, full.Payment = "7f8c6a1e-0000-4000-8000-000000000000", quote
	for _, c := range []struct {
		body api.ErrorBody
		want string
	}{
		{api.ErrorBody{Error: full, Payment: quote}, `{"error":{"code":"PAYMENT_REQUIRED","reason":"payment_required",` +
			`"message":"pay first","hint":"send a key","requestId":"7f8c6a1e-0000-4000-8000-000000000000"},` +
			`"payment":{"scheme":"x402","network":"l2chain","asset":"USDG","amount":"0.001","recipient":"0x` + strings.Repeat("ab", 20) +
			`","validUntil":1767225900,"nonce":"0x` + strings.Repeat("cd", 32) + `"}}`},
		{api.ErrorBody{Error: &api.Error{Code: "INTERNAL_ERROR"}}, `{"error":{"code":"INTERNAL_ERROR","message":"","requestId":""}}`},
	} {
		got, err := json.Marshal(c.body)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != c.want {
			t.Errorf("encoded\n%s, want\n%s", got, c.want)
		}
		var back api.ErrorBody
		if err := json.Unmarshal(got, &back); err != nil {
			t.Fatal(err)
		}
		again, err := json.Marshal(back)
		if err != nil {
			t.Fatal(err)
		}
		if string(again) != c.want || !errors.Is(back.Error, &api.Error{Code: c.body.Error.Code, Reason: c.body.Error.Reason}) {
			t.Errorf("decoded %+v, which encodes as %s", back.Error, again)
		}
	}
}
