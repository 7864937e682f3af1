package brief_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/contextd/contextd/daemon/brief"
	"github.com/contextd/contextd/internal/long"
)

var (
	anchorAt = regexp.MustCompile(`\[\d+\]`)
	figureAt = regexp.MustCompile(`\$?\d[\d,]*(?:\.\d+)?(?: (?:thousand|million|billion|trillion)|%)?`)
	moveAt   = regexp.MustCompile(`\b(?:up|down) \d[\d,.]*%`)
	quoted   = regexp.MustCompile(`“[^”]*”|24 hours|\b\w*[A-Za-z]\d+\b|\bL2\b|Layer 2`)
)

// mutant is a brief with one thing made false.
type mutant struct{ kind, before, after, text string }

// mutants changes every figure and every anchor of a brief in turn. Figures inside quotations and names are not the brief's.
func mutants(text string) []mutant {
	var list []mutant
	add := func(kind string, at []int, with string) {
		run := text[max(0, at[0]-8):min(len(text), at[1]+8)]
		if before := text[at[0]:at[1]]; with != before && !(kind == "anchor" && strings.Contains(run, with)) {
			list = append(list, mutant{kind, before, with, text[:at[0]] + with + text[at[1]:]})
		}
	}
	hidden := quoted.ReplaceAllStringFunc(anchorAt.ReplaceAllStringFunc(text, blank), blank)
	for _, at := range figureAt.FindAllStringIndex(hidden, -1) {
		f := text[at[0]:at[1]]
		add("last digit", at, bump(f, 1))
		add("last digit", at, bump(f, 9))
		add("first digit", at, bumpFirst(f))
		for _, s := range [][2]string{{"trillion", "billion"}, {"billion", "million"}, {"million", "billion"}} {
			if strings.Contains(f, s[0]) {
				add("scale", at, strings.Replace(f, s[0], s[1], 1))
				break
			}
		}
	}
	for _, at := range moveAt.FindAllStringIndex(hidden, -1) {
		f := text[at[0]:at[1]]
		if rest, up := strings.CutPrefix(f, "up "); up {
			add("direction", at, "down "+rest)
		} else {
			add("direction", at, "up "+strings.TrimPrefix(f, "down "))
		}
	}
	for _, at := range anchorAt.FindAllStringIndex(text, -1) {
		n, _ := strconv.Atoi(strings.Trim(text[at[0]:at[1]], "[]"))
		add("anchor", at, fmt.Sprintf("[%d]", n%17+1))
		add("anchor", at, fmt.Sprintf("[%d]", (n+7)%17+1))
		add("anchor out of range", at, "[18]")
		add("anchor gone", at, "")
	}
	return list
}

func blank(s string) string { return strings.Repeat("_", len(s)) }

// bump adds n to the last digit of a figure.
func bump(f string, n int) string {
	b := []byte(f)
	for i := len(b) - 1; i >= 0; i-- {
		if b[i] >= '0' && b[i] <= '9' {
			b[i] = '0' + byte((int(b[i]-'0')+n)%10)
			break
		}
	}
	return string(b)
}

// bumpFirst changes the first digit of a figure.
func bumpFirst(f string) string {
	b := []byte(f)
	for i := range b {
		if b[i] >= '0' && b[i] <= '9' {
			b[i] = '1' + (b[i]-'0')%9
			break
		}
	}
	return string(b)
}

// Of the briefs that differ from a true one in a single figure, direction or anchor, nearly all are found. What slips through: a
// half that may round either way, so that the mutant is true as well, and an anchor that is gone where the sentence has another for the
// same figure.
func TestCheckFindsMutations(t *testing.T) {
	t.Parallel()
	least := map[string]float64{"last digit": 0.95, "first digit": 1, "scale": 1, "direction": 1, "anchor": 0.99, "anchor out of range": 1, "anchor gone": 0.85}
	made, found := map[string]int{}, map[string]int{}
	from := situations()[1:4] // recorded states
	if !long.On() {
		from = from[:1]
	}
	for _, c := range from {
		s := readState(t, c.from)
		if c.make != nil {
			c.make(s)
		}
		in := input(t, s)
		for _, m := range mutants(write(t, in)) {
			made[m.kind]++
			if len(brief.Check(m.text, in)) > 0 {
				found[m.kind]++
			} else if testing.Verbose() && m.kind != "anchor gone" {
				t.Logf("%s: %s %q for %q passes", c.name, m.kind, m.after, m.before)
			}
		}
	}
	for kind, n := range made {
		share := float64(found[kind]) / float64(n)
		t.Logf("%-20s %5d of %5d found, %.1f %%", kind, found[kind], n, 100*share)
		if share < least[kind] {
			t.Errorf("%s: %.3f found, want %.3f", kind, share, least[kind])
		}
	}
}
