package sdk

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/contextd/contextd/sdk/api"
)

// tileHeight is that of C2SP tlog-tiles: a tile has 256 hashes.
const tileHeight = 8

// Log is the transparency log of a pack, read from the service. Its routes are free and need no key.
type Log struct {
	client *Client
	pack   string
}

// Log returns the log of a pack; an empty pack means api.DefaultPack.
func (c *Client) Log(pack string) *Log {
	free := *c
	free.key, free.payer, free.check = Key{}, nil, nil
	return &Log{&free, firstOf(pack, api.DefaultPack)}
}

// Checkpoint returns the newest checkpoint, verified as by OpenCheckpoint.
func (l *Log) Checkpoint(ctx context.Context, key string, witnesses ...string) (*Checkpoint, error) {
	text, err := l.get(ctx, api.PathLogCheckpoint, nil)
	if err != nil {
		return nil, err
	}
	return OpenCheckpoint(string(text), key, witnesses...)
}

// Leaf returns a leaf by its index, with its proof. It verifies nothing: see VerifyEntry.
func (l *Log) Leaf(ctx context.Context, seq int64) (*api.LogEntry, error) {
	return l.entry(ctx, strings.Replace(api.PathLogLeaf, "{seq}", strconv.FormatInt(seq, 10), 1), nil)
}

// Anchor returns a leaf by its index, with its proof in the first checkpoint that the service kept with it and with signatures of
// witnesses: those say by when it existed. It verifies nothing.
func (l *Log) Anchor(ctx context.Context, seq int64) (*api.LogEntry, error) {
	return l.entry(ctx, strings.Replace(api.PathLogAnchor, "{seq}", strconv.FormatInt(seq, 10), 1), nil)
}

// Newest returns the newest leaf with its proof. It verifies nothing.
func (l *Log) Newest(ctx context.Context) (*api.LogEntry, error) {
	text, err := l.get(ctx, api.PathLogCheckpoint, nil)
	if err != nil {
		return nil, err
	}
	head, _, err := parseHead(string(text))
	if err == nil && head.Size == 0 {
		err = unproven("the log %s has no leaf yet", head.Origin)
	}
	if err != nil {
		return nil, err
	}
	return l.Leaf(ctx, head.Size-1)
}

// At returns the leaf of the newest state at a time, read as by Snapshot, with its proof. It verifies nothing.
func (l *Log) At(ctx context.Context, at time.Time) (*api.LogEntry, error) {
	return l.entry(ctx, api.PathLogAt, url.Values{"minute": {api.MomentOf(at).Key()}})
}

// Row returns a row of the newest state, with the proof that the leaf of that has it. It verifies nothing: see VerifyRow.
func (l *Log) Row(ctx context.Context, kind, key string) (*api.LogRowEntry, error) {
	resp, err := l.client.Do(ctx, Request{Path: l.path(api.PathLogRow), Query: url.Values{"kind": {kind}, "key": {key}}})
	if err != nil {
		return nil, err
	}
	return decodeAs[api.LogRowEntry](resp)
}

func (l *Log) entry(ctx context.Context, path string, query url.Values) (*api.LogEntry, error) {
	resp, err := l.client.Do(ctx, Request{Path: l.path(path), Query: query})
	if err != nil {
		return nil, err
	}
	return decodeAs[api.LogEntry](resp)
}

func (l *Log) path(route string) string {
	return strings.Replace(route, "{pack}", url.PathEscape(l.pack), 1)
}

func (l *Log) get(ctx context.Context, route string, query url.Values) ([]byte, error) {
	resp, err := l.client.Do(ctx, Request{Path: l.path(route), Query: query})
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}

// RootAt returns the root hash of the log of the given size, proven by the checkpoint.
func (l *Log) RootAt(ctx context.Context, c *Checkpoint, size int64) (string, error) {
	if size < 0 || size > c.Size {
		return "", unproven("the log has %d leaves, not %d", c.Size, size)
	}
	if size == c.Size {
		return c.Root, nil
	}
	root, err := tlog.TreeHash(size, l.hashes(ctx, c))
	if err != nil {
		return "", proofOfTiles(err)
	}
	return root.String(), nil
}

// Consistency returns the base64 hashes of the proof that the log of the checkpoint extends the log of size old; none if old is 0 or the
// size of the log.
func (l *Log) Consistency(ctx context.Context, c *Checkpoint, old int64) ([]string, error) {
	if old <= 0 || old == c.Size {
		return nil, nil
	}
	proof, err := tlog.ProveTree(c.Size, old, l.hashes(ctx, c))
	if err != nil {
		return nil, proofOfTiles(err)
	}
	var texts []string
	for _, h := range proof {
		texts = append(texts, h.String())
	}
	return texts, nil
}

// Leaves yields a range of leaves, each proven by the checkpoint; the end is exclusive.
func (l *Log) Leaves(ctx context.Context, c *Checkpoint, from, to int64) iter.Seq2[api.LogLeaf, error] {
	return func(yield func(api.LogLeaf, error) bool) {
		hashes := l.hashes(ctx, c)
		for from, to = max(from, 0), min(to, c.Size); from < to; {
			texts, err := l.bundleOf(ctx, hashes, c, from, to)
			if err != nil {
				yield(api.LogLeaf{}, err)
				return
			}
			for _, text := range texts {
				leaf, err := parseLeaf(text)
				if err == nil && leaf.Seq != from {
					err = unproven("leaf %d says that it is leaf %d", from, leaf.Seq)
				}
				if !yield(leaf, err) || err != nil {
					return
				}
				from++
			}
		}
	}
}

