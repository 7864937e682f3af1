package web_test

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/daemon/store/history"
	"github.com/contextd/contextd/daemon/translog"
	"github.com/contextd/contextd/sdk/api"
)

// outsider reads a log over HTTP with nothing of ours: it is a tlog.TileReader.
type outsider struct {
	t   testing.TB
	url string // of the log
}

func (f outsider) Height() int                     { return 8 }
func (f outsider) SaveTiles([]tlog.Tile, [][]byte) {}

func (f outsider) ReadTiles(tiles []tlog.Tile) (data [][]byte, err error) {
	for _, tile := range tiles {
		a := get(f.t, f.url+"/"+strings.Replace(tile.Path(), "tile/8/", "tile/", 1))
		if a.Status != http.StatusOK {
			return nil, fmt.Errorf("%s: %d %s", tile.Path(), a.Status, a.Body)
		}
		data = append(data, a.Body)
	}
	return data, nil
}

// fillLog adds leaves to the log of d: the last is of a brief that d writes, those before of briefs that cost less than to be written.
func fillLog(t *testing.T, d *daemontest.Daemon, leaves int) {
	t.Helper()
	h, err := history.Open(t.Context(), cmp.Or(d.Config.StoreURL, d.Config.DataDir), d.Config.Now())
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	list, err := h.Briefs(t.Context(), api.PackCrypto, 1)
	if err != nil || len(list) == 0 {
		t.Fatal(list, err)
	}
	for b := list[0]; leaves > 1; leaves-- {
		if _, err := h.SaveBrief(t.Context(), api.PackCrypto, b); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Narrate(t.Context(), api.PackCrypto); err != nil {
		t.Fatal(err)
	}
	head, err := h.LogHead(t.Context(), api.PackCrypto)
	if err == nil {
		err = h.KeepAnchor(t.Context(), head, d.Config.Now(), 1, "as if witnesses had signed it")
	}
	if err != nil {
		t.Fatal(err)
	}
}

// checkpoint reads the checkpoint and verifies it.
func (f outsider) checkpoint(key string) (tree tlog.Tree) {
	f.t.Helper()
	verifier, err := note.NewVerifier(key)
	if err != nil {
		f.t.Fatal(err)
	}
	n, err := note.Open(get(f.t, f.url+"/checkpoint").Body, note.VerifierList(verifier))
	if err != nil {
		f.t.Fatal(err)
	}
	lines := strings.Split(n.Text, "\n")
	if _, err := fmt.Sscan(lines[1], &tree.N); err != nil || lines[0] != verifier.Name() {
		f.t.Fatalf("%q, %v", n.Text, err)
	}
	if tree.Hash, err = tlog.ParseHash(lines[2]); err != nil {
		f.t.Fatal(err)
	}
	return tree
}

// TestLogIsThatOfC2SP follows the log of a daemon over HTTP with golang.org/x/mod's own client code, before and after a tile is full: every
// leaf of the bundles is in the tree, the older tree is part of the newer, and the leaves are those of the answers.
func TestLogIsThatOfC2SP(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t)
	f := outsider{t, d.URL() + "/log/" + api.PackCrypto}
	e := decode[api.LogEntry](t, get(t, f.url+"/leaf/0"))
	key := e.Key
	fillLog(t, d, 2)
	before := f.checkpoint(key)
	fillLog(t, d, translog.Width)
	after := f.checkpoint(key)
	if after.N != before.N+translog.Width {
		t.Fatalf("%d leaves, then %d", before.N, after.N)
	}
	tiles := tlog.TileHashReader(after, f)
	proof, err := tlog.ProveTree(after.N, before.N, tiles)
	if err == nil {
		err = tlog.CheckTree(proof, after.N, after.Hash, before.N, before.Hash)
	}
	if err != nil {
		t.Error(err)
	}
	var indexes []int64
	var hashes []tlog.Hash
	for n := int64(0); n*translog.Width < after.N; n++ {
		path := fmt.Sprintf("/tile/entries/%03d", n)
		if left := after.N - n*translog.Width; left < translog.Width {
			path += fmt.Sprintf(".p/%d", left)
		}
		list, err := translog.Entries(get(t, f.url+path).Body)
		if err != nil {
			t.Fatal(err)
		}
		for i, leaf := range list {
			indexes = append(indexes, tlog.StoredHashIndex(0, n*translog.Width+int64(i)))
			hashes = append(hashes, tlog.RecordHash(leaf))
		}
	}
	if proven, err := tiles.ReadHashes(indexes); err != nil || !slices.Equal(proven, hashes) || int64(len(hashes)) != after.N {
		t.Errorf("%d leaves in bundles of %d are not those of the tree: %v", len(hashes), after.N, err)
	}

	last := decode[api.LogEntry](t, get(t, f.url+"/at?minute="+minute(time.Now().Add(time.Minute))))
	var leaf api.LogLeaf
	if err := json.Unmarshal([]byte(last.Leaf), &leaf); err != nil || leaf.Kind != api.LeafState || len(leaf.Sources) < 10 {
		t.Fatalf("%+v, %v", leaf, err)
	}
	var fresh struct{ State json.RawMessage }
	if err := json.Unmarshal(get(t, d.URL()+api.PathFresh, bearer(d.Key(t, api.TierPro))).Body, &fresh); err != nil {
		t.Fatal(err)
	}
	if sum := sha256.Sum256(fresh.State); leaf.State != hex.EncodeToString(sum[:]) {
		t.Errorf("the leaf has state %s, the answer %x", leaf.State, sum)
	}
	for _, s := range leaf.Sources {
		if len(s.Bodies) == 0 || s.FetchedAt.IsZero() {
			t.Errorf("%+v", s)
		}
	}
	if !strings.HasPrefix(key, "contextd-demo/") && !strings.HasPrefix(key, "contextd/") || len(strings.Split(key, "/")[1]) != 16 {
		t.Errorf("key %q", key)
	}
	logHeaders(t, f.url)
}

