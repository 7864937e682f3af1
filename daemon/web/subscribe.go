package web

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/contextd/contextd/daemon/feed"
	"github.com/contextd/contextd/daemon/gate"
	"github.com/contextd/contextd/sdk/api"
)

// Streams watches packs; *feed.Feed is one.
type Streams interface {
	Watch(pack string) *feed.Watcher
}

// StreamStats counts what became of streams since the start.
type StreamStats struct {
	Opened  atomic.Int64
	Open    atomic.Int64 // now
	Dropped atomic.Int64 // states that a slow reader did not get, because a newer one was there
	Stalled atomic.Int64 // streams closed because their readers took nothing for api.StalledReader
}

// Stats counts the streams of s.
func (s *Server) Stats() *StreamStats { return &s.stats }

// EndStreams ends every stream, cleanly and at once. It is for a stop.
func (s *Server) EndStreams() { s.endStreams() }

// stopper returns a channel and the function that closes it, as often as one likes.
func stopper() (<-chan struct{}, func()) {
	c := make(chan struct{})
	return c, sync.OnceFunc(func() { close(c) })
}

// subscribe streams the states of a pack. It is charged once, when the stream opens.
func (s *Server) subscribe(w http.ResponseWriter, r *http.Request) error {
	q, _, err := parse(api.OpSubscribe, w, r)
	if err != nil {
		return err
	}
	if _, err := s.cfg.Reader.Ready(q); err != nil {
		return err
	}
	order := gate.Order[*seat]{
		Credentials: gate.Credentials{
			Bearer: r.URL.Query().Get("token"), HasBearer: true, Client: s.cfg.Payers.Trusted.FreeClientOf(r),
		}, Op: q.Op, Pack: q.Pack,
		Answer: func(ctx context.Context, caller gate.Caller) (*seat, error) { return s.seat(ctx, caller, q.Pack) },
	}
	if r.Method == http.MethodHead { // opens no stream, so it costs nothing
		if _, err := s.cfg.Gate.Admit(r.Context(), order.Credentials, q.Op, q.Pack); err != nil {
			return gate.ForKeysAlone(err)
		}
		s.stream.set(w.Header())
		return nil
	}
	served, err := gate.Serve(r.Context(), s.cfg.Gate, order)
	if served.Answer != nil {
		defer served.Answer.leave()
	}
	if err != nil {
		return gate.ForKeysAlone(err)
	}
	s.stream.set(w.Header())
	setLeft(w.Header(), served.Left)
	w.Header().Set("Date", s.cfg.Now().UTC().Format(http.TimeFormat)) // by the clock of ages, which readers set theirs by
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})    // the server's bound is for calls
	st := &stream{
		server: s, w: NewTimedWriter(w, api.StalledReader), watch: served.Answer.watch, members: q.Members,
		with:    feed.With{Proof: q.Proof, Brief: q.Brief},
		revoked: s.cfg.Gate.Ended(served.Caller),
	}
	if acceptsGzip(r.Header["Accept-Encoding"]) {
		w.Header().Set("Content-Encoding", "gzip")
		st.zip = new(feed.Zip)
	}
	s.stats.Opened.Add(1)
	s.stats.Open.Add(1)
	defer s.stats.Open.Add(-1)
	st.run(r.Context())
	return nil
}

// seat is what a stream needs for as long as it is open.
type seat struct {
	watch *feed.Watcher
	leave func() // gives it back
}

// seat finds one for a stream of caller.
func (s *Server) seat(ctx context.Context, caller gate.Caller, pack string) (*seat, error) {
	credits, err := s.cfg.Gate.HasCredits(ctx, caller)
	if err != nil {
		return nil, err
	}
	leave, err := s.place(ctx, caller, credits)
	if err != nil {
		return nil, err
	}
	watch := s.cfg.Streams.Watch(pack)
	if watch == nil {
		leave()
		return nil, api.Errorf(api.ReasonPackNotFound, "pack %q is not served any more", pack).WithHint("packs served: %s", api.PathPacks)
	}
	return &seat{watch, func() { watch.Close(); leave() }}, nil
}

