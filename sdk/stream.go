package sdk

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/r3labs/sse/v2"

	"github.com/contextd/contextd/sdk/api"
)

// Limits of a stream.
const (
	streamSilence   = 60 * time.Second // without a state, the connection counts as broken
	streamFirstWait = time.Second      // before the first attempt to connect again; doubles up to streamLastWait
	streamLastWait  = 30 * time.Second
	streamPatience  = 5 * time.Minute // a service that wants to be left alone for longer has refused
)

// errSilence is why a connection was given up that sent no state for streamSilence.
var errSilence = errors.New("no state for 60 seconds")

// Event is one event of a stream. State is set for pulse and delta, Message for error events, which leave the stream open.
type Event struct {
	Type    api.EventType
	State   api.StreamState
	Message string
}

// Connection is the state of a stream's connection.
type Connection struct {
	Connected  bool          // states can come
	Reconnects int           // connections after the first
	Err        error         // why there is none, nil while connected
	Wait       time.Duration // until the next attempt, while there is none
	Demo       bool          // the states are recorded, synthetic data
	Unmetered  bool          // calls with the key are counted and not charged
	At         time.Time     // when the service answered by its own clock, in whole seconds; zero where it does not say
}

// SubscribeRequest configures a stream.
type SubscribeRequest struct {
	Pack     string           // empty means api.DefaultPack
	Members  []string         // of the states; none means all
	Brief    bool             // have the newest brief of the pack beside each state
	Proven   bool             // have the check of WithProofCheck look at each state; what it refuses ends the events
	Repeats  bool             // also yield the pulses that only repeat the last state
	OnChange func(Connection) // called when the connection comes and goes, in the goroutine that reads the events; may be nil
}

// Stream is a subscription. It connects while its events are read, and holds no resources otherwise.
type Stream struct {
	client *Client
	req    SubscribeRequest
	done   chan struct{}
	close  func()
	state  atomic.Pointer[Connection]
}

// Subscribe returns a stream of the states of a pack. It sends nothing before its events are read.
func (c *Client) Subscribe(r SubscribeRequest) *Stream {
	done := make(chan struct{})
	return &Stream{client: c, req: r, done: done, close: sync.OnceFunc(func() { close(done) })}
}

// Close ends the stream, from any goroutine. Its events end without an error.
func (s *Stream) Close() { s.close() }

// Connection returns the current state of the connection.
func (s *Stream) Connection() Connection {
	if c := s.state.Load(); c != nil {
		return *c
	}
	return Connection{}
}

// Events connects and yields events, each state once. It reconnects after a broken connection, or 60 seconds without a state, with waits of
// 1, 2, 4 … 30 seconds or as the service asks. An error ends the events: an *api.Error for a permanent refusal (400, 401, 402, 403, 404),
// or the cause of the end of ctx. Read events in one goroutine at a time.
func (s *Stream) Events(ctx context.Context) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		go func() { // ends with ctx, at the latest when the reading does
			select {
			case <-s.done:
				cancel(errClosed)
			case <-ctx.Done():
			}
		}()
		l := &listener{stream: s, yield: yield}
		err := l.listen(ctx)
		if err != nil && !errors.Is(context.Cause(ctx), errClosed) && !l.stopped {
			yield(Event{}, err)
		}
	}
}

// errClosed is the cause of a stream's end by Close.
var errClosed = errors.New("stream closed")

// listener is one reading of a stream's events.
type listener struct {
	stream     *Stream
	yield      func(Event, error) bool
	stopped    bool // the reader of the events has had enough
	last       time.Time
	beside     string // see besideOf
	tries      int    // failed attempts in a row
	reconnects int
}

