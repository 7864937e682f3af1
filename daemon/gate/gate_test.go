package gate_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/gate"
	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/daemon/testbed"
	"github.com/contextd/contextd/daemon/x402"
	"github.com/contextd/contextd/sdk/api"
)

// opened is when the gates of these tests were opened; their clock stands still.
func opened() time.Time { return time.Date(2026, 11, 20, 20, 5, 0, 0, time.UTC) }

// open makes a gate with real keys on a real store.
func open(t testing.TB) (*gate.Gate, *account.Keys) {
	t.Helper()
	s, err := store.Open(t.Context(), testbed.Place(t), opened())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	keys, err := account.OpenKeys(t.Context(), account.Config{Store: s, Now: opened})
	if err != nil {
		t.Fatal(err)
	}
	meter := billing.New(billing.Config{Store: s, Now: opened})
	return gate.New(gate.Config{Keys: keys, Meter: meter}), keys
}

// issue makes a key of the given tier.
func issue(t testing.TB, keys *account.Keys, tier api.Tier) api.IssuedKey {
	t.Helper()
	key, err := keys.Issue(t.Context(), account.NewKey{OwnerID: account.OperatorID, Name: "test " + string(tier), Tier: tier})
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// bearer are the credentials of a caller who sent key.
func bearer(key string) gate.Credentials { return gate.Credentials{Bearer: key, HasBearer: true} }

// used returns when the key was last used, as the store has it after a flush.
func used(t testing.TB, keys *account.Keys, id string) time.Time {
	t.Helper()
	if err := keys.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, k := range keys.List("") {
		if k.ID == id {
			return k.LastUsedAt
		}
	}
	t.Fatalf("no key %s", id)
	return time.Time{}
}

func TestAdmit(t *testing.T) {
	t.Parallel()
	g, keys := open(t)
	for _, tier := range api.Tiers() {
		key := issue(t, keys, tier)
		if at := used(t, keys, key.KeyID); !at.IsZero() {
			t.Errorf("%s: a new key was used at %v", tier, at)
		}
		for _, op := range api.Ops() {
			got, err := g.Admit(t.Context(), bearer(key.Key), op, api.PackCrypto)
			want := gate.Caller{Snapshot: tier.SnapshotWindow(), Call: billing.Call{KeyID: key.KeyID, OwnerID: account.OperatorID, Window: key.KeyID, Tier: tier,
				Consent: api.ConsentAggregated, Op: op, Pack: api.PackCrypto}}
			if err != nil || got != want {
				t.Errorf("%s %s: %+v, %v, want %+v", tier, op, got, err, want)
			}
		}
		if at := used(t, keys, key.KeyID); !at.Equal(opened()) {
			t.Errorf("%s: last used at %v", tier, at)
		}
	}
}

// refusal is what an error says to its caller.
func refusal(t testing.TB, what string, caller gate.Caller, err error) *api.Error {
	t.Helper()
	var e *api.Error
	if !errors.As(err, &e) {
		t.Fatalf("%s: %v is no *api.Error", what, err)
	}
	if caller != (gate.Caller{}) {
		t.Errorf("%s: a caller is refused and admitted: %+v", what, caller)
	}
	if e.Hint == "" || e.RetryAfter != 0 {
		t.Errorf("%s: hint %q, retry after %v", what, e.Hint, e.RetryAfter)
	}
	return e
}

// TestAdmitWithoutCredentials: where nothing can be paid by call, none is 401, whatever is asked, and a proof is told so.
func TestAdmitWithoutCredentials(t *testing.T) {
	t.Parallel()
	g, keys := open(t)
	key := issue(t, keys, api.TierTeam)
	for what, c := range map[string]gate.Credentials{"none": {}, "a key that came in no Authorization header": {Bearer: key.Key}} {
		t.Run(what, func(t *testing.T) {
			for _, op := range api.Ops() {
				caller, err := g.Admit(t.Context(), c, op, "markets")
				e := refusal(t, what, caller, err)
				if e.Reason != api.ReasonMissingToken || e.Code != api.CodeAuthMissing || e.Status != http.StatusUnauthorized ||
					e.Message != string(op)+" on pack markets needs an API key" || !strings.Contains(e.Hint, "Authorization: Bearer") {
					t.Errorf("%s, %s: %+v", what, op, *e)
				}
			}
		})
	}
	if at := used(t, keys, key.KeyID); !at.IsZero() {
		t.Errorf("the key counts as used at %v", at)
	}
	for what, c := range map[string]gate.Credentials{
		"a proof": {Proof: &x402.Proof{}}, "a proof for elsewhere": {Refused: api.Errorf(api.ReasonWrongNetwork, "elsewhere")},
	} {
		t.Run(what, func(t *testing.T) {
			caller, err := g.Admit(t.Context(), c, api.OpFresh, api.PackCrypto)
			if e := refusal(t, what, caller, err); e.Reason != api.ReasonPaymentsDisabled || e.Code != api.CodePaymentInvalid || e.Status != http.StatusBadRequest {
				t.Errorf("%s: %+v", what, *e)
			}
		})
	}
	caller, err := g.Admit(t.Context(), bearer(key.Key), api.OpFresh, "markets")
	if e := refusal(t, "no credits", caller, err); e.Reason != api.ReasonPackAccessDenied || e.Code != api.CodePackNotSubscribed || e.Status != http.StatusForbidden {
		t.Errorf("a paid tier without credits: %+v", *e)
	}
}

// TestAdmitBadKey: what was sent and is no key is 401, never a quote.
func TestAdmitBadKey(t *testing.T) {
	t.Parallel()
	g, keys := open(t)
	key := issue(t, keys, api.TierPro)
	last := key.Key[len(key.Key)-1]
	other := "A"
	if last == 'A' {
		other = "B"
	}
	for what, secret := range map[string]string{
		"nothing": "", "a space": " ", "the key id": key.KeyID, "cut off": key.Key[:len(key.Key)-1], "one more": key.Key + "A", "spaces around": " " + key.Key + " ",
		"last character": key.Key[:len(key.Key)-1] + other, "other environment": strings.Replace(key.Key, "cv_test_", "cv_live_", 1),
		"other case": strings.ToUpper(key.Key), "with the scheme": "Bearer " + key.Key, "unknown": "cv_test_" + strings.Repeat("0", api.KeySecretChars), "not text": "\xff\x00",
	} {
		t.Run(what, func(t *testing.T) {
			caller, err := g.Admit(t.Context(), bearer(secret), api.OpFresh, api.PackCrypto)
			e := refusal(t, what, caller, err)
			if e.Reason != api.ReasonInvalidToken || e.Code != api.CodeAuthInvalid || e.Status != http.StatusUnauthorized {
				t.Errorf("%s: %+v", what, *e)
			}
			if strings.Contains(e.Message+e.Hint, key.Key[len(key.Key)-20:]) {
				t.Errorf("%s: the answer quotes the key: %+v", what, *e)
			}
		})
	}
	if at := used(t, keys, key.KeyID); !at.IsZero() {
		t.Errorf("a refused call counts as use at %v", at)
	}
}

// TestAdmitRevoked: a key ends at once, for callers who come while it ends too, and the others live on.
func TestAdmitRevoked(t *testing.T) {
	t.Parallel()
	g, keys := open(t)
	key, other := issue(t, keys, api.TierTeam), issue(t, keys, api.TierFree)
	var callers sync.WaitGroup
	for range 4 {
		callers.Go(func() {
			for range 100 {
				var e *api.Error
				if _, err := g.Admit(t.Context(), bearer(key.Key), api.OpFresh, api.PackCrypto); err != nil &&
					(!errors.As(err, &e) || e.Reason != api.ReasonKeyRevoked) {
					t.Errorf("while it is revoked: %v", err)
				}
			}
		})
	}
	if _, err := keys.Revoke(t.Context(), key.KeyID); err != nil {
		t.Fatal(err)
	}
	for range 2 { // and it stays so
		caller, err := g.Admit(t.Context(), bearer(key.Key), api.OpFresh, api.PackCrypto)
		e := refusal(t, "revoked", caller, err)
		if e.Reason != api.ReasonKeyRevoked || e.Code != api.CodeAuthInvalid || e.Status != http.StatusUnauthorized {
			t.Errorf("%+v", *e)
		}
	}
	callers.Wait()
	if caller, err := g.Admit(t.Context(), bearer(other.Key), api.OpFresh, api.PackCrypto); err != nil || caller.KeyID != other.KeyID {
		t.Errorf("another key of the owner: %+v, %v", caller, err)
	}
}

// TestAdmitByProof: who paid for a call may have that call, and looks back as far as a key without credits.
func TestAdmitByProof(t *testing.T) {
	t.Parallel()
	claim := &x402.Claim{}
	g := gate.New(gate.Config{Payments: paid{claim}, Keys: brokenKeys{nil, t}})
	got, err := g.Admit(t.Context(), gate.Credentials{Proof: &x402.Proof{}}, api.OpSnapshot, api.PackCrypto)
	want := gate.Caller{AllPacks: true, Snapshot: 24 * time.Hour, Call: billing.Call{Op: api.OpSnapshot, Pack: api.PackCrypto}, Payment: claim}
	if err != nil || got != want {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
}

// paid takes every proof for its claim.
type paid struct{ claim *x402.Claim }

func (paid) Quote(x402.Subject) (api.PaymentRequirements, error) {
	return api.PaymentRequirements{}, errors.New("nothing is for sale")
}

func (paid) Offer(x402.Subject) (offer api.StandardRequired, ok bool) { return offer, false }

func (paid) ClaimSignedIn(context.Context, *x402.SignedIn, x402.Subject) (*x402.Claim, error) {
	return nil, errors.New("nobody signs in here")
}

func (paid) ClaimExact(context.Context, x402.Exact, x402.Subject) (*x402.Claim, error) {
	return nil, errors.New("nothing is settled")
}

func (p paid) Claim(context.Context, x402.Proof, x402.Subject) (*x402.Claim, error) {
	return p.claim, nil
}

// TestAdmitBrokenKeys: an error of the keys that is not the caller's goes through as it is.
func TestAdmitBrokenKeys(t *testing.T) {
	t.Parallel()
	broken := brokenKeys{errors.New("memory on fire"), t}
	caller, err := gate.New(gate.Config{Keys: broken}).Admit(t.Context(), bearer("cv_test_"), api.OpFresh, api.PackCrypto)
	if !errors.Is(err, broken.err) || caller != (gate.Caller{}) || api.AsError(err).Status != http.StatusInternalServerError {
		t.Errorf("%+v, %v", caller, err)
	}
}

// brokenKeys recognises nothing and must not be told of a use.
type brokenKeys struct {
	err error
	t   *testing.T
}

func (b brokenKeys) Resolve(string) (account.Key, error) { return account.Key{}, b.err }

func (b brokenKeys) Used(id string) { b.t.Errorf("use of %q", id) }

func (b brokenKeys) Ended(string) <-chan struct{} { b.t.Error("asked for an end"); return nil }

// TestAdmitAllPacks: of the operations on any pack, one of all is on those that the key may read, and costs what they cost.
func TestAdmitAllPacks(t *testing.T) {
	t.Parallel()
	_, keys := open(t)
	key := issue(t, keys, api.TierPro)
	for _, c := range []struct {
		rich         bool
		op           api.Op
		asked, reads string // "" for a refusal
		all          bool
	}{
		{true, api.OpQuery, "*", "*", true}, {false, api.OpQuery, "*", "crypto", false}, {true, api.OpQuery, "ai", "ai", true},
		{false, api.OpQuery, "ai", "", false}, {false, api.OpQuery, "crypto", "crypto", false}, {true, api.OpFresh, "ai", "ai", false},
	} {
		g := gate.New(gate.Config{Keys: keys, Meter: purse{rich: c.rich}})
		caller, err := g.Admit(t.Context(), bearer(key.Key), c.op, c.asked)
		if caller.Pack != c.reads || caller.AllPacks != c.all || (err != nil) != (c.reads == "") {
			t.Errorf("%+v: %+v, %v", c, caller, err)
		}
	}
}

// TestAdmitAgents: a token counts where an account is asked for, for the operations and packs that its owner has allowed.
func TestAdmitAgents(t *testing.T) {
	t.Parallel()
	_, keys := open(t)
	for _, c := range []struct {
		grant   api.Grant
		account bool
		op      api.Op
		pack    string
		want    api.Reason // "" for none
		all     bool
	}{
		{api.Grant{Scopes: []string{api.ScopeRead}}, true, api.OpFresh, "ai", "", false},
		{api.Grant{Scopes: []string{api.ScopeRead}}, false, api.OpFresh, "ai", api.ReasonInvalidToken, false},
		{api.Grant{Scopes: []string{api.ScopeRead}}, true, api.OpQuery, "*", "", true},
		{api.Grant{Scopes: []string{api.ScopeRead}}, true, api.OpSubscribe, "ai", api.ReasonNoScope, false},
		{api.Grant{Scopes: []string{api.ScopeRead}}, true, api.OpWatch, "ai", api.ReasonNoScope, false},
		{api.Grant{Scopes: []string{api.ScopeEvents}}, true, api.OpSubscribe, "ai", "", false},
		{api.Grant{Scopes: []string{api.ScopeEvents}}, true, api.OpFresh, "ai", api.ReasonNoScope, false},
		{api.Grant{Scopes: []string{api.ScopeRead}, Packs: []string{"ai"}}, true, api.OpFresh, "ai", "", false},
		{api.Grant{Scopes: []string{api.ScopeRead}, Packs: []string{"ai"}}, true, api.OpFresh, "crypto", api.ReasonPackAccessDenied, false},
		{api.Grant{Scopes: []string{api.ScopeRead}, Packs: []string{"ai"}}, true, api.OpQuery, "ai", "", false},
		{api.Grant{Scopes: []string{api.ScopeRead}, Packs: []string{"ai"}}, true, api.OpQuery, "*", api.ReasonPackAccessDenied, false},
	} {
		g := gate.New(gate.Config{Keys: keys, Tokens: agent{&c.grant}, Meter: purse{rich: true}})
		who := bearer(account.AccessPrefix + "x")
		who.Account = c.account
		caller, err := g.Admit(t.Context(), who, c.op, c.pack)
		if c.want == "" && (err != nil || caller.AllPacks != c.all || caller.Grant == nil) || c.want != "" && api.AsError(err).Reason != c.want {
			t.Errorf("%+v: %+v, %v", c, caller, err)
		}
	}
}

// agent is who every token is of.
type agent struct{ grant *api.Grant }

func (a agent) Resolve(context.Context, string) (account.Key, error) {
	return account.Key{ID: "cv_test_agent", Grant: a.grant}, nil
}

// purse is a meter of somebody who has credits, or none.
type purse struct {
	gate.Meter
	rich bool
}

func (p purse) HasCredits(context.Context, billing.Call) (bool, error) { return p.rich, nil }

func (p purse) Access(_ context.Context, c billing.Call) error {
	if p.rich || c.Pack == api.PackCrypto {
		return nil
	}
	return api.Errorf(api.ReasonPackAccessDenied, "no credits")
}

func (b brokenKeys) Spending(string) (account.Key, error) { return account.Key{}, b.err }
