package web_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/daemon/feed"
	"github.com/contextd/contextd/daemon/reader"
	"github.com/contextd/contextd/daemon/web"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

const day = 24 * time.Hour

func TestFreshAges(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t)
	key := bearer(d.Key(t, api.TierFree))
	ask := func(path string) (api.StateResponse, []byte) {
		a := get(t, d.URL()+path, key)
		if got := a.Header.Get("Cache-Control"); got != "private, no-cache" {
			t.Errorf("%s: Cache-Control %q", path, got)
		}
		if got := a.Header.Get(api.HeaderDataMode); got != api.DataModeDemo {
			t.Errorf("%s: made from a recording, and %s is %q", path, api.HeaderDataMode, got)
		}
		return decode[api.StateResponse](t, a), a.Body
	}
	for _, path := range []string{"/v1/fresh", "/v1/brief"} {
		first, before := ask(path)
		age := first.Freshness.AgeSeconds
		for _, step := range []time.Duration{0, 999 * time.Millisecond, time.Millisecond, 299 * time.Second, time.Hour} {
			d.Clock.Advance(step)
			age = int64(d.Clock.Now().Sub(first.Freshness.GeneratedAt) / time.Second)
			got, body := ask(path)
			if got.Freshness.AgeSeconds != age || !got.Freshness.GeneratedAt.Equal(first.Freshness.GeneratedAt) {
				t.Errorf("%s: freshness %+v at %v", path, got.Freshness, d.Clock.Now())
			}
			if !bytes.Equal(got.State, first.State) || withoutAge(t, body) != withoutAge(t, before) {
				t.Errorf("%s: more than the age changed with time:\n%s\n%s", path, before, body)
			}
		}
		if age < 3600 {
			t.Errorf("the clock stands still: age %d", age)
		}
	}
}

// withoutAge is body without its last number.
func withoutAge(t *testing.T, body []byte) string {
	t.Helper()
	head, _, found := bytes.Cut(body, []byte(`"ageSeconds":`))
	if !found {
		t.Fatalf("no age in %s", body)
	}
	return string(head)
}

// TestFreshShape wants the members of the contract and no others.
func TestFreshShape(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t)
	key := bearer(d.Key(t, api.TierFree))
	at := minute(d.Clock.Now())
	d.Clock.Advance(time.Minute)
	for path, want := range map[string][]string{
		"/v1/fresh":             {"state", "brief", "briefAt", "briefOf", "citations", "freshness"},
		"/v1/brief":             {"brief", "briefAt", "briefOf", "citations", "freshness"},
		"/v1/snapshot?at=" + at: {"state", "brief", "citations", "freshness"},
		"/v1/search?q=none":     {"matches", "total", "freshness"},
		"/v1/lookup?q=btc":      {"results", "citations", "freshness"},
		"/v1/changes?since=" + at: {
			"since", "from", "to", "flags", "rows", "headlines", "sources", "clear", "sourcesAnswered", "sourcesAsked", "citations", "freshness",
		},
		"/v1/cite?ref=1": {"citation", "source", "freshness"},
	} {
		got := decode[map[string]json.RawMessage](t, get(t, d.URL()+path, key))
		for _, name := range want {
			if v, ok := got[name]; !ok || string(v) == "null" {
				t.Errorf("%s: %s is %s", path, name, v)
			}
		}
		if len(got) != len(want) {
			t.Errorf("%s has %d members, want %v", path, len(got), want)
		}
	}
}

// TestSnapshotIsTheSameForEver asks for one minute at different times, after a newer state, in both codings and of a daemon that
// was started again on the same directory.
func TestSnapshotIsTheSameForEver(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t)
	key, path := bearer(d.Key(t, api.TierPro)), "/v1/snapshot?at="+minute(d.Clock.Now())
	fresh := decode[api.StateResponse](t, get(t, d.URL()+"/v1/fresh", key))
	d.Clock.Advance(time.Minute)
	first := get(t, d.URL()+path, key)
	coded := get(t, d.URL()+path, key, with("Accept-Encoding", "gzip"))
	got := decode[api.StateResponse](t, first)
	if !bytes.Equal(got.State, fresh.State) || got.Brief != "" || got.BriefAt != nil || len(got.Citations) != len(fresh.Citations) ||
		!got.Freshness.GeneratedAt.Equal(fresh.Freshness.GeneratedAt) || got.Freshness.AgeSeconds != 59 {
		t.Errorf("snapshot %+v of fresh %+v", got, fresh)
	}
	check := func(when string) {
		t.Helper()
		again := get(t, d.URL()+path, key)
		if !bytes.Equal(again.Body, first.Body) {
			t.Errorf("%s: %s, at first %s", when, again.Body, first.Body)
		}
		if again := get(t, d.URL()+path, key, with("Accept-Encoding", "gzip")); !bytes.Equal(again.Body, coded.Body) {
			t.Errorf("%s: other bytes when compressed", when)
		}
		if cache, vary := again.Header.Get("Cache-Control"), again.Header.Get("Vary"); cache != "public, max-age=86400, immutable" ||
			vary != "Accept-Encoding, Authorization, X-402-Payment, X-Payment, PAYMENT-SIGNATURE" {
			t.Errorf("%s: Cache-Control %q, Vary %q", when, cache, vary)
		}
	}
	check("at once")
	d.Clock.Advance(4 * time.Minute)
	check("later")
	if err := d.Refresh(t.Context(), api.PackCrypto); err != nil {
		t.Fatal(err)
	}
	check("after a newer state")
	d.Clock.Advance(time.Minute)
	newer := decode[api.StateResponse](t, get(t, d.URL()+"/v1/snapshot?at="+minute(d.Clock.Now().Add(-time.Minute)), key))
	if !newer.Freshness.GeneratedAt.After(got.Freshness.GeneratedAt) {
		t.Errorf("the newer state is of %v", newer.Freshness.GeneratedAt)
	}
	between := decode[api.StateResponse](t, get(t, d.URL()+"/v1/snapshot?at="+minute(d.Clock.Now().Add(-2*time.Minute)), key))
	if !bytes.Equal(between.State, got.State) || between.Freshness.AgeSeconds != 299 {
		t.Errorf("a minute between two states: %+v", between.Freshness)
	}
	d.Stop(t)
	d.Clock.Advance(20 * day)
	d = daemontest.Open(t, keep(d.Config.DataDir, d.Clock))
	d.Run(t)
	check("after a restart")
}

