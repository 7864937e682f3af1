package mcp_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/mcp"
	"github.com/contextd/contextd/sdk/api"
)

// later has the clock stand so much later.
func (s *studio) later(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = s.now.Add(d)
}

// told is the text and the structured content of an answer of a tool.
func told(t *testing.T, r rpc) (text, structured string) {
	t.Helper()
	if r.Error != nil || len(r.Result.Content) != 1 {
		t.Fatalf("%+v", r)
	}
	return r.Result.Content[0].Text, string(r.Result.StructuredContent)
}

// flagged is a state with a flag of a severity.
func flagged(severity string) string {
	return `{"top_movers":[{"id":"bitcoin","name":"Bitcoin","priceUsd":5,"ref":1}],"flags":[{"id":"x","kind":"tvl_drop","severity":"` + severity +
		`","subject":"X","value":1,"unit":"pct","since":"2026-11-20T20:00:00Z","message":"X fell","ref":1}]}`
}

// TestChangesTool compares with the state as of a moment in every form, for a credit.
func TestChangesTool(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	key := s.key(100)
	s.publish()
	s.later(30 * time.Second)
	for since, moved := range map[string]bool{
		"-31s": true, "2026-11-20T20:00:01Z": true, "2026-11-20 20:00:01Z": true, "30s ago": false, "2026-11-20T20:00:02Z": false,
	} {
		text, structured := told(t, s.call(key, "context.changes", `{"since":"`+since+`"}`))
		if strings.Contains(text, "The first coin $92,152.90 → $93,074.43 +1.00% [1]") != moved || strings.Contains(structured, `"key":"bitcoin"`) != moved ||
			!strings.Contains(text, "30 s old") || !strings.Contains(text, "2026-11-20T20:00:02Z") {
			t.Errorf("since %s: %s %s", since, text, structured)
		}
	}
	if got := s.calls(key, api.OpChanges); got != 5 {
		t.Errorf("%d calls were charged, want 5", got)
	}
	for arguments, want := range map[string]string{
		`{}`: "since is missing", `{"since":"soon"}`: "14:05 for today", `{"since":"-20m","min":-1}`: "invalid_min", `{"since":5}`: "since is not a string",
		`{"since":"1999-01-01T00:00"}`: "the earliest minute for this caller is 2026-11-20T20:00", `{"since":"-20m","min":[1]}`: "min is not a number",
	} {
		if r := s.call(key, "context.changes", arguments).Result; !r.IsError || !strings.Contains(r.Content[0].Text, want) {
			t.Errorf("%s: %+v", arguments, r)
		}
	}
	if got := s.calls(key, api.OpChanges); got != 5 {
		t.Errorf("%d calls were charged after refusals, want 5", got)
	}
}

// TestSinceOfModels: a span stays one, and what goes by the clock is the minute that it means.
func TestSinceOfModels(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 22, 2, 34, 56, 0, time.UTC)
	for in, want := range map[string][2]string{
		"-20m": {"-20m", ""}, "1d 6h ago": {"1d 6h ago", ""}, "02:05": {"2026-11-22T02:05", "02:05"},
		"2026-11-22 02:12:07.5Z": {"2026-11-22T02:12:07.500Z", ""}, "soon": {"soon", ""},
	} {
		values := url.Values{"since": {in}}
		if asked := mcp.ResolveMoment(api.OpChanges, values, now); values.Get("since") != want[0] || asked != want[1] {
			t.Errorf("%q: %q, asked %q; want %q", in, values.Get("since"), asked, want)
		}
	}
}

// TestSubscribeReturnsAtOnce with what has changed, and with the whole state only where it is asked for.
func TestSubscribeReturnsAtOnce(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	key := s.key(100)
	for i, full := range []bool{false, true} {
		result := make(chan rpc, 1)
		go func() { result <- s.call(key, "context.subscribe", fmt.Sprintf(`{"full":%t}`, full)) }()
		soon(t, "the subscription", func() bool { return s.calls(key, api.OpSubscribe) == int64(i+1) })
		// What waits is charged before it looks, so there are new states until one is news to it.
		var r rpc
		soon(t, "the news", func() bool {
			s.publish()
			select {
			case r = <-result:
				return true
			default:
				return false
			}
		})
		text, structured := told(t, r)
		if !strings.Contains(structured, `"reason":"news"`) || !strings.Contains(text, "The first coin $") || strings.Contains(text, "## top_movers") != full ||
			strings.Contains(structured, `"state":{`) != full {
			t.Errorf("full %t: %s %s", full, text, structured)
		}
	}
}

