package evidence_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/evidence"
	"github.com/contextd/contextd/daemon/source"
	"github.com/contextd/contextd/internal/state"
)

// rig asks the source mempool-fees, which answers with a body, and keeps what it said.
type rig struct {
	t      *testing.T
	dir    string
	store  *evidence.Store
	fetch  *source.Fetcher
	now    time.Time
	body   string
	zipped bool
	log    bytes.Buffer
}

func newRig(t *testing.T, bounds evidence.Bounds) *rig {
	t.Helper()
	r := &rig{t: t, dir: t.TempDir(), now: time.Date(2026, 11, 20, 20, 0, 0, 0, time.UTC)}
	r.open(bounds)
	t.Cleanup(func() { r.store.Close() })
	return r
}

func (r *rig) open(bounds evidence.Bounds) {
	r.t.Helper()
	var err error
	if r.store, err = evidence.Open(r.dir, bounds, slog.New(slog.NewTextHandler(&r.log, nil))); err != nil {
		r.t.Fatal(err)
	}
	r.fetch = source.NewFetcher(source.Config{Transport: r, Answered: r.store.Answered, Now: func() time.Time { return r.now },
		Shift: func(string) time.Duration { return 0 }})
}

// RoundTrip answers with the body.
func (r *rig) RoundTrip(req *http.Request) (*http.Response, error) {
	h, body := http.Header{}, []byte(r.body)
	if r.zipped {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		if _, err := w.Write(body); err != nil || w.Close() != nil {
			return nil, errors.New("not zipped")
		}
		h.Set("Content-Encoding", "gzip")
		body = b.Bytes()
	}
	return &http.Response{StatusCode: http.StatusOK, Header: h, Body: io.NopCloser(bytes.NewReader(body)), Request: req}, nil
}

// says has the source answer with a body after a time, and keeps it.
func (r *rig) says(after time.Duration, body string) (hash string) {
	r.t.Helper()
	r.now, r.body = r.now.Add(after), body
	out := r.fetch.Fetch(r.t.Context(), source.MempoolFees(), nil)
	record := state.SourceRecord{Source: "mempool-fees", Bodies: out.Bodies, AskedAt: out.At}
	if out.Doc == nil {
		record.Failures = 1
	}
	record.Doc, _ = json.Marshal(out.Doc)
	r.store.Keep("crypto", []state.SourceRecord{record})
	r.store.Flush()
	return evidence.Hash([]byte(body))
}

// fees is a body of about a size that nothing compresses to much less.
func fees(n, size int) string {
	var b strings.Builder
	for i := 0; b.Len() < size; i++ {
		b.WriteString(evidence.Hash([]byte(fmt.Sprint(n, i))))
	}
	return fmt.Sprintf(`{"fastestFee":%d,"more":%q}`, n+1, b.String())
}

func (r *rig) blobs() int {
	list, _ := filepath.Glob(filepath.Join(r.dir, "??", "*"))
	return len(list)
}

