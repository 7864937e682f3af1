package api

// ExtensionReceipt is the extension of standard x402 by which offers and receipts are signed.
const ExtensionReceipt = "offer-receipt"

// FormatEIP712 is the format of offers and receipts that are signed by EIP-712.
const FormatEIP712 = "eip712"

// ReceiptVersion is the version of what is signed.
const ReceiptVersion = 1

// OfferPayload is what is signed of an offer.
type OfferPayload struct {
	Version     int    `json:"version"`
	ResourceURL string `json:"resourceUrl"`
	Scheme      string `json:"scheme"`
	Network     string `json:"network"`
	Asset       string `json:"asset"`
	PayTo       string `json:"payTo"`
	Amount      string `json:"amount"`
	ValidUntil  int64  `json:"validUntil,omitempty"` // seconds since 1970; 0 where it does not say
}

// SignedOffer is an offer, and who has signed it.
type SignedOffer struct {
	Format      string       `json:"format"` // FormatEIP712
	AcceptIndex int          `json:"acceptIndex"`
	Payload     OfferPayload `json:"payload"`
	Signature   string       `json:"signature"` // 0x and 65 bytes in hexadecimal
}

// ReceiptPayload is what is signed of a receipt: that the payer has paid for the resource, and was answered.
type ReceiptPayload struct {
	Version     int    `json:"version"`
	Network     string `json:"network"`
	ResourceURL string `json:"resourceUrl"`
	Payer       string `json:"payer"`
	IssuedAt    int64  `json:"issuedAt"`              // seconds since 1970
	Transaction string `json:"transaction,omitempty"` // "" where it does not say
}

// SignedReceipt is a receipt, and who has signed it.
type SignedReceipt struct {
	Format    string         `json:"format"` // FormatEIP712
	Payload   ReceiptPayload `json:"payload"`
	Signature string         `json:"signature"` // 0x and 65 bytes in hexadecimal
}

// DIDDocument says with which keys a service signs offers and receipts. It is at PathDID of the service's host.
type DIDDocument struct {
	Context            []string    `json:"@context"`
	ID                 string      `json:"id"` // did:web of the host
	VerificationMethod []DIDMethod `json:"verificationMethod"`
	AssertionMethod    []string    `json:"assertionMethod"`
}

// DIDMethod is a key of a DIDDocument.
type DIDMethod struct {
	ID                  string `json:"id"`
	Type                string `json:"type"`
	Controller          string `json:"controller"`
	BlockchainAccountID string `json:"blockchainAccountId"` // CAIP-10: the chain id of the signing domain, and the address
}
