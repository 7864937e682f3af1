package watch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/event"
	"github.com/contextd/contextd/daemon/feed"
	"github.com/contextd/contextd/daemon/gate"
	"github.com/contextd/contextd/daemon/store/history"
	"github.com/contextd/contextd/internal/alert"
	"github.com/contextd/contextd/sdk/api"
)

// tryEvery is the time between attempts to look at states, after one that failed.
const tryEvery = 5 * time.Second

// Lead looks at every state of a pack until ctx is done. It is the leader's.
func (s *Service) Lead(ctx context.Context, pack string, states *feed.Watcher) {
	defer states.Close()
	for {
		again := (<-chan time.Time)(nil)
		if err := s.Look(ctx, pack); err != nil && ctx.Err() == nil {
			s.cfg.Logger.Error("watches not evaluated", "pack", pack, "error", err)
			again = time.After(tryEvery)
		}
		select {
		case <-ctx.Done():
			return
		case <-states.Ended():
			return
		case <-states.Wake():
		case <-again:
		}
	}
}

// Look keeps the events of all leaves of a pack's log that were not looked at, with a delivery for each watch that is to have them.
func (s *Service) Look(ctx context.Context, pack string) (err error) {
	for range mostOvertaken {
		if err = s.look(ctx, pack); !errors.Is(err, event.ErrOvertaken) { // else somebody began to watch in the meantime
			break
		}
	}
	return err
}

// mostOvertaken is how often what is overtaken is tried.
const mostOvertaken = 10

func (s *Service) look(ctx context.Context, pack string) error {
	head, err := s.head(ctx, pack)
	if err != nil || head.Log == "" {
		return err
	}
	at, known, err := s.cfg.Store.WatchPlace(ctx, pack)
	switch {
	case err != nil:
		return err
	case !known:
		return s.cfg.Store.SaveEvents(ctx, pack, head, nil, nil, s.now())
	case at.Log != head.Log:
		at = event.Place{Log: head.Log, Seq: -1}
	case at.Seq == head.Seq:
		return nil
	}
	rules, err := s.cfg.Store.WatchedRules(ctx, pack)
	if err != nil {
		return err
	}
	rules = append([]event.Rule{}, rules...) // none is not nil
	w := s.walk(pack)
	for at.Seq < head.Seq {
		leaves, err := s.cfg.History.Leaves(ctx, at.Log, at.Seq, api.WatchStates)
		if err != nil || len(leaves) == 0 {
			return err
		}
		for _, l := range leaves {
			messages, err := w.messages(ctx, rules, at.Log, l)
			if err != nil {
				return err
			}
			if at.Seq = l.Seq; len(messages) > 0 || l.Seq == head.Seq {
				if err := s.cfg.Store.SaveEvents(ctx, pack, at, rules, messages, s.now()); err != nil {
					return err
				}
				s.Wake()
			}
			w.forget(l.At)
		}
	}
	return nil
}

// messages are the events of rules at a leaf, as they are delivered.
func (w *walk) messages(ctx context.Context, rules []event.Rule, log string, l history.Leaf) (list []event.Message, err error) {
	for _, r := range rules {
		a, rule, err := w.condition(r.Type, r.Arguments)
		if err != nil {
			w.cfg.Logger.Debug("condition of watches cannot be looked at", "type", r.Type, "arguments", string(r.Arguments), "error", err)
			continue // its pack has changed since
		}
		events, err := w.events(ctx, r.Type, a, rule, l)
		if err != nil {
			return nil, err
		}
		before := event.Place{Log: log, Seq: l.Seq - 1}
		for i, e := range events {
			after := event.Place{Log: log, Seq: l.Seq - 1, Index: i + 1}.Cursor()
			e.Cursor = &after
			m, err := messageOf(r.Hash, e)
			if err != nil {
				return nil, err
			}
			m.Before = before.Cursor()
			before.Index = i + 1
			list = append(list, m)
		}
	}
	return list, nil
}

func messageOf(rule string, e api.Event) (event.Message, error) {
	body, err := json.Marshal(e)
	if err != nil {
		return event.Message{}, fmt.Errorf("write event: %w", err)
	}
	return event.Message{ID: e.ID, Rule: rule, At: e.Timestamp, Body: body}, nil
}

// Tidy pays the days of watches, tells owners of their credits, and drops what has ended. It is the
// leader's.
func (s *Service) Tidy(ctx context.Context) error {
	err := errors.Join(s.endOfKeys(ctx), s.payDays(ctx), s.tellCredits(ctx), s.tellGaps(ctx), s.cfg.Store.PruneWatches(ctx, s.now()))
	s.Wake()
	return err
}

// endOfKeys ends the watches of keys that have ended.
func (s *Service) endOfKeys(ctx context.Context) error {
	list, err := s.cfg.Store.Watches(ctx, "")
	for _, w := range list {
		if s.ended(w) {
			err = errors.Join(err, s.end(ctx, w))
		}
	}
	return err
}

// ended reports whether the key of w has ended.
func (s *Service) ended(w event.Watch) bool {
	key, err := s.cfg.Keys.Lookup(w.KeyID)
	return err != nil || !key.RevokedAt.IsZero()
}

