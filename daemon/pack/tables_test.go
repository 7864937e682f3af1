package pack_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/pack"
	"github.com/contextd/contextd/daemon/source"
	"github.com/contextd/contextd/internal/state"
)

// answers writes what a question finds: kind/key of each row with how it was found, unless that is sure, and the fields that are asked;
// or else what is missing.
func answers(t *state.Tables, q string) string {
	f := t.Lookup(q, "", 3)
	list := make([]string, 0, len(f.Rows))
	for _, r := range f.Rows {
		text := strings.TrimSpace(fmt.Sprintf("%s/%s %s", r.Kind, r.Key, strings.Join(r.Asked, " ")))
		if !r.Match.Sure() {
			text = string(r.Match) + ": " + text
		}
		list = append(list, text)
	}
	for name, sum := range f.Aggregates {
		if sum.Of > 0 {
			list = append(list, fmt.Sprintf("%s of %g: %.6g", name, sum.Of, *sum.Value))
		}
	}
	if len(list) > 0 {
		return strings.Join(list, "; ")
	}
	for _, m := range f.Missing {
		list = append(list, m.Word+" "+string(m.Why))
	}
	return "missing " + strings.Join(list, ", ")
}

// TestQuestions asks the recorded data what agents and people ask.
func TestQuestions(t *testing.T) {
	t.Parallel()
	tables := pack.Crypto().Tables(tick(t, 1))
	for q, want := range map[string]string{
		"ADA":                               "asset/cardano",
		"what is ADA at?":                   "asset/cardano",
		"ADA price":                         "asset/cardano priceUsd",
		"tether supply":                     "stablecoin/tether supplyUsd",
		"tether":                            "asset/tether",
		"bitcoin price":                     "asset/bitcoin priceUsd",
		"how much is the market cap of ETH": "asset/ethereum marketCapUsd",
		"usdc peg":                          "stablecoin/usd-coin priceUsd pegDeviationPct",
		"why is zcash up": "asset/zcash change24hPct; " +
			"headline/https://www.coindesk.com/markets/2026/11/20/synthetic-zcash-extends-rally-as-privacy-coins-lead-gainers",
		"doge 7d":                          "asset/dogecoin change7dPct",
		"The Graph":                        "asset/the-graph",
		"solana tvl":                       "chain/solana tvlUsd",
		"aave tvl":                         "protocol/aave-v3 tvlUsd",
		"aave":                             "asset/aave",
		"uniswap tvl":                      "protocol/uniswap-v3 tvlUsd; protocol/uniswap-v2 tvlUsd; protocol/uniswap-v4 tvlUsd",
		"tron":                             "asset/tron",
		"gas fees":                         "fee/ethereum averageGwei",
		"gas":                              "fee/ethereum",
		"eth gas price":                    "fee/ethereum averageGwei",
		"what is gas on ethereum":          "fee/ethereum averageGwei",
		"fees":                             "fee/bitcoin; fee/ethereum",
		"slow gas":                         "fee/ethereum slowGwei",
		"bitcoin fees":                     "fee/bitcoin",
		"btc dominance":                    "market/crypto btcDominancePct",
		"total market cap":                 "market/crypto marketCapUsd",
		"fear and greed":                   "index/fear-greed",
		"near price":                       "asset/near priceUsd",
		"bitcoin kraken price":             "venue/kraken/bitcoin priceUsd",
		"pepe pool":                        "pool/eth_0x3649d3d0603ac3eae709c3444473d8118a161e9c",
		"stablecoin supply":                "stablecoin_total/stablecoins supplyUsd",
		"kamino change this week":          "asset/kamino change7dPct",
		"morpho v1 total value locked":     "protocol/morpho-v1 tvlUsd",
		"how much did polkadot move today": "asset/polkadot change24hPct",
		"why is sui moving":                "asset/sui change1hPct change24hPct change7dPct",
		"ethereum dominance":               "market/crypto ethDominancePct",
		"btc network fee sat/vB":           "fee/bitcoin",
		"bitcoin transaction fee":          "fee/bitcoin",
		"bitcoin price at kraken":          "venue/kraken/bitcoin priceUsd",
		"fear and greed a week ago":        "index/fear-greed weekAgo",
		"bitcoin 100k odds":                "prediction/610000 probabilityPct",
		"bitcoin above 100,000":            "asset/bitcoin",
		"SOL/USDT":                         "asset/solana",
		"latest headline on bitcoin": "headline/https://www.coindesk.com/markets/2026/11/20/" +
			"synthetic-bitcoin-slips-below-92k-as-risk-assets-soften-into-the-weekend",
		"btc price yesterday at 9 p m": "missing asset/bitcoin not_kept, asset not_kept",
		"which chain is secnod by tvl": "spelling: chain/solana tvlUsd",
		"largest stablecoins":          "stablecoin/tether; stablecoin/usd-coin; stablecoin/ethena-usde",
		"biggest protocols by tvl":     "protocol/aave-v3 tvlUsd; protocol/lido tvlUsd; protocol/eigencloud tvlUsd",
		"top chains by tvl":            "chain/ethereum tvlUsd; chain/solana tvlUsd; chain/bsc tvlUsd",
		"top gainers":                  "asset/zcash change24hPct; asset/virtual-protocol change24hPct; asset/jito-governance-token change24hPct",
		"trending pools": "pool/base_0x8c2c87636343e228537e2019aa20c62afc32df8c211628dfc805baa5181e45fb position; " +
			"pool/base_0xcd7faf5e6c2ed53f2370dc84139faae1dccb6d74 position; " +
			"pool/solana_FxUX9q1nPWqyQhoMXCRUU6Uo3iC2RbhMJUuKcGyeA9q1 position",
		"losers":                                "asset/official-trump change24hPct; asset/celestia change24hPct; asset/raydium change24hPct",
		"solana gainers":                        "missing solana ambiguous",
		"aave chains":                           "protocol/aave-v3 chains",
		"average gas price on ethereum in gwei": "fee/ethereum averageGwei",
		"ethereum price":                        "asset/ethereum priceUsd",
		"cordano":                               "spelling: asset/cardano",
		"foo":                                   "missing foo unknown_word",
		"eth btc":                               "asset/ethereum; asset/bitcoin",
		"lido apy":                              "missing apy no_such_field",
		"news about Ethena":                     "missing ethena not_kept",
		"KMNO news":                             "missing kmno not_kept",
		"Polymarket deposits":                   "protocol/polymarket tvlUsd",
		"polymarket tvl":                        "protocol/polymarket tvlUsd",
		"polymarket":                            "prediction/610002; prediction/610000; prediction/610004",
		"uniswap tvl change": "protocol/uniswap-v3 tvlUsd change24hPct change7dPct; " +
			"protocol/uniswap-v2 tvlUsd change24hPct change7dPct; " +
			"protocol/uniswap-v4 tvlUsd change24hPct change7dPct",
		"uniswap change":              "asset/uniswap change1hPct change24hPct change7dPct",
		"uniswap":                     "asset/uniswap",
		"protocol volume":             "missing volume no_such_field",
		"top gainers this week":       "asset/zcash change7dPct; asset/dogecoin change7dPct; asset/spx6900 change7dPct",
		"weekly gainers":              "asset/zcash change7dPct; asset/dogecoin change7dPct; asset/spx6900 change7dPct",
		"total stablecoin supply":     "stablecoin_total/stablecoins supplyUsd",
		"total defi tvl":              "protocol/aave-v3; protocol/lido; protocol/eigencloud",
		"how much is locked in defi":  "protocol/aave-v3; protocol/lido; protocol/eigencloud",
		"defi tvl":                    "protocol/aave-v3; protocol/lido; protocol/eigencloud",
		"bitcoin supply":              "missing supply no_such_field",
		"solana supply":               "missing supply no_such_field",
		"coinbase eth price":          "venue/coinbase/ethereum priceUsd",
		"lido price":                  "asset/lido-dao priceUsd",
		"pump price":                  "missing pump unknown_word",
		"compound price":              "missing price no_such_field",
		"convex price":                "missing price no_such_field",
		"ether.fi price":              "missing price no_such_field",
		"base price":                  "missing price no_such_field",
		"crypto price":                "missing price ambiguous",
		"market price":                "missing price no_such_field",
		"how many coins are up today": "breadth/crypto advancing",
		"what coin is ranked 10":      "asset/cardano",
		"rank 10 coin":                "asset/cardano",
		"news from coindesk": "headline/https://www.coindesk.com/markets/2026/11/20/synthetic-bitcoin-slips-below-92k-as-risk-assets-soften-into-the-weekend; " +
			"headline/https://www.coindesk.com/markets/2026/11/20/synthetic-zcash-extends-rally-as-privacy-coins-lead-gainers; " +
			"headline/https://www.coindesk.com/markets/2026/11/20/synthetic-ether-etfs-log-third-straight-day-of-outflows",
		"meme coins":            "category/meme-token",
		"bitcoin all time high": "missing all time high no_such_field",
		"btc and eth price":     "asset/bitcoin priceUsd; asset/ethereum priceUsd",
		"btc & eth":             "asset/bitcoin; asset/ethereum",
		"ADA and XRP":           "asset/cardano; asset/ripple",
		"bitcoin vs ethereum":   "asset/bitcoin; asset/ethereum",
		"compare aave and uniswap tvl": "protocol/aave-v3 tvlUsd; protocol/uniswap-v3 tvlUsd; protocol/uniswap-v2 tvlUsd; " +
			"protocol/uniswap-v4 tvlUsd",
		"kraken btc price": "venue/kraken/bitcoin priceUsd",
		"recent hacks": "hack/2026-11-15 Synthetic Protocol 1; hack/2026-11-08 Synthetic Protocol 2; " +
			"hack/2026-10-30 Synthetic Protocol 3",
		"which chain has the most tvl": "chain/ethereum tvlUsd",
		"top 5 coins by market cap": "asset/bitcoin marketCapUsd; asset/ethereum marketCapUsd; asset/tether marketCapUsd; " +
			"asset/ripple marketCapUsd; asset/binancecoin marketCapUsd",
		"top 3 losers":                           "asset/official-trump change24hPct; asset/celestia change24hPct; asset/raydium change24hPct",
		"biggest losers in the last hour":        "asset/iota change1hPct; asset/ondo-finance change1hPct; asset/bittensor change1hPct",
		"which stablecoin is furthest below peg": "stablecoin/true-usd priceUsd pegDeviationPct",
		"is usdt still at a dollar":              "stablecoin/tether priceUsd",
		"odds bitcoin hits 100k":                 "words: prediction/610000 probabilityPct",
		"fed rate cut odds":                      "prediction/610002 probabilityPct",
		"is bitcoin up or down today":            "asset/bitcoin change24hPct",
		"what is trending": "pool/base_0x8c2c87636343e228537e2019aa20c62afc32df8c211628dfc805baa5181e45fb position; " +
			"pool/base_0xcd7faf5e6c2ed53f2370dc84139faae1dccb6d74 position; " +
			"pool/solana_FxUX9q1nPWqyQhoMXCRUU6Uo3iC2RbhMJUuKcGyeA9q1 position",
		"what happened to zcash today": "asset/zcash change24hPct; " +
			"headline/https://www.coindesk.com/markets/2026/11/20/synthetic-zcash-extends-rally-as-privacy-coins-lead-gainers",
		"most expensive coin":            "asset/bitcoin priceUsd",
		"newest coin":                    "missing newest no_such_field",
		"most recent hack":               "hack/2026-11-15 Synthetic Protocol 1",
		"gas an hour ago":                "missing ago unknown_word",
		"biggest coins that rose most":   "missing biggest coins that rose most ambiguous",
		"newest pool":                    "pool/bsc_0x40247890aa652b2b71a9eae1da99889f402a624a createdAt",
		"what percent of coins are down": "missing share no_such_field",
		"how much was lost in hacks": "hack/2026-11-15 Synthetic Protocol 1; " +
			"hack/2026-11-08 Synthetic Protocol 2; hack/2026-10-30 Synthetic Protocol 3", // with their sum
		"how much was lost":                                 "missing lost ambiguous",
		"most traded coin":                                  "asset/bitcoin volume24hUsd",
		"most valuable coin":                                "asset/bitcoin marketCapUsd",
		"biggest exchange":                                  "missing largest ambiguous",
		"strongest narrative":                               "missing strongest ambiguous",
		"solana max this week":                              "missing solana ambiguous",
		"what changed":                                      "missing change ambiguous",
		"bitcoin volume change":                             "missing change of volume no_such_field",
		"bitcoin volume and change":                         "asset/bitcoin change1hPct change24hPct change7dPct volume24hUsd",
		"spot price of bitcoin":                             "asset/bitcoin priceUsd",
		"how expensive is it to send bitcoin":               "fee/bitcoin fastestSatVb",
		"stellar lumens":                                    "asset/stellar",
		"cheapest of the top 20":                            "asset/dogecoin priceUsd",
		"top 5 without stablecoins":                         "asset/bitcoin; asset/ethereum; asset/ripple; asset/binancecoin; asset/solana",
		"coins but not stablecoins":                         "asset/bitcoin; asset/ethereum; asset/ripple",
		"largest coins, stablecoins excluded":               "asset/bitcoin; asset/ethereum; asset/ripple",
		"top 3 ex stables":                                  "asset/bitcoin; asset/ethereum; asset/ripple",
		"how big is tether these days":                      "asset/tether marketCapUsd",
		"how big is the crypto market":                      "market/crypto marketCapUsd",
		"how big was the last hack":                         "hack/2026-11-15 Synthetic Protocol 1 amountUsd",
		"when was the last hack":                            "hack/2026-11-15 Synthetic Protocol 1",
		"biggest loser of the biggest ten":                  "asset/tron change24hPct",
		"coins in the top 20 that fell more than 5%":        "asset/tron change24hPct; asset/chainlink change24hPct",
		"i think i need the btc price":                      "asset/bitcoin priceUsd",
		"i'd like bitcoin":                                  "asset/bitcoin",
		"how much is btc going for":                         "asset/bitcoin",
		"largest coin if we leave out bitcoin and ethereum": "asset/tether",
		"biggest coins but no stablecoins":                  "asset/bitcoin; asset/ethereum; asset/ripple",
		"growth of aave v3 tvl":                             "protocol/aave-v3 tvlUsd change24hPct",
		"bitcoin price, if it is not too much trouble":      "asset/bitcoin priceUsd",
		"how is btc going":                                  "asset/bitcoin",
		"change this week of kamino":                        "asset/kamino change7dPct",
		"bitcion price":                                     "spelling: asset/bitcoin priceUsd",
		"feer and greed":                                    "spelling: index/fear-greed",
		"feer price":                                        "missing feer unknown_word",
		"price frm bitcoin":                                 "asset/bitcoin priceUsd",
		"miner fee for bitcoin":                             "fee/bitcoin",
		"etherium price":                                    "spelling: asset/ethereum priceUsd",
		"uniswp tvl": "spelling: protocol/uniswap-v3 tvlUsd; spelling: protocol/uniswap-v2 tvlUsd; " +
			"spelling: protocol/uniswap-v4 tvlUsd",
		"price of btc and volume of eth":      "asset/bitcoin priceUsd; asset/ethereum volume24hUsd",
		"btc price and tether supply":         "asset/bitcoin priceUsd; stablecoin/tether supplyUsd",
		"lending tvl":                         "protocol/aave-v3 tvlUsd; protocol/morpho-v1 tvlUsd; protocol/sparklend tvlUsd",
		"lending protocols":                   "protocol/aave-v3; protocol/morpho-v1; protocol/sparklend",
		"not stablecoins":                     "missing not stablecoins unknown_word",
		"coins except bitcoin":                "asset/ethereum; asset/tether; asset/ripple",
		"btc 7d":                              "asset/bitcoin change7dPct",
		"btc price this week":                 "asset/bitcoin priceUsd change7dPct",
		"crypto market cap":                   "market/crypto marketCapUsd",
		"total crypto market cap":             "market/crypto marketCapUsd",
		"what is btc dominance":               "market/crypto btcDominancePct",
		"is the market up today":              "market/crypto change24hPct",
		"how much is BTC":                     "asset/bitcoin",
		"wie hoch ist der bitcoin preis":      "asset/bitcoin priceUsd",
		"prix de l'ethereum":                  "asset/ethereum priceUsd",
		"ビットコインの価格":                           "asset/bitcoin priceUsd",
		"select * from users":                 "missing select unknown_word",
		"btc gas":                             "missing gas no_such_field",
		"protocols with tvl above 10 billion": "protocol/aave-v3 tvlUsd; protocol/lido tvlUsd; protocol/eigencloud tvlUsd",
		"protocols tvl above $10,000,000,000": "protocol/aave-v3 tvlUsd; protocol/lido tvlUsd; protocol/eigencloud tvlUsd",
		"odds bitcoin trading above $100,000": "prediction/610000 probabilityPct",
		"coins up more than 10%":              "asset/zcash change24hPct; asset/virtual-protocol change24hPct",
		"eth/btc":                             "missing eth btc ambiguous",
		"btc 24h":                             "asset/bitcoin change24hPct",
		"is btc above 90000":                  "asset/bitcoin",
		"chainlink pirce":                     "spelling: asset/chainlink priceUsd",
		"biggest hacks":                       "hack/2025-02-21 Bybit amountUsd; hack/2022-03-23 Ronin amountUsd; hack/2021-08-10 Poly Network amountUsd",
		"hacks this week": "hack/2026-11-15 Synthetic Protocol 1; hack/2026-11-08 Synthetic Protocol 2; " +
			"hack/2026-10-30 Synthetic Protocol 3",
		"news today": "headline/https://www.coindesk.com/markets/2026/11/20/synthetic-bitcoin-slips-below-92k-as-risk-assets-soften-into-the-weekend; " +
			"headline/https://cointelegraph.com/news/synthetic-stablecoin-supply-holds-near-record-despite-price-pullback; " +
			"headline/https://decrypt.co/1043087/synthetic-tokenized-treasury-funds-pass-a-new-asset-milestone",
		"solana news": "headline/https://cointelegraph.com/news/synthetic-solana-dex-volumes-cool-after-memecoin-surge; " +
			"headline/https://www.coindesk.com/markets/2026/11/20/synthetic-solana-dex-volumes-cool-after-memecoin-surge",
		"bitcoin news": "headline/https://www.coindesk.com/markets/2026/11/20/synthetic-bitcoin-slips-below-92k-as-risk-assets-soften-into-the-weekend; " +
			"headline/https://decrypt.co/905037/synthetic-bitcoin-slips-below-92k-as-risk-assets-soften-into-the-weekend",
		"crypto news": "headline/https://www.coindesk.com/markets/2026/11/20/synthetic-bitcoin-slips-below-92k-as-risk-assets-soften-into-the-weekend; " +
			"headline/https://cointelegraph.com/news/synthetic-stablecoin-supply-holds-near-record-despite-price-pullback; " +
			"headline/https://decrypt.co/1043087/synthetic-tokenized-treasury-funds-pass-a-new-asset-milestone",
		"latest headlines": "headline/https://www.coindesk.com/markets/2026/11/20/synthetic-bitcoin-slips-below-92k-as-risk-assets-soften-into-the-weekend; " +
			"headline/https://cointelegraph.com/news/synthetic-stablecoin-supply-holds-near-record-despite-price-pullback; " +
			"headline/https://decrypt.co/1043087/synthetic-tokenized-treasury-funds-pass-a-new-asset-milestone",
		"top movers": "asset/zcash change24hPct; asset/virtual-protocol change24hPct; " +
			"asset/jito-governance-token change24hPct; asset/official-trump change24hPct; " +
			"asset/celestia change24hPct; asset/raydium change24hPct",
		"coins with volume above 1 billion": "asset/bitcoin volume24hUsd; asset/ethereum volume24hUsd; asset/tether volume24hUsd",
		"stablecoins":                       "stablecoin/tether; stablecoin/usd-coin; stablecoin/ethena-usde",
		"stablecoins below peg": "stablecoin/true-usd pegDeviationPct; stablecoin/frax pegDeviationPct; " +
			"stablecoin/usual-usd pegDeviationPct",
		"lowest market cap coin":         "asset/dydx-chain marketCapUsd",
		"best performing coin this week": "asset/zcash change7dPct",
		"pools on base": "pool/base_0x76b9b2e5a38b3a6e19ee35f6f7444ea8317704b6; " +
			"pool/base_0xcd7faf5e6c2ed53f2370dc84139faae1dccb6d74; " +
			"pool/base_0xc1abf1b653a1852fd86aacf0092b774341cb4755",
		"protocols on ethereum":                                          "protocol/aave-v3; protocol/lido; protocol/eigencloud",
		"lending protocols by tvl":                                       "protocol/aave-v3 tvlUsd; protocol/morpho-v1 tvlUsd; protocol/sparklend tvlUsd",
		"largest lending protocol":                                       "protocol/aave-v3",
		"market breadth":                                                 "breadth/crypto",
		"litcoin price":                                                  "spelling: asset/litecoin priceUsd",
		"what does one monero costing":                                   "asset/monero priceUsd",
		"what tanked hardest this week":                                  "asset/pendle change7dPct; asset/helium change7dPct; asset/dydx-chain change7dPct",
		"which exploit was the biggest ever":                             "hack/2025-02-21 Bybit amountUsd",
		"Kraken's quote for bitcoin next to Coinbase's":                  "venue/coinbase/bitcoin priceUsd; venue/kraken/bitcoin priceUsd",
		"which coins got smoked today":                                   "asset/official-trump change24hPct; asset/celestia change24hPct; asset/raydium change24hPct",
		"ether's slice of total crypto capitalisation":                   "market/crypto ethDominancePct",
		"what's the mood on fear and greed":                              "index/fear-greed value label",
		"what's going on over at kamino":                                 "asset/kamino change1hPct change24hPct change7dPct",
		"link or uni which one's bigger by mcap":                         "asset/chainlink marketCapUsd; asset/uniswap marketCapUsd",
		"is eth market cap above that of tether":                         "asset/ethereum marketCapUsd; asset/tether marketCapUsd",
		"is eth above tether":                                            "missing above unknown_word",
		"I am writing a newsletter and need to know the price of solana": "asset/solana priceUsd",
		"after yesterday I need to know the price of solana":             "missing after yesterday no_such_moment",
		"worst performer among the top 10":                               "asset/tron change24hPct",
		"stablecoins under 50 cents":                                     "missing ",
		"coins above 99 cents":                                           "asset/bitcoin; asset/ethereum; asset/tether",
		"strongest coin in 24h, zcash doesn't count":                     "asset/virtual-protocol change24hPct",
		"the number two hack by dollars":                                 "missing rank no_such_field",
		"biggest weekly winner but skip zcash":                           "asset/dogecoin change7dPct",
		"MOVE price":                                                     "missing move ambiguous, price ambiguous",
		"hello":                                                          "missing hello unknown_word",
		"what is the weather":                                            "missing weather unknown_word",
		"thank you":                                                      "missing thank you unknown_word",
		"who is the president":                                           "missing president unknown_word",
		"price":                                                          "missing price ambiguous",
		"bitcoin and gold price":                                         "missing gold unknown_word",
		"btc price in eur":                                               "missing eur unknown_word",
		"btc price in january":                                           "missing in january no_such_moment",
		"btc price a year ago":                                           "missing asset/bitcoin not_kept, asset not_kept",
		"bitcoin market cap rank":                                        "asset/bitcoin marketCapUsd rank",
		"number of chains":                                               "missing how many no_such_field",
		"dogecoin vs shiba inu 24h change":                               "asset/dogecoin change24hPct; asset/shiba-inu change24hPct",
	} {
		if got := answers(tables, q); got != want {
			t.Errorf("%q finds %s, want %s", q, got, want)
		}
	}
	for _, q := range []string{"solana news", "news about solana", "SOL headlines"} {
		for _, r := range tables.Lookup(q, "", 3).Rows {
			if r.Kind != "headline" || !strings.Contains(strings.ToLower(r.Name), "sol") || r.URL == "" {
				t.Errorf("%q finds %+v", q, r)
			}
		}
	}
}

