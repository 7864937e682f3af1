package llm

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
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

	maxWait = 2 * time.Minute // a server that wants to be left alone for longer is not asked again
)

var (
	errHuge    = errors.New("the answer has no end")
	errCut     = errors.New("the answer broke off")
	errRefused = errors.New("the model refused to write")
	errLength  = errors.New("the model came to the limit of its answer before the end of the brief; raise max_tokens")
)

// client posts requests to one address and reads the events of the answers. It follows no redirect, for the request has the key in
// it, and net/http takes some headers along to another host.
type client struct {
	transport http.RoundTripper
	now       func() time.Time
	url       string
	header    http.Header
	retries   int
}

// newClient makes the client of an endpoint below the base URL of cfg. The header is that of each request, the key in it.
func newClient(cfg Config, path string, header http.Header) client {
	header.Set("Accept", "application/json")
	header.Set("Content-Type", "application/json")
	header.Set("User-Agent", "contextd")
	return client{transport: cfg.Transport, now: cfg.Now, url: cfg.BaseURL + path, header: header, retries: cfg.Retries}
}

// stream makes one call and returns the text of the answer, in pieces that take finds in the data of the events. The answer
// ends where take returns io.EOF, or where the server ends it. With an error, the text is what came before it.
func (c *client) stream(ctx context.Context, body any, take func(data []byte) (piece string, err error)) (string, error) {
	res, err := c.post(ctx, body)
	if err != nil && ctx.Err() != nil {
		return "", broken(ctx, err)
	} else if err != nil {
		return "", err
	}
	defer res.Body.Close()
	var text strings.Builder
	for data, err := range events(&bounded{res.Body, maxAnswer}) {
		var piece string
		if err == nil {
			err = reported(data)
		}
		if err == nil {
			piece, err = take(data)
			text.WriteString(piece)
		}
		switch {
		case errors.Is(err, io.EOF):
			return text.String(), nil
		case err != nil:
			return text.String(), broken(ctx, err)
		case text.Len() > maxText:
			return text.String(), errHuge
		}
	}
	return text.String(), nil
}

// post returns the answer once the server begins one. What may pass is tried again, unless that would come too late.
func (c *client) post(ctx context.Context, body any) (*http.Response, error) {
	data, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("encode the request: %w", err)
	}
	for tried := 0; ; tried++ {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(data))
		if err != nil {
			return nil, err
		}
		req.Header = c.header.Clone()
		res, err := c.transport.RoundTrip(req)
		if err == nil && res.StatusCode < http.StatusMultipleChoices {
			return res, nil
		}
		wait, again := c.pause(ctx, res, tried)
		switch {
		case !again && err == nil:
			return nil, refusal(res)
		case !again:
			return nil, err
		case err == nil:
			res.Body.Close() // unread: it may hang
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(wait):
		}
	}
}

// pause is how long to wait after res, nil of a broken connection, and whether to try again then: half a second that doubles up to
// eight, less a part at random so that many clients do not come back at once, or what the server says.
func (c *client) pause(ctx context.Context, res *http.Response, tried int) (wait time.Duration, again bool) {
	wait = 500 * time.Millisecond << min(tried, 4)
	wait -= rand.N(wait / 4)
	again = res == nil || passes(res)
	if res != nil {
		if after, ok := c.retryAfter(res.Header); ok {
			wait = after
		}
	}
	deadline, ok := ctx.Deadline()
	late := wait > maxWait || ok && c.now().Add(wait).After(deadline)
	return wait, again && !late && tried < c.retries
}

// passes reports whether what keeps a server from answering may pass, by its own word where it gives one.
func passes(res *http.Response) bool {
	if word, err := strconv.ParseBool(res.Header.Get("X-Should-Retry")); err == nil {
		return word
	}
	switch res.StatusCode {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests:
		return true
	}
	return res.StatusCode >= http.StatusInternalServerError
}

