package manifest_test

import (
	"strings"
	"testing"

	"github.com/contextd/contextd/sdk/api"
)

// TestDollars: what a dollar is in a currency is asked in many ways; the other way round, an amount and another currency are not it.
func TestDollars(t *testing.T) {
	t.Parallel()
	ask(t, api.PackMarkets, map[string]string{
		"how many yen do I get for a dollar these days":          "fx/USDJPY",
		"how many rupees is a dollar buying right now":           "fx/USDINR",
		"one dollar how many swiss franc":                        "fx/USDCHF",
		"lira per dollar":                                        "fx/USDTRY",
		"dollar to korean won exchange rate":                     "fx/USDKRW rate",
		"dollar to koraen won exchagne rate":                     "spelling: fx/USDKRW rate",
		"dollar to russian won":                                  "missing russian unknown_word",
		"how many Mexican pesos each of those dollars would buy": "fx/USDMXN",
		"for a dollar I get how many swiss francs":               "fx/USDCHF",
		"How stands the dollar against the swiss franc":          "fx/USDCHF",
		"how many roubles to the dollar":                         "missing roubles unknown_word, dollar unknown_word",
		"how many euros for a dollar":                            "missing euros unknown_word",
		"yen per euro":                                           "missing per unknown_word",
	})
}

// TestAmounts: what an amount of a currency is in dollars, and of dollars in a currency, is told beside the rate, and what so many tokens
// cost beside their price. Another currency is not it.
func TestAmounts(t *testing.T) {
	t.Parallel()
	ask(t, api.PackMarkets, map[string]string{
		"for 20 dollars I get how many swiss francs":                               "fx/USDCHF rate; worth:rate of 20: 16.062",
		"100 dollars in yen":                                                       "fx/USDJPY rate; worth:rate of 100: 15192",
		"how many yen for 20 dollars":                                              "fx/USDJPY rate; worth:rate of 20: 3038.4",
		"how many euros is 500 dollars":                                            "fx/EURUSD rate; worth:rate of 500: 431.444",
		"500 yen in dollars":                                                       "fx/USDJPY rate; worth:rate of 500: 3.29121",
		"200 canadian dollars in us dollars":                                       "fx/USDCAD rate; worth:rate of 200: 143.947",
		"50 thousand rupees of India in dollars":                                   "fx/USDINR rate; worth:rate of 50000: 566.803",
		"two hundred euros in my pocket, what's that in dollars":                   "fx/EURUSD rate; worth:rate of 200: 231.78",
		"I'm about to wire her 2,000 dollars and wonder how many zloty that makes": "fx/USDPLN rate; worth:rate of 2000: 7342.2",
		"500 euros in pounds":                                                      "missing 500 unknown_word, euros unknown_word, pounds unknown_word",
		"100 dollars in gold":                                                      "missing 100 dollars unknown_word, gold unknown_word",
	})
	ask(t, api.PackAI, map[string]string{
		"what do 2 million input tokens cost on gpt-5":     "model/openai/gpt-5 promptPerMillionUsd; worth:promptPerMillionUsd of 2e+06: 2.6",
		"how much would 500k output tokens of grok 4 cost": "model/x-ai/grok-4 completionPerMillionUsd; worth:completionPerMillionUsd of 500000: 7.75",
		"cost of 3 million tokens on grok 4":               "model/x-ai/grok-4 promptPerMillionUsd completionPerMillionUsd; worth:completionPerMillionUsd of 3e+06: 46.5; worth:promptPerMillionUsd of 3e+06: 9.3",
		"gpt-5 with 400k tokens context":                   "missing 400k unknown_word",
	})
}

