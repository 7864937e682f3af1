package web_test

import (
	"bufio"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/sdk/api"
)

// issue makes a key of u's.
func (u *user) issue(name string) api.IssuedKey {
	u.t.Helper()
	var key api.IssuedKey
	u.into(u.call(http.MethodPost, api.PathKeys, api.CreateKeyRequest{Name: name}), http.StatusCreated, &key)
	return key
}

// fresh calls with a key and returns the status.
func (u *user) fresh(key string) answer {
	u.t.Helper()
	u.header["Authorization"] = "Bearer " + key
	defer delete(u.header, "Authorization")
	return u.call(http.MethodGet, api.PathFresh, nil)
}

func TestKeys(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t, free)
	ada, eve := newUser(t, d), newUser(t, d)
	ada.signIn("ada@example.org")
	eve.signIn("eve@example.org")
	var list api.KeyListResponse
	ada.into(ada.call(http.MethodGet, api.PathKeys, nil), http.StatusOK, &list)
	if list.Keys == nil || len(list.Keys) != 0 {
		t.Errorf("before the first key: %+v", list)
	}
	first := ada.issue(" first ")
	d.Clock.Advance(time.Second)
	second := ada.issue("second")
	eve.issue("eve's")
	if first.Name != "first" || first.Tier != api.TierFree || first.KeyID != first.Key[:16] || !strings.HasPrefix(first.Key, "cv_test_") || len(first.Key) != 40 {
		t.Errorf("issued %+v", first)
	}
	eve.refused(eve.call(http.MethodDelete, api.PathKeys+"/"+first.KeyID, nil), api.ReasonKeyNotFound)
	ada.refused(ada.call(http.MethodDelete, api.PathKeys+"/cv_test_00000000", nil), api.ReasonKeyNotFound)
	if _, err := d.Credits().Move(t.Context(), "", billing.Entry{KeyID: first.KeyID, Amount: 7, Kind: billing.KindGrant, Reason: "test"}); err != nil {
		t.Fatal(err)
	}
	ada.into(ada.fresh(first.Key), http.StatusOK, nil)
	var gone api.RevokeResponse
	for range 2 { // the second time it is as after the first
		ada.into(ada.call(http.MethodDelete, api.PathKeys+"/"+first.KeyID, nil), http.StatusOK, &gone)
		if !gone.OK || !gone.RevokedAt.Equal(d.Clock.Now().Truncate(time.Millisecond)) || gone.StrandedCredits != 6 {
			t.Errorf("revoked: %+v", gone)
		}
	}
	ada.into(ada.call(http.MethodGet, api.PathKeys, nil), http.StatusOK, &list)
	if len(list.Keys) != 2 || list.Keys[0].KeyID != second.KeyID || list.Keys[1].RevokedAt == nil || list.Keys[0].RevokedAt != nil || list.Keys[0].TraceConsent != api.ConsentAggregated {
		t.Errorf("the list is %+v", list)
	}
	for body, reason := range map[string]api.Reason{
		"": api.ReasonInvalidRequest, "null": api.ReasonInvalidRequest, "[]": api.ReasonInvalidRequest, `{"name":""}`: api.ReasonInvalidRequest,
		`{"name":"x","traceConsent":"some"}`: api.ReasonInvalidRequest, `{"name":"x","tier":"team"}`: api.ReasonInvalidRequest, `{"name":"x"`: api.ReasonInvalidRequest,
	} {
		ada.refused(ada.call(http.MethodPost, api.PathKeys, body), reason)
	}
}

