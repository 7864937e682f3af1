// Package check judges the figures of a text against the rows of a moment: which of them the rows say, which they said at another time,
// which they contradict, and which it cannot tell.
//
// Silence is better than a false alarm. A figure is refuted only where a name that is surely one stands in its clause, its unit and the
// words of the clause leave one meaning, every word of the clause is known, no reading of the number comes near the value or where it was
// in the last day, and nothing else that the sentence names and no text of the state has the figure. All else is unknown, with a reason.
//
// Judge is a pure function: the same text and material give the same answer. It knows no pack, keeps nothing and reads no clock.
package check

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/prose"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// Material is what a text is judged against.
type Material struct {
	At        time.Time // that the values are of
	Tables    *state.Tables
	State     *state.Document // of the moment
	Shown     []state.Shown
	Citations []api.Citation
	Past      bool                    // the values are those of State alone; Tables have the names
	Late      func(r *state.Row) bool // the source of r is overdue; nil means that none is
	Within    time.Duration           // a value of so long before counts as that of the moment
	Earlier   Earlier                 // nil where nothing is known of it
	All       bool                    // with what is verified
}

// Earlier is what a number of a row was in the day before the moment, the newest first.
type Earlier func(kind, key, field string) []state.Point

// Sample is what a state of the past had of the rows that it shows.
type Sample struct {
	At   time.Time
	rows map[string]state.Row
}

// NewSample makes the Sample of a state.
func NewSample(at time.Time, doc *state.Document, shown []state.Shown) Sample {
	s := Sample{At: at, rows: map[string]state.Row{}}
	for _, r := range doc.Rows(shown) {
		if _, again := s.rows[r.Kind+"/"+r.Key]; !again {
			s.rows[r.Kind+"/"+r.Key] = r
		}
	}
	return s
}

// Number is a number of a row.
func (s Sample) Number(kind, key, field string) (float64, bool) {
	r, there := s.rows[kind+"/"+key]
	if !there {
		return 0, false
	}
	return r.Number(field)
}

// Report is what became of the figures of a text.
type Report struct {
	Findings []api.CheckFinding // but for what is verified, where not all are asked for
	Counts   map[api.CheckVerdict]int
	Figures  int // that were found, at most one more than there may be
	Refs     []int
}

// Verdict is that of the whole text, which is as good as the worst of its figures.
func (r *Report) Verdict() api.CheckVerdict {
	for _, v := range api.CheckVerdicts() {
		if r.Counts[v] > 0 {
			return v
		}
	}
	return api.CheckUnknown
}

// Judged is how many figures are verified, stale or refuted.
func (r *Report) Judged() int {
	return r.Counts[api.CheckVerified] + r.Counts[api.CheckStale] + r.Counts[api.CheckRefuted]
}

// Judge judges a text.
func Judge(text string, m Material) Report {
	j := newJudge(text, m)
	r := Report{Counts: map[api.CheckVerdict]int{}, Figures: len(j.numbers)}
	findings := j.characters()
	for _, s := range j.sentences {
		findings = append(findings, j.sentence(s)...)
	}
	for _, f := range findings {
		if f.Reason != api.CheckCharacter {
			r.Counts[f.Verdict]++
		}
		if f.Ref > 0 && !slices.Contains(r.Refs, f.Ref) && (m.All || f.Verdict != api.CheckVerified) {
			r.Refs = append(r.Refs, f.Ref)
		}
		if m.All || f.Verdict != api.CheckVerified {
			r.Findings = append(r.Findings, f)
		}
	}
	slices.SortStableFunc(r.Findings, func(a, b api.CheckFinding) int { return a.Start - b.Start })
	slices.Sort(r.Refs)
	return r
}

type judge struct {
	Material
	text      string // as it was given
	title     bool   // it is that of a headline
	flat      *prose.Flat
	numbers   []prose.Written
	mentions  []*mention
	sentences []prose.Sentence
	previous  []*mention    // of the sentence before, where it is of the same paragraph
	period    time.Duration // that the sentences before were about, 0 where they name none or several
	then      map[string]state.Row
	places    map[string]*state.Place
	lone      map[string]*state.Row
	written   map[string]bool // what texts have
	texts     string          // of the state and of rows such as headlines, folded
	quotes    [][2]int
	masked    [][2]int // what is no prose
	links     [][2]int
	bytes     []int // of text, by code points
	lately    map[measure][]state.Point
	decimals  map[measure]int // that are kept of a percentage
}

