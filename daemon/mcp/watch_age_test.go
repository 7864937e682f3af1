package mcp_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/mcp"
	"github.com/contextd/contextd/sdk/api"
)

// TestMomentsOfModels: what models write is the minute that it means, by the clock of the call where it goes by one.
func TestMomentsOfModels(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 22, 2, 34, 56, 0, time.UTC)
	for in, want := range map[string][2]string{
		"-20m": {"2026-11-22T02:14", "-20m"}, "20m": {"2026-11-22T02:14", "-20m"}, "20m ago": {"2026-11-22T02:14", "-20m"}, "-3h": {"2026-11-21T23:34", "-180m"},
		"-2d": {"2026-11-20T02:34", "-2880m"}, "1d 6h ago": {"2026-11-20T20:34", "-1800m"}, "90s": {"2026-11-22T02:33", "-1m"},
		"01:05": {"2026-11-22T01:05", "01:05"}, "Yesterday  14:05": {"2026-11-21T14:05", "yesterday 14:05"}, "2026-11-23 02:12": {"2026-11-23T02:12", ""},
		"2026-11-22T02:12:07.25Z": {"2026-11-22T02:12:07.25Z", ""}, "2026-11-22 03:12:07.25+01:00": {"2026-11-22T02:12:07.250Z", ""}, "14:05": {"2026-11-22T14:05", "14:05"}, "2026-11-22 02:12": {"2026-11-22T02:12", ""},
		"2026-11-22 02:12:07Z": {"2026-11-22T02:12:07.000Z", ""}, "2026-11-22T02:12": {"2026-11-22T02:12", ""}, "25:00": {"25:00", ""}, "-5": {"-5", ""},
		"-999999d": {"-999999d", ""}, "": {"", ""}, "yesterday": {"yesterday", ""},
	} {
		values := url.Values{"at": {in}}
		if asked := mcp.ResolveMoment(api.OpSnapshot, values, now); values.Get("at") != want[0] || asked != want[1] {
			t.Errorf("%q: %q, asked %q; want %q", in, values.Get("at"), asked, want)
		}
	}
}

// TestErrorsSpeakMCP: no error tells a model how to write a URL, and one about a moment names the earliest.
func TestErrorsSpeakMCP(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	key := s.key(100)
	for arguments, want := range map[string]string{
		`context.search {"q":""}`:                          "q=bitcoin",
		`context.cite {"ref":0}`:                           "ref=3",
		`context.snapshot {"at":"soon"}`:                   "-20m",
		`context.snapshot {"at":"2026-11-20T20:00:00 01"}`: "-20m",
		`context.snapshot {"at":"1999-01-01T00:00"}`:       "earliest",
		`context.snapshot {"at":"9999-01-01T00:00:00.5Z"}`: "earl",
	} {
		name, raw, _ := strings.Cut(arguments, " ")
		text := fmt.Sprintf("%+v", s.call(key, name, raw).Result)
		if !strings.Contains(text, want) || strings.Contains(text, "?q=") || strings.Contains(text, "?ref=") || strings.Contains(text, "%2B") {
			t.Errorf("%s: %s", arguments, text)
		}
	}
}

// TestSubscribeTellsTheAge: of the state at the end of the watching, not of the moment it was made.
func TestSubscribeTellsTheAge(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	s.mu.Lock()
	s.now = s.now.Add(43 * time.Second)
	s.mu.Unlock()
	r := s.call(s.key(100), "context.subscribe", `{"seconds":1}`).Result
	if len(r.Content) != 1 || !strings.Contains(r.Content[0].Text, "43 s old") || !strings.Contains(string(r.StructuredContent), `"ageSeconds":43,"dataAgeSeconds":43`) {
		t.Errorf("%+v %s", r.Content, r.StructuredContent)
	}
}
