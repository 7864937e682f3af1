package sdk_test

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/contextd/contextd/internal/jsonx"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

// logOrigin is the origin of the logs of these tests.
const logOrigin = "contextd/00112233aabbccdd/crypto"

// logBegin is when their first state was made; the others follow every 5 minutes.
func logBegin() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }

// testLog is a log in memory, made of golang.org/x/mod alone, and a service that serves it.
type testLog struct {
	*httptest.Server
	origin, key string
	signer      note.Signer

	mu     sync.Mutex
	leaves []string
	hashes []tlog.Hash
	spoil  func(path string, answer []byte) []byte // nil serves what there is
	asked  []string
}

// newTestLog starts a service with an empty log.
func newTestLog(t testing.TB, origin string) *testLog {
	t.Helper()
	secret, key, err := note.GenerateKey(rand.Reader, origin)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := note.NewSigner(secret)
	if err != nil {
		t.Fatal(err)
	}
	l := &testLog{origin: origin, key: key, signer: signer}
	l.Server = httptest.NewServer(l)
	t.Cleanup(l.Close)
	return l
}

// fork is a service with the same key and the leaves so far.
func (l *testLog) fork(t testing.TB) *testLog {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	f := &testLog{origin: l.origin, key: l.key, signer: l.signer,
		leaves: append([]string{}, l.leaves...), hashes: append([]tlog.Hash{}, l.hashes...)}
	f.Server = httptest.NewServer(f)
	t.Cleanup(f.Close)
	return f
}

// stateAt is the state of a leaf.
func stateAt(seq int, salt string) string { return fmt.Sprintf(`{"n":%d,"salt":"<%s>"}`, seq, salt) }

// grow appends n leaves.
func (l *testLog) grow(t testing.TB, n int, salt string) {
	t.Helper()
	for range n {
		seq := len(l.leaves)
		l.add(t, api.LogLeaf{V: 1, Kind: api.LeafState, Pack: "crypto", PackVersion: 1, Seq: int64(seq), Code: "test",
			GeneratedAt: logBegin().Add(time.Duration(seq) * 5 * time.Minute), State: hexOf(stateAt(seq, salt)), Brief: hexOf("brief")})
	}
}

// add appends a leaf.
func (l *testLog) add(t testing.TB, leaf api.LogLeaf) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	text, err := jsonx.Encode(leaf)
	if err != nil {
		t.Fatal(err)
	}
	hashes, err := tlog.StoredHashes(int64(len(l.leaves)), text, l)
	if err != nil {
		t.Fatal(err)
	}
	l.leaves, l.hashes = append(l.leaves, string(text)), append(l.hashes, hashes...)
}

func hexOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// ReadHashes makes it a tlog.HashReader.
func (l *testLog) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	list := make([]tlog.Hash, len(indexes))
	for i, x := range indexes {
		list[i] = l.hashes[x]
	}
	return list, nil
}

// checkpoint is that of the log at a size.
func (l *testLog) checkpoint(size int) string {
	root, err := tlog.TreeHash(int64(size), l)
	if err != nil {
		panic(err)
	}
	signed, err := note.Sign(&note.Note{Text: fmt.Sprintf("%s\n%d\n%s\n", l.origin, size, root)}, l.signer)
	if err != nil {
		panic(err)
	}
	return string(signed)
}

// entry is a leaf with its proof.
func (l *testLog) entry(seq int) api.LogEntry {
	size := len(l.leaves)
	proof, err := tlog.ProveRecord(int64(size), int64(seq), l)
	if err != nil {
		panic(err)
	}
	e := api.LogEntry{Leaf: l.leaves[seq], Checkpoint: l.checkpoint(size), Key: l.key, Proof: []string{}}
	for _, h := range proof {
		e.Proof = append(e.Proof, h.String())
	}
	return e
}

// ServeHTTP answers the routes of the log.
func (l *testLog) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked = append(l.asked, r.URL.Path)
	answer, ok := l.answer(strings.TrimPrefix(r.URL.Path, "/log/crypto/"), r.URL.Query().Get("minute"))
	if l.spoil != nil && ok {
		answer = l.spoil(r.URL.Path, answer)
	}
	if !ok || answer == nil {
		w.WriteHeader(http.StatusNotFound)
		io.WriteString(w, `{"error":{"code":"NOT_FOUND","reason":"not_found","message":"there is no such thing","requestId":"r"}}`)
		return
	}
	w.Write(answer)
}