// TestSubscribeSince misses nothing between two calls: what landed since is told at once, and what did not is waited for.
func TestSubscribeSince(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	key := s.key(100)
	s.publish()
	s.later(time.Second)
	var got struct {
		Changes   api.ChangesResponse
		Reason    string
		Freshness api.Freshness
	}
	text, structured := told(t, s.call(key, "context.subscribe", `{"since":"2026-11-20T20:00:01Z"}`))
	if err := json.Unmarshal([]byte(structured), &got); err != nil || got.Reason != "news" || len(got.Changes.Rows) != 1 {
		t.Fatalf("%v: %s %s", err, text, structured)
	}
	next := got.Changes.To.Format(time.RFC3339Nano)
	if !strings.Contains(text, next) || !got.Freshness.GeneratedAt.Equal(got.Changes.To) {
		t.Errorf("the next since, %s, is not in %s", next, text)
	}
	text, structured = told(t, s.call(key, "context.subscribe", `{"since":"`+next+`","seconds":1}`))
	if !strings.Contains(structured, `"events":[],"reason":"elapsed"`) || !strings.Contains(text, "since=2026-11-20T20:00:02.000Z") || len(text) > 250 {
		t.Errorf("%s %s", text, structured)
	}
	s.publishState(flagged("notice"))
	for arguments, want := range map[string]string{
		`"min":99.9`: "news", `"severity":"notice"`: "news", `"severity":"warning"`: "elapsed", `"severity":"critical"`: "elapsed",
	} {
		_, structured := told(t, s.call(key, "context.subscribe", `{"seconds":1,"since":"`+next+`",`+arguments+`}`))
		if !strings.Contains(structured, `"reason":"`+want+`"`) {
			t.Errorf("%s: %s", arguments, structured)
		}
	}
	charged := s.calls(key, api.OpSubscribe)
	for arguments, want := range map[string]string{
		`{"since":"soon"}`: "invalid_since", `{"since":"1999-01-01T00:00"}`: "the earliest minute", `{"severity":"grave"}`: "notice, warning, critical",
		`{"full":"perhaps"}`: "full is neither", `{"min":"x"}`: "invalid_min", `{"since":"9999-01-01T00:00"}`: "not over yet",
	} {
		if r := s.call(key, "context.subscribe", arguments).Result; !r.IsError || !strings.Contains(r.Content[0].Text, want) {
			t.Errorf("%s: %+v", arguments, r)
		}
	}
	if got := s.calls(key, api.OpSubscribe); got != charged {
		t.Errorf("%d refusals were charged", got-charged)
	}
}

// TestSubscribeWaitsForWhatIsGrave: other news does not wake who waits for danger, and is told with it.
func TestSubscribeWaitsForWhatIsGrave(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	key := s.key(100)
	result := make(chan rpc, 1)
	go func() {
		result <- s.call(key, "context.subscribe", `{"since":"2026-11-20T20:00:00.001Z","severity":"warning"}`)
	}()
	if r := <-result; !r.Result.IsError { // before the first state
		t.Fatalf("%+v", r)
	}
	s.later(time.Second)
	go func() {
		result <- s.call(key, "context.subscribe", `{"since":"2026-11-20T20:00:01Z","severity":"warning"}`)
	}()
	soon(t, "the subscription", func() bool { return s.calls(key, api.OpSubscribe) == 1 })
	for _, severity := range []string{"", "notice", "warning"} {
		if severity == "" {
			s.publish()
		} else {
			s.publishState(flagged(severity))
		}
	}
	text, structured := told(t, <-result)
	if !strings.Contains(structured, `"reason":"news"`) || !strings.Contains(text, "WARNING appeared: X fell [1]") || !strings.Contains(text, "1 flag appeared or rose") {
		t.Errorf("%s %s", text, structured)
	}
}
