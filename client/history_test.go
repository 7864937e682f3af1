package client_test

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/sdk/api"
)

// archive answers history from a state at four minutes past every ten minutes of the last 50 hours, the newest two minutes ago. Keys look
// back 48 hours.
type archive struct {
	*httptest.Server
	credits atomic.Int64
	cut     atomic.Int64  // lines after which an answer breaks off; 0 means never
	hold    chan struct{} // nil, or where answers wait; told to asked
	asked   chan struct{}
}

func newArchive(t *testing.T) *archive {
	a := &archive{}
	a.Server = httptest.NewServer(http.HandlerFunc(a.serve))
	t.Cleanup(a.Close)
	return a
}

// env is that of a ctx that asks a.
func (a *archive) env(t *testing.T) map[string]string {
	return map[string]string{"CTX_BASE_URL": a.URL, "CTX_API_KEY": goodKey, "CTX_CONFIG_DIR": t.TempDir(), "CTX_RETRIES": "0"}
}

func (a *archive) serve(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	from, err1 := time.Parse(time.RFC3339Nano, q.Get("from"))
	to, err2 := time.Parse(time.RFC3339Nano, q.Get("to"))
	every, err3 := api.ParseSpan(cmp.Or(q.Get("every"), "5m"))
	if err1 != nil || err2 != nil || err3 != nil || to.After(fakeNow()) {
		http.Error(w, "unexpected "+r.URL.String(), http.StatusTeapot)
		return
	}
	if first := fakeNow().Add(-48 * time.Hour); from.Before(first) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprintf(w, `{"error":{"code":"SNAPSHOT_NOT_FOUND","reason":"snapshot_not_found","message":"too long ago","hint":"the earliest minute for this caller is %s","requestId":"r-1"}}`, first.Format("2006-01-02T15:04"))
		return
	}
	if a.hold != nil {
		a.asked <- struct{}{}
		<-a.hold
	}
	a.credits.Add(api.HistoryCredits(from, to))
	last, sent := time.Time{}, int64(0)
	for at := from; !at.After(to); at = at.Add(every) {
		made := at.Add(-4 * time.Minute).Truncate(10 * time.Minute).Add(4 * time.Minute)
		if made.Equal(last) {
			continue
		}
		if sent++; sent == a.cut.Load()+1 && sent > 1 {
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
		last = made
		fmt.Fprintf(w, `{"generatedAt":%q,"value":[{"group":"major","id":"a\nb","name":"=A1+\"x\", <&>","priceUsd":%d.5,"rank":null},{"group":"major","id":"c","name":"C","stale":true}]}`+"\n",
			made.Format(time.RFC3339Nano), made.Unix()%1000)
	}
}

// export runs ctx export of a file.
func export(t *testing.T, a *archive, path string, more ...string) (code int, stderr string) {
	t.Helper()
	code, stdout, stderr := run(t.Context(), a.env(t), append([]string{"export", path, "--member", "top_movers", "--from", "30h"}, more...)...)
	if stdout != "" {
		t.Errorf("stdout has %s", stdout)
	}
	return code, stderr
}

