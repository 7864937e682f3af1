package translog_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"
	"unsafe"
	"weak"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/contextd/contextd/daemon/translog"
	"github.com/contextd/contextd/sdk/api"
)

const origin = "contextd/0011223344556677/crypto"

// place is that of a tile.
type place struct {
	level int
	n     int64
}

// memory is a log in memory, and a Store of it.
type memory struct {
	leaves [][]byte
	tiles  map[place][]byte
	root   tlog.Hash

	kept   string // the newest that KeepAnchor was given
	keptOf int64
}

func (m *memory) KeepAnchor(_ context.Context, head api.LogHead, _ time.Time, _ int, checkpoint string) error {
	m.kept, m.keptOf = checkpoint, head.Size
	return nil
}

func (m *memory) Anchor(_ context.Context, _ string, seq int64) (int64, string, error) {
	if seq >= m.keptOf {
		return 0, "", nil
	}
	return m.keptOf, m.kept, nil
}

func (m *memory) read(level int, n int64) ([]byte, error) { return m.tiles[place{level, n}], nil }

// add appends leaves.
func (m *memory) add(t testing.TB, leaves ...[]byte) {
	t.Helper()
	for _, leaf := range leaves {
		e, err := translog.ReadEdge(int64(len(m.leaves)), m.read)
		if err != nil {
			t.Fatal(err)
		}
		hash, tiles, err := e.Append(leaf)
		if err != nil || hash != tlog.RecordHash(leaf) {
			t.Fatal(hash, err)
		}
		for _, tile := range tiles {
			m.tiles[place{tile.Level, tile.N}] = tile.Hashes
		}
		m.leaves, m.root = append(m.leaves, leaf), e.Root()
	}
}

func (m *memory) LogHead(_ context.Context, pack string) (h api.LogHead, err error) {
	if pack == "crypto" {
		h = translog.Head(origin, int64(len(m.leaves)), m.root)
	}
	return h, nil
}

func (m *memory) LogTile(_ context.Context, _ string, level int, n int64) ([]byte, error) {
	return m.read(level, n)
}

func (m *memory) LogBundle(_ context.Context, _ string, n int64) (b []byte, err error) {
	for _, leaf := range m.leaves[n*translog.Width : min(int64(len(m.leaves)), (n+1)*translog.Width)] {
		b = translog.AppendEntry(b, leaf)
	}
	return b, nil
}

func (m *memory) LogBefore(_ context.Context, _ string, t time.Time) (int64, bool, error) {
	seq := t.Unix() - 1
	return min(seq, int64(len(m.leaves))-1), seq >= 0, nil
}

// filled is a log of n leaves.
func filled(t testing.TB, n int) *memory {
	m := &memory{tiles: map[place][]byte{}}
	for i := range n {
		m.add(t, fmt.Appendf(nil, "leaf %d", i))
	}
	return m
}

