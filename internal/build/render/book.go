package main

import (
	"bytes"
	_ "embed" // docs.tmpl
	"html/template"
	"slices"
	"strings"

	"github.com/contextd/contextd/internal/handbook"
)

//go:embed docs.tmpl
var pageTemplate string

// book makes the page of a description.
type book struct {
	root   node
	errors []failure // by reason, in the order of the description
}

// view is what the page shows.
type view struct {
	Title, Version, Summary string
	Text                    template.HTML
	Style                   template.CSS
	Schemes                 []row
	Groups                  []group
	Errors                  []failure
	Schemas                 []schema
	Topics                  []handbook.Topic
}

// group is a tag and its operations.
type group struct {
	Name string
	Text template.HTML
	Ops  []operation
}

// operation is a method of a path.
type operation struct {
	ID, Method, Path, Summary string
	Text                      template.HTML
	Auth                      []string
	Parameters                []row
	Body                      *message
	Responses                 []message
}

// message is a request body or a response.
type message struct {
	Status   string
	Text     template.HTML
	Headers  []string
	Media    []medium
	Reasons  []string // of an error
	Required bool
}

// medium is a type of content.
type medium struct {
	Type     string
	Schema   template.HTML
	Examples []example
}

// example is one of them.
type example struct{ Name, Text string }

// row is a parameter, or a member of an object.
type row struct {
	Name, Place string
	Type, Text  template.HTML
	Required    bool
}

// schema is a part that others are made of.
type schema struct {
	Name string
	Text template.HTML
	Type template.HTML
	Rows []row
}

// failure is an error and the statuses that it comes with.
type failure struct {
	Reason, Message, Hint string
	Codes, Statuses       []string
}

func newBook(root node) *book { return &book{root: root} }

// resolve follows a reference.
func (b *book) resolve(n node) node {
	if ref := n.get("$ref").text(); ref != "" {
		return b.root.get(strings.Split(strings.TrimPrefix(ref, "#/"), "/")...)
	}
	return n
}

// render is the page.
func (b *book) render(style string) ([]byte, error) {
	info := b.root.get("info")
	v := view{
		Title: info.get("title").text(), Version: info.get("version").text(), Summary: info.get("summary").text(),
		Text: prose(info.get("description")), Style: template.CSS(style), Topics: handbook.Topics(),
	}
	for name, s := range b.root.get("components", "securitySchemes").all() {
		v.Schemes = append(v.Schemes, row{Name: name, Text: prose(s.get("description"))})
	}
	for _, tag := range b.root.get("tags").items() {
		g, err := b.group(tag)
		if err != nil {
			return nil, err
		}
		v.Groups = append(v.Groups, g)
	}
	for name, s := range b.root.get("components", "schemas").all() {
		v.Schemas = append(v.Schemas, schema{Name: name, Text: prose(s.get("description")), Type: typeOf(s), Rows: rows("", s)})
	}
	v.Errors = b.errors
	t, err := template.New("docs").Parse(pageTemplate)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = t.Execute(&out, v)
	return out.Bytes(), err
}

// group is a tag with the operations that have it.
func (b *book) group(tag node) (group, error) {
	g := group{Name: tag.get("name").text(), Text: prose(tag.get("description"))}
	for path, item := range b.root.get("paths").all() {
		for method, op := range item.all() {
			if method == "parameters" || !slices.Contains(op.get("tags").texts(), g.Name) {
				continue
			}
			o, err := b.operation(method, path, item, op)
			if err != nil {
				return g, err
			}
			g.Ops = append(g.Ops, o)
		}
	}
	return g, nil
}

// operation is a method of a path.
func (b *book) operation(method, path string, item, op node) (operation, error) {
	o := operation{
		ID: op.get("operationId").text(), Method: strings.ToUpper(method), Path: path, Summary: op.get("summary").text(),
		Text: prose(op.get("description")),
	}
	for _, way := range op.get("security").items() {
		name := "nothing"
		for scheme := range way.all() {
			name = scheme
		}
		o.Auth = append(o.Auth, name)
	}
	for _, p := range append(item.get("parameters").items(), op.get("parameters").items()...) {
		p = b.resolve(p)
		o.Parameters = append(o.Parameters, row{
			Name: p.get("name").text(), Place: p.get("in").text(), Type: typeOf(p.get("schema")), Text: prose(p.get("description")),
			Required: p.get("required").text() == "true",
		})
	}
	if body := op.get("requestBody"); !body.absent() {
		m, err := b.message("", body)
		if err != nil {
			return o, err
		}
		o.Body = &m
	}
	for status, response := range op.get("responses").all() {
		m, err := b.message(status, b.resolve(response))
		if err != nil {
			return o, err
		}
		o.Responses = append(o.Responses, m)
	}
	return o, nil
}

// message is a body or a response. Errors are shown by their reasons alone; the page has a table of them.
func (b *book) message(status string, n node) (message, error) {
	m := message{Status: status, Text: prose(n.get("description")), Required: n.get("required").text() == "true"}
	for name := range n.get("headers").all() {
		m.Headers = append(m.Headers, name)
	}
	for kind, content := range n.get("content").all() {
		medium := medium{Type: kind, Schema: typeOf(content.get("schema"))}
		for name, e := range content.get("examples").all() {
			value := b.resolve(e).get("value")
			if failed := value.get("error"); !failed.get("requestId").absent() {
				m.Reasons = append(m.Reasons, failed.get("reason").text())
				b.fail(status, failed)
				continue
			}
			text := value.text()
			if text == "" {
				shown, err := indented(value)
				if err != nil {
					return m, err
				}
				text = string(shown)
			}
			medium.Examples = append(medium.Examples, example{name, text})
		}
		m.Media = append(m.Media, medium)
	}
	return m, nil
}

// fail notes an error for the table.
func (b *book) fail(status string, e node) {
	reason, code := e.get("reason").text(), e.get("code").text()
	i := slices.IndexFunc(b.errors, func(f failure) bool { return f.Reason == reason })
	if i < 0 {
		i = len(b.errors)
		b.errors = append(b.errors, failure{Reason: reason, Message: e.get("message").text(), Hint: e.get("hint").text()})
	}
	f := &b.errors[i]
	if !slices.Contains(f.Codes, code) {
		f.Codes = append(f.Codes, code)
	}
	if !slices.Contains(f.Statuses, status) {
		f.Statuses = append(f.Statuses, status)
	}
}
