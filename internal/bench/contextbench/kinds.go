package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// shortAnswer is how many characters a full answer may have.
const shortAnswer = 400

// kind is one of 40 ordinary questions of an agent that deals in crypto, with the one call that it makes by the descriptions of the tools.
type kind struct {
	Ask       string
	tool      string
	arguments map[string]any
	wants     func(k *kindsOf) []fact // figures that a full answer has; facts with a text are words that it has
}

// kindsOf is what the kinds are held against.
type kindsOf struct {
	*raw
	w    *world
	tick int
}

// look is a question for lookup, which needs a fact of a coin, stablecoin, protocol or chain.
func look(ask, q string, want func(k *kindsOf) []fact) kind {
	return kind{ask, "lookup", map[string]any{"q": q}, want}
}

func (k *kindsOf) coinField(id, field string) []fact {
	c := k.coin(id)
	value := map[string]*float64{
		"priceUsd": &c.Price, "change1hPct": c.Hour, "change24hPct": c.Day, "change7dPct": c.Week, "marketCapUsd": &c.Cap,
		"volume24hUsd": &c.Volume, "rank": &c.Rank,
	}[field]
	return []fact{c.fact(0).of(field, *value, slackOf(field))}
}

func ofCoin(id, field string) func(k *kindsOf) []fact {
	return func(k *kindsOf) []fact { return k.coinField(id, field) }
}

func ofStable(symbol, field string) func(k *kindsOf) []fact {
	return func(k *kindsOf) []fact {
		i := slices.IndexFunc(k.stables, func(s stable) bool { return s.Symbol == symbol })
		s := k.stables[i]
		if field == "priceUsd" {
			return []fact{s.fact(0).of(field, *s.Price, price)}
		}
		return []fact{s.fact(0).of(field, s.Circulating[s.PegType], whole)}
	}
}

func ofProtocol(slug, field string) func(k *kindsOf) []fact {
	return func(k *kindsOf) []fact {
		i := slices.IndexFunc(k.protocols, func(p protocol) bool { return p.Slug == slug })
		p := k.protocols[i]
		if field == "tvlUsd" {
			return []fact{p.fact(0).of(field, p.TVL, whole)}
		}
		return []fact{p.fact(0).of(field, *p.Day, percent)}
	}
}

func ofChain(name string) func(k *kindsOf) []fact {
	return func(k *kindsOf) []fact {
		i := slices.IndexFunc(k.chains, func(c chain) bool { return c.Name == name })
		return []fact{k.chains[i].fact(0).of("tvlUsd", k.chains[i].TVL, whole)}
	}
}

// among is the first of facts with a field and, unless it is empty, a part of the name.
func among(facts func(k *kindsOf) []fact, field, name string) func(k *kindsOf) []fact {
	return func(k *kindsOf) []fact {
		for _, f := range facts(k) {
			if f.field == field && strings.Contains(strings.ToLower(f.name), strings.ToLower(name)) {
				return []fact{f}
			}
		}
		return []fact{{text: "(upstream has none)"}}
	}
}

func words(list ...string) func(k *kindsOf) []fact {
	return func(*kindsOf) []fact { return texts(list) }
}

func texts(list []string) (facts []fact) {
	for _, text := range list {
		facts = append(facts, fact{text: text})
	}
	return facts
}

// unfetched is what no source of the pack says: there is no full answer.
func unfetched(k *kindsOf) []fact { return nil }

// movers are the names of the three coins that moved most in one direction, without those that only stand for another one.
func movers(sign float64) func(k *kindsOf) []fact {
	return func(k *kindsOf) []fact {
		list := slices.DeleteFunc(slices.Clone(k.coins), func(c coin) bool {
			return c.Day == nil || c.Volume < 1e6 || strings.Contains(c.ID, "usd") || c.Symbol == "weth" ||
				strings.Contains(c.ID, "wrapped") || strings.Contains(c.ID, "staked") || hostile(c.Name)
		})
		slices.SortFunc(list, func(a, b coin) int { return cmp.Compare(*b.Day*sign, *a.Day*sign) })
		return texts([]string{strings.ToUpper(list[0].Symbol), strings.ToUpper(list[1].Symbol), strings.ToUpper(list[2].Symbol)})
	}
}