// TestWhichFieldIsCompared: a bound is of the field that all words for it name, it may be below zero, and the biggest of what has no size is
// asked back.
func TestWhichFieldIsCompared(t *testing.T) {
	t.Parallel()
	annual := "funding/MORPHO/Hyperliquid funding8hPct fundingAnnualPct; funding/MORPHO/Bybit funding8hPct fundingAnnualPct"
	ask(t, api.PackPerps, map[string]string{
		"funding above 100% annual":                  annual,
		"which coins have funding above 100% a year": annual,
		"annual funding above 100%":                  annual,
		"coins with annual funding below -7%": "funding/BNB/Hyperliquid funding8hPct fundingAnnualPct; " +
			"funding/DOT/Hyperliquid funding8hPct fundingAnnualPct; funding/PUMP/Bybit funding8hPct fundingAnnualPct",
		"perps with hourly funding below -0.001%": "perp/PUMP funding1hPct; perp/TRUMP funding1hPct",
		"perps with higher funding than btc":      "perp/HYPE funding1hPct; perp/XRP funding1hPct; perp/ZEC funding1hPct",
		"funding of the biggest perp":             "perp/BTC funding1hPct",
		"funding of the biggest perp on binance":  "missing binance no_such_field",
	})
	ask(t, api.PackAI, map[string]string{
		"biggest context under 1 dollar": "model/x-ai/grok-4-fast contextTokens promptPerMillionUsd; " +
			"model/google/gemini-2.5-flash-lite contextTokens promptPerMillionUsd; model/google/gemini-2.5-flash contextTokens promptPerMillionUsd",
		"most downloaded model":                     "trending_model/MiniMaxAI/MiniMax-M2 downloads",
		"output cost of grok 4":                     "model/x-ai/grok-4 completionPerMillionUsd",
		"output price of the longest context model": "model/x-ai/grok-4-fast completionPerMillionUsd contextTokens",
	})
	ask(t, api.PackMarkets, map[string]string{
		"which yields are higher than the 10 year": "yield/30y yieldPct; yield/3m yieldPct; yield/6m yieldPct",
		"when is cpi out":                          "release/2026-12-10-consumer-price-index dueAt",
		"when was cpi last published":              "missing was no_such_moment",
	})
}

// TestEnds: what comes first or last of a kind is one row or several, as the kind is said, and what performs is what moves.
func TestEnds(t *testing.T) {
	t.Parallel()
	ask(t, api.PackMarkets, map[string]string{
		"which maturity yields the most":                     "yield/30y yieldPct",
		"which maturity yields the most and which the least": "yield/30y yieldPct; yield/3y yieldPct",
		"when is ppi out":                                    "release/2026-12-11-producer-price-index dueAt",
		"which maturities yield the most":                    "yield/30y yieldPct; yield/20y yieldPct; yield/3m yieldPct",
		"which fx pair is the worst performer":               "fx/USDPLN change1dPct",
		"which fx pair is the best performing":               "fx/USDISK change1dPct",
	})
}

// TestLeftOutTogether: what is joined to a thing that is left out is left out too, and the name of a kind that is its figure asks for that.
func TestLeftOutTogether(t *testing.T) {
	t.Parallel()
	ask(t, api.PackPerps, map[string]string{
		"perps besides btc and eth with over 100m oi": "perp/SOL openInterestUsd; perp/HYPE openInterestUsd; perp/XRP openInterestUsd",
		"funding of perps besides btc and eth with over 100m oi": "perp/SOL funding1hPct openInterestUsd; perp/HYPE funding1hPct openInterestUsd; " +
			"perp/XRP funding1hPct openInterestUsd",
		"how much carry on zec at hyperliquid": "missing carry unknown_word",
		"perps with hourly funding below zero": "perp/SOL funding1hPct; perp/PUMP funding1hPct; " +
			"perp/AAVE funding1hPct",
		"put/call ratio and open interest of btc options":                     "options/BTC putCall openInterestUsd",
		"put/call ratio of btc options and their outstanding open interest":   "options/BTC putCall openInterestUsd",
		"open interest of all the perp exchanges put together":                "venue/total openInterestUsd",
		"open interest all perp venues added up":                              "venue/total openInterestUsd",
		"combined open interest of perps and exchanges":                       "missing total no_such_field",
		"implied volatility of ether on Deribit and its change over 24 hours": "volatility/ETH dvolPct change24hPct",
	})
}

// TestSlipsOfNames: words of names and of titles that are written wrong are read beside those that are written right.
func TestSlipsOfNames(t *testing.T) {
	t.Parallel()
	ask(t, api.PackAI, map[string]string{
		"how long a contxt does Kimi K2 Thinkng take":  "spelling: model/moonshotai/kimi-k2-thinking contextTokens",
		"how long a context does Kimi K9 Thinkng take": "missing kimi unknown_word, k9 unknown_word, thinkng unknown_word",
	})
	ask(t, api.PackPerps, map[string]string{
		"how much carry on zec at hyperliquid":           "missing carry unknown_word",
		"annaul funding percent of TRUMP on Hyperliqiud": "spelling: funding/TRUMP/Hyperliquid funding8hPct fundingAnnualPct",
		"two perps with the lowset hourly fundng":        "spelling: perp/TRUMP funding1hPct; spelling: perp/PUMP funding1hPct",
	})
}

