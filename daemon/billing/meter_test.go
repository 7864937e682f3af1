package billing_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/daemon/testbed"
	"github.com/contextd/contextd/sdk/api"
)

// grant gives credits to a key.
func (o *office) grant(c billing.Call, n int64) {
	o.t.Helper()
	e := billing.Entry{KeyID: c.KeyID, Amount: n, Kind: billing.KindGrant, Reason: "test"}
	if _, err := o.books.Move(o.t.Context(), c.OwnerID, e); err != nil {
		o.t.Fatal(err)
	}
}

// balance is the pool of c's owner.
func (o *office) balance(c billing.Call) int64 {
	o.t.Helper()
	b, err := o.books.Balance(o.t.Context(), c.OwnerID, "")
	if err != nil {
		o.t.Fatal(err)
	}
	return b.Balance
}

// TestCallersWhoLeave cancels calls at every stage: what was answered is what was charged, neither more nor less.
func TestCallersWhoLeave(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	c := o.issue("leaver", api.TierEnterprise)
	const credits = 5000
	o.grant(c, credits)
	var answered atomic.Int64
	var all sync.WaitGroup
	for worker := range 32 {
		all.Go(func() {
			for i := range 60 {
				ctx, cancel := context.WithCancel(t.Context())
				if (worker+i)%2 == 0 {
					time.AfterFunc(time.Duration(i)*10*time.Microsecond, cancel)
				}
				switch _, err := o.meter.Charge(ctx, c); {
				case err == nil:
					answered.Add(1)
				case !errors.Is(err, context.Canceled):
					t.Errorf("charge: %v", err)
				}
				cancel()
			}
		})
	}
	all.Wait()
	if got := credits - o.balance(c); got != answered.Load() {
		t.Errorf("%d calls were charged, %d answered", got, answered.Load())
	}
	t.Logf("%d of 1920 calls were answered", answered.Load())
}

// TestManyCallersShareOnePool lets many keys of one owner spend the last credits at once: no credit is spent twice, none is left.
func TestManyCallersShareOnePool(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	const keys, credits = 8, 300
	calls := make([]billing.Call, keys)
	for i := range calls {
		calls[i] = o.issue("pool", api.TierEnterprise)
		calls[i].Pack = "ai" // so that nothing is free
		o.advance(time.Millisecond)
	}
	o.grant(calls[0], credits/3)
	o.grant(calls[3], credits/3)
	o.grant(calls[7], credits/3)
	var paid, refused atomic.Int64
	var all sync.WaitGroup
	for _, c := range calls {
		for range 50 {
			all.Go(func() {
				switch reason, _ := o.charge(c); reason {
				case "":
					paid.Add(1)
				case api.ReasonInsufficient:
					refused.Add(1)
				default:
					t.Errorf("a charge came to %s", reason)
				}
			})
		}
	}
	all.Wait()
	if paid.Load() != credits || refused.Load() != keys*50-credits || o.balance(calls[0]) != 0 {
		t.Errorf("%d paid, %d refused, %d left; want %d paid of %d credits", paid.Load(), refused.Load(), o.balance(calls[0]), credits, credits)
	}
}

// TestForgettingLosesNothing lets the bound on memory be passed all the time while many call: no key gets a call too many, none too few.
func TestForgettingLosesNothing(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	calls := make([]billing.Call, 200)
	made := make([]atomic.Int64, len(calls))
	for i := range calls {
		calls[i] = o.issue(fmt.Sprintf("forgotten-%d", i), api.TierFree)
	}
	var all sync.WaitGroup
	for i := range calls {
		for range 3 * freeCalls {
			all.Go(func() {
				if reason, _ := o.charge(calls[i]); reason == "" {
					made[i].Add(1)
				}
			})
		}
	}
	all.Wait()
	for i := range made {
		if n := made[i].Load(); n != freeCalls {
			t.Errorf("key %d had %d calls, want %d", i, n, freeCalls)
		}
	}
}

