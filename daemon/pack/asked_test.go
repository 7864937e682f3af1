package pack_test

import (
	"testing"

	"github.com/contextd/contextd/daemon/pack"
)

// TestAround: what people say around a question, of themselves and of why they ask, changes nothing in how it is read; what could be a scope,
// a correction or a figure of it is not passed over.
func TestAround(t *testing.T) {
	t.Parallel()
	price := "assets where key = litecoin, field priceUsd"
	reads(t, map[string]string{
		"Hello, I am putting together a morning note and would need to know the price of litecoin, thank you.": price,
		"My nephew asked me last night and I honestly have no clue: what is the price of litecoin?":            price,
		"My nephew keeps bugging me and I honestly have no clue: what is the price of litecoin?":               price,
		"what is the price of litecoin? my boss wants it for the meeting":                                      price,
		"what is the price of litecoin because I promised my wife to look it up":                               price,
		"give me the price of litecoin so that we can settle this":                                             price,
		"what is the price of litecoin for my newsletter":                                                      price,
		"I was wondering whether you would be so kind as to look up the price of litecoin for me":              price,
		"I live in Germany and need to know the price of litecoin":                                             "",
		"In euros tell me the price of litecoin":                                                               "",
		"I always think in euros, what is the price of litecoin":                                               "",
		"what is the price of litecoin? I meant platinum":                                                      "",
		"what is the price of litecoin because I need it in rupees":                                            "",
		"I bought at 90, what is the price of litecoin":                                                        price,
		"I trade on Kraken and would like to know the price of litecoin":                                       "",
		"platinum, what is the price of litecoin":                                                              "",
		"My brother sold his solana and regrets it; I would like to know the price of litecoin.":               price,
		"My sister keeps reading blogs about lending protocols; could you tell me the price of litecoin?":      price,
		"I write about stablecoin supply; what's litecoin's price":                                             price,
		"Could you please tell me what a single Litecoin costs? I want it for my tax notes.":                   price,
		"Please identify, if you would be so kind, the price of litecoin, and state it nicely in one go":       price,
		"same price question for litecoin":                                                                     price,
		"same for litecoin":                                                                                    "",
		"bitcoin price now the same for litecoin":                                                              "",
		"same for coins": "",
		"I describe cooking in my newsletter; which three protocols hold the most value?":            "protocols, field tvlUsd, limit 3",
		"My brother sold his solana on Kraken; I would like to know the price of litecoin":           "",
		"I write about stablecoin supply; what's litecoin at":                                        "",
		"I only care about lending; what is the tvl of aave v3":                                      "",
		"My wallet is on the polygon bridge; what is the price of litecoin":                          "",
		"Assuming the market crashes; what is the price of litecoin":                                 "",
		"what is the price of litecoin for the batch desk":                                           "",
		"we were wondering at the office how many coins are up today because nobody here has a clue": "breadths where key = crypto, field advancing",
	})
}

