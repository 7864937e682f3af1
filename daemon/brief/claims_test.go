package brief_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/contextd/contextd/daemon/brief/ground"
	"github.com/contextd/contextd/internal/jsonx"
	"github.com/contextd/contextd/internal/state"
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
