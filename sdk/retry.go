package sdk

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"github.com/contextd/contextd/sdk/api"
)

// Waits between attempts. The wait before the n-th repetition is random up to firstWait doubled n-1 times, so that clients that
// failed together do not come back together.
const (
	firstWait     = 250 * time.Millisecond
	longestWait   = 8 * time.Second
	longestHeeded = 30 * time.Second // a Retry-After beyond this, as that of a used-up quota, is for the caller to wait for
)

// repeatable reports whether a request may be sent twice: it changes nothing, or, for cite, nothing more the second time.
func repeatable(method, path string) bool {
	return method == http.MethodGet || method == http.MethodHead || method == http.MethodPost && strings.HasSuffix(path, api.PathCite)
}

// persist calls send until it succeeds, fails for good, or the retries or ctx end. It returns the last answer and error.
func (c *Client) persist(
	ctx context.Context, repeatable bool, tell func(Progress), send func() (*Response, error),
) (resp *Response, err error) {
	if tell == nil {
		tell = func(Progress) {}
	}
	tell(Progress{Attempt: 1})
	defer tell(Progress{Done: true})
	for attempt := 1; ; attempt++ {
		resp, err = send()
		if resp != nil {
			resp.Attempts = attempt
		}
		var lost *TransportError
		if errors.As(err, &lost) {
			lost.Attempts = attempt
		}
		if err == nil || !repeatable || attempt > c.retries || ctx.Err() != nil {
			return resp, err
		}
		wait, ok := waitBefore(attempt, err)
		if !ok {
			return resp, err
		}
		tell(Progress{Attempt: attempt + 1, Err: err})
		if errWait := sleep(ctx, wait); errWait != nil {
			return resp, fmt.Errorf("wait to try again: %w (after %w)", errWait, err)
		}
	}
}

// waitBefore is how long to wait before the n-th repetition of a request that failed with err; ok is false if it is not worth it.
func waitBefore(n int, err error) (wait time.Duration, ok bool) {
	jitter := rand.N(min(firstWait<<min(n-1, 16), longestWait)) + 1
	var e *api.Error
	if errors.As(err, &e) {
		if !passing(e) || e.RetryAfter > longestHeeded {
			return 0, false
		}
		if e.RetryAfter > 0 {
			return e.RetryAfter + min(jitter, firstWait), true
		}
		return jitter, true
	}
	var lost *TransportError
	var distrust *tls.CertificateVerificationError
	return jitter, errors.As(err, &lost) && !errors.As(err, &distrust)
}

// passing reports whether e may be gone in seconds. A used-up quota is so only if the answer says when.
func passing(e *api.Error) bool {
	switch e.Status {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	case http.StatusTooManyRequests:
		return e.Reason != api.ReasonQuotaExhausted || e.RetryAfter > 0
	}
	return false
}

// sleep waits for d, or returns why ctx ended before that.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