// bundleOf reads the leaves from one place on that are in one bundle of entries, and checks them.
func (l *Log) bundleOf(ctx context.Context, hashes tlog.HashReader, c *Checkpoint, from, to int64) ([]string, error) {
	n := from >> tileHeight
	width := int(min(c.Size-n<<tileHeight, 1<<tileHeight))
	data, err := l.tile(ctx, tlog.Tile{H: tileHeight, L: -1, N: n, W: width})
	if err != nil {
		return nil, err
	}
	texts, err := splitEntries(data)
	if err != nil || len(texts) < width {
		return nil, unproven("the leaves from %d on cannot be read", n<<tileHeight)
	}
	first, last := int(from-n<<tileHeight), int(min(to-n<<tileHeight, 1<<tileHeight))
	var indexes []int64
	for i := first; i < last; i++ {
		indexes = append(indexes, tlog.StoredHashIndex(0, n<<tileHeight+int64(i)))
	}
	want, err := hashes.ReadHashes(indexes)
	if err != nil {
		return nil, proofOfTiles(err)
	}
	for i, text := range texts[first:last] {
		if tlog.RecordHash([]byte(text)) != want[i] {
			return nil, unproven("leaf %d is not the one that is in the log", from+int64(i))
		}
	}
	return texts[first:last], nil
}

// splitEntries splits a bundle of entries: each with its length before it, in two bytes.
func splitEntries(data []byte) (texts []string, err error) {
	for len(data) > 0 {
		if len(data) < 2 || len(data) < 2+int(binary.BigEndian.Uint16(data)) {
			return nil, unproven("a bundle of entries ends in one of them")
		}
		n := 2 + int(binary.BigEndian.Uint16(data))
		texts, data = append(texts, string(data[2:n])), data[n:]
	}
	return texts, nil
}

// hashes reads the hashes of the log of c from tiles, each of which is checked.
func (l *Log) hashes(ctx context.Context, c *Checkpoint) tlog.HashReader {
	return tlog.TileHashReader(tlog.Tree{N: c.Size, Hash: c.root}, &tiles{ctx: ctx, log: l, tiles: map[tlog.Tile][]byte{}})
}

// tiles reads tiles for one checkpoint, each once.
type tiles struct {
	ctx   context.Context // of the call that the reader is made for
	log   *Log
	tiles map[tlog.Tile][]byte
}

// Height is that of all tiles.
func (t *tiles) Height() int { return tileHeight }

// SaveTiles keeps tiles that were checked.
func (t *tiles) SaveTiles(list []tlog.Tile, data [][]byte) {
	for i, tile := range list {
		t.tiles[tile] = data[i]
	}
}

// ReadTiles reads tiles.
func (t *tiles) ReadTiles(list []tlog.Tile) ([][]byte, error) {
	all := make([][]byte, len(list))
	for i, tile := range list {
		if all[i] = t.tiles[tile]; all[i] != nil {
			continue
		}
		data, err := t.log.tile(t.ctx, tile)
		if err != nil {
			return nil, &tileError{err}
		}
		if len(data) < tile.W*tlog.HashSize {
			return nil, unproven("the tile %s has %d bytes", tilePath(tile), len(data))
		}
		all[i] = data[:tile.W*tlog.HashSize]
	}
	return all, nil
}

// tile reads a tile: as wide as it is wanted or, where that is there no more because the log has grown, full.
func (l *Log) tile(ctx context.Context, tile tlog.Tile) ([]byte, error) {
	data, err := l.get(ctx, api.PathLog+tilePath(tile), nil)
	refused, _ := errors.AsType[*api.Error](err)
	if refused == nil || refused.Status != http.StatusNotFound || tile.W == 1<<tileHeight {
		return data, err
	}
	tile.W = 1 << tileHeight
	return l.get(ctx, api.PathLog+tilePath(tile), nil)
}

// tilePath is where a tile is, as C2SP tlog-tiles has it: without the height, and with entries in place of data.
func tilePath(tile tlog.Tile) string {
	rest := strings.TrimPrefix(tile.Path(), fmt.Sprintf("tile/%d/", tileHeight))
	if level, ok := strings.CutPrefix(rest, "data/"); ok {
		rest = "entries/" + level
	}
	return "/tile/" + rest
}

// tileError is that a tile could not be read, which proves nothing.
type tileError struct{ err error }

func (e *tileError) Error() string { return e.err.Error() }
func (e *tileError) Unwrap() error { return e.err }

// proofOfTiles is what an error of reading hashes means: either no answer, or tiles that are not those of the checkpoint.
func proofOfTiles(err error) error {
	if lost, ok := errors.AsType[*tileError](err); ok {
		return lost.err
	}
	if asProof(err) != nil {
		return err
	}
	return unproven("the hashes that the log serves are not those of its checkpoint: %w", err)
}
