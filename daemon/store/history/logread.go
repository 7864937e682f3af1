package history

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/contextd/contextd/daemon/store/database"
	"github.com/contextd/contextd/daemon/translog"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

var _ translog.Store = (*History)(nil)

// heads are the logs that go on as they were read last, so that nobody who asks for a checkpoint waits for the database.
type heads struct {
	mu       sync.Mutex // guards what follows
	key      string     // public, "" while nobody signs
	byPack   map[string]log
	revision map[string]int // counts what is written to a pack's log: what was read before does not hold
	edges    map[int64]*translog.Edge
}

// take removes the edge of a log, nil for none, which is the caller's from then on.
func (h *heads) take(id int64) *translog.Edge {
	h.mu.Lock()
	defer h.mu.Unlock()
	e := h.edges[id]
	delete(h.edges, id)
	return e
}

// cache puts the edge of a log where take finds it.
func (h *heads) cache(id int64, e *translog.Edge) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.edges == nil {
		h.edges = map[int64]*translog.Edge{}
	}
	h.edges[id] = e
}

func (h *heads) publicKey() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.key
}

// forget drops what is known of the log of pack, which may be another now.
func (h *heads) forget(pack string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.byPack, pack)
	if h.revision == nil {
		h.revision = map[string]int{}
	}
	h.revision[pack]++
}

func (h *heads) forgetAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	clear(h.byPack)
	for pack := range h.revision {
		h.revision[pack]++
	}
}

// LogHead is the log of pack that goes on, as far as it is on disk; the zero head for none.
func (h *History) LogHead(ctx context.Context, pack string) (api.LogHead, error) {
	h.logs.mu.Lock()
	l, known := h.logs.byPack[pack]
	revision := h.logs.revision[pack]
	h.logs.mu.Unlock()
	if known {
		return l.LogHead, nil
	}
	l, err := goingOn(ctx, h.db.Read, pack)
	if err != nil || l.id == 0 { // of packs that are none nothing is kept
		return api.LogHead{}, err
	}
	h.logs.mu.Lock()
	defer h.logs.mu.Unlock()
	if revision == h.logs.revision[pack] {
		if h.logs.byPack == nil {
			h.logs.byPack = map[string]log{}
		}
		h.logs.byPack[pack] = l
	}
	return l.LogHead, nil
}

func (h *History) idOf(ctx context.Context, origin string) (id int64, err error) {
	if err = h.db.Read.QueryRowContext(ctx, "SELECT id FROM logs WHERE origin = ?", origin).Scan(&id); err != nil {
		return 0, fmt.Errorf("look for log %s: %w", origin, err)
	}
	return id, nil
}

// LogTile are the hashes that are stored of a tile of the log of an origin, nil for none.
func (h *History) LogTile(ctx context.Context, origin string, level int, n int64) ([]byte, error) {
	id, err := h.idOf(ctx, origin)
	if err != nil {
		return nil, err
	}
	return readTile(ctx, h.db.Read, id)(level, n)
}

// LogBundle are the leaves of a tile of level 0, as a bundle.
func (h *History) LogBundle(ctx context.Context, origin string, n int64) ([]byte, error) {
	id, err := h.idOf(ctx, origin)
	if err != nil {
		return nil, err
	}
	bundle, err := h.packed(ctx, h.db.Read, id, n)
	if err != nil || bundle != nil {
		return bundle, err
	}
	bundle, err = leaves(ctx, h.db.Read, id, n)
	if err != nil || len(bundle) > 0 && bundle[0]|bundle[1] != 0 {
		return bundle, err
	}
	return h.packed(ctx, h.db.Read, id, n) // it was put together meanwhile
}

// packed is a bundle that was put together, nil where it was not.
func (h *History) packed(ctx context.Context, db database.Querier, id, n int64) ([]byte, error) {
	var body []byte
	err := db.QueryRowContext(ctx, "SELECT body FROM log_bundles WHERE log = ? AND n = ?", id, n).Scan(&body)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read leaves: %w", err)
	}
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxBundle))
	if err != nil {
		return nil, fmt.Errorf("read leaves: %w", err)
	}
	defer decoder.Close()
	bundle, err := decoder.DecodeAll(body, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: bundle %d: %w", translog.ErrDamaged, n, err)
	}
	return bundle, nil
}

// LogBefore is the newest leaf of a state that was made before t; ok is false for none.
func (h *History) LogBefore(ctx context.Context, origin string, t time.Time) (seq int64, ok bool, err error) {
	id, err := h.idOf(ctx, origin)
	if err != nil {
		return 0, false, err
	}
	before := t.Add(time.Millisecond - 1).UnixMilli()
	err = h.db.Read.QueryRowContext(ctx, "SELECT seq FROM log_leaves WHERE log = ? AND kind = ? AND at < ? ORDER BY at DESC LIMIT 1",
		id, kindState, before).Scan(&seq)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("look for a leaf: %w", err)
	}
	return seq, true, nil
}

