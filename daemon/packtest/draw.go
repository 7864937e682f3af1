package packtest

import (
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/contextd/contextd/daemon/pack/manifest"
)

// drawer changes recorded rows at random, with what the conditions of flags speak of among the values.
type drawer struct {
	*rand.Rand
	at      time.Time // by the clock of upstream
	numbers []float64
	texts   []string
}

// Literals of jq.
var (
	numberInJQ = regexp.MustCompile(`\d+(?:\.\d+)?(?:[eE][+-]?\d+)?`)
	textInJQ   = regexp.MustCompile(`"([^"\\]{1,60})"`)
)

// newDrawer makes the drawer of rows of a source.
func newDrawer(r *rand.Rand, m *manifest.Manifest, id string, at time.Time) *drawer {
	d := &drawer{Rand: r, at: at}
	for _, f := range m.Flags {
		if f.Over != id {
			continue
		}
		text := strings.Join([]string{f.When, f.Clear, f.Warning, f.Critical}, " ")
		for _, found := range numberInJQ.FindAllString(text, -1) {
			if x, err := strconv.ParseFloat(found, 64); err == nil {
				d.numbers = append(d.numbers, x)
			}
		}
		for _, found := range textInJQ.FindAllStringSubmatch(text, -1) {
			d.texts = append(d.texts, found[1])
		}
	}
	return d
}

// draw is a row like the one at i, with other values. What it lacks and other rows have, it lacks still: it is a row of another sort.
func (d *drawer) draw(s *manifest.Source, rows []map[string]any, i int) map[string]any {
	row := make(map[string]any, len(rows[i]))
	for name, value := range rows[i] {
		row[name] = value
	}
	for _, f := range s.Fields {
		lacks := row[f.Name] == nil && slices.ContainsFunc(rows, func(other map[string]any) bool { return other[f.Name] != nil })
		if d.IntN(4) > 0 && !lacks {
			row[f.Name] = d.value(f.Type, rows[i][f.Name], rows[d.IntN(len(rows))][f.Name])
		}
	}
	return row
}

// value is one of a type. recorded is what the row has, other what another row has there.
func (d *drawer) value(kind string, recorded, other any) any {
	if d.IntN(12) == 0 {
		return nil
	}
	switch kind {
	case "bool":
		return d.IntN(2) == 0
	case "time":
		return d.moment().Format(time.RFC3339)
	case "date":
		return d.moment().Format(time.DateOnly)
	case "text":
		if len(d.texts) > 0 && d.IntN(2) == 0 {
			return d.texts[d.IntN(len(d.texts))]
		}
		return other
	case "count":
		return math.Round(d.number(recorded))
	}
	return d.number(recorded)
}

// moment is a time up to 30 days before or after now, most of them near.
func (d *drawer) moment() time.Time {
	by := time.Duration(math.Exp(d.Float64()*math.Log(30*24*60)) * float64(time.Minute))
	if d.IntN(2) == 0 {
		by = -by
	}
	return d.at.Add(by)
}

// number is one near to what is recorded, near to one that conditions speak of, or any.
func (d *drawer) number(recorded any) float64 {
	near := 1.0
	switch x := recorded.(type) {
	case float64:
		near = x
	case int:
		near = float64(x)
	case string:
		if parsed, err := strconv.ParseFloat(x, 64); err == nil && !math.IsNaN(parsed) && !math.IsInf(parsed, 0) {
			near = parsed
		}
	}
	switch n := d.IntN(6); {
	case n < 2 && len(d.numbers) > 0:
		factors := [...]float64{-2, -1.01, -1, -0.9, 0, 0.5, 0.9, 1, 1.01, 1.2, 2}
		return d.numbers[d.IntN(len(d.numbers))] * factors[d.IntN(len(factors))]
	case n == 3 && near != 0:
		return -near * d.Float64()
	case n == 4:
		return near * math.Exp((d.Float64()*4-2)*math.Ln10)
	}
	return near * math.Exp(d.NormFloat64())
}

// awkwardNames have broken checks of briefs: anchors, digits, units, quotes and stops in names.
func awkwardNames() []string {
	return []string{
		"1inch", "[3]", "[1, 2] Coin", "Yahoo! Finance", "Mr. Who? / SOL", "U.S. Dollar Inc.", "$100,000 Club", "5",
		"24h Fund", "up 20%", "“Quoted”",
		`Say "when"`, "Ünïcödé", "币安人生", "٣ Sisters", "½ Moon", "A.", "...", "x", "No. 7", "to 5%", "-3 Degrees", "Foo-2024", "12:00 Coin",
		"2026-11-20", "100%", "Moon 9", "…and more. And more", "{name}", "K", "gpt-4.1-mini", "GPT‑5 (high)", "Llama 3.3 70B",
	}
}
