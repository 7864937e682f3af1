package view_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"github.com/contextd/contextd/internal/chance"
	"github.com/contextd/contextd/tui/view"
)

func plain() view.Theme { return view.NewTheme(view.Plain, view.NoColor, false) }

func TestBox(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		box           view.Box
		lines         []string
		width, height int
		want          string
	}{
		"title and note":  {view.Box{Title: "T", Note: "n"}, []string{"a", "b is long"}, 12, 4, "╭─ T ── n ─╮\n│a         │\n│b is long │\n╰──────────╯"},
		"cut":             {view.Box{Title: "a long title"}, []string{"abcdefghijkl", "x", "y"}, 10, 3, "╭─ a l… ─╮\n│abcdefg…│\n╰────────╯"},
		"no title":        {view.Box{}, nil, 6, 3, "╭────╮\n│    │\n╰────╯"},
		"note in no room": {view.Box{Title: "title", Note: "a note"}, nil, 14, 2, "╭─ title ────╮\n╰────────────╯"},
		"nothing":         {view.Box{Title: "T"}, nil, 3, 1, "   "},
	} {
		if got := strings.Join(test.box.Draw(plain(), test.lines, test.width, test.height), "\n"); got != test.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, test.want)
		}
	}
}

// TestBoxFits: a box has the size that it was told, whatever is in it.
func TestBoxFits(t *testing.T) {
	t.Parallel()
	chance.Check(t, func(t *rapid.T) {
		line := rapid.Custom(func(t *rapid.T) string { return view.Line(rapid.String().Draw(t, "line")) })
		box := view.Box{Title: line.Draw(t, "title"), Note: line.Draw(t, "note"), Focus: rapid.Bool().Draw(t, "focus")}
		width, height := rapid.IntRange(0, 60).Draw(t, "width"), rapid.IntRange(0, 8).Draw(t, "height")
		th := view.NewTheme(rapid.SampledFrom(view.ThemeNames()).Draw(t, "theme"), view.Colors256, rapid.Bool().Draw(t, "ascii"))
		lines := box.Draw(th, rapid.SliceOfN(line, 0, 9).Draw(t, "lines"), width, height)
		if len(lines) != height {
			t.Fatalf("%d lines, want %d", len(lines), height)
		}
		for _, l := range lines {
			if got := ansi.StringWidth(l); got != width {
				t.Fatalf("%q has %d columns, want %d", l, got, width)
			}
		}
	})
}

func TestOverAndBeside(t *testing.T) {
	t.Parallel()
	got := view.Over([]string{"abcdef", "ghijkl", "mnopqr"}, []string{"12", "34", "56"}, 3, 1)
	if want := "abcdef ghi12l mno34r"; strings.Join(got, " ") != want {
		t.Errorf("Over: %q, want %q", got, want)
	}
	if got := strings.Join(view.Over([]string{"ab"}, []string{"1234"}, 1, 0), " "); got != "a1234" {
		t.Errorf("over the edge: %q", got)
	}
	if got := strings.Join(view.Beside([]string{"a", "b"}, []string{"1"}), "|"); got != "a1|b" {
		t.Errorf("Beside: %q", got)
	}
	if view.Beside() != nil || len(slices.Concat([]string{"a"}, nil, []string{"b"})) != 2 || len(view.Blank(3, -1)) != 0 {
		t.Error("nothing beside nothing, or a stack, is wrong")
	}
}

func TestList(t *testing.T) {
	t.Parallel()
	var l view.List
	draw := func(rows, height int) string {
		return strings.Join(l.Rows(plain(), rows, 5, height, true, func(i int) string { return fmt.Sprint(i) }), "|")
	}
	if got := draw(3, 5); got != "▌0   | 1   | 2   " || l.Place(3) != "" {
		t.Errorf("all rows: %q, place %q", got, l.Place(3))
	}
	l.Move(1, 10)
	l.Page(1, 10)
	if got := draw(10, 3); got != " 3   | 4   |▌5   " || l.Place(10) != "4-6 of 10" {
		t.Errorf("after a page: %q, place %q", got, l.Place(10))
	}
	l.Page(-1, 10)
	if got := draw(10, 3); got != "▌3   | 4   | 5   " {
		t.Errorf("a page back: %q", got)
	}
	if !l.Click(2, 10) || l.Cursor != 5 || l.Click(3, 10) || l.Click(-1, 10) {
		t.Errorf("clicks: cursor %d", l.Cursor)
	}
	l.Move(100, 10)
	if got := draw(10, 3); got != " 7   | 8   |▌9   " {
		t.Errorf("at the end: %q", got)
	}
	if got := draw(2, 3); got != " 0   |▌1   " {
		t.Errorf("fewer rows than before: %q", got)
	}
	l.Move(-100, 0)
	if got := draw(0, 3); got != "" || l.Cursor != 0 {
		t.Errorf("no row: %q, cursor %d", got, l.Cursor)
	}
	if got := draw(3, 0); got != "" {
		t.Errorf("no line: %q", got)
	}
}

