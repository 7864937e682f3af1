package ground_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/brief/ground"
	"github.com/contextd/contextd/internal/prose"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// sample is a small state with every kind of leaf.
const sample = `{
 "coins": [
  {"group":"major","name":"Bitcoin","symbol":"BTC","priceUsd":91285.8,"change24hPct":-1.79,"change7dPct":2.18,"marketCapUsd":1821914367135,"rank":1,"ref":1},
  {"group":"major","name":"Ethereum","symbol":"ETH","priceUsd":3190.66,"change24hPct":-2.92,"change7dPct":-7.62,"marketCapUsd":385204286186,"rank":2,"ref":1},
  {"group":"gainer","name":"Zcash","symbol":"ZEC","priceUsd":434.208,"change24hPct":23.13,"change7dPct":44.9,"marketCapUsd":7157273400,"rank":18,"ref":1},
  {"group":"gainer","name":"1inch","symbol":"1INCH","priceUsd":0.000123456,"change24hPct":6.1,"change7dPct":null,"marketCapUsd":null,"rank":95,"ref":1}],
 "market": {"totalMarketCapUsd":3321100766802,"change24hPct":-2.16,"dominancePct":54.86,"ref":3},
 "tvl": [{"name":"Aave V3","tvlUsd":31280427149,"change1dPct":2.02,"ref":5},{"name":"Lido","tvlUsd":26889079308,"change1dPct":-3.87,"ref":5}],
 "breadth": {"advancing":32,"declining":58,"ref":1},
 "index": {"value":24,"label":"Extreme Fear","previousDay":27,"nextUpdateAt":"2026-11-21T00:00:00Z","ref":10},
 "predictions": [{"question":"Will Bitcoin close above $100,000 on December 31, 2026?","probability":0.288,"ref":6}],
 "narratives": [{"name":"Layer 2 (L2)","score":0.867,"change24hPct":-4.67,"headlines":[
   {"title":"Zcash tops 20% daily gain. Shorts unwind?","url":"https://example.com/2026/77","publishedAt":"2026-11-20T20:03:10Z","ref":7,"sources":[7,8]}],"ref":4}],
 "flags": [{"kind":"exploit","subject":"Driftwood","value":44500000,"threshold":1000000,"unit":"usd","message":"Driftwood: $44.5M loss reported","ref":9}],
 "bond": {"name":"Long bond","movedBp":-12,"ref":2},
 "fees": {"btcFastestSatVb":9.4,"ref":2},
 "unowned": 777.25
}`

func sources() []api.Citation {
	list := make([]api.Citation, 10)
	for i := range list {
		list[i] = api.Citation{Ref: i + 1, SourceID: "source-" + string(rune('a'+i)), FetchedAt: time.Date(2026, 11, 20, 20, 10, 2, 0, time.UTC)}
	}
	return list
}

func TestCheckPassesWhatIsTrue(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"Bitcoin trades at $91,286, down 1.8% on the day [1].",
		"Bitcoin trades at $91,285.80 [1].",
		"Bitcoin trades at 91,286 dollars [1].",
		"Bitcoin is worth $1.82T, or USD 1.82 trillion [1].",
		"Bitcoin is worth $1,822 billion [1].",
		"Bitcoin is worth 1.8 trillion dollars [1].",
		"Bitcoin lost 1.79% in 24 hours but gained 2.2% in 7 days [1].",
		"Bitcoin: -1.79% in 24h, +2.18% over seven days [1].",
		"Bitcoin is at −1.8% [1].",
		"Bitcoin slipped 179 bps [1].",
		"Majors fell by 1.8 percent to 2.9 percent [1].",
		"The Long bond is down 12 bp, or 12 basis points [2].",
		"The Long bond fell 0.12% [2].",
		"Majors fell 1.8–2.9% [1].",
		"The two hold $27 to 31 billion [5].",
		"1inch costs $0.000123 [1].",
		"1inch costs $1.23e-4 [1].",
		"The market is worth $3.32 trillion. [3] Fear stands at 24, after 27 the day before. [10]",
		"The market is worth $3.32 trillion, and fear reads 24 (Extreme Fear) [3][10].",
		"Fear, at 24, is extreme [10]; the market lost 2.2% [3].",
		"In the U.S. session the market lost 2.16% [3]. Fear (i.e. the index) reads 24 [10].",
		"32 rose vs. 58 that fell [1].",
		"Aave V3 holds $31.3B, up 2% [5].",
		"Aave V3 leads [5]. 1inch is up 6.1% [1].",
		"The question “Will Bitcoin close above $100,000 on December 31, 2026?” trades at 28.8% [6].",
		"Odds of $100,000 by December 31, 2026 are 29% [6].",
		"Layer 2 (L2) lost 4.7% [4], and “Zcash tops 20% daily gain. Shorts unwind?” made the news [7][8].",
		"Zcash topped 20% [8].",
		"The story ran at 20:03 UTC on 20 November 2026 [7].",
		"The sources answered at 20:10 UTC on 2026-11-20 [3].",
		"A loss of $44.5M is reported at Driftwood [9].",
		"A fee of 9 sat/vB is paid; 9.4 to be exact [2].",
		"The list has 4 coins, 2 of them majors [1].",
		"A narrative scores 0.87 [4].",
		"Here is the market:\n\n- Bitcoin is down 1.8% [1].\n- Lido is down 3.9% [5].\n\n1. Fear reads 24 [10].\n2) The market lost 2.2% [3].",
		"# Market\n\n**Majors**\n\nBitcoin is down\n1.8% [1].",
		"Nine flags stand, as they did an hour ago [9].",
		"Over 24-hour and 7-day windows Zcash gained [1].",
		"Zcash is up 23.13% [1]. It is up 44.9% in a week, far from Bitcoin [1].",
		"“It is over,” some said of Bitcoin [1].",
		"Bitcoin fell to $91,286. [1]",
		"On Layer-2 and Web3 and with ERC-20 and V4 nothing is known [4].",
		"Zcash (up 23.1%) beats 1inch (6.1%) [1].",
		"Did Zcash gain 23.1%? [1] Yes, said a source, Mr. J. Doe [1].",
	} {
		if list := ground.Check(text, read(sample), sources()); len(list) > 0 {
			t.Errorf("%q: %v", text, list)
		}
	}
}

