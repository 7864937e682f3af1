package reader_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// changing is a world with a state of noon and one of newest, in which a price rose by two percent.
func changing(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.history.pulses = []state.Pulse{
		pulse("crypto", noon().Add(7*time.Second), `{"assets":[{"id":"a","ref":2,"priceUsd":100},{"id":"b","ref":2,"priceUsd":10}]}`),
		pulse("crypto", newest().Add(time.Second),
			`{"assets":[{"id":"a","ref":2,"priceUsd":102},{"id":"b","ref":2,"priceUsd":10.01}],"source_status":[{"ref":1,"id":"one","status":"ok"}]}`),
	}
	if err := w.feed.Publish(w.history.pulses[1], state.Narration{}, state.NewTables([]state.Kind{{Name: "asset"}, {Name: "pool"}},
		nil)); err != nil {
		t.Fatal(err)
	}
	return w
}

// parsed is the query of changes with the given parameters.
func parsed(t *testing.T, parameters string) api.Query {
	t.Helper()
	values, err := url.ParseQuery(parameters)
	if err != nil {
		t.Fatal(err)
	}
	q, err := api.Parse(api.OpChanges, api.FaceHTTP, values)
	if err != nil {
		t.Fatalf("%s: %v", parameters, err)
	}
	return q
}

// TestChanges compares the newest state with the one as of a moment, however that is written.
func TestChanges(t *testing.T) {
	t.Parallel()
	w := changing(t)
	w.clock(newest().Add(61 * time.Second))
	for parameters, rows := range map[string]int{
		"since=2026-11-20T12:00": 2, "since=2026-11-20T12:00:07Z": 2, "since=-1h": 2, "since=1h+30m+ago": 2,
		"since=2026-11-20T12:00&min=2":    1,
		"since=2026-11-20T12:00&min=2.01": 0, "since=2026-11-20T12:00&kinds=pool,+ASSET": 2, "since=2026-11-20T12:00&kinds=pool": 0,
		"since=2026-11-20T20:05:03.34Z": 0, "since=-10s": 0,
	} {
		got := decode[api.ChangesResponse](t, w.get(t, parsed(t, parameters), api.TierFree).JSON)
		if len(got.Rows) != rows || !got.To.Equal(newest().Add(time.Second)) || got.Freshness.AgeSeconds != 60 || !got.Clear ||
			got.SourcesAsked != 1 {
			t.Errorf("%s: %+v", parameters, got)
		}
		if rows > 0 && (!got.From.Equal(noon().Add(7*time.Second)) || got.Rows[0].Key != "a" || *got.Rows[0].ChangePct != 2 ||
			len(got.Citations) != 1) {
			t.Errorf("%s: %+v", parameters, got)
		}
		if parameters == "since=-1h" && !got.Since.Equal(newest().Add(61*time.Second-time.Hour)) {
			t.Errorf("since %s", got.Since)
		}
	}
}

// TestChangesWhileAStateLands: history may know a newer state than the one that is compared.
func TestChangesWhileAStateLands(t *testing.T) {
	t.Parallel()
	w := changing(t)
	w.history.pulses = append(w.history.pulses, pulse("crypto", newest().Add(30*time.Second), `{"assets":[{"id":"a","priceUsd":200}]}`))
	got := decode[api.ChangesResponse](t, w.get(t, parsed(t, "since=-10s"), api.TierFree).JSON)
	if len(got.Rows) > 0 || !got.From.Equal(got.To) {
		t.Errorf("%+v", got)
	}
}