// listen connects again and again until it fails for good.
func (l *listener) listen(ctx context.Context) error {
	for {
		err := l.connect(ctx)
		if l.stopped {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		wait, again := l.pause(err)
		if !again {
			return err
		}
		l.notify(Connection{Err: err, Wait: wait})
		if err := sleep(ctx, wait); err != nil {
			return err
		}
	}
}

// pause is how long to wait after a connection ended with err; again is false for a refusal that will not pass.
func (l *listener) pause(err error) (wait time.Duration, again bool) {
	wait = min(streamFirstWait<<min(l.tries, 10), streamLastWait)
	l.tries++
	wait = wait/2 + rand.N(wait/2+1)
	if asProof(err) != nil {
		return 0, false
	}
	var refused *api.Error
	if errors.As(err, &refused) {
		switch refused.Status {
		case http.StatusBadRequest, http.StatusUnauthorized, http.StatusPaymentRequired, http.StatusForbidden, http.StatusNotFound:
			return 0, false
		}
		if refused.RetryAfter > streamPatience {
			return 0, false
		}
		wait = max(wait, refused.RetryAfter)
	}
	return wait, true
}

// notify records a change of the connection and reports it.
func (l *listener) notify(c Connection) {
	c.Reconnects = l.reconnects
	l.stream.state.Store(&c)
	if l.stream.req.OnChange != nil {
		l.stream.req.OnChange(c)
	}
}

// connect opens one connection and yields its events until it ends. It returns why, never nil unless the reader has had enough.
func (l *listener) connect(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silence := time.AfterFunc(streamSilence, func() { cancel(errSilence) })
	defer silence.Stop()
	resp, err := l.open(ctx)
	if err != nil {
		return cause(ctx, err)
	}
	defer resp.Body.Close()
	at, _ := http.ParseTime(resp.Header.Get("Date"))
	l.notify(Connection{
		Connected: true, Demo: resp.Header.Get(api.HeaderDataMode) == api.DataModeDemo, Unmetered: leftIn(resp.Header).Unmetered, At: at,
	})
	l.reconnects++
	events := sse.NewEventStreamReader(resp.Body, maxAnswerBytes)
	for {
		raw, err := events.ReadEvent()
		if errors.Is(err, io.EOF) {
			err = errors.New("the service ended the stream")
		}
		if err != nil {
			return cause(ctx, transportError(resp.Request, 1, err))
		}
		event, err := decodeEvent(raw)
		if err != nil {
			return transportError(resp.Request, 1, err)
		}
		if event.Type == api.EventPulse || event.Type == api.EventDelta {
			l.tries = 0
			silence.Reset(streamSilence)
			beside, repeats := besideOf(event.State), event.State.TS.Equal(l.last)
			if event.State.TS.Before(l.last) || repeats && !l.stream.req.Repeats && beside == l.beside {
				continue // before: of a node that does not have the newest yet
			}
			if err := l.proven(ctx, event.State); err != nil {
				return err
			}
			l.last, l.beside = event.State.TS, beside
		}
		if event.Type != "" && !l.yield(event, nil) {
			l.stopped = true
			return nil
		}
	}
}

// cause is why ctx ended, if it is over, and err if not.
func cause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// open asks for the stream. The key goes into the query, as the service wants it, and out of every error.
func (l *listener) open(ctx context.Context) (*http.Response, error) {
	c := l.stream.client
	request := requestOf(api.Query{
		Op: api.OpSubscribe, Pack: l.stream.req.Pack, Members: strings.Join(l.stream.req.Members, ","), Proof: l.proves(),
		Brief: l.stream.req.Brief,
	})
	request.Query.Set("token", c.key.Secret())
	target, err := c.target(request, nil)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return nil, errors.New("subscribe: the address cannot be asked") // the error itself would show the key
	}
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set("User-Agent", c.userAgent)
	streaming := c.http
	streaming.Timeout = 0 // of whole answers; this one has no end
	resp, err := streaming.Do(req)
	if err != nil {
		return nil, transportError(req, 1, err)
	}
	if resp.StatusCode/100 != 2 {
		return nil, ErrorOf(resp)
	}
	return resp, nil
}

// besideOf names what stands beside a state: the sources that are not ok with their flags, and the brief by its time.
func besideOf(s api.StreamState) string {
	var b strings.Builder
	if s.BriefAt != nil {
		fmt.Fprintln(&b, s.BriefAt.UnixNano())
	}
	if f := s.Freshness; f != nil {
		for _, s := range f.Sources {
			fmt.Fprintln(&b, s.ID, s.Status)
		}
		for _, flag := range f.Flags {
			fmt.Fprintln(&b, flag.ID, flag.Kind)
		}
	}
	return b.String()
}

// proves reports whether states come with their leaves.
func (l *listener) proves() bool { return l.stream.req.Proven && l.stream.client.check != nil }

func (l *listener) proven(ctx context.Context, s api.StreamState) error {
	if !l.proves() || s.TS.Equal(l.last) {
		return nil
	}
	var named api.Proof
	if s.Seq != nil {
		named = api.Proof{Seq: *s.Seq, Leaf: s.Leaf, Scope: s.Scope}
	}
	body := slices.Concat([]byte(`{"state":`), s.State, []byte("}"))
	return l.stream.client.check(ctx, firstOf(l.stream.req.Pack, api.DefaultPack), named, &Response{Body: body})
}

// decodeEvent reads one event. A comment, and an event of a kind that is not known, has no type.
func decodeEvent(raw []byte) (Event, error) {
	var kind api.EventType
	var data []byte
	for line := range bytes.Lines(raw) {
		name, value, _ := bytes.Cut(bytes.TrimRight(line, "\r\n"), []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "event":
			kind = api.EventType(value)
		case "data":
			if data != nil {
				data = append(data, '\n')
			}
			data = append(data, value...)
		}
	}
	e := Event{Type: kind}
	var err error
	switch kind {
	case api.EventPulse, api.EventDelta:
		err = json.Unmarshal(data, &e.State)
	case api.EventError:
		var failure api.StreamError
		err = json.Unmarshal(data, &failure)
		e.Message = failure.Message
	default:
		return Event{}, nil
	}
	if err != nil {
		return Event{}, fmt.Errorf("event %s cannot be read: %w", kind, err)
	}
	return e, nil
}
