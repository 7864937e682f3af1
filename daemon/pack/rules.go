package pack

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/contextd/contextd/daemon/source"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk/api"
)

// These are the rules of the crypto pack. A flag rises at the first bound and goes down beyond the second; what follows are the
// bounds of its severities, of which notice is the least.
//
//	stablecoin_depeg   0.5 % off the peg, $50M of supply   under 0.35 %       warning 1 %, critical 2 %
//	price_move         20 % in 24 h, $100M of market cap   under 17 %         warning 35 %
//	fast_move          8 % in an hour, a major 4 %, $100M  under 6 %, 3 %     warning 15 %, a major 8 %
//	tvl_drop           -10 % in 24 h, $25M before          over -8 %          warning -20 %, critical -40 %
//	exploit_reported   $1M, at most seven days ago         older              warning, critical $25M
//	sentiment_extreme  24 and under, 76 and over           inside             notice
//	price_divergence   1 % between Kraken and CoinGecko    under 0.6 %        warning
//	fee_spike          50 sat/vB                           under 35 sat/vB    notice
//	gas_spike          30 gwei for a fast one              under 20 gwei      warning 100 gwei
//	suspicious_name    a name that reads as an instruction none               warning
//
// The bounds of size decide only whether a flag rises: a coin that falls out of them because it crashes keeps its flag. The flags
// about sources are those of sourceTroubles.

// rule is what all flags of a kind have in common. Thresholds are compared with figures as rounded as readers see them, so that
// no flag shows a value that would not have raised it.
type rule struct {
	kind, prefix, unit string
	threshold          float64 // that raises
	ref                int     // anchor of the source
}

// observe begins what rule r saw of a subject, which is an entity.
func (v *view) observe(r rule, id, subject, entity string) observation {
	return observation{
		ID: r.prefix + id, Kind: r.kind, Subject: subject, Unit: r.unit, Entity: entity, Ref: r.ref, Fresh: v.fresh(r.ref),
		Threshold: r.threshold,
	}
}

// pegID is the id of a flag on the coin c: by its symbol. Symbols are not unique. The largest coin has the short id, unless another one
// already has: a flag keeps its id when coins change their places.
func (v *view) pegID(prefix string, c source.Stablecoin, taken map[string]bool) string {
	short := strings.ToLower(c.Symbol)
	long := short + ":" + c.ID
	owner := v.owners[shorten(prefix+short)]
	if taken[short] || owner != "" && owner != c.ID || v.owners[shorten(prefix+long)] == c.ID {
		return long
	}
	taken[short] = true
	return short
}

// shows reports whether s may stand, so that it needs a message. To write one of every name that is quiet would take long.
func (s *observation) shows() bool { return s.Raise || s.Hold }

// depegs sees how far the stablecoins pegged to the dollar are off their peg. Other pegs have no fixed price in dollars.
func (v *view) depegs() (seen []observation) {
	doc := lastGood[*source.StablecoinsDoc](v, refStablecoins)
	if doc == nil {
		return nil
	}
	r := rule{api.FlagDepeg, "depeg:", "pct", 0.5, refStablecoins}
	taken := make(map[string]bool)
	for _, c := range doc.Coins {
		if c.PegType != pegUSD || c.Symbol == "" {
			continue
		}
		s := v.observe(r, v.pegID(r.prefix, c, taken), c.Symbol, c.ID)
		if c.Price != nil {
			off := human.Round((*c.Price-1)*100, 2)
			size := math.Abs(off)
			s.Value, s.Raise, s.Hold = &off, size >= 0.5 && c.Supply >= 50e6, size >= 0.35
			s.Severity = severityOf(size, 1, 2)
			if s.shows() {
				s.Message = fmt.Sprintf("%s trades %.2f%% %s its peg, at $%s", human.Named(c.Symbol), size, side(off),
					human.Plain(human.Round(*c.Price, 4)))
			}
		}
		seen = append(seen, s)
	}
	return seen
}

// moves sees the coins' changes of 24 hours. Coins that stand for another one would only repeat its flag.
func (v *view) moves() (seen []observation) {
	doc := lastGood[*source.MarketsDoc](v, refMarkets)
	if doc == nil {
		return nil
	}
	r := rule{api.FlagPriceMove, "move:", "pct", 20, refMarkets}
	for _, c := range doc.Coins {
		if c.ID == "" || v.stable(c.ID) || derivative(c.ID) {
			continue
		}
		s := v.observe(r, c.ID, c.Name, c.ID)
		if change := human.RoundPercent(c.Change24h); change != nil && c.MarketCap != nil {
			size := math.Abs(*change)
			s.Value, s.Raise, s.Hold = change, size >= 20 && *c.MarketCap >= 100e6, size >= 17
			s.Severity = severityOf(size, 35, math.Inf(1))
			if s.shows() {
				s.Message = fmt.Sprintf("%s is %s in 24 hours", human.Named(c.Name), moved(*change))
			}
		}
		seen = append(seen, s)
	}
	return seen
}