// place takes a place for a stream of caller, for as long as the request of ctx is answered, until leave is called.
func (s *Server) place(ctx context.Context, caller gate.Caller, credits bool) (leave func(), err error) {
	free, err := s.places.Take(caller, credits)
	if err != nil {
		return nil, err
	}
	release, err := Held(ctx)
	if err != nil {
		free()
		return nil, err
	}
	return func() { release(); free() }, nil
}

// streamHeaders are those of a stream: no cache and no proxy may hold it up.
func streamHeaders() lines {
	return lines{
		{"Content-Type", []string{"text/event-stream"}},
		{"Cache-Control", []string{"no-cache, no-transform"}},
		{"Vary", []string{"Accept-Encoding"}},
		{"X-Accel-Buffering", []string{"no"}},
	}
}

type stream struct {
	server  *Server
	w       *TimedWriter
	zip     *feed.Zip // nil for a reader who takes no gzip
	watch   *feed.Watcher
	members string // of the state that are told, "" for all
	with    feed.With
	revoked <-chan struct{}

	state   *feed.Edition // the last one sent
	failure int64         // serial of the last one sent or passed over
}

// run sends frames until the client leaves, the key ends, the pack is removed or the server stops.
func (st *stream) run(ctx context.Context) {
	pulse, keepalive := time.NewTicker(api.PulseInterval), time.NewTicker(api.KeepaliveInterval)
	defer pulse.Stop()
	defer keepalive.Stop()
	edition, failed := st.watch.Latest()
	st.state = edition
	if failed != nil {
		st.failure = failed.Serial
	}
	for ok := st.begin() && st.pulse(); ok; {
		select {
		case <-ctx.Done():
			return
		case <-st.revoked:
			st.end()
			return
		case <-st.server.stopping:
			st.end()
			return
		case <-st.watch.Ended():
			if st.news() {
				st.end()
			}
			return
		case <-pulse.C:
			ok = st.news() && st.pulse() // a state is news before it is repeated
		case <-keepalive.C:
			ok = st.send(feed.NewComment(fmt.Sprintf("keepalive %d", st.server.cfg.Now().UnixMilli())))
		case <-st.watch.Wake():
			ok = st.news()
		}
	}
}

// pulse sends the state again.
func (st *stream) pulse() bool {
	return st.send(st.state.Part(st.members).PulseFrame(st.with, st.server.cfg.Now()))
}

// news sends what is new: the newest state, the newest failure.
func (st *stream) news() bool {
	edition, failed := st.watch.Latest()
	n := edition.Serial - st.state.Serial
	st.state = edition // of the same state, with how its sources do now
	if n > 0 {
		st.server.stats.Dropped.Add(n - 1)
		if !st.send(edition.Part(st.members).DeltaFrame(st.with, st.server.cfg.Now())) {
			return false
		}
	}
	if failed != nil && failed.Serial != st.failure {
		st.failure = failed.Serial
		return st.send(failed.Frame())
	}
	return true
}

// begin writes what comes before the first frame.
func (st *stream) begin() bool { return st.zip == nil || st.write(st.zip.Head()) }

// end writes what comes after the last frame.
func (st *stream) end() {
	if st.zip != nil {
		st.write(st.zip.Tail())
	}
}

// send writes one frame, which the reader gets at once, and reports whether they took it.
func (st *stream) send(frame *feed.Frame) bool {
	text := frame.Text()
	if st.zip != nil {
		text = st.zip.Next(frame)
	}
	return st.write(text) && st.taken(st.w.FlushError())
}

// write writes what is sent with the next frame, or at the end of the stream.
func (st *stream) write(text []byte) bool {
	_, err := st.w.Write(text)
	return st.taken(err)
}

// taken reports whether err says that the reader took what was written. One that takes nothing for too long is given up.
func (st *stream) taken(err error) bool {
	if st.w.Stalled() {
		st.server.stats.Stalled.Add(1)
	}
	return err == nil
}
