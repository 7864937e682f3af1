package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/jsonx"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

// savedRows are the rows of an answer of lookup or query in a file.
type savedRows struct {
	rows   []*jsonx.Value
	at     time.Time // of the state, of the oldest where several were read
	beside []string  // members that no leaf can cover
}

// besideRow are the members of a row that its question or the time of the answer made.
func besideRow() []string { return []string{"asked", "match", "over", "ageSeconds", "stale"} }

// readSavedRows reads an answer of lookup or query; ok is false for another.
func readSavedRows(data []byte) (s savedRows, ok bool, err error) {
	root, unread := jsonx.Parse(data)
	if unread != nil || !root.IsObject() || root.Member(savedState) != nil || root.Member(savedBrief) != nil {
		return s, false, nil
	}
	made := root.Find(savedFreshness, "generatedAt")
	results, rows := root.Member("results"), root.Member("rows")
	if made == nil || results == nil == (rows == nil) || json.Unmarshal(made.Raw, &s.at) != nil {
		return s, false, nil
	}
	seen := map[string]bool{}
	for _, m := range root.Members {
		if seen[m.Name] {
			return s, true, changedFile("the file has the member %s twice", human.Short(m.Name, human.Quoted))
		}
		if seen[m.Name] = true; m != results && m != rows {
			s.beside = append(s.beside, m.Name)
		}
	}
	if rows != nil {
		s.rows = rows.Members
		return s, true, nil
	}
	for _, result := range results.Members {
		found := 0
		for _, m := range result.Members {
			if m.Name == "rows" {
				s.rows = append(s.rows, m.Members...)
				found++
			} else if name := "results." + m.Name; !slices.Contains(s.beside, name) {
				s.beside = append(s.beside, name)
			}
		}
		if found > 1 {
			return s, true, changedFile("the file has the rows of a result twice")
		}
	}
	return s, true, nil
}

// savedRows proves the rows of a saved answer, each with the leaf of the newest state, which has to be the one that they are of.
func (o verifyOptions) savedRows(ctx context.Context, s savedRows) error {
	if len(s.rows) == 0 {
		return changedFile("the answer has no rows: there is nothing to prove")
	}
	var first *sdk.Proven
	var from *knownLog
	var refused error
	beside, proven := s.beside, 0
	for _, row := range s.rows {
		p, known, err := o.savedRow(ctx, row, s.at)
		switch {
		case notFound(err):
			refused = err
			beside = append(beside, "row "+human.Short(textOf(row, "kind")+"/"+textOf(row, "key"), human.Quoted))
			continue
		case err != nil:
			return err
		case first == nil:
			first, from = p, known
		}
		proven++
	}
	if first == nil {
		return refused
	}
	v, err := o.verdict(first, o.from(from))
	if err != nil {
		return err
	}
	v.Covered, v.NotCovered = []string{"rows"}, append(beside, besideRow()...)
	v.Says = fmt.Sprintf("The service had %s of the file when it published the state of %s, and they were not changed since. "+
		"Not covered, and as the file has it: %s.", human.Plural(proven, "row"), o.moment(first), strings.Join(v.NotCovered, ", "))
	return o.show(ctx, v, first.Checkpoint)
}

func textOf(v *jsonx.Value, name string) string {
	if m := v.Member(name); m != nil {
		return m.Text()
	}
	return ""
}

// savedRow proves a row of an answer whose oldest state is of a time.
func (o verifyOptions) savedRow(ctx context.Context, row *jsonx.Value, at time.Time) (*sdk.Proven, *knownLog, error) {
	var anchor api.Anchor
	if ref := row.Member("ref"); ref == nil || json.Unmarshal(ref.Raw, &anchor) != nil {
		return nil, nil, changedFile("a row of the file has no ref")
	}
	of, alone := o, anchor.Pack == ""
	if !alone {
		of.pack = anchor.Pack
	}
	var answer *api.LogRowEntry
	_, known, err := of.entry(ctx, func(l *sdk.Log) (e *api.LogEntry, err error) {
		if answer, err = l.Row(ctx, textOf(row, "kind"), textOf(row, "key")); err != nil {
			return nil, err
		}
		return &answer.LogEntry, nil
	})
	if err != nil {
		return nil, nil, err
	}
	_, p, err := sdk.VerifyRow(*answer, o.key, o.witnesses...)
	if err != nil {
		return nil, nil, err
	}
	if made := p.Leaf.GeneratedAt; alone && !made.Equal(at) || made.Before(at) {
		return nil, nil, fmt.Errorf("the file is of the state of %s, and the service proves the rows of its newest one alone, that of %s",
			o.clock(at), o.clock(made))
	}
	return p, known, isRow(row, []byte(answer.Row), anchor)
}

// isRow checks that a row of a file says what a proven one does. It may have fewer fields: a query can name those that it wants.
func isRow(row *jsonx.Value, proven []byte, anchor api.Anchor) error {
	want, err := jsonx.Parse(proven)
	if err != nil {
		return changedFile("the row in the log is not JSON")
	}
	wrong := func(name string) error {
		return changedFile("%s of row %s/%s is not what the log has", human.Short(name, human.Quoted),
			human.Short(textOf(want, "kind"), human.Quoted), human.Short(textOf(want, "key"), human.Quoted))
	}
	seen := map[string]bool{}
	for _, m := range row.Members {
		if seen[m.Name] {
			return changedFile("a row of the file has the member %s twice", human.Short(m.Name, human.Quoted))
		}
		seen[m.Name] = true
		switch is := want.Member(m.Name); {
		case m.Name == "fields":
			if !partOf(m, is) {
				return wrong(m.Name)
			}
		case m.Name == "ref":
			if is == nil || string(is.Raw) != fmt.Sprint(anchor.Ref) {
				return wrong(m.Name)
			}
		case is == nil && slices.Contains(besideRow(), m.Name):
		case is == nil || !sameJSON(m.Raw, is.Raw):
			return wrong(m.Name)
		}
	}
	for _, m := range want.Members {
		if !seen[m.Name] {
			return wrong(m.Name)
		}
	}
	return nil
}

// partOf reports whether each member of a is one of b, once.
func partOf(a, b *jsonx.Value) bool {
	if b == nil || !a.IsObject() {
		return false
	}
	seen := map[string]bool{}
	for _, m := range a.Members {
		if is := b.Member(m.Name); seen[m.Name] || is == nil || !sameJSON(m.Raw, is.Raw) {
			return false
		}
		seen[m.Name] = true
	}
	return true
}

// sameJSON reports whether a value of a file, which may have white space in it, is b.
func sameJSON(a, b []byte) bool {
	dense, err := compacted(a)
	return err == nil && bytes.Equal(dense, b)
}