// fastMoves sees the coins' changes of an hour. The majors move less, so that less of it is news.
func (v *view) fastMoves() (seen []observation) {
	doc := lastGood[*source.MarketsDoc](v, refMarkets)
	if doc == nil {
		return nil
	}
	for _, c := range doc.Coins {
		if c.ID == "" || v.stable(c.ID) || derivative(c.ID) {
			continue
		}
		raise, hold, warning := 8.0, 6.0, 15.0
		if slices.ContainsFunc(majors(), func(m major) bool { return m.id == c.ID }) {
			raise, hold, warning = 4, 3, 8
		}
		s := v.observe(rule{api.FlagFastMove, "fast:", "pct", raise, refMarkets}, c.ID, c.Name, c.ID)
		if change := human.RoundPercent(c.Change1h); change != nil && c.MarketCap != nil {
			size := math.Abs(*change)
			s.Value, s.Raise, s.Hold = change, size >= raise && *c.MarketCap >= 100e6, size >= hold
			s.Severity = severityOf(size, warning, math.Inf(1))
			if s.shows() {
				s.Message = fmt.Sprintf("%s is %s within an hour", human.Named(c.Name), moved(*change))
			}
		}
		seen = append(seen, s)
	}
	return seen
}

// drops sees the protocols' changes of TVL in a day. Only what was of some size before can drop.
func (v *view) drops() (seen []observation) {
	doc := lastGood[*source.ProtocolsDoc](v, refProtocols)
	if doc == nil {
		return nil
	}
	r := rule{api.FlagTVLDrop, "tvl:", "pct", -10, refProtocols}
	for _, p := range doc.Protocols {
		if p.Slug == "" {
			continue
		}
		s := v.observe(r, p.Slug, p.Name, v.links.protocol(p))
		if change := human.RoundPercent(p.Change1d); change != nil {
			s.Value, s.Raise, s.Hold = change, *change <= -10 && before(p.TVL, *change) >= 25e6, *change <= -8
			s.Severity = severityOf(-*change, 20, 40)
			if s.shows() {
				s.Message = fmt.Sprintf("TVL of %s is %s in 24 hours, to %s", human.Named(p.Name), moved(*change), human.USD(p.TVL))
			}
		}
		seen = append(seen, s)
	}
	return seen
}

// before is an amount before a change in percent. One that fell by all of itself tells nothing about that.
func before(amount, change float64) float64 {
	if change <= -100 {
		return amount
	}
	return amount / (1 + change/100)
}

// maxExploitAge is how long a reported loss stays a flag. Its date is that of a day, at midnight.
const maxExploitAge = 7 * day

// exploits sees the losses that were reported in the last seven days. Amounts are often corrected later, so they are only ever
// called reported.
func (v *view) exploits() (seen []observation) {
	doc := lastGood[*source.HacksDoc](v, refHacks)
	if doc == nil {
		return nil
	}
	r := rule{api.FlagExploit, "exploit:", "usd", 1e6, refHacks}
	for _, h := range doc.Hacks {
		if v.in.Now.Sub(h.Date) > maxExploitAge {
			continue
		}
		s := v.observe(r, slug(h.Name)+":"+h.Date.UTC().Format(time.DateOnly), h.Name, v.links.hack(h))
		date := h.Date.UTC()
		s.EventAt = &date
		if whole := human.RoundWhole(h.Amount); whole != nil {
			amount := float64(*whole)
			s.Value, s.Raise, s.Hold = &amount, amount >= 1e6, amount >= 1e6
			s.Severity = severityOf(amount, 0, 25e6)
			technique := human.Named(strings.ToLower(h.Technique))
			s.Message = fmt.Sprintf("%s: %s loss reported%s", human.Named(h.Name), human.USD(amount), inBrackets(technique))
		}
		seen = append(seen, s)
	}
	return seen
}

