package client

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

// TestSetMember: an entry comes into the settings of a client, is replaced and goes, and all else stays, byte by byte.
func TestSetMember(t *testing.T) {
	t.Parallel()
	const zed = "// mine\n{\n  \"a\": \"// no, \\\" comment,}\", // nice\n  \"s\": {\n    /* x, */\n    \"o\": {\"k\": [1, 2,],},\n  },\n}\n"
	for name, c := range map[string]struct{ text, put, removed string }{
		"nothing":                         {"", "{\n  \"s\": {\n    \"n\": {\n      \"x\": 1\n    }\n  }\n}\n", "{\n  \"s\": {}\n}\n"},
		"no such section":                 {"{\"a\": 1}", "{\"a\": 1,\n\"s\": {\n  \"n\": {\n    \"x\": 1\n  }\n}}", "{\"a\": 1,\n\"s\": {}}"},
		"comments":                        {zed, strings.Replace(zed, "2,],},", "2,],},\n    \"n\": {\n      \"x\": 1\n    },", 1), ""},
		"it is there":                     {"{\"s\": {\"n\": {\"x\": 9, \"y\": 2}, \"o\": 3}}", "{\"s\": {\"n\": {\n  \"x\": 1\n}, \"o\": 3}}", "{\"s\": {\"o\": 3}}"},
		"an empty section with a comment": {"{\"s\": {\n  // none\n}}", "{\"s\": {\n  \"n\": {\n    \"x\": 1\n  }\n  // none\n}}", ""},
		"a comment above":                 {"{\"s\": {\n  // mine\n  \"n\": 2,\n}}", "{\"s\": {\n  // mine\n  \"n\": {\n    \"x\": 1\n  },\n}}", "{\"s\": {\n  // mine\n}}"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			put, err := setMember([]byte(c.text), "s", "n", json.RawMessage(`{"x":1}`))
			if err != nil || string(put) != c.put {
				t.Fatalf("%s\n%v", put, err)
			}
			if again, err := setMember(put, "s", "n", json.RawMessage(`{"x":1}`)); err != nil || string(again) != c.put {
				t.Errorf("again %s\n%v", again, err)
			}
			want := c.removed
			if want == "" {
				want = c.text
			}
			if gone, err := setMember(put, "s", "n", nil); err != nil || string(gone) != want {
				t.Errorf("without it %s\n%v", gone, err)
			}
		})
	}
	for _, text := range []string{"[]", "{", "{\"s\": 1}", "{\"a\": }", "no", "{\"s\": {\"n\": 1}", "{\"a\": 1 \"b\": 2}"} {
		if got, err := setMember([]byte(text), "s", "n", json.RawMessage(`1`)); !errors.Is(err, errUneditable) {
			t.Errorf("%s became %s, %v", text, got, err)
		}
	}
	if got, err := setMember([]byte("{\"a\": 1}"), "s", "n", nil); err != nil || string(got) != "{\"a\": 1}" {
		t.Errorf("removing nothing gives %s, %v", got, err)
	}
}

// TestSetTable is TestSetMember for TOML.
func TestSetTable(t *testing.T) {
	t.Parallel()
	const block = "[s.n]\nx = 1\n"
	for name, c := range map[string]struct{ text, put, removed string }{
		"nothing":      {"", block, ""},
		"others":       {"# mine\na = 1\n\n[s.o]\nb = 2", "# mine\na = 1\n\n[s.o]\nb = 2\n\n" + block, "# mine\na = 1\n\n[s.o]\nb = 2\n\n"},
		"it is there":  {"[s.n]\ny = 2\n\n[s.n.env]\nK = \"v\"\n\n[z]\nc = 3\n", block + "\n[z]\nc = 3\n", "[z]\nc = 3\n"},
		"like it":      {"[s.no]\nb = 2\n", "[s.no]\nb = 2\n\n" + block, "[s.no]\nb = 2\n\n"},
		"quoted":       {"[ s . \"n\" ]\ny = 2\n", block, ""},
		"array tables": {"[[t]]\nb = 2\n", "[[t]]\nb = 2\n\n" + block, "[[t]]\nb = 2\n\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			put, err := setTable([]byte(c.text), "s", "n", []string{"x = 1"})
			if err != nil || string(put) != c.put {
				t.Fatalf("%s\n%v", put, err)
			}
			if again, err := setTable(put, "s", "n", []string{"x = 1"}); err != nil || string(again) != c.put {
				t.Errorf("again %s\n%v", again, err)
			}
			if gone, err := setTable(put, "s", "n", nil); err != nil || string(gone) != c.removed {
				t.Errorf("without it %q\n%v", gone, err)
			}
		})
	}
	for _, text := range []string{"s = { n = { x = 2 } }\n", "s.n.x = 2\n", "a = \"\"\"\n[s.n]\n\"\"\"\n", "a = '''\n'''\n"} {
		if got, err := setTable([]byte(text), "s", "n", []string{"x = 1"}); !errors.Is(err, errUneditable) {
			t.Errorf("%s became %s, %v", text, got, err)
		}
	}
}
