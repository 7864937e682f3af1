package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"strings"

	"go.yaml.in/yaml/v3"
)

// node is a part of the description. A node of nothing stands for what is absent.
type node struct{ *yaml.Node }

// all are the members of an object in their order, none of what is no object.
func (n node) all() iter.Seq2[string, node] {
	return func(yield func(string, node) bool) {
		if n.Node == nil || n.Kind != yaml.MappingNode {
			return
		}
		for i := 0; i < len(n.Content); i += 2 {
			if !yield(n.Content[i].Value, node{n.Content[i+1]}) {
				return
			}
		}
	}
}

// get is the member at a path, absent if there is none.
func (n node) get(path ...string) node {
	for _, name := range path {
		var next node
		for member, value := range n.all() {
			if member == name {
				next = value
			}
		}
		n = next
	}
	return n
}

// items are the elements of an array, none of what is no array.
func (n node) items() []node {
	if n.Node == nil || n.Kind != yaml.SequenceNode {
		return nil
	}
	list := make([]node, len(n.Content))
	for i, c := range n.Content {
		list[i] = node{c}
	}
	return list
}

// text is the text of a scalar, "" of what is none.
func (n node) text() string {
	if n.Node == nil || n.Kind != yaml.ScalarNode {
		return ""
	}
	return strings.TrimSpace(n.Value)
}

// texts are those of the elements of an array or, of a scalar, its own.
func (n node) texts() []string {
	if text := n.text(); text != "" {
		return []string{text}
	}
	var list []string
	for _, item := range n.items() {
		list = append(list, item.text())
	}
	return list
}

// absent reports whether there is nothing.
func (n node) absent() bool { return n.Node == nil }

// json is n as JSON, members in their order.
func (n node) json() ([]byte, error) {
	var out bytes.Buffer
	err := n.write(&out)
	return out.Bytes(), err
}

func (n node) write(out *bytes.Buffer) error {
	switch n.Kind {
	case yaml.MappingNode:
		return n.writeObject(out)
	case yaml.SequenceNode:
		return n.writeArray(out)
	case yaml.ScalarNode:
		return n.writeScalar(out)
	}
	return fmt.Errorf("line %d: anchors and aliases are not for descriptions", n.Line)
}

func (n node) writeObject(out *bytes.Buffer) error {
	between := "{"
	for name, value := range n.all() {
		out.WriteString(between)
		between = ","
		quoted, err := encode(name)
		if err != nil {
			return err
		}
		out.Write(quoted)
		out.WriteByte(':')
		if err := value.write(out); err != nil {
			return err
		}
	}
	if between == "{" {
		out.WriteByte('{')
	}
	out.WriteByte('}')
	return nil
}

func (n node) writeArray(out *bytes.Buffer) error {
	out.WriteByte('[')
	for i, item := range n.items() {
		if i > 0 {
			out.WriteByte(',')
		}
		if err := item.write(out); err != nil {
			return err
		}
	}
	out.WriteByte(']')
	return nil
}

// writeScalar writes a number as it is spelled, so that large ones stay whole.
func (n node) writeScalar(out *bytes.Buffer) error {
	if (n.Tag == "!!int" || n.Tag == "!!float") && json.Valid([]byte(n.Value)) {
		out.WriteString(n.Value)
		return nil
	}
	var value any
	if err := n.Decode(&value); err != nil {
		return err
	}
	text, err := encode(value)
	out.Write(text)
	return err
}

// encode is v as JSON, without escapes for HTML.
func encode(v any) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSpace(out.Bytes()), err
}