// TestEditKey: name and bound change alone or together, within their bounds, of one's active keys alone.
func TestEditKey(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t, free)
	ada, eve := newUser(t, d), newUser(t, d)
	ada.signIn("ada@example.org")
	eve.signIn("eve@example.org")
	key, gone := ada.issue("first"), ada.issue("gone")
	ada.into(ada.call(http.MethodDelete, api.PathKeys+"/"+gone.KeyID, nil), http.StatusOK, nil)
	for _, step := range []struct {
		body, name string
		bound      int64 // 0 for none, -1 where it is refused
	}{
		{`{"dailyCredits":1}`, "first", 1}, {`{"name":" second "}`, "second", 1}, {`{"dailyCredits":1000000}`, "second", 1_000_000},
		{`{"dailyCredits":0}`, "second", -1}, {`{"dailyCredits":1000001}`, "second", -1}, {`{"dailyCredits":"5"}`, "second", -1},
		{`{}`, "second", -1}, {`{"name":""}`, "second", -1}, {`{"name":"` + strings.Repeat("x", 65) + `"}`, "second", -1},
		{`{"name":"third","dailyCredits":0}`, "second", -1}, {`{"tier":"team"}`, "second", -1}, {`{"dailyCredits":null}`, "second", 0},
		{`{"name":"` + strings.Repeat("x", 64) + `","dailyCredits":7}`, strings.Repeat("x", 64), 7},
	} {
		a := ada.call(http.MethodPatch, api.PathKeys+"/"+key.KeyID, step.body)
		var row api.APIKeyRow
		if step.bound < 0 {
			ada.refused(a, api.ReasonInvalidRequest)
		} else {
			ada.into(a, http.StatusOK, &row)
		}
		kept, err := d.Keys().Lookup(key.KeyID)
		if err != nil || kept.Name != step.name || step.bound >= 0 && (kept.Daily != step.bound || row.Name != step.name) {
			t.Errorf("%s: %+v, kept %+v, %v", step.body, row, kept, err)
		}
	}
	change := api.EditKeyRequest{Name: "x"}
	eve.refused(eve.call(http.MethodPatch, api.PathKeys+"/"+key.KeyID, change), api.ReasonKeyNotFound)
	ada.refused(ada.call(http.MethodPatch, api.PathKeys+"/cv_test_00000000", change), api.ReasonKeyNotFound)
	ada.refused(ada.call(http.MethodPatch, api.PathKeys+"/"+gone.KeyID, change), api.ReasonInvalidRequest)
	d.Stop(t)
	again := daemontest.Start(t, free, func(c *daemon.Config) { c.DataDir, c.StoreURL = d.Config.DataDir, d.Config.StoreURL })
	if kept, err := again.Keys().Lookup(key.KeyID); err != nil || kept.Daily != 7 || kept.Name != strings.Repeat("x", 64) {
		t.Errorf("after a restart: %+v, %v", kept, err)
	}
}

// TestBoundChanges: a bound holds from the next call on, what was spent before counts, with a bound or without, and is told.
func TestBoundChanges(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t, free)
	u := newUser(t, d)
	u.signIn("bound@example.org")
	key := u.issue("agent")
	u.issue("without a bound")
	d.Grant(t, key.Key, 1000)
	for _, step := range []struct {
		bound    string // "" leaves it
		answered int    // calls, of three
	}{{"2", 2}, {"3", 1}, {"null", 3}, {"6", 0}, {"7", 1}, {"", 0}, {"null", 3}} {
		if step.bound != "" {
			u.into(u.call(http.MethodPatch, api.PathKeys+"/"+key.KeyID, `{"dailyCredits":`+step.bound+`}`), http.StatusOK, nil)
		}
		answered := 0
		for range 3 {
			a := u.fresh(key.Key)
			if a.Status == http.StatusOK {
				answered++
				continue
			}
			u.refused(a, api.ReasonDailySpent)
		}
		if answered != step.answered {
			t.Errorf("with a bound of %s, %d calls were answered, want %d", step.bound, answered, step.answered)
		}
	}
	bounds := func() []api.KeyBound {
		var told api.UsageResponse
		u.into(u.call(http.MethodGet, api.PathUsage, nil), http.StatusOK, &told)
		return told.Bounds
	}
	if list := bounds(); list == nil || len(list) > 0 {
		t.Errorf("no key has a bound, and %+v is told", list)
	}
	u.into(u.call(http.MethodPatch, api.PathKeys+"/"+key.KeyID, `{"dailyCredits":20}`), http.StatusOK, nil)
	if list := bounds(); !slices.Equal(list, []api.KeyBound{{KeyID: key.KeyID, DailyCredits: 20, SpentToday: 10}}) {
		t.Errorf("told of %+v", list)
	}
	d.Clock.Advance(24 * time.Hour)
	if list := bounds(); len(list) != 1 || list[0].SpentToday != 0 {
		t.Errorf("a day later it tells of %+v", list)
	}
	u.into(u.call(http.MethodDelete, api.PathKeys+"/"+key.KeyID, nil), http.StatusOK, nil)
	if list := bounds(); len(list) > 0 {
		t.Errorf("of a revoked key it tells %+v", list)
	}
}

func TestCapOfActiveKeys(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t, free, func(c *daemon.Config) { c.Limits.ActiveKeys = 3 })
	u := newUser(t, d)
	u.signIn("many@example.org")
	key := u.issue("1")
	u.issue("2")
	u.issue("3")
	u.refused(u.call(http.MethodPost, api.PathKeys, api.CreateKeyRequest{Name: "4"}), api.ReasonInvalidRequest)
	u.into(u.call(http.MethodDelete, api.PathKeys+"/"+key.KeyID, nil), http.StatusOK, nil)
	u.issue("4")
	d.Keys().SetMaxKeys(4) // as a reload does
	u.issue("5")
	u.refused(u.call(http.MethodPost, api.PathKeys, api.CreateKeyRequest{Name: "6"}), api.ReasonInvalidRequest)
}

