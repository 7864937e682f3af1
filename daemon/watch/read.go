package watch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/contextd/contextd/daemon/event"
	"github.com/contextd/contextd/daemon/store/history"
	"github.com/contextd/contextd/internal/alert"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// MaxEventData is the largest data of an event in bytes; what a source has made longer goes without its flag.
const MaxEventData = 8 << 10

// walk reads the states of a pack for conditions, each once.
type walk struct {
	*Service
	pack  string
	named map[string]string
	read  map[int64]moment // by the time in milliseconds before which it is the newest
	last  moment
}

// moment is a state with its sources and its proof.
type moment struct {
	alert.State
	pulse state.Pulse
}

func (s *Service) walk(pack string) *walk {
	p, _ := s.cfg.Packs(pack)
	return &walk{Service: s, pack: pack, named: p.Sources, read: map[int64]moment{}}
}

// before is the newest state before t.
func (w *walk) before(ctx context.Context, t time.Time) (m moment, err error) {
	m, ok := w.read[t.UnixMilli()]
	if ok {
		return m, nil
	}
	pulse, err := w.cfg.History.PulseBefore(ctx, w.pack, t)
	if errors.Is(err, state.ErrNoPulse) {
		err = alert.ErrNoState
	}
	if err != nil {
		return m, err
	}
	m.pulse = pulse
	m.State = alert.State{Pack: w.pack, At: pulse.GeneratedAt, Doc: pulse.Read(), Demo: w.cfg.Demo,
		Before: func(ctx context.Context, t time.Time) (alert.State, error) {
			m, err := w.before(ctx, t)
			return m.State, err
		}}
	w.read[t.UnixMilli()] = m
	return m, nil
}

// leaf is the state of a leaf; ok is false for one that is kept no longer, or cannot be read any more.
func (w *walk) leaf(ctx context.Context, l history.Leaf) (m moment, ok bool, err error) {
	m, err = w.before(ctx, l.At.Add(time.Millisecond))
	if errors.Is(err, history.ErrDamaged) || errors.Is(err, alert.ErrNoState) || err == nil && !m.At.Equal(l.At) {
		return m, false, nil
	}
	if err == nil && !w.last.At.IsZero() && w.last.At.Before(m.At) {
		w.read[m.At.UnixMilli()] = w.last // leaves are read one after another
	}
	w.last = m
	return m, err == nil, err
}

// forget drops what is not needed for states after t.
func (w *walk) forget(t time.Time) {
	for at := range w.read {
		if at < t.Add(-(api.WatchWindowMax+60)*time.Minute).UnixMilli() {
			delete(w.read, at)
		}
	}
}

// events are those of a condition at a leaf, in an order that is always the same.
func (w *walk) events(ctx context.Context, t api.WatchType, a api.WatchArguments, r alert.Rule, l history.Leaf) ([]api.Event, error) {
	if t == api.WatchBriefPublished {
		return w.brief(ctx, a, l)
	}
	if l.Brief {
		return nil, nil
	}
	m, ok, err := w.leaf(ctx, l)
	if err != nil || !ok {
		return nil, err
	}
	found, err := r.Edges(ctx, m.State)
	if err != nil {
		w.cfg.Logger.Debug("condition not looked at", "pack", w.pack, "generated_at", m.At, "condition", r.Name, "error", err)
		return nil, ctx.Err()
	}
	var list []api.Event
	for _, e := range found {
		if t == api.WatchFlagChanged && !slices.Contains(a.Changes, api.FlagChange(e.Change)) {
			continue
		}
		made, err := w.occurrence(t, e, m.pulse.Citations, m.pulse.Proof)
		if err != nil {
			return nil, err
		}
		list = append(list, made)
	}
	return list, nil
}

// brief is the event of a brief at a leaf.
func (w *walk) brief(ctx context.Context, a api.WatchArguments, l history.Leaf) ([]api.Event, error) {
	if !l.Brief {
		return nil, nil
	}
	b, err := w.cfg.History.BriefAt(ctx, w.pack, l.At)
	if err != nil || b.At.IsZero() {
		return nil, err
	}
	e, err := alert.Brief(a, b.Text, b.At, w.cfg.Demo)
	if err != nil {
		return nil, err
	}
	of, err := w.before(ctx, b.Of.Add(time.Millisecond))
	if err != nil && !errors.Is(err, history.ErrDamaged) && !errors.Is(err, alert.ErrNoState) {
		return nil, err
	}
	var cited []api.Citation
	for _, c := range of.pulse.Citations {
		if regexp.MustCompile(`\[` + strconv.Itoa(c.Ref) + `\]`).MatchString(b.Text) {
			cited = append(cited, c)
		}
	}
	made, err := w.occurrence(api.WatchBriefPublished, e, cited, b.Proof)
	return []api.Event{made}, err
}

// occurrence is e as callers have it. Of an event that names no sources all of cited are told.
func (w *walk) occurrence(t api.WatchType, e alert.Event, cited []api.Citation, proof api.Proof) (api.Event, error) {
	d, err := e.Data(t)
	if err != nil {
		return api.Event{}, err
	}
	var told []api.EventCitation
	for _, c := range cited {
		named := func(one api.EventCitation) bool { return one.N == c.Ref }
		if t == api.WatchBriefPublished || slices.ContainsFunc(d.Citations, named) {
			name := human.Line(w.named[c.SourceID])
			if name == "" {
				name = c.SourceID
			}
			told = append(told, api.EventCitation{N: c.Ref, Name: name, URL: c.URL, At: c.FetchedAt.UTC()})
		}
	}
	d.Citations = told
	if proof.Log != "" {
		d.Proof = &proof
	}
	at := url.Values{"at": {e.At.UTC().Format("2006-01-02T15:04")}}
	if w.pack != api.DefaultPack {
		at.Set("pack", w.pack)
	}
	if d.Snapshot = (&api.EventSnapshot{URL: w.cfg.PublicURL + api.PathSnapshot + "?" + at.Encode()}); d.URL == "" {
		d.URL = w.cfg.PublicURL + "/"
	}
	return eventOf(t, e, d)
}

