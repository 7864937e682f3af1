package reader_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// late is when the newest state of these tests was made.
func late() time.Time { return newest().Add(2 * time.Hour) }

// old has states of crypto every five minutes before the newest, in which the coin x costs 1, 2, 3 and so on, and y is in every second.
func old(t *testing.T, n int) *world {
	t.Helper()
	w := newWorld(t)
	for i := range n {
		y := ""
		if i%2 == 1 {
			y = fmt.Sprintf(`,{"id":"y","name":"Y","price":%d}`, 100+i)
		}
		p := pulse("crypto", late().Add(time.Duration(i-n+1)*5*time.Minute),
			fmt.Sprintf(`{"coins":[{"id":"x","name":"X","price":%d,"day":null}%s],"n":%d}`, i+1, y, i))
		w.history.pulses = append(w.history.pulses, p)
		if err := w.feed.Publish(p, state.Narration{}, nil); err != nil {
			t.Fatal(err)
		}
	}
	w.clock(late())
	return w
}

// series asks for a series of crypto.
func series(path, field string, points int, span time.Duration) api.Query {
	return api.Query{Op: api.OpSeries, Pack: "crypto", Path: path, Field: field, Points: points, Span: span}
}

func TestSeries(t *testing.T) {
	t.Parallel()
	w := old(t, 13) // an hour
	for _, c := range []struct {
		q    api.Query
		want string
	}{
		{series("coins", "", 13, time.Hour), `X price 1 2 3 4 5 6 7 8 9 10 11 12 13`},
		{series("coin/x", "", 4, time.Hour), `X price 1 5 9 13`},
		{series("coin/y", "price", 4, time.Hour), `y price - - - -`}, // it is in none of these four
		{series("coin/y", "price", 13, time.Hour), `Y price - 101 - 103 - 105 - 107 - 109 - 111 -`},
		{series("coin/x", "day", 2, time.Hour), `X day - -`},
		{series("coin/x", "", 3, 2*time.Hour), `X price - 1 13`}, // history begins an hour ago
		{series("coin/x", "", 7, 90*time.Minute), `X price - - 1 4 7 10 13`},
		{series("coin/gone", "", 2, time.Hour), `gone price - -`},
	} {
		a := w.get(t, c.q, api.TierFree)
		var got api.SeriesResponse
		if err := json.Unmarshal(a.JSON, &got); err != nil {
			t.Fatal(err)
		}
		if a.Body != nil || a.Immutable || got.Path != c.q.Path || got.Span != api.FormatSpan(c.q.Span) || len(got.Times) != c.q.Points ||
			!got.Times[c.q.Points-1].Equal(late()) || !got.Times[0].Equal(late().Add(-c.q.Span)) ||
			!got.Freshness.GeneratedAt.Equal(late()) {
			t.Errorf("%+v: %s", c.q, a.JSON)
		}
		var rows []string
		for _, r := range got.Rows {
			text := r.Name + " " + r.Field
			for _, v := range r.Values {
				if v == nil {
					text += " -"
				} else {
					text += fmt.Sprint(" ", *v)
				}
			}
			rows = append(rows, text)
		}
		if text := strings.Join(rows, "; "); text != c.want {
			t.Errorf("%s %s over %v:\n got %s\nwant %s", c.q.Path, c.q.Field, c.q.Span, text, c.want)
		}
	}
}

// TestSeriesEndNow: the last time is now, with the newest state even where the clock was set back behind it.
func TestSeriesEndNow(t *testing.T) {
	t.Parallel()
	w := old(t, 3)
	for _, now := range []time.Time{late().Add(59*time.Minute + 999999*time.Nanosecond), late().Add(-time.Hour)} {
		w.clock(now)
		var got api.SeriesResponse
		if err := json.Unmarshal(w.get(t, series("coin/x", "", 2, time.Hour), api.TierFree).JSON, &got); err != nil {
			t.Fatal(err)
		}
		end := late()
		if now.After(end) {
			end = now.Truncate(time.Millisecond)
		}
		if v := got.Rows[0].Values[1]; !got.Times[1].Equal(end) || v == nil || *v != 3 {
			t.Errorf("at %v: %+v", now, got)
		}
	}
}

