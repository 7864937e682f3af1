package pack_test

import (
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/pack"
	"github.com/contextd/contextd/daemon/source"
	"github.com/contextd/contextd/sdk/api"
)

func TestStatus(t *testing.T) {
	t.Parallel()
	const limit = 900 * time.Second // of mempool-fees
	doc := &source.FeesDoc{}
	for _, c := range []struct {
		name    string
		reading pack.Reading
		want    api.SourceState
		items   int
		err     string
	}{
		{"never asked", pack.Reading{}, api.SourceError, 0, "no answer yet"},
		{"never answered", pack.Reading{Failures: 3, Err: "network: refused"}, api.SourceError, 0, "network: refused"},
		{"switched off", pack.Reading{Err: "disabled"}, api.SourceError, 0, "disabled"},
		{"answer lost", pack.Reading{FetchedAt: now}, api.SourceError, 0, "no answer yet"},
		{"just now", pack.Reading{Doc: doc, FetchedAt: now}, api.SourceOK, 1, ""},
		{"from a clock that was ahead", pack.Reading{Doc: doc, FetchedAt: now.Add(time.Hour)}, api.SourceOK, 1, ""},
		{"just in time", pack.Reading{Doc: doc, FetchedAt: now.Add(-limit)}, api.SourceOK, 1, ""},
		{"late", pack.Reading{Doc: doc, FetchedAt: now.Add(-limit - 1)}, api.SourceStale, 1, "last good answer over 900 s old"},
		{"failed once", pack.Reading{Doc: doc, FetchedAt: now, Failures: 1, Err: "HTTP 503"}, api.SourceStale, 1, "HTTP 503"},
		{"failed for no reason", pack.Reading{Doc: doc, FetchedAt: now, Failures: 1}, api.SourceStale, 1, "last attempt failed"},
		{"late and failing", pack.Reading{Doc: doc, FetchedAt: now.Add(-limit - 1), Failures: 2, Err: "HTTP 503"}, api.SourceStale, 1, "HTTP 503"},
		{"just usable", pack.Reading{Doc: doc, FetchedAt: now.Add(-3 * limit), Failures: 9, Err: "HTTP 503"}, api.SourceStale, 1, "HTTP 503"},
		{"dropped", pack.Reading{Doc: doc, FetchedAt: now.Add(-3*limit - 1), Failures: 9, Err: "HTTP 503"}, api.SourceError, 0, "HTTP 503"},
		{"dropped unasked", pack.Reading{Doc: doc, FetchedAt: now.Add(-3*limit - 1)}, api.SourceError, 0, "last good answer over 2700 s old"},
	} {
		in := pack.Input{Readings: map[string]pack.Reading{"mempool-fees": c.reading}, Now: now}
		row := pack.Crypto().Status(in)[15]
		if row.Ref != 16 || row.ID != "mempool-fees" || row.StaleAfterSeconds != 900 || row.Failures != c.reading.Failures {
			t.Errorf("%s: %+v", c.name, row)
		}
		if row.Status != c.want || row.Items != c.items || deref(row.Error) != c.err || (row.Error == nil) != (c.want == api.SourceOK) {
			t.Errorf("%s: %s, %d items, %q, want %s, %d, %q", c.name, row.Status, row.Items, deref(row.Error), c.want, c.items, c.err)
		}
		if (row.FetchedAt == nil) != c.reading.FetchedAt.IsZero() || row.FetchedAt != nil && !row.FetchedAt.Equal(c.reading.FetchedAt.Truncate(time.Millisecond)) {
			t.Errorf("%s: fetched at %v, want %v", c.name, row.FetchedAt, c.reading.FetchedAt)
		}
	}
}

func TestStatusListsEverySourceWithItsBound(t *testing.T) {
	t.Parallel()
	want := []int{900, 3600, 3600, 3600, 5400, 5400, 3600, 7200, 900, 93600, 900, 900, 900, 900, 900, 900, 900, 900}
	p := pack.Crypto()
	rows := p.Status(pack.Input{Now: now})
	if len(rows) != len(want) {
		t.Fatalf("%d rows, want %d", len(rows), len(want))
	}
	for i, row := range rows {
		if row.Ref != i+1 || row.ID != p.Sources[i].ID || row.StaleAfterSeconds != want[i] {
			t.Errorf("[%d] %+v, want %s after %d s", i+1, row, p.Sources[i].ID, want[i])
		}
	}
}

func TestStatusShowsErrorsSafely(t *testing.T) {
	t.Parallel()
	in := pack.Input{Now: now, Readings: map[string]pack.Reading{"kraken-ticker": {Err: "see [1]\x1b[31m\n" + strings.Repeat("x", 500)}}}
	got := deref(pack.Crypto().Status(in)[14].Error)
	if !strings.HasPrefix(got, "see (1) xxx") || len(got) > 130 {
		t.Errorf("%d bytes: %q", len(got), got)
	}
}

func TestCitationsTellWhenASourceLastAnswered(t *testing.T) {
	t.Parallel()
	p, in := pack.Crypto(), tick(t, 1)
	in = aged(in, "kraken-ticker", 20*time.Minute)
	in = with(in, "news-decrypt", func(r *pack.Reading) { *r = pack.Reading{} })
	data, s := compact(t, in)
	start := now.AddDate(0, -1, 0)
	list := p.Citations(read(data), s.SourceStatus, start)
	if len(list) != 18 {
		t.Fatalf("%d citations", len(list))
	}
	for i, c := range list {
		want := in.Readings[p.Sources[i].ID].FetchedAt
		if c.SourceID == "news-decrypt" {
			want = start
		}
		if c.Ref != i+1 || c.SourceID != p.Sources[i].ID || c.URL != p.Sources[i].PublicURL || !c.FetchedAt.Equal(want) {
			t.Errorf("[%d] %+v, want %v", i+1, c, want)
		}
	}
}
