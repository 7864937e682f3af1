package source_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/source"
)

// hashOf is the hash of a body as it is told.
func hashOf(body string) string {
	sum := sha256.Sum256([]byte(body))
	return hex.EncodeToString(sum[:])
}

// TestBodiesOfAnAttempt: what is told of an attempt are the bodies that were used, uncompressed and to their ends, in the order of the
// requests; of a retry the answer that was used, of a failure nothing.
func TestBodiesOfAnAttempt(t *testing.T) {
	t.Parallel()
	asked := map[string]int{}
	server := handler(func(w http.ResponseWriter, r *http.Request) {
		asked[r.URL.Path]++
		switch r.URL.Path {
		case "/retried":
			if asked[r.URL.Path] == 1 {
				w.WriteHeader(http.StatusBadGateway)
			}
			fmt.Fprintf(w, "answer %d", asked[r.URL.Path])
		case "/zipped":
			var b bytes.Buffer
			zip := gzip.NewWriter(&b)
			_, _ = io.WriteString(zip, "zipped")
			_ = zip.Close()
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(b.Bytes())
		default:
			_, _ = io.WriteString(w, strings.Repeat(r.URL.Path, 10_000))
		}
	})
	c := source.NewClient(source.Config{Transport: server, Shift: func(string) time.Duration { return 0 }})
	a := c.Attempt("")
	refuse := func(io.Reader) error { return source.Fail(source.ClassEmpty, "nothing in it") }
	glance := func(r io.Reader) error { _, err := io.ReadFull(r, make([]byte, 3)); return err }
	for i, tt := range []struct {
		path string
		use  func(io.Reader) error
	}{{"/retried", discard}, {"/refused", refuse}, {"/zipped", discard}, {"/glanced", glance}, {"/missing", discard}} {
		err := a.Get(t.Context(), source.Request{URL: "https://a.example" + tt.path}, tt.use)
		if (err != nil) != (i == 1) {
			t.Errorf("%s: %v", tt.path, err)
		}
	}
	want := []string{hashOf("answer 2"), hashOf("zipped"), hashOf(strings.Repeat("/glanced", 10_000)), hashOf(strings.Repeat("/missing", 10_000))}
	if got := source.BodiesOf(a); !slices.Equal(got, want) {
		t.Errorf("bodies %q, want %q", got, want)
	}
	long := source.Request{URL: "https://a.example/long", Limit: 79_999}
	if err := a.Get(t.Context(), long, glance); err != nil {
		t.Errorf("within the bound: %v", err)
	}
	long.Limit = 49_999
	if err := a.Get(t.Context(), long, glance); err == nil || len(source.BodiesOf(a)) != 5 {
		t.Errorf("an answer over the bound, of which little is read: %v", err)
	}
}

// TestBodiesOfConnectors: connectors in Go and declared ones tell what they were made of, with histories that were read before; a 304 and a
// failure tell nothing, as there is nothing new.
func TestBodiesOfConnectors(t *testing.T) {
	t.Parallel()
	version, broken := "1", false
	server := handler(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case broken:
			w.WriteHeader(http.StatusForbidden)
		case r.URL.Path == "/v2/chains":
			fmt.Fprintf(w, `[{"name":"A","tvl":2e9},{"name":"B","tvl":1%s}]`, version)
		case strings.HasPrefix(r.URL.Path, "/v2/historicalChainTvl/"):
			fmt.Fprintf(w, `[{"date":1763582400,"tvl":1},{"date":1763668800,"tvl":2}]%s`, strings.Repeat(" ", len(r.URL.Path)+len(version)))
		default:
			w.Header().Set("ETag", version)
			if r.Header.Get("If-None-Match") == version {
				w.WriteHeader(http.StatusNotModified)
				return
			}
			fmt.Fprint(w, "row "+version)
		}
	})
	f := source.NewFetcher(source.Config{Transport: server, Now: atRecording, Shift: func(string) time.Duration { return 0 }})
	chains := func(v string) string {
		return hashOf(fmt.Sprintf(`[{"name":"A","tvl":2e9},{"name":"B","tvl":1%s}]`, v))
	}
	first := f.Fetch(t.Context(), source.DefiLlamaChains(), nil)
	if len(first.Bodies) != 3 || first.Bodies[0] != chains("1") || first.Bodies[1] != first.Bodies[2] {
		t.Fatalf("%q, %v", first.Bodies, first.Err)
	}
	version = "22"
	second := f.Fetch(t.Context(), source.DefiLlamaChains(), first.Doc)
	if want := append([]string{chains("22")}, first.Bodies[1:]...); !slices.Equal(second.Bodies, want) {
		t.Errorf("with histories of before: %q, want %q", second.Bodies, want)
	}

	declared := source.Declared{ID: "d", Interval: time.Minute, StaleAfter: time.Hour, URL: "https://d.example/x",
		Decode: func(context.Context, source.Answer, *source.RowsDoc) (*source.RowsDoc, int, error) {
			return &source.RowsDoc{Rows: []source.DeclaredRow{{Key: "a", Name: "A"}}}, 0, nil
		},
	}.Connector()
	out := f.Fetch(t.Context(), declared, nil)
	if !slices.Equal(out.Bodies, []string{hashOf("row 22")}) {
		t.Errorf("declared: %q, %v", out.Bodies, out.Err)
	}
	if again := f.Fetch(t.Context(), declared, out.Doc); !again.NotModified || again.Bodies != nil {
		t.Errorf("not modified: %+v", again)
	}
	broken = true
	if failed := f.Fetch(t.Context(), declared, out.Doc); failed.Err == nil || failed.Bodies != nil {
		t.Errorf("failed: %+v", failed)
	}
}

// TestKnow: what one Fetcher read another asks for by its versions, but for addresses of the operator's, which may have a secret in them.
func TestKnow(t *testing.T) {
	t.Parallel()
	server := handler(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", "1")
		if r.Header.Get("If-None-Match") == "1" {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		fmt.Fprint(w, `{"fastestFee":1}`)
	})
	fetcher := func(read source.Versions) *source.Fetcher {
		f := source.NewFetcher(source.Config{Transport: server, Now: atRecording})
		f.Know(read)
		return f
	}
	own := source.MempoolFees()
	moved, err := own.At("https://moved.example/?token=secret")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		connector source.Connector
		known     bool
	}{{own, true}, {moved, false}} {
		out := fetcher(nil).Fetch(t.Context(), tt.connector, nil)
		again := fetcher(out.Versions).Fetch(t.Context(), tt.connector, out.Doc)
		if out.Err != nil || again.Err != nil || len(out.Versions) > 0 != tt.known || again.NotModified != tt.known {
			t.Errorf("at %q: %v, %v, versions %v, not modified %v", tt.connector.Moved, out.Err, again.Err, out.Versions, again.NotModified)
		}
	}
}
