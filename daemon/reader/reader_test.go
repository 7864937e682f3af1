package reader_test

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/feed"
	"github.com/contextd/contextd/daemon/reader"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

func TestReadyRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	unknown := func(id string) api.Error {
		return api.Error{Code: api.CodePackNotFound, Reason: api.ReasonPackNotFound, Status: http.StatusNotFound,
			Message: `pack "` + id + `" is not served here`, Hint: "packs served: crypto, ai"}
	}
	stateless := api.Error{Code: api.CodeUpstreamError, Reason: api.ReasonStateUnavailable, Status: http.StatusServiceUnavailable,
		Message: "pack ai has no state yet", Hint: "try again in a few seconds", RetryAfter: 5 * time.Second,
		SourceStatus: make([]api.SourceStatus, 1)}
	for _, op := range api.Ops() {
		ask := func(id string) api.Query {
			return api.Query{Op: op, Pack: id, Path: "coins", Table: api.TableFlags, From: newest(), To: newest()}
		}
		for _, id := range []string{"markets", "", "Crypto", "crypto "} {
			_, err := w.Ready(ask(id))
			refused(t, string(op)+" of "+id, err, unknown(id))
		}
		_, err := w.Ready(ask("ai"))
		refused(t, string(op)+" without a state", err, stateless)
		_, err = w.Ready(ask("crypto"))
		if op == api.OpBrief {
			refused(t, "brief without a brief", err, api.Error{Code: api.CodeUpstreamError, Reason: api.ReasonBriefUnavailable,
				Status: http.StatusServiceUnavailable, Message: "pack crypto has no brief yet",
				Hint: "try again in a few seconds; fresh has the state already", RetryAfter: 5 * time.Second})
		} else if err != nil {
			t.Errorf("%s: %v", op, err)
		}
	}
	_, err := w.Ready(api.Query{Op: api.OpFresh, Pack: "ai"})
	if got := api.AsError(err).SourceStatus; len(got) != 1 || got[0].ID != "one of ai" || got[0].Failures != 2 {
		t.Errorf("trouble of ai is %+v", got)
	}
}

// TestReadyWithoutTrouble: a reader that was not told how sources do says nothing of them.
func TestReadyWithoutTrouble(t *testing.T) {
	t.Parallel()
	r := reader.New(reader.Config{Packs: []reader.Pack{newPack("crypto")}, Feed: feed.New("crypto"), History: &memory{}})
	_, err := r.Ready(api.Query{Op: api.OpFresh, Pack: "crypto"})
	if e := api.AsError(err); e.Reason != api.ReasonStateUnavailable || e.SourceStatus != nil {
		t.Errorf("%+v", e)
	}
	none := reader.New(reader.Config{Packs: []reader.Pack{newPack("late")}, Feed: feed.New("crypto"), History: &memory{}})
	if _, err := none.Ready(api.Query{Op: api.OpFresh, Pack: "late"}); api.AsError(err).Reason != api.ReasonStateUnavailable {
		t.Errorf("a pack that the feed was not made for: %v", err)
	}
}

func TestPacks(t *testing.T) {
	t.Parallel()
	ids := []string{"markets", "ai", "crypto"}
	var packs []reader.Pack
	for _, id := range ids {
		packs = append(packs, newPack(id))
	}
	if got := reader.New(reader.Config{Packs: packs, Feed: feed.New(ids...)}).Packs(); !slices.Equal(got, ids) {
		t.Errorf("packs %v, want the order of the configuration", got)
	}
}

func TestFreshAndBrief(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.narrate(t, "Bitcoin rose [1].")
	edition, _ := w.feed.Latest("crypto")
	for op, want := range map[api.Op]*feed.Body{api.OpFresh: edition.Fresh(), api.OpBrief: edition.BriefBody()} {
		got := w.get(t, api.Query{Op: op, Pack: "crypto"}, api.TierFree)
		if !reflect.DeepEqual(got, reader.Answer{Body: want}) || got.Body != want {
			t.Errorf("%s is %+v, want the body of the edition, aged when it is written", op, got)
		}
	}
}

