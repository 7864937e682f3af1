package web_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/daemon/gate"
	"github.com/contextd/contextd/daemon/web"
	"github.com/contextd/contextd/sdk/api"
)

// TestPlaces looks at both sides of every bound on streams.
func TestPlaces(t *testing.T) {
	t.Parallel()
	caller := func(owner, key string) gate.Caller {
		return gate.Caller{Call: billing.Call{OwnerID: owner, KeyID: key}}
	}
	for name, c := range map[string]struct {
		fits    int
		credits bool
		next    func(n int) gate.Caller
		why     string
	}{
		"a free key":                {api.StreamsPerFreeKey, false, func(int) gate.Caller { return caller("o", "k") }, "key k has 10 streams open"},
		"a key with credits":        {api.StreamsPerKey, true, func(int) gate.Caller { return caller("o", "k") }, "key k has 100 streams open"},
		"a key of the operator":     {api.StreamsPerFreeKey, false, func(int) gate.Caller { return caller(account.OperatorID, "k") }, "key k has 10 streams open"},
		"a free owner":              {api.StreamsPerFreeOwner, false, func(n int) gate.Caller { return caller("o", fmt.Sprint(n)) }, "this owner have 20 streams open"},
		"an owner with credits":     {api.StreamsPerOwner, true, func(n int) gate.Caller { return caller("o", fmt.Sprint(n)) }, "this owner have 1000 streams open"},
		"the operator's keys":       {api.Streams - api.StreamsWithCredits, false, func(n int) gate.Caller { return caller(account.OperatorID, fmt.Sprint(n)) }, "9000 streams are open"},
		"everybody without credits": {api.Streams - api.StreamsWithCredits, false, func(n int) gate.Caller { return caller(fmt.Sprint(n), fmt.Sprint(n)) }, "9000 streams are open"},
		"everybody":                 {api.Streams, true, func(n int) gate.Caller { return caller(fmt.Sprint(n), fmt.Sprint(n)) }, "10000 streams are open"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var places web.Places
			var leave func()
			for n := range c.fits {
				var err error
				if leave, err = places.Take(c.next(n), c.credits); err != nil {
					t.Fatalf("stream %d: %v", n+1, err)
				}
			}
			var e *api.Error
			if _, err := places.Take(c.next(c.fits), c.credits); !errors.As(err, &e) || e.Code != api.CodeRateLimited || e.Status != http.StatusTooManyRequests ||
				e.RetryAfter <= 0 || !strings.Contains(e.Message, c.why) || strings.Contains(e.Hint, "credits") == c.credits {
				t.Fatalf("one more: %+v", err)
			}
			if leaveToo, err := places.Take(caller("rich", "rich"), true); (err == nil) != (c.fits < api.Streams) {
				t.Errorf("somebody else with credits: %v", err)
			} else if err == nil {
				leaveToo()
			}
			leave()
			leave() // counts once
			for n, fits := range []bool{true, false} {
				if _, err := places.Take(c.next(c.fits-1+n), c.credits); (err == nil) != fits {
					t.Errorf("after one has left, stream %d: %v", n+1, err)
				}
			}
		})
	}
}

// TestStreamsOfAKey opens as many streams as a free key may have: one more is refused and costs nothing, credits allow it, and one that is
// left makes place.
func TestStreamsOfAKey(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t)
	key := d.Key(t, api.TierFree)
	open := func() (res *http.Response) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, d.URL()+"/v1/subscribe?token="+key, nil)
		if err != nil {
			t.Fatal(err)
		}
		if res, err = (&http.Transport{DisableKeepAlives: true}).RoundTrip(req); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = res.Body.Close() })
		return res
	}
	var last *http.Response
	for n := range api.StreamsPerFreeKey {
		if last = open(); last.StatusCode != http.StatusOK {
			t.Fatalf("stream %d answers %d", n+1, last.StatusCode)
		}
	}
	before := callsMade(t, d)
	res := open()
	if res.StatusCode == http.StatusOK { // and would never end
		t.Fatalf("stream %d is open", api.StreamsPerFreeKey+1)
	}
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	e := refusal(t, answer{res.StatusCode, res.Header, text}, http.MethodGet).Error
	if res.StatusCode != http.StatusTooManyRequests || e.Code != api.CodeRateLimited || e.Reason != api.ReasonRateLimited ||
		res.Header.Get("Retry-After") != "30" || !strings.Contains(e.Hint, "credits") {
		t.Errorf("one more stream: %d %+v, Retry-After %q", res.StatusCode, e, res.Header.Get("Retry-After"))
	}
	if after := callsMade(t, d); after != before {
		t.Errorf("the refused stream cost %d calls", after-before)
	}
	_ = last.Body.Close()
	for begin := time.Now(); ; {
		if res := open(); res.StatusCode == http.StatusOK {
			break
		}
		if time.Since(begin) > 2*time.Minute {
			t.Fatal("a stream that was left keeps its place")
		}
		time.Sleep(10 * time.Millisecond)
	}
	d.Grant(t, key, 5)
	if res := open(); res.StatusCode != http.StatusOK {
		t.Errorf("with credits, stream %d answers %d", api.StreamsPerFreeKey+1, res.StatusCode)
	}
}

// callsMade counts the calls of the operator's keys.
func callsMade(t *testing.T, d *daemontest.Daemon) (calls int64) {
	t.Helper()
	usage, err := d.Credits().Usage(t.Context(), account.OperatorID, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range usage.Days {
		calls += row.Calls
	}
	return calls
}

// TestPlaceWithoutConnection: who is refused as all connections that streams may have are taken has taken no place.
func TestPlaceWithoutConnection(t *testing.T) {
	t.Parallel()
	var seats web.Seats
	caller := gate.Caller{Call: billing.Call{KeyID: "k", OwnerID: "o"}}
	for range api.StreamsPerFreeKey + 1 {
		if _, err := seats.Take(t.Context(), caller, true); err == nil || !strings.Contains(err.Error(), "which is the service's limit") {
			t.Fatalf("all are taken: %v", err)
		}
	}
	leave, err := seats.Take(t.Context(), caller, false)
	if err != nil {
		t.Fatalf("when one is free: %v", err)
	}
	leave()
}
