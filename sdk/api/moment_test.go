package api_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/contextd/contextd/sdk/api"
)

func TestParseMoment(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"2026-11-20T20:05":                         "2026-11-20T20:05",
		"2026-11-20t20:05":                         "2026-11-20T20:05",
		"2026-11-20T20:05Z":                        "2026-11-20T20:05",
		"2026-11-20T20:05+01:00":                   "2026-11-20T19:05",
		"2026-11-20T20:05:00":                      "2026-11-20T20:05",
		"2026-11-20T20:05:00Z":                     "2026-11-20T20:05",
		"2026-11-20T20:05:00+00:00":                "2026-11-20T20:05",
		"2026-11-20T20:05:00-00:00":                "2026-11-20T20:05",
		"2026-11-20T20:05:00.000Z":                 "2026-11-20T20:05:00.000Z",
		"2026-11-20T20:05:00.0Z":                   "2026-11-20T20:05:00.000Z",
		"2026-11-20T20:05:00.001Z":                 "2026-11-20T20:05:00.001Z",
		"2026-11-20T20:05:59Z":                     "2026-11-20T20:05:59.000Z",
		"2026-11-20T20:05:59":                      "2026-11-20T20:05:59.000Z",
		"2026-11-20T20:05:59.999999999Z":           "2026-11-20T20:05:59.999Z",
		"2026-11-20t20:05:59z":                     "2026-11-20T20:05:59.000Z",
		"2026-11-20T20:05:07+05:45":                "2026-11-20T14:20:07.000Z",
		"2026-11-20T20:05:07.5-08:00":              "2026-11-21T04:05:07.500Z",
		"2028-02-29T00:00":                         "2028-02-29T00:00",
		"1970-01-01T00:00":                         "1970-01-01T00:00",
		"1969-12-31T23:00:00-01:00":                "1970-01-01T00:00",
		"9999-12-31T23:59":                         "9999-12-31T23:59",
		"9999-12-31T23:59:59Z":                     "9999-12-31T23:59:59.000Z",
		"2026-11-20T20:05:00." + zeros(300) + "1Z": "2026-11-20T20:05:00.000Z",
	} {
		got, err := api.ParseMoment(in)
		if err != nil || got.Key() != want || got.At.Location() != time.UTC || !got.Exact && !got.At.Equal(got.At.Truncate(time.Minute)) {
			t.Errorf("ParseMoment(%.40q) = %v, %v, want %s", in, got, err, want)
		}
		lasts := map[bool]time.Duration{false: time.Minute, true: time.Millisecond}[got.Exact]
		if got.End().Sub(got.At) != lasts {
			t.Errorf("ParseMoment(%.40q) ends %v after its beginning", in, got.End().Sub(got.At))
		}
	}
}

func zeros(n int) string { return strings.Repeat("0", n) }

// checkInvalidAt fails where err is not the answer of the contract to an at that is no minute.
func checkInvalidAt(t *testing.T, in string, err error) {
	t.Helper()
	var e *api.Error
	if !errors.As(err, &e) {
		t.Fatalf("ParseMoment(%q): %v is no *api.Error", in, err)
	}
	if e.Reason != api.ReasonInvalidAt || e.Code != api.CodeValidation || e.Status != http.StatusBadRequest || e.RetryAfter != 0 {
		t.Errorf("ParseMoment(%q): reason %s, code %s, status %d", in, e.Reason, e.Code, e.Status)
	}
	if !strings.Contains(e.Hint, "2026-11-20T20:05") || strings.Contains(e.Hint, "%2B") || strings.Contains(e.Hint, "%!") {
		t.Errorf("ParseMoment(%q): hint %q", in, e.Hint)
	}
	if len(e.Message) > 400 || strings.ContainsFunc(e.Message, unicode.IsControl) || strings.Contains(e.Message, "%!") && !strings.Contains(in, "%") {
		t.Errorf("ParseMoment(%q): message %q", in, e.Message)
	}
}

func TestParseMomentRejects(t *testing.T) {
	t.Parallel()
	for _, in := range []string{
		"", " ", "now", "yesterday", "0", "1795205100", "2026", "2026-11-20", "2026-11-20T20", "20:05", "2026-11-20 20:05", "2026-11-20T20:5", "2026-11-20T2:05",
		"2026-11-20T20:05+24:00", "2026-11-20T20:05+0100", "2026-11-20T20:05 Z", "2026-11-20T20:05:00 01:00", "2026-11-20 20:05:00Z", "2026-11-20T20:05:00,5Z",
		"2026-11-20T20:05:00.Z", "2026-11-20T2:05:00Z", "2026-11-20T20:05:0Z", "2026-11-20T20:05:00+0100", "2026-11-20T20:05:00+01", "2026-11-20T20:05:00+24:00",
		"2026-11-20T20:05:00+01:60", "2026-11-20T20:05:00UTC", "2026-11-20T20:05:00ZZ", "2026-11-20T24:00", "2026-11-20T20:60", "2026-11-20T20:05:60Z",
		"2026-00-20T20:05", "2026-13-20T20:05", "2026-11-00T20:05", "2026-11-31T20:05", "2026-02-29T20:05", "26-11-20T20:05:00Z", "+2026-11-20T20:05", "-026-11-20T20:05",
		"12026-11-20T20:05", "0000-01-01T00:00", "1969-12-31T23:59", "1969-12-31T23:59:59.999Z", "1970-01-01T00:30:00+01:00", "9999-12-31T23:59:00-00:01",
		" 2026-11-20T20:05", "2026-11-20T20:05 ", "2026-11-20T20:05\n", "2026-11-20T20:05\x00", "2026/11/20T20:05", "2026-11-20_20:05", "2026-11-20T20.05",
		"２０２６-11-20T20:05", "2026\u201111\u201120T20:05", "\x1b[31m2026", "\xff\xfe", "[1] [2]", "%s%d%!", "\u202e50:02T02-11-6202", strings.Repeat("9", 100000),
	} {
		got, err := api.ParseMoment(in)
		if err == nil {
			t.Errorf("ParseMoment(%.60q) = %v", in, got)
			continue
		}
		checkInvalidAt(t, in, err)
		if got != (api.Moment{}) {
			t.Errorf("ParseMoment(%.60q) gives %v beside its error", in, got)
		}
		if missing := strings.Contains(err.Error(), "missing"); missing != (in == "") {
			t.Errorf("ParseMoment(%.60q): %v", in, err)
		}
	}
}

func TestMinute(t *testing.T) {
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
		if got := api.Minute(c.in).Key(); got != c.want {
			t.Errorf("Minute(%v) is %s, want %s", c.in, got, c.want)
		}
	}
}

func FuzzParseMoment(f *testing.F) {
	for _, seed := range []string{"", "2026-11-20T20:05", "2026-11-20t20:05:59.5+05:45", "9999-12-31T23:59:00-00:01", "1970-01-01T00:00:00Z", "2026-11-20T20:05:00,5Z"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		got, err := api.ParseMoment(in)
		if err != nil {
			checkInvalidAt(t, in, err)
			return
		}
		again, err := api.ParseMoment(got.Key())
		if err != nil || again != got || got.At.Year() < 1970 || got.At.Year() > 9999 || !got.End().After(got.At) {
			t.Fatalf("ParseMoment(%q) = %v, its key gives %v, %v", in, got, again, err)
		}
		if exact, err := time.Parse(time.RFC3339, strings.ToUpper(in)); err == nil && (exact.Before(got.At) || !exact.Before(got.End())) {
			t.Fatalf("ParseMoment(%q) = %v, but RFC 3339 says %v", in, got, exact)
		}
	})
}
