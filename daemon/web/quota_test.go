package web_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/daemon/web"
	"github.com/contextd/contextd/sdk/api"
)

// left is what an answer says that is left: credits, free calls and the seconds until there is one more, "" where it does not say.
func left(a answer) string {
	return fmt.Sprintf("%d credits %q free %q reset %q", a.Status, a.Header.Get(api.HeaderCreditsLeft), a.Header.Get(api.HeaderFreeLeft),
		a.Header.Get(api.HeaderFreeReset))
}

// TestFreeCallsAreTheOwners: keys that were revoked and made again have no window of their own, and answers say what is left.
func TestFreeCallsAreTheOwners(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t, free, func(c *daemon.Config) { c.Limits.FreeCalls = 4 })
	ada, eve := newUser(t, d), newUser(t, d)
	owner := ada.signIn("ada@example.org").UserID
	eve.signIn("eve@example.org")
	check := func(u *user, key, want string) {
		t.Helper()
		if got := left(u.fresh(key)); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	first, second := ada.issue("first"), ada.issue("second")
	check(ada, first.Key, `200 credits "" free "3" reset "86400"`)
	d.Clock.Advance(time.Hour)
	check(ada, second.Key, `200 credits "" free "2" reset "82800"`)
	ada.into(ada.call(http.MethodDelete, api.PathKeys+"/"+first.KeyID, nil), http.StatusOK, nil)
	third := ada.issue("third")
	check(ada, third.Key, `200 credits "" free "1" reset "82800"`)
	stream, err := http.Get(d.URL() + api.PathSubscribe + "?token=" + third.Key)
	if err != nil {
		t.Fatal(err)
	}
	_ = stream.Body.Close()
	if got := left(answer{Status: stream.StatusCode, Header: stream.Header}); got != `200 credits "" free "0" reset "82800"` {
		t.Errorf("the stream: %s", got)
	}
	for _, key := range []string{second.Key, third.Key, ada.issue("fourth").Key} {
		refused := ada.fresh(key)
		ada.refused(refused, api.ReasonQuotaExhausted)
		if !strings.Contains(string(refused.Body), "used the 4 free calls of 24 hours, which all of the owner's keys share") {
			t.Errorf("a key of many is blamed: %s", refused.Body)
		}
		if wait := refused.Header.Get(api.HeaderRetryAfter); wait != "82800" {
			t.Errorf("Retry-After is %s", wait)
		}
	}
	check(eve, eve.issue("eve's").Key, `200 credits "" free "3" reset "86400"`)
	if _, err := d.Credits().Move(t.Context(), owner, billing.Entry{KeyID: second.KeyID, Amount: 2, Kind: billing.KindGrant, Reason: "test"}); err != nil {
		t.Fatal(err)
	}
	check(ada, third.Key, `200 credits "1" free "" reset ""`)
	check(ada, second.Key, `200 credits "0" free "" reset ""`)
	d.Clock.Advance(23 * time.Hour)
	check(ada, second.Key, `200 credits "" free "0" reset "3600"`)
}

// TestFreeCallsOfAnAddress: they are bounded for all callers but this machine.
func TestFreeCallsOfAnAddress(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t, free, func(c *daemon.Config) {
		c.Limits.FreeCalls, c.Limits.FreeCallsPerClient, c.TrustedProxies = 4, 5, []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
	})
	from := func(u *user, address, key, want string) {
		t.Helper()
		if u.header["X-Forwarded-For"] = address; address == "" {
			delete(u.header, "X-Forwarded-For")
		}
		if got := left(u.fresh(key)); got != want {
			t.Errorf("from %q: %s, want %s", address, got, want)
		}
	}
	var users []*user
	var keys []string
	for n := range 4 {
		u := newUser(t, d)
		u.signIn(fmt.Sprintf("u%d@example.org", n))
		users, keys = append(users, u), append(keys, u.issue("k").Key)
	}
	for n := range 4 {
		from(users[0], "2001:db8::1", keys[0], fmt.Sprintf(`200 credits "" free "%d" reset "86400"`, 3-n))
	}
	from(users[1], "2001:db8::2", keys[1], `200 credits "" free "0" reset "86400"`) // the address has fewer left than the owner
	from(users[1], "2001:db8::3", keys[1], `429 credits "" free "" reset ""`)
	from(users[1], "2001:db8:0:ffff::3", keys[1], `429 credits "" free "" reset ""`) // of the same site
	from(users[1], "2001:db8:1::3", keys[1], `200 credits "" free "2" reset "86400"`)
	from(users[2], "2001:db8::2", keys[2], `429 credits "" free "" reset ""`)
	for n := range 4 {
		from(users[2], "", keys[2], fmt.Sprintf(`200 credits "" free "%d" reset "86400"`, 3-n))
		from(users[3], "", keys[3], fmt.Sprintf(`200 credits "" free "%d" reset "86400"`, 3-n))
	}
}

// TestUnmeteredKeys: the operator's own keys have no bound, cost nothing, read every pack, and their answers say nothing of it.
func TestUnmeteredKeys(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t, free, func(c *daemon.Config) { c.Limits.FreeCalls = 1 })
	key, err := d.Keys().Issue(t.Context(), account.NewKey{OwnerID: account.OperatorID, Name: "own"})
	if err != nil {
		t.Fatal(err)
	}
	u := newUser(t, d)
	for range 3 {
		if got := left(u.fresh(key.Key)); got != `200 credits "" free "" reset ""` {
			t.Error(got)
		}
	}
	usage, err := d.Credits().Usage(t.Context(), account.OperatorID, 1)
	if err != nil || len(usage.Days) != 1 || usage.Days[0].Calls != 3 {
		t.Errorf("%+v, %v", usage, err)
	}
	if findings, err := d.Credits().Audit(t.Context()); err != nil || len(findings) > 0 {
		t.Errorf("the audit finds %v, %v", findings, err)
	}
}

