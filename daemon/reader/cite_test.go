package reader_test

import (
	"encoding/json"
	"net/url"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/feed"
	"github.com/contextd/contextd/daemon/reader"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// shownWorld is a reader of one pack, whose states show coins, and whose newest state has fewer sources than the one before.
func shownWorld(t *testing.T, brief state.Narration) *reader.Reader {
	t.Helper()
	before := pulse("crypto", newest().Add(-time.Hour),
		`{"coins":[{"id":"btc","name":"Bitcoin","priceUsd":90000,"ref":2},{"id":"none","name":"None","priceUsd":1}]}`)
	now := pulse("crypto", newest(), `{"coins":[{"id":"btc","name":"Bitcoin","priceUsd":91000,"ref":1}]}`)
	now.Citations = now.Citations[:1]
	f := feed.New("crypto")
	if err := f.Publish(now, brief, nil); err != nil {
		t.Fatal(err)
	}
	p := newPack("crypto")
	p.Shown = []state.Shown{{Kind: "asset", Path: "coins", Label: "name", Fields: []state.ShownField{{Name: "priceUsd"}}}}
	return reader.New(reader.Config{
		Packs: []reader.Pack{p}, Feed: f, History: &memory{pulses: []state.Pulse{before, now}},
		Now: func() time.Time { return newest().Add(time.Minute) },
	})
}

// TestCiteOfAnEarlierState: the source, the row and the age are those of that state, whatever the newest one has.
func TestCiteOfAnEarlierState(t *testing.T) {
	t.Parallel()
	r := shownWorld(t, state.Narration{})
	then := api.Moment{At: newest().Add(-time.Hour), Exact: true}
	cite := func(q api.Query) (api.CiteResponse, error) {
		q.Op, q.Pack = api.OpCite, "crypto"
		view, err := r.Ready(q)
		if err != nil {
			t.Fatal(err)
		}
		var c api.CiteResponse
		a, err := r.Answer(t.Context(), view, 24*time.Hour)
		if err == nil && json.Unmarshal(a.JSON, &c) != nil {
			t.Fatalf("%s", a.JSON)
		}
		return c, err
	}
	c, err := cite(api.Query{Ref: 2, Row: "asset/btc", At: then})
	if err != nil || c.Citation.SourceID != "two" || c.Source.PublicURL != "https://two.test/" ||
		c.Citation.Excerpt != "Bitcoin $90,000.00" ||
		!c.Freshness.GeneratedAt.Equal(then.At) || c.Freshness.AgeSeconds != 3660 {
		t.Errorf("it is %+v, %v", c, err)
	}
	for what, q := range map[string]api.Query{
		"a row without a source": {Ref: 1, Row: "asset/none", At: then}, "a source that is no more": {Ref: 2},
		"a row of another": {Ref: 1, Row: "asset/btc", At: then},
	} {
		if c, err := cite(q); api.AsError(err).Reason != api.ReasonCitationNotFound {
			t.Errorf("%s is %+v, %v", what, c, err)
		}
	}
}

// TestClaimsAreOfTheirState: another state than the one a brief was written from backs nothing in it.
func TestClaimsAreOfTheirState(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		of   time.Time
		text string
		want int
	}{
		{newest(), "Bitcoin trades at $91,000 [1].", 1}, {newest(), "Bitcoin trades at $90,000 [1].", 0},
		{newest().Add(-time.Hour), "Bitcoin trades at $90,000 [2].", 1},
		{newest().Add(-30 * time.Minute), "Bitcoin trades at $90,000 [2].", 0}, // that state was pruned
	} {
		r := shownWorld(t, state.Narration{Brief: state.Brief{Text: c.text, At: newest(), Of: c.of}})
		view, err := r.Ready(api.Query{Op: api.OpBrief, Pack: "crypto", Claims: true})
		if err != nil {
			t.Fatal(err)
		}
		a, err := r.Answer(t.Context(), view, time.Hour)
		var b api.BriefResponse
		if err != nil || json.Unmarshal(a.Text(newest()), &b) != nil || len(b.Claims) != c.want {
			t.Errorf("%q of %v: %+v, %v", c.text, c.of, b.Claims, err)
		}
	}
}

// TestClaimsAreAsked: claims is a switch of fresh and brief, and nothing to the others.
func TestClaimsAreAsked(t *testing.T) {
	t.Parallel()
	for _, op := range api.Ops() {
		takes := op == api.OpFresh || op == api.OpBrief
		q, err := api.Parse(op, api.FaceHTTP, url.Values{"claims": {"x"}, "token": {"cv_test"}, "q": {"a"}, "ref": {"1"},
			"at":    {"2026-11-20T20:05"},
			"since": {"-1m"}, "path": {"a/b"}, "member": {"flags"}, "from": {"2026-11-20T20:05"}, "every": {"5m"}})
		if (api.AsError(err).Reason == api.ReasonInvalidRequest) != takes && err != nil || !takes && q.Claims {
			t.Errorf("%s with claims=x: %q, %v", op, q.Canonical(), err)
		}
	}
}
