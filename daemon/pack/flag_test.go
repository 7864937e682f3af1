package pack_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/contextd/contextd/daemon/pack"
	"github.com/contextd/contextd/sdk/api"
)

var (
	alertNow = time.Date(2026, 11, 20, 20, 10, 0, 0, time.UTC)
	earlier  = alertNow.Add(-time.Hour)
)

func alertPtr[T any](x T) *T { return &x }

// alertWasUp is a flag as a state before holds it.
func alertWasUp(id string) []api.Flag {
	return []api.Flag{{
		ID: id, Kind: "old", Severity: api.SeverityWarning, Subject: "Old", Value: 12.34, Threshold: 1, Unit: "old", Since: earlier,
		Message: "as it was", Ref: 9,
	}}
}

func TestUpRaisesHoldsAndClears(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name               string
		known, raise, hold bool
		fresh, was         bool
		up                 bool
	}{
		{"raised", true, true, true, true, false, true},
		{"stays above the threshold", true, true, true, true, true, true},
		{"stays between the thresholds", true, false, true, true, true, true},
		{"does not rise between the thresholds", true, false, true, true, false, false},
		{"clears", true, false, false, true, true, false},
		{"carried rows raise nothing", true, true, true, false, false, false},
		{"carried rows keep it up", true, false, true, false, true, true},
		{"carried rows clear", true, false, false, false, true, false},
		{"an unknown value raises nothing", false, false, false, true, false, false},
		{"an unknown value clears nothing", false, false, false, true, true, true},
		{"nor does a carried one", false, false, false, false, true, true},
	} {
		s := pack.Observation{ID: "a:b", Kind: api.FlagPriceMove, Subject: "B", Unit: "pct", Ref: 1, Fresh: c.fresh, Threshold: 20}
		if c.known {
			s.Value, s.Raise, s.Hold, s.Severity, s.Message = alertPtr(55.5), c.raise, c.hold, api.SeverityNotice, "as it is"
		}
		var prev []api.Flag
		want := api.Flag{
			ID: "a:b", Kind: api.FlagPriceMove, Severity: api.SeverityNotice, Subject: "B", Value: 55.5, Threshold: 20, Unit: "pct",
			Since: alertNow, Message: "as it is", Ref: 1,
		}
		if c.was {
			prev = alertWasUp("a:b")
			want.Since = earlier
		}
		if !c.known { // its figures are the last that were known
			want.Value, want.Severity, want.Message = 12.34, api.SeverityWarning, "as it was"
		}
		got := pack.RaiseFlags([]pack.Observation{s}, prev, nil, alertNow)
		if len(got) == 1 != c.up {
			t.Errorf("%s: %+v", c.name, got)
		}
		if c.up && len(got) == 1 && got[0] != want {
			t.Errorf("%s:\n%+v\nwant\n%+v", c.name, got[0], want)
		}
	}
}

func TestUpTakesDownWhatNobodySees(t *testing.T) {
	t.Parallel()
	got := pack.RaiseFlags(nil, alertWasUp("a:b"), nil, alertNow)
	if got == nil || len(got) != 0 {
		t.Errorf("%#v, want an empty list", got)
	}
}

func TestUpDoesNotTrustOldFlags(t *testing.T) {
	t.Parallel()
	unknown := []pack.Observation{{ID: "a:b", Kind: "k", Subject: "B", Unit: "pct", Ref: 1}}
	for name, since := range map[string]time.Time{"zero": {}, "ahead": alertNow.Add(time.Second), "before Christ": time.Date(-5, 1, 1, 0, 0, 0, 0, time.UTC)} {
		prev := alertWasUp("a:b")
		prev[0].Since = since
		if got := pack.RaiseFlags(unknown, prev, nil, alertNow); len(got) != 1 || !got[0].Since.Equal(alertNow) {
			t.Errorf("%s: %+v, want since now", name, got)
		}
	}
	prev := alertWasUp("a:b")
	prev[0].Severity, prev[0].Message = "fatal", "see [3]\n"+strings.Repeat("é", 5000)
	f := pack.RaiseFlags(unknown, prev, nil, alertNow)[0]
	if f.Severity != api.SeverityNotice || !strings.HasPrefix(f.Message, "see (3) é") || len(f.Message) > 200 || !utf8.ValidString(f.Message) {
		t.Errorf("%s, %d bytes: %q", f.Severity, len(f.Message), f.Message)
	}
	zone := time.FixedZone("", 3600)
	prev = alertWasUp("a:b")
	prev[0].Since = earlier.In(zone)
	if got := pack.RaiseFlags(unknown, prev, nil, alertNow)[0].Since; got != earlier {
		t.Errorf("since %v, want %v", got, earlier)
	}
}

func TestUpSortsByGravityKindAndID(t *testing.T) {
	t.Parallel()
	var seen []pack.Observation
	for _, f := range []struct {
		id, kind string
		severity api.Severity
	}{
		{"5", "b", api.SeverityNotice}, {"4", "c", api.SeverityWarning}, {"3", "a", api.SeverityWarning}, {"2", "z", api.SeverityCritical},
		{"1", "a", api.SeverityWarning}, {"0", "a", api.SeverityNotice},
	} {
		seen = append(seen, pack.Observation{ID: f.id, Kind: f.kind, Severity: f.severity, Value: alertPtr(1.0), Raise: true, Hold: true, Fresh: true})
	}
	var order string
	for _, f := range pack.RaiseFlags(seen, nil, nil, alertNow) {
		order += f.ID
	}
	if order != "213405" {
		t.Errorf("order %s, want 213405", order)
	}
}

func TestUpCutsTheLeastGrave(t *testing.T) {
	t.Parallel()
	var seen []pack.Observation
	for i := range 30 {
		severity := api.SeverityNotice
		if i >= 15 {
			severity = api.SeverityCritical
		}
		seen = append(seen, pack.Observation{ID: fmt.Sprintf("%02d", i), Kind: "k", Severity: severity, Value: alertPtr(1.0), Raise: true, Fresh: true})
	}
	got := pack.RaiseFlags(seen, nil, nil, alertNow)
	if len(got) != pack.MaxFlags || got[0].ID != "15" || got[14].ID != "29" || got[15].ID != "00" || got[19].ID != "04" {
		t.Errorf("%d flags: %+v", len(got), got)
	}
}

func TestUpKeepsIDsUniqueAndTextsShort(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("語", 100)
	seen := []pack.Observation{
		{ID: long, Kind: "first", Subject: long, Message: long, Value: alertPtr(1.0), Raise: true, Fresh: true},
		{ID: long + "x", Kind: "other", Value: alertPtr(1.0), Raise: true, Fresh: true},
		{ID: long, Kind: "same", Value: alertPtr(1.0), Raise: true, Fresh: true},
	}
	got := pack.RaiseFlags(seen, nil, nil, alertNow)
	if len(got) != 2 || got[0].Kind != "first" || got[1].Kind != "other" || got[0].ID == got[1].ID {
		t.Fatalf("%+v, want the first flag of each id", got)
	}
	for _, text := range []string{got[0].ID, got[0].Subject, got[0].Message} {
		if len(text) > 200 || len(text) < 90 || !utf8.ValidString(text) {
			t.Errorf("%d bytes: %q", len(text), text)
		}
	}
	seen[0].Value, seen[0].Raise = alertPtr(2.0), false
	seen[0].Hold = true
	if again := pack.RaiseFlags(seen, got, nil, alertNow.Add(time.Minute)); len(again) != 1 || !again[0].Since.Equal(alertNow) {
		t.Errorf("%+v: a flag whose id was cut must be found again", again)
	}
}
