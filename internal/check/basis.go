package check

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/contextd/contextd/internal/prose"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// Basis is what a text was judged against beside the state of the moment. With that it is enough to judge the text again, to the byte.
type Basis struct {
	Text      string         `json:"text"` // SHA-256 in hex
	At        time.Time      `json:"at"`
	Within    time.Duration  `json:"within"`
	Past      bool           `json:"past,omitempty"`
	Kinds     []state.Kind   `json:"kinds"`
	Shown     []state.Shown  `json:"shown"`
	Rows      []state.Row    `json:"rows"` // Stale where the source is overdue too
	Earlier   []Was          `json:"earlier"`
	Citations []api.Citation `json:"citations"`
	Notices   []string       `json:"notices,omitempty"`
	Freshness api.Freshness  `json:"freshness"` // of the answer, without the lowest provenance
}

// Was is what a number of a row was before the moment, the newest first.
type Was struct {
	Kind   string        `json:"kind"`
	Key    string        `json:"key"`
	Field  string        `json:"field"`
	Points []state.Point `json:"points"`
}

// Answer is the answer to check for a text that was judged against m.
func (r *Report) Answer(m Material, fresh api.Freshness, notices []string) api.CheckResponse {
	a := api.CheckResponse{
		Verdict: r.Verdict(), Judged: r.Judged(), Verified: r.Counts[api.CheckVerified], Refuted: r.Counts[api.CheckRefuted],
		Stale: r.Counts[api.CheckStale], Unknown: r.Counts[api.CheckUnknown], At: m.At,
		Findings: append([]api.CheckFinding{}, r.Findings...), Citations: []api.Citation{}, Notices: notices, Freshness: fresh,
	}
	a.Clear = a.Refuted+a.Stale == 0
	for _, c := range m.Citations {
		if slices.Contains(r.Refs, c.Ref) {
			a.Citations = append(a.Citations, c)
		}
	}
	if len(a.Citations) > 0 {
		a.Freshness.Provenance = api.LowestProvenance(a.Citations)
	}
	return a
}

// NewBasis makes the Basis of a text in JSON: the rows and samples of m that its judgement needs, or all rows where fewer give another
// answer.
func NewBasis(text string, m Material, fresh api.Freshness, notices []string) ([]byte, error) {
	b := Basis{Text: hashOf(text), At: m.At, Within: m.Within, Past: m.Past, Kinds: m.Tables.KindList(), Shown: m.Shown,
		Rows: []state.Row{}, Earlier: []Was{}, Citations: m.Citations, Notices: notices, Freshness: fresh}
	of := m
	of.All, of.Earlier = true, func(kind, key, field string) []state.Point {
		points := m.Earlier(kind, key, field)
		b.Earlier = append(b.Earlier, Was{kind, key, field, points})
		return points
	}
	if m.Earlier == nil {
		of.Earlier = nil
	}
	j := newJudge(text, of)
	for _, s := range j.sentences {
		j.sentence(s)
	}
	report := Judge(text, m)
	want, err := json.Marshal(report.Answer(m, fresh, notices))
	if err != nil {
		return nil, fmt.Errorf("encode what was judged: %w", err)
	}
	used := j.used()
	for _, every := range []bool{false, true} {
		b.Rows = b.Rows[:0]
		for i := range m.Tables.Rows() {
			if r := &m.Tables.Rows()[i]; every || used[r] {
				row := *r
				row.Stale = row.Stale || m.Late != nil && m.Late(r)
				b.Rows = append(b.Rows, row)
			}
		}
		encoded, err := json.Marshal(b)
		if err != nil {
			return nil, fmt.Errorf("encode what a text was judged against: %w", err)
		}
		again, err := ReadBasis(encoded)
		if err != nil {
			return nil, err
		}
		if got, err := json.Marshal(again.Judge(text, m.State, m.All)); err == nil && bytes.Equal(got, want) {
			return encoded, nil
		}
	}
	return nil, fmt.Errorf("what a text was judged against does not give the same answer again")
}

// used are the rows that the judgement depends on.
func (j *judge) used() map[*state.Row]bool {
	used := map[*state.Row]bool{}
	add := func(rows []*state.Row) {
		for _, r := range rows {
			for _, other := range j.Tables.Alike(r) {
				used[other] = true
			}
			used[r] = true
		}
	}
	words := prose.Words(j.flat.Text)
	texts := make([]string, len(words))
	for i, w := range words {
		texts[i] = w.Text
	}
	for i := range texts {
		_, rows, _ := j.Tables.Named(texts[i:])
		add(rows)
	}
	for _, q := range j.quotes {
		add(j.Tables.Titled(j.flat.Text[q[0]:q[1]]))
	}
	ofKind := map[string]int{}
	for i := range j.Tables.Rows() {
		r := &j.Tables.Rows()[i]
		if j.Tables.KindNamed(r.Kind).Own {
			used[r] = used[r] || j.witness(r)
			continue
		}
		if ofKind[r.Kind]++; ofKind[r.Kind] <= 2 { // that a row is alone, or that none is, decides what words mean
			used[r] = true
		}
	}
	return used
}

// witness reports whether a figure that a text of the material has stands in the name of r.
func (j *judge) witness(r *state.Row) bool {
	name := ""
	for raw, found := range j.written {
		if name == "" && found {
			name = prose.Flatten(r.Name).Text
		}
		if found && holds(name, raw) {
			return true
		}
	}
	return false
}

// ReadBasis reads a Basis in JSON.
func ReadBasis(text []byte) (*Basis, error) {
	var b Basis
	if err := json.Unmarshal(text, &b); err != nil {
		return nil, fmt.Errorf("read what a text was judged against: %w", err)
	}
	return &b, nil
}

// BasisOf makes the Basis of a state alone. It lacks the words of the pack, so that less is judged than by the service of it.
func BasisOf(doc *state.Document, at time.Time, within time.Duration) *Basis {
	b := &Basis{At: at, Within: within, Past: true, Freshness: api.Freshness{GeneratedAt: at}}
	b.Kinds, b.Shown = doc.Alone()
	return b
}

// Judge judges a text against b and the state of its moment. One that b was not made for is held against the rows of the state too; how
// these moved is not known.
func (b *Basis) Judge(text string, doc *state.Document, all bool) api.CheckResponse {
	rows := b.Rows
	if hashOf(text) != b.Text {
		rows = slices.Concat(rows, rowsOf(doc, b.Shown)) // Tables leave out the second of the same
	}
	m := Material{At: b.At, Tables: state.NewTables(b.Kinds, rows), State: doc, Shown: b.Shown, Citations: b.Citations, Past: b.Past,
		Within: b.Within, Earlier: b.points, All: all}
	report := Judge(text, m)
	return report.Answer(m, b.Freshness, b.Notices)
}

func (b *Basis) points(kind, key, field string) []state.Point {
	for _, w := range b.Earlier {
		if w.Kind == kind && w.Key == key && w.Field == field {
			return w.Points
		}
	}
	return nil
}

// rowsOf are the rows of a state, each about the thing of its key.
func rowsOf(doc *state.Document, shown []state.Shown) []state.Row {
	rows := doc.Rows(shown)
	for i := range rows {
		rows[i].Entity = rows[i].Key
	}
	return rows
}

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