// retryAfter is how long a server wants not to be asked again, if it says so.
func (c *client) retryAfter(header http.Header) (time.Duration, bool) {
	for _, h := range []struct {
		name string
		unit time.Duration
	}{{"Retry-After-Ms", time.Millisecond}, {"Retry-After", time.Second}} {
		if n, err := strconv.ParseFloat(header.Get(h.name), 64); err == nil && n >= 0 {
			return time.Duration(min(n, 1e9) * float64(h.unit)), true
		}
	}
	at, err := http.ParseTime(header.Get("Retry-After"))
	return at.Sub(c.now()), err == nil
}

// events are the data of the server-sent events of body. What no empty line ends is no event.
func events(body io.Reader) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		lines := bufio.NewScanner(body)
		lines.Buffer(nil, maxAnswer+1) // so that body says first that it is too long
		var data []byte
		for lines.Scan() {
			value, ok := bytes.CutPrefix(lines.Bytes(), []byte("data:"))
			switch {
			case ok:
				data = append(append(data, bytes.TrimPrefix(value, []byte(" "))...), '\n')
			case len(lines.Bytes()) > 0: // a comment, or what names or numbers the event
			case len(bytes.TrimSpace(data)) > 0 && !yield(data, nil):
				return
			default:
				data = data[:0]
			}
		}
		if err := lines.Err(); err != nil {
			yield(nil, err)
		}
	}
}

// bounded is a body that fails where it should have ended.
type bounded struct {
	io.Reader
	left int64
}

// Read reads.
func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errHuge
	}
	n, err := b.Reader.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

// complaint is what a server says of a failure, as far as it does.
type complaint struct{ kind, message string }

func (c complaint) String() string {
	text := ""
	if c.kind != "" {
		text += " (" + c.kind + ")"
	}
	if c.message != "" {
		text += ": " + c.message
	}
	return text
}

// complains reads a complaint, {"error":{"type":…,"message":…}} as a rule.
func complains(body []byte) complaint {
	c := complaint{message: string(bytes.TrimSpace(body))}
	var envelope struct {
		Error   json.RawMessage
		Message string
	}
	if json.Unmarshal(body, &envelope) != nil {
		return c
	}
	var inner struct{ Type, Message string }
	switch {
	case json.Unmarshal(envelope.Error, &inner) == nil:
		c.kind = inner.Type
		c.message = inner.Message
	case json.Unmarshal(envelope.Error, &c.message) == nil:
	default:
		c.message = cmp.Or(envelope.Message, c.message)
	}
	return c
}

// reported is the error that an event reports instead of going on, nil where it reports none.
func reported(event []byte) error {
	var envelope struct{ Error any }
	if json.Unmarshal(event, &envelope) != nil || envelope.Error == nil {
		return nil
	}
	return fmt.Errorf("the server reports an error%v", complains(event))
}

// statusError is a server's answer that is none.
type statusError struct {
	status    int
	complaint complaint
}

func (e *statusError) Error() string {
	return fmt.Sprintf("the server answers %d%v", e.status, e.complaint)
}

// refusal is the error of an answer that is none.
func refusal(res *http.Response) error {
	defer res.Body.Close()
	if res.StatusCode < http.StatusBadRequest {
		to := "elsewhere"
		if u, err := url.Parse(res.Header.Get("Location")); err == nil && u.Host != "" {
			to = u.Host
		}
		return &statusError{http.StatusMisdirectedRequest, complaint{message: "it redirects to " + to + ", which is not followed"}}
	}
	body, _ := io.ReadAll(io.LimitReader(res.Body, maxError)) // what there is of it
	return &statusError{res.StatusCode, complains(body)}
}

// refuses reports whether err is a server's refusal of a request because of the parameter with the given name.
func refuses(err error, name string) bool {
	var e *statusError
	return errors.As(err, &e) && strings.Contains(e.complaint.message, name) &&
		(e.status == http.StatusBadRequest || e.status == http.StatusUnprocessableEntity)
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
	return errors.As(err, &e) &&
		(e.status < http.StatusInternalServerError || e.status == http.StatusServiceUnavailable || e.status == statusOverloaded)
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