func (l *testLog) answer(path, minute string) ([]byte, bool) {
	size := len(l.leaves)
	seq, isLeaf := strings.CutPrefix(path, "leaf/")
	n, err := strconv.Atoi(seq)
	switch {
	case path == "checkpoint":
		return []byte(l.checkpoint(size)), true
	case isLeaf && err == nil && n < size:
		text, err := json.Marshal(l.entry(n))
		return text, err == nil
	case path == "at":
		at, err := api.ParseMoment(minute)
		n := min(int(at.At.Add(time.Minute-time.Nanosecond).Sub(logBegin())/(5*time.Minute)), size-1)
		text, err2 := json.Marshal(l.entry(max(n, 0)))
		return text, err == nil && err2 == nil
	}
	path = strings.Replace(strings.Replace(path, "tile/", "tile/8/", 1), "/entries/", "/data/", 1)
	tile, err := tlog.ParseTilePath(path)
	if err != nil {
		return nil, false
	}
	if tile.L >= 0 {
		if (tile.N<<8+int64(tile.W))<<(8*tile.L) > int64(size) {
			return nil, false
		}
		data, err := tlog.ReadTileData(tile, l)
		return data, err == nil
	}
	if tile.N<<8+int64(tile.W) > int64(size) {
		return nil, false
	}
	var data []byte
	for _, text := range l.leaves[tile.N<<8:][:tile.W] {
		data = append(binary.BigEndian.AppendUint16(data, uint16(len(text))), text...)
	}
	return data, true
}

// of is the log as the sdk reads it.
func (l *testLog) of(t testing.TB) *sdk.Log {
	t.Helper()
	c, err := sdk.New(sdk.WithoutEnv(), sdk.WithBaseURL(l.URL), sdk.WithRetries(0))
	if err != nil {
		t.Fatal(err)
	}
	return c.Log("crypto")
}