// TestEveryCoinIsFound asks for every coin of the recorded data in five ways: of 500 questions, 95 in 100 must be right.
func TestEveryCoinIsFound(t *testing.T) {
	t.Parallel()
	tables := pack.Crypto().Tables(tick(t, 1))
	asked, right := 0, 0
	for _, r := range tables.Rows() {
		if r.Kind != "asset" {
			continue
		}
		for q, field := range map[string]string{
			r.Name: "", r.Symbol + " price": "priceUsd", "what is the market cap of " + r.Name + "?": "marketCapUsd",
			"how much is " + r.Symbol + " up today": "change24hPct", r.Key + " volume": "volume24hUsd",
		} {
			asked++
			f := tables.Lookup(q, "", 3)
			if len(f.Rows) > 0 && f.Rows[0].Key == r.Key && (field == "") == (len(f.Rows[0].Asked) == 0) &&
				(field == "" || slices.Contains(f.Rows[0].Asked, field)) {
				right++
			} else {
				t.Logf("%q finds %s", q, answers(tables, q))
			}
		}
	}
	if asked < 490 || right*100 < asked*95 {
		t.Errorf("%d of %d questions are right", right, asked)
	}
}

// TestFrames: what people say around a question changes nothing in how it is read.
func TestFrames(t *testing.T) {
	t.Parallel()
	tables := pack.Crypto().Tables(tick(t, 1))
	for plain, framed := range map[string][]string{
		"ADA price": {
			"I bought some ADA; what is its price", "I own ADA, what is its price and nothing else", "the price of a single ADA",
			"my loan is tied to ADA and I would like to know its price", "ADA price vs the dollar", "what ADA price should I expect to see",
			"ADA price expressed in dollars", "if I used ADA, what is its price",
		},
		"cardano market cap, polkadot market cap": {
			"I'm torn between cardano and polkadot; what are their market caps", "difference between cardano and polkadot market cap",
			"is there more market cap in cardano or polkadot", "relative size of cardano and polkadot by market cap",
		},
		"cardano 24h change, polkadot 24h change": {"cardano or polkadot, who is stronger today"},
		"bitcoin dominance": {
			"btc.d", "share of bitcoin in the total crypto market", "how much of the overall crypto market is made up of bitcoin, expressed as a percentage",
		},
		"solana tvl":                {"how much is locked in solana in terms of value", "tvl held on solana"},
		"largest hack by amount":    {"largest hack ever", "the largest theft of all time, please, nothing more"},
		"how many coins are up":     {"how many of the tracked coins are up"},
		"chance of bitcoin at 100k": {"100k btc odds", "what do the bettors say on bitcoin over 100k", "implied probability that BTC closes above $100,000"},
		"any depegs":                {"are there signs of a stablecoin losing its peg"},
		"any alerts":                {"is there anything in the market that I ought to be warned about", "which alerts were raised"},
		"market sentiment":          {"sentiment of the market in number", "mood of the market"},
		"total crypto market cap":   {"what is the crypto market worth"},
		"highest volume coin":       {"which of every coin has the highest volume"},
		"meme category 24h change":  {"24h change of the meme segment"},
		"bitcoin news":              {"anything on bitcoin in the papers"},
	} {
		read := func(q string) string {
			var all []string
			for part := range strings.SplitSeq(q, ", ") {
				f := tables.Lookup(part, "", 3)
				if len(f.Missing) > 0 || f.Read == nil {
					return fmt.Sprintf("%q: missing %v", part, f.Missing)
				}
				for _, r := range f.Rows {
					all = append(all, r.Kind+"/"+r.Key)
				}
				if len(f.Rows) == 0 {
					all = append(all, f.Read.String())
				}
			}
			return strings.Join(all, " ")
		}
		want := read(plain)
		for _, q := range framed {
			t.Run(q, func(t *testing.T) {
				t.Parallel()
				f := tables.Lookup(q, "", 3)
				var got []string
				for _, r := range f.Rows {
					got = append(got, r.Kind+"/"+r.Key)
					if !r.Match.Sure() {
						t.Errorf("%s is found by %s", r.Key, r.Match)
					}
				}
				if len(got) == 0 && f.Read != nil {
					got = append(got, f.Read.String())
				}
				if text := strings.Join(got, " "); text != want || len(f.Missing) > 0 {
					t.Errorf("finds %s, missing %v, want %s", text, f.Missing, want)
				}
			})
		}
	}
}