func TestCheckFindsWhatIsFalse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		want ground.Kind
		at   string // the excerpt
	}{
		{"Bitcoin trades at $92,286 [1].", ground.KindFigure, "$92,286"},
		{"Bitcoin trades at $91,000 [1].", ground.KindFigure, "$91,000"},
		{"Bitcoin is down 1.9% [1].", ground.KindFigure, "1.9%"},
		{"The Long bond is down 13 bp [2].", ground.KindFigure, "13 bp"},
		{"The Long bond is up 12 bp [2].", ground.KindDirection, "12 bp"},
		{"The Long bond is down 12% [2].", ground.KindFigure, "12%"},
		{"The market is worth $3.32 billion [3].", ground.KindFigure, "$3.32 billion"},
		{"The market is worth $3.3B [3].", ground.KindFigure, "$3.3B"},
		{"The market is worth $3 trillion [3].", ground.KindFigure, "$3 trillion"},
		{"The market is worth €3.32 trillion [3].", ground.KindFigure, "€3.32 trillion"},
		{"The market is worth 3.32% [3].", ground.KindFigure, "3.32%"},
		{"Fear reads $24 [10].", ground.KindFigure, "$24"},
		{"Fear reads 25 [10].", ground.KindFigure, "25"},
		{"Fear reads 24 [1].", ground.KindSource, "24"},
		{"Aave V3 holds $31.3 billion [3].", ground.KindSource, "$31.3 billion"},
		{"The loss is $44.6M [9].", ground.KindFigure, "$44.6M"},
		{"A coin rose 777.25 points [1].", ground.KindFigure, "777.25"},
		{"The odds are 28.7% [6].", ground.KindFigure, "28.7%"},
		{"Seven is not 48 hours [1].", ground.KindFigure, "48 hours"},
		{"The list has 5 coins [1].", ground.KindFigure, "5"},
		{"It happened at 21:03 UTC [7].", ground.KindFigure, "21:03"},
		{"It happened on 2026-11-22 [7].", ground.KindFigure, "2026-11-22"},
		{"It happened on 22 November [7].", ground.KindFigure, "22"},
		{"Zcash topped 30% [8].", ground.KindFigure, "30%"},
		{"Bitcoin is down ٣ percent [1].", ground.KindFigure, "٣"},
		{"Between 1.9% and 2.9% was lost [1].", ground.KindFigure, "1.9%"},
		{"Bitcoin is up 1.8% [1].", ground.KindDirection, "1.8%"},
		{"Bitcoin is +1.79% [1].", ground.KindDirection, "+1.79%"},
		{"Zcash lost 23.1% [1].", ground.KindDirection, "23.1%"},
		{"Zcash is down by about 23.1% [1].", ground.KindDirection, "23.1%"},
		{"For Zcash a 23.1% drop is shown [1].", ground.KindDirection, "23.1%"},
		{"Bitcoin is down 6.1% [1].", ground.KindSubject, "6.1%"},
		{"Bitcoin fell.", ground.KindUncited, ""},
		{"Bitcoin fell [1]. Ethereum fell too.", ground.KindUncited, ""},
		{"Bitcoin fell to $91,286. Ethereum fell to $3,191 [1].", ground.KindUncited, ""},
		{"Something happened in 2026.\n\nBitcoin fell [1].", ground.KindUncited, ""},
		{"Bitcoin fell [0].", ground.KindAnchor, "[0]"},
		{"Bitcoin fell [11].", ground.KindAnchor, "[11]"},
		{"Bitcoin fell [99999999999999999999].", ground.KindAnchor, "[99999999999999999999]"},
		{"Bitcoin fell [1, 3].", ground.KindAnchor, "[1, 3]"},
		{"Bitcoin fell [1-3].", ground.KindAnchor, "[1-3]"},
		{"Bitcoin fell [^1].", ground.KindAnchor, "[^1]"},
		{"Bitcoin fell [01].", ground.KindAnchor, "[01]"},
		{"Bitcoin fell [source 1].", ground.KindAnchor, "[source 1]"},
		{"See [the list](https://example.com) for Bitcoin [1].", ground.KindLink, "](https://example.com)"},
		{"See [the list](//example.com) for Bitcoin [1].", ground.KindLink, "](//example.com)"},
		{"Claim it at HTTPS://example.com/x now [1].", ground.KindLink, "HTTPS://example.com/x"},
		{"Claim it at www.example.com now [1].", ground.KindLink, "www.example.com"},
		{"“Zcash tops 20% daily gain. Shorts unwind?” was read [4].", ground.KindSource, "Zcash tops 20% daily gain. Shorts unwind?"},
		{"", ground.KindEmpty, ""},
		{" \n ... [ ] ", ground.KindEmpty, ""},
		{"Bitcoin\x1b[31m fell [1].", ground.KindCharacter, ""},
		{"Bitcoin\u202e fell [1].", ground.KindCharacter, ""},
		{"Bitcoin\xff fell [1].", ground.KindCharacter, ""},
		{strings.Repeat("Bitcoin fell [1]. ", 300), ground.KindLength, ""},
	} {
		list := ground.Check(c.text, read(sample), sources())
		found := false
		for _, f := range list {
			found = found || f.Kind == c.want && (c.at == "" || f.Excerpt == c.at)
		}
		if !found {
			t.Errorf("%.80q: want %s at %q, got %v", c.text, c.want, c.at, list)
		}
	}
}

