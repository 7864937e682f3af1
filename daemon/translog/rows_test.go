package translog_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/translog"
	"github.com/contextd/contextd/internal/jsonx"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

// tableOf are n rows of two kinds, the larger first, so that they are not in the order of their keys.
func tableOf(n int) *state.Tables {
	var rows []state.Row
	for i := range n {
		kind := []string{"b", "a"}[i%2]
		rows = append(rows, state.Row{Kind: kind, Key: fmt.Sprintf("k%d", i), Entity: "e", Name: fmt.Sprintf("Name <%d>", i), Ref: 1 + i%3,
			Fields: api.Fields{{Name: "priceUsd", Value: float64(i) + 0.5}}, FetchedAt: time.Unix(int64(i), 0).UTC(), Size: float64(i)})
	}
	return state.NewTables([]state.Kind{{Name: "b"}, {Name: "a"}}, rows)
}

// provenRows is a log whose newest leaf has rows.
func provenRows(t *testing.T, tables *state.Tables, change func(*api.LogLeaf)) (*translog.Logs, *memory) {
	t.Helper()
	root, err := translog.RowsRoot(tables)
	if err != nil {
		t.Fatal(err)
	}
	leaf := api.LogLeaf{V: 1, Kind: api.LeafState, Pack: "crypto", Seq: 1, GeneratedAt: time.Unix(9, 0).UTC(), Tables: root}
	if change != nil {
		change(&leaf)
	}
	text, err := jsonx.Encode(leaf)
	if err != nil {
		t.Fatal(err)
	}
	m := filled(t, 1)
	m.add(t, text)
	return translog.NewLogs(m, newKey(t, 1), func(pack string) (*state.Tables, api.Proof) {
		if pack != "crypto" {
			return nil, api.Proof{}
		}
		return tables, api.Proof{Log: origin, Seq: 1}
	}), m
}

// TestEveryRowIsProven: each row of tables of any size is one of the leaf, and no byte of what says so can be another.
func TestEveryRowIsProven(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 2, 3, 7, 8, 9} {
		tables := tableOf(n)
		logs, _ := provenRows(t, tables, nil)
		for i, r := range tables.Rows() {
			text, _, err := parts(logs.Row(t.Context(), "crypto", r.Kind, r.Key))
			if err != nil {
				t.Fatal(err)
			}
			e, err := jsonOf[api.LogRowEntry](text)
			if err != nil {
				t.Fatal(err)
			}
			row, p, err := sdk.VerifyRow(e, "")
			if err != nil || row.Kind != r.Kind || row.Key != r.Key || row.Name != r.Name || row.Ref != r.Ref ||
				!row.FetchedAt.Equal(r.FetchedAt) || row.Fields.Get("priceUsd") == nil || p.Leaf.Seq != 1 {
				t.Fatalf("row %d of %d: %+v, %v", i, n, row, err)
			}
			if i == 0 {
				changedRows(t, e)
			}
		}
	}
}

func jsonOf[T any](text []byte) (v T, err error) { err = json.Unmarshal(text, &v); return v, err }

// changedRows has each part of an entry be another in turn.
func changedRows(t *testing.T, e api.LogRowEntry) {
	t.Helper()
	refused := func(what string, change func(*api.LogRowEntry)) {
		changed := e
		changed.RowProof = append([]string{}, e.RowProof...)
		change(&changed)
		if _, _, err := sdk.VerifyRow(changed, ""); err == nil {
			t.Errorf("%s of %d rows may be another", what, e.Rows)
		}
	}
	for i := range e.Row {
		refused(fmt.Sprint("byte ", i), func(c *api.LogRowEntry) { c.Row = e.Row[:i] + string(e.Row[i]^1) + e.Row[i+1:] })
	}
	refused("the place", func(c *api.LogRowEntry) { c.Place = -1 })
	refused("the place", func(c *api.LogRowEntry) { c.Place = c.Rows })
	refused("the number", func(c *api.LogRowEntry) { c.Rows = 0 })
	refused("the proof", func(c *api.LogRowEntry) { c.RowProof = append(c.RowProof, c.Leaf[:44]) })
	for i := range e.RowProof {
		refused("a hash", func(c *api.LogRowEntry) { c.RowProof[i] = strings.Repeat("A", 43) + "=" })
	}
	before, _ := provenRows(t, tableOf(int(e.Rows)), func(l *api.LogLeaf) { l.Tables = "" })
	text, _, err := parts(before.Leaf(t.Context(), "crypto", 1))
	refused("a leaf without rows", func(c *api.LogRowEntry) { c.LogEntry = entry(t, text, err) })
	refused("the leaf", func(c *api.LogRowEntry) { c.Leaf = strings.Replace(c.Leaf, `"tables":"`, `"tables":"0`, 1) })
	refused("the key", func(c *api.LogRowEntry) { c.Key += "x" })
}

// TestRowsThatAreNotProven: what the leaf of the newest state has not is not found, and never proven with another.
func TestRowsThatAreNotProven(t *testing.T) {
	t.Parallel()
	tables := tableOf(4)
	row := tables.Rows()[0]
	for name, tt := range map[string]struct {
		change    func(*api.LogLeaf)
		pack, key string
		hint      string
	}{
		"no such row":        {key: "k9", hint: "no row"},
		"no key":             {key: "", hint: "no row"},
		"no such pack":       {pack: "ai", key: row.Key, hint: "has no log"},
		"a leaf from before": {change: func(l *api.LogLeaf) { l.Tables = "" }, key: row.Key, hint: "not of the rows"},
		"a leaf of other rows": {
			change: func(l *api.LogLeaf) { l.Tables = strings.Repeat("0", 64) }, key: row.Key, hint: "not of the rows",
		},
	} {
		logs, _ := provenRows(t, tables, tt.change)
		pack := tt.pack
		if pack == "" {
			pack = "crypto"
		}
		_, err := logs.Row(t.Context(), pack, row.Kind, tt.key)
		if err == nil || api.AsError(err).Reason != api.ReasonNotFound || !strings.Contains(err.Error(), tt.hint) {
			t.Errorf("%s: %v", name, err)
		}
	}
	logs, m := provenRows(t, tables, nil)
	m.leaves = m.leaves[:1] // the log that is on disk ends before the state
	if _, err := logs.Row(t.Context(), "crypto", row.Kind, row.Key); err == nil || !strings.Contains(err.Error(), "not in its log yet") {
		t.Errorf("before its leaf: %v", err)
	}
	if _, err := translog.NewLogs(m, newKey(t, 1), nil).Row(t.Context(), "crypto", row.Kind, row.Key); err == nil {
		t.Error("a row of no tables is proven")
	}
}