// eventOf is e with what it tells.
func eventOf(t api.WatchType, e alert.Event, d api.EventData) (api.Event, error) {
	text, err := json.Marshal(d)
	if err == nil && len(text) > MaxEventData {
		d.Flag, d.ChangedMembers = nil, nil
		text, err = json.Marshal(d)
	}
	if err != nil {
		return api.Event{}, fmt.Errorf("write event: %w", err)
	}
	return api.Event{ID: e.ID, Name: t, Timestamp: e.At.UTC(), Data: text}, nil
}

// Reading is which events are read.
type Reading struct {
	Type      api.WatchType
	Arguments json.RawMessage
	Cursor    string        // "" means from now on
	Limit     int           // events; 0 means api.WatchPage
	Age       time.Duration // older ones are left out; 0 means none
}

// Read are the events of a condition behind a cursor.
func (s *Service) Read(ctx context.Context, r Reading) (page api.EventPage, err error) {
	page = api.EventPage{Events: []api.Event{}, NextPollMs: 30_000}
	a, rule, err := s.condition(r.Type, r.Arguments)
	if err != nil {
		return page, err
	}
	if r.Type == api.WatchCreditsLow {
		return page, api.Errorf(api.ReasonInvalidType, "%s is told to its owner alone", r.Type).
			WithHint("make a watch: POST %s", api.PathWatches)
	}
	head, err := s.head(ctx, a.Pack)
	if err != nil {
		return page, err
	}
	from, truncated, err := s.from(ctx, r, head)
	if err != nil {
		return page, err
	}
	page.Truncated = truncated
	limit := r.Limit
	if limit < 1 || limit > api.WatchPage {
		limit = api.WatchPage
	}
	leaves, err := s.cfg.History.Leaves(ctx, from.Log, from.Seq, api.WatchStates)
	if err != nil {
		return page, fmt.Errorf("read log: %w", err)
	}
	w := s.walk(a.Pack)
	for _, l := range leaves {
		list, err := w.events(ctx, r.Type, a, rule, l)
		if err != nil {
			return page, err
		}
		for i := from.Index; i < len(list); i++ {
			if len(page.Events) == limit {
				page.Cursor, page.HasMore = from.Cursor(), true
				return page, nil
			}
			from.Index = i + 1
			after := from.Cursor()
			if i+1 == len(list) {
				after = event.Place{Log: from.Log, Seq: l.Seq}.Cursor()
			}
			list[i].Cursor = &after
			page.Events = append(page.Events, list[i])
		}
		from.Seq, from.Index = l.Seq, 0
		w.forget(l.At)
	}
	page.Cursor, page.HasMore = from.Cursor(), len(leaves) == api.WatchStates
	return page, nil
}

// from is the place from which on r is read. A cursor that is too old, or of another log, is that of the oldest event that is kept.
func (s *Service) from(ctx context.Context, r Reading, head event.Place) (from event.Place, truncated bool, err error) {
	if r.Cursor == "" {
		return head, false, nil
	}
	from, ok := event.PlaceOf(r.Cursor)
	oldest := event.Place{Log: head.Log, Seq: -1}
	if head.Log != "" {
		if seq, older, err := s.cfg.History.LogBefore(ctx, head.Log, s.now().Add(-api.WatchReplay)); err != nil {
			return from, false, err
		} else if older {
			oldest.Seq = seq
		}
	}
	switch {
	case ok && from.Log == "": // of before there was a log
		from = oldest
	case !ok || from.Log != head.Log || from.Seq < oldest.Seq:
		from, truncated = oldest, true
	case from.Seq > head.Seq:
		from = head
	}
	if r.Age > 0 && head.Log != "" {
		if seq, older, err := s.cfg.History.LogBefore(ctx, head.Log, s.now().Add(-r.Age)); err != nil {
			return from, false, err
		} else if older && seq > from.Seq {
			from = event.Place{Log: head.Log, Seq: seq}
		}
	}
	return from, truncated, nil
}

// creditEvents are those of a watch of credits behind a cursor: no state tells of them.
func (s *Service) creditEvents(ctx context.Context, w event.Watch, cursor string) (api.EventPage, error) {
	page := api.EventPage{Events: []api.Event{}, NextPollMs: 60_000}
	from, ok := event.PlaceOf(cursor)
	if cursor == "" {
		from = event.Place{Seq: s.now().UnixMilli()}
	} else if oldest := s.now().Add(-api.WatchReplay).UnixMilli(); !ok || from.Seq < oldest {
		from, page.Truncated = event.Place{Seq: oldest}, true
	}
	list, err := s.cfg.Store.WatchMessages(ctx, w.ID, time.UnixMilli(from.Seq), api.WatchPage)
	for _, m := range list {
		var e api.Event
		if json.Unmarshal(m.Body, &e) == nil && e.ID != "" { // else it is a message about the watch
			page.Events, from.Seq = append(page.Events, e), m.At.UnixMilli()
		}
	}
	page.Cursor = from.Cursor()
	return page, err
}