func newKey(t testing.TB, first byte) translog.Key {
	t.Helper()
	key, err := translog.NewKey(append([]byte{first}, make([]byte, 31)...))
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// TestTreeIsThatOfTlog holds roots, proofs and tiles to golang.org/x/mod's own arithmetic over all stored hashes, around the ends of tiles.
func TestTreeIsThatOfTlog(t *testing.T) {
	t.Parallel()
	const most = 2*translog.Width + 5
	m, kept := &memory{tiles: map[place][]byte{}}, new(translog.Edge)
	var stored []tlog.Hash
	reader := tlog.HashReaderFunc(func(indexes []int64) (list []tlog.Hash, err error) {
		for _, i := range indexes {
			list = append(list, stored[i])
		}
		return list, nil
	})
	for i := range int64(most) {
		leaf := fmt.Appendf(nil, "leaf %d", i)
		hashes, err := tlog.StoredHashes(i, leaf, reader)
		if err != nil {
			t.Fatal(err)
		}
		stored = append(stored, hashes...)
		m.add(t, leaf)
		if want, err := tlog.TreeHash(i+1, reader); err != nil || m.root != want {
			t.Fatalf("root of %d leaves is %s, want %s, %v", i+1, m.root, want, err)
		}
		_, changed, err := kept.Append(leaf)
		if err != nil || kept.Root() != m.root {
			t.Fatalf("root of %d leaves by an edge that is kept is %s, %v", i+1, kept.Root(), err)
		}
		for _, tile := range changed {
			if !bytes.Equal(tile.Hashes, m.tiles[place{tile.Level, tile.N}]) {
				t.Fatalf("tile %d of level %d of %d leaves by an edge that is kept is wrong", tile.N, tile.Level, i+1)
			}
		}
		for _, tile := range tlog.NewTiles(translog.Height, i, i+1) {
			want, err := tlog.ReadTileData(tile, reader)
			if got := m.tiles[place{tile.L, tile.N}]; err != nil || !bytes.Equal(got, want) {
				t.Fatalf("tile %s of %d leaves is wrong, %v", tile.Path(), i+1, err)
			}
		}
	}
	for _, size := range []int64{1, 2, 255, 256, 257, 511, 512, most} {
		root, err := tlog.TreeHash(size, reader)
		if err != nil {
			t.Fatal(err)
		}
		for _, seq := range []int64{0, size / 2, size - 1} {
			proof, err := translog.Prove(size, seq, m.read)
			if err == nil {
				err = tlog.CheckRecord(proof, size, root, seq, tlog.RecordHash(m.leaves[seq]))
			}
			if err != nil {
				t.Errorf("leaf %d of %d: %v", seq, size, err)
			}
		}
	}
}

func TestDamagedTilesAreNoted(t *testing.T) {
	t.Parallel()
	m := filled(t, 300)
	m.tiles[place{0, 1}] = m.tiles[place{0, 1}][:43*translog.HashSize]
	if _, err := translog.ReadEdge(300, m.read); !errors.Is(err, translog.ErrDamaged) {
		t.Errorf("read the edge of a tile that is short: %v", err)
	}
	if _, err := translog.Prove(300, 299, m.read); !errors.Is(err, translog.ErrDamaged) {
		t.Errorf("proved by a tile that is short: %v", err)
	}
	if _, _, err := new(translog.Edge).Append(make([]byte, translog.MaxLeaf+1)); err == nil {
		t.Error("a leaf that no bundle has room for was appended")
	}
	if _, _, err := new(translog.Edge).Append(make([]byte, translog.MaxLeaf)); err != nil {
		t.Error(err)
	}
}

// TestPaths are both sides of every bound of the paths.
func TestPaths(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]translog.Part{
		"0/000":            {Width: 256},
		"0/000.p/1":        {Width: 1},
		"0/000.p/255":      {Width: 255},
		"1/999":            {Level: 1, N: 999, Width: 256},
		"0/x001/000":       {N: 1000, Width: 256},
		"2/x001/x234/567":  {Level: 2, N: 1234567, Width: 256},
		"entries/012.p/3":  {Entries: true, N: 12, Width: 3},
		"entries/x001/234": {Entries: true, N: 1234, Width: 256},
		"6/000":            {Level: 6, Width: 256},
	} {
		if got, ok := translog.ParsePart(path); !ok || got != want {
			t.Errorf("%s is %+v, %v", path, got, ok)
		}
	}
	for _, path := range []string{
		"", "0", "0/", "0/0", "0/00", "0/0000", "0/000.p/0", "0/000.p/256", "0/000.p/01", "0/000.p", "00/000", "-1/000", "7/000", "64/000",
		"data/000", "Entries/000", "0/x000/001", "0/001/234", "0/x001", "0/../000", "0/000/", "/0/000", "0/000.p/1/2", "0/+00", "0/000.p/ 1",
		"0/x999/x999/x999/x999/x999/x999/x999/x999/x999/x999/999",
	} {
		if got, ok := translog.ParsePart(path); ok {
			t.Errorf("%q is taken as %+v", path, got)
		}
	}
}

