package pack_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/contextd/contextd/internal/check"
	"github.com/contextd/contextd/internal/jsonx"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// TestBasis: a text is judged again to the byte by what its judgement used, which is some rows of many.
func TestBasis(t *testing.T) {
	t.Parallel()
	m := material(t, 2)
	m.Earlier = func(_, key, field string) (list []state.Point) {
		for i := range 20 {
			v := map[string]float64{"bitcoin priceUsd": 91_000, "cardano change24hPct": 3}[key+" "+field]
			list = append(list, state.Point{At: m.At.Add(time.Duration(-5*(i+1)) * time.Minute), Value: v + float64(i)})
		}
		return list
	}
	m.Citations = []api.Citation{{Ref: 1, SourceID: "a", URL: "https://a.test/?b=<c>&d"}, {Ref: 2, SourceID: "b"}}
	fresh := api.Freshness{GeneratedAt: m.At, AgeSeconds: 3}
	price, _ := m.Tables.Row("asset", "zcash").Number("priceUsd")
	late := fmt.Sprintf("Zcash trades at $%v.", price)
	refuted, stale := false, false
	for _, text := range []string{
		"Bitcoin trades at $91,443 and ADA is up 44%.", "Bitcoin was at $91,019.", "Bitcoin trades at $12.", late,
		"The market is worth $3.33 trillion. Its dominance is 1%.", "Fear & Greed reads 99. Wrapped Bitcoin is at $5.", "Nothing at all.",
		"Aave V3 holds $33.3 billion; Lido holds $1. Tether's supply is $184 billion.", "Solana (SOL) \u202e fell 2%, “up 5%” it was reported.",
		"Ethereum fees are 0.1 gwei and Bitcoin fees 2 sat/vB.",
	} {
		for _, past := range []bool{false, true} {
			m.Past = past
			if m.Late = nil; !past {
				m.Late = func(r *state.Row) bool { return r.Key == "zcash" }
			}
			encoded, err := check.NewBasis(text, m, fresh, []string{"a notice"})
			if err != nil {
				t.Fatalf("%q: %v", text, err)
			}
			basis, err := check.ReadBasis(encoded)
			if err != nil {
				t.Fatal(err)
			}
			report := check.Judge(text, m)
			want, err := jsonx.Encode(report.Answer(m, fresh, []string{"a notice"}))
			if err != nil {
				t.Fatal(err)
			}
			found := basis.Judge(text, m.State, m.All)
			if got, err := json.Marshal(found); err != nil || !sameJSON(t, got, want) {
				t.Errorf("%q is judged otherwise: %v\n%s\n%s", text, err, got, want)
			}
			if all := len(m.Tables.Rows()); len(basis.Rows) > 60 || all < 150 {
				t.Errorf("%q: %d of %d rows are kept", text, len(basis.Rows), all)
			}
			refuted, stale = refuted || found.Refuted > 0, stale || found.Stale > 0
		}
	}
	if !refuted || !stale {
		t.Errorf("a text is refuted %t, stale %t", refuted, stale)
	}
}

func sameJSON(t *testing.T, a, b []byte) bool {
	t.Helper()
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	p, _ := json.Marshal(x)
	q, _ := json.Marshal(y)
	return string(p) == string(q)
}

// TestStateAlone: by a state alone, its rows are judged and others are unknown.
func TestStateAlone(t *testing.T) {
	t.Parallel()
	m := material(t, 2)
	for text, want := range map[string]string{
		"Bitcoin trades at $91,443.": "verified ", "Zcash trades at $12.": "refuted other_value", "Fear & Greed reads 24.": "verified ",
		"Uniswap trades at $6.12.": "unknown no_subject",
	} {
		found := check.BasisOf(m.State, m.At, api.CheckWithin).Judge(text, m.State, true)
		if got := string(found.Findings[0].Verdict) + " " + string(found.Findings[0].Reason); got != want {
			t.Errorf("%q is %s, want %s: %+v", text, got, want, found.Findings[0])
		}
	}
}
