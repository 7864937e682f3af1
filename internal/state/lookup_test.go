package state_test

import (
	"strings"
	"testing"

	"github.com/contextd/contextd/internal/state"
)

// TestNewsOfSymbol: news asked for by a symbol are those about the thing, then those that name it too, written as its name is.
func TestNewsOfSymbol(t *testing.T) {
	t.Parallel()
	news := func(key, entity, title string) state.Row {
		return state.Row{Kind: "headline", Key: key, Entity: entity, Name: title}
	}
	tables := state.NewTables([]state.Kind{{Name: "asset", Words: []string{"coins"}}, {Name: "headline", Words: []string{"news"},
		Own: true}}, []state.Row{
		{Kind: "asset", Key: "kamino", Entity: "kamino", Name: "Kamino", Symbol: "KMNO"},
		{Kind: "asset", Key: "move", Entity: "move", Name: "Movement", Symbol: "MOVE"},
		{Kind: "asset", Key: "quiet", Entity: "quiet", Name: "Quiet", Symbol: "QT"},
		news("1", "solana", "Solana lender Kamino opens"), news("2", "kamino", "KMNO is listed"), news("3", "kamino", "It lends"),
		news("4", "", "A movement of funds"), news("5", "", "Is the Movement over?"),
	})
	for q, want := range map[string]string{"KMNO news": "2 3 1", "news of kamino": "2 3 1", "MOVE news": "5", "QT news": ""} {
		var keys []string
		for _, r := range tables.Lookup(q, "", 10).Rows {
			keys = append(keys, r.Key)
		}
		if got := strings.Join(keys, " "); got != want {
			t.Errorf("%q finds %q, want %q", q, got, want)
		}
	}
}

// TestQuestionsAreBounded: what people do not ask costs no more than what they do, however long it is and whatever it is made of.
func TestQuestionsAreBounded(t *testing.T) {
	tables, _ := queried()
	for _, q := range []string{
		strings.Repeat("bitcoin up by 3 or what ", 8), strings.Repeat("bitcion etherum ", 12), strings.Repeat("top 5 first ", 16),
		strings.Repeat("bitcoin up by 3 or what ", 160), strings.Repeat("a ", 100),
	} {
		var read state.Question
		if n := testing.AllocsPerRun(1, func() { read = tables.Read(q, "", 3) }); n > 10_000 {
			t.Errorf("%.30q of %d characters takes %v allocations", q, len(q), n)
		}
		if len(read.Parts) > 0 || len(read.Missing) == 0 {
			t.Errorf("%.30q is read: %+v", q, read)
		}
	}
}
