package brief_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/brief"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// readState reads a recorded state.
func readState(t testing.TB, name string) *api.CryptoState {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var s api.CryptoState
	if err := json.Unmarshal(b, &s); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return &s
}

// citations lists the seventeen sources of the crypto pack.
func citations() []api.Citation {
	var list []api.Citation
	for i, id := range []string{"coingecko-markets", "coingecko-trending", "coingecko-global", "coingecko-categories", "defillama-protocols",
		"defillama-chains", "defillama-stablecoins", "defillama-hacks", "geckoterminal-trending", "alternativeme-fng", "news-coindesk",
		"news-cointelegraph", "news-decrypt", "polymarket-crypto", "kraken-ticker", "mempool-fees", "coinbase-exchange"} {
		list = append(list, api.Citation{Ref: i + 1, SourceID: id, URL: "https://example.com/" + id, FetchedAt: time.Date(2026, 11, 20, 20, 10, 2, 0, time.UTC)})
	}
	return list
}

// input is what a brief of s is written from.
func input(t testing.TB, s *api.CryptoState) brief.Input {
	t.Helper()
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return brief.Input{Pack: api.PackCrypto, State: state.Read(b), Citations: citations()}
}

// write returns the built-in brief of in.
func write(t testing.TB, in brief.Input) string {
	t.Helper()
	draft, err := brief.BuiltIn().Write(context.Background(), in)
	if err != nil {
		t.Fatalf("write: %v", err)
	}
	return draft.Text
}

// words counts the words of a brief without its anchors.
func words(text string) int {
	return len(strings.Fields(strings.NewReplacer("[", " [", "]", "] ").Replace(text))) - strings.Count(text, "[")
}

// silence makes a source give nothing: its rows go and its status says error.
func silence(s *api.CryptoState, ref int) {
	s.TopMovers = slices.DeleteFunc(s.TopMovers, func(r api.Mover) bool { return r.Ref == ref })
	s.ProtocolTVL = slices.DeleteFunc(s.ProtocolTVL, func(r api.ProtocolTVL) bool { return r.Ref == ref })
	s.TrendingPools = slices.DeleteFunc(s.TrendingPools, func(r api.TrendingPool) bool { return r.Ref == ref })
	s.Narratives = slices.DeleteFunc(s.Narratives, func(r api.Narrative) bool { return r.Ref == ref })
	for i := range s.Narratives {
		s.Narratives[i].Headlines = slices.DeleteFunc(s.Narratives[i].Headlines, func(h api.Headline) bool { return h.Ref == ref })
	}
	s.Flags = slices.DeleteFunc(s.Flags, func(r api.Flag) bool { return r.Ref == ref })
	s.Sentiment.Predictions = slices.DeleteFunc(s.Sentiment.Predictions, func(r api.Prediction) bool { return r.Ref == ref })
	m := &s.Sentiment
	switch ref {
	case 1:
		m.Breadth = nil
	case 3:
		m.Market = nil
	case 7:
		m.Stablecoins = nil
	case 10:
		m.FearGreed = nil
	case 16:
		m.Fees = nil
	}
	for i := range s.SourceStatus {
		if r := &s.SourceStatus[i]; r.Ref == ref {
			reason := "upstream_5xx: HTTP 503"
			r.Status, r.FetchedAt, r.Failures, r.Error = api.SourceError, nil, 4, &reason
		}
	}
}

// changes applies f to every change.
func changes(s *api.CryptoState, f func(float64) float64) {
	apply := func(p **float64) {
		if *p != nil {
			v := f(**p)
			*p = &v
		}
	}
	for i := range s.TopMovers {
		apply(&s.TopMovers[i].Change24hPct)
		apply(&s.TopMovers[i].Change7dPct)
	}
	for i := range s.ProtocolTVL {
		apply(&s.ProtocolTVL[i].Change1dPct)
	}
	for i := range s.TrendingPools {
		apply(&s.TrendingPools[i].Change24hPct)
	}
	for i := range s.Narratives {
		apply(&s.Narratives[i].Change24hPct)
	}
	if m := s.Sentiment.Market; m != nil {
		apply(&m.Change24hPct)
	}
	if m := s.Sentiment.Stablecoins; m != nil {
		apply(&m.Change1dPct)
	}
}

// fallback rebuilds the majors from the exchange of the given ref, without what only the usual source gives.
func fallback(s *api.CryptoState, ref int, withChange bool) {
	s.TopMovers = slices.DeleteFunc(s.TopMovers, func(m api.Mover) bool { return m.Group != api.GroupMajor })
	for i := range s.TopMovers {
		m := &s.TopMovers[i]
		m.Ref, m.Rank, m.MarketCapUSD, m.Volume24hUSD, m.Change7dPct, m.Change1hPct = ref, nil, nil, nil, nil, nil
		if !withChange {
			m.Change24hPct = nil
		}
	}
	s.Sentiment.Breadth = nil
}

// report joins findings for a failure message.
func report(list []brief.Finding) string {
	var b strings.Builder
	for _, f := range list {
		fmt.Fprintln(&b, "  ", f)
	}
	return b.String()
}
