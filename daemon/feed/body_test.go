package feed_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/feed"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// born is the generatedAt of the first pulse of most tests.
func born() time.Time { return time.Date(2026, 11, 20, 20, 5, 2, 340e6, time.UTC) }

// pulse is a pulse of pack made at the given time.
func pulse(pack string, at time.Time) state.Pulse {
	return state.Pulse{Pack: pack, Version: 1, GeneratedAt: at,
		State: []byte(`{"top_movers":[{"name":"A & <B>","priceUsd":1.50,"gone":null}],"nested":{"b":1,"a":"é"}}`),
		Citations: []api.Citation{
			{Ref: 1, SourceID: "one", URL: "https://one.test/?a=1&b=2", FetchedAt: at.Add(-time.Minute), Excerpt: "1 < 2"},
			{Ref: 2, SourceID: "two", URL: "https://two.test/", FetchedAt: at.Add(-time.Hour)},
		}}
}

// brief is a brief with what JSON has to escape and what it has not.
func brief() state.Narration {
	return state.Narration{Brief: state.Brief{Text: "A & <B> rose \"1.5%\" [1].\nSo did é [2].", At: time.Date(2026, 11, 20, 6, 0, 0, 0, time.UTC), Of: born(), Writer: "test"}}
}

// bodies makes both bodies of a pulse.
func bodies(t testing.TB, p state.Pulse, b state.Narration) (fresh, brief *feed.Body) {
	t.Helper()
	fresh, err := feed.FreshBody(p, b)
	if err != nil {
		t.Fatal(err)
	}
	if brief, err = feed.BriefBody(p, b); err != nil {
		t.Fatal(err)
	}
	return fresh, brief
}

// The members that fresh and brief share, as they are on the wire.
const (
	wireState = `"state":{"top_movers":[{"name":"A & <B>","priceUsd":1.50,"gone":null}],"nested":{"b":1,"a":"é"}},`
	wireBrief = `"brief":"A & <B> rose \"1.5%\" [1].\nSo did é [2].","briefAt":"2026-11-20T06:00:00Z","briefOf":"2026-11-20T20:05:02.34Z",`
	wireRest  = `"citations":[{"ref":1,"sourceId":"one","url":"https://one.test/?a=1&b=2","fetchedAt":"2026-11-20T20:04:02.34Z","excerpt":"1 < 2"},` +
		`{"ref":2,"sourceId":"two","url":"https://two.test/","fetchedAt":"2026-11-20T19:05:02.34Z"}],` +
		`"freshness":{"generatedAt":"2026-11-20T20:05:02.34Z","ageSeconds":7,"dataAgeSeconds":7}}`
)

func TestBodiesOnTheWire(t *testing.T) {
	t.Parallel()
	now := born().Add(7*time.Second + 999*time.Millisecond)
	written, text := bodies(t, pulse("crypto", born()), brief())
	unwritten, empty := bodies(t, pulse("crypto", born()), state.Narration{})
	for name, c := range map[string]struct {
		body *feed.Body
		want string
	}{
		"fresh":               {written, "{" + wireState + wireBrief + wireRest},
		"brief":               {text, "{" + wireBrief + wireRest},
		"fresh without brief": {unwritten, "{" + wireState + `"brief":"",` + wireRest}, // and without briefAt
		"brief without brief": {empty, `{"brief":"",` + wireRest},
	} {
		if got := string(c.body.Bytes(now)); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", name, got, c.want)
		}
	}
}

// members are the names of the members of a JSON object, in order.
func members(t testing.TB, object []byte) []string {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(object))
	if token, err := dec.Token(); err != nil || token != json.Delim('{') {
		t.Fatalf("%s is no object: %v", object, err)
	}
	var names []string
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, name.(string))
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			t.Fatal(err)
		}
	}
	return names
}

