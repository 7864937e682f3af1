package brief

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/prose"
	"github.com/contextd/contextd/sdk/api"
)

// Sentence is one that a manifest has: about the rows of a member of the state. A row that lacks one of its fields is not told.
type Sentence struct {
	Over         string   // the member
	By           string   // the number that bounds and sorting go by
	Sorted       bool     // the largest first; else as the member has them
	Least        bool     // the least first
	Above, Below *float64 // bounds that the number has to be beyond; nil for none
	Rows         int      // that are told at most

	Before, After human.Template // around the list
	Item          human.Template // of the list
	Listed        bool           // there is a list; else Before is about the first row
}

// BySentences returns the writer of the sentences of a manifest. The same state gives the same text, which passes Check.
func BySentences(title string, list []Sentence) Writer { return bySentences{title, list} }

type bySentences struct {
	title string
	list  []Sentence
}

var _ Writer = bySentences{}

// Name implements Writer. It is the writer by rules, as BuiltIn is.
func (bySentences) Name() string { return BuiltIn().Name() }

// Write implements Writer.
func (w bySentences) Write(_ context.Context, in Input) (Draft, error) {
	if err := object(in.State); err != nil {
		return Draft{}, err
	}
	paragraphs := []paragraph{raised(in, in.State.Flags())}
	over := ""
	for _, s := range w.list {
		var fields []api.Fields
		_ = in.State.Decode(s.Over, &fields) // what a damaged state says otherwise still counts
		rows := make([]sentenceRow, len(fields))
		for i, f := range fields {
			rows[i] = sentenceRow{f, placed{fmt.Sprintf("%s[%d]", s.Over, i)}}
		}
		if s.Over != over {
			paragraphs, over = append(paragraphs, nil), s.Over
		}
		if text := s.write(in, rows); text != "" {
			last := &paragraphs[len(paragraphs)-1]
			*last = append(*last, stating(useful, text, s.fixed()))
		}
	}
	if len(paragraphs) > 1 && len(slices.Concat(paragraphs[1:]...)) == 0 {
		paragraphs = append(paragraphs, holdings(in))
	}
	status := in.State.Sources()
	draft := compose(in, append(paragraphs, troubles(in, status)))
	if draft.Text == "" && len(status) > 0 {
		draft = compose(in, []paragraph{health(in, status)})
	}
	if draft.Text == "" {
		return Draft{}, errNothing
	}
	return draft, nil
}

// sentenceRow is a row of the member that a sentence is over.
type sentenceRow struct {
	api.Fields
	placed
}

// write writes the sentence about rows, "" where there is nothing to tell.
func (s Sentence) write(in Input, rows []sentenceRow) string {
	var items, of []string
	var refs []int
	var told []sentenceRow
	for _, row := range s.choose(rows) {
		ref, _ := row.Get("ref").(float64)
		if !citable(in, int(ref)) || len(items) == max(s.Rows, 1) {
			continue
		}
		t := s.Item
		if !s.Listed {
			t = s.Before
		}
		about, _ := row.Get("of").(string)
		text, ok := t.FillMarked("", func(field string) any {
			if field == "of" {
				return in.dated(about)
			}
			return sentenceValue(row.Fields, field)
		}, row.says)
		if ok {
			items, refs, of, told = append(items, text), append(refs, int(ref)), append(of, in.dated(about)), append(told, row)
		}
	}
	if len(items) == 0 {
		return ""
	}
	about := s.date(items, of, told)
	text := items[0]
	if s.Listed {
		text = around(s.Before, about) + and(items) + around(s.After, about)
	}
	if !s.dates() {
		about = inBrackets(about)
	} else {
		about = ""
	}
	return sentenceCase(openEnded(text)) + about + cite(refs...) + "."
}

// dates reports whether the sentence has a place for what its rows are about.
func (s Sentence) dates() bool {
	has := func(t human.Template) bool { return slices.Contains(t.Fields(), "of") }
	return has(s.Before) || has(s.Item) || has(s.After)
}

