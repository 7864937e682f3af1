package main

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestShow: a figure says the value that it was made from, and no other.
func TestShow(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for _, field := range []string{"change24hPct", "funding1hPct", "marketCapUsd", "priceUsd", "rate", "rank", "dvolPct"} {
		for range 500 {
			x := math.Exp(r.Float64()*20 - 4)
			if typeOf(field) == counts {
				x = math.Ceil(x)
			}
			if s := show(x, field, true, r); !s.says(x) || x > 0.1 && s.says(2*x+1) || s.text == "" {
				t.Errorf("%s %v is %q, which says %v", field, x, s.text, s)
			}
		}
	}
}

// TestFalsify: phrases read, each kind has forty of them at least, and what is called false is not what the true sentence says.
func TestFalsify(t *testing.T) {
	t.Parallel()
	const two = `{"top_movers":[
		{"name":"Bitcoin","symbol":"BTC","priceUsd":90000,"change1hPct":-0.4,"change24hPct":3.3,"change7dPct":-7.1,"marketCapUsd":1800000000000,
		"volume24hUsd":60000000000,"rank":1,"ref":1},
		{"name":"Ethereum","symbol":"ETH","priceUsd":3200,"change1hPct":1.2,"change24hPct":5.9,"change7dPct":-2.2,"marketCapUsd":390000000000,
		"volume24hUsd":20000000000,"rank":2,"ref":1}],
		"sentiment":{"market":{"totalMarketCapUsd":3300000000000,"volume24hUsd":187000000000,"change24hPct":2.5,"ref":3}},
		"flags":[{"id":"move:zec","kind":"price_move","severity":"notice","subject":"Zcash","value":27.7,"threshold":20,"unit":"pct",
		"since":"2026-11-28T14:01:02Z","message":"Zcash is up 27.7% in 24 hours","ref":1}],"source_status":[]}`
	state, err := readTold("crypto", json.RawMessage(two), nil)
	if err != nil {
		t.Fatal(err)
	}
	all, r := slices.Concat(phrases(statementsText), phrases(unreadText), phrases(briefsText)), rand.New(rand.NewPCG(1, 2))
	for kind, want := range map[string]struct{ phrase, one, other string }{
		"another row":    {"{A} {v:rose|fell} {v} {t} [{r}].", "Bitcoin rose 5.9", "Ethereum rose 3.3"},
		"another span":   {"{A} {v:rose|fell} {v} {t} [{r}].", "Bitcoin fell ", "Ethereum "},
		"flag":           {"{A} {v:rose|fell} {v} {t} [{r}].", "Bitcoin rose 2", "Ethereum rose 2"},
		"direction":      {"{A} {v:rose|fell} {v} {t} [{r}].", "Bitcoin fell 3.3", "Ethereum fell 5.9"},
		"another market": {"{A} {v:rose|fell} {v} {t} [{r}].", "Bitcoin rose 2.5", "Ethereum rose 2.5"},
	} {
		p := phrase{kind: "one", set: "coin", field: "change24hPct", text: want.phrase}
		for range 20 {
			text, ok := state.falsify(kind, p, r)
			if ok && !strings.HasPrefix(text, want.one) && !strings.HasPrefix(text, want.other) {
				t.Errorf("%s: %s", kind, text)
			}
		}
	}
	fits := map[string]int{"one": 0, "pair": 0, "two": 0, "total": 0}
	for _, p := range all {
		fits[p.kind]++
		if strings.Contains(strings.NewReplacer("{A}", "", "{B}", "", "{S}", "", "{v}", "", "{w}", "", "{r}", "").Replace(
			spanned.ReplaceAllString(directed.ReplaceAllString(p.text, ""), "")), "{") {
			t.Errorf("%s has a slot that is not known", p.text)
		}
	}
	if fits["one"] < 200 || fits["pair"]+fits["two"] < 40 || fits["total"] < 40 {
		t.Errorf("phrases: %v", fits)
	}
}