func newJudge(text string, m Material) *judge {
	j := &judge{Material: m, text: text, flat: prose.Flatten(text), places: map[string]*state.Place{}, written: map[string]bool{},
		lately: map[measure][]state.Point{}, decimals: map[measure]int{}}
	j.numbers = prose.Numbers(j.flat.Text, api.MaxCheckFigures+1)
	if m.Past {
		j.then = NewSample(m.At, m.State, m.Shown).rows
	}
	places := m.State.Places(m.Shown)
	for i := range places {
		if _, again := j.places[places[i].Row]; !again {
			j.places[places[i].Row] = &places[i]
		}
	}
	for i := range text {
		j.bytes = append(j.bytes, i)
	}
	j.bytes = append(j.bytes, len(text))
	j.lone, j.masked, j.links = m.Tables.Lone(), masks(j.flat.Text), addresses(j.flat.Text)
	j.mentions = j.find()
	j.unname()
	spans := make([]prose.Found, len(j.mentions))
	for i, n := range j.mentions {
		spans[i] = prose.Found{Start: n.start, End: n.end, Named: true, Sure: n.sure}
	}
	j.sentences = prose.Sentences(j.flat.Text, spans)
	j.quotes = prose.Quotations(j.flat.Text, 0)
	return j
}

// unname takes from a number what is of a name before it: the USD of EUR/USD 1.16.
func (j *judge) unname() {
	for i := range j.numbers {
		w := &j.numbers[i]
		for _, m := range j.mentions {
			if m.start < w.Start && w.Start < m.end && m.end < w.End {
				if again := prose.Numbers(j.flat.Text[m.end:w.End], 1); len(again) == 1 {
					*w = again[0]
					w.Start, w.End = w.Start+m.end, w.End+m.end
				}
			}
		}
	}
}

// characters finds what cannot be seen, the first of each run.
func (j *judge) characters() (list []api.CheckFinding) {
	const most = 10
	n, last := 0, -2
	for _, r := range j.text {
		if r != '\n' && r != '\t' && r != '\r' && r != '\u200d' && human.Hostile(r) {
			if n != last+1 && len(list) < most {
				list = append(list, api.CheckFinding{Start: n, End: n + 1, Text: fmt.Sprintf("U+%04X", r), Verdict: api.CheckUnknown,
					Reason: api.CheckCharacter})
			}
			last = n
		}
		n++
	}
	return list
}

// sentence judges the figures of s.
func (j *judge) sentence(s prose.Sentence) (list []api.CheckFinding) {
	t := j.read(s)
	if s.Opens {
		j.period = 0
	}
	if len(t.periods) > 0 {
		j.period = alone(t.periods)
	}
	for i := range t.numbers {
		if f, counts := t.figure(i); counts {
			list = append(list, f)
		}
	}
	if s.Opens || len(t.named) > 0 {
		j.previous = t.named
	}
	return list
}

// alone is the length that all periods have, 0 where there are several.
func alone(list []prose.Period) time.Duration {
	for _, p := range list {
		if p.Length != list[0].Length || p.Ago {
			return 0
		}
	}
	return list[0].Length
}

// finding is one about w, with nothing said yet.
func (j *judge) finding(w *prose.Written) api.CheckFinding {
	f := api.CheckFinding{Start: j.flat.At(w.Start), End: j.flat.At(w.End)}
	const most = 120
	f.Text = human.Clip(strings.ToValidUTF8(j.text[j.bytes[f.Start]:j.bytes[f.End]], "\uFFFD"), most)
	return f
}

// inTexts reports whether a text of the state, or of a row such as a headline, has what is written.
func (j *judge) inTexts(raw string) bool {
	if j.texts == "" {
		var b strings.Builder
		for _, r := range j.Tables.Rows() {
			if j.Tables.KindNamed(r.Kind).Own {
				b.WriteString(r.Name)
				b.WriteByte('\n')
			}
		}
		for _, text := range j.State.Texts() {
			b.WriteString(text)
			b.WriteByte('\n')
		}
		b.WriteByte('\n')
		j.texts = prose.Flatten(b.String()).Text
	}
	found, known := j.written[raw]
	if !known {
		found = holds(j.texts, raw)
		j.written[raw] = found
	}
	return found
}

// holds reports whether a text has another one in it, which no digit goes on with.
func holds(text, part string) bool {
	for from := 0; ; {
		at := strings.Index(text[from:], part)
		if at < 0 || part == "" {
			return false
		}
		start, end := from+at, from+at+len(part)
		if !digitBeside(text, start-1) && !digitBeside(text, end) {
			return true
		}
		from = start + 1
	}
}

func digitBeside(t string, i int) bool { return i >= 0 && i < len(t) && t[i] >= '0' && t[i] <= '9' }
