package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// report is what was measured.
type report struct {
	Seed      uint64    `json:"seed"`
	Ticks     int       `json:"ticks"`
	Tests     []*test   `json:"tests"`
	Kinds     kindScore `json:"kinds"`
	HTTP      cost      `json:"http"`
	MCP       cost      `json:"mcp"`
	Baselines baselines `json:"baselines"`

	Packs []packReport `json:"packs"` // the shipped ones
}

// packReport is what was measured of a shipped pack.
type packReport struct {
	Pack  string  `json:"pack"`
	Tests []*test `json:"tests"`
}

func (b *bench) report() *report {
	return &report{
		Seed: b.w.cfg.seed, Ticks: b.w.cfg.ticks, Kinds: *b.kinds, HTTP: b.cost.HTTP, MCP: b.cost.MCP, Baselines: b.baselines,
		Tests: []*test{
			b.lookup, b.text, b.past, b.unkept, b.recall, b.precise, b.diffs, b.honest, b.claims, b.brief, b.mention, b.hostile,
		},
	}
}

// missed reports the tests that were measured and are below their aims.
func (r *report) missed() error {
	var errs []error
	for _, t := range r.Tests {
		if t.Measured && t.Asked > 0 && t.share() < t.Aim {
			errs = append(errs, fmt.Errorf("%s is %s, its aim %.0f %%", t.ID, percentOf(t.Right, t.Asked), t.Aim*100))
		}
	}
	for _, p := range r.Packs {
		if err := (&report{Tests: p.Tests}).missed(); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", p.Pack, err))
		}
	}
	return errors.Join(errs...)
}

// percentOf is a share as text.
func percentOf(part, all int) string {
	if all == 0 {
		return "–"
	}
	return fmt.Sprintf("%.1f %%", 100*float64(part)/float64(all))
}

// markdown is the table, and below it what was wrong.
func (r *report) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# ContextBench: seed %d, %d refreshes\n\n", r.Seed, r.Ticks)
	b.WriteString("| test | what is counted | asked | service | aim | all payloads | one tool per upstream |\n")
	b.WriteString("|---|---|--:|--:|--:|--:|--:|\n")
	base := r.Baselines
	for _, t := range r.Tests {
		score, aim, all, adapter := "not measured", "–", "–", "–"
		if t.Measured && t.Asked > 0 {
			score = percentOf(t.Right, t.Asked)
		}
		if t.Aim > 0 {
			aim = fmt.Sprintf("%.0f %%", t.Aim*100)
		}
		switch t.ID {
		case "T1", "T1 text":
			all = percentOf(base.Dated, base.All.Asked)
			adapter = percentOf(base.Dated, base.Adapter.Asked)
		case "T2", "T3 recall", "T3 changes":
			all, adapter = "0 %", "0 %"
		case "T4":
			all, adapter = percentOf(base.Told, base.Sick), percentOf(base.Told, base.Sick)
		case "T7":
			if base.Unmarked > 0 {
				all, adapter = "0 %", "0 %"
			}
		}
		why := ""
		if t.Why != "" {
			why = " (" + t.Why + ")"
		}
		fmt.Fprintf(&b, "| %s | %s%s | %d | %s | %s | %s | %s |\n", t.ID, t.What, why, t.Asked, score, aim, all, adapter)
	}
	fmt.Fprintf(&b, "| T6 | tokens of a right answer, over MCP | %d | %s | – | %.0f | %.0f |\n", r.MCP.Asked, tokens(r.MCP),
		base.All.tokens(), base.Adapter.tokens())
	fmt.Fprintf(&b, "| T6 HTTP | the same in JSON | %d | %s | – | – | – |\n", r.HTTP.Asked, tokens(r.HTTP))
	k := r.Kinds
	fmt.Fprintf(&b, "| kinds | ordinary questions answered fully in 400 characters | %d | %d | 32 | – | – |\n", k.Kinds, k.Short)
	fmt.Fprintf(&b, "\nFully answered kinds: %d, of %d characters on average (median %d).\n", k.Full, k.Characters, k.Median)
	list(&b, "Kinds that were not answered fully", k.Missed)
	list(&b, "Kinds whose full answer is long", k.Long)
	r.packs(&b)
	wrong(&b, "", r.Tests)
	for _, p := range r.Packs {
		wrong(&b, p.Pack+" ", p.Tests)
	}
	return b.String()
}

// packs is the table of all packs, a column each.
func (r *report) packs(b *strings.Builder) {
	head, line := "\n| test | what is counted | aim |", "|---|---|--:|"
	columns := append([]packReport{{"crypto", r.Tests}}, r.Packs...)
	for _, p := range columns {
		head, line = head+" "+p.Pack+" |", line+"--:|"
	}
	b.WriteString(head + "\n" + line + "\n")
	for _, t := range packTests() {
		fmt.Fprintf(b, "| %s | %s | %.0f %% |", t.ID, t.What, t.Aim*100)
		for _, p := range columns {
			i := slices.IndexFunc(p.Tests, func(other *test) bool { return other.ID == t.ID })
			score := "–"
			if i >= 0 && p.Tests[i].Asked > 0 {
				score = fmt.Sprintf("%s of %d", percentOf(p.Tests[i].Right, p.Tests[i].Asked), p.Tests[i].Asked)
			}
			b.WriteString(" " + score + " |")
		}
		b.WriteString("\n")
	}
}

// wrong lists the wrong answers of tests.
func wrong(b *strings.Builder, pack string, tests []*test) {
	for _, t := range tests {
		for _, name := range slices.SortedFunc(maps.Keys(t.Wrong), func(x, y string) int {
			if c := t.Wrong[y].Count - t.Wrong[x].Count; c != 0 {
				return c
			}
			return strings.Compare(x, y)
		}) {
			list(b, fmt.Sprintf("%s%s: %s (%d)", pack, t.ID, name, t.Wrong[name].Count), t.Wrong[name].Examples)
		}
	}
}

// tokens of a right answer as text.
func tokens(c cost) string {
	if c.Right == 0 {
		return "not measured"
	}
	return fmt.Sprintf("%.0f", c.tokens())
}

// list writes a heading with lines below it, nothing where there are none.
func list(b *strings.Builder, heading string, lines []string) {
	if len(lines) == 0 {
		return
	}
	fmt.Fprintf(b, "\n## %s\n\n", heading)
	for _, line := range lines {
		fmt.Fprintf(b, "- %s\n", line)
	}
}
