package billing_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/sdk/api"
)

// TestAccess is who may read which pack, before anything is charged.
func TestAccess(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct {
		tier      api.Tier
		credits   int64
		pack      string
		unmetered bool
		want      api.Reason
		has       bool // credits
	}{
		"the free pack, free":               {tier: api.TierFree, pack: api.PackCrypto},
		"the free pack, with credits":       {tier: api.TierFree, pack: api.PackCrypto, credits: 1, has: true},
		"another pack, free":                {tier: api.TierFree, pack: api.PackAI, want: api.ReasonPackAccessDenied},
		"another pack, free, with credits":  {tier: api.TierFree, pack: api.PackAI, credits: 1, has: true},
		"another pack, hobby":               {tier: api.TierHobby, pack: api.PackAI, want: api.ReasonInsufficient},
		"another pack, hobby, with credits": {tier: api.TierHobby, pack: api.PackAI, credits: 1, has: true},
		"another pack, unmetered":           {tier: api.TierFree, pack: api.PackAI, unmetered: true, has: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOffice(t)
			c := o.issue("owner", one.tier)
			if one.credits > 0 {
				o.grant(c, one.credits+1) // one for the call below
			}
			c.Pack, c.Unmetered = one.pack, one.unmetered
			for _, remembered := range []bool{false, true} {
				if remembered { // the books of the owner are in memory
					call := c
					call.Pack = api.PackCrypto
					if _, err := o.meter.Charge(t.Context(), call); err != nil {
						t.Fatal(err)
					}
				}
				if got := reasonOf(t, o.meter.Access(t.Context(), c)); got != one.want {
					t.Errorf("%q, want %q", got, one.want)
				}
				if has, err := o.meter.HasCredits(t.Context(), c); err != nil || has != one.has {
					t.Errorf("it has credits: %v, %v", has, err)
				}
			}
		})
	}
}

// broken books nothing while it has an error.
type broken struct {
	billing.Store
	err error
}

func (b *broken) Charge(ctx context.Context, batch func() billing.Batch) error {
	if b.err != nil {
		return b.err
	}
	return b.Store.Charge(ctx, batch)
}

// TestCheck: a failure to charge is reported until a call is charged, or for half a minute; a refusal is none.
func TestCheck(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	books := &broken{Store: o.store}
	m := billing.New(billing.Config{Store: books, FreeCalls: freeCalls, Now: o.clock})
	c := o.issue("owner", api.TierFree)
	fail := func() {
		t.Helper()
		books.err = errors.New("disk full")
		if _, err := m.Charge(t.Context(), c); !errors.Is(err, books.err) {
			t.Fatalf("%v", err)
		}
		if err := m.Check(); !errors.Is(err, books.err) {
			t.Errorf("after a failure: %v", err)
		}
		books.err = nil
	}
	if err := m.Check(); err != nil {
		t.Error(err)
	}
	fail()
	if _, err := m.Charge(t.Context(), c); err != nil || m.Check() != nil {
		t.Errorf("after a call that was charged: %v, %v", err, m.Check())
	}
	fail()
	if o.advance(30 * time.Second); m.Check() != nil {
		t.Errorf("half a minute later: %v", m.Check())
	}
	for range freeCalls {
		_, _ = m.Charge(t.Context(), c)
	}
	if _, err := m.Charge(t.Context(), c); reasonOf(t, err) != api.ReasonQuotaExhausted || m.Check() != nil {
		t.Errorf("after a refusal: %v, %v", err, m.Check())
	}
}

// TestCatchUp: on several nodes, who has nothing left by the memory of this one is refused only after it has caught up.
func TestCatchUp(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	c := o.issue("owner", api.TierFree)
	var asked int
	var m *billing.Meter
	m = billing.New(billing.Config{Store: o.store, FreeCalls: 1, Now: o.clock, CatchUp: func() error {
		asked++
		return m.WithLockOnAll(t.Context(), func() ([]string, error) { return []string{c.OwnerID}, nil })
	}})
	paid := c
	paid.Pack = api.PackAI
	if left, err := m.Charge(t.Context(), c); err != nil || !left.Free || asked > 0 {
		t.Fatalf("%+v, %v, asked %d times", left, err, asked)
	}
	for name, act := range map[string]func() error{
		"charge": func() error { _, err := m.Charge(t.Context(), c); return err },
		"access": func() error { return m.Access(t.Context(), paid) },
	} {
		if before := asked; reasonOf(t, act()) == "" || asked != before+1 {
			t.Errorf("%s: asked %d times", name, asked-before)
		}
	}
	o.grant(c, 2) // at another node
	if err := m.Access(t.Context(), paid); err != nil {
		t.Error(err)
	}
	if left, err := m.Charge(t.Context(), c); err != nil || left.Free || left.Calls != 1 {
		t.Errorf("%+v, %v", left, err)
	}
}

// TestVolumeOfNodes: several nodes share the volume of a tier, within the age of what each knows of the others.
func TestVolumeOfNodes(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	c := o.issue("owner", api.TierHobby)
	o.grant(c, 100)
	plans := billing.DefaultPlans()
	plans[api.TierHobby] = billing.Plan{Volume: volume}
	node := func() *billing.Meter {
		return billing.New(billing.Config{Store: o.store, Plans: plans, Now: o.clock, CatchUp: func() error { return nil }})
	}
	one, other := node(), node()
	calls := func(m *billing.Meter, want int) {
		t.Helper()
		made := 0
		for range volume + 1 {
			if _, err := m.Charge(t.Context(), c); err == nil {
				made++
			}
		}
		if made != want {
			t.Errorf("%d calls were made, want %d", made, want)
		}
	}
	const first = volume - 2
	for range first {
		if _, err := other.Charge(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	calls(one, volume-first)
	o.advance(time.Minute) // the other has counted 4, and reads that it is 6
	calls(other, 0)
}

// TestSetPlans: plans and free calls hold from the next call on, and zero values are the defaults.
func TestSetPlans(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	c := o.issue("owner", api.TierFree)
	o.meter.SetPlans(nil, 1, 0)
	if left, err := o.meter.Charge(t.Context(), c); err != nil || left.Calls != 0 {
		t.Errorf("%+v, %v", left, err)
	}
	_, err := o.meter.Charge(t.Context(), c)
	if got := reasonOf(t, err); got != api.ReasonQuotaExhausted {
		t.Errorf("%q", got)
	}
	o.meter.SetPlans(nil, 0, 0)
	if left, err := o.meter.Charge(t.Context(), c); err != nil || left.Calls != api.FreeCallsPerDay-2 {
		t.Errorf("%+v, %v", left, err)
	}
}