// TestViewKeepsItsEdition: what passed the free checks is answered, whatever is published before the answer.
func TestViewKeepsItsEdition(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.narrate(t, "Bitcoin rose [1].")
	old, _ := w.feed.Latest("crypto")
	var views []reader.View
	for _, q := range []api.Query{{Op: api.OpFresh, Pack: "crypto"}, {Op: api.OpBrief, Pack: "crypto"}, {Op: api.OpSearch, Pack: "crypto",
		Text: "bitcoin", Limit: 9}} {
		view, err := w.Ready(q)
		if err != nil {
			t.Fatal(err)
		}
		views = append(views, view)
	}
	if err := w.feed.Publish(pulse("crypto", newest().Add(time.Minute), `{}`), state.Narration{}, nil); err != nil {
		t.Fatal(err)
	}
	w.narrate(t, "")
	fresh, err := w.Answer(t.Context(), views[0], 24*time.Hour)
	if err != nil || fresh.Body != old.Fresh() {
		t.Errorf("fresh is of another edition (%v)", err)
	}
	brief, err := w.Answer(t.Context(), views[1], 24*time.Hour)
	if err != nil || brief.Body != old.BriefBody() {
		t.Errorf("brief is of another edition (%v)", err)
	}
	search, err := w.Answer(t.Context(), views[2], 24*time.Hour)
	if err != nil || decode[api.SearchResponse](t, search.JSON).Total != 2 {
		t.Errorf("search is of another edition: %s (%v)", search.JSON, err)
	}
}

func TestCite(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for ref, want := range map[int]string{
		1: `{"citation":{"ref":1,"sourceId":"one","url":"https://one.test/","fetchedAt":"2026-11-20T20:05:01.34Z","excerpt":"BTC at $91,240"},` +
			`"source":{"id":"one","name":"One \u0026 Only","publicUrl":"https://one.test/"},"freshness":{"generatedAt":"2026-11-20T20:05:02.34Z","ageSeconds":61,"dataAgeSeconds":61}}`,
		2: `{"citation":{"ref":2,"sourceId":"two","url":"https://two.test/","fetchedAt":"2026-11-20T20:04:02.34Z"},` +
			`"source":{"id":"two","name":"Two","publicUrl":"https://two.test/"},"freshness":{"generatedAt":"2026-11-20T20:05:02.34Z","ageSeconds":61,"dataAgeSeconds":61}}`,
	} {
		got := w.get(t, api.Query{Op: api.OpCite, Pack: "crypto", Ref: ref}, api.TierFree)
		if !sameJSON(t, got.JSON, want) || got.Body != nil || got.Immutable {
			t.Errorf("[%d]\n got %s\nwant %s", ref, got.JSON, want)
		}
	}
	for _, ref := range []int{3, 4, 1 << 62, int(^uint(0) >> 1)} {
		_, err := w.ask(t.Context(), api.Query{Op: api.OpCite, Pack: "crypto", Ref: ref}, api.TierEnterprise)
		refused(t, "cite above N", err, api.Error{Code: api.CodeCitationNotFound, Reason: api.ReasonCitationNotFound,
			Status:  http.StatusNotFound,
			Message: "pack crypto has 2 sources, none is [" + number(ref) + "]", Hint: "use a ref from 1 to 2"})
	}
}

func TestSearch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const freshness = `"freshness":{"generatedAt":"2026-11-20T20:05:02.34Z","ageSeconds":61,"dataAgeSeconds":61}}`
	for _, c := range []struct {
		q    string
		k    int
		want string
	}{
		{"bitcoin", 10,
			`{"matches":[{"path":"coins[0].name","value":"Bitcoin","score":1},{"path":"coins[1].name","value":"bitcoins < 21M","score":0.5}],"total":2,`},
		{"BITCOIN", 1, `{"matches":[{"path":"coins[0].name","value":"Bitcoin","score":1}],"total":2,`},
		{"up", 50, `{"matches":[{"path":"coins[0].up","value":true,"score":1}],"total":1,`},
		{"1.5", 50, `{"matches":[{"path":"coins[1].price","value":1.50,"score":0.5}],"total":1,`},
		{"none", 50, `{"matches":[],"total":0,`},
	} {
		got := w.get(t, api.Query{Op: api.OpSearch, Pack: "crypto", Text: c.q, Limit: c.k}, api.TierFree)
		if !sameJSON(t, got.JSON, c.want+freshness) || got.Body != nil || got.Immutable {
			t.Errorf("%q\n got %s\nwant %s%s", c.q, got.JSON, c.want, freshness)
		}
	}
	w.clock(newest().Add(-time.Hour)) // a clock that went back
	got := w.get(t, api.Query{Op: api.OpSearch, Pack: "crypto", Text: "none", Limit: 1}, api.TierFree)
	if age := decode[api.SearchResponse](t, got.JSON).Freshness.AgeSeconds; age != 0 {
		t.Errorf("age %d", age)
	}
}