// TestTold: where a question has a thing and a figure of its own, what is told before it may be of anything, with times and figures; not
// so what it goes back to, what is a scope or a time of it, and what is left out.
func TestTold(t *testing.T) {
	t.Parallel()
	price, size := "assets where key = litecoin, field priceUsd", "assets where key = litecoin, field marketCapUsd"
	reads(t, map[string]string{
		"Our accountant closes the books on Friday and asked twice, so could you tell me the price of Litecoin?": price,
		"The dog ate my notes from 2024 and half of my 12 screens went dark: what is the price of Litecoin?":     price,
		"Before I go to bed I check things. What is the price of Litecoin?":                                      price,
		"Enough about dogecoin for one day. What is the price of Litecoin?":                                      price,
		"For a lecture on central banks I'd like to quote the price of Litecoin.":                                price,
		"I'm putting together a note on restaking and need to know the price of Litecoin":                        price,
		"I had a family lunch that rather dragged on; what is the price of Litecoin?":                            price,
		"My landlord swears Litecoin doubled last year; what is its price?":                                      price,
		"I spent three hours in a queue at the bank. What is the market cap of Litecoin?":                        size,
		"I keep my ether on Kraken; what is the price there?": "venues where key = kraken/ethereum " +
			"and venue = Kraken, field priceUsd",
		"I keep my ether on Kraken; what is the volume there?":                                     "",
		"I missed Thursday. How much has Litecoin moved?":                                          "",
		"I missed the market on Thursday; what price did Litecoin have that day?":                  "",
		"We sold our Litecoin on Thursday; what is the price that day?":                            "",
		"I compared it with Litecoin on Monday, what is the price then?":                           "",
		"Last Tuesday we sold it. What was the price of Litecoin?":                                 "",
		"We look at the week of 12 October for our report; what is the volume of Litecoin?":        "",
		"For the quarter that ended in September our auditor asks: what is the price of Litecoin?": "",
		"I want it as of 3 March 2025, so what is the price of Litecoin?":                          "",
		"We trade at Kucoin and nowhere else, so what is the price of Litecoin there?":             "",
		"I am on Kucoin all day; what is the price of Litecoin?":                                   "",
		"My uncle bets on Bitcoin at 150k by June; what are the odds for Bitcoin?":                 "",
		"Everybody talks of Solana, so leave it out: which coin has the highest price?":            "",
		"My boss only cares about lending; which protocol has the highest tvl?":                    "",
		"On Monday I need to know the price of Litecoin":                                           "",
		"after yesterday I need to know the price of litecoin":                                     "",
		"In Coinbase, BNB is selling for which price at this moment?": "venues where key = coinbase/binancecoin " +
			"and venue = Coinbase, field priceUsd",
		"In Kucoin, BNB is selling for which price at this moment?":         "",
		"Our bank wants to know, BNB is selling in zloty for which price?":  "",
		"My report covers October; what is the volume of Litecoin?":         "",
		"Mine is the bridged one; what is the price of USDC?":               "",
		"I count everything in zloty; what is the price of Litecoin?":       "",
		"What is the price of Litecoin? I need it in tolas.":                "",
		"I need the figure in Swiss francs; what is the price of Litecoin?": "",
	})
}

// TestThinking: what people say while they think stands anywhere, and says nothing.
func TestThinking(t *testing.T) {
	t.Parallel()
	reads(t, map[string]string{
		"wait wait is ether up this week or nah": "assets where key = ethereum, field change7dPct",
		"hey can you tell me uh which coin jumped the most in just the last hour": "assets where derivative = false, field change1hPct, " +
			"order -change1hPct, limit 1",
		"what's the price of, um, litecoin":                           "assets where key = litecoin, field priceUsd",
		"what's the price of, like, litecoin":                         "assets where key = litecoin, field priceUsd",
		"coins up more than five point five percent today":            "assets where change24hPct > 5.5, field change24hPct, limit 3, count",
		"Good, next the meme sector, how did that one fare over 24h?": "categories where key = meme-token, field change24hPct",
		"when is the next the meme sector":                            "",
		"coins like litecoin":                                         "",
	})
}