func TestMatches(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		filter, text string
		want         bool
	}{
		{"", "x", true}, {" ", "x", true}, {"btc", "BTC Bitcoin", true}, {"coin", "Bitcoin", true}, {"btn", "Bitcoin", true}, {"bn", "Bitcoin", true},
		{"itn", "Bitcoin", false}, {"xyz", "Bitcoin", false}, {"two nr", "number two", true}, {"!coin", "Bitcoin", false}, {"!eth", "Bitcoin", true}, {"!", "x", true},
	} {
		if got := view.Matches(test.filter, test.text); got != test.want {
			t.Errorf("%q in %q: %v", test.filter, test.text, got)
		}
	}
}

func TestTable(t *testing.T) {
	t.Parallel()
	columns := []view.Column{{Title: "A", Width: 4}, {Title: "HIDDEN"}, {Title: "N", Width: 3, Right: true}}
	if got := view.Header(plain(), columns); got != " A      N" {
		t.Errorf("header %q", got)
	}
	if got := view.Row(plain(), columns, []string{"toolong", "x", "7"}); got != "too…   7" {
		t.Errorf("row %q", got)
	}
}

func TestTree(t *testing.T) {
	t.Parallel()
	doc := `{"rows":[{"id":"x","n":1.50,"deep":{"a":null}},{"n":2}],"note":"a\u001b[31mb","empty":{},"list":[true]}`
	tree, err := view.Tree(json.RawMessage(doc))
	if err != nil {
		t.Fatal(err)
	}
	var folds view.Folding
	lines := func(filter string) string {
		var out []string
		for _, b := range folds.Visible(tree, filter) {
			out = append(out, strings.TrimRight(folds.Draw(plain(), b), " "))
		}
		return strings.Join(out, "\n")
	}
	if want := "▾ rows  2 rows\n  ▸ [0]  x\n  ▸ [1]  {1}\n  note  \"ab\"\n▾ empty  {0}\n▾ list  1 row\n    [0]  true"; lines("") != want {
		t.Errorf("tree:\n%s\nwant\n%s", lines(""), want)
	}
	folds.Flip("rows[0]")
	folds.Flip("list")
	if want := "▾ rows  2 rows\n  ▾ [0]  x\n      id  \"x\"\n      n  1.50\n    ▾ deep  {1}\n        a  null\n  ▸ [1]  {1}\n  note  \"ab\"\n▾ empty  {0}\n▸ list  1 row"; lines("") != want {
		t.Errorf("unfolded:\n%s\nwant\n%s", lines(""), want)
	}
	if want := "  rows[0].n  1.50\n  rows[1].n  2"; lines(".n") != want {
		t.Errorf("filtered:\n%s\nwant\n%s", lines(".n"), want)
	}
	for _, bad := range []string{"", "{", `{"a":}`, "[1", strings.Repeat("[", 2000) + strings.Repeat("]", 2000)} {
		if _, err := view.Tree(json.RawMessage(bad)); err == nil {
			t.Errorf("%.20q was taken", bad)
		}
	}
	if tree, err := view.Tree(json.RawMessage(`7`)); err != nil || len(tree) != 0 {
		t.Errorf("a number: %v, %v", tree, err)
	}
}

// FuzzTree: no document panics.
func FuzzTree(f *testing.F) {
	f.Add([]byte(`{"a":[{"id":"x"},[],{}],"":null}`))
	f.Fuzz(func(_ *testing.T, doc []byte) {
		tree, _ := view.Tree(doc)
		var folds view.Folding
		for _, b := range folds.Visible(tree, "") {
			folds.Draw(plain(), b)
		}
	})
}
