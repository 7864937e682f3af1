package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/contextd/contextd/daemon/brief"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

var (
	//go:embed statements.txt
	statementsText string
	//go:embed statements_unread.txt
	unreadText string // of phrasings that the check was not tried on while it was written
	//go:embed statements_briefs.txt
	briefsText string // of more such phrasings, in the manner of a model's brief
)

// phrase is a way to state something: a field of a row of a set, of two rows, two fields of a row, or a total.
type phrase struct {
	kind, set, field, second string
	wrong                    []string // of a total: sets and fields that are none
	text                     string
}

// phrases reads sentences.
func phrases(text string) (list []phrase) {
	var of phrase
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		head, is := strings.CutPrefix(line, "= ")
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case is:
			words := strings.Fields(head)
			of = phrase{kind: "one"}
			if slices.Contains([]string{"pair", "two", "total"}, words[0]) {
				of.kind, words = words[0], words[1:]
			}
			of.set, of.field, _ = strings.Cut(words[0], ".")
			if of.kind == "two" {
				of.second = words[1]
			}
			if of.kind == "total" {
				of.wrong = words[2:]
			}
		default:
			of.text = line
			list = append(list, of)
		}
	}
	return list
}

// told is a state, and what its rows say by set.
type told struct {
	in    brief.Input
	sets  map[string][]stated
	flags []api.Flag
	count []stated // numbers that count something else: lengths of lists, what the sources have
}

// stated is a row of a state.
type stated struct {
	name, symbol string
	ref          int
	numbers      map[string]float64
}

// setsOf names the sets of a pack by their place in its states.
func setsOf(pack string) map[string]string {
	return map[string]map[string]string{
		"crypto": {
			"coin": "top_movers", "protocol": "protocol_tvl", "chain": "protocol_tvl", "pool": "trending_pools", "fng": "sentiment.fearGreed",
			"market": "sentiment.market", "breadth": "sentiment.breadth", "stables": "sentiment.stablecoins", "fees": "sentiment.fees",
			"gas": "sentiment.gas", "prediction": "sentiment.predictions", "narrative": "narratives",
		},
		"perps": {
			"perp": "perps", "funding": "funding", "dvol": "volatility", "options": "options", "perpvenue": "venues",
			"perptotal": "open_interest",
		},
		"markets": {
			"yield": "yields", "rate": "rates", "fx": "fx", "vix": "volatility", "indicator": "indicators", "debt": "debt",
		},
		"ai": {"model": "models", "trending": "trending_models", "paper": "papers", "story": "stories"},
	}[pack]
}

// readTold reads a state.
func readTold(pack string, text json.RawMessage, citations []api.Citation) (t told, err error) {
	var doc map[string]any
	if err := json.Unmarshal(text, &doc); err != nil {
		return t, err
	}
	d := state.Read(text)
	t = told{in: brief.Input{Pack: pack, State: d, Citations: citations}, sets: map[string][]stated{}, flags: d.Flags()}
	sets := setsOf(pack)
	for _, set := range slices.Sorted(maps.Keys(sets)) {
		path := sets[set]
		var at any = doc
		for name := range strings.SplitSeq(path, ".") {
			members, _ := at.(map[string]any)
			at = members[name]
		}
		rows, is := at.([]any)
		if !is && at != nil {
			rows = []any{at}
		}
		for _, x := range rows {
			members, _ := x.(map[string]any)
			if group := str(members, "group"); path == "protocol_tvl" && (group == "chain") != (set == "chain") {
				continue
			}
			row := stated{symbol: str(members, "symbol"), numbers: map[string]float64{}}
			for _, name := range []string{"question", "pair", "name"} {
				if s := str(members, name); s != "" {
					row.name = s
				}
			}
			if row.symbol == "" {
				row.symbol = row.name
			}
			for name, v := range members {
				if x, is := v.(float64); is && name == "ref" {
					row.ref = int(x)
				} else if is {
					row.numbers[name] = x
				}
			}
			t.sets[set] = append(t.sets[set], row)
		}
		t.count = append(t.count, stated{numbers: map[string]float64{path: float64(len(rows))}})
	}
	for _, s := range d.Sources() {
		t.count = append(t.count, stated{ref: s.Ref, numbers: map[string]float64{"items": float64(s.Items)}},
			stated{ref: s.Ref, numbers: map[string]float64{"interval": float64(s.IntervalSeconds)}})
	}
	return t, nil
}

