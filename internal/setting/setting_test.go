package setting_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/internal/setting"
)

// size is a value with a text of its own.
type size int

func (s *size) UnmarshalText(text []byte) error {
	if string(text) != "big" {
		return errors.New("is not big")
	}
	*s = 1000
	return nil
}

func (size) Pattern() string { return "^big$" }

type entry struct {
	Name   string `key:",name"`
	Weight int    `key:"weight,short" default:"3" min:"1" not:"a weight"`
}

type rail struct {
	ID     string `key:"id,required"`
	Places int    `key:"places" default:"6"`
	Settle struct {
		KeyFile string `key:"key_file"`
	} `key:"settle"`
}

type file struct {
	Listen string   `key:"listen" default:"here" doc:"Where to serve:"`
	_      struct{} `doc:"host and port."`
	Log    struct {
		Level string   `key:"level,live" default:"info" enum:"debug,info,error" doc:"How much."`
		Calls bool     `key:"calls"`
		Hosts []string `key:"hosts"`
	} `key:"log" doc:"The log."`
	Limits struct {
		Mails int64 `key:"mails" default:"5" min:"1"`
	} `key:"limits"`
	Every   time.Duration `key:"every"`
	Size    size          `key:"size"`
	Share   float64       `key:"share"`
	Least   *float64      `key:"least"`
	Body    any           `key:"body"`
	Rails   []rail        `key:"rails"`
	Entries []entry       `key:"entries"`

	private int // is nobody's to set
}

// read reads a text into a file with its defaults, and checks it.
func read(t *testing.T, form setting.Form, text string) (f file, err error) {
	t.Helper()
	v := reflect.ValueOf(&f).Elem()
	if err := setting.SetDefaults(v); err != nil {
		t.Fatal(err)
	}
	r := setting.NewReader(form)
	r.Read([]byte(text), &f)
	if f.private != 0 {
		t.Errorf("what nobody can set is %d", f.private)
	}
	if err := r.Err(); err != nil {
		return f, err
	}
	return f, setting.Check(v)
}

