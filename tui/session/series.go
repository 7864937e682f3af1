package session

import (
	"slices"
	"time"

	"github.com/contextd/contextd/sdk/api"
)

const maxPoints = 240

// Series are the numbers of the rows of a pack over time. All have the same times; what was not known at one is left out.
type Series struct {
	times  []time.Time
	points []map[string]float64
}

// Key is the key of the series of a row: the member of the state that it is in, and its id.
func Key(member, id string) string { return member + "/" + id }

// Keys of series that belong to no row.
const (
	KeyFearGreed = "sentiment/fearGreed"
	KeyMarket    = "sentiment/market"
)

// add adds the numbers of a state, if it has any and is not there yet.
func (s *Series) add(at time.Time, numbers map[string]float64) {
	if numbers == nil {
		return
	}
	i, found := slices.BinarySearchFunc(s.times, at, time.Time.Compare)
	if found {
		return
	}
	s.times = slices.Insert(s.times, i, at)
	s.points = slices.Insert(s.points, i, numbers)
	if over := len(s.times) - maxPoints; over > 0 {
		s.times, s.points = slices.Delete(s.times, 0, over), slices.Delete(s.points, 0, over)
	}
}

// numbers are the values of a state that are worth a series, nil where there are none.
func (c content) numbers() map[string]float64 {
	if c.crypto != nil {
		return cryptoNumbers(c.crypto)
	}
	if c.tables == nil {
		return nil
	}
	n := map[string]float64{}
	for _, m := range c.tables.Members {
		main := m.Main()
		for _, r := range m.Rows {
			if x, is := r.Fields.Get(main).(float64); is {
				n[Key(m.Name, r.ID)] = x
			}
		}
	}
	return n
}

// cryptoNumbers are those of the crypto pack.
func cryptoNumbers(c *api.CryptoState) map[string]float64 {
	n := map[string]float64{}
	for _, m := range c.TopMovers {
		put(n, Key("top_movers", m.ID), m.PriceUSD)
	}
	for _, p := range c.ProtocolTVL {
		put(n, Key("protocol_tvl", p.ID), float(p.TVLUSD))
	}
	for _, p := range c.TrendingPools {
		put(n, Key("trending_pools", p.ID), p.PriceUSD)
	}
	for i := range c.Narratives {
		put(n, Key("narratives", c.Narratives[i].ID), &c.Narratives[i].Score)
	}
	if g := c.Sentiment.FearGreed; g != nil {
		n[KeyFearGreed] = float64(g.Value)
	}
	if m := c.Sentiment.Market; m != nil {
		put(n, KeyMarket, float(m.TotalMarketCapUSD))
	}
	return n
}

func put(n map[string]float64, key string, v *float64) {
	if v != nil {
		n[key] = *v
	}
}

// float is n as a float, nil where it is not known.
func float(n *int64) *float64 {
	if n == nil {
		return nil
	}
	v := float64(*n)
	return &v
}

// values are those of a key, oldest first.
func (s *Series) values(key string) []float64 {
	var list []float64
	for _, p := range s.points {
		if v, ok := p[key]; ok {
			list = append(list, v)
		}
	}
	return list
}

// Span is the time from the first state of the series to the last.
func (s *Session) Span() time.Duration {
	if len(s.series.times) < 2 {
		return 0
	}
	return s.series.times[len(s.series.times)-1].Sub(s.series.times[0])
}
