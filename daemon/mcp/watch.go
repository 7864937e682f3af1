package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/contextd/contextd/daemon/feed"
	"github.com/contextd/contextd/daemon/gate"
	"github.com/contextd/contextd/daemon/reader"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

type event struct {
	Event   api.EventType   `json:"event"`
	Pack    string          `json:"pack"`
	TS      time.Time       `json:"ts"`
	State   json.RawMessage `json:"state,omitempty" jsonschema:"With full=true"`
	Message string          `json:"message,omitempty"` // of an error
}

type watched struct {
	Events    []event         `json:"events"`
	Reason    string          `json:"reason"` // why it ended
	Changes   json.RawMessage `json:"changes,omitempty" jsonschema:"With reason news, as the tool changes answers"`
	Freshness api.Freshness   `json:"freshness"` // of the newest state, at the end
}

// Reasons why a subscription ends.
const (
	endNews      = "news"
	endElapsed   = "elapsed"
	endRevoked   = "revoked"
	endShutdown  = "shutdown"
	endRemoved   = "removed" // the pack is not served any more
	endCancelled = "cancelled"
)

// open makes the free checks of a subscription and check, if there is one, has it charged and returns what watches, and how far back the
// caller may look. It is for keys alone.
func (s *Server) open(rq *request, q api.Query, check func(window time.Duration) error) (*feed.Watcher, time.Duration, error) {
	if _, err := s.cfg.Reader.Ready(q); err != nil {
		return nil, 0, err
	}
	if rq.payer() {
		return nil, 0, keyMissing()
	}
	served, err := gate.Serve(rq.ctx, s.cfg.Gate, gate.Order[*feed.Watcher]{Credentials: rq.who, Op: q.Op, Pack: q.Pack,
		Answer: func(_ context.Context, caller gate.Caller) (*feed.Watcher, error) {
			if check != nil {
				if err := check(caller.Snapshot); err != nil {
					return nil, err
				}
			}
			if w := s.cfg.Streams.Watch(q.Pack); w != nil {
				return w, nil
			}
			return nil, api.Errorf(api.ReasonPackNotFound, "pack %q is not served any more", q.Pack).
				WithHint("packs served: %s", strings.Join(*s.packs.Load(), ", "))
		}})
	if err != nil && served.Answer != nil {
		served.Answer.Close() // it was opened and could not be charged
	}
	return served.Answer, served.Caller.Snapshot, err
}

// keyMissing is the answer to who would subscribe without a key.
func keyMissing() *api.Error {
	return api.KeyMissing("a subscription cannot be paid by call").
		WithHint("use an API key: Authorization: Bearer <API_KEY>; or call fresh every few minutes")
}

func (s *Server) watch(ctx context.Context, rq *request, op api.Op, req *sdk.CallToolRequest) *sdk.CallToolResult {
	x, err := s.watching(op, req.Params.Arguments)
	if err != nil {
		return s.failed(rq, err)
	}
	var check func(window time.Duration) error
	if x.asked {
		check = func(window time.Duration) error {
			view, err := s.cfg.Reader.Ready(x.since)
			if err == nil {
				err = s.cfg.Reader.Deliverable(rq.ctx, view, window)
			}
			return err
		}
	}
	w, window, err := s.open(rq, api.Query{Op: op, Pack: x.since.Pack}, check)
	if err != nil {
		return s.failed(rq, err)
	}
	defer w.Close()
	x.watcher = w
	x.compare = func() (reader.Answer, error) {
		view, err := s.cfg.Reader.Ready(x.since)
		if err != nil {
			return reader.Answer{}, err
		}
		return s.cfg.Reader.Answer(rq.ctx, view, window)
	}
	if token := req.Params.GetProgressToken(); token != nil {
		x.notify = func(n int, message string) {
			// A client that has gone is found out by its request's context.
			_ = req.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{
				ProgressToken: token, Progress: float64(n), Message: message,
			})
		}
	}
	if err := x.run(ctx, rq, s.stopping); err != nil {
		return s.failed(rq, err)
	}
	now := s.cfg.Now()
	x.Freshness = x.newest.Freshness(now)
	body, err := json.Marshal(x.watched)
	if err != nil {
		return s.failed(rq, err)
	}
	return result(body, x.text(now))
}

