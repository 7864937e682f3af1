package api

import "encoding/hex"

// PaymentRequirements is the quote of a call.
type PaymentRequirements struct {
	Scheme     string `json:"scheme"`     // SchemeX402
	Network    string `json:"network"`    // NetworkL2
	Asset      string `json:"asset"`      // AssetUSDG
	Amount     string `json:"amount"`     // USDG in shortest decimal text; the transfer must be exactly this
	Recipient  string `json:"recipient"`  // the treasury, 0x and 40 hex digits
	ValidUntil int64  `json:"validUntil"` // Unix seconds; the block's time decides
	Nonce      string `json:"nonce"`      // 0x and 64 hex digits, appended to the transfer's calldata

	// These extend the contract so that a quote alone suffices to pay; a service can leave them out.
	ChainID  int64  `json:"chainId,omitempty"`  // of the chain
	Token    string `json:"token,omitempty"`    // address of the contract of Asset
	Decimals int    `json:"decimals,omitempty"` // of Token
}

// PaymentProof is the content of the HeaderPayment header, encoded as base64 JSON.
type PaymentProof struct {
	Scheme    string `json:"scheme"`
	Network   string `json:"network"`
	TxHash    string `json:"txHash"`
	Payer     string `json:"payer"`
	Signature string `json:"signature,omitempty"` // EIP-191 by the payer, of ProofText; where it was present, repetitions need it
}

// ProofText is the text of the signature in a proof, which shows that it is the payer's. The nonce, as it is in the quote, identifies the
// request.
func ProofText(txHash [32]byte, nonce string) string {
	return "contextd payment\ntransaction: 0x" + hex.EncodeToString(txHash[:]) + "\nnonce: " + nonce
}
