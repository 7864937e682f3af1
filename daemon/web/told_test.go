package web_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/sdk/api"
)

// TestErrorsNameNoTypes: what is wrong with a body is told in the words of who has sent it.
func TestErrorsNameNoTypes(t *testing.T) {
	t.Parallel()
	m := newMarket(t)
	u := newUser(t, m.d)
	u.signIn("typist@example.org")
	for _, c := range []struct{ path, body, says string }{
		{api.PathKeys, `{"name":5}`, "name cannot be a JSON number"}, {api.PathKeys, `[]`, "it cannot be a JSON array"}, {api.PathKeys, ``, "it is empty"},
		{api.PathKeys, `{"nam":""}`, "nam"}, {api.PathCredits, `{"pack":"gold"}`, "packs: starter, hobby, pro, team"},
	} {
		a := u.call(http.MethodPost, c.path, c.body)
		e := refusal(t, a, http.MethodPost).Error
		if told := e.Message + " " + e.Hint; a.Status != http.StatusBadRequest || !strings.Contains(told, c.says) || strings.Contains(told, "Request.") ||
			strings.Contains(told, "of type") || strings.Contains(told, "[starter") || strings.Contains(told, "EOF") {
			t.Errorf("%s %s: %d %s", c.path, c.body, a.Status, told)
		}
	}
	if a := u.call(http.MethodPut, api.PathPrompts+"/none", `{"prompt":"x"}`); strings.Contains(string(a.Body), "[crypto") {
		t.Errorf("%s", a.Body)
	}
}

// TestPromptsWithoutModel: where no language model writes, a prompt that is set and a pack that has prompts say so.
func TestPromptsWithoutModel(t *testing.T) {
	t.Parallel()
	m := newMarket(t)
	u := newUser(t, m.d)
	session := u.signIn("writer@example.org")
	u.into(u.call(http.MethodPost, api.PathKeys, `{"name":"a"}`), http.StatusCreated, nil)
	for pack, warned := range map[api.CreditPack]bool{api.CreditStarter: false, api.CreditPro: true, api.CreditTeam: true} {
		var intent api.DepositIntent
		u.into(u.call(http.MethodPost, api.PathCredits, api.CreateDepositRequest{Pack: pack}), http.StatusCreated, &intent)
		if strings.Contains(intent.Warning, "no language model") != warned {
			t.Errorf("%s: warning %q", pack, intent.Warning)
		}
	}
	if err := m.d.Keys().SetTier(t.Context(), session.UserID, api.TierPro); err != nil {
		t.Fatal(err)
	}
	path := api.PathPrompts + "/" + api.PackCrypto
	if a := u.call(http.MethodGet, path, nil); a.Header.Get(api.HeaderWarning) != "" {
		t.Errorf("without a prompt: %v", a.Header)
	}
	for _, method := range []string{http.MethodPut, http.MethodGet} {
		if a := u.call(method, path, `{"prompt":"Short."}`); a.Status != http.StatusOK || !strings.Contains(a.Header.Get(api.HeaderWarning), "no language model") {
			t.Errorf("%s: %d, warning %q", method, a.Status, a.Header.Get(api.HeaderWarning))
		}
	}
}

// TestHosts: what a cookie counts for is answered under the names of this service alone, and calls with a key under any.
func TestHosts(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t, func(c *daemon.Config) {
		c.PublicURL, c.Hosts = "https://context.example.org", []string{"nas.local"}
	})
	key := bearer(d.Key(t, api.TierFree))
	at := func(host string) change { return func(r *http.Request) { r.Host = host } }
	for host, known := range map[string]bool{
		"context.example.org": true, "Context.Example.org:8402": true, "nas.local": true, "NAS.local:80": true, "localhost:1": true, "127.0.0.1:8402": true,
		"[::1]:8402": true, "192.168.1.7": true,
		"evil.example.org": false, "context.example.org.evil.example": false, "example.org": false, "nas.local.evil.example": false, "": true,
	} {
		if host == "" {
			continue // the client names the address
		}
		for _, path := range []string{api.PathAuthSession, api.PathKeys, api.PathAuthEmailLanding + "?token=x", api.PathUsage, api.PathOwnWatches} {
			a := get(t, d.URL()+path, at(host))
			if foreign := a.Status == http.StatusForbidden && strings.Contains(string(a.Body), "cross_origin"); foreign == known {
				t.Errorf("%s at %s: %d %s", path, host, a.Status, a.Body)
			}
		}
		if a := call(t, http.MethodPost, d.URL()+api.PathMCP, at(host), key); (a.Status == http.StatusForbidden) == known {
			t.Errorf("MCP at %s: %d", host, a.Status)
		}
		if a := get(t, d.URL()+"/v1/cite?ref=1", at(host), key); a.Status != http.StatusOK {
			t.Errorf("a call at %s: %d", host, a.Status)
		}
	}
}

// TestHookTakesNoLargeBody: a body over the bound is 413, as everywhere.
func TestHookTakesNoLargeBody(t *testing.T) {
	t.Parallel()
	key := []byte(strings.Repeat("k", 32))
	d := daemontest.Start(t, func(c *daemon.Config) { c.JobsKey = key })
	for size, want := range map[int]int{1 << 10: http.StatusAccepted, 1<<10 + 1: http.StatusRequestEntityTooLarge} {
		const path = api.PathInternalJobs + "/prune"
		body := strings.Repeat("x", size)
		now := d.Clock.Now()
		a := call(t, http.MethodPost, d.URL()+path, sending(body), with(api.HeaderJobTimestamp, strconv.FormatInt(now.Unix(), 10)),
			with(api.HeaderJobSignature, api.SignRequest(key, now, http.MethodPost, path, []byte(body))))
		if a.Status != want {
			t.Errorf("%d bytes: %d %s", size, a.Status, a.Body)
		}
	}
}

// TestNoCreditsHint: who lacks credits is told what they can do at this service.
func TestNoCreditsHint(t *testing.T) {
	t.Parallel()
	hint := func(u *user, own bool, d *daemontest.Daemon) string {
		t.Helper()
		key := d.Key(t, api.TierFree)
		if own {
			var issued api.IssuedKey
			u.into(u.call(http.MethodPost, api.PathKeys, `{"name":"a"}`), http.StatusCreated, &issued)
			key = issued.Key
		}
		for range 2 {
			if a := get(t, d.URL()+"/v1/cite?ref=1", bearer(key)); a.Status == http.StatusTooManyRequests {
				return refusal(t, a, http.MethodGet).Error.Hint
			}
		}
		t.Fatal("no end to free calls")
		return ""
	}
	one := func(c *daemon.Config) { c.Limits.FreeCalls = 1 }
	sold := daemontest.Start(t, daemontest.On(daemontest.Chain(t)), one)
	given := daemontest.Start(t, one)
	for _, c := range []struct {
		d    *daemontest.Daemon
		own  bool
		says string
	}{
		{sold, true, "ctx credits buy starter"}, {sold, true, "--pay"}, {sold, false, "contextd credits grant"}, {given, true, "ask the operator"},
	} {
		u := newUser(t, c.d)
		u.signIn("poor" + strconv.Itoa(len(c.says)) + "@example.org")
		if got := hint(u, c.own, c.d); !strings.Contains(got, c.says) {
			t.Errorf("sold %v, a key of an owner %v: %s", c.d == sold, c.own, got)
		}
	}
}
