package gate_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/gate"
	"github.com/contextd/contextd/daemon/x402"
	"github.com/contextd/contextd/sdk/api"
)

// admission is an Admission that records the steps.
type admission struct {
	steps         []string
	admit, charge error
}

func (d *admission) Admit(context.Context, gate.Credentials, api.Op, string) (gate.Caller, error) {
	d.steps = append(d.steps, "admit")
	return gate.Caller{}, d.admit
}

func (d *admission) Charge(context.Context, gate.Caller) (left billing.Left, err error) {
	d.steps = append(d.steps, "charge")
	return left, d.charge
}

func (d *admission) Anonymous() (time.Duration, bool) { return time.Hour, true }

func (d *admission) WithQuote(err error, _ x402.Subject) error { return err }

// TestOrderOfServe: nothing is worked for who is only quoted, and what others are asked to make is charged before it is.
func TestOrderOfServe(t *testing.T) {
	t.Parallel()
	asked := api.Errorf(api.ReasonPaymentRequired, "pay")
	quoted := *asked
	quoted.Payment = &api.PaymentRequirements{}
	absent, full := errors.New("absent"), errors.New("full")
	for what, c := range map[string]struct {
		admission admission
		order     gate.Order[string]
		check     error
		steps     []string
		err       error
	}{
		"a quote":                         {admission: admission{admit: asked}, steps: []string{"check", "admit"}, err: asked},
		"what cannot be had":              {check: absent, steps: []string{"check"}, err: absent},
		"a refused proof":                 {admission: admission{admit: &quoted}, order: gate.Order[string]{Credentials: gate.Credentials{Proof: &x402.Proof{}}}, steps: []string{"admit", "check"}, err: &quoted},
		"a refused proof for what is not": {admission: admission{admit: &quoted}, order: gate.Order[string]{Credentials: gate.Credentials{Proof: &x402.Proof{}}}, check: absent, steps: []string{"admit", "check"}, err: absent},
		"a key":                           {order: gate.Order[string]{Credentials: bearer("x")}, steps: []string{"admit", "answer", "charge"}},
		"a key that asks what it is like": {order: gate.Order[string]{Credentials: bearer("x"), Free: true, First: true}, steps: []string{"admit", "answer"}},
		"work of others":                  {order: gate.Order[string]{Credentials: bearer("x"), First: true}, steps: []string{"admit", "charge", "answer"}},
		"work of others without credits":  {admission: admission{charge: full}, order: gate.Order[string]{Credentials: bearer("x"), First: true}, steps: []string{"admit", "charge"}, err: full},
	} {
		t.Run(what, func(t *testing.T) {
			d, o := c.admission, c.order
			o.Check = func(context.Context, gate.Caller) error { d.steps = append(d.steps, "check"); return c.check }
			o.Answer = func(context.Context, gate.Caller) (string, error) {
				d.steps = append(d.steps, "answer")
				return "", nil
			}
			if _, err := gate.Serve(t.Context(), &d, o); err != c.err || !slices.Equal(d.steps, c.steps) {
				t.Errorf("%s: %v, %v; want %v, %v", what, d.steps, err, c.steps, c.err)
			}
		})
	}
}