// TestAnswerWithoutOperation: a stream is no answer, and what is no operation is a bug of ours, not of the caller.
func TestAnswerWithoutOperation(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, op := range []api.Op{api.OpSubscribe, "", "FRESH", "delete"} {
		_, err := w.ask(t.Context(), api.Query{Op: op, Pack: "crypto"}, api.TierFree)
		internal(t, string(op), err)
	}
}

// internal fails unless err is one whose cause the caller must not see.
func internal(t testing.TB, what string, err error) {
	t.Helper()
	var e *api.Error
	if err == nil || errors.As(err, &e) {
		t.Errorf("%s: %v is not an internal error", what, err)
	}
	if got := api.AsError(err); got.Status != http.StatusInternalServerError || got.Reason != api.ReasonInternal {
		t.Errorf("%s is answered with %d %s", what, got.Status, got.Reason)
	}
}

// TestClockDefault: without a clock a reader takes the real one, which is past the newest state of this test.
func TestClockDefault(t *testing.T) {
	t.Parallel()
	f := feed.New("crypto")
	if err := f.Publish(pulse("crypto", time.Unix(0, 0).UTC(), `{}`), state.Narration{}, nil); err != nil {
		t.Fatal(err)
	}
	r := reader.New(reader.Config{Packs: []reader.Pack{newPack("crypto")}, Feed: f, History: &memory{}})
	view, err := r.Ready(api.Query{Op: api.OpCite, Pack: "crypto", Ref: 1})
	if err != nil {
		t.Fatal(err)
	}
	a, err := r.Answer(context.Background(), view, 24*time.Hour)
	if err != nil || decode[api.CiteResponse](t, a.JSON).Freshness.AgeSeconds < 1e9 {
		t.Errorf("%s, %v", a.JSON, err)
	}
}

// TestMembersAreOneRequest: members are one request however they are written, none are the request that fresh always was, and what the
// state
// has not is refused.
func TestMembersAreOneRequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, op := range []api.Op{api.OpFresh, api.OpSubscribe} {
		for parameters, want := range map[string]string{
			"": "", "pack=crypto": "", "members=": "", "members=,+,": "", "members=b,a": "members=a%2Cb",
			"members=+a,b,,a": "members=a%2Cb", "pack=ai&members=a": "members=a&pack=ai",
		} {
			values, _ := url.ParseQuery(parameters)
			values.Set("token", "cv_test") // of subscribe
			q, err := api.Parse(op, api.FaceHTTP, values)
			canonical := q.Canonical()
			if err != nil || canonical != want {
				t.Errorf("%s %q is %q, %v", op, parameters, canonical, err)
			}
		}
		for members, want := range map[string]string{"coins": "", "": "", "coin": `"coin"`, "coins,x": `"x"`, "Coins": `"Coins"`,
			"coins[0]": `"coins[0]"`} {
			_, err := w.Ready(api.Query{Op: op, Pack: "crypto", Members: members})
			if want == "" {
				if err != nil {
					t.Errorf("%s: %v", members, err)
				}
				continue
			}
			refused(t, members, err, api.Error{Code: api.CodeValidation, Reason: api.ReasonInvalidMembers, Status: http.StatusBadRequest,
				Message: "the state of pack crypto has no member " + want, Hint: "members: coins; leave it out for all"})
		}
	}
	values, _ := url.ParseQuery("members=a")
	if q, _ := api.Parse(api.OpBrief, api.FaceHTTP, values); q.Canonical() != "" {
		t.Errorf("brief has no members, and asks %q", q.Canonical())
	}
}
