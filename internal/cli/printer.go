package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/template"
	"time"
)

// Format is how an answer is written.
type Format string

// The formats.
const (
	Table  Format = "table"  // aligned columns, for people
	JSON   Format = "json"   // one document; indented on a terminal
	YAML   Format = "yaml"   // one document
	NDJSON Format = "ndjson" // one line for each element
	TSV    Format = "tsv"    // one line for each row, no header unless asked for
	Text   Format = "text"   // the command's own view, for people
)

// Formats returns every format.
func Formats() []Format { return []Format{Table, JSON, YAML, NDJSON, TSV, Text} }

// Spec is what the flags ask for. The zero Spec leaves the choice to the terminal and the command.
type Spec struct {
	Format   Format   // empty means not asked for
	Fields   []string // members to keep, in this order; nil means all
	JQ       string
	Template string
	Header   bool // a header line for TSV
	NoPager  bool
}

// Machine reports whether a program reads the output: it was asked for as JSON in some way.
func (s Spec) Machine() bool {
	return slices.Contains([]Format{JSON, YAML, NDJSON}, s.Format) || s.Fields != nil || s.JQ != "" || s.Template != ""
}

// Filtered reports whether the output is JSON only as far as a filter or a template takes it, as people write them on a terminal too.
func (s Spec) Filtered() bool {
	return s.Format == "" && s.Fields == nil && (s.JQ != "" || s.Template != "")
}

// Check reports what is wrong with s, before anything is called or paid for.
func (s Spec) Check() error {
	if s.Format != "" && !slices.Contains(Formats(), s.Format) {
		return fmt.Errorf("output %q is none of %s", s.Format, join(Formats()))
	}
	if s.JQ != "" && s.Template != "" {
		return errors.New("--jq and --template exclude each other")
	}
	if (s.Fields != nil || s.JQ != "" || s.Template != "") && slices.Contains([]Format{Table, TSV, Text}, s.Format) {
		return fmt.Errorf("--json, --jq and --template are about JSON and exclude --output %s", s.Format)
	}
	if s.JQ != "" {
		if _, err := ParseFilter(s.JQ); err != nil {
			return err
		}
	}
	if s.Template != "" {
		if _, err := template.New("").Funcs((&Printer{}).funcs()).Parse(s.Template); err != nil {
			return fmt.Errorf("template: %w", err)
		}
	}
	return nil
}

func join(formats []Format) string {
	var names []string
	for _, f := range formats {
		names = append(names, string(f))
	}
	return strings.Join(names, ", ")
}

// Answer is what a command has to say.
type Answer struct {
	JSON  json.RawMessage                                 // the document of json, yaml, ndjson, fields, jq and template
	Flat  json.RawMessage                                 // what fields are picked from; nil means JSON
	Rows  *Rows                                           // table and tsv; nil means a row for each leaf of JSON
	Text  func(w io.Writer, width int, style Style) error // text, and table where there are no Rows; nil means Rows as a table
	Piped Format                                          // the format where nothing is asked for and nobody looks; empty means TSV
}

// Printer writes answers.
type Printer struct {
	Spec
	Style
	Out       io.Writer
	TTY       bool
	Width     int                              // columns of the terminal
	Height    int                              // lines of it, 0 for what is not paged
	Above     string                           // lines that were told before, which a pager would push out of sight
	LookupEnv func(name string) (string, bool) // for the pager; nil means that there is none
	Now       func() time.Time

	known []string // fields that are null where an answer leaves them out
}

// NewPrinter makes the Printer of stdout.
func NewPrinter(s System, spec Spec, style Style) *Printer {
	return &Printer{
		Spec: spec, Style: style, Out: s.Out, TTY: s.OutTTY, Width: s.Columns(), Height: s.Height, LookupEnv: s.LookupEnv, Now: s.Now,
	}
}

// Print writes a as the Spec asks. A field that a does not have is a *FieldError.
func (p *Printer) Print(ctx context.Context, a Answer) error {
	format := p.Format
	switch {
	case format != "":
	case p.Machine():
		format = JSON
	case p.TTY:
		format = Text
	case a.Piped != "":
		format = a.Piped
	default:
		format = TSV
	}
	doc, err := p.document(a)
	if err != nil {
		return err
	}
	switch {
	case p.JQ != "":
		return p.filter(ctx, doc)
	case p.Template != "":
		return p.execute(doc)
	}
	switch format {
	case JSON:
		return p.writeJSON(doc)
	case YAML:
		return p.writeYAML(doc)
	case NDJSON:
		return p.writeLines(doc)
	case TSV:
		return p.writeTSV(a)
	}
	return p.page(ctx, func(w io.Writer) error { return p.writeHuman(w, a) })
}

// document is the JSON of a, or the fields of it that are asked for.
func (p *Printer) document(a Answer) (json.RawMessage, error) {
	switch {
	case p.Fields == nil:
		return a.JSON, nil
	case a.Flat != nil:
		return p.pick(a.Flat)
	}
	return p.pick(a.JSON)
}

// writeHuman writes the command's own view, or else a table.
func (p *Printer) writeHuman(w io.Writer, a Answer) error {
	if a.Text != nil && (a.Rows == nil || p.Format != Table) {
		return a.Text(w, p.Width, p.Style)
	}
	rows, err := a.rows()
	if err != nil {
		return err
	}
	return rows.Write(w, p.Width, p.Style)
}
