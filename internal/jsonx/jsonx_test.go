package jsonx_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/contextd/contextd/internal/jsonx"
)

// TestWalk has every value with its path, its text and what it says, in the document's order.
func TestWalk(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ doc, want string }{
		{`null`, `=null`},
		{" \n\"a\"\t", `="a"`},
		{`-1.50e3 `, `=-1.50e3`},
		{`{}`, `={}`},
		{` [ ] `, `=[ ]`},
		{`{"b":1,"a":{"b":[true, {"c" : null}]},"b":2}`,
			`={"b":1,"a":{"b":[true, {"c" : null}]},"b":2} b=1 a={"b":[true, {"c" : null}]} a.b=[true, {"c" : null}] a.b[0]=true a.b[1]={"c" : null} a.b[1].c=null b=2`},
		{`[[1],[],"]"]`, `=[[1],[],"]"] [0]=[1] [0][0]=1 [1]=[] [2]="]"`},
		{`{"":{"":0}}`, `={"":{"":0}} ={"":0} =0`},
		{`{"a\"}":"\\","\u00e9":"<&>"}`, `={"a\"}":"\\","\u00e9":"<&>"} a"}="\\" é="<&>"`},
	} {
		var seen []*jsonx.Value
		if err := jsonx.Walk([]byte(c.doc), func(v *jsonx.Value) error { seen = append(seen, v); return nil }); err != nil {
			t.Errorf("%s: %v", c.doc, err)
		}
		got := make([]string, len(seen))
		for i, v := range seen {
			got[i] = v.Path() + "=" + string(v.Raw)
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.doc, text, c.want)
		}
	}
}

// TestInvalid has what is not one JSON value refused, by all that read.
func TestInvalid(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000)
	for _, doc := range []string{"", " ", "{", `{"a"`, `{"a":1,}`, "[1 2]", "1 2", "{}x", "]", "tru", "[01]", "\"a\nb\"", `"\x"`, "\ufeff{}", deep} {
		err := jsonx.Walk([]byte(doc), func(*jsonx.Value) error {
			t.Errorf("%.20q is visited", doc)
			return nil
		})
		_, parsed := jsonx.Parse([]byte(doc))
		if _, members := jsonx.Members([]byte(doc)); err == nil || parsed == nil || members == nil {
			t.Errorf("%.20q is taken for JSON: %v, %v, %v", doc, err, parsed, members)
		}
	}
}

func TestWalkStops(t *testing.T) {
	t.Parallel()
	stop, n := errors.New("stop"), 0
	err := jsonx.Walk([]byte(`{"a":[1,2,3],"b":4}`), func(v *jsonx.Value) error {
		if n++; v.Path() == "a[1]" {
			return stop
		}
		return nil
	})
	if !errors.Is(err, stop) || n != 4 {
		t.Errorf("the walk went on after %d values: %v", n, err)
	}
}

// TestText has strings as encoding/json reads them, and all else as it is written.
func TestText(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		`""`: "", `"a"`: "a", `"\n\u00e9\ud83d\ude80"`: "\né🚀", `"\ud800"`: "\uFFFD", "\"a\xffb\"": "a\uFFFDb", `"\\\""`: `\"`,
		`1e999`: "1e999", `-0`: "-0", `true`: "true", `null`: "null", `[1, 2]`: "[1, 2]",
	} {
		v, err := jsonx.Parse([]byte(raw))
		if err != nil || v.Text() != want {
			t.Errorf("%s says %q, want %q: %v", raw, v.Text(), want, err)
		}
	}
}

func TestMembers(t *testing.T) {
	t.Parallel()
	doc := []byte(`{"z": 1, "a": {"x": [2]}, "A": null, "z": "2"}`)
	list, err := jsonx.Members(doc)
	if err != nil {
		t.Fatal(err)
	}
	text, err := jsonx.Object(list)
	if want := `{"z":1,"a":{"x": [2]},"A":null,"z":"2"}`; err != nil || string(text) != want {
		t.Errorf("the members are %s, want %s: %v", text, want, err)
	}
	root := list[0].Parent
	if v := root.Member("z"); v != list[0] {
		t.Errorf("the first z is %v", v)
	}
	if root.Member("Z") != nil || list[0].Member("") != nil {
		t.Error("there is a member that is not there")
	}
	if more := append(list[0].Raw, "99"...); !bytes.Contains(doc, []byte(`1, "a"`)) {
		t.Errorf("what is appended to a value, %s, writes into the document", more)
	}
	for _, none := range []string{`[]`, `"{}"`, `null`, `1`} {
		if _, err := jsonx.Members([]byte(none)); err == nil {
			t.Errorf("%s has members", none)
		}
	}
}