// reads has questions read at the first tick, "" for one that is not.
func reads(t *testing.T, questions map[string]string) {
	t.Helper()
	tables := pack.Crypto().Tables(tick(t, 1))
	kinds := fmt.Sprint(tables.KindList())
	t.Cleanup(func() {
		if now := fmt.Sprint(tables.KindList()); now != kinds { // others would be answered by what it wrote
			t.Errorf("a question changed the tables: %s, were %s", now, kinds)
		}
	})
	for q, want := range questions {
		t.Run(q, func(t *testing.T) {
			t.Parallel()
			f := tables.Lookup(q, "", 3)
			read := ""
			if f.Read != nil {
				read = f.Read.String()
			}
			if read != want || (len(f.Missing) > 0) != (want == "") {
				t.Errorf("read %q, missing %v, want %q", read, f.Missing, want)
			}
		})
	}
}

// TestFiguresOfTheFirst: a figure of the biggest of a kind is no order by that figure, and one of what comes first in an order is shown
// beside it.
func TestFiguresOfTheFirst(t *testing.T) {
	t.Parallel()
	gainer := "assets where derivative = false, fields volume24hUsd change24hPct, order -change24hPct, limit 1"
	reads(t, map[string]string{
		"volume of the biggest coin":                  "assets, field volume24hUsd, limit 1",
		"biggest coin's volume":                       "assets, field volume24hUsd, limit 1",
		"24h volume of the 3 biggest coins":           "assets, field volume24hUsd, limit 3",
		"24h change of the largest protocol":          "protocols, field change24hPct, limit 1",
		"how has the largest protocol done this week": "protocols, field change7dPct, limit 1",
		"how much did the biggest coin move today":    "assets, field change24hPct, limit 1",
		"is the biggest coin up":                      "assets, field change24hPct, limit 1",
		"is the largest stablecoin on its peg":        "stablecoins, field pegDeviationPct, limit 1",
		"weekly change of the smallest chain":         "chains, field change7dPct, order tvlUsd, limit 1",
		"biggest coin by volume":                      "assets where derivative = false, field volume24hUsd, order -volume24hUsd, limit 1",
		"price of the most traded coin":               "assets where derivative = false, fields priceUsd volume24hUsd, order -volume24hUsd, limit 1",
		"volume of the biggest gainer":                gainer,
		"biggest gainer's volume":                     gainer,
		"market cap of the biggest gainer by volume":  "",
	})
}

