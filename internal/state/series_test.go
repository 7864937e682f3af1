package state_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// shown is a pack with two kinds in one list, one alone, and shares.
func shown() []state.Shown {
	return []state.Shown{
		{Kind: "coin", Path: "list", Label: "name", Groups: []string{"a", "b"}, Fields: []state.ShownField{{Name: "price"}, {Name: "day",
			In: "change1d"}}},
		{Kind: "chain", Path: "list", Label: "name", Groups: []string{"c"}, Prefix: "chain:", Fields: []state.ShownField{{Name: "tvl"}}},
		{Kind: "whole", Path: "mood.market", Key: "all", Label: "The market", Fields: []state.ShownField{{Name: "cap"}}},
		{Kind: "bet", Path: "mood.bets", Label: "question", Fields: []state.ShownField{{Name: "oddsPct", In: "odds", Share: true}}},
	}
}

// draw writes the rows of the series of path over docs.
func draw(path, field string, docs ...string) string {
	newest := docs[len(docs)-1]
	s := state.NewSeries(shown(), path, field, state.Read([]byte(newest)))
	for _, doc := range docs {
		if doc == "again" {
			s.Again()
		} else {
			s.Add([]byte(doc))
		}
	}
	var rows []string
	for _, r := range s.Rows() {
		row := fmt.Sprintf("%s/%s %q %s", r.Kind, r.Key, r.Name, r.Field)
		for _, v := range r.Values {
			if v == nil {
				row += " -"
			} else {
				row += fmt.Sprintf(" %v", *v)
			}
		}
		rows = append(rows, row)
	}
	return strings.Join(rows, "; ")
}

func TestSeries(t *testing.T) {
	t.Parallel()
	first := `{"list":[{"group":"a","id":"x","name":"X","price":1.5,"change1d":-2},{"group":"c","id":"chain:x","name":"X chain","tvl":7}],
		"mood":{"market":null,"bets":[{"id":"q","question":"Will it?","odds":0.29}]}}`
	second := `{"mood":{"market":{"cap":100},"bets":[]},"list":[{"group":"b","id":"y","name":"Y","price":null},{"group":"a","id":"x","name":"X2","price":2},
		{"group":"b","id":"x","name":"again","price":3},{"group":"c","id":"chain:x","name":"X chain","tvl":"8"},{"group":"a","id":"","price":1},7,
		{"group":"d","id":"z","price":1},{"group":"c","id":"no chain","tvl":1}]}`
	for path, want := range map[string]string{
		"list price":         `coin/y "Y" price - -; coin/x "X2" price 1.5 2`,
		"list ":              `coin/y "Y" price - -; coin/x "X2" price 1.5 2; chain/x "X chain" tvl 7 -`,
		"list day":           `coin/y "Y" day - -; coin/x "X2" day -2 -`,
		"list change1d":      `coin/y "Y" day - -; coin/x "X2" day -2 -`,
		"list tvl":           `chain/x "X chain" tvl 7 -`,
		"coin/x ":            `coin/x "X2" price 1.5 2`,
		"coin/gone ":         `coin/gone "gone" price - -`,
		"coin/a/b ":          `coin/a/b "a/b" price - -`,
		"chain/x ":           `chain/x "X chain" tvl 7 -`,
		"whole/all ":         `whole/all "The market" cap - 100`,
		"mood ":              `whole/all "The market" cap - 100`,
		"mood.market cap":    `whole/all "The market" cap - 100`,
		"mood.bets ":         ``,
		"bet/q ":             `bet/q "Will it?" oddsPct 29 -`,
		"bet/q odds":         `bet/q "Will it?" oddsPct 29 -`,
		"mood.bets nonsense": ``,
	} {
		p, f, _ := strings.Cut(path, " ")
		if got := draw(p, f, first, second); got != want {
			t.Errorf("%s:\n got %s\nwant %s", path, got, want)
		}
	}
	if got, want := draw("coin/x", "", "", "again", first, "again", second), `coin/x "X2" price - - 1.5 1.5 2`; got != want {
		t.Errorf("states that stay: %s, want %s", got, want)
	}
}