// TestRead has each kind of value read, and each mistake refused by its line and name.
func TestRead(t *testing.T) {
	t.Parallel()
	strict := setting.Form{Root: "the file", Aliases: true}
	for text, want := range map[string]string{
		"":                                        "{here {} {info false []} {5} 0s 0 0 <nil> <nil> [] [] 0}",
		"log:\nlimits: {mails: ~}":                "{here {} {info false []} {5} 0s 0 0 <nil> <nil> [] [] 0}",
		"log: {hosts: [a, 5, true]}":              "{here {} {info false [a 5 true]} {5} 0s 0 0 <nil> <nil> [] [] 0}",
		"listen: &a x\nlog: {hosts: [*a]}":        "{x {} {info false [x]} {5} 0s 0 0 <nil> <nil> [] [] 0}",
		"limits: {mails: 0x10}\nevery: 7d":        "{here {} {info false []} {16} 168h0m0s 0 0 <nil> <nil> [] [] 0}",
		"size: big\nshare: .5\nbody: {a: [1]}":    "{here {} {info false []} {5} 0s 1000 0.5 <nil> map[a:[1]] [] [] 0}",
		"rails: [{id: a, settle: {key_file: k}}]": "{here {} {info false []} {5} 0s 0 0 <nil> <nil> [{a 6 {k}}] [] 0}",
		"entries: {a: 4, b: {}, c: }":             "{here {} {info false []} {5} 0s 0 0 <nil> <nil> [] [{a 4} {b 3} {c 3}] 0}",
		"5":                                       "line 1: the file is not a list of settings, each name: value",
		"log: 5":                                  "line 1: log is not a list of settings, each name: value",
		"a: 1\n---\nb: 1":                         "there is more than one document",
		"log: [":                                  "line 1: no YAML: did not find expected node content",
		"\nlog: {leve: debug}":                    "line 2: there is no setting log.leve; did you mean level?",
		"log: {x: 1}":                             "line 1: there is no setting log.x; there are level, calls, hosts",
		"lisen: a\nlog: {call: true}":             "line 1: there is no setting lisen; did you mean listen?\nline 2: there is no setting log.call; did you mean calls?",
		"listen: a\nlisten: b":                    "line 2: listen is set in line 1 already",
		"listen: [a]":                             "line 1: listen is not a text",
		"log: {calls: maybe}":                     "line 1: log.calls is not true or false",
		"log: {hosts: a}":                         "line 1: log.hosts is not a list such as [a, b]",
		"log: {hosts: [{a: b}]}":                  "line 1: log.hosts is not a list such as [a, b]",
		"limits: {mails: many}":                   "line 1: limits.mails is not a whole number",
		`limits: {mails: "5"}`:                    "line 1: limits.mails is not a whole number",
		"limits: {mails: 0}":                      "limits.mails is 0, not 1 or more",
		"log: {level: loud}":                      `log.level is "loud", not debug, info or error`,
		"every: soon":                             "line 1: every is no span such as 5m, 24h or 7d",
		"size: small":                             "line 1: size is not big",
		"share: .nan":                             "line 1: share is not a number",
		"rails: {id: a}":                          "line 1: rails is not a list of entries, each with name: value",
		"rails: [~]":                              "line 1: rails[0] is not a list of settings, each name: value",
		"rails: [{id: a}, {ib: b}]":               "line 1: there is no setting rails[1].ib; did you mean id?",
		"entries: [a]":                            "line 1: entries is not a list of entries, each name: value",
		"entries: {a: 1, a: 2}":                   "line 1: entries.a is set in line 1 already",
		"entries: {a: 0}":                         "entries[0].weight is 0, not a weight",
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			f, err := read(t, strict, text)
			got := fmt.Sprint(f)
			if err != nil {
				got = err.Error()
			}
			if got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

// TestForms: what one form refuses another takes.
func TestForms(t *testing.T) {
	t.Parallel()
	loose := setting.Form{Root: "the file", Loose: true}
	f, err := read(t, loose, "log: {hosts: a}\nlimits: {mails: \"7\"}")
	if err != nil || !slices.Equal(f.Log.Hosts, []string{"a"}) || f.Limits.Mails != 7 {
		t.Errorf("%+v, %v", f, err)
	}
	if _, err := read(t, loose, "listen: &a x\nlog: {hosts: [*a]}"); err == nil || !strings.Contains(err.Error(), "aliases are not taken") {
		t.Errorf("an alias: %v", err)
	}
	hint := func(path string, names []string) string { return path + " of " + strings.Join(names, " ") }
	if _, err := read(t, setting.Form{Hint: hint}, "log: {x: 1}"); err == nil || !strings.HasSuffix(err.Error(), "; log.x of level calls hosts") {
		t.Errorf("a hint: %v", err)
	}
}

// TestLines: a Reader says where what is set, and what is empty.
func TestLines(t *testing.T) {
	t.Parallel()
	r := setting.NewReader(setting.Form{})
	if !r.Read([]byte("listen: a\nlog:\n  level: debug\nlimits:\n"), new(file)) || r.Err() != nil {
		t.Fatal(r.Err())
	}
	if r.Lines["listen"] != 1 || r.Lines["log.level"] != 3 || !r.Null["limits"] || r.Null["log"] {
		t.Errorf("%v, %v", r.Lines, r.Null)
	}
	if setting.NewReader(setting.Form{}).Read([]byte("# nothing\n"), new(file)) {
		t.Error("a comment is read")
	}
}

// TestTable lists settings by their whole names, with what their tags say.
func TestTable(t *testing.T) {
	t.Parallel()
	var keys []string
	for _, s := range setting.Table(reflect.TypeFor[file]()) {
		keys = append(keys, s.Key)
		switch s.Key {
		case "listen":
			if s.Text() != "Where to serve: host and port." || s.Default() != "here" || s.Section() {
				t.Errorf("%+v", s)
			}
		case "log.level":
			if s.Text() != "How much. One of debug, info, error. A reload changes it." || !s.Live || s.Section() {
				t.Errorf("%+v", s)
			}
		case "limits.mails":
			if s.Default() != int64(5) {
				t.Errorf("%v", s.Default())
			}
		case "log", "limits":
			if !s.Section() || s.Default() != nil {
				t.Errorf("%+v", s)
			}
		case "rails":
			if !s.Entries() || s.Section() {
				t.Errorf("%+v", s)
			}
		}
	}
	want := "listen log log.level log.calls log.hosts limits limits.mails every size share least body rails entries"
	if got := strings.Join(keys, " "); got != want {
		t.Errorf("got %s", got)
	}
}

// TestSetText reads values as flags and the environment have them.
func TestSetText(t *testing.T) {
	t.Parallel()
	var f file
	v := reflect.ValueOf(&f).Elem()
	for _, c := range []struct{ key, text, want string }{
		{"listen", "a b", "a b"}, {"log.calls", "1", "true"}, {"log.calls", "maybe", "is not true or false"},
		{"limits.mails", "0x10", "16"}, {"limits.mails", "many", "is not a whole number"},
		{"log.hosts", "a, b,c  d", "[a b c d]"}, {"rails", "x", "is a list of entries, which only a file can have"},
	} {
		for _, s := range setting.Table(v.Type()) {
			if s.Key != c.key {
				continue
			}
			got := ""
			if err := setting.SetText(s.In(v), c.text); err != nil {
				got = err.Error()
			} else {
				got = fmt.Sprint(s.In(v).Interface())
			}
			if got != c.want {
				t.Errorf("%s of %q: %s, want %s", c.key, c.text, got, c.want)
			}
		}
	}
}