// TestBooksChangedByAnotherHand takes the credits away behind the Meter's back: the charge finds out and decides again.
func TestBooksChangedByAnotherHand(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	c := o.issue("owner", api.TierFree)
	o.grant(c, 5)
	if _, err := o.meter.Charge(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	o.exec("UPDATE keys SET credits = 0, spent = 5 WHERE id = ?", c.KeyID)
	for range freeCalls {
		if _, err := o.meter.Charge(t.Context(), c); err != nil {
			t.Fatalf("a call in the free window: %v", err)
		}
	}
	if reason, wait := o.charge(c); reason != api.ReasonQuotaExhausted || wait != 24*time.Hour {
		t.Errorf("the call after the free ones: %s, wait %v", reason, wait)
	}
}

// TestDamagedBooks lets the store fail: every caller is told, nothing is charged, and it works again afterwards.
func TestDamagedBooks(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	c := o.issue("owner", api.TierFree)
	o.grant(c, 5)
	o.exec("ALTER TABLE usage RENAME TO gone")
	for range 2 {
		if reason, _ := o.charge(c); reason == "" {
			t.Fatal("a call was answered without books")
		}
	}
	o.exec("ALTER TABLE gone RENAME TO usage")
	if _, err := o.meter.Charge(t.Context(), c); err != nil || o.balance(c) != 4 {
		t.Errorf("after the repair: %v, %d credits left; want 4", err, o.balance(c))
	}
}

// TestFreeCallsOutliveRestarts: a free call counts for 24 hours to the millisecond, whatever is pruned and restarted meanwhile.
func TestFreeCallsOutliveRestarts(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	c := o.issue("owner", api.TierFree)
	for range freeCalls {
		if reason, _ := o.charge(c); reason != "" {
			t.Fatal(reason)
		}
	}
	const day = 24 * time.Hour
	gone := time.Duration(0)
	for _, after := range []time.Duration{0, time.Hour, day / 2, day/2 + time.Millisecond, day - time.Millisecond, day} {
		o.advance(after - gone)
		gone = after
		if err := o.store.PruneCalls(t.Context(), o.clock()); err != nil {
			t.Fatal(err)
		}
		o.restart()
		reason, wait := o.charge(c)
		if after < day && (reason != api.ReasonQuotaExhausted || wait != day-after) || after == day && reason != "" {
			t.Errorf("%v later: %s, wait %v", after, reason, wait)
		}
	}
}

// TestFailedCallsCountForNoAddress: what could not be booked is no call of the address either.
func TestFailedCallsCountForNoAddress(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.exec("ALTER TABLE usage RENAME TO gone")
	for range perClient + 1 {
		c := o.issue(fmt.Sprintf("owner-%d", serial.Add(1)), api.TierFree)
		c.Client, c.Units = "near", 2
		if reason, _ := o.charge(c); reason == "" || reason == api.ReasonQuotaExhausted {
			t.Fatalf("a call without books: %q", reason)
		}
	}
	o.exec("ALTER TABLE gone RENAME TO usage")
	for n := range perClient + 1 {
		c := o.issue(fmt.Sprintf("owner-%d", serial.Add(1)), api.TierFree)
		c.Client = "near"
		if reason, _ := o.charge(c); (reason == "") != (n < perClient) {
			t.Errorf("call %d: %q", n, reason)
		}
	}
}

// TestAddressOfAnExport: what costs several free calls counts as many against its address.
func TestAddressOfAnExport(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	export := o.issue("exporter", api.TierFree)
	export.Client, export.Units = "near", freeCalls
	if reason, _ := o.charge(export); reason != "" {
		t.Fatal(reason)
	}
	for n := range perClient {
		c := o.issue(fmt.Sprintf("owner-%d", serial.Add(1)), api.TierFree)
		c.Client = "near"
		if reason, _ := o.charge(c); (reason == "") != (n < perClient-freeCalls) {
			t.Errorf("call %d beside an export: %q", n, reason)
		}
	}
}

func TestConsentIsHonoured(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	for consent, want := range map[api.TraceConsent]struct{ traces, rows int }{
		api.ConsentFull: {2, 2}, api.ConsentAggregated: {0, 2}, api.ConsentNone: {0, 0},
	} {
		c := o.issue("owner-"+string(consent), api.TierFree)
		c.Consent = consent
		for _, op := range []api.Op{api.OpFresh, api.OpCite} {
			c.Op = op
			if _, err := o.meter.Charge(t.Context(), c); err != nil {
				t.Fatal(err)
			}
		}
		usage, err := o.books.Usage(t.Context(), c.OwnerID, 30)
		if err != nil || len(usage.Days) != want.rows {
			t.Errorf("consent %s: usage %+v, %v; want %d rows", consent, usage, err, want.rows)
		}
		for _, row := range usage.Days {
			if row.Day != "2026-11-20" || row.KeyID != c.KeyID || row.Calls != 1 {
				t.Errorf("consent %s: usage row %+v", consent, row)
			}
		}
		if got := o.count("SELECT count(*) FROM traces WHERE key_id = ?", c.KeyID); got != want.traces {
			t.Errorf("consent %s: %d traces, want %d", consent, got, want.traces)
		}
		if got := o.count("SELECT sum(free) FROM usage WHERE key_id = ?", c.KeyID); got != 2 {
			t.Errorf("consent %s: %d calls counted, want 2", consent, got)
		}
	}
	if err := o.store.PruneCalls(t.Context(), o.clock().Add(24*time.Hour)); err != nil {
		t.Fatal(err)
	}
	if free, traces := o.count("SELECT count(*) FROM free_calls"), o.count("SELECT count(*) FROM traces"); free != 0 || traces != 2 {
		t.Errorf("after a day %d free calls and %d traces are kept, want none and 2", free, traces)
	}
	if err := o.store.PruneCalls(t.Context(), o.clock().Add(30*24*time.Hour)); err != nil || o.count("SELECT count(*) FROM traces") != 0 {
		t.Errorf("after 30 days traces are kept: %v", err)
	}
}

func TestMovesAreChecked(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	c, gone := o.issue("owner", api.TierFree), o.issue("owner", api.TierFree)
	o.grant(c, 10)
	if err := o.revoke(gone); err != nil {
		t.Fatal(err)
	}
	for name, e := range map[string]billing.Entry{
		"no reason":         {KeyID: c.KeyID, Amount: 1, Kind: billing.KindGrant, Reason: " "},
		"nothing":           {KeyID: c.KeyID, Amount: 0, Kind: billing.KindAdjust, Reason: "x"},
		"a negative grant":  {KeyID: c.KeyID, Amount: -1, Kind: billing.KindGrant, Reason: "x"},
		"too much":          {KeyID: c.KeyID, Amount: 1 << 60, Kind: billing.KindGrant, Reason: "x"},
		"more than is left": {KeyID: c.KeyID, Amount: -11, Kind: billing.KindAdjust, Reason: "x"},
		"a revoked key":     {KeyID: gone.KeyID, Amount: 1, Kind: billing.KindGrant, Reason: "x"},
		"no key":            {KeyID: "cv_test_none", Amount: 1, Kind: billing.KindGrant, Reason: "x"},
	} {
		t.Run(name, func(t *testing.T) {
			var refused *api.Error
			if _, err := o.books.Move(t.Context(), c.OwnerID, e); !errors.As(err, &refused) || refused.Hint == "" {
				t.Errorf("%v, want a refusal with a hint", err)
			}
		})
	}
	entries, err := o.store.Entries(t.Context(), "owner", 10)
	if err != nil || len(entries) != 1 || entries[0].Amount != 10 || entries[0].Reason != "test" || !entries[0].At.Equal(o.clock()) {
		t.Errorf("the ledger has %+v, %v; want the one grant", entries, err)
	}
	if findings, err := o.store.Audit(t.Context()); err != nil || len(findings) > 0 {
		t.Errorf("the audit finds %v, %v", findings, err)
	}
	o.exec("UPDATE keys SET credits = 11 WHERE id = ?", c.KeyID)
	o.exec("INSERT INTO usage VALUES (?, 1, 'fresh', 1, 0)", c.KeyID)
	findings, err := o.store.Audit(t.Context())
	want := fmt.Sprintf("[{%s has 11 credits and 0 spent, but the ledger says 10} {owner owner was debited 0 credits for 1 paid calls}]", c.KeyID)
	if err != nil || fmt.Sprint(findings) != want {
		t.Errorf("the audit of spoilt books finds %v, %v; want %s", findings, err, want)
	}
}

// exec changes the database file as another program would.
func (o *office) exec(text string, args ...any) {
	o.t.Helper()
	if _, err := o.file().ExecContext(o.t.Context(), text, args...); err != nil {
		o.t.Fatal(err)
	}
}

// count runs a query for one number.
func (o *office) count(text string, args ...any) (n int) {
	o.t.Helper()
	if err := o.file().QueryRowContext(o.t.Context(), text, args...).Scan(&n); err != nil {
		o.t.Fatal(err)
	}
	return n
}

// file opens the database file beside the store.
func (o *office) file() *sql.DB {
	o.t.Helper()
	return testbed.SQL(o.t, o.dir, store.File)
}