// TestThanThing: rows are compared with the figure of a thing, where the field is one and the thing is a row of theirs, and else they are
// not taken for that thing.
func TestThanThing(t *testing.T) {
	t.Parallel()
	reads(t, map[string]string{
		"coins with a higher market cap than solana":                     "assets where marketCapUsd > 82600000000, field marketCapUsd, limit 3, count",
		"protocols with more tvl than lido":                              "protocols where tvlUsd > 26900000000, field tvlUsd, limit 3, count",
		"chains bigger than base":                                        "chains where tvlUsd > 4600000000, field tvlUsd, limit 3, count",
		"stablecoins with less supply than dai":                          "stablecoins where supplyUsd < 5000000000, field supplyUsd, limit 3, count",
		"coins that rose more than bitcoin":                              "assets where change24hPct > -1.84, field change24hPct, limit 3, count",
		"how many coins are bigger than cardano":                         "assets where marketCapUsd > 16800000000, limit 3, count",
		"coins with more volume than aave and lido":                      "",
		"protocols bigger than uniswap":                                  "",
		"coins that rose more than bitcoin yesterday":                    "",
		"did btc fall below 90000 today":                                 "",
		"did btc fall more than 1% today":                                "assets where symbol = BTC, field change24hPct",
		"protocol with the biggest weekly tvl gain over 100 million tvl": "",
		"coins more expensive than ethereum":                             "assets where priceUsd > 3184, field priceUsd, limit 3, count",
		"coins cheaper than ethereum":                                    "assets where priceUsd < 3184, field priceUsd, limit 3, count",
		"coins with the same price":                                      "",
		"does aave have more tvl than lido":                              "protocols where key = aave-v3, field tvlUsd; protocols where key = lido, field tvlUsd",
		"news about depegs":                                              "",
	})
}