// TestBodiesByMembers reads the bodies as a client does.
func TestBodiesByMembers(t *testing.T) {
	t.Parallel()
	east := time.FixedZone("east", 3600)
	p, b := pulse("crypto", born().In(east)), brief()
	freshBody, briefBody := bodies(t, p, b)
	now := born().Add(301 * time.Second)

	var fresh api.StateResponse
	strict(t, freshBody.Bytes(now), &fresh)
	if !bytes.Equal(fresh.State, p.State) || fresh.Brief != b.Text || !fresh.BriefAt.Equal(b.At) || fresh.Attestation != nil {
		t.Errorf("fresh is %+v", fresh)
	}
	var text api.BriefResponse
	strict(t, briefBody.Bytes(now), &text)
	if text.Brief != b.Text || !text.BriefAt.Equal(b.At) {
		t.Errorf("brief is %+v", text)
	}
	for name, f := range map[string]api.Freshness{"fresh": fresh.Freshness, "brief": text.Freshness} {
		if !f.GeneratedAt.Equal(p.GeneratedAt) || f.GeneratedAt.Location() != time.UTC || f.AgeSeconds != 301 || f.DataAgeSeconds != 301 || !f.Stale(now) {
			t.Errorf("freshness of %s is %+v", name, f)
		}
	}
	for i, c := range p.Citations {
		if got := fresh.Citations[i]; got.Ref != c.Ref || got.SourceID != c.SourceID || got.URL != c.URL || got.Excerpt != c.Excerpt || !got.FetchedAt.Equal(c.FetchedAt) {
			t.Errorf("citation %d is %+v", i, got)
		}
		if text.Citations[i] != fresh.Citations[i] {
			t.Errorf("citation %d differs between fresh and brief", i)
		}
	}
	if got := members(t, freshBody.Bytes(now)); !slices.Equal(got, []string{"state", "brief", "briefAt", "briefOf", "citations", "freshness"}) {
		t.Errorf("members of fresh: %v", got)
	}
	if got := members(t, briefBody.Bytes(now)); !slices.Equal(got, []string{"brief", "briefAt", "briefOf", "citations", "freshness"}) {
		t.Errorf("members of brief: %v", got)
	}
}

// strict decodes one JSON value into v, which must know every member.
func strict(t testing.TB, text []byte, v any) {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	if _, err := dec.Token(); err != io.EOF {
		t.Fatalf("something follows the value: %s", text)
	}
}

// unzip reads one gzip stream that must end where compressed ends.
func unzip(t testing.TB, compressed []byte) []byte {
	t.Helper()
	in := bytes.NewReader(compressed)
	z, err := gzip.NewReader(in)
	if err != nil {
		t.Fatal(err)
	}
	z.Multistream(false)
	plain, err := io.ReadAll(z) // checks sum and length at the end
	if err != nil {
		t.Fatalf("after %d bytes: %v", len(plain), err)
	}
	if in.Len() != 0 {
		t.Fatalf("%d bytes follow the stream", in.Len())
	}
	return plain
}

// TestGzipIsThePlainBody compares both forms over ages of every number of digits, forwards and backwards.
func TestGzipIsThePlainBody(t *testing.T) {
	t.Parallel()
	ages := []int64{0, 1, 8, 9, 10, 11, 98, 99, 100, 101, 299, 300, 301, 999, 1000, 9999, 10000, 86399, 86400, 99999, 100000, 1e6 - 1, 1e6, 31536000, 1e9 - 1, 1e9}
	backwards := slices.Clone(ages)
	slices.Reverse(backwards)
	long := brief()
	long.Text = strings.Repeat("A sentence that repeats compresses well [1]. ", 4000)
	for _, b := range []state.Narration{{}, brief(), long} {
		fresh, text := bodies(t, pulse("crypto", born()), b)
		for _, body := range []*feed.Body{fresh, text} {
			for _, age := range append(ages, backwards...) {
				now := born().Add(time.Duration(age) * time.Second)
				plain := body.Bytes(now)
				if want := fmt.Sprintf(`"ageSeconds":%d,"dataAgeSeconds":%[1]d}}`, age); !strings.HasSuffix(string(plain), want) || !json.Valid(plain) {
					t.Fatalf("age %d: body ends in %q", age, plain[len(plain)-40:])
				}
				if got := unzip(t, body.Gzip(now)); !bytes.Equal(got, plain) {
					t.Fatalf("age %d: gzip holds %q, plain is %q", age, got, plain)
				}
			}
		}
	}
	fresh, _ := bodies(t, pulse("crypto", born()), long)
	if zipped, plain := len(fresh.Gzip(born())), len(fresh.Bytes(born())); zipped > plain/20 {
		t.Errorf("%d bytes of repetition become %d", plain, zipped)
	}
}

