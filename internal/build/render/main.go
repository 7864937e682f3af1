// Command render makes openapi.json and docs.html from openapi.yaml. It is run by go generate in the directory where they are.
//
// The page is plain HTML: its style is docs.css, it has no script, and it shows nothing that the description does not say.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"

	"go.yaml.in/yaml/v3"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "render:", err)
		os.Exit(1)
	}
}

// run reads the description and writes what is made from it.
func run() error {
	text, err := os.ReadFile("openapi.yaml")
	if err != nil {
		return err
	}
	style, err := os.ReadFile("docs.css")
	if err != nil {
		return err
	}
	var tree yaml.Node
	if err := yaml.Unmarshal(text, &tree); err != nil {
		return err
	}
	root := node{tree.Content[0]}
	asJSON, err := indented(root)
	if err != nil {
		return err
	}
	page, err := newBook(root).render(string(style))
	if err != nil {
		return err
	}
	if err := os.WriteFile("openapi.json", asJSON, 0o644); err != nil {
		return err
	}
	return os.WriteFile("docs.html", page, 0o644)
}

// indented is n as JSON for readers.
func indented(n node) ([]byte, error) {
	compact, err := n.json()
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, compact, "", "  "); err != nil {
		return nil, err
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}
