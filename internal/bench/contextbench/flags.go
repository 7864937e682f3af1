package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/contextd/contextd/daemon/source/replay"
	"github.com/contextd/contextd/sdk/api"
)

// seenFlag is a flag with the ticks at which it was in the state.
type seenFlag struct {
	api.Flag
	ticks []int
}

// watch reads the newest state: its flags for T3, and when it was made for T2.
func (b *bench) watch(ctx context.Context, r *raw) error {
	var fresh api.StateResponse
	status, body, err := b.w.caller.get(ctx, "/v1/fresh", &fresh)
	if err != nil || status != http.StatusOK {
		return fmt.Errorf("fresh: status %d, %w: %.200s", status, err, body)
	}
	b.states[b.w.tick] = fresh.Freshness
	var s api.CryptoState
	if err := json.Unmarshal(fresh.State, &s); err != nil {
		return err
	}
	for _, f := range s.Flags {
		seen := b.flags[f.ID]
		if seen.ticks == nil && f.Severity != api.SeverityNotice {
			ok, why := b.borneOut(f, r)
			b.w.count(b.precise, ok, f.Kind, "%s (%s)", f.Message, why)
		}
		seen.Flag, seen.ticks = f, append(seen.ticks, b.w.tick)
		b.flags[f.ID] = seen
	}
	return b.compare(ctx, s)
}

// borneOut reports whether upstream says what a flag says.
func (b *bench) borneOut(f api.Flag, r *raw) (ok bool, why string) {
	_, id, _ := strings.Cut(f.ID, ":")
	switch f.Kind {
	case api.FlagPriceMove:
		day := r.coin(id).Day
		return day != nil && math.Abs(*day) >= 19.99, "upstream says another change"
	case api.FlagTVLDrop:
		i := slices.IndexFunc(r.protocols, func(p protocol) bool { return p.Slug == id })
		return i >= 0 && *r.protocols[i].Day <= -9.99, "upstream says another change"
	case api.FlagDepeg:
		i := slices.IndexFunc(r.stables, func(s stable) bool { return strings.EqualFold(s.Symbol, f.Subject) && s.Price != nil })
		return i >= 0 && math.Abs(*r.stables[i].Price-1) >= 0.0049, "upstream says another price"
	case api.FlagExploit:
		i := slices.IndexFunc(r.hacks, func(h hack) bool { return h.Name == f.Subject && h.Amount != nil })
		return i >= 0 && b.w.at(b.w.tick).Sub(time.Unix(r.hacks[i].Date, 0)) <= 8*24*time.Hour, "upstream knows of none, or none of late"
	case api.FlagSourceStale, api.FlagSourceError:
		return !b.w.well(id, b.w.tick), "the source answers"
	}
	return b.planted(f), "nothing of the kind was planted"
}

// planted reports whether an event of a flag's kind happens, or has just ended.
func (b *bench) planted(f api.Flag) bool {
	kinds := map[string][]replay.EventKind{
		api.FlagDivergence: {replay.Disagreement, replay.Frozen, replay.Outage, replay.Move}, api.FlagFeeSpike: {replay.FeeSpike},
		api.FlagSuspiciousName: {replay.HostileName, replay.HostileNews, replay.HostilePool},
	}
	known := map[string]bool{
		api.FlagDivergence: true, api.FlagFeeSpike: true, api.FlagSuspiciousName: true, api.FlagSentiment: true,
	}
	if !known[f.Kind] { // of a rule that came after this program: a fast move, for one
		return slices.ContainsFunc(b.w.events, func(e replay.Event) bool { return e.From <= b.w.tick && b.w.tick <= e.Until+12 })
	}
	return slices.ContainsFunc(b.w.events, func(e replay.Event) bool {
		return slices.Contains(kinds[f.Kind], e.Kind) && e.From <= b.w.tick && b.w.tick <= e.Until
	})
}

// expected is the flag that an event has to raise, by the beginning of its id, and the tick by when; ok is false for an event that need
// raise none of warning or critical.
func (b *bench) expected(e replay.Event) (id string, critical, ok bool) {
	symbols := map[string]string{"ethena-usde": "usde", "first-digital-usd": "fdusd"}
	switch e.Kind {
	case replay.Depeg:
		return "depeg:" + symbols[e.Subject], math.Abs(e.Size) >= 0.02, true
	case replay.Hack:
		return "exploit:" + e.Subject, e.Size >= 25e6, true
	case replay.Move:
		return "move:" + e.Subject, false, math.Abs(e.Size) >= 0.4
	case replay.Disagreement:
		return "divergence:" + e.Subject, false, true
	case replay.HostileName:
		return "names:coingecko-markets", false, true
	case replay.HostileNews:
		return "names:" + e.Subject, false, true
	case replay.HostilePool:
		return "names:geckoterminal-trending", false, true
	}
	return "", false, false
}

