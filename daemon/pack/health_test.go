package pack_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/pack"
	"github.com/contextd/contextd/sdk/api"
)

func TestHealth(t *testing.T) {
	t.Parallel()
	const never = -1
	for _, c := range []struct {
		name     string
		state    api.SourceState
		failures int
		age      time.Duration
		want     string // kind value/threshold unit: message
	}{
		{"well", api.SourceOK, 0, 0, ""},
		{"one failure", api.SourceStale, 1, 900 * time.Second, ""},
		{"two failures", api.SourceStale, 2, 0, "source_stale 2/2 failures: The Source is stale: 2 attempts failed in a row"},
		{"old", api.SourceStale, 1, 901 * time.Second, "source_stale 901/900 seconds: The Source is stale: its last good answer is over 15 minutes old"},
		{"never asked, or switched off", api.SourceError, 0, never, ""},
		{"never answered", api.SourceError, 1, never, ""},
		{"never answered twice", api.SourceError, 2, never, "source_error 2/2 failures: The Source has no usable data: 2 attempts failed in a row"},
		{"dropped", api.SourceError, 0, 2701 * time.Second, "source_error 2701/2700 seconds: The Source has no usable data: its last good answer is over 45 minutes old"},
	} {
		row := api.SourceStatus{Ref: 3, ID: "s", Status: c.state, Failures: c.failures, StaleAfterSeconds: 900}
		if c.age != never {
			row.FetchedAt = alertPtr(alertNow.Add(-c.age))
		}
		name := func(ref int) string { return map[int]string{3: "The Source"}[ref] }
		flags := pack.RaiseFlags(pack.SourceTroubles([]api.SourceStatus{row}, name, alertNow), alertWasUp("source:s"), nil, alertNow)
		got := ""
		for _, f := range flags {
			got = fmt.Sprintf("%s %v/%v %s: %s", f.Kind, f.Value, f.Threshold, f.Unit, f.Message)
			if f.ID != "source:s" || f.Ref != 3 || f.Severity != api.SeverityWarning || f.Subject != "The Source" || f.Since != earlier {
				t.Errorf("%s: %+v", c.name, f)
			}
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		if again := pack.RaiseFlags(pack.SourceTroubles([]api.SourceStatus{row}, name, alertNow), nil, nil, alertNow); len(again) != len(flags) {
			t.Errorf("%s: %d flags if it was up, %d if not", c.name, len(flags), len(again))
		}
	}
}

func TestGrade(t *testing.T) {
	t.Parallel()
	for size, want := range map[float64]api.Severity{
		0: api.SeverityNotice, 0.99: api.SeverityNotice, 1: api.SeverityWarning, 1.99: api.SeverityWarning, 2: api.SeverityCritical, 99: api.SeverityCritical,
	} {
		if got := pack.SeverityOf(size, 1, 2); got != want {
			t.Errorf("%v: %s, want %s", size, got, want)
		}
	}
}
