package mcp

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/jsonx"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// stateWriter writes a state, or rows of it, as a model reads it best. Nothing is told twice, and no address that lookup gives.
type stateWriter struct {
	b      *strings.Builder
	read   time.Time          // when the state is read, or was made
	health []api.SourceStatus // of the sources, where the state tells
	refs   map[string]bool    // that were written
}

// newStateWriter makes a writer of what is as fresh as f.
func newStateWriter(b *strings.Builder, f api.Freshness) *stateWriter {
	return &stateWriter{b: b, read: f.GeneratedAt.Add(time.Duration(f.AgeSeconds+1)*time.Second - 1), refs: map[string]bool{}}
}

var anchorForm = regexp.MustCompile(`\[(\d+)\]`)

func (w *stateWriter) cited(text string) {
	for _, m := range anchorForm.FindAllStringSubmatch(text, -1) {
		w.refs[m[1]] = true
	}
}

// state writes a section for every member: a table of an array of objects, a line for each member of an object. The health of the sources
// is left for where these are listed.
func (w *stateWriter) state(doc *state.Document) {
	w.health = doc.Sources()
	for _, m := range doc.Root().Members {
		if m.Name != api.MemberSourceStatus || len(w.health) == 0 {
			w.section(m.Name, m)
		}
	}
}

// section writes a value under its name, and lists of objects in it in sections of their own.
func (w *stateWriter) section(name string, v *jsonx.Value) {
	fmt.Fprintf(w.b, "\n## %s%s\n", name, sharedRef(v))
	switch {
	case v.IsArray() && len(v.Members) == 0:
		w.b.WriteString("none\n")
	case isTable(v):
		w.table(v.Members)
	case !v.IsObject():
		w.b.WriteString(plain(v.Raw) + "\n")
	default:
		var tables []*jsonx.Value
		for _, m := range v.Members {
			if isTable(m) {
				tables = append(tables, m)
				continue
			}
			fmt.Fprintf(w.b, "%s: %s\n", m.Name, w.cell(m))
		}
		for _, m := range tables {
			w.section(name+"."+m.Name, m)
		}
	}
}

// isTable reports whether v is an array of objects.
func isTable(v *jsonx.Value) bool {
	return v.IsArray() && len(v.Members) > 0 && !slices.ContainsFunc(v.Members, func(m *jsonx.Value) bool { return !m.IsObject() })
}

// sharedRef is the source of all rows of a table, " [N]", or "" where they have several.
func sharedRef(v *jsonx.Value) string {
	if !isTable(v) {
		return ""
	}
	first := v.Members[0].Member("ref")
	if first == nil || slices.ContainsFunc(v.Members, func(row *jsonx.Value) bool {
		ref := row.Member("ref")
		return ref == nil || string(ref.Raw) != string(first.Raw)
	}) {
		return ""
	}
	return " [" + string(first.Raw) + "]"
}

// table writes rows under the names of what any of them says.
func (w *stateWriter) table(rows []*jsonx.Value) {
	var names []string
	shared := sharedRef(rows[0].Parent) != ""
	cells := make([]map[string]string, len(rows))
	for i, row := range rows {
		cells[i] = map[string]string{}
		for _, m := range row.Members {
			text := w.cell(m)
			if repeated(row, m) || m.Name == "ref" && shared {
				text = ""
			}
			if cells[i][m.Name] = text; text != "" && text != "-" && !slices.Contains(names, m.Name) {
				names = append(names, m.Name)
			}
		}
	}
	w.b.WriteString(strings.Join(names, "|") + "\n")
	for _, row := range cells {
		line := make([]string, len(names))
		for i, name := range names {
			line[i] = row[name]
		}
		w.b.WriteString(strings.TrimRight(strings.Join(line, "|"), "|") + "\n")
	}
}

// repeated reports whether a row says elsewhere what its member m does: an id that is its name in small letters, parts of a message.
func repeated(row, m *jsonx.Value) bool {
	switch m.Name {
	case "id", "subject", "value", "threshold", "unit":
		if row.Member("message") != nil {
			return true
		}
	}
	name := row.Member("name")
	if m.Name != "id" || name == nil {
		return false
	}
	return strings.TrimPrefix(m.Text(), "chain:") == strings.ReplaceAll(strings.ToLower(name.Text()), " ", "-")
}

// address is the least length of an id that nobody reads.
const address = 36

// cell is a value as text, "" for what lookup gives: links, and ids that are addresses.
func (w *stateWriter) cell(v *jsonx.Value) string {
	switch {
	case v.Name == "url" || v.Name == "id" && len(v.Text()) >= address && !strings.Contains(v.Text(), ":"):
		return ""
	case v.IsLeaf():
		return w.leaf(v)
	case isTable(v):
		return joined(v, "; ", w.part)
	case v.IsObject():
		return w.fields(v)
	case !slices.ContainsFunc(v.Members, func(m *jsonx.Value) bool { return !m.IsLeaf() }):
		return joined(v, ",", func(m *jsonx.Value) string { return cell(v.Name, m.Raw) })
	}
	return plain(v.Raw)
}

// joined are the members of v as text, with a separator between.
func joined(v *jsonx.Value, separator string, text func(*jsonx.Value) string) string {
	parts := make([]string, len(v.Members))
	for i, m := range v.Members {
		parts[i] = text(m)
	}
	return strings.Join(parts, separator)
}