func TestEncode(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		v    any
		want string
	}{
		{"<a href='?x&y'>", `"<a href='?x&y'>"`},
		{map[string]any{"b&": 1, "a": json.RawMessage(`"<"`)}, `{"a":"<","b&":1}`},
		{"line\n", `"line\n"`},
		{nil, `null`},
	} {
		if got, err := jsonx.Encode(c.v); err != nil || string(got) != c.want {
			t.Errorf("%v is %s, want %s: %v", c.v, got, c.want, err)
		}
	}
	if _, err := jsonx.Encode(func() {}); err == nil {
		t.Error("a function has a JSON form")
	}
	if got, err := jsonx.Object([]*jsonx.Value{{Name: "<\n", Raw: json.RawMessage("1")}}); err != nil || string(got) != `{"<\n":1}` {
		t.Errorf("the object is %s: %v", got, err)
	}
	if got, err := jsonx.Object(nil); err != nil || string(got) != "{}" {
		t.Errorf("the empty object is %s: %v", got, err)
	}
}

// FuzzWalk compares the walk with the tokens of encoding/json.
func FuzzWalk(f *testing.F) {
	for _, doc := range []string{`{"a":[1,"b\u0000",{"":null}], "a" : -1.5E+3}`, ` [ [ ] , { } ] `, `"\ud83d"`, "{\"\xff\":\"\xff\"}", `1`, `[true,false]`} {
		f.Add([]byte(doc))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		var got, want []string
		err := jsonx.Walk(doc, func(v *jsonx.Value) error {
			if v.Parent != nil && v.Parent.IsObject() {
				got = append(got, v.Name)
			}
			if !v.IsLeaf() {
				got = append(got, string(v.Raw[:1]))
			} else {
				got = append(got, v.Text())
			}
			return nil
		})
		if (err == nil) != json.Valid(doc) {
			t.Fatalf("%q: %v", doc, err)
		}
		if err != nil {
			return
		}
		dec := json.NewDecoder(bytes.NewReader(doc))
		dec.UseNumber()
		for {
			token, err := dec.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			switch text := fmt.Sprint(token); {
			case token == nil:
				want = append(want, "null")
			case token != json.Delim('}') && token != json.Delim(']'):
				want = append(want, text)
			}
		}
		if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
			t.Fatalf("%q:\n got %q\nwant %q", doc, got, want)
		}
	})
}

// TestFind finds in each document what Parse finds there.
func TestFind(t *testing.T) {
	t.Parallel()
	doc := ` { "a" : [ {"b":1}, "}" , [] ] ,"b":{"a":{"c":"\"}","d":-1.5e3,"":null},"b":{}},"é":true , "n":null,"a":2}`
	for path, want := range map[string]string{
		"a": `[ {"b":1}, "}" , [] ]`, "b.a.c": `"\"}"`, "b.a.d": `-1.5e3`, "b.b": `{}`, "b.a.": `null`, "é": `true`, "n": `null`,
		"b": `{"a":{"c":"\"}","d":-1.5e3,"":null},"b":{}}`,
		"c": "", "a.b": "", "b.c": "", "b.b.a": "", "n.a": "", "é.a": "", "": "",
	} {
		got := jsonx.Find([]byte(doc), strings.Split(path, ".")...)
		if string(got) != want || (got == nil) != (want == "") {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
	if got := jsonx.Find(nil, "a"); got != nil {
		t.Errorf("in nothing: %s", got)
	}
}

// FuzzFind: every member of every object of a document is found by its path, as far as its name is the first of that kind, and every
// element of what is an array there is yielded.
func FuzzFind(f *testing.F) {
	for _, doc := range []string{`{"a":[1,{"b":2}],"b":{"a":{"c":"\"}"}},"c":[ [ ] , "]" ,{"d":[]},-1.5 ,null ]}`, ` [ "a",1 ] `, `[]`,
		`{"a":[1,{"b":2}],"b":{"a":{"c":"\"}"}}}`, `{"":{"":0}}`, ` {"a\"}" : "\\" , "\u00e9":"<&>"} `, `1`, `[{}]`} {
		f.Add([]byte(doc))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		root, err := jsonx.Parse(doc)
		if err != nil {
			return
		}
		var look func(v *jsonx.Value, path []string)
		look = func(v *jsonx.Value, path []string) {
			n := 0
			for element := range jsonx.Elements(v.Raw) {
				if !v.IsArray() || n == len(v.Members) || string(element) != string(v.Members[n].Raw) {
					t.Fatalf("%s: element %d is %s", v.Raw, n, element)
				}
				n++
			}
			if v.IsArray() && n != len(v.Members) {
				t.Errorf("%s: %d elements, want %d", v.Raw, n, len(v.Members))
			}
			if !v.IsObject() {
				return
			}
			for _, m := range v.Members {
				if v.Member(m.Name) != m {
					continue
				}
				here := append(path[:len(path):len(path)], m.Name)
				if got := jsonx.Find(doc, here...); string(got) != string(m.Raw) {
					t.Errorf("%q in %s is %s, want %s", here, doc, got, m.Raw)
				}
				look(m, here)
			}
		}
		look(root, nil)
	})
}
