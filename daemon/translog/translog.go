// Package translog is the arithmetic of the transparency logs: hashes, tiles, proofs and signed checkpoints, in the forms of C2SP
// (tlog-tiles, tlog-checkpoint), so that any verifier of those can follow a log.
//
// A log has leaves, numbered from 0. Their hashes stand in tiles of 256: tile n of level 0 has those of the leaves from 256 n on, and
// each hash of a tile of the level above is that of a full tile below. Nothing else is stored of the tree: every other hash, the root
// and all proofs are computed of at most one tile a level.
//
// # One leaf
//
// A log has 511 leaves. Tile 0 of level 0 is full, tile 1 has 255 hashes, and tile 0 of level 1 has one: that of the full tile. A state
// is published, and its leaf becomes number 511:
//
//  1. An Edge has tile 1 of level 0 and tile 0 of level 1. Append puts the hash of the leaf behind the 255, and as that tile is full now,
//     its hash behind the one of level 1. It returns both tiles, and Root is that of 512 leaves: the hash of the two hashes of level 1.
//     daemon/store/history stores them with the leaf and the state, in one transaction.
//  2. Somebody asks for the checkpoint: Key.Sign makes a note of the origin, "512" and the root, and signs it.
//  3. Somebody asks for leaf 3: Prove returns nine hashes. The first eight are within tile 0: that of leaf 2, then of the leaves 0 to 1,
//     4 to 7 and so on to 128 to 255. The last is that of tile 1. Hashed together with the leaf's in the order of its number they give
//     the root that was signed.
//
// A proof says that the service said something, not that it is true.
package translog

import (
	"errors"
	"fmt"
	"strings"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/contextd/contextd/sdk/api"
)

const (
	// Height is that of the tiles.
	Height = 8
	// Width is how many hashes a full tile has, and how many leaves a full bundle.
	Width = 1 << Height
	// HashSize is the size of a hash in bytes.
	HashSize = tlog.HashSize
	// MaxLeaf is how long a leaf may be in bytes: a bundle says it in 16 bits.
	MaxLeaf = 1<<16 - 1
)

// ErrDamaged is in the chain of the error for a stored tile or bundle that is not as it was written.
var ErrDamaged = errors.New("the log is damaged")

// Tile is a stored tile.
type Tile struct {
	Level  int
	N      int64
	Hashes []byte
}

// ReadTile reads the hashes that are stored of a tile, nil for none.
type ReadTile func(level int, n int64) ([]byte, error)

// Prove returns the hashes that lead from leaf seq to the root of a log of size leaves.
func Prove(size, seq int64, read ReadTile) (tlog.RecordProof, error) {
	return tlog.ProveRecord(size, seq, reader(size, read))
}

// reader reads the hashes of a log of size leaves from its tiles, each of them once.
func reader(size int64, read ReadTile) tlog.HashReader {
	type place struct {
		level int
		n     int64
	}
	tiles := map[place][]byte{}
	return tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		list := make([]tlog.Hash, len(indexes))
		for i, x := range indexes {
			t := tlog.TileForIndex(Height, x)
			at := place{t.L, t.N}
			hashes, known := tiles[at]
			if !known {
				var err error
				if hashes, err = read(t.L, t.N); err != nil {
					return nil, err
				}
				tiles[at] = hashes
			}
			if want := Stored(size, t.L, t.N); len(hashes) < want*HashSize {
				return nil, fmt.Errorf("%w: tile %d of level %d has %d bytes, not %d", ErrDamaged, t.N, t.L, len(hashes), want*HashSize)
			}
			var err error
			if list[i], err = tlog.HashFromTile(t, hashes, x); err != nil {
				return nil, err
			}
		}
		return list, nil
	})
}

// Stored is how many hashes tile n of a level has in a log of size leaves.
func Stored(size int64, level int, n int64) int {
	if n < 0 || n > size {
		return 0
	}
	return int(max(0, min(size>>(level*Height)-n<<Height, Width)))
}

// Part is what the path of a tile or bundle asks for.
type Part struct {
	Entries bool // a bundle of leaves; else a tile
	Level   int
	N       int64
	Width   int // of what is asked for, Width where it is full
}

// ParsePart reads the path of a tile or bundle behind "tile/", as C2SP tlog-tiles has it: "0/x001/234", "1/000.p/17", "entries/012.p/3".
func ParsePart(path string) (p Part, ok bool) {
	level, rest, found := strings.Cut(path, "/")
	if !found || level == "data" {
		return p, false
	}
	if p.Entries = level == "entries"; p.Entries {
		level = "data"
	}
	t, err := tlog.ParseTilePath(fmt.Sprintf("tile/%d/%s/%s", Height, level, rest))
	if err != nil || t.L >= 63/Height {
		return p, false
	}
	p.Level, p.N, p.Width = max(t.L, 0), t.N, t.W
	return p, true
}

// AppendEntry appends a leaf to a bundle.
func AppendEntry(bundle, leaf []byte) []byte {
	return append(append(bundle, byte(len(leaf)>>8), byte(len(leaf))), leaf...)
}

// Entries are the leaves of a bundle.
func Entries(bundle []byte) (list [][]byte, err error) {
	for len(bundle) > 0 {
		if len(bundle) < 2 {
			return nil, fmt.Errorf("%w: a bundle ends in the length of a leaf", ErrDamaged)
		}
		n := int(bundle[0])<<8 | int(bundle[1])
		if bundle = bundle[2:]; len(bundle) < n {
			return nil, fmt.Errorf("%w: a bundle ends in a leaf", ErrDamaged)
		}
		list = append(list, bundle[:n:n])
		bundle = bundle[n:]
	}
	return list, nil
}

// LeafHash is the hash of a leaf, as the API has it.
func LeafHash(leaf []byte) string { return tlog.RecordHash(leaf).String() }

// Head is the head of a log as the API has it.
func Head(origin string, size int64, root tlog.Hash) api.LogHead {
	return api.LogHead{Origin: origin, Size: size, Root: root.String()}
}
