package daemon_test

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"reflect"
	"strconv"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/admin"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/daemon/operate"
	"github.com/contextd/contextd/daemon/testbed"
	"github.com/contextd/contextd/daemon/x402"
	"github.com/contextd/contextd/internal/alert"
	"github.com/contextd/contextd/internal/devchain"
	"github.com/contextd/contextd/internal/usdg"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

// pastOwner is what an owner held when the daemon of commit 30f57cb was killed.
type pastOwner struct {
	Session string
	Keys    []string
	Revoked string
	Calls   map[string]int64 // answered, by key id
	List    []api.APIKeyRow
	Prompt  string

	FreeLeft   int               // calls of the free window
	Deposit    string            // that was credited
	Open, Paid api.DepositIntent // the second was paid, and not credited yet
}

// past is what clients of that daemon held, and what was sent to them.
type past struct {
	At                 time.Time // when it was killed
	States             []time.Time
	Ada, Bob           pastOwner // Ada has credits, Bob has none
	Operator           string    // a key of the tier team
	Told               []string  // ids of the alerts that the webhook of ops has taken; that of late answered none
	Checkpoint, LogKey string

	Answered   struct{ Proof, Body string }
	Unanswered string // a proof that was not presented

	// Payments of standard x402. The first was answered. The others are pending: the transaction of one never reached the chain, that of
	// another is in a block that the daemon has not seen, and that of the third never reached the chain and is not valid any more.
	Settled, Unsent, Unseen, Expired string
	SettledBody                      string
}

// pastCredits are what Ada was given on the two keys that are not revoked.
const pastCredits = 1000 + 250

// openPast opens what a tarball in testdata holds: the data directory of a daemon of commit 30f57cb, that of its chain, and held.json.
//
// A test of that commit's package daemon_test made both tarballs. It ran a daemon on a chain for three days of a shifted clock, with a
// state a day and two alerts; one webhook refused all. Owners signed in by mail, bought, called and revoked a key. Payments of both
// dialects were answered. Then a proxy before the chain dropped what was sent to it, so that settlements stayed pending, and at last the
// process killed itself by SIGKILL. The table charges of SQLite had 32 rows, three of which say what of earlier rows is in the tables
// already. The second tarball is of the same test on PostgreSQL, with what "pg_dump --inserts -n past -n past_history" printed in place of
// the databases. Sockets, locks, the outbox and empty files were left out.
func openPast(t *testing.T, name string) (dir string, p past) {
	t.Helper()
	dir = untar(t, name)
	readJSON(t, filepath.Join(dir, "held.json"), &p)
	return dir, p
}

// TestPast opens what the daemon of commit 30f57cb left when it was killed, five minutes later, and goes on with all of it.
func TestPast(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		dir, p := openPast(t, "testdata/30f57cb.tar.gz")
		newPastTest(t, dir, "", p).run(t)
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		dir, p := openPast(t, "testdata/30f57cb-postgres.tar.gz")
		newPastTest(t, dir, testbed.RestorePostgres(t, filepath.Join(dir, "dump.sql"), "past"), p).run(t)
	})
}

// pastTest is a daemon in the directory of the one before.
type pastTest struct {
	*upgraded
	past
	change    func(*daemon.Config)
	ops, late *hook
}