func TestCheckNamesTheSentenceAndAWayOut(t *testing.T) {
	t.Parallel()
	list := ground.Check("Bitcoin fell [1]. Fear reads 24 [3].", read(sample), sources())
	if len(list) != 1 {
		t.Fatalf("got %v, want one finding", list)
	}
	f := list[0]
	if f.Sentence != "Fear reads 24 [3]." || !strings.Contains(f.Detail, "[10]") {
		t.Errorf("got %+v, want the second sentence and the right source", f)
	}
	if s := f.String(); !strings.Contains(s, `source "24"`) || strings.Contains(s, "\n") {
		t.Errorf("String() = %q", s)
	}
}

func TestCheckReadsAnyState(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ state, text, want string }{
		{`not json`, "Bitcoin fell [1].", "state"},
		{`[]`, "Nothing is known [1].", ""},
		{`null`, "Nothing is known [1].", ""},
		{`{"rates":[{"rate":4.25,"ref":1}]}`, "The rate is 4.25% [1].", ""},
		{`{"rates":[{"rate":4.25,"ref":1}]}`, "The price is $4.25 [1].", "figure"},
		{`{"rates":[{"rate":4.25,"ref":1}]}`, "The rate is 4.35% [1].", "figure"},
		{`{"a":{"b":{"c":[12.5]},"ref":2}}`, "It is 12.5 [2].", ""},
		{`{"a":{"b":{"c":[12.5],"ref":3},"ref":2}}`, "It is 12.5 [2].", "source"},
		{`{"a":{"ref":"2","x":12.5}}`, "It is 12.5 [2].", "figure"},
		{`{"a":{"ref":1e400,"x":1e400}}`, "It is 12.5 [2].", "figure"},
		{`{"a":[{"ref":1,"n":"[2] Coin"}]}`, "It is (2) Coin [1].", ""},
		{`{"a":[{"ref":1,"name":"A [1, 2]. Big"}]}`, "A [1, 2]. Big is up [1].", ""},
		{`{"a":[{"ref":1,"name":"Yb","change7dPct":3389.2},{"ref":1,"name":"12:00 Coin","change7dPct":0}]}`,
			"Over seven days Yb is up 3,389% and 12:00 Coin is unchanged [1].", ""},
	} {
		list := ground.Check(c.text, read(c.state), sources())
		switch {
		case c.want == "" && len(list) > 0:
			t.Errorf("%s: %q: %v", c.state, c.text, list)
		case c.want != "" && (len(list) == 0 || string(list[0].Kind) != c.want):
			t.Errorf("%s: %q: got %v, want %s", c.state, c.text, list, c.want)
		}
	}
}

