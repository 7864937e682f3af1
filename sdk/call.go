package sdk

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk/api"
)

const maxAnswerBytes = 8 << 20

// CallOption is an option of one call.
type CallOption func(*call)

type call struct {
	requestID string
	response  *Response
	query     url.Values // added to that of the request
	progress  func(Progress)
}

// Progress is the stage of a call.
type Progress struct {
	Attempt int   // the one that is next, from 1 on
	Err     error // why there is another, nil at the first
	Done    bool  // the call has ended
}

// WithProgress calls f when the call begins, when it waits after a failed attempt, and when it ends.
func WithProgress(f func(Progress)) CallOption {
	return func(c *call) { c.progress = f }
}

// WithMembers limits the state in Fresh to the named members, in the order of the state. Citations and brief stay complete.
func WithMembers(names ...string) CallOption {
	return with("members", strings.Join(names, ","))
}

// WithClaims adds the sources of each figure of the brief to Fresh and Brief.
func WithClaims() CallOption { return with("claims", "true") }

// with adds a parameter to the query of a call.
func with(name, value string) CallOption {
	return func(c *call) {
		if c.query == nil {
			c.query = url.Values{}
		}
		c.query.Set(name, value)
	}
}

// WithRequestID sends id, a UUID, as the request id, which the service returns and logs. The service ignores an id that is not a UUID.
func WithRequestID(id string) CallOption {
	return func(c *call) { c.requestID = id }
}

// WithResponse fills r with the HTTP side of the last answer of the call, also when the call fails. Without an answer r stays zero. Do not
// share r between concurrent calls.
func WithResponse(r *Response) CallOption {
	return func(c *call) { c.response = r }
}

// Response is the HTTP side of an answer.
type Response struct {
	Status    int
	Header    http.Header
	RequestID string // X-Request-Id; empty if the answer is not the service's
	DataMode  string // X-Data-Mode; api.DataModeDemo means recorded, synthetic data
	Body      []byte // as received
	Attempts  int    // requests sent for it, 1 or more

	Replayed bool          // it was given before, for the same payment; the ages in it are of now, but for a snapshot's
	Age      time.Duration // since it was first given; 0 unless Replayed
}

// Demo reports whether the answer was made from recorded, synthetic data.
func (r *Response) Demo() bool { return r.DataMode == api.DataModeDemo }

// Request is a call without a method of Client.
type Request struct {
	Method string     // empty means GET
	Path   string     // from the base URL, with a slash first; it may carry a query
	Query  url.Values // added to that of Path
	Body   []byte     // JSON; nil means none

	session Key    // what the session cookie holds, zero for none
	proof   string // of payment, "" for none
}

// Do makes a raw call and returns its answer, which is nil if none came. Every answer other than a 2xx comes with an *api.Error. Only GET,
// HEAD and POST of cite are retried.
func (c *Client) Do(ctx context.Context, r Request, opts ...CallOption) (*Response, error) {
	var o call
	for _, opt := range opts {
		opt(&o)
	}
	if r.Method == "" {
		r.Method = http.MethodGet
	}
	target, err := c.target(r, o.query)
	if err != nil {
		return nil, err
	}
	if c.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.timeout)
		defer cancel()
	}
	send := func() (*Response, error) {
		resp, err := c.send(ctx, r, target, o)
		var paid *PaidError
		if errors.As(err, &paid) && paid.Payment.Scheme != api.SchemeExact { // what was paid is sent with every further attempt
			r.proof = base64.StdEncoding.EncodeToString(paid.Payment.Payload)
		}
		return resp, err
	}
	resp, err := c.persist(ctx, repeatable(r.Method, target.Path), o.progress, send)
	if resp != nil && o.response != nil {
		*o.response = *resp
	}
	if err == nil {
		err = c.checked(ctx, target, resp)
	}
	return resp, err
}

// target is the URL of r with more in its query. A path with a host in it is refused: the key would go there.
func (c *Client) target(r Request, more url.Values) (*url.URL, error) {
	if !strings.HasPrefix(r.Path, "/") || strings.HasPrefix(r.Path, "//") {
		return nil, fmt.Errorf("call: path %q does not begin with one slash", human.Short(r.Path, 80))
	}
	ref, err := url.Parse(r.Path)
	if err != nil {
		return nil, fmt.Errorf("call: path cannot be parsed: %w", err)
	}
	u := c.base
	u.Path = u.Path + ref.Path
	u.RawPath = ""
	if ref.RawPath != "" {
		u.RawPath = c.base.EscapedPath() + ref.RawPath
	}
	query := ref.Query()
	for _, part := range []url.Values{r.Query, more} {
		for name, values := range part {
			query[name] = append(query[name], values...)
		}
	}
	u.RawQuery = query.Encode()
	return &u, nil
}

