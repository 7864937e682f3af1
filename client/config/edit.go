package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"go.yaml.in/yaml/v3"

	"github.com/contextd/contextd/internal/atomicfile"
)

// Set writes a setting into the file: at its top, or into a profile if one is named. Comments and order stay. The value must
// have passed Setting.Check.
func (p Paths) Set(profile, name, value string) error {
	return p.edit(func(root *yaml.Node) {
		at := root
		if profile != "" {
			at = section(section(root, "profiles"), profile)
		}
		if node := find(at, name); node != nil {
			node.SetString(value)
			return
		}
		at.Content = append(at.Content, text(name), text(value))
	})
}

// Unset takes a setting out of the file, or out of a profile if one is named. It is no error if it is not there.
func (p Paths) Unset(profile, name string) error {
	return p.edit(func(root *yaml.Node) {
		at := root
		if profile != "" {
			at = find(find(root, "profiles"), profile)
		}
		remove(at, name)
	})
}

// RemoveProfile takes a profile out of the file, and out of use if it is the one in use.
func (p Paths) RemoveProfile(profile string) error {
	return p.edit(func(root *yaml.Node) {
		remove(find(root, "profiles"), profile)
		if used := find(root, Profile); used != nil && used.Value == profile {
			remove(root, Profile)
		}
	})
}

// AddProfile puts an empty profile into the file if it is not there.
func (p Paths) AddProfile(profile string) error {
	return p.edit(func(root *yaml.Node) { section(section(root, "profiles"), profile) })
}

// edit changes the file, which need not exist, as a whole.
func (p Paths) edit(change func(root *yaml.Node)) error {
	doc := yaml.Node{Kind: yaml.DocumentNode}
	old, err := os.ReadFile(p.File)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("change configuration: %w", err)
	}
	if err := yaml.Unmarshal(old, &doc); err != nil {
		return fmt.Errorf("change configuration %s: %w", p.File, err)
	}
	if len(doc.Content) == 0 {
		doc = yaml.Node{Kind: yaml.DocumentNode, Content: []*yaml.Node{{Kind: yaml.MappingNode}}}
	}
	if doc.Content[0].Kind != yaml.MappingNode {
		return fmt.Errorf("change configuration %s: it is not a list of settings", p.File)
	}
	change(doc.Content[0])
	var written bytes.Buffer
	if len(doc.Content[0].Content) > 0 {
		e := yaml.NewEncoder(&written)
		e.SetIndent(2)
		if err := errors.Join(e.Encode(&doc), e.Close()); err != nil {
			return fmt.Errorf("change configuration: %w", err)
		}
	}
	return replace(p.File, written.Bytes(), 0o644)
}

// replace writes a file as a whole or not at all, in a directory that it makes if need be.
func replace(file string, content []byte, mode os.FileMode) error {
	dir := filepath.Dir(file)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return atomicfile.Write(file, content, mode)
}

func text(s string) *yaml.Node {
	n := &yaml.Node{}
	n.SetString(s)
	return n
}

// find is the value called name in the mapping at, nil if there is none.
func find(at *yaml.Node, name string) *yaml.Node {
	if at == nil || at.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(at.Content); i += 2 {
		if at.Content[i].Value == name {
			return at.Content[i+1]
		}
	}
	return nil
}

// section is the mapping called name in the mapping at, made if need be.
func section(at *yaml.Node, name string) *yaml.Node {
	node := find(at, name)
	if node == nil {
		node = &yaml.Node{}
		at.Content = append(at.Content, text(name), node)
	}
	if node.Kind != yaml.MappingNode {
		*node = yaml.Node{Kind: yaml.MappingNode}
	}
	return node
}

// remove takes the value called name out of the mapping at.
func remove(at *yaml.Node, name string) {
	if at == nil || at.Kind != yaml.MappingNode {
		return
	}
	for i := 0; i+1 < len(at.Content); i += 2 {
		if at.Content[i].Value == name {
			at.Content = append(at.Content[:i], at.Content[i+2:]...)
			return
		}
	}
}