// TestChangesWindow: both sides of the caller's window, of a minute and of a span, and a moment that is not over. Each refusal names the
// earliest minute.
func TestChangesWindow(t *testing.T) {
	t.Parallel()
	const window = 24 * time.Hour
	for _, c := range []struct {
		parameters string
		now        time.Time
		why        string
	}{
		{"since=2026-11-20T12:00", noon().Add(window), ""},
		{"since=2026-11-20T12:00", noon().Add(window + 1), "the minute 2026-11-20T12:00 is more than 24 hours ago, " +
			"beyond the window of this caller"},
		{"since=-24h", noon().Add(window + time.Hour), ""},
		{"since=-24h1s", noon().Add(window + time.Hour), "the moment 2026-11-20T12:59:59.000Z is more than 24 hours ago, " +
			"beyond the window of this caller"},
		{"since=2026-11-20T21:00", noon().Add(9 * time.Hour), "the minute 2026-11-20T21:00 is not over yet"},
		{"since=2026-11-20T11:59", noon().Add(9 * time.Hour), "pack crypto had no state yet at 2026-11-20T11:59"},
	} {
		w := changing(t)
		w.clock(c.now)
		view, err := w.Ready(parsed(t, c.parameters))
		if err != nil {
			t.Fatal(err)
		}
		later := c.now.Add(time.Millisecond)
		if c.why == "" && c.parameters == "since=-24h" {
			w.clock(later) // the answer comes after the span was counted
		}
		cheap := w.Deliverable(t.Context(), view, window)
		_, whole := w.Answer(t.Context(), view, window)
		if c.why == "" {
			if cheap != nil || whole != nil {
				t.Errorf("%s at %s: %v, %v", c.parameters, c.now, cheap, whole)
			}
			continue
		}
		e := api.AsError(whole)
		if e.Message != c.why || e.Reason != api.ReasonSnapshotNotFound || e.Status != http.StatusNotFound ||
			!strings.Contains(e.Hint, "the earliest minute for this caller is 2026-11-2") || cheap == nil ||
			cheap.Error() != whole.Error() {
			t.Errorf("%s at %s: %+v, %v", c.parameters, c.now, e, cheap)
		}
	}
}

// TestChangesOfKinds: what no row of the pack is of is refused, with those that there are, before anybody is admitted.
func TestChangesOfKinds(t *testing.T) {
	t.Parallel()
	w := changing(t)
	for kinds, want := range map[string]string{"asset": "", "pool,asset": "", "coin": `"coin"`, "asset,x": `"x"`, "asset,asset": ""} {
		_, err := w.Ready(parsed(t, "since=-1h&kinds="+kinds))
		if want == "" {
			if err != nil {
				t.Errorf("%s: %v", kinds, err)
			}
			continue
		}
		refused(t, kinds, err, api.Error{Code: api.CodeValidation, Reason: api.ReasonInvalidKind, Status: http.StatusBadRequest,
			Message: "pack crypto has no rows of kind " + want, Hint: "kinds: asset, pool"})
	}
}

// TestChangesParameters: what cannot be read is refused by its name, and what is the same is one payment.
func TestChangesParameters(t *testing.T) {
	t.Parallel()
	for parameters, want := range map[string]api.Reason{
		"": api.ReasonInvalidSince, "since=": api.ReasonInvalidSince, "since=soon": api.ReasonInvalidSince,
		"since=-0m":   api.ReasonInvalidSince,
		"since=-200y": api.ReasonInvalidSince, "since=25:00": api.ReasonInvalidSince, "since=-999999999999d": api.ReasonInvalidSince,
		"since=-20m&min=": api.ReasonInvalidMin, "since=-20m&min=-0.1": api.ReasonInvalidMin, "since=-20m&min=NaN": api.ReasonInvalidMin,
		"since=-20m&min=inf": api.ReasonInvalidMin, "since=-20m&min=1%25": api.ReasonInvalidMin,
		"since=-20m&min=1e999": api.ReasonInvalidMin,
	} {
		values, _ := url.ParseQuery(parameters)
		_, err := api.Parse(api.OpChanges, api.FaceHTTP, values)
		if e := api.AsError(err); err == nil || e.Reason != want || e.Status != http.StatusBadRequest || e.Hint == "" {
			t.Errorf("%s: %+v", parameters, err)
		}
	}
	for _, same := range [][]string{
		{"since=-20m", "since=20m", "since=20m+ago&min=0", "since=0h+20m&pack=crypto&kinds=&min=-0", "since=1200s&k=3"},
		{"since=2026-11-20T12:00", "since=2026-11-20T12:00:00Z", "since=2026-11-20T13:00%2B01:00"},
		{"since=-1h&kinds=pool,asset", "since=-60m&kinds=asset,+pool,asset"},
		{"since=-1h&min=0.5", "since=-1h&min=.50"},
	} {
		var first string
		for i, parameters := range same {
			values, _ := url.ParseQuery(parameters)
			q, err := api.Parse(api.OpChanges, api.FaceHTTP, values)
			canonical := q.Canonical()
			if i == 0 {
				first = canonical
			}
			if err != nil || canonical != first {
				t.Errorf("%s is %q, %v; want %q", parameters, canonical, err, first)
			}
		}
	}
}
