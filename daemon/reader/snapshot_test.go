package reader_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/reader"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// decode reads a JSON text into a T.
func decode[T any](t testing.TB, text []byte) (v T) {
	t.Helper()
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return v
}

// sameJSON compares values, numbers by their text.
func sameJSON(t testing.TB, got []byte, want string) bool {
	t.Helper()
	var values [2]any
	for i, text := range [][]byte{got, []byte(want)} {
		dec := json.NewDecoder(bytes.NewReader(text))
		dec.UseNumber()
		if err := dec.Decode(&values[i]); err != nil {
			t.Fatalf("%v in %s", err, text)
		}
	}
	return reflect.DeepEqual(values[0], values[1])
}

func number(n int) string { return strconv.Itoa(n) }

// missing is the 404 of snapshot with the given message.
func missing(message, hint string) api.Error {
	return api.Error{Code: api.CodeSnapshotNotFound, Reason: api.ReasonSnapshotNotFound, Status: http.StatusNotFound, Message: message,
		Hint: hint}
}

// noon is the minute that most snapshots are asked for.
func noon() time.Time { return time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC) }

// snapshotOf is the query for the minute at.
func snapshotOf(at time.Time) api.Query {
	return api.Query{Op: api.OpSnapshot, Pack: "crypto", At: api.Minute(at)}
}

// TestSnapshotIsTheNewestBeforeTheMinuteEnds puts states around the edges of a minute.
func TestSnapshotIsTheNewestBeforeTheMinuteEnds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		states []time.Duration // after noon
		want   time.Duration
		age    int64
	}{
		"long ago":           {[]time.Duration{-time.Hour}, -time.Hour, 3660},
		"just before":        {[]time.Duration{-time.Hour, -time.Millisecond}, -time.Millisecond, 60},
		"as the minute goes": {[]time.Duration{-time.Hour, 0}, 0, 60},
		"within":             {[]time.Duration{0, 30 * time.Second, 2 * time.Minute}, 30 * time.Second, 30},
		"at its very end":    {[]time.Duration{0, time.Minute - time.Millisecond}, time.Minute - time.Millisecond, 0},
		"not of the next":    {[]time.Duration{0, time.Minute, time.Hour}, 0, 60},
	} {
		w := newWorld(t)
		w.narrate(t, "A brief of today [1].")
		for i, after := range c.states {
			w.history.pulses = append(w.history.pulses, pulse("ai", noon().Add(after), `{"other":"pack"}`), pulse("crypto",
				noon().Add(after), `{"n":`+number(i)+`}`))
		}
		a := w.get(t, snapshotOf(noon()), api.TierFree)
		got := decode[api.StateResponse](t, a.Body.Bytes(a.At))
		if !got.Freshness.GeneratedAt.Equal(noon().Add(c.want)) || got.Freshness.AgeSeconds != c.age {
			t.Errorf("%s: freshness %+v, want %v and %d", name, got.Freshness, noon().Add(c.want), c.age)
		}
		if got.Brief != "" || got.BriefAt != nil || len(got.Citations) != 2 ||
			!got.Citations[0].FetchedAt.Equal(noon().Add(c.want-time.Second)) {
			t.Errorf("%s: %+v", name, got)
		}
		if !a.Immutable || a.JSON != nil || !a.At.Equal(noon().Add(time.Minute)) {
			t.Errorf("%s: answer %+v", name, a)
		}
	}
}

