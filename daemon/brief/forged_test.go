package brief_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/contextd/contextd/daemon/brief"
	"github.com/contextd/contextd/daemon/brief/ground"
	"github.com/contextd/contextd/internal/jsonx"
	"github.com/contextd/contextd/internal/long"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// forger makes a true brief false in one thing about one figure.
type forger struct {
	text   string
	values map[string]*jsonx.Value // of the state, by path
	claim  ground.Claim
	at     int // of the figure, in bytes
	end    int
	from   int // of its sentence
}

// number is a value of the state; false where it is none or not known.
func (f *forger) number(path string) (x float64, ok bool) {
	if v := f.values[path]; v != nil {
		_, err := fmt.Sscan(string(v.Raw), &x)
		return x, err == nil
	}
	return 0, false
}

// like reports whether two numbers may be written the same.
func like(a, b float64) bool {
	a, b = math.Abs(a), math.Abs(b)
	return math.Abs(a-b) < 0.06 || math.Abs(a-b) < 0.006*max(a, b)
}

// put is the text with other words in the place of some.
func (f *forger) put(at, end int, with string) string { return f.text[:at] + with + f.text[end:] }

var (
	rowOf   = regexp.MustCompile(`^(.*)\[(\d+)\](\.\w+)$`)
	wayAt   = regexp.MustCompile(`(?:\bup|\bdown|\bgains|\bloses|[+−])[ ]?$`)
	timeAt  = regexp.MustCompile(`^ (?:on the day before|in 24 hours|within an hour|yesterday|a week ago|on the day)`)
	ofAt    = regexp.MustCompile(`^ of (volume|liquidity)`)
	otherly = map[string]string{"up": "down", "down": "up", "gains": "loses", "loses": "gains", "+": "−", "−": "+"}
)

// forgeries are the texts in which one thing about the figure is false, by what it is.
func (f *forger) forgeries() map[string][]string {
	made := map[string][]string{}
	add := func(kind, text string) { made[kind] = append(made[kind], text) }
	figure := f.text[f.at:f.end]
	add("figure", f.put(f.at, f.end, bump(figure, 3)))
	add("figure", f.put(f.at, f.end, bumpFirst(figure)))
	value, _ := f.number(f.claim.Path)
	percent, dollars := strings.HasSuffix(figure, "%"), strings.HasPrefix(figure, "$")
	switch {
	case percent:
		add("unit", f.put(f.at, f.end, "$"+strings.TrimLeft(strings.TrimSuffix(figure, "%"), "+−")))
	case dollars:
		add("unit", f.put(f.at, f.end, strings.Fields(figure[1:])[0]+"%"))
	case strings.HasSuffix(figure, " bp"):
		add("unit", f.put(f.at, f.end, strings.Replace(figure, " bp", "%", 1)))
	default:
		add("unit", f.put(f.at, f.end, figure+"%"))
		add("unit", f.put(f.at, f.end, "$"+figure))
	}
	change := strings.Contains(f.claim.Path, ".change")
	if m := wayAt.FindString(f.text[f.from:f.at]); m != "" && change && !like(value, 0) {
		word := strings.TrimSpace(m)
		add("direction", f.put(f.at-len(m), f.at, strings.Replace(m, word, otherly[word], 1)))
	} else if m := figure[:min(len(figure), len("−"))]; change && (strings.HasPrefix(m, "+") || m == "−") {
		word := strings.TrimRight(m, "0123456789.")
		add("direction", f.put(f.at, f.at+len(word), otherly[word]))
	}
	f.spans(add, change, value)
	if dollars {
		own := ofAt.FindString(f.text[f.end:])
		for _, other := range []string{" of volume", " of liquidity", " of supply", " of debt"} {
			if other != own && !strings.Contains(f.claim.Path, "."+strings.TrimPrefix(other, " of ")) {
				add("field", f.put(f.end, f.end+len(own), other))
			}
		}
	}
	f.subjects(add, value)
	return made
}

// spans says another time of the figure.
func (f *forger) spans(add func(kind, text string), change bool, value float64) {
	told := timeAt.FindString(f.text[f.end:])
	row := f.claim.Path[:strings.LastIndexByte(f.claim.Path, '.')+1]
	for said, fields := range map[string][]string{
		" within an hour": {"change1hPct"}, " in 24 hours": {"change24hPct", "change1dPct", "change1dUsd"}, " over seven days": {"change7dPct"},
	} {
		same := false
		for _, field := range fields {
			x, ok := f.number(row + field)
			same = same || row+field == f.claim.Path || ok && like(x, value)
		}
		if change && !same {
			add("span", f.put(f.end, f.end+len(told), said))
		}
	}
	if !change && (told == " yesterday" || told == " a week ago") {
		other := map[string]string{" yesterday": " a week ago", " a week ago": " yesterday"}[told]
		add("span", f.put(f.end, f.end+len(told), other))
	}
}