// logHeaders looks at what stands beside the answers.
func logHeaders(t *testing.T, url string) {
	t.Helper()
	for path, want := range map[string][2]string{
		"/checkpoint": {"public, max-age=5", "text/plain; charset=utf-8"}, "/tile/0/000": {"public, max-age=31536000, immutable", "application/octet-stream"},
		"/tile/entries/000": {"public, max-age=31536000, immutable", "application/octet-stream"}, "/tile/0/001.p/1": {"public, max-age=60", "application/octet-stream"},
		"/leaf/0": {"public, max-age=60", "application/json"},
	} {
		a, head := get(t, url+path), call(t, http.MethodHead, url+path)
		if a.Status != 200 || a.Header.Get("Cache-Control") != want[0] || a.Header.Get("Content-Type") != want[1] ||
			a.Header.Get("Access-Control-Allow-Origin") != "*" || a.Header.Get("ETag") == "" {
			t.Errorf("%s: %d %v", path, a.Status, a.Header)
		}
		if head.Status != 200 || len(head.Body) > 0 || head.Header.Get("Content-Length") != a.Header.Get("Content-Length") {
			t.Errorf("HEAD %s: %d %v", path, head.Status, head.Header)
		}
		if again := get(t, url+path, with("If-None-Match", a.Header.Get("ETag"))); again.Status != http.StatusNotModified || len(again.Body) > 0 {
			t.Errorf("%s again: %d", path, again.Status)
		}
	}
	for _, path := range []string{"/tile/0/999", "/tile/0/x001/000", "/tile/entries/x001/x000/000.p/3", "/tile/9/000", "/leaf/x", "/leaf/007", "/leaf/-1"} {
		if a := get(t, url+path); a.Status != 404 || refusal(t, a, "GET").Error.Reason != api.ReasonNotFound {
			t.Errorf("%s: %d", path, a.Status)
		}
	}
}

// BenchmarkLogToBare calls the routes of a log of a whole daemon, for many clients behind a proxy, and a bare handler of the same bytes, as
// BenchmarkFreshToBare does.
func BenchmarkLogToBare(b *testing.B) {
	d := daemontest.Start(b, func(c *daemon.Config) {
		c.TrustedProxies, c.Now = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, time.Now // as in production: a test's clock has a lock
	})
	for range translog.Width {
		if err := d.Narrate(b.Context(), api.PackCrypto); err != nil {
			b.Fatal(err)
		}
	}
	for name, path := range map[string]string{
		"checkpoint": "/checkpoint", "tile": "/tile/0/000", "entries": "/tile/entries/000", "leaf": "/leaf/0", "at": "/at?minute=" + minute(time.Now().Add(time.Minute)),
	} {
		requests := make([][]byte, 2000) // each client may ask so many times in a minute
		for i := range requests {
			requests[i] = fmt.Appendf(nil, "GET /log/crypto%s HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 198.18.%d.%d\r\n\r\n", path, i/250, i%250)
		}
		b.Run(name, func(b *testing.B) {
			whole := newLoad(b, d.URL(), requests, 16)
			res, _ := first(b, whole.conns[0], requests[0])
			compare(b, whole, newLoad(b, bare(b, res).URL, requests, 16))
		})
	}
}
