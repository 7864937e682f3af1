package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/pack/manifest"
	"github.com/contextd/contextd/daemon/source/replay"
	"github.com/contextd/contextd/sdk/api"
)

// packBench asks a daemon that serves a shipped pack, and keeps the scores of T1 to T5.
type packBench struct {
	*host
	shippedPack
	stream *stream
	events []happening
	chance *rand.Rand

	facts  []map[string][]fact // by tick and source
	flags  map[string]seenFlag
	states map[int]api.Freshness
	shown  map[string]bool // kinds and keys of rows that were in a state
	scores map[string]*test
}

// runPack measures a shipped pack.
func runPack(ctx context.Context, cfg config, p shippedPack) (tests []*test, err error) {
	b, err := newPackBench(ctx, cfg, p)
	if err != nil {
		return nil, err
	}
	defer func() {
		if closed := b.close(); err == nil {
			err = closed
		}
	}()
	if err := b.caller.look(ctx); err != nil {
		return nil, err
	}
	for {
		if err := b.askAll(ctx); err != nil {
			return nil, fmt.Errorf("%s, tick %d: %w", p.id, b.tick, err)
		}
		if b.tick+1 == cfg.ticks {
			break
		}
		b.tick++
		if err := b.ask(ctx); err != nil {
			return nil, err
		}
	}
	for range max(20, cfg.questions/5) {
		if err := b.lookBack(ctx, b.chance.IntN(b.tick)); err != nil {
			return nil, err
		}
	}
	if err := b.lookForUnkept(ctx); err != nil {
		return nil, err
	}
	b.judgeRecall()
	for _, t := range packTests() {
		tests = append(tests, b.scores[t.ID])
	}
	return tests, nil
}

// packTests are the tests that every pack takes.
func packTests() []*test {
	return []*test{
		{ID: "T1", What: "look up: right, cited and dated", Aim: 0.95},
		{ID: "T1 text", What: "the same as a model reads it, over MCP", Aim: 0.95},
		{ID: "T2", What: "the past: right, cited and dated", Aim: 0.95},
		{ID: "T2 unkept", What: "rows that were in no state are said not to be kept", Aim: 0.95},
		{ID: "T3 recall", What: "planted events flagged within one tick", Aim: 1},
		{ID: "T3 precision", What: "flags that upstream bears out", Aim: 0.95},
		{ID: "T3 changes", What: "flags that rose or ended and rows that moved, told by changes", Aim: 0.95},
		{ID: "T4", What: "answers that say that their source is dead", Aim: 1},
		{ID: "T5", What: "claims of the brief that a cited row proves", Aim: 1},
		{ID: "T5 mentions", What: "planted critical events in the brief within one tick", Aim: 1},
	}
}

func newPackBench(ctx context.Context, cfg config, p shippedPack) (*packBench, error) {
	at := func(part float64) int { return int(part * float64(cfg.ticks)) }
	b := &packBench{
		host: newHost(cfg, p.id, p.ids()), shippedPack: p, chance: rand.New(rand.NewPCG(cfg.seed, 2)),
		events: append(p.events(at), outages(p.ids(), at)...), facts: make([]map[string][]fact, cfg.ticks),
		flags: map[string]seenFlag{}, states: map[int]api.Freshness{}, shown: map[string]bool{}, scores: map[string]*test{},
	}
	for _, t := range packTests() {
		b.scores[t.ID] = t
	}
	b.stream = &stream{
		Recording: replay.New(b.clock), seed: cfg.seed, sources: p.sources, events: b.events, base: map[string][]byte{},
	}
	text, _ := manifest.ShippedText(p.id)
	m, err := manifest.Read(text, true)
	if err != nil {
		return nil, err
	}
	e, err := manifest.NewLocal(m)
	if err != nil {
		return nil, err
	}
	made, writer, err := m.Make(e)
	if err != nil {
		return nil, err
	}
	return b, b.open(ctx, b.stream, []daemon.Pack{{Pack: made, Writer: writer}}, b.ask)
}

// dead reports whether a source does not answer at a tick.
func (b *packBench) dead(source string, tick int) bool { return b.stream.dead(source, tick) }

// alive are the sources that answer at a tick.
func (b *packBench) alive(tick int) int {
	return len(slices.DeleteFunc(slices.Clone(b.host.sources), func(id string) bool { return b.dead(id, tick) }))
}

// served is the last tick until tick at which a source answered.
func (b *packBench) served(source string, tick int) int {
	for tick > 0 && b.dead(source, tick) {
		tick--
	}
	return tick
}