// entry reads an entry.
func entry(t testing.TB, text []byte, err error) (e api.LogEntry) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &e); err != nil {
		t.Fatal(err)
	}
	return e
}

// verify verifies an entry as a client does that has nothing but the key.
func verify(e api.LogEntry, key string, seq int64) error {
	verifier, err := note.NewVerifier(key)
	if err != nil {
		return err
	}
	n, err := note.Open([]byte(e.Checkpoint), note.VerifierList(verifier))
	if err != nil {
		return err
	}
	var size int64
	var root string
	lines := strings.Split(n.Text, "\n")
	if len(lines) != 4 || lines[0] != verifier.Name() {
		return errors.New("no checkpoint of that log")
	}
	if _, err := fmt.Sscanf(lines[1], "%d", &size); err != nil {
		return err
	}
	root = lines[2]
	tree, err := tlog.ParseHash(root)
	if err != nil {
		return err
	}
	var proof tlog.RecordProof
	for _, text := range e.Proof {
		h, err := tlog.ParseHash(text)
		if err != nil {
			return err
		}
		if h.String() != text { // base64 has bits that say nothing
			return errors.New("not canonical")
		}
		proof = append(proof, h)
	}
	return tlog.CheckRecord(proof, size, tree, seq, tlog.RecordHash([]byte(e.Leaf)))
}

// TestEveryFlippedByteIsRed: neither a leaf nor a proof nor a checkpoint holds with any byte of it changed, nor under another key.
func TestEveryFlippedByteIsRed(t *testing.T) {
	t.Parallel()
	m, key := filled(t, 300), newKey(t, 1)
	logs := translog.NewLogs(m, key, nil)
	text, _, err := parts(logs.Leaf(t.Context(), "crypto", 7))
	e := entry(t, text, err)
	if err := verify(e, e.Key, 7); err != nil {
		t.Fatal(err)
	}
	other, err := newKey(t, 2).Verifier(origin)
	if err != nil {
		t.Fatal(err)
	}
	if verify(e, other, 7) == nil || verify(e, e.Key, 8) == nil {
		t.Error("an entry holds under another key, or at another place")
	}
	flip := func(s string, i int) string {
		b := []byte(s)
		b[i] ^= 1
		return string(b)
	}
	for i := range e.Leaf {
		changed := e
		if changed.Leaf = flip(e.Leaf, i); verify(changed, e.Key, 7) == nil {
			t.Errorf("byte %d of the leaf", i)
		}
	}
	for i := range e.Checkpoint {
		changed := e
		if changed.Checkpoint = flip(e.Checkpoint, i); verify(changed, e.Key, 7) == nil {
			t.Errorf("byte %d of the checkpoint", i)
		}
	}
	for j := range e.Proof {
		for i := range e.Proof[j] {
			changed := e
			changed.Proof = append([]string{}, e.Proof...)
			if changed.Proof[j] = flip(e.Proof[j], i); verify(changed, e.Key, 7) == nil {
				t.Errorf("byte %d of hash %d of the proof", i, j)
			}
		}
	}
	tile := bytes.Clone(m.tiles[place{0, 1}])
	for i := range tile {
		m.tiles[place{0, 1}][i] ^= 1
		if e, err := translog.ReadEdge(300, m.read); err == nil && e.Root() == m.root {
			t.Errorf("byte %d of a tile", i)
		}
		m.tiles[place{0, 1}][i] = tile[i]
	}
}

// parts are those of an answer that is not compressed.
func parts(a translog.Answer, err error) (text []byte, head map[string][]string, _ error) {
	return a.Text, a.Head, err
}

// isFull reports whether caches may keep an answer for ever.
func isFull(head map[string][]string) bool {
	return strings.HasSuffix(head["Cache-Control"][0], "immutable")
}