// extremes sees whether the Fear & Greed index is at an end of its range.
func (v *view) extremes() []observation {
	doc := lastGood[*source.FearGreedDoc](v, refFearGreed)
	if doc == nil {
		return nil
	}
	s := v.observe(rule{api.FlagSentiment, "sentiment:", "index", 24, refFearGreed}, "fng", "Fear & Greed", kindIndex+"/"+indexFearGreed)
	if len(doc.Days) > 0 {
		value := float64(doc.Days[0].Value)
		if value > 50 {
			s.Threshold = 76
		}
		extreme := value <= 24 || value >= 76
		s.Value, s.Raise, s.Hold, s.Severity = &value, extreme, extreme, api.SeverityNotice
		s.Message = "Fear & Greed stands at " + human.Plain(value) + inBrackets(doc.Days[0].Label)
	}
	return []observation{s}
}

// divergences sees how far the prices of the largest coins differ between Kraken and CoinGecko. Once CoinGecko's are late there is
// nothing to see: a price of a while ago differs from the one of now for good reason.
func (v *view) divergences() (seen []observation) {
	exchange, markets := lastGood[*source.TickerDoc](v, refKraken), lastGood[*source.MarketsDoc](v, refMarkets)
	if exchange == nil || markets == nil || v.late(refMarkets) {
		return nil
	}
	r := rule{api.FlagDivergence, "divergence:", "pct", 1, refKraken}
	for _, m := range majors()[:3] {
		s := v.observe(r, m.id, m.name, m.id)
		s.Fresh = s.Fresh && v.fresh(refMarkets)
		if gap := divergence(m.id, exchange, markets); gap != nil {
			size := math.Abs(*gap)
			s.Value, s.Raise, s.Hold, s.Severity = gap, size >= 1, size >= 0.6, api.SeverityWarning
			s.Message = fmt.Sprintf("Kraken quotes %s %.2f%% %s CoinGecko", m.name, size, side(*gap))
		}
		seen = append(seen, s)
	}
	return seen
}

// divergence is how far the price of a coin on the exchange is from the other one, in percent; nil if one is unknown.
func divergence(id string, exchange *source.TickerDoc, markets *source.MarketsDoc) *float64 {
	for _, t := range exchange.Pairs {
		if t.CoinID != id {
			continue
		}
		for _, c := range markets.Coins {
			if c.ID == id {
				gap := (t.Price/c.Price - 1) * 100
				return human.RoundPercent(&gap) // unknown for a price of 0
			}
		}
	}
	return nil
}

// feeSpikes sees what the next Bitcoin block costs.
func (v *view) feeSpikes() []observation {
	doc := lastGood[*source.FeesDoc](v, refFees)
	if doc == nil {
		return nil
	}
	s := v.observe(rule{api.FlagFeeSpike, "fees:", "sat/vB", 50, refFees}, "btc", "Bitcoin fees", "bitcoin")
	if doc.Fastest != nil {
		fee := human.Round(*doc.Fastest, 2)
		s.Value, s.Raise, s.Hold, s.Severity = &fee, fee >= 50, fee >= 35, api.SeverityNotice
		s.Message = "The next Bitcoin block costs " + human.Plain(fee) + " sat/vB"
	}
	return []observation{s}
}

// gasSpikes sees what gas costs on Ethereum for a transaction that is in a hurry.
func (v *view) gasSpikes() []observation {
	doc := lastGood[*source.GasDoc](v, refGas)
	if doc == nil {
		return nil
	}
	s := v.observe(rule{api.FlagGasSpike, "gas:", "gwei", 30, refGas}, "eth", "Ethereum gas", "ethereum")
	if doc.Fast != nil {
		price := human.Round(*doc.Fast, 2)
		s.Value, s.Raise, s.Hold, s.Severity = &price, price >= 30, price >= 20, severityOf(price, 100, math.Inf(1))
		s.Message = "A fast transaction on Ethereum pays " + human.Plain(price) + " gwei for gas"
	}
	return []observation{s}
}

// moved is a change in words: "up 23.1%", "down 3.42%".
func moved(change float64) string {
	direction := "up "
	if change < 0 {
		direction = "down "
	}
	return direction + strings.TrimPrefix(human.Percent(math.Abs(change)), "+")
}

// side is where a price is that differs by this much.
func side(difference float64) string {
	if difference < 0 {
		return "below"
	}
	return "above"
}

// inBrackets is a remark behind something else, nothing if there is none.
func inBrackets(remark string) string {
	if remark == "" || remark == "unknown" {
		return ""
	}
	return " (" + remark + ")"
}

// slug makes a name part of an id: its letters and digits in lower case, with one dash for whatever is between them.
func slug(name string) string {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	return strings.Join(words, "-")
}
