package state_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/contextd/contextd/daemon/state"
	"github.com/contextd/contextd/sdk/api"
)

func TestParseMinute(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"2026-11-20T20:05":                         "2026-11-20T20:05",
		"2026-11-20t20:05":                         "2026-11-20T20:05",
		"2026-11-20T20:05:00Z":                     "2026-11-20T20:05",
		"2026-11-20T20:05:59.999999999Z":           "2026-11-20T20:05",
		"2026-11-20t20:05:59z":                     "2026-11-20T20:05",
		"2026-11-20T20:05:00+00:00":                "2026-11-20T20:05",
		"2026-11-20T20:05:00-00:00":                "2026-11-20T20:05",
		"2026-11-20T20:05:07+05:45":                "2026-11-20T14:20",
		"2026-11-20T20:05:07.5-08:00":              "2026-11-21T04:05",
		"2028-02-29T00:00":                         "2028-02-29T00:00",
		"1970-01-01T00:00":                         "1970-01-01T00:00",
		"1969-12-31T23:00:00-01:00":                "1970-01-01T00:00",
		"9999-12-31T23:59":                         "9999-12-31T23:59",
		"9999-12-31T23:59:59Z":                     "9999-12-31T23:59",
		"2026-11-20T20:05:00." + zeros(300) + "1Z": "2026-11-20T20:05",
	} {
		got, err := state.ParseMinute(in)
		if err != nil || state.MinuteKey(got) != want || got.Location() != time.UTC || !got.Equal(got.Truncate(time.Minute)) {
			t.Errorf("ParseMinute(%.40q) = %v, %v, want %s", in, got, err, want)
		}
	}
}

func zeros(n int) string { return strings.Repeat("0", n) }

// checkInvalidAt fails where err is not the answer of the contract to an at that is no minute.
func checkInvalidAt(t *testing.T, in string, err error) {
	t.Helper()
	var e *api.Error
	if !errors.As(err, &e) {
		t.Fatalf("ParseMinute(%q): %v is no *api.Error", in, err)
	}
	if e.Reason != api.ReasonInvalidAt || e.Code != api.CodeValidation || e.Status != http.StatusBadRequest || e.RetryAfter != 0 {
		t.Errorf("ParseMinute(%q): reason %s, code %s, status %d", in, e.Reason, e.Code, e.Status)
	}
	if !strings.Contains(e.Hint, "2026-11-20T20:05") || !strings.Contains(e.Hint, "%2B") || strings.Contains(e.Hint, "%!") {
		t.Errorf("ParseMinute(%q): hint %q", in, e.Hint)
	}
	if len(e.Message) > 400 || strings.ContainsFunc(e.Message, unicode.IsControl) || strings.Contains(e.Message, "%!") && !strings.Contains(in, "%") {
		t.Errorf("ParseMinute(%q): message %q", in, e.Message)
	}
}

func TestParseMinuteRejects(t *testing.T) {
	t.Parallel()
	for _, in := range []string{
		"", " ", "now", "yesterday", "0", "1795205100", "2026", "2026-11-20", "2026-11-20T20", "20:05", "2026-11-20 20:05", "2026-11-20T20:5", "2026-11-20T2:05",
		"2026-11-20T20:05Z", "2026-11-20T20:05+01:00", "2026-11-20T20:05:00", "2026-11-20T20:05:00 01:00", "2026-11-20 20:05:00Z", "2026-11-20T20:05:00,5Z",
		"2026-11-20T20:05:00.Z", "2026-11-20T2:05:00Z", "2026-11-20T20:05:0Z", "2026-11-20T20:05:00+0100", "2026-11-20T20:05:00+01", "2026-11-20T20:05:00+24:00",
		"2026-11-20T20:05:00+01:60", "2026-11-20T20:05:00UTC", "2026-11-20T20:05:00ZZ", "2026-11-20T24:00", "2026-11-20T20:60", "2026-11-20T20:05:60Z",
		"2026-00-20T20:05", "2026-13-20T20:05", "2026-11-00T20:05", "2026-11-31T20:05", "2026-02-29T20:05", "26-11-20T20:05:00Z", "+2026-11-20T20:05", "-026-11-20T20:05",
		"12026-11-20T20:05", "0000-01-01T00:00", "1969-12-31T23:59", "1969-12-31T23:59:59.999Z", "1970-01-01T00:30:00+01:00", "9999-12-31T23:59:00-00:01",
		" 2026-11-20T20:05", "2026-11-20T20:05 ", "2026-11-20T20:05\n", "2026-11-20T20:05\x00", "2026/11/20T20:05", "2026-11-20_20:05", "2026-11-20T20.05",
		"２０２６-11-20T20:05", "2026\u201111\u201120T20:05", "\x1b[31m2026", "\xff\xfe", "[1] [2]", "%s%d%!", "\u202e50:02T02-11-6202", strings.Repeat("9", 100000),
	} {
		got, err := state.ParseMinute(in)
		if err == nil {
			t.Errorf("ParseMinute(%.60q) = %v", in, got)
			continue
		}
		checkInvalidAt(t, in, err)
		if !got.IsZero() {
			t.Errorf("ParseMinute(%.60q) gives %v beside its error", in, got)
		}
		if missing := strings.Contains(err.Error(), "missing"); missing != (in == "") {
			t.Errorf("ParseMinute(%.60q): %v", in, err)
		}
	}
}

func TestMinuteKey(t *testing.T) {
	t.Parallel()
	east := time.FixedZone("east", 5*3600+2700)
	for _, c := range []struct {
		in   time.Time
		want string
	}{
		{time.Date(2026, 11, 20, 20, 5, 59, 999999999, time.UTC), "2026-11-20T20:05"},
		{time.Date(2026, 11, 20, 20, 6, 0, 0, time.UTC), "2026-11-20T20:06"},
		{time.Date(2026, 11, 21, 1, 50, 30, 0, east), "2026-11-20T20:05"},
		{time.Unix(0, 0), "1970-01-01T00:00"},
	} {
		if got := state.MinuteKey(c.in); got != c.want {
			t.Errorf("MinuteKey(%v) = %s, want %s", c.in, got, c.want)
		}
	}
}

func FuzzParseMinute(f *testing.F) {
	for _, seed := range []string{"", "2026-11-20T20:05", "2026-11-20t20:05:59.5+05:45", "9999-12-31T23:59:00-00:01", "1970-01-01T00:00:00Z", "2026-11-20T20:05:00,5Z"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		got, err := state.ParseMinute(in)
		if err != nil {
			checkInvalidAt(t, in, err)
			return
		}
		again, err := state.ParseMinute(state.MinuteKey(got))
		if err != nil || !again.Equal(got) || got.Second() != 0 || got.Nanosecond() != 0 || got.Year() < 1970 || got.Year() > 9999 {
			t.Fatalf("ParseMinute(%q) = %v, its key gives %v, %v", in, got, again, err)
		}
		if exact, err := time.Parse(time.RFC3339, strings.ToUpper(in)); len(in) > 16 && (err != nil || exact.Sub(got) < 0 || exact.Sub(got) >= time.Minute) {
			t.Fatalf("ParseMinute(%q) = %v, but RFC 3339 says %v, %v", in, got, exact, err)
		}
	})
}
