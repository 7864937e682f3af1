package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// leaves are the values of a tree of settings, by their whole names.
func leaves(prefix string, tree map[string]any, into map[string]any) map[string]any {
	for name, v := range tree {
		if below, ok := v.(map[string]any); ok {
			leaves(prefix+name+".", below, into)
			continue
		}
		into[prefix+name] = v
	}
	return into
}

// same reports whether two values are the same as JSON.
func same(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}

// TestExampleIsTheDefaults whether its settings are left commented out or not.
func TestExampleIsTheDefaults(t *testing.T) {
	t.Parallel()
	text, err := Example(nil)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := Parse(text)
	for _, s := range Table() {
		if err != nil || lines[s.Key] > 0 && !s.Section() {
			t.Errorf("the example sets %s, %v", s.Key, err)
		}
	}
	open := regexp.MustCompile(`(?m)^( *)#([a-z_]+: )`).ReplaceAll(text, []byte("$1$2"))
	if lines, err = Parse(open); err != nil {
		t.Fatalf("the example with all of it set: %v\n%s", err, open)
	}
	var tree map[string]any
	if err := yaml.Unmarshal(open, &tree); err != nil {
		t.Fatal(err)
	}
	got := leaves("", tree, map[string]any{})
	for _, s := range Table() {
		if lines[s.Key] == 0 {
			t.Errorf("the example has no %s", s.Key)
		}
		if !s.Section() && !same(got[s.Key], s.Default) {
			t.Errorf("%s is %v in the example, %v by default", s.Key, got[s.Key], s.Default)
		}
		delete(got, s.Key)
	}
	for name := range got {
		t.Errorf("the example has %s, which is no setting", name)
	}
}

func TestExampleKeepsWhatIsSet(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"127.0.0.1:0", "yes", "1", "#", "a: b", "", "null", "~/x", "'", "\"", "unix:/run/x"} {
		text, err := Example(map[string]any{"data_dir": value})
		if err != nil {
			t.Fatal(err)
		}
		var tree map[string]any
		if err := yaml.Unmarshal(text, &tree); err != nil || tree["data_dir"] != value {
			t.Errorf("%q is %#v in the file, %v", value, tree["data_dir"], err)
		}
		if lines, err := Parse(text); err != nil || lines["data_dir"] == 0 || lines["listen"] != 0 {
			t.Errorf("%q: the file sets %v, %v", value, lines, err)
		}
	}
}

func TestParseIsStrict(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                               "",
		"# nothing":                      "",
		"chain:\nlimits: {}":             "",
		"listen: 127.0.0.1:1":            "",
		"limits: {mails: null}":          "",
		"x: &a [b]\ntrusted_proxies: *a": "line 1: there is no setting x",
		"listn: x":                       "line 1: there is no setting listn; did you mean listen?",
		"Listen: x":                      "did you mean listen?",
		"\nlog: {levle: debug}":          "line 2: there is no setting log.levle; did you mean log.level?",
		"level: debug":                   "did you mean log.level?",
		"smtp: {level: debug}":           "did you mean log.level?",
		"dataDir: x":                     "did you mean data_dir?",
		"chain: {contract: x}":           "there is no setting chain.contract; chain has id, rpc_url, rpc_url_file, settle_key_file, token, treasury",
		"kubernetes: x":                  "contextd config example shows all there are",
		"limits: {mails: many}":          "line 1: limits.mails is not a whole number",
		"limits: {mails: 1.5}":           "not a whole number",
		"limits: 5":                      "limits is not a list of settings",
		"listen: {a: b}":                 "listen is not a text",
		"trusted_proxies: 10.0.0.0/8":    "trusted_proxies is not a list",
		"trusted_proxies: [{a: b}]":      "trusted_proxies is not a list",
		"alerts: []":                     "",
		"alerts: [{name: a, ended: true, kinds: [b], mail: [c]}]": "",
		"alerts: {name: a}":                "line 1: alerts is not a list of entries",
		"alerts: [a]":                      "line 1: alerts[0] is not a list of settings",
		"alerts:\n- {name: a}\n- {nam: b}": "line 3: there is no setting alerts[1].nam; it has name, pack, severity, kinds, url",
		"alerts: [{ended: maybe}]":         "line 1: alerts[0].ended is not true or false",
		"alerts: [{mail: a@b.c}]":          "line 1: alerts[0].mail is not a list",
		"alerts:\n- name: a\n  name: b":    "line 3: alerts[0].name is set in line 2 already",
		"listen: a\nlisten: b":             "line 2: listen is set in line 1 already",
		"- listen":                         "the file is not a list of settings",
		"listen: [":                        "yaml: ",
		"listn: x\nlimits: {mail: x}":      "line 2: there is no setting limits.mail; did you mean limits.mails?",
	} {
		_, err := Parse([]byte(text))
		switch {
		case want == "" && err != nil:
			t.Errorf("%q: %v", text, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// TestSchemaHasEverySetting with its default, and nothing else.
func TestSchemaHasEverySetting(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(Schema())
	if err != nil {
		t.Fatal(err)
	}
	type node struct {
		Type                 any
		Properties           map[string]json.RawMessage
		AdditionalProperties *bool
		Default              any
		Enum                 []string
	}
	found := map[string]node{}
	var walk func(prefix string, text []byte)
	walk = func(prefix string, text []byte) {
		var n node
		if err := json.Unmarshal(text, &n); err != nil {
			t.Fatal(err)
		}
		found[strings.TrimSuffix(prefix, ".")] = n
		for name, below := range n.Properties {
			walk(prefix+name+".", below)
		}
	}
	walk("", text)
	if len(found) != len(Table())+1 {
		t.Errorf("the schema has %d settings, the table %d", len(found)-1, len(Table()))
	}
	for _, s := range Table() {
		n, ok := found[s.Key]
		switch {
		case !ok:
			t.Errorf("the schema has no %s", s.Key)
		case s.Section() && (n.AdditionalProperties == nil || *n.AdditionalProperties):
			t.Errorf("%s takes unknown names", s.Key)
		case !s.Section() && (!same(n.Default, s.Default) || len(n.Enum) != len(s.Enum)):
			t.Errorf("%s: %+v", s.Key, n)
		}
	}
}

func TestTableIsExplained(t *testing.T) {
	t.Parallel()
	for _, s := range Table() {
		if s.Doc == "" && !strings.HasPrefix(s.Key, "tiers.") {
			t.Errorf("%s is not explained", s.Key)
		}
	}
}

func TestCredentials(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "smtp-password"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, set := range []string{"", dir} {
		t.Setenv("CREDENTIALS_DIRECTORY", set)
		for _, s := range Table() {
			want := ""
			if set != "" && s.Key == "smtp.password_file" {
				want = filepath.Join(dir, "smtp-password")
			}
			if got := s.CredentialFile(); got != want {
				t.Errorf("with %q, %s is read from %q, want %q", set, s.Key, got, want)
			}
		}
	}
}