// TestSpreads: the spread of two yields is the row of both, where there is one.
func TestSpreads(t *testing.T) {
	t.Parallel()
	ask(t, api.PackMarkets, map[string]string{
		"spread between three-month and ten-year yields":                             "yield/3m10y spreadBp",
		"Three-month versus ten-year Treasury spread in basis points":                "yield/3m10y spreadBp movedBp",
		"Spread of the 10-year over the 3-month bill in basis points":                "yield/3m10y spreadBp movedBp",
		"how many bps between twos and tens":                                         "yield/2s10s spreadBp",
		"gap between the 2-year and the 5-year":                                      "yield/2y yieldPct; yield/5y yieldPct",
		"Headline against core consumer inflation, what are they":                    "missing core consumer inflation not_kept",
		"vix last + chg on day":                                                      "volatility/VIX level change1dPct",
		"spread of the 10 year over the 5 year":                                      "missing 10 year ambiguous",
		"two-year and ten-year yields":                                               "yield/2y; yield/10y yieldPct",
		"Treasury yields at the two-, ten- and thirty-year points":                   "yield/2y yieldPct; yield/10y yieldPct; yield/30y yieldPct",
		"how far is the vix up or dn on the day":                                     "volatility/VIX change1dPct",
		"SOFR and the effective fed funds rate":                                      "reference_rate/SOFR; reference_rate/EFFR ratePct",
		"how many norwegian kroner does one dollar buy":                              "fx/USDNOK",
		"how many francs of Switzerland for one dollar":                              "fx/USDCHF",
		"how many rupees of Pakistan for one dollar":                                 "missing rupees unknown_word, pakistan unknown_word",
		"will the fed publish a cut":                                                 "missing will unknown_word, cut unknown_word, publish unknown_word",
		"does the six-month bill yield more than the one-year":                       "yield/6m yieldPct; yield/1y yieldPct",
		"count of treasury maturities yielding over 4.2%":                            "yield/30y; yield/20y",
		"Annual rate of core consumer price inflation":                               "indicator/core-cpi change12mPct",
		"when will the next employment situation report be published":                "release/2026-12-04-employment-situation dueAt",
		"on what day will the next employment situation be published":                "release/2026-12-04-employment-situation dueAt",
		"when does the next meeting of the Federal Open Market Committee take place": "release/2026-12-09-fomc-meeting dueAt",
	})
}

// TestPricesOfModels: a bound is of the price that stands beside it, whichever of its words says which, and of the other where none does.
func TestPricesOfModels(t *testing.T) {
	t.Parallel()
	cheap := "model/meta-llama/llama-3.1-8b-instruct promptPerMillionUsd completionPerMillionUsd; " +
		"model/mistralai/mistral-nemo promptPerMillionUsd completionPerMillionUsd"
	ask(t, api.PackAI, map[string]string{
		"any models under 5 cents per million output":      cheap,
		"models whose output price is below 0.05 dollars":  strings.ReplaceAll(cheap, " promptPerMillionUsd", ""),
		"models cheaper than 5 cents per million output":   strings.ReplaceAll(cheap, " promptPerMillionUsd", ""),
		"models with a context of 32000 tokens or less":    "model/microsoft/phi-4 contextTokens maxOutputTokens",
		"models with no more than 32k context":             "model/microsoft/phi-4 contextTokens",
		"models cheaper than GPT-5":                        "missing cheaper than gpt 5 ambiguous",
		"Which paper have people upvoted the most?":        "paper/2611.99101 upvotes",
		"the research paper with the highest upvote tally": "paper/2611.99101 upvotes",
	})
}

// TestToldBefore: what is told before a question says nothing of it, but for the thing and the venue that it goes back to.
func TestToldBefore(t *testing.T) {
	t.Parallel()
	ask(t, api.PackAI, map[string]string{
		"Our vector index rebuild fell over this afternoon, and before I go blaming our own code I'd like to know if OpenAI's " +
			"embeddings service has any trouble.": "service/openai/embeddings status",
		"Glad the chat is fine. Is Sora having problems, though?":                        "service/openai/sora status",
		"is claude dot ai down or is it just my wifi being dumb again":                   "service/anthropic/claude-ai status",
		"My students wrote 300 essays over the summer; is Sora having any issues":        "service/openai/sora status",
		"We intend to feed long contracts to Llama 4 Scout and wish to know its context": "model/meta-llama/llama-4-scout contextTokens",
	})
	ask(t, api.PackPerps, map[string]string{
		"My cousin is long SOL on Bybit, what is the annual funding there?":             "funding/SOL/Bybit funding8hPct fundingAnnualPct",
		"My cousin is long SOL on Bybit, what is the annual funding?":                   "missing cousin unknown_word, long unknown_word",
		"My cousin is long SOL on Bybit and ETH on Binance; what is the funding there?": "missing cousin unknown_word, long unknown_word",
	})
	ask(t, api.PackMarkets, map[string]string{
		"My wife and I fly to Cancun with two thousand dollars, so I wonder how many Mexican pesos a dollar buys.": "fx/USDMXN rate; worth:rate of 2000: 36654",
		"My parents retire to Osaka next spring, so I wonder how many yen a dollar buys.":                          "fx/USDJPY",
		"My parents retire to Osaka, so I wonder how many yen a euro buys.": "missing parents unknown_word, retire unknown_word, osaka unknown_word, " +
			"buys unknown_word, how many no_such_field",
	})
}

