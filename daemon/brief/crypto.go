package brief

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/jsonx"
	"github.com/contextd/contextd/internal/prose"
	"github.com/contextd/contextd/sdk/api"
)

// Longest texts of a state that the built-in writer repeats, in runes. Rows with longer ones are left out.
const (
	maxName     = 64
	maxHeadline = 140
)

// news is the state of the crypto pack without what cannot be told: rows without a citable source or a usable name, numbers that
// make no sense. Its texts are fit to stand in a sentence.
type news struct {
	TopMovers     []mover            `json:"top_movers"`
	ProtocolTVL   []protocol         `json:"protocol_tvl"`
	TrendingPools []pool             `json:"trending_pools"`
	Sentiment     sentiment          `json:"sentiment"`
	Narratives    []narrative        `json:"narratives"`
	Flags         []flag             `json:"flags"`
	SourceStatus  []api.SourceStatus `json:"source_status"`

	in        Input
	mentioned map[string]bool // names that a leading flag has told of
}

// Rows of the state, each with its place in it.
type (
	mover struct {
		placed
		api.Mover
		Venues []venue `json:"venues"`
	}
	venue struct {
		placed
		api.Quote
	}
	protocol struct {
		placed
		api.ProtocolTVL
	}
	pool struct {
		placed
		api.TrendingPool
	}
	narrative struct {
		placed
		api.Narrative
		Headlines []headline `json:"headlines"`
	}
	headline struct {
		placed
		api.Headline
	}
	flag struct {
		placed
		api.Flag
	}
	prediction struct {
		placed
		api.Prediction
	}
	sentiment struct {
		api.Sentiment
		Predictions []prediction `json:"predictions"`
	}
)

func writeCrypto(in Input) (Draft, error) {
	n := &news{in: in, mentioned: map[string]bool{}}
	if err := in.State.Err(); err != nil {
		return Draft{}, fmt.Errorf("decode state: %w", err)
	}
	clean, err := json.Marshal(purge(in, "", in.State.Root()))
	if err == nil {
		err = json.Unmarshal(clean, n)
	}
	if err != nil {
		return Draft{}, fmt.Errorf("decode state: %w", err)
	}
	n.dropUnusable()
	lead := n.alerts()
	return compose(in, []paragraph{lead, n.tone(len(lead) > 0), n.coins(), n.locked(), n.pools(), n.themes(), n.odds(), n.sources()}), nil
}

// purge makes a tree fit to be told: texts become inline ones; objects without a citable source go, and so do percentages that no
// market makes and amounts that are not positive. Objects say where they stand. key is the member that v is, or is an element of.
func purge(in Input, key string, v *jsonx.Value) any {
	switch {
	case v.IsObject():
		if ref := v.Member("ref"); ref != nil && isNumber(ref) && !citedBy(in, string(ref.Raw)) {
			return nil
		}
		object := make(map[string]any, len(v.Members)+1)
		for _, m := range v.Members {
			object[m.Name] = purge(in, m.Name, m)
		}
		object["@path"] = v.Path()
		return object
	case v.IsArray():
		kept := []any{}
		for _, m := range v.Members {
			if element := purge(in, key, m); element != nil {
				kept = append(kept, element)
			}
		}
		return kept
	case v.IsString():
		return prose.Inline(v.Text())
	case string(v.Raw) == "null", isNumber(v) && !sensible(key, json.Number(v.Raw)):
		return nil
	}
	return v.Raw
}

func isNumber(v *jsonx.Value) bool { return v.Raw[0] == '-' || '0' <= v.Raw[0] && v.Raw[0] <= '9' }

// citedBy reports whether ref is an anchor of the pack.
func citedBy(in Input, ref string) bool {
	r, err := strconv.Atoi(ref)
	return err == nil && citable(in, r)
}

// sensible reports whether a number can be true: no percentage is above a million, and amounts are positive.
func sensible(key string, n json.Number) bool {
	x, err := n.Float64()
	switch {
	case err != nil, strings.HasSuffix(key, "Pct") && math.Abs(x) > 1e6:
		return false
	}
	return x > 0 || !strings.HasSuffix(key, "Usd")
}

// dropUnusable drops the rows that lack what their sentence needs, and coins whose price is not of now, as the others in a sentence are.
func (n *news) dropUnusable() {
	n.TopMovers = filter(n.TopMovers, func(m mover) bool { return sayable(m.Name, maxName) && m.PriceUSD != nil && m.Of == "" })
	n.ProtocolTVL = filter(n.ProtocolTVL, func(p protocol) bool { return sayable(p.Name, maxName) && p.TVLUSD != nil })
	n.TrendingPools = filter(n.TrendingPools, func(p pool) bool { return sayable(p.Pair, maxName) })
	n.Narratives = filter(n.Narratives, func(t narrative) bool { return sayable(t.Name, maxName) })
	for i := range n.Narratives {
		t := &n.Narratives[i]
		t.Headlines = filter(t.Headlines, func(h headline) bool { return sayable(h.Title, maxHeadline) })
	}
	n.Flags = filter(n.Flags, func(f flag) bool { return sayable(f.Subject, maxName) && math.Abs(f.Value) < 1e15 })
	n.SourceStatus = filter(n.SourceStatus, func(s api.SourceStatus) bool { return sayable(s.ID, maxName) })
	dropUnusableReadings(&n.Sentiment)
}

// dropUnusableReadings drops the market-wide readings that lack what their sentence needs.
func dropUnusableReadings(s *sentiment) {
	s.Predictions = filter(s.Predictions, func(p prediction) bool {
		return sayable(p.Question, maxHeadline) && sayable(p.Says(), maxName) && between(p.Probability, 0, 1)
	})
	if s.Breadth != nil && (min(s.Breadth.Advancing, s.Breadth.Declining) < 0 || s.Breadth.Advancing+s.Breadth.Declining == 0) {
		s.Breadth = nil
	}
	if s.Fees != nil && !between(s.Fees.BTCFastestSatVb, 0.01, 1e6) {
		s.Fees = nil
	}
	if s.Gas != nil && !between(s.Gas.ETHAverageGwei, 0.001, 1e6) {
		s.Gas = nil
	}
	if s.Market != nil && s.Market.TotalMarketCapUSD == nil && s.Market.Change24hPct == nil {
		s.Market = nil
	}
	if s.Stablecoins != nil && s.Stablecoins.SupplyUSD == nil {
		s.Stablecoins = nil
	}
}

// between reports whether x is known and in a range.
func between(x *float64, least, most float64) bool { return x != nil && *x >= least && *x <= most }

func filter[T any](rows []T, fit func(T) bool) []T {
	return slices.DeleteFunc(rows, func(r T) bool { return !fit(r) })
}

// group is the rows whose group, as of says, is name.
func group[T any](rows []T, name string, of func(T) string) []T {
	return filter(slices.Clone(rows), func(r T) bool { return of(r) == name })
}

// citable reports whether ref is an anchor of the pack.
func citable(in Input, ref int) bool { return ref >= 1 && ref <= len(in.Citations) }

// sayable reports whether a text has something to read, is not too long for a sentence and gives no orders: a name that does would be read
// as ours. The flag suspicious_name tells of it.
func sayable(s string, limit int) bool {
	readable := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
	return utf8.RuneCountInString(s) <= limit && strings.ContainsFunc(s, readable) && !human.Instructs(s)
}
