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

// lookBack is T2: one of the rows that every state has, as of a tick.
func (b *packBench) lookBack(ctx context.Context, tick int) error {
	wants := b.kept(b.known(tick))
	if b.alive(tick) == 0 || len(wants) == 0 {
		return nil // there is no state of this tick
	}
	want, t := wants[b.chance.IntN(len(wants))], b.scores["T2"]
	var a api.StateResponse
	at := b.states[tick].GeneratedAt
	status, body, err := b.caller.get(ctx, "/v1/snapshot", &a, "at", at.Format(time.RFC3339Nano))
	if err != nil {
		return err
	}
	said := fmt.Sprintf("as of tick %d: %s/%s %s = %v", tick, want.kind, want.key, want.field, want.value)
	if status != http.StatusOK {
		b.count(t, false, fmt.Sprintf("status %d", status), "%s: %s", said, clip(string(body), 200))
		return nil
	}
	rows, _, err := rowsOf(a.State)
	if err != nil {
		return err
	}
	wrong, ref := "not in the snapshot", slices.Index(b.host.sources, want.source)+1
	for _, r := range rows {
		value, known := r[want.field].(float64)
		if r["id"] != want.key || r["ref"] != float64(ref) || !known {
			continue
		}
		i := slices.IndexFunc(a.Citations, func(c api.Citation) bool { return c.Ref == ref })
		switch said += fmt.Sprintf(", got %v", value); {
		case !want.near(value):
			wrong = "another value"
		case i < 0 || a.Citations[i].SourceID != want.source:
			wrong = "not cited"
		case !a.Freshness.GeneratedAt.Equal(at):
			wrong = "of another state"
		case a.Citations[i].FetchedAt.Sub(b.at(b.served(want.source, tick))).Abs() > time.Second:
			wrong = "not dated"
		default:
			wrong = ""
		}
		break
	}
	b.count(t, wrong == "", wrong, "%s", said)
	return nil
}

// lookForUnkept asks for the past of rows that were in no state: there must be no value.
func (b *packBench) lookForUnkept(ctx context.Context) error {
	t, asked := b.scores["T2 unkept"], map[string]bool{}
	for _, f := range b.known(b.tick) {
		id := f.source + "/" + f.key
		if f.field == "" || f.slack == moment || f.field == "hours" || b.shown[id] || asked[id] || t.Asked >= max(4, b.cfg.questions/25) {
			continue
		}
		asked[id] = true
		var a series
		status, body, err := b.caller.get(ctx, "/v1/series", &a, "path", f.kind+"/"+f.key, "field", f.field, "span", "12h")
		if err != nil {
			return err
		}
		values := 0
		for _, r := range a.Rows {
			values += len(slices.DeleteFunc(r.Values, func(v *float64) bool { return v == nil }))
		}
		said := fmt.Sprintf("%s/%s: status %d, %d values: %s", f.kind, f.key, status, values, clip(string(body), 200))
		b.count(t, values == 0 && status < http.StatusInternalServerError, "a past that is not kept", "%s", said)
	}
	return nil
}

// lookAtDead is T4: what rests on a source that is dead says so.
func (b *packBench) lookAtDead(ctx context.Context) error {
	t := b.scores["T4"]
	if b.alive(b.tick) == len(b.host.sources) {
		return nil
	}
	var fresh api.StateResponse
	if _, _, err := b.caller.get(ctx, "/v1/fresh", &fresh); err != nil {
		return err
	}
	var s struct {
		Status []api.SourceStatus `json:"source_status"`
	}
	if err := json.Unmarshal(fresh.State, &s); err != nil {
		return err
	}
	if b.alive(b.tick) == 0 {
		old := fresh.Freshness.AgeSeconds >= int64(api.RefreshInterval/time.Second)
		b.count(t, old, "fresh: all are dead", "%+v", fresh.Freshness)
	}
	for i, u := range b.shippedPack.sources {
		if !b.dead(u.id, b.tick) {
			continue
		}
		if b.alive(b.tick) > 0 {
			b.count(t, s.Status[i].Status != api.SourceOK, "fresh: source_status of a dead source", "%s: %s", u.id, s.Status[i].Status)
		}
		if err := b.askDead(ctx, t, u, i+1); err != nil {
			return err
		}
	}
	return nil
}

// askDead asks for a row of a source that is dead.
func (b *packBench) askDead(ctx context.Context, t *test, u upstream, ref int) error {
	if u.about == "" {
		return nil
	}
	var a api.LookupResponse
	status, body, err := b.caller.get(ctx, "/v1/lookup", &a, "q", u.about)
	if err != nil {
		return err
	}
	if status != http.StatusOK || len(a.Results) != 1 {
		b.count(t, false, fmt.Sprintf("lookup: status %d", status), "%s", clip(string(body), 200))
		return nil
	}
	rows := a.Results[0].Rows
	i := slices.IndexFunc(rows, func(r api.LookupRow) bool { return r.Ref.Ref == ref })
	if i < 0 {
		b.count(t, len(rows) > 0 && !b.dead(b.host.sources[rows[0].Ref.Ref-1], b.tick), "lookup: nothing of the source", "%q: %s", u.about,
			clip(string(body), 200))
		return nil
	}
	age := int64(b.clock().Sub(b.at(b.served(u.id, b.tick))) / time.Second)
	said := fmt.Sprintf("%q: %s/%s of %s, dead for %d s: stale %v, %d s old", u.about, rows[i].Kind, rows[i].Key, u.id, age,
		rows[i].Stale, rows[i].AgeSeconds)
	b.count(t, rows[i].Stale && rows[i].AgeSeconds >= age-1, "lookup: a row of a dead source", "%s", said)
	text, err := b.caller.tool(ctx, "lookup", map[string]any{"q": u.about})
	if err != nil {
		return err
	}
	b.count(t, strings.Contains(text, "STALE"), "lookup, MCP: a row of a dead source", "%s: %s", said, clip(text, 200))
	return nil
}

// readBrief is T5.
func (b *packBench) readBrief(ctx context.Context) error {
	mentioned := slices.DeleteFunc(slices.Clone(b.events), func(h happening) bool { return !h.critical || h.from+1 != b.tick })
	if b.tick%4 != 0 && len(mentioned) == 0 {
		return nil
	}
	var a claimed
	status, body, err := b.caller.get(ctx, "/v1/brief", &a, "claims", "true")
	if err != nil || status != http.StatusOK {
		return fmt.Errorf("brief: status %d, %w: %.200s", status, err, body)
	}
	for _, h := range mentioned {
		b.count(b.scores["T5 mentions"], strings.Contains(a.Brief, h.named), h.source, "no %s in: %s", h.named, a.Brief)
	}
	return b.prove(ctx, b.scores["T5"], a)
}