// TestBounds holds the bounds on both sides, and never drops the newest of a source.
func TestBounds(t *testing.T) {
	t.Parallel()
	const kb = 1 << 10
	wide := evidence.DefaultBounds()
	for what, c := range map[string]struct {
		change func(*evidence.Bounds)
		after  time.Duration // between fetches
		kept   int           // of 5
		room   string        // the setting for which the others went
		large  int64
	}{
		"wide":                  {func(*evidence.Bounds) {}, time.Hour, 5, "", 0},
		"all of the time":       {func(b *evidence.Bounds) { b.For = 4 * time.Hour }, time.Hour, 5, "", 0},
		"less of the time":      {func(b *evidence.Bounds) { b.For = 4*time.Hour - 1 }, time.Hour, 4, "", 0},
		"no time":               {func(b *evidence.Bounds) { b.For = 1 }, time.Hour, 1, "", 0},
		"all of the size":       {func(b *evidence.Bounds) { b.All = 100 * kb }, time.Minute, 5, "", 0},
		"less in all":           {func(b *evidence.Bounds) { b.All = 14 * kb }, time.Minute, 3, evidence.RoomAll, 0},
		"all of one":            {func(b *evidence.Bounds) { b.OfOne = 100 * kb }, time.Minute, 5, "", 0},
		"less of one":           {func(b *evidence.Bounds) { b.OfOne = 14 * kb }, time.Minute, 3, evidence.RoomOfOne, 0},
		"less than the newest":  {func(b *evidence.Bounds) { b.OfOne = kb }, time.Minute, 1, evidence.RoomOfOne, 0},
		"a body of the bound":   {func(b *evidence.Bounds) { b.OneBody = int64(len(fees(1, 8*kb))) }, time.Minute, 5, "", 0},
		"a body over the bound": {func(b *evidence.Bounds) { b.OneBody = int64(len(fees(1, 8*kb))) - 1 }, time.Minute, 0, "", 5},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			bounds := wide
			c.change(&bounds)
			r := newRig(t, bounds)
			for i := range 5 {
				r.zipped = i == 2 && c.kept > 0
				r.says(c.after, fees(i, 8*kb))
			}
			fetches := 0
			for _, k := range r.store.List() {
				fetches += k.Fetches
				if c.kept > 1 && (k.Bytes > bounds.OfOne || k.Bytes > bounds.All) {
					t.Errorf("%d bytes are kept", k.Bytes)
				}
			}
			s, room := r.store.Standing(), map[string]int64{evidence.RoomAll: 0, evidence.RoomOfOne: 0}
			if c.room != "" {
				room[c.room] = int64(5 - c.kept)
			}
			onDisk := int64(0)
			for _, k := range r.store.List() {
				onDisk += k.Bytes
			}
			if !maps.Equal(s.Dropped, room) || s.Lost[evidence.LostLarge] != c.large || s.Bytes != onDisk || s.Most != bounds.All || s.Failing != "" {
				t.Errorf("it says %+v of %d bytes, not %v, %d", s, onDisk, room, c.large)
			}
			if fetches != c.kept || r.blobs() != 2*c.kept {
				t.Errorf("%d of 5 fetches are kept, not %d, and %d blobs: %+v", fetches, c.kept, r.blobs(), r.store.List())
			}
			r.store.Close()
			again, err := evidence.Read(r.dir)
			if err != nil || fmt.Sprint(again.List()) != fmt.Sprint(r.store.List()) {
				t.Errorf("after a restart %+v, %v", again.List(), err)
			}
		})
	}
}

