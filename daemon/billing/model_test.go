package billing_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/daemon/testbed"
	"github.com/contextd/contextd/internal/chance"
	"github.com/contextd/contextd/internal/long"
	"github.com/contextd/contextd/sdk/api"
)

// Small limits, so that a test comes to them.
const (
	freeCalls = 3
	volume    = 6
	perClient = 5
)

// office is real books in real files with a Meter on them, and a clock that moves when it is told to.
type office struct {
	t     testing.TB
	dir   string
	store *store.Store
	meter *billing.Meter
	books *billing.Credits

	mu  sync.Mutex // guards now
	now time.Time
}

// newOffice opens an office that is closed with the test.
func newOffice(t testing.TB) *office {
	t.Helper()
	o := &office{t: t, dir: testbed.Place(t), now: time.Date(2026, 11, 20, 20, 0, 0, 0, time.UTC)}
	o.open()
	t.Cleanup(func() { o.close() })
	return o
}

func (o *office) open() {
	o.t.Helper()
	var err error
	if o.store, err = store.Open(context.WithoutCancel(o.t.Context()), o.dir, o.clock()); err != nil {
		o.t.Fatal(err)
	}
	plans := billing.DefaultPlans()
	plans[api.TierHobby] = billing.Plan{Snapshot: 24 * time.Hour, Volume: volume}
	o.meter = billing.New(billing.Config{Store: o.store, Plans: plans, FreeCalls: freeCalls, PerClient: perClient, Now: o.clock})
	o.meter.Keep(1)
	o.books = &billing.Credits{Ledger: o.store, Meter: o.meter, Now: o.clock}
}

func (o *office) close() {
	if err := o.store.Close(); err != nil {
		o.t.Error(err)
	}
}

// restart closes and opens it.
func (o *office) restart() {
	o.close()
	o.open()
}

func (o *office) clock() time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.now
}

func (o *office) advance(d time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.now = o.now.Add(d)
}

// serial numbers owners and keys, so that no two checks share one.
var serial atomic.Int64

// issue makes a key of an owner, as account does.
func (o *office) issue(owner string, tier api.Tier) billing.Call {
	o.t.Helper()
	id := fmt.Sprintf("cv_test_%08d", serial.Add(1))
	k := account.Key{ID: id, Hash: sha256.Sum256([]byte(id)), OwnerID: owner, Name: "k", Tier: tier, Consent: api.ConsentFull, CreatedAt: o.clock()}
	if err := o.store.CreateKey(o.t.Context(), k); err != nil {
		o.t.Fatal(err)
	}
	return billing.Call{KeyID: id, OwnerID: owner, Tier: tier, Consent: k.Consent, Op: api.OpFresh, Pack: api.PackCrypto}
}

// revoke ends a key, as account does.
func (o *office) revoke(c billing.Call) error {
	return o.meter.WithLock(o.t.Context(), c.OwnerID, func() error {
		_, _, err := o.store.RevokeKey(o.t.Context(), c.KeyID, o.clock())
		return err
	})
}

// rotate makes a key in place of another, which ends after the grace, as account does.
func (o *office) rotate(old billing.Call, grace time.Duration) (next billing.Call, err error) {
	next = old
	next.KeyID = fmt.Sprintf("cv_test_%08d", serial.Add(1))
	k := account.Key{ID: next.KeyID, Hash: sha256.Sum256([]byte(next.KeyID)), OwnerID: next.OwnerID, Name: "k", Tier: next.Tier, Consent: next.Consent, CreatedAt: o.clock()}
	return next, o.meter.WithLock(o.t.Context(), old.OwnerID, func() error {
		_, err := o.store.RotateKey(o.t.Context(), old.KeyID, k, o.clock().Add(grace))
		return err
	})
}

// charge is what a call comes to.
func (o *office) charge(c billing.Call) (api.Reason, time.Duration) {
	_, err := o.meter.Charge(o.t.Context(), c)
	return outcome(err)
}

// modelKey is what the model knows of a key.
type modelKey struct {
	call    billing.Call
	credits int64
	revoked bool
	paid    []time.Time // beginnings of hours, one for each call
}

// model is the rules of decisions §3 and 11.3, written down without regard to speed.
type model struct {
	keys    []*modelKey            // of one owner, oldest first
	free    []time.Time            // the owner's free calls
	clients map[string][]time.Time // the same by address, since the last restart
}

func (m *model) pool() (sum int64) {
	for _, k := range m.keys {
		if !k.revoked {
			sum += k.credits
		}
	}
	return sum
}

