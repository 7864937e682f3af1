package daemon_test

import (
	"archive/zip"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/backup"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/daemon/evidence"
	"github.com/contextd/contextd/daemon/pack"
	"github.com/contextd/contextd/daemon/store/history"
	"github.com/contextd/contextd/daemon/testbed"
	"github.com/contextd/contextd/internal/long"
	"github.com/contextd/contextd/sdk/api"
)

// verifierIn recomputes states of the crypto pack of what is kept in a data directory, as another process does.
func verifierIn(t testing.TB, dir string) evidence.Verifier {
	t.Helper()
	return verifierOf(t, dir, "")
}

// verifierOf is verifierIn with a database elsewhere, "" for one in dir.
func verifierOf(t testing.TB, dir, storeURL string) evidence.Verifier {
	t.Helper()
	store, err := evidence.Read(filepath.Join(dir, evidence.Dir))
	if err != nil {
		t.Fatal(err)
	}
	h, err := history.OpenRead(t.Context(), cmp.Or(storeURL, dir))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return evidence.Verifier{Pack: pack.Crypto(), History: h, Store: store}
}

// TestEvidenceOfAnHour recomputes every state of an hour of all packs, which are made again as another process makes them.
func TestEvidenceOfAnHour(t *testing.T) {
	t.Parallel()
	states := 3
	if long.On() {
		states = 13
	}
	dir, bounds := t.TempDir(), evidence.DefaultBounds()
	d := daemontest.Open(t, func(c *daemon.Config) { c.DataDir, c.Packs, c.Evidence = dir, allPacks(t), &bounds })
	for range states {
		for _, p := range d.Config.Packs {
			if err := d.Refresh(t.Context(), p.ID); err != nil {
				t.Fatal(err)
			}
		}
		d.Clock.Advance(5*time.Minute + 7*time.Millisecond)
	}
	d.Stop(t)
	for _, p := range allPacks(t) {
		v := verifierOf(t, dir, d.Config.StoreURL)
		v.Pack, v.Writer = p.Pack, p.Writer
		for seq := range int64(states) {
			r, err := v.Verify(t.Context(), seq)
			if err != nil {
				t.Fatalf("%s: %v", p.ID, err)
			}
			if len(r.Problems) > 0 || r.State != evidence.Equal || r.Tables != evidence.Equal || r.Brief != evidence.Equal ||
				r.Manifest != evidence.Equal || len(r.Sources) != len(p.Sources) || len(r.Rows) < 10 {
				t.Errorf("%s, leaf %d: %d rows, state %s, tables %s, brief %s, %q", p.ID, seq, len(r.Rows), r.State, r.Tables, r.Brief, r.Problems)
			}
			for _, s := range r.Sources {
				if s.Doc != evidence.Equal || s.Body != evidence.Equal {
					t.Errorf("%s, leaf %d: %+v", p.ID, seq, s)
				}
			}
		}
		if _, err := v.Verify(t.Context(), int64(states)); err == nil {
			t.Errorf("%s has more than %d states", p.ID, states)
		}
	}
}

// BenchmarkEvidence refreshes all packs with evidence and without, by turns, and says what processor time that takes; and how long a state
// of crypto takes to be recomputed.
func BenchmarkEvidence(b *testing.B) {
	open := func(kept *evidence.Bounds) *daemontest.Daemon {
		return daemontest.Open(b, func(c *daemon.Config) {
			c.Packs, c.Evidence, c.Logger = allPacks(b), kept, slog.New(slog.DiscardHandler)
		})
	}
	bounds := evidence.DefaultBounds()
	var spent [2]time.Duration
	both := [2]*daemontest.Daemon{open(nil), open(&bounds)}
	refresh := func() {
		for i, d := range both {
			began := processor(b)
			for _, p := range d.Config.Packs {
				if err := d.Refresh(b.Context(), p.ID); err != nil {
					b.Fatal(err)
				}
			}
			if kept := d.Evidence(); kept != nil {
				kept.Flush()
			}
			spent[i] += processor(b) - began
			d.Clock.Advance(5 * time.Minute)
		}
	}
	for range 12 { // an hour, after which changes are known
		refresh()
	}
	spent = [2]time.Duration{}
	n := 0
	for b.Loop() {
		refresh()
		n++
	}
	b.ReportMetric(float64(spent[0].Microseconds())/1000/float64(n), "cpu-ms-without")
	b.ReportMetric(float64(spent[1].Microseconds())/1000/float64(n), "cpu-ms-with")
	b.ReportMetric(100*(float64(spent[1])/float64(spent[0])-1), "%-more")
	dir := both[1].Config.DataDir
	both[1].Stop(b)
	v := verifierIn(b, dir)
	const states = 12
	began, clock := processor(b), time.Now()
	for seq := range int64(states) {
		if r, err := v.Verify(b.Context(), seq); err != nil || len(r.Problems) > 0 {
			b.Fatal(err, r)
		}
	}
	b.ReportMetric(float64((processor(b)-began).Microseconds())/1000/states, "cpu-ms/verify")
	b.ReportMetric(float64(time.Since(clock).Microseconds())/1000/states, "ms/verify")
}

