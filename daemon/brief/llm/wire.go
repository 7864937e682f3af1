package llm

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	maxAnswer = 8 << 20  // bytes of a whole answer: each token comes in an event of some hundred
	maxError  = 16 << 10 // bytes of an error that are read
	maxText   = 64 << 10 // bytes of a text; a brief has a few thousand
)

var (
	errHuge    = errors.New("the answer has no end")
	errCut     = errors.New("the answer broke off")
	errRefused = errors.New("the model refused to write")
	errLength  = errors.New("the model came to the limit of its answer before the end of the brief; raise max_tokens")
)

// doer sends one request as both libraries want it: no redirect is followed, for the request has the key in it, no response is read
// without end, and no retry is waited for that would come too late.
type doer struct {
	transport http.RoundTripper
	now       func() time.Time
}

// Do sends req.
func (d doer) Do(req *http.Request) (*http.Response, error) {
	res, err := d.transport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode >= http.StatusBadRequest {
		res.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(res.Body, maxError), res.Body}
	} else {
		res.Body = &bounded{ReadCloser: res.Body, left: maxAnswer}
	}
	if res.StatusCode >= 300 && res.StatusCode < 400 {
		_ = res.Body.Close()
		to := "elsewhere"
		if u, err := url.Parse(res.Header.Get("Location")); err == nil && u.Host != "" {
			to = u.Host
		}
		res.StatusCode, res.Body = http.StatusMisdirectedRequest, io.NopCloser(strings.NewReader("it redirects to "+to+", which is not followed"))
	}
	if deadline, ok := req.Context().Deadline(); ok && d.now().Add(d.retryAfter(res)).After(deadline) {
		res.Header.Set("X-Should-Retry", "false") // the libraries heed it
	}
	return res, nil
}

// retryAfter is how long a server wants not to be asked again.
func (d doer) retryAfter(res *http.Response) time.Duration {
	text := res.Header.Get("Retry-After")
	if seconds, err := strconv.ParseFloat(text, 64); err == nil {
		return time.Duration(min(seconds, 1e9) * float64(time.Second))
	}
	if at, err := http.ParseTime(text); err == nil {
		return at.Sub(d.now())
	}
	return 0
}

// bounded is a body that fails where it should have ended.
type bounded struct {
	io.ReadCloser
	left int64
}

// Read reads.
func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errHuge
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

// statusError is a server's answer that is none.
type statusError struct {
	status        int
	kind, message string // as far as the server told
}

func (e *statusError) Error() string {
	text := fmt.Sprintf("the server answers %d", e.status)
	if e.kind != "" {
		text += " (" + e.kind + ")"
	}
	if e.message != "" {
		text += ": " + e.message
	}
	return text
}

// begun is the error that a call failed with before anything was streamed: what the server said in res, or err.
func begun(res *http.Response, err error) error {
	if res == nil || res.StatusCode < http.StatusBadRequest {
		return err
	}
	e := &statusError{status: res.StatusCode}
	body, _ := io.ReadAll(res.Body) // what there is of it
	var envelope struct {
		Error   json.RawMessage
		Message string
	}
	e.message = string(bytes.TrimSpace(body))
	if json.Unmarshal(body, &envelope) != nil {
		return e
	}
	var inner struct{ Type, Message string }
	switch {
	case json.Unmarshal(envelope.Error, &inner) == nil:
		e.kind, e.message = inner.Type, inner.Message
	case json.Unmarshal(envelope.Error, &e.message) == nil:
	default:
		e.message = cmp.Or(envelope.Message, e.message)
	}
	return e
}

// refuses reports whether err is a server's refusal of a request because of the parameter with the given name.
func refuses(err error, name string) bool {
	var e *statusError
	return errors.As(err, &e) && (e.status == http.StatusBadRequest || e.status == http.StatusUnprocessableEntity) && strings.Contains(e.message, name)
}

// statusOverloaded is what Anthropic answers when it takes no more requests.
const statusOverloaded = 529

// free reports whether a call that failed with err should have cost nothing: no server was reached, or it refused to begin. One that failed
// otherwise, such as a gateway that stopped waiting for the model, may have let it write.
func free(err error) bool {
	var dial *net.OpError
	if errors.As(err, &dial) && dial.Op == "dial" {
		return true
	}
	var e *statusError
	return errors.As(err, &e) && (e.status < http.StatusInternalServerError || e.status == http.StatusServiceUnavailable || e.status == statusOverloaded)
}

// started is the error of a call that failed with err before its stream began.
func started(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return broken(ctx, err)
	}
	return err
}

// broken is the error of a stream that failed with err, which is nil if it ended too early.
func broken(ctx context.Context, err error) error {
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("the model was too slow: %w", ctx.Err())
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, errHuge):
		return errHuge
	case err == nil || errors.Is(err, io.ErrUnexpectedEOF):
		return errCut
	}
	return fmt.Errorf("%w: %w", errCut, err)
}
