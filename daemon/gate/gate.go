// Package gate is the one admission for every transport: credentials and what is asked in, the caller or the exact error out.
//
// It decides who may call; it never answers a call and never reads a state. A transport asks it after the free checks
// (parameters, pack, state) and before the operation is resolved.
package gate

import (
	"context"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/sdk/api"
)

// Credentials are what a caller sent. The zero Credentials are none.
type Credentials struct {
	Bearer    string // the key, without the scheme
	HasBearer bool   // an Authorization header was there, however malformed
}

// Caller is who was admitted.
type Caller struct {
	KeyID   string
	OwnerID string
	Tier    api.Tier
}

// Keys recognises keys and notes their use; *account.Keys is one.
type Keys interface {
	Resolve(secret string) (account.Key, error)
	Used(keyID string)
}

// Gate admits callers. Make one with New.
type Gate struct{ keys Keys }

// New makes a Gate that knows the given keys.
func New(keys Keys) *Gate { return &Gate{keys: keys} }

// Admit returns the caller with credentials c who asks for op on pack, or the *api.Error to answer with.
func (g *Gate) Admit(_ context.Context, c Credentials, op api.Op, pack string) (Caller, error) {
	if !c.HasBearer {
		return Caller{}, api.Errorf(api.ReasonPaymentRequired, "%s on pack %s needs an API key", op, pack).
			WithHint("send Authorization: Bearer <API_KEY>; the operator makes keys with: contextd keys create NAME")
	}
	key, err := g.keys.Resolve(c.Bearer)
	if err != nil {
		return Caller{}, err
	}
	g.keys.Used(key.ID)
	return Caller{KeyID: key.ID, OwnerID: key.OwnerID, Tier: key.Tier}, nil
}
