package web

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"html"
	"html/template"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/contextd/contextd/daemon/reader"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

type pageTable struct {
	ID       string
	Title    string
	Readings bool
	Heads    []pageHeading
	Rows     []pageRow
	Trend    bool // one of the columns is a picture
}

// pageHeading is the heading of a column. Room is the class of one that goes where there is little room.
type pageHeading struct {
	Text  string
	Words bool // it holds text, not numbers
	Room  string
}

// pageRow is a row: its cells, the first of which is its heading.
type pageRow struct {
	ID, Class string
	Cells     []pageCell
}

// pageCell is what stands in a cell, with its classes.
type pageCell struct {
	Class string
	HTML  template.HTML
	Still bool // it is a picture of the past, which alone is not worth an event
}

// tablesOf are the tables of s. at is the moment of a past state, "" for the newest.
func tablesOf(s *reader.Sheet, at string) []pageTable {
	var list []pageTable
	for i, from := range s.Tables {
		t := pageTable{ID: "t" + strconv.Itoa(i), Title: from.Title, Readings: from.Readings, Heads: headings(from.Columns)}
		for _, row := range from.Rows {
			t.Trend = t.Trend || !from.Readings && s.Trend(row) != nil
		}
		for j, row := range from.Rows {
			made := pageRow{ID: rowID(t.ID, row.ID), Cells: []pageCell{headCell(row, rowQuery(at, row.ID, "", ""))}}
			if row.Stale {
				made.Class = "stale"
			}
			if from.Readings {
				made.Cells = append(made.Cells, readingCell(row.Cells))
			}
			for k, column := range from.Columns {
				made.Cells = append(made.Cells, valueCell(column.Cells[j], t.Heads[k]))
			}
			if t.Trend {
				made.Cells = append(made.Cells, pageCell{Class: "tr", HTML: trendSVG(s.Trend(row)), Still: true})
			}
			made.Cells = append(made.Cells, pageCell{Class: "rf", HTML: refLink(row.Ref)})
			t.Rows = append(t.Rows, made)
		}
		list = append(list, t)
	}
	return list
}

// pageTile is a row that stands above all others.
type pageTile struct {
	reader.Tile
	Link  string // to the view of the row
	Sign  string // the class of its move
	Trend template.HTML
}

func tilesOf(s *reader.Sheet, at string) (list []pageTile) {
	for _, t := range s.Tiles {
		list = append(list, pageTile{t, rowQuery(at, t.Row.ID, "", ""), signClass(t.Move.Sign), trendSVG(s.Trend(t.Row))})
	}
	return list
}

// flagsShown is how many lines of flags stand open.
const flagsShown = 3

// pageFlags are the flags of a page: the worst lines, and the others behind one that counts them; nil where there are none.
type pageFlags struct {
	Worst []pageFlag
	More  *struct {
		Count  int
		Counts string
		Lines  []pageFlag
	}
}

// pageFlag is a line of the flags of a state, that was made at At.
type pageFlag struct {
	state.FlagGroup
	Subjects []pageFlag
	At       time.Time
}

func flagsOf(s *reader.Sheet) (f pageFlags) {
	var lines []pageFlag
	for _, g := range s.Groups {
		line := pageFlag{FlagGroup: g, At: s.GeneratedAt}
		for _, one := range g.Subjects {
			line.Subjects = append(line.Subjects, pageFlag{FlagGroup: one, At: s.GeneratedAt})
		}
		lines = append(lines, line)
	}
	if len(lines) <= flagsShown+1 { // a line that hides one line has the room for it
		f.Worst = lines
		return f
	}
	f.Worst = lines[:flagsShown]
	lines = lines[flagsShown:]
	var counts []string
	for _, severity := range slices.Backward(api.Severities()) {
		n := 0
		for _, line := range lines {
			if line.Severity == severity {
				n++
			}
		}
		switch {
		case n == 0:
		case severity == api.SeverityCritical:
			counts = append(counts, fmt.Sprintf("%d %s", n, severity))
		default:
			counts = append(counts, human.Plural(n, string(severity)))
		}
	}
	f.More = &struct {
		Count  int
		Counts string
		Lines  []pageFlag
	}{len(lines), strings.Join(counts, ", "), lines}
	return f
}

// The classes of columns that go where there is little room.
const (
	minorColumn = " m"
	leastColumn = " l" // the first to go
	lastNumber  = 3    // which goes first
)

// headings are those of columns. The first and one change stay where there is little room.
func headings(columns []state.Column) (heads []pageHeading) {
	lead, before := false, ""
	for i, c := range columns {
		head := pageHeading{Text: state.Title(state.Head(c.Field, before)), Words: c.Words}
		switch {
		case i == 0:
		case !lead && !c.Words && human.FieldMoves(c.Field) && !strings.Contains(c.Field, "1h"):
			lead = true
		case i == lastNumber:
			head.Room = leastColumn
		default:
			head.Room = minorColumn
		}
		heads, before = append(heads, head), c.Field
	}
	return heads
}

// rowID is the id of a row's element: short, and the same as long as the row is there. Outsiders choose some keys of rows, so that no two
// must be found that share an id.
func rowID(table, row string) string {
	const size = 12 // bytes
	sum := sha256.Sum256([]byte(row))
	return table + "-" + base64.RawURLEncoding.EncodeToString(sum[:size])
}

