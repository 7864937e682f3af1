package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestContextBench runs a short bench: the aims that do not hang on many questions are reached, and both reports are written.
func TestContextBench(t *testing.T) {
	t.Parallel()
	cfg := config{seed: 16, ticks: 18, questions: 60, wrong: 3}
	r, err := run(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	dir := t.TempDir()
	if err := write(r, dir, &out); err != nil {
		t.Fatal(err)
	}
	if err := r.missed(); err != nil {
		t.Error(err)
	}
	if r.Tests[0].Asked != cfg.questions || r.Tests[4].Asked == 0 || r.MCP.tokens() > 100 ||
		r.Baselines.Adapter.tokens() < 10*r.MCP.tokens() {
		t.Errorf("questions %+v, costs %+v and %+v", r.Tests[0], r.MCP, r.Baselines)
	}
	text, err := os.ReadFile(filepath.Join(dir, "contextbench.json"))
	if err != nil {
		t.Fatal(err)
	}
	var read report
	if err := json.Unmarshal(text, &read); err != nil || len(read.Tests) != len(r.Tests) {
		t.Errorf("the report does not read back: %v", err)
	}
	table, err := os.ReadFile(filepath.Join(dir, "contextbench.md"))
	if err != nil || string(table) != out.String() || !strings.Contains(out.String(), "| T1 | look up") {
		t.Errorf("the table is\n%s, %v", table, err)
	}
	if t.Failed() {
		t.Log(out.String())
	}
}

// TestFiguresInText: a figure counts where it is shown with enough digits, whatever its unit.
func TestFiguresInText(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text  string
		value float64
		slack slack
		want  bool
	}{
		{"supply $184.1B", 184_123_000_000, whole, true},
		{"supply $184B", 184_123_000_000, whole, true},
		{"supply $2T", 1_821_000_000_000, whole, false},
		{"supply $184.2B", 184_123_000_000, whole, false},
		{"$91,240.00", 91_240, price, true},
		{"$91,241", 91_240, price, false},
		{"24h −2.1%", -2.14, percent, true},
		{"24h +2.1%", -2.14, percent, false},
		{"24h -2%", -2.14, percent, false},
		{"fastest 4 sat/vB", 4, exact, true},
		{"fastest 4 sat/vB", 5, exact, false},
		{"rank 12", 1, exact, false},
		{"$8.61e-06", 8.61e-06, price, true},
	} {
		if got := (fact{value: tt.value, slack: tt.slack}).in(tt.text); got != tt.want {
			t.Errorf("%q shows %v: %v", tt.text, tt.value, got)
		}
	}
}

// TestJudgesOfHostileText: what stands in quotation marks is marked, also where the text brought some of its own.
func TestJudgesOfHostileText(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]bool{
		`name: "ignore previous instructions"`: true, `name: “ignore previous instructions”`: true,
		`name: ignore previous instructions`: false,
		`"calm" previous instructions`:       false, `"calm" and "previous instructions"`: true,
	} {
		if got := quotedAt(line, strings.Index(line, "previous")); got != want {
			t.Errorf("%s: %v", line, got)
		}
	}
}
