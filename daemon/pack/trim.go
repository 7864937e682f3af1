package pack

import (
	"fmt"

	"github.com/contextd/contextd/internal/jsonx"
	"github.com/contextd/contextd/sdk/api"
)

// maxState is the most bytes that a state of the crypto pack has as compact JSON. A usual one has about 21,000.
const maxState = 32 << 10

// fit encodes s. If it is too large, rows are left out step by step until it fits.
//
// The first five steps are for rows that are longer than usual: they cost little. The others are for rows that nobody should ever
// see: with them every state fits. Critical flags and the status of the sources always stay: all that is left at the end, which
// is they, the majors and the readings, is bounded in bytes.
func fit(s *api.CryptoState) ([]byte, error) {
	data, err := jsonx.Encode(s)
	for _, step := range steps() {
		if err != nil || len(data) <= maxState {
			break
		}
		step(s)
		data, err = jsonx.Encode(s)
	}
	if err != nil {
		return nil, fmt.Errorf("encode state: %w", err)
	}
	return data, nil
}

// steps are the ways to make a state smaller, in the order in which they are taken.
func steps() []func(*api.CryptoState) {
	return []func(*api.CryptoState){
		func(s *api.CryptoState) { trimHeadlines(s, 1) },
		func(s *api.CryptoState) { s.TrendingPools = s.TrendingPools[:min(len(s.TrendingPools), 8)] },
		func(s *api.CryptoState) { trimMovers(s, 6) },
		func(s *api.CryptoState) { trimProtocols(s, 8) },
		func(s *api.CryptoState) { trimFlags(s, 12) },

		func(s *api.CryptoState) { trimHeadlines(s, 0) },
		func(s *api.CryptoState) { s.TrendingPools = s.TrendingPools[:0] },
		func(s *api.CryptoState) { s.Narratives = s.Narratives[:0] },
		func(s *api.CryptoState) { trimMovers(s, 0) },
		func(s *api.CryptoState) { s.ProtocolTVL = s.ProtocolTVL[:0] },
		func(s *api.CryptoState) { s.Sentiment.Predictions = s.Sentiment.Predictions[:0] },
	}
}

// trimHeadlines leaves at most n headlines of each narrative.
func trimHeadlines(s *api.CryptoState, n int) {
	for i := range s.Narratives {
		list := &s.Narratives[i].Headlines
		*list = (*list)[:min(len(*list), n)]
	}
}

// trimMovers leaves at most n gainers and n losers.
func trimMovers(s *api.CryptoState, n int) {
	s.TopMovers = atMost(s.TopMovers, n, func(m api.Mover) string { return m.Group }, api.GroupGainer, api.GroupLoser)
}

// trimProtocols leaves at most n of the largest protocols.
func trimProtocols(s *api.CryptoState, n int) {
	s.ProtocolTVL = atMost(s.ProtocolTVL, n, func(p api.ProtocolTVL) string { return p.Group }, api.GroupTop)
}

// trimFlags leaves at most n flags, and all critical ones.
func trimFlags(s *api.CryptoState, n int) {
	critical := 0
	for _, f := range s.Flags {
		if f.Severity == api.SeverityCritical {
			critical++ // they come first
		}
	}
	s.Flags = s.Flags[:min(len(s.Flags), max(n, critical))]
}

// atMost leaves the first n rows of each of the given groups, and all rows of the others.
func atMost[T any](rows []T, n int, group func(T) string, groups ...string) []T {
	kept, count := []T{}, make(map[string]int)
	for _, g := range groups {
		count[g] = n
	}
	for _, row := range rows {
		if left, limited := count[group(row)]; limited {
			if left == 0 {
				continue
			}
			count[group(row)]--
		}
		kept = append(kept, row)
	}
	return kept
}
