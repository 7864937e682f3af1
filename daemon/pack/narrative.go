package pack

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk/api"
)

// narrativeInput is what rankThemes works on. Its texts are clean; its rows may come in any order.
type narrativeInput struct {
	Themes    []theme
	Ref       int            // anchor of Themes
	Searched  []searchedCoin // what people search for, most searched first
	Headlines []headline
	Now       time.Time
}

// theme is a group of coins. Money is in USD, changes in percent; nil is unknown.
type theme struct {
	ID, Name             string
	MarketCap, Change24h *float64
	TopCoins             []string // ids
}

type searchedCoin struct{ ID, Symbol string }

// headline is what a publisher wrote. Ref is the anchor of the publisher.
type headline struct {
	Title, URL  string
	PublishedAt time.Time
	Ref         int
}

const (
	maxNarratives = 8
	maxHeadlines  = 2
	minMarketCap  = 500e6 // USD

	// A part of the score is full at these values.
	fullChange   = 12 // percent in 24 hours, either way
	fullTrending = 2  // of the three largest coins
	fullCoverage = 4  // publishers, counted once per story

	weightChange   = 0.45
	weightTrending = 0.25
	weightCoverage = 0.30

	flatChange = 0.5 // percent up to which a theme has no direction
)

// rankThemes returns the narratives with the highest scores, ties by id. Themes under $500M and those that nothing speaks for are left
// out. The result is never nil, nor are its lists.
func rankThemes(in narrativeInput) []api.Narrative {
	ranked := []api.Narrative{}
	stories, words, seen := cluster(in.Headlines, in.Now), vocabulary(), make(map[string]bool)
	for _, t := range in.Themes {
		if t.ID == "" || seen[t.ID] || t.MarketCap == nil || *t.MarketCap < minMarketCap {
			continue
		}
		seen[t.ID] = true
		if n := rate(t, in, newTopic(t, words), stories); n.Score > 0 {
			ranked = append(ranked, n)
		}
	}
	slices.SortFunc(ranked, func(a, b api.Narrative) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), strings.Compare(a.ID, b.ID))
	})
	return ranked[:min(len(ranked), maxNarratives)]
}

// rate scores one theme. Its coverage counts a publisher once for every story on the topic.
func rate(t theme, in narrativeInput, about topic, stories []story) api.Narrative {
	n := api.Narrative{
		ID: t.ID, Name: t.Name, MarketCapUSD: human.RoundWhole(t.MarketCap), Change24hPct: human.RoundPercent(t.Change24h),
		TrendingSymbols: trending(t, in.Searched), Headlines: []api.Headline{}, Ref: in.Ref,
	}
	change := 0.0
	if n.Change24hPct != nil {
		change = *n.Change24hPct
	}
	n.Direction = direction(change)
	coverage := 0
	for _, s := range stories {
		if !about.covers(s) {
			continue
		}
		coverage += len(s.Sources)
		if len(n.Headlines) < maxHeadlines {
			n.Headlines = append(n.Headlines, s.Headline)
		}
	}
	n.Score = human.Round(weightChange*share(math.Abs(change), fullChange)+
		weightTrending*share(float64(len(n.TrendingSymbols)), fullTrending)+
		weightCoverage*share(float64(coverage), fullCoverage), 3)
	return n
}

// share is x as a part of full, at most 1.
func share(x, full float64) float64 { return min(1, x/full) }

// direction is where a change in percent leads.
func direction(change float64) string {
	switch {
	case change > flatChange:
		return api.DirectionUp
	case change < -flatChange:
		return api.DirectionDown
	}
	return api.DirectionFlat
}

// trending lists the symbols of the theme's largest coins that people search for, most searched first.
func trending(t theme, searched []searchedCoin) []string {
	symbols := []string{}
	for _, c := range searched {
		if slices.Contains(t.TopCoins, c.ID) && c.Symbol != "" && !slices.Contains(symbols, c.Symbol) {
			symbols = append(symbols, c.Symbol)
		}
	}
	return symbols
}
