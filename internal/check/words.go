package check

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/contextd/contextd/internal/prose"
	"github.com/contextd/contextd/sdk/api"
)

// reason is a word that ends the judgement, and why.
type reason struct {
	start, end int
	why        api.CheckReason
}

// ending is why a word, with the one behind it, ends the judgement; "" for other words.
func ending(w, next string) api.CheckReason {
	switch w {
	case "will", "would", "could", "may", "might", "should", "shall", "expects", "expect", "expected", "forecast", "forecasts",
		"predicts", "prediction", "projected", "if", "unless", "until", "hypothetical", "scenario", "assume", "assuming", "when",
		"once", "likely", "likelihood", "probability", "chance", "odds", "aim", "aims", "hope", "hopes", "plan", "plans", "goal",
		"can", "whether", "soon", "next", "tomorrow":
		return api.CheckForecast
	case "support", "resistance", "stop", "entry", "breakout", "target", "targets", "tp", "sl", "level", "levels", "zone",
		"trigger", "threshold", "liquidation", "limit", "alert", "line", "barrier", "ceiling", "floor", "pivot", "invalidation",
		"fibonacci":
		return api.CheckLevel
	case "not", "isn", "wasn", "aren", "weren", "don", "didn", "doesn", "never", "without", "nor", "neither", "hardly", "cannot",
		"false", "wrong", "untrue", "deny", "denied", "instead":
		return api.CheckNegated
	case "no":
		if next != "longer" && next != "change" {
			return ""
		}
		return api.CheckNegated
	case "yesterday", "ago", "previously", "previous", "earlier", "prior", "ath", "monday", "tuesday", "wednesday", "thursday",
		"friday", "saturday", "sunday", "january", "february", "march", "april", "june", "july", "august", "september", "october",
		"november", "december", "since", "from", "formerly", "historically", "originally", "initially", "peak", "peaked", "high",
		"low", "record", "before", "back", "during", "overnight", "open", "opened", "close", "closed", "closing", "opening",
		"then", "quarter", "used":
		return api.CheckOtherTime
	case "all":
		if next == "time" {
			return api.CheckOtherTime
		}
	case "last":
		if next != "24" && next != "hour" && next != "day" && next != "7" && next != "1" && next != "seven" {
			return api.CheckOtherTime
		}
	case "said", "says", "according", "told", "claims", "claimed", "claim", "tweeted", "wrote", "writes", "reported", "reports",
		"thinks", "believes", "asked", "analyst", "analysts", "rumor", "rumour", "rumours", "allegedly", "stated", "argues",
		"estimate", "estimates", "estimated":
		return api.CheckQuoted
	case "i", "we", "my", "our", "me", "us", "your", "you", "position", "positions", "bought", "sold", "basis", "pnl", "portfolio",
		"holding", "holdings", "wallet", "invested", "paid", "shares", "profit", "loss", "balance", "margin", "leverage",
		"stake", "staked", "exposure", "allocation", "order", "orders", "he", "she", "his", "her":
		return api.CheckOwnPosition
	case "binance", "coinbase", "kraken", "okx", "bybit", "bitfinex", "upbit", "bitstamp", "kucoin", "futures", "perp", "perps",
		"perpetual", "perpetuals", "options", "option", "dex", "otc", "cme", "premarket", "etf", "etfs", "spread", "premium",
		"discount", "derivatives", "contract", "contracts":
		return api.CheckOtherVenue
	case "average", "avg", "median", "mean", "combined", "total", "ratio", "implied", "annualized", "annualised", "fdv",
		"correlation", "per", "times", "double", "doubled", "twice", "half", "third", "sum", "difference", "gap", "vwap",
		"volatility", "drawdown", "beta", "sharpe", "confidence", "score", "scored", "rating", "rsi", "macd", "ma", "ema", "sma",
		"weighted", "relative", "versus", "vs", "against", "compared", "than", "between", "outperformed", "underperformed",
		"cumulative", "net", "inflow", "inflows", "outflow", "outflows", "basket", "yield", "apy", "apr", "tax", "discounted",
		"points", "realized", "unrealized":
		return api.CheckComputed
	}
	return ""
}

