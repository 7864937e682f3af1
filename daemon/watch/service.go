// Package watch keeps watches, conditions of owners, and tells what happens: once, wherever it is told. daemon/event says how.
package watch

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
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

// Mailer sends a mail and knows whether it was sent.
type Mailer interface {
	Deliver(ctx context.Context, to, subject, text string) error
}

// Config is what a Service needs.
type Config struct {
	Store     event.Store
	History   History
	Keys      Keys
	Gate      Gate
	Packs     func(id string) (p Pack, ok bool)
	PublicURL string // of the service, without a slash at its end

	// PrivateHosts are hosts, and hosts with a port, that receivers may be at though they are private, and on plain HTTP.
	PrivateHosts []string

	Loopback   bool                     // receivers may be on this machine, on plain HTTP
	Challenges func(keyID string) error // bounds how often a key has a receiver challenged
	Mailer     Mailer
	Identities func(ctx context.Context, ownerID string) ([]api.Identity, error)
	Delivered  func(taken bool, failed string) // counts attempts; nil means nobody

	Demo   bool             // states are recorded, synthetic data
	Now    func() time.Time // nil means time.Now
	Logger *slog.Logger     // nil means slog.Default
}

// Service keeps watches, reads events by cursors, and tells them. Make one with New; it is safe for concurrent use.
type Service struct {
	cfg    Config
	client *http.Client
	wake   chan struct{} // has one thing in it when deliveries are to be looked at
}

// New makes a Service.
func New(cfg Config) *Service {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	allowed := cfg.PrivateHosts
	if cfg.Loopback {
		allowed = append(slices.Clone(allowed), "localhost", "127.0.0.1", "::1")
	}
	return &Service{cfg: cfg, client: newClient(allowed), wake: make(chan struct{}, 1)}
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
	secret    string // of its webhook, where it was made here
	cursor    string // from which on it is told
	truncated bool   // what came before is kept no longer
	unpaid    bool
	before    time.Time // until when it was paid; zero where it is new
}

// Subscription is a watch that lives as long as it is refreshed.
type Subscription struct {
	api.Watch
	Truncated bool // what it was to be told first is kept no longer
}

// Make makes a watch, or renews the one that is the same, for a caller with credentials. Its first day costs one call.
func (s *Service) Make(ctx context.Context, who gate.Credentials, r api.WatchRequest) (w api.Watch, left billing.Left, err error) {
	made, left, err := s.make(ctx, who, r, false)
	return made.Watch, left, err
}

// Subscribe makes a watch that ends after a time unless it is made again. That costs a call, for a day.
func (s *Service) Subscribe(ctx context.Context, who gate.Credentials, r api.WatchRequest, ttl time.Duration) (Subscription, error) {
	ends := s.now().Add(ttl)
	r.ExpiresAt = &ends
	made, _, err := s.make(ctx, who, r, true)
	return made, err
}

// Unsubscribe drops the watch of a key that is what a request would make, if it is there.
func (s *Service) Unsubscribe(ctx context.Context, c gate.Caller, r api.WatchRequest) error {
	if c.KeyID == "" {
		return api.KeyMissing("subscriptions are of keys")
	}
	a, err := api.ParseWatch(r.Type, r.Arguments)
	if err != nil {
		return err
	}
	u, err := url.Parse(r.Delivery.URL)
	if err != nil {
		return nil
	}
	w := event.Watch{KeyID: c.KeyID, Rule: event.RuleOf(r.Type, a.Canonical()), Delivery: r.Delivery}
	w.Delivery.URL = u.String()
	return s.cfg.Store.RemoveWatch(ctx, idOf(w))
}

// idOf is the id of a watch: the same for the same condition of a key, delivered in the same way.
func idOf(w event.Watch) string {
	d := w.Delivery
	return "w_" + event.Hash(w.KeyID, string(d.Type), d.URL, d.Topic, d.Email, w.Rule)
}

