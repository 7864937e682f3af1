package manifest_test

import (
	"testing"

	"github.com/contextd/contextd/sdk/api"
)

// TestPerpsQuestions asks the recorded data what agents and people ask.
func TestPerpsQuestions(t *testing.T) {
	t.Parallel()
	ask(t, api.PackPerps, map[string]string{
		"ratio of the options open interest of bitcoin to that of ether": "missing ratio no_such_field",
		"highest and lowest funding rate on bybit": "funding/MORPHO/Bybit funding8hPct; funding/ZEC/Bybit funding8hPct; " +
			"funding/FARTCOIN/Bybit funding8hPct; funding/PUMP/Bybit funding8hPct; funding/BNB/Bybit funding8hPct; " +
			"funding/SOL/Bybit funding8hPct",
		"oi change in the last hour of btc":                          "missing change no_such_field",
		"which coin has the most negative and most positive funding": "perp/MORPHO funding1hPct; perp/TRUMP funding1hPct",
		"share of binance in btc funding":                            "missing share no_such_field",
		"hyperliquid share of perp open interest":                    "missing share no_such_field",
		"tasa de financiación de bitcoin": "funding/BTC/Hyperliquid funding8hPct fundingAnnualPct; " +
			"funding/BTC/Bybit funding8hPct fundingAnnualPct; funding/BTC/Binance funding8hPct fundingAnnualPct",
		"eth/btc ratio":  "missing eth btc ambiguous",
		"dvol eth hi/lo": "volatility/ETH dvolPct high24hPct low24hPct",
		"perps with openInterestUsd > 50M and funding1hPct < 0": "perp/SOL funding1hPct openInterestUsd; perp/PUMP funding1hPct openInterestUsd",
		"perps with premiumPct > 0.03 and volume24hUsd >= 50M":  "perp/ZEC volume24hUsd premiumPct",
		"bybit funding rate of bitcoin":                         "funding/BTC/Bybit funding8hPct fundingAnnualPct",
		"btc hourly funding":                                    "perp/BTC funding1hPct",
		"btc mark price and hourly funding":                     "perp/BTC markUsd funding1hPct",
		"eth implied vol and put/call":                          "volatility/ETH dvolPct; options/ETH putCall",
		"eth options puts to calls":                             "options/ETH putCall",
		"btc funding": "funding/BTC/Hyperliquid funding8hPct fundingAnnualPct; " +
			"funding/BTC/Bybit funding8hPct fundingAnnualPct; funding/BTC/Binance funding8hPct fundingAnnualPct",
		"what is bitcoin's funding rate?": "funding/BTC/Hyperliquid funding8hPct fundingAnnualPct; " +
			"funding/BTC/Bybit funding8hPct fundingAnnualPct; funding/BTC/Binance funding8hPct fundingAnnualPct",
		"bybit btc 8 hour funding":                                 "funding/BTC/Bybit funding8hPct fundingAnnualPct",
		"is the implied volatility of ether above that of bitcoin": "volatility/ETH dvolPct; volatility/BTC dvolPct",
		"biggest gainer in perps":                                  "perp/ZEC change24hPct; perp/VIRTUAL change24hPct; perp/JTO change24hPct",
		"who's paying the most negative hourly funding":            "perp/TRUMP funding1hPct payer",
		"tao perp: mark, open interest, hourly funding":            "perp/TAO funding1hPct openInterestUsd markUsd",
		"which coin has the most open interest":                    "perp/BTC openInterestUsd",
		"btc funding on binance":                                   "funding/BTC/Binance funding8hPct fundingAnnualPct",
		"solana funding at bybit":                                  "funding/SOL/Bybit funding8hPct fundingAnnualPct",
		"highest funding": "funding/MORPHO/Hyperliquid funding8hPct; funding/MORPHO/Bybit funding8hPct; " +
			"funding/ZEC/Hyperliquid funding8hPct",
		"lowest funding": "funding/TRUMP/Hyperliquid funding8hPct; funding/PUMP/Hyperliquid funding8hPct; " +
			"funding/PUMP/Bybit funding8hPct",
		"when is the next eth funding": "funding/ETH/Hyperliquid funding8hPct fundingAnnualPct settlesAt; " +
			"funding/ETH/Bybit funding8hPct fundingAnnualPct settlesAt; funding/ETH/Binance funding8hPct fundingAnnualPct settlesAt",
		"highest open interest perp and the lowest":           "perp/BTC openInterestUsd; perp/STX openInterestUsd",
		"ETH open interest":                                   "perp/ETH openInterestUsd",
		"is btc open interest up today":                       "missing up of open interest no_such_field", // of which the day is not known
		"ether perp open interest, what did it do in 2 hours": "missing perp/ETH not_kept, perp not_kept",  // which there is no past of here
		"did btc open interest go up":                         "missing go up no_such_field",
		"SOL oi":                                              "perp/SOL openInterestUsd",
		"total open interest":                                 "venue/total openInterestUsd",
		"largest open interest":                               "perp/BTC openInterestUsd; perp/ETH openInterestUsd; perp/SOL openInterestUsd",
		"hyperliquid open interest":                           "venue/hyperliquid-perps openInterestUsd",
		"largest perp exchanges": "venue/hyperliquid-perps openInterestUsd; venue/aster-perps openInterestUsd; " +
			"venue/lighter-perps openInterestUsd",
		"implied volatility":                    "volatility/BTC dvolPct; volatility/ETH dvolPct",
		"btc implied volatility":                "volatility/BTC dvolPct",
		"eth dvol":                              "volatility/ETH dvolPct",
		"how much has bitcoin volatility moved": "volatility/BTC dvolPct change24hPct",
		"eth put call ratio":                    "options/ETH putCall",
		"btc options open interest":             "options/BTC openInterestUsd",
		"bitcoin strikes":                       "options/BTC strikeCallsUsd strikePutsUsd",
		"who pays on zcash":                     "perp/ZEC payer markUsd",
		"pepe price":                            "perp/kPEPE markUsd",
		"p/c btc":                               "options/BTC putCall",
		"dollar open interest of btc options":   "options/BTC openInterestUsd",
		"notional of eth perps":                 "perp/ETH openInterestUsd",
		"spot price of bitcoin":                 "missing spot unknown_word",
		"xrp":                                   "perp/XRP",
		"doge premium":                          "perp/DOGE premiumPct",
		"ethereum volume":                       "perp/ETH volume24hUsd",
		"how much is zcash up today":            "perp/ZEC change24hPct",
		"avalanche apr": "funding/AVAX/Binance fundingAnnualPct; funding/AVAX/Bybit fundingAnnualPct; " +
			"funding/AVAX/Hyperliquid fundingAnnualPct",
		"top gainers": "perp/ZEC change24hPct; perp/VIRTUAL change24hPct; perp/JTO change24hPct",
		"aster":       "venue/aster-perps",
		"matic":       "missing matic unknown_word",
	})
}

