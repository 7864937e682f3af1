package main

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
)

// question is asked as people ask, and has one right answer, which a raw payload holds.
type question struct {
	class string // of questions: price, change, supply, …
	text  string
	want  fact
}

// ways are how people ask for a field. N is the name of the thing and S its symbol, or its name where it has none.
type ways struct {
	class, field string
	forms        []string
}

func coinWays() []ways {
	return []ways{
		{"price", "priceUsd", []string{
			"S price", "price of N", "S", "what is S at", "how much is N", "N price now", "N", "current S price in usd", "what's N worth",
			"$S",
			"how is N doing", "N price today", "S/USD", "S to USD", "live N price", "price N usd", "tell me the price of N", "S/USDT",
		}},
		{"change", "change24hPct", []string{
			"S 24h", "N 24h change", "how much did N move today", "S change today", "N daily change", "is N up today",
			"N 24h performance",
		}},
		{"change", "change1hPct", []string{"S 1h", "N 1h change", "S hourly change"}},
		{"change", "change7dPct", []string{"S 7d", "N weekly change", "N change this week", "S 7d change"}},
		{"market cap", "marketCapUsd", []string{"N market cap", "S mcap", "market cap of N", "S marketcap"}},
		{"volume", "volume24hUsd", []string{"S volume", "N 24h volume", "volume of S", "how much S is traded"}},
		{"rank", "rank", []string{"rank of N", "S rank"}},
	}
}

func stableWays() []ways {
	return []ways{
		{"supply", "supplyUsd", []string{
			"N supply", "S supply", "what is the supply of N", "S circulating supply", "how much S is in circulation",
			"total N supply",
		}},
		{"peg", "priceUsd", []string{"S peg", "is S pegged", "N depeg"}},
	}
}

func protocolWays() []ways {
	return []ways{
		{"tvl", "tvlUsd", []string{
			"N tvl", "tvl of N", "how much is locked in N", "N total value locked", "N deposits", "what is N's tvl",
		}},
		{"tvl change", "change24hPct", []string{"N tvl change 24h", "N tvl 24h"}},
	}
}

func chainWays() []ways {
	return []ways{{"tvl", "tvlUsd", []string{"N tvl", "N chain tvl", "tvl on N", "tvl of the N network"}}}
}

func marketWays() []ways {
	return []ways{
		{"market", "marketCapUsd", []string{"total market cap", "crypto market cap", "total crypto market cap"}},
		{"market", "volume24hUsd", []string{"total market volume", "crypto market volume"}},
		{"market", "btcDominancePct", []string{"btc dominance", "bitcoin dominance", "what is btc dominance"}},
		{"market", "ethDominancePct", []string{"eth dominance", "ethereum dominance"}},
	}
}

func restWays() []ways {
	return []ways{
		{"sentiment", "value", []string{"fear and greed", "fear and greed index", "market sentiment", "crypto fear & greed"}},
		{"fee", "fastestSatVb", []string{
			"bitcoin fees", "btc fee", "fastest bitcoin fee", "bitcoin transaction fee", "btc network fee sat/vB",
		}},
		{"fee", "averageGwei", []string{"ethereum gas price", "eth gas", "gas price", "average gas price on ethereum in gwei"}},
	}
}

// asked fills one of the forms of w.
func (w ways) asked(f fact, value float64, s slack, r *rand.Rand) question {
	form := w.forms[r.IntN(len(w.forms))]
	symbol := f.symbol
	if symbol == "" || r.IntN(4) == 0 {
		symbol = f.name
	}
	if r.IntN(3) == 0 {
		symbol = strings.ToLower(symbol)
	}
	text := blank.ReplaceAllStringFunc(form, func(letter string) string {
		switch letter {
		case "N":
			return f.name
		case "V":
			return f.other
		}
		return symbol
	})
	return question{w.class, text, f.of(w.field, value, s)}
}

// blank is where a form has the name, the symbol, or what else a thing is called.
var blank = regexp.MustCompile(`\b[NSV]\b`)

// pick is a question from some ways.
func pick(r *rand.Rand, all []ways) ways { return all[r.IntN(len(all))] }

// make makes a question about what upstream says.
func (r *raw) ask(chance *rand.Rand) (q question, ok bool) {
	switch n := chance.IntN(100); {
	case n < 50:
		return r.askCoin(chance)
	case n < 63:
		return r.askStable(chance)
	case n < 79:
		return r.askLocked(chance)
	case n < 85:
		return r.askAbout(chance, marketWays(), r.global)
	case n < 92:
		return r.askAbout(chance, restWays(), r.rest)
	}
	return r.askNews(chance)
}

