package alert_test

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/internal/alert"
	"github.com/contextd/contextd/internal/state"
)

// began is the moment of the first state of the tests.
func began() time.Time { return time.Date(2026, 11, 20, 20, 0, 0, 0, time.UTC) }

// marks are findings written in a line: x holds, x@2 since 2, x!3 at level 3, "-" for a state without any, "?" for one that cannot be read.
func marks(_ context.Context, s alert.State) (found []alert.Finding, err error) {
	var text string
	if err := json.Unmarshal(s.Doc.Text(), &text); err != nil {
		return nil, err
	}
	for word := range strings.FieldsSeq(text) {
		switch word {
		case "-":
			continue
		case "?":
			return nil, errors.New("it cannot be told")
		}
		f := alert.Finding{Event: alert.Event{Kind: "mark", Message: word}}
		word, level, _ := strings.Cut(word, "!")
		f.Key, f.Onset, _ = strings.Cut(word, "@")
		f.Level = len(level)
		found = append(found, f)
	}
	return found, nil
}

// between is a state of two "-".
func between(s alert.State) bool { return string(s.Doc.Text()) == `"- -"` }

// stateOf is the state of a minute.
func stateOf(minute int, text string) alert.State {
	doc, _ := json.Marshal(text)
	return alert.State{Pack: "crypto", At: began().Add(time.Duration(minute) * time.Minute), Doc: state.Read(doc)}
}

// open opens a Teller on the journal at path, which the test closes.
func open(t *testing.T, path string, rules ...alert.Rule) *alert.Teller {
	t.Helper()
	teller, err := alert.Open(alert.Config{Path: path, Rules: rules, FirstWait: time.Millisecond, Grace: time.Minute,
		Notify: func(r alert.Report) { t.Logf("%+v", r) }})
	if err != nil {
		t.Fatal(err)
	}
	return teller
}

