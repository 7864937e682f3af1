package source

import (
	"time"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk/api"
)

// RowsDoc is what a declared source said: rows, and what its manifest makes of them. All that a manifest decides is decided when an answer
// comes, so that a pack is compacted without it.
type RowsDoc struct {
	Rows  []DeclaredRow
	Picks map[string][]string        `json:",omitempty"` // keys of rows that were chosen, in their order, by what they are chosen for
	Marks map[string]map[string]Mark `json:",omitempty"` // what flags make of rows, by the kind of flag and the key
	Past  map[string][]Sample        `json:",omitempty"` // values that are remembered, oldest first, by key and field
	At    time.Time                  // when it came, by our clock as the times of Past
	Since time.Time                  // since when the source has been asked without a gap
}

// DeclaredRow is a row of RowsDoc.
type DeclaredRow struct {
	Key, Name, Symbol, Entity, Group string   `json:",omitempty"`
	URL                              string   `json:",omitempty"` // its own; "" where the source's form of links does
	Aliases                          []string `json:",omitempty"`
	Of                               string   `json:",omitempty"` // what its figures are about, as human.ParseAbout reads it
	Values                           []Value  // those that are known, in the order of the fields
}

// Value is a field of a row: one of Number, Text, Time and Truth.
type Value struct {
	Name   string     // on the wire
	Number *float64   `json:",omitempty"`
	Text   string     `json:",omitempty"`
	Time   *time.Time `json:",omitempty"`
	Truth  *bool      `json:",omitempty"`

	Date bool `json:",omitempty"` // Time is a day
	Ours bool `json:",omitempty"` // it is by our clock, or of what was said before: upstream did not say it
}

// Mark is what a flag makes of a row.
type Mark struct {
	Raise, Hold bool
	Severity    api.Severity
}

// Len is the number of rows.
func (d *RowsDoc) Len() int { return len(d.Rows) }

// Shift moves the times of upstream, and dates by whole days.
func (d *RowsDoc) Shift(by time.Duration) {
	for n, r := range d.Rows {
		d.Rows[n].Of = human.ShiftAbout(r.Of, by)
		for i, v := range r.Values {
			switch {
			case v.Time == nil || v.Ours:
			case v.Date:
				shiftPointer(r.Values[i].Time, by.Round(day))
			default:
				shiftPointer(r.Values[i].Time, by)
			}
		}
	}
}

// Row is the row with a key, nil if there is none.
func (d *RowsDoc) Row(key string) *DeclaredRow {
	for i := range d.Rows {
		if d.Rows[i].Key == key {
			return &d.Rows[i]
		}
	}
	return nil
}

// Value is the field of a name, nil if it is not known.
func (r *DeclaredRow) Value(name string) *Value {
	for i := range r.Values {
		if r.Values[i].Name == name {
			return &r.Values[i]
		}
	}
	return nil
}

// Any is v as a field of a row on the wire.
func (v Value) Any() any {
	switch {
	case v.Number != nil:
		return *v.Number
	case v.Truth != nil:
		return *v.Truth
	case v.Time != nil && v.Date:
		return v.Time.UTC().Format(time.DateOnly)
	case v.Time != nil:
		return v.Time.UTC()
	}
	return v.Text
}