func newPastTest(t *testing.T, dir, storeURL string, p past) *pastTest {
	t.Helper()
	begin := time.Now()
	now := func() time.Time { return p.At.Add(5*time.Minute + time.Since(begin)) }
	c, err := devchain.Open(t.Context(), devchain.Config{
		Dir: filepath.Join(dir, "chain"), Listen: "127.0.0.1:0", Now: now, Ahead: 30 * time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	test := &pastTest{past: p, ops: newHook(t), late: newHook(t)}
	test.change = func(cfg *daemon.Config) {
		daemontest.On(c)(cfg)
		cfg.DataDir, cfg.StoreURL, cfg.Now = filepath.Join(dir, "data"), storeURL, now
		cfg.Chain.SettleKey, cfg.Chain.Domain = c.Gas().PrivateKey, x402.Domain{Name: devchain.TokenName, Version: devchain.TokenVersion}
		cfg.Alerts = []operate.Alert{
			{Name: "ops", Severity: api.SeverityNotice, Hook: alert.Hook{URL: test.ops.URL, Secret: []byte(alertSecret)}},
			{Name: "late", Severity: api.SeverityNotice, Hook: alert.Hook{URL: test.late.URL, Secret: []byte(alertSecret)}},
		}
	}
	test.open(t)
	return test
}

// open opens the daemon and runs it.
func (p *pastTest) open(t *testing.T) {
	t.Helper()
	p.upgraded = &upgraded{Daemon: daemontest.Open(t, p.change), t: t}
	p.Run(t)
}

// run runs the steps: each goes on where the one before has left the daemon.
func (p *pastTest) run(t *testing.T) {
	outer := t // the daemon outlives the step that starts it
	for _, step := range []struct {
		name string
		run  func(*pastTest, *testing.T)
	}{
		{"charges are counted once", (*pastTest).charges},
		{"charges are counted once after a restart", func(p *pastTest, t *testing.T) {
			p.Stop(t)
			p.open(outer)
			p.t = t
			p.charges(t)
		}},
		{"keys", (*pastTest).keys},
		{"prompt", (*pastTest).prompt},
		{"deposits", (*pastTest).deposits},
		{"payments by transfer", (*pastTest).transfers},
		{"settlements", (*pastTest).settlements},
		{"alerts", (*pastTest).alerts},
		{"history", (*pastTest).history},
		{"log", (*pastTest).log},
		{"books", (*pastTest).books},
	} {
		t.Run(step.name, func(t *testing.T) {
			p.t = t
			step.run(p, t)
		})
	}
}

// charges checks that each call that was answered is counted, and was taken from the credits, once. The deposit that was paid is verified
// before, or the daemon's own scan would do it at a moment of its choice.
func (p *pastTest) charges(t *testing.T) {
	if err := p.Scan(t.Context()); err != nil {
		t.Fatal(err)
	}
	bought, _ := api.CreditStarter.Offer()
	var spent int64
	for _, key := range p.Ada.Keys {
		spent += p.Ada.Calls[key[:api.KeyIDLength]]
	}
	var balance api.CreditBalanceResponse
	p.bySession(api.PathCredits, p.Ada.Session, &balance)
	if want := pastCredits + bought.Credits - spent; balance.Balance != want {
		t.Errorf("Ada has %d credits, want %d", balance.Balance, want)
	}
	for name, o := range map[string]pastOwner{"Ada": p.Ada, "Bob": p.Bob} {
		rows, err := client(t, p.Daemon, "").Console(o.Session).Usage(t.Context(), 2)
		if err != nil {
			t.Fatal(err)
		}
		calls := map[string]int64{}
		for _, r := range rows.Days {
			calls[r.KeyID] += r.Calls
		}
		if !reflect.DeepEqual(calls, o.Calls) {
			t.Errorf("calls of %s: %v, want %v", name, calls, o.Calls)
		}
	}
	if findings, err := p.Credits().Audit(t.Context()); err != nil || len(findings) > 0 {
		t.Errorf("audit: %v, %v", findings, err)
	}
}

func (p *pastTest) keys(t *testing.T) {
	for name, o := range map[string]pastOwner{"Ada": p.Ada, "Bob": p.Bob} {
		rows, err := client(t, p.Daemon, "").Console(o.Session).Keys(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for i := range min(len(rows), len(o.List)) {
			rows[i].LastUsedAt, o.List[i].LastUsedAt = nil, nil // written now and then
		}
		if !reflect.DeepEqual(rows, o.List) {
			t.Errorf("keys of %s:\n%+v\nwant\n%+v", name, rows, o.List)
		}
	}
	p.byKey(api.PathFresh, p.Ada.Revoked, http.StatusUnauthorized)
	p.byKey(api.PathFresh, p.Ada.Keys[0], http.StatusOK)
	res, _ := p.get(api.PathFresh, "Authorization", "Bearer "+p.Bob.Keys[0])
	if left := res.Header.Get(api.HeaderFreeLeft); left != strconv.Itoa(p.Bob.FreeLeft-1) {
		t.Errorf("Bob has %q free calls left, want %d", left, p.Bob.FreeLeft-1)
	}
}

func (p *pastTest) prompt(t *testing.T) {
	prompt, err := client(t, p.Daemon, "").Console(p.Ada.Session).Prompt(t.Context(), api.PackCrypto)
	if err != nil || prompt != p.Ada.Prompt {
		t.Errorf("prompt: %q, %v, want %q", prompt, err, p.Ada.Prompt)
	}
}

func (p *pastTest) deposits(t *testing.T) {
	if err := p.Scan(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []struct {
		id     string
		status api.DepositStatus
	}{
		{p.Ada.Deposit, api.DepositVerified},
		{p.Ada.Open.ID, api.DepositPending},
		{p.Ada.Paid.ID, api.DepositVerified},
	} {
		var d api.Deposit
		p.bySession(api.PathCredits+"/"+want.id, p.Ada.Session, &d)
		if d.Status != want.status {
			t.Errorf("deposit %s is %s, want %s", want.id, d.Status, want.status)
		}
	}
}

func (p *pastTest) transfers(t *testing.T) {
	for _, c := range []struct {
		name, proof string
		replayed    bool
	}{
		{"answered", p.Answered.Proof, true},
		{"not presented", p.Unanswered, false},
		{"presented again", p.Unanswered, true},
	} {
		res, body := p.get(api.PathFresh, api.HeaderPayment, c.proof)
		if res.StatusCode != http.StatusOK || (res.Header.Get(api.HeaderReplayed) == "true") != c.replayed {
			t.Errorf("%s: %d %v %.200s", c.name, res.StatusCode, res.Header, body)
		}
		if c.name == "answered" {
			sameAnswer(t, body, p.Answered.Body)
		}
	}
}

// sameAnswer compares two answers without their ages.
func sameAnswer(t *testing.T, got []byte, want string) {
	t.Helper()
	var members [2]map[string]any
	for i, text := range [][]byte{got, []byte(want)} {
		if err := json.Unmarshal(text, &members[i]); err != nil {
			t.Fatalf("%v: %.200s", err, text)
		}
		delete(members[i], "freshness")
	}
	if !reflect.DeepEqual(members[0], members[1]) {
		t.Errorf("answer:\n%s\nwant\n%s", got, want)
	}
}

func (p *pastTest) settlements(t *testing.T) {
	if res, body := p.get(api.PathFresh, api.HeaderSignature, p.Settled); res.StatusCode != http.StatusOK {
		t.Errorf("answered: %d %.200s", res.StatusCode, body)
	} else {
		sameAnswer(t, body, p.SettledBody)
	}
	for name, header := range map[string]string{"unsent": p.Unsent, "unseen": p.Unseen} {
		for _, want := range []api.Reason{"", api.ReasonAlreadyUsed} { // they are without an identifier, and told once
			reason, receipt := p.pays(header)
			for range 50 { // each waits for the block as long as the daemon does
				if reason != api.ReasonSettling {
					break
				}
				reason, receipt = p.pays(header)
			}
			if reason != want || receipt.Success != (want == "") {
				t.Errorf("%s: %q, want %q, %+v", name, reason, want, receipt)
			}
		}
	}
	if reason, receipt := p.pays(p.Expired); reason == "" || reason == api.ReasonSettling || receipt.Success {
		t.Errorf("expired: %q, %+v", reason, receipt)
	}
}

// alerts checks that what was delivered is not delivered again, and that what was not is, once.
func (p *pastTest) alerts(t *testing.T) {
	for range 100 {
		if events, _ := p.late.taken(); len(events) >= len(p.Told) {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	delivered := map[string]bool{}
	for _, id := range p.Told {
		delivered[id] = true
	}
	events, _ := p.ops.taken()
	for _, e := range events {
		if delivered[e.ID] {
			t.Errorf("ops was sent %s again", e.ID)
		}
	}
	events, _ = p.late.taken()
	if len(events) == 0 {
		t.Error("late was sent nothing")
	}
	seen := map[string]bool{}
	for _, e := range events {
		if seen[e.ID] {
			t.Errorf("late was sent %s twice", e.ID)
		}
		seen[e.ID] = true
	}
}

func (p *pastTest) history(t *testing.T) {
	for _, at := range p.States {
		body := p.byKey(api.PathSnapshot+"?at="+at.Add(time.Minute).UTC().Format("2006-01-02T15:04"), p.Operator, http.StatusOK)
		var s api.StateResponse
		if err := json.Unmarshal(body, &s); err != nil || s.Freshness.GeneratedAt.Sub(at).Abs() > 2*time.Second || len(s.State) == 0 {
			t.Errorf("the state of %v is of %v, %v", at, s.Freshness.GeneratedAt, err)
		}
	}
}

// log checks that the log still has what its checkpoint said then, and goes on.
func (p *pastTest) log(t *testing.T) {
	known, err := sdk.OpenCheckpoint(p.Checkpoint, p.LogKey)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Refresh(t.Context(), api.PackCrypto); err != nil {
		t.Fatal(err)
	}
	log := client(t, p.Daemon, "").Log(api.PackCrypto)
	now, err := log.Checkpoint(t.Context(), p.LogKey)
	if err != nil {
		t.Fatal(err)
	}
	if err := log.Follow(t.Context(), known, now); err != nil || now.Size <= known.Size {
		t.Errorf("from %d leaves to %d: %v", known.Size, now.Size, err)
	}
}

// books checks that the books agree with each other and with the chain.
func (p *pastTest) books(t *testing.T) {
	if err := p.Scan(t.Context()); err != nil {
		t.Fatal(err)
	}
	if findings, err := p.Credits().Audit(t.Context()); err != nil || len(findings) > 0 {
		t.Errorf("audit: %v, %v", findings, err)
	}
	o, err := admin.Open(t.Context(), admin.Config{DataDir: p.Config.DataDir, StoreURL: p.Config.StoreURL, Now: p.Config.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	deposited, err := usdg.ParseAmount(p.Ada.Paid.AmountUSDC)
	if err != nil {
		t.Fatal(err)
	}
	r, err := o.Reconcile(t.Context())
	const calls = 5 // two by transfer, three by settlement
	if err != nil || len(r.Findings) > 0 || int64(r.Calls) != calls*api.OpFresh.PriceMicros() || r.Deposits <= deposited || r.Unmatched != 0 {
		t.Errorf("%+v, %v", r, err)
	}
}