// TestExactMoment: a generatedAt names its own state, however it is written, and nothing is looked ahead at.
func TestExactMoment(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	made := []time.Duration{time.Millisecond, 30 * time.Second, 30*time.Second + 1500*time.Millisecond}
	for i, after := range made {
		w.history.pulses = append(w.history.pulses, pulse("crypto", noon().Add(after), `{"n":`+number(i)+`}`))
	}
	ask := func(text string) (api.StateResponse, error) {
		t.Helper()
		at, err := api.ParseMoment(text)
		if err != nil {
			t.Fatal(err)
		}
		a, err := w.ask(t.Context(), api.Query{Op: api.OpSnapshot, Pack: "crypto", At: at}, api.TierFree)
		if err != nil {
			return api.StateResponse{}, err
		}
		return decode[api.StateResponse](t, a.Body.Bytes(a.At)), nil
	}
	for text, want := range map[string]int{
		noon().Add(made[0]).Format(time.RFC3339Nano): 0, noon().Add(made[1]).Format(time.RFC3339Nano): 1,
		noon().Add(made[2]).Format(time.RFC3339Nano): 2,
		"2026-11-20T12:00:29.999Z":                   0, "2026-11-20T12:00:30.000Z": 1, "2026-11-20T13:00:30+01:00": 1, "2026-11-20T12:00:31.499999Z": 1,
		"2026-11-20T12:00": 2, "2026-11-20T12:00:00Z": 2,
	} {
		got, err := ask(text)
		if err != nil || !got.Freshness.GeneratedAt.Equal(noon().Add(made[want])) || got.Freshness.AgeSeconds > 59 {
			t.Errorf("%s: %+v, %v; want the state %d", text, got.Freshness, err, want)
		}
	}
	_, err := ask("2026-11-20T12:00:00.000Z") // before the first
	refused(t, "a moment before the pack", err, missing("pack crypto had no state yet at 2026-11-20T12:00:00.000Z",
		"the earliest minute for this caller is 2026-11-20T12:00"))
	w.clock(noon().Add(made[1]))
	_, err = ask("2026-11-20T12:00:30.000Z")
	refused(t, "a moment that is not over", err, missing("the moment 2026-11-20T12:00:30.000Z is not over yet",
		"ask after 2026-11-20T12:00:30Z, or for an earlier one; the earliest minute for this caller is 2026-11-20T12:00"))
	w.clock(noon().Add(made[1] + time.Millisecond))
	if _, err = ask("2026-11-20T12:00:30.000Z"); err != nil {
		t.Errorf("a moment that is just over: %v", err)
	}
}

// TestSnapshotIsTheSameForEver reads one minute at many times, before and after newer states and briefs.
func TestSnapshotIsTheSameForEver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.history.pulses = []state.Pulse{pulse("crypto", noon().Add(7*time.Second), `{"b":[1.50,"é<"],"a":null}`)}
	const want = `{"state":{"b":[1.50,"é<"],"a":null},"brief":"","citations":[` +
		`{"ref":1,"sourceId":"one","url":"https://one.test/","fetchedAt":"2026-11-20T12:00:06Z","excerpt":"BTC at $91,240"},` +
		`{"ref":2,"sourceId":"two","url":"https://two.test/","fetchedAt":"2026-11-20T11:59:07Z"}],` +
		`"freshness":{"generatedAt":"2026-11-20T12:00:07Z","ageSeconds":53,"dataAgeSeconds":53}}`
	for i, later := range []time.Duration{time.Minute, time.Minute + 1, time.Hour, 23 * time.Hour, 24 * time.Hour, 30 * 24 * time.Hour,
		365 * 24 * time.Hour} {
		w.clock(noon().Add(later))
		a := w.get(t, snapshotOf(noon()), api.TierEnterprise)
		if got := string(a.Body.Bytes(a.At)); got != want {
			t.Errorf("%v later\n got %s\nwant %s", later, got, want)
		}
		z, err := gzip.NewReader(bytes.NewReader(a.Body.Gzip(a.At)))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(z); err != nil || string(got) != want {
			t.Errorf("%v later, gzip\n got %s, %v\nwant %s", later, got, err, want)
		}
		next := pulse("crypto", newest().Add(time.Duration(i+1)*time.Hour), `{}`)
		w.history.pulses = append(w.history.pulses, next)
		if err := w.feed.Publish(next, state.Narration{}, nil); err != nil {
			t.Fatal(err)
		}
		w.narrate(t, "Brief "+number(i))
	}
}

