package brief_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/contextd/contextd/daemon/brief"
	"github.com/contextd/contextd/daemon/brief/ground"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/jsonx"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// shownFigure is a figure in prose, and usual is what is said of spans and anchors, which are none.
var (
	shownFigure = regexp.MustCompile(`\$?\d[\d,]*(?:\.\d+)?`)
	usual       = regexp.MustCompile(`\b(?:24 hours|24h|7 days|7d|1h|24-hour)\b|\[\d+\]`)
)

// TestEveryFigureIsBacked: each figure of the built-in briefs of recorded states has a claim whose path holds a value, in a row that it lies in.
func TestEveryFigureIsBacked(t *testing.T) {
	t.Parallel()
	total := 0
	for _, name := range []string{"tick1", "tick2", "tick3", "degraded"} {
		in := input(t, readState(t, name))
		text := write(t, in)
		claims, err := ground.Claims(text, in.State, in.Citations)
		if err != nil {
			t.Fatal(err)
		}
		values := map[string]string{}
		if err := jsonx.Walk(in.State.Text(), func(v *jsonx.Value) error {
			values[v.Path()] = string(v.Raw)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		runes := []rune(text)
		covered := make([]bool, len(text)+1) // bytes
		for _, c := range claims {
			if string(runes[c.Start:c.End]) != c.Text {
				t.Errorf("%s: the claim %+v stands at %q", name, c, string(runes[c.Start:c.End]))
			}
			if values[c.Path] == "" || !strings.HasPrefix(c.Path, strings.TrimRight(c.Row, "[0123456789]")) || c.Ref < 1 {
				t.Errorf("%s: the claim %+v holds %q", name, c, values[c.Path])
			}
			from := len(string(runes[:c.Start]))
			for i := from; i < from+len(string(runes[c.Start:c.End])); i++ {
				covered[i] = true
			}
		}
		plain := usual.ReplaceAllStringFunc(text, func(s string) string { return strings.Repeat("_", len(s)) })
		for _, at := range shownFigure.FindAllStringIndex(plain, -1) {
			if r := plain[:at[0]]; r != "" && strings.ContainsAny(r[len(r)-1:], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-") {
				continue // of a name, as V3
			}
			total++
			if !covered[at[0]] {
				t.Errorf("%s: nothing backs %q in %q", name, plain[at[0]:at[1]], text[max(0, at[0]-60):min(len(text), at[1]+30)])
			}
		}
	}
	if total < 100 {
		t.Errorf("there were only %d figures", total)
	}
}

// TestClaimNamesItsRow: of several rows with one figure the one that is named backs it.
func TestClaimNamesItsRow(t *testing.T) {
	t.Parallel()
	doc := state.Read([]byte(`{"aflags":[{"id":"h","subject":"Beta","value":4.2,"threshold":4,"unit":"pct","ref":1}],"rows":[{"id":"a","name":"Alpha","pct":4.2,"ref":1},{"id":"b","name":"Beta","pct":4.2,"ref":1}],
		"flags":[{"id":"f","message":"Gamma lost $31.0M","ref":2},{"id":"g","message":"more","ref":2}]}`))
	text := "Beta (4.2%) and Alpha (4.2%) rose [1]. Gamma lost $31.0M [2]. There are 2 flags [2]."
	claims, err := ground.Claims(text, doc, citations())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range claims {
		got = append(got, c.Text+" "+c.Row+" "+c.Path)
	}
	want := "4.2% rows[1] rows[1].pct|4.2% rows[0] rows[0].pct|$31.0M flags[0] flags[0].message|2 flags[0] flags"
	if strings.Join(got, "|") != want {
		t.Errorf("the claims are %s", strings.Join(got, "|"))
	}
}

// TestFiguresOfOurOwnWriterAreFromItsRows: each figure of a built-in brief is claimed of the value that it was written from, without a search.
func TestFiguresOfOurOwnWriterAreFromItsRows(t *testing.T) {
	t.Parallel()
	total := 0
	for _, c := range situations() {
		s := readState(t, c.from)
		if c.make != nil {
			c.make(s)
		}
		in := input(t, s)
		draft, err := brief.BuiltIn().Write(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		claims, err := ground.Claims(draft.Text, in.State, in.Citations, draft.Origins...)
		if err != nil {
			t.Fatal(err)
		}
		total += len(claims)
		for _, claim := range claims {
			from := slices.IndexFunc(draft.Origins, func(o ground.Origin) bool { return o.Start <= claim.Start && claim.End <= o.End })
			if from < 0 || draft.Origins[from].Path != claim.Path {
				t.Errorf("%s: %q is claimed of %s, which is not where the writer has it from", c.name, claim.Text, claim.Path)
			}
		}
	}
	if total < 400 {
		t.Errorf("there were only %d claims", total)
	}
}

// TestClaimsOfEqualFigures: of two rows with one name and one figure that one is claimed which the writer told of.
func TestClaimsOfEqualFigures(t *testing.T) {
	t.Parallel()
	s := readState(t, "tick3")
	major := slices.IndexFunc(s.TopMovers, func(m api.Mover) bool { return m.Group == api.GroupMajor })
	twin := s.TopMovers[major]
	twin.Group, twin.ID = "watched", "twin"
	s.TopMovers = append([]api.Mover{twin}, s.TopMovers...)
	in := input(t, s)
	editor := brief.NewEditor(t.Context(), brief.EditorConfig{Packs: func() []string { return []string{api.PackCrypto} }})
	defer editor.Close()
	of := state.Pulse{Pack: api.PackCrypto, State: in.State.Text(), Citations: in.Citations}
	for writer, want := range map[string]string{brief.BuiltIn().Name(): "top_movers[1].priceUsd", "a model": "top_movers[0].priceUsd"} {
		claims, err := editor.Claims(t.Context(), state.Brief{Text: write(t, in), Writer: writer}, of)
		if err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(claims, func(c ground.Claim) bool { return strings.HasSuffix(c.Path, "].priceUsd") })
		if at < 0 || claims[at].Path != want || claims[at].Row != strings.TrimSuffix(want, ".priceUsd") {
			t.Errorf("by %s: %+v, want %s", writer, claims[max(at, 0)], want)
		}
	}
}

// TestClaimsOfSentences: the writer of a manifest's sentences tells where its figures are from, of rows that look alike.
func TestClaimsOfSentences(t *testing.T) {
	t.Parallel()
	resolve := func(name string) (string, error) { return name, nil }
	template := func(text string) human.Template {
		parsed, err := human.ParseTemplate(text, resolve)
		if err != nil {
			t.Fatal(err)
		}
		return parsed
	}
	in := brief.Input{Pack: "tides", Citations: citations(), State: state.Read([]byte(`{"tides":[
		{"id":"a","name":"Harbour","levelM":2.4,"movePct":3.1,"ref":1},
		{"id":"b","name":"Harbour","levelM":2.4,"movePct":3.1,"ref":1},
		{"id":"c","name":"Harbour","levelM":2.4,"movePct":3.1,"rank":2,"ref":1}],
		"flags":[{"id":"x","kind":"k","subject":"Harbour",
		"value":2.4,"threshold":2,"unit":"m","message":"harbour at 2.4 m","ref":1}],"source_status":[]}`))}
	by := 1.0
	writer := brief.BySentences("Tides", []brief.Sentence{{
		Over: "tides", By: "rank", Above: &by, Before: template("{name} stands at {levelM}, {movePct|move}!"),
	}})
	draft, err := writer.Write(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	claims, err := ground.Claims(draft.Text, in.State, in.Citations, draft.Origins...)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range claims {
		got = append(got, c.Text+" "+c.Path)
	}
	want := "2.4 flags[0].message|2.4 tides[2].levelM|3.1% tides[2].movePct"
	starts := strings.HasPrefix(draft.Text, "Harbour at 2.4 m [1].\n\nHarbour stands at 2.4, up 3.1% [1].\n\n")
	if strings.Join(got, "|") != want || !starts {
		t.Errorf("got %q of %s", got, draft.Text)
	}
}
