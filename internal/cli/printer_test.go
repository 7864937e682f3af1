package cli_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/internal/cli"
)

// now is the time of these tests.
func now() time.Time { return time.Date(2026, 11, 20, 20, 6, 0, 0, time.UTC) }

// doc is an answer with what is hard to keep: order, large and long numbers, hostile text.
const doc = `{"b":[{"n":9007199254740993,"s":"<a>"},{"n":1.10,"s":null}],"a":"x\u001b[31m` + "\u009b" + `y","t":"2026-11-20T18:05:00Z"}`

// hidden is what a terminal does not show, before an emoji.
const hidden = "\u200b\ufeff\U000e0041\ue000\u2028❤\ufe0f"

// printed is what a prints.
func printed(t *testing.T, spec cli.Spec, tty bool, a cli.Answer) string {
	t.Helper()
	if err := spec.Check(); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	p := cli.Printer{Spec: spec, Out: &b, TTY: tty, Width: 80, Now: now}
	if err := p.Print(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestAboveThePager: what was told of an answer is the first thing that a pager shows, and stands once where none does.
func TestAboveThePager(t *testing.T) {
	t.Parallel()
	long := cli.Answer{Text: func(w io.Writer, _ int, _ cli.Style) error {
		_, err := io.WriteString(w, "1\n2\n3\n")
		return err
	}}
	for height, want := range map[int]string{3: "p:synthetic\np:1\np:2\np:3\n", 9: "1\n2\n3\n"} {
		var b bytes.Buffer
		p := cli.Printer{Out: &b, TTY: true, Width: 80, Height: height, Above: "synthetic\n", Now: now,
			LookupEnv: func(name string) (string, bool) {
				return map[string]string{"PAGER": "sed s/^/p:/"}[name], name == "PAGER"
			}}
		if err := p.Print(t.Context(), long); err != nil || b.String() != want {
			t.Errorf("%d lines high: %q, %v, want %q", height, b.String(), err, want)
		}
	}
}

func TestFormats(t *testing.T) {
	t.Parallel()
	view := cli.Answer{JSON: json.RawMessage(doc), Piped: cli.JSON, Text: func(w io.Writer, width int, _ cli.Style) error {
		_, err := fmt.Fprintln(w, "view", width)
		return err
	}}
	list := cli.Answer{JSON: json.RawMessage(`[{"k":1,"v":"a\tb"},{"k":22,"v":"c"}]`),
		Rows: &cli.Rows{Columns: []string{"k", "v"}, Right: []bool{true}, Rows: [][]string{{"1", "a\tb\x1b[1m"}, {"22", "c"}}}}
	for _, c := range []struct {
		spec   cli.Spec
		tty    bool
		answer cli.Answer
		want   string
	}{
		{cli.Spec{}, true, view, "view 80\n"},
		{cli.Spec{Format: cli.Table}, false, view, "view 80\n"},
		{cli.Spec{}, false, view, `{"b":[{"n":9007199254740993,"s":"<a>"},{"n":1.10,"s":null}],"a":"x\u001b[31m\u009by","t":"2026-11-20T18:05:00Z"}` + "\n"},
		{cli.Spec{Fields: []string{"t"}}, true, view, "{\n  \"t\": \"2026-11-20T18:05:00Z\"\n}\n"},
		{cli.Spec{Fields: []string{"t", "b"}}, false, view, `{"t":"2026-11-20T18:05:00Z","b":[{"n":9007199254740993,"s":"<a>"},{"n":1.10,"s":null}]}` + "\n"},
		{cli.Spec{Format: cli.YAML}, true, view, "b:\n  - n: 9007199254740993\n    s: <a>\n  - n: 1.10\n    s: null\na: \"x\\e[31m\\x9By\"\nt: \"2026-11-20T18:05:00Z\"\n"},
		{cli.Spec{Format: cli.TSV}, true, view, "b[0].n\t9007199254740993\nb[0].s\t<a>\nb[1].n\t1.10\nb[1].s\tnull\na\tx\nt\t2026-11-20T18:05:00Z\n"},
		{cli.Spec{Format: cli.NDJSON, Fields: []string{"t"}}, true, view, `{"t":"2026-11-20T18:05:00Z"}` + "\n"},
		{cli.Spec{JQ: ".b[].n, .a"}, false, view, "9007199254740993\n1.10\nx\x1b[31m\u009by\n"},
		{cli.Spec{JQ: ".a"}, true, view, "x\n"},
		{cli.Spec{Format: cli.JSON}, true, cli.Answer{JSON: json.RawMessage(`{"s":"a` + hidden + `"}`)}, "{\n  \"s\": \"a\\u200b\\ufeff\\udb40\\udc41\\ue000\\u2028❤\ufe0f\"\n}\n"},
		{cli.Spec{JQ: ".s"}, true, cli.Answer{JSON: json.RawMessage(`{"s":"a` + hidden + `"}`)}, "a\n❤\ufe0f\n"},
		{cli.Spec{JQ: ".b[0]"}, true, view, "{\n  \"n\": 9007199254740993,\n  \"s\": \"<a>\"\n}\n"},
		{cli.Spec{JQ: "empty"}, true, view, ""},
		{cli.Spec{JQ: `"a", halt, "b"`}, true, view, "a\n"},

		{cli.Spec{}, false, list, "1\ta b\n22\tc\n"},
		{cli.Spec{Header: true}, false, list, "k\tv\n1\ta b\n22\tc\n"},
		{cli.Spec{}, true, list, " K  V\n 1  a b\n22  c\n"},
		{cli.Spec{Format: cli.Text}, false, list, " K  V\n 1  a b\n22  c\n"},
		{cli.Spec{Format: cli.NDJSON}, false, list, `{"k":1,"v":"a\tb"}` + "\n" + `{"k":22,"v":"c"}` + "\n"},
		{cli.Spec{Fields: []string{"k"}}, false, list, `[{"k":1},{"k":22}]` + "\n"},
		{cli.Spec{Fields: []string{"k"}}, false, cli.Answer{JSON: json.RawMessage(`[]`)}, "[]\n"},
		{cli.Spec{}, true, cli.Answer{JSON: json.RawMessage(`[]`), Rows: &cli.Rows{Empty: "none"}}, "none\n"},
		{cli.Spec{Format: cli.TSV}, true, cli.Answer{JSON: json.RawMessage(`"one"`)}, "\tone\n"},
	} {
		if got := printed(t, c.spec, c.tty, c.answer); got != c.want {
			t.Errorf("%+v on a terminal %v:\n%q, want\n%q", c.spec, c.tty, got, c.want)
		}
	}
}

func TestTemplates(t *testing.T) {
	t.Parallel()
	data := `{"n":9007199254740993,"f":1.5,"z":null,"t":"2026-11-20T18:05:00Z","l":[{"k":"a"},{"k":"bb"},{}],"s":"long text \u001b[31mred"}`
	for text, want := range map[string]string{
		`{{.n}} {{.f}}`:                             "9007199254740993 1.5",
		`{{if gt .f 1.0}}more{{end}}`:               "more",
		`{{timeago .t}}`:                            "2h01m ago",
		`{{timefmt "15:04" .t}}`:                    "18:05",
		`{{truncate 5 .s}}|{{truncate 5 .z}}`:       "long…|",
		`{{pluck "k" .l | join ","}}`:               "a,bb,",
		`{{join "," .z}}`:                           "",
		`{{range .l}}{{tablerow .k "x"}}{{end}}`:    "a   x\nbb  x\n    x\n",
		`{{tablerow 1}}{{tablerender}}end`:          "1\nend",
		`{{upper "a"}}{{lower "B"}}`:                "Ab",
		`{{color "red" "x"}}{{autocolor "+b" "y"}}`: "xy",
		`{{hyperlink "http://a" "x"}}`:              "x",
		`{{.s}}`:                                    "long text red",
	} {
		if got := printed(t, cli.Spec{Template: text}, true, cli.Answer{JSON: json.RawMessage(data)}); got != want {
			t.Errorf("%s is %q, want %q", text, got, want)
		}
	}
	var b bytes.Buffer
	p := cli.Printer{Spec: cli.Spec{Template: `{{color "green+bu" .x}}{{hyperlink "http://a" .x}}{{color "grey" ""}}`}, Style: cli.Style{Color: true}, Out: &b, Now: now}
	if err := p.Print(t.Context(), cli.Answer{JSON: json.RawMessage(`{"x":"y"}`)}); err != nil {
		t.Fatal(err)
	}
	if want := "\x1b[32;1;4my\x1b[0m\x1b]8;;http://a\x1b\\y\x1b]8;;\x1b\\"; b.String() != want {
		t.Errorf("in colour %q, want %q", b.String(), want)
	}
	for _, text := range []string{`{{color "pink" "x"}}`, `{{color "red+x" "x"}}`, `{{timeago "x"}}`, `{{timefmt "15" "x"}}`, `{{join "," 1}}`, `{{pluck "a" 1}}`} {
		p := cli.Printer{Spec: cli.Spec{Template: text}, Out: io.Discard, Now: now}
		if err := p.Print(t.Context(), cli.Answer{JSON: json.RawMessage(`{}`)}); err == nil {
			t.Errorf("%s was executed", text)
		}
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	for name, spec := range map[string]cli.Spec{
		"format": {Format: "xml"}, "jq": {JQ: ".["}, "jq function": {JQ: "nope"}, "template": {Template: "{{"}, "template function": {Template: "{{nope}}"},
		"two": {JQ: ".", Template: "x"}, "jq in a table": {JQ: ".", Format: cli.Table}, "fields in text": {Fields: []string{"a"}, Format: cli.Text},
	} {
		if spec.Check() == nil {
			t.Errorf("%s was accepted", name)
		}
	}
	p := cli.Printer{Spec: cli.Spec{Fields: []string{"c"}}, Out: io.Discard, Now: now}
	err := p.Print(t.Context(), cli.Answer{JSON: json.RawMessage(doc)})
	if missing, ok := errors.AsType[*cli.FieldError](err); !ok || err.Error() != `no field "c"; there are b, a, t` {
		t.Errorf("%v, %+v", err, missing)
	}
	if err := p.Print(t.Context(), cli.Answer{JSON: json.RawMessage(`1`)}); err == nil {
		t.Error("a number has fields")
	}
	p.Spec = cli.Spec{JQ: ".a.b"}
	if err := p.Print(t.Context(), cli.Answer{JSON: json.RawMessage(doc)}); err == nil {
		t.Error("a filter that fails was not told")
	}
}

// broken fails every write.
type broken struct{}

var errBroken = errors.New("broken")

func (broken) Write([]byte) (int, error) { return 0, errBroken }

// TestWriteErrors checks that every format tells that nobody took what it wrote: ctx ends quietly then.
func TestWriteErrors(t *testing.T) {
	t.Parallel()
	specs := []cli.Spec{{JQ: "."}, {JQ: `"s"`}, {Template: "x"}, {Fields: []string{"a"}}}
	for _, f := range cli.Formats() {
		specs = append(specs, cli.Spec{Format: f})
	}
	for _, spec := range specs {
		p := cli.Printer{Spec: spec, Out: broken{}, Width: 80, Now: now}
		if err := p.Print(t.Context(), cli.Answer{JSON: json.RawMessage(`{"a":1}`)}); !errors.Is(err, errBroken) {
			t.Errorf("%+v: %v", spec, err)
		}
	}
}

func TestStyle(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ got, want string }{
		{cli.Style{}.Bad("x"), "x"},
		{cli.Style{Color: true}.Bad("x"), "\x1b[31mx\x1b[0m"},
		{cli.Style{Color: true}.Bold(""), ""},
		{cli.Style{}.Mark("ok"), "✓"},
		{cli.Style{ASCII: true}.Mark("error"), "x"},
		{cli.Style{ASCII: true, Words: true}.Mark("error"), "error"},
		{cli.Style{}.Fit("漢字", 3), "漢…"},
		{cli.Style{}.Fit("漢字", 5), "漢字 "},
		{cli.Style{ASCII: true}.Fit("abcdef", 4), "abc~"},
		{cli.Style{}.FitRight("ab", 4), "  ab"},
		{cli.Style{}.Cut("abc", -1), ""},
		{cli.Scalar(json.RawMessage(`"a\"b"`)), `a"b`},
		{cli.Scalar(json.RawMessage(`1.50`)), `1.50`},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}

// TestTableFits checks that a table keeps to the terminal, the wide column giving way, and that wide characters count double.
func TestTableFits(t *testing.T) {
	t.Parallel()
	rows := &cli.Rows{Columns: []string{"name", "text", "n"}, Wide: 1, Right: []bool{false, false, true},
		Rows: [][]string{{"漢字", strings.Repeat("long ", 20), "1"}, {"b", "s", "22"}}}
	var b bytes.Buffer
	if err := rows.Write(&b, 30, cli.Style{}); err != nil {
		t.Fatal(err)
	}
	want := "NAME  TEXT                   N\n漢字  long long long long…   1\nb     s                     22\n"
	if b.String() != want {
		t.Errorf("\n%s, want\n%s", b.String(), want)
	}
}
