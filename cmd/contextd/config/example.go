package config

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/contextd/contextd/internal/setting"
)

// Schema is the JSON schema of a configuration file, for editors.
func Schema() map[string]any {
	root := setting.Schema(reflect.TypeFor[Config](), form(), true)
	root["title"], root["description"] = "contextd", "Configuration of contextd."
	return root
}

// width is that of a comment, with its indentation.
const width = 100

// Example is a configuration file with every setting at its default, as a comment, and those of set as they are there. What is left
// commented out keeps its default, also that of a later version.
func Example(set map[string]any) ([]byte, error) {
	w := new(bytes.Buffer)
	fmt.Fprintln(w, "# Configuration of contextd. Remove the # before a setting to change it; the rest keep their defaults.")
	fmt.Fprintln(w, "# An option wins over the environment (log.level is CONTEXTD_LOG_LEVEL), that over this file.")
	fmt.Fprintln(w, "# Names that end in _file are files with a secret. Where one is not set and systemd has a credential of its")
	fmt.Fprintln(w, "# name (smtp-password for smtp.password_file), that is taken. Check this file with: contextd config check")
	for _, s := range Table() {
		indent := strings.Repeat("  ", strings.Count(s.Key, "."))
		if indent == "" {
			fmt.Fprintln(w)
		}
		comment(w, indent, s.Text())
		_, name, _ := cutLast(s.Key)
		if s.Section() {
			fmt.Fprintf(w, "%s%s:\n", indent, name)
			continue
		}
		value, mark := s.Default(), "#"
		if given, ok := set[s.Key]; ok {
			value, mark = given, ""
		}
		text, err := yamlText(value)
		if err != nil {
			return nil, fmt.Errorf("write %s: %w", s.Key, err)
		}
		fmt.Fprintf(w, "%s%s%s: %s\n", indent, mark, name, text)
	}
	return w.Bytes(), nil
}

func comment(w *bytes.Buffer, indent, text string) {
	line := indent + "#"
	for word := range strings.FieldsSeq(text) {
		if len(line)+1+len(word) > width {
			fmt.Fprintln(w, line)
			line = indent + "#"
		}
		line += " " + word
	}
	if text != "" {
		fmt.Fprintln(w, line)
	}
}

// yamlText is v as YAML, in one line.
func yamlText(v any) (string, error) {
	var n yaml.Node
	if err := n.Encode(v); err != nil {
		return "", err
	}
	n.Style |= yaml.FlowStyle
	quoted := n.Style&(yaml.SingleQuotedStyle|yaml.LiteralStyle) != 0
	if reflect.ValueOf(v).Kind() == reflect.String && !quoted && !plain(n.Value) {
		n.Style |= yaml.DoubleQuotedStyle
	}
	text, err := yaml.Marshal(&n)
	return strings.TrimSpace(string(text)), err
}

// plain reports whether every reader of YAML takes text for a text without quotes.
func plain(text string) bool {
	var v any
	if yaml.Unmarshal([]byte(text), &v) != nil || strings.ContainsAny(text, ":#") {
		return false
	}
	_, is := v.(string)
	return is
}