// TestSeriesAreRefused: what a pack has no series of, a span beyond the window, and a history that is broken.
func TestSeriesAreRefused(t *testing.T) {
	t.Parallel()
	w := old(t, 13)
	for want, q := range map[api.Reason]api.Query{
		api.ReasonInvalidPath: series("n", "", 60, time.Hour), api.ReasonInvalidField: series("coins", "tvl", 60, time.Hour),
	} {
		if _, err := w.Ready(q); api.AsError(err).Reason != want {
			t.Errorf("%+v: %v", q, err)
		}
	}
	for _, tier := range api.Tiers() {
		window := tier.SnapshotWindow()
		for span, ok := range map[time.Duration]bool{window: true, window + time.Second: false} {
			q := series("coin/x", "", 2, span)
			_, err := w.ask(t.Context(), q, tier)
			view, _ := w.Ready(q)
			if check := w.Deliverable(t.Context(), view, window); fmt.Sprint(check) != fmt.Sprint(err) {
				t.Errorf("%s: %v, told before %v", tier, err, check)
			}
			if ok != (err == nil) || !ok && (api.AsError(err).Reason != api.ReasonSnapshotNotFound || api.AsError(err).Status != 404 ||
				!strings.HasPrefix(api.AsError(err).Hint,
					"ask for span="+api.FormatSpan(window)+"; the earliest minute for this caller is ")) {
				t.Errorf("%s, %v: %v (%s)", tier, span, err, api.AsError(err).Hint)
			}
		}
	}
	w.history.err = errors.New("disk on fire")
	if _, err := w.ask(t.Context(), series("coin/x", "", 2, time.Hour), api.TierFree); !errors.Is(err, w.history.err) {
		t.Errorf("%v", err)
	}
}

// lines asks for history and returns what is in its lines, and the credits that it costs.
func lines(ctx context.Context, w *world, q api.Query, tier api.Tier) (text string, credits int64, err error) {
	q.Op, q.Pack = api.OpHistory, "crypto"
	view, err := w.Ready(q)
	if err != nil {
		return "", 0, err
	}
	l, err := w.History(ctx, view, tier.SnapshotWindow())
	if err != nil {
		return "", view.Credits(), err
	}
	defer l.Close()
	var all []string
	for {
		line, err := l.Next()
		if errors.Is(err, io.EOF) {
			return strings.Join(all, " "), view.Credits(), nil
		}
		if err != nil {
			return strings.Join(all, " "), view.Credits(), err
		}
		var h api.HistoryLine
		if err := json.Unmarshal(line, &h); err != nil || line[len(line)-1] != '\n' {
			return string(line), view.Credits(), fmt.Errorf("line %q: %w", line, err)
		}
		all = append(all, fmt.Sprintf("%d=%s", int(h.GeneratedAt.Sub(late())/time.Minute), h.Value))
	}
}

func TestHistory(t *testing.T) {
	t.Parallel()
	w := old(t, 7)                                                           // half an hour
	w.history.pulses = append(w.history.pulses[:2], w.history.pulses[4:]...) // without two in the middle
	ago := func(minutes int) time.Time { return late().Add(-time.Duration(minutes) * time.Minute) }
	for what, c := range map[string]struct {
		q    api.Query
		want string
	}{
		"all":                       {api.Query{Path: "n", From: ago(30)}, "-30=0 -25=1 -10=4 -5=5 0=6"},
		"from before the first":     {api.Query{Path: "n", From: ago(300)}, "-30=0 -25=1 -10=4 -5=5 0=6"},
		"both ends count":           {api.Query{Path: "n", From: ago(25), To: ago(5)}, "-25=1 -10=4 -5=5"},
		"a millisecond before each": {api.Query{Path: "n", From: ago(25).Add(-1e6), To: ago(5).Add(-1e6)}, "-30=0 -25=1 -10=4"},
		"every ten":                 {api.Query{Path: "n", From: ago(30), Every: 10 * time.Minute}, "-30=0 -25=1 -10=4 0=6"},
		"every hour":                {api.Query{Path: "n", From: ago(30), Every: time.Hour}, "-30=0"},
		"one moment":                {api.Query{Path: "n", From: ago(7), To: ago(7)}, "-10=4"},
		"a list": {api.Query{Path: "coins", From: ago(25), To: ago(25)},
			`-25=[{"id":"x","name":"X","price":2,"day":null},{"id":"y","name":"Y","price":101}]`},
	} {
		if c.q.Every == 0 {
			c.q.Every = api.HistoryEveryMin
		}
		if got, credits, err := lines(t.Context(), w, c.q, api.TierFree); err != nil || got != c.want || credits != 1 {
			t.Errorf("%s: %s for %d credits, %v; want %s", what, got, credits, err, c.want)
		}
	}
	w.history.pulses[1].State = []byte(`{"coins":[]}`)
	if got, _, err := lines(t.Context(), w, api.Query{Path: "n", From: ago(30), To: ago(10), Every: api.HistoryEveryMin},
		api.TierFree); got != "-30=0 -25=null -10=4" {
		t.Errorf("a member that one state has not: %s, %v", got, err)
	}
}

