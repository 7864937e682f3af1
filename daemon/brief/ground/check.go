// Package ground checks a text against the state it is about: every anchor [N] names a source, every sentence that states
// something has one, and every figure is that of the row, the field, the unit and the time that its sentence names, and goes its way.
//
// A sentence is read for what it says of each figure: the name before it or directly behind it, the words for what it measures, its span,
// its direction. What it does not say has one meaning: a change without a span is of a day, an amount without a word the price, or else
// what stands first in the row. The words of a member's name say what its value is. The thresholds and messages of flags back nothing but
// what they say of their subject, lists are counted only by a word for their rows, and what is said of all there is no single row backs.
// An amount is not what it went up by, and a change is backed only where the sentence says which way it went or that it moved.
//
// It is what stands between any writer of briefs, a language model above all, and publication. It knows no pack, takes any text
// and any JSON, keeps nothing and reads no clock. Package brief offers it as brief.Check.
package ground

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/prose"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// MaxLength is the most runes that a brief may have.
const MaxLength = 4000

// Kind says what is wrong with a brief.
type Kind string

// The kinds of findings.
const (
	KindEmpty     Kind = "empty"     // nothing is said
	KindLength    Kind = "length"    // longer than MaxLength
	KindCharacter Kind = "character" // control or invisible characters, or broken UTF-8
	KindState     Kind = "state"     // the state itself cannot be read
	KindAnchor    Kind = "anchor"    // an anchor that is malformed or names no source
	KindUncited   Kind = "uncited"   // a sentence without an anchor
	KindFigure    Kind = "figure"    // a figure that is nowhere in the state
	KindSource    Kind = "source"    // a figure or a quotation that is only in rows of other sources than the sentence cites
	KindSubject   Kind = "subject"   // a figure that belongs to another row than those the sentence names
	KindOrder     Kind = "order"     // a name that reads as an instruction
	KindLink      Kind = "link"      // an address that is nowhere in the state
	KindField     Kind = "field"     // a figure of another field than the sentence names
	KindSpan      Kind = "span"      // a figure of another span or moment than the sentence names
	KindDirection Kind = "direction" // up for what went down, or the reverse
)

// Finding is one reason why a brief is not published.
type Finding struct {
	Kind     Kind
	Sentence string // the sentence it is in, "" if it concerns the whole text
	Excerpt  string // the words that are wrong, "" if it is the sentence as such
	Detail   string // what is wrong, in words for the writer
}

// String shows a finding on one line, for logs and for a writer that may try again.
func (f Finding) String() string {
	s := string(f.Kind)
	if f.Excerpt != "" {
		s += fmt.Sprintf(" %q", f.Excerpt)
	}
	s += ": " + f.Detail
	if f.Sentence != "" {
		s += fmt.Sprintf(" (in %q)", f.Sentence)
	}
	return s
}

// Check reads a brief against the state it is about and lists what does not hold, in the order of the text. Nil means that every
// sentence cites its sources and that every figure is what their rows say of it. It takes any text and any state.
//
// Numbers in words are not checked, nor is prose without figures: Check keeps false numbers out, not false opinions.
func Check(text string, doc *state.Document, citations []api.Citation) []Finding {
	findings := checkForm(text)
	if utf8.RuneCountInString(text) > MaxLength {
		return findings
	}
	c, err := read(text, doc, citations)
	if err != nil {
		return append(findings, Finding{Kind: KindState, Detail: err.Error()})
	}
	return append(findings, c.findings...)
}

func checkForm(text string) []Finding {
	var list []Finding
	if !prose.Says(text) {
		list = append(list, Finding{Kind: KindEmpty, Detail: "the text says nothing"})
	}
	if n := utf8.RuneCountInString(text); n > MaxLength {
		list = append(list, Finding{Kind: KindLength, Detail: fmt.Sprintf("%d characters, at most %d are allowed", n, MaxLength)})
	}
	bad := strings.IndexFunc(text, func(r rune) bool {
		return r != '\n' && human.Hostile(r)
	})
	if bad >= 0 || !utf8.ValidString(text) {
		list = append(list, Finding{Kind: KindCharacter, Detail: "control or invisible characters"})
	}
	return list
}

type checker struct {
	index     *index
	citations []api.Citation
	text      string
	spans     []prose.Found
	origins   []Origin // of parts of text, where its writer tells them
	findings  []Finding
	claims    []Claim
	previous  []*mention // what the sentence before is about
}

func (c *checker) add(kind Kind, s prose.Sentence, excerpt, format string, args ...any) {
	c.findings = append(c.findings, Finding{kind, s.Text, excerpt, fmt.Sprintf(format, args...)})
}

// orders finds names of the state that read as instructions, and the message of a flag that quotes one.
func (c *checker) orders() {
	for _, p := range c.spans {
		if p.Named && human.Instructs(c.text[p.Start:p.End]) || c.index.phrases[p.Phrase].order {
			c.add(KindOrder, prose.Sentence{Text: c.text[p.Start:p.End]}, "", "the name reads as an instruction; leave it out")
		}
	}
}

// links finds addresses: one injected into a brief may lead to an attacker.
func (c *checker) links() {
	for _, m := range addresses(c.text) {
		if !prose.Covered(c.spans, m[0], m[1]) {
			c.add(KindLink, prose.Sentence{}, c.text[m[0]:m[1]], "a brief has no links, only refs")
		}
	}
}

func (c *checker) check(s prose.Sentence) {
	for _, a := range s.Bad {
		c.add(KindAnchor, s, a, "only [N] is a ref, one number in its own brackets from 1")
	}
	anchors := slices.DeleteFunc(slices.Clone(s.Anchors), func(n int) bool {
		if n > len(c.citations) {
			c.add(KindAnchor, s, fmt.Sprintf("[%d]", n), "the pack has %d sources", len(c.citations))
		}
		return n > len(c.citations)
	})
	if len(s.Anchors) == 0 && len(s.Bad) == 0 && !s.Silent() {
		c.add(KindUncited, s, "", "the sentence cites no source")
	}
	c.quotations(s, anchors)
	c.figures(s, anchors)
}

// quotations finds quotations of the state under the wrong anchor, and sources whose own anchor is not theirs. Words that the
// state does not have may be quoted freely.
func (c *checker) quotations(s prose.Sentence, anchors []int) {
	if len(anchors) == 0 {
		return // the missing anchor is found already
	}
	quotes := prose.Quotations(c.text[s.Start:s.End], s.Start)
	for _, p := range c.spans {
		if c.index.phrases[p.Phrase].source && s.Start <= p.Start && p.End <= s.End {
			quotes = append(quotes, [2]int{p.Start, p.End})
		}
	}
	for _, q := range quotes {
		var origins []*row
		for _, p := range c.spans {
			if p.Start == q[0] && p.End == q[1] {
				origins = append(origins, c.index.phrases[p.Phrase].row)
			}
		}
		if len(origins) == 0 {
			continue
		}
		cited, own := anchors, prose.AnchorsAt(c.text, q[1])
		if own != nil {
			cited = own
		}
		wrong := slices.ContainsFunc(cited, func(n int) bool {
			return !slices.ContainsFunc(origins, func(r *row) bool { return r.under([]int{n}) })
		})
		right := slices.ContainsFunc(origins, func(r *row) bool { return r.under(cited) })
		if !right || own != nil && wrong {
			c.add(KindSource, s, c.text[q[0]:q[1]], "the source cited for it is not the one that has it")
		}
	}
}