// TestLogsSayWhatIsThere asks for what there is and for what there is not, on both sides of every bound, and again when there is more.
func TestLogsSayWhatIsThere(t *testing.T) {
	t.Parallel()
	m := filled(t, 300)
	logs, ctx := translog.NewLogs(m, newKey(t, 1), nil), t.Context()
	if text, _, err := parts(logs.Leaf(ctx, "crypto", 3)); entry(t, text, err).Leaf != "leaf 3" {
		t.Errorf("leaf 3 is %s", text)
	}
	for path, width := range map[string]int{
		"0/000": 256, "0/000.p/255": 255, "0/001.p/44": 44, "0/001.p/45": 0, "0/001": 0, "0/002.p/1": 0, "1/000.p/1": 1, "1/000.p/2": 0,
		"2/000.p/1": 0, "x": 0, "6/x999/x999/x999/999.p/1": 0,
		"0/x072/x057/x594/x037/x927/936.p/1": 0, // 2^56: its first leaf has no number
	} {
		text, head, err := parts(logs.Part(ctx, "crypto", path))
		if width == 0 && (err == nil || api.AsError(err).Reason != api.ReasonNotFound) {
			t.Errorf("%s: %d bytes, %v", path, len(text), err)
		}
		if width > 0 && (err != nil || len(text) != width*translog.HashSize || isFull(head) != (width == 256) || len(head["Etag"]) != 1) {
			t.Errorf("%s: %d bytes, %v, %v", path, len(text), head, err)
		}
	}
	text, _, err := parts(logs.Part(ctx, "crypto", "entries/001.p/44"))
	if list, bad := translog.Entries(text); err != nil || bad != nil || len(list) != 44 || string(list[43]) != "leaf 299" {
		t.Errorf("%d leaves, %v, %v", len(list), err, bad)
	}
	for _, seq := range []int64{-1, 300, 1 << 62} {
		if _, _, err := parts(logs.Leaf(ctx, "crypto", seq)); err == nil || api.AsError(err).Reason != api.ReasonNotFound {
			t.Errorf("leaf %d: %v", seq, err)
		}
	}
	if _, _, err := parts(logs.Checkpoint(ctx, "none")); err == nil || api.AsError(err).Status != 404 {
		t.Error(err)
	}
	if _, _, err := parts(logs.At(ctx, "crypto", "yesterday")); err == nil || api.AsError(err).Reason != api.ReasonInvalidAt {
		t.Error(err)
	}
	before, head, err := parts(logs.Checkpoint(ctx, "crypto"))
	if again, same, _ := parts(logs.Checkpoint(ctx, "crypto")); err != nil || !bytes.Equal(before, again) || head["Etag"][0] != same["Etag"][0] {
		t.Errorf("%q, then %q, %v", before, again, err)
	}
	text, _, err = parts(logs.At(ctx, "crypto", "1970-01-01T00:01")) // before its end, second 120
	if e := entry(t, text, err); e.Leaf != "leaf 119" {
		t.Errorf("as of a minute: %q", e.Leaf)
	}
	m.add(t, []byte("leaf 300"))
	after, next, err := parts(logs.Checkpoint(ctx, "crypto"))
	if err != nil || bytes.Equal(before, after) || head["Etag"][0] == next["Etag"][0] || !strings.HasPrefix(string(after), origin+"\n301\n") {
		t.Errorf("%q, then %q, %v", before, after, err)
	}
	if text, _, err := parts(logs.Leaf(ctx, "crypto", 300)); verify(entry(t, text, err), entry(t, text, err).Key, 300) != nil {
		t.Error("the new leaf does not prove")
	}
}

// meddled is a Store that counts what is read, and is not as its head says.
type meddled struct {
	*memory
	origin string
	reads  int
	ahead  int64
}

func (m *meddled) LogHead(ctx context.Context, pack string) (api.LogHead, error) {
	h, err := m.memory.LogHead(ctx, pack)
	h.Origin = m.origin
	return h, err
}

func (m *meddled) LogBefore(ctx context.Context, origin string, before time.Time) (int64, bool, error) {
	m.reads++
	seq, ok, err := m.memory.LogBefore(ctx, origin, before)
	return seq + m.ahead, ok, err
}