// TestFreeClient: calls of this machine count against no address, unless a proxy may have brought them.
func TestFreeClient(t *testing.T) {
	t.Parallel()
	proxies := web.NewProxies([]netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")})
	for _, c := range []struct{ remote, host, header, value, want string }{
		{"127.0.0.1:5", "127.0.0.1:8402", "", "", ""},
		{"127.0.0.1:5", "localhost:8402", "", "", ""},
		{"[::1]:5", "[::1]:8402", "", "", ""},
		{"[::ffff:127.0.0.1]:5", "localhost", "", "", ""},
		{"127.0.0.1:5", "context.example.org", "", "", "127.0.0.1"},
		{"127.0.0.1:5", "10.0.0.1:8402", "", "", "127.0.0.1"},
		{"127.0.0.1:5", "localhost", "X-Forwarded-For", "198.51.100.1", "198.51.100.1"},
		{"127.0.0.1:5", "localhost", "X-Forwarded-Host", "x", "127.0.0.1"},
		{"127.0.0.1:5", "localhost", "Forwarded", "for=x", "127.0.0.1"},
		{"127.0.0.1:5", "localhost", "Via", "1.1 x", "127.0.0.1"},
		{"192.0.2.1:5", "localhost", "", "", "192.0.2.1"},
		{"[2001:db8:1:2:3::4]:5", "localhost", "", "", "2001:db8:1::/48"},
		{"@", "localhost", "", "", ""},
		{"@", "localhost", "X-Forwarded-For", "198.51.100.1", "198.51.100.1"},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.RemoteAddr, r.Host = c.remote, c.host
		if c.header != "" {
			r.Header.Set(c.header, c.value)
		}
		if got := proxies.FreeClientOf(r); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

// TestThisMachine: where the service is reached from elsewhere, a caller at a loopback address that names a loopback host may have come
// through a proxy that says nothing of it, so the page shows no state, unless the operator says that there is no such proxy.
func TestThisMachine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		public string
		opened bool
		here   bool
	}{
		{"", false, true},
		{"http://localhost:8402", false, true},
		{"https://context.example.org", false, false},
		{"https://context.example.org", true, true},
		{"http://192.0.2.1:8402", false, false},
	} {
		d := daemontest.Start(t, free, daemontest.WithPages, func(cfg *daemon.Config) {
			cfg.PublicURL, cfg.ThisMachine = c.public, c.opened
		})
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, d.URL()+"/packs/crypto", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept", "text/html")
		got, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(got.Body)
		got.Body.Close()
		if err != nil || got.StatusCode != 200 || bytes.Contains(body, []byte("Prices of calls")) == c.here {
			t.Errorf("%+v: status %d, %v, prices alone %v", c, got.StatusCode, err, c.here)
		}
	}
	proxies := web.NewProxies(nil)
	proxies.NobodyHere = true
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.RemoteAddr, r.Host = "127.0.0.1:5", "localhost"
	if got := proxies.FreeClientOf(r); got != "127.0.0.1" {
		t.Errorf("free calls count against %q", got)
	}
}

// TestKeysOfADay: who has never paid makes ten keys a day, however many of them are revoked.
func TestKeysOfADay(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t, free)
	u := newUser(t, d)
	u.signIn("ada@example.org")
	for i := range api.MaxNewFreeKeys {
		key := u.issue(fmt.Sprint(i))
		if i > 0 {
			u.into(u.call(http.MethodDelete, api.PathKeys+"/"+key.KeyID, nil), http.StatusOK, nil)
		}
	}
	u.waits(u.call(http.MethodPost, api.PathKeys, api.CreateKeyRequest{Name: "one more"}), 24*60*60)
	d.Clock.Advance(24 * time.Hour)
	u.issue("of the next day")
}

// TestPagesOfKeys walks the list of keys over HTTP.
func TestPagesOfKeys(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t, free)
	u := newUser(t, d)
	u.signIn("ada@example.org")
	var want []string
	for _, name := range []string{"a", "b", "c"} {
		want = append([]string{u.issue(name).KeyID}, want...)
		d.Clock.Advance(time.Second)
	}
	var got []string
	for query := "?limit=2"; query != ""; {
		var page api.KeyListResponse
		u.into(u.call(http.MethodGet, api.PathKeys+query, nil), http.StatusOK, &page)
		for _, k := range page.Keys {
			got = append(got, k.KeyID)
		}
		if query = ""; page.NextCursor != "" {
			query = "?limit=2&cursor=" + page.NextCursor
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", got, want)
	}
	for query, ok := range map[string]bool{"?limit=0": false, "?limit=1": true, "?limit=200": true, "?limit=201": false, "?limit=x": false, "?limit=": true,
		"?cursor=x": false, "?limit=1&limit=2": false} {
		a := u.call(http.MethodGet, api.PathKeys+query, nil)
		if ok {
			u.into(a, http.StatusOK, nil)
		} else {
			u.refused(a, api.ReasonInvalidRequest)
		}
	}
}