// TestOfOneKind: things that are compared are taken for rows of one kind where each is one.
func TestOfOneKind(t *testing.T) {
	t.Parallel()
	reads(t, map[string]string{
		"which is bigger, arbitrum or base": "chains where key in (arbitrum, base), field tvlUsd",
		"arbitrum vs base":                  "chains where key in (arbitrum, base)",
		"btc price and eth on kraken":       "venues where key in (kraken/bitcoin, kraken/ethereum) and venue = Kraken, field priceUsd",
		"price of btc and eth on kraken":    "venues where key in (kraken/bitcoin, kraken/ethereum) and venue = Kraken, field priceUsd",
		"arbitrum price and base tvl":       "assets where key = arbitrum, field priceUsd; chains where key = base, field tvlUsd",
	})
}

// TestWholeMarket: how the market moved is its own figure however it is named, a figure may be named by a span, and those flags that are
// warnings are no others.
func TestWholeMarket(t *testing.T) {
	t.Parallel()
	reads(t, map[string]string{
		"how much is the total crypto market up": "markets where key = crypto, field change24hPct",
		"total crypto market change":             "markets where key = crypto, field change24hPct",
		"btc fee for half an hour":               "fees where key = bitcoin, field halfHourSatVb",
		"bitcoin half hour fee":                  "fees where key = bitcoin, field halfHourSatVb",
		"which flags are warnings":               "flags where severity = warning",
		"warnings only":                          "flags where severity = warning",
		"any warnings":                           "flags",
		"flags about stablecoins":                "",
	})
}

// TestTwoOrders: the extreme of so many of the largest, and of those outside of them, is answered; where it is not said how many, asked back.
func TestTwoOrders(t *testing.T) {
	t.Parallel()
	reads(t, map[string]string{
		"best of the top 20 coins": "assets where rank <= 20 and derivative = false, field change24hPct, order -change24hPct, limit 3",
		"out of the 20 biggest coins, which one has done the best this week": "assets where rank <= 20 and derivative = false, " +
			"field change7dPct, order -change7dPct, limit 3",
		"worst of the top 10 coins":     "assets where rank <= 10 and derivative = false, field change24hPct, order change24hPct, limit 3",
		"best coin outside the top ten": "assets where rank > 10 and derivative = false, field change24hPct, order -change24hPct, limit 1",
		"top 10 gainers":                "assets where derivative = false, field change24hPct, order -change24hPct",
		"best of the biggest coins":     "",
		"highest and lowest priced coin": "assets where derivative = false, field priceUsd, order -priceUsd, limit 1; " +
			"assets where derivative = false, field priceUsd, order priceUsd, limit 1",
		"cheapest and priciest coins": "assets where derivative = false, field priceUsd, order -priceUsd, limit 3; " +
			"assets where derivative = false, field priceUsd, order priceUsd, limit 3",
		"smallest and largest chains": "chains, limit 3; chains, order tvlUsd, limit 3",
		"which coin moved the most today": "assets where derivative = false, field change24hPct, order -change24hPct, limit 1; " +
			"assets where derivative = false, field change24hPct, order change24hPct, limit 1",
	})
}

// TestSpoken: what people say for a figure, a rank and a comparison is read as what it means.
func TestSpoken(t *testing.T) {
	t.Parallel()
	reads(t, map[string]string{
		"what would one solana set me back":                 "assets where key = solana, field priceUsd",
		"how much money is parked in lido":                  "protocols where key = lido, field tvlUsd",
		"how much XRP changed hands today, in dollars":      "assets where symbol = XRP, field volume24hUsd",
		"capitalisation of the digital asset market":        "markets where key = crypto, field marketCapUsd",
		"how far is usdc off the dollar":                    "stablecoins where symbol = USDC, field pegDeviationPct",
		"busiest pool":                                      "pools, field volume24hUsd, limit 1",
		"how many coins dumped harder than 20% today":       "assets where change24hPct < -20, limit 3, count",
		"how many coins rose by more than 20% today":        "assets where change24hPct > 20, limit 3, count",
		"the runner-up by market cap":                       "assets where rank = 2, field marketCapUsd, limit 3",
		"runner-up among protocols by tvl":                  "protocols, field tvlUsd, limit 2",
		"the second among protocols":                        "",
		"total crypto market cap and how much of it is btc": "markets where key = crypto, field marketCapUsd; markets where key = crypto, field btcDominancePct",
		"how are my coins doing":                            "",
		"combined market cap of btc and eth":                "assets where key in (bitcoin, ethereum), field marketCapUsd, sum:marketCapUsd",
		"btc price and eth price added together":            "",
		"any alerts on offici":                              "",
	})
}

// TestBounds: each figure that is compared with is one of the field beside it, or by its unit a price, a size or a change; which way a figure
// went is a condition of its own.
func TestBounds(t *testing.T) {
	t.Parallel()
	reads(t, map[string]string{
		"coins under a dollar that rose more than 5% today": "assets where priceUsd < 1 and change24hPct > 5, " +
			"fields change24hPct priceUsd, limit 3, count",
		"coins above 10 dollars that are down": "assets where priceUsd > 10 and change24hPct < 0 and derivative = false, " +
			"fields change24hPct priceUsd, order change24hPct, limit 3, count",
		"coins over $10 billion that fell today": "assets where marketCapUsd > 10000000000 and change24hPct < 0 and derivative = false, " +
			"fields change24hPct marketCapUsd, order change24hPct, limit 3, count",
		"which coins fell more than 3% today and are worth less than 50 cents": "assets where change24hPct < -3 and priceUsd < 0.5, " +
			"fields priceUsd change24hPct, limit 3, count",
		"coins that rose more than 5% but less than 10% today": "assets where change24hPct > 5 and change24hPct < 10, " +
			"field change24hPct, limit 3, count",
		"coins with more than a billion dollars in volume": "assets where volume24hUsd > 1000000000, field volume24hUsd, limit 3, count",
		"coins priced between 1 and 2 dollars":             "assets where priceUsd >= 1 and priceUsd <= 2, field priceUsd, limit 3, count",
		"coins with market cap between 1 and 2 billion": "assets where marketCapUsd >= 1000000000 and marketCapUsd <= 2000000000, " +
			"field marketCapUsd, limit 3, count",
		"coins that moved between 5% and 6% today": "assets where change24hPct >= 5 and change24hPct <= 6, field change24hPct, limit 3, count",
		"coins above $2 that are up 5.5%":          "",
		"how many coins above $100 are up today":   "assets where priceUsd > 100 and change24hPct > 0, limit 3, count",
		"chains above 5%":                          "",
		"coins that rose more than 5 today":        "assets where change24hPct > 5, field change24hPct, limit 3, count",
		"coins above 10 that are down": "assets where priceUsd > 10 and change24hPct < 0 and derivative = false, " +
			"fields change24hPct priceUsd, order change24hPct, limit 3, count",
		"stablecoins above 1.001": "stablecoins where priceUsd > 1.001, limit 3, count",
		"anything down >5% in 1h": "assets where change1hPct < -5, field change1hPct, limit 3, count",
		"protocols with category Liquid Staking and tvlUsd >= 1,000,000,000": "protocols where category = \"Liquid Staking\" " +
			"and tvlUsd >= 1000000000, fields tvlUsd category, limit 3, count",
		"coins under $1 with volume over 1 billion": "assets where priceUsd < 1 and volume24hUsd > 1000000000, " +
			"fields volume24hUsd priceUsd, limit 3, count",
		"coins over 1 billion volume under $1": "assets where volume24hUsd > 1000000000 and priceUsd < 1, " +
			"fields volume24hUsd priceUsd, limit 3, count",
		"coins up today but down on the week": "assets where change24hPct > 0 and change7dPct < 0, fields change24hPct change7dPct, " +
			"limit 3, count",
		"which coins are up today and up this week": "assets where change24hPct > 0 and change7dPct > 0, " +
			"fields change24hPct change7dPct, limit 3, count",
		"coins up more than 5% today but down more than 4% this week": "assets where change24hPct > 5 and change7dPct < -4, " +
			"fields change24hPct change7dPct, limit 3, count",
		"coins that lost more than 5% in 24h and more than 10% in 7d": "assets where change24hPct < -5 and change7dPct < -10, " +
			"fields change24hPct change7dPct, limit 3, count",
		"coins that went up and down today":           "",
		"biggest gainer today that is down this week": "",
		"protocols over 1 billion":                    "protocols where tvlUsd > 1000000000, limit 3, count",
	})
}

