// Package gate is the one admission for every transport: credentials and what is asked in, the caller or the exact error out.
//
// It decides who may call; it never answers a call and never reads a state. A transport asks Admit after the free checks
// (parameters, pack, state) and before the operation is resolved, and Charge when the answer is there and before it is written:
// only an answered call costs something.
package gate

import (
	"context"
	"time"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/sdk/api"
)

// Credentials are what a caller sent. The zero Credentials are none.
type Credentials struct {
	Bearer    string // the key, without the scheme
	HasBearer bool   // an Authorization header was there, however malformed
}

// Caller is who was admitted, and to what.
type Caller struct {
	billing.Call
	Snapshot time.Duration // how far back he may read history
}

// Keys recognises keys and notes their use; *account.Keys is one.
type Keys interface {
	Resolve(secret string) (account.Key, error)
	Used(keyID string)
	Ended(keyID string) <-chan struct{}
}

// Meter charges calls; *billing.Meter is one.
type Meter interface {
	Access(ctx context.Context, c billing.Call) error
	Charge(ctx context.Context, c billing.Call) error
}

// Config is what a Gate needs.
type Config struct {
	Keys  Keys
	Meter Meter
	Plans billing.Plans // nil means billing.DefaultPlans
}

// Gate admits callers. Make one with New.
type Gate struct{ cfg Config }

// New makes a Gate.
func New(cfg Config) *Gate {
	if cfg.Plans == nil {
		cfg.Plans = billing.DefaultPlans()
	}
	return &Gate{cfg: cfg}
}

// Charge takes what the call of c costs and returns nil once that is on disk, or the *api.Error to answer with.
func (g *Gate) Charge(ctx context.Context, c Caller) error { return g.cfg.Meter.Charge(ctx, c.Call) }

// Ended returns a channel that closes when what c was admitted with ends.
func (g *Gate) Ended(c Caller) <-chan struct{} { return g.cfg.Keys.Ended(c.KeyID) }

// Admit returns the caller with credentials c who asks for op on pack, or the *api.Error to answer with.
func (g *Gate) Admit(ctx context.Context, c Credentials, op api.Op, pack string) (Caller, error) {
	if !c.HasBearer {
		return Caller{}, api.Errorf(api.ReasonPaymentRequired, "%s on pack %s needs an API key", op, pack).
			WithHint("send Authorization: Bearer <API_KEY>; the operator makes keys with: contextd keys create NAME")
	}
	key, err := g.cfg.Keys.Resolve(c.Bearer)
	if err != nil {
		return Caller{}, err
	}
	caller := Caller{Snapshot: g.cfg.Plans[key.Tier].Snapshot, Call: billing.Call{
		KeyID: key.ID, OwnerID: key.OwnerID, Tier: key.Tier, Consent: key.Consent, Op: op, Pack: pack,
	}}
	if err := g.cfg.Meter.Access(ctx, caller.Call); err != nil {
		return Caller{}, err
	}
	g.cfg.Keys.Used(key.ID)
	return caller, nil
}