// TestHistoryGoesIntoParts: a member of a member is one too.
func TestHistoryGoesIntoParts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.clock(late())
	p := pulse("crypto", late(), `{"mood":{"market":{"cap":1},"fear":null},"coins":[]}`)
	w.history.pulses = []state.Pulse{p}
	if err := w.feed.Publish(p, state.Narration{}, nil); err != nil {
		t.Fatal(err)
	}
	for member, want := range map[string]string{"mood.market": `0={"cap":1}`, "mood.market.cap": "0=1", "mood.fear": "0=null",
		"mood": `0={"market":{"cap":1},"fear":null}`} {
		if got, _, err := lines(t.Context(), w, api.Query{Path: member, From: late(), Every: time.Hour}, api.TierFree); got != want ||
			err != nil {
			t.Errorf("%s: %s, %v", member, got, err)
		}
	}
	for _, member := range []string{"mood.", ".mood", "market", "mood.fear.x", "coins.0", "coins[0]", "Coins"} {
		_, _, err := lines(t.Context(), w, api.Query{Path: member, From: late(), Every: time.Hour}, api.TierFree)
		if e := api.AsError(err); e.Reason != api.ReasonInvalidMembers || e.Hint != "members: mood, coins" {
			t.Errorf("%s: %v (%s)", member, err, e.Hint)
		}
	}
}

// TestHistoryBounds has both sides of every bound of the range, and what each costs.
func TestHistoryBounds(t *testing.T) {
	t.Parallel()
	w := old(t, 3)
	const day, tick = 24 * time.Hour, time.Millisecond
	for _, c := range []struct {
		tier     api.Tier
		from, to time.Duration // before now
		want     string        // reason, or credits
	}{
		{api.TierTeam, 0, 0, "1"}, {api.TierTeam, day, 0, "1"}, {api.TierTeam, day + tick, 0, "2"}, {api.TierTeam, 31 * day, 0, "31"},
		{api.TierTeam, 30*day + tick, 0, "31"}, {api.TierTeam, 31*day + tick, 0, "invalid_range"}, {api.TierTeam, 0, tick, "invalid_range"},
		{api.TierFree, day, 0, "1"}, {api.TierFree, day + tick, tick, "snapshot_not_found"}, {api.TierPro, 30 * day, 0, "30"},
		{api.TierPro, 30*day + tick, 0, "snapshot_not_found"}, {api.TierTeam, 365 * day, 364 * day, "snapshot_not_found"}, // none yet
		{api.TierTeam, 365*day + tick, 364 * day, "snapshot_not_found"}, {api.TierTeam, 0, -tick, "snapshot_not_found"},
		{api.TierTeam, 10*time.Minute + tick, 10*time.Minute + tick, "snapshot_not_found"}, {api.TierTeam, 10 * time.Minute,
			10 * time.Minute, "1"},
	} {
		q := api.Query{Path: "n", From: late().Add(-c.from), To: late().Add(-c.to), Every: api.HistoryEveryMin}
		_, credits, err := lines(t.Context(), w, q, c.tier)
		got := fmt.Sprint(credits)
		if err != nil {
			got = string(api.AsError(err).Reason)
		}
		if got != c.want {
			t.Errorf("%s from %v to %v: %s, %v; want %s", c.tier, c.from, c.to, got, err, c.want)
		}
		if err != nil && api.AsError(err).Hint == "" {
			t.Errorf("%s from %v to %v: no hint with %v", c.tier, c.from, c.to, err)
		}
	}
	for from, want := range map[time.Duration]time.Duration{day: 0, 31 * day: 0, 31*day + tick: tick, 90 * day: 59 * day, -tick: -tick} {
		view, err := w.Ready(api.Query{Op: api.OpHistory, Pack: "crypto", Path: "n", From: late().Add(-from)})
		if from < 0 {
			if api.AsError(err).Reason != api.ReasonInvalidRange {
				t.Errorf("from in the future: %v", err)
			}
		} else if err != nil || !view.To.Equal(late().Add(-want)) {
			t.Errorf("from %v ago without to: until %v, %v", from, view.To, err)
		}
	}
}

