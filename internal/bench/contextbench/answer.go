package main

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"
)

// reply is the answer to one question, read from the wire as it stands.
type reply struct {
	rows       []map[string]any // those that are not marked
	missing    []string         // what the answer says that it lacks
	marked     []map[string]any // found by a beginning, a word or a spelling
	aggregates map[string]float64
	moments    []time.Time // that the question was read as being about
}

// readReply reads a lookup's answer, with all of its results: a question may be taken as several.
func readReply(doc map[string]any) (r reply) {
	r.aggregates = map[string]float64{}
	results, _ := doc["results"].([]any)
	for _, x := range results {
		result, _ := x.(map[string]any)
		r.add(result)
	}
	return r
}

// add adds what a result says.
func (r *reply) add(result map[string]any) {
	missing, _ := result["missing"].([]any)
	for _, x := range missing {
		if m, is := x.(map[string]any); is {
			r.missing = append(r.missing, str(m, "word")+" "+str(m, "why"))
		}
	}
	rows, _ := result["rows"].([]any)
	for _, x := range rows {
		row, _ := x.(map[string]any)
		if match, _ := row["match"].(string); slices.Contains([]string{"prefix", "words", "spelling"}, match) {
			r.marked = append(r.marked, row)
		} else {
			r.rows = append(r.rows, row)
		}
	}
	for name, value := range result {
		walk(name, value, func(path string, v any) {
			if x, is := v.(float64); is && strings.HasPrefix(path, "aggregates.") && strings.HasSuffix(path, ".value") {
				r.aggregates[path] = x
			}
			if text, is := v.(string); is && (path == "read" || strings.HasPrefix(path, "read.")) {
				for _, m := range minutes.FindAllString(text, -1) {
					at, err := time.Parse("2006-01-02T15:04", m)
					if err == nil {
						r.moments = append(r.moments, at)
					}
				}
			}
		})
	}
}

