package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/contextd/contextd/internal/doctor"
)

// TestFindingsFold: sources with the same trouble are one line for people, and others stay as they are.
func TestFindingsFold(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	l := findings{out: &out}
	for _, f := range []doctor.Finding{
		{Check: "disk", Outcome: doctor.Warning, Found: "1 MB free", Fix: "free space"},
		{Check: "source a", Outcome: doctor.Warning, Found: "no answer", Fix: "wait"},
		{Check: "source b", Outcome: doctor.Warning, Found: "no answer", Fix: "wait"},
		{Check: "source c", Outcome: doctor.OK, Found: "answers", Fix: ""},
		{Check: "source d", Outcome: doctor.OK, Found: "answers", Fix: ""},
		{Check: "source e", Outcome: doctor.Warning, Found: "no key", Fix: "give one"},
		{Check: "source f", Outcome: doctor.Warning, Found: "no answer", Fix: "wait"},
		{Check: "source g", Outcome: doctor.Warning, Found: "no answer", Fix: "wait"},
		{Check: "source h", Outcome: doctor.Warning, Found: "no answer", Fix: "wait"},
		{Check: "source i", Outcome: doctor.Warning, Found: "no answer", Fix: "wait"},
		{Check: "chain", Outcome: doctor.Warning, Found: "no answer", Fix: "wait"},
	} {
		l.add(f)
	}
	var got []string
	for line := range strings.Lines(out.String()) {
		got = append(got, strings.Join(strings.Fields(line), " "))
	}
	want := []string{"warn disk 1 MB free", "try: free space", "warn 2 sources no answer: a, b", "try: wait", "ok source c answers",
		"ok source d answers", "warn source e no key", "try: give one", "warn 4 sources no answer: f, g, h and 1 more", "try: wait",
		"warn chain no answer", "try: wait"}
	if !slices.Equal(got, want) || len(l.list) != 11 {
		t.Errorf("%q, want %q", got, want)
	}
}