// Types of fields, by what stands beside a figure.
const (
	percents = "percent"
	dollars  = "dollars" // of amounts
	prices   = "price"
	plain    = "number"
	counts   = "count"
)

func typeOf(field string) string {
	switch {
	case strings.HasSuffix(field, "Pct") || field == "probability":
		return percents
	case slices.Contains([]string{"priceUsd", "markUsd", "promptPerMillionUsd", "completionPerMillionUsd"}, field):
		return prices
	case strings.HasSuffix(field, "Usd"):
		return dollars
	case slices.Contains([]string{"rate", "level", "yearHigh", "putCall", "ethAverageGwei", "ethFastGwei", "btcFastestSatVb"}, field):
		return plain
	}
	return counts
}

// shown is a figure as a sentence has it.
type shown struct {
	text        string
	value, half float64 // what it says and by how much it may be off
}

// says reports whether the figure is true of a value, without its sign.
func (s shown) says(x float64) bool { return math.Abs(math.Abs(x)-math.Abs(s.value)) <= s.half*1.001 }

// show writes a value, with its sign where the sentence has no word for it.
func show(x float64, field string, signed bool, r *rand.Rand) (s shown) {
	kind := typeOf(field)
	if field == "probability" {
		x *= 100
	}
	sign, size := "", math.Abs(x)
	if x < 0 && signed {
		sign = []string{"-", "−"}[r.IntN(2)]
	}
	write := func(y, unit float64, decimals int, before, after string) shown {
		text := strconv.FormatFloat(y, 'f', decimals, 64)
		return shown{sign + before + grouped(text) + after, math.Round(y*math.Pow10(decimals)) / math.Pow10(decimals) * unit,
			unit * math.Pow10(-decimals) / 2}
	}
	digits := func(most int) int { // so that so many digits of a small number are shown
		return max(2, most-1-int(math.Floor(math.Log10(max(size, 1e-12)))))
	}
	switch kind {
	case percents:
		decimals := 2
		if strings.HasPrefix(field, "funding8h") || strings.HasPrefix(field, "funding1h") {
			decimals = 4
		} else if size >= 1 && r.IntN(2) == 0 {
			decimals = 1
		}
		return write(size, 1, decimals, "", oneOf([]string{"%", "%", "%", "%", " %", " percent"}, r))
	case dollars:
		for i, unit := range []float64{1e12, 1e9, 1e6, 1e3} {
			if size >= unit {
				word := []string{" trillion", " billion", " million", " thousand"}[i]
				if r.IntN(3) == 0 {
					word = []string{"T", "B", "M", "K"}[i]
				}
				return write(size/unit, unit, 1+r.IntN(2), "$", word)
			}
		}
		return write(size, 1, 0, "$", "")
	case prices:
		if size >= 1000 && r.IntN(5) == 0 {
			return write(size/1e3, 1e3, 1, "$", "K")
		} else if size >= 1000 {
			return write(size, 1, 0, "$", "")
		} else if size >= 1 {
			return write(size, 1, 2, "$", "")
		}
		return write(size, 1, digits(4), "$", "")
	case plain:
		if size == math.Trunc(size) {
			return write(size, 1, 0, "", "")
		}
		return write(size, 1, digits(3), "", "")
	}
	return write(size, 1, 0, "", "")
}

