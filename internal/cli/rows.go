package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/jsonx"
)

// Rows is a table.
type Rows struct {
	Columns []string
	Right   []bool // columns that are aligned right; shorter than Columns means the rest is not
	Hashes  []int  // the columns of hashes and ids that lose their middle, in this order, where the terminal is narrow
	Wide    int    // the column that gives way next
	Rows    [][]string
	Bare    bool   // without a header
	Empty   string // what to tell people instead of an empty table; "" means nothing
}

// rows are the rows of a, by default one for each leaf of its document.
func (a Answer) rows() (*Rows, error) {
	if a.Rows != nil {
		return a.Rows, nil
	}
	r := &Rows{Columns: []string{"path", "value"}, Wide: 1}
	err := jsonx.Walk(a.JSON, func(v *jsonx.Value) error {
		if v.IsLeaf() {
			r.Rows = append(r.Rows, []string{v.Path(), v.Text()})
		}
		return nil
	})
	return r, err
}

// Scalar is the text of a JSON scalar: a string without its quotes, all else as it is.
func Scalar(doc json.RawMessage) string {
	var s string
	if bytes.HasPrefix(doc, []byte(`"`)) && json.Unmarshal(doc, &s) == nil {
		return s
	}
	return string(doc)
}

func (p *Printer) writeTSV(a Answer) error {
	rows, err := a.rows()
	if err != nil {
		return err
	}
	lines := rows.Rows
	if p.Header {
		lines = append([][]string{rows.Columns}, lines...)
	}
	for _, line := range lines {
		cells := make([]string, len(line))
		for i, cell := range line {
			cells[i] = human.Line(cell)
		}
		if err := p.writeln([]byte(strings.Join(cells, "\t"))); err != nil {
			return err
		}
	}
	return nil
}

// Write writes r in columns that fit width, or what there is to say when it is empty.
func (r *Rows) Write(w io.Writer, width int, style Style) error {
	if len(r.Rows) == 0 {
		if r.Empty == "" {
			return nil
		}
		_, err := fmt.Fprintln(w, r.Empty)
		return err
	}
	widths := r.widths(width)
	if r.Bare {
		return r.writeRows(w, widths, style)
	}
	header := make([]string, len(r.Columns))
	for i, c := range r.Columns {
		header[i] = strings.ToUpper(c)
	}
	if _, err := fmt.Fprintln(w, style.Bold(r.line(header, widths, style))); err != nil {
		return err
	}
	return r.writeRows(w, widths, style)
}

func (r *Rows) writeRows(w io.Writer, widths []int, style Style) error {
	for _, row := range r.Rows {
		row = slices.Clone(row)
		for _, column := range r.Hashes {
			row[column] = style.cutMiddle(row[column], widths[column])
		}
		if _, err := fmt.Fprintln(w, r.line(row, widths, style)); err != nil {
			return err
		}
	}
	return nil
}

// widths are the widths of the columns: as wide as they need, but hashes and the wide one no wider than is left of width.
func (r *Rows) widths(width int) []int {
	const shortest, narrowest, gap = 6, 8, 2
	widths, sum := make([]int, len(r.Columns)), 0
	for i, c := range r.Columns {
		if !r.Bare {
			widths[i] = ansi.StringWidth(c)
		}
		for _, row := range r.Rows {
			widths[i] = max(widths[i], ansi.StringWidth(human.Line(row[i])))
		}
		sum += widths[i] + gap
	}
	over := sum - gap - width
	give := func(column, least int) {
		less := max(min(over, widths[column]-least), 0)
		widths[column] -= less
		over -= less
	}
	for _, column := range r.Hashes {
		give(column, shortest)
	}
	if len(widths) > 0 {
		give(r.Wide, narrowest)
	}
	return widths
}

// line is one line of the table, without spaces at its end.
func (r *Rows) line(cells []string, widths []int, style Style) string {
	fitted := make([]string, len(cells))
	for i, cell := range cells {
		if cell = human.Line(cell); i < len(r.Right) && r.Right[i] {
			fitted[i] = style.FitRight(cell, widths[i])
		} else {
			fitted[i] = style.Fit(cell, widths[i])
		}
	}
	return strings.TrimRight(strings.Join(fitted, "  "), " ")
}
