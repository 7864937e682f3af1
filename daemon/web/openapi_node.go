package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/contextd/contextd/internal/jsonx"
)

// node is a part of the description. A node of nothing stands for what is absent. The exported methods are for the template of its page.
type node struct{ *yaml.Node }

type member struct {
	Name  string
	Value node
}

// Members are those of an object in their order, none of what is no object.
func (n node) Members() []member {
	if n.Node == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	list := make([]member, 0, len(n.Content)/2)
	for i := 0; i < len(n.Content); i += 2 {
		list = append(list, member{n.Content[i].Value, node{n.Content[i+1]}})
	}
	return list
}

// Get is the member at a path, absent if there is none.
func (n node) Get(path ...string) node {
	for _, name := range path {
		var next node
		for _, m := range n.Members() {
			if m.Name == name {
				next = m.Value
			}
		}
		n = next
	}
	return n
}

// Items are the elements of an array, none of what is no array.
func (n node) Items() []node {
	if n.Node == nil || n.Kind != yaml.SequenceNode {
		return nil
	}
	list := make([]node, len(n.Content))
	for i, c := range n.Content {
		list[i] = node{c}
	}
	return list
}

// Text is the text of a scalar, "" of what is none.
func (n node) Text() string {
	if n.Node == nil || n.Kind != yaml.ScalarNode {
		return ""
	}
	return strings.TrimSpace(n.Value)
}

// Texts are those of the elements of an array or, of a scalar, its own.
func (n node) Texts() []string {
	if text := n.Text(); text != "" {
		return []string{text}
	}
	var list []string
	for _, item := range n.Items() {
		list = append(list, item.Text())
	}
	return list
}

// MarshalJSON writes n with the members of objects in their order, and numbers as they are spelled, so that large ones stay whole.
func (n node) MarshalJSON() ([]byte, error) {
	switch n.Kind {
	case yaml.MappingNode:
		var parts [][]byte
		for _, m := range n.Members() {
			name, err := jsonx.Encode(m.Name)
			if err != nil {
				return nil, err
			}
			value, err := m.Value.MarshalJSON()
			if err != nil {
				return nil, err
			}
			parts = append(parts, bytes.Join([][]byte{name, value}, []byte(":")))
		}
		return fmt.Appendf(nil, "{%s}", bytes.Join(parts, []byte(","))), nil
	case yaml.SequenceNode:
		var parts [][]byte
		for _, item := range n.Items() {
			value, err := item.MarshalJSON()
			if err != nil {
				return nil, err
			}
			parts = append(parts, value)
		}
		return fmt.Appendf(nil, "[%s]", bytes.Join(parts, []byte(","))), nil
	case yaml.ScalarNode:
		if (n.Tag == "!!int" || n.Tag == "!!float") && json.Valid([]byte(n.Value)) {
			return []byte(n.Value), nil
		}
		var value any
		if err := n.Decode(&value); err != nil {
			return nil, err
		}
		return jsonx.Encode(value)
	}
	return nil, fmt.Errorf("line %d: anchors and aliases are not for descriptions", n.Line)
}

func (n node) indented() ([]byte, error) {
	text, err := n.MarshalJSON()
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, text, "", "  "); err != nil {
		return nil, err
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}