// ask has the daemon ask upstream, and reads what upstream says.
func (b *packBench) ask(ctx context.Context) error {
	b.stream.mu.Lock()
	b.stream.tick = b.tick
	b.stream.mu.Unlock()
	if err := b.refresh(ctx, b.alive(b.tick) == 0); err != nil {
		return err
	}
	b.facts[b.tick] = map[string][]fact{}
	for i := range b.shippedPack.sources {
		u := &b.shippedPack.sources[i]
		list, err := u.read(b.stream.payload(u, b.tick))
		if err != nil {
			return fmt.Errorf("read %s: %w", u.id, err)
		}
		for i, f := range list {
			if f.slack == moment {
				list[i].value = float64(shifted(time.Unix(int64(f.value), 0), b.tick).Unix())
			}
		}
		b.facts[b.tick][u.id] = list
	}
	return nil
}

// known are what the service can know at a tick.
func (b *packBench) known(tick int) (list []fact) {
	for _, id := range b.host.sources {
		list = append(list, b.facts[b.served(id, tick)][id]...)
	}
	return list
}

// askAll asks what is to be asked at a tick.
func (b *packBench) askAll(ctx context.Context) error {
	for _, step := range []func(context.Context) error{b.lookUp, b.watch, b.lookAtDead, b.readBrief} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// lookUp is T1, over the first part of the run, where most sources answer.
func (b *packBench) lookUp(ctx context.Context) error {
	part := b.cfg.ticks * 65 / 100
	if b.tick >= part {
		return nil
	}
	for range b.cfg.questions*(b.tick+1)/part - b.cfg.questions*b.tick/part {
		q := b.question()
		var a api.LookupResponse
		status, body, err := b.caller.get(ctx, "/v1/lookup", &a, "q", q.text)
		if err != nil {
			return err
		}
		v := verdict{wrong: fmt.Sprintf("status %d", status), said: clip(string(body), 200)}
		if status == http.StatusOK && len(a.Results) == 1 {
			v = judge(q, a, a.Results[0], b.at(b.tick), b.clock())
		}
		b.count(b.scores["T1"], v.whole(), v.wrong, "%s, got %s", q, v.said)
		text, err := b.caller.tool(ctx, "lookup", map[string]any{"q": q.text})
		if err != nil {
			return err
		}
		v = judgeText(q, text, slices.Index(b.host.sources, q.want.source)+1)
		b.count(b.scores["T1 text"], v.whole(), v.wrong, "%s, got %s", q, v.said)
	}
	return nil
}

// question is about something that upstream says: of a way to ask, one of the things that it fits.
func (b *packBench) question() question {
	names := slices.Sorted(maps.Keys(b.ways))
	for {
		name := names[b.chance.IntN(len(names))]
		w := pick(b.chance, b.ways[name])
		var fits []fact
		for _, id := range b.host.sources {
			for _, f := range b.facts[b.tick][id] {
				if asked := f.asked; (asked == name || asked == "" && f.kind == name) && f.field == w.field {
					fits = append(fits, f)
				}
			}
		}
		if len(fits) == 0 {
			continue
		}
		f := fits[b.chance.IntN(len(fits))]
		q := w.asked(f, f.value, f.slack, b.chance)
		if len(q.text) <= 70 && !strings.Contains(q.text, ",") && f.key != "total" {
			return q
		}
	}
}

// watch reads the newest state: its flags for T3, its rows for T2.
func (b *packBench) watch(ctx context.Context) error {
	var fresh api.StateResponse
	status, body, err := b.caller.get(ctx, "/v1/fresh", &fresh)
	if err != nil || status != http.StatusOK {
		return fmt.Errorf("fresh: status %d, %w: %.200s", status, err, body)
	}
	b.states[b.tick] = fresh.Freshness
	rows, flags, err := rowsOf(fresh.State)
	if err != nil {
		return err
	}
	for _, r := range rows {
		b.shown[fmt.Sprint(b.host.sources[int(r["ref"].(float64))-1], "/", r["id"])] = true
	}
	for _, f := range flags {
		seen := b.flags[f.ID]
		if seen.ticks == nil {
			b.count(b.scores["T3 precision"], b.borneOut(f), f.Kind, "%s: %s", f.ID, f.Message)
		}
		seen.Flag, seen.ticks = f, append(seen.ticks, b.tick)
		b.flags[f.ID] = seen
	}
	return b.compare(ctx)
}

// rowsOf are the rows of all members of a state, and its flags.
func rowsOf(text []byte) (rows []map[string]any, flags []api.Flag, err error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil {
		return nil, nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		var list []map[string]any
		switch name {
		case "source_status":
		case "flags":
			err = json.Unmarshal(members[name], &flags)
		default:
			err = json.Unmarshal(members[name], &list)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("decode %s: %w", name, err)
		}
		rows = append(rows, list...)
	}
	return rows, flags, nil
}

// borneOut reports whether upstream says what a flag says.
func (b *packBench) borneOut(f api.Flag) bool {
	_, key, _ := strings.Cut(f.ID, ":")
	if f.Kind == api.FlagSourceStale || f.Kind == api.FlagSourceError {
		return b.dead(key, b.tick)
	}
	rule := b.bears[f.Kind]
	if rule == nil {
		return false
	}
	source := b.host.sources[f.Ref-1]
	return rule(evidence{func(field string, ticksAgo int) (float64, bool) {
		if ticksAgo > b.tick {
			return 0, false
		}
		for _, fact := range b.facts[b.served(source, b.tick-ticksAgo)][source] {
			if fact.key == key && fact.field == field {
				return fact.value, true
			}
		}
		return 0, false
	}})
}

// judgeRecall is the recall of T3.
func (b *packBench) judgeRecall() {
	t, late := b.scores["T3 recall"], 0
	for _, h := range b.events {
		if h.flag == "" || h.from+1 >= b.cfg.ticks {
			continue
		}
		first := -1
		for id, f := range b.flags {
			for _, tick := range f.ticks {
				if strings.HasPrefix(id, h.flag) && tick >= h.from && (first < 0 || tick < first) {
					first = tick
				}
			}
		}
		if first >= 0 {
			late = max(late, first-h.from)
		}
		b.count(t, first >= 0 && first <= h.from+1, h.source, "%s of tick %d: seen at %d", h.flag, h.from, first)
	}
	t.Why = fmt.Sprintf("the latest came %d ticks after its event", late)
}

// kept are the facts of rows that every state has.
func (b *packBench) kept(facts []fact) []fact {
	return slices.DeleteFunc(facts, func(f fact) bool {
		return !slices.Contains(b.steady[f.kind], f.field) || f.text != "" || !b.rows(facts, f)
	})
}

// compare is T3 over changes: every tenth tick, what changed in the last three.
func (b *packBench) compare(ctx context.Context) error {
	const back = 3
	if b.tick%10 != 9 && b.tick != b.cfg.ticks-1 || b.alive(b.tick) == 0 || b.alive(b.tick-back) == 0 {
		return nil
	}
	since, t := b.tick-back, b.scores["T3 changes"]
	var c changes
	status, body, err := b.caller.get(ctx, "/v1/changes", &c, "since", b.states[since].GeneratedAt.Format(time.RFC3339Nano), "min", "0.05")
	if err != nil {
		return err
	}
	if status != http.StatusOK {
		b.count(t, false, fmt.Sprintf("status %d", status), "%s", clip(string(body), 200))
		return nil
	}
	told := map[string]string{}
	for _, f := range c.Flags {
		told[f.ID] = f.Change
	}
	for _, id := range slices.Sorted(maps.Keys(b.flags)) {
		was, is := slices.Contains(b.flags[id].ticks, since), slices.Contains(b.flags[id].ticks, b.tick)
		if want := map[bool]string{true: "appeared", false: "ended"}[is]; was != is {
			b.count(t, told[id] == want, "flag "+want, "%s %s, told as %q", id, want, told[id])
		}
	}
	b.compareRows(t, c, since)
	return nil
}

// compareRows holds the rows of changes against what upstream said both times.
func (b *packBench) compareRows(t *test, c changes, since int) {
	before, after := b.kept(b.known(since)), b.kept(b.known(b.tick))
	least := 0.1 // percent: what is told of at most 50 rows are the largest moves
	for _, r := range c.Rows {
		if len(c.Rows) >= 50 && r.ChangePct != nil {
			least = max(0.1, math.Abs(*r.ChangePct))
		}
	}
	for _, is := range after {
		i := slices.IndexFunc(before, func(f fact) bool { return f.source == is.source && f.key == is.key && f.field == is.field })
		if i < 0 || !b.leads(is) || sizeOf(is, before[i]) < least*1.05 {
			continue
		}
		b.count(t, c.tells(before[i], is), "row", "%s/%s %s from %v to %v", is.kind, is.key, is.field, before[i].value, is.value)
	}
}

// tells reports whether c has a row that moved so.
func (c changes) tells(was, is fact) bool {
	for _, r := range c.Rows {
		if r.Kind == is.kind && r.Key == is.key && r.Field == is.field && r.From != nil && r.To != nil {
			return was.near(*r.From) && is.near(*r.To)
		}
	}
	return false
}

// leads reports whether f is the first figure of its row, the one that changes tells of.
func (b *packBench) leads(f fact) bool {
	if f.kind == "story" || f.kind == "paper" {
		return false // it tells news, and not how they fare
	}
	return f.field == b.steady[f.kind][0] || f.kind == "yield" || f.kind == "indicator" // whose rows lead with different ones
}

// sizeOf is by how much a figure moved, in percent, or in points where it is a percentage.
func sizeOf(is, was fact) float64 {
	if strings.HasSuffix(is.field, "Pct") {
		return math.Abs(is.value - was.value)
	}
	if is.value == was.value {
		return 0
	}
	return math.Abs(is.value/was.value-1) * 100
}
