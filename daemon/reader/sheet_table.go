package reader

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/state"
)

// setTables makes the tables of s and returns their rows by kind/key.
func (s *Sheet) setTables(sections []state.Section) map[string]state.Row {
	rows := map[string]state.Row{}
	overdue := s.edition.Doc.Ages().Overdue(s.GeneratedAt)
	for _, section := range sections {
		for i, row := range section.Rows {
			if source := s.source(row.Ref); source != nil && slices.Contains(overdue, source.ID) {
				section.Rows[i].Stale = true
			}
			rows[row.Kind+"/"+row.Key] = row
		}
		if len(section.Rows) == 0 {
			continue
		}
		if section.Kind == "" {
			s.Tables = append(s.Tables, s.readings(section))
		} else {
			s.Tables = append(s.Tables, s.table(section, sections))
		}
	}
	return rows
}

func (s *Sheet) readings(section state.Section) SheetTable {
	t := SheetTable{Title: "Readings", Readings: true}
	for _, row := range section.Rows {
		made := s.row(row)
		for i, f := range row.Fields {
			cell := valueCell(f.Name, f.Value)
			if label := human.FieldHead(f.Name, ""); i > 0 && label != f.Name || f.Name != "value" && f.Name != "label" {
				cell.Label = label
			}
			made.Cells = append(made.Cells, cell)
		}
		if len(made.Cells) > 0 {
			t.Rows = append(t.Rows, made)
		}
	}
	return t
}

func (s *Sheet) table(section state.Section, all []state.Section) SheetTable {
	rows := section.Rows[:min(len(section.Rows), sheetRows)]
	same := slices.ContainsFunc(all, func(o state.Section) bool { return o.Path == section.Path && o.Kind != section.Kind })
	t := SheetTable{Title: spoken(section.Path[strings.LastIndex(section.Path, ".")+1:]), News: section.News != ""}
	if same { // several kinds stand in one member
		t.Title = spoken(section.Kind) + "s"
	}
	for _, row := range rows {
		made := s.row(row)
		if section.Past {
			made.Trend = moving(s.trends[made.ID])
		}
		t.Rows = append(t.Rows, made)
	}
	columns, note := columnsOf(section, rows)
	t.Heads = headsOf(section, columns)
	for i, name := range columns {
		values := make([]any, len(rows))
		for j, row := range rows {
			values[j] = row.Fields.Get(name)
		}
		for j, text := range human.FieldColumn(name, values) {
			cell := valueCell(name, values[j])
			if cell.At.IsZero() && values[j] != nil && !t.Heads[i].Words {
				cell.Text = text
			}
			t.Rows[j].Cells = append(t.Rows[j].Cells, cell)
		}
	}
	for j, row := range rows {
		if text, is := row.Fields.Get(note).(string); is {
			t.Rows[j].Note = human.Short(text, sheetText)
		}
	}
	return t
}

// headsOf are the headings of columns. The first and one change stay where there is little room.
func headsOf(section state.Section, columns []string) (heads []SheetHead) {
	lead, before := "", ""
	for i, name := range columns {
		head := SheetHead{Text: spoken(human.FieldHead(name, before)), Words: !slices.Contains(section.Main, name)}
		switch {
		case i == 0:
		case lead == "" && !head.Words && human.FieldMoves(name) && !strings.Contains(name, "1h"):
			lead = name
		case i == sheetColumns-1:
			head.Minor = least
		default:
			head.Minor = minor
		}
		heads, before = append(heads, head), name
	}
	return heads
}

// columnsOf chooses what a table has room for: its first numbers and a time, and one text as a note beside the names.
func columnsOf(section state.Section, rows []state.Row) (columns []string, note string) {
	known := func(name string) bool {
		return slices.ContainsFunc(rows, func(r state.Row) bool { return r.Fields.Get(name) != nil })
	}
	for _, name := range section.Main {
		if len(columns) < sheetColumns && known(name) {
			columns = append(columns, name)
		}
	}
	if section.News != "" {
		return append(columns[:min(len(columns), 1)], section.News), note
	}
	timed := false
	for _, row := range rows {
		for _, f := range row.Fields {
			text, is := f.Value.(string)
			_, err := time.Parse(time.RFC3339, text)
			switch {
			case !is || slices.Contains(columns, f.Name):
			case err == nil && !timed:
				columns, timed = append(columns, f.Name), true
			case err != nil && note == "" && f.Name != "direction": // the sign of the change says that
				note = f.Name
			}
		}
	}
	return columns, note
}

// row is a row without its cells.
func (s *Sheet) row(r state.Row) SheetRow {
	made := SheetRow{
		ID: r.Kind + "/" + r.Key, Name: human.Short(r.Name, sheetText), Symbol: human.Short(r.Symbol, sheetText),
		URL: r.URL, Ref: r.Ref, Stale: r.Stale,
	}
	if source := s.source(r.Ref); source != nil {
		made.At = source.At
	}
	if known := s.edition.Rows.Row(r.Kind, r.Key); known != nil {
		made.URL = cmp.Or(made.URL, known.URL)
	}
	if made.Name == "" {
		made.Name = spoken(r.Key)
	}
	if strings.EqualFold(made.Symbol, made.Name) {
		made.Symbol = ""
	}
	return made
}

func titled(r state.Row) string {
	if r.Name == "" {
		return spoken(r.Key)
	}
	return human.Short(r.Name, sheetText)
}

func valueCell(name string, value any) SheetCell {
	switch v := value.(type) {
	case nil:
		return SheetCell{Text: human.Unknown}
	case time.Time:
		return SheetCell{At: v}
	case string:
		if at, err := time.Parse(time.RFC3339, v); err == nil {
			return SheetCell{At: at}
		}
		return SheetCell{Text: human.Short(v, sheetText)}
	case float64:
		cell := SheetCell{Text: human.Value(name, v)}
		if human.FieldMoves(name) {
			cell.Sign = signOf(v)
		}
		return cell
	}
	return SheetCell{Text: human.Value(name, value)}
}

func signOf(x float64) int {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return 0
}

// moving is values, nil where they never moved: a line that says nothing.
func moving(values []*float64) []*float64 {
	var first *float64
	for _, v := range values {
		if v != nil && first != nil && *v != *first {
			return values
		}
		first = cmp.Or(first, v)
	}
	return nil
}

// spoken is the name of a member as a heading: top_movers is Top movers, fearGreed is Fear greed.
func spoken(name string) string {
	var b strings.Builder
	last := ' '
	for i, r := range name {
		switch {
		case r == '_' || r == '-':
			r = ' '
		case i > 0 && unicode.IsUpper(r) && unicode.IsLower(last):
			b.WriteByte(' ')
			r = unicode.ToLower(r)
		}
		b.WriteRune(r)
		last = r
	}
	words := strings.Fields(b.String())
	for i, w := range words {
		switch {
		case slices.Contains([]string{"tvl", "fx", "btc", "eth"}, strings.ToLower(w)):
			words[i] = strings.ToUpper(w)
		case i == 0:
			first := []rune(w)
			first[0] = unicode.ToUpper(first[0])
			words[i] = string(first)
		}
	}
	return human.Short(strings.Join(words, " "), sheetText)
}
