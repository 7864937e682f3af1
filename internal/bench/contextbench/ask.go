package main

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/contextd/contextd/daemon/source/replay"
	"github.com/contextd/contextd/sdk/api"
)

//go:embed questions
var questionFiles embed.FS

// asked is a question of the sets, with what a right answer holds.
type asked struct {
	ID       string `json:"id"`
	Pack     string `json:"pack"`
	Style    string `json:"style"`
	Category string `json:"category"`
	Q        string `json:"q"`
	Want     []want `json:"want"`

	set string
}

// questionSets are the sets of questions, in the order in which they were written.
var questionSets = []string{"open", "held", "fresh", "later", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh"}

// every is the name of all sets together.
const every = "all"

// readQuestions reads a set, or all of them.
func readQuestions(set string) (list []asked, err error) {
	if set == every {
		for _, one := range questionSets {
			some, err := readQuestions(one)
			if err != nil {
				return nil, err
			}
			list = append(list, some...)
		}
		return list, nil
	}
	if !slices.Contains(questionSets, set) {
		return nil, fmt.Errorf("no set %q, there are %s", set, strings.Join(questionSets, ", "))
	}
	text, err := questionFiles.ReadFile("questions/" + set + ".jsonl")
	if err != nil {
		return nil, err
	}
	for line := range bytes.Lines(text) {
		q := asked{set: set}
		d := json.NewDecoder(bytes.NewReader(line))
		d.DisallowUnknownFields()
		if err := d.Decode(&q); err != nil {
			return nil, fmt.Errorf("read %s: %w in %.80s", set, err, line)
		}
		list = append(list, q)
	}
	return list, nil
}

// past is what the raw payloads said at the ticks of which there is a state.
type past struct {
	at      func(tick int) time.Time
	now     time.Time // of the questions
	tick    int       // of the last state
	things  map[int][]*thing
	stories []story // of all of them, newest first
	feed    []story // that upstream tells at the last, newest first
}

// within are the things of each state between two times.
func (p *past) within(from, until time.Time) (list [][]*thing) {
	for _, tick := range slices.Sorted(maps.Keys(p.things)) {
		if at := p.at(tick); !at.Before(from) && !at.After(until) {
			list = append(list, p.things[tick])
		}
	}
	return list
}

// ticksFor are the ticks at which there is a state when questions are asked after the last one: every five minutes within a day and two
// hours and around each moment that a question names, else every hour.
func ticksFor(questions []asked, last int, at func(tick int) time.Time) (ticks []int, err error) {
	now := at(last).Add(read)
	var named [][2]time.Time
	for _, q := range questions {
		for _, w := range q.Want {
			for _, text := range []string{w.At, w.Over} {
				if text == "" || strings.Contains(text, "..") || text == "yesterday" {
					continue
				}
				from, until, err := moments(text, now)
				if err != nil {
					return nil, fmt.Errorf("%s: %w", q.ID, err)
				}
				named = append(named, [2]time.Time{from.Add(-10 * time.Minute), until.Add(5 * time.Minute)})
			}
		}
	}
	for tick := range last + 1 {
		t := at(tick)
		near := slices.ContainsFunc(named, func(n [2]time.Time) bool { return !t.Before(n[0]) && !t.After(n[1]) })
		if tick == 0 || tick%12 == 0 || last-tick <= 26*12 || near {
			ticks = append(ticks, tick)
		}
	}
	return ticks, nil
}

// pause is the time from one question to the next, with which no limit of calls is reached.
const pause = 700 * time.Millisecond

// Ticks of the last states: in crypto it is 2026-11-28 16:01 UTC, a Saturday, in the other packs 2026-11-21 22:01.
const (
	lastOfCrypto = 188 * 12
	lastOfPacks  = 26 * 12
)

// cryptoPast walks the crypto pack through its ticks.
func cryptoPast(ctx context.Context, cfg config, questions []asked) (*host, *past, error) {
	last := lastOfCrypto
	event := func(kind replay.EventKind, subject string, from int, size float64, ramp int) replay.Event {
		return replay.Event{Kind: kind, Subject: subject, From: last - from, Until: last + 10, Size: size, Ramp: ramp}
	}
	w := &world{host: newHost(cfg, api.PackCrypto, sources()), raws: map[int]*raw{}, events: []replay.Event{
		event(replay.Depeg, "first-digital-usd", 40, -0.035, 3), event(replay.Hack, "kamino-lend", 6*288, 31e6, 0),
		event(replay.Hack, "benqi-lending", 90, 31e6, 0), event(replay.Move, "pendle", 60, 0.55, 0),
	}}
	p := &past{at: w.at, tick: last, things: map[int][]*thing{}}
	ticks, err := ticksFor(questions, last, w.at)
	if err != nil {
		return nil, nil, err
	}
	w.market, err = replay.NewMarket(replay.MarketConfig{Seed: cfg.seed, Start: began(), Now: w.clock, Events: w.events})
	if err != nil {
		return nil, nil, err
	}
	if err := w.open(ctx, still{w.market}, nil, w.ask); err != nil {
		return nil, nil, err
	}
	told := map[string]bool{}
	for _, tick := range ticks {
		for w.market.Tick() < tick {
			w.market.Advance()
		}
		w.tick = tick
		err := w.ask(ctx)
		var r *raw
		if err == nil {
			r, err = w.read(tick)
		}
		if err != nil {
			return w.host, nil, err
		}
		p.things[tick], p.feed = r.cryptoThings(), r.stories
		for _, s := range r.stories {
			if id := s.source + s.link; !told[id] {
				told[id] = true
				p.stories = append(p.stories, s)
			}
		}
		delete(w.raws, tick)
	}
	slices.SortStableFunc(p.stories, func(a, b story) int { return b.at.Compare(a.at) })
	return w.host, p, nil
}

// packPast walks a shipped pack through its ticks.
func packPast(ctx context.Context, cfg config, shipped shippedPack, questions []asked) (*host, *past, error) {
	shipped.events = func(func(float64) int) []happening { return nil }
	cfg.ticks = 3 * lastOfPacks // outages come behind the last
	b, err := newPackBench(ctx, cfg, shipped)
	if err != nil {
		return nil, nil, err
	}
	p := &past{at: b.at, tick: lastOfPacks, things: map[int][]*thing{}}
	ticks, err := ticksFor(questions, lastOfPacks, b.at)
	for _, tick := range ticks {
		b.tick = tick
		if err == nil {
			err = b.ask(ctx)
		}
		p.things[tick] = things(b.known(tick))
	}
	for _, t := range p.things[lastOfPacks] {
		if t.kind == "headline" {
			p.stories = append(p.stories, story{source: "fed-press", title: t.texts["text"]})
		}
	}
	p.feed = p.stories
	return b.host, p, err
}

// askSet asks the questions of a set, or of all, and returns how each was answered.
func askSet(ctx context.Context, cfg config, set string) (list []answered, err error) {
	questions, err := readQuestions(set)
	if err != nil {
		return nil, err
	}
	of := map[string][]asked{}
	for _, q := range questions {
		of[q.Pack] = append(of[q.Pack], q)
	}
	for _, pack := range slices.Sorted(maps.Keys(of)) {
		if cfg.only != "" && cfg.only != pack {
			continue
		}
		var h *host
		var p *past
		if pack == api.PackCrypto {
			h, p, err = cryptoPast(ctx, cfg, of[pack])
		} else {
			i := slices.IndexFunc(shippedPacks(), func(s shippedPack) bool { return s.id == pack })
			h, p, err = packPast(ctx, cfg, shippedPacks()[i], of[pack])
		}
		if err == nil {
			var some []answered
			some, err = h.askThem(ctx, p, of[pack])
			list = append(list, some...)
		}
		if h != nil {
			err = cmp.Or(err, h.close())
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", pack, err)
		}
	}
	return list, nil
}

// askThem asks questions, each set from the same moment on, by somebody else.
func (h *host) askThem(ctx context.Context, p *past, questions []asked) (list []answered, err error) {
	begun := h.clock()
	for i, q := range questions {
		if i > 0 && q.set != questions[i-1].set {
			h.set(begun)
			if err := h.issue(ctx); err != nil {
				return nil, err
			}
		}
		h.set(h.clock().Add(pause))
		p.now = h.clock()
		status, body, err := h.caller.get(ctx, "/v1/lookup", nil, "q", q.Q, "limit", "10")
		if err != nil {
			return nil, err
		}
		var doc map[string]any
		if status == http.StatusOK {
			if err := json.Unmarshal(body, &doc); err != nil {
				return nil, err
			}
		} else if status >= 500 || status == http.StatusTooManyRequests || status == http.StatusUnauthorized {
			return nil, fmt.Errorf("%s: status %d: %.200s", q.ID, status, body)
		}
		list = append(list, judgeAsked(q, p, doc))
	}
	return list, nil
}

// Outcomes of a question.
const (
	wholly  = "right"
	refused = "rightly refused"
	nothing = "nothing"
	untrue  = "FALSE"
	marked  = "right, marked"
	misled  = "wrong, marked"
)

// answered is a question with what its answer is worth.
type answered struct {
	asked
	outcome, why string
}

// tally is the table of a set: outcomes of all and by style, category and pack. A false answer takes ten right ones away.
func tally(list []answered, verbose bool) string {
	var b strings.Builder
	table := func(head string, of func(a answered) string) {
		counts := map[string]map[string]int{}
		for _, a := range list {
			if counts[of(a)] == nil {
				counts[of(a)] = map[string]int{}
			}
			counts[of(a)][a.outcome]++
			counts[of(a)]["asked"]++
		}
		fmt.Fprintf(&b, "\n| %s | asked | right | rightly refused | right, marked | wrong, marked | nothing | FALSE | right or refused | score |\n", head)
		b.WriteString("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n")
		for _, name := range slices.Sorted(maps.Keys(counts)) {
			c := counts[name]
			good := c[wholly] + c[refused]
			fmt.Fprintf(&b, "| %s | %d | %d | %d | %d | %d | %d | %d | %s | %s |\n", name, c["asked"], c[wholly], c[refused], c[marked], c[misled],
				c[nothing], c[untrue],
				percentOf(good, c["asked"]), percentOf(good-10*c[untrue], c["asked"]))
		}
	}
	table("all", func(answered) string { return "all" })
	table("set", func(a answered) string { return a.set })
	table("pack", func(a answered) string { return a.Pack })
	table("style", func(a answered) string { return a.Style })
	table("category", func(a answered) string { return a.Category })
	if verbose {
		for _, a := range list {
			if a.outcome != wholly && a.outcome != refused {
				fmt.Fprintf(&b, "\n- %s %s: %q (%s, %s): %s", a.outcome, a.ID, a.Q, a.Style, a.Category, a.why)
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}