// leaf is a value without parts as text: amounts of USD short, times to the minute.
func (w *stateWriter) leaf(v *jsonx.Value) string {
	switch {
	case v.Name == "ref":
		w.refs[string(v.Raw)] = true
	case v.IsString():
		if at, err := time.Parse(time.RFC3339, v.Text()); err == nil {
			return w.moment(at)
		}
		return nameText(v)
	case strings.HasSuffix(v.Name, "Usd") && v.Name != "priceUsd":
		if x, err := strconv.ParseFloat(string(v.Raw), 64); err == nil && math.Abs(x) >= 10_000 {
			return human.USD(x)
		}
	}
	return cell(v.Name, v.Raw)
}

// nameText is a text as it stands in a row. A name that is as short as names are needs no quotation marks; a sentence has them always.
func nameText(v *jsonx.Value) string {
	switch v.Name {
	case "name", "pair", "subject", "category":
		return label(plain(v.Raw))
	}
	return cell(v.Name, v.Raw)
}

// moment is a time to the minute, without the day where that is the one of the state.
func (w *stateWriter) moment(at time.Time) string {
	layout := "2006-01-02T15:04Z"
	if at = at.UTC(); at.Truncate(24 * time.Hour).Equal(w.read.UTC().Truncate(24 * time.Hour)) {
		layout = "15:04Z"
	}
	return at.Format(layout)
}

// part is an object in a cell: what it says, without names, and its source.
func (w *stateWriter) part(v *jsonx.Value) string {
	var list []string
	refs := ""
	for _, m := range v.Members {
		switch text := w.cell(m); {
		case text == "" || text == "-" || m.Name == "ref" && refs != "":
		case m.Name == "ref" || m.Name == "sources" && m.IsArray():
			refs = " [" + text + "]"
			for ref := range strings.SplitSeq(text, ",") {
				w.refs[ref] = true
			}
		case m.Name == "stale":
			list = append(list, "STALE")
		default:
			list = append(list, text)
		}
	}
	return strings.Join(list, " ") + refs
}

// fields is an object in a line: what it says, with names, and its source.
func (w *stateWriter) fields(v *jsonx.Value) string {
	var list []string
	refs := ""
	for _, m := range v.Members {
		switch text := w.cell(m); {
		case text == "":
		case m.Name == "ref":
			refs = " [" + text + "]"
		case m.Name == "stale" && text == "true":
			list = append(list, "STALE")
		default:
			list = append(list, m.Name+" "+text)
		}
	}
	return strings.Join(list, ", ") + refs
}

// row writes a row of any member in a line: where it is, what it is called, its figures and its source.
func (w *stateWriter) row(v *jsonx.Value) {
	where := v
	for where.Depth > 1 {
		where = where.Parent
	}
	var list []string
	refs := ""
	for _, m := range v.Members {
		text := w.cell(m)
		switch {
		case text == "" || text == "-" || repeated(v, m) || slices.Contains(state.RowNames(), m.Name):
		case m.Name == "ref":
			refs = " [" + text + "]"
		case m.Name == "stale":
			list = append(list, "STALE")
		default:
			list = append(list, figure(m, text))
		}
	}
	fmt.Fprintf(w.b, "%s: %s %s%s\n", where.Name, called(v), strings.Join(list, " · "), refs)
}

// figure is a member of a row, of which text tells, in a line.
func figure(m *jsonx.Value, text string) string {
	var value any = text
	if m.IsLeaf() && !m.IsString() {
		_ = json.Unmarshal(m.Raw, &value) // it was read
	}
	return human.Field(m.Name, value)
}

// called is what a row is called, with its symbol.
func called(v *jsonx.Value) string {
	text := func(name string) string {
		if m := v.Member(name); m != nil && m.IsString() {
			return nameText(m)
		}
		return ""
	}
	name := v.Name
	for _, n := range slices.Backward(state.RowNames()) {
		name = cmp.Or(text(n), name)
	}
	return state.Called(name, text("symbol"))
}

// sources lists the sources, once: how each does, where that is known, and its link. Where it is not, those that nothing refers to are left
// out.
func (w *stateWriter) sources(list []api.Citation) {
	w.b.WriteString("\n## sources\n")
	var shown []api.Use
	for _, c := range list {
		if len(w.health) == 0 && len(w.refs) > 0 && !w.refs[strconv.Itoa(c.Ref)] {
			continue
		}
		fmt.Fprintf(w.b, "[%d] %s", c.Ref, c.SourceID)
		for _, s := range w.health {
			if s.Ref == c.Ref {
				w.b.WriteString(" " + w.healthText(s))
			}
		}
		fmt.Fprintf(w.b, " %s\n", shortLink(c.URL))
		shown = append(shown, c.Use)
	}
	writeNotices(w.b, api.Notices(shown...))
}

// writeNotices tells what the sources of an answer prescribe.
func writeNotices(b *strings.Builder, notices []string) {
	for _, notice := range notices {
		fmt.Fprintf(b, "Notice: %s\n", notice)
	}
}

// healthText says how a source does and how old is what it last said.
func (w *stateWriter) healthText(s api.SourceStatus) string {
	text := string(s.Status)
	if s.Status != api.SourceOK {
		text = strings.ToUpper(text)
	}
	if s.FetchedAt != nil {
		text += " " + human.Age(max(w.read.Sub(*s.FetchedAt), 0))
	}
	if s.Failures > 0 {
		text += ", " + human.Plural(s.Failures, "failure")
	}
	if s.Error != nil {
		text += ", " + quoted(human.Line(*s.Error))
	}
	return text
}
