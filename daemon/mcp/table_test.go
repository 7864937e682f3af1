package mcp_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/brief"
	"github.com/contextd/contextd/daemon/feed"
	"github.com/contextd/contextd/daemon/mcp"
	"github.com/contextd/contextd/daemon/pack"
	"github.com/contextd/contextd/daemon/reader"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// recorded is the state of a tick that the demo plays, and the answer of fresh to it, with its brief.
func recorded(t *testing.T, tick string) (doc []byte, s api.CryptoState, body []byte) {
	t.Helper()
	text, err := os.ReadFile("../pack/testdata/" + tick + ".golden.json")
	if err != nil {
		t.Fatal(err)
	}
	if doc, err = json.Marshal(json.RawMessage(text)); err != nil { // which makes it compact
		t.Fatal(err)
	}
	if err := json.Unmarshal(doc, &s); err != nil {
		t.Fatal(err)
	}
	var at time.Time // a little after the last source was read
	for _, source := range s.SourceStatus {
		if source.FetchedAt != nil && source.FetchedAt.After(at) {
			at = source.FetchedAt.Add(3 * time.Second)
		}
	}
	p := state.Pulse{Pack: api.PackCrypto, GeneratedAt: at, State: doc, Citations: pack.Crypto().Citations(state.Read(doc), s.SourceStatus, at)}
	draft, err := brief.BuiltIn().Write(t.Context(), brief.Input{Pack: p.Pack, State: state.Read(doc), Citations: p.Citations})
	if err != nil {
		t.Fatal(err)
	}
	b, err := feed.FreshBody(p, state.Narration{Brief: state.Brief{Text: draft.Text, At: at, Of: at}})
	if err != nil {
		t.Fatal(err)
	}
	return doc, s, b.Bytes(at.Add(5 * time.Second))
}

// TestFreshIsShort bounds what fresh costs on what the demo plays, and has all in it that a model may need.
func TestFreshIsShort(t *testing.T) {
	t.Parallel()
	for _, tick := range []string{"tick1", "tick2", "tick3", "degraded"} {
		doc, s, body := recorded(t, tick)
		const most, mostState = 10 << 10, 24 << 10
		text := mcp.TextOf(api.Query{Op: api.OpFresh, Pack: "crypto"}, reader.Answer{}, body)
		t.Logf("%s: the state has %d bytes, its text %d", tick, len(doc), len(text))
		if len(text) > most || len(doc) > mostState {
			t.Errorf("%s: the state has %d bytes, its text %d\n%s", tick, len(doc), len(text), text)
		}
		has := func(what string) {
			if !strings.Contains(text, strings.ReplaceAll(what, "|", "/")) {
				t.Errorf("%s: the text has no %q", tick, what)
			}
		}
		for _, m := range s.TopMovers {
			has(m.Name)
			has(m.Symbol)
		}
		for _, f := range s.Flags {
			has(f.Message)
		}
		for _, n := range s.Narratives {
			has(n.Name)
			for _, h := range n.Headlines {
				has(h.Title)
			}
		}
		for _, p := range s.Sentiment.Predictions {
			has(p.Question)
		}
		for _, source := range s.SourceStatus {
			if n := strings.Count(text, "] "+source.ID+" "); n != 1 {
				t.Errorf("%s: %s stands there %d times", tick, source.ID, n)
			}
		}
	}
}

// TestSearchText has the rows in which words are, with their figures, and what to do where none is.
func TestSearchText(t *testing.T) {
	t.Parallel()
	doc, _, _ := recorded(t, "tick3")
	none := []byte(`{"matches":[],"total":0,"freshness":{"generatedAt":"2026-11-20T20:10:03Z","ageSeconds":5,"dataAgeSeconds":5}}`)
	for q, want := range map[string][]string{
		"SEC": {"No row", `lookup with q="SEC"`}, "zcash": {"4 of 4 rows", "top_movers: Zcash (ZEC) group gainer · $434.21 · 1h +3.56%", " [1]\n", "narratives: \"Zcash tops 20%", "flags: "},
		"fees": {"sentiment: fees btc fastest 9 sat/vB [16]"}, "breadth": {"1 of 1 row ", "advancing 32 · declining 55", "[1]"}, "flags": {"4 of 6 rows", "$44.5M loss reported", "severity critical"},
		"fearGreed": {"sentiment: fearGreed 24 · \"Extreme Fear\""}, "price of zcash": {"2 of 2 rows", "top_movers: Zcash (ZEC)"},
	} {
		text := mcp.TextOf(api.Query{Op: api.OpSearch, Pack: "crypto", Text: q, Limit: 4}, reader.Answer{Searched: state.Read(doc)}, none)
		for _, part := range want {
			if !strings.Contains(text, part) {
				t.Errorf("%s: no %q in %s", q, part, text)
			}
		}
	}
	replayed := []byte(`{"matches":[{"path":"a[0].b","value":"x","score":1}],"total":1,"freshness":{"generatedAt":"2026-11-20T20:10:03Z","ageSeconds":5}}`)
	if text := mcp.TextOf(api.Query{Op: api.OpSearch, Pack: "crypto", Text: "x", Limit: 4}, reader.Answer{}, replayed); !strings.Contains(text, `a[0].b = "x"`) {
		t.Errorf("an answer that was kept reads %s", text)
	}
}

// TestPartText has the members that were asked for and the sources that they name, and no brief.
func TestPartText(t *testing.T) {
	t.Parallel()
	body := []byte(`{"state":{"flags":[{"id":"a","message":"X is down","ref":2}]},"brief":"Quiet [1].","citations":[{"ref":1,"sourceId":"one","url":"https://one.test/"},` +
		`{"ref":2,"sourceId":"two","url":"https://www.two.test/x/"}],"freshness":{"generatedAt":"2026-11-20T20:10:03Z","ageSeconds":5,"dataAgeSeconds":5}}`)
	text := mcp.TextOf(api.Query{Op: api.OpFresh, Pack: "crypto", Members: "flags"}, reader.Answer{}, body)
	if _, rest, _ := strings.Cut(text, "\n"); rest != "\n## flags [2]\nmessage\n\"X is down\"\n\n## sources\n[2] two two.test/x\n" {
		t.Errorf("the text is %s", text)
	}
}

// TestSnapshotText says of which moment it is, of when the state was then, and how old at its end.
func TestSnapshotText(t *testing.T) {
	t.Parallel()
	body := []byte(`{"state":{},"brief":"","citations":[],"freshness":{"generatedAt":"2026-11-20T20:03:44Z","ageSeconds":76,"dataAgeSeconds":76}}`)
	for at, want := range map[string]string{
		"2026-11-20T20:04":          "Pack crypto as of the minute 2026-11-20T20:04 UTC, its age taken at the end of that: state of 2026-11-20T20:03:44Z, 76 s old.",
		"2026-11-20T20:03:44.5Z":    "Pack crypto as of 2026-11-20T20:03:44.500Z: state of 2026-11-20T20:03:44Z, 76 s old.",
		"2026-11-20T21:04:00+01:00": "Pack crypto as of the minute 2026-11-20T20:04 UTC, ",
	} {
		moment, err := api.ParseMoment(at)
		if err != nil {
			t.Fatal(err)
		}
		if text := mcp.TextOf(api.Query{Op: api.OpSnapshot, Pack: "crypto", At: moment}, reader.Answer{}, body); !strings.HasPrefix(text, want) {
			t.Errorf("%s: %s", at, text)
		}
	}
}
