package web_test

import (
	"bytes"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/sdk/api"
)

// ageless is the JSON of an answer without what is counted on in one that is given again.
func ageless(body []byte) []byte {
	return regexp.MustCompile(`"(ageSeconds|dataAgeSeconds)":\d+`).ReplaceAll(body, []byte(`"$1":0`))
}

// TestPaidAtTheEdge pays for a snapshot that its window leaves behind: what was quoted is owed when it is presented later, and is given
// again for as long as answers are kept. It is not quoted any more.
func TestPaidAtTheEdge(t *testing.T) {
	t.Parallel()
	const ago = 24*time.Hour - 2*time.Minute
	m := newMarket(t, ago)
	first := time.Now().Add(-ago).Truncate(time.Minute).Add(time.Minute) // a whole minute with a state, just within the window
	m.back.Store(0)
	path := "/v1/snapshot?at=" + minute(first)
	p, unpaid := m.pay(m.quote(path)), m.quote(path)
	m.back.Store(int64(-4 * time.Minute))
	if a := get(t, m.d.URL()+path); a.Status != http.StatusNotFound {
		t.Errorf("outside the window it is quoted: %d %s", a.Status, a.Body)
	}
	sold := m.paid(path, p, false)
	for _, after := range []time.Duration{4*time.Minute + 10*time.Second, 20 * time.Hour, 23*time.Hour + 59*time.Minute} {
		m.back.Store(-int64(after))
		again := m.paid(path, p, true)
		if !bytes.Equal(again.Body, sold.Body) {
			t.Errorf("after %s the snapshot is another", after)
		}
		checkAge(t, again, after-4*time.Minute)
	}
	m.back.Store(int64(-4 * time.Minute))
	if late := m.pay(unpaid); get(t, m.d.URL()+path, proving(late)).Status != http.StatusOK {
		t.Error("a payment in the time of its quote is not answered")
	}
}

// checkAge checks the header of an answer that was first given so long ago, or a bit longer.
func checkAge(t *testing.T, a answer, ago time.Duration) {
	t.Helper()
	age, err := strconv.Atoi(a.Header.Get("Age"))
	if d := time.Duration(age)*time.Second - ago; err != nil || d < -time.Second || d > 2*time.Minute {
		t.Errorf("Age is %q, want that of %s", a.Header.Get("Age"), ago)
	}
}

// TestReplayedAge has the age in an answer that is given again counted on, and nothing else of it changed.
func TestReplayedAge(t *testing.T) {
	t.Parallel()
	m := newMarket(t)
	for _, path := range []string{"/v1/fresh", "/v1/brief", "/v1/search?q=bitcoin", "/v1/cite?ref=1", "/v1/lookup?q=ada"} {
		m.back.Store(0)
		p := m.pay(m.quote(path))
		sold := m.paid(path, p, false)
		if sold.Header.Get("Age") != "" {
			t.Errorf("%s: a new answer has Age %s", path, sold.Header.Get("Age"))
		}
		m.back.Store(int64(-20 * time.Hour))
		again := m.paid(path, p, true)
		checkAge(t, again, 20*time.Hour)
		age := func(a answer) int64 { return decode[struct{ Freshness api.Freshness }](t, a).Freshness.AgeSeconds }
		if grown := age(again) - age(sold); grown < 20*3600 || grown > 20*3600+30 {
			t.Errorf("%s: after 20 hours it says %d seconds more", path, grown)
		}
		if bytes.Equal(again.Body, sold.Body) || !bytes.Equal(ageless(again.Body), ageless(sold.Body)) {
			t.Errorf("%s: more than its age has changed", path)
		}
	}
}

// TestDefaultsWrittenOut: a query that says what counts anyhow is the same request to a payment.
func TestDefaultsWrittenOut(t *testing.T) {
	t.Parallel()
	m := newMarket(t)
	for short, long := range map[string]string{
		"/v1/fresh": "/v1/fresh?pack=crypto", "/v1/search?q=bitcoin": "/v1/search?k=10&pack=crypto&q=bitcoin", "/v1/cite?ref=1": "/v1/cite?pack=crypto&ref=1",
		"/v1/lookup?q=ada,btc": "/v1/lookup?kind=&limit=3&pack=crypto&q=+ada+,btc,",
	} {
		p := m.pay(m.quote(short))
		m.paid(long, p, false)
		m.paid(short, p, true)
		m.paid(short, m.pay(m.quote(long)), false)
	}
	m.refused("/v1/search?q=bitcoin&k=9", m.pay(m.quote("/v1/search?q=bitcoin")), api.ReasonNonceMismatch)
}

// TestHeadCostsNothing: who asks what an answer is like is told so for free, but not without end, from however many networks of a site.
func TestHeadCostsNothing(t *testing.T) {
	t.Parallel()
	m := newMarket(t)
	head := func(path string, c ...change) answer { return call(t, http.MethodHead, m.d.URL()+path, c...) }
	p := m.pay(m.quote("/v1/fresh"))
	if a := head("/v1/fresh", proving(p)); a.Status != http.StatusOK {
		t.Errorf("HEAD with a proof: %d", a.Status)
	}
	m.paid("/v1/fresh", p, false)
	key := m.d.Key(t, api.TierPro)
	m.d.Grant(t, key, 1)
	for _, path := range []string{"/v1/fresh", "/v1/brief", "/v1/search?q=a", "/v1/cite?ref=1"} {
		if a := head(path, bearer(key)); a.Status != http.StatusOK || a.Header.Get("Content-Length") == "" {
			t.Errorf("HEAD %s: %d %v", path, a.Status, a.Header)
		}
	}
	if have, err := m.d.Credits().Balance(t.Context(), account.OperatorID, key[:api.KeyIDLength]); err != nil || have.Balance != 1 {
		t.Errorf("after HEAD %d credits are left, %v", have.Balance, err)
	}
	d := daemontest.Start(t, behindProxy)
	free := d.Key(t, api.TierFree)
	answered := 0
	for i := range 70 { // from one site
		from := with("X-Forwarded-For", fmt.Sprintf("2001:db8:1:%x::1", i))
		if a := call(t, http.MethodHead, d.URL()+"/v1/snapshot?at=2001-01-01T00:00", bearer(free), from); a.Status == http.StatusTooManyRequests {
			break
		}
		answered++
	}
	if answered != 60 {
		t.Errorf("%d answers were described before one had to wait", answered)
	}
}