func TestSnapshotWindows(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t)
	first := d.Clock.Now()
	path := d.URL() + "/v1/snapshot?at=" + minute(first)
	keys := map[api.Tier]change{}
	for _, tier := range api.Tiers() {
		keys[tier] = bearer(d.Key(t, tier))
	}
	allowed := map[api.Tier]time.Duration{
		api.TierFree: day, api.TierHobby: day, api.TierPro: 30 * day, api.TierTeam: 365 * day, api.TierEnterprise: 365 * day,
	}
	for _, after := range []time.Duration{
		0, time.Minute - time.Millisecond, time.Minute, day, day + time.Millisecond, 30 * day, 30*day + time.Millisecond,
		365 * day, 365*day + time.Millisecond,
	} {
		d.Clock.Advance(first.Add(after).Sub(d.Clock.Now()))
		for tier, key := range keys {
			want := http.StatusOK
			if after < time.Minute || after > allowed[tier] {
				want = http.StatusNotFound
			}
			a := get(t, path, key)
			if a.Status != want {
				t.Errorf("%s after %v: %d %s", tier, after, a.Status, a.Body)
			}
			if want == http.StatusNotFound {
				if reason := refusal(t, a, http.MethodGet).Error.Reason; reason != api.ReasonSnapshotNotFound {
					t.Errorf("%s after %v: %s", tier, after, reason)
				}
			}
		}
	}
}

// noHistory is a history in which nothing was kept.
type noHistory struct{ reader.History }

func (noHistory) PulseBefore(context.Context, string, time.Time) (state.Pulse, error) {
	return state.Pulse{}, errors.New("not kept")
}

func (noHistory) Earliest(context.Context, string) (time.Time, error) {
	return time.Time{}, state.ErrNoPulse
}

// TestBeforeTheFirstBrief has a state and no brief, which a daemon mends too soon to be asked.
func TestBeforeTheFirstBrief(t *testing.T) {
	t.Parallel()
	clock := daemontest.NewClock()
	f := feed.New(api.PackCrypto)
	if err := f.Publish(state.Pulse{Pack: api.PackCrypto, GeneratedAt: clock.Now(), State: []byte(`{"coin":"bitcoin <&>"}`)}, state.Narration{}, nil); err != nil {
		t.Fatal(err)
	}
	read := reader.New(reader.Config{Packs: []reader.Pack{{ID: api.PackCrypto}}, Feed: f, History: noHistory{}, Now: clock.Now})
	server, _ := serve(t, web.Config{Reader: read, Gate: script{}, Now: clock.Now})
	a := get(t, server.URL+"/v1/brief")
	if e := refusal(t, a, http.MethodGet).Error; e.Reason != api.ReasonBriefUnavailable || e.Code != api.CodeUpstreamError ||
		a.Status != http.StatusServiceUnavailable || a.Header.Get("Retry-After") != "5" {
		t.Errorf("brief answers %d %+v", a.Status, e)
	}
	a = get(t, server.URL+"/v1/fresh")
	if got := decode[api.StateResponse](t, a); got.Brief != "" || string(got.State) != `{"coin":"bitcoin <&>"}` || got.BriefAt != nil {
		t.Errorf("fresh answers %s", a.Body)
	}
	if a.Header.Get(api.HeaderDataMode) != "" {
		t.Error("real data is called a demo")
	}
	found := decode[api.SearchResponse](t, get(t, server.URL+"/v1/search?q=BITCOIN"))
	if found.Total != 1 || len(found.Matches) != 1 || found.Matches[0].Path != "coin" || found.Matches[0].Score != api.ScoreWord {
		t.Errorf("search answers %+v", found)
	}
	if err := f.PublishBrief(api.PackCrypto, state.Narration{Brief: state.Brief{Text: "All is well [1].", At: clock.Now()}}); err != nil {
		t.Fatal(err)
	}
	if got := decode[api.BriefResponse](t, get(t, server.URL+"/v1/brief")); got.Brief != "All is well [1]." {
		t.Errorf("brief answers %+v", got)
	}
}
