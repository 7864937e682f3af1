package web_test

import (
	"bytes"
	"database/sql"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/admin"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/internal/devchain"
	"github.com/contextd/contextd/internal/usdg"
	"github.com/contextd/contextd/sdk/api"
)

// shop is a daemon that sells credits on a chain.
type shop struct {
	t     *testing.T
	d     *daemontest.Daemon
	chain *devchain.Chain
	ahead atomic.Int64 // nanoseconds by which the daemon's clock is ahead of the chain's
}

func newShop(t *testing.T) *shop {
	t.Helper()
	s := &shop{t: t, chain: daemontest.Chain(t)}
	s.open()
	return s
}

// open opens the daemon, again in the same directory where it was there before.
func (s *shop) open() {
	s.t.Helper()
	dir := ""
	if s.d != nil {
		dir = s.d.Config.DataDir
		s.d.Stop(s.t)
	}
	s.d = daemontest.Start(s.t, free, daemontest.On(s.chain), func(c *daemon.Config) {
		c.Now = func() time.Time { return time.Now().Add(time.Duration(s.ahead.Load())) }
		if dir != "" {
			c.DataDir = dir
		}
	})
	s.scan()
}

func (s *shop) scan() {
	s.t.Helper()
	if err := s.d.Scan(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
}

// owner is somebody with a key.
func (s *shop) owner(email string) (*user, api.IssuedKey) {
	s.t.Helper()
	u := newUser(s.t, s.d)
	u.signIn(email)
	return u, u.issue("a")
}

// buy begins a purchase.
func (u *user) buy(pack api.CreditPack) api.DepositIntent {
	u.t.Helper()
	var intent api.DepositIntent
	u.into(u.call(http.MethodPost, api.PathCredits, api.CreateDepositRequest{Pack: pack}), http.StatusCreated, &intent)
	return intent
}

// send transfers what an intent asks for, and more.
func (s *shop) send(i api.DepositIntent, more int64, note []byte) string {
	s.t.Helper()
	amount, err := usdg.ParseAmount(i.AmountUSDC)
	if err != nil {
		s.t.Fatal(err)
	}
	hash, err := s.chain.Transfer(s.t.Context(), s.chain.Wallet(), i.Recipient, int64(amount)+more, note)
	if err != nil {
		s.t.Fatal(err)
	}
	return "0x" + hex.EncodeToString(hash[:])
}

// deposit is how a purchase stands.
func (u *user) deposit(i api.DepositIntent) (d api.Deposit) {
	u.t.Helper()
	u.into(u.call(http.MethodGet, api.PathCredits+"/"+i.ID, nil), http.StatusOK, &d)
	return d
}

// balance is the credits of u.
func (u *user) balance() (b api.CreditBalanceResponse) {
	u.t.Helper()
	u.into(u.call(http.MethodGet, api.PathCredits, nil), http.StatusOK, &b)
	return b
}

// audit checks the books.
func (s *shop) audit() {
	s.t.Helper()
	if findings, err := s.d.Credits().Audit(s.t.Context()); err != nil || len(findings) > 0 {
		s.t.Errorf("the audit finds %v, %v", findings, err)
	}
}

// TestBuyCredits is the whole way: intent, transfer, verification, credits, tier.
func TestBuyCredits(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	u, key := s.owner("buyer@example.org")
	i := u.buy(api.CreditHobby)
	if i.AmountUSDC != "8.000000" || i.Recipient != s.chain.Treasury() || i.Token != s.chain.Token() || i.ChainID != devchain.ChainID || len(i.Nonce) != 66 ||
		i.PaymentURI != "ethereum:"+s.chain.Token()+"@46630/transfer?address="+s.chain.Treasury()+"&uint256=8000000" ||
		i.ExpiresAt < time.Now().Add(29*time.Minute).Unix() || i.ExpiresAt > time.Now().Add(31*time.Minute).Unix() {
		t.Errorf("the intent is %+v", i)
	}
	s.scan()
	if d := u.deposit(i); d.Status != api.DepositPending || d.Credits != 10_000 || d.TxHash != nil || d.KeyID != nil {
		t.Errorf("before the transfer: %+v", d)
	}
	hash := s.send(i, 0, nil)
	s.scan()
	s.scan() // which finds it again
	d := u.deposit(i)
	if d.Status != api.DepositVerified || d.TxHash == nil || *d.TxHash != hash || *d.PayerAddress != s.chain.Wallet().Address || d.VerifiedAt == nil {
		t.Errorf("after the transfer: %+v", d)
	}
	b := u.balance()
	if b.Balance != 10_000 || len(b.RecentDeposits) != 1 || b.RecentDeposits[0].ID != i.ID {
		t.Errorf("the balance is %+v", b)
	}
	if again := u.issue("b"); again.Tier != api.TierHobby {
		t.Errorf("a new key is of tier %s", again.Tier)
	}
	u.into(u.fresh(key.Key), http.StatusOK, nil)
	if b := u.balance(); b.Balance != 9_999 {
		t.Errorf("after a call: %d", b.Balance)
	}
	var session api.Session
	u.into(u.call(http.MethodGet, api.PathAuthSession, nil), http.StatusOK, &session)
	if session.Tier != api.TierHobby {
		t.Errorf("the session is of tier %s", session.Tier)
	}
	s.audit()
	for body, reason := range map[string]api.Reason{`{"pack":"gold"}`: api.ReasonInvalidRequest, `{"pack":"starter","keyId":"cv_test_00000000"}`: api.ReasonKeyNotFound} {
		u.refused(u.call(http.MethodPost, api.PathCredits, body), reason)
	}
	u.refused(u.call(http.MethodGet, api.PathCredits+"/none", nil), api.ReasonDepositNotFound)
	u.refused(u.call(http.MethodPost, api.PathCredits+"/"+i.ID+"/verify", `{"txHash":"0x12"}`), api.ReasonInvalidRequest)
	nobody := newUser(t, s.d)
	nobody.signIn("nokey@example.org")
	nobody.refused(nobody.call(http.MethodPost, api.PathCredits, `{"pack":"starter"}`), api.ReasonInvalidRequest)
	nobody.refused(nobody.call(http.MethodGet, api.PathCredits+"/"+i.ID, nil), api.ReasonDepositNotFound)
}

// TestNobodyGetsAnothersDeposit is D1: two buy the same at once, and one presents the other's transaction.
func TestNobodyGetsAnothersDeposit(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	ada, _ := s.owner("ada@example.org")
	eve, _ := s.owner("eve@example.org")
	a, e := ada.buy(api.CreditStarter), eve.buy(api.CreditStarter)
	if a.AmountUSDC != "1.000000" || e.AmountUSDC != "1.000001" {
		t.Errorf("the amounts are %s and %s", a.AmountUSDC, e.AmountUSDC)
	}
	hash := s.send(a, 0, nil)
	var d api.Deposit
	eve.into(eve.call(http.MethodPost, api.PathCredits+"/"+e.ID+"/verify", api.VerifyDepositRequest{TxHash: hash}), http.StatusOK, &d)
	if d.Status != api.DepositPending || eve.balance().Balance != 0 || d.Reason != api.ReasonAlreadyUsed || d.Message == "" {
		t.Errorf("eve has %+v", d)
	}
	if ada.deposit(a).Status != api.DepositVerified || ada.balance().Balance != 1_000 {
		t.Error("ada has not got what she paid for")
	}
	ada.into(ada.call(http.MethodPost, api.PathCredits+"/"+a.ID+"/verify", api.VerifyDepositRequest{TxHash: "0x" + strings.Repeat("0", 64)}), http.StatusOK, &d)
	if d.Status != api.DepositVerified {
		t.Errorf("asked again: %+v", d)
	}
	s.audit()
}

// TestNonceDecides: with its nonce, a transfer is for that deposit alone, and only if the amount is right.
func TestNonceDecides(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	u, _ := s.owner("nonce@example.org")
	first, second := u.buy(api.CreditStarter), u.buy(api.CreditStarter)
	nonce, err := hex.DecodeString(second.Nonce[2:])
	if err != nil {
		t.Fatal(err)
	}
	s.send(first, 0, nonce) // the amount of the first, the nonce of the second
	s.scan()
	if u.deposit(first).Status != api.DepositPending || u.deposit(second).Status != api.DepositPending {
		t.Error("a transfer that is not right in all points was guessed")
	}
	s.send(second, 0, []byte("x"+second.Nonce)) // spelled out
	s.scan()
	if u.deposit(second).Status != api.DepositVerified || u.balance().Balance != 1_000 {
		t.Errorf("the second is %+v", u.deposit(second))
	}
}

// TestOddTransfersAreKept is D8: too little and too much match nothing, and are not dropped.
func TestOddTransfersAreKept(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	u, _ := s.owner("odd@example.org")
	i := u.buy(api.CreditStarter)
	s.send(i, -1, nil)
	s.send(i, 1, nil)
	s.scan()
	if u.deposit(i).Status != api.DepositPending || u.balance().Balance != 0 {
		t.Errorf("%+v", u.deposit(i))
	}
	s.send(i, 0, nil)
	s.send(i, 0, nil) // once too often
	s.scan()
	if b := u.balance().Balance; b != 1_000 {
		t.Errorf("after paying twice the balance is %d", b)
	}
	s.audit()
}

// TestDowntime is D3 and D7: paid while the daemon was down, and looked at only after the window, the deposit is verified: the time of
// the block decides.
func TestDowntime(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	u, _ := s.owner("down@example.org")
	i := u.buy(api.CreditStarter)
	s.d.Stop(t)
	s.send(i, 0, nil)
	s.ahead.Store(int64(2 * time.Hour))
	s.open()
	u.d = s.d
	if d := u.deposit(i); d.Status != api.DepositVerified || u.balance().Balance != 1_000 {
		t.Errorf("after two hours down: %+v", d)
	}
	s.audit()
}

// TestExpiry is D2: a deposit that nobody pays expires, its amount stays reserved for a day, and a late transfer is nobody's.
func TestExpiry(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.ahead.Store(int64(-31 * time.Minute)) // so that the block comes after the end
	u, _ := s.owner("late@example.org")
	first := u.buy(api.CreditStarter)
	s.ahead.Store(int64(time.Minute))
	s.send(first, 0, nil)
	s.scan()
	if d := u.deposit(first); d.Status != api.DepositExpired || u.balance().Balance != 0 {
		t.Errorf("paid late: %+v", d)
	}
	if second := u.buy(api.CreditStarter); second.AmountUSDC != "1.000001" {
		t.Errorf("the amount is used again at once: %s", second.AmountUSDC)
	}
	s.ahead.Store(int64(26 * time.Hour))
	s.scan()
	if third := u.buy(api.CreditStarter); third.AmountUSDC != "1.000000" {
		t.Errorf("after a day the amount is still reserved: %s", third.AmountUSDC)
	}
}

// TestVerifyAndScanAtOnce is D9: both find it, one credits it.
func TestVerifyAndScanAtOnce(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	u, key := s.owner("race@example.org")
	i := u.buy(api.CreditStarter)
	hash := s.send(i, 0, nil)
	var all sync.WaitGroup
	for n := range 12 {
		all.Go(func() {
			switch n % 3 {
			case 0:
				if err := s.d.Scan(t.Context()); err != nil {
					t.Error(err)
				}
			case 1:
				u := &user{t: t, d: s.d, secret: u.secret, header: map[string]string{}}
				u.into(u.call(http.MethodPost, api.PathCredits+"/"+i.ID+"/verify", api.VerifyDepositRequest{TxHash: hash}), http.StatusOK, nil)
			default:
				caller := newUser(t, s.d)
				caller.into(caller.fresh(key.Key), http.StatusOK, nil)
			}
		})
	}
	all.Wait()
	if b := u.balance().Balance; b > 1_000 || b < 996 {
		t.Errorf("the balance is %d", b)
	}
	s.audit()
}

// TestKeyRevokedMeanwhile is D10: the credits go to the oldest key that is active.
func TestKeyRevokedMeanwhile(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	u, key := s.owner("revoked@example.org")
	other := u.issue("other")
	var i api.DepositIntent
	u.into(u.call(http.MethodPost, api.PathCredits, api.CreateDepositRequest{Pack: api.CreditStarter, KeyID: &key.KeyID}), http.StatusCreated, &i)
	u.into(u.call(http.MethodDelete, api.PathKeys+"/"+key.KeyID, nil), http.StatusOK, nil)
	s.send(i, 0, nil)
	s.scan()
	var b api.CreditBalanceResponse
	u.into(u.call(http.MethodGet, api.PathCredits+"?keyId="+other.KeyID, nil), http.StatusOK, &b)
	if b.Balance != 1_000 {
		t.Errorf("the other key has %d", b.Balance)
	}
	s.audit()
}

// TestPendingDepositsAreBounded, and slots are the lowest that are free.
func TestPendingDepositsAreBounded(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	u, _ := s.owner("many@example.org")
	for n := range api.MaxPendingDeposit {
		if i := u.buy(api.CreditStarter); i.AmountUSDC != "1.00000"+strconv.Itoa(n) {
			t.Errorf("the amount is %s", i.AmountUSDC)
		}
	}
	got := u.call(http.MethodPost, api.PathCredits, `{"pack":"starter"}`)
	u.refused(got, api.ReasonRateLimited)
	if wait, err := strconv.Atoi(got.Header.Get(api.HeaderRetryAfter)); err != nil || wait < 29*60 || wait > 30*60 {
		t.Errorf("Retry-After is %q", got.Header.Get(api.HeaderRetryAfter))
	}
	if i := u.balance(); len(i.RecentDeposits) != 3 {
		t.Errorf("%d deposits", len(i.RecentDeposits))
	}
}

// TestVerifyTellsWhatTheDaemonKnows of a transaction that will never pay for a purchase.
func TestVerifyTellsWhatTheDaemonKnows(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	u, _ := s.owner("why@example.org")
	i := u.buy(api.CreditStarter)
	verify := func(hash string) (d api.Deposit) {
		t.Helper()
		u.into(u.call(http.MethodPost, api.PathCredits+"/"+i.ID+"/verify", api.VerifyDepositRequest{TxHash: hash}), http.StatusOK, &d)
		return d
	}
	elsewhere, err := s.chain.Transfer(t.Context(), s.chain.Wallet(), s.chain.Owner().Address, 1_000_000, nil)
	if err != nil {
		t.Fatal(err)
	}
	for hash, want := range map[string]api.Reason{
		s.send(i, -1, nil):                      api.ReasonAmountMismatch,
		"0x" + hex.EncodeToString(elsewhere[:]): api.ReasonWrongRecipient,
		"0x" + strings.Repeat("0", 63) + "1":    "", // may come yet
	} {
		if d := verify(hash); d.Status != api.DepositPending || d.Reason != want || (d.Message == "") != (want == "") {
			t.Errorf("%+v, want %q", d, want)
		}
	}
	if d := verify(s.send(i, 0, nil)); d.Status != api.DepositVerified || d.Reason != "" {
		t.Errorf("%+v", d)
	}
}

// TestCrowdDoesNotStopTheSale: strangers behind one address begin so many purchases a day, and no more, however many accounts they make; and
// while they hold half of a pack's amounts, a stranger buys by the nonce, and who has paid as ever.
func TestCrowdDoesNotStopTheSale(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	old, _ := s.owner("old@example.org")
	s.send(old.buy(api.CreditStarter), 0, nil)
	s.scan()
	db, err := sql.Open("sqlite3", filepath.Join(s.d.Config.DataDir, "contextd.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1 / 2)
		INSERT INTO deposits (id, rail, owner_id, pack, credits, amount, nonce, status, created_at, expires_at)
		SELECT 'crowd-' || i, 'l2chain', (SELECT id FROM owners LIMIT 1), 'starter', 1000, 1000000 + i, randomblob(32), 'expired', 1, ?2 FROM n`,
		api.DepositSlots, time.Now().UnixMilli()); err != nil {
		t.Fatal(err)
	}
	u, _ := s.owner("new@example.org")
	i := u.buy(api.CreditStarter)
	if !i.NonceRequired || i.PaymentURI != "" || i.AmountUSDC != "1.000000" {
		t.Errorf("a stranger is asked for %+v", i)
	}
	var d api.Deposit
	u.into(u.call(http.MethodPost, api.PathCredits+"/"+i.ID+"/verify", api.VerifyDepositRequest{TxHash: s.send(i, 0, nil)}), http.StatusOK, &d)
	if d.Status != api.DepositPending || d.Reason != api.ReasonNonceMismatch || !d.NonceRequired {
		t.Errorf("without the nonce: %+v", d)
	}
	nonce, err := hex.DecodeString(i.Nonce[2:])
	if err != nil {
		t.Fatal(err)
	}
	s.send(i, 0, nonce)
	s.scan()
	if d := u.deposit(i); d.Status != api.DepositVerified {
		t.Errorf("with the nonce: %+v", d)
	}
	if i := old.buy(api.CreditStarter); i.NonceRequired || i.PaymentURI == "" {
		t.Errorf("who has paid is asked for %+v", i)
	}
	if i := u.buy(api.CreditHobby); i.NonceRequired {
		t.Errorf("of another pack: %+v", i)
	}
	for n := range (api.MaxClientDeposits-1)/api.MaxPendingDeposit + 1 { // the first stranger was one of them
		crowd, _ := s.owner("crowd" + strconv.Itoa(n) + "@example.org")
		for range api.MaxPendingDeposit {
			if i := crowd.call(http.MethodPost, api.PathCredits, `{"pack":"team"}`); i.Status != http.StatusCreated {
				crowd.refused(i, api.ReasonRateLimited)
				break
			}
		}
	}
	last, _ := s.owner("last@example.org")
	last.refused(last.call(http.MethodPost, api.PathCredits, `{"pack":"team"}`), api.ReasonRateLimited)
	if i := old.buy(api.CreditTeam); i.NonceRequired {
		t.Errorf("who has paid is kept out: %+v", i)
	}
}

// TestChainGone: a chain that does not answer delays a purchase, and says so.
func TestChainGone(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	u, _ := s.owner("gone@example.org")
	i := u.buy(api.CreditStarter)
	hash := s.send(i, 0, nil)
	if err := s.chain.Close(); err != nil {
		t.Fatal(err)
	}
	got := u.call(http.MethodPost, api.PathCredits+"/"+i.ID+"/verify", api.VerifyDepositRequest{TxHash: hash})
	if got.Status != http.StatusServiceUnavailable || got.Header.Get(api.HeaderRetryAfter) == "" {
		t.Errorf("%d %s", got.Status, got.Body)
	}
	if u.deposit(i).Status != api.DepositPending {
		t.Error("it is not pending any more")
	}
}

// TestReconcileWhilePaid: a transfer that comes between the look at the books and that at the treasury is no finding.
func TestReconcileWhilePaid(t *testing.T) {
	t.Parallel()
	c := daemontest.Chain(t)
	node, err := url.Parse(c.URL())
	if err != nil {
		t.Fatal(err)
	}
	var paid sync.Once
	pass := httputil.NewSingleHostReverseProxy(node)
	var late atomic.Bool // from when on the first question for the treasury's balance comes late
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ask, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if late.Load() && bytes.Contains(ask, []byte("0x70a08231")) {
			paid.Do(func() {
				if _, err := c.Transfer(t.Context(), c.Wallet(), c.Treasury(), 7, nil); err != nil {
					t.Error(err)
				}
			})
		}
		r.Body = io.NopCloser(bytes.NewReader(ask))
		pass.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	d := daemontest.Start(t, free, daemontest.On(c), func(cfg *daemon.Config) { cfg.Chain.RPCURL, cfg.Now = front.URL, time.Now })
	o, err := admin.Open(t.Context(), admin.Config{DataDir: d.Config.DataDir, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	if err := d.Scan(t.Context()); err != nil {
		t.Fatal(err)
	}
	late.Store(true)
	if r, err := o.Reconcile(t.Context()); err != nil || len(r.Findings) > 0 || r.Treasury != 7 {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestOperatorSettlesStrays: what fits nothing is listed with the reason, given to a deposit or written off, once; and all agrees with the
// chain throughout.
func TestOperatorSettlesStrays(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	u, _ := s.owner("stray@example.org")
	i := u.buy(api.CreditHobby)
	s.send(i, -1, nil)
	s.send(i, 5, nil)
	o, err := admin.Open(t.Context(), admin.Config{DataDir: s.d.Config.DataDir, Now: s.d.Config.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	reconcile := func() {
		t.Helper()
		r, err := o.Reconcile(t.Context())
		if err != nil || len(r.Findings) > 0 || r.Arrived != 16_000_004 {
			t.Errorf("%+v, %v", r, err)
		}
	}
	reconcile()
	strays, err := o.Unmatched(t.Context())
	if err != nil || len(strays) != 2 || strays[0].Note == "" || strays[0].Sender != s.chain.Wallet().Address {
		t.Fatalf("%+v, %v", strays, err)
	}
	ask := admin.UnmatchedRequest{TxHash: strays[0].TxHash, LogIndex: strays[0].LogIndex, DepositID: i.ID, Reason: "sent back"}
	for _, bad := range []admin.UnmatchedRequest{{TxHash: ask.TxHash, LogIndex: 99, DepositID: i.ID}, {TxHash: ask.TxHash, DepositID: "none"}, {TxHash: "0x12"}} {
		if _, err := o.Assign(t.Context(), bad); err == nil {
			t.Errorf("assigned %+v", bad)
		}
	}
	if d, err := o.Assign(t.Context(), ask); err != nil || d.Status != api.DepositVerified {
		t.Fatalf("%+v, %v", d, err)
	}
	if b := u.balance(); b.Balance != 10_000 || u.issue("new").Tier != api.TierHobby {
		t.Errorf("the balance is %d", b.Balance)
	}
	if _, err := o.Assign(t.Context(), ask); err == nil {
		t.Error("assigned twice")
	}
	off := admin.UnmatchedRequest{TxHash: strays[1].TxHash, LogIndex: strays[1].LogIndex}
	if err := o.WriteOff(t.Context(), off); err == nil {
		t.Error("written off without a reason")
	}
	off.Reason = "sent back by hand"
	if err := o.WriteOff(t.Context(), off); err != nil {
		t.Fatal(err)
	}
	if err := o.WriteOff(t.Context(), off); err == nil {
		t.Error("written off twice")
	}
	if strays, err := o.Unmatched(t.Context()); err != nil || len(strays) != 0 {
		t.Errorf("%+v, %v", strays, err)
	}
	reconcile()
	s.audit()
}