// TestPerpsValues: the units of the sources become one, and what is missing is left out.
func TestPerpsValues(t *testing.T) {
	t.Parallel()
	values(t, api.PackPerps, 1, map[string]string{
		"perp/BTC funding1hPct": "0.0013", "perp/BTC payer": "longs", "perp/BTC openInterestUsd": "2.873569969e+09",
		"perp/BTC markUsd":                 "91220",
		"perp/kPEPE markUsd":               "4.621e-06", // the contract is over 1,000
		"perp/GALA premiumPct":             "<nil>",     // null
		"perp/MATIC markUsd":               "no row",    // delisted
		"funding/BTC/Binance funding8hPct": "0.0084", "funding/BTC/Hyperliquid funding8hPct": "0.0105",
		"funding/ZEC/Bybit funding8hPct": "0.0592", "funding/ZEC/Bybit intervalHours": "4",
		"funding/HYPE/Binance funding8hPct": "no row", // null
		"funding/BTC/Binance settlesAt":     "2026-11-21 00:00:00 +0000 UTC",
		"volatility/BTC dvolPct":            "49.82", "volatility/BTC change24hPct": "8.54",
		"options/BTC putCall": "0.68", "options/BTC strikeCallsUsd": "100000",
		"options/ETH strikePutsUsd": "2800", "venue/total openInterestUsd": "1.264e+10", "venue/paradex change24hPct": "<nil>",
		"venue/unknown-oi openInterestUsd": "no row", "venue/sunset-perps openInterestUsd": "no row",
	})
}

// TestPerpsFlags: flags rise and fall.
func TestPerpsFlags(t *testing.T) {
	t.Parallel()
	raises(t, api.PackPerps, [][]string{
		nil,
		{"funding_extreme:ZEC", "oi_jump:VIRTUAL", "volatility_jump:BTC"},
		{"funding_extreme:TRUMP"},
	})
}