// TestOfTheBiggest: one figure of the biggest of a kind, by their rank alone.
func TestOfTheBiggest(t *testing.T) {
	t.Parallel()
	reads(t, map[string]string{
		"average 24h change of the 20 largest coins by market cap": "assets where rank <= 20, limit 3, avg:change24hPct",
		"total market cap of the top 5 coins":                      "assets where rank <= 5, limit 3, sum:marketCapUsd",
		"how many coins of the top 100 are down more than 10% over the week": "assets where rank <= 100 and change7dPct < -10, " +
			"limit 3, count",
		"average market cap of the top 5 coins by volume":   "",
		"average change of the top 5 gainers":               "",
		"median change of the top 10 coins":                 "",
		"average tvl of the top 5 chains":                   "chains where key in (ethereum, solana, bsc, bitcoin, tron), limit 3, avg:tvlUsd",
		"total tvl of the top 5 chains":                     "chains where key in (ethereum, solana, bsc, bitcoin, tron), limit 3, sum:tvlUsd",
		"combined tvl of the two biggest lending protocols": "protocols where key in (aave-v3, morpho-v1), limit 3, sum:tvlUsd",
		"total supply of the top 3 stablecoins":             "stablecoins where key in (tether, usd-coin, ethena-usde), limit 3, sum:supplyUsd",
		"volume across all coins":                           "markets where key = crypto, field volume24hUsd",
		"tvl over all protocols":                            "protocols, limit 3, sum:tvlUsd",
		"highest volume across all coins":                   "assets where derivative = false, field volume24hUsd, order -volume24hUsd, limit 3",
		"price across all coins":                            "",
		"how many coins are in the top 10":                  "",
		"rank of avalanche by volume":                       "",
		"rank of avalanche by market cap":                   "assets where key = avalanche-2, fields marketCapUsd rank",
		"are more coins green or red":                       "breadths where key = crypto, fields advancing declining",
		"are more protocols up or down":                     "",
		"is eth bigger than sol":                            "assets where key in (ethereum, solana), field marketCapUsd",
		"doge volume / market cap":                          "",
		"total volume of the top 5 coins by market cap":     "assets where rank <= 5, limit 3, sum:volume24hUsd",
		"coins sorted by price ascending":                   "assets where derivative = false, field priceUsd, order priceUsd, limit 3",
	})
}

// TestDays: days, months and what lies before, after and between them bound what has a time of its own, and nothing else.
func TestDays(t *testing.T) {
	t.Parallel()
	reads(t, map[string]string{
		"hacks today":                                 "hacks where date >= 1970-01-01, limit 3, count",
		"hacks in the last 24 hours":                  "hacks where date >= 1969-12-31, limit 3, count",
		"coins that fell more than -5%":               "assets where change24hPct < -5, field change24hPct, limit 3, count",
		"coins down below -5%":                        "assets where change24hPct < -5, field change24hPct, limit 3, count",
		"hacks after 2026-06-01":                      "hacks where date >= 2026-06-02, limit 3, count",
		"hacks before 2026-03-01":                     "hacks where date < 2026-03-01, limit 3, count",
		"hacks in october 2026":                       "hacks where date >= 2026-10-01 and date < 2026-11-01, limit 3, count",
		"hacks between june and september 2026":       "hacks where date >= 2026-06-01 and date < 2026-10-01, limit 3, count",
		"hacks from 2026-06-01 to 2026-08-15":         "hacks where date >= 2026-06-01 and date < 2026-08-16, limit 3, count",
		"total amount lost to hacks after 2026-08-31": "hacks where date >= 2026-09-01, limit 3, sum:amountUsd",
		"biggest hack in march 2026": "hacks where date >= 2026-03-01 and date < 2026-04-01, field amountUsd, order -amountUsd, " +
			"limit 1, count",
		"largest hack before 2024":               "hacks where date < 2024-01-01, field amountUsd, order -amountUsd, limit 1, count",
		"hacks before 2010-01-01":                "", // so far back nothing is kept
		"pools created after 2026-11-01":         "pools where createdAt >= 2026-11-02, field createdAt, limit 3, count",
		"predictions that end before 2027-01-01": "predictions where endsAt < 2027-01-01, field endsAt, limit 3, count",
		"predictions that end before 2026-01-01": "predictions where endsAt < 2026-01-01, field endsAt, limit 3, count",
		"btc price before 2026-11-01":            "",
		"btc price in october 2026":              "",
		"coins after 2026-11-01":                 "",
	})
}

// TestNothingElse: what cannot be given is said, and no figure nearby is given in its place.
func TestNothingElse(t *testing.T) {
	t.Parallel()
	reads(t, map[string]string{
		"total market cap excluding bitcoin":               "",
		"average change of coins excluding bitcoin":        "assets where key != bitcoin, limit 3, avg:change24hPct",
		"total stablecoin supply without tether":           "stablecoins where key != tether, limit 3, sum:supplyUsd",
		"volume of bitcoin up today":                       "",
		"which coin had the smallest change today":         "",
		"biggest and smallest change today":                "",
		"which coin's volume rose the most today":          "",
		"fear greed yesterday vs today":                    "indexes, fields value previousDay, limit 3",
		"eth/btc ratio":                                    "",
		"average change of majors vs stablecoins":          "",
		"average tvl of lending vs restaking protocols":    "",
		"average market cap of majors and tron market cap": "",
		"global price above 5":                             "",
		"which coins are over 1000 dollar each":            "assets where priceUsd > 1000, limit 3, count",
		"wich coins are over 1000 dollar each":             "assets where priceUsd > 1000, limit 3, count",
		"coins over 1e12":                                  "assets where marketCapUsd > 1000000000000, limit 3, count",
		"coins with change24hPct > 5 and marketCapUsd > 50B": "assets where change24hPct > 5 and marketCapUsd > 50000000000, " +
			"fields change24hPct marketCapUsd, limit 3, count",
		"coins with marketCapUsd > 50B and change24hPct < 0": "assets where marketCapUsd > 50000000000 and change24hPct < 0, " +
			"fields change24hPct marketCapUsd, limit 3, count",
		"how much money aave has inside on arbitrum":     "",
		"the market is soured":                           "",
		"highest price of eth":                           "",
		"eth max in the last hour":                       "",
		"highest eth price in the next 6 hours":          "",
		"lowest solana change24hPct in the last 2 hours": "",
	})
}

