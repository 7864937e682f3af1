package state_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// recorded is a state of the crypto pack.
func recorded(t *testing.T) *state.Document {
	t.Helper()
	text, err := os.ReadFile("../../daemon/pack/testdata/tick1.golden.json")
	if err != nil {
		t.Fatal(err)
	}
	return state.Read(text)
}

// TestView has every row of every member, at the path where it stands, and all that it says.
func TestView(t *testing.T) {
	t.Parallel()
	doc := recorded(t)
	v, ok := doc.View(api.PackCrypto)
	if !ok || len(v.Tables) != 5 || len(v.Flags) != len(doc.Flags()) || len(v.Sources) != len(doc.Sources()) {
		t.Fatalf("%t, %d tables, %d flags, %d sources", ok, len(v.Tables), len(v.Flags), len(v.Sources))
	}
	for _, table := range v.Tables {
		t.Run(table.Member, func(t *testing.T) {
			t.Parallel()
			if list := doc.Root().Member(table.Member); list.IsArray() && len(table.Rows) != len(list.Members) {
				t.Errorf("%d rows of %d", len(table.Rows), len(list.Members))
			}
			for _, r := range table.Rows {
				if r.Name == "" || r.Ref == 0 || len(r.Fields) == 0 && r.Chance == nil || !strings.HasPrefix(r.Path, table.Member) {
					t.Errorf("%+v", r)
				}
				for _, c := range table.Columns {
					if found := strings.Contains(string(doc.Text()), `"`+c.Field+`"`); !found {
						t.Errorf("no row says %s", c.Field)
					}
				}
			}
		})
	}
}

// TestViewReadings tells each reading by its layout: what is not known stands as the face writes it, and what is needed is left out.
func TestViewReadings(t *testing.T) {
	t.Parallel()
	v, ok := state.Read([]byte(`{"sentiment":{"fearGreed":{"value":24,"label":"Fear","previousDay":null,"ref":1},"breadth":null,"fees":{"btcFastestSatVb":null,"ref":2},
		"predictions":[{"question":"Q?","probability":0.5,"ref":3},{"question":"None?","probability":null,"ref":3},{"question":"R?","outcome":"No","probability":1,"ref":3}]},
		"source_status":[{"ref":1}]}`)).View(api.PackCrypto)
	var got []string
	for _, table := range v.Tables {
		for _, r := range table.Rows {
			if r.Chance != nil {
				got = append(got, fmt.Sprintf("%s %g %s", r.Name, *r.Chance, r.Outcome))
				continue
			}
			got = append(got, r.Name+": "+r.Text(func(_ string, value any) string { return fmt.Sprint(value) }))
		}
	}
	want := []string{"Fear & Greed: 24 Fear, yesterday <nil>, a week ago <nil>", "Q? 0.5 yes", "R? 1 No"}
	if !ok || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%t %q, want %q", ok, got, want)
	}
}

// TestNoView: a pack without layouts has none, and so has a state of another form.
func TestNoView(t *testing.T) {
	t.Parallel()
	if _, ok := recorded(t).View("perps"); ok {
		t.Error("another pack is shown by layouts")
	}
	for _, text := range []string{
		`{`, `[]`, `{}`, `null`, `{"top_movers":[]}`, `{"top_movers":7,"source_status":[{"ref":1}]}`, `{"sentiment":[],"source_status":[{"ref":1}]}`,
	} {
		if _, ok := state.Read([]byte(text)).View(api.PackCrypto); ok {
			t.Errorf("%s is shown by layouts", text)
		}
	}
}