// TestOfAll: a figure and a span are of all things that are joined, and of the coins, tokens and chains beside them; what is out there is what
// is in circulation.
func TestOfAll(t *testing.T) {
	t.Parallel()
	reads(t, map[string]string{
		"price of arbitrum and optimism tokens":                         "assets where key in (arbitrum, optimism), field priceUsd",
		"how much have lost arbitrum and optimism tokens in this week?": "assets where key in (arbitrum, optimism), field change7dPct",
		"how much of usde is out there":                                 "stablecoins where symbol = USDe, field supplyUsd",
		"how far off its peg is usde and how much of it is out there":   "stablecoins where symbol = USDe, fields pegDeviationPct supplyUsd",
		"btc volume and weekly change":                                  "assets where symbol = BTC, fields change7dPct volume24hUsd",
		"doge price, volume, weekly change":                             "assets where symbol = DOGE, fields priceUsd change7dPct volume24hUsd",
		"what portion of overall crypto capitalisation is attributable to Bitcoin, and what portion to Ether?": "markets where key = crypto, " +
			"fields btcDominancePct ethDominancePct",
		"what percentage of the market belongs to bitcoin":                               "markets where key = crypto, field btcDominancePct",
		"what part of the market is down":                                                "",
		"cumulative dollar losses over every exploit on record":                          "hacks, limit 3, sum:amountUsd",
		"In which date was robbed the Wormhole?":                                         "hacks where key = \"2022-02-02 Wormhole\", field date",
		"is fear and greed higher or lower than it was a week ago":                       "indexes, fields value weekAgo, limit 3",
		"is any coin higher than a week ago":                                             "",
		"coins higher than a week ago":                                                   "",
		"advancers versus decliners":                                                     "breadths where key = crypto, fields advancing declining",
		"Advancers versus decliners across covered coins over the past day?":             "breadths where key = crypto, fields advancing declining",
		"how many coins rose and how many fell over the last 24 hours, stables excluded": "breadths where key = crypto, fields advancing declining",
		"adv/dec line, last 24h":                                                         "breadths where key = crypto, fields advancing declining",
		"how many coins rose and how many fell this week":                                "",
		"From the trending pools, which one has the fewest liquidity?":                   "pools, field liquidityUsd, order liquidityUsd, limit 3",
		"today's fear & greed reading alongside the one seven days earlier":              "indexes, fields value weekAgo, limit 3",
		"over the past hour only: which coin jumped most and which slid most": "assets where derivative = false, field change1hPct, order " +
			"-change1hPct, limit 1; assets where derivative = false, field change1hPct, order change1hPct, limit 1",
		"deepest trending pool":                               "pools, field liquidityUsd, order -liquidityUsd, limit 1",
		"what gwei gets an ETH tx through in a hurry":         "fees where key = ethereum, fields averageGwei fastGwei",
		"Chances of Bitcoin finishing December above 100k":    "predictions where key = 610000, field probabilityPct",
		"Chances of Bitcoin finishing January above 100k":     "",
		"what are bettors pricing for a fed cut in december":  "predictions where key = 610002, field probabilityPct",
		"what are bettors pricing for a fed hike in december": "",
		"odds of solana flipping bnb":                         "predictions where key = 610006, field probabilityPct",
		"any depeg alarm firing at the moment":                "flags where kind = stablecoin_depeg",
		"is there a warning signal for benqi lending":         "flags where entity = protocol/benqi-lending",
		"btc weekly volume":                                   "",
		"volume of btc this week":                             "",
		"hourly volume of eth":                                "",
		"btc daily volume":                                    "assets where symbol = BTC, field volume24hUsd",
		"doge price this week":                                "assets where symbol = DOGE, fields priceUsd change7dPct",
		"btc last + change": "assets where symbol = BTC, fields " +
			"priceUsd change1hPct change24hPct change7dPct",
		"price of litecoin I mean bitcoin":                          "",
		"I mean the three coins with the highest price":             "",
		"price of litecoin I mean":                                  "assets where key = litecoin, field priceUsd",
		"mean price of the top 10 coins":                            "assets where rank <= 10, limit 3, avg:priceUsd",
		"how much protocols of the type derivatives you have":       "protocols where category = Derivatives, limit 3, count",
		"how much was taken from aave lending":                      "",
		"how much of the stablecoin supply does tether account for": "",
		"coins besides btc and eth with a price above 500": "assets where key != bitcoin and key != ethereum and priceUsd > 500, " +
			"field priceUsd, limit 3, count",
	})
}

// TestSameTime: a time that is said in more words is that time; the start of the week is Monday, and not seven days ago.
func TestSameTime(t *testing.T) {
	t.Parallel()
	tables := pack.Crypto().Tables(tick(t, 1))
	for q, plain := range map[string]string{
		"btc change since the start of the week":              "btc change since monday",
		"how much has eth moved since like two hours ago":     "how much has eth moved since 2 hours ago",
		"lido dao change counting from Wednesday 25 November": "lido dao change since 25 november",
		"so is the price of eth lower than it was a week ago": "price of eth now and a week ago",
		"is bitcoin higher or lower than yesterday":           "bitcoin now and yesterday",
	} {
		read, want := tables.Lookup(q, "", 3).Read, tables.Lookup(plain, "", 3).Read
		if want == nil || read == nil || read.String() != want.String() {
			t.Errorf("%q: read %v, want %v", q, read, want)
		}
	}
}

// TestTradesOfPools: the trades of a pool are counted, and no volume.
func TestTradesOfPools(t *testing.T) {
	t.Parallel()
	tables := pack.Crypto().Tables(tick(t, 1))
	for q, want := range map[string]string{
		"which trending pool had the most trades today": "pools, field txns24h, order -txns24h, limit 1",
		"which trending pool was traded the most":       "pools, field volume24hUsd, limit 1",
	} {
		if read := tables.Lookup(q, "", 3).Read; read == nil || read.String() != want {
			t.Errorf("%q: read %v, want %s", q, read, want)
		}
	}
}

