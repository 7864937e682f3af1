package main

import (
	"html"
	"html/template"
	"regexp"
	"strings"
)

// typeOf says in a few words what a schema allows, with links to other schemas.
func typeOf(s node) template.HTML {
	if ref := s.get("$ref").text(); ref != "" {
		name := ref[strings.LastIndex(ref, "/")+1:]
		return template.HTML(`<a href="#schema-` + html.EscapeString(name) + `">` + html.EscapeString(name) + `</a>`)
	}
	var parts []string
	for _, kind := range s.get("type").texts() {
		if !s.get("enum").absent() {
			break // its values say it
		}
		if kind == "array" {
			kind = "array of " + string(typeOf(s.get("items")))
		}
		parts = append(parts, kind)
	}
	for _, one := range s.get("anyOf").items() {
		parts = append(parts, string(typeOf(one)))
	}
	if c := s.get("const"); !c.absent() {
		parts = append(parts, code(c.text()))
	}
	for _, value := range s.get("enum").texts() {
		parts = append(parts, code(value))
	}
	text := strings.Join(parts, " or ")
	for _, bound := range []struct{ name, say string }{
		{"format", "as "}, {"minimum", "from "}, {"maximum", "to "}, {"minLength", "length from "}, {"maxLength", "length to "},
		{"maxItems", "at most "}, {"default", "default "},
	} {
		if value := s.get(bound.name).text(); value != "" {
			text += ", " + bound.say + html.EscapeString(value)
		}
	}
	if pattern := s.get("pattern").text(); pattern != "" {
		text += ", " + code(pattern)
	}
	return template.HTML(text)
}

// rows are the members of an object and of the objects in it, by their paths.
func rows(prefix string, s node) []row {
	required := map[string]bool{}
	for _, name := range s.get("required").texts() {
		required[name] = true
	}
	var list []row
	for name, member := range s.get("properties").all() {
		path := prefix + name
		list = append(list, row{Name: path, Type: typeOf(member), Text: prose(member.get("description")), Required: required[name]})
		list = append(list, rows(path+".", member)...)
		list = append(list, rows(path+"[].", member.get("items"))...)
	}
	return list
}

var (
	codeMark   = regexp.MustCompile("`([^`]+)`")
	strongMark = regexp.MustCompile(`\*\*([^*]+)\*\*`)
)

// code is a text as code.
func code(text string) string { return "<code>" + html.EscapeString(text) + "</code>" }

// prose is a description: paragraphs, code and words that stand out, which is all of Markdown that is used.
func prose(n node) template.HTML {
	text := html.EscapeString(n.text())
	if text == "" {
		return ""
	}
	text = codeMark.ReplaceAllString(text, "<code>$1</code>")
	text = strongMark.ReplaceAllString(text, "<strong>$1</strong>")
	return template.HTML("<p>" + strings.ReplaceAll(text, "\n\n", "</p>\n<p>") + "</p>")
}
