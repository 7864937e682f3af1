// Package gate admits callers for every transport: it takes credentials and an operation, and returns the caller or the exact error.
//
// It never answers a call and never reads a state. A transport makes the free checks (parameters, pack, state) and passes the call to
// Serve, which calls Admit before it resolves the operation, and Charge once the answer is ready and before it is written: only an answered
// call costs something.
package gate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/x402"
	"github.com/contextd/contextd/internal/usdg"
	"github.com/contextd/contextd/sdk/api"
)

// Credentials are the credentials of a call. The zero Credentials are none.
type Credentials struct {
	Bearer    string // the key, without the scheme
	HasBearer bool   // an Authorization header was there, however malformed
	Account   bool   // a token of an agent that has signed in counts as its key, and no payment does
	Client    string // the address it came from, whose free calls are bounded; "" means none that counts

	Proof   *x402.Proof  // nil if none was sent; a bearer wins over it
	Exact   *x402.Exact  // a payment of standard x402, nil if none was sent; it wins over a proof, and a bearer over both
	Refused error        // why what was sent can be no proof of this daemon's; nil if it can
	Subject x402.Subject // what a proof has to have paid for

	SignIn   bool           // a wallet has signed in, however badly; a payment beside it comes first
	SignedIn *x402.SignedIn // the wallet, nil if there is none
}

// Caller is an admitted caller.
type Caller struct {
	billing.Call
	Snapshot time.Duration // how far back they may read history
	AsOf     time.Time     // the moment from which Snapshot counts: that of the quote they have paid; zero means now
	Grant    *api.Grant    // what they were allowed, with a token; nil with a key
	AllPacks bool          // of an operation on any pack: they may read every one; else the default one alone is sure

	SignedIn bool        // they show no key, and spend credits by their wallet
	Payment  *x402.Claim // nil unless they pay by call; Serve spends and closes it
}

// Holder identifies the bearer of limits on concurrent use: the owner or, for keys of the operator, the key, since no single owner answers
// for them.
func (c Caller) Holder() string {
	if c.OwnerID == account.OperatorID {
		return c.KeyID
	}
	return c.OwnerID
}

// Keys looks up keys and records their use; *account.Keys is one.
type Keys interface {
	Resolve(secret string) (account.Key, error)
	Used(keyID string)
	Ended(keyID string) <-chan struct{}
	Spending(ownerID string) (account.Key, error)
}

// Owners are those of wallets; *account.SignIn is one.
type Owners interface {
	OwnerOf(ctx context.Context, address string) (ownerID string, err error)
}

// Tokens look up what stands for a key; *account.Tokens is one.
type Tokens interface {
	Resolve(ctx context.Context, access string) (account.Key, error)
}

// Meter charges calls; *billing.Meter is one.
type Meter interface {
	Access(ctx context.Context, c billing.Call) error
	HasCredits(ctx context.Context, c billing.Call) (bool, error)
	Charge(ctx context.Context, c billing.Call) (billing.Left, error)
}

// Payments takes payments by call; *x402.Payments is one.
type Payments interface {
	Quote(s x402.Subject) (api.PaymentRequirements, error)
	// Offer returns the payment request of standard x402 for s. ok is false if nothing can be settled.
	Offer(s x402.Subject) (offer api.StandardRequired, ok bool)
	Claim(ctx context.Context, proof x402.Proof, s x402.Subject) (*x402.Claim, error)
	ClaimExact(ctx context.Context, e x402.Exact, s x402.Subject) (*x402.Claim, error)
	ClaimSignedIn(ctx context.Context, payer *x402.SignedIn, s x402.Subject) (*x402.Claim, error)
}

// Observer observes payments by call; *metrics.Metrics is one.
type Observer interface {
	Quoted()
	Claimed(c *x402.Claim, err error) // a proof was taken, or refused
}