// charge is what charging a call of k for so many credits at now should come to, and what is left then.
func (m *model) charge(k *modelKey, cost int, pack, client string, now time.Time) (api.Reason, time.Duration, billing.Left) {
	if k.revoked {
		return api.ReasonKeyRevoked, 0, billing.Left{}
	}
	if m.pool() == 0 {
		switch {
		case pack != api.PackCrypto && k.call.Tier == api.TierFree:
			return api.ReasonPackAccessDenied, 0, billing.Left{}
		case pack != api.PackCrypto:
			return api.ReasonInsufficient, 0, billing.Left{}
		}
		return m.chargeFree(cost, client, now)
	}
	if m.pool() < int64(cost) {
		return api.ReasonInsufficient, 0, billing.Left{}
	}
	if k.call.Tier == api.TierHobby {
		if reason, wait := room(since(k.paid, now, 30*24*time.Hour), cost, volume, 30*24*time.Hour, now); reason != "" {
			return reason, wait, billing.Left{}
		}
	}
	for range cost {
		payer := k
		if payer.credits == 0 {
			payer = m.keys[slices.IndexFunc(m.keys, func(o *modelKey) bool { return !o.revoked && o.credits > 0 })]
		}
		payer.credits--
		k.paid = append(k.paid, now.Truncate(time.Hour))
	}
	return "", 0, billing.Left{Known: true, Calls: m.pool()}
}

// room is what a call comes to that costs so many more in a window with a limit, "" if they fit.
func room(within []time.Time, cost, limit int, length time.Duration, now time.Time) (api.Reason, time.Duration) {
	switch over := len(within) + cost - limit; {
	case over <= 0:
		return "", 0
	case cost > limit:
		return api.ReasonInsufficient, 0
	default:
		return api.ReasonQuotaExhausted, within[over-1].Add(length).Sub(now)
	}
}

// chargeFree is charge for who has no credits.
func (m *model) chargeFree(cost int, client string, now time.Time) (api.Reason, time.Duration, billing.Left) {
	const day = 24 * time.Hour
	within := since(m.free, now, day)
	if reason, wait := room(within, cost, freeCalls, day, now); reason != "" {
		return reason, wait, billing.Left{}
	}
	near := since(m.clients[client], now, day)
	if reason, wait := room(near, cost, perClient, day, now); reason != "" && client != "" {
		return reason, wait, billing.Left{}
	}
	times := slices.Repeat([]time.Time{now}, cost)
	m.free, within = append(m.free, times...), append(within, times...)
	left := billing.Left{Known: true, Free: true, Calls: int64(freeCalls - len(within)), Reset: within[0].Add(day).Sub(now)}
	if client != "" {
		m.clients[client], near = append(m.clients[client], times...), append(near, times...)
		if n := int64(perClient - len(near)); n < left.Calls {
			left.Calls, left.Reset = n, near[0].Add(day).Sub(now)
		}
	}
	return "", 0, left
}

// since are those of list that are less than d before now.
func since(list []time.Time, now time.Time, d time.Duration) (within []time.Time) {
	for _, t := range list {
		if t.Add(d).After(now) {
			within = append(within, t)
		}
	}
	return within
}

// outcome is the reason and the wait of a charge, "" for one that was made.
func outcome(err error) (api.Reason, time.Duration) {
	var refused *api.Error
	if errors.As(err, &refused) {
		return refused.Reason, refused.RetryAfter
	}
	if err != nil {
		return api.Reason(err.Error()), 0
	}
	return "", 0
}

// TestBooksAreAsTheModelSays lets calls, grants, corrections, revocations, restarts and time happen in any order.
func TestBooksAreAsTheModelSays(t *testing.T) {
	t.Parallel()
	long.Test(t)
	o := newOffice(t)
	chance.Check(t, func(r *rapid.T) {
		owner := fmt.Sprintf("owner-%d", serial.Add(1))
		m := &model{clients: map[string][]time.Time{}}
		o.restart()
		newKey := func(r *rapid.T) {
			tier := rapid.SampledFrom([]api.Tier{api.TierFree, api.TierHobby, api.TierEnterprise}).Draw(r, "tier")
			m.keys = append(m.keys, &modelKey{call: o.issue(owner, tier)})
			o.advance(time.Millisecond) // the order of keys is that of their times
		}
		newKey(r)
		key := func(r *rapid.T) *modelKey { return rapid.SampledFrom(m.keys).Draw(r, "key") }
		r.Repeat(map[string]func(*rapid.T){
			"new key": newKey,
			"call":    func(r *rapid.T) { o.expect(r, m, key(r), 1) },
			"burst":   func(r *rapid.T) { o.expect(r, m, key(r), rapid.IntRange(2, 8).Draw(r, "calls")) },
			"grant":   func(r *rapid.T) { o.move(r, m, key(r), rapid.Int64Range(1, 9).Draw(r, "credits"), billing.KindGrant) },
			"adjust": func(r *rapid.T) {
				o.move(r, m, key(r), rapid.Int64Range(-4, -1).Draw(r, "credits"), billing.KindAdjust)
			},
			"revoke": func(r *rapid.T) {
				k := key(r)
				if err := o.revoke(k.call); err != nil {
					r.Fatal(err)
				}
				k.revoked = true
			},
			"time": func(r *rapid.T) {
				o.advance(rapid.SampledFrom([]time.Duration{time.Second, time.Hour, 23 * time.Hour, 29 * 24 * time.Hour}).Draw(r, "time"))
			},
			"restart": func(r *rapid.T) {
				o.checkFile(r)
				o.restart()
				clear(m.clients)
			},
			"rotate": func(r *rapid.T) {
				k := key(r)
				next, err := o.rotate(k.call, 0)
				if (err != nil) != k.revoked {
					r.Fatal(err)
				}
				if err == nil {
					m.keys = append(m.keys, &modelKey{call: next, credits: k.credits})
					k.credits, k.revoked = 0, true
					o.advance(time.Millisecond)
				}
			},
			"": func(r *rapid.T) {
				if rapid.Bool().Draw(r, "look") {
					o.check(r, m)
				}
			},
		})
	})
}

