package cli

import (
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const (
	// OpenFields, as the last field of a command, says that an answer may have more than are listed.
	OpenFields = "…"

	fieldsKey    = "fields" // the annotation of a command that lists the fields of its output
	reasonFields = "fields" // of the Failure that lists fields: it is told in words although JSON was asked for
)

// SetFields says which fields the output of c has.
func SetFields(c *cobra.Command, fields ...string) {
	if c.Annotations == nil {
		c.Annotations = map[string]string{}
	}
	c.Annotations[fieldsKey] = strings.Join(fields, ",")
}

// FieldsOf are the fields of the output of c.
func FieldsOf(c *cobra.Command) []string {
	if list := c.Annotations[fieldsKey]; list != "" {
		return strings.Split(list, ",")
	}
	return nil
}

// FieldsIn are the members of v as JSON, by its type: a struct, or a list of them.
func FieldsIn(v any) (fields []string) {
	t := reflect.TypeOf(v)
	for t.Kind() == reflect.Slice || t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.IsExported() && !f.Anonymous && name != "-" {
			if name == "" {
				name = f.Name
			}
			fields = append(fields, name)
		}
	}
	return fields
}

// listFields makes the Failure of --json without fields: a list of those that there are.
func listFields(c *cobra.Command) *Failure {
	fields := FieldsOf(c)
	if len(fields) == 0 {
		return Invalid("%s has no fields", c.CommandPath())
	}
	f := Invalid("name one or more fields after --json, with commas between:\n  %s", strings.Join(fields, "\n  "))
	f.Reason = reasonFields
	return f
}

// OutputFlags are the flags about output.
type OutputFlags struct {
	format, fields string
	spec           Spec
}

// Bind defines the flags in set.
func (o *OutputFlags) Bind(set *pflag.FlagSet) {
	set.StringVarP(&o.format, "output", "o", "", "`format`: table, json, yaml, ndjson, tsv or text")
	set.StringVar(&o.fields, "json", "", "JSON with these `fields`; without fields: list them")
	set.StringVarP(&o.spec.JQ, "jq", "q", "", "filter the JSON with a jq `expression`")
	set.StringVarP(&o.spec.Template, "template", "t", "", "format the JSON with a Go `template`")
	set.BoolVar(&o.spec.NoPager, "no-pager", false, "do not show long text in $PAGER")
	set.BoolVar(&o.spec.Header, "header", false, "write a header line for TSV")
}

// Spec is what the flags ask for. It fails, before anything is called, where they cannot be followed. The configured format is for where
// no flag asks for one, and yields to what was asked of this one call; "" leaves the choice to the terminal.
func (o *OutputFlags) Spec(configured Format) (Spec, error) {
	spec := o.spec
	if o.fields != "" {
		for field := range strings.SplitSeq(o.fields, ",") {
			spec.Fields = append(spec.Fields, strings.TrimSpace(field))
		}
	}
	if spec.Format = Format(o.format); spec.Format == "" && !spec.Machine() {
		spec.Format = configured
	}
	return spec, spec.Check()
}

// CheckFields reports what is wrong with the fields asked for, of those that c has. A list that ends in OpenFields is open: the answer
// may have more.
func (s Spec) CheckFields(c *cobra.Command) error {
	has := FieldsOf(c)
	for _, field := range s.Fields {
		if len(has) > 0 && !slices.Contains(has, field) && !slices.Contains(has, OpenFields) {
			return Invalid("%w", &FieldError{Field: field, Has: has}).WithHint("--json alone lists the fields")
		}
	}
	return nil
}