// send makes one attempt, paid for if need be. The error is an *api.Error or a *TransportError, within a *PaidError after a payment, or why
// the Payer did not pay.
func (c *Client) send(ctx context.Context, r Request, target *url.URL, o call) (*Response, error) {
	req, err := c.request(ctx, r, target, o)
	if err != nil {
		return nil, err
	}
	sender := c.http
	if c.payer != nil {
		sender.Transport = &PayTransport{Payer: c.payer, Service: c.BaseURL(), Base: c.http.Transport,
			Schemes: []Scheme{Transfer{}, Exact{}}, Answered: func(_ *http.Request, body []byte) error {
				if !json.Valid(body) {
					return errors.New("the answer is not JSON")
				}
				return nil
			}}
		if sender.Timeout > 0 { // as a deadline, which leaves errors as they are: a *PaidError must not get lost
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, sender.Timeout)
			defer cancel()
			sender.Timeout, req = 0, req.WithContext(ctx)
		}
	}
	answer, err := sender.Do(req)
	if err != nil {
		return unsent(req, err)
	}
	text, err := readAnswer(req, answer)
	if err != nil {
		return nil, err
	}
	resp := newResponse(answer, text)
	if answer.StatusCode/100 != 2 {
		return resp, decodeError(answer, text)
	}
	return resp, nil
}

func (c *Client) request(ctx context.Context, r Request, target *url.URL, o call) (*http.Request, error) {
	var body io.Reader
	if r.Body != nil {
		body = bytes.NewReader(r.Body)
	}
	req, err := http.NewRequestWithContext(ctx, r.Method, target.String(), body)
	if err != nil {
		return nil, fmt.Errorf("call: %w", err)
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", c.userAgent)
	if r.Body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if !c.key.IsZero() {
		req.Header.Set("Authorization", "Bearer "+c.key.Secret())
	}
	if r.proof != "" {
		req.Header.Set(api.HeaderPayment, r.proof)
	}
	if !r.session.IsZero() {
		for _, name := range [...]string{api.SecureSessionCookie, api.SessionCookie} { // a proxy may stand between the two
			req.AddCookie(&http.Cookie{Name: name, Value: r.session.Secret()})
		}
	}
	if o.requestID != "" {
		req.Header.Set(api.HeaderRequestID, o.requestID)
	}
	return req, nil
}

// unsent is what became of a request that has no answer, or none that was paid for.
func unsent(req *http.Request, err error) (*Response, error) {
	var paid *PaidError
	var unpaid *unpaidError
	var foreign *api.Error
	switch {
	case errors.As(err, &paid):
		return paid.answer, paid
	case errors.As(err, &unpaid):
		return unpaid.answer, unpaid
	case errors.As(err, &foreign):
		return nil, foreign
	}
	return nil, transportError(req, 1, err)
}

func newResponse(answer *http.Response, body []byte) *Response {
	r := &Response{Status: answer.StatusCode, Header: answer.Header, Body: body, Attempts: 1,
		RequestID: answer.Header.Get(api.HeaderRequestID), DataMode: answer.Header.Get(api.HeaderDataMode),
		Replayed: answer.Header.Get(api.HeaderReplayed) == "true"}
	if seconds, err := strconv.ParseUint(answer.Header.Get(api.HeaderAge), 10, 31); err == nil && r.Replayed { // a cache may say Age too
		r.Age = time.Duration(seconds) * time.Second
	}
	return r
}

// readAnswer reads the body of an answer to req within bounds, and leaves it to be read again.
func readAnswer(req *http.Request, answer *http.Response) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswerBytes+1))
	_ = answer.Body.Close() // there is nothing to write
	if err != nil {
		return nil, transportError(req, 1, fmt.Errorf("read answer: %w", err))
	}
	if len(text) > maxAnswerBytes {
		return nil, notJSON(answer, text[:64], fmt.Errorf("longer than %d MiB", maxAnswerBytes>>20))
	}
	answer.Body = io.NopCloser(bytes.NewReader(text))
	return text, nil
}

func decodeAs[T any](resp *Response) (*T, error) {
	out := new(T)
	if err := json.Unmarshal(resp.Body, out); err != nil {
		return nil, notJSON(&http.Response{StatusCode: resp.Status, Header: resp.Header}, resp.Body, err)
	}
	return out, nil
}