// TestLogsOfMeddledStores: of a damaged log nothing is given, what is of another log than before is read again, and a state that was
// published while somebody asked is not there yet.
func TestLogsOfMeddledStores(t *testing.T) {
	t.Parallel()
	m := &meddled{memory: filled(t, 300), origin: origin}
	logs, ctx := translog.NewLogs(m, newKey(t, 1), nil), t.Context()
	before, _, err := parts(logs.Part(ctx, "crypto", "0/001.p/3"))
	if err != nil {
		t.Fatal(err)
	}
	m.memory, m.origin = &memory{tiles: map[place][]byte{}}, "contextd/8899aabbccddeeff/crypto"
	for i := range 300 {
		m.add(t, fmt.Appendf(nil, "other %d", i))
	}
	if after, _, err := parts(logs.Part(ctx, "crypto", "0/001.p/3")); err != nil || bytes.Equal(before, after) {
		t.Errorf("a tile of the log before is given, %v", err)
	}
	m.ahead = 300
	if _, _, err := parts(logs.At(ctx, "crypto", "2026-11-20T20:05")); err == nil || !strings.Contains(err.Error(), "no state at that minute") {
		t.Errorf("a leaf that the checkpoint has not: %v", err)
	}
	m.tiles[place{0, 1}] = m.tiles[place{0, 1}][:43*translog.HashSize]
	m.leaves = append(m.leaves[:200:200], make([][]byte, 100)...)
	short := &cut{m}
	logs = translog.NewLogs(short, newKey(t, 1), nil)
	for _, path := range []string{"0/001.p/44", "entries/001.p/44"} {
		if text, _, err := parts(logs.Part(ctx, "crypto", path)); !errors.Is(err, translog.ErrDamaged) {
			t.Errorf("%s: %d bytes, %v", path, len(text), err)
		}
	}
}

// cut is a Store whose bundles lack their last leaf.
type cut struct{ *meddled }

func (c *cut) LogBundle(ctx context.Context, origin string, n int64) ([]byte, error) {
	bundle, err := c.meddled.LogBundle(ctx, origin, n)
	return bundle[:len(bundle)-2], err
}

// TestKeptIsBounded: however much is asked for, what is kept has a bound, in which texts, names and places count.
func TestKeptIsBounded(t *testing.T) {
	t.Parallel()
	for what, minutes := range map[string]struct {
		many  int
		zeros int
	}{"names": {300, 60_000}, "places": {12_000, 0}} {
		m := &meddled{memory: filled(t, 3), origin: origin}
		logs := translog.NewLogs(m, newKey(t, 1), nil)
		ask := func(minute string) {
			if _, _, err := parts(logs.At(t.Context(), "crypto", minute)); err != nil {
				t.Fatal(err)
			}
		}
		ask("1970-01-01T00:01")
		ask("1970-01-01T00:01")
		for i := range minutes.many {
			ask(fmt.Sprintf("1970-01-01T00:02:%06.3f%sZ", float64(i+1)/1000, strings.Repeat("0", minutes.zeros)))
		}
		if ask("1970-01-01T00:01"); m.reads != minutes.many+2 {
			t.Errorf("%s: %d reads", what, m.reads)
		}
	}
}

// TestCosigned: a checkpoint has the signatures of witnesses as long as it is theirs, and a proof leads to it from what they know.
func TestCosigned(t *testing.T) {
	t.Parallel()
	m := filled(t, 300)
	logs, ctx := translog.NewLogs(m, newKey(t, 1), nil), t.Context()
	head, err := logs.Head(ctx, "crypto")
	if err != nil {
		t.Fatal(err)
	}
	const line = "— w AAAA\n"
	for _, signed := range []bool{false, true, false} {
		text, _, err := parts(logs.Checkpoint(ctx, "crypto"))
		if err != nil || strings.HasSuffix(string(text), line) != signed {
			t.Errorf("%q, %v", text, err)
		}
		if err := logs.Cosign(ctx, head, []string{line}, time.Unix(0, 0)); err != nil {
			t.Fatal(err)
		}
		if signed {
			m.add(t, []byte("one more"))
		}
	}
	for _, old := range []int64{-1, 0, 300, 301} {
		if texts, err := logs.Consistency(ctx, head, old); texts != nil || err != nil {
			t.Errorf("from %d: %d hashes, %v", old, len(texts), err)
		}
	}
}