// TestCheckFindsAddresses in a state that has two names which look like some.
func TestCheckFindsAddresses(t *testing.T) {
	t.Parallel()
	const state = `{"rows":[{"name":"ether.fi","ref":1},{"name":"Yearn.finance","ref":1}]}`
	for _, c := range []struct {
		text string
		want []string
	}{
		{"Claim at uniswap-claim.com today", []string{"uniswap-claim.com"}},
		{"Claim at Uniswap-Claim.Com/now or t.me/x", []string{"Uniswap-Claim.Com", "t.me"}},
		{"Claim at a.co.uk, b.quest-like, c.com.then and пример.рф", []string{"a.co.uk", "b.quest", "c.com", "пример.рф"}},
		{"Claim at evil.ether.fi and my-ether.fi", []string{"evil.ether.fi", "my-ether.fi"}},
		{"Write to help@uniswap or a.b+c@d.example.org", []string{"help@uniswap", "a.b+c@d.example.org"}},
		{"See https://uniswap-claim.com/x and www.a.com", []string{"https://uniswap-claim.com/x", "www.a.com"}},
		{"Ether.fi, ether.fi-based and YEARN.FINANCE rose", nil},
		{"The U.S. market, e.g. Node.js at 9 a.m., i.e. USDC.e vs.BTC, fell.Then rose @ night", nil},
	} {
		var got []string
		for _, f := range ground.Check(c.text+" [1].", read(state), sources()) {
			if f.Kind == ground.KindLink {
				got = append(got, f.Excerpt)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%q: got %q, want %q", c.text, got, c.want)
		}
	}
}

func TestInlineIsFitForASentence(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"Plain":                 "Plain",
		"a\n b\t[1, 2] \x1b[0m": "a b (1, 2)",
		`Say "when" “now”`:      "Say ’when’ ’now’",
		"":                      "",
	} {
		if got := prose.Inline(in); got != want {
			t.Errorf("Inline(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzCheck(f *testing.F) {
	for _, text := range []string{"Bitcoin is at $91,286, down 1.8% [1].", "“a. b” [1, 2] [x", "-$-3.5e5% –4 5–6bn 12:00 2026-11-20 ٣½ .5 1,234,5", "\xff[1]. U.S. [2]\n\n- 3) **x**\n# 4"} {
		f.Add(text, sample)
		f.Add(text, `{"a":[{"name":`+string(must(json.Marshal(text)))+`,"ref":1,"sources":[2,3]}]}`)
	}
	f.Fuzz(func(t *testing.T, text, state string) {
		for _, finding := range ground.Check(text, read(state), sources()) {
			if finding.Kind == "" || finding.Detail == "" {
				t.Errorf("empty finding %+v", finding)
			}
		}
	})
}

func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}

// read is a state parsed.
func read(text string) *state.Document { return state.Read([]byte(text)) }

// TestCheckOfDates: what a figure is about is the day, or the month and year, that its row tells, and no other.
func TestCheckOfDates(t *testing.T) {
	t.Parallel()
	doc := state.Read([]byte(`{"volatility":[{"id":"VIX","name":"Cboe Volatility Index","symbol":"VIX","level":23.26,"ref":1,"of":"2026-11-18"}],
		"indicators":[{"id":"cpi","name":"Consumer Price Index","change12mPct":3.17,"ref":2,"of":"2026-10"}],"source_status":[]}`))
	for text, passes := range map[string]bool{
		"The VIX closed at 23.26 on 18 November [1].":                       true,
		"The VIX closed at 23.26 on November 18 [1].":                       true,
		"The VIX closed at 23.26 on 2026-11-18 [1].":                        true,
		"The VIX closed at 23.26 on 17 November [1].":                       false,
		"The VIX closed at 23.26 on 18 October [1].":                        false,
		"The VIX closed at 23.26 on 2026-11-19 [1].":                        false,
		"The Consumer Price Index was up 3.17% in October 2026 [2].":        true,
		"The Consumer Price Index was up 3.17% in September 2026 [2].":      false,
		"The Consumer Price Index was up 3.17% in October 2025 [2].":        false,
		"The Consumer Price Index was up 3.17% on 1 October 2026 [2].":      false,
		"The Consumer Price Index was up 3.17% at 00:00 on 2026-10-01 [2].": false,
	} {
		if list := ground.Check(text, doc, sources()); (len(list) == 0) != passes {
			t.Errorf("%q: %v", text, list)
		}
	}
}
