package daemon_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/daemon/evidence"
	"github.com/contextd/contextd/daemon/pack"
	"github.com/contextd/contextd/daemon/store/history"
	"github.com/contextd/contextd/daemon/testbed"
	"github.com/contextd/contextd/sdk/api"
)

// verifierIn recomputes states of the crypto pack of what is kept in a data directory, as another process does.
func verifierIn(t *testing.T, dir string) evidence.Verifier {
	t.Helper()
	store, err := evidence.Read(filepath.Join(dir, evidence.Dir))
	if err != nil {
		t.Fatal(err)
	}
	h, err := history.OpenRead(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return evidence.Verifier{Pack: pack.Crypto(), History: h, Store: store}
}

// TestEvidence recomputes every state of a daemon, byte for byte, of the bodies that its sources answered, through failures and a restart,
// and finds each body that was changed.
func TestEvidence(t *testing.T) {
	t.Parallel()
	if os.Getenv(testbed.OnPostgres) != "" {
		t.Skip("it reads the files of SQLite")
	}
	dir, clock := t.TempDir(), daemontest.NewClock()
	bounds := evidence.DefaultBounds()
	start := func() *daemontest.Daemon {
		return daemontest.Start(t, func(c *daemon.Config) { c.DataDir, c.Now, c.Evidence = dir, clock.Now, &bounds })
	}
	d := start()
	next := func() {
		t.Helper()
		clock.Advance(5*time.Minute + 123*time.Millisecond)
		if err := d.Refresh(t.Context(), api.PackCrypto); err != nil {
			t.Fatal(err)
		}
	}
	next()
	d.Recording.Break("mempool.space", nil)
	d.Recording.Break("ethereum-rpc.publicnode.com", func(req *http.Request) (*http.Response, error) { // an answer of no use
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("{}")), Request: req}, nil
	})
	next()
	d.Recording.Mend()
	next()
	d.Recording.Break("", nil)
	for range 4 { // no state is made, and the sources get old
		clock.Advance(20 * time.Minute)
		if err := d.Refresh(t.Context(), api.PackCrypto); err == nil {
			t.Fatal("nobody answers, and a state is made")
		}
	}
	d.Recording.Mend()
	d.Recording.Break("api.kraken.com", nil)
	next()
	d.Recording.Mend()
	next()
	d.Stop(t)
	clock.Advance(5 * time.Minute)
	d = start()
	next()
	d.Stop(t)
	v := verifierIn(t, dir)
	last, err := v.At(t.Context(), clock.Now().Add(time.Second))
	if err != nil {
		t.Fatal(err)
	}
	for seq := range last + 1 {
		r, err := v.Verify(t.Context(), seq)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Problems) > 0 || r.State != evidence.Equal || r.Tables != evidence.Equal || r.Brief != evidence.Equal || len(r.Rows) < 50 ||
			len(r.Sources) != len(pack.Crypto().Sources) {
			t.Errorf("leaf %d: %d sources, %d rows, state %s, tables %s, brief %s, %q", seq, len(r.Sources), len(r.Rows), r.State, r.Tables, r.Brief,
				r.Problems)
		}
		for _, s := range r.Sources {
			if s.Doc != evidence.Equal || s.Body != evidence.Equal {
				t.Errorf("leaf %d: %+v", seq, s)
			}
		}
	}
	index := filepath.Join(dir, evidence.Dir, "fetches.jsonl")
	lines, err := os.ReadFile(index)
	if err == nil { // it is not in the log, and what it says makes another document
		err = os.WriteFile(index, bytes.ReplaceAll(lines, []byte(`"shift":`), []byte(`"shift":1`)), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if r, err := verifierIn(t, dir).Verify(t.Context(), last); err != nil || r.State != evidence.Equal ||
		!strings.Contains(strings.Join(r.Problems, "\n"), "coingecko-markets: its bodies make another document than the leaf has") {
		t.Errorf("%+v, %v", r.Problems, err)
	}
	blobs, _ := filepath.Glob(filepath.Join(dir, evidence.Dir, "??", "*.zst"))
	named := 0
	for i, blob := range blobs {
		if i%7 != 0 {
			continue
		}
		text, err := os.ReadFile(blob)
		if err != nil {
			t.Fatal(err)
		}
		bad := slices.Clone(text)
		bad[len(bad)/2] ^= 1
		if err := os.WriteFile(blob, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		was := named
		for seq := range last + 1 {
			if r, err := v.Verify(t.Context(), seq); err != nil || len(r.Problems) > 0 && strings.Contains(strings.Join(r.Problems, " "), "changed on disk") {
				named++
				break
			}
		}
		if was == named {
			t.Errorf("%s changed: nobody is told", filepath.Base(blob))
		}
		if err := os.WriteFile(blob, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if want := (len(blobs) + 6) / 7; named != want || want < 10 {
		t.Errorf("of %d changed bodies and documents %d are named", want, named)
	}
}

// citedIn are the provenances of an answer by source, and that of the answer.
func citedIn(t *testing.T, d *daemontest.Daemon, key, path string) (by map[string]api.Provenance, of api.Provenance) {
	t.Helper()
	var answer struct {
		Citation  *api.Citation
		Citations []struct {
			SourceID   string
			Provenance api.Provenance
		}
		Freshness struct{ Provenance api.Provenance }
	}
	r, err := http.NewRequest(http.MethodGet, d.URL()+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+key)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v", path, res.Status, err)
	}
	by = map[string]api.Provenance{}
	for _, c := range answer.Citations {
		by[c.SourceID] = c.Provenance
	}
	if c := answer.Citation; c != nil {
		by[c.SourceID] = c.Provenance
	}
	return by, answer.Freshness.Provenance
}

// TestProvenance: answers say recomputable of what is kept once it is written, also after a restart and of the past, self_attested of a source
// of which a body is gone and where nothing is kept, and nothing of one that has never answered. An answer has the lowest of its sources.
func TestProvenance(t *testing.T) {
	t.Parallel()
	dir, clock, bounds := t.TempDir(), daemontest.NewClock(), evidence.DefaultBounds()
	start := func(kept *evidence.Bounds) *daemontest.Daemon {
		return daemontest.Start(t, func(c *daemon.Config) {
			c.DataDir, c.Now, c.Evidence, c.Disabled = dir, clock.Now, kept, []string{"mempool-fees"}
		})
	}
	d := start(&bounds)
	clock.Advance(time.Minute)
	if err := d.Refresh(t.Context(), api.PackCrypto); err != nil {
		t.Fatal(err)
	}
	d.Evidence().Flush()
	key := d.Key(t, api.TierFree)
	d.Grant(t, key, 100)
	clock.Advance(2 * time.Minute)
	at := "&at=" + clock.Now().Add(-time.Minute).UTC().Format("2006-01-02T15:04Z")
	expect := func(what string, kraken, others, rest api.Provenance) {
		t.Helper()
		for _, path := range []string{"/v1/fresh?pack=crypto", "/v1/brief?pack=crypto", "/v1/snapshot?pack=crypto" + at} {
			by, of := citedIn(t, d, key, path)
			if len(by) != len(pack.Crypto().Sources) || by["kraken-ticker"] != kraken || by["mempool-fees"] != "" || of != rest {
				t.Errorf("%s: %s: %v, in all %q", what, path, by, of)
			}
			for id, is := range by {
				if is != others && id != "kraken-ticker" && id != "mempool-fees" {
					t.Errorf("%s: %s: %s is %q", what, path, id, is)
				}
			}
		}
		for _, path := range []string{"/v1/lookup?pack=crypto&q=hacks", "/v1/query?pack=crypto&table=hack", "/v1/cite?pack=crypto&ref=1"} {
			if by, of := citedIn(t, d, key, path); len(by) != 1 || of != others || by["kraken-ticker"] != "" {
				t.Errorf("%s: %s: %v, in all %q", what, path, by, of)
			}
		}
	}
	expect("kept", api.Recomputable, api.Recomputable, api.Recomputable)
	d.Stop(t)
	v := verifierIn(t, dir)
	list, err := os.ReadFile(filepath.Join(dir, evidence.Dir, "fetches.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(list) {
		var f evidence.Fetch
		if err := json.Unmarshal(line, &f); err != nil || f.Source != "kraken-ticker" {
			continue
		}
		if _, err := v.Store.Text(f.Bodies[0].Hash); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(filepath.Join(dir, evidence.Dir, f.Bodies[0].Hash[:2], f.Bodies[0].Hash+".zst")); err != nil {
			t.Fatal(err)
		}
	}
	d = start(&bounds)
	expect("a body is gone", api.SelfAttested, api.Recomputable, api.SelfAttested)
	d.Stop(t)
	d = start(nil)
	expect("nothing is kept", api.SelfAttested, api.SelfAttested, api.SelfAttested)
}