func (s *Service) make(ctx context.Context, who gate.Credentials, r api.WatchRequest, expires bool) (
	w Subscription, left billing.Left, err error,
) {
	a, _, err := s.condition(r.Type, r.Arguments)
	if err != nil {
		return w, left, err
	}
	served, err := gate.Serve(ctx, s.cfg.Gate, gate.Order[made]{
		Credentials: who, Op: api.OpWatch, Pack: cmp.Or(a.Pack, api.DefaultPack),
		Answer: func(ctx context.Context, c gate.Caller) (made, error) { return s.put(ctx, c, r, a, expires) },
		None:   func(m made) bool { return !m.unpaid },
	})
	m := served.Answer
	if err != nil {
		if m.unpaid {
			err = errors.Join(err, s.cfg.Store.UnpayWatch(context.WithoutCancel(ctx), m.Watch, m.before))
		}
		return w, left, err
	}
	w = Subscription{m.ToAPI(), m.truncated}
	w.Secret, w.Cursor = m.secret, m.cursor
	return w, served.Left, nil
}

// backlog has w told the events of its condition behind a cursor. Of more than may wait, the rest is a gap.
func (s *Service) backlog(ctx context.Context, w *event.Watch, cursor string) (list []event.Message, truncated bool, err error) {
	for {
		if len(list) >= event.MostWaiting {
			w.Gap = cursor
			return list, truncated, nil
		}
		page, err := s.Read(ctx, Reading{Type: w.Type, Arguments: w.Arguments, Cursor: cursor})
		if err != nil {
			return nil, false, err
		}
		for _, e := range page.Events {
			m, err := messageOf(w.Rule, e)
			if err != nil {
				return nil, false, err
			}
			m.Before = cursor
			list, cursor = append(list, m), *e.Cursor
		}
		truncated = truncated || page.Truncated
		if cursor = page.Cursor; !page.HasMore {
			break
		}
	}
	w.From, _ = event.PlaceOf(cursor)
	return list, truncated, nil
}

