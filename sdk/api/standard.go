package api

// X402Version is the version of standard x402 that is spoken beside the dialect of the contract.
const X402Version = 2

// SchemeExact is the scheme of standard x402 by which exactly the price is paid, by an authorization that the service settles.
const SchemeExact = "exact"

// StandardRequired is how standard x402 asks for a payment.
type StandardRequired struct {
	X402Version int                          `json:"x402Version"`
	Error       string                       `json:"error"` // why, for people
	Resource    StandardResource             `json:"resource"`
	Accepts     []StandardAccept             `json:"accepts"`
	Extensions  map[string]StandardExtension `json:"extensions,omitempty"`
}

// StandardResource is what is paid for.
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
	MaxTimeoutSeconds int           `json:"maxTimeoutSeconds"` // for which an authorization should hold
	Extra             StandardExtra `json:"extra"`
}

// StandardExtra is what a wallet signs with.
type StandardExtra struct {
	Name                string `json:"name"` // of the token's signing domain
	Version             string `json:"version"`
	AssetTransferMethod string `json:"assetTransferMethod"`
}

// StandardExtension is an extension of x402 that the service knows.
type StandardExtension struct {
	Info   map[string]any `json:"info"`
	Schema map[string]any `json:"schema"`
}

// StandardReceipt is what became of a payment by standard x402.
type StandardReceipt struct {
	Success     bool   `json:"success"`
	ErrorReason Reason `json:"errorReason,omitempty"`
	Transaction string `json:"transaction"` // 0x and 64 hexadecimal digits; "" where nothing was settled
	Network     string `json:"network"`
	Payer       string `json:"payer,omitempty"`

	Extensions ReceiptExtensions `json:"extensions,omitzero"`
}

// ReceiptExtensions are what a service says in a receipt beside what the standard does.
type ReceiptExtensions struct {
	Proof Proof `json:"contextProof,omitzero"` // the leaf that proves what was paid for
}
