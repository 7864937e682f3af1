package mcp

import (
	"bytes"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"sync"
	"time"

	"github.com/contextd/contextd/daemon/web"
)

// maxHeld bounds what is kept of a failure's text.
const maxHeld = 1 << 10

type streamConfig struct {
	Every time.Duration    // between the comments of a stream in which nothing else happens
	Stall time.Duration    // a reader that does not take a write for this long is given up
	Hold  bool             // keep the whole answer until Release
	Slow  bool             // the answer is a stream, which begins after Every at the latest: a call may have nothing to say for long
	Now   func() time.Time // the clock of the machine, which the deadline of End goes by; nil means time.Now
}

// streamWriter is an http.ResponseWriter. Make one with newStreamWriter and End it when the handler has returned.
type streamWriter struct {
	cfg    streamConfig
	w      http.ResponseWriter
	out    *web.TimedWriter // to w
	header http.Header      // of the handler, until it writes

	mu     sync.Mutex // guards what follows, and writing
	status int        // 0 until the header was written
	held   *bytes.Buffer
	failed bool // held is a failure's text
	begun  bool // as a stream, before the handler wrote
	framed bool // what the handler writes is to be made an event
	beat   *time.Timer
	wrote  time.Time
	ended  bool
	wants  bool // the first thing that the handler writes says what the client listens to: that is more than the handler knows
}

// Acknowledge has the first thing that the handler writes say that the client is told of other types of events too.
func (s *streamWriter) Acknowledge() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wants = true
}

// Insert sends an event between those of the handler, once that has begun.
func (s *streamWriter) Insert(event []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.status != http.StatusOK || s.wants || s.held != nil || s.ended {
		return
	}
	if _, err := s.send(event); err == nil {
		_ = s.out.FlushError() // the handler's next write fails as well
	}
}

func newStreamWriter(w http.ResponseWriter, cfg streamConfig) *streamWriter {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	s := &streamWriter{cfg: cfg, w: w, out: web.NewTimedWriter(w, cfg.Stall), header: w.Header().Clone()}
	s.mu.Lock() // the timer may be quick
	defer s.mu.Unlock()
	if cfg.Hold {
		s.held = &bytes.Buffer{}
	} else if cfg.Slow {
		s.wrote = cfg.Now()
		s.beat = time.AfterFunc(cfg.Every, s.keepAlive)
	}
	return s
}

// Header is that of the answer.
func (s *streamWriter) Header() http.Header { return s.header }

// WriteHeader sends the header, unless the answer is held or is a failure.
func (s *streamWriter) WriteHeader(status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writeHeader(status)
}

// writeHeader is WriteHeader. The caller holds mu.
func (s *streamWriter) writeHeader(status int) {
	if s.status != 0 || s.ended {
		s.framed = s.framed || s.begun && status != http.StatusOK // too late for a status
		return
	}
	s.status = status
	kind, _, _ := mime.ParseMediaType(s.header.Get("Content-Type"))
	if status >= http.StatusBadRequest && kind == "text/plain" {
		s.failed = true
		s.held = &bytes.Buffer{}
		return
	}
	maps.Copy(s.w.Header(), s.header)
	switch {
	case s.held != nil:
		return
	case kind != "text/event-stream":
		s.stopComments()
	default:
		s.w.Header().Set("X-Accel-Buffering", "no")
		s.wrote = s.cfg.Now()
		if s.beat == nil {
			s.beat = time.AfterFunc(s.cfg.Every, s.keepAlive)
		}
	}
	s.w.WriteHeader(status)
}

// Write sends or keeps p.
func (s *streamWriter) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return 0, http.ErrHandlerTimeout
	}
	s.writeHeader(http.StatusOK)
	if n := len(p); s.wants && s.held == nil {
		said := acknowledged(p)
		s.wants = len(said) == n
		_, err := s.send(said)
		return n, err
	}
	switch {
	case s.framed:
		_, err := s.send(fmt.Appendf(nil, "event: message\ndata: %s\n\n", p))
		return len(p), err
	case s.held == nil:
		return s.send(p)
	case s.failed && s.held.Len()+len(p) > maxHeld:
		return len(p), nil
	}
	return s.held.Write(p)
}

// send writes p within the time that a reader has. The caller holds mu.
func (s *streamWriter) send(p []byte) (int, error) {
	s.wrote = s.cfg.Now()
	return s.out.Write(p)
}

// FlushError sends what was written.
func (s *streamWriter) FlushError() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held != nil || s.ended {
		return nil
	}
	return s.out.FlushError()
}

// keepAlive writes a comment into a stream in which nothing has happened for a while.
func (s *streamWriter) keepAlive() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended || s.status >= http.StatusBadRequest || s.held != nil {
		return
	}
	if idle := s.cfg.Now().Sub(s.wrote); idle >= 0 && idle < s.cfg.Every {
		s.beat.Reset(s.cfg.Every - idle)
		return
	}
	if s.status == 0 { // the handler's header is not to be looked at while it may change
		s.status, s.begun = http.StatusOK, true
		h := s.w.Header()
		h.Set("Content-Type", "text/event-stream")
		h.Set("Cache-Control", "no-cache, no-transform")
		h.Set("X-Accel-Buffering", "no")
		s.w.WriteHeader(http.StatusOK)
	}
	if _, err := s.send([]byte(": keepalive\n\n")); err == nil && s.out.FlushError() == nil {
		s.beat.Reset(s.cfg.Every)
	}
}

// Failure is a failure that was written as plain text, which the client has not seen; ok is false if there was none.
func (s *streamWriter) Failure() (status int, text string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.failed {
		return 0, "", false
	}
	return s.status, string(bytes.TrimSpace(s.held.Bytes())), true
}

// Release sends what was held. It does nothing for a failure and for a writer that holds nothing.
func (s *streamWriter) Release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held == nil || s.failed || s.status == 0 {
		return
	}
	s.w.WriteHeader(s.status)
	_, _ = s.send(s.held.Bytes()) // a client that went away is no error of ours
}

// End stops the writing: later writes are discarded.
func (s *streamWriter) End() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	if s.out.Begun() { // the server sends what it still has
		_ = http.NewResponseController(s.w).SetWriteDeadline(s.cfg.Now().Add(s.cfg.Stall))
	}
	s.stopComments()
}

// stopComments ends the keepalive. The caller holds mu.
func (s *streamWriter) stopComments() {
	if s.beat != nil {
		s.beat.Stop()
	}
}
