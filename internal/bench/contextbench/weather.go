package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/contextd/contextd/sdk/api"
)

// frozenFor is how many ticks a source may say the same before an answer has to say so: the 15 minutes after which the service calls
// its fastest sources stale.
const frozenFor = 3

// about is a question that a row of a source answers, "" for a source without one.
func about(source string, r *raw) string {
	for _, s := range r.stories {
		if s.source == source && !strings.ContainsAny(s.title, ",\"") && !hostile(s.title) {
			return s.title
		}
	}
	return map[string]string{
		"coingecko-markets": "cardano price", "coingecko-global": "btc dominance", "coingecko-categories": "privacy coins category",
		"defillama-protocols": "aave v3 tvl", "defillama-chains": "arbitrum tvl chain", "defillama-stablecoins": "tether supply",
		"defillama-hacks": "poly network hack", "geckoterminal-trending": "gitlark pool", "alternativeme-fng": "fear and greed",
		"polymarket-crypto": "fed cut rates odds", "kraken-ticker": "bitcoin at kraken price", "mempool-fees": "bitcoin fees",
		"blockscout-gas":    "ethereum gas price",
		"coinbase-exchange": "bitcoin at coinbase price",
	}[source]
}

// weather is T4: what rests on a source that is dead or frozen says so.
func (b *bench) weather(ctx context.Context, r *raw) error {
	if !b.honest.Measured {
		return nil
	}
	status := map[string]api.SourceState{}
	for i, source := range sources() {
		since, frozen := b.w.frozen(b.w.tick)[source]
		if b.w.well(source, b.w.tick) || frozen && b.w.tick-since < frozenFor {
			continue
		}
		if len(status) == 0 {
			var fresh api.StateResponse
			if _, _, err := b.w.caller.get(ctx, "/v1/fresh", &fresh); err != nil {
				return err
			}
			var s api.CryptoState
			if err := json.Unmarshal(fresh.State, &s); err != nil {
				return err
			}
			for _, row := range s.SourceStatus {
				status[row.ID] = row.Status
			}
			if all := len(b.w.dead(b.w.tick)) == len(sources()); all {
				// There is no newer state, and the old one's own age has to tell.
				old := fresh.Freshness.AgeSeconds >= int64(api.RefreshInterval/time.Second)
				b.w.count(b.honest, old, "fresh: all are dead", "%+v", fresh.Freshness)
				status[source] = api.SourceError
			}
		}
		how := map[bool]string{true: "frozen", false: "dead"}[frozen]
		if len(b.w.dead(b.w.tick)) < len(sources()) {
			sick := status[source] != api.SourceOK
			b.w.count(b.honest, sick, "fresh: source_status of a "+how+" source", "%s is %s: %s", source, how, status[source])
		}
		if err := b.askSick(ctx, r, source, i+1, how); err != nil {
			return err
		}
		b.baselines.sick(source, frozen)
	}
	return nil
}

// askSick asks for a row of a source that is dead or frozen.
func (b *bench) askSick(ctx context.Context, r *raw, source string, ref int, how string) error {
	before, err := b.w.read(b.w.served(source, b.w.tick))
	if err != nil {
		return err
	}
	q := about(source, before)
	if q == "" {
		return nil
	}
	var a api.LookupResponse
	status, body, err := b.w.caller.get(ctx, "/v1/lookup", &a, "q", q)
	if err != nil {
		return err
	}
	if status != http.StatusOK || len(a.Results) != 1 {
		b.w.count(b.honest, false, fmt.Sprintf("lookup: status %d", status), "%s", clip(string(body), 200))
		return nil
	}
	i := slices.IndexFunc(a.Results[0].Rows, func(row api.LookupRow) bool { return row.Ref.Ref == ref })
	if i < 0 {
		if len(a.Results[0].Rows) == 0 {
			b.w.count(b.honest, false, "lookup: nothing found", "%q, near %v", q, a.Results[0].Near)
		}
		return nil // a source that is well answers
	}
	row := a.Results[0].Rows[i]
	age := int64(b.w.now.Load().Sub(b.w.at(b.w.served(source, b.w.tick))) / time.Second)
	said := fmt.Sprintf("%q: %s/%s of %s, %s for %d s: stale %v, %d s old", q, row.Kind, row.Key, source, how, age, row.Stale,
		row.AgeSeconds)
	tells := row.Stale && (how == "frozen" || row.AgeSeconds >= age-1) // what is frozen was fetched again until it was found out
	b.w.count(b.honest, tells, "lookup: a row of a "+how+" source", "%s", said)
	if !b.w.caller.has("lookup") {
		return nil
	}
	text, err := b.w.caller.tool(ctx, "lookup", map[string]any{"q": q})
	if err != nil {
		return err
	}
	tells = strings.Contains(text, "STALE")
	b.w.count(b.honest, tells, "lookup, MCP: a row of a "+how+" source", "%s: %s", said, clip(text, 200))
	return nil
}