// minutes are moments as a question is told to be read.
var minutes = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d`)

// walk visits the plain values below v with the names that lead there.
func walk(path string, v any, visit func(path string, v any)) {
	switch v := v.(type) {
	case map[string]any:
		for name, x := range v {
			walk(path+"."+name, x, visit)
		}
	case []any:
		for _, x := range v {
			walk(path, x, visit)
		}
	default:
		visit(path, v)
	}
}

// text is all that a row says, in small letters.
func text(row map[string]any) string {
	b, err := json.Marshal(row)
	if err != nil {
		return "" // what was decoded encodes
	}
	return strings.ToLower(string(b))
}

func str(row map[string]any, name string) string {
	s, _ := row[name].(string)
	return s
}

// judgeAsked says what an answer is worth. Marked rows are right where the question has typing errors, and else of an outcome of their own.
func judgeAsked(q asked, p *past, doc map[string]any) answered {
	a, r := answered{asked: q}, readReply(doc)
	may := true
	for i, w := range q.Want {
		if w.News && w.newest(p.feed) == "" {
			if q.Want[i].MayRefuse = true; w.newest(p.stories) == "" {
				q.Want[i] = want{Refuse: "there is no such story"}
			}
		}
		if w.All && len(w.where(p.things[p.tick])) == 0 {
			q.Want[i] = want{Refuse: "none"}
		}
		may = may && (q.Want[i].MayRefuse || q.Want[i].Refuse != "")
	}
	if doc == nil || len(r.rows) == 0 && (len(r.missing) > 0 || len(r.aggregates) == 0) {
		told := reply{rows: r.marked, moments: r.moments, aggregates: r.aggregates}
		answers := len(told.rows)+len(told.aggregates) > 0
		refusing := slices.ContainsFunc(q.Want, func(w want) bool { return w.Refuse != "" })
		right := answers && !refusing && q.judge(p, told).outcome == wholly
		switch {
		case q.Style == "typing errors" && right:
			a.outcome = wholly
		case right:
			a.outcome = marked
		case answers && !refusing && q.judge(p, told).outcome == nothing:
			a.outcome, a.why = nothing, "marked: "+clip(strings.Join(r.missing, ", "), 160)
		case answers:
			a.outcome, a.why = misled, clip(strings.Join(r.missing, ", ")+" got "+told.said(0), 300)
		case may:
			a.outcome = refused
		default:
			a.outcome, a.why = nothing, "not answered: "+clip(strings.Join(r.missing, ", "), 160)
		}
		return a
	}
	refusing := func(w want) bool { return w.Refuse != "" }
	if i := slices.IndexFunc(q.Want, refusing); i >= 0 {
		if answerable := slices.DeleteFunc(slices.Clone(q.Want), refusing); len(answerable) > 0 && len(r.missing) > 0 {
			q.Want = answerable
			return q.judge(p, r)
		}
		a.outcome, a.why = untrue, "should refuse ("+q.Want[i].Refuse+"), got "+r.said(0)
		return a
	}
	a = q.judge(p, r)
	if a.outcome == untrue && len(r.missing) > 0 && len(q.Want) > 1 { // what is not answered of it is told
		for i := range q.Want {
			some := q
			if some.Want = q.Want[i : i+1]; some.judge(p, r).outcome == wholly {
				return answered{asked: q, outcome: nothing, why: "in part: " + clip(strings.Join(r.missing, ", "), 160)}
			}
		}
	}
	return a
}

// said is a row for the list of wrong answers.
func (r reply) said(i int) string {
	if i >= len(r.rows) {
		return fmt.Sprintf("aggregates %v", r.aggregates)
	}
	row := r.rows[i]
	return clip(fmt.Sprintf("%s/%s %s %v asked %v", str(row, "kind"), str(row, "key"), str(row, "name"), row["fields"], row["asked"]), 220)
}

// judge holds an unmarked answer against what is wanted, whose parts may come in any order. Where several rows are wanted their number of
// leading rows counts; with fewer rows, which are all right, the answer is not whole, and counts as nothing.
func (q asked) judge(p *past, r reply) (best answered) {
	rank := []string{untrue, nothing, wholly}
	var try func(parts []want, rest reply, a answered)
	try = func(parts []want, rest reply, a answered) {
		if len(parts) == 0 || a.outcome == untrue {
			if best.outcome == "" || slices.Index(rank, a.outcome) > slices.Index(rank, best.outcome) {
				best = a
			}
			return
		}
		for i, w := range parts {
			used, outcome, why := w.judge(p, rest)
			next, left := a, rest
			if slices.Index(rank, outcome) < slices.Index(rank, a.outcome) {
				next.outcome, next.why = outcome, why
			}
			left.rows = rest.rows[min(used, len(rest.rows)):]
			try(slices.Delete(slices.Clone(parts), i, i+1), left, next)
		}
	}
	try(q.Want, r, answered{asked: q, outcome: wholly})
	return best
}

// judge holds the leading rows against one part, and says how many it took.
func (w want) judge(p *past, r reply) (used int, outcome, why string) {
	now := p.things[p.tick]
	if len(r.rows)+len(r.aggregates) == 0 {
		return 0, nothing, "no rows are left for the rest"
	}
	switch {
	case w.Agg != "":
		return w.judgeAmount(p, r)
	case w.News:
		return w.judgeNews(p, r)
	case w.Flag != "" || w.FlagOf != "" || w.About != "":
		return w.judgeTold(p, r)
	case w.Over != "":
		return w.judgeChange(p, r)
	case w.Order != "" || w.All:
		list := w.where(now)
		field, _ := strings.CutPrefix(w.Order, "-")
		if w.Order != "" {
			list = w.ordered(now)
		}
		for i := range min(len(list), 10) {
			if i >= len(r.rows) {
				return i, nothing, fmt.Sprintf("%d rows of %d", i, len(list))
			}
			t := of(now, r.rows[i])
			is := t != nil && t.kind == w.Kind
			if w.All {
				is = is && slices.Contains(list, t)
			} else if is = is && slices.Contains(w.where(now), t); is {
				is = t == list[i] || t.numbers[field].value == list[i].numbers[field].value
			}
			if !is {
				return i, untrue, fmt.Sprintf("row %d should be %s, got %s", i+1, list[i].key, r.said(i))
			}
		}
		return len(list), wholly, ""
	}
	return w.judgeRows(p, r)
}

func (w want) judgeRows(p *past, r reply) (used int, outcome, why string) {
	states := [][]*thing{p.things[p.tick]}
	if w.At != "" {
		from, until, err := moments(w.At, p.now)
		if err != nil {
			return 0, untrue, err.Error()
		}
		states = p.within(from, until)
		within := func(t time.Time) bool { return !t.Before(from) && !t.After(until) }
		if len(r.moments) > 0 && !slices.ContainsFunc(r.moments, within) {
			return 0, untrue, fmt.Sprintf("read as about %v", r.moments)
		}
	}
	if len(states) == 0 {
		return 0, untrue, "there is no state of " + w.At
	}
	missing := slices.Clone(w.Keys)
	for i := 0; len(missing) > 0; i++ {
		if i >= len(r.rows) {
			return i, nothing, fmt.Sprintf("rows of %v are missing", missing)
		}
		row, w := r.rows[i], w
		if w.Kind == "asset" && str(row, "kind") == "stablecoin" && slices.Equal(w.Fields, []string{"priceUsd"}) {
			w.Kind = "stablecoin" // which has a price too, and how far it is off its peg
		}
		if i > 0 && len(missing) < len(w.Keys) && sameThing(row, r.rows[i-1]) {
			continue
		}
		at := slices.IndexFunc(missing, func(key string) bool {
			t := keyed(states[len(states)-1], w.Kind, key)
			return t != nil && (t.is(row) || w.Kind == "release" && strings.HasSuffix(str(row, "key"), "-"+key))
		})
		if at < 0 {
			return i, untrue, fmt.Sprintf("no row of %v, got %s", missing, r.said(i))
		}
		for _, field := range w.Fields {
			if wrong := w.wrong(row, states, missing[at], field, p, r); wrong != "" {
				return i, untrue, wrong + ", got " + r.said(i)
			}
		}
		missing = slices.Delete(missing, at, at+1)
		if w.One {
			return i + 1, wholly, ""
		}
		used = i + 1
	}
	return used, wholly, ""
}

// sameThing reports whether two rows are of one thing: another field of it, or another version.
func sameThing(a, b map[string]any) bool {
	x, _, release := strings.Cut(str(a, "key"), "/")
	y, _, _ := strings.Cut(str(b, "key"), "/")
	return str(a, "kind") == str(b, "kind") && (str(a, "key") == str(b, "key") || str(a, "kind") == "release" && release && x == y)
}

// wrong says what is wrong with a field of a row, "" if nothing is.
func (w want) wrong(row map[string]any, states [][]*thing, key, field string, p *past, r reply) string {
	fields, _ := row["fields"].(map[string]any)
	value, is := fields[field]
	if !is || value == nil {
		return "no " + field
	}
	var asked []any
	for _, other := range r.rows { // of a question for several fields, which may stand in a row each
		if list, is := other["asked"].([]any); is && str(other, "kind") == str(row, "kind") && str(other, "key") == str(row, "key") {
			asked = append(asked, list...)
		}
	}
	told := slices.Contains(asked, any(field)) || field == "impact" && slices.Contains(asked, any("status")) // which says it in words
	if len(asked) > 0 && !told {
		return field + " is not marked as asked"
	}
	said := toFloat(value)
	near := func(list []*thing) (bool, fact) {
		t := keyed(list, w.Kind, key)
		if t == nil {
			return false, fact{}
		}
		f, known := t.numbers[field]
		return known && f.near(said), f
	}
	truth := fact{}
	for _, list := range states {
		ok, f := near(list)
		truth = f
		if !ok {
			continue
		}
		if now, _ := near(p.things[p.tick]); w.At != "" && now && len(r.moments) == 0 {
			return "no word that it is of then"
		}
		return ""
	}
	return fmt.Sprintf("%s is %v", field, truth.value)
}

func (w want) judgeAmount(p *past, r reply) (used int, outcome, why string) {
	states := [][]*thing{p.things[p.tick]}
	if w.At != "" {
		from, until, err := moments(w.At, p.now)
		if err != nil {
			return 0, untrue, err.Error()
		}
		states = p.within(from, until)
	}
	var all []float64
	for _, list := range states {
		all = append(all, w.amounts(list)...)
	}
	is := func(x float64) bool {
		return slices.ContainsFunc(all, func(v float64) bool { return math.Abs(x-v) <= math.Max(math.Abs(v)*1e-6, 0.00501) })
	}
	for _, x := range r.aggregates {
		if is(x) { // its rows stand before those of what else is asked
			other := slices.IndexFunc(r.rows, func(row map[string]any) bool {
				return str(row, "kind") != str(r.rows[0], "kind") || !reflect.DeepEqual(row["asked"], r.rows[0]["asked"])
			})
			if other < 0 {
				other = len(r.rows)
			}
			return other, wholly, ""
		}
	}
	if len(r.aggregates) == 0 && len(r.rows) > 0 {
		fields, _ := r.rows[0]["fields"].(map[string]any)
		for _, v := range fields {
			if t := of(p.things[p.tick], r.rows[0]); is(toFloat(v)) && (t == nil || t.kind != w.Kind) {
				return 1, wholly, ""
			}
		}
	}
	return 0, untrue, fmt.Sprintf("%s is one of %v, got %v %s", w.Agg, all, r.aggregates, r.said(0))
}

// judgeChange takes the change since then from what a row says of the span, or from a field that says the same.
func (w want) judgeChange(p *past, r reply) (used int, outcome, why string) {
	from, until, err := moments(w.Over, p.now)
	if err != nil {
		return 0, untrue, err.Error()
	}
	if len(r.rows) == 0 || str(r.rows[0], "kind") != w.Kind {
		return 0, untrue, "another kind of row, got " + r.said(0)
	}
	row, field := r.rows[0], w.Fields[0]
	now := keyed(p.things[p.tick], w.Kind, w.Keys[0])
	if now == nil || !now.is(row) {
		return 0, untrue, "no row of " + w.Keys[0] + ", got " + r.said(0)
	}
	var said []float64
	asked, _ := row["asked"].([]any)
	walk("", row, func(path string, v any) {
		x, number := v.(float64)
		last := path[strings.LastIndex(path, ".")+1:]
		named := strings.HasPrefix(last, "change") && slices.Contains(asked, any(last))
		if over := path == ".over."+field+".change" || path == ".over."+field+".changePct"; number && (over || named) {
			said = append(said, x)
		}
	})
	then := 0.0
	for _, list := range p.within(from, until) {
		t := keyed(list, w.Kind, w.Keys[0])
		if t == nil {
			continue
		}
		then = t.numbers[field].value
		is := now.numbers[field].value
		for _, x := range said {
			if math.Abs(x-(is/then-1)*100) <= 0.0101 || math.Abs(x-(is-then)) <= math.Max(math.Abs(is)*2e-5, 0.0101) {
				return 1, wholly, ""
			}
		}
	}
	return 0, untrue, fmt.Sprintf("%s was %v and is %v, got %v %s", field, then, now.numbers[field].value, said, r.said(0))
}

// fits reports whether a story is one that is wanted.
func (w want) fits(s story) bool {
	title := strings.ToLower(s.title)
	for _, word := range strings.Fields(w.Words) {
		if !strings.Contains(title, word) {
			return false
		}
	}
	return (w.Source == "" || s.source == w.Source) && (w.Not == "" || !strings.Contains(title, strings.ToLower(w.Not)))
}

// newest is the title of the newest story that is wanted, "" if there is none.
func (w want) newest(stories []story) string {
	for _, s := range stories {
		if w.fits(s) {
			return s.title
		}
	}
	return ""
}

// judgeNews wants a story that fits first, and the newest of these where that is asked for.
func (w want) judgeNews(p *past, r reply) (used int, outcome, why string) {
	if len(r.rows) == 0 || str(r.rows[0], "kind") != "headline" {
		return 0, untrue, "no headline, got " + r.said(0)
	}
	title := str(r.rows[0], "name")
	known := slices.ContainsFunc(p.stories, func(s story) bool { return s.title == title && w.fits(s) })
	if !known || w.Newest && title != w.newest(p.feed) {
		return 0, untrue, fmt.Sprintf("should be %q, got %s", w.newest(p.feed), r.said(0))
	}
	return 1, wholly, ""
}

// judgeTold wants flags of a kind, of a severity or of a subject, or rows that tell what happened to a subject. How far a stablecoin is
// off its peg tells as much as the flag on it.
func (w want) judgeTold(p *past, r reply) (used int, outcome, why string) {
	if len(r.rows) == 0 {
		return 0, nothing, "no rows"
	}
	for i, row := range r.rows {
		said, kind := text(row), str(row, "kind")
		flag := strings.HasPrefix(kind, "flag")
		if t := of(p.things[p.tick], row); t != nil && t.kind == "stablecoin" && t.key == w.FlagOf {
			wrong := want{Kind: t.kind}.wrong(row, [][]*thing{p.things[p.tick]}, t.key, "pegDeviationPct", p, r)
			if flag = wrong == ""; !flag {
				return 0, untrue, wrong + ", got " + r.said(i)
			}
		}
		of := map[string]string{"first-digital-usd": "fdusd", "benqi-lending": "benqi", "first digital": "fdusd"}[w.FlagOf+w.About]
		switch {
		case w.About != "":
			asked, _ := row["asked"].([]any)
			moved := slices.ContainsFunc(asked, func(v any) bool { name, _ := v.(string); return strings.HasPrefix(name, "change") })
			if tells := flag || kind == "headline" || kind == "hack" || moved; !strings.Contains(said, w.About) &&
				(of == "" || !strings.Contains(said, of)) || !tells && i == 0 {
				return 0, untrue, "not about " + w.About + ", got " + r.said(i)
			}
		case !flag && i > 0: // what else is asked
			return i, wholly, ""
		case !flag:
			return 0, untrue, "no flag, got " + r.said(i)
		case w.Flag != "" && w.Flag != "any" && !strings.Contains(said, w.Flag):
			return 0, untrue, "no flag of " + w.Flag + ", got " + r.said(i)
		case w.FlagOf != "" && !strings.Contains(said, w.FlagOf) && (of == "" || !strings.Contains(said, of)):
			return 0, untrue, "no flag of " + w.FlagOf + ", got " + r.said(i)
		}
	}
	return len(r.rows), wholly, ""
}