// TestPlainly: what groups, negations, judging words and other languages of Europe ask for.
func TestPlainly(t *testing.T) {
	t.Parallel()
	reads(t, map[string]string{
		"rank usdc, dai and pyusd by supply": "stablecoins where key in (usd-coin, dai, paypal-usd), field supplyUsd",
		"rank of usdc":                       "assets where symbol = USDC, field rank",
		"worst performing major over the last hour": "assets where group = major and derivative = false, field change1hPct, " +
			"order change1hPct, limit 3",
		"what's the average 24h change of the majors": "assets where group = major, limit 3, avg:change24hPct",
		"which majors are not down today": "assets where group = major and change24hPct >= 0 and derivative = false, " +
			"field change24hPct, order -change24hPct, limit 3, count",
		"how many majors are not up today":                  "assets where group = major and change24hPct <= 0, limit 3, count",
		"how many coins are not up today":                   "assets where change24hPct <= 0, limit 3, count",
		"best performing category":                          "categories, field change24hPct, order -change24hPct, limit 1",
		"best performing hacks":                             "",
		"which did better this week, btc or eth":            "assets where key in (bitcoin, ethereum), field change7dPct",
		"which is cheaper, bitcoin or ethereum":             "assets where key in (bitcoin, ethereum), field priceUsd",
		"how fresh is the data":                             "",
		"bitcoin is cheaper":                                "",
		"cheapest coin you track":                           "assets where derivative = false, field priceUsd, order priceUsd, limit 1",
		"how many stablecoins do you know":                  "stablecoins, limit 3, count",
		"which of the ten biggest coins rose the most":      "assets where rank <= 10 and derivative = false, field change24hPct, order -change24hPct, limit 3",
		"is usdt holding its peg":                           "stablecoins where symbol = USDT, field pegDeviationPct",
		"is dai worth exactly one dollar":                   "stablecoins where symbol = DAI, field priceUsd",
		"what does a fast btc transaction confirmed cost":   "fees where key = bitcoin, field fastestSatVb",
		"ile kosztuje litecoin":                             "assets where key = litecoin, field priceUsd",
		"qual è il prezzo di bitcoin":                       "assets where key = bitcoin, field priceUsd",
		"qual é o preço do bitcoin hoje":                    "assets where key = bitcoin, field priceUsd",
		"wat is de prijs van bitcoin":                       "assets where key = bitcoin, field priceUsd",
		"hoeveel is dogecoin gestegen vandaag":              "assets where key = dogecoin, field change24hPct",
		"jaka jest cena bitcoina":                           "assets where key = bitcoin, field priceUsd",
		"bitcoin kaç dolar":                                 "assets where key = bitcoin, field priceUsd",
		"сколько стоит биткоин сегодня":                     "assets where key = bitcoin, field priceUsd",
		"какая цена эфириума":                               "assets where key = ethereum, field priceUsd",
		"比特币的价格是多少":                                         "assets where key = bitcoin, field priceUsd",
		"以太坊今天涨了多少":                                         "assets where key = ethereum, field change24hPct",
		"비트코인 가격은 얼마인가요":                                    "assets where key = bitcoin, field priceUsd",
		"cuáles son las monedas que más subieron hoy":       "assets where derivative = false, field change24hPct, order -change24hPct, limit 3",
		"welche Coins sind heute am meisten gestiegen":      "assets where derivative = false, field change24hPct, order -change24hPct, limit 3",
		"quelles cryptos ont le plus monté aujourd'hui":     "assets where derivative = false, field change24hPct, order -change24hPct, limit 3",
		"quais moedas mais caíram hoje":                     "assets where derivative = false, field change24hPct, order change24hPct, limit 3",
		"quali monete sono salite di più oggi":              "assets where derivative = false, field change24hPct, order -change24hPct, limit 3",
		"今日一番上がったコインは":                                      "assets where derivative = false, field change24hPct, order -change24hPct, limit 3",
		"las 5 criptomonedas más grandes":                   "assets, limit 5",
		"größte Coins nach Marktkapitalisierung":            "assets, field marketCapUsd, limit 3",
		"¿Cuánto ha bajado solana esta semana?":             "assets where key = solana, field change7dPct",
		"quelle est la plus grande stablecoin":              "stablecoins, limit 1",
		"la moneda más barata no está en la lista":          "",
		"btc price nach mas":                                "",
		"quanto costa ethereum oggi":                        "assets where key = ethereum, field priceUsd",
		"the price of solana, thank you so much in advance": "assets where key = solana, field priceUsd",
	})
}

// TestFlagsAreRead: flags are asked for by their severity too.
func TestFlagsAreRead(t *testing.T) {
	t.Parallel()
	tables := pack.Crypto().Tables(tick(t, 1))
	for q, want := range map[string]string{"list all critical flags": "flags where severity = critical", "any alerts": "flags",
		"any critical alerts open atm": "flags where severity = critical", "any alarms going off": "flags"} {
		if f := tables.Lookup(q, "", 3); f.Read == nil || f.Read.String() != want || len(f.Missing) > 0 {
			t.Errorf("%s: read %v, missing %v, want %s", q, f.Read, f.Missing, want)
		}
	}
}

// TestNotAnswered: what asks for something else than it seems has no row that is not marked.
func TestNotAnswered(t *testing.T) {
	t.Parallel()
	tables := pack.Crypto().Tables(tick(t, 1))
	for _, q := range []string{
		"odds bitcoin falls below 100k", "odds of bitcoin hitting 90k", "odds bitcoin is not above 100k", "probability that the zcash etf is rejected",
		"most tracked coins", "most held coin", "how much bitcoin is held on coinbase", "how much has solana raised", "highest bitcoin price ever",
		"most bought coin", "should I buy bitcoin", "price of ethereum in bitcoin", "ethereum price in terms of bitcoin",
		"btc price every 8 hours", "share of coins in the red", "share of solana in the total crypto market", "last bitcoin transaction",
		"bitcoin is more", "is bitcoin stronger", "average price of the top 10", "which stablecoins are not at a dollar",
		"hacks not in 2026", "nothing else matters price",
		"difference between the highest and lowest btc price", "single largest holder of bitcoin", "signs of life", "bitcoin dominance ever",
		"who made bitcoin", "whose is bitcoin", "when was bitcoin made", "what do people think of bitcoin", "where is bitcoin going",
		"is bitcoin going to go up", "is bitcoin gonna rise", "how low did eth get today", "how high did bitcoin go",
		"how do i get bitcoin",
		"where can i find bitcoin", "coins like solana", "something like bitcoin", "best coin in the last 3 days", "gainers over 3 days",
		"best coin in 4 hours", "tvl of aave on polygon", "price of uniswap on base", "was bitcoin higher yesterday", "the other coin",
		"anything else on the market cap", "real price of bitcoin", "how deep is bitcoin", "who took bitcoin", "bitcoin 30 day change",
		"when is bitcoin", "best coin 4 day", "gainers of 3 hour", "best coins days",
	} {
		t.Run(q, func(t *testing.T) {
			t.Parallel()
			f := tables.Lookup(q, "", 3)
			for _, r := range f.Rows {
				if r.Match.Sure() {
					t.Errorf("finds %s/%s, read as %s", r.Kind, r.Key, f.Read)
				}
			}
			if len(f.Missing) == 0 && len(f.Rows) == 0 {
				t.Errorf("nothing is missing, read as %s", f.Read)
			}
		})
	}
}

// TestTablesSayWhatIsStale checks that rows of a source that failed say so and keep their time.
func TestTablesSayWhatIsStale(t *testing.T) {
	t.Parallel()
	in := with(tick(t, 1), source.CoinGeckoMarkets().ID, func(r *pack.Reading) {
		r.FetchedAt, r.Failures, r.Err = r.FetchedAt.Add(-14*time.Minute), 3, "no answer"
	})
	tables := pack.Crypto().Tables(in)
	if r := tables.Row("asset", "cardano"); r == nil || !r.Stale || in.Now.Sub(r.FetchedAt) < 14*time.Minute {
		t.Errorf("the row of a source that failed is %+v", r)
	}
	if r := tables.Row("protocol", "aave-v3"); r == nil || r.Stale {
		t.Errorf("the row of a source that answers is %+v", r)
	}
	if r := tables.Row("asset", "aave-v3"); r != nil {
		t.Errorf("a row of another kind is found: %+v", r)
	}
}

// FuzzLookup asks anything: nothing breaks, no more rows come than are asked for, each has what it is said to be asked of, and the same
// question has the same answer.
func FuzzLookup(f *testing.F) {
	tables := pack.Crypto().Tables(tick(f, 1))
	for _, q := range []string{
		"ADA price", "what is the supply of tether?", "ONE", "NEAR", "\u0410DA price", "0x2260FAC5E5542a773Aa44fBCfeDf7C193bc2C599",
		"tron tether",
		"price price price", "\xff\x00", "ІЅТ 价格 سعر", strings.Repeat("ada ", 50), "largest tvl", "100k odds", "-", "",
	} {
		f.Add(q, "", 3)
		f.Add(q, "asset", 1)
	}
	f.Fuzz(func(t *testing.T, q, kind string, limit int) {
		limit = 1 + (limit&0x7fffffff)%10
		found := tables.Lookup(q, kind, limit)
		if len(found.Rows) > 20 || len(found.Rows) > 0 && len(found.Near) > 0 {
			t.Fatalf("%q: %d rows, near %q", q, len(found.Rows), found.Near)
		}
		for _, r := range found.Rows {
			if kind != "" && r.Kind != kind {
				t.Errorf("%q of kind %q finds %s/%s", q, kind, r.Kind, r.Key)
			}
			for _, name := range r.Asked {
				if r.Fields.Get(name) == nil {
					t.Errorf("%q asks %s of %s/%s, which has none", q, name, r.Kind, r.Key)
				}
			}
		}
		if again := tables.Lookup(q, kind, limit); fmt.Sprint(again) != fmt.Sprint(found) {
			t.Errorf("%q is answered in two ways", q)
		}
	})
}

