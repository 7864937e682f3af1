package wallet_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"

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

// highS is the other signature that a key has made with one.
func highS(signature string) string {
	raw := common.FromHex(signature)
	new(big.Int).Sub(crypto.S256().Params().N, new(big.Int).SetBytes(raw[32:64])).FillBytes(raw[32:64])
	raw[64] = 27 + 28 - raw[64]
	return "0x" + hex.EncodeToString(raw)
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
		"high s":      func(o *api.SignedOffer) { o.Signature = highS(o.Signature) },
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

// TestDigests has the digests of the vectors, also without what may be missing.
func TestDigests(t *testing.T) {
	t.Parallel()
	offer, receipt := vectorOffer().Payload, vectorReceipt().Payload
	endless, untold := offer, receipt
	endless.ValidUntil, untold.Transaction = 0, ""
	for want, got := range map[string][]byte{
		"4d7984f419582125ee6aab26aef7b43162371b3a8ad4a6b5f970f53d66799453": wallet.OfferDigest(offer),
		"1e5040236a863c9f57b2f9c87163a118b105307bc417c1953bf86f83e35ff232": wallet.OfferDigest(endless),
		"4ecab7f81fb2786b4a06759667251baaec8275f8a649a2b5cbae627ce1c98117": wallet.ReceiptDigest(receipt),
		"a958280e9226af76da7ce45e5698c0b01b1ffd65715cd3b73d613fb177b6b913": wallet.ReceiptDigest(untold),
	} {
		if hex.EncodeToString(got) != want {
			t.Errorf("%x, want %s", got, want)
		}
	}
}

// bySeller is a signature of the key of the tests, which is in no service's document.
func bySeller(t *testing.T, digest []byte) string {
	t.Helper()
	key, err := crypto.ToECDSA(common.FromHex(sellerKey))
	if err != nil {
		t.Fatal(err)
	}
	signature, err := crypto.Sign(digest, key)
	if err != nil {
		t.Fatal(err)
	}
	signature[64] += 27
	return "0x" + hex.EncodeToString(signature)
}

// TestSignedOffersArePaid: an offer that is signed as it is made is paid, one that differs or that nobody has signed is not. What is of
// another way, or of another format, changes nothing.
func TestSignedOffersArePaid(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*api.SignedOffer){
		"": nil, "amount": func(o *api.SignedOffer) { o.Payload.Amount = "4" },
		"payTo":   func(o *api.SignedOffer) { o.Payload.PayTo = o.Payload.Asset },
		"asset":   func(o *api.SignedOffer) { o.Payload.Asset = payTo },
		"network": func(o *api.SignedOffer) { o.Payload.Network = "eip155:1" },
		"scheme":  func(o *api.SignedOffer) { o.Payload.Scheme = "upto" }, "signature": func(o *api.SignedOffer) { o.Signature = "0x17" },
		"+ index":  func(o *api.SignedOffer) { o.AcceptIndex, o.Payload.Amount = 1, "4" },
		"+ format": func(o *api.SignedOffer) { o.Format, o.Payload.Amount = "jws", "4" },
	} {
		s := newSeller(t, usdc("5"))
		way := s.accepts[0]
		o := api.SignedOffer{Format: "eip712", Payload: api.OfferPayload{
			Version: 1, ResourceURL: s.URL, Scheme: "exact", Network: fmt.Sprint(way["network"]), Asset: fmt.Sprint(way["asset"]),
			PayTo: payTo, Amount: "5",
		}}
		if change != nil {
			change(&o)
		}
		if o.Signature == "" {
			o.Signature = bySeller(t, wallet.OfferDigest(o.Payload))
		}
		s.offers = []api.SignedOffer{o}
		good := name == "" || strings.HasPrefix(name, "+")
		if answer, err := newSpender(t).post(s, "/", ""); (err == nil && answer == "sold") != good || (len(s.paid()) == 1) != good {
			t.Errorf("%s: %q, %v, %d payments", name, answer, err, len(s.paid()))
		}
	}
}

// TestReceiptsAreKept: the journal has the receipt that a service has signed for a payment, and none that is of another one, or signed by
// nobody. The answer is one all the same.
func TestReceiptsAreKept(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*api.ReceiptPayload){
		"": func(*api.ReceiptPayload) {}, "+ no transaction": func(p *api.ReceiptPayload) { p.Transaction = "" },
		"payer": func(p *api.ReceiptPayload) { p.Payer = payTo }, "network": func(p *api.ReceiptPayload) { p.Network = "eip155:1" },
		"transaction": func(p *api.ReceiptPayload) { p.Transaction = "0x" + strings.Repeat("1", 64) },
		"+ path":      func(*api.ReceiptPayload) {}, "long": func(*api.ReceiptPayload) {}, "not printed": func(*api.ReceiptPayload) {},
		"url": func(p *api.ReceiptPayload) { p.ResourceURL += "/other" }, "version": func(p *api.ReceiptPayload) { p.Version = 2 },
	} {
		s, p := newSeller(t, usdc("5")), newSpender(t)
		s.path = map[string]string{"+ path": "/x", "long": "/" + strings.Repeat("x", 4<<10), "not printed": "/\u202e"}[name]
		transaction := fmt.Sprintf("0x%064d", 7)
		s.replies = []func(http.ResponseWriter){func(w http.ResponseWriter) {
			var r api.StandardReceipt
			r.Success, r.Transaction, r.Network = true, transaction, "eip155:8453"
			signed := &r.Extensions.Signed.Info.Receipt
			signed.Format = "eip712"
			signed.Payload = api.ReceiptPayload{Version: 1, Network: r.Network, ResourceURL: s.URL + s.path, Payer: p.address(), IssuedAt: 7,
				Transaction: transaction}
			change(&signed.Payload)
			signed.Signature = bySeller(t, wallet.ReceiptDigest(signed.Payload))
			text, _ := json.Marshal(r) // texts and numbers
			w.Header().Set(api.HeaderSettlement, base64.StdEncoding.EncodeToString(text))
			_, _ = w.Write([]byte("sold"))
		}}
		answer, err := p.post(s, "/", "")
		list, none := wallet.Payments(p.dir)
		if err != nil || none != nil || answer != "sold" || len(list) != 1 {
			t.Fatalf("%s: %q, %v, %v", name, answer, err, none)
		}
		if kept := list[0].Receipt; (kept != nil) != (name == "" || strings.HasPrefix(name, "+")) {
			t.Errorf("%s: %+v is kept", name, kept)
		} else if kept != nil {
			if by, err := wallet.SignerOfReceipt(*kept); err != nil || by != p.address() {
				t.Errorf("%s: it is of %s, %v", name, by, err)
			}
		}
	}
}

// address is that of the wallet.
func (p *spender) address() string {
	p.t.Helper()
	key, err := wallet.ParseKey(sellerKey)
	if err != nil {
		p.t.Fatal(err)
	}
	return key.Address()
}