// grouped puts commas between thousands.
func grouped(text string) string {
	whole, rest, point := strings.Cut(text, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if point {
		whole += "." + rest
	}
	return whole
}

// spansOf are the words of a field's span.
func spansOf(field string) []string {
	switch field {
	case "change1hPct":
		return []string{"in an hour", "over the past hour", "within one hour", "in the last hour"}
	case "change24hPct", "change1dPct":
		return []string{"in 24 hours", "over the past 24 hours", "in a day", "within a day", "today"}
	case "change7dPct":
		return []string{"in seven days", "over the past week", "in a week", "over 7 days", "this week"}
	}
	return nil
}

// otherWeeks are spans that no state tells of.
func otherWeeks() []string {
	return []string{
		"in the week before last", "two weeks ago", "in the past two weeks", "over the last fortnight", "in the first week of the month",
		"three weeks ago", "over the last three weeks", "in the week before", "over 14 days", "in the previous fortnight",
	}
}

// sentence is what a phrase is filled with.
type sentence struct {
	p          phrase
	a, b       stated
	v, w       float64 // in place of a's and b's own
	vf, wf     string  // fields that figures are written as; "" is the phrase's
	span       string  // in place of the field's own
	opposed    bool    // words of direction are the other way round
	unit       func(text string) string
	also       int // another source
	first, two shown
}

var (
	directed = regexp.MustCompile(`\{([vw]):([^|}]*)\|([^}]*)\}`)
	spanned  = regexp.MustCompile(`\{t(?::\w+\|)?\}`)
)

// fill writes the sentence.
func (s *sentence) fill(r *rand.Rand) string {
	text := s.p.text
	signed := func(slot string) bool { return !strings.Contains(text, "{"+slot+":") }
	field := func(own, other string) string {
		if other != "" {
			return other
		}
		return own
	}
	second := s.p.field
	if s.p.second != "" {
		second = s.p.second
	}
	s.first = show(s.v, field(s.p.field, s.vf), signed("v"), r)
	s.two = show(s.w, field(second, s.wf), signed("w"), r)
	figure := s.first.text
	if s.unit != nil {
		figure = s.unit(figure)
	}
	text = directed.ReplaceAllStringFunc(text, func(m string) string {
		g := directed.FindStringSubmatch(m)
		x := s.v
		if g[1] == "w" {
			x = s.w
		}
		if (x < 0) != s.opposed {
			return g[3]
		}
		return g[2]
	})
	span := s.span
	if spans := spansOf(s.p.field); span == "" && spans != nil {
		span = spans[r.IntN(len(spans))]
	}
	text = spanned.ReplaceAllStringFunc(text, func(m string) string {
		if m == "{t}" {
			return span
		}
		return strings.ToUpper(span[:1]) + span[1:] + "," // at the beginning of a sentence
	})
	refs := fmt.Sprintf("[%d]", s.a.ref)
	if s.also > 0 && s.also != s.a.ref {
		refs += fmt.Sprintf("[%d]", s.also)
	}
	return strings.NewReplacer("{A}", s.a.name, "{B}", s.b.name, "{S}", s.a.symbol, "{v}", figure, "{w}", s.two.text, "[{r}]", refs).
		Replace(text)
}

// kindsOfFalse are the kinds of false sentences.
func kindsOfFalse() []string {
	return []string{
		"another row", "another span", "flag", "count, rank or sum", "reversed pair", "another week", "another market", "direction", "unit",
		"total",
	}
}

// oneOf is one of a list.
func oneOf[T any](list []T, r *rand.Rand) T { return list[r.IntN(len(list))] }

// subject fills a sentence with the figures of rows, as they are. Tiny moves have no direction to be wrong about.
func (t told) subject(p phrase, r *rand.Rand) (s *sentence, ok bool) {
	var rows []stated
	for _, row := range t.sets[p.set] {
		v, is := row.numbers[p.field]
		_, two := row.numbers[p.second]
		if is && math.Abs(v) > 0.0001 && (p.second == "" || two) && !(typeOf(p.field) == percents && strings.Contains(p.text, "{v:") &&
			math.Abs(v) < 0.1) {
			rows = append(rows, row)
		}
	}
	if len(rows) == 0 || p.kind == "pair" && len(rows) < 2 {
		return nil, false
	}
	s = &sentence{p: p, a: oneOf(rows, r)}
	s.v = s.a.numbers[p.field]
	if p.kind == "pair" {
		rest := slices.DeleteFunc(slices.Clone(rows), func(row stated) bool {
			return row.name == s.a.name || row.ref != s.a.ref
		})
		if len(rest) == 0 {
			return nil, false
		}
		s.b = oneOf(rest, r)
		s.w = s.b.numbers[p.field]
	} else if p.second != "" {
		s.w = s.a.numbers[p.second]
	}
	return s, true
}

// offer is a number of a state with its source.
type offer struct {
	value float64
	ref   int
	set   string
	field string
}

// offers are the numbers of a type outside of a set's field.
func (t told) offers(kind string, not func(set, field string) bool) (list []offer) {
	for _, set := range slices.Sorted(maps.Keys(t.sets)) {
		for _, row := range t.sets[set] {
			for _, field := range slices.Sorted(maps.Keys(row.numbers)) {
				if x := row.numbers[field]; typeOf(field) == kind && math.Abs(x) > 0.0001 && !not(set, field) {
					list = append(list, offer{x, row.ref, set, field})
				}
			}
		}
	}
	return list
}

// falsify writes a false sentence of a kind by a phrase, if there is one.
func (t told) falsify(kind string, p phrase, r *rand.Rand) (text string, ok bool) {
	if kind == "total" {
		if p.kind != "total" {
			return "", false
		}
		var list []offer
		for _, of := range p.wrong {
			set, field, _ := strings.Cut(of, ".")
			list = append(list, t.offers(typeOf(field), func(s, f string) bool { return s != set || f != field })...)
		}
		if len(list) == 0 {
			return "", false
		}
		o := oneOf(list, r)
		s := &sentence{p: p, a: stated{ref: o.ref}, v: o.value, vf: o.field}
		truth := 0.0
		if rows := t.sets[p.set]; len(rows) > 0 {
			s.a.ref, s.also, truth = rows[0].ref, o.ref, rows[0].numbers[p.field]
		}
		text = s.fill(r)
		return text, !s.first.says(truth)
	}
	s, ok := t.subject(p, r)
	if !ok || p.kind == "total" || (kind == "reversed pair") == (p.kind == "one") {
		return "", false
	}
	truth := s.v
	kindOf := typeOf(p.field)
	isDirected := strings.Contains(p.text, "{v:")
	differs := true // that the figure has to be another one
	switch kind {
	case "another row":
		var others []stated
		for _, row := range t.sets[p.set] {
			if x, is := row.numbers[p.field]; is && row.name != s.a.name && x != 0 && (!isDirected || x < 0 == (s.v < 0)) {
				others = append(others, row)
			}
		}
		if len(others) == 0 {
			return "", false
		}
		s.v = oneOf(others, r).numbers[p.field]
	case "another span":
		spans := []string{"change1hPct", "change24hPct", "change1dPct", "change7dPct", "change12mPct", "change1mPct"}
		if p.set == "fng" {
			spans = []string{"value", "previousDay", "weekAgo"}
		}
		if !slices.Contains(spans, p.field) {
			return "", false
		}
		spans = slices.DeleteFunc(spans, func(f string) bool { _, is := s.a.numbers[f]; return f == p.field || !is })
		if len(spans) == 0 {
			return "", false
		}
		s.v = s.a.numbers[oneOf(spans, r)]
	case "flag":
		var list []offer
		for _, f := range t.flags {
			kind := map[string]string{"pct": percents, "usd": dollars, "index": counts}[f.Unit]
			if kind != kindOf || strings.EqualFold(f.Subject, s.a.name) || f.Subject == s.a.symbol || strings.Contains(f.Message, s.a.name) {
				continue
			}
			list = append(list, offer{f.Threshold, f.Ref, "", p.field}, offer{f.Value, f.Ref, "", p.field})
		}
		if len(list) == 0 {
			return "", false
		}
		o := oneOf(list, r)
		s.v = o.value
		if r.IntN(2) == 0 {
			s.also = o.ref
		}
	case "count, rank or sum":
		if kindOf != counts {
			return "", false
		}
		list := t.offers(counts, func(set, field string) bool { return set == p.set || field == p.field })
		for _, c := range t.count {
			for field, x := range c.numbers {
				list = append(list, offer{x, s.a.ref, "", field})
			}
		}
		sum := 0.0
		for _, row := range t.sets[p.set] {
			sum += row.numbers[p.field]
		}
		list = append(list, offer{sum, s.a.ref, "", "sum"})
		o := oneOf(list, r)
		s.v, s.also = math.Round(o.value), o.ref
	case "reversed pair":
		if s.v == s.w || isDirected && s.v < 0 != (s.w < 0) {
			return "", false
		}
		s.v, s.w = s.w, s.v
		if p.second != "" {
			s.vf, s.wf = p.second, p.field
		}
	case "another week":
		if !spanned.MatchString(p.text) {
			return "", false
		}
		differs, s.span = false, oneOf(otherWeeks(), r)
	case "another market":
		list := t.offers(kindOf, func(set, _ string) bool { return set == p.set })
		if list = slices.DeleteFunc(list, func(o offer) bool { return isDirected && o.value < 0 != (s.v < 0) }); len(list) == 0 {
			return "", false
		}
		o := oneOf(list, r)
		s.v, s.also = o.value, o.ref
		if o.field == "probability" {
			s.v *= 100
		}
		if p.field == "probability" {
			s.v /= 100
		}
	case "direction":
		if !isDirected {
			return "", false
		}
		differs, s.opposed = false, true
	case "unit":
		differs, s.unit = false, otherUnit(kindOf, p.text, r)
		if s.unit == nil {
			return "", false
		}
	}
	text = s.fill(r)
	if p.field == "probability" {
		truth *= 100
	}
	return text, !differs || !s.first.says(truth)
}

// otherUnit gives a figure of a type another unit, or another order of size.
func otherUnit(kind, phrase string, r *rand.Rand) func(string) string {
	instead := func(pairs ...string) func(string) string {
		return func(text string) string { return strings.NewReplacer(pairs...).Replace(text) }
	}
	unit := func(word string) func(string) string { return instead(" %", word, " percent", word, "%", word) }
	switch {
	case kind == percents:
		return oneOf([]func(string) string{
			unit(" basis points"), unit(" dollars"), unit(" million"), unit(" sat/vB"),
		}, r)
	case kind == dollars:
		return oneOf([]func(string) string{
			instead(" trillion", " billion", " billion", " million", " million", " billion", " thousand", " million", "T", "B", "B", "M", "M",
				"B", "K", "M"),
			instead("$", "€"), func(text string) string { return strings.TrimPrefix(text, "$") + " percent" },
		}, r)
	case kind == prices:
		return oneOf([]func(string) string{
			instead("$", "€"), func(text string) string { return text + " million" }, func(text string) string { return text[1:] + "%" },
			instead("$", "£"), func(text string) string { return text[1:] + " cents" },
		}, r)
	case strings.Contains(phrase, "{v} coins") || strings.Contains(phrase, "{v} large"):
		return func(text string) string { return text + "% of" }
	case kind == counts && strings.Contains(phrase, "{v} "):
		return func(text string) string { return text + oneOf([]string{" million", " thousand", " billion"}, r) }
	}
	return nil
}

// mutations are what is changed of a true sentence, one at a time.
func mutations() []string { return []string{"subject", "figure", "field", "unit", "span", "direction"} }

// mutate writes a true sentence with one thing changed.
func (t told) mutate(what string, p phrase, all []phrase, r *rand.Rand) (text string, ok bool) {
	switch what {
	case "subject":
		return t.falsify("another row", p, r)
	case "unit", "direction":
		return t.falsify(what, p, r)
	case "span":
		return t.falsify(oneOf([]string{"another span", "another week"}, r), p, r)
	}
	s, ok := t.subject(p, r)
	if !ok || p.kind != "one" {
		return "", false
	}
	truth := s.v
	if what == "figure" {
		s.v *= 0.4 + 1.4*r.Float64()
		if typeOf(p.field) == counts {
			s.v = math.Round(s.v)
		}
	} else {
		var others []phrase
		for _, o := range all {
			x, is := s.a.numbers[o.field]
			if o.kind == "one" && o.set == p.set && o.field != p.field && typeOf(o.field) == typeOf(p.field) && is && x < 0 == (s.v < 0) {
				others = append(others, o)
			}
		}
		if len(others) == 0 {
			return "", false
		}
		s.p, s.vf = oneOf(others, r), p.field
		truth = s.a.numbers[s.p.field]
	}
	text = s.fill(r)
	if s.p.field == "probability" {
		truth *= 100
	}
	return text, !s.first.says(truth) && s.v != 0
}

// passing counts sentences by kind: how many there were and how many passed the check, with the phrasings.
type passing struct {
	asked, passed int
	ways          map[string]bool
	examples      []string
}

// judgeStatements holds sentences about real states against the check that a model's brief has to pass: false ones of each kind, true
// ones with one thing changed, and true ones.
func judgeStatements(ctx context.Context, cfg config, verbose bool) (string, error) {
	states, err := toldStates(ctx, cfg)
	if err != nil {
		return "", err
	}
	return judgeTold(states, cfg, verbose)
}

// judgeTold is judgeStatements of states that were read.
func judgeTold(states []told, cfg config, verbose bool) (string, error) {
	r, all := rand.New(rand.NewPCG(cfg.seed, 3)), phrases(statementsText)
	scores := map[string]*passing{}
	seen := map[string]bool{}
	judge := func(group, text, way string, in brief.Input, right bool) {
		p := scores[group]
		if p == nil {
			p = &passing{ways: map[string]bool{}}
			scores[group] = p
		}
		p.asked++
		p.ways[way] = true
		findings := brief.Check(text, in)
		if len(findings) == 0 {
			p.passed++
		}
		if right != (len(findings) == 0) {
			p.examples = append(p.examples, text+why(findings))
		}
	}
	fill := func(group string, n int, make func(t told, p phrase) (string, bool)) {
		for round := 0; n > 0 && round < 400; round++ {
			for _, i := range r.Perm(len(all)) {
				for _, j := range r.Perm(len(states)) {
					t := states[j]
					text, ok := make(t, all[i])
					if !ok || seen[t.in.Pack+text] || n == 0 {
						continue
					}
					seen[t.in.Pack+text] = true
					n--
					judge(group, text, all[i].text, t.in, false)
					break
				}
			}
		}
	}
	for _, kind := range kindsOfFalse() {
		fill("false: "+kind, 100, func(t told, p phrase) (string, bool) { return t.falsify(kind, p, r) })
	}
	for i, what := range mutations() {
		n := 334
		if i > 1 {
			n = 333
		}
		fill("changed: "+what, n, func(t told, p phrase) (string, bool) { return t.mutate(what, p, all, r) })
	}
	for n := 0; n < 400; {
		t := oneOf(states, r)
		one, ok := t.subject(oneOf(all, r), r)
		p := oneOf(all, r)
		other, too := t.subject(p, r)
		if !ok || !too || one.p.kind == "total" || p.kind == "total" {
			continue
		}
		if n++; n <= 200 {
			judge("true, two in one", joined(one.fill(r), other.fill(r), r), one.p.text+p.text, t.in, true)
		} else if text, ok := t.falsify(oneOf(kindsOfFalse(), r), p, r); ok {
			judge("false: beside a true one", joined(one.fill(r), text, r), one.p.text+p.text, t.in, false)
		} else {
			n--
		}
	}
	for _, t := range states {
		for _, p := range all {
			if s, ok := t.subject(p, r); ok && p.set != "-" {
				judge("true", s.fill(r), p.text, t.in, true)
			}
		}
	}
	for i, set := range []struct{ name, text string }{{"unread", unreadText}, {"briefs", briefsText}} {
		r, all = rand.New(rand.NewPCG(cfg.seed, uint64(4+i))), phrases(set.text)
		for _, what := range mutations() {
			fill(set.name+", changed: "+what, 25+5*i, func(t told, p phrase) (string, bool) { return t.mutate(what, p, all, r) })
		}
		for _, p := range all {
			for _, j := range r.Perm(len(states)) {
				if s, ok := states[j].subject(p, r); ok {
					judge("true, "+set.name, s.fill(r), p.text, states[j].in, true)
					break
				}
			}
		}
	}
	quakes, err := readTold("quakes", json.RawMessage(quakesState), []api.Citation{{Ref: 1, SourceID: "usgs"}})
	if err != nil {
		return "", err
	}
	sentences := quakeSentences()
	for _, text := range slices.Sorted(maps.Keys(sentences)) {
		right := sentences[text]
		group := "false: another row"
		if right {
			group = "true"
		}
		judge(group, text, text, quakes.in, right)
	}
	return statementsTable(scores, verbose), nil
}

// joined puts two sentences into one.
func joined(a, b string, r *rand.Rand) string {
	if word, _, _ := strings.Cut(b, " "); slices.Contains([]string{"The", "In", "Over", "On", "At", "One", "A", "Gas", "All"}, word) {
		b = strings.ToLower(b[:1]) + b[1:]
	}
	return strings.TrimSuffix(a, ".") + oneOf([]string{", and ", ", while ", "; ", ", whereas ", " and "}, r) + b
}

func why(findings []brief.Finding) string {
	if len(findings) == 0 {
		return ""
	}
	return " — " + findings[0].String()
}

// statementsTable is what passed and what did not.
func statementsTable(scores map[string]*passing, verbose bool) string {
	var b, rest strings.Builder
	b.WriteString("| sentences | phrasings | asked | passed the check | wrong |\n|---|--:|--:|--:|--:|\n")
	falsePassed, falseAsked, trueRefused, trueAsked := 0, 0, 0, 0
	for _, group := range slices.Sorted(maps.Keys(scores)) {
		p := scores[group]
		wrong := p.passed
		if strings.HasPrefix(group, "true") {
			wrong = p.asked - p.passed
			trueRefused, trueAsked = trueRefused+wrong, trueAsked+p.asked
		} else {
			falsePassed, falseAsked = falsePassed+p.passed, falseAsked+p.asked
		}
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %s |\n", group, len(p.ways), p.asked, p.passed, percentOf(wrong, p.asked))
		list(&rest, group+": wrongly judged", p.examples)
	}
	fmt.Fprintf(&b, "\nFalse sentences that pass: %d of %d. True sentences that are refused: %d of %d.\n", falsePassed, falseAsked,
		trueRefused, trueAsked)
	if verbose {
		b.WriteString(rest.String())
	}
	return b.String()
}

// toldStates are the states that sentences are about: the last ones of all packs, and of crypto two of before.
func toldStates(ctx context.Context, cfg config) (list []told, err error) {
	add := func(h *host, path string, parameters ...string) error {
		var a api.StateResponse
		status, body, err := h.caller.get(ctx, path, &a, parameters...)
		if err != nil || len(a.State) == 0 {
			return fmt.Errorf("%s: status %d, %w: %.200s", path, status, err, body)
		}
		t, err := readTold(h.pack, a.State, a.Citations)
		list = append(list, t)
		return err
	}
	of := func(h *host, err error, before ...time.Duration) error {
		if h == nil {
			return err
		}
		if err == nil {
			err = add(h, "/v1/fresh")
		}
		for _, d := range before {
			if err == nil {
				err = add(h, "/v1/snapshot", "at", h.at(h.tick).Add(-d).Format(time.RFC3339))
			}
		}
		if closed := h.close(); err == nil {
			err = closed
		}
		return err
	}
	h, _, err := cryptoPast(ctx, cfg, nil)
	if err := of(h, err, 5*time.Hour, 24*time.Hour); err != nil {
		return nil, err
	}
	for _, p := range shippedPacks() {
		h, _, err := packPast(ctx, cfg, p, nil)
		if err := of(h, err); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// quakesState is a state as a pack from a short manifest has it.
const quakesState = `{"quakes":[{"id":"a","name":"Nowhere Ridge","magnitude":6.9,"depthKm":10,"ref":1},
	{"id":"b","name":"Tonga","magnitude":5.9,"depthKm":33,"ref":1},{"id":"c","name":"Hawaii","magnitude":4.2,"depthKm":8.1,"ref":1},
	{"id":"d","name":"Kermadec Islands","magnitude":5.1,"depthKm":120,"ref":1}],"flags":[],"source_status":[{"ref":1,"id":"usgs",
	"status":"ok","fetchedAt":"2026-11-28T16:01:02Z","items":4,"failures":0,"intervalSeconds":300,"staleAfterSeconds":900,"error":null}]}`

// quakeSentences are sentences about it, and whether they are true.
func quakeSentences() map[string]bool {
	return map[string]bool{
		"6.9 at Nowhere Ridge, 5.9 at Tonga and 4.2 near Hawaii [1].":                              true,
		"The strongest quake reached 6.9 at Nowhere Ridge [1].":                                    true,
		"Tonga had a magnitude of 5.9 at a depth of 33 km [1].":                                    true,
		"Kermadec Islands: 5.1, 120 km deep [1].":                                                  true,
		"Near Hawaii the ground shook with 4.2, 8.1 km down [1].":                                  true,
		"Quakes were told of Nowhere Ridge (6.9), Tonga (5.9) and the Kermadec Islands (5.1) [1].": true,
		"A quake at Tonga reached 6.9 [1].":                                                        false,
		"6.9 at Tonga, 5.9 at Nowhere Ridge and 4.2 near Hawaii [1].":                              false,
		"Nowhere Ridge had a magnitude of 10 [1].":                                                 false,
		"Hawaii had a magnitude of 8.1 [1].":                                                       false,
		"Tonga was hit at a depth of 5.9 km [1].":                                                  false,
		"Kermadec Islands: 120, 5.1 km deep [1].":                                                  false,
	}
}
