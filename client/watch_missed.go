package client

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/contextd/contextd/internal/alert"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

const (
	// missable is the least time between two states that others may have been in between: a service makes one every 5 minutes.
	missable = api.HistoryEveryMin * 3 / 2

	// missedReach is how far back is looked for what was missed. Every key looks back a day, and the newest state may be of a while ago.
	missedReach = 23 * time.Hour
)

// missed looks at the states between the last one that the journal knows and first, as far as they can be had.
func (w *watch) missed(ctx context.Context, client *sdk.Client, first alert.State) error {
	from := map[string]time.Time{} // by member
	for _, r := range w.rules {
		last := w.teller.Last(r.Name)
		if at, ok := from[r.Member]; !last.IsZero() && first.At.Sub(last) >= missable && (!ok || last.Before(at)) {
			from[r.Member] = last
		}
	}
	var all []alert.State
	for _, member := range slices.Sorted(maps.Keys(from)) {
		since := from[member]
		if reach := first.At.Add(-missedReach); since.Before(reach) {
			w.note("nobody watched from %s on, and ctx looks back a day at the most", w.clock(since))
			since = reach
		}
		states, err := w.past(ctx, client, member, since, first)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			w.note("what was in %s from %s on while nobody watched is not known: %v", member, w.clock(since), err)
		} else {
			w.note("looked at %s since %s, while nobody watched: %s, a credit or a free call", member, w.clock(since),
				human.Plural(len(states), "state"))
		}
		all = append(all, states...)
	}
	slices.SortStableFunc(all, func(a, b alert.State) int { return a.At.Compare(b.At) })
	for _, s := range all {
		if err := w.observe(ctx, s); err != nil || ctx.Err() != nil {
			return err
		}
	}
	return nil
}

// past are the states between since and first, of which only a member is known. After an error they are those before it.
func (w *watch) past(ctx context.Context, client *sdk.Client, member string, since time.Time, first alert.State) ([]alert.State, error) {
	var states []alert.State
	r := sdk.HistoryRequest{Pack: w.pack, Member: member, From: since, To: first.At}
	for line, err := range client.History(ctx, r) {
		if err != nil {
			return states, err
		}
		if line.GeneratedAt.After(since) && line.GeneratedAt.Before(first.At) {
			doc, _ := json.Marshal(map[string]json.RawMessage{member: bytes.Clone(line.Value)}) // it was read as JSON
			states = append(states, alert.State{Pack: w.pack, At: line.GeneratedAt, Doc: state.Read(doc), Demo: first.Demo, Member: member})
		}
	}
	return states, nil
}

// clock is a moment of the past for people.
func (w *watch) clock(at time.Time) string { return at.In(w.Now().Location()).Format(time.DateTime) }