// TestEvidence recomputes every state of a daemon, byte for byte, of the bodies that its sources answered, through failures and a restart,
// and finds each body that was changed.
func TestEvidence(t *testing.T) {
	t.Parallel()
	long.Test(t)
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
	otherLog(t, dir, last, clock)
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

// otherLog has the log of a copy of a daemon end, as a restored backup and another key do: the first state of the next log is made again of
// the one before it, which the old log has.
func otherLog(t *testing.T, dir string, last int64, clock *daemontest.Clock) {
	t.Helper()
	again, bounds := filepath.Join(t.TempDir(), "again"), evidence.DefaultBounds()
	_ = os.Remove(filepath.Join(dir, "admin.sock")) // no file
	if err := os.CopyFS(again, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	before, err := verifierIn(t, again).Verify(t.Context(), last)
	if err != nil {
		t.Fatal(err)
	}
	if err := backup.RenewLogs(t.Context(), again, "", nil, clock.Now()); err != nil {
		t.Fatal(err)
	}
	daemontest.Start(t, func(c *daemon.Config) { c.DataDir, c.Now, c.Evidence = again, clock.Now, &bounds }).Stop(t)
	v := verifierIn(t, again)
	after, err := v.Verify(t.Context(), 0)
	if err != nil || after.Log == before.Log || after.Leaf == before.Leaf || len(after.Problems) > 0 || after.State != evidence.Equal {
		t.Errorf("the first of another log is %s of %s: state %s, %q, %v", after.Leaf, after.Log, after.State, after.Problems, err)
	}
	if _, err := v.Verify(t.Context(), last); err == nil || api.AsError(err).Reason != api.ReasonNotFound {
		t.Errorf("a leaf of the log before: %v", err)
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
	d.Evidence().Flush()
	expect("a body is gone", api.SelfAttested, api.Recomputable, api.SelfAttested)
	d.Stop(t)
	d = start(nil)
	expect("nothing is kept", api.SelfAttested, api.SelfAttested, api.SelfAttested)
}

// export is an export of the state of a leaf, as a file is.
func export(t *testing.T, v evidence.Verifier, seq int64, all bool) []byte {
	t.Helper()
	var file bytes.Buffer
	if _, err := v.Export(t.Context(), seq, all, &file); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// altered is an export with a file of it as change makes it, gone where that makes nothing.
func altered(t *testing.T, file []byte, change func(name string, text []byte) []byte) []byte {
	t.Helper()
	from, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	to := zip.NewWriter(&b)
	for _, f := range from.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if text = change(f.Name, text); text == nil {
			continue
		}
		w, err := to.Create(f.Name)
		if err == nil {
			_, err = w.Write(text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// audit verifies an export as an auditor does, who has nothing else.
func audit(file []byte) (*evidence.Report, error) {
	a, err := evidence.ReadExport(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		return nil, err
	}
	return a.Verify(context.Background(), pack.Crypto(), nil)
}

// TestExport: an auditor makes the state again of the file alone, to the byte; what was changed in it is named, with the rows; of sources that
// terms keep out of it nothing is said, nor of rows that they may have made so.
func TestExport(t *testing.T) {
	t.Parallel()
	if os.Getenv(testbed.OnPostgres) != "" {
		t.Skip("it reads the files of SQLite")
	}
	dir, clock, bounds := t.TempDir(), daemontest.NewClock(), evidence.DefaultBounds()
	d := daemontest.Start(t, func(c *daemon.Config) { c.DataDir, c.Now, c.Evidence = dir, clock.Now, &bounds })
	for range 3 {
		clock.Advance(5 * time.Minute)
		if err := d.Refresh(t.Context(), api.PackCrypto); err != nil {
			t.Fatal(err)
		}
	}
	d.Stop(t)
	v := verifierIn(t, dir)
	last, err := v.At(t.Context(), clock.Now().Add(time.Second))
	if err != nil {
		t.Fatal(err)
	}
	all := export(t, v, last, true)
	r, err := audit(all)
	if err != nil || len(r.Problems) > 0 || r.State != evidence.Equal || r.Tables != evidence.Equal || r.Brief != evidence.Equal ||
		r.Manifest != evidence.Equal || r.Seq != last || r.Leaf == "" || r.Log == "" {
		t.Fatalf("%+v, %v", r, err)
	}
	for _, row := range r.Rows {
		if row.Found != evidence.Equal {
			t.Errorf("%+v", row)
		}
	}
	flip := func(text []byte) []byte { text[len(text)/2] ^= 1; return text }
	for what, c := range map[string]struct {
		change func(name string, text []byte) []byte
		says   string // among the problems, or as the error
	}{
		"a body": {func(name string, text []byte) []byte {
			if strings.HasPrefix(name, "kraken-ticker/") && strings.Contains(string(text), "XXBTZUSD") {
				return flip(text)
			}
			return text
		}, "kraken-ticker: the body"},
		"the rows of the source": {func(name string, text []byte) []byte {
			if strings.HasPrefix(name, "coingecko-markets/") && !strings.HasSuffix(name, ".json") {
				return flip(text)
			}
			return text
		}, "coingecko-markets: the document was changed in the file; rows of it: asset/bitcoin, "},
		"the shift": {func(name string, text []byte) []byte {
			if name == "coingecko-markets/fetch.json" {
				return bytes.Replace(text, []byte(`"shift": `), []byte(`"shift": 1`), 1)
			}
			return text
		}, "coingecko-markets: its bodies make another document than the leaf has"},
		"the state": {func(name string, text []byte) []byte {
			if name == "state.json" {
				return flip(text)
			}
			return text
		}, "not kept as it was published"},
		"what the leaf says of the pack": {func(name string, text []byte) []byte {
			if name == "leaf.json" {
				return bytes.Replace(text, []byte(`"code":"`), []byte(`"digest":"0","code":"`), 1)
			}
			return text
		}, "the pack is not the one that made the state"},
		"who made it": {func(name string, text []byte) []byte {
			if name == "leaf.json" {
				return bytes.Replace(text, []byte(`"code":"`), []byte(`"digest":"0","code":"other `), 1)
			}
			return text
		}, "another program made it: other "},
		"which body it was": {func(name string, text []byte) []byte {
			var f evidence.Fetch
			if name != "kraken-ticker/fetch.json" || json.Unmarshal(text, &f) != nil {
				return text
			}
			return bytes.ReplaceAll(text, []byte(f.Bodies[0].Hash), []byte(f.Doc))
		}, "kraken-ticker: the leaf has no body"},
		"when it was asked": {func(name string, text []byte) []byte {
			if name == "kraken-ticker/fetch.json" {
				return bytes.Replace(text, []byte(`"at": "2026`), []byte(`"at": "2025`), 1)
			}
			return text
		}, "the bodies are not kept"},
		"the hash of the tables": {func(name string, text []byte) []byte {
			if name == "leaf.json" {
				return bytes.Replace(text, []byte(`"tables":"`), []byte(`"tables":"0`), 1)
			}
			return text
		}, "the rows behind the state are others"},
		"the hash of the brief": {func(name string, text []byte) []byte {
			if name == "leaf.json" {
				return bytes.Replace(text, []byte(`"brief":"`), []byte(`"brief":"0`), 1)
			}
			return text
		}, "the brief by rules is another"},
		"the kind of the leaf": {func(name string, text []byte) []byte {
			if name == "leaf.json" {
				return bytes.Replace(text, []byte(`"kind":"state"`), []byte(`"kind":"brief"`), 1)
			}
			return text
		}, "is not of a state of pack crypto"},
		"earlier states": {func(name string, text []byte) []byte {
			if strings.HasPrefix(name, "before/") {
				return nil
			}
			return text
		}, "the state is another"},
		"no leaf": {func(name string, text []byte) []byte {
			if name == "leaf.json" {
				return nil
			}
			return text
		}, "no export of evidence"},
	} {
		r, err := audit(altered(t, all, c.change))
		said := fmt.Sprint(err)
		if err == nil {
			said = strings.Join(r.Problems, "\n")
			for _, s := range r.Sources {
				said += "\n" + s.Why
			}
		}
		if !strings.Contains(said, c.says) {
			t.Errorf("%s was changed: %s", what, said)
		}
	}
	r, err = audit(altered(t, all, func(name string, text []byte) []byte {
		if name == "leaf.json" {
			return bytes.ReplaceAll(text, []byte(`"doc":`), []byte(`"dox":`))
		}
		return text
	}))
	if why := r.Sources[0].Why; err != nil || r.State != evidence.Unkept || len(r.Problems) > 0 ||
		why != "the leaf is of an earlier version, which told no hash of documents" {
		t.Errorf("a leaf of before: %+v, %v", r, err)
	}
	some := export(t, v, last, false)
	r, err = audit(some)
	if err != nil || len(r.Problems) > 0 || r.State != evidence.Unkept {
		t.Fatalf("%+v, %v", r.Problems, err)
	}
	counts := map[string]int{}
	for _, row := range r.Rows {
		counts[row.Found]++
		if i := slices.IndexFunc(r.Sources, func(s evidence.SourceReport) bool { return s.ID == row.Source }); i >= 0 &&
			r.Sources[i].Doc != evidence.Equal && row.Found != evidence.Unkept {
			t.Errorf("%s of %s, which is not in the file, is %s", row.Row, row.Source, row.Found)
		}
	}
	if counts[evidence.Equal] == 0 || counts[evidence.Unkept] == 0 || counts[evidence.Differs] > 0 {
		t.Errorf("rows of a file without some sources: %v", counts)
	}
	for _, s := range r.Sources {
		if s.ID == "coingecko-markets" && (s.Doc != evidence.Unkept || s.Why != "not in the file: its terms on passing data on: no") {
			t.Errorf("%+v", s)
		}
	}
	if _, err := audit(all[:len(all)/2]); err == nil || !strings.Contains(err.Error(), "no export of evidence") {
		t.Errorf("half a file: %v", err)
	}
}
