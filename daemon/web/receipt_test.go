package web_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/sdk/api"
	sdkwallet "github.com/contextd/contextd/sdk/wallet"
)

// TestSignedOffersAndReceipts: offers say what is offered, and receipts what was paid for, signed by a key that the service publishes and
// that nobody else can read. The same payment has the same receipt.
func TestSignedOffersAndReceipts(t *testing.T) {
	t.Parallel()
	m := newSettlingMarket(t)
	did := decode[api.DIDDocument](t, get(t, m.d.URL()+api.PathDID))
	host := strings.ReplaceAll(strings.TrimPrefix(m.d.URL(), "http://"), ":", "%3A")
	if did.ID != "did:web:"+host || len(did.VerificationMethod) != 1 ||
		!slices.Equal(did.AssertionMethod, []string{did.VerificationMethod[0].ID}) {
		t.Fatalf("%+v", did)
	}
	key, ok := strings.CutPrefix(did.VerificationMethod[0].BlockchainAccountID, "eip155:1:")
	if info, err := os.Stat(filepath.Join(m.d.Config.DataDir, "receipt.keys")); !ok || err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%+v, %v, %v", did, info, err)
	}
	const path = "/v1/cite?ref=1"
	url := m.d.URL() + path
	offer := m.offer(path)
	text, err := json.Marshal(offer.Extensions[api.ExtensionReceipt].Info["offers"])
	var signed []api.SignedOffer
	if err == nil {
		err = json.Unmarshal(text, &signed)
	}
	if err != nil || len(signed) != 1 {
		t.Fatalf("%s, %v", text, err)
	}
	p, a := signed[0].Payload, offer.Accepts[0]
	want := api.OfferPayload{Version: 1, ResourceURL: url, Scheme: a.Scheme, Network: a.Network, Asset: a.Asset, PayTo: a.PayTo,
		Amount: a.Amount, ValidUntil: p.ValidUntil}
	if by, err := sdkwallet.SignerOfOffer(signed[0]); err != nil || by != key || p != want || signed[0].AcceptIndex != 0 {
		t.Errorf("%+v is of %s, %v", signed[0], by, err)
	}
	if left := time.Until(time.Unix(p.ValidUntil, 0)); left > api.QuoteWindow || left < api.QuoteWindow-time.Minute {
		t.Errorf("the offer holds for %s", left)
	}
	s := m.sign(m.chain.Wallet(), offer)
	receipt := unwrap[api.StandardReceipt](t, m.settled(path, s, false), api.HeaderSettlement)
	r := receipt.Extensions.Signed.Info.Receipt
	of := api.ReceiptPayload{Version: 1, Network: a.Network, ResourceURL: url, Payer: receipt.Payer, IssuedAt: r.Payload.IssuedAt,
		Transaction: receipt.Transaction}
	if by, err := sdkwallet.SignerOfReceipt(r); err != nil || by != key || r.Payload != of {
		t.Errorf("%+v is of %s, %v", receipt, by, err)
	}
	if age := time.Since(time.Unix(r.Payload.IssuedAt, 0)); age < 0 || age > time.Minute {
		t.Errorf("it was issued %s ago", age)
	}
	again := unwrap[api.StandardReceipt](t, m.settled(path, s, true), api.HeaderSettlement)
	if again.Extensions.Signed != receipt.Extensions.Signed {
		t.Errorf("again it is %+v, not %+v", again, receipt)
	}
	refused := get(t, url, authorizing(identified(s, "another_identifier_of_it")))
	none := unwrap[api.StandardReceipt](t, refused, api.HeaderSettlement)
	if refused.Status/100 != 4 || none.Extensions.Signed.Info.Receipt.Signature != "" {
		t.Errorf("of a refusal: %d %+v", refused.Status, none)
	}
	bought := call(t, http.MethodPost, m.d.URL()+pathOf(api.CreditStarter),
		authorizing(m.sign(m.chain.Wallet(), m.forSale(api.CreditStarter))))
	r = unwrap[api.StandardReceipt](t, bought, api.HeaderSettlement).Extensions.Signed.Info.Receipt
	if by, err := sdkwallet.SignerOfReceipt(r); err != nil || by != key || r.Payload.ResourceURL != m.d.URL()+pathOf(api.CreditStarter) {
		t.Errorf("of credits: %+v, by %s, %v", r, by, err)
	}
}
