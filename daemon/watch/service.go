// Package watch keeps watches, conditions of owners, and tells what happens: once, wherever it is told. daemon/event says how.
package watch

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/event"
	"github.com/contextd/contextd/daemon/gate"
	"github.com/contextd/contextd/daemon/store/history"
	"github.com/contextd/contextd/internal/alert"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// History has the logs and the states; *history.History is one.
type History interface {
	LogHead(ctx context.Context, pack string) (api.LogHead, error)
	Leaves(ctx context.Context, origin string, after int64, limit int) ([]history.Leaf, error)
	LogBefore(ctx context.Context, origin string, t time.Time) (seq int64, ok bool, err error)
	PulseBefore(ctx context.Context, pack string, t time.Time) (state.Pulse, error)
	BriefAt(ctx context.Context, pack string, at time.Time) (state.Brief, error)
}

var _ History = (*history.History)(nil)

// Pack is what is known of a pack that is served.
type Pack struct {
	Shown   []state.Shown
	Sources map[string]string // names by id
	Flags   []string          // kinds that it may raise; nil means any
}

// Keys looks up keys; *account.Keys is one.
type Keys interface {
	Lookup(id string) (account.Key, error)
}

// Gate admits and charges; *gate.Gate is one.
type Gate interface {
	gate.Admission
	HasCredits(ctx context.Context, c gate.Caller) (bool, error)
}

// Config is what a Service needs.
type Config struct {
	Store     event.Store
	History   History
	Keys      Keys
	Gate      Gate
	Packs     func(id string) (p Pack, ok bool)
	PublicURL string           // of the service, without a slash at its end
	Demo      bool             // states are recorded, synthetic data
	Now       func() time.Time // nil means time.Now
	Logger    *slog.Logger     // nil means slog.Default
}

// Service keeps watches, reads events by cursors, and tells them. Make one with New; it is safe for concurrent use.
type Service struct {
	cfg Config
}

// New makes a Service.
func New(cfg Config) *Service {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	return &Service{cfg: cfg}
}

func (s *Service) now() time.Time { return s.cfg.Now().UTC().Truncate(time.Millisecond) }

// condition reads what is to be watched for.
func (s *Service) condition(t api.WatchType, raw []byte) (a api.WatchArguments, r alert.Rule, err error) {
	if a, err = api.ParseWatch(t, raw); err != nil || t == api.WatchCreditsLow {
		return a, r, err
	}
	p, ok := s.cfg.Packs(a.Pack)
	if !ok {
		return a, r, api.Errorf(api.ReasonPackNotFound, "pack %q is not served", a.Pack).WithHint("packs served: %s", api.PathPacks)
	}
	for _, kind := range a.Kinds {
		if p.Flags != nil && !slices.Contains(p.Flags, kind) {
			return a, r, api.Errorf(api.ReasonInvalidArguments, "no flag of pack %s is of kind %q", a.Pack, kind).
				WithHint("there are %s", api.List(p.Flags))
		}
	}
	r, err = alert.Watch(t, a, p.Shown)
	return a, r, err
}

// made is a watch that was made, or renewed.
type made struct {
	event.Watch
	secret string // of its webhook, where it was made here
	unpaid bool
	before time.Time // until when it was paid; zero where it is new
}

// Make makes a watch, or renews the one that is the same, for a caller with credentials. Its first day costs one call.
func (s *Service) Make(ctx context.Context, who gate.Credentials, r api.WatchRequest) (w api.Watch, left billing.Left, err error) {
	a, _, err := s.condition(r.Type, r.Arguments)
	if err != nil {
		return w, left, err
	}
	served, err := gate.Serve(ctx, s.cfg.Gate, gate.Order[made]{
		Credentials: who, Op: api.OpWatch, Pack: cmp.Or(a.Pack, api.DefaultPack),
		Answer: func(ctx context.Context, c gate.Caller) (made, error) { return s.put(ctx, c, r, a) },
		None:   func(m made) bool { return !m.unpaid },
	})
	m := served.Answer
	if err != nil {
		if m.unpaid {
			err = errors.Join(err, s.cfg.Store.UnpayWatch(context.WithoutCancel(ctx), m.Watch, m.before))
		}
		return w, left, err
	}
	w = m.ToAPI()
	w.Secret, w.Cursor = m.secret, m.From.Cursor()
	return w, served.Left, nil
}