// Config configures a Gate.
type Config struct {
	Keys     Keys
	Tokens   Tokens // nil means that keys alone are taken
	Meter    Meter
	Payments Payments      // nil means that calls are paid with keys alone
	Plans    billing.Plans // nil means billing.DefaultPlans
	Owners   Owners        // who have wallets that may spend their credits by signing in; nil means that none may
	Observer Observer      // of payments; nil means nobody
}

// Gate admits callers. Make one with New.
type Gate struct {
	cfg   Config
	plans atomic.Pointer[billing.Plans]
}

// New makes a Gate.
func New(cfg Config) *Gate {
	g := &Gate{cfg: cfg}
	g.SetPlans(cfg.Plans)
	return g
}

// SetPlans changes the plans of tiers for later callers; nil means billing.DefaultPlans.
func (g *Gate) SetPlans(plans billing.Plans) {
	if plans == nil {
		plans = billing.DefaultPlans()
	}
	g.plans.Store(&plans)
}

// Window is how far back callers of tier may read history.
func (g *Gate) Window(tier api.Tier) time.Duration { return (*g.plans.Load())[tier].Snapshot }

// Charge charges the call of c and returns the remaining calls once the charge is on disk, or the *api.Error to answer with.
func (g *Gate) Charge(ctx context.Context, c Caller) (billing.Left, error) {
	return g.cfg.Meter.Charge(ctx, c.Call)
}

// HasCredits reports whether credits pay for calls of c now: limits on concurrent use are higher then.
func (g *Gate) HasCredits(ctx context.Context, c Caller) (bool, error) {
	return g.cfg.Meter.HasCredits(ctx, c.Call)
}

// Ended returns a channel that closes when what c was admitted with ends.
func (g *Gate) Ended(c Caller) <-chan struct{} { return g.cfg.Keys.Ended(c.KeyID) }

// Anonymous returns the window of history for callers without a key, and whether they can pay by call.
func (g *Gate) Anonymous() (window time.Duration, sells bool) {
	return g.Window(api.TierFree), g.cfg.Payments != nil
}

// Admit returns the caller with credentials c for op on pack, or the *api.Error to answer with. A request for payment has a quote if the
// call can be paid.
func (g *Gate) Admit(ctx context.Context, c Credentials, op api.Op, pack string) (caller Caller, err error) {
	if c.HasBearer {
		caller, err = g.byKey(ctx, c, op, pack)
	} else {
		caller, err = g.byProof(ctx, c, op, pack)
	}
	return caller, g.WithQuote(err, c.Subject)
}

// Known returns the caller with the key bearer, without an operation, or the *api.Error to answer with. It is free.
func (g *Gate) Known(bearer string) (Caller, error) {
	key, err := g.cfg.Keys.Resolve(bearer)
	if err != nil {
		return Caller{}, err
	}
	return g.caller(key), nil
}

// Identify is Known for credentials, which name a key or stand for one.
func (g *Gate) Identify(ctx context.Context, c Credentials) (Caller, error) {
	if !c.Account || g.cfg.Tokens == nil || !strings.HasPrefix(c.Bearer, account.AccessPrefix) {
		return g.Known(c.Bearer)
	}
	key, err := g.cfg.Tokens.Resolve(ctx, c.Bearer)
	if err != nil {
		return Caller{}, err
	}
	return g.caller(key), nil
}

// caller is who has key, which is used.
func (g *Gate) caller(key account.Key) Caller {
	g.cfg.Keys.Used(key.ID)
	call := billing.Call{KeyID: key.ID, OwnerID: key.OwnerID, Tier: key.Tier, Consent: key.Consent, Unmetered: key.Unmetered,
		Daily: key.Daily}
	if key.OwnerID == account.OperatorID { // who hands them out to several
		call.Window = key.ID
	}
	return Caller{Snapshot: g.Window(key.Tier), Call: call, Grant: key.Grant}
}