// TestNewKeysTakeTheOwnersTier: what the operator sets holds for the keys there are and for those to come.
func TestNewKeysTakeTheOwnersTier(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t, free)
	u := newUser(t, d)
	id := u.signIn("pro@example.org").UserID
	u.issue("old")
	if err := d.Keys().SetTier(t.Context(), id, api.TierPro); err != nil {
		t.Fatal(err)
	}
	if key := u.issue("new"); key.Tier != api.TierPro {
		t.Errorf("the new key is of tier %s", key.Tier)
	}
	var s api.Session
	u.into(u.call(http.MethodGet, api.PathAuthSession, nil), http.StatusOK, &s)
	if s.Tier != api.TierPro {
		t.Errorf("the session says tier %s", s.Tier)
	}
}

func TestBalanceAndUsage(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t, free)
	u := newUser(t, d)
	u.signIn("books@example.org")
	key, other := u.issue("a"), u.issue("b")
	for free, query := range map[int]string{api.FreeCallsPerDay: "", 0: "?keyId=" + key.KeyID} { // which all keys share
		var none api.CreditBalanceResponse
		u.into(u.call(http.MethodGet, api.PathCredits+query, nil), http.StatusOK, &none)
		if none.Balance != 0 || none.FreeCalls != free {
			t.Errorf("without credits it says %+v, want %d free calls", none, free)
		}
	}
	if _, err := d.Credits().Move(t.Context(), "", billing.Entry{KeyID: key.KeyID, Amount: 10, Kind: billing.KindGrant, Reason: "test"}); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		u.into(u.fresh(other.Key), http.StatusOK, nil) // from the pool
	}
	var b api.CreditBalanceResponse
	got := u.call(http.MethodGet, api.PathCredits, nil)
	u.into(got, http.StatusOK, &b)
	if b.Balance != 7 || b.KeyCount != 2 || b.FreeCalls != 0 || !strings.Contains(string(got.Body), `"recentDeposits":[]`) {
		t.Errorf("the balance is %s", got.Body)
	}
	u.into(u.call(http.MethodGet, api.PathCredits+"?keyId="+other.KeyID, nil), http.StatusOK, &b)
	if b.Balance != 0 {
		t.Errorf("the key without credits has %d", b.Balance)
	}
	u.refused(u.call(http.MethodGet, api.PathCredits+"?keyId=cv_test_00000000", nil), api.ReasonKeyNotFound)
	u.refused(u.call(http.MethodGet, api.PathCredits+"?keyId=a&keyId=b", nil), api.ReasonInvalidRequest)
	var usage api.UsageResponse
	u.into(u.call(http.MethodGet, api.PathUsage, nil), http.StatusOK, &usage)
	if want := (api.UsageRow{Day: "2026-11-20", KeyID: other.KeyID, Op: api.OpFresh, Calls: 3}); len(usage.Days) != 1 || usage.Days[0] != want {
		t.Errorf("usage is %+v, want %+v", usage, want)
	}
	d.Clock.Advance(48 * time.Hour)
	if got := u.call(http.MethodGet, api.PathUsage+"?days=2", nil); string(got.Body) != `{"days":[],"bounds":[]}`+"\n" {
		t.Errorf("usage of two quiet days is %s", got.Body)
	}
	for _, bad := range []string{"0", "-1", "367", "x", "1.5", "1&days=2"} {
		u.refused(u.call(http.MethodGet, api.PathUsage+"?days="+bad, nil), api.ReasonInvalidRequest)
	}
}

