package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/template"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/contextd/contextd/internal/human"
)

// execute writes doc through the template, with the functions that gh gives its templates.
func (p *Printer) execute(doc json.RawMessage) error {
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	var data any
	if err := d.Decode(&data); err != nil {
		return fmt.Errorf("template: %w", err)
	}
	t, err := template.New("").Funcs(p.funcs()).Parse(p.Template)
	if err != nil {
		return fmt.Errorf("template: %w", err)
	}
	var b strings.Builder
	rows := &templateRows{p: p}
	t.Funcs(template.FuncMap{"tablerow": rows.add, "tablerender": rows.render})
	if err := t.Execute(&b, p.plain(data)); err != nil {
		return Invalid("template: %w", err)
	}
	rest, err := rows.render()
	if err != nil {
		return err
	}
	_, err = io.WriteString(p.Out, b.String()+rest)
	return err
}

// plain is v with numbers that templates can compute with, and with text that may go to a terminal where it goes to one.
func (p *Printer) plain(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		f, err := v.Float64()
		if err != nil {
			return v.String()
		}
		return f
	case string:
		if p.TTY {
			return human.Text(v)
		}
	case []any:
		for i := range v {
			v[i] = p.plain(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = p.plain(v[k])
		}
	}
	return v
}

func (p *Printer) funcs() template.FuncMap {
	return template.FuncMap{
		"timeago":   p.timeago,
		"timefmt":   timefmt,
		"truncate":  func(width int, v any) string { return p.Cut(textOf(v), width) },
		"color":     p.color,
		"autocolor": p.color,
		"join":      joinValues,
		"pluck":     pluck,
		"hyperlink": p.hyperlink,
		"upper":     func(v any) string { return strings.ToUpper(textOf(v)) },
		"lower":     func(v any) string { return strings.ToLower(textOf(v)) },
		// The two of tables are set for each execution.
		"tablerow":    func(...any) string { return "" },
		"tablerender": func() (string, error) { return "", nil },
	}
}

// timeago is the age of the RFC 3339 time at, such as "2h05m ago".
func (p *Printer) timeago(at any) (string, error) {
	t, err := time.Parse(time.RFC3339, textOf(at))
	if err != nil {
		return "", err
	}
	return human.Age(p.Now().Sub(t)) + " ago", nil
}

// timefmt writes the RFC 3339 time text in a layout of package time.
func timefmt(layout string, text any) (string, error) {
	t, err := time.Parse(time.RFC3339, textOf(text))
	if err != nil {
		return "", err
	}
	return t.Format(layout), nil
}

// color marks v with a style such as red, or green+b as gh writes bold.
func (p *Printer) color(style string, v any) (string, error) {
	codes := []string{"black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"}
	name, attributes, _ := strings.Cut(style, "+")
	var sgr []string
	if i := slices.Index(codes, name); i >= 0 {
		sgr = append(sgr, fmt.Sprint(30+i))
	} else if name == "gray" || name == "grey" {
		sgr = append(sgr, "90")
	} else if name != "" && name != "default" {
		return "", fmt.Errorf("no color %q", name)
	}
	for _, letter := range attributes {
		code, ok := map[rune]string{'b': "1", 'd': "2", 'u': "4", 'i': "7"}[letter]
		if !ok {
			return "", fmt.Errorf("no attribute %q of a color", letter)
		}
		sgr = append(sgr, code)
	}
	if len(sgr) == 0 {
		return textOf(v), nil
	}
	return p.sgr(strings.Join(sgr, ";"), textOf(v)), nil
}

func joinValues(sep string, list any) (string, error) {
	elements, ok := list.([]any)
	if !ok && list != nil {
		return "", errors.New("join needs a list")
	}
	texts := make([]string, len(elements))
	for i, e := range elements {
		texts[i] = textOf(e)
	}
	return strings.Join(texts, sep), nil
}

// pluck is the member name of each element of a list.
func pluck(name string, list any) ([]any, error) {
	elements, ok := list.([]any)
	if !ok && list != nil {
		return nil, errors.New("pluck needs a list")
	}
	values := make([]any, len(elements))
	for i, e := range elements {
		if m, ok := e.(map[string]any); ok {
			values[i] = m[name]
		}
	}
	return values, nil
}

// hyperlink is text that leads to url on a terminal that shows colours, and only the text elsewhere.
func (p *Printer) hyperlink(url, text any) string {
	if !p.Color {
		return textOf(text)
	}
	return "\x1b]8;;" + human.Line(textOf(url)) + "\x1b\\" + textOf(text) + "\x1b]8;;\x1b\\"
}

// textOf is v as a template would print it, and nothing for null.
func textOf(v any) string {
	if v == nil {
		return ""
	}
	return fmt.Sprint(v)
}

// templateRows gathers the rows that a template makes until it renders them.
type templateRows struct {
	p    *Printer
	rows [][]string
}

func (t *templateRows) add(cells ...any) string {
	row := make([]string, len(cells))
	for i, c := range cells {
		row[i] = textOf(c)
	}
	t.rows = append(t.rows, row)
	return ""
}

// render is the rows so far in columns on a terminal, else with tabs.
func (t *templateRows) render() (string, error) {
	var b strings.Builder
	var widths []int
	for _, row := range t.rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], ansi.StringWidth(cell))
		}
	}
	for _, row := range t.rows {
		if !t.p.TTY {
			b.WriteString(strings.Join(row, "\t") + "\n")
			continue
		}
		for i, cell := range row {
			row[i] = cell + strings.Repeat(" ", widths[i]-ansi.StringWidth(cell))
		}
		b.WriteString(strings.TrimRight(strings.Join(row, "  "), " ") + "\n")
	}
	t.rows = nil
	return b.String(), nil
}