// date is what all rows of the items are about. Where they differ it is "", and each says so.
func (s Sentence) date(items, of []string, rows []sentenceRow) string {
	if len(slices.Compact(slices.Clone(of))) == 1 {
		return rows[0].says("of", of[0])
	}
	for i := range items {
		if !slices.Contains(s.Item.Fields(), "of") {
			items[i] += inBrackets(rows[i].says("of", of[i]))
		}
	}
	return ""
}

// around is a template without fields but for what rows are about.
func around(t human.Template, of string) string {
	text, _ := t.Fill("", func(field string) any {
		if field == "of" {
			return of
		}
		return nil
	})
	return text
}

// inBrackets is text in parentheses, "" for none.
func inBrackets(text string) string {
	if text == "" {
		return ""
	}
	return " (" + text + ")"
}

// dated is what figures of a row are about, as a sentence has it, "" where they are of now. The year is left out in which the sources of
// the state answered.
func (in Input) dated(of string) string {
	var now time.Time
	for _, c := range in.Citations {
		if c.FetchedAt.After(now) {
			now = c.FetchedAt
		}
	}
	return human.AboutPhrase(of, now)
}

// fixed is what the sentence says of any rows.
func (s Sentence) fixed() string { return fixed(s.Before) + " " + fixed(s.Item) + " " + fixed(s.After) }

// fixed is a template without its fields.
func fixed(t human.Template) string {
	text, _ := t.Fill("", func(string) any { return nil })
	return text
}

// choose are the rows in the order of the sentence, without those beyond its bounds.
func (s Sentence) choose(rows []sentenceRow) []sentenceRow {
	if s.By == "" {
		return rows
	}
	number := func(row sentenceRow) float64 { x, _ := row.Get(s.By).(float64); return x }
	rows = slices.DeleteFunc(slices.Clone(rows), func(row sentenceRow) bool {
		x, known := row.Get(s.By).(float64)
		return !known || s.Above != nil && x <= *s.Above || s.Below != nil && x >= *s.Below
	})
	if s.Sorted || s.Least {
		slices.SortStableFunc(rows, func(a, b sentenceRow) int {
			order := cmp.Compare(number(b), number(a))
			if s.Least {
				order = -order
			}
			return order
		})
	}
	return rows
}

// sentenceValue is a field of a row as a sentence has it, nil if it is not known or cannot be said.
func sentenceValue(row api.Fields, field string) any {
	value := row.Get(field)
	if field == "key" {
		value = row.Get("id")
	}
	if field == "symbol" && value == nil {
		value = row.Get("name")
	}
	text, is := value.(string)
	if !is {
		return value
	}
	if text = human.Named(prose.Inline(text)); !sayable(text, maxTold) {
		return nil
	}
	return text
}

// maxTold is the longest text of a row in a sentence, in runes: titles are longer than names.
const maxTold = 160

func raised(in Input, flags []api.Flag) (p paragraph) {
	told := 0
	for i, f := range flags {
		if text := messageOf(f); !api.AboutSource(f.Kind) && citable(in, f.Ref) && sayable(text, maxTold) && told < 2*oneSentence {
			told++
			text = sentenceCase(strings.TrimRight(text, "."))
			p.add(vital, said(fmt.Sprintf("%s[%d].message", api.MemberFlags, i), text)+cite(f.Ref)+".")
		}
	}
	return p
}

// messageOf is what a flag says, without the name that it quotes where that reads as an instruction.
func messageOf(f api.Flag) string {
	if f.Kind == api.FlagSuspiciousName {
		return incident(flag{Flag: api.Flag{Kind: f.Kind, Subject: prose.Inline(f.Subject)}}, false)
	}
	return prose.Inline(f.Message)
}

// troubles tells the sources that do not answer.
func troubles(in Input, status []api.SourceStatus) (p paragraph) {
	for _, s := range health(in, status) {
		if !strings.HasPrefix(s.text, "Up to date: ") {
			p.add(vital, s.text)
		}
	}
	return p
}