// TestHistoryFails: a history that is broken is no end, at the first line or later.
func TestHistoryFails(t *testing.T) {
	t.Parallel()
	w := old(t, 3)
	q := api.Query{Path: "n", From: late().Add(-10 * time.Minute), Every: api.HistoryEveryMin, Op: api.OpHistory, Pack: "crypto"}
	view, err := w.Ready(q)
	if err != nil {
		t.Fatal(err)
	}
	l, err := w.History(t.Context(), view, 24*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if line, err := l.Next(); err != nil || !strings.Contains(string(line), `"value":0}`) {
		t.Errorf("%s, %v", line, err)
	}
	w.history.err = errors.New("disk on fire")
	if line, err := l.Next(); !errors.Is(err, w.history.err) {
		t.Errorf("%s, %v", line, err)
	}
	if _, err := w.History(t.Context(), view, 24*time.Hour); !errors.Is(err, w.history.err) {
		t.Errorf("%v", err)
	}
}

// TestParsePast reads the parameters of series and history, both sides of every bound.
func TestParsePast(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"series?path=coins": "path=coins",
		"series?path=coins&points=60&span=24h&pack=crypto":  "path=coins",
		"series?path=coins&points=060&span=1d&field=":       "path=coins",
		"series?path=coins&points=2&span=1h":                "path=coins&points=2&span=1h",
		"series?path=coins&points=288&span=3600s":           "path=coins&points=288&span=1h",
		"series?path=asset/a/b&field=priceUsd&span=365d&x=": "field=priceUsd&path=asset%2Fa%2Fb&span=365d",
		"series":                                 "invalid_path",
		"series?path=":                           "invalid_path",
		"series?path=a&points=1":                 "invalid_points",
		"series?path=a&points=289":               "invalid_points",
		"series?path=a&points=":                  "invalid_points",
		"series?path=a&points=2.5":               "invalid_points",
		"series?path=a&span=3599s":               "invalid_span",
		"series?path=a&span=59m":                 "invalid_span",
		"series?path=a&span=":                    "invalid_span",
		"series?path=a&span=-24h":                "invalid_span",
		"series?path=a&span=24":                  "invalid_span",
		"series?path=a&span=99999d":              "invalid_span",
		"history?member=a&from=2026-11-20T20:05": "ok 20:05:00 00:00:00 5m0s",
		"history?member=a&from=2026-11-20T20:05:02.340Z&to=2026-11-20T21:05%2B01:00&every=1h": "ok 20:05:02.34 20:05:00 1h0m0s",
		"history?member=a&from=2026-11-20T20:05&every=5m":                                     "ok 20:05:00 00:00:00 5m0s",
		"history?member=a&from=2026-11-20T20:05&every=300s":                                   "ok 20:05:00 00:00:00 5m0s",
		"history?member=a&from=2026-11-20T20:05&every=299s":                                   "invalid_every",
		"history?member=a&from=2026-11-20T20:05&every=0h":                                     "invalid_every",
		"history?member=a&from=2026-11-20T20:05&every=":                                       "invalid_every",
		"history?from=2026-11-20T20:05":                                                       "invalid_members",
		"history?member=&from=2026-11-20T20:05":                                               "invalid_members",
		"history?member=a":                                                                    "invalid_range",
		"history?member=a&from=":                                                              "invalid_range",
		"history?member=a&from=yesterday":                                                     "invalid_range",
		"history?member=a&from=2026-11-20T20:05&to=":                                          "invalid_range",
		"history?member=a&from=2026-11-20T20:05&to=2026-11-20":                                "invalid_range",
	} {
		op, query, _ := strings.Cut(text, "?")
		values, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		q, err := api.Parse(api.Op(op), api.FaceHTTP, values)
		switch {
		case err != nil:
			if e := api.AsError(err); string(e.Reason) != want || e.Hint == "" || e.Status != 400 {
				t.Errorf("%s: %v, want %s", text, err, want)
			}
		case op == "history":
			if got := fmt.Sprint("ok ", q.From.Format("15:04:05.999"), " ", q.To.Format("15:04:05.999"), " ", q.Every); got != want ||
				q.Path != "a" {
				t.Errorf("%s: %s of %s, want %s", text, got, q.Path, want)
			}
		case q.Canonical() != want:
			t.Errorf("%s is the same as %s, want %s", text, q.Canonical(), want)
		}
	}
}