// TestSlips: letters that are swapped, doubled, missing or wrong, in short words, words of fields and of time, and in several at once, are
// read where one reading results, and marked.
func TestSlips(t *testing.T) {
	t.Parallel()
	tables := pack.Crypto().Tables(tick(t, 1))
	for q, want := range map[string]string{
		"how mcuh is cardanno worth":                  "spelling: asset/cardano priceUsd",
		"aave v3 tlv":                                 "spelling: protocol/aave-v3 tvlUsd",
		"uniswp v3 tvl":                               "spelling: protocol/uniswap-v3 tvlUsd",
		"whats polkdot down this weak":                "spelling: asset/polkadot change7dPct",
		"celstia 24h chnage":                          "spelling: asset/celestia change24hPct",
		"biggst gianers todya top 1":                  "spelling: asset/zcash change24hPct",
		"wich coin lost teh most todya":               "spelling: asset/official-trump change24hPct",
		"hwo many coins are gren todya":               "spelling: breadth/crypto advancing",
		"cardanno tradign volme lsat 24 huors":        "spelling: asset/cardano volume24hUsd",
		"how manny coins ganied mroe then 10% in 24h": "spelling: asset/zcash; spelling: asset/virtual-protocol",
		"bigest protocls by tvl":                      "spelling: protocol/aave-v3 tvlUsd; spelling: protocol/lido tvlUsd; spelling: protocol/eigencloud tvlUsd",
		"worst 2 perfomers over seven days":           "spelling: asset/pendle change7dPct; spelling: asset/helium change7dPct",
		"how mcuh dose cardanno cost":                 "spelling: asset/cardano priceUsd",
		"how many coins lost ground today":            "asset/bitcoin; asset/ethereum; asset/tether",
		"how many coins are up on the groind":         "missing groind unknown_word",
		"crytpo market cap":                           "spelling: market/crypto marketCapUsd",
		"2 wrost perfomring catagories todya":         "spelling: category/modular-blockchain change24hPct; spelling: category/cat-themed-coins change24hPct",
		"how many chians have more then 6 bilion tvl": "spelling: chain/ethereum; spelling: chain/solana; spelling: chain/bsc",
		"without listing them how many coins are up":  "missing not listing no_such_field",
		"light price of bitcoin":                      "missing light unknown_word",
		"feer price":                                  "missing feer unknown_word",
		"bitcoin and gold price":                      "missing gold unknown_word",
		"btc price than":                              "missing than unknown_word",
		"price of platinum and bitcoin":               "missing platinum unknown_word",
	} {
		if got := answers(tables, q); got != want {
			t.Errorf("%q finds %s, want %s", q, got, want)
		}
	}
}

// TestFiguresInWords: halves, single units, more rows than are shown and the biggest so many are read as the figures that they are.
func TestFiguresInWords(t *testing.T) {
	t.Parallel()
	reads(t, map[string]string{
		"chains with more than half a billion in tvl":       "chains where tvlUsd > 500000000, field tvlUsd, limit 3, count",
		"coins with volume over half a million":             "assets where volume24hUsd > 500000, field volume24hUsd, limit 3, count",
		"how many coins have a price of less than one cent": "assets where priceUsd < 0.01, limit 3, count",
		"stablecoins more than one percent below their peg": "stablecoins where pegDeviationPct < -1, field pegDeviationPct, limit 3, count",
		"stablecoins more than 1% above peg": "stablecoins where pegDeviationPct > 1 and pegDeviationPct > 0, field pegDeviationPct, " +
			"order -pegDeviationPct, limit 3, count",
		"stablecoins more than 1% off peg":                   "",
		"best coin of the last 7 days from the first 50":     "assets where rank <= 50 and derivative = false, field change7dPct, order -change7dPct, limit 1",
		"gainers today top 5":                                "assets where derivative = false, field change24hPct, order -change24hPct, limit 5",
		"gainers of the top 10":                              "assets where rank <= 10 and derivative = false, field change24hPct, order -change24hPct, limit 3",
		"coins ranked 30 or better":                          "assets where rank <= 30, field rank, limit 3, count",
		"coins down 10% or more":                             "assets where change24hPct <= -10, field change24hPct, limit 3, count",
		"coins up 5%+":                                       "assets where change24hPct >= 5, field change24hPct, limit 3, count",
		"coins with a market cap of ten billion or more":     "assets where marketCapUsd >= 10000000000, field marketCapUsd, limit 3, count",
		"coins not more than 1 dollar":                       "assets where priceUsd <= 1, limit 3, count",
		"how many hacks went past $100 million":              "hacks where amountUsd > 100000000, limit 3, count",
		"hacks of 100 million or more":                       "hacks where amountUsd >= 100000000, limit 3, count",
		"has bitcoin crossed $100k":                          "",
		"coins up 5% and down on the week":                   "",
		"coins over 1 billion and below their peg":           "",
		"coins below $1 or above $100":                       "",
		"did more than 50 coins fall":                        "",
		"at most 5 coins with tvl":                           "",
		"coins up 5% or down 5%":                             "",
		"coins that went past their high":                    "",
		"10 highest-ranked coins":                            "assets",
		"lowest-ranked coin":                                 "assets where derivative = false, field rank, order -rank, limit 1",
		"the 50 biggest coins":                               "",
		"chains with more than half of the tvl":              "",
		"half of the price of bitcoin":                       "",
		"the three largest DEXes by value locked":            "protocols where category = Dexs, field tvlUsd, limit 3",
		"does solana have less value locked than tron":       "chains where key in (solana, tron), field tvlUsd",
		"does solana have less value locked than a week ago": "",
		"is any of your feeds working":                       "flags where kind in (source_error, source_stale)",
		"any stale feeds":                                    "flags where kind = source_stale",
		"10 year yield":                                      "",
	})
}