// TestSnapshotMinuteIsOver: a minute can be read from its end on, not a nanosecond sooner.
func TestSnapshotMinuteIsOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.history.pulses = []state.Pulse{pulse("crypto", noon().Add(-time.Hour), `{}`)}
	for later, over := range map[time.Duration]bool{
		-time.Hour: false, 0: false, time.Second: false, time.Minute - 1: false, time.Minute: true, time.Minute + 1: true,
	} {
		w.clock(noon().Add(later))
		_, err := w.ask(t.Context(), snapshotOf(noon()), api.TierEnterprise)
		if over && err != nil {
			t.Errorf("%v after its start: %v", later, err)
		} else if !over {
			refused(t, later.String()+" after its start", err, missing("the minute 2026-11-20T12:00 is not over yet",
				"ask after 2026-11-20T12:01:00Z, or for an earlier one; the earliest minute for this caller is 2026-11-20T11:00"))
		}
	}
}

// TestSnapshotWindow walks over the edge of each tier's window: the minute that begins exactly there is the last one within.
func TestSnapshotWindow(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for tier, c := range map[api.Tier]struct {
		window time.Duration
		words  string
	}{
		api.TierFree: {day, "24 hours"}, api.TierHobby: {day, "24 hours"}, api.TierPro: {30 * day, "30 days"},
		api.TierTeam: {365 * day, "365 days"}, api.TierEnterprise: {365 * day, "365 days"}, "": {day, "24 hours"}, "unknown": {day,
			"24 hours"},
	} {
		w := newWorld(t)
		w.history.pulses = []state.Pulse{pulse("crypto", noon().Add(-time.Hour), `{}`)}
		for _, off := range []time.Duration{-day + time.Minute, -time.Minute, -1, 0} {
			w.clock(noon().Add(c.window + off))
			if _, err := w.ask(t.Context(), snapshotOf(noon()), tier); err != nil {
				t.Errorf("%s, %v within: %v", tier, -off, err)
			}
		}
		for _, off := range []time.Duration{1, time.Second, time.Minute, day, 1000 * day} {
			w.clock(noon().Add(c.window + off))
			_, err := w.ask(t.Context(), snapshotOf(noon()), tier)
			refused(t, string(tier)+" beyond its window by "+off.String(), err,
				missing("the minute 2026-11-20T12:00 is more than "+c.words+" ago, beyond the window of this caller",
					"the earliest minute for this caller is "+noon().Add(off).Add(time.Minute-1).Format("2006-01-02T15:04")))
		}
	}
}

func TestSnapshotBeforeThePack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	want := missing("pack crypto had no state yet at 2026-11-20T12:00", "there is no earlier state")
	_, err := w.ask(t.Context(), snapshotOf(noon()), api.TierTeam)
	refused(t, "empty history", err, want)
	w.history.pulses = []state.Pulse{pulse("ai", noon(), `{}`), pulse("crypto", noon().Add(time.Minute), `{}`)}
	want.Hint = "the earliest minute for this caller is 2026-11-20T12:01"
	_, err = w.ask(t.Context(), snapshotOf(noon()), api.TierTeam)
	refused(t, "first state a minute later", err, want)
	_, err = w.ask(t.Context(), snapshotOf(noon().In(time.FixedZone("", 3600))), api.TierTeam)
	refused(t, "in another zone", err, want)
	w.get(t, snapshotOf(noon().Add(time.Minute)), api.TierTeam)
}

// TestSnapshotFailures: what the caller cannot help is not told to the caller, and its cause is kept for the log.
func TestSnapshotFailures(t *testing.T) {
	t.Parallel()
	w, broken := newWorld(t), errors.New("disk on fire")
	w.history.err = broken
	_, err := w.ask(t.Context(), snapshotOf(noon()), api.TierFree)
	internal(t, "broken history", err)
	if !errors.Is(err, broken) {
		t.Errorf("%v has lost its cause", err)
	}

	w.history.err = nil
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = w.ask(ctx, snapshotOf(noon()), api.TierFree)
	internal(t, "caller gone", err)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v has lost its cause", err)
	}

	odd := pulse("crypto", noon(), `{}`)
	odd.Citations[0].FetchedAt = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC) // has no JSON
	w.history.pulses = []state.Pulse{odd}
	_, err = w.ask(t.Context(), snapshotOf(noon()), api.TierFree)
	internal(t, "pulse that cannot be encoded", err)
}

