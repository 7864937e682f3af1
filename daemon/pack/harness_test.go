package pack_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/pack"
	"github.com/contextd/contextd/daemon/source"
	"github.com/contextd/contextd/daemon/source/replay"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// now is when most tests compact: a day with no meaning.
var now = time.Date(2026, 11, 20, 20, 0, 0, 0, time.UTC)

// tick returns the readings of a recorded tick, 1 to 3, as the real connectors make them, and its time.
func tick(t testing.TB, n int) pack.Input {
	t.Helper()
	at := now.Add(time.Duration(n-1) * 5 * time.Minute)
	clock := func() time.Time { return at }
	r := replay.New(clock)
	for r.Tick() != n {
		r.Advance()
	}
	f := source.NewFetcher(source.Config{Transport: r, Now: clock, Shift: r.Shift})
	in := pack.Input{Readings: make(map[string]pack.Reading), Now: at.Add(2 * time.Second)}
	for _, s := range pack.Crypto().Sources {
		out := f.Fetch(t.Context(), s.Connector, nil)
		if out.Err != nil {
			t.Fatalf("%s: %v", s.ID, out.Err)
		}
		in.Readings[s.ID] = pack.Reading{Doc: out.Doc, FetchedAt: at}
	}
	return in
}

// only is an Input in which the given sources answered just now, and no other ever did.
func only(docs map[string]source.Doc) pack.Input {
	in := pack.Input{Readings: make(map[string]pack.Reading), Now: now}
	for id, doc := range docs {
		in.Readings[id] = pack.Reading{Doc: doc, FetchedAt: now}
	}
	return in
}

// with is a copy of in in which the reading of a source is changed.
func with(in pack.Input, id string, change func(*pack.Reading)) pack.Input {
	in.Readings = maps.Clone(in.Readings)
	r := in.Readings[id]
	change(&r)
	in.Readings[id] = r
	return in
}

// aged is in with the last good answer of a source older than now by age.
func aged(in pack.Input, id string, age time.Duration) pack.Input {
	return with(in, id, func(r *pack.Reading) { r.FetchedAt = in.Now.Add(-age) })
}

// compact returns the state of in, encoded and decoded.
func compact(t testing.TB, in pack.Input) ([]byte, api.CryptoState) {
	t.Helper()
	data, err := pack.Crypto().Compact(in)
	if err != nil {
		t.Fatalf("compact: %v", err)
	}
	var s api.CryptoState
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		t.Fatalf("state: %v\n%s", err, data)
	}
	return data, s
}

// golden compares got with a golden file.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; look at the change, then run with -update. Got:\n%s", path, got)
	}
}

func ptr[T any](x T) *T { return &x }

// deref is what p points to, the zero value for nil.
func deref[T any](p *T) (x T) {
	if p != nil {
		x = *p
	}
	return x
}

// read is a state parsed.
func read(text []byte) *state.Document { return state.Read(text) }
