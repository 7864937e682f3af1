package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/contextd/contextd/daemon/feed"
	"github.com/contextd/contextd/daemon/gate"
	"github.com/contextd/contextd/daemon/reader"
	"github.com/contextd/contextd/sdk/api"
)

// event is an event of a subscription. State is left out where it is that of the event before.
type event struct {
	Event   api.EventType   `json:"event"`
	Pack    string          `json:"pack"`
	TS      time.Time       `json:"ts"`
	State   json.RawMessage `json:"state,omitempty" jsonschema:"Left out where ts is that of the event before"`
	Message string          `json:"message,omitempty"` // of an error
}

// watched is the answer of subscribe.
type watched struct {
	Events    []event       `json:"events"`
	Reason    string        `json:"reason"`    // why it ended
	Freshness api.Freshness `json:"freshness"` // of the newest state, at the end
}

// Reasons why a subscription ends.
const (
	endElapsed   = "elapsed"
	endRevoked   = "revoked"
	endShutdown  = "shutdown"
	endCancelled = "cancelled"
)

// errNoWatch says that there is nothing to watch where there should be.
var errNoWatch = errors.New("pack cannot be watched")

// open makes the free checks of a subscription, has it charged and returns what watches. It is for keys alone.
func (s *Server) open(rq *request, q reader.Query) (*feed.Watcher, error) {
	if _, err := s.cfg.Reader.Ready(q); err != nil {
		return nil, err
	}
	if rq.payer() {
		return nil, keyMissing()
	}
	served, err := gate.Serve(rq.ctx, s.cfg.Gate, gate.Order[*feed.Watcher]{Credentials: rq.who, Op: q.Op, Pack: q.Pack,
		Answer: func(context.Context, gate.Caller) (*feed.Watcher, error) {
			if w := s.cfg.Streams.Watch(q.Pack); w != nil {
				return w, nil
			}
			return nil, fmt.Errorf("watch %s: %w", q.Pack, errNoWatch)
		}})
	if err != nil && served.Answer != nil {
		served.Answer.Close() // it was opened and could not be charged
	}
	return served.Answer, err
}

// keyMissing is the answer to who would subscribe without a key.
func keyMissing() *api.Error {
	return api.KeyMissing("a subscription cannot be paid by call").
		WithHint("use an API key: Authorization: Bearer <API_KEY>; or call fresh every few minutes")
}

// watch is the tool subscribe.
func (s *Server) watch(ctx context.Context, rq *request, op api.Op, req *sdk.CallToolRequest) *sdk.CallToolResult {
	q, seconds, err := watchQuery(op, req.Params.Arguments)
	if err != nil {
		return s.failed(rq, err)
	}
	w, err := s.open(rq, q)
	if err != nil {
		return s.failed(rq, err)
	}
	defer w.Close()
	x := &watching{pack: q.Pack, watcher: w}
	if token := req.Params.GetProgressToken(); token != nil {
		x.tell = func(n int, message string) {
			// A client that has gone is found out by its request's context.
			_ = req.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{
				ProgressToken: token, Progress: float64(n), Message: message,
			})
		}
	}
	x.run(ctx, time.Duration(seconds)*time.Second, rq, s.stopping)
	now := s.cfg.Now()
	x.Freshness = x.newest.Freshness(now)
	body, err := json.Marshal(x.watched)
	if err != nil {
		return s.failed(rq, err)
	}
	return result(body, x.text(now))
}

// watchQuery reads the arguments of subscribe.
func watchQuery(op api.Op, arguments json.RawMessage) (q reader.Query, seconds int, err error) {
	values, err := toolArguments(op, arguments)
	if err != nil {
		return q, 0, err
	}
	seconds = defaultSeconds
	if values.Has("seconds") {
		seconds, err = strconv.Atoi(values.Get("seconds"))
		if err != nil || seconds < minSeconds || seconds > maxSeconds {
			return q, 0, api.Errorf(api.ReasonInvalidRequest, "seconds is not a whole number from %d to %d", minSeconds, maxSeconds).
				WithHint("leave it out for %d", defaultSeconds)
		}
	}
	q = reader.Query{Op: op, Pack: api.DefaultPack}
	if values.Has("pack") {
		q.Pack = values.Get("pack")
	}
	return q, seconds, nil
}

// watching is one run of subscribe.
type watching struct {
	watched
	pack    string
	watcher *feed.Watcher
	tell    func(n int, message string) // of progress; nil if nobody asked for it

	newest          *feed.Edition
	serial, failure int64 // of the last ones noted
}

// run notes events until the time is over, the key ends, the server stops or the client leaves.
func (x *watching) run(ctx context.Context, lasts time.Duration, rq *request, stopping <-chan struct{}) {
	end, pulse := time.NewTimer(lasts), time.NewTicker(api.PulseInterval)
	defer end.Stop()
	defer pulse.Stop()
	edition, failed := x.watcher.Latest()
	if failed != nil {
		x.failure = failed.Serial
	}
	x.note(api.EventPulse, edition)
	for x.Reason == "" {
		select {
		case <-end.C:
			x.Reason = endElapsed
		case <-rq.ended:
			x.Reason = endRevoked
		case <-stopping:
			x.Reason = endShutdown
		case <-ctx.Done():
			x.Reason = endCancelled
		case <-rq.ctx.Done():
			x.Reason = endCancelled
		case <-pulse.C:
			edition, _ := x.watcher.Latest()
			x.note(api.EventPulse, edition)
		case <-x.watcher.Wake():
			x.news()
		}
	}
}

// news notes what is new.
func (x *watching) news() {
	edition, failed := x.watcher.Latest()
	if edition.Serial != x.serial {
		x.note(api.EventDelta, edition)
	}
	if failed != nil && failed.Serial != x.failure {
		x.failure = failed.Serial
		x.add(event{Event: api.EventError, Pack: x.pack, TS: edition.GeneratedAt.UTC(), Message: failed.Message})
	}
}

// note adds the event of a state.
func (x *watching) note(kind api.EventType, edition *feed.Edition) {
	e := event{Event: kind, Pack: x.pack, TS: edition.GeneratedAt.UTC()}
	if x.serial != edition.Serial {
		e.State = edition.State
	}
	x.newest, x.serial = edition, edition.Serial
	x.add(e)
}

// add adds e and tells of it.
func (x *watching) add(e event) {
	x.Events = append(x.Events, e)
	if x.tell == nil {
		return
	}
	if message, err := json.Marshal(e); err == nil {
		x.tell(len(x.Events), string(message))
	}
}

// text is the answer as a model reads it best at now: what happened, and the newest state once.
func (x *watching) text(now time.Time) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Watched pack %s; %s.\n", x.pack, x.Reason)
	for _, e := range x.Events {
		fmt.Fprintf(&b, "%s %s %s\n", e.Event, e.TS.Format(time.RFC3339), e.Message)
	}
	b.WriteString("\nNewest ")
	b.WriteString(toolText(api.OpFresh, x.pack, x.newest.Fresh().Bytes(now)))
	return b.String()
}

// tell tells subscribers of pack of each new state and brief.
func (s *Server) tell(ctx context.Context, pack string) {
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
		s.cfg.Logger.Debug("subscribers were not told", "uri", uri, "error", err)
	}
}
