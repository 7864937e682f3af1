package state_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/contextd/contextd/internal/chance"
	"github.com/contextd/contextd/internal/state"
)

func TestReadRejects(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", " ", "\n", "{", "[", `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `[1`, `[1,`, `"a`, "tru", "-", "1.", `{"a":1}}`, `{"a":1}{"a":1}`,
		"1 2", "{} []", "{},",
		"{}x", "null null", `{"a":1,}`, "[1,]", "[1 2]", `{"a" 1}`, `{"a":1 "b":2}`, "{1:2}", "{a:1}", "[01]", "[+1]", "[.5]", "[NaN]",
		"['a']", `["\x"]`, "[\"a\nb\"]",
		"]", "}", ":", ",", "[}", "{]", `[1]]`, "\ufeff{}", "\x00",
	} {
		if d := state.Read([]byte(text)); d.Err() == nil || d.Table().Len() > 0 || d.Flags() != nil || d.Names() != nil {
			t.Errorf("%q is taken for a state: %v", text, d.Root())
		}
		if json.Valid([]byte(text)) {
			t.Errorf("%q is valid: the test is wrong", text)
		}
	}
}

// awkward are texts that search has to tell apart: folds, accents, boundaries and what looks like a path or a separator.
var awkward = []string{
	"", "a", "A", "ab", "aab", "ba-a-a", "Straße", "STRASSE", "ẞ", "ss", "ς", "σ", "Σ", "é", "e\u0301", "E\u0301", "\u0301", "ﬁ", "fi",
	"ﬄ", "İ", "i\u0307", "ı", "I",
	"\u0390", "\u03aa\u0301", "\u1fb3", "\u03b1\u0345", "\u0345", "\u212a", "🚀", "👩\u200d🚀", "币安", "٣", "²", "_", "-", ".", "[0]", "a.b",
	" ", "\t", "\u00a0", "\uFFFD", "ÿ",
	"\x00", "\"", "\\", "</a>", "true", "null", "1", "10", "1e5", "name", "Name", "x9", "9x",
}

// texts generates strings that are often awkward, joined, or any Unicode.
func texts() *rapid.Generator[string] {
	piece := rapid.OneOf(rapid.SampledFrom(awkward), rapid.SampledFrom(awkward), rapid.StringN(0, 3, -1))
	return rapid.Custom(func(t *rapid.T) string {
		var b bytes.Buffer
		for range rapid.IntRange(1, 4).Draw(t, "pieces") {
			b.WriteString(piece.Draw(t, "piece"))
		}
		return b.String()
	})
}

// documents generates JSON texts with all white space that JSON allows, escapes and not, duplicate members, numbers in every form.
func documents(depth int) *rapid.Generator[string] {
	space := rapid.SampledFrom([]string{"", "", "", " ", "\n\t", "\r "})
	return rapid.Custom(func(t *rapid.T) string {
		value := ""
		switch kind := rapid.IntRange(0, 7).Draw(t, "kind"); {
		case kind <= 2 && depth > 0:
			value = container(t, depth, "{", "}")
		case kind <= 4 && depth > 0:
			value = container(t, depth, "[", "]")
		case kind == 5:
			value = rapid.SampledFrom([]string{"0", "-0", "1", "10", "-1.50", "1e5", "2E-3", "12345678901234567890", "1e999"}).Draw(t,
				"number")
		case kind == 6:
			value = rapid.SampledFrom([]string{"true", "false", "null"}).Draw(t, "word")
		default:
			value = quoted(t)
		}
		return space.Draw(t, "before") + value + space.Draw(t, "behind")
	})
}

func container(t *rapid.T, depth int, open, end string) string {
	list := ""
	for i := range rapid.IntRange(0, 5).Draw(t, "size") {
		if i > 0 {
			list += ","
		}
		if open == "{" {
			list += quoted(t) + rapid.SampledFrom([]string{":", " : "}).Draw(t, "colon")
		}
		list += documents(depth-1).Draw(t, "child")
	}
	return open + list + end
}

// quoted draws a JSON string, with raw or escaped letters.
func quoted(t *rapid.T) string {
	text := texts().Draw(t, "text")
	if rapid.IntRange(0, 3).Draw(t, "escapes") > 0 {
		var buf bytes.Buffer
		enc := json.NewEncoder(&buf)
		enc.SetEscapeHTML(false)
		_ = enc.Encode(text) // a string always encodes
		return string(bytes.TrimSpace(buf.Bytes()))
	}
	escaped := ""
	for _, r := range text {
		if r < 0x10000 {
			escaped += fmt.Sprintf("\\u%04x", r)
		} else {
			escaped += string(r)
		}
	}
	return `"` + escaped + `"`
}

func TestSearchAgreesWithNaive(t *testing.T) {
	t.Parallel()
	chance.Check(t, func(t *rapid.T) {
		text := []byte(documents(4).Draw(t, "state"))
		if !json.Valid(text) {
			t.Fatalf("the generator is wrong: %q", text)
		}
		table := newTable(t, text)
		dec := json.NewDecoder(bytes.NewReader(text))
		dec.UseNumber()
		tree, err := readNode(dec)
		if err != nil {
			t.Fatalf("%v", err)
		}
		var leaves []string
		tree.walk("", "", func(_, name string, leaf json.Token) { leaves = append(leaves, fmt.Sprint(leaf), name) })
		if 2*table.Len() != len(leaves) {
			t.Fatalf("%d leaves, naive %d", table.Len(), len(leaves)/2)
		}
		for range 40 {
			agree(t, table, tree, query(t, leaves), rapid.IntRange(-1, 60).Draw(t, "k"))
		}
	})
}

// query draws any text, or a part of a text that occurs.
func query(t *rapid.T, leaves []string) string {
	if len(leaves) == 0 || rapid.IntRange(0, 2).Draw(t, "source") == 0 {
		return texts().Draw(t, "query")
	}
	runes := []rune(rapid.SampledFrom(leaves).Draw(t, "leaf"))
	from := rapid.IntRange(0, len(runes)).Draw(t, "from")
	return string(runes[from:rapid.IntRange(from, len(runes)).Draw(t, "to")])
}

func FuzzRead(f *testing.F) {
	for _, seed := range []string{small, `[1,]`, `{"a":{}}`, "1 2", "[[]]", `{"\ud800":"\ud83d\ude80"}`, "\"\xff\"", "{\"\xff\":[1e999]}",
		"nul", "[[[[", ""} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > 4096 {
			return // a path repeats the ones above it, so deep states cost the square of their length
		}
		d := state.Read(text)
		table, err := d.Table(), d.Err()
		if (err == nil) != json.Valid(text) {
			t.Fatalf("%q: error %v, valid %t", text, err, json.Valid(text))
		}
		if err != nil {
			return
		}
		var leaves int
		readState(t, text).walk("", "", func(string, string, json.Token) { leaves++ })
		if table.Len() != leaves {
			t.Fatalf("%q: %d leaves, naive %d", text, table.Len(), leaves)
		}
	})
}

func FuzzSearch(f *testing.F) {
	f.Add([]byte(small), "bitcoin", 3)
	for i, text := range awkward {
		doc, err := json.Marshal(map[string]any{"v": "x" + text, text: []any{text + "y", 1.5, nil}})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(doc, text, i)
		f.Add(doc, "\xff"+text, 1)
	}
	f.Fuzz(func(t *testing.T, text []byte, q string, k int) {
		if len(text) > 4096 || !json.Valid(text) {
			return
		}
		agree(t, newTable(t, text), readState(t, text), q, k)
	})
}