// expect calls n times at once with k and compares with the model. Calls of one key are alike, so their order does not matter.
func (o *office) expect(r *rapid.T, m *model, k *modelKey, n int) {
	call := k.call
	call.Pack = rapid.SampledFrom([]string{api.PackCrypto, api.PackCrypto, "ai"}).Draw(r, "pack")
	call.Client = rapid.SampledFrom([]string{"", "near", "far"}).Draw(r, "client")
	cost := rapid.SampledFrom([]int{1, 1, 1, 2, freeCalls, freeCalls + 1, perClient, volume, volume + 1}).Draw(r, "cost")
	if call.Units = int64(cost); cost == 1 {
		call.Units = rapid.Int64Range(0, 1).Draw(r, "units")
	}
	want, got := map[string]int{}, map[string]int{}
	for range n {
		reason, wait, left := m.charge(k, cost, call.Pack, call.Client, o.clock())
		want[fmt.Sprint(reason, wait, left)]++
	}
	var mu sync.Mutex
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			left, err := o.meter.Charge(o.t.Context(), call)
			reason, wait := outcome(err)
			mu.Lock()
			defer mu.Unlock()
			got[fmt.Sprint(reason, wait, left)]++
		})
	}
	all.Wait()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		r.Fatalf("%d calls at %v came to %v, want %v", n, o.clock(), got, want)
	}
}

// move grants or takes credits and compares with the model.
func (o *office) move(r *rapid.T, m *model, k *modelKey, amount int64, kind billing.Kind) {
	pool, err := o.books.Move(o.t.Context(), k.call.OwnerID, billing.Entry{KeyID: k.call.KeyID, Amount: amount, Kind: kind, Reason: "test"})
	if refused := k.revoked || k.credits+amount < 0; refused != (err != nil) {
		r.Fatalf("moving %d credits on %+v: %v", amount, *k, err)
	}
	if err == nil {
		if k.credits += amount; pool != m.pool() {
			r.Fatalf("the pool is %d, want %d", pool, m.pool())
		}
	}
}

// checkFile audits the books as the file has them.
func (o *office) checkFile(r *rapid.T) {
	s, err := store.OpenRead(o.t.Context(), o.dir)
	if err != nil {
		r.Fatal(err)
	}
	defer s.Close()
	if findings, err := s.Audit(o.t.Context()); err != nil || len(findings) > 0 {
		r.Fatalf("the audit of the file finds %v, %v", findings, err)
	}
}

// check compares the books with the model.
func (o *office) check(r *rapid.T, m *model) {
	owner, active := m.keys[0].call.OwnerID, 0
	for _, k := range m.keys {
		got, err := o.books.Balance(o.t.Context(), owner, k.call.KeyID)
		if err != nil || got.Balance != k.credits {
			r.Fatalf("key %s has %d credits, %v; want %d", k.call.KeyID, got.Balance, err, k.credits)
		}
		if !k.revoked {
			active++
		}
	}
	all, err := o.books.Balance(o.t.Context(), owner, "")
	if err != nil || all.Balance != m.pool() || all.KeyCount != active {
		r.Fatalf("the balance is %+v, %v; want %d on %d keys", all, err, m.pool(), active)
	}
	if findings, err := o.store.Audit(o.t.Context()); err != nil || len(findings) > 0 {
		r.Fatalf("the audit finds %v, %v", findings, err)
	}
}