// put stores the watch of a caller, as if it were paid: a kill before the charge gives a day away, and takes none.
func (s *Service) put(ctx context.Context, c gate.Caller, r api.WatchRequest, a api.WatchArguments) (m made, err error) {
	now := s.now()
	if c.KeyID == "" {
		return m, api.KeyMissing("a watch needs an API key: nobody can be told later who pays by call")
	}
	expires := now.Add(api.MaxWatchLife)
	if r.ExpiresAt != nil {
		if expires = r.ExpiresAt.UTC().Truncate(time.Millisecond); !expires.After(now) || expires.Sub(now) > api.MaxWatchLife {
			return m, api.Errorf(api.ReasonInvalidRequest, "expiresAt is not within the next %d days", int(api.MaxWatchLife/api.WatchDay)).
				WithHint("leave it out for the longest")
		}
	}
	w := event.Watch{
		OwnerID: c.OwnerID, KeyID: c.KeyID, Type: r.Type, Pack: a.Pack, Arguments: a.Canonical(), Delivery: r.Delivery, CreatedAt: now,
		ExpiresAt: expires, PaidUntil: now.Add(api.WatchDay),
	}
	w.Rule = event.RuleOf(w.Type, w.Arguments)
	if m.secret, err = s.address(ctx, &w); err != nil {
		return m, err
	}
	w.ID = "w_" + event.Hash(w.KeyID, string(w.Delivery.Type), w.Delivery.URL, w.Delivery.Topic, w.Delivery.Email, w.Rule)
	if w.From, err = s.head(ctx, w.Pack); err != nil {
		return m, err
	}
	most := event.Bounds{Key: api.WatchesPerFreeKey, Owner: api.WatchesPerFreeOwner}
	if rich, err := s.cfg.Gate.HasCredits(ctx, c); err != nil {
		return m, err
	} else if rich {
		most = event.Bounds{Key: api.WatchesPerKey, Owner: api.WatchesPerOwner}
	}
	if c.OwnerID == account.OperatorID { // whose keys have several holders
		most.Owner = most.Key * api.WatchesPerOwner
	}
	old, known, err := s.cfg.Store.Watch(ctx, w.ID)
	if err != nil {
		return m, err
	}
	if known {
		m.before = old.PaidUntil
	}
	m.Watch, m.unpaid, err = s.cfg.Store.PutWatch(ctx, w, most, nil)
	return m, err
}

// address checks where w is delivered.
func (s *Service) address(_ context.Context, w *event.Watch) (secret string, err error) {
	if w.Delivery.Type = cmp.Or(w.Delivery.Type, api.DeliverPoll); w.Delivery.Type != api.DeliverPoll {
		return "", api.Errorf(api.ReasonInvalidDelivery, "there is no delivery %q", w.Delivery.Type).WithHint("there is poll")
	}
	w.Delivery = api.WatchDelivery{Type: api.DeliverPoll}
	return "", nil
}

// head is the place from which on all is new.
func (s *Service) head(ctx context.Context, pack string) (p event.Place, err error) {
	if pack == "" {
		return event.Place{Seq: s.now().UnixMilli()}, nil
	}
	h, err := s.cfg.History.LogHead(ctx, pack)
	return event.Place{Log: h.Origin, Seq: h.Size - 1}, err
}

// mine reports whether w is a caller's: their owner's, and of keys of the operator, that key's.
func mine(w event.Watch, c gate.Caller) bool {
	return w.OwnerID == c.OwnerID && (c.OwnerID != account.OperatorID || w.KeyID == c.KeyID)
}

// List are the watches of a caller, oldest first.
func (s *Service) List(ctx context.Context, c gate.Caller) ([]api.Watch, error) {
	list, err := s.cfg.Store.Watches(ctx, c.OwnerID)
	told := []api.Watch{}
	for _, w := range list {
		if mine(w, c) {
			told = append(told, w.ToAPI())
		}
	}
	return told, err
}

// find is a watch of a caller.
func (s *Service) find(ctx context.Context, c gate.Caller, id string) (event.Watch, error) {
	w, ok, err := s.cfg.Store.Watch(ctx, id)
	if err == nil && (!ok || !mine(w, c)) {
		err = api.Errorf(api.ReasonWatchNotFound, "there is no watch %q", human.Clip(human.Line(id), 40)).
			WithHint("list them: ctx watch list")
	}
	return w, err
}

// Remove drops a watch of a caller.
func (s *Service) Remove(ctx context.Context, c gate.Caller, id string) error {
	w, err := s.find(ctx, c, id)
	if err != nil {
		return err
	}
	return s.cfg.Store.RemoveWatch(ctx, w.ID)
}

// Events are those of a caller's watch behind a cursor; "" means none, and the cursor of now.
func (s *Service) Events(ctx context.Context, c gate.Caller, id, cursor string) (page api.EventPage, err error) {
	w, err := s.find(ctx, c, id)
	switch {
	case err != nil:
		return page, err
	case w.Status() == api.WatchPaused:
		return page, api.Errorf(api.ReasonInsufficient, "the day of watch %s is not paid", w.ID).WithStatus(statusForbidden).
			WithHint("make it once more when there are credits: ctx credits buy starter")
	case w.Type == api.WatchCreditsLow:
		return s.creditEvents(ctx, w, cursor)
	}
	return s.Read(ctx, Reading{Type: w.Type, Arguments: w.Arguments, Cursor: cursor})
}

// statusForbidden is the HTTP status of a watch that is not paid: nothing can be paid for it by call.
const statusForbidden = 403

// newSecret is a secret of a webhook.
func newSecret() string {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // which never fails
	return secretPrefix + base64.StdEncoding.EncodeToString(key)
}

const secretPrefix = "whsec_"