// TestAnchor proves leaves by the checkpoint that was kept with the signatures of witnesses, when the log has grown since.
func TestAnchor(t *testing.T) {
	t.Parallel()
	m := filled(t, 300)
	logs, ctx := translog.NewLogs(m, newKey(t, 1), nil), t.Context()
	head, err := logs.Head(ctx, "crypto")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := logs.Anchor(ctx, "crypto", 0); err == nil {
		t.Error("nothing was kept, and there is an answer")
	}
	const line = "— w AAAA\n"
	if err := logs.Cosign(ctx, head, []string{line}, time.Unix(0, 0)); err != nil {
		t.Fatal(err)
	}
	for i := range 260 {
		m.add(t, fmt.Appendf(nil, "more %d", i))
	}
	for seq, good := range map[int64]bool{-1: false, 0: true, 255: true, 256: true, 299: true, 300: false, 999: false} {
		text, _, err := parts(logs.Anchor(ctx, "crypto", seq))
		if (err == nil) != good {
			t.Errorf("leaf %d: %v", seq, err)
		}
		if err != nil {
			continue
		}
		var e api.LogEntry
		if err := json.Unmarshal(text, &e); err != nil {
			t.Fatal(err)
		}
		var proof tlog.RecordProof
		for _, h := range e.Proof {
			hash, err := tlog.ParseHash(h)
			if err != nil {
				t.Fatal(err)
			}
			proof = append(proof, hash)
		}
		root, err := tlog.ParseHash(head.Root)
		if err == nil {
			err = tlog.CheckRecord(proof, 300, root, seq, tlog.RecordHash([]byte(e.Leaf)))
		}
		if err != nil || e.Leaf != fmt.Sprintf("leaf %d", seq) || !strings.Contains(e.Checkpoint, "\n300\n") ||
			!strings.HasSuffix(e.Checkpoint, line) {
			t.Errorf("leaf %d: %+v, %v", seq, e, err)
		}
	}
}

// TestRequestsAreNotKept: an answer that is kept does not hold the request on, of which the path or the minute was a small part.
func TestRequestsAreNotKept(t *testing.T) {
	t.Parallel()
	logs := translog.NewLogs(filled(t, 300), newKey(t, 1), nil)
	ask := func(part string, answer func(string) error) weak.Pointer[byte] {
		request := strings.Repeat("x", 64<<10) + part
		if err := answer(request[64<<10:]); err != nil {
			t.Error(err)
		}
		return weak.Make(unsafe.StringData(request))
	}
	path := ask("0/000.p/7", func(path string) error { _, _, err := parts(logs.Part(t.Context(), "crypto", path)); return err })
	minute := ask("1970-01-01T00:01", func(minute string) error { _, _, err := parts(logs.At(t.Context(), "crypto", minute)); return err })
	runtime.GC()
	if path.Value() != nil || minute.Value() != nil {
		t.Error("a request is kept with its answer")
	}
	runtime.KeepAlive(logs)
}

