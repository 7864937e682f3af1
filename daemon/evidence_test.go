package daemon_test

import (
	"bytes"
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
