package web_test

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/crypto"
	"github.com/klauspost/compress/zstd"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/admin"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/internal/devchain"
	"github.com/contextd/contextd/internal/usdg"
	"github.com/contextd/contextd/sdk/api"
)

// pathOf is where a pack is bought.
func pathOf(pack api.CreditPack) string { return api.PathPurchase + "?pack=" + string(pack) }

// forSale asks what a pack costs.
func (m *market) forSale(pack api.CreditPack) api.StandardRequired {
	m.t.Helper()
	a := call(m.t, http.MethodPost, m.d.URL()+pathOf(pack))
	failure := refusal(m.t, a, http.MethodPost)
	if a.Status != http.StatusPaymentRequired || failure.Error.Reason != api.ReasonPaymentRequired || failure.Payment != nil ||
		bytes.Contains(a.Body, []byte(`"payment"`)) || failure.Error.Hint == "" || a.Header.Get("Cache-Control") != "no-store" {
		m.t.Fatalf("%s: %d %s", pack, a.Status, a.Body)
	}
	return unwrap[api.StandardRequired](m.t, a, api.HeaderRequired)
}

// identified is s with an identifier.
func identified(s standard, id string) standard {
	s.Extensions = map[string]any{"payment-identifier": map[string]any{"info": map[string]any{"id": id}}}
	return s
}

// buy pays for a pack and checks what the answer looks like: with the key, or without.
func (m *market) buy(pack api.CreditPack, s standard, told bool, changes ...change) api.IssuedKey {
	m.t.Helper()
	a := call(m.t, http.MethodPost, m.d.URL()+pathOf(pack), append(changes, authorizing(s))...)
	r := unwrap[api.StandardReceipt](m.t, a, api.HeaderSettlement)
	if !r.Success || len(r.Transaction) != 66 || a.Header.Get("Cache-Control") != "no-store" {
		m.t.Fatalf("%d %s, %+v", a.Status, a.Body, r)
	}
	if told {
		var key api.IssuedKey
		if err := json.Unmarshal(a.Body, &key); err != nil || a.Status != http.StatusCreated || len(key.Key) != 40 || key.KeyID != key.Key[:16] || key.CreditBalance == nil {
			m.t.Fatalf("%d %s", a.Status, a.Body)
		}
		return key
	}
	key := decode[api.BoughtKey](m.t, a)
	if a.Status != http.StatusOK || bytes.Contains(a.Body, []byte(`"key"`)) || !strings.Contains(key.Hint, "ctx keys rotate "+key.KeyID) ||
		a.Header.Get(api.HeaderReplayed) != "true" {
		m.t.Fatalf("%d %s, %v", a.Status, a.Body, a.Header)
	}
	return api.IssuedKey{KeyID: key.KeyID, Name: key.Name, Tier: key.Tier, CreatedAt: key.CreatedAt, CreditBalance: &key.CreditBalance}
}

// balanced checks that the books of the daemon agree, and says what they are.
func (m *market) balanced() {
	m.t.Helper()
	o, err := admin.Open(m.t.Context(), admin.Config{DataDir: m.d.Config.DataDir, Now: time.Now})
	if err != nil {
		m.t.Fatal(err)
	}
	defer o.Close()
	if r, err := o.Reconcile(m.t.Context()); err != nil || len(r.Findings) > 0 {
		m.t.Errorf("%+v, %v", r, err)
	}
	if findings, err := m.d.Credits().Audit(m.t.Context()); err != nil || len(findings) > 0 {
		m.t.Errorf("%v, %v", findings, err)
	}
}