// headCell names a row, with a link to its view, or "" for that to its own page.
func headCell(row state.ViewRow, to string) pageCell {
	name := "<b>" + html.EscapeString(row.Name) + "</b>"
	if row.Symbol != "" {
		name = "<b>" + html.EscapeString(row.Symbol) + "</b> <span class=\"nm\">" + html.EscapeString(row.Name) + "</span>"
	}
	if to != "" {
		name = `<a href="` + html.EscapeString(to) + `">` + name + "</a>"
	} else if webURL(row.URL) {
		name = `<a href="` + html.EscapeString(row.URL) + `" rel="noreferrer nofollow">` + name + "</a>"
	}
	if row.Note != "" {
		name += ` <span class="nm">` + html.EscapeString(row.Note) + "</span>"
	}
	if row.Of != "" {
		name += ` <span class="nm">` + html.EscapeString(row.About()) + "</span>"
	}
	if row.Stale && !row.At.IsZero() {
		name += ` <span class="old">stale, ` + string(agoTime(row.At)) + "</span>"
	}
	return pageCell{HTML: template.HTML(name)}
}

// webURL reports whether a link may lead to url.
func webURL(url string) bool {
	return strings.HasPrefix(url, "https://") || strings.HasPrefix(url, "http://")
}

func valueCell(cell state.Cell, head pageHeading) pageCell {
	made := pageCell{Class: "n", HTML: cellText(cell)}
	if head.Words {
		made.Class = "w"
	}
	made.Class += head.Room + signClass(cell.Sign)
	return made
}

// readingCell is all that a reading says, the first value before the others.
func readingCell(cells []state.Cell) pageCell {
	var b strings.Builder
	for i, cell := range cells {
		label := ""
		if cell.Label != "" {
			label = html.EscapeString(cell.Label) + " "
		}
		value := `<span class="v` + signClass(cell.Sign) + `">` + string(cellText(cell)) + "</span>"
		switch {
		case i == 0:
			b.WriteString(`<span class="lb">` + label + "</span><b>" + value + `</b>`)
		case i == 1:
			b.WriteString(`<small>` + label + value)
		default:
			b.WriteString(" · " + label + value)
		}
	}
	if len(cells) > 1 {
		b.WriteString("</small>")
	}
	return pageCell{Class: "n", HTML: template.HTML(b.String())}
}

// signClass is the class of what is above or below zero.
func signClass(sign int) string {
	switch sign {
	case 1:
		return " up"
	case -1:
		return " dn"
	}
	return ""
}

func cellText(cell state.Cell) template.HTML {
	if cell.At.IsZero() {
		return template.HTML(html.EscapeString(cell.Text))
	}
	return template.HTML(fmt.Sprintf(`<time datetime="%s">%s</time>`, cell.At.UTC().Format(time.RFC3339), cell.At.UTC().Format("2 Jan 15:04")))
}

// agoTime is a moment that a script turns into an age; without one it is told by the clock.
func agoTime(at time.Time) template.HTML {
	return template.HTML(fmt.Sprintf(`<time class="ago" datetime="%s">%s</time>`, at.UTC().Format(time.RFC3339), clock(at)))
}

// moment is a time of the day, with its date where that is not the day of another.
func moment(at, of time.Time) string {
	if at.UTC().Truncate(24 * time.Hour).Equal(of.UTC().Truncate(24 * time.Hour)) {
		return clock(at)
	}
	return at.UTC().Format("2006-01-02 15:04:05Z")
}

// clock is a time of the day.
func clock(at time.Time) string { return at.UTC().Format("15:04:05Z") }

// severityMark is the sign of a severity, beside its colour.
func severityMark(s api.Severity) string {
	switch s {
	case api.SeverityCritical:
		return "✗"
	case api.SeverityWarning:
		return "!"
	}
	return "·"
}

func refLink(ref int) template.HTML {
	if ref == 0 {
		return ""
	}
	return template.HTML(fmt.Sprintf(`<a class="rf" href="#s%d" aria-label="source %d">%d</a>`, ref, ref, ref))
}

// Size of the picture of a trend, and of its margin, and how many values it takes to be one.
const (
	trendLeast = 4

	trendWide = 96
	trendHigh = 22
	trendEdge = 2
)

// trendSVG is the line of values, from the oldest to the newest, as far as they are known.
func trendSVG(values []*float64) template.HTML {
	var first, last *float64
	low, high, known := 0.0, 0.0, 0
	for _, v := range values {
		if v == nil {
			continue
		}
		if first == nil {
			first, low, high = v, *v, *v
		}
		last, low, high = v, min(low, *v), max(high, *v)
		known++
	}
	if known < trendLeast || low == high {
		return ""
	}
	var b strings.Builder
	for i, v := range values {
		if v == nil {
			continue
		}
		x := float64(i) * trendWide / float64(len(values)-1)
		y := trendEdge + (high-*v)/(high-low)*(trendHigh-2*trendEdge)
		fmt.Fprintf(&b, "%.0f,%.0f ", x, y)
	}
	class := "sp"
	switch {
	case *last > *first:
		class += " u"
	case *last < *first:
		class += " d"
	}
	return template.HTML(fmt.Sprintf(`<svg class="%s" viewBox="0 0 %d %d" aria-hidden="true"><polyline points="%s"/></svg>`,
		class, trendWide, trendHigh, strings.TrimSpace(b.String())))
}