// TestNamedBefore: who speaks of himself may name the thing first, and ask behind that; what names another thing or kind is asked of that.
func TestNamedBefore(t *testing.T) {
	t.Parallel()
	price := "assets where key = litecoin, field priceUsd"
	reads(t, map[string]string{
		"I bought some litecoin from a mate and would like to know its price":                                price,
		"my wife keeps talking about litecoin, could you tell me the price":                                  price,
		"my wife keeps talking about litecoin and dash, tell me the price":                                   "",
		"I am a teacher who owns a little Litecoin, and I would be grateful to learn what one coin is worth": price,
		"My brother keeps bringing up litecoin; what is its price, and how much did it move in 24h?":         "assets where key = litecoin, fields priceUsd change24hPct",
		"My brother has litecoin; what is its volume; and what is its price":                                 "assets where key = litecoin, fields priceUsd volume24hUsd",
		"I need the volume of litecoin; what is its price":                                                   "assets where key = litecoin, fields priceUsd volume24hUsd",
		"My uncle swears by Litecoin; what is its price":                                                     price,
		"My uncle swears by Litecoin; what are the odds of it":                                               "",
		"I bought litecoin on a whim; what was it worth":                                                     "",
		"My friend says dash and litecoin are dead; what is its price":                                       "",
		"My uncle swears by Litecoin; what is the biggest coin":                                              "",
		"I own litecoin and want to know how many coins are up":                                              "",
	})
}

// TestSecondOfAKind: a second clause may ask for the first of an order of the kind that the one before it names.
func TestSecondOfAKind(t *testing.T) {
	t.Parallel()
	reads(t, map[string]string{
		"how many coins are up today and which is up the most": "breadths where key = crypto, field advancing; " +
			"assets where derivative = false, field change24hPct, order -change24hPct, limit 1",
		"how many protocols are over 1 billion and which has the most tvl": "protocols where tvlUsd > 1000000000, limit 3, count; protocols, field tvlUsd, limit 1",
		"best and worst coins this week": "assets where derivative = false, field change7dPct, order -change7dPct, limit 3; " +
			"assets where derivative = false, field change7dPct, order change7dPct, limit 3",
		"3 best and 3 worst movers of the past hour": "assets where derivative = false, field change1hPct, order -change1hPct, limit 3; " +
			"assets where derivative = false, field change1hPct, order change1hPct, limit 3",
		"3 best and 5 worst movers of the past hour":             "",
		"bitcoin price and which is the biggest":                 "",
		"how many coins are up today and which has the most tvl": "",
	})
}

// TestOfNoKind: what asks for a figure that no kind has belongs to no question before it, which is answered without it.
func TestOfNoKind(t *testing.T) {
	t.Parallel()
	tables := pack.Crypto().Tables(tick(t, 1))
	for q, partial := range map[string]bool{"10 year yield": false, "the last week": true} {
		if read := tables.Read(q, "", 3); read.Partial != partial || len(read.Parts) > 0 {
			t.Errorf("%q: partial %v, parts %v, missing %v", q, read.Partial, read.Parts, read.Missing)
		}
	}
}

