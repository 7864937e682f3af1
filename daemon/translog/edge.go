package translog

import (
	"fmt"
	"math/bits"

	"golang.org/x/mod/sumdb/tlog"
)

// Edge is what a log is appended to with: the tiles that are not full, and the roots of the full trees that it consists of. Those hash to
// the root of the log, so that an Edge with the root of a log is that of the log. The zero Edge is that of an empty one. It is not safe
// for concurrent use.
type Edge struct {
	size  int64
	tiles [][]byte    // by level
	trees []tlog.Hash // of sizes that are powers of two, the largest first
}

// ReadEdge reads the Edge of a log of size leaves.
func ReadEdge(size int64, read ReadTile) (*Edge, error) {
	e := &Edge{size: size}
	for level := 0; size>>(level*Height) > 0; level++ {
		have := size >> (level * Height)
		n, used := have/Width, int(have%Width)
		var hashes []byte
		if used > 0 {
			var err error
			if hashes, err = read(level, n); err != nil {
				return nil, err
			}
		}
		if len(hashes) != used*HashSize {
			return nil, fmt.Errorf("%w: tile %d of level %d has %d bytes, not %d", ErrDamaged, n, level, len(hashes), used*HashSize)
		}
		e.tiles = append(e.tiles, append(make([]byte, 0, Width*HashSize), hashes...))
	}
	for level := len(e.tiles) - 1; level >= 0; level-- {
		for left := e.tiles[level]; len(left) > 0; {
			tree := HashSize << (bits.Len(uint(len(left)/HashSize)) - 1)
			e.trees, left = append(e.trees, fold(left[:tree])), left[tree:]
		}
	}
	return e, nil
}

// Root is the hash of the log, the zero one of an empty log.
func (e *Edge) Root() (root tlog.Hash) {
	for i := len(e.trees) - 1; i >= 0; i-- {
		if i == len(e.trees)-1 {
			root = e.trees[i]
		} else {
			root = tlog.NodeHash(e.trees[i], root)
		}
	}
	return root
}

// Append adds a leaf, and returns its hash and the tiles that change, those of a level above behind those below.
func (e *Edge) Append(leaf []byte) (hash tlog.Hash, changed []Tile, err error) {
	if len(leaf) > MaxLeaf {
		return hash, nil, fmt.Errorf("a leaf has %d bytes, at most %d", len(leaf), MaxLeaf)
	}
	hash = tlog.RecordHash(leaf)
	tree := hash // of 2^height leaves, the last of which is the new one
	for height := 0; ; height++ {
		if level := height / Height; height%Height == 0 {
			if level == len(e.tiles) {
				e.tiles = append(e.tiles, nil)
			}
			changed = append(changed, e.grow(level, tree))
		}
		if e.size>>height&1 == 0 {
			break
		}
		last := len(e.trees) - 1
		tree, e.trees = tlog.NodeHash(e.trees[last], tree), e.trees[:last]
	}
	e.trees = append(e.trees, tree)
	e.size++
	return hash, changed, nil
}

// grow puts a hash behind those of the tile of a level that is not full.
func (e *Edge) grow(level int, hash tlog.Hash) Tile {
	hashes := e.tiles[level]
	if hashes == nil {
		hashes = make([]byte, 0, Width*HashSize)
	}
	hashes = append(hashes, hash[:]...)
	if e.tiles[level] = hashes; len(hashes) == Width*HashSize {
		e.tiles[level] = nil // what was returned stays as it is
	}
	return Tile{level, e.size >> (level * Height) / Width, hashes}
}

func fold(hashes []byte) tlog.Hash {
	if len(hashes) == HashSize {
		return tlog.Hash(hashes)
	}
	half := len(hashes) / 2
	return tlog.NodeHash(fold(hashes[:half]), fold(hashes[half:]))
}
