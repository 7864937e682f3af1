package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"

	"github.com/contextd/contextd/sdk/api"
)

// bench asks and keeps the scores.
type bench struct {
	w      *world
	chance *rand.Rand
	asks   []int // questions of T1 by tick

	lookup  *test // T1 over HTTP
	text    *test // T1 over MCP
	past    *test
	unkept  *test
	recall  *test
	precise *test
	diffs   *test
	honest  *test
	brief   *test
	mention *test
	claims  *test
	hostile *test
	kinds   *kindScore

	cost      costs
	baselines baselines
	flags     map[string]seenFlag // by id, of all ticks
	states    map[int]api.Freshness
}

// test is the score of one test.
type test struct {
	ID       string  `json:"id"`
	What     string  `json:"what"`
	Aim      float64 `json:"aim"` // share that has to be right
	Asked    int     `json:"asked"`
	Right    int     `json:"right"`
	Measured bool    `json:"measured"`
	Why      string  `json:"why,omitempty"` // it is not measured, or what else is to be said

	Wrong map[string]*class `json:"wrong,omitempty"`
}

// class is wrong answers of one kind.
type class struct {
	Count    int      `json:"count"`
	Examples []string `json:"examples"`
}

// share is the part of the answers that were right.
func (t *test) share() float64 {
	if t.Asked == 0 {
		return 0
	}
	return float64(t.Right) / float64(t.Asked)
}

// newBench makes a bench of a world at its first tick.
func newBench(w *world) *bench {
	b := &bench{
		w: w, chance: rand.New(rand.NewPCG(w.cfg.seed, 1)), flags: map[string]seenFlag{}, states: map[int]api.Freshness{},
		lookup:  &test{ID: "T1", What: "look up: right, cited and dated", Aim: 0.95},
		text:    &test{ID: "T1 text", What: "the same as a model reads it, over MCP", Aim: 0.95},
		past:    &test{ID: "T2", What: "the past: right, cited and dated", Aim: 0.95},
		unkept:  &test{ID: "T2 unkept", What: "rows that were in no state are said not to be kept", Aim: 0.95},
		recall:  &test{ID: "T3 recall", What: "planted warning and critical events flagged within one tick", Aim: 1},
		precise: &test{ID: "T3 precision", What: "flags that upstream bears out", Aim: 0.95},
		diffs:   &test{ID: "T3 changes", What: "flags that rose or ended and rows that moved, told by changes", Aim: 0.95},
		honest:  &test{ID: "T4", What: "answers that say that their source is dead or frozen", Aim: 1},
		brief:   &test{ID: "T5 figures", What: "figures of the brief that its anchor's payload holds", Aim: 0},
		claims:  &test{ID: "T5", What: "claims of the brief that a cited row proves", Aim: 1},
		mention: &test{ID: "T5 mentions", What: "planted critical events in the brief within one tick", Aim: 1},
		hostile: &test{ID: "T7", What: "hostile texts that reach a model marked as data", Aim: 1},
		kinds:   &kindScore{},
	}
	b.plan()
	return b
}

// plan spreads the questions of T1 over the ticks of the first part, where most sources answer.
func (b *bench) plan() {
	ticks := b.w.cfg.ticks * 65 / 100
	b.asks = make([]int, b.w.cfg.ticks)
	for i := range b.w.cfg.questions {
		b.asks[i*ticks/b.w.cfg.questions]++
	}
}

// tick asks what is to be asked at the world's tick.
func (b *bench) tick(ctx context.Context) error {
	if b.w.tick == 0 {
		if err := b.knock(ctx); err != nil {
			return err
		}
	}
	r, err := b.w.read(b.w.tick)
	if err != nil {
		return err
	}
	steps := []func(context.Context, *raw) error{b.lookUp, b.watch, b.weather, b.readBrief, b.provoke}
	if b.w.tick == b.w.cfg.ticks*43/100 { // a calm hour, with an hour of history
		steps = append(steps, b.askKinds)
	}
	for _, step := range steps {
		if err := step(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// knock finds out what the daemon serves.
func (b *bench) knock(ctx context.Context) error {
	if err := b.w.caller.look(ctx); err != nil {
		return err
	}
	for path, tests := range map[string][]*test{
		"/v1/lookup?q=bitcoin": {b.lookup, b.text, b.honest}, "/v1/series?path=top_movers": {b.unkept},
		"/v1/changes?since=-10m": {b.diffs},
	} {
		there, err := b.w.caller.serves(ctx, path)
		if err != nil {
			return err
		}
		name, _, _ := strings.Cut(path, "?")
		for _, t := range tests {
			if t.Measured = there; !there {
				t.Why = "there is no " + name
			}
		}
	}
	return nil
}

// lookUp is T1 with what T6 counts.
func (b *bench) lookUp(ctx context.Context, r *raw) error {
	if !b.lookup.Measured {
		return nil
	}
	for _, q := range b.batch(r, b.asks[b.w.tick]) {
		var a api.LookupResponse
		status, body, err := b.w.caller.get(ctx, "/v1/lookup", &a, "q", q.text)
		if err != nil {
			return err
		}
		v := verdict{wrong: fmt.Sprintf("status %d", status), said: clip(string(body), 200)}
		if status == http.StatusOK && len(a.Results) == 1 {
			v = judge(q, a, a.Results[0], b.w.at(b.w.tick), b.w.clock())
		}
		b.w.count(b.lookup, v.whole(), v.wrong, "%s, got %s", q, v.said)
		b.cost.count(&b.cost.HTTP, len(body), v.right)
		if !b.w.caller.has("lookup") {
			continue
		}
		text, err := b.w.caller.tool(ctx, "lookup", map[string]any{"q": q.text})
		if err != nil {
			return err
		}
		ref := slices.Index(sources(), q.want.source) + 1
		v = judgeText(q, text, ref)
		b.w.count(b.text, v.whole(), v.wrong, "%s, got %s", q, v.said)
		b.cost.count(&b.cost.MCP, len(text), v.right)
		if err := b.baselines.ask(b.w, q); err != nil {
			return err
		}
	}
	return nil
}

// end asks what is asked at the end.
func (b *bench) end(ctx context.Context) error {
	if err := b.lookBack(ctx); err != nil {
		return err
	}
	return b.judgeFlags()
}