func TestPrompts(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t, free)
	u := newUser(t, d)
	id := u.signIn("prompt@example.org").UserID
	const path = api.PathPrompts + "/crypto"
	for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodDelete} {
		u.refused(u.call(method, path, api.PromptBody{Prompt: "x"}), api.ReasonPackAccessDenied)
	}
	if err := d.Keys().SetTier(t.Context(), id, api.TierPro); err != nil {
		t.Fatal(err)
	}
	var p api.PromptBody
	for _, step := range []struct {
		method string
		body   any
		status int
		want   string
	}{
		{http.MethodGet, nil, 200, ""}, {http.MethodPut, api.PromptBody{Prompt: " Stablecoins only. "}, 200, "Stablecoins only."}, {http.MethodGet, nil, 200, "Stablecoins only."},
		{http.MethodPut, api.PromptBody{Prompt: "More."}, 200, "More."}, {http.MethodGet, nil, 200, "More."}, {http.MethodDelete, nil, 204, ""},
		{http.MethodDelete, nil, 204, ""}, {http.MethodGet, nil, 200, ""},
	} {
		got := u.call(step.method, path, step.body)
		p = api.PromptBody{}
		if step.status == http.StatusNoContent {
			u.into(got, step.status, nil)
			continue
		}
		if u.into(got, step.status, &p); p.Prompt != step.want {
			t.Errorf("%s: the prompt is %q, want %q", step.method, p.Prompt, step.want)
		}
	}
	for _, bad := range []string{"", " ", strings.Repeat("ä", api.MaxPrompt+1), "a\x00b"} {
		u.refused(u.call(http.MethodPut, path, api.PromptBody{Prompt: bad}), api.ReasonInvalidRequest)
	}
	u.refused(u.call(http.MethodGet, api.PathPrompts+"/ai", nil), api.ReasonPackNotFound)
}

// TestDisabledOwner: keys, sessions and streams end at once, and sign-in is refused, until they are enabled.
func TestDisabledOwner(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t, free)
	u := newUser(t, d)
	id := u.signIn("out@example.org").UserID
	key := u.issue("agent")
	res, err := http.Get(d.URL() + api.PathSubscribe + "?token=" + key.Key)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 1<<20)
	if !lines.Scan() || lines.Text() != "event: pulse" {
		t.Fatalf("the stream begins with %q", lines.Text())
	}
	if err := d.Keys().Disable(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() { // ends with the stream
	}
	u.refused(u.fresh(key.Key), api.ReasonKeyRevoked)
	u.refused(u.call(http.MethodGet, api.PathAuthSession, nil), api.ReasonInvalidSession)
	again := newUser(t, d)
	again.into(again.call(http.MethodPost, api.PathAuthEmail, api.EmailSignInRequest{Email: "out@example.org"}), http.StatusAccepted, nil)
	token := d.MailedToken(t, "out@example.org")
	again.refused(again.call(http.MethodPost, api.PathAuthEmailVerify, api.EmailVerifyRequest{Token: token}), api.ReasonInvalidSignIn)

	config := d.Config
	d.Stop(t) // a restart changes nothing about it
	d = daemontest.Start(t, free, func(c *daemon.Config) { c.DataDir = config.DataDir })
	d.Clock.Advance(time.Minute)
	again.d = d
	again.refused(again.fresh(key.Key), api.ReasonKeyRevoked)
	if err := d.Keys().Enable(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	again.into(again.fresh(key.Key), http.StatusOK, nil)
	if got := again.signIn("out@example.org"); got.UserID != id {
		t.Error("enabled again, they are somebody else")
	}
	select {
	case <-d.Keys().Ended(key.KeyID):
		t.Error("streams of the key would end at once")
	default:
	}
}

// TestEveryRouteNeedsASession: nothing of the console is answered to nobody.
func TestEveryRouteNeedsASession(t *testing.T) {
	t.Parallel()
	u := newUser(t, daemontest.Start(t, free))
	for _, route := range []string{
		"GET /api/auth/session", "GET /api/keys", "POST /api/keys", "DELETE /api/keys/cv_test_00000000", "GET /api/console/credits",
		"GET /api/console/usage", "GET /api/console/prompts/crypto", "PUT /api/console/prompts/crypto", "DELETE /api/console/prompts/crypto",
	} {
		method, path, _ := strings.Cut(route, " ")
		u.secret = ""
		u.refused(u.call(method, path, nil), api.ReasonMissingSession)
		for _, bad := range []string{"x", strings.Repeat("a", 43), "cv_test_" + strings.Repeat("a", 32)} {
			u.secret = bad
			u.refused(u.call(method, path, nil), api.ReasonInvalidSession)
		}
	}
	for _, route := range []string{"PUT /api/keys", "GET /api/auth/email", "POST /api/console/usage", "PATCH /api/auth/session"} {
		method, path, _ := strings.Cut(route, " ")
		got := u.call(method, path, nil)
		u.refused(got, api.ReasonMethodNotAllowed)
		if got.Header.Get("Allow") == "" {
			t.Errorf("%s: no Allow", route)
		}
	}
	u.refused(u.call(http.MethodGet, "/api/console/nothing", nil), api.ReasonNotFound)
	if got := u.call(http.MethodPost, api.PathAuthEmail, fmt.Sprintf(`{"email":%q}`, strings.Repeat("a", api.MaxBodyBytes))); got.Status != http.StatusRequestEntityTooLarge {
		t.Errorf("a large body: %d %s", got.Status, got.Body)
	}
}