// TestWindowAsOfTheOffer counts the window from when the snapshot was offered: both sides of its bound, whatever the time is now.
func TestWindowAsOfTheOffer(t *testing.T) {
	t.Parallel()
	const window = 24 * time.Hour
	for _, c := range []struct {
		ago   time.Duration // of the minute, when it was offered
		later time.Duration // from the offer until now
		ok    bool
	}{
		{window - time.Millisecond, 0, true}, {window, 0, true}, {window + time.Millisecond, 0, false},
		{window, 4 * time.Minute, true}, {window, 30 * time.Hour, true}, {window + time.Millisecond, 30 * time.Hour, false},
	} {
		w := newWorld(t)
		w.history.pulses = []state.Pulse{pulse("crypto", noon(), `{}`)}
		offered := noon().Add(c.ago)
		w.clock(offered.Add(c.later))
		view, err := w.Ready(api.Query{Op: api.OpSnapshot, Pack: "crypto", At: api.Minute(noon())})
		if err != nil {
			t.Fatal(err)
		}
		for how, v := range map[string]reader.View{"as of the offer": view.AsOf(offered), "now": view} {
			want := c.ok
			if how == "now" {
				want = c.ago+c.later <= window
			}
			cheap := w.Deliverable(t.Context(), v, window)
			_, whole := w.Answer(t.Context(), v, window)
			if (cheap == nil) != want || (whole == nil) != want {
				t.Errorf("%s, %s ago and %s later: %v, %v", how, c.ago, c.later, cheap, whole)
			}
		}
	}
}

// TestDeliverable: the cheap check refuses what the answer would, in the same words, and decodes no state.
func TestDeliverable(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.history.pulses = []state.Pulse{pulse("crypto", noon(), `{`)} // which is no state
	w.clock(noon().Add(time.Hour))
	for q, ok := range map[api.Query]bool{
		{Op: api.OpSnapshot, At: api.Minute(noon())}: true, {Op: api.OpSnapshot, At: api.Minute(noon().Add(-time.Minute))}: false,
		{Op: api.OpSnapshot, At: api.Minute(noon().Add(time.Hour))}:       false,
		{Op: api.OpSnapshot, At: api.Minute(noon().Add(-48 * time.Hour))}: false, {Op: api.OpCite, Ref: 2}: true, {Op: api.OpCite,
			Ref: 3}: false, {Op: api.OpFresh}: true,
	} {
		q.Pack = "crypto"
		view, err := w.Ready(q)
		if err != nil {
			t.Fatal(err)
		}
		cheap := w.Deliverable(t.Context(), view, 24*time.Hour)
		if (cheap == nil) != ok {
			t.Errorf("%+v: %v", q, cheap)
		}
		if _, whole := w.Answer(t.Context(), view, 24*time.Hour); !ok && (whole == nil || whole.Error() != cheap.Error()) {
			t.Errorf("%+v: %v, the answer is %v", q, cheap, whole)
		}
	}
}

// TestAged has the ages of an answer counted on by whole seconds, and all else as it was.
func TestAged(t *testing.T) {
	t.Parallel()
	const text = `{"state":{"ageSeconds":1,"row":{"ageSeconds":2}},"rows":[{"ageSeconds" : 3 ,"name":"ageSeconds"},{"ageSeconds":null}],` +
		`"freshness":{"ageSeconds":4,"dataAgeSeconds":900}}`
	aged := strings.NewReplacer(`"ageSeconds" : 3`, `"ageSeconds" : 63`, `"ageSeconds":4`, `"ageSeconds":64`, `900`, `960`).Replace(text)
	for by, want := range map[time.Duration]string{
		0: text, time.Second - 1: text, -time.Hour: text, time.Minute: aged, time.Minute + time.Second - 1: aged,
	} {
		if got := string(reader.Aged([]byte(text), by)); got != want {
			t.Errorf("after %s: %s", by, got)
		}
	}
	if got := string(reader.Aged([]byte("no JSON"), time.Hour)); got != "no JSON" {
		t.Errorf("%q", got)
	}
}
