package admin

import (
	"errors"
	"io"
	"net/http"
)

// inProcess lets a handler of this process answer requests.
type inProcess struct{ handler http.Handler }

// RoundTrip begins to answer req. What the handler writes is handed on as it is read.
func (p inProcess) RoundTrip(req *http.Request) (*http.Response, error) {
	body, w := io.Pipe()
	answer := &response{header: http.Header{}, body: w, began: make(chan int, 1)}
	go func() {
		cut := true
		defer func() {
			if cut {
				_ = recover() // http.ErrAbortHandler, as a server would take it; the handler logs any other
				_ = w.CloseWithError(errors.New("the answer was cut off"))
			}
			answer.WriteHeader(http.StatusOK)
		}()
		p.handler.ServeHTTP(answer, req)
		cut = false
		_ = w.Close() // never fails
	}()
	select {
	case status := <-answer.began:
		return &http.Response{StatusCode: status, Header: answer.header, Body: body, ContentLength: -1, Request: req}, nil
	case <-req.Context().Done():
		_ = body.Close() // what the handler still writes goes nowhere
		return nil, req.Context().Err()
	}
}

// response hands on what a handler writes.
type response struct {
	header http.Header
	body   *io.PipeWriter
	began  chan int // gets the status once
	sent   bool
}

func (r *response) Header() http.Header { return r.header }

func (r *response) WriteHeader(status int) {
	if !r.sent {
		r.sent = true
		r.began <- status
	}
}

func (r *response) Write(p []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	return r.body.Write(p)
}
