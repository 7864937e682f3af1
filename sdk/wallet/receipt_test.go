package wallet_test

import (
	"strings"
	"testing"

	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/sdk/wallet"
)

// The key of the vectors is the first of Anvil's, which everybody knows.
const vectorSigner = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"

func vectorOffer() api.SignedOffer {
	return api.SignedOffer{Format: "eip712", Payload: api.OfferPayload{
		Version: 1, ResourceURL: "https://example.com/v1/fresh?pack=crypto", Scheme: "exact", Network: "eip155:4663",
		Asset: "0x5fc5360D0400a0Fd4f2af552ADD042D716F1d168", PayTo: "0x" + strings.Repeat("11", 20), Amount: "1000", ValidUntil: 4102444800,
	}, Signature: "0xc9afc4463a8d0a0e8af5e94e564b447d8c50c9427640e21f1bcc5236302ea9" +
		"ba5e4d5cb78239a3690e40c0d8ab1ffc47ea58d4d26618fb4a82c26f8a5aa23ec41b"}
}

func vectorReceipt() api.SignedReceipt {
	return api.SignedReceipt{Format: "eip712", Payload: api.ReceiptPayload{
		Version: 1, Network: "eip155:4663", ResourceURL: "https://example.com/v1/fresh?pack=crypto", Payer: "0x" + strings.Repeat("22", 20),
		IssuedAt: 1795309079, Transaction: "0x" + strings.Repeat("ab", 32),
	}, Signature: "0x85397e3bb2307d78e5c1ab2200f208f80aba46be912cdc03a4fabc0ece310f77" +
		"23db3b9aaca37274502bf0d7d7cfb9519b223ba52bad037d40ebc63955e3647d1c"}
}

// TestSigned has the vectors of signed offers and receipts, and each of them with one thing that differs: then it is of nobody, or of
// somebody else. Neither is the other.
func TestSigned(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*api.SignedOffer){
		"": func(*api.SignedOffer) {}, "url": func(o *api.SignedOffer) { o.Payload.ResourceURL += "x" },
		"scheme":  func(o *api.SignedOffer) { o.Payload.Scheme = "upto" },
		"network": func(o *api.SignedOffer) { o.Payload.Network = "eip155:8453" },
		"asset":   func(o *api.SignedOffer) { o.Payload.Asset = o.Payload.PayTo },
		"payTo":   func(o *api.SignedOffer) { o.Payload.PayTo = "" },
		"amount":  func(o *api.SignedOffer) { o.Payload.Amount = "1001" }, "end": func(o *api.SignedOffer) { o.Payload.ValidUntil = 0 },
		"format": func(o *api.SignedOffer) { o.Format = "jws" }, "version": func(o *api.SignedOffer) { o.Payload.Version = 2 },
		"signature":   func(o *api.SignedOffer) { o.Signature = o.Signature[:130] + "1c" },
		"cut":         func(o *api.SignedOffer) { o.Signature = o.Signature[:130] },
		"a receipt's": func(o *api.SignedOffer) { o.Signature = vectorReceipt().Signature },
		"the curve's": func(o *api.SignedOffer) { o.Signature = o.Signature[:130] + "00" },
	} {
		o := vectorOffer()
		change(&o)
		if signer, err := wallet.SignerOfOffer(o); (signer == vectorSigner) != (name == "") || (err == nil) != (signer != "") {
			t.Errorf("an offer with another %s is of %q, %v", name, signer, err)
		}
	}
	for name, change := range map[string]func(*api.SignedReceipt){
		"": func(*api.SignedReceipt) {}, "url": func(r *api.SignedReceipt) { r.Payload.ResourceURL += "x" },
		"network": func(r *api.SignedReceipt) { r.Payload.Network = "eip155:8453" },
		"payer":   func(r *api.SignedReceipt) { r.Payload.Payer = "0x" + strings.Repeat("23", 20) },
		"nobody":  func(r *api.SignedReceipt) { r.Payload.Payer = "" }, "time": func(r *api.SignedReceipt) { r.Payload.IssuedAt++ },
		"negative time": func(r *api.SignedReceipt) { r.Payload.IssuedAt = -1 },
		"transaction":   func(r *api.SignedReceipt) { r.Payload.Transaction = "" },
		"format":        func(r *api.SignedReceipt) { r.Format = "" }, "version": func(r *api.SignedReceipt) { r.Payload.Version = 0 },
		"an offer's": func(r *api.SignedReceipt) { r.Signature = vectorOffer().Signature },
	} {
		r := vectorReceipt()
		change(&r)
		if signer, err := wallet.SignerOfReceipt(r); (signer == vectorSigner) != (name == "") || (err == nil) != (signer != "") {
			t.Errorf("a receipt with another %s is of %q, %v", name, signer, err)
		}
	}
}