// head is the newest checkpoint of a log, verified.
func (l *testLog) head(t testing.TB) *sdk.Checkpoint {
	t.Helper()
	c, err := l.of(t).Checkpoint(t.Context(), l.key)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// reasonOf is why something is not proven, "" if it is, and the error in words if it could not be looked at.
func reasonOf(err error) string {
	if p, ok := errors.AsType[*sdk.ProofError](err); ok {
		if !errors.Is(err, sdk.ErrUnproven) {
			return "the error is not ErrUnproven"
		}
		return string(p.Reason)
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// TestFollow tells what can become of a log that is known.
func TestFollow(t *testing.T) {
	t.Parallel()
	for _, size := range []int{1, 2, 255, 256, 257, 600} {
		for _, more := range []int{0, 1, 300} {
			l := newTestLog(t, logOrigin)
			l.grow(t, size, "a")
			known := l.head(t)
			other := l.fork(t)
			l.grow(t, more, "a")
			if err := l.of(t).Follow(t.Context(), known, l.head(t)); err != nil {
				t.Errorf("a log that grew from %d by %d: %v", size, more, err)
			}
			other.leaves, other.hashes = other.leaves[:size-1], other.hashes[:tlog.StoredHashCount(int64(size-1))]
			if size > 1 {
				if got := reasonOf(other.of(t).Follow(t.Context(), known, other.head(t))); got != "log_shrunk" {
					t.Errorf("a log that lost one of %d leaves: %q", size, got)
				}
			}
			other.grow(t, 1+more, "b")
			err := other.of(t).Follow(t.Context(), known, other.head(t))
			p, _ := errors.AsType[*sdk.ProofError](err)
			if reasonOf(err) != "log_forked" || p.Known != known || p.Now.Size != int64(size+more) {
				t.Errorf("a log whose leaf %d is another, %d later: %v", size-1, more, err)
			}
		}
	}
}

// TestFollowAnother tells the ways in which a log takes the place of another.
func TestFollowAnother(t *testing.T) {
	t.Parallel()
	old := newTestLog(t, logOrigin)
	old.grow(t, 10, "a")
	known := old.head(t)
	follow := func(previous *api.LogHead) string {
		l := newTestLog(t, "contextd/ffffffffffffffff/crypto")
		l.add(t, api.LogLeaf{V: 1, Kind: api.LeafState, Pack: "crypto", State: hexOf("x"), Previous: previous})
		return reasonOf(l.of(t).Follow(t.Context(), known, l.head(t)))
	}
	head := func(size int64, root string) *api.LogHead {
		return &api.LogHead{Origin: logOrigin, Size: size, Root: root}
	}
	for what, c := range map[string]struct {
		previous *api.LogHead
		want     string
	}{
		"names none":               {nil, "log_replaced"},
		"names another":            {&api.LogHead{Origin: "contextd/1/crypto", Size: 10, Root: known.Root}, "log_replaced"},
		"dropped what was seen":    {head(9, "x"), "log_restored"},
		"dropped nothing":          {head(10, known.Root), "log_restored"},
		"of another history":       {head(10, "x"), "log_forked"},
		"dropped what came after":  {head(11, "x"), "log_restored"},
		"dropped all of it, or so": {head(0, ""), "log_restored"},
	} {
		if got := follow(c.previous); got != c.want {
			t.Errorf("a new log that %s: %q, want %q", what, got, c.want)
		}
	}
	swapped := newTestLog(t, logOrigin)
	swapped.grow(t, 12, "a")
	if got := reasonOf(swapped.of(t).Follow(t.Context(), known, swapped.head(t))); got != "log_key_changed" {
		t.Errorf("another key: %q", got)
	}
}

// TestTilesAreChecked changes each byte of a tile and of a bundle of entries on its way, and cuts them.
func TestTilesAreChecked(t *testing.T) {
	t.Parallel()
	l := newTestLog(t, logOrigin)
	l.grow(t, 5, "a")
	known := l.head(t)
	l.grow(t, 4, "a")
	now := l.head(t)
	read := func() error {
		for _, err := range l.of(t).Leaves(t.Context(), now, 2, 9) {
			if err != nil {
				return err
			}
		}
		return nil
	}
	if err := read(); err != nil {
		t.Fatal(err)
	}
	follow := func() error { return l.of(t).Follow(t.Context(), known, now) }
	for what, use := range map[string]struct {
		path string
		do   func() error
		from int // the first byte that is read
	}{
		"tile":    {"/log/crypto/tile/0/000.p/9", follow, 0},
		"entries": {"/log/crypto/tile/entries/000.p/9", read, 0},
	} {
		whole, _ := l.answer(strings.TrimPrefix(use.path, "/log/crypto/"), "")
		skip := 0
		if what == "entries" { // the first two leaves are not read
			skip = 4 + len(l.leaves[0]) + len(l.leaves[1])
		}
		for i := skip; i <= len(whole); i++ {
			l.mu.Lock()
			l.spoil = func(path string, answer []byte) []byte {
				if path != use.path {
					return answer
				}
				answer = append([]byte{}, answer...)
				if i == len(answer) {
					return answer[:i-1]
				}
				answer[i] ^= 1 << (i % 8)
				return answer
			}
			l.mu.Unlock()
			if got := reasonOf(use.do()); got != "proof_invalid" {
				t.Fatalf("byte %d of %d of the %s changed: %q", i, len(whole), what, got)
			}
		}
		l.spoil = nil
	}
}

// TestPartialTileIsGone reads a log that has grown since its checkpoint, whose partial tile is served no more.
func TestPartialTileIsGone(t *testing.T) {
	t.Parallel()
	l := newTestLog(t, logOrigin)
	l.grow(t, 100, "a")
	known := l.head(t)
	l.grow(t, 100, "a")
	now := l.head(t)
	l.grow(t, 100, "a")
	l.spoil = func(path string, answer []byte) []byte {
		if strings.Contains(path, ".p/200") {
			return nil
		}
		return answer
	}
	if err := l.of(t).Follow(t.Context(), known, now); err != nil {
		t.Errorf("%v after %q", err, l.asked)
	}
}
