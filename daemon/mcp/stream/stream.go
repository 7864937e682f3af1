// Package stream is the writer between the SDK and a client: it keeps event streams alive with comments, gives up readers that have
// stopped reading, and takes the SDK's plain texts of failure back, so that the transport can answer with its own envelope.
//
// It knows nothing of what is written.
package stream

import (
	"bytes"
	"mime"
	"net/http"
	"sync"
	"time"
)

// maxHeld bounds what is kept of a failure's text.
const maxHeld = 1 << 10

// Config is how a Writer works.
type Config struct {
	Every time.Duration    // between the comments of a stream in which nothing else happens
	Stall time.Duration    // a reader that does not take a write for this long is given up
	Hold  bool             // keep the whole answer until Release
	Now   func() time.Time // the clock of the machine, which deadlines go by; nil means time.Now
}

// Writer is an http.ResponseWriter. Make one with New and End it when the handler has returned.
type Writer struct {
	cfg Config
	w   http.ResponseWriter
	rc  *http.ResponseController

	mu     sync.Mutex // guards what follows, and writing
	status int        // 0 until the header was written
	held   *bytes.Buffer
	failed bool // held is a failure's text
	beat   *time.Timer
	wrote  time.Time
	ended  bool
}

// New makes a Writer to w.
func New(w http.ResponseWriter, cfg Config) *Writer {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	s := &Writer{cfg: cfg, w: w, rc: http.NewResponseController(w)}
	if cfg.Hold {
		s.held = &bytes.Buffer{}
	}
	return s
}

// Header is that of the answer.
func (s *Writer) Header() http.Header { return s.w.Header() }

// WriteHeader sends the header, unless the answer is held or is a failure.
func (s *Writer) WriteHeader(status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writeHeader(status)
}

// writeHeader is WriteHeader. The caller holds mu.
func (s *Writer) writeHeader(status int) {
	if s.status != 0 || s.ended {
		return
	}
	s.status = status
	kind, _, _ := mime.ParseMediaType(s.w.Header().Get("Content-Type"))
	switch {
	case status >= http.StatusBadRequest && kind == "text/plain":
		s.failed = true
		s.held = &bytes.Buffer{}
		return
	case s.held != nil:
		return
	case kind == "text/event-stream":
		s.w.Header().Set("X-Accel-Buffering", "no")
		s.wrote = s.cfg.Now()
		s.beat = time.AfterFunc(s.cfg.Every, s.keepAlive)
	}
	s.w.WriteHeader(status)
}

// Write sends or keeps p.
func (s *Writer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return 0, http.ErrHandlerTimeout
	}
	s.writeHeader(http.StatusOK)
	if s.held == nil {
		return s.send(p)
	}
	if s.failed && s.held.Len()+len(p) > maxHeld {
		return len(p), nil
	}
	return s.held.Write(p)
}

// send writes p within the time that a reader has. The caller holds mu.
func (s *Writer) send(p []byte) (int, error) {
	s.wrote = s.cfg.Now()
	_ = s.rc.SetWriteDeadline(s.wrote.Add(s.cfg.Stall)) // only what is no connection has none
	return s.w.Write(p)
}

// FlushError sends what was written.
func (s *Writer) FlushError() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held != nil || s.ended {
		return nil
	}
	return s.rc.Flush()
}

// keepAlive writes a comment into a stream in which nothing has happened for a while.
func (s *Writer) keepAlive() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	if idle := s.cfg.Now().Sub(s.wrote); idle >= 0 && idle < s.cfg.Every {
		s.beat.Reset(s.cfg.Every - idle)
		return
	}
	if _, err := s.send([]byte(": keepalive\n\n")); err == nil && s.rc.Flush() == nil {
		s.beat.Reset(s.cfg.Every)
	}
}

// Failure is a failure that was written as plain text, which the client has not seen; ok is false if there was none.
func (s *Writer) Failure() (status int, text string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.failed {
		return 0, "", false
	}
	return s.status, string(bytes.TrimSpace(s.held.Bytes())), true
}

// Release sends what was held. It does nothing for a failure and for a Writer that holds nothing.
func (s *Writer) Release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held == nil || s.failed || s.status == 0 {
		return
	}
	s.w.WriteHeader(s.status)
	_, _ = s.send(s.held.Bytes()) // a client that went away is no error of ours
}

// End stops the writing: whoever still has the Writer writes into nothing.
func (s *Writer) End() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	if s.beat != nil {
		s.beat.Stop()
	}
}