func newestTitle(name string) func(k *kindsOf) []fact {
	return func(k *kindsOf) []fact {
		for _, s := range k.stories {
			if name == "" && hostile(s.title) {
				return texts([]string{s.title[:18]}) // the rest may be cleaned
			}
			if name == "" || k.names(s.title, name) {
				return texts([]string{s.title})
			}
		}
		return texts([]string{"(upstream has none)"})
	}
}

// yesterday is the price of Bitcoin half an hour, six ticks, ago.
func yesterday(k *kindsOf) []fact {
	before, err := k.w.read(k.tick - 6)
	if err != nil {
		return nil
	}
	c := before.coin("bitcoin")
	return []fact{c.fact(0).of("priceUsd", c.Price, price)}
}

// kinds are the questions. Some of the last ones ask for what is not fetched.
func kinds() []kind {
	global := func(k *kindsOf) []fact { return k.global }
	rest := func(k *kindsOf) []fact { return k.rest }
	odds := func(k *kindsOf) []fact { return k.odds }
	sectors := func(k *kindsOf) []fact { return k.categories }
	return []kind{
		look("What is bitcoin at?", "what is bitcoin at", ofCoin("bitcoin", "priceUsd")),
		look("What is ADA at, which is no major?", "ADA price", ofCoin("cardano", "priceUsd")),
		look("How has ETH moved today?", "ETH 24h change", ofCoin("ethereum", "change24hPct")),
		look("How has SOL moved this week?", "solana 7d", ofCoin("solana", "change7dPct")),
		look("How has DOGE moved in the last hour?", "DOGE 1h", ofCoin("dogecoin", "change1hPct")),
		look("What is LINK's market cap?", "chainlink market cap", ofCoin("chainlink", "marketCapUsd")),
		look("How much UNI is traded?", "UNI 24h volume", ofCoin("uniswap", "volume24hUsd")),
		look("Which rank has Monero?", "rank of monero", ofCoin("monero", "rank")),
		look("Three prices at once", "AVAX price, TON price, NEAR price", func(k *kindsOf) []fact {
			avax, ton := k.coinField("avalanche-2", "priceUsd"), k.coinField("the-open-network", "priceUsd")
			return slices.Concat(avax, ton, k.coinField("near", "priceUsd"))
		}),
		look("What is Tether's supply?", "tether supply", ofStable("USDT", "supplyUsd")),
		look("Is USDC at its peg?", "USDC peg", ofStable("USDC", "priceUsd")),
		look("Which stablecoins are the largest?", "largest stablecoins", words("USDT", "USDC", "USDe")),
		look("How large is the whole market?", "total market cap", among(global, "marketCapUsd", "")),
		look("What is Bitcoin's dominance?", "btc dominance", among(global, "btcDominancePct", "")),
		look("Fear and greed now?", "fear and greed index", among(rest, "value", "fear")),
		look("Fear and greed a week ago?", "fear and greed a week ago", among(rest, "weekAgo", "fear")),
		look("How much is locked in Aave?", "aave tvl", ofProtocol("aave-v3", "tvlUsd")),
		look("Has Lido's TVL moved today?", "lido tvl change 24h", ofProtocol("lido", "change24hPct")),
		look("How much is locked on Base?", "base chain tvl", ofChain("Base")),
		look("Which protocols hold most?", "largest protocols by tvl", words("Aave V3", "Lido", "EigenCloud")),
		look("Which chains hold most?", "top chains by tvl", words("Ethereum", "Solana")),
		look("Who gained most today?", "top gainers", movers(1)),
		look("Who lost most today?", "top losers", movers(-1)),
		look("Which pools trend?", "trending pools", func(k *kindsOf) []fact {
			return texts([]string{k.pools[1].Attributes.Name, k.pools[2].Attributes.Name})
		}),
		look("How is the VIRTUAL pool doing?", "VIRTUAL / WETH pool volume", func(k *kindsOf) []fact {
			for _, p := range k.pools {
				if p.Attributes.Name == "VIRTUAL / WETH" {
					return []fact{{value: atof(p.Attributes.Volume.H24), slack: whole}}
				}
			}
			return nil
		}),
		look("What does a Bitcoin transaction cost?", "bitcoin fees", among(rest, "fastestSatVb", "")),
		look("What is new about Solana?", "solana news", newestTitle("Solana")),
		{"What is the newest headline?", "lookup", map[string]any{"q": "latest headline", "limit": 1}, newestTitle("")},
		look("Which hacks were there lately?", "latest hacks", words("Kamino Lend")),
		look("How likely is Bitcoin over $100,000?", "bitcoin 100000 odds", among(odds, "probabilityPct",
			"bitcoin close above $100,000")),
		look("How do privacy coins do?", "privacy coins sector change", among(sectors, "change24hPct", "privacy")),
		look("What does Kraken ask for Bitcoin?", "bitcoin price at kraken", among(rest, "priceUsd", "bitcoin")),
		{"What has changed in the last half hour?", "changes", map[string]any{"since": "-30m", "min": "0.5"}, words("18 of 18 sources")},
		look("What is ETH's funding rate?", "ETH funding rate", unfetched),
		look("What is BTC's open interest?", "BTC open interest", unfetched),
		look("What is BTC's implied volatility?", "BTC implied volatility", unfetched),
		look("What does gas on Ethereum cost?", "ethereum gas price", among(rest, "averageGwei", "")),
		look("What does USDC yield on Aave?", "USDC yield on aave", unfetched),
		look("What fees does Uniswap earn?", "uniswap protocol revenue", unfetched),
		{"What was Bitcoin half an hour ago?", "snapshot", map[string]any{"at": "-30m"}, yesterday},
	}
}

