package client

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/sdk/diff"
)

// TestDigest: one line for a row, by what moved of it first; flags, headlines and sources before; bookkeeping never.
func TestDigest(t *testing.T) {
	t.Parallel()
	const flag = `{"id":"a","severity":"critical","message":"USD0 trades 3% below its peg"}`
	for name, test := range map[string]struct {
		old, new string
		want     []string
	}{
		"a row once": {`{"m":[{"id":"btc","symbol":"BTC","priceUsd":100,"volume24hUsd":5}]}`,
			`{"m":[{"id":"btc","symbol":"BTC","priceUsd":101,"volume24hUsd":9}]}`, []string{"  BTC  $100.00 -> $101.00  +1.00%"}},
		"by size": {`{"m":[{"id":"a","priceUsd":100},{"id":"b","priceUsd":100}]}`, `{"m":[{"id":"a","priceUsd":101},{"id":"b","priceUsd":95}]}`,
			[]string{"  b  $100.00 -> $95.00  -5.00%", "  a  $100.00 -> $101.00  +1.00%"}},
		"at the bound":    {`{"m":[{"id":"a","priceUsd":1000}]}`, `{"m":[{"id":"a","priceUsd":1005}]}`, []string{"  a  $1,000.00 -> $1,005.00  +0.50%"}},
		"below the bound": {`{"m":[{"id":"a","priceUsd":1000,"tvlUsd":1}]}`, `{"m":[{"id":"a","priceUsd":1004,"tvlUsd":2}]}`, nil},
		"in points": {`{"m":[{"id":"a","change24hPct":1},{"id":"b","change24hPct":1}]}`,
			`{"m":[{"id":"a","change24hPct":1.5},{"id":"b","change24hPct":1.49}]}`, []string{"  a  24h +1.00% -> +1.50%"}},
		"come and gone": {`{"m":[{"id":"a"}]}`, `{"m":[{"id":"b"}]}`, []string{"+ b  m", "- a  m"}},
		"bookkeeping":   {`{"m":[{"id":"a","rank":1,"ageHours":4}]}`, `{"m":[{"id":"a","rank":2,"ageHours":5}]}`, nil},
		"flags first": {`{"m":[{"id":"a","priceUsd":1}],"flags":[]}`, `{"m":[{"id":"a","priceUsd":2}],"flags":[` + flag + `]}`,
			[]string{"! critical  USD0 trades 3% below its peg", "  a  $1.00 -> $2.00  +100%"}},
		"a flag over": {`{"flags":[` + flag + `]}`, `{"flags":[]}`, []string{"- over  USD0 trades 3% below its peg"}},
		"a flag graver": {`{"flags":[{"id":"a","subject":"USD0","severity":"notice","message":"x"}]}`,
			`{"flags":[{"id":"a","subject":"USD0","severity":"warning","message":"y"}]}`, []string{"! warning, was notice  USD0"}},
		"a headline": {`{"n":[{"id":"a","headlines":[]}]}`, `{"n":[{"id":"a","headlines":[{"title":"News","url":"https://x.example"}]}]}`,
			[]string{"  new  News"}},
		"a source": {`{"source_status":[{"id":"s","status":"ok","fetchedAt":"1"}]}`, `{"source_status":[{"id":"s","status":"stale","fetchedAt":"2"}]}`,
			[]string{"! s  ok -> stale"}},
		"outside of rows": {`{"s":{"fees":{"btcSatVb":3}}}`, `{"s":{"fees":{"btcSatVb":4}}}`, []string{"  s fees  btc 3 sat/vB -> 4 sat/vB  +33.3%"}},
		"hostile":         {`{"m":[]}`, "{\"m\":[{\"id\":\"a\\u001b[31m\\u200b\"}]}", []string{"+ a  m"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			changes, err := diff.States(json.RawMessage(test.old), json.RawMessage(test.new))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, n := range digest(changes, 0.5, cli.Style{ASCII: true}) {
				got = append(got, n.text)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}
