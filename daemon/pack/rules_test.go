package pack_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/pack"
	"github.com/contextd/contextd/daemon/source"
	"github.com/contextd/contextd/sdk/api"
)

// flagCase is a case of a rule's table: whether the flag is up when it was down before, and whether when it was up.
type flagCase struct {
	name     string
	doc      source.Doc
	raised   bool
	held     bool
	severity api.Severity
	value    float64
	message  string
}

// flagTable is a rule: what its flag looks like, and the source whose Doc the cases are.
type flagTable struct {
	id, kind, unit string
	source         string
	ref            int
}

// unknownCase is a Doc in which the value is unknown: the flag stays as wasUp made it.
func unknownCase(name string, doc source.Doc) flagCase {
	return flagCase{name, doc, false, true, api.SeverityWarning, 12.34, "as it was"}
}

// wasUp is a state in which one flag is up.
func wasUp(t *testing.T, id string) []byte {
	t.Helper()
	data, err := json.Marshal(api.CryptoState{Flags: []api.Flag{{
		ID: id, Kind: "old", Severity: api.SeverityWarning, Subject: "Old", Value: 12.34, Threshold: 1, Unit: "old",
		Since: now.Add(-time.Hour), Message: "as it was", Ref: 9,
	}}})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// check runs every case twice, with the flag down and up before.
func (f flagTable) check(t *testing.T, cases []flagCase) {
	t.Helper()
	prev := wasUp(t, f.id)
	for _, c := range cases {
		in := only(map[string]source.Doc{f.source: c.doc})
		f.checkFlag(t, in, c, c.raised, now)
		in.Prev = read(prev)
		f.checkFlag(t, in, c, c.held, now.Add(-time.Hour))
		in = with(in, f.source, func(r *pack.Reading) { r.Failures = 1 })
		f.checkFlag(t, in, c, c.held, now.Add(-time.Hour))
		in.Prev = nil // the source is stale: nothing rises
		f.checkFlag(t, in, c, false, now)
	}
}

// checkFlag compares the flag that in gives with the one of c.
func (f flagTable) checkFlag(t *testing.T, in pack.Input, c flagCase, up bool, since time.Time) {
	t.Helper()
	_, s := compact(t, in)
	if len(s.Flags) == 1 != up || len(s.Flags) > 1 {
		t.Errorf("%s, %s, was up %v: %+v, want one %v", f.kind, c.name, in.Prev != nil, s.Flags, up)
		return
	}
	for _, got := range s.Flags {
		if got.ID != f.id || got.Kind != f.kind || got.Unit != f.unit || got.Ref != f.ref || got.Subject == "" || !got.Since.Equal(since) {
			t.Errorf("%s, %s: %+v", f.kind, c.name, got)
		}
		if got.Severity != c.severity || got.Value != c.value || c.message != "" && got.Message != c.message {
			t.Errorf("%s, %s: %s %v %q, want %s %v %q", f.kind, c.name, got.Severity, got.Value, got.Message, c.severity, c.value, c.message)
		}
	}
}

func TestDepegFlags(t *testing.T) {
	t.Parallel()
	at := func(price, supply float64) source.Doc {
		return &source.StablecoinsDoc{Coins: []source.Stablecoin{{ID: "a-usd", Symbol: "aUSD", PegType: "peggedUSD", Price: &price, Supply: supply}}}
	}
	euro := &source.StablecoinsDoc{Coins: []source.Stablecoin{{ID: "e", Symbol: "aUSD", PegType: "peggedEUR", Price: ptr(1.16), Supply: 1e9}}}
	unknown := &source.StablecoinsDoc{Coins: []source.Stablecoin{{ID: "a", Symbol: "aUSD", PegType: "peggedUSD", Supply: 1e9}}}
	flagTable{"depeg:ausd", api.FlagDepeg, "pct", "defillama-stablecoins", 7}.check(t, []flagCase{
		{"on the peg", at(1, 1e9), false, false, "", 0, ""},
		{"under the lower threshold", at(0.9966, 1e9), false, false, "", 0, ""},
		{"at the lower threshold", at(0.9965, 1e9), false, true, api.SeverityNotice, -0.35, ""},
		{"between", at(1.0049, 1e9), false, true, api.SeverityNotice, 0.49, ""},
		{"at the threshold, below", at(0.995, 1e9), true, true, api.SeverityNotice, -0.5, "aUSD trades 0.50% below its peg, at $0.995"},
		{"at the threshold, above", at(1.005, 1e9), true, true, api.SeverityNotice, 0.5, "aUSD trades 0.50% above its peg, at $1.005"},
		{"almost a warning", at(0.9901, 1e9), true, true, api.SeverityNotice, -0.99, ""},
		{"a warning", at(0.99, 1e9), true, true, api.SeverityWarning, -1, ""},
		{"almost critical", at(0.9801, 1e9), true, true, api.SeverityWarning, -1.99, ""},
		{"critical", at(0.98, 1e9), true, true, api.SeverityCritical, -2, "aUSD trades 2.00% below its peg, at $0.98"},
		{"enough supply", at(0.98, 50e6), true, true, api.SeverityCritical, -2, ""},
		{"too little supply to rise", at(0.98, 49.9e6), false, true, api.SeverityCritical, -2, ""},
		{"another peg", euro, false, false, "", 0, ""},
		unknownCase("unknown price", unknown),
	})
}

func TestDepegFlagsOfCoinsWithOneSymbol(t *testing.T) {
	t.Parallel()
	_, s := compact(t, only(map[string]source.Doc{"defillama-stablecoins": &source.StablecoinsDoc{Coins: []source.Stablecoin{
		{ID: "large", Symbol: "USDX", PegType: "peggedUSD", Price: ptr(1.0), Supply: 9e8},
		{ID: "small", Symbol: "usdx", PegType: "peggedUSD", Price: ptr(0.7), Supply: 6e7},
		{ID: "nameless", PegType: "peggedUSD", Price: ptr(0.7), Supply: 6e7},
	}}}))
	if len(s.Flags) != 1 || s.Flags[0].ID != "depeg:usdx:small" {
		t.Errorf("%+v, want the flag of the smaller coin", s.Flags)
	}
}

func TestMoveFlags(t *testing.T) {
	t.Parallel()
	at := func(change, marketCap *float64) source.Doc {
		doc := &source.MarketsDoc{}
		for _, id := range []string{"tether", "wrapped-bitcoin", ""} { // never looked at
			doc.Coins = append(doc.Coins, source.Coin{ID: id, Name: id, Price: 1, Change24h: ptr(99.0), MarketCap: ptr(1e12)})
		}
		doc.Coins = append(doc.Coins, source.Coin{ID: "a-coin", Name: "A", Price: 1, Change24h: change, MarketCap: marketCap})
		return doc
	}
	large := ptr(1e9)
	flagTable{"move:a-coin", api.FlagPriceMove, "pct", "coingecko-markets", 1}.check(t, []flagCase{
		{"under the lower threshold", at(ptr(16.994), large), false, false, "", 0, ""},
		{"at the lower threshold", at(ptr(-17.0), large), false, true, api.SeverityNotice, -17, ""},
		{"between", at(ptr(19.994), large), false, true, api.SeverityNotice, 19.99, ""},
		{"at the threshold", at(ptr(20.0), large), true, true, api.SeverityNotice, 20, "A is up 20.0% in 24 hours"},
		{"rounded to the threshold", at(ptr(19.995), large), true, true, api.SeverityNotice, 20, ""},
		{"falling", at(ptr(-34.99), large), true, true, api.SeverityNotice, -34.99, "A is down 35.0% in 24 hours"},
		{"a warning", at(ptr(-35.0), large), true, true, api.SeverityWarning, -35, ""},
		{"never critical", at(ptr(5000.0), large), true, true, api.SeverityWarning, 5000, "A is up 5,000% in 24 hours"},
		{"large enough", at(ptr(50.0), ptr(100e6)), true, true, api.SeverityWarning, 50, ""},
		{"too small to rise", at(ptr(50.0), ptr(99.9e6)), false, true, api.SeverityWarning, 50, ""},
		unknownCase("unknown change", at(nil, large)),
		unknownCase("unknown market cap", at(ptr(50.0), nil)),
		{"gone from the list", &source.MarketsDoc{Coins: []source.Coin{{ID: "b", Price: 1}}}, false, false, "", 0, ""},
	})
}

func TestFastMoveFlags(t *testing.T) {
	t.Parallel()
	at := func(id string, change, marketCap *float64) source.Doc {
		doc := &source.MarketsDoc{}
		for _, never := range []string{"tether", "wrapped-bitcoin", ""} { // looked at
			doc.Coins = append(doc.Coins, source.Coin{ID: never, Name: never, Price: 1, Change1h: ptr(99.0), MarketCap: ptr(1e12)})
		}
		doc.Coins = append(doc.Coins, source.Coin{ID: id, Name: "A", Price: 1, Change1h: change, MarketCap: marketCap})
		return doc
	}
	large := ptr(1e9)
	flagTable{"fast:a-coin", api.FlagFastMove, "pct", "coingecko-markets", 1}.check(t, []flagCase{
		{"under the lower threshold", at("a-coin", ptr(5.994), large), false, false, "", 0, ""},
		{"at the lower threshold", at("a-coin", ptr(-6.0), large), false, true, api.SeverityNotice, -6, ""},
		{"between", at("a-coin", ptr(7.994), large), false, true, api.SeverityNotice, 7.99, ""},
		{"at the threshold", at("a-coin", ptr(8.0), large), true, true, api.SeverityNotice, 8, "A is up 8.00% within an hour"},
		{"falling", at("a-coin", ptr(-14.99), large), true, true, api.SeverityNotice, -14.99, "A is down 15.0% within an hour"},
		{"a warning", at("a-coin", ptr(-15.0), large), true, true, api.SeverityWarning, -15, ""},
		{"never critical", at("a-coin", ptr(900.0), large), true, true, api.SeverityWarning, 900, ""},
		{"large enough", at("a-coin", ptr(9.0), ptr(100e6)), true, true, api.SeverityNotice, 9, ""},
		{"too small to rise", at("a-coin", ptr(9.0), ptr(99.9e6)), false, true, api.SeverityNotice, 9, ""},
		unknownCase("unknown change", at("a-coin", nil, large)),
		unknownCase("unknown market cap", at("a-coin", ptr(50.0), nil)),
	})
	flagTable{"fast:solana", api.FlagFastMove, "pct", "coingecko-markets", 1}.check(t, []flagCase{
		{"a major under the lower threshold", at("solana", ptr(2.994), large), false, false, "", 0, ""},
		{"a major at the lower threshold", at("solana", ptr(3.0), large), false, true, api.SeverityNotice, 3, ""},
		{"a major at the threshold", at("solana", ptr(-4.0), large), true, true, api.SeverityNotice, -4, ""},
		{"a major, a warning", at("solana", ptr(-8.0), large), true, true, api.SeverityWarning, -8, ""},
		{"a major, almost", at("solana", ptr(-7.99), large), true, true, api.SeverityNotice, -7.99, ""},
	})
}

func TestGasFlags(t *testing.T) {
	t.Parallel()
	at := func(fast *float64) source.Doc { return &source.GasDoc{Fast: fast, Average: ptr(1.0)} }
	flagTable{"gas:eth", api.FlagGasSpike, "gwei", "blockscout-gas", 18}.check(t, []flagCase{
		{"low", at(ptr(19.99)), false, false, "", 0, ""},
		{"at the lower threshold", at(ptr(20.0)), false, true, api.SeverityNotice, 20, ""},
		{"between", at(ptr(29.99)), false, true, api.SeverityNotice, 29.99, ""},
		{"at the threshold", at(ptr(30.0)), true, true, api.SeverityNotice, 30, "A fast transaction on Ethereum pays 30 gwei for gas"},
		{"almost a warning", at(ptr(99.99)), true, true, api.SeverityNotice, 99.99, ""},
		{"a warning", at(ptr(100.0)), true, true, api.SeverityWarning, 100, ""},
		unknownCase("unknown", at(nil)),
	})
}

func TestDropFlags(t *testing.T) {
	t.Parallel()
	at := func(change *float64, tvl float64) source.Doc {
		return &source.ProtocolsDoc{Protocols: []source.Protocol{
			{Slug: "a-lend", Name: "A Lend", TVL: tvl, Change1d: change}, {Name: "no slug", TVL: 1e9, Change1d: ptr(-50.0)},
		}}
	}
	flagTable{"tvl:a-lend", api.FlagTVLDrop, "pct", "defillama-protocols", 5}.check(t, []flagCase{
		{"a rise", at(ptr(50.0), 1e9), false, false, "", 0, ""},
		{"over the upper threshold", at(ptr(-7.99), 1e9), false, false, "", 0, ""},
		{"at the upper threshold", at(ptr(-8.0), 1e9), false, true, api.SeverityNotice, -8, ""},
		{"between", at(ptr(-9.99), 1e9), false, true, api.SeverityNotice, -9.99, ""},
		{"at the threshold", at(ptr(-10.0), 1e9), true, true, api.SeverityNotice, -10, "TVL of A Lend is down 10.0% in 24 hours, to $1.00B"},
		{"a warning", at(ptr(-20.0), 1e9), true, true, api.SeverityWarning, -20, ""},
		{"almost critical", at(ptr(-39.99), 1e9), true, true, api.SeverityWarning, -39.99, ""},
		{"critical", at(ptr(-40.0), 1e9), true, true, api.SeverityCritical, -40, ""},
		{"large enough before", at(ptr(-50.0), 12.5e6), true, true, api.SeverityCritical, -50, ""},
		{"too small before", at(ptr(-50.0), 12.49e6), false, true, api.SeverityCritical, -50, ""},
		{"everything, from nobody knows what", at(ptr(-100.0), 24e6), false, true, api.SeverityCritical, -100, ""},
		unknownCase("unknown change", at(nil, 1e9)),
	})
}

func TestExploitFlags(t *testing.T) {
	t.Parallel()
	at := func(amount *float64, ago time.Duration) source.Doc {
		return &source.HacksDoc{Hacks: []source.Hack{{Name: "A & B (Lend)", Technique: "Rounding Error", Amount: amount, Date: now.Add(-ago)}}}
	}
	const week = 7 * 24 * time.Hour
	today := flagTable{"exploit:a-b-lend:2026-11-20", api.FlagExploit, "usd", "defillama-hacks", 8}
	today.check(t, []flagCase{
		{"too small", at(ptr(999_999.4), 0), false, false, "", 0, ""},
		{"a warning", at(ptr(1e6), 0), true, true, api.SeverityWarning, 1e6, "A & B (Lend): $1.00M loss reported (rounding error)"},
		{"almost critical", at(ptr(24.9e6), 0), true, true, api.SeverityWarning, 24.9e6, ""},
		{"critical", at(ptr(25e6), 0), true, true, api.SeverityCritical, 25e6, ""},
		unknownCase("unknown amount", at(nil, 0)),
	})
	old := today
	old.id = "exploit:a-b-lend:2026-11-13"
	old.check(t, []flagCase{
		{"a week old", at(ptr(25e6), week), true, true, api.SeverityCritical, 25e6, ""},
		{"older", at(ptr(25e6), week+1), false, false, "", 0, ""},
	})
}

func TestSentimentFlags(t *testing.T) {
	t.Parallel()
	at := func(values ...int) source.Doc {
		doc := &source.FearGreedDoc{}
		for _, v := range values {
			doc.Days = append(doc.Days, source.FearGreedDay{Value: v, Label: "So", At: now})
		}
		return doc
	}
	fng := flagTable{"sentiment:fng", api.FlagSentiment, "index", "alternativeme-fng", 10}
	fng.check(t, []flagCase{
		{"fear", at(24, 90), true, true, api.SeverityNotice, 24, "Fear & Greed stands at 24 (So)"},
		{"no fear", at(25, 10), false, false, "", 0, ""},
		{"no greed", at(75), false, false, "", 0, ""},
		{"greed", at(76), true, true, api.SeverityNotice, 76, ""},
		unknownCase("no day", at()),
	})
	for value, threshold := range map[int]float64{24: 24, 76: 76} {
		if _, s := compact(t, only(map[string]source.Doc{fng.source: at(value)})); s.Flags[0].Threshold != threshold {
			t.Errorf("%d: threshold %v", value, s.Flags[0].Threshold)
		}
	}
}

func TestFeeFlags(t *testing.T) {
	t.Parallel()
	at := func(fee *float64) source.Doc { return &source.FeesDoc{Fastest: fee} }
	flagTable{"fees:btc", api.FlagFeeSpike, "sat/vB", "mempool-fees", 16}.check(t, []flagCase{
		{"low", at(ptr(34.99)), false, false, "", 0, ""},
		{"at the lower threshold", at(ptr(35.0)), false, true, api.SeverityNotice, 35, ""},
		{"between", at(ptr(49.99)), false, true, api.SeverityNotice, 49.99, ""},
		{"at the threshold", at(ptr(50.0)), true, true, api.SeverityNotice, 50, "The next Bitcoin block costs 50 sat/vB"},
		unknownCase("unknown", at(nil)),
	})
}

func TestDivergenceFlags(t *testing.T) {
	t.Parallel()
	f := flagTable{"divergence:bitcoin", api.FlagDivergence, "pct", "", 15}
	prev := wasUp(t, f.id)
	for _, c := range []struct {
		flagCase
		kraken, gecko float64
	}{
		{flagCase{"near", nil, false, false, "", 0, ""}, 100.59, 100},
		{flagCase{"at the lower threshold", nil, false, true, api.SeverityWarning, -0.6, ""}, 99.4, 100},
		{flagCase{"between", nil, false, true, api.SeverityWarning, 0.99, ""}, 100.99, 100},
		{flagCase{"at the threshold", nil, true, true, api.SeverityWarning, 1, "Kraken quotes Bitcoin 1.00% above CoinGecko"}, 101, 100},
		{flagCase{"below", nil, true, true, api.SeverityWarning, -10, "Kraken quotes Bitcoin 10.00% below CoinGecko"}, 90, 100},
		{unknownCase("unknown", nil), 90, 0},
	} {
		in := only(map[string]source.Doc{
			"kraken-ticker":     &source.TickerDoc{Pairs: []source.Ticker{{CoinID: "dogecoin", Price: 9}, {CoinID: "bitcoin", Price: c.kraken}}},
			"coingecko-markets": &source.MarketsDoc{Coins: []source.Coin{{ID: "dogecoin", Price: 1}, {ID: "bitcoin", Price: c.gecko}, {ID: "solana", Price: 5}}},
		})
		f.checkFlag(t, in, c.flagCase, c.raised, now)
		for _, stale := range []string{"kraken-ticker", "coingecko-markets"} {
			f.checkFlag(t, with(in, stale, func(r *pack.Reading) { r.Failures = 1 }), c.flagCase, false, now)
		}
		in.Prev = read(prev)
		f.checkFlag(t, in, c.flagCase, c.held, now.Add(-time.Hour))
	}
}

func TestDivergenceFlagsAreOfThreeCoins(t *testing.T) {
	t.Parallel()
	markets, ticker := &source.MarketsDoc{}, &source.TickerDoc{}
	for _, id := range []string{"bitcoin", "ethereum", "solana", "binancecoin", "ripple", "dogecoin"} {
		markets.Coins = append(markets.Coins, source.Coin{ID: id, Price: 1})
		ticker.Pairs = append(ticker.Pairs, source.Ticker{CoinID: id, Price: 2})
	}
	_, s := compact(t, only(map[string]source.Doc{"coingecko-markets": markets, "kraken-ticker": ticker}))
	if got, want := ids(s), []string{"divergence:bitcoin", "divergence:ethereum", "divergence:solana"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