// TestSellCredits is the whole way of a stock client: the offer, the payment, the key, calls with it, the same again, a further key, and
// then a sign-in by wallet, with keys and credits.
func TestSellCredits(t *testing.T) {
	t.Parallel()
	m := newSettlingMarket(t)
	offer := m.forSale(api.CreditStarter)
	if accept := offer.Accepts[0]; accept.Amount != "1000000" || offer.Resource.URL != m.d.URL()+pathOf(api.CreditStarter) || len(offer.Accepts) != 1 {
		t.Errorf("the offer is %+v", offer)
	}
	wallet, s := m.chain.Wallet(), m.sign(m.chain.Wallet(), offer)
	s.Extensions = nil // without an identifier
	key := m.buy(api.CreditStarter, s, true, bearer("cv_test_nothing"), with(api.HeaderPaymentAlias, "e30="))
	if *key.CreditBalance != 1_000 || key.Tier != api.TierFree {
		t.Errorf("%+v", key)
	}
	for _, path := range []string{"/v1/fresh", "/v1/cite?ref=1"} {
		if a := get(t, m.d.URL()+path, bearer(key.Key)); a.Status != http.StatusOK || a.Header.Get(api.HeaderCreditsLeft) == "" {
			t.Errorf("%s with the key: %d %s, %v", path, a.Status, a.Body, a.Header)
		}
	}
	for range 2 {
		if again := m.buy(api.CreditStarter, s, false); again.KeyID != key.KeyID || *again.CreditBalance != 998 || !again.CreatedAt.Equal(key.CreatedAt) {
			t.Errorf("again: %+v", again)
		}
	}
	m.declinedCredits("another pack", api.CreditHobby, s, api.ReasonAlreadyUsed)
	m.declined("a call", "/v1/fresh", s, api.ReasonAlreadyUsed)

	safe := identified(m.sign(wallet, m.forSale(api.CreditHobby)), "0123456789abcdef")
	hobby := m.buy(api.CreditHobby, safe, true)
	if again := m.buy(api.CreditHobby, safe, true); again.Key != hobby.Key || hobby.Tier != api.TierHobby {
		t.Errorf("%+v, again %+v", hobby, again)
	}

	visitor := m.byWallet(wallet)
	a := visitor.call(http.MethodGet, api.PathKeys, nil)
	keys := decode[api.KeyListResponse](t, a).Keys
	if a.Status != http.StatusOK || len(keys) != 2 || keys[0].KeyID != hobby.KeyID || keys[1].KeyID != key.KeyID || keys[1].Tier != api.TierHobby {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	balance := decode[api.CreditBalanceResponse](t, visitor.call(http.MethodGet, api.PathCredits, nil))
	if balance.Balance != 10_998 || balance.KeyCount != 2 || len(balance.RecentDeposits) != 2 || balance.RecentDeposits[1].Pack != api.CreditStarter ||
		balance.RecentDeposits[1].Status != api.DepositVerified || !strings.EqualFold(*balance.RecentDeposits[1].PayerAddress, wallet.Address) {
		t.Errorf("%+v", balance)
	}
	var next api.IssuedKey
	visitor.into(visitor.call(http.MethodPost, api.PathKeys+"/"+key.KeyID+"/rotate", `{}`), http.StatusCreated, &next)
	if next.Key == "" || *next.CreditBalance != 998 {
		t.Errorf("rotated: %+v", next)
	}
	if again := m.buy(api.CreditStarter, s, false); *again.CreditBalance != 0 || again.KeyID != key.KeyID {
		t.Errorf("after it was rotated: %+v", again)
	}
	m.balanced()
}

// declinedCredits checks that a purchase is refused for reason.
func (m *market) declinedCredits(name string, pack api.CreditPack, s standard, reason api.Reason) {
	m.t.Helper()
	a := call(m.t, http.MethodPost, m.d.URL()+pathOf(pack), authorizing(s))
	failure := refusal(m.t, a, http.MethodPost)
	_, status := reason.Answer()
	if a.Status != status || failure.Error.Reason != reason || failure.Payment != nil || (a.Header.Get(api.HeaderRequired) != "") != (status == http.StatusPaymentRequired) {
		m.t.Errorf("%s: %d %s, want %d %s", name, a.Status, a.Body, status, reason)
	}
	r := unwrap[api.StandardReceipt](m.t, a, api.HeaderSettlement)
	if r.Success || r.ErrorReason != reason.Standard() || r.Transaction != "" {
		m.t.Errorf("%s: the receipt is %+v", name, r)
	}
}

// TestSellCreditsRefused asks for what is not sold, pays in other ways, and with payments that are not of the price.
func TestSellCreditsRefused(t *testing.T) {
	t.Parallel()
	m := newSettlingMarket(t)
	for path, want := range map[string]api.Reason{
		api.PathPurchase: api.ReasonInvalidRequest, api.PathPurchase + "?pack=": api.ReasonInvalidRequest, pathOf("enterprise"): api.ReasonInvalidRequest,
		pathOf("Starter"): api.ReasonInvalidRequest, pathOf("starter") + "&pack=hobby": api.ReasonInvalidRequest, pathOf("starter") + "&other=1": api.ReasonPaymentRequired,
	} {
		if a := call(t, http.MethodPost, m.d.URL()+path); refusal(t, a, http.MethodPost).Error.Reason != want {
			t.Errorf("%s: %d %s", path, a.Status, a.Body)
		}
	}
	if a := get(t, m.d.URL()+pathOf("starter")); a.Status != http.StatusMethodNotAllowed || a.Header.Get("Allow") != "POST, OPTIONS" {
		t.Errorf("GET: %d %s", a.Status, a.Body)
	}
	proof := m.pay(m.quote("/v1/fresh"))
	a := call(t, http.MethodPost, m.d.URL()+pathOf("starter"), proving(proof), bearer(m.d.Key(t, api.TierTeam)))
	if failure := refusal(t, a, http.MethodPost); a.Status != http.StatusBadRequest || failure.Error.Reason != api.ReasonMalformedProof {
		t.Errorf("with a proof: %d %s", a.Status, a.Body)
	}
	m.paid("/v1/fresh", proof, false) // which is still good
	m.declinedCredits("of a call", api.CreditStarter, m.sign(m.chain.Wallet(), m.offer("/v1/fresh")), api.ReasonAmountMismatch)
	m.declinedCredits("of another pack", api.CreditStarter, m.sign(m.chain.Wallet(), m.forSale(api.CreditHobby)), api.ReasonAmountMismatch)
	short := m.sign(m.chain.Wallet(), m.forSale(api.CreditStarter))
	short.Payload.Authorization["nonce"] = "0x17"
	a = call(t, http.MethodPost, m.d.URL()+pathOf("starter"), authorizing(short))
	if f := refusal(t, a, http.MethodPost); a.Status != http.StatusPaymentRequired || f.Error.Reason != api.ReasonMalformedProof {
		t.Errorf("with a nonce of one byte: %d %s", a.Status, a.Body)
	}
	if r := unwrap[api.StandardReceipt](t, a, api.HeaderSettlement); r.ErrorReason != api.StandardPayload || r.Success {
		t.Errorf("with a nonce of one byte: the receipt is %+v", r)
	}
	if rows, err := m.d.Keys().Owners(t.Context()); err != nil || len(rows) != 1 { // the operator
		t.Errorf("%+v, %v", rows, err)
	}
	m.balanced()
}

// TestSellCreditsSignup sells to everybody, or to who has an account.
func TestSellCreditsSignup(t *testing.T) {
	t.Parallel()
	for _, signup := range []account.Signup{account.SignupInvite, account.SignupClosed} {
		m := newSettlingMarket(t, func(c *daemon.Config) { c.Accounts.Signup = signup })
		offer := m.forSale(api.CreditStarter)
		a := call(t, http.MethodPost, m.d.URL()+pathOf("starter"))
		if !strings.Contains(offer.Error, "sign-up is not open") || !bytes.Contains(a.Body, []byte("sign-up is not open")) {
			t.Errorf("%s: %q, %s", signup, offer.Error, a.Body)
		}
		m.declinedCredits(string(signup), api.CreditStarter, m.sign(m.chain.Wallet(), offer), api.ReasonSignupClosed)
	}
}

// TestSellCreditsDisabled sells nothing to an owner who was disabled, and says so.
func TestSellCreditsDisabled(t *testing.T) {
	t.Parallel()
	m := newSettlingMarket(t)
	offer := m.forSale(api.CreditStarter)
	m.buy(api.CreditStarter, m.sign(m.chain.Wallet(), offer), true)
	rows, err := m.d.Keys().Owners(t.Context())
	if err != nil || len(rows) != 1 {
		t.Fatalf("%+v, %v", rows, err)
	}
	if err := m.d.Keys().Disable(t.Context(), rows[0].ID); err != nil {
		t.Fatal(err)
	}
	m.declinedCredits("disabled", api.CreditStarter, m.sign(m.chain.Wallet(), offer), api.ReasonOwnerDisabled)
	m.balanced()
}

// TestSellCreditsIsNoSignup makes an owner by a purchase, who is none of the new owners of the day, also after a restart.
func TestSellCreditsIsNoSignup(t *testing.T) {
	t.Parallel()
	one := func(c *daemon.Config) { c.Accounts.NewPerDay = 1 }
	m := newSettlingMarket(t, one)
	m.buy(api.CreditStarter, m.sign(m.chain.Wallet(), m.forSale(api.CreditStarter)), true)
	m.d.Stop(t)
	again := daemontest.Open(t, daemontest.On(m.chain), one, func(c *daemon.Config) { c.DataDir, c.Now = m.d.Config.DataDir, m.d.Config.Now })
	again.Run(t)
	u := newUser(t, again)
	u.into(u.byWallet(newWallet(t)), http.StatusOK, nil)
	u = newUser(t, again)
	u.refused(u.byWallet(newWallet(t)), api.ReasonRateLimited)
}

// TestSellCreditsOff has no such route where no rail settles.
func TestSellCreditsOff(t *testing.T) {
	t.Parallel()
	m := newMarket(t)
	if a := call(t, http.MethodPost, m.d.URL()+pathOf("starter")); a.Status != http.StatusNotFound || refusal(t, a, http.MethodPost).Error.Reason != api.ReasonNotFound {
		t.Errorf("%d %s", a.Status, a.Body)
	}
}

// TestSellCreditsRebuilt rebuilds the payment from the calldata on chain, as anybody can, and gets no key.
func TestSellCreditsRebuilt(t *testing.T) {
	t.Parallel()
	m := newSettlingMarket(t)
	s := identified(m.sign(m.chain.Wallet(), m.forSale(api.CreditStarter)), "a-secret-of-the-payer")
	key := m.buy(api.CreditStarter, s, true)
	a := call(t, http.MethodPost, m.d.URL()+pathOf("starter"), authorizing(s))
	hash := unwrap[api.StandardReceipt](t, a, api.HeaderSettlement).Transaction
	input := m.calldata(hash)
	if len(input) != 4+9*32 {
		t.Fatalf("%x", input)
	}
	word := func(i int) []byte { return input[4+32*i : 36+32*i] }
	number := func(i int) string { return fmt.Sprint(new(big.Int).SetBytes(word(i))) }
	rebuilt := standard{X402Version: 2}
	rebuilt.Payload.Authorization = map[string]string{
		"from": "0x" + hex.EncodeToString(word(0)[12:]), "to": "0x" + hex.EncodeToString(word(1)[12:]), "value": number(2), "validAfter": number(3),
		"validBefore": number(4), "nonce": "0x" + hex.EncodeToString(word(5)),
	}
	rebuilt.Payload.Signature = "0x" + hex.EncodeToString(word(7)) + hex.EncodeToString(word(8)) + hex.EncodeToString(word(6)[31:])
	m.declinedCredits("rebuilt", api.CreditStarter, rebuilt, api.ReasonAlreadyUsed)
	for range 20 {
		m.declinedCredits("guessed", api.CreditStarter, identified(rebuilt, rand.Text()), api.ReasonAlreadyUsed)
	}
	if again := m.buy(api.CreditStarter, s, true); again.Key != key.Key {
		t.Errorf("the payer gets %+v", again)
	}
}

// TestSellCreditsBesideDeposits buys packs while a deposit of each waits at the round price, and the scanner looks: they are left alone.
func TestSellCreditsBesideDeposits(t *testing.T) {
	t.Parallel()
	m := newSettlingMarket(t)
	packs := api.CreditPacks()
	var waiting []*user
	var deposits []api.DepositIntent
	for i, pack := range packs {
		u := newUser(t, m.d)
		u.signIn(fmt.Sprintf("buyer%d@example.org", i))
		u.into(u.call(http.MethodPost, api.PathKeys, api.CreateKeyRequest{Name: "mine"}), http.StatusCreated, nil)
		var d api.DepositIntent
		u.into(u.call(http.MethodPost, api.PathCredits, api.CreateDepositRequest{Pack: pack}), http.StatusCreated, &d)
		if offer, _ := pack.Offer(); d.AmountUSDC != usdg.Amount(offer.PriceMicros).Fixed() {
			t.Fatalf("%s waits for %s", pack, d.AmountUSDC)
		}
		waiting, deposits = append(waiting, u), append(deposits, d)
	}
	var all sync.WaitGroup
	for _, pack := range packs {
		offer := m.forSale(pack)
		from, err := m.chain.NewAccount(t.Context(), 2*700_000_000)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			s := m.sign(from, offer)
			all.Go(func() { m.buy(pack, s, true) })
		}
	}
	done := make(chan struct{})
	go func() { all.Wait(); close(done) }()
	for scanning := true; scanning; {
		select {
		case <-done:
			scanning = false
		case <-time.After(10 * time.Millisecond):
			if err := m.d.Scan(t.Context()); err != nil {
				t.Error(err)
			}
		}
	}
	for i, u := range waiting {
		if d := decode[api.Deposit](t, u.call(http.MethodGet, api.PathCredits+"/"+deposits[i].ID, nil)); d.Status != api.DepositPending {
			t.Errorf("%s: %+v", packs[i], d)
		}
	}
	if owners, err := m.d.Keys().Owners(t.Context()); err != nil || len(owners) != 2*len(packs) {
		t.Errorf("%+v, %v", owners, err)
	}
	m.balanced()
	hash, err := m.chain.Transfer(t.Context(), m.chain.Wallet(), m.chain.Treasury(), 1_000_000, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.d.Scan(t.Context()); err != nil {
		t.Error(err)
	}
	if d := decode[api.Deposit](t, waiting[0].call(http.MethodGet, api.PathCredits+"/"+deposits[0].ID, nil)); d.Status != api.DepositVerified ||
		*d.TxHash != "0x"+hex.EncodeToString(hash[:]) {
		t.Errorf("its own transfer does not pay it: %+v", d)
	}
}

// byWallet signs an account of the chain in.
func (m *market) byWallet(a devchain.Account) *user {
	m.t.Helper()
	key, err := crypto.HexToECDSA(strings.TrimPrefix(a.PrivateKey, "0x"))
	if err != nil {
		m.t.Fatal(err)
	}
	u := newUser(m.t, m.d)
	u.into(u.byWallet(wallet{key, a.Address}), http.StatusOK, nil)
	return u
}

// calldata is that of a transaction, as every node shows it.
func (m *market) calldata(hash string) []byte {
	m.t.Helper()
	res, err := http.Post(m.chain.URL(), "application/json", strings.NewReader(
		`{"jsonrpc":"2.0","id":1,"method":"eth_getTransactionByHash","params":["`+hash+`"]}`))
	if err != nil {
		m.t.Fatal(err)
	}
	defer res.Body.Close()
	var shown struct{ Result struct{ Input string } }
	if err := json.NewDecoder(res.Body).Decode(&shown); err != nil {
		m.t.Fatal(err)
	}
	input, err := hex.DecodeString(strings.TrimPrefix(shown.Result.Input, "0x"))
	if err != nil {
		m.t.Fatal(err)
	}
	return input
}

// TestBoughtKeysAreNowhere looks for keys that were told in all that the daemon has written: tables, logs, backups, histories, mail.
func TestBoughtKeysAreNowhere(t *testing.T) {
	t.Parallel()
	m := newSettlingMarket(t)
	s := identified(m.sign(m.chain.Wallet(), m.forSale(api.CreditStarter)), "0123456789abcdef")
	key := m.buy(api.CreditStarter, s, true)
	m.buy(api.CreditStarter, s, true)
	get(t, m.d.URL()+"/v1/fresh", bearer(key.Key))
	o, err := admin.Open(t.Context(), admin.Config{DataDir: m.d.Config.DataDir, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	var packed, backup bytes.Buffer
	if err := o.Backup(t.Context(), &packed); err != nil {
		t.Fatal(err)
	}
	unpacked, err := zstd.NewReader(&packed)
	if err != nil {
		t.Fatal(err)
	}
	defer unpacked.Close()
	if _, err := backup.ReadFrom(unpacked); err != nil {
		t.Fatal(err)
	}
	secret, files := []byte(key.Key[len(key.KeyID):]), 0
	if bytes.Contains(backup.Bytes(), secret) || !bytes.Contains(backup.Bytes(), []byte("purchase.keys")) || !bytes.Contains(backup.Bytes(), []byte(key.KeyID)) {
		t.Error("a backup has the key, or lacks what it comes from")
	}
	if text := m.log.String(); strings.Contains(text, string(secret)) {
		t.Error("the log has the key")
	}
	err = filepath.WalkDir(m.d.Config.DataDir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		if bytes.Contains(text, secret) {
			t.Errorf("%s has the key", path)
		}
		if files++; strings.HasSuffix(path, ".keys") {
			if info, err := entry.Info(); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%s: %v, %v", path, info, err)
			}
		}
		return err
	})
	if err != nil || files < 4 {
		t.Errorf("%d files, %v", files, err)
	}
}

// TestSellCreditsCollisions sends what others mean by the same headers: none of it is a payment here, and none keeps one from counting.
func TestSellCreditsCollisions(t *testing.T) {
	t.Parallel()
	m := newSettlingMarket(t)
	v1 := with(api.HeaderPaymentAlias, base64.StdEncoding.EncodeToString([]byte(`{"x402Version":1,"scheme":"exact"}`)))
	for _, path := range []string{pathOf(api.CreditStarter), "/v1/cite?ref=1"} {
		for name, change := range map[string]change{"version 1": v1, "MPP": with("Authorization", "Payment abc"), "both": func(r *http.Request) { v1(r); r.Header.Set("Authorization", "Payment abc") }} {
			if a := call(t, http.MethodPost, m.d.URL()+path, change); a.Status != http.StatusPaymentRequired || a.Header.Get(api.HeaderRequired) == "" {
				t.Errorf("%s, %s: %d %s", path, name, a.Status, a.Body)
			} else if tells := bytes.Contains(a.Body, []byte("this service speaks version 2")); tells != (name != "MPP") {
				t.Errorf("%s, %s: %s", path, name, a.Body)
			}
		}
	}
	s := m.sign(m.chain.Wallet(), m.forSale(api.CreditStarter))
	m.buy(api.CreditStarter, s, true, v1, with("Authorization", "Payment abc"))
	a := call(t, http.MethodOptions, m.d.URL()+pathOf(api.CreditStarter), with("Origin", "https://example.org"))
	if allowed := a.Header.Get("Access-Control-Allow-Headers"); a.Header.Get("Access-Control-Allow-Methods") != "POST, OPTIONS" ||
		!strings.Contains(allowed, api.HeaderSignature) || !strings.Contains(allowed, "Access-Control-Expose-Headers") {
		t.Errorf("%d %v", a.Status, a.Header)
	}
}