// TestSeriesAreBounded: a member with more rows than an answer may have shows the first.
func TestSeriesAreBounded(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]int{api.MaxSeriesRows - 1: api.MaxSeriesRows - 1, api.MaxSeriesRows: api.MaxSeriesRows,
		api.MaxSeriesRows + 1: api.MaxSeriesRows} {
		rows := make([]string, n)
		for i := range rows {
			rows[i] = fmt.Sprintf(`{"group":"a","id":"c%d"}`, i)
		}
		doc := []byte(`{"list":[` + strings.Join(rows, ",") + `]}`)
		if got := state.NewSeries(shown(), "list", "", state.Read(doc)).Rows(); len(got) != want || got[want-1].Key != fmt.Sprintf("c%d",
			want-1) {
			t.Errorf("%d of %d rows, the last is %+v", len(got), n, got[len(got)-1])
		}
	}
}

func TestCheckSeries(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]api.Reason{
		"list ": "", "list price": "", "list tvl": "", "coin/x ": "", "coin/a/b day": "", "coin/x change1d": "", "whole/all cap": "",
		"mood.market ": "",
		"coin/x tvl":   api.ReasonInvalidField, "list cap": api.ReasonInvalidField, "mood price": api.ReasonInvalidField,
		"list Price": api.ReasonInvalidField,
		"":           api.ReasonInvalidPath, "lis ": api.ReasonInvalidPath, "coin ": api.ReasonInvalidPath, "coin/ ": api.ReasonInvalidPath,
		"/x ":          api.ReasonInvalidPath,
		"whole/other ": api.ReasonInvalidPath, "list/x ": api.ReasonInvalidPath, "mood.m ": api.ReasonInvalidPath,
		"list[0] ": api.ReasonInvalidPath,
	} {
		p, f, _ := strings.Cut(path, " ")
		err := state.CheckSeries(shown(), p, f)
		switch e := api.AsError(err); {
		case err == nil && want != "":
			t.Errorf("%q: allowed", path)
		case err != nil && e.Reason != want:
			t.Errorf("%q: %v, want %s", path, e, want)
		case err != nil && want == api.ReasonInvalidPath && e.Hint != "use a member, for the rows now in it, "+
			"or a row as kind/key: list, coin/…, chain/…, mood, whole/…, bet/…":
			t.Errorf("%q: hint %s", path, e.Hint)
		}
	}
	if e := api.AsError(state.CheckSeries(shown(), "list", "x")); e.Hint != "fields with a history: price, day, tvl" {
		t.Errorf("hint %s", e.Hint)
	}
}

// TestIsFirst: a field says nothing where each kind of rows has it first.
func TestIsFirst(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]bool{
		"coin/x price": true, "coin/x day": false, "list price": false, "list tvl": false, "whole/all cap": true, "mood.market cap": true,
		"coin/x tvl": false,
		"lis price":  false, "coin/x ": true,
	} {
		p, f, _ := strings.Cut(path, " ")
		if got := state.IsFirst(shown(), p, f); got != want {
			t.Errorf("%q: %v", path, got)
		}
	}
}

func TestTimes(t *testing.T) {
	t.Parallel()
	end := time.Date(2026, 11, 20, 20, 5, 2, 340e6, time.UTC)
	for _, c := range []struct {
		span   time.Duration
		points int
	}{{time.Hour, 2}, {24 * time.Hour, 60}, {24 * time.Hour, 288}, {365 * 24 * time.Hour, 288}, {4000 * 24 * time.Hour, 288}, {time.Hour,
		7}} {
		times := state.Times(end, c.span, c.points)
		if len(times) != c.points || !times[0].Equal(end.Add(-c.span)) || !times[c.points-1].Equal(end) {
			t.Errorf("%d points of %v: %d from %v to %v", c.points, c.span, len(times), times[0], times[len(times)-1])
		}
		step := c.span / time.Duration(c.points-1)
		for i := 1; i < len(times); i++ {
			if got := times[i].Sub(times[i-1]) - step; got > time.Millisecond || got < -time.Millisecond {
				t.Errorf("%d points of %v: step %d is %v off", c.points, c.span, i, got)
			}
		}
	}
}
