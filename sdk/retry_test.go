package sdk_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

// roundTrip is a transport without a network, so that the clock of synctest can run.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// step is one answer of a script: an error of the connection, or a status with a reason.
type step struct {
	err        error
	status     int
	reason     api.Reason
	retryAfter string
}

// answer makes the step's answer.
func (s step) answer() (*http.Response, error) {
	if s.err != nil {
		return nil, s.err
	}
	body := `{"brief":"done"}`
	if s.reason != "" {
		body = `{"error":{"code":"X","reason":"` + string(s.reason) + `","message":"m","requestId":"r"}}`
	}
	h := http.Header{}
	if s.retryAfter != "" {
		h.Set("Retry-After", s.retryAfter)
	}
	return &http.Response{StatusCode: s.status, Header: h, Body: io.NopCloser(strings.NewReader(body))}, nil
}

// play makes a client whose requests are answered by steps, the last of them for ever, and counts them.
func play(t *testing.T, sent *int, steps []step, opts ...sdk.Option) *sdk.Client {
	t.Helper()
	opts = append([]sdk.Option{sdk.WithoutEnv(), sdk.WithTimeout(0), sdk.WithHTTPClient(&http.Client{
		Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			if err := r.Context().Err(); err != nil {
				return nil, err
			}
			*sent++
			return steps[min(*sent, len(steps))-1].answer()
		})})}, opts...)
	c, err := sdk.New(opts...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestRetries(t *testing.T) {
	t.Parallel()
	ok := step{status: 200}
	reset := step{err: errors.New("connection reset")}
	busy := step{status: 503, reason: api.ReasonStateUnavailable, retryAfter: "5"}
	for name, c := range map[string]struct {
		steps     []step
		sent      int
		fails     bool
		from, til time.Duration // how long it may take
	}{
		"success":                {[]step{ok}, 1, false, 0, 0},
		"connection lost twice":  {[]step{reset, reset, ok}, 3, false, 2, 750 * time.Millisecond},
		"connection lost always": {[]step{reset}, 4, true, 3, 1750 * time.Millisecond},
		"heeds Retry-After":      {[]step{busy, busy, ok}, 3, false, 10 * time.Second, 10500 * time.Millisecond},
		"bad gateway":            {[]step{{status: 502}, ok}, 2, false, 1, 250 * time.Millisecond},
		"gateway timeout":        {[]step{{status: 504}, ok}, 2, false, 1, 250 * time.Millisecond},
		"rate limited":           {[]step{{status: 429, reason: api.ReasonRateLimited}, ok}, 2, false, 1, 250 * time.Millisecond},
		"quota for hours":        {[]step{{status: 429, reason: api.ReasonQuotaExhausted, retryAfter: "31"}, ok}, 1, true, 0, 0},
		"quota for seconds":      {[]step{{status: 429, reason: api.ReasonQuotaExhausted, retryAfter: "3"}, ok}, 2, false, 3 * time.Second, 3250 * time.Millisecond},
		"quota, no end told":     {[]step{{status: 429, reason: api.ReasonQuotaExhausted}, ok}, 1, true, 0, 0},
		"bug of the server":      {[]step{{status: 500, reason: api.ReasonInternal}, ok}, 1, true, 0, 0},
		"caller's fault":         {[]step{{status: 400, reason: api.ReasonInvalidQ}, ok}, 1, true, 0, 0},
		"to be paid":             {[]step{{status: 402, reason: api.ReasonPaymentRequired}, ok}, 1, true, 0, 0},
		"certificate":            {[]step{{err: &tls.CertificateVerificationError{Err: errors.New("expired")}}, ok}, 1, true, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var sent int
				var meta sdk.Response
				began := time.Now()
				var told []sdk.Progress
				_, err := play(t, &sent, c.steps).Brief(t.Context(), "", sdk.WithResponse(&meta),
					sdk.WithProgress(func(p sdk.Progress) { told = append(told, p) }))
				for i, p := range told {
					if i < sent && (p.Attempt != i+1 || p.Done || (p.Err != nil) != (i > 0)) || i == sent && !p.Done || i > sent {
						t.Errorf("of %d attempts it tells %+v", sent, told)
						break
					}
				}
				if len(told) != sent+1 {
					t.Errorf("of %d attempts it tells %d times", sent, len(told))
				}
				if took := time.Since(began); sent != c.sent || (err != nil) != c.fails || took < c.from || took > c.til {
					t.Errorf("%d requests in %s, error %v", sent, took, err)
				}
				var lost *sdk.TransportError
				if attempts := meta.Attempts; errors.As(err, &lost) {
					if lost.Attempts != sent {
						t.Errorf("the error says %d attempts of %d", lost.Attempts, sent)
					}
				} else if attempts != sent {
					t.Errorf("the answer says %d attempts of %d", attempts, sent)
				}
			})
		})
	}
}

// TestWhatIsRepeated checks that a call that could act twice is sent once.
func TestWhatIsRepeated(t *testing.T) {
	t.Parallel()
	for call, want := range map[string]int{
		"GET /v1/fresh": 3, "HEAD /healthz": 3, "POST /v1/cite": 3, "POST /api/keys": 1, "DELETE /api/keys/x": 1, "PUT /x": 1, "POST /v1/citex": 1,
	} {
		synctest.Test(t, func(t *testing.T) {
			var sent int
			method, path, _ := strings.Cut(call, " ")
			play(t, &sent, []step{{status: 503}}, sdk.WithRetries(2)).Do(t.Context(), sdk.Request{Method: method, Path: path})
			if sent != want {
				t.Errorf("%s was sent %d times, want %d", call, sent, want)
			}
		})
	}
}

// TestEndOfWait checks that a wait ends with the context, and says both why it ended and what failed before.
func TestEndOfWait(t *testing.T) {
	t.Parallel()
	busy := []step{{status: 503, reason: api.ReasonStateUnavailable, retryAfter: "20"}}
	for name, c := range map[string]struct {
		want error
		opts []sdk.Option
		ctx  func(context.Context) (context.Context, context.CancelFunc)
	}{
		"cancelled": {context.Canceled, nil, func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(7*time.Second, cancel)
			return ctx, cancel
		}},
		"deadline": {context.DeadlineExceeded, nil, func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, 7*time.Second)
		}},
		"client's timeout": {context.DeadlineExceeded, []sdk.Option{sdk.WithTimeout(7 * time.Second)}, context.WithCancel},
	} {
		synctest.Test(t, func(t *testing.T) {
			var sent int
			began := time.Now()
			ctx, cancel := c.ctx(t.Context())
			defer cancel()
			_, err := play(t, &sent, busy, c.opts...).Fresh(ctx, "")
			if !errors.Is(err, c.want) || !errors.Is(err, sdk.ErrStateUnavailable) || sent != 1 || time.Since(began) != 7*time.Second {
				t.Errorf("%s: %d requests in %s, %v", name, sent, time.Since(began), err)
			}
		})
	}
}

// TestTimeout checks that the client's timeout ends a request that hangs, and that it is told as such.
func TestTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hang := roundTrip(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		})
		c, err := sdk.New(sdk.WithoutEnv(), sdk.WithTimeout(3*time.Second), sdk.WithHTTPClient(&http.Client{Transport: hang}))
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		_, err = c.Fresh(t.Context(), "")
		var lost *sdk.TransportError
		if !errors.As(err, &lost) || !lost.Timeout() || time.Since(began) != 3*time.Second {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
	})
}
