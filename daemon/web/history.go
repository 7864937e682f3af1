package web

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/contextd/contextd/daemon/gate"
	"github.com/contextd/contextd/daemon/reader"
	"github.com/contextd/contextd/sdk/api"
)

// history streams a member of past states, a line for each. It is for keys alone, and charged before the first byte: a credit for each day
// that is started. An answer that ends early breaks off, so that nobody takes it for the whole.
func (s *Server) history(w http.ResponseWriter, r *http.Request) error {
	q, _, err := parse(api.OpHistory, w, r)
	if err != nil {
		return err
	}
	view, err := s.cfg.Reader.Ready(q)
	if err != nil {
		return err
	}
	order := gate.Order[*past]{
		Op: q.Op, Pack: q.Pack, Units: view.Credits(), Free: r.Method == http.MethodHead,
		Answer: func(ctx context.Context, caller gate.Caller) (*past, error) { return s.past(ctx, caller, view) },
	}
	if r.Header["Authorization"] != nil { // a proof buys nothing here
		if order.Credentials, err = s.cfg.Payers.Credentials(r, order.Subject); err != nil {
			return err
		}
	}
	if order.Free {
		if err := s.heads.AllowAll(s.cfg.Payers.Trusted.ClientsOf(r)...); err != nil {
			return err
		}
	}
	served, err := gate.Serve(r.Context(), s.cfg.Gate, order)
	if served.Answer != nil {
		defer served.Answer.leave()
	}
	if err != nil {
		return err
	}
	s.lines.set(w.Header())
	setLeft(w.Header(), served.Left)
	if order.Free {
		return nil
	}
	return s.send(w, r, served)
}

// past is an open history with what it takes for as long as it is.
type past struct {
	*reader.Lines
	leave func() // gives it back
}

// past opens the history of v for caller. One that is open counts as a stream: who takes it slowly holds it as long.
func (s *Server) past(ctx context.Context, caller gate.Caller, v reader.View) (*past, error) {
	credits, err := s.cfg.Gate.HasCredits(ctx, caller)
	if err != nil {
		return nil, err
	}
	leave, err := s.place(ctx, caller, credits)
	if err != nil {
		return nil, err
	}
	lines, err := s.cfg.Reader.History(ctx, v, caller.Snapshot)
	if err != nil {
		leave()
		return nil, err
	}
	return &past{lines, func() { lines.Close(); leave() }}, nil
}

// send writes all lines, to a client who takes them.
func (s *Server) send(w http.ResponseWriter, r *http.Request, served gate.Served[*past]) error {
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // the server's bound is for calls
	timed := NewTimedWriter(w, api.StalledReader)
	out, end := io.Writer(timed), timed.FlushError
	if acceptsGzip(r.Header["Accept-Encoding"]) {
		w.Header().Set("Content-Encoding", "gzip")
		zip, _ := gzip.NewWriterLevel(timed, gzip.BestSpeed) // it is a level
		out, end = zip, func() error { return errors.Join(zip.Close(), timed.FlushError()) }
	}
	if timed.FlushError() != nil { // that it was answered is told at once: it was charged
		panic(http.ErrAbortHandler)
	}
	revoked := s.cfg.Gate.Ended(served.Caller)
	for {
		select {
		case <-s.stopping:
			panic(http.ErrAbortHandler)
		case <-revoked:
			panic(http.ErrAbortHandler)
		default:
		}
		line, err := served.Answer.Next()
		if errors.Is(err, io.EOF) {
			err = end()
			line = nil
		} else if err == nil {
			_, err = out.Write(line)
		} else if r.Context().Err() == nil {
			s.cfg.Logger.Error("history interrupted", "request_id", w.Header().Get(api.HeaderRequestID), "error", err)
		}
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		if line == nil {
			return nil
		}
	}
}

// linesHeaders are those of a history: it is the caller's alone, and no proxy may hold it up.
func linesHeaders() lines {
	return lines{
		{"Content-Type", []string{"application/x-ndjson"}},
		{"Cache-Control", []string{"private, no-cache"}},
		{"Vary", []string{"Accept-Encoding"}},
		{"X-Accel-Buffering", []string{"no"}},
	}
}