func (g *Gate) byKey(ctx context.Context, c Credentials, op api.Op, pack string) (Caller, error) {
	caller, err := g.Identify(ctx, c)
	if err != nil {
		return Caller{}, err
	}
	if err := caller.allowed(op, pack); err != nil {
		return Caller{}, err
	}
	caller.Op, caller.Pack, caller.Client = op, pack, c.Client
	if op.Operation().AnyPack && (caller.Grant == nil || len(caller.Grant.Packs) == 0) {
		if caller.AllPacks, err = g.HasCredits(ctx, caller); err != nil {
			return Caller{}, err
		}
		if pack == api.PackAll && !caller.AllPacks {
			caller.Pack = api.DefaultPack // which costs a free call
		}
	}
	if err := g.cfg.Meter.Access(ctx, caller.Call); err != nil {
		if g.cfg.Payments == nil { // 402 is for what can be paid by call
			err = ForKeysAlone(err)
		}
		return Caller{}, err
	}
	return caller, nil
}

// ScopeOf is the scope that an agent needs for op.
func ScopeOf(op api.Op) string {
	if op == api.OpSubscribe || op == api.OpWatch {
		return api.ScopeEvents
	}
	return api.ScopeRead
}

// allowed says why an agent that has signed in may not have op on a pack, nil if it may.
func (c Caller) allowed(op api.Op, pack string) error {
	if c.Grant == nil {
		return nil
	}
	const again = "have its owner sign in again with this agent, and allow it"
	if scope := ScopeOf(op); !slices.Contains(c.Grant.Scopes, scope) {
		return api.Errorf(api.ReasonNoScope, "this agent was not allowed %s", scope).WithHint(again)
	}
	if len(c.Grant.Packs) > 0 && !slices.Contains(c.Grant.Packs, pack) {
		return api.Errorf(api.ReasonPackAccessDenied, "this agent was not allowed pack %s", pack).
			WithHint("packs allowed: %s; or %s", strings.Join(c.Grant.Packs, ", "), again)
	}
	return nil
}

// byProof admits who has paid for the call.
func (g *Gate) byProof(ctx context.Context, c Credentials, op api.Op, pack string) (Caller, error) {
	presented := c.Presented() || c.Refused != nil
	switch {
	case g.cfg.Payments == nil && presented:
		return Caller{}, api.Errorf(api.ReasonPaymentsDisabled, "this service takes no payments by call").WithHint(sendKey)
	case g.cfg.Payments == nil, op.PriceMicros() == 0:
		return Caller{}, api.KeyMissing("%s on pack %s needs an API key", op, pack).WithHint(sendKey)
	case c.Refused != nil:
		return Caller{}, c.Refused
	case !c.Presented():
		return Caller{}, api.Errorf(api.ReasonPaymentRequired, "%s on pack %s needs an API key or a payment", op, pack).
			WithHint("send Authorization: Bearer <API_KEY>, or pay the quote and send the proof as %s%s", api.HeaderPayment, g.sold())
	}
	var caller Caller
	var claim *x402.Claim
	var err error
	if c.Exact == nil && c.Proof == nil {
		caller, err = g.spender(ctx, c, op, pack)
		if err == nil && caller.SignedIn {
			err = c.SignedIn.Use(ctx)
		}
		if err != nil || caller.SignedIn {
			return caller, err
		}
		claim, err = g.cfg.Payments.ClaimSignedIn(ctx, c.SignedIn, c.Subject)
	} else if c.Exact != nil {
		claim, err = g.cfg.Payments.ClaimExact(ctx, *c.Exact, c.Subject)
	} else {
		claim, err = g.cfg.Payments.Claim(ctx, *c.Proof, c.Subject)
	}
	if g.cfg.Observer != nil {
		g.cfg.Observer.Claimed(claim, err)
	}
	if err != nil {
		return Caller{}, err
	}
	window, _ := g.Anonymous()
	return Caller{Snapshot: window, AsOf: claim.Quoted, AllPacks: true, Call: billing.Call{Op: op, Pack: pack}, Payment: claim}, nil
}