// TestOfIt: what goes back to a thing by a preposition is of that thing, or of none; so long from now on is no figure of so long.
func TestOfIt(t *testing.T) {
	t.Parallel()
	ask(t, api.PackPerps, map[string]string{
		"ETH perp mark and the 8h funding Hyperliquid shows for it": "perp/ETH markUsd; funding/ETH/Hyperliquid funding8hPct fundingAnnualPct",
		"ETH perp mark and the 8h funding of hyperliquid": "perp/ETH markUsd; funding/MORPHO/Hyperliquid funding8hPct fundingAnnualPct; " +
			"funding/ZEC/Hyperliquid funding8hPct fundingAnnualPct; funding/FARTCOIN/Hyperliquid funding8hPct fundingAnnualPct",
		// a list of venues ends with one that is a name too
		"btc funding at Binance, Bybit and Hyperliquid, and the BTC mark price": "missing mark no_such_field, price no_such_field",
	})
	ask(t, api.PackMarkets, map[string]string{
		"inflation a year from now": "missing year from now no_such_moment",
		"vix two weeks from today":  "missing weeks from today no_such_moment",
		"inflation over a year":     "indicator/cpi change12mPct",
	})
}

// TestUsual: a thing moves by its price, also where another figure of it is told first.
func TestUsual(t *testing.T) {
	t.Parallel()
	tables := tablesAt(t, api.PackPerps, 1)
	for q, want := range map[string]string{
		"how much has HYPE moved the last 2h":     "markUsd",
		"HYPE perp 2 hours ago":                   "markUsd",
		"how much has btc dvol moved the last 2h": "dvolPct",
	} {
		read := tables.Read(q, "", 3)
		if len(read.Parts) != 1 || len(read.Parts[0].Query.Fields) != 1 || read.Parts[0].Query.Fields[0] != want {
			t.Errorf("%q is read as %+v, missing %v, want %s", q, read.Parts, read.Missing, want)
		}
	}
}

// TestBothConditions: what is joined to a condition is one too, a venue at the end is that of both things, and of several libraries each has
// its newest release.
func TestBothConditions(t *testing.T) {
	t.Parallel()
	ask(t, api.PackPerps, map[string]string{
		"funding for bitcoin and ethereum on hyperliquid":                      "funding/BTC/Hyperliquid funding8hPct fundingAnnualPct; funding/ETH/Hyperliquid funding8hPct fundingAnnualPct",
		"richest annualised funding on hyperliquid, top 3 coins":               "funding/MORPHO/Hyperliquid funding8hPct fundingAnnualPct; funding/ZEC/Hyperliquid funding8hPct fundingAnnualPct; funding/FARTCOIN/Hyperliquid funding8hPct fundingAnnualPct",
		"open interest of btc across all exchanges":                            "missing all exchanges no_such_field",
		"funding of btc on each venue":                                         "funding/BTC/Hyperliquid funding8hPct fundingAnnualPct venue; funding/BTC/Bybit funding8hPct fundingAnnualPct venue; funding/BTC/Binance funding8hPct fundingAnnualPct venue",
		"which perps trade over a billion a day":                               "perp/BTC volume24hUsd; perp/ETH volume24hUsd",
		"open interest of btc in coins":                                        "missing coins no_such_field",
		"open interest in options versus perps for btc":                        "missing perps ambiguous",
		"perps with volume over 500m and negative funding":                     "perp/SOL funding1hPct volume24hUsd",
		"which perp has the highest funding and how much open interest has it": "perp/MORPHO funding1hPct openInterestUsd",
	})
	ask(t, api.PackMarkets, map[string]string{
		"how much higher is the 10 year than the 2 year": "yield/2s10s spreadBp",
		"when was the last cpi release":                  "missing was no_such_moment",
	})
	ask(t, api.PackAI, map[string]string{
		"which model has the highest output price and what is its context": "model/openai/gpt-5-pro completionPerMillionUsd contextTokens",
		"price of gpt-5 for input":                       "model/openai/gpt-5 promptPerMillionUsd",
		"what does gpt-5 cost per million output tokens": "model/openai/gpt-5 completionPerMillionUsd",
		"gpt-5 price per million tokens":                 "model/openai/gpt-5 promptPerMillionUsd completionPerMillionUsd",
		"latest version of vllm and of transformers":     "release/vllm/v9.21.0 version; release/transformers/v95.2.0 version",
	})
}
