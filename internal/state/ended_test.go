package state_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// named are flags with the given ids, which spaces part.
func named(ids string) (flags []api.Flag) {
	for _, id := range strings.Fields(ids) {
		flags = append(flags, api.Flag{ID: id})
	}
	return flags
}

func TestEndedAt(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 20, 0, 0, 0, time.UTC)
	ago := func(d time.Duration, id string) state.Ended {
		return state.Ended{Flag: api.Flag{ID: id}, EndedAt: now.Add(-d)}
	}
	const hour = time.Hour
	for _, c := range []struct {
		name      string
		ended     []state.Ended
		prev, now string
		want      string // ids, each with the time since it ended
	}{
		{"nothing", nil, "", "", ""},
		{"one stands", nil, "a", "a", ""},
		{"one rises", nil, "", "a", ""},
		{"one ends", nil, "a b", "b", "a 0s"},
		{"in order", []state.Ended{ago(2*time.Minute, "x"), ago(time.Minute, "y")}, "b a", "", "a 0s b 0s y 1m0s x 2m0s"},
		{"almost an hour", []state.Ended{ago(hour-1, "a")}, "", "", "a 59m59.999999999s"},
		{"an hour", []state.Ended{ago(hour, "a")}, "", "", "a 1h0m0s"},
		{"more than an hour", []state.Ended{ago(hour+1, "a")}, "", "", ""},
		{"ahead, after a clock was set back", []state.Ended{ago(-1, "a")}, "", "", ""},
		{"it comes back", []state.Ended{ago(hour/2, "a")}, "", "a", ""},
		{"it came back and ends again", []state.Ended{ago(hour/2, "a")}, "a", "", "a 0s"},
		{"twice the same", []state.Ended{ago(1, "a"), ago(2, "a")}, "", "", "a 1ns"},
	} {
		var got []string
		for _, e := range state.EndedAt(c.ended, named(c.prev), named(c.now), now) {
			got = append(got, fmt.Sprint(e.ID, " ", now.Sub(e.EndedAt)))
		}
		if got := strings.Join(got, " "); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestRemember: a flag that ended is remembered as it was when it was gravest, also if it came back before.
func TestRemember(t *testing.T) {
	t.Parallel()
	var last state.Pulse
	at := time.Date(2026, 11, 20, 20, 0, 0, 0, time.UTC)
	for i, step := range [...]struct{ severity, value, ended string }{
		{"notice", "1", ""}, {"critical", "3", ""}, {"critical", "4", ""}, {"notice", "1", ""}, {"", "", "critical 3"},
		{"notice", "2", ""}, {"", "", "critical 3"}, {"", "", "critical 3"},
	} {
		flags := "[]"
		if step.severity != "" {
			flags = fmt.Sprintf(`[{"id":"a","severity":%q,"value":%s}]`, step.severity, step.value)
		}
		pulse := state.Pulse{GeneratedAt: at.Add(time.Duration(i) * 5 * time.Minute), State: []byte(`{"flags":` + flags + `}`)}
		pulse.Remember(last)
		got := ""
		for _, e := range pulse.Ended {
			got += fmt.Sprint(e.AtWorst().Severity, " ", e.AtWorst().Value)
		}
		if got != step.ended {
			t.Errorf("step %d: %q, want %q", i, got, step.ended)
		}
		last = pulse
	}
}

func TestFlags(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"flags":[{"id":"a"},{"id":"b"}],"other":1}`: "a b", `{}`: "", `null`: "", ``: "", `{"flags":7}`: "", `[]`: "",
		`{"flags":[7]}`: "",
	} {
		var ids []string
		for _, f := range state.Read([]byte(text)).Flags() {
			ids = append(ids, f.ID)
		}
		if got := strings.Join(ids, " "); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