// TestOfTheLargest: what is asked of so many of the largest is asked of these alone, and what is not plainly of these is asked back.
func TestOfTheLargest(t *testing.T) {
	t.Parallel()
	reads(t, map[string]string{
		"which of the 20 largest coins fell today": "assets where rank <= 20 and change24hPct < 0 and derivative = false, " +
			"field change24hPct, order change24hPct, limit 3, count",
		"which of the twenty largest assets did not decline over the past day": "assets where rank <= 20 and change24hPct >= 0 " +
			"and derivative = false, field change24hPct, order -change24hPct, limit 3, count",
		"which of the top 20 coins did not go up today": "assets where rank <= 20 and change24hPct <= 0 and derivative = false, " +
			"field change24hPct, order change24hPct, limit 3, count",
		"the 5 biggest coins and how they moved today":                     "assets where rank <= 5, field change24hPct, limit 5",
		"3 largest coins that fell today":                                  "",
		"5 largest protocols by how much they fell":                        "",
		"average 24h change of the ten coins ranked highest by market cap": "assets where rank <= 10, limit 3, avg:change24hPct",
		"mean 24-hour percentage move for assets ranked one to ten":        "assets where rank <= 10, limit 3, avg:change24hPct",
		"assets ranked five to ten":                                        "",
	})
}

// TestFiguresByOtherWords: verbs and nouns by which people ask for a figure, without one that makes another question of it.
func TestFiguresByOtherWords(t *testing.T) {
	t.Parallel()
	price := "assets where key = litecoin, field priceUsd"
	reads(t, map[string]string{
		"what does litecoin sell for":                              price,
		"what are people paying for litecoin":                      price,
		"litecoin price action":                                    price,
		"what does litecoin sell for in yen":                       "",
		"litecoin price w/ volume":                                 "assets where key = litecoin, fields priceUsd volume24hUsd",
		"net move of litecoin over the trailing 7 days":            "assets where key = litecoin, field change7dPct",
		"litecoin price trailing twelve months":                    "",
		"how hard did litecoin get smoked today":                   "assets where key = litecoin, field change24hPct",
		"what fraction of the coins rose today":                    "breadths where key = crypto, field advancingPct",
		"number of coins up and number down":                       "breadths where key = crypto, fields advancing declining",
		"what share of total market cap does bitcoin account for":  "markets where key = crypto, field btcDominancePct",
		"what share of total market cap does litecoin account for": "",
		"what share of total market volume is bitcoin":             "",
		"which sector posted the strongest one-day performance":    "categories, field change24hPct, order -change24hPct, limit 1",
		"value locked over every decentralised exchange protocol":  "protocols where category = Dexs, limit 3, sum:tvlUsd",
		"number of litecoin tx today":                              "",
		"how much has litecoin moved from monday to wednesday":     "",
		"which protocol leads by tvl":                              "protocols, field tvlUsd, limit 1",
		"how much usdc is emitted":                                 "stablecoins where symbol = USDC, field supplyUsd",
	})
}

// TestBetweenMoments: what moved between two moments is asked of neither, and what is of one thing alone of no other.
func TestBetweenMoments(t *testing.T) {
	t.Parallel()
	reads(t, map[string]string{
		"how much did eth move between 9:00 and noon":    "",
		"eth yesterday at noon and over the last 7 days": "", // which nobody else is to notice
		"eth high between 9:00 and noon":                 "",
		"eth volume between 9:00 and noon":               "",
		"news between 9:00 and noon":                     "",
		"eth price between 9:00 and the merge":           "",
		"eth and btc price between midnight and 9:00":    "",
		"fast gas on ethereum":                           "fees where key = ethereum, fields averageGwei fastGwei",
		"gas on bitcoin":                                 "",
		"usdt supply on ethereum":                        "",
		"lastest hedaline about bitcoin in the kitchen":  "",
	})
}

// TestOfThen: a moment that is gone back to is one of another figure, and the day before is no change of a day.
func TestOfThen(t *testing.T) {
	t.Parallel()
	reads(t, map[string]string{
		"fear greed previous day": "indexes, field previousDay, limit 3",
		"litecoin price at 12:00 and how much has it moved since that moment": "",
		"litecoin price since that is what I hold":                            "assets where key = litecoin, field priceUsd",
		"litecoin over the previous day":                                      "assets where key = litecoin, field change24hPct",
	})
}

// TestTwoVenues: of two venues both answer, or none.
func TestTwoVenues(t *testing.T) {
	t.Parallel()
	reads(t, map[string]string{
		"kraken eth coinbase eth":                 "",
		"Kraken's ETH quote Coinbase's ETH quote": "",
		"eth price on kraken and coinbase":        "venues where key in (coinbase/ethereum, kraken/ethereum) and venue in (Kraken, Coinbase), field priceUsd",
		"Kraken's ETH quote and Coinbase's ETH quote": "venues where key = kraken/ethereum and venue = Kraken, field priceUsd; " +
			"venues where key = coinbase/ethereum and venue = Coinbase, field priceUsd",
	})
}