// endings are the words of the sentence that end the judgement.
func (t *statement) endings() (list []reason) {
	for i, w := range t.words {
		if t.inMention(w) {
			continue
		}
		next := ""
		if i+1 < len(t.words) {
			next = t.words[i+1].Text
		}
		last := ""
		if i > 0 {
			last = t.words[i-1].Text
		}
		plain := w.Text == "than" && (last == "more" || last == "less") ||
			w.Text == "reported" && (last == "a" || last == "the") || w.Text == "says" && next == "otherwise" ||
			w.Text == "before" && i > 2 && joined(t.words[i-3:i]) == "on the day"
		if why := ending(w.Text, next); why != "" && !plain {
			list = append(list, reason{w.Start, w.End, why})
		}
		if year(w.Text) && !t.partOfNumber(w) {
			list = append(list, reason{w.Start, w.End, api.CheckOtherTime})
		}
	}
	return list
}

// partOfNumber reports whether w is some of the digits of a number, as 2078 is in 0.2078.
func (t *statement) partOfNumber(w prose.Word) bool {
	return slices.ContainsFunc(t.numbers, func(n *prose.Written) bool {
		return n.Kind == prose.Number && n.Loose && !t.inName(n.Start, n.End) &&
			n.Start <= w.Start && w.End <= n.End && n.End-n.Start > w.End-w.Start
	})
}

// year reports whether a word is a year of this century or the last.
func year(w string) bool {
	return len(w) == 4 && (w[:2] == "20" || w[:2] == "19") && strings.Trim(w, "0123456789") == ""
}

// ended is why c is not judged: by the word nearest to its figure, of its own clause, or where whole is set of the sentence.
func (c *clause) ended(whole bool) api.CheckReason {
	own := map[string]bool{}   // words for the fields that c may be of: yesterday, week ago, market cap
	kinds := map[string]bool{} // and for all that such rows have: options, spread
	called := map[string]bool{}
	for _, v := range slices.Concat(c.values, c.inherits) {
		kind := c.Tables.KindNamed(v.row.Kind)
		words(kinds, kind.Words)
		words(called, kind.Words)
		for _, f := range kind.Fields {
			words(kinds, f.Words)
			if f.Name == v.field {
				words(own, f.Words)
			}
		}
	}
	from, to := c.from, c.w.End
	if c.subject != nil && c.subject.end <= c.w.Start {
		from = max(from, c.subject.end)
	}
	if len(c.behind) > 0 {
		to = c.behind[len(c.behind)-1].End
	}
	best, why := -1, api.CheckReason("")
	for _, e := range c.ends {
		if c.metric && (own[strings.ToLower(c.flat.Text[e.start:e.end])] || e.why == api.CheckQuoted && own[c.after(e.end)]) {
			continue // a reported loss
		}
		word := strings.ToLower(c.flat.Text[e.start:e.end])
		if c.w.Start <= e.start && e.end <= c.w.End && own[c.after(c.w.End)] { // 1914 likes
			continue
		}
		if kinds[word] && e.why == api.CheckOtherVenue || called[word] && e.why == api.CheckComputed ||
			e.why == api.CheckOtherTime && c.ofMoment(word) ||
			c.last != nil && word == "between" {
			continue
		}
		inside := e.start >= from && e.end <= to
		if c.subject != nil && c.subject.start < c.w.Start && !inside && !whole {
			// a word at the head of the sentence governs all of it
			inside = e.end <= c.subject.start && governs(e.why) && !c.thing(e)
		}
		if (inside || whole) && (best < 0 || abs(e.start-c.w.Start) < best) {
			best, why = abs(e.start-c.w.Start), e.why
		}
	}
	return why
}

// words adds the words of phrases to a set.
func words(to map[string]bool, phrases []string) {
	for _, p := range phrases {
		for word := range strings.FieldsSeq(p) {
			to[word] = true
		}
	}
}

