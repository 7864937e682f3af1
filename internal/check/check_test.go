package check_test

import (
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/internal/check"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// TestCitedRow: where no word says what is measured, what a cited row says now verifies a figure, and what it once said does not.
func TestCitedRow(t *testing.T) {
	t.Parallel()
	kinds := []state.Kind{{Name: "deal", Fields: []state.Field{
		{Name: "feePct", Words: []string{"fee"}}, {Name: "sharePct", Words: []string{"share"}}}}}
	rows := []state.Row{{Kind: "deal", Key: "widget", Entity: "widget", Name: "Widget", Ref: 1,
		Fields: api.Fields{{Name: "feePct", Value: 4.0}, {Name: "sharePct", Value: 61.0}}}}
	at := time.Date(2026, 11, 20, 20, 5, 0, 0, time.UTC)
	m := check.Material{At: at, Tables: state.NewTables(kinds, rows), State: state.Read([]byte(`{}`)), Within: api.CheckWithin, All: true,
		Earlier: func(_, _, field string) []state.Point {
			return map[string][]state.Point{"feePct": {{At: at.Add(-5 * time.Minute), Value: 5.2}}}[field]
		}}
	for _, c := range []struct{ text, want string }{
		{"Widget gives 4% [1].", "verified"}, {"Widget gives 61% [1].", "verified"}, {"Widget gives 4% [2].", "unknown no_such_field"},
		{"Widget gives 4%.", "unknown no_such_field"}, {"Widget gives 5.2% [1].", "unknown ambiguous_field"},
		{"Widget is at 30% [1].", "unknown ambiguous_field"}, {"The fee of Widget is 5.2% [1].", "verified"},
	} {
		f := check.Judge(c.text, m).Findings[0]
		if got := strings.TrimSpace(string(f.Verdict) + " " + string(f.Reason)); got != c.want {
			t.Errorf("%q is %s, want %s: %+v", c.text, got, c.want, f)
		}
	}
}

// TestRowOfTheSameName: where a sentence cites one of two rows with a name, the other one verifies nothing.
func TestRowOfTheSameName(t *testing.T) {
	t.Parallel()
	field := []state.Field{{Name: "change24hPct", Words: []string{"change"}}}
	m := check.Material{At: time.Date(2026, 11, 20, 20, 5, 0, 0, time.UTC), State: state.Read([]byte(`{}`)), All: true,
		Tables: state.NewTables([]state.Kind{{Name: "coin", Fields: field}, {Name: "chain", Fields: field}}, []state.Row{
			{Kind: "coin", Key: "w", Entity: "w", Name: "Widget", Ref: 1, Fields: api.Fields{{Name: "change24hPct", Value: 3.1}}},
			{Kind: "chain", Key: "w", Entity: "w", Name: "Widget", Ref: 6, Fields: api.Fields{{Name: "change24hPct", Value: 7.4}}},
		})}
	for text, want := range map[string]api.CheckVerdict{
		"Widget is up 3.1% [1].": api.CheckVerified, "Widget is up 7.4% [1].": api.CheckUnknown, "Widget is up 7.4% [6].": api.CheckVerified,
		"Widget is up 7.4%.": api.CheckVerified, "Widget is up 7.4% [2].": api.CheckVerified, "Widget is up 3.1% [1][6].": api.CheckVerified,
	} {
		if f := check.Judge(text, m).Findings[0]; f.Verdict != want {
			t.Errorf("%q is %s, want %s: %+v", text, f.Verdict, want, f)
		}
	}
}