// TestOtherEnd: what asks for the other end of an order, and names no figure of its own, is of the figure and the span named before.
func TestOtherEnd(t *testing.T) {
	t.Parallel()
	week := "assets where derivative = false, field change7dPct, order "
	most, fewest := "chains, field tvlUsd, limit 1", "chains, field tvlUsd, order tvlUsd, limit 1"
	reads(t, map[string]string{
		"which coin had the best seven days of all, and which one the worst": week + "-change7dPct, limit 1; " + week + "change7dPct, limit 3",
		"biggest gainer this week and biggest loser":                         week + "-change7dPct, limit 1; " + week + "change7dPct, limit 1",
		"biggest gainer today and biggest loser this week": "assets where derivative = false, field change24hPct, order -change24hPct, limit 1; " +
			week + "change7dPct, limit 1",
		"which chain has the most tvl and which has the least":        most + "; " + fewest,
		"name the chain with the most tvl and the one with the least": most + "; " + fewest,
		"biggest gainer and smallest gainer":                          "",
	})
}

// TestOfACategory: what the word for a category may be, too, does not stand in the way where a figure or a number of its members is asked for.
func TestOfACategory(t *testing.T) {
	t.Parallel()
	reads(t, map[string]string{
		"dex with the most tvl":                           "protocols where category = Dexs, field tvlUsd, limit 3",
		"largest dex by tvl":                              "protocols where category = Dexs, field tvlUsd, limit 3",
		"how many chains have more than 6 billion in tvl": "chains where tvlUsd > 6000000000, limit 3, count",
		"how many chains is aave v3 on":                   "protocols where key = aave-v3, field chains",
		"number of dexs listed":                           "protocols where category = Dexs, limit 3, count",
		"how many bitcoins are there":                     "",
		"dex":                                             "categories where key = decentralized-exchange",
		"biggest solana by name":                          "",
	})
}

// TestOtherWords: words that people have for those of the pack.
func TestOtherWords(t *testing.T) {
	t.Parallel()
	large := "protocols where category = \"Liquid Staking\" and tvlUsd > 1500000000, field tvlUsd, limit 3, count"
	reads(t, map[string]string{
		"liquid staking protocols holding in excess of $1.5bn.":          large,
		"liquid staking protocols with tvl above 1.5 bn":                 large,
		"what does bitcoin charge to confirm within an hour":             "fees where key = bitcoin, field hourSatVb",
		"how much does it cost to get confirmed on bitcoin in an hour":   "fees where key = bitcoin, field hourSatVb",
		"just to confirm, litecoin price":                                "assets where key = litecoin, field priceUsd",
		"the runner-up among stablecoins when you sort by supply":        "stablecoins, fields supplyUsd supply, limit 2",
		"I search the article about miners who go to ai, do you have it": "", // which asks for no category
		"any critical alarms":                                            "flags where severity = critical",
	})
}

// TestWhatWasStolen: how much is the sum of all, and not their number; of one it is that of it.
func TestWhatWasStolen(t *testing.T) {
	t.Parallel()
	reads(t, map[string]string{
		"how much was stolen in hacks":       "hacks, limit 3, sum:amountUsd",
		"how much money was hacked?":         "hacks, limit 3, sum:amountUsd",
		"how much was lost":                  "",
		"how much was stolen in total today": "",
	})
}

// TestCrosses: whether a figure was beyond another one at any time of a span is told by its extremes, and not by what it is now.
func TestCrosses(t *testing.T) {
	t.Parallel()
	reads(t, map[string]string{
		"is litecoin above 100":                 "assets where key = litecoin",
		"has litecoin been above 100 this week": "",
		"has litecoin been below 60 today":      "",
		"did litecoin go above 100 this week":   "",
		"did litecoin ever fall below 60":       "",
		"bottom 2 coins by market cap":          "assets, field marketCapUsd, order marketCapUsd, limit 2",
	})
}

// TestPlaces: a place is that by the figure that is named, and the rank where none is.
func TestPlaces(t *testing.T) {
	t.Parallel()
	reads(t, map[string]string{
		"what's the 5th coin by volume":     "assets where derivative = false, field volume24hUsd, order -volume24hUsd, limit 5",
		"number 1 by volume":                "assets where derivative = false, field volume24hUsd, order -volume24hUsd, limit 1",
		"which coin is 5th by market cap":   "assets where rank = 5, field marketCapUsd, limit 3",
		"which coin has rank 10":            "assets where rank = 10, limit 3",
		"highest volume to market cap coin": "",
		"how many dollars of dai are there": "stablecoins where symbol = DAI, field supplyUsd",
	})
}