// kindScore is how the 40 kinds were answered.
type kindScore struct {
	Kinds      int      `json:"kinds"`
	Full       int      `json:"full"`       // have all that was asked for
	Short      int      `json:"short"`      // of these, in at most 400 characters
	Characters int      `json:"characters"` // of the full answers, on average
	Median     int      `json:"median"`
	Missed     []string `json:"missed"`
	Long       []string `json:"long"`
}

// askKinds asks the 40 questions.
func (b *bench) askKinds(ctx context.Context, r *raw) error {
	against := &kindsOf{r, b.w, b.w.tick}
	score := kindScore{Kinds: len(kinds())}
	var sizes []int
	for _, k := range kinds() {
		wants := k.wants(against)
		if !b.w.caller.has(k.tool) {
			score.Missed = append(score.Missed, k.Ask+" (no tool "+k.tool+")")
			continue
		}
		text, err := b.w.caller.tool(ctx, k.tool, k.arguments)
		if err != nil {
			return err
		}
		full := len(wants) > 0
		for _, f := range wants {
			full = full && (f.text != "" && strings.Contains(strings.ToLower(text), strings.ToLower(f.text)) || f.text == "" &&
				f.in(text))
		}
		size := utf8.RuneCountInString(text)
		if !full {
			score.Missed = append(score.Missed, fmt.Sprintf("%s %v: %s", k.Ask, k.arguments, clip(text, 240)))
			continue
		}
		score.Full++
		sizes = append(sizes, size)
		if size <= shortAnswer {
			score.Short++
		} else {
			score.Long = append(score.Long, fmt.Sprintf("%s %d characters", k.Ask, size))
		}
	}
	if len(sizes) > 0 {
		slices.Sort(sizes)
		sum := 0
		for _, n := range sizes {
			sum += n
		}
		score.Characters, score.Median = sum/len(sizes), sizes[len(sizes)/2]
	}
	b.kinds = &score
	return nil
}