// subjects says the figure of other rows of its list.
func (f *forger) subjects(add func(kind, text string), value float64) {
	m := rowOf.FindStringSubmatch(f.claim.Path)
	if m == nil || strings.HasPrefix(f.claim.Path, "flags") {
		return
	}
	nameOf := func(i int) string {
		for _, key := range []string{"name", "pair"} {
			if v := f.values[fmt.Sprintf("%s[%d].%s", m[1], i, key)]; v != nil {
				return v.Text()
			}
		}
		return ""
	}
	var own int
	_, _ = fmt.Sscan(m[2], &own)
	name := nameOf(own)
	at := strings.LastIndex(f.text[f.from:f.at], name)
	if name == "" || at < 0 {
		return
	}
	at += f.from
	for i := own + 1; i < own+4; i++ {
		x, known := f.number(fmt.Sprintf("%s[%d]%s", m[1], i, m[3]))
		other := nameOf(i)
		if !known || like(x, value) || other == name || strings.Contains(f.text[f.from:f.at], other) {
			continue
		}
		add("subject", f.put(at, at+len(name), other))
	}
}

// goldens are golden briefs with the states that they are about: of the crypto pack, and of the packs that are manifests.
func goldens(t *testing.T) (texts []string, about []brief.Input) {
	t.Helper()
	for _, c := range situations() {
		if !slices.Contains([]string{"tick3", "nine_flags", "greed", "fallback"}, c.name) {
			continue
		}
		s := readState(t, c.from)
		if c.make != nil {
			c.make(s)
		}
		in := input(t, s)
		texts, about = append(texts, write(t, in)), append(about, in)
	}
	for _, pack := range []string{"ai", "markets", "perps"} {
		base := filepath.Join("..", "packtest", "testdata", pack, "tick3")
		text, err := os.ReadFile(base + ".brief.txt")
		if err != nil {
			t.Fatal(err)
		}
		body, err := os.ReadFile(base + ".state.json")
		if err != nil {
			t.Fatal(err)
		}
		in := brief.Input{Pack: pack, State: state.Read(body)}
		for _, s := range in.State.Sources() {
			in.Citations = append(in.Citations, api.Citation{Ref: s.Ref, SourceID: s.ID})
		}
		texts, about = append(texts, strings.TrimSpace(string(text))), append(about, in)
	}
	return texts, about
}

// TestNothingForgedPasses changes one thing of each figure of golden briefs: what it is of, how much it is, what it measures, in which unit,
// of which time, and which way it went. No text passes that is false in one.
func TestNothingForgedPasses(t *testing.T) {
	t.Parallel()
	long.Test(t)
	made := map[string]int{}
	texts, about := goldens(t)
	for i, text := range texts {
		in := about[i]
		if list := brief.Check(text, in); len(list) > 0 {
			t.Errorf("%s: %s", in.Pack, report(list))
		}
		claims, err := ground.Claims(text, in.State, in.Citations)
		if err != nil {
			t.Fatal(err)
		}
		values := map[string]*jsonx.Value{}
		_ = jsonx.Walk(in.State.Text(), func(v *jsonx.Value) error { values[v.Path()] = v; return nil })
		for _, claim := range claims {
			if v := values[claim.Path]; v == nil || v.IsString() {
				continue // it is quoted
			}
			runes := []rune(text)
			f := forger{text: text, values: values, claim: claim, at: len(string(runes[:claim.Start])), end: len(string(runes[:claim.End]))}
			f.from = max(strings.LastIndex(f.text[:f.at], ". "), strings.LastIndex(f.text[:f.at], "\n"), 0)
			for kind, texts := range f.forgeries() {
				for _, forged := range texts {
					made[kind]++
					if len(brief.Check(forged, in)) == 0 {
						n := len(forged) - len(text)
						t.Errorf("%s: %s of %s passes: %q", in.Pack, kind, claim.Path, forged[f.from:min(len(forged), f.end+n+40)])
					}
				}
			}
		}
	}
	t.Log(made)
	for kind, least := range map[string]int{"figure": 400, "unit": 200, "direction": 60, "span": 150, "field": 200, "subject": 300} {
		if made[kind] < least {
			t.Errorf("%d forgeries of the %s, want %d", made[kind], kind, least)
		}
	}
}
