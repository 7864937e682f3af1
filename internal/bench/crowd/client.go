package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"golang.org/x/time/rate"

	"github.com/contextd/contextd/sdk"
)

// host is the address of the nth client of a group, 127.GROUP.….
func host(group byte, n int) net.IP { return net.IPv4(127, group, byte(n/250), byte(n%250+1)) }

// paced sends requests at a pace; without one, at once.
type paced struct {
	pace *rate.Limiter
	next *http.Transport
}

// RoundTrip sends r when it is its turn.
func (p paced) RoundTrip(r *http.Request) (*http.Response, error) {
	if p.pace != nil {
		if err := p.pace.Wait(r.Context()); err != nil {
			<-r.Context().Done() // it may be known before that the turn comes too late
			return nil, err
		}
	}
	return p.next.RoundTrip(r)
}

// newHTTP makes an HTTP client with a loopback address of its own.
func newHTTP(from net.IP, pace *rate.Limiter) *http.Client {
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: from}, Timeout: 10 * time.Second}
	transport := &http.Transport{DialContext: dialer.DialContext, MaxIdleConnsPerHost: 4}
	return &http.Client{Transport: paced{pace, transport}, Timeout: time.Minute}
}

// newClient makes a client of the demo.
func newClient(d demo, h *http.Client, options ...sdk.Option) (*sdk.Client, error) {
	all := []sdk.Option{sdk.WithoutEnv(), sdk.WithBaseURL(d.BaseURL), sdk.WithRetries(0), sdk.WithHTTPClient(h)}
	return sdk.New(append(all, options...)...)
}

// ask sends a request and reads its answer, of which anything but a 2xx is a failure.
func ask(ctx context.Context, h *http.Client, method, address string, body []byte, headers ...string) error {
	r, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return err
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	res, err := h.Do(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		return err
	}
	if res.StatusCode >= 300 {
		return fmt.Errorf("status %d", res.StatusCode)
	}
	return nil
}

// every acts again and again until ctx is done, at least once, the next time no sooner than a pause after the last. What was begun is
// brought to its end.
func every(ctx context.Context, c *counts, name string, pause time.Duration, act func(context.Context) error) {
	for done := false; !done; done = ctx.Err() != nil {
		began := time.Now()
		whole, stop := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		c.add(name, began, act(whole))
		stop()
		select {
		case <-ctx.Done():
		case <-time.After(pause - time.Since(began)):
		}
	}
}
