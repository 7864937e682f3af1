package state_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// node is a JSON value as the naive search knows it: an object, an array or a leaf. It is the yardstick of the Table and shares
// nothing with it: a tree instead of a list, runes instead of offsets, a sort instead of two passes.
type node struct {
	kind     json.Delim // '{', '[' or 0 for a leaf
	keys     []string   // of an object, in document order
	children []node
	leaf     json.Token // string, json.Number, bool or nil
}

// readNode reads the next value of dec.
func readNode(dec *json.Decoder) (node, error) {
	token, err := dec.Token()
	if err != nil {
		return node{}, err
	}
	delim, ok := token.(json.Delim)
	if !ok {
		return node{leaf: token}, nil
	}
	n := node{kind: delim}
	for dec.More() {
		if delim == '{' {
			key, err := dec.Token()
			if err != nil {
				return node{}, err
			}
			n.keys = append(n.keys, key.(string))
		}
		child, err := readNode(dec)
		if err != nil {
			return node{}, err
		}
		n.children = append(n.children, child)
	}
	_, err = dec.Token() // the closing one
	return n, err
}

// readState reads a whole state that is known to be valid.
func readState(t testing.TB, text []byte) node {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	n, err := readNode(dec)
	if err != nil {
		t.Fatalf("the naive search cannot read %q: %v", text, err)
	}
	return n
}

// walk calls visit for each leaf that is not null, with its path and its last member name.
func (n node) walk(path, name string, visit func(path, name string, leaf json.Token)) {
	switch n.kind {
	case '{':
		for i, key := range n.keys {
			below := key
			if path != "" {
				below = path + "." + key
			}
			n.children[i].walk(below, key, visit)
		}
	case '[':
		for i, child := range n.children {
			child.walk(path+"["+strconv.Itoa(i)+"]", name, visit)
		}
	default:
		if n.leaf != nil {
			visit(path, name, n.leaf)
		}
	}
}

// hit is one match of the naive search.
type hit struct {
	path  string
	value json.Token
	score float64
}

// search walks the tree and folds as it goes.
func (n node) search(q string, k int) (hits []hit, total int) {
	folded := []rune(naiveFold(q))
	if len(folded) == 0 {
		return nil, 0
	}
	n.walk("", "", func(path, name string, leaf json.Token) {
		score := max(naiveScore(naiveFold(fmt.Sprint(leaf)), folded), naiveScore(naiveFold(name), folded))
		if score > 0 {
			hits = append(hits, hit{path, leaf, score})
		}
	})
	slices.SortStableFunc(hits, func(a, b hit) int { return int(2*b.score) - int(2*a.score) })
	return hits[:max(0, min(k, len(hits)))], len(hits)
}

func naiveFold(s string) string {
	s = norm.NFC.String(strings.ToValidUTF8(s, "\uFFFD"))
	return cases.Fold().String(s)
}

// naiveScore looks at every place of text where q may stand.
func naiveScore(text string, q []rune) float64 {
	if !strings.Contains(text, string(q)) {
		return 0
	}
	runes := []rune(text)
	alnum := func(i int) bool { return unicode.IsLetter(runes[i]) || unicode.IsDigit(runes[i]) }
	edge := func(i int) bool { return i == 0 || i == len(runes) || alnum(i-1) != alnum(i) }
	for i := 0; i+len(q) <= len(runes); i++ {
		if slices.Equal(runes[i:i+len(q)], q) && edge(i) && edge(i+len(q)) {
			return 1
		}
	}
	return 0.5
}

// failer is what testing.TB and *rapid.T have in common.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// newTable makes the Table of a state that is known to be valid.
func newTable(t failer, text []byte) *state.Table {
	t.Helper()
	d := state.Read(text)
	if d.Err() != nil {
		t.Fatalf("Read(%q): %v", text, d.Err())
	}
	return d.Table()
}

// agree fails where the Table and the naive search of the same state differ about q.
func agree(t failer, table *state.Table, tree node, q string, k int) {
	t.Helper()
	got := table.Search(q, k)
	hits, total := tree.search(q, k)
	if got.Total != total || len(got.Matches) != len(hits) || got.Matches == nil {
		t.Fatalf("Search(%q, %d): %d matches of %d, naive %d of %d\ntable %v\nnaive %v", q, k, len(got.Matches), got.Total, len(hits),
			total,
			got.Matches, hits)
	}
	for i, want := range hits {
		if m := got.Matches[i]; m.Path != want.path || m.Score != want.score || !sameLeaf(m.Value, want.value) {
			t.Fatalf("Search(%q, %d): match %d is %s %s %v, naive %s %v %v", q, k, i, m.Path, m.Value, m.Score, want.path, want.value,
				want.score)
		}
	}
}

// sameLeaf reports whether the JSON text is that of the leaf and nothing more.
func sameLeaf(text json.RawMessage, leaf json.Token) bool {
	if number, ok := leaf.(json.Number); ok {
		return string(text) == number.String()
	}
	var value any
	return json.Unmarshal(text, &value) == nil && value == any(leaf) && bytes.Equal(bytes.TrimSpace(text), text)
}

// found is a result as lines "path value score", for tables.
func found(matches []api.SearchMatch) []string {
	lines := make([]string, len(matches))
	for i, m := range matches {
		lines[i] = fmt.Sprintf("%s %s %v", m.Path, m.Value, m.Score)
	}
	return lines
}