// TestFits: an answer is about what the question asks of, in its unit, and in the order of what stands beside the superlative.
func TestFits(t *testing.T) {
	t.Parallel()
	top, down := "assets where rank <= 5 and change7dPct > 0 and derivative = false, ", "change24hPct < 0 and change7dPct < 0"
	reads(t, map[string]string{
		"how many dollars did btc gain":                        "",
		"tvl change of lido in dollars over 24h":               "",
		"btc fee in dollars":                                   "",
		"how many dollars of volume did btc have":              "assets where symbol = BTC, field volume24hUsd",
		"coins with the same price as usdt":                    "",
		"which protocols on solana have more tvl than raydium": "",
		"which chains grew while ethereum fell":                "",
		"is the price of btc higher than that of eth":          "assets where key in (bitcoin, ethereum), field priceUsd",
		"does eth have a higher volume than tether":            "assets where symbol = ETH, field volume24hUsd; assets where key = tether, field volume24hUsd",
		"where does solana stand by tvl among chains":          "",
		"price of eth on kraken minus coinbase":                "venues where key in (coinbase/ethereum, kraken/ethereum) and venue in (Kraken, Coinbase), field priceUsd",
		"eth on kraken minus coinbase":                         "",
		"tvl of aave v3 on ethereum":                           "",
		"is aave v3 on ethereum":                               "protocols where key = aave-v3 and topChain = Ethereum",
		"market cap of bitcoin at every exchange":              "",
		"fear and greed last week vs now":                      "indexes, fields weekAgo value, limit 3",
		"meme coins that fell":                                 "",
		"meme coins by market cap":                             "",
		"how much did meme coins gain today":                   "categories where key = meme-token, field change24hPct",
		"total market cap of meme coins":                       "categories where key = meme-token, field marketCapUsd",
		"total supply of stablecoins":                          "stablecoin_totals where key = stablecoins, field supplyUsd",
		"what trades under 1 dollar":                           "assets where priceUsd < 1, field priceUsd, limit 3, count",
		"first and last of the top ten by weekly change":       "",
		"the biggest hack of each year":                        "",
		"most stable coin today":                               "",
		"how much of the supply of stablecoins is not tether":  "",
		"three biggest stablecoins by how much of them is out": "stablecoins, limit 3",
		"price of solana and where does bitcoin rank by size":  "assets where key = solana, field priceUsd; assets where key = bitcoin, fields marketCapUsd rank",
		"fear and greed average this week":                     "",
		"usdt supply in relation to usdc":                      "stablecoins where key in (tether, usd-coin), field supplyUsd",
		"coin with the highest price in the top 10 by volume":  "",
		"who was hacked most recently":                         "hacks, limit 1",
		"at least how much has each of the top three lost":     "",
		"did all top 5 coins rise this week":                   top + "field change7dPct, order -change7dPct, limit 3, count",
		"protocols that lost tvl both today and this week": "protocols where " + down + ", fields tvlUsd change24hPct change7dPct, " +
			"order change24hPct, limit 3, count",
		"price of the coin whose volume is highest":            "assets where derivative = false, fields priceUsd volume24hUsd, order -volume24hUsd, limit 1",
		"smallest coin that rose over 5% today":                "assets where change24hPct > 5, fields change24hPct marketCapUsd, order marketCapUsd, limit 1, count",
		"biggest coin that fell today":                         "assets where change24hPct < 0, fields change24hPct marketCapUsd, limit 1, count",
		"the odds of the most traded prediction market":        "predictions, fields probabilityPct volume24hUsd, limit 3",
		"how is the biggest loser of the week doing today":     "assets where derivative = false, fields change24hPct change7dPct, order change7dPct, limit 1",
		"daily change of the coin that fell most this week":    "assets where derivative = false, fields change24hPct change7dPct, order change7dPct, limit 1",
		"protocol that lost most value locked since yesterday": "protocols, fields tvlUsd change24hPct, order change24hPct, limit 1",
		"top 10 coins by market cap and their weekly change":   "assets, fields change7dPct marketCapUsd",
		"largest chain and its weekly change":                  "chains, field change7dPct, limit 1",
	})
}