func BenchmarkLookup(b *testing.B) {
	tables := pack.Crypto().Tables(tick(b, 1))
	for _, q := range []string{"ADA price", "what is the supply of tether?", "solana news", "uniswap tvl", "cordano"} {
		b.Run(q, func(b *testing.B) {
			for b.Loop() {
				tables.Lookup(q, "", 3)
			}
		})
	}
	b.Run("tables", func(b *testing.B) {
		in := tick(b, 1)
		for b.Loop() {
			pack.Crypto().Tables(in)
		}
	})
}

// TestAmounts: what an amount of a thing is worth, and how much of it dollars buy, is told beside its price. An amount that is of another
// thing, of another figure, of two things or of a time to come is not passed over.
func TestAmounts(t *testing.T) {
	t.Parallel()
	tables := pack.Crypto().Tables(tick(t, 1))
	for q, want := range map[string]string{
		"what is 2.5 btc worth":                                          "asset/bitcoin priceUsd; worth:priceUsd of 2.5: 228100",
		"2.5 btc in usd":                                                 "asset/bitcoin priceUsd; worth:priceUsd of 2.5: 228100",
		"convert 2.5 bitcoins to dollars":                                "asset/bitcoin priceUsd; worth:priceUsd of 2.5: 228100",
		"how many dollars is half a bitcoin":                             "asset/bitcoin priceUsd; worth:priceUsd of 0.5: 45620",
		"steth vs 1 eth price in usd":                                    "asset/staked-ether; asset/ethereum priceUsd",
		"price of 1 btc":                                                 "asset/bitcoin priceUsd",
		"value of 2.5k btc":                                              "asset/bitcoin priceUsd; worth:priceUsd of 2500: 2.281e+08",
		"what are my two hundred bitcoins worth":                         "asset/bitcoin priceUsd; worth:priceUsd of 200: 1.8248e+07",
		"how much btc can I buy for 1000 dollars":                        "asset/bitcoin priceUsd; buys:priceUsd of 1000: 0.0109601",
		"I bought 2.5 btc in 2019, what is that worth now":               "asset/bitcoin priceUsd; worth:priceUsd of 2.5: 228100",
		"if I sell 2.5 btc tokens instead, what does it come to in USD?": "asset/bitcoin priceUsd; worth:priceUsd of 2.5: 228100",
		"I found an old wallet with 2,500 bitcoin in a drawer, and before I get excited I would like to hear what that comes to in dollars": "asset/bitcoin priceUsd; worth:priceUsd of 2500: 2.281e+08",
		"2 btc or 30 eth, which is worth more":           "missing 30 unknown_word",
		"I own 2 btc and 30 eth, what's that worth":      "missing 30 unknown_word",
		"is 1 btc worth more than 30 eth":                "",
		"I sold 2 btc for 100k, what is eth worth":       "",
		"if I swap 2 btc, what's that in eth":            "",
		"what will 2 btc be worth next year":             "",
		"2.5 btc in euros":                               "",
		"what's 10 sol worth minus fees":                 "",
		"I have 3 eth, how much did it move today":       "",
		"how much did 2 btc gain in the last hour":       "",
		"how many btc is 100 eth":                        "",
		"what's 5 bitcoin market cap":                    "",
		"I hold 2 btc at kraken, what is it worth there": "venue/kraken/bitcoin priceUsd; worth:priceUsd of 2: 182473",
	} {
		got := answers(tables, q)
		if want == "" && strings.HasPrefix(got, "missing ") {
			continue
		}
		if got != want {
			t.Errorf("%q finds %s, want %s", q, got, want)
		}
	}
}

// TestNoMeaningIsDropped: a figure, a span, a total, a venue, a rank or a negation beside a name is never passed over as grammar is.
func TestNoMeaningIsDropped(t *testing.T) {
	t.Parallel()
	tables := pack.Crypto().Tables(tick(t, 1))
	plain := tables.Lookup("ADA price", "", 3).Read.String()
	for _, w := range strings.Split("not|without|except|total|sum of|average|how many|kraken|rank 10|#3|yesterday|a week ago|last month|this year|at noon|"+
		"14:05|2026-11-20T20:05Z|since monday|lowest|highest|supply|ath|all time high|top 5|tomorrow|next week|binance|forecast", "|") {
		for _, q := range []string{"ADA price " + w, w + " ADA price"} {
			f := tables.Lookup(q, "", 3)
			if len(f.Rows) > 0 && f.Rows[0].Match.Sure() && f.Read.String() == plain {
				t.Errorf("%q is answered as the price alone", q)
			}
		}
	}
	for _, w := range strings.Split("no|sin|nicht|kein|ohne|pas|sans|non|senza|não|sem|niet|zonder|nie|bez|не|без|değil", "|") {
		for _, q := range []string{"precio de ADA " + w, w + " precio de ADA", "Preis von ADA " + w} {
			f := tables.Lookup(q, "", 3)
			if len(f.Rows) > 0 && f.Rows[0].Match.Sure() && f.Read.String() == plain {
				t.Errorf("%q is answered as the price alone", q)
			}
		}
	}
}

// TestTotalOfWhatIsNearlySo: a total stands beside rows that were found by a word that is written wrong, and not alone.
func TestTotalOfWhatIsNearlySo(t *testing.T) {
	t.Parallel()
	tables := pack.Crypto().Tables(tick(t, 1))
	f := tables.Lookup("total tvl of protocols alltogether", "", 3)
	if len(f.Missing) == 0 || len(f.Rows) == 0 || f.Rows[0].Match.Sure() || f.Aggregates["sum:tvlUsd"].Value == nil {
		t.Errorf("%d rows, missing %v, totals %v", len(f.Rows), f.Missing, f.Aggregates)
	}
}

// TestShares: what part one is of all, and how far two are apart, is told beside their figures, or else refused.
func TestShares(t *testing.T) {
	t.Parallel()
	tables := pack.Crypto().Tables(tick(t, 1))
	for q, want := range map[string]string{
		"what percentage of stablecoin supply is USDT":        "sharePct:supplyUsd 61.55 stablecoin_total/stablecoins",
		"what share of total TVL is Ethereum":                 "sharePct:tvlUsd 58.31 ",
		"price difference between eth and sol":                "difference:priceUsd 3035.8 ",
		"price difference of btc between coinbase and kraken": "difference:priceUsd 32.3 ",
		"what share of the price is Ethereum":                 "",
		"ethereum share":                                      "",
		"what share of tvl are Ethereum and Solana":           "",
		"percentage of tvl on Ethereum a week ago":            "",
		"ethereum tvl": "-",
	} {
		f := tables.Lookup(q, "", 3)
		got := map[bool]string{true: "-"}[len(f.Rows) > 0]
		for agg, a := range f.Aggregates {
			got = fmt.Sprint(agg, " ", *a.Value, " ", a.Row)
		}
		if got != want || (len(f.Missing) > 0) != (want == "") {
			t.Errorf("%q finds %q, missing %v, want %q", q, got, f.Missing, want)
		}
	}
}

// TestWhatCame: of what came in a time, and is more than is shown, it is told how much there was.
func TestWhatCame(t *testing.T) {
	t.Parallel()
	tables := pack.Crypto().Tables(tick(t, 1))
	for _, q := range []string{"which stories did decrypt publish in the last 3 days", "bitcoin news in the last 3 days"} {
		parts := tables.Read(q, "", 3).Parts
		if len(parts) == 0 || !slices.Equal(parts[0].Query.Agg, []string{"count"}) || parts[0].Query.Limit != 3 {
			t.Errorf("%q asks for %+v", q, parts)
		}
	}
	parts := tables.Read("stories about upgrade in the last 3 days", "", 1).Parts // of those that it names, one is shown
	if len(parts) == 0 || len(parts[0].Query.Where[0].Values()) < 2 || parts[0].Query.Limit != 1 {
		t.Errorf("a word of titles asks for %+v", parts)
	}
}

// TestUnread: what would be of another time, or of an order that rows do not have, is no query.
func TestUnread(t *testing.T) {
	t.Parallel()
	tables := pack.Crypto().Tables(tick(t, 1))
	for _, q := range []string{"eth change at 2026-11-20T12:00Z until now"} {
		if read := tables.Read(q, "", 3); len(read.Parts) > 0 {
			t.Errorf("%q is read as %+v", q, read.Parts)
		}
	}
}