func (s *Server) watching(op api.Op, arguments json.RawMessage) (*watching, error) {
	q, err := s.query(op, arguments)
	if err != nil {
		return nil, err
	}
	x := &watching{
		watched: watched{Events: []event{}}, asked: q.At != api.Moment{}, least: q.Severity, full: q.Full, now: s.cfg.Now,
		lasts: time.Duration(q.Seconds) * time.Second,
		since: api.Query{Op: api.OpChanges, Pack: q.Pack, At: q.At, Min: q.Min},
	}
	if ago := q.At.Ago; ago > 0 { // of now, however long it takes
		x.since.At = api.Moment{At: s.cfg.Now().Add(-ago).UTC().Truncate(time.Millisecond), Exact: true}
	}
	return x, nil
}

type watching struct {
	watched
	since    api.Query     // for what is different; of changes
	asked    bool          // since was given
	least    api.Severity  // of the flags that are news; "" means that all changes are
	full     bool          // the state is told too
	lasts    time.Duration // at most
	watcher  *feed.Watcher
	compare  func() (reader.Answer, error) // answers since
	notify   func(n int, message string)   // of progress; nil if nobody asked for it
	notified int                           // progress

	newest          *feed.Edition
	serial, failure int64      // of the last ones looked at
	beside          []api.Flag // told beside the newest state at the last look
	now             func() time.Time
}

// run waits until there is news, the time is over, the key ends, the pack is removed, the server stops or the client leaves.
func (x *watching) run(ctx context.Context, rq *request, stopping <-chan struct{}) error {
	end, pulse := time.NewTimer(x.lasts), time.NewTicker(api.PulseInterval)
	defer end.Stop()
	defer pulse.Stop()
	if err := x.begin(); err != nil {
		return err
	}
	for x.Reason == "" {
		select {
		case <-end.C:
			x.Reason = endElapsed
		case <-rq.ended:
			x.Reason = endRevoked
		case <-stopping:
			x.Reason = endShutdown
		case <-x.watcher.Ended():
			if len(x.Events) == 0 { // the removal may have come before the first look
				x.failure = 0
			}
			x.fails(x.watcher.Latest())
			x.Reason = endRemoved
		case <-ctx.Done():
			x.Reason = endCancelled
		case <-rq.ctx.Done():
			x.Reason = endCancelled
		case <-pulse.C:
			x.progress(event{Event: api.EventPulse, Pack: x.since.Pack, TS: x.newest.GeneratedAt.UTC()})
		case <-x.watcher.Wake():
			if err := x.check(); err != nil {
				return err
			}
		}
	}
	return nil
}

// begin looks at what there is already, which is news to who asks since a moment before it.
func (x *watching) begin() error {
	edition, failed := x.watcher.Latest()
	if failed != nil {
		x.failure = failed.Serial
	}
	x.newest = edition
	x.progress(event{Event: api.EventPulse, Pack: x.since.Pack, TS: edition.GeneratedAt.UTC()})
	if x.asked {
		return x.check()
	}
	x.since.At = api.Moment{At: edition.GeneratedAt, Exact: true}
	x.serial, x.beside = edition.Serial, edition.Freshness(x.now()).Flags
	return nil
}

// check looks whether what is new is news.
func (x *watching) check() error {
	edition, failed := x.watcher.Latest()
	x.newest = edition
	x.fails(edition, failed)
	beside := edition.Freshness(x.now()).Flags
	raised := x.raised(beside)
	x.beside = beside
	if edition.Serial == x.serial && !raised {
		return nil
	}
	x.serial = edition.Serial
	answer, err := x.compare()
	if err != nil {
		return err
	}
	var c api.ChangesResponse
	if err := json.Unmarshal(answer.JSON, &c); err != nil {
		return fmt.Errorf("read changes: %w", err)
	}
	if !raised && !x.news(c) {
		return nil
	}
	if edition, _ = x.watcher.Latest(); edition.GeneratedAt.Equal(c.To) {
		x.newest = edition
	}
	e := event{Event: api.EventDelta, Pack: x.since.Pack, TS: c.To.UTC()}
	x.progress(e)
	if x.full && x.newest.GeneratedAt.Equal(c.To) {
		e.State = x.newest.State
	}
	x.Events, x.Reason, x.Changes = append(x.Events, e), endNews, answer.JSON
	return nil
}

