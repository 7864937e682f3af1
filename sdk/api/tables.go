package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

// Members of the states of all packs.
const (
	MemberFlags        = "flags"
	MemberSourceStatus = "source_status"
)

// Tables is a state that consists of tables: members with rows of plain fields, the flags and the source statuses. Packs from manifests
// have such states, and need no Go type.
type Tables struct {
	Members      []Table // in the order of the state
	Flags        []Flag
	SourceStatus []SourceStatus
}

// Table is a member of a state with rows.
type Table struct {
	Name string
	Rows []TableRow
}

// TableRow is a row of a Table. Its fields are numbers, texts and booleans, the most important first; an unknown value is nil or left out.
type TableRow struct {
	ID     string
	Name   string
	Symbol string
	URL    string // of its own page, "" for that of its source
	Ref    int    // anchor of its source
	Of     string // what its figures are about, as in LookupRow
	Stale  bool
	Fields Fields
}

// ReadTables reads a state. It reports false if the state holds anything besides tables, or nothing.
func ReadTables(state json.RawMessage) (Tables, bool) {
	var t Tables
	err := eachMember(state, func(name string, d *json.Decoder) error {
		switch name {
		case MemberFlags:
			return d.Decode(&t.Flags)
		case MemberSourceStatus:
			return d.Decode(&t.SourceStatus)
		}
		table := Table{Name: name}
		var list []Fields
		if err := d.Decode(&list); err != nil {
			return err
		}
		if list == nil {
			return fmt.Errorf("%s is null", name)
		}
		for _, fields := range list {
			row, err := tableRow(fields)
			if err != nil {
				return err
			}
			table.Rows = append(table.Rows, row)
		}
		t.Members = append(t.Members, table)
		return nil
	})
	return t, err == nil && len(t.Members)+len(t.Flags)+len(t.SourceStatus) > 0
}

func tableRow(members Fields) (row TableRow, err error) {
	row.Fields = make(Fields, 0, len(members))
	for _, m := range members {
		known := true
		switch m.Name {
		case "id":
			row.ID, known = m.Value.(string)
		case "name":
			row.Name, known = m.Value.(string)
		case "symbol":
			row.Symbol, known = m.Value.(string)
		case "url":
			row.URL, known = m.Value.(string)
		case "ref":
			ref, is := m.Value.(float64)
			row.Ref, known = int(ref), is
		case "of":
			row.Of, known = m.Value.(string)
		case "stale":
			row.Stale, known = m.Value.(bool)
		default:
			switch m.Value.(type) {
			case map[string]any, []any:
				known = false
			}
			row.Fields = append(row.Fields, m)
		}
		if !known {
			return row, fmt.Errorf("%s is not what it is in a table", m.Name)
		}
	}
	if row.ID == "" {
		return row, fmt.Errorf("a row has no id")
	}
	if row.Name == "" {
		row.Name = row.ID
	}
	return row, nil
}

// Fields returns the names of the fields of t's rows, in their order.
func (t Table) Fields() (names []string) {
	for _, row := range t.Rows {
		for i, f := range row.Fields {
			if !slices.Contains(names, f.Name) {
				names = slices.Insert(names, place(names, row.Fields, i), f.Name)
			}
		}
	}
	return names
}

// place is where the i-th of fields belongs among names: behind the one before it, or else before the first behind it that is there.
func place(names []string, fields Fields, i int) int {
	if i > 0 { // which is there by now
		return slices.Index(names, fields[i-1].Name) + 1
	}
	for _, f := range fields[1:] {
		if at := slices.Index(names, f.Name); at >= 0 {
			return at
		}
	}
	return len(names)
}

// Main returns the name of the first numeric field, or "".
func (t Table) Main() string {
	for _, name := range t.Fields() {
		for _, row := range t.Rows {
			if _, is := row.Fields.Get(name).(float64); is {
				return name
			}
		}
	}
	return ""
}

// eachMember visits the members of an object in their order. What visit decodes is the value of the member.
func eachMember(text []byte, visit func(name string, d *json.Decoder) error) error {
	d := json.NewDecoder(bytes.NewReader(text))
	t, err := d.Token()
	if err != nil {
		return err
	}
	if t != json.Delim('{') {
		return fmt.Errorf("%v is no object", t)
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		if err := visit(name.(string), d); err != nil { // the name of a member is a string
			return err
		}
	}
	_, err = d.Token()
	return err
}
