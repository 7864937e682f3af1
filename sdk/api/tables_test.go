package api_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/contextd/contextd/sdk/api"
)

// TestReadTables: the state of a pack that no code knows is read in its order, and the order of its fields is that of its rows although
// each leaves some out.
func TestReadTables(t *testing.T) {
	t.Parallel()
	const state = `{"funding":[{"id":"BTC","name":"Bitcoin","symbol":"BTC","fundingPct":0.0013,"markUsd":91442.9,"ref":1},` +
		`{"id":"X","fundingPct":null,"openInterestUsd":7,"venue":"a","listed":true,"ref":2,"stale":true,"url":"https://x.test/"}],"none":[],` +
		`"flags":[{"kind":"k","message":"m","ref":1}],"source_status":[{"ref":1,"id":"s","status":"ok"}]}`
	got, ok := api.ReadTables(json.RawMessage(state))
	if !ok || len(got.Members) != 2 || got.Members[0].Name != "funding" || got.Members[1].Name != "none" || got.Members[1].Rows != nil ||
		got.Flags[0].Message != "m" || got.SourceStatus[0].Status != api.SourceOK {
		t.Fatalf("%v %+v", ok, got)
	}
	rows := got.Members[0].Rows
	want := api.TableRow{ID: "X", Name: "X", URL: "https://x.test/", Ref: 2, Stale: true,
		Fields: api.Fields{{Name: "fundingPct"}, {Name: "openInterestUsd", Value: 7.0}, {Name: "venue", Value: "a"}, {Name: "listed", Value: true}}}
	if !reflect.DeepEqual(rows[1], want) || rows[0].Name != "Bitcoin" || rows[0].Symbol != "BTC" || rows[0].Fields.Get("markUsd") != 91442.9 {
		t.Errorf("%+v", rows)
	}
	if got := strings.Join(got.Members[0].Fields(), " "); got != "fundingPct openInterestUsd venue listed markUsd" {
		t.Errorf("fields %s", got)
	}
	if main := got.Members[0].Main(); main != "fundingPct" {
		t.Errorf("the main field is %s", main)
	}
	mixed, _ := api.ReadTables(json.RawMessage(`{"a":[{"id":"x","rate":1,"volume":2},{"id":"y","average":1},{"id":"z","spread":1,"volume":2},{"id":"v","rate":1,"target":2}]}`))
	if got := strings.Join(mixed.Members[0].Fields(), " "); got != "rate target spread volume average" {
		t.Errorf("fields %s", got)
	}
	text, _ := api.ReadTables(json.RawMessage(`{"a":[{"id":"x","venue":"v","openUsd":null},{"id":"y","venue":"w","openUsd":2,"volume":3}]}`))
	if main := text.Members[0].Main(); main != "openUsd" {
		t.Errorf("the main field is %s", main)
	}
}

// TestReadTablesRefuses: what is no table is not shown as one, for something in it would be left out.
func TestReadTablesRefuses(t *testing.T) {
	t.Parallel()
	for _, state := range []string{
		``, `[]`, `null`, `{}`, `{"a":1}`, `{"a":null}`, `{"a":{"id":"x"}}`, `{"a":[1]}`, `{"a":[null]}`, `{"a":[{}]}`, `{"a":[{"id":1}]}`, `{"a":[{"id":""}]}`,
		`{"a":[{"id":"x","list":[]}]}`, `{"a":[{"id":"x","inner":{}}]}`, `{"a":[{"id":"x","ref":"1"}]}`, `{"a":[{"id":"x","name":7}]}`, `{"flags":{}}`, `{"a":[`,
		`{"a":[{"id":"x"}],"note":"n"}`, `{"a":[{"id":"x"}`,
	} {
		if got, ok := api.ReadTables(json.RawMessage(state)); ok {
			t.Errorf("%s is read as %+v", state, got)
		}
	}
}

// FuzzReadTables: no state panics, and what is read has rows with ids, and fields without doubles.
func FuzzReadTables(f *testing.F) {
	f.Add(`{"a":[{"id":"x","n":1},{"id":"y","m":2,"n":3}],"flags":[],"source_status":[{"ref":1}]}`)
	f.Fuzz(func(t *testing.T, state string) {
		tables, _ := api.ReadTables(json.RawMessage(state))
		for _, m := range tables.Members {
			names := m.Fields()
			slices.Sort(names)
			if len(slices.Compact(names)) != len(m.Fields()) {
				t.Errorf("%q has a field twice", names)
			}
			for _, r := range m.Rows {
				if r.ID == "" || r.Name == "" {
					t.Errorf("%+v", r)
				}
			}
		}
	})
}
