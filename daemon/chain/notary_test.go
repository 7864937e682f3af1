package chain_test

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/contextd/contextd/daemon/chain"
	"github.com/contextd/contextd/sdk/api"
)

// TestNotary has the vectors of offers and receipts, which were computed by another program, with a key that everybody knows.
func TestNotary(t *testing.T) {
	t.Parallel()
	secret, _ := hex.DecodeString("ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80") // the first of Anvil's
	n, err := chain.NewNotary(secret)
	if err != nil || n.Address() != "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266" {
		t.Fatalf("%v", err)
	}
	const url = "https://example.com/v1/fresh?pack=crypto"
	offer, err := n.Offer(3, api.OfferPayload{
		Version: 1, ResourceURL: url, Scheme: "exact", Network: "eip155:4663", Asset: "0x5fc5360D0400a0Fd4f2af552ADD042D716F1d168",
		PayTo: "0x" + strings.Repeat("11", 20), Amount: "1000", ValidUntil: 4102444800,
	})
	if want := "0xc9afc4463a8d0a0e8af5e94e564b447d8c50c9427640e21f1bcc5236302ea9" +
		"ba5e4d5cb78239a3690e40c0d8ab1ffc47ea58d4d26618fb4a82c26f8a5aa23ec41b"; err != nil ||
		offer.Signature != want || offer.AcceptIndex != 3 || offer.Format != "eip712" {
		t.Errorf("the offer is %+v, %v", offer, err)
	}
	receipt, err := n.Receipt(api.ReceiptPayload{
		Version: 1, Network: "eip155:4663", ResourceURL: url, Payer: "0x" + strings.Repeat("22", 20), IssuedAt: 1795309079,
		Transaction: "0x" + strings.Repeat("ab", 32),
	})
	if want := "0x85397e3bb2307d78e5c1ab2200f208f80aba46be912cdc03a4fabc0ece310f77" +
		"23db3b9aaca37274502bf0d7d7cfb9519b223ba52bad037d40ebc63955e3647d1c"; err != nil ||
		receipt.Signature != want || receipt.Format != "eip712" {
		t.Errorf("the receipt is %+v, %v", receipt, err)
	}
	for _, bad := range [][]byte{nil, secret[:31], make([]byte, 32)} {
		if _, err := chain.NewNotary(bad); err == nil {
			t.Errorf("%x is taken for a key", bad)
		}
	}
}
