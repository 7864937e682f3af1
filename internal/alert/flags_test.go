package alert_test

import (
	"strings"
	"testing"

	"github.com/contextd/contextd/internal/alert"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// TestFlags: flags are found by severity and kind, and known by their id and since when they are up.
func TestFlags(t *testing.T) {
	t.Parallel()
	const state = `{"flags":[
		{"id":"x","kind":"exploit_reported","severity":"critical","subject":"X","since":"2026-11-20T19:00:00.5Z","message":"a\u001b[31mb","ref":8},
		{"id":"y","kind":"price_move","severity":"warning","subject":"Y","since":"2026-11-20T19:00:00Z","message":"y"},
		{"kind":"price_move","severity":"notice","subject":"Z","message":"z"},
		{"id":"w","kind":"other","severity":"odd","message":"w"}]}`
	for _, c := range []struct {
		least api.Severity
		kinds []string
		want  string
	}{
		{"", nil, "x@2026-11-20T19:00:00.5Z!3 y@2026-11-20T19:00:00Z!2 price_move:Z@!1 w@!0"},
		{api.SeverityNotice, nil, "x@2026-11-20T19:00:00.5Z!3 y@2026-11-20T19:00:00Z!2 price_move:Z@!1"},
		{api.SeverityWarning, nil, "x@2026-11-20T19:00:00.5Z!3 y@2026-11-20T19:00:00Z!2"},
		{api.SeverityCritical, nil, "x@2026-11-20T19:00:00.5Z!3"},
		{"", []string{"price_move", "other"}, "y@2026-11-20T19:00:00Z!2 price_move:Z@!1 w@!0"},
		{api.SeverityCritical, []string{"price_move"}, ""},
	} {
		found, err := alert.Flags(c.least, c.kinds)(t.Context(), alert.State{Doc: read(state)})
		if err != nil {
			t.Fatal(err)
		}
		var words []string
		for _, f := range found {
			words = append(words, f.Key+"@"+f.Onset+"!"+string(rune('0'+f.Level)))
		}
		if got := strings.Join(words, " "); got != c.want {
			t.Errorf("%q %q: %s, want %s", c.least, c.kinds, got, c.want)
		}
		if len(found) > 0 && found[0].Key == "x" && (strings.Contains(found[0].Message, "\x1b") || !strings.Contains(string(found[0].Value), `"ref":8`)) {
			t.Errorf("%+v", found[0])
		}
	}
	for _, bad := range []string{`{}`, `[]`, `{"flags":null}`, `{"flags":[1]}`, `x`} {
		if found, err := alert.Flags("", nil)(t.Context(), alert.State{Doc: read(bad)}); err == nil {
			t.Errorf("%s: %+v", bad, found)
		}
	}
	if found, err := alert.Flags("", nil)(t.Context(), alert.State{Doc: read(`{"flags":[]}`)}); err != nil || len(found) > 0 {
		t.Errorf("%+v, %v", found, err)
	}
}

// read is a state parsed.
func read(text string) *state.Document { return state.Read([]byte(text)) }
