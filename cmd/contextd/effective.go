package main

import (
	"fmt"
	"io"
	"net/url"
	"strings"
	"text/tabwriter"
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

// Print lists values for people.
func Print(w io.Writer, values []Value) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "SETTING\tVALUE\tFROM")
	for _, v := range values {
		text := fmt.Sprint(v.Value)
		if list, ok := v.Value.([]string); ok {
			text = strings.Join(list, ", ")
		}
		if text == "" {
			text = "-"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\n", v.Name, text, v.From)
	}
	return t.Flush()
}
