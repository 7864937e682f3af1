package output_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/client/output"
)

// now is the time of these tests.
func now() time.Time { return time.Date(2026, 11, 20, 20, 6, 0, 0, time.UTC) }

// doc is an answer with what is hard to keep: order, large and long numbers, hostile text.
const doc = `{"b":[{"n":9007199254740993,"s":"<a>"},{"n":1.10,"s":null}],"a":"x\u001b[31m` + "\u009b" + `y","t":"2026-11-20T18:05:00Z"}`

// hidden is what a terminal does not show, before an emoji.
const hidden = "\u200b\ufeff\U000e0041\ue000\u2028❤\ufe0f"

// printed is what a prints.
func printed(t *testing.T, spec output.Spec, tty bool, a output.Answer) string {
	t.Helper()
	if err := spec.Check(); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	p := output.Printer{Spec: spec, Out: &b, TTY: tty, Width: 80, Now: now}
	if err := p.Print(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestFormats(t *testing.T) {
	t.Parallel()
	view := output.Answer{JSON: json.RawMessage(doc), Piped: output.JSON, Text: func(w io.Writer, width int, _ output.Style) error {
		_, err := fmt.Fprintln(w, "view", width)
		return err
	}}
	list := output.Answer{JSON: json.RawMessage(`[{"k":1,"v":"a\tb"},{"k":22,"v":"c"}]`),
		Rows: &output.Rows{Columns: []string{"k", "v"}, Right: []bool{true}, Rows: [][]string{{"1", "a\tb\x1b[1m"}, {"22", "c"}}}}
	for _, c := range []struct {
		spec   output.Spec
		tty    bool
		answer output.Answer
		want   string
	}{
		{output.Spec{}, true, view, "view 80\n"},
		{output.Spec{Format: output.Table}, false, view, "view 80\n"},
		{output.Spec{}, false, view, `{"b":[{"n":9007199254740993,"s":"<a>"},{"n":1.10,"s":null}],"a":"x\u001b[31m\u009by","t":"2026-11-20T18:05:00Z"}` + "\n"},
		{output.Spec{Fields: []string{"t"}}, true, view, "{\n  \"t\": \"2026-11-20T18:05:00Z\"\n}\n"},
		{output.Spec{Fields: []string{"t", "b"}}, false, view, `{"t":"2026-11-20T18:05:00Z","b":[{"n":9007199254740993,"s":"<a>"},{"n":1.10,"s":null}]}` + "\n"},
		{output.Spec{Format: output.YAML}, true, view, "b:\n  - n: 9007199254740993\n    s: <a>\n  - n: 1.10\n    s: null\na: \"x\\e[31m\\x9By\"\nt: \"2026-11-20T18:05:00Z\"\n"},
		{output.Spec{Format: output.TSV}, true, view, "b[0].n\t9007199254740993\nb[0].s\t<a>\nb[1].n\t1.10\nb[1].s\tnull\na\tx\nt\t2026-11-20T18:05:00Z\n"},
		{output.Spec{Format: output.NDJSON, Fields: []string{"t"}}, true, view, `{"t":"2026-11-20T18:05:00Z"}` + "\n"},
		{output.Spec{JQ: ".b[].n, .a"}, false, view, "9007199254740993\n1.10\nx\x1b[31m\u009by\n"},
		{output.Spec{JQ: ".a"}, true, view, "x\n"},
		{output.Spec{Format: output.JSON}, true, output.Answer{JSON: json.RawMessage(`{"s":"a` + hidden + `"}`)}, "{\n  \"s\": \"a\\u200b\\ufeff\\udb40\\udc41\\ue000\\u2028❤\ufe0f\"\n}\n"},
		{output.Spec{JQ: ".s"}, true, output.Answer{JSON: json.RawMessage(`{"s":"a` + hidden + `"}`)}, "a\n❤\ufe0f\n"},
		{output.Spec{JQ: ".b[0]"}, true, view, "{\n  \"n\": 9007199254740993,\n  \"s\": \"<a>\"\n}\n"},
		{output.Spec{JQ: "empty"}, true, view, ""},
		{output.Spec{JQ: `"a", halt, "b"`}, true, view, "a\n"},

		{output.Spec{}, false, list, "1\ta b\n22\tc\n"},
		{output.Spec{Header: true}, false, list, "k\tv\n1\ta b\n22\tc\n"},
		{output.Spec{}, true, list, " K  V\n 1  a b\n22  c\n"},
		{output.Spec{Format: output.Text}, false, list, " K  V\n 1  a b\n22  c\n"},
		{output.Spec{Format: output.NDJSON}, false, list, `{"k":1,"v":"a\tb"}` + "\n" + `{"k":22,"v":"c"}` + "\n"},
		{output.Spec{Fields: []string{"k"}}, false, list, `[{"k":1},{"k":22}]` + "\n"},
		{output.Spec{Fields: []string{"k"}}, false, output.Answer{JSON: json.RawMessage(`[]`)}, "[]\n"},
		{output.Spec{}, true, output.Answer{JSON: json.RawMessage(`[]`), Rows: &output.Rows{Empty: "none"}}, "none\n"},
		{output.Spec{Format: output.TSV}, true, output.Answer{JSON: json.RawMessage(`"one"`)}, "\tone\n"},
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
		if got := printed(t, output.Spec{Template: text}, true, output.Answer{JSON: json.RawMessage(data)}); got != want {
			t.Errorf("%s is %q, want %q", text, got, want)
		}
	}
	var b bytes.Buffer
	p := output.Printer{Spec: output.Spec{Template: `{{color "green+bu" .x}}{{hyperlink "http://a" .x}}{{color "grey" ""}}`}, Style: output.Style{Color: true}, Out: &b, Now: now}
	if err := p.Print(t.Context(), output.Answer{JSON: json.RawMessage(`{"x":"y"}`)}); err != nil {
		t.Fatal(err)
	}
	if want := "\x1b[32;1;4my\x1b[0m\x1b]8;;http://a\x1b\\y\x1b]8;;\x1b\\"; b.String() != want {
		t.Errorf("in colour %q, want %q", b.String(), want)
	}
	for _, text := range []string{`{{color "pink" "x"}}`, `{{color "red+x" "x"}}`, `{{timeago "x"}}`, `{{timefmt "15" "x"}}`, `{{join "," 1}}`, `{{pluck "a" 1}}`} {
		p := output.Printer{Spec: output.Spec{Template: text}, Out: io.Discard, Now: now}
		if err := p.Print(t.Context(), output.Answer{JSON: json.RawMessage(`{}`)}); err == nil {
			t.Errorf("%s was executed", text)
		}
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	for name, spec := range map[string]output.Spec{
		"format": {Format: "xml"}, "jq": {JQ: ".["}, "jq function": {JQ: "nope"}, "template": {Template: "{{"}, "template function": {Template: "{{nope}}"},
		"two": {JQ: ".", Template: "x"}, "jq in a table": {JQ: ".", Format: output.Table}, "fields in text": {Fields: []string{"a"}, Format: output.Text},
	} {
		if spec.Check() == nil {
			t.Errorf("%s was accepted", name)
		}
	}
	p := output.Printer{Spec: output.Spec{Fields: []string{"c"}}, Out: io.Discard, Now: now}
	err := p.Print(t.Context(), output.Answer{JSON: json.RawMessage(doc)})
	if missing, ok := errors.AsType[*output.FieldError](err); !ok || err.Error() != `no field "c"; there are b, a, t` {
		t.Errorf("%v, %+v", err, missing)
	}
	if err := p.Print(t.Context(), output.Answer{JSON: json.RawMessage(`1`)}); err == nil {
		t.Error("a number has fields")
	}
	p.Spec = output.Spec{JQ: ".a.b"}
	if err := p.Print(t.Context(), output.Answer{JSON: json.RawMessage(doc)}); err == nil {
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
	specs := []output.Spec{{JQ: "."}, {JQ: `"s"`}, {Template: "x"}, {Fields: []string{"a"}}}
	for _, f := range output.Formats() {
		specs = append(specs, output.Spec{Format: f})
	}
	for _, spec := range specs {
		p := output.Printer{Spec: spec, Out: broken{}, Width: 80, Now: now}
		if err := p.Print(t.Context(), output.Answer{JSON: json.RawMessage(`{"a":1}`)}); !errors.Is(err, errBroken) {
			t.Errorf("%+v: %v", spec, err)
		}
	}
}

func TestStyle(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ got, want string }{
		{output.Style{}.Bad("x"), "x"},
		{output.Style{Color: true}.Bad("x"), "\x1b[31mx\x1b[0m"},
		{output.Style{Color: true}.Bold(""), ""},
		{output.Style{}.Mark("ok"), "✓"},
		{output.Style{ASCII: true}.Mark("error"), "x"},
		{output.Style{ASCII: true, Words: true}.Mark("error"), "error"},
		{output.Style{}.Fit("漢字", 3), "漢…"},
		{output.Style{}.Fit("漢字", 5), "漢字 "},
		{output.Style{ASCII: true}.Fit("abcdef", 4), "abc~"},
		{output.Style{}.FitRight("ab", 4), "  ab"},
		{output.Style{}.Cut("abc", -1), ""},
		{output.Scalar(json.RawMessage(`"a\"b"`)), `a"b`},
		{output.Scalar(json.RawMessage(`1.50`)), `1.50`},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}

// TestTableFits checks that a table keeps to the terminal, the wide column giving way, and that wide characters count double.
func TestTableFits(t *testing.T) {
	t.Parallel()
	rows := &output.Rows{Columns: []string{"name", "text", "n"}, Wide: 1, Right: []bool{false, false, true},
		Rows: [][]string{{"漢字", strings.Repeat("long ", 20), "1"}, {"b", "s", "22"}}}
	var b bytes.Buffer
	if err := rows.Write(&b, 30, output.Style{}); err != nil {
		t.Fatal(err)
	}
	want := "NAME  TEXT                   N\n漢字  long long long long…   1\nb     s                     22\n"
	if b.String() != want {
		t.Errorf("\n%s, want\n%s", b.String(), want)
	}
}