// KeepAnchor keeps a checkpoint that witnesses signed, the first of its hour: of that, the one which most of them signed.
func (h *History) KeepAnchor(ctx context.Context, head api.LogHead, at time.Time, signatures int, checkpoint string) error {
	id, err := h.idOf(ctx, head.Origin)
	if err != nil {
		return err
	}
	return h.db.Tx(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO log_anchors (log, hour, size, signatures, checkpoint) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT (log, hour) DO UPDATE SET signatures = excluded.signatures, checkpoint = excluded.checkpoint
			WHERE log_anchors.size = excluded.size AND log_anchors.signatures < excluded.signatures`,
			id, at.Unix()/3600, head.Size, signatures, checkpoint)
		if err != nil {
			return fmt.Errorf("keep a checkpoint of %s: %w", head.Origin, err)
		}
		return nil
	})
}

// Anchor is the first checkpoint that KeepAnchor kept of a log with leaf seq in it, and its size; 0 for none.
func (h *History) Anchor(ctx context.Context, origin string, seq int64) (size int64, checkpoint string, err error) {
	id, err := h.idOf(ctx, origin)
	if err != nil {
		return 0, "", err
	}
	err = h.db.Read.QueryRowContext(ctx, "SELECT size, checkpoint FROM log_anchors WHERE log = ? AND size > ? ORDER BY size LIMIT 1",
		id, seq).Scan(&size, &checkpoint)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, "", nil
	}
	if err != nil {
		return 0, "", fmt.Errorf("look for a checkpoint of %s: %w", origin, err)
	}
	return size, checkpoint, nil
}

// proofOfBrief is the proof of a brief: that of its state where it was written with that.
func proofOfBrief(ctx context.Context, db database.Querier, pack string, b state.Brief, withState bool) (api.Proof, error) {
	if withState {
		return proof(ctx, db, pack, kindState, b.Of)
	}
	return proof(ctx, db, pack, kindBrief, b.At)
}

// LogKey is the public key that the logs that go on were signed with, "" for none.
func (h *History) LogKey(ctx context.Context) (public string, err error) {
	err = h.db.Read.QueryRowContext(ctx, "SELECT coalesce(max(public_key), '') FROM logs WHERE ended = 0").Scan(&public)
	if err != nil {
		return "", fmt.Errorf("look for the key of the logs: %w", err)
	}
	return public, nil
}

// SignLogs notes the public key that the logs that go on, and those that begin, are signed with.
func (h *History) SignLogs(ctx context.Context, public string) error {
	h.logs.mu.Lock()
	h.logs.key = public
	h.logs.mu.Unlock()
	return h.db.Exec(ctx, "UPDATE logs SET public_key = ? WHERE ended = 0 AND public_key = ''", public)
}

// ProofOfBrief is the leaf of a brief that was told: the one of the time when it was written, or of the state that it was written with,
// where that has the hash of its text. It is zero for a text by an owner's prompt, and where the log is not the one of then.
func (h *History) ProofOfBrief(ctx context.Context, pack string, b state.Brief) (api.Proof, error) {
	for _, withState := range []bool{false, true} {
		p, err := proofOfBrief(ctx, h.db.Read, pack, b, withState)
		if err != nil {
			return api.Proof{}, err
		}
		if p.Log == "" {
			continue
		}
		bundle, err := h.LogBundle(ctx, p.Log, p.Seq/translog.Width)
		if err != nil {
			return api.Proof{}, err
		}
		list, err := translog.Entries(bundle)
		var leaf api.LogLeaf
		if i := p.Seq % translog.Width; err == nil && i < int64(len(list)) {
			err = json.Unmarshal(list[i], &leaf)
		}
		if err == nil && leaf.Brief == digest([]byte(b.Text)) {
			return p, nil
		}
	}
	return api.Proof{}, nil
}

// Leaf is a leaf of a log, and what it is of.
type Leaf struct {
	Seq   int64
	Brief bool      // it is of a brief that was written later, else of a state
	At    time.Time // when that was made
}

// Leaves are the leaves of the log of an origin behind the place after, at most limit, in their order.
func (h *History) Leaves(ctx context.Context, origin string, after int64, limit int) ([]Leaf, error) {
	return database.Query(ctx, h.db.Read, func(rows *sql.Rows) (l Leaf, err error) {
		var at sql.NullInt64
		err = rows.Scan(&l.Seq, &l.Brief, &at)
		l.At = database.FromMillis(at)
		return l, err
	}, `SELECT seq, kind = 1, at FROM log_leaves WHERE log = (SELECT id FROM logs WHERE origin = ?) AND seq > ? ORDER BY seq LIMIT ?`,
		origin, after, limit)
}

// BriefAt is the brief of pack that was written later, at a time, with its proof; a zero one where it is kept no longer.
func (h *History) BriefAt(ctx context.Context, pack string, at time.Time) (b state.Brief, err error) {
	list, err := database.Query(ctx, h.db.Read, func(rows *sql.Rows) (b state.Brief, err error) {
		var written, of sql.NullInt64
		err = rows.Scan(&written, &of, &b.Writer, &b.Text)
		b.At, b.Of = database.FromMillis(written), database.FromMillis(of)
		return b, err
	}, `SELECT written_at, generated_at, writer, text FROM briefs WHERE pack = ? AND written_at = ? AND with_state = 0`,
		pack, at.UnixMilli())
	if err != nil || len(list) == 0 {
		return b, err
	}
	b = list[0]
	b.Proof, err = proof(ctx, h.db.Read, pack, kindBrief, b.At)
	return b, err
}
