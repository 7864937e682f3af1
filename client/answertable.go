package client

import (
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// leastName is how many columns the name of a row keeps on the narrowest terminal.
const leastName = 16

// answerTable are rows of one kind that answer questions, with a column for each figure.
type answerTable struct {
	kind      string
	several   bool // each row begins with its question
	questions []string
	rows      []api.LookupRow
	without   []string // what is said below of questions that have no row
}

// write writes the table, and what is said of questions without a row.
func (t answerTable) write(w io.Writer, width int, style cli.Style) error {
	if len(t.rows) > 0 {
		if err := t.table(width).Write(w, width, style); err != nil {
			return err
		}
	}
	for _, line := range t.without {
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	return nil
}

// table is the table with as many figures as there is room for: those that were asked for stay, and none is cut.
func (t answerTable) table(width int) *cli.Rows {
	lead := 0
	table := &cli.Rows{Columns: []string{"name"}, Right: []bool{false}}
	if t.several {
		lead, table.Wide = 1, 1
		table.Columns, table.Right = []string{"question", "name"}, []bool{false, false}
	}
	var ends [][]string
	for i, r := range t.rows {
		shown := state.Answered(r, 0)
		row := []string{human.Label(shown.Label, api.MaxLookupQuery)}
		if t.several {
			row = append([]string{t.questions[i]}, row...)
		}
		table.Rows = append(table.Rows, row)
		ends = append(ends, []string{
			shown.Age(r.FetchedAt.Add(time.Duration(r.AgeSeconds) * time.Second)), fmt.Sprintf("[%s]", r.Ref),
		})
	}
	room := width - min(widest(table.Rows, lead, "name"), max(leastName, width/2)) - 2*lead // figures give way to half a line of a name
	for column := range lead {
		room -= widest(table.Rows, column, table.Columns[column])
	}
	for column, head := range []string{"age", "ref"} {
		room -= widest(ends, column, head) + 2
	}
	before := ""
	for _, field := range t.fields() {
		head, cells, words := t.column(field, before)
		if room -= widest(cells, 0, head) + 2; room < 0 && before != "" && !t.asked(field) {
			break
		}
		before = field
		table.Columns, table.Right = append(table.Columns, head), append(table.Right, !words)
		for i := range table.Rows {
			table.Rows[i] = append(table.Rows[i], cells[i]...)
		}
	}
	table.Columns, table.Right = append(table.Columns, "age", "ref"), append(table.Right, true, true)
	for i := range table.Rows {
		table.Rows[i] = append(table.Rows[i], ends[i]...)
	}
	return table
}

// fields are the figures of the rows, in the order in which the rows have them: those that were asked for come first.
func (t answerTable) fields() (names []string) {
	for _, r := range t.rows {
		for _, f := range r.Shown(shownFields) {
			if !slices.Contains(names, f.Name) {
				names = append(names, f.Name)
			}
		}
	}
	slices.SortStableFunc(names, func(a, b string) int {
		switch x, y := t.asked(a), t.asked(b); {
		case x == y:
			return 0
		case x:
			return -1
		}
		return 1
	})
	return names
}

// asked reports whether a question is about the field.
func (t answerTable) asked(field string) bool {
	return slices.ContainsFunc(t.rows, func(r api.LookupRow) bool { return slices.Contains(r.Asked, field) })
}

// column are the values of a field, one of each row, behind the column of another.
func (t answerTable) column(field, before string) (head string, cells [][]string, words bool) {
	values := make([]any, len(t.rows))
	for i, r := range t.rows {
		values[i] = r.Fields.Get(field)
	}
	column := state.NewColumn(field, values)
	for i, cell := range column.Cells {
		text := cell.Text
		if !cell.At.IsZero() {
			text = human.Value("", cell.At)
		}
		cells = append(cells, []string{text + state.Since(t.rows[i], field)})
	}
	return state.Head(field, before), cells, column.Words
}

// widest is how many columns a column of a table needs.
func widest(rows [][]string, column int, head string) int {
	most := ansi.StringWidth(head)
	for _, row := range rows {
		most = max(most, ansi.StringWidth(row[column]))
	}
	return most
}