// put stores the watch of a caller, as if it were paid: a kill before the charge gives a day away, and takes none.
func (s *Service) put(ctx context.Context, c gate.Caller, r api.WatchRequest, a api.WatchArguments, expires bool) (m made, err error) {
	now := s.now()
	if c.KeyID == "" {
		return m, api.KeyMissing("a watch needs an API key: nobody can be told later who pays by call")
	}
	ends := now.Add(api.MaxWatchLife)
	if r.ExpiresAt != nil {
		if ends = r.ExpiresAt.UTC().Truncate(time.Millisecond); !ends.After(now) || ends.Sub(now) > api.MaxWatchLife {
			return m, api.Errorf(api.ReasonInvalidRequest, "expiresAt is not within the next %d days", int(api.MaxWatchLife/api.WatchDay)).
				WithHint("leave it out for the longest")
		}
	}
	w := event.Watch{
		OwnerID: c.OwnerID, KeyID: c.KeyID, Type: r.Type, Pack: a.Pack, Arguments: a.Canonical(), Delivery: r.Delivery, CreatedAt: now,
		ExpiresAt: ends, PaidUntil: now.Add(api.WatchDay), Expires: expires,
	}
	w.Rule = event.RuleOf(w.Type, w.Arguments)
	if err = s.address(ctx, &w); err != nil {
		return m, err
	}
	w.ID = idOf(w)
	if w.From, err = s.head(ctx, w.Pack); err != nil {
		return m, err
	}
	old, known, err := s.cfg.Store.Watch(ctx, w.ID)
	if err != nil {
		return m, err
	}
	if known {
		m.before = old.PaidUntil
	}
	if w.Delivery.Type == api.DeliverWebhook {
		switch {
		case w.Secret == nil && known:
			w.Secret = old.Secret
		case w.Secret == nil:
			w.Secret, w.SecretMade = newSecret(), true
		}
		w.BeforeUntil = now.Add(secretGrace)
		if err := s.verify(ctx, w); err != nil {
			return m, err
		}
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
	for range mostOvertaken {
		if err = s.store(ctx, &m, w, most, r.Cursor); !errors.Is(err, event.ErrOvertaken) {
			break
		}
		if w.From, err = s.head(ctx, w.Pack); err != nil { // states came while the receiver was challenged
			return m, err
		}
	}
	return m, err
}

// store stores w, which is told what is behind a cursor or, for "", w.From.
func (s *Service) store(ctx context.Context, m *made, w event.Watch, most event.Bounds, cursor string) (err error) {
	var first []event.Message
	if m.cursor = w.From.Cursor(); cursor != "" && w.Type != api.WatchCreditsLow {
		if first, m.truncated, err = s.backlog(ctx, &w, cursor); err != nil {
			return err
		}
		m.cursor = cursor
	}
	if w.Delivery.Type == api.DeliverPoll {
		first, w.Gap = nil, ""
	}
	if m.Watch, m.unpaid, err = s.cfg.Store.PutWatch(ctx, w, most, first); w.SecretMade {
		m.secret = secretText(m.Secret)
	}
	return err
}

// address checks where w is delivered, and takes the secrets out of that.
func (s *Service) address(ctx context.Context, w *event.Watch) (err error) {
	d := &w.Delivery
	if d.Secret != "" {
		if w.Secret, err = parseSecret(d.Secret); err != nil {
			return err
		}
	}
	switch asked := *d; cmp.Or(asked.Type, api.DeliverPoll) {
	case api.DeliverPoll:
		*d, w.Secret = api.WatchDelivery{Type: api.DeliverPoll}, nil
		return nil
	case api.DeliverWebhook, api.DeliverNtfy:
		u, err := s.target(asked.URL)
		if err != nil {
			return err
		}
		w.Host = u.Host
		if *d = (api.WatchDelivery{Type: asked.Type, URL: u.String()}); asked.Type == api.DeliverWebhook {
			return nil
		}
		w.Secret = []byte(asked.Token)
		if d.Topic = asked.Topic; !regexp.MustCompile(`^[-_A-Za-z0-9]{1,64}$`).MatchString(d.Topic) ||
			!regexp.MustCompile(`^[ -~]*$`).MatchString(asked.Token) {
			return api.Errorf(api.ReasonInvalidDelivery, "topic is not 1 to 64 letters, digits, - and _, or token is no plain text").
				WithHint(`send {"type":"ntfy","url":"https://ntfy.sh","topic":"a-name-that-nobody-guesses"}`)
		}
		return nil
	case api.DeliverEmail:
		*d, w.Secret = api.WatchDelivery{Type: api.DeliverEmail, Email: strings.ToLower(asked.Email)}, nil
		if ok, err := s.ownsMail(ctx, w.OwnerID, d.Email); err != nil || !ok {
			return cmp.Or(err, error(api.Errorf(api.ReasonInvalidDelivery, "email is no address by which the owner signs in").
				WithHint("add it, signed in: ctx login --email ADDRESS")))
		}
		if w.Type == api.WatchStatePublished {
			return api.Errorf(api.ReasonInvalidDelivery, "%s comes every few minutes and is not mailed", w.Type).
				WithHint("use a webhook, or read it by cursor")
		}
		return nil
	}
	return api.Errorf(api.ReasonInvalidDelivery, "there is no delivery %q", human.Clip(human.Line(string(d.Type)), 40)).
		WithHint("there are %s", api.List(api.DeliveryTypes()))
}

// verify has the receiver of w challenged, unless it answered for the same key before.
func (s *Service) verify(ctx context.Context, w event.Watch) error {
	list, err := s.cfg.Store.Watches(ctx, w.OwnerID)
	if err != nil {
		return err
	}
	for _, other := range list {
		if other.KeyID == w.KeyID && other.Delivery == w.Delivery {
			return nil
		}
	}
	return s.challenge(ctx, w)
}

// Test has the delivery of a caller's watch tried now: a webhook is challenged, a person gets a message.
func (s *Service) Test(ctx context.Context, c gate.Caller, id string) error {
	w, err := s.find(ctx, c, id)
	if err != nil {
		return err
	}
	switch w.Delivery.Type {
	case api.DeliverWebhook:
		return s.challenge(ctx, w)
	case api.DeliverPoll:
		return api.Errorf(api.ReasonInvalidDelivery, "watch %s is read by cursor: there is nothing to test", w.ID).
			WithHint("read it: ctx watch events %s", w.ID)
	}
	if err := s.cfg.Challenges(w.KeyID); err != nil {
		return err
	}
	m, err := s.controlMessage(w, control{Type: "test", Message: "This is a test of the watch " + w.ID + "."})
	if err != nil {
		return err
	}
	if o := s.attempt(ctx, event.Delivery{Watch: w, Event: m.ID, Body: m.Body}); o.Error != "" {
		return api.Errorf(api.ReasonCallbackRefused, "the message was not taken (%s)", o.Error).WithHint("see that its receiver answers")
	}
	return nil
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
