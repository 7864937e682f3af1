package web

import (
	"bytes"
	_ "embed" // docs.html
	"html"
	"html/template"
	"regexp"
	"slices"
	"strings"

	"github.com/contextd/contextd/internal/handbook"
)

//go:embed docs.html
var docsTemplate string

// docsPage is the page of the description root: header, what root says and the topics of the handbook, nothing else.
func docsPage(root node, header template.HTML) ([]byte, error) {
	d := description{root}
	t, err := template.New("docs").Funcs(template.FuncMap{
		"operations": d.operations, "resolve": d.resolve, "reasons": d.reasons,
		"prose": prose, "type": typeOf, "rows": rows, "shown": shown,
	}).Parse(docsTemplate)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = t.Execute(&out, struct {
		node
		Style  template.CSS
		Header template.HTML
		Topics []handbook.Topic
		Errors []failure
	}{root, template.CSS(docsStyle), header, handbook.Topics(), d.errors()})
	return out.Bytes(), err
}

// description is all of it, in which references can be followed.
type description struct{ root node }

type operation struct {
	node
	Method, Path string
	Parameters   []node
}

// failure is an error and the statuses that it comes with.
type failure struct {
	node
	Codes, Statuses []string
}

type row struct {
	Path     string
	Schema   node
	Required bool
}

func (d description) resolve(n node) node {
	if ref := n.Get("$ref").Text(); ref != "" {
		return d.root.Get(strings.Split(strings.TrimPrefix(ref, "#/"), "/")...)
	}
	return n
}

// operations are those with a tag, or all for "".
func (d description) operations(tag string) []operation {
	var list []operation
	for _, path := range d.root.Get("paths").Members() {
		for _, method := range path.Value.Members() {
			if method.Name == "parameters" || tag != "" && !slices.Contains(method.Value.Get("tags").Texts(), tag) {
				continue
			}
			op := operation{node: method.Value, Method: strings.ToUpper(method.Name), Path: path.Name}
			for _, p := range append(path.Value.Get("parameters").Items(), method.Value.Get("parameters").Items()...) {
				op.Parameters = append(op.Parameters, d.resolve(p))
			}
			list = append(list, op)
		}
	}
	return list
}

// refusals are the errors that a response has as examples.
func (d description) refusals(response node) []node {
	var list []node
	for _, content := range response.Get("content").Members() {
		for _, example := range content.Value.Get("examples").Members() {
			if e := d.resolve(example.Value).Get("value", "error"); e.Get("requestId").Node != nil {
				list = append(list, e)
			}
		}
	}
	return list
}

// reasons are those of a response's errors.
func (d description) reasons(response node) []string {
	var list []string
	for _, e := range d.refusals(response) {
		list = append(list, e.Get("reason").Text())
	}
	return list
}

// errors are those of all responses, each once, in the order in which they come.
func (d description) errors() []failure {
	var list []failure
	for _, op := range d.operations("") {
		for _, response := range op.Get("responses").Members() {
			for _, e := range d.refusals(d.resolve(response.Value)) {
				i := slices.IndexFunc(list, func(f failure) bool { return f.Get("reason").Text() == e.Get("reason").Text() })
				if i < 0 {
					i = len(list)
					list = append(list, failure{node: e})
				}
				list[i].Codes = with(list[i].Codes, e.Get("code").Text())
				list[i].Statuses = with(list[i].Statuses, response.Name)
			}
		}
	}
	return list
}

func with(list []string, text string) []string {
	if slices.Contains(list, text) {
		return list
	}
	return append(list, text)
}

// shown is an example as it is: its text, or its JSON.
func shown(example node) (string, error) {
	if text := example.Text(); text != "" {
		return text, nil
	}
	text, err := example.indented()
	return string(text), err
}

// typeOf says in a few words what a schema allows, with links to other schemas.
func typeOf(s node) template.HTML {
	if ref := s.Get("$ref").Text(); ref != "" {
		name := html.EscapeString(ref[strings.LastIndex(ref, "/")+1:])
		return template.HTML(`<a href="#schema-` + name + `">` + name + `</a>`)
	}
	var parts []string
	for _, kind := range s.Get("type").Texts() {
		if s.Get("enum").Node != nil || s.Get("const").Node != nil {
			break // its values say it
		}
		if kind == "array" {
			kind = "array of " + string(typeOf(s.Get("items")))
		}
		parts = append(parts, kind)
	}
	for _, one := range s.Get("anyOf").Items() {
		parts = append(parts, string(typeOf(one)))
	}
	if c := s.Get("const"); c.Node != nil {
		parts = append(parts, code(c.Text()))
	}
	for _, value := range s.Get("enum").Texts() {
		parts = append(parts, code(value))
	}
	text := strings.Join(parts, " or ")
	for _, bound := range []struct{ name, say string }{
		{"format", "as "}, {"minimum", "from "}, {"maximum", "to "}, {"minLength", "length from "}, {"maxLength", "length to "},
		{"maxItems", "at most "}, {"default", "default "},
	} {
		if value := s.Get(bound.name).Text(); value != "" {
			text += ", " + bound.say + html.EscapeString(value)
		}
	}
	if pattern := s.Get("pattern").Text(); pattern != "" {
		text += ", " + code(pattern)
	}
	return template.HTML(text)
}

// rows are the members of an object and of the objects in it, by their paths.
func rows(prefix string, s node) []row {
	var list []row
	for _, m := range s.Get("properties").Members() {
		path := prefix + m.Name
		list = append(list, row{path, m.Value, slices.Contains(s.Get("required").Texts(), m.Name)})
		list = append(list, rows(path+".", m.Value)...)
		list = append(list, rows(path+"[].", m.Value.Get("items"))...)
	}
	return list
}

func code(text string) string { return "<code>" + html.EscapeString(text) + "</code>" }

// prose is a description: paragraphs, code and words that stand out, which is all of Markdown that is used.
func prose(n node) template.HTML {
	text := html.EscapeString(n.Text())
	if text == "" {
		return ""
	}
	text = regexp.MustCompile("`([^`]+)`").ReplaceAllString(text, "<code>$1</code>")
	text = regexp.MustCompile(`\*\*([^*]+)\*\*`).ReplaceAllString(text, "<strong>$1</strong>")
	text = regexp.MustCompile(`\[([^\]]+)\]\((https?://[^)\s]+)\)`).ReplaceAllString(text, `<a href="$2">$1</a>`)
	return template.HTML("<p>" + strings.ReplaceAll(text, "\n\n", "</p>\n<p>") + "</p>")
}