// raised reports whether flags about sources are news: some of them are graver than asked for, and were not told at the last look.
func (x *watching) raised(flags []api.Flag) bool {
	return slices.ContainsFunc(flags, func(f api.Flag) bool {
		known := slices.ContainsFunc(x.beside, func(old api.Flag) bool { return old.ID == f.ID && old.Kind == f.Kind })
		return !known && f.Severity.Rank() >= x.least.Rank()
	})
}

// fails tells of failed, unless that was told.
func (x *watching) fails(edition *feed.Edition, failed *feed.Failure) {
	if failed == nil || failed.Serial == x.failure {
		return
	}
	x.failure = failed.Serial
	e := event{Event: api.EventError, Pack: x.since.Pack, TS: edition.GeneratedAt.UTC(), Message: failed.Message}
	x.Events = append(x.Events, e)
	x.progress(e)
}

// news reports whether c is what the caller waits for.
func (x *watching) news(c api.ChangesResponse) bool {
	if x.least != "" {
		return slices.ContainsFunc(c.Flags, func(f api.ChangedFlag) bool { return state.Worse(f) && f.Severity.Rank() >= x.least.Rank() })
	}
	turned := slices.ContainsFunc(c.Sources, func(s api.ChangedSource) bool { return s.From != s.To })
	return len(c.Flags)+len(c.Rows) > 0 || turned || len(c.Headlines) > 0 && x.since.Min == 0
}

// progress tells of e, if anybody asked to be told.
func (x *watching) progress(e event) {
	if x.notify == nil {
		return
	}
	if message, err := json.Marshal(e); err == nil {
		x.notified++
		x.notify(x.notified, string(message))
	}
}

// text is the answer as a model reads it best at now.
func (x *watching) text(now time.Time) string {
	var b strings.Builder
	for _, e := range x.Events {
		if e.Event == api.EventError {
			fmt.Fprintf(&b, "error: %s\n", e.Message)
		}
	}
	if x.Changes == nil {
		since := ""
		if x.Reason == endElapsed {
			since = fmt.Sprintf(" Call again with since=%s.", x.since.At.Key())
		}
		fmt.Fprintf(&b, "Nothing new in pack %s, %s; %s.%s\n", x.since.Pack, x.Reason, age(x.newest.Freshness(now)), since)
		return b.String()
	}
	b.WriteString(toolText(api.OpChanges, x.since.Pack, x.Changes))
	if x.full {
		b.WriteString("\n" + toolText(api.OpFresh, x.since.Pack, x.newest.Fresh().Bytes(now)))
	}
	return b.String()
}

// Notify tells subscribers of pack of each new state and brief, until ctx is done.
func (s *Server) Notify(ctx context.Context, pack string) {
	w := s.cfg.Streams.Watch(pack)
	if w == nil {
		return
	}
	defer w.Close()
	var serial int64
	var brief time.Time
	for {
		if edition, _ := w.Latest(); edition != nil {
			if edition.Serial != serial {
				serial = edition.Serial
				s.updated(ctx, s.uri(pack, "state"))
			}
			if !edition.Brief.At.Equal(brief) {
				brief = edition.Brief.At
				s.updated(ctx, s.uri(pack, "brief"))
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-w.Wake():
		}
	}
}

// updated tells the subscribers of a resource.
func (s *Server) updated(ctx context.Context, uri string) {
	if err := s.sdk.ResourceUpdated(ctx, &sdk.ResourceUpdatedNotificationParams{URI: uri}); err != nil {
		s.cfg.Logger.Debug("subscribers not notified", "uri", uri, "error", err)
	}
}
