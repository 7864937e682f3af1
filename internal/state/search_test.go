package state_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
)

// small is a state with one of everything that search tells apart.
const small = `{"a":{"name":"Bitcoin","symbol":"BTC","price":91240.5,"up":true,"gone":null},
	"list":[{"name":"Bitcoin Cash"},{"name":"bitcoins"},"bitcoin-pegged",["WBTC",true,null]],
	"bitcoin": 1.50, "bitcoin_price":-2e3, "dark":{"bitcoin":null}, "zz":"aab ab", "aa":"ba-a-a" }`

func TestSearchScoresAndOrder(t *testing.T) {
	t.Parallel()
	table := newTable(t, []byte(small))
	if table.Len() != 13 {
		t.Errorf("%d leaves, want 13: nulls are none", table.Len())
	}
	for _, c := range []struct {
		q    string
		want []string
	}{
		{"bitcoin", []string{`a.name "Bitcoin" 1`, `list[0].name "Bitcoin Cash" 1`, `list[2] "bitcoin-pegged" 1`, `bitcoin 1.50 1`,
			`bitcoin_price -2e3 1`, `list[1].name "bitcoins" 0.5`}},
		{"BITCOIN CASH", []string{`list[0].name "Bitcoin Cash" 1`}},
		{"name", []string{`a.name "Bitcoin" 1`, `list[0].name "Bitcoin Cash" 1`, `list[1].name "bitcoins" 1`}},
		{"NAM", []string{`a.name "Bitcoin" 0.5`, `list[0].name "Bitcoin Cash" 0.5`, `list[1].name "bitcoins" 0.5`}},
		{"list", []string{`list[2] "bitcoin-pegged" 1`, `list[3][0] "WBTC" 1`, `list[3][1] true 1`}}, // the last member name
		{"btc", []string{`a.symbol "BTC" 1`, `list[3][0] "WBTC" 0.5`}},
		{"true", []string{`a.up true 1`, `list[3][1] true 1`}},
		{"rue", []string{`a.up true 0.5`, `list[3][1] true 0.5`}},
		{"5", []string{`a.price 91240.5 1`, `bitcoin 1.50 0.5`}},
		{"1.5", []string{`bitcoin 1.50 0.5`}},     // the JSON text counts, not the number
		{"2e3", []string{`bitcoin_price -2e3 1`}}, // a minus is no part of a word
		{"-2", []string{`bitcoin_price -2e3 0.5`}},
		{".", []string{`a.price 91240.5 1`, `bitcoin 1.50 1`}},
		{"ab", []string{`zz "aab ab" 1`}},                    // the second occurrence is the word
		{"a-a", []string{`aa "ba-a-a" 1`}},                   // the word overlaps the first occurrence
		{"aa", []string{`aa "ba-a-a" 1`, `zz "aab ab" 0.5`}}, // name, then text
		{"zz", []string{`zz "aab ab" 1`}},
		{"bitcoin 1", nil}, {"a.name", nil}, {"[0]", nil}, {"gone", nil}, {"null", nil}, {"dark", nil}, {`"`, nil}, {"b b", nil}, {"", nil},
		{"bitcoinbtc", nil}, {"bitcoin\xffbtc", nil}, {"\xff", nil}, {"\xffbtc", nil}, {"bitcoin\uFFFDbtc", nil}, {"bitcoin\x00btc", nil},
	} {
		got := table.Search(c.q, 50)
		if lines := found(got.Matches); !slices.Equal(lines, c.want) || got.Total != len(c.want) {
			t.Errorf("%q: total %d\n got %q\nwant %q", c.q, got.Total, lines, c.want)
		}
		agree(t, table, readState(t, []byte(small)), c.q, 50)
	}
}

// TestSearchRoot searches states that are no object: a path is empty, or begins with an index.
func TestSearchRoot(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`"up"`: ` "up" 1`, ` [ "up" ] `: `[0] "up" 1`, `[[{"up":0}]]`: `[0][0].up 0 1`, `{"":{"":"up"}}`: ` "up" 1`,
		`{"a.b":["up"]}`: `a.b[0] "up" 1`,
	} {
		if lines := found(newTable(t, []byte(text)).Search("up", 9).Matches); !slices.Equal(lines, []string{want}) {
			t.Errorf("%s: got %q, want %q", text, lines, want)
		}
	}
	for _, text := range []string{`{}`, `[]`, `null`, `[null,{},[]]`, `{"up":null}`, `{"up":{}}`} {
		if table := newTable(t, []byte(text)); table.Len() != 0 || table.Search("up", 9).Total != 0 {
			t.Errorf("%s: %d leaves", text, table.Len())
		}
	}
}