// TestKept: bodies lie once, by their hash, however they were sent; what failed is let go; what was changed is refused; a crash in the middle
// of a line costs that line.
func TestKept(t *testing.T) {
	t.Parallel()
	r := newRig(t, evidence.DefaultBounds())
	one := r.says(time.Minute, fees(1, 1000))
	r.zipped = true
	r.says(time.Minute, fees(1, 1000))
	r.says(time.Minute, `{"fastestFee":"none"}`)
	if list := r.store.List(); len(list) != 1 || list[0].Fetches != 2 || r.blobs() != 2 {
		t.Errorf("kept are %+v, %d blobs", list, r.blobs())
	}
	if text, err := r.store.Text(one); err != nil || string(text) != fees(1, 1000) {
		t.Errorf("it is kept as %q, %v", text, err)
	}
	if _, err := r.store.Text(evidence.Hash(nil)); !errors.Is(err, evidence.ErrGone) {
		t.Errorf("of what is not there it says %v", err)
	}
	place := filepath.Join(r.dir, one[:2], one+".zst")
	text, err := os.ReadFile(place)
	if err != nil {
		t.Fatal(err)
	}
	for i := range text {
		bad := bytes.Clone(text)
		bad[i] ^= 1
		if err := os.WriteFile(place, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		if said, err := r.store.Text(one); err == nil && string(said) != fees(1, 1000) || err != nil && !errors.Is(err, evidence.ErrChanged) {
			t.Fatalf("byte %d changed: %v", i, err)
		}
	}
	others, _ := filepath.Glob(filepath.Join(r.dir, "??", "*.zst"))
	other, err := os.ReadFile(others[slices.IndexFunc(others, func(p string) bool { return p != place })])
	if err == nil {
		err = os.WriteFile(place, other, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.store.Text(one); !errors.Is(err, evidence.ErrChanged) {
		t.Errorf("another body under its name: %v", err)
	}
	r.store.Close()
	index := filepath.Join(r.dir, "fetches.jsonl")
	lines, err := os.ReadFile(index)
	if err == nil {
		err = os.WriteFile(index, lines[:len(lines)-10], 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if again, err := evidence.Read(r.dir); err != nil || len(again.List()) != 1 || again.List()[0].Fetches != 1 {
		t.Errorf("a line that was cut off: %v", err)
	}
	r.store.Keep("crypto", nil) // after the end
	r.open(evidence.DefaultBounds())
	r.says(time.Minute, fees(2, 1000))
	r.store.Close()
	if again, err := evidence.Read(r.dir); err != nil || again.List()[0].Fetches != 2 {
		t.Errorf("a line after one that was cut off: %v", err)
	}
}

// TestConfirmed: an answer that says that the one before is the newest still has all that is kept of that, and no other has.
func TestConfirmed(t *testing.T) {
	t.Parallel()
	r := newRig(t, evidence.DefaultBounds())
	doc, asked := []byte(`{"fee":1}`), r.now
	has := func(at time.Time) bool { return r.store.Has("crypto", "mempool-fees", at) }
	confirm := func(at, asked time.Time, doc []byte) time.Time {
		r.store.Keep("crypto", []state.SourceRecord{{Source: "mempool-fees", Doc: doc, AskedAt: asked, FetchedAt: at}})
		r.store.Flush()
		return at
	}
	if has(confirm(asked, asked, doc)) {
		t.Error("nothing was heard, and all is kept")
	}
	r.body = fees(1, 100)
	r.fetch.Fetch(t.Context(), source.MempoolFees(), nil)
	if !has(confirm(asked, asked, doc)) || has(asked.Add(time.Millisecond)) || r.store.Has("ai", "mempool-fees", asked) {
		t.Error("what was heard is not kept, or another moment is")
	}
	if !has(confirm(asked.Add(time.Minute), asked, doc)) || has(confirm(asked.Add(2*time.Minute), asked, []byte(`{"fee":2}`))) ||
		has(confirm(asked.Add(3*time.Minute), asked.Add(time.Second), doc)) {
		t.Error("only the same document of the same attempt is confirmed")
	}
	r.store.Close()
	if r.open(evidence.DefaultBounds()); !has(asked) || !has(asked.Add(time.Minute)) || r.store.List()[0].Fetches != 2 {
		t.Errorf("after a restart: %+v", r.store.List())
	}
}

// TestDiskFull: what cannot be written is told with a reason, leaves nothing behind, and is kept again as soon as there is room.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("no disk that is always full here")
	}
	r := newRig(t, evidence.DefaultBounds())
	r.says(time.Minute, fees(1, 1000))
	index := filepath.Join(r.dir, "fetches.jsonl")
	for why, place := range map[string]string{evidence.LostFull: "/dev/full", evidence.LostWrite: r.dir} {
		if err := errors.Join(os.Rename(index, index+".away"), os.Symlink(place, index)); err != nil {
			t.Fatal(err)
		}
		r.says(time.Minute, fees(2, 1000))
		r.says(time.Minute, fees(3, 1000))
		if s := r.store.Standing(); s.Failing != why || s.Lost[why] != 2 || r.blobs() != 2 {
			t.Errorf("%s: %+v, %d blobs", why, s, r.blobs())
		}
		if err := os.Rename(index+".away", index); err != nil {
			t.Fatal(err)
		}
	}
	r.says(time.Minute, fees(4, 1000))
	if s := r.store.Standing(); s.Failing != "" || s.Lost[evidence.LostFull] != 2 || r.store.List()[0].Fetches != 2 {
		t.Errorf("after the disk is mended: %+v, %+v", s, r.store.List())
	}
	if told := strings.Count(r.log.String(), "level=WARN msg=\"evidence is not kept\""); told != 2 {
		t.Errorf("two outages, told %d times: %s", told, &r.log)
	}
}