func TestKeys(t *testing.T) {
	t.Parallel()
	seed := strings.Repeat("0a", 32)
	if key, err := translog.ParseKey([]byte(seed + "\n")); err != nil || key.Public() == "" {
		t.Error(err)
	}
	for _, text := range []string{"", "\n", seed[:62], seed + "00", "zz" + seed[2:], seed + "\n" + seed} {
		if _, err := translog.ParseKey([]byte(text)); err == nil || text != "" && len(text) > 8 && strings.Contains(err.Error(), text[:8]) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func FuzzParts(f *testing.F) {
	f.Add("0/x001/234.p/5")
	f.Add("entries/000")
	m := filled(f, 3)
	logs := translog.NewLogs(m, newKey(f, 1), nil)
	f.Fuzz(func(t *testing.T, path string) {
		p, ok := translog.ParsePart(path)
		if ok && (p.Level < 0 || p.Level > 6 || p.N < 0 || p.Width < 1 || p.Width > translog.Width || p.Entries && p.Level != 0) {
			t.Errorf("%q is %+v", path, p)
		}
		text, head, err := parts(logs.Part(t.Context(), "crypto", path))
		if err == nil && (!ok || isFull(head) || len(text) == 0 || p.Width > 3) {
			t.Errorf("%q: %d bytes", path, len(text))
		}
	})
}

func FuzzEntries(f *testing.F) {
	f.Add(translog.AppendEntry(translog.AppendEntry(nil, []byte("a")), nil))
	f.Add([]byte{0xff})
	f.Fuzz(func(t *testing.T, bundle []byte) {
		list, err := translog.Entries(bundle)
		if err != nil {
			return
		}
		var again []byte
		for _, leaf := range list {
			again = translog.AppendEntry(again, leaf)
		}
		if !bytes.Equal(again, bundle) {
			t.Errorf("%s comes back as %s", hex.EncodeToString(bundle), hex.EncodeToString(again))
		}
	})
}

// TestBundlesAreRead: a bundle is read from the store once for all of its leaves, and compressed once; one that grows is read again.
func TestBundlesAreRead(t *testing.T) {
	t.Parallel()
	m := filled(t, 300)
	logs, ctx := translog.NewLogs(m, newKey(t, 1), nil), t.Context()
	read := func(a translog.Answer, err error) bool {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return a.Read
	}
	for _, c := range []struct {
		what string
		read bool
		a    func() (translog.Answer, error)
	}{
		{"the first leaf", true, func() (translog.Answer, error) { return logs.Leaf(ctx, "crypto", 0) }},
		{"the same", false, func() (translog.Answer, error) { return logs.Leaf(ctx, "crypto", 0) }},
		{"the last of the bundle", false, func() (translog.Answer, error) { return logs.Leaf(ctx, "crypto", 255) }},
		{"the bundle", false, func() (translog.Answer, error) { return logs.Part(ctx, "crypto", "entries/000") }},
		{"a tile", false, func() (translog.Answer, error) { return logs.Part(ctx, "crypto", "0/000") }},
		{"the next bundle", true, func() (translog.Answer, error) { return logs.Part(ctx, "crypto", "entries/001.p/44") }},
		{"a part of it", false, func() (translog.Answer, error) { return logs.Part(ctx, "crypto", "entries/001.p/43") }},
		{"a leaf of it", false, func() (translog.Answer, error) { return logs.At(ctx, "crypto", "1970-01-01T00:04:59") }},
	} {
		if got := read(c.a()); got != c.read {
			t.Errorf("%s: read from the store: %t", c.what, got)
		}
	}
	m.add(t, []byte("leaf 300"))
	if !read(logs.Leaf(ctx, "crypto", 299)) || read(logs.Leaf(ctx, "crypto", 1)) {
		t.Error("with one leaf more, the bundle that grows is read again and the full one is not")
	}
	a, err := logs.Part(ctx, "crypto", "entries/000")
	if err != nil {
		t.Fatal(err)
	}
	zip, err := gzip.NewReader(bytes.NewReader(a.Zip))
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(zip); err != nil || !bytes.Equal(text, a.Text) || a.ZipHead["Content-Encoding"][0] != "gzip" ||
		a.ZipHead["Etag"][0] == a.Head["Etag"][0] || a.Head["Vary"][0] != "Accept-Encoding" {
		t.Errorf("%d bytes of %d, %v, %v, %v", len(text), len(a.Text), a.Head, a.ZipHead, err)
	}
}