// TestAgeIsClamped: a clock that went back makes no negative age, and one that is centuries off no nonsense.
func TestAgeIsClamped(t *testing.T) {
	t.Parallel()
	fresh, _ := bodies(t, pulse("crypto", born()), state.Narration{})
	for _, c := range []struct {
		now  time.Time
		want int64
	}{
		{born(), 0}, {born().Add(time.Second - 1), 0}, {born().Add(time.Second), 1}, {born().Add(-1), 0}, {born().Add(-time.Second), 0}, {born().Add(-time.Hour), 0},
		{time.Time{}, 0}, {born().AddDate(1000, 0, 0), math.MaxInt64 / int64(time.Second)}, {born().In(time.FixedZone("", -3600)).Add(time.Minute), 60},
	} {
		want := fmt.Sprintf(`"ageSeconds":%d,"dataAgeSeconds":%[1]d}}`, c.want)
		if got := string(fresh.Bytes(c.now)); !strings.HasSuffix(got, want) || string(unzip(t, fresh.Gzip(c.now))) != got {
			t.Errorf("body at %v ends in %q", c.now, got[len(got)-40:])
		}
	}
}

// TestRenderingIsSharedWithinASecond: seconds count from generatedAt, not from the clock's.
func TestRenderingIsSharedWithinASecond(t *testing.T) {
	t.Parallel()
	fresh, _ := bodies(t, pulse("crypto", born()), brief())
	for name, form := range map[string]func(time.Time) []byte{"plain": fresh.Bytes, "gzip": fresh.Gzip} {
		first, same := form(born().Add(5*time.Second)), form(born().Add(6*time.Second-1))
		if &first[0] != &same[0] {
			t.Errorf("%s is rendered twice within a second", name)
		}
		kept := bytes.Clone(first)
		next := form(born().Add(6 * time.Second))
		if bytes.Equal(first, next) {
			t.Errorf("%s does not change with the second", name)
		}
		if !bytes.Equal(first, kept) {
			t.Errorf("%s changed under its reader", name)
		}
		if again := form(born().Add(5 * time.Second)); !bytes.Equal(again, kept) {
			t.Errorf("%s differs when the clock goes back", name)
		}
	}
}

// TestReadersTogether renders one body for many seconds at once; the race detector watches.
func TestReadersTogether(t *testing.T) {
	t.Parallel()
	fresh, _ := bodies(t, pulse("crypto", born()), brief())
	var all sync.WaitGroup
	for reader := range 8 {
		all.Go(func() {
			for i := range 60 {
				age := (reader + i) % 13
				now := born().Add(time.Duration(age) * time.Second)
				want := fmt.Sprintf(`"ageSeconds":%d,"dataAgeSeconds":%[1]d}}`, age)
				plain, zipped := fresh.Bytes(now), fresh.Gzip(now)
				if got := unzip(t, zipped); !bytes.Equal(got, plain) || !strings.HasSuffix(string(got), want) {
					t.Errorf("age %d: %q", age, got[len(got)-40:])
				}
			}
		})
	}
	all.Wait()
}

// TestBodyRefusesWhatJSONCannotSay: a time after the year 9999 has no JSON.
func TestBodyRefusesWhatJSONCannotSay(t *testing.T) {
	t.Parallel()
	p, b := pulse("crypto", born()), brief()
	b.At = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
	if body, err := feed.FreshBody(p, b); err == nil || body != nil {
		t.Errorf("fresh: %v, %v", body, err)
	}
	if body, err := feed.BriefBody(p, b); err == nil || body != nil {
		t.Errorf("brief: %v, %v", body, err)
	}
}

func BenchmarkBody(b *testing.B) {
	p := pulse("crypto", born())
	p.State = fmt.Appendf(nil, `{"rows":[%s0]}`, strings.Repeat(`{"symbol":"BTC","priceUsd":91240.5,"change24hPct":-1.84},`, 600))
	fresh, _ := bodies(b, p, brief())
	for name, form := range map[string]func(time.Time) []byte{"plain": fresh.Bytes, "gzip": fresh.Gzip} {
		for every, step := range map[string]time.Duration{"same second": 0, "each second": time.Second} {
			b.Run(name+" "+every, func(b *testing.B) {
				b.ReportAllocs()
				for now := born(); b.Loop(); now = now.Add(step) {
					form(now)
				}
			})
		}
	}
}
