package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/jsonx"
)

// Marshal is v as JSON that leaves <, > and & alone.
func Marshal(v any) (json.RawMessage, error) {
	text, err := jsonx.Encode(v)
	if err != nil {
		return nil, fmt.Errorf("encode output: %w", err)
	}
	return text, nil
}

// FieldError says that an answer has no member of that name.
type FieldError struct {
	Field string
	Has   []string // what there is
}

// Error names the field and the members that there are.
func (e *FieldError) Error() string {
	return fmt.Sprintf("no field %q; there are %s", e.Field, strings.Join(e.Has, ", "))
}

// elements are the elements of the JSON array doc; ok is false if it is none.
func elements(doc json.RawMessage) (list []json.RawMessage, ok bool) {
	if !bytes.HasPrefix(bytes.TrimSpace(doc), []byte("[")) {
		return nil, false
	}
	return list, json.Unmarshal(doc, &list) == nil
}

// pick keeps the fields of doc that are asked for, an object or an array of objects.
func (p *Printer) pick(doc json.RawMessage) (json.RawMessage, error) {
	list, isArray := elements(doc)
	if !isArray {
		return p.pickOne(doc)
	}
	for i, e := range list {
		var err error
		if list[i], err = p.pickOne(e); err != nil {
			return nil, err
		}
	}
	return Marshal(list)
}

// pickOne keeps the fields of the object doc that are asked for.
func (p *Printer) pickOne(doc json.RawMessage) (json.RawMessage, error) {
	members, err := jsonx.Members(doc)
	if err != nil {
		return nil, errors.New("there are no fields to choose from in this output")
	}
	var picked []*jsonx.Value
	for _, field := range p.Fields {
		i := slices.IndexFunc(members, func(m *jsonx.Value) bool { return m.Name == field })
		switch {
		case i >= 0:
			picked = append(picked, members[i])
		case slices.Contains(p.known, field):
			picked = append(picked, &jsonx.Value{Name: field, Raw: json.RawMessage("null")})
		default:
			e := &FieldError{Field: field}
			for _, m := range members {
				e.Has = append(e.Has, m.Name)
			}
			return nil, e
		}
	}
	return jsonx.Object(picked)
}

// writeJSON writes doc with its numbers and its order as they are, indented on a terminal.
func (p *Printer) writeJSON(doc json.RawMessage) error {
	var b bytes.Buffer
	var err error
	if p.TTY {
		err = json.Indent(&b, doc, "", "  ")
	} else {
		err = json.Compact(&b, doc)
	}
	if err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	return p.writeln(escapeJSON(b.Bytes()))
}

// writeLines writes each element of doc on a line, or doc on one if it is no array.
func (p *Printer) writeLines(doc json.RawMessage) error {
	list, isArray := elements(doc)
	if !isArray {
		list = []json.RawMessage{doc}
	}
	for _, e := range list {
		var b bytes.Buffer
		if err := json.Compact(&b, e); err != nil {
			return fmt.Errorf("write JSON: %w", err)
		}
		if err := p.writeln(escapeJSON(b.Bytes())); err != nil {
			return err
		}
	}
	return nil
}

// writeln writes text as a line, in one write.
func (p *Printer) writeln(text []byte) error {
	_, err := p.Out.Write(append(slices.Clip(text), '\n'))
	return err
}

func (p *Printer) writeYAML(doc json.RawMessage) error {
	text, err := YAMLText(doc)
	if err != nil {
		return err
	}
	if p.TTY {
		text = human.Text(text)
	}
	_, err = io.WriteString(p.Out, text)
	return err
}

// YAMLText is the JSON document doc in YAML, with its order and its numbers as they are.
func YAMLText(doc json.RawMessage) (string, error) {
	root, err := jsonx.Parse(doc)
	if err != nil {
		return "", fmt.Errorf("write YAML: %w", err)
	}
	var b strings.Builder
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := errors.Join(e.Encode(yamlNode(root)), e.Close()); err != nil {
		return "", fmt.Errorf("write YAML: %w", err)
	}
	return b.String(), nil
}

func yamlNode(v *jsonx.Value) *yaml.Node {
	node := &yaml.Node{Kind: yaml.ScalarNode, Value: v.Text()}
	switch v.Raw[0] {
	case '{':
		node = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	case '[':
		node = &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
	case '"':
		node.Tag = "!!str"
	case 't', 'f':
		node.Tag = "!!bool"
	case 'n':
		node.Tag = "!!null"
	default:
		node.Tag = "!!int"
		if strings.ContainsAny(node.Value, ".eE") {
			node.Tag = "!!float"
		}
	}
	for _, m := range v.Members {
		if v.IsObject() {
			node.Content = append(node.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: m.Name})
		}
		node.Content = append(node.Content, yamlNode(m))
	}
	return node
}

// filter writes what the jq filter makes of doc: strings as they are, all else as JSON.
func (p *Printer) filter(ctx context.Context, doc json.RawMessage) error {
	f, err := ParseFilter(p.JQ)
	if err != nil {
		return err
	}
	for v, err := range f.Results(ctx, doc) {
		if err != nil {
			return err
		}
		if err := p.writeResult(v); err != nil {
			return err
		}
	}
	return nil
}

func (p *Printer) writeResult(v any) error {
	if s, ok := v.(string); ok {
		if p.TTY {
			s = human.Text(s)
		}
		return p.writeln([]byte(s))
	}
	text, err := ResultJSON(v)
	if err != nil {
		return err
	}
	return p.writeJSON(text)
}