// spender is the caller whose owner has credits, where the wallet that has signed in may spend these; else one that is not SignedIn.
func (g *Gate) spender(ctx context.Context, c Credentials, op api.Op, pack string) (none Caller, err error) {
	if g.cfg.Owners == nil {
		return none, nil
	}
	owner, err := g.cfg.Owners.OwnerOf(ctx, c.SignedIn.Address)
	if err != nil {
		return none, fmt.Errorf("find owner of wallet: %w", err)
	}
	if owner == "" {
		return none, nil
	}
	key, err := g.cfg.Keys.Spending(owner)
	switch refused := new(api.Error); {
	case errors.As(err, &refused) && refused.Status == statusUnauthorized: // there is no key, or the owner is disabled
		return none, nil
	case err != nil:
		return none, err
	}
	caller := g.caller(key)
	caller.Op, caller.Pack, caller.AllPacks, caller.SignedIn = op, pack, true, true
	if credits, err := g.HasCredits(ctx, caller); err != nil || !credits {
		return none, err
	}
	if err := g.cfg.Meter.Access(ctx, caller.Call); err != nil {
		return none, err
	}
	return caller, nil
}

// Spends reports whether c is of a wallet that has signed in and may spend credits of its owner.
func (g *Gate) Spends(ctx context.Context, c Credentials) (bool, error) {
	if c.SignedIn == nil || c.Exact != nil || c.Proof != nil {
		return false, nil
	}
	caller, err := g.spender(ctx, c, api.OpFresh, api.DefaultPack)
	return caller.SignedIn, err
}

// sold is how credits are bought without an account, also where a call alone is not worth the gas; "" where they are not.
func (g *Gate) sold() string {
	const pack = api.CreditStarter
	standard, ok := g.cfg.Payments.Offer(x402.Subject{Pack: pack})
	if !ok {
		return ""
	}
	offer, _ := pack.Offer() // it is one
	return fmt.Sprintf("; for %d calls and a key, have a client of x402 pay POST %s?pack=%s, which costs %s %s; "+
		"clients of @x402 take spendControls: %s", offer.Credits,
		api.PathPurchase, pack, usdg.Amount(offer.PriceMicros), api.AssetUSDG, standard.SpendControls())
}

// Presented reports whether c has a payment, in either protocol, or is of a wallet that says that it has paid.
func (c Credentials) Presented() bool { return c.Proof != nil || c.Exact != nil || c.SignedIn != nil }

// sendKey is what callers can do who have to have a key.
const sendKey = "send Authorization: Bearer <API_KEY>; owners make keys with: ctx keys create NAME, " +
	"the operator with: contextd keys create NAME"

// ForKeysAlone returns err, with 403 in place of the 402 of a key without credits, for operations that cannot be paid by call.
func ForKeysAlone(err error) error {
	if refused := new(api.Error); errors.As(err, &refused) && refused.Reason == api.ReasonInsufficient {
		return api.Errorf(api.ReasonPackAccessDenied, "%s", refused.Message).WithHint("%s", refused.Hint)
	}
	return err
}

// WithQuote returns err, or, where err asks for payment and the call has a price, a copy of it with a quote.
func (g *Gate) WithQuote(err error, s x402.Subject) error {
	var refused *api.Error
	if g.cfg.Payments == nil || s.Op.PriceMicros() == 0 || !errors.As(err, &refused) || refused.Status != statusPaymentRequired {
		return err
	}
	quote, failed := g.cfg.Payments.Quote(s)
	if failed != nil {
		return failed
	}
	if g.cfg.Observer != nil {
		g.cfg.Observer.Quoted()
	}
	quoted := *refused
	quoted.Payment = &quote
	return &quoted
}

// HTTP statuses of errors: that ask for payment, and of keys that are not good.
const (
	statusPaymentRequired = 402
	statusUnauthorized    = 401
)