// TestEdges: a condition is told when it begins to hold, and not with each state; a restart between any two states changes nothing.
func TestEdges(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		rule   alert.Rule
		states []string // a minute apart
		want   string
	}{
		{"stands from the first state on", alert.Rule{}, []string{"a", "a", "a"}, "a,,"},
		{"comes and goes", alert.Rule{}, []string{"-", "a", "-", "a"}, ",a,,a"},
		{"two of a rule", alert.Rule{}, []string{"a", "a b", "b", "a b"}, "a,b,,a"},
		{"twice in a state", alert.Rule{}, []string{"a a"}, "a"},
		{"not known in between", alert.Rule{}, []string{"a", "?", "a"}, "a,,"},
		{"the same one returns", alert.Rule{}, []string{"a@1", "-", "a@1"}, "a@1,,"},
		{"another one returns", alert.Rule{}, []string{"a@1", "-", "a@3"}, "a@1,,a@3"},
		{"another one between two states", alert.Rule{}, []string{"a@1", "a@2"}, "a@1,a@2"},
		{"graver", alert.Rule{}, []string{"a@1!x", "a@1!xx", "a@1!x", "a@1!xx", "a@1!xxx"}, "a@1!x,rose a@1!xx,,,rose a@1!xxx"},
		{"graver when it returns", alert.Rule{}, []string{"a@1!x", "-", "a@1!xx"}, "a@1!x,,rose a@1!xx"},
		{"less grave the next time", alert.Rule{}, []string{"a@1!xx", "-", "a@3!x", "a@3!xx"}, "a@1!xx,,a@3!x,rose a@3!xx"},

		{"neither ended nor held", alert.Rule{Between: between}, []string{"a", "- -", "a", "- -", "-", "a"}, "a,,,,,a"},
		{"in between at first", alert.Rule{Between: between}, []string{"- -", "a"}, ",a"},
		{"an end", alert.Rule{Ended: true}, []string{"a", "-", "-", "a"}, "a,ended a,,a"},
		{"an end of the same one", alert.Rule{Ended: true}, []string{"a@1", "-", "a@1", "-"}, "a@1,ended a@1,a@1,ended a@1"},

		{"cools down", alert.Rule{Cooldown: 3 * time.Minute}, []string{"a", "-", "a", "-", "a", "-"}, "a,,,,a,"},
		{"owed when it has cooled down", alert.Rule{Cooldown: 3 * time.Minute}, []string{"a", "-", "a", "a", "a"}, "a,,,a,"},
		{"stands", alert.Rule{Cooldown: 3 * time.Minute}, []string{"a", "a", "a", "a", "a", "a", "a"}, "a,,,stands a,,,stands a"},
		{"graver while it cools down", alert.Rule{Cooldown: time.Hour}, []string{"a@1!x", "a@1!xx", "-", "a@3!xxx", "a@3!x"}, "a@1!x,rose a@1!xx,,a@3!xxx,"},
		{"an end while it cools down", alert.Rule{Cooldown: time.Hour, Ended: true}, []string{"a", "-", "a", "-"}, "a,ended a,,"},
	} {
		for _, restart := range []bool{false, true} {
			path := filepath.Join(t.TempDir(), "watch", "journal")
			c.rule.Name, c.rule.Pack, c.rule.Find = "r", "crypto", marks
			teller := open(t, path, c.rule)
			var told []string
			ids := map[string]bool{}
			for minute, text := range c.states {
				if restart {
					if err := teller.Close(); err != nil {
						t.Fatal(err)
					}
					teller = open(t, path, c.rule)
				}
				events, err := teller.Observe(t.Context(), stateOf(minute, text))
				if (err != nil) != strings.Contains(text, "?") {
					t.Errorf("%s: %v", c.name, err)
				}
				var words []string
				for _, e := range events {
					if e.Alert != "r" || e.Pack != "crypto" || e.Kind != "mark" || !e.At.Equal(stateOf(minute, "").At) || len(e.ID) != 32 || ids[e.ID] {
						t.Errorf("%s: %+v", c.name, e)
					}
					ids[e.ID] = true
					words = append(words, strings.TrimPrefix(string(e.Change)+" "+e.Message, "appeared "))
				}
				told = append(told, strings.Join(words, " "))
			}
			if got := strings.Join(told, ","); got != c.want {
				t.Errorf("%s, restart %v: %q, want %q", c.name, restart, got, c.want)
			}
			if err := teller.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestStates: one that is not newer, and one of another pack, tells nothing.
func TestStates(t *testing.T) {
	t.Parallel()
	teller := open(t, filepath.Join(t.TempDir(), "journal"), alert.Rule{Name: "r", Pack: "crypto", Find: marks})
	defer teller.Close()
	for i, c := range []struct {
		s    alert.State
		want int
	}{
		{stateOf(5, "a"), 1}, {stateOf(5, "b"), 0}, {stateOf(4, "b"), 0}, {stateOf(6, "a b"), 1},
		{alert.State{Pack: "ai", At: began().Add(time.Hour), Doc: state.Read([]byte(`"c"`))}, 0},
	} {
		if events, err := teller.Observe(t.Context(), c.s); err != nil || len(events) != c.want {
			t.Errorf("%d: %+v, %v", i, events, err)
		}
	}
}

// TestForgotten: a condition is known for two hours after it ended, or for its cool-down.
func TestForgotten(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		after    int // minutes
		cooldown time.Duration
		want     int
	}{{120, 0, 0}, {121, 0, 0}, {122, 0, 1}, {122, 3 * time.Hour, 0}} {
		teller := open(t, filepath.Join(t.TempDir(), "journal"), alert.Rule{Name: "r", Pack: "crypto", Find: marks, Cooldown: c.cooldown})
		for _, s := range []alert.State{stateOf(0, "a@1"), stateOf(1, "-"), stateOf(c.after, "-")} {
			if _, err := teller.Observe(t.Context(), s); err != nil {
				t.Fatal(err)
			}
		}
		events, err := teller.Observe(t.Context(), stateOf(c.after+1, "a@1"))
		if err != nil || len(events) != c.want {
			t.Errorf("%+v: %+v, %v", c, events, err)
		}
		if err := teller.Close(); err != nil {
			t.Error(err)
		}
	}
}