// content is what a file holds.
func content(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestExportGoesOn: whichever byte of a file is the last one, the same command makes the same file of it, in both formats; what is whole is
// not asked for again.
func TestExportGoesOn(t *testing.T) {
	t.Parallel()
	a := newArchive(t)
	const every = 1511 // bytes
	for _, format := range []string{"ndjson", "csv"} {
		path := filepath.Join(t.TempDir(), "movers."+format)
		a.credits.Store(0)
		if code, stderr := export(t, a, path); code != 0 || !strings.Contains(stderr, "exported 181 states, up to 2026-11-20T20:04:00Z; it cost 2 credits") || a.credits.Load() != 2 {
			t.Fatalf("%s: exit %d, %d credits\n%s", format, code, a.credits.Load(), stderr)
		}
		whole := content(t, path)
		for end := 0; end < len(whole); end += every {
			if err := os.WriteFile(path, []byte(whole[:end]), 0o600); err != nil {
				t.Fatal(err)
			}
			if code, stderr := export(t, a, path, "--quiet"); code != 0 || content(t, path) != whole {
				t.Fatalf("%s cut at byte %d: exit %d, %d bytes of %d\n%s", format, end, code, len(content(t, path)), len(whole), stderr)
			}
		}
		a.credits.Store(0)
		if code, stderr := export(t, a, path); code != 0 || content(t, path) != whole || a.credits.Load() > 1 {
			t.Errorf("%s: a file that is whole: exit %d, %d credits\n%s", format, code, a.credits.Load(), stderr)
		}
	}
}

// TestExportIsCutOff: an answer that breaks off is told, what came stays, and every further call brings it on until it is whole.
func TestExportIsCutOff(t *testing.T) {
	t.Parallel()
	a := newArchive(t)
	for _, format := range []string{"ndjson", "csv"} {
		path, reference := filepath.Join(t.TempDir(), "x."+format), filepath.Join(t.TempDir(), "y."+format)
		a.cut.Store(0)
		if code, stderr := export(t, a, reference); code != 0 {
			t.Fatal(stderr)
		}
		a.cut.Store(50)
		calls := 0
		for code := 1; code != 0; calls++ {
			var stderr string
			if code, stderr = export(t, a, path); code != 0 && (!strings.Contains(stderr, "broke off") || !strings.Contains(stderr, "the same command goes on from there")) {
				t.Fatalf("exit %d\n%s", code, stderr)
			}
			if calls > 10 {
				t.Fatal("it does not come to an end")
			}
		}
		if calls != 4 || content(t, path) != content(t, reference) {
			t.Errorf("%s: %d calls, %d bytes of %d", format, calls, len(content(t, path)), len(content(t, reference)))
		}
	}
}

// TestExportTwice: who exports into a file that another export is writing is told so and writes and asks nothing, whatever its name, and
// the file is whole.
func TestExportTwice(t *testing.T) {
	t.Parallel()
	a := newArchive(t)
	path := filepath.Join(t.TempDir(), "x.ndjson")
	other := filepath.Join(filepath.Dir(path), "y.ndjson")
	if err := os.Symlink(path, other); err != nil {
		t.Fatal(err)
	}
	a.hold, a.asked = make(chan struct{}), make(chan struct{})
	first := make(chan string)
	go func() {
		code, stderr := export(t, a, path, "--from", "10h")
		first <- fmt.Sprint(code, stderr)
	}()
	<-a.asked
	for _, name := range []string{path, other} {
		if code, stderr := export(t, a, name); code != cli.ExitUsage || !strings.Contains(stderr, "another ctx export is writing "+name) {
			t.Errorf("exit %d\n%s", code, stderr)
		}
	}
	close(a.hold)
	if said := <-first; !strings.HasPrefix(said, "0") || strings.Count(content(t, path), "\n") != 61 {
		t.Errorf("%s: %s", said, content(t, path))
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 2 {
		t.Errorf("%v, %v", entries, err)
	}
}

// TestExportBeyondReach: what the key cannot look back to is left out and costs nothing.
func TestExportBeyondReach(t *testing.T) {
	t.Parallel()
	a := newArchive(t)
	path := filepath.Join(t.TempDir(), "x.ndjson")
	if code, stderr := export(t, a, path, "--from", "30d"); code != 0 || a.credits.Load() != 2 {
		t.Fatalf("exit %d, %d credits\n%s", code, a.credits.Load(), stderr)
	}
	if text := content(t, path); !strings.HasPrefix(text, `{"generatedAt":"2026-11-18T20:04:00Z"`) || strings.Count(text, "\n") != 289 {
		t.Errorf("%d states, the first is %s", strings.Count(text, "\n"), text[:100])
	}
	if code, stderr := export(t, a, filepath.Join(t.TempDir(), "y"), "--from", "30d", "--to", "20d"); code != 0 || !strings.Contains(stderr, "nothing new to export") {
		t.Errorf("exit %d\n%s", code, stderr)
	}
}

// TestExportRows: columns are known before their values are, a name that is a formula is none, and all can be read back.
func TestExportRows(t *testing.T) {
	t.Parallel()
	a := newArchive(t)
	code, stdout, stderr := run(t.Context(), a.env(t), "export", "--member", "top_movers", "--from", "30m", "--every", "10m", "-o", "csv")
	rows, err := csv.NewReader(strings.NewReader(stdout)).ReadAll()
	if code != 0 || err != nil || len(rows) != 7 {
		t.Fatalf("exit %d, %d rows, %v\n%s%s", code, len(rows), err, stdout, stderr)
	}
	cell := func(row int, name string) string {
		for i, column := range rows[0] {
			if column == name {
				return rows[row][i]
			}
		}
		t.Errorf("no column %s in %v", name, rows[0])
		return ""
	}
	if cell(1, "id") != "a\nb" || cell(1, "name") != `'=A1+"x", <&>` || cell(1, "rank") != "" || cell(1, "stale") != "" || cell(2, "stale") != "true" ||
		cell(1, "generatedAt") != "2026-11-20T19:34:00Z" || cell(6, "generatedAt") != "2026-11-20T19:54:00Z" || cell(1, "change7dPct") != "" {
		t.Errorf("%v", rows)
	}
}

// TestExportRefuses: mistakes are told before anything is asked, and no file that is something else is touched.
func TestExportRefuses(t *testing.T) {
	t.Parallel()
	a := newArchive(t)
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a.ndjson": "notes\nof mine\n", "b.csv": "name,price\nx,1\n", "c.csv": "generatedAt,id\n2026-11-20T19:54:00Z,x\nnonsense,y\n2026-11-20T19:54:00Z,z\n",
		"d.ndjson": `{"generatedAt":"2026-11-20T19:54:00Z","value":1}` + "\n{}\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if code, stderr := export(t, a, path); code != cli.ExitUsage || content(t, path) != text || !strings.Contains(stderr, "is no export") {
			t.Errorf("%s: exit %d, now %q\n%s", name, code, content(t, path), stderr)
		}
	}
	for _, args := range [][]string{
		{"--from", "1d"}, {"--member", "x"}, {"--member", "x", "--from", "soon"}, {"--member", "x", "--from", "1d", "--every", "299s"},
		{"--member", "x", "--from", "1d", "--every", "5"}, {"--member", "x", "--from", "1d", "-o", "json"}, {"--member", "x", "--from", "1d", "--to", "2027-01-01 00:00"},
	} {
		if code, _, stderr := run(t.Context(), a.env(t), append([]string{"export"}, args...)...); code != cli.ExitUsage {
			t.Errorf("%v: exit %d\n%s", args, code, stderr)
		}
	}
	if a.credits.Load() != 0 {
		t.Errorf("%d credits were spent", a.credits.Load())
	}
}
