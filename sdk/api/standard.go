package api

import "encoding/json"

// X402Version is the supported version of standard x402.
const X402Version = 2

// SchemeExact is the scheme of standard x402 for paying exactly the price with an authorization that the service settles.
const SchemeExact = "exact"

// StandardRequired is the payment request of standard x402.
type StandardRequired struct {
	X402Version int                          `json:"x402Version"`
	Error       string                       `json:"error"` // why, for people
	Resource    StandardResource             `json:"resource"`
	Accepts     []StandardAccept             `json:"accepts"`
	Extensions  map[string]StandardExtension `json:"extensions,omitempty"`
}

// SpendControls returns, as JSON, the setting spendControls with which clients of @x402 pay what r accepts. By default they pay
// only with the tokens of their built-in list.
func (r StandardRequired) SpendControls() string {
	type asset struct {
		Network string `json:"network"`
		Asset   string `json:"asset"`
	}
	var controls struct {
		AllowedAssets []asset `json:"allowedAssets"`
	}
	for _, a := range r.Accepts {
		controls.AllowedAssets = append(controls.AllowedAssets, asset{a.Network, a.Asset})
	}
	text, _ := json.Marshal(controls) // texts can always be written
	return string(text)
}

// StandardResource is the resource to pay for.
type StandardResource struct {
	URL         string   `json:"url"`
	Description string   `json:"description,omitempty"`
	MimeType    string   `json:"mimeType,omitempty"`
	ServiceName string   `json:"serviceName,omitempty"`
	Tags        []string `json:"tags,omitempty"` // words to find it by
}

// StandardAccept is one way to pay.
type StandardAccept struct {
	Scheme            string        `json:"scheme"`            // SchemeExact
	Network           string        `json:"network"`           // CAIP-2, such as eip155:4663
	Amount            string        `json:"amount"`            // of the token's smallest unit
	Asset             string        `json:"asset"`             // address of the token
	PayTo             string        `json:"payTo"`             // address of the treasury
	MaxTimeoutSeconds int           `json:"maxTimeoutSeconds"` // validity of an authorization
	Extra             StandardExtra `json:"extra"`
}

// StandardExtra holds the values a wallet needs for signing.
type StandardExtra struct {
	Name                string `json:"name"` // of the token's signing domain
	Version             string `json:"version"`
	AssetTransferMethod string `json:"assetTransferMethod"`
}

// StandardExtension is an extension of x402 that the service supports.
type StandardExtension struct {
	Info   map[string]any `json:"info"`
	Schema map[string]any `json:"schema"`

	SupportedChains []SupportedChain `json:"supportedChains,omitempty"` // of ExtensionSignIn
}

// ExtensionSignIn is the extension of standard x402 by which wallets sign in instead of paying again.
const ExtensionSignIn = "sign-in-with-x"

// SupportedChain is a chain whose wallets can sign in.
type SupportedChain struct {
	ChainID string `json:"chainId"` // CAIP-2
	Type    string `json:"type"`
}

// StandardReceipt is the outcome of a payment by standard x402.
type StandardReceipt struct {
	Success     bool           `json:"success"`
	ErrorReason StandardReason `json:"errorReason,omitempty"`
	Transaction string         `json:"transaction"` // 0x and 64 hexadecimal digits; "" where nothing was settled
	Network     string         `json:"network"`
	Payer       string         `json:"payer,omitempty"`

	Extensions ReceiptExtensions `json:"extensions,omitzero"`
}

// ReceiptExtensions are the service's additions to a receipt.
type ReceiptExtensions struct {
	Proof  Proof           `json:"contextProof,omitzero"`  // the leaf that proves what was paid for
	Signed ReceiptEnvelope `json:"offer-receipt,omitzero"` // the receipt as the service has signed it
}

// ReceiptEnvelope is what the extension ExtensionReceipt has in a receipt.
type ReceiptEnvelope struct {
	Info ReceiptInfo `json:"info"`
}

// ReceiptInfo is the info of a ReceiptEnvelope.
type ReceiptInfo struct {
	Receipt SignedReceipt `json:"receipt"`
}

// StandardReason is a word of standard x402 for why a payment was refused. Services may send others.
type StandardReason string

// The words of the specification, section 9, that a service sends which settles by the scheme exact.
const (
	StandardNoFunds      StandardReason = "insufficient_funds"
	StandardVersion      StandardReason = "invalid_x402_version"
	StandardScheme       StandardReason = "unsupported_scheme"
	StandardNetwork      StandardReason = "invalid_network"
	StandardPayload      StandardReason = "invalid_payload"
	StandardRequirements StandardReason = "invalid_payment_requirements"
	StandardState        StandardReason = "invalid_transaction_state"
	StandardValue        StandardReason = "invalid_exact_evm_payload_authorization_value_mismatch"
	StandardValidAfter   StandardReason = "invalid_exact_evm_payload_authorization_valid_after"
	StandardValidBefore  StandardReason = "invalid_exact_evm_payload_authorization_valid_before"
	StandardRecipient    StandardReason = "invalid_exact_evm_payload_recipient_mismatch"
	StandardSignature    StandardReason = "invalid_exact_evm_payload_signature"
	StandardUnverified   StandardReason = "unexpected_verify_error"
	StandardUnsettled    StandardReason = "unexpected_settle_error"
)

// Standard is the word of standard x402 for r. What is no fault of the payment is an unexpected error: the body says which.
func (r Reason) Standard() StandardReason {
	switch r {
	case ReasonNoFunds:
		return StandardNoFunds
	case ReasonAmountMismatch:
		return StandardValue
	case ReasonWrongRecipient:
		return StandardRecipient
	case ReasonBadSignature:
		return StandardSignature
	case ReasonExpired, ReasonExpiresTooLate:
		return StandardValidBefore
	case ReasonNotYetValid:
		return StandardValidAfter
	case ReasonWrongNetwork:
		return StandardNetwork
	case ReasonWrongToken:
		return StandardRequirements
	case ReasonAlreadyUsed, ReasonAuthUsed, ReasonUnsettled:
		return StandardState
	case ReasonMalformedProof, ReasonPayerMismatch, ReasonIDConflict:
		return StandardPayload
	case ReasonSettling:
		return StandardUnsettled
	}
	return StandardUnverified
}

// Meaning says what w means, for people; "" where it is no word of the specification.
func (w StandardReason) Meaning() string {
	switch w {
	case StandardNoFunds:
		return "the wallet has not enough of the token"
	case StandardVersion, StandardScheme, "invalid_scheme":
		return "the service speaks another version or scheme of x402"
	case StandardNetwork:
		return "the service is not paid on this network"
	case StandardPayload, "invalid_payment":
		return "the service cannot read the payment"
	case StandardRequirements:
		return "the service does not ask for what was paid"
	case StandardState:
		return "the authorization was used before, or the token refused it"
	case StandardValue, "invalid_exact_evm_payload_authorization_value":
		return "the amount is not that which the service asks for"
	case StandardValidAfter:
		return "the authorization does not hold yet: the clocks differ"
	case StandardValidBefore:
		return "the authorization holds no longer, or not for long enough"
	case StandardRecipient:
		return "the service is paid at another address"
	case StandardSignature:
		return "the service does not take the signature"
	case StandardUnverified, StandardUnsettled:
		return "the service failed to check or settle it"
	}
	return ""
}
