package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/contextd/contextd/sdk/api"
)

// lookBack is T2: questions about past ticks over snapshot and series.
func (b *bench) lookBack(ctx context.Context) error {
	n := max(20, b.w.cfg.questions/5)
	for range n {
		tick := b.chance.IntN(b.w.tick)
		if b.states[tick].GeneratedAt.Before(b.w.at(tick)) {
			continue // all sources were dead: there is no state of this tick
		}
		if err := b.lookAt(ctx, tick); err != nil {
			return err
		}
	}
	b.past.Measured = true
	if !b.unkept.Measured {
		return nil
	}
	return b.lookForUnkept(ctx, n/5)
}

// everywhere are facts that every state holds by the service's documentation.
func (b *bench) everywhere(tick int) (wants []fact, err error) {
	at := func(source string) (r *raw) {
		if err == nil {
			r, err = b.w.read(b.w.served(source, tick))
		}
		return r
	}
	markets, locked, chains, global := at("coingecko-markets"), at("defillama-protocols"), at("defillama-chains"), at("coingecko-global")
	if err != nil {
		return nil, err
	}
	if b.w.well("coingecko-markets", tick) { // else an exchange's price stands in for it
		for _, id := range []string{"bitcoin", "ethereum", "solana", "ripple", "binancecoin"} {
			c := markets.coin(id)
			wants = append(wants, c.fact(0).of("priceUsd", c.Price, price), c.fact(0).of("change24hPct", *c.Day, percent),
				c.fact(0).of("marketCapUsd", c.Cap, whole))
		}
	}
	top := slices.DeleteFunc(slices.Clone(locked.protocols), protocol.excluded)
	for i, p := range top[:10] {
		wants = append(wants, p.fact(i+1).of("tvlUsd", p.TVL, whole))
	}
	for i, c := range chains.chains[:5] {
		wants = append(wants, c.fact(i+1).of("tvlUsd", c.TVL, whole))
	}
	return append(wants, global.global...), nil
}

// lookAt asks for one of the rows that every state has, as of a tick.
func (b *bench) lookAt(ctx context.Context, tick int) error {
	wants, err := b.everywhere(tick)
	if err != nil {
		return err
	}
	want := wants[b.chance.IntN(len(wants))]

	var a api.StateResponse
	at := b.states[tick].GeneratedAt
	status, body, err := b.w.caller.get(ctx, "/v1/snapshot", &a, "at", at.Format(time.RFC3339Nano))
	if err != nil {
		return err
	}
	said := fmt.Sprintf("as of tick %d: %s/%s %s = %v", tick, want.kind, want.key, want.field, want.value)
	if status != http.StatusOK {
		b.w.count(b.past, false, "status "+strconv.Itoa(status), "%s: %s", said, clip(string(body), 200))
		return nil
	}
	got, ref, err := find(a.State, want)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(a.Citations, func(c api.Citation) bool { return c.Ref == ref })
	wrong := ""
	switch {
	case got == nil:
		wrong = "not in the snapshot"
	case !want.near(*got):
		wrong = "another value"
	case i < 0 || a.Citations[i].SourceID != want.source:
		wrong = "not cited"
	case !a.Freshness.GeneratedAt.Equal(at):
		wrong = "of another state"
	case a.Citations[i].FetchedAt.Sub(b.w.at(b.w.answered(want.source, tick))).Abs() > time.Second:
		wrong, said = "not dated", said+fmt.Sprintf(" fetched %s", a.Citations[i].FetchedAt)
	}
	if got != nil {
		said += fmt.Sprintf(", got %v", *got)
	}
	b.w.count(b.past, wrong == "", wrong, "%s", said)
	return nil
}

// answered is the last tick until tick at which a source answered, be it with what it said before.
func (w *world) answered(source string, tick int) int {
	for tick > 0 && slices.Contains(w.dead(tick), source) {
		tick--
	}
	return tick
}

// find is a field of a row of a state and the row's anchor; nil if there is none.
func find(text json.RawMessage, want fact) (*float64, int, error) {
	var s api.CryptoState
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, 0, err
	}
	amount := func(v *int64) *float64 {
		if v == nil {
			return nil
		}
		x := float64(*v)
		return &x
	}
	for _, m := range s.TopMovers {
		if want.kind == "asset" && m.ID == want.key {
			return map[string]*float64{
				"priceUsd": m.PriceUSD, "change24hPct": m.Change24hPct, "marketCapUsd": amount(m.MarketCapUSD),
			}[want.field], m.Ref, nil
		}
	}
	for _, p := range s.ProtocolTVL {
		if want.kind == "protocol" && p.ID == want.key || want.kind == "chain" && p.Group == api.GroupChain && p.Name == want.name {
			return amount(p.TVLUSD), p.Ref, nil
		}
	}
	if m := s.Sentiment.Market; m != nil && want.kind == "market" {
		return map[string]*float64{
			"marketCapUsd": amount(m.TotalMarketCapUSD), "volume24hUsd": amount(m.Volume24hUSD), "btcDominancePct": m.BTCDominancePct,
			"ethDominancePct": m.ETHDominancePct, "change24hPct": m.Change24hPct,
		}[want.field], m.Ref, nil
	}
	return nil, 0, nil
}

// series is what T2 reads of the answer of series.
type series struct {
	Rows []struct{ Values []*float64 }
}

// lookForUnkept asks for the past of coins that were in no state: there must be no value.
func (b *bench) lookForUnkept(ctx context.Context, n int) error {
	kept, err := b.everKept(ctx)
	if err != nil {
		return err
	}
	r, err := b.w.read(b.w.tick)
	if err != nil {
		return err
	}
	for _, c := range r.coins {
		if kept[c.ID] || b.unkept.Asked >= n {
			continue
		}
		var a series
		status, body, err := b.w.caller.get(ctx, "/v1/series", &a, "path", "asset/"+c.ID, "field", "priceUsd", "span", "12h")
		if err != nil {
			return err
		}
		values := 0
		for _, row := range a.Rows {
			values += len(row.Values) - len(slices.DeleteFunc(row.Values, func(v *float64) bool { return v != nil }))
		}
		none := values == 0 && status < http.StatusInternalServerError
		said := fmt.Sprintf("asset/%s: status %d, %d values: %s", c.ID, status, values, clip(string(body), 200))
		b.w.count(b.unkept, none, "a past that is not kept", "%s", said)
	}
	return nil
}

// everKept are the coins that were in a state.
func (b *bench) everKept(ctx context.Context) (map[string]bool, error) {
	kept := map[string]bool{}
	for _, f := range b.states {
		var a api.StateResponse
		status, body, err := b.w.caller.get(ctx, "/v1/snapshot", &a, "at", f.GeneratedAt.Format(time.RFC3339Nano))
		if err != nil || status != http.StatusOK {
			if f.GeneratedAt.Equal(b.states[b.w.tick].GeneratedAt) {
				continue // its moment is not over
			}
			return nil, fmt.Errorf("snapshot of %s: status %d, %w: %.200s", f.GeneratedAt, status, err, body)
		}
		var s api.CryptoState
		if err := json.Unmarshal(a.State, &s); err != nil {
			return nil, err
		}
		for _, m := range s.TopMovers {
			kept[m.ID] = true
		}
	}
	return kept, nil
}
