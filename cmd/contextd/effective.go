package main

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/contextd/contextd/internal/cli"
)

// Value is what is in effect for a setting.
type Value struct {
	Setting `json:"-"`
	Name    string `json:"setting"`
	Value   any    `json:"value"` // what may be a secret only in part
	From    string `json:"from"`  // such as "default", "file, line 3", "CONTEXTD_LISTEN" or "--listen"
}

// NewValue is the Value of s, with what may be a secret left out.
func NewValue(s Setting, value any, from string) Value {
	if text, _ := value.(string); s.Secret && text != "" {
		value = redact(text)
	}
	return Value{Setting: s, Name: s.Key, Value: value, From: from}
}

// redact is what may be seen of a URL: nothing but where it leads.
func redact(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return "…"
	}
	return u.Scheme + "://" + u.Host + "/…"
}

func valuesTable(values []Value) cli.Answer {
	rows := &cli.Rows{Columns: []string{"setting", "value", "from"}, Wide: 1}
	for _, v := range values {
		text := fmt.Sprint(v.Value)
		if list, ok := v.Value.([]string); ok {
			text = strings.Join(list, ", ")
		}
		if text == "" {
			text = "-"
		}
		rows.Rows = append(rows.Rows, []string{v.Name, text, v.From})
	}
	return table(rows)
}
