package translog

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/jsonx"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// rowTree is the tree of the rows of a state: its leaves in their order, and all hashes that tlog stores of it.
type rowTree struct {
	of     *state.Tables
	texts  [][]byte
	place  map[[2]string]int64 // by kind and key
	hashes []tlog.Hash
}

// ReadHashes makes it a tlog.HashReader.
func (t *rowTree) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	list := make([]tlog.Hash, len(indexes))
	for i, x := range indexes {
		if x < 0 || x >= int64(len(t.hashes)) {
			return nil, fmt.Errorf("the rows have no hash %d", x)
		}
		list[i] = t.hashes[x]
	}
	return list, nil
}

func newRowTree(tables *state.Tables) (*rowTree, error) {
	rows := slices.Clone(tables.Rows())
	slices.SortFunc(rows, func(a, b state.Row) int {
		if a.Kind != b.Kind {
			return strings.Compare(a.Kind, b.Kind)
		}
		return strings.Compare(a.Key, b.Key)
	})
	t := &rowTree{of: tables, texts: make([][]byte, len(rows)), place: make(map[[2]string]int64, len(rows))}
	for i, r := range rows {
		fields := r.Fields
		if fields == nil {
			fields = api.Fields{}
		}
		text, err := jsonx.Encode(api.LogRow{Kind: r.Kind, Key: r.Key, Entity: r.Entity, Name: r.Name, Symbol: r.Symbol, Fields: fields,
			Ref: r.Ref, URL: r.URL, Of: r.Of, FetchedAt: r.FetchedAt})
		if err != nil {
			return nil, fmt.Errorf("encode row %s/%s: %w", r.Kind, r.Key, err)
		}
		t.texts[i], t.place[[2]string{r.Kind, r.Key}] = text, int64(i)
		more, err := tlog.StoredHashes(int64(i), text, t)
		if err != nil {
			return nil, err
		}
		t.hashes = append(t.hashes, more...)
	}
	return t, nil
}

// root is the hash of the rows in hex, as a leaf has it: that of no rows too.
func (t *rowTree) root() (string, error) {
	root, err := tlog.TreeHash(int64(len(t.texts)), t)
	if err != nil {
		return "", err
	}
	return hex.EncodeToString(root[:]), nil
}

// RowsRoot is the root of the tree of the rows of a state, as its leaf has it.
func RowsRoot(tables *state.Tables) (string, error) {
	t, err := newRowTree(tables)
	if err != nil {
		return "", err
	}
	return t.root()
}

// Row is a row of the newest state of pack with what proves it, as JSON, with its headers. What a leaf from before rows were logged, or
// rows that have been told otherwise since, cannot prove is not found.
func (l *Logs) Row(ctx context.Context, pack, kind, key string) (Answer, error) {
	log, err := l.head(ctx, pack)
	if err != nil {
		return Answer{}, err
	}
	tables, of := l.tables(pack)
	if tables == nil || of.Log != log.Origin || of.Seq >= log.Size {
		return Answer{}, api.Errorf(api.ReasonNotFound, "the rows of %s are not in its log yet", pack).
			WithHint("they are with its next state")
	}
	if tables.Row(kind, key) == nil {
		return Answer{}, api.Errorf(api.ReasonNotFound, "the newest state of %s has no row %s/%s", pack,
			human.Short(kind, human.Quoted), human.Short(key, human.Quoted)).
			WithHint("kind and key are those of a row of lookup or query; rows of older states are not proven")
	}
	return l.cached(l.name(nameRow+kind+"/"+key, log, of.Seq), func() (Answer, error) { return l.row(ctx, log, tables, of.Seq, kind, key) })
}

func (l *Logs) row(ctx context.Context, log api.LogHead, tables *state.Tables, seq int64, kind, key string) (Answer, error) {
	tree, err := l.treeOf(log.Origin, tables)
	if err != nil {
		return Answer{}, err
	}
	entry, _, err := l.proven(ctx, log, seq)
	if err != nil {
		return Answer{}, err
	}
	var leaf api.LogLeaf
	if err := json.Unmarshal([]byte(entry.Leaf), &leaf); err != nil {
		return Answer{}, fmt.Errorf("%w: leaf %d is not JSON: %w", ErrDamaged, seq, err)
	}
	root, err := tree.root()
	if err != nil {
		return Answer{}, err
	}
	if root != leaf.Tables {
		return Answer{}, api.Errorf(api.ReasonNotFound, "leaf %d is not of the rows that are told now", seq).
			WithHint("the next state has a leaf with its rows")
	}
	place := tree.place[[2]string{kind, key}]
	proof, err := tlog.ProveRecord(int64(len(tree.texts)), place, tree)
	if err != nil {
		return Answer{}, err
	}
	return answerJSON(api.LogRowEntry{LogEntry: entry, Row: string(tree.texts[place]), Place: place, Rows: int64(len(tree.texts)),
		RowProof: inBase64(proof)}, true)
}

// treeOf is the tree of the newest rows of a log, which is made for the first who asks.
func (l *Logs) treeOf(origin string, tables *state.Tables) (*rowTree, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t := l.trees[origin]; t != nil && t.of == tables {
		return t, nil
	}
	t, err := newRowTree(tables)
	if err == nil {
		l.trees[origin] = t
	}
	return t, err
}