// judgeFlags is the recall of T3.
func (b *bench) judgeFlags() error {
	late := 0
	for _, e := range b.w.events {
		id, _, ok := b.expected(e)
		if !ok {
			continue
		}
		by, first := e.From+max(e.Ramp-1, 0)+1, -1
		if by >= b.w.cfg.ticks {
			continue // it has no time to be seen
		}
		for name, f := range b.flags {
			for _, tick := range f.ticks {
				if strings.HasPrefix(name, id) && tick >= e.From && (first < 0 || tick < first) {
					first = tick
				}
			}
		}
		if first >= 0 {
			late = max(late, first-e.From-max(e.Ramp-1, 0))
		}
		in := first >= 0 && first <= by
		b.w.count(b.recall, in, string(e.Kind), "%s %s of tick %d: flag %s at %d", e.Kind, e.Subject, e.From, id, first)
	}
	b.recall.Why = fmt.Sprintf("the latest came %d ticks after its event had its size", late)
	return nil
}

// compare is T3 over changes: every tenth tick, what changed in the last three is held against the states seen and the raw prices.
func (b *bench) compare(ctx context.Context, s api.CryptoState) error {
	const back = 3
	if !b.diffs.Measured || b.w.tick%10 != 9 || b.w.tick < back {
		return nil
	}
	since, seen := b.w.tick-back, b.states[b.w.tick-back]
	var c changes
	status, body, err := b.w.caller.get(ctx, "/v1/changes", &c, "since", seen.GeneratedAt.Format(time.RFC3339Nano), "min", "0.05")
	if err != nil {
		return err
	}
	if status != http.StatusOK {
		b.w.count(b.diffs, false, "status "+strconv.Itoa(status), "%s", clip(string(body), 200))
		return nil
	}
	told := map[string]string{}
	for _, f := range c.Flags {
		told[f.ID] = f.Change
	}
	for _, id := range slices.Sorted(maps.Keys(b.flags)) {
		was, is := slices.Contains(b.flags[id].ticks, since), slices.Contains(b.flags[id].ticks, b.w.tick)
		if was == is {
			continue
		}
		want := map[bool]string{true: "appeared", false: "ended"}[is]
		b.w.count(b.diffs, told[id] == want, "flag "+want, "%s %s, told as %q", id, want, told[id])
	}
	return b.compareRows(ctx, c, since)
}

// changes is what T3 reads of the answer of changes.
type changes struct {
	Flags []struct{ ID, Change string }
	Rows  []struct {
		Kind, Key, Field string
		From, To         *float64
		ChangePct        *float64
	}
}

// compareRows holds the rows of changes against raw prices: those of the majors that moved are told, with what upstream said both times.
func (b *bench) compareRows(ctx context.Context, c changes, since int) error {
	before, err := b.w.read(b.w.served("coingecko-markets", since))
	if err != nil {
		return err
	}
	after, err := b.w.read(b.w.served("coingecko-markets", b.w.tick))
	if err != nil || !b.w.well("coingecko-markets", b.w.tick) || !b.w.well("coingecko-markets", since) {
		return err
	}
	least := 0.1 // percent: what is told of at most 50 rows are the largest moves
	if n := len(c.Rows); n >= 50 && c.Rows[n-1].ChangePct != nil {
		least = max(least, math.Abs(*c.Rows[n-1].ChangePct))
	}
	for _, id := range []string{"bitcoin", "ethereum", "solana", "ripple", "binancecoin"} {
		was, is := before.coin(id), after.coin(id)
		if math.Abs(is.Price/was.Price-1)*100 < least {
			continue
		}
		told := "not told"
		right := false
		for _, row := range c.Rows {
			if row.Key == id && row.Field == "priceUsd" && row.From != nil && row.To != nil {
				told = fmt.Sprintf("%v to %v", *row.From, *row.To)
				right = fact{value: was.Price, slack: price}.near(*row.From) && fact{value: is.Price, slack: price}.near(*row.To)
			}
		}
		b.w.count(b.diffs, right, "row", "%s from %v to %v, %s", id, was.Price, is.Price, told)
	}
	return nil
}

// coin is a coin by its id.
func (r *raw) coin(id string) coin {
	for _, c := range r.coins {
		if c.ID == id {
			return c
		}
	}
	return coin{}
}