// ofMoment reports whether a word is of the date that the figures of c are of: on 19 November, in October 2026.
func (c *clause) ofMoment(word string) bool {
	return slices.ContainsFunc(slices.Concat(c.values, c.inherits), func(v value) bool {
		year, rest, _ := strings.Cut(v.row.Of, "-")
		m, _, _ := strings.Cut(rest, "-")
		n, _ := strconv.Atoi(m)
		return word == year || n > 0 && month(word) == n
	})
}

// month is the number of a month by its name, 0 for other words.
func month(word string) int {
	for m := time.January; m <= time.December; m++ {
		if name := strings.ToLower(m.String()); word == name || len(word) == 3 && strings.HasPrefix(name, word) {
			return int(m)
		}
	}
	return 0
}

// after is the word behind a place.
func (c *clause) after(i int) string {
	for _, w := range c.words {
		if w.Start >= i {
			return w.Text
		}
	}
	return ""
}

func governs(why api.CheckReason) bool {
	return why == api.CheckForecast || why == api.CheckQuoted || why == api.CheckOwnPosition || why == api.CheckOtherVenue
}

// thing reports whether a word for what one has is about another figure of the sentence, and not about all of it as "we" is.
func (c *clause) thing(e reason) bool {
	switch c.flat.Text[e.start:e.end] {
	case "loss", "profit", "balance", "paid", "shares", "margin", "leverage", "order", "orders", "stake", "staked":
		return slices.ContainsFunc(c.numbers, func(w *prose.Written) bool { return e.end <= w.Start && w.End <= c.subject.start })
	}
	return false
}

func abs(n int) int { return max(n, -n) }

// plain reports whether a word may stand between a name and its figure and leaves one meaning.
func plain(w string) bool {
	switch w {
	case "a", "an", "the", "and", "but", "while", "with", "of", "in", "on", "at", "to", "by", "for", "as", "its", "it", "is",
		"are", "was", "has", "s", "have", "stands", "stand", "sits", "sit", "trades", "trade", "trading", "traded", "changes",
		"hands", "quoted", "priced", "price", "costs", "cost", "now", "currently", "today", "right", "presently", "worth",
		"valued", "roughly", "about", "around", "some", "nearly", "almost", "over", "under", "just", "only", "still", "also",
		"usd", "dollars", "percent", "us", "coin", "token", "tokens", "protocol", "chain", "network", "index", "cryptocurrency", "crypto",
		"approximately", "more", "least", "reads", "reading", "past", "last", "hours", "hour", "day", "days", "week", "24", "7",
		"1", "24h", "7d", "1h", "utc", "after", "this", "seven", "moved", "move", "change", "changed", "tvl", "cap", "market",
		"volume", "supply", "hovers", "hovering", "near", "daily", "weekly", "hourly", "whose", "meanwhile", "which", "period",
		"moment", "between", "itself", "again":
		return true
	}
	return prose.Heading(w, "") != 0
}

// closed reports whether every word of the clause is known, so that the figure can be of nothing else.
func (c *clause) closed() bool {
	for i := range c.flat.Text[c.Start:c.w.Start] {
		if prose.Unspaced(c.flat.Text[c.Start+i:]) { // a name may be among such letters
			return false
		}
	}
	known := func(w prose.Word) bool {
		if plain(w.Text) || strings.Trim(w.Text, "0123456789") == "" || c.subject.end <= w.Start && w.End <= c.subject.until {
			return true
		}
		for _, v := range c.values {
			kind := c.Tables.KindNamed(v.row.Kind)
			if slices.ContainsFunc(kind.Words, func(p string) bool { return p == w.Text || p == w.Text+"s" }) { // the perps of Bitcoin
				return true
			}
			for _, f := range kind.Fields {
				own := f.Name == v.field // Tether minted $5 is not about its price
				if own && slices.ContainsFunc(f.Words, func(p string) bool { return slices.Contains(strings.Fields(p), w.Text) }) {
					return true
				}
			}
		}
		return false
	}
	for _, w := range slices.Concat(c.before, c.behind, c.between(c.Start, c.w.Start)) {
		if !known(w) {
			return false
		}
	}
	return true
}