// end ends a watch, and tells its receiver so.
func (s *Service) end(ctx context.Context, w event.Watch) error {
	if w.Delivery.Type == api.DeliverPoll {
		return s.cfg.Store.RemoveWatch(ctx, w.ID)
	}
	m, err := s.controlMessage(w, control{Type: "terminated", Message: "The key of this watch has ended, and the watch with it.",
		Error: api.Errorf(api.ReasonKeyRevoked, "key %s has ended", w.KeyID)})
	if err != nil {
		return err
	}
	w.EndedAt = s.now()
	return s.cfg.Store.ChangeWatch(ctx, w, m, w.EndedAt)
}

// payDays charges the days that begin. One that is refused pauses its watch; it goes on once somebody pays.
func (s *Service) payDays(ctx context.Context) error {
	list, err := s.cfg.Store.UnpaidWatches(ctx, s.now())
	if err != nil {
		return err
	}
	for _, w := range list {
		if err := s.payDay(ctx, w); err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) payDay(ctx context.Context, w event.Watch) error {
	key, err := s.cfg.Keys.Lookup(w.KeyID)
	if err != nil {
		return nil // it is ended
	}
	c := gate.Caller{Call: billing.Call{
		KeyID: key.ID, OwnerID: key.OwnerID, Tier: key.Tier, Consent: key.Consent, Unmetered: key.Unmetered,
		Daily: key.Daily, Op: api.OpWatch, Pack: w.Pack,
	}}
	if key.OwnerID == account.OperatorID {
		c.Window = key.ID
	}
	if w.Pack == "" {
		c.Pack = api.DefaultPack
	}
	if !w.PausedAt.IsZero() {
		if rich, err := s.cfg.Gate.HasCredits(ctx, c); err != nil || !rich {
			return err
		}
	}
	now := s.now()
	until := now.Add(api.WatchDay)
	if ok, err := s.cfg.Store.PayWatch(ctx, w.ID, w.PaidUntil, until); err != nil || !ok {
		return err
	}
	_, err = s.cfg.Gate.Charge(ctx, c)
	refused := new(api.Error)
	switch paused := !w.PausedAt.IsZero(); {
	case err == nil && paused:
		w.PausedAt, w.PaidUntil = time.Time{}, until
		return s.cfg.Store.ChangeWatch(ctx, w, nil, now)
	case err == nil || !errors.As(err, &refused): // whether that day was charged nobody knows: it is given
		return err
	case paused:
		return s.cfg.Store.ChangeWatch(ctx, w, nil, now) // as it was
	}
	w.PausedAt = now
	return s.pause(ctx, w, now)
}

// pause pauses a watch and says so, once.
func (s *Service) pause(ctx context.Context, w event.Watch, now time.Time) error {
	s.cfg.Logger.Info("watch paused: its day is not paid", "watch", w.ID, "key", w.KeyID)
	at, _, err := s.cfg.Store.WatchPlace(ctx, w.Pack)
	if err != nil || w.Delivery.Type == api.DeliverPoll {
		return errors.Join(err, s.cfg.Store.ChangeWatch(ctx, w, nil, now))
	}
	if w.Gap == "" && at.Log != "" {
		w.Gap = at.Cursor()
	}
	m, err := s.controlMessage(w, control{Type: "paused", Cursor: w.Gap,
		Message: "This watch is paused: there is no credit for its day. It goes on once there are credits: " + s.cfg.PublicURL +
			"/account"})
	if err != nil {
		return err
	}
	return s.cfg.Store.ChangeWatch(ctx, w, m, now)
}

// tellCredits tells owners whose credits fell below a number, once for each fall.
func (s *Service) tellCredits(ctx context.Context) error {
	list, err := s.cfg.Store.LowCredits(ctx)
	if err != nil {
		return err
	}
	now := s.now()
	for _, l := range list {
		a, err := api.ParseWatch(l.Type, l.Arguments)
		if err != nil {
			return err
		}
		low := l.Balance < a.Below
		if low == !l.LowSince.IsZero() {
			continue
		}
		var m *event.Message
		if l.LowSince = (time.Time{}); low {
			l.LowSince = now
			at, err := s.follow(ctx, l.Watch, now)
			if err != nil {
				return err
			}
			if m, err = s.creditsMessage(a, l, at); err != nil {
				return err
			}
		}
		if err := s.cfg.Store.ChangeWatch(ctx, l.Watch, m, now); err != nil {
			return err
		}
	}
	return nil
}

// follow is a time for a message of w, now or, where the clock was set back, behind those that it has: it is read by them.
func (s *Service) follow(ctx context.Context, w event.Watch, now time.Time) (at time.Time, err error) {
	if at = now; !at.After(w.CreatedAt) {
		at = w.CreatedAt.Add(time.Millisecond)
	}
	for {
		list, err := s.cfg.Store.WatchMessages(ctx, w.ID, at.Add(-time.Millisecond), api.WatchPage)
		if err != nil || len(list) == 0 {
			return at, err
		}
		at = list[len(list)-1].At.Add(time.Millisecond)
	}
}

func (s *Service) creditsMessage(a api.WatchArguments, l event.Low, now time.Time) (*event.Message, error) {
	e, err := alert.Credits(a, l.OwnerID, l.Balance, now)
	if err != nil {
		return nil, err
	}
	d, err := e.Data(l.Type)
	if err != nil {
		return nil, err
	}
	d.URL = s.cfg.PublicURL + "/account"
	told, err := eventOf(l.Type, e, d)
	if err != nil {
		return nil, err
	}
	m, err := messageOf(l.ID, told)
	return &m, err
}
