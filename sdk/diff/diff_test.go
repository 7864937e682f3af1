package diff_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/contextd/contextd/sdk/diff"
)

func TestStates(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ old, new, want string }{
		"nothing":             {`{"a":[1,{"b":2}],"c":null}`, `{ "a" : [1, {"b":2}], "c":null}`, ""},
		"values":              {`{"a":1,"b":"x","c":true,"d":null,"e":1}`, `{"a":2,"b":"y","c":false,"d":1,"e":1.0}`, `a 1>2, b "x">"y", c true>false, d null>1, e 1>1.0`},
		"members":             {`{"a":1,"b":2}`, `{"b":2,"c":{"d":3}}`, `c >{"d":3}, a 1>`},
		"kinds":               {`{"a":1,"b":[1],"c":{}}`, `{"a":[1],"b":{},"c":2}`, `a 1>[1], b [1]>{}, c {}>2`},
		"rows that moved":     {`{"r":[{"id":"x","v":1},{"id":"y","v":2}]}`, `{"r":[{"id":"y","v":2},{"id":"x","v":1}]}`, ""},
		"rows by id":          {`{"r":[{"id":"x","v":1},{"id":"y","v":2}]}`, `{"r":[{"id":"y","v":3},{"id":"x","v":1}]}`, `r[0].v (y) 2>3`},
		"rows came and went":  {`{"r":[{"id":"x"},{"id":"y"}]}`, `{"r":[{"id":"z","symbol":"Z"},{"id":"y"}]}`, `r[0] (Z) >{"id":"z","symbol":"Z"}, r[0] (x) {"id":"x"}>`},
		"rows of two groups":  {`{"r":[{"group":"a","id":"x","v":1},{"group":"b","id":"x","v":2}]}`, `{"r":[{"group":"b","id":"x","v":9},{"group":"a","id":"x","v":1}]}`, `r[0].v (x) 2>9`},
		"rows with names":     {`{"r":[{"id":"x","name":"N","l":[1]}]}`, `{"r":[{"id":"x","name":"N","l":[1,2]}]}`, `r[0].l[1] (N) >2`},
		"questions":           {`{"r":[{"id":"610","question":"Q?","v":1}]}`, `{"r":[{"id":"610","question":"Q?","v":2}]}`, `r[0].v (Q?) 1>2`},
		"ids twice":           {`{"r":[{"id":"x","v":1},{"id":"x","v":2}]}`, `{"r":[{"id":"x","v":2},{"id":"x","v":2}]}`, `r[0].v (x) 1>2`},
		"lists":               {`[1,2,3]`, `[1,3]`, `[1] 2>3, [2] 3>`},
		"an array grew":       {`{"r":[]}`, `{"r":[{"id":"x"}]}`, `r[0] (x) >{"id":"x"}`},
		"scalars":             {`1`, `2`, ` 1>2`},
		"escapes in a string": {`{"a":"\u0041"}`, `{"a":"A"}`, `a "\u0041">"A"`},
	} {
		changes, err := diff.States(json.RawMessage(test.old), json.RawMessage(test.new))
		var got []string
		for _, c := range changes {
			row := ""
			if c.Row != "" {
				row = " (" + c.Row + ")"
			}
			got = append(got, fmt.Sprintf("%s%s %s>%s", c.Path, row, c.Old, c.New))
		}
		if err != nil || strings.Join(got, ", ") != test.want {
			t.Errorf("%s: %s, %v; want %s", name, strings.Join(got, ", "), err, test.want)
		}
	}
}

func TestStatesRefuses(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "{", "[1", `{"a"`, `{"a":}`, "1 2", "nul"} {
		for _, pair := range [][2]string{{bad, "{}"}, {"{}", bad}} {
			if _, err := diff.States(json.RawMessage(pair[0]), json.RawMessage(pair[1])); err == nil {
				t.Errorf("%q was taken", bad)
			}
		}
	}
}

// FuzzStates: no input panics, and no state differs from itself.
func FuzzStates(f *testing.F) {
	f.Add([]byte(`{"r":[{"id":"x","v":1}],"l":[1,[2]]}`), []byte(`{"r":[{"id":"y"}],"l":{}}`))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		_, _ = diff.States(a, b)
		if changes, err := diff.States(a, a); err == nil && len(changes) > 0 {
			t.Errorf("%q differs from itself: %v", a, changes)
		}
	})
}

// TestMatch pairs what two lists have in common, in the order of the newer one, whatever is there twice.
func TestMatch(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ old, new, want string }{
		"nothing":       {"", "", ""},
		"order of new":  {"a1 b1 c1", "c2 a2", "c1>c2 a1>a2 b1>"},
		"came and went": {"a1 b1", "b2 d2", "b1>b2 >d2 a1>"},
		"twice":         {"a1 a2 b1 b2", "a3 a4", "a1>a3 b1>"},
	} {
		pairs := diff.Match(strings.Fields(test.old), strings.Fields(test.new), func(s string) string { return s[:1] })
		got := make([]string, len(pairs))
		for i, p := range pairs {
			for j, side := range []*string{p.Old, p.New} {
				if j == 1 {
					got[i] += ">"
				}
				if side != nil {
					got[i] += *side
				}
			}
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("%s: %s, want %s", name, strings.Join(got, " "), test.want)
		}
	}
}

// TestRef: a change is of the source that the innermost row around it names in the newer state; what is gone is of none.
func TestRef(t *testing.T) {
	t.Parallel()
	changes, err := diff.States(json.RawMessage(`{"r":[{"id":"x","ref":1,"v":1,"h":[{"ref":3,"w":1}]},{"id":"y","ref":1}],"s":{"f":{"ref":4,"v":1}},"n":1}`),
		json.RawMessage(`{"r":[{"id":"x","ref":2,"v":2,"h":[{"ref":5,"w":2}]},{"id":"z","ref":6}],"s":{"f":{"ref":4,"v":2}},"n":2}`))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for _, c := range changes {
		got[fmt.Sprint(c.Path, c.New == nil)] = c.Ref
	}
	want := map[string]int{"r[0].reffalse": 2, "r[0].vfalse": 2, "r[0].h[0].reffalse": 5, "r[0].h[0].wfalse": 5, "r[1]false": 6, "r[1]true": 0, "s.f.vfalse": 4, "nfalse": 0}
	if !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