func (r *raw) askCoin(chance *rand.Rand) (q question, ok bool) {
	c := r.coins[chance.IntN(len(r.coins))]
	w := coinWays()[0]
	if chance.IntN(100) >= 50 {
		w = pick(chance, coinWays()[1:])
	}
	value, s := map[string]*float64{
		"priceUsd": &c.Price, "change1hPct": c.Hour, "change24hPct": c.Day, "change7dPct": c.Week, "marketCapUsd": &c.Cap,
		"volume24hUsd": &c.Volume, "rank": &c.Rank,
	}[w.field], slackOf(w.field)
	if value == nil || hostile(c.Name) {
		return q, false
	}
	return w.asked(c.fact(int(c.Rank)), *value, s, chance), true
}

// slackOf is how the contract rounds a field, by the unit that its name ends with.
func slackOf(field string) slack {
	switch {
	case field == "priceUsd":
		return price
	case strings.HasSuffix(field, "Pct"):
		return percent
	case strings.HasSuffix(field, "Usd"):
		return whole
	}
	return exact
}

func (r *raw) askStable(chance *rand.Rand) (q question, ok bool) {
	i := chance.IntN(len(r.stables))
	c := r.stables[i]
	w := pick(chance, stableWays())
	if c.PegType != "peggedUSD" {
		return q, false
	}
	if w.field == "supplyUsd" {
		return w.asked(c.fact(i+1), c.Circulating[c.PegType], whole, chance), true
	}
	if c.Price == nil {
		return q, false
	}
	return w.asked(c.fact(i+1), *c.Price, price, chance), true
}

func (r *raw) askLocked(chance *rand.Rand) (q question, ok bool) {
	if chance.IntN(3) == 0 {
		i := chance.IntN(min(20, len(r.chains)))
		return pick(chance, chainWays()).asked(r.chains[i].fact(i+1), r.chains[i].TVL, whole, chance), true
	}
	i := chance.IntN(min(120, len(r.protocols)))
	p := r.protocols[i]
	w := pick(chance, protocolWays())
	if p.excluded() || p.Day == nil {
		return q, false
	}
	if w.field == "tvlUsd" {
		return w.asked(p.fact(i+1), p.TVL, whole, chance), true
	}
	return w.asked(p.fact(i+1), *p.Day, percent, chance), true
}

// askAbout asks for one of some facts.
func (r *raw) askAbout(chance *rand.Rand, all []ways, facts []fact) (q question, ok bool) {
	w := pick(chance, all)
	i := slices.IndexFunc(facts, func(f fact) bool { return f.field == w.field })
	if i < 0 {
		return q, false
	}
	return w.asked(facts[i], facts[i].value, facts[i].slack, chance), true
}

// askNews asks for the newest headline that names a coin.
func (r *raw) askNews(chance *rand.Rand) (q question, ok bool) {
	s := r.stories[chance.IntN(len(r.stories))]
	for _, c := range r.coins {
		if !r.names(s.title, c.Name) || hostile(c.Name) {
			continue
		}
		i := slices.IndexFunc(r.stories, func(s story) bool { return r.names(s.title, c.Name) })
		newest := r.stories[i]
		w := ways{"headline", "title", []string{
			"N news", "S news", "latest N headlines", "news about N", "N in the news", "any news on N",
			"latest news on S",
		}}
		q = w.asked(c.fact(int(c.Rank)), 0, exact, chance)
		q.want.source, q.want.kind, q.want.text = newest.source, "headline", newest.title
		return q, true
	}
	return q, false
}

// names reports whether a title names a coin, and not another one whose name its own is part of: Bitcoin Cash is not Bitcoin.
func (r *raw) names(title, name string) bool {
	return named(title, name) && !slices.ContainsFunc(r.coins, func(c coin) bool {
		return len(c.Name) > len(name) && named(c.Name, name) && named(title, c.Name)
	})
}

// named reports whether a title has a name as words of its own, as it is written.
func named(title, name string) bool {
	words := func(s string) string {
		return " " + strings.Join(strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(" ,.:;!?'’\"()/$", r) }),
			" ") + " "
	}
	return strings.Contains(words(title), words(name))
}

// hostile reports whether a text is one of those that were planted.
func hostile(text string) bool {
	return slices.ContainsFunc([]string{hostileTitle, hostileTurn, hostileName, hostilePool}, func(h string) bool {
		return strings.Contains(text, h)
	})
}

// batch makes n questions about what sources say that answer well.
func (b *bench) batch(r *raw, n int) (list []question) {
	for tries := 0; len(list) < n && tries < 50*n; tries++ {
		q, ok := r.ask(b.chance)
		if ok && len(q.text) <= 60 && !strings.Contains(q.text, ",") && b.w.well(q.want.source, b.w.tick) {
			list = append(list, q)
		}
	}
	return list
}

func (q question) String() string {
	if q.want.text != "" {
		return fmt.Sprintf("%q: %s %q [%s]", q.text, q.want.kind, q.want.text, q.want.source)
	}
	return fmt.Sprintf("%q: %s/%s %s = %v", q.text, q.want.kind, q.want.key, q.want.field, q.want.value)
}