func TestSearchUnicode(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, q string
		score   float64
	}{
		{"Straße", "STRASSE", 1}, {"STRASSE", "straße", 1}, {"GROẞ", "gross", 1}, {"Maße", "s", 0.5}, {"Maße", "ß", 0.5}, // sharp s is ss
		{"ΟΔΟΣ", "οδος", 1}, {"οδος", "ΟΔΟΣ", 1}, {"οδοςx", "οδοσ", 0.5}, // final sigma is sigma
		// an accent counts, its spelling not
		{"Éclair", "e\u0301CLAIR", 1}, {"e\u0301clair", "éclair", 1}, {"éclair", "eclair", 0}, {"éclair", "e", 0},
		{"ﬁnance", "FINANCE", 1}, {"FINANCE", "ﬁ", 0.5}, {"oﬄine", "ffl", 0.5}, // ligatures are their letters
		{"J\u030C", "ǰ", 1},                                  // a capital without a code point of its own
		{"α\u0345\u0301", "ᾴ", 1}, {"ᾴ", "α\u0301\u0345", 1}, // marks in any order, of which one folds to a letter
		{"İstanbul", "i\u0307stanbul", 1}, {"İstanbul", "istanbul", 0}, {"ISI", "ısı", 0}, {"ısı", "ISI", 0}, // no Turkish rules
		{"\u212A", "k", 1}, {"Ωmega", "\u2126MEGA", 1}, // Kelvin and Ohm
		{"🚀moon", "moon", 1}, {"moon🚀", "🚀", 1}, {"to the 🚀 now", "🚀", 0.5}, {"🚀🚀", "🚀", 0.5}, // an emoji is no letter, nor is a space
		{"币安人生", "币安", 0.5}, {"币安 人生", "币安", 1}, {"٣ Sisters", "3", 0}, {"٣Sisters", "sisters", 0.5}, {"x²", "x", 1},
		{"a\uFFFDb", "a\xffb", 1}, {"ab", "a\xffb", 0}, {"ÿ", "\xff", 0}, {"\u0000up", "UP", 1},
	} {
		for _, member := range []bool{false, true} {
			value, err := json.Marshal(map[bool]any{false: map[string]string{"v": c.text}, true: map[string]int{c.text: 0}}[member])
			if err != nil {
				t.Fatal(err)
			}
			table := newTable(t, value)
			var score float64
			if r := table.Search(c.q, 1); r.Total > 0 {
				score = r.Matches[0].Score
			}
			if score != c.score {
				t.Errorf("%+q in %+q (member %t): score %v, want %v", c.q, c.text, member, score, c.score)
			}
			agree(t, table, readState(t, value), c.q, 1)
		}
	}
}

func TestSearchK(t *testing.T) {
	t.Parallel()
	table := newTable(t, []byte(`{"z":"xup","y":"up","x":"up","w":"upx","v":"up"}`))
	all := []string{`y "up" 1`, `x "up" 1`, `v "up" 1`, `z "xup" 0.5`, `w "upx" 0.5`}
	for _, k := range []int{-1 << 62, -1, 0, 1, 2, 3, 4, 5, 6, 50, 1 << 62} {
		got := table.Search("up", k)
		want := all[:max(0, min(k, len(all)))]
		if got.Matches == nil || got.Total != len(all) || !slices.Equal(found(got.Matches), want) {
			t.Errorf("k %d: %q of %d, want %q", k, found(got.Matches), got.Total, want)
		}
		if none := table.Search("down", k); none.Matches == nil || len(none.Matches) != 0 || none.Total != 0 {
			t.Errorf("k %d: no hit gives %v", k, none)
		}
	}
}

// TestSearchManyLeaves crosses the size up to which a search ranks without allocation.
func TestSearchManyLeaves(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 2, 2047, 2048, 2049, 5000} {
		leaves := make([]string, n)
		for i := range leaves {
			leaves[i] = fmt.Sprintf(`"leaf %d"`, i)
		}
		text := []byte("[" + strings.Join(leaves, ",") + "]")
		table, tree := newTable(t, text), readState(t, text)
		if table.Len() != n {
			t.Errorf("%d leaves, want %d", table.Len(), n)
		}
		for _, i := range []int{0, n / 2, n - 1} {
			got := table.Search(fmt.Sprintf("leaf %d", i), 1)
			if want := fmt.Sprintf(`[%d] "leaf %d" 1`, i, i); len(got.Matches) != 1 || found(got.Matches)[0] != want {
				t.Errorf("%d leaves: got %q, want %q", n, found(got.Matches), want)
			}
		}
		for _, q := range []string{"leaf", "af 1", "7", "no"} {
			agree(t, table, tree, q, 50)
		}
	}
}

func TestSearchTogether(t *testing.T) {
	t.Parallel()
	text := wideState(3)
	table, tree := newTable(t, text), readState(t, text)
	var all sync.WaitGroup
	for _, q := range []string{"ethereum", "1", "name", "none"} {
		want, total := tree.search(q, 10)
		all.Go(func() {
			for range 50 {
				if got := table.Search(q, 10); got.Total != total || len(got.Matches) != len(want) {
					t.Errorf("%q: %d matches of %d, want %d of %d", q, len(got.Matches), got.Total, len(want), total)
				}
			}
		})
	}
	all.Wait()
}
