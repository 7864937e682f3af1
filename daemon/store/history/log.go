package history

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/contextd/contextd/daemon/store/database"
	"github.com/contextd/contextd/daemon/translog"
	"github.com/contextd/contextd/internal/build"
	"github.com/contextd/contextd/internal/jsonx"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// Kinds of leaves as they are stored.
const (
	kindState = 0
	kindBrief = 1
)

// maxBundle bounds what a bundle may decompress to.
const maxBundle = translog.Width * (translog.MaxLeaf + 2)

type log struct {
	id int64
	api.LogHead
	key string
}

// goingOn is the log of pack that goes on, the zero log for none.
func goingOn(ctx context.Context, db database.Querier, pack string) (l log, err error) {
	err = db.QueryRowContext(ctx, "SELECT id, origin, size, root, public_key FROM logs WHERE pack = ? AND ended = 0", pack).
		Scan(&l.id, &l.Origin, &l.Size, &l.Root, &l.key)
	if errors.Is(err, sql.ErrNoRows) {
		return log{}, nil
	}
	if err != nil {
		return l, fmt.Errorf("look for the log of %s: %w", pack, err)
	}
	return l, nil
}

// begin begins a log of pack, and returns the head of the one that it follows, nil for none.
func (h *History) begin(ctx context.Context, tx *sql.Tx, pack string) (l log, previous *api.LogHead, err error) {
	var last api.LogHead
	err = tx.QueryRowContext(ctx, "SELECT origin, size, root FROM logs WHERE pack = ? ORDER BY id DESC LIMIT 1", pack).
		Scan(&last.Origin, &last.Size, &last.Root)
	if err == nil {
		previous = &last
	} else if !errors.Is(err, sql.ErrNoRows) {
		return l, nil, fmt.Errorf("look for the last log of %s: %w", pack, err)
	}
	var demo bool
	if err := tx.QueryRowContext(ctx, "SELECT (SELECT coalesce(max(id), 0) FROM logs) + 1, EXISTS (SELECT 1 FROM origin)").
		Scan(&l.id, &demo); err != nil {
		return l, nil, fmt.Errorf("begin a log of %s: %w", pack, err)
	}
	name, unique := "contextd", make([]byte, 8)
	if demo {
		name = "contextd-demo"
	}
	if _, err := rand.Read(unique); err != nil {
		return l, nil, fmt.Errorf("begin a log of %s: %w", pack, err)
	}
	l.Origin, l.key = fmt.Sprintf("%s/%s/%s", name, hex.EncodeToString(unique), pack), h.logs.publicKey()
	_, err = tx.ExecContext(ctx, `INSERT INTO logs (id, pack, origin, public_key, size, root, appended_at, ended)
		VALUES (?, ?, ?, ?, 0, '', 0, 0)`, l.id, pack, l.Origin, l.key)
	if err != nil {
		return l, nil, fmt.Errorf("begin a log of %s: %w", pack, err)
	}
	return l, previous, nil
}

// appendLeaf adds leaf to the log of its pack, as the next one. at is when what it is about was made, and is stored with it.
func (h *History) appendLeaf(ctx context.Context, tx *sql.Tx, leaf api.LogLeaf) (api.Proof, error) {
	l, err := goingOn(ctx, tx, leaf.Pack)
	if err != nil {
		return api.Proof{}, err
	}
	if l.id != 0 {
		proof, err := h.appendTo(ctx, tx, l, leaf)
		if !errors.Is(err, translog.ErrDamaged) {
			return proof, err
		}
		// What cannot be gone on with is followed by another, which says so: a service that stops would say nothing.
		if err := endLogs(ctx, tx, leaf.Pack); err != nil {
			return api.Proof{}, err
		}
	}
	if l, leaf.Previous, err = h.begin(ctx, tx, leaf.Pack); err != nil {
		return api.Proof{}, err
	}
	return h.appendTo(ctx, tx, l, leaf)
}

// appendTo is appendLeaf to a log. It writes nothing where that is damaged.
func (h *History) appendTo(ctx context.Context, tx *sql.Tx, l log, leaf api.LogLeaf) (api.Proof, error) {
	leaf.V, leaf.Seq, leaf.Code = 1, l.Size, build.Code()
	if leaf.Kind == api.LeafState {
		leaf.Arch = runtime.GOARCH
	}
	kind := kindState
	if leaf.Kind == api.LeafBrief {
		kind = kindBrief
		if err := stateOf(ctx, tx, l, &leaf); err != nil {
			return api.Proof{}, err
		}
	}
	body, err := encodeLeaf(leaf)
	if err != nil {
		return api.Proof{}, fmt.Errorf("encode leaf of %s: %w", leaf.Pack, err)
	}
	edge, err := h.edge(ctx, tx, l)
	if err != nil {
		return api.Proof{}, fmt.Errorf("append to %s: %w", l.Origin, err)
	}
	hash, tiles, err := edge.Append(body)
	if err != nil {
		return api.Proof{}, fmt.Errorf("append to %s: %w", l.Origin, err)
	}
	for _, t := range tiles {
		if _, err := tx.ExecContext(ctx, `INSERT INTO log_tiles (log, level, n, hashes) VALUES (?, ?, ?, ?)
			ON CONFLICT (log, level, n) DO UPDATE SET hashes = excluded.hashes`, l.id, t.Level, t.N, t.Hashes); err != nil {
			return api.Proof{}, fmt.Errorf("write tile of %s: %w", l.Origin, err)
		}
	}
	at := leaf.GeneratedAt.UnixMilli()
	_, err = tx.ExecContext(ctx, "INSERT INTO log_leaves (log, seq, kind, at, body) VALUES (?, ?, ?, ?, ?)", l.id, l.Size, kind, at, body)
	if err == nil {
		root := edge.Root().String()
		_, err = tx.ExecContext(ctx, "UPDATE logs SET size = ?, root = ?, appended_at = ? WHERE id = ?", l.Size+1, root, at, l.id)
	}
	if err == nil && (l.Size+1)%translog.Width == 0 {
		err = h.bundle(ctx, tx, l.id, l.Size/translog.Width)
	}
	if err != nil {
		return api.Proof{}, fmt.Errorf("write leaf of %s: %w", l.Origin, err)
	}
	h.logs.cache(l.id, edge)
	return api.Proof{Log: l.Origin, Seq: l.Size, Leaf: hex.EncodeToString(hash[:])}, nil
}

// edge takes the edge of a log, or reads it. What is at hand may be of a transaction that was rolled back, or others may have appended
// since: it holds while it has the root that is stored.
func (h *History) edge(ctx context.Context, tx *sql.Tx, l log) (*translog.Edge, error) {
	e := h.logs.take(l.id)
	if e != nil && e.Root().String() == l.Root {
		return e, nil
	}
	e, err := translog.ReadEdge(l.Size, readTile(ctx, tx, l.id))
	if err == nil && l.Size > 0 && e.Root().String() != l.Root {
		err = fmt.Errorf("%w: its tiles hash to %s, not to its root %s", translog.ErrDamaged, e.Root(), l.Root)
	}
	return e, err
}

// encodeLeaf is the text of a leaf. One that is too long for a bundle does without the hashes of the sources that have most, and says so:
// a state is not refused for what it was made of.
func encodeLeaf(leaf api.LogLeaf) (body []byte, err error) {
	leaf.Sources = slices.Clone(leaf.Sources)
	for {
		if body, err = jsonx.Encode(leaf); err != nil || len(body) <= translog.MaxLeaf || len(leaf.Sources) == 0 {
			return body, err
		}
		most := &leaf.Sources[0]
		for i := range leaf.Sources {
			if s := &leaf.Sources[i]; len(s.Bodies) > len(most.Bodies) {
				most = s
			}
		}
		if len(most.Bodies) == 0 {
			leaf.Sources = nil
			continue
		}
		most.Bodies, most.Omitted = []string{}, most.Omitted+len(most.Bodies)
	}
}

// stateOf sets in the leaf of a brief what it says of its state, which Of names by its time.
func stateOf(ctx context.Context, tx *sql.Tx, l log, leaf *api.LogLeaf) error {
	err := tx.QueryRowContext(ctx, "SELECT version FROM pulses WHERE pack = ? AND generated_at = ?", leaf.Pack, *leaf.Of).
		Scan(&leaf.PackVersion)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("look for the state of a brief: %w", err)
	}
	var seq int64
	err = tx.QueryRowContext(ctx, "SELECT seq FROM log_leaves WHERE log = ? AND kind = ? AND at = ?", l.id, kindState, *leaf.Of).Scan(&seq)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		leaf.Of = nil
	case err != nil:
		return fmt.Errorf("look for the state of a brief: %w", err)
	default:
		leaf.Of = &seq
	}
	return nil
}

// bundle puts the leaves of a full tile together. Their rows are written again without them: SQLite would leave rows that shrink on as
// many pages as before.
func (h *History) bundle(ctx context.Context, tx *sql.Tx, id, n int64) error {
	whole, err := leaves(ctx, tx, id, n)
	if err != nil {
		return err
	}
	const these = " FROM log_leaves WHERE log = ? AND seq >= ? AND seq < ?"
	rows, err := database.Query(ctx, tx, func(rows *sql.Rows) (r [3]any, err error) { return r, rows.Scan(&r[0], &r[1], &r[2]) },
		"SELECT seq, kind, at"+these, id, n*translog.Width, (n+1)*translog.Width)
	if err != nil || len(rows) == 0 {
		return err
	}
	packed := h.codec.plainEncoder.EncodeAll(whole, nil)
	_, err = tx.ExecContext(ctx, "INSERT INTO log_bundles (log, n, body) VALUES (?, ?, ?)", id, n, packed)
	if err == nil {
		_, err = tx.ExecContext(ctx, "DELETE"+these, id, n*translog.Width, (n+1)*translog.Width)
	}
	if err != nil {
		return err
	}
	values := make([]any, 0, 4*len(rows))
	for _, r := range rows {
		values = append(values, id, r[0], r[1], r[2])
	}
	_, err = tx.ExecContext(ctx, "INSERT INTO log_leaves (log, seq, kind, at) VALUES (?, ?, ?, ?)"+
		strings.Repeat(", (?, ?, ?, ?)", len(rows)-1), values...)
	return err
}

// leaves are those of a tile that are in no bundle, as a bundle.
func leaves(ctx context.Context, db database.Querier, id, n int64) (bundle []byte, err error) {
	list, err := database.Query(ctx, db, func(rows *sql.Rows) (body []byte, err error) { return body, rows.Scan(&body) },
		"SELECT body FROM log_leaves WHERE log = ? AND seq >= ? AND seq < ? ORDER BY seq", id, n*translog.Width, (n+1)*translog.Width)
	for _, body := range list {
		bundle = translog.AppendEntry(bundle, body)
	}
	return bundle, err
}

func readTile(ctx context.Context, db database.Querier, id int64) translog.ReadTile {
	return func(level int, n int64) (hashes []byte, err error) {
		err = db.QueryRowContext(ctx, "SELECT hashes FROM log_tiles WHERE log = ? AND level = ? AND n = ?", id, level, n).Scan(&hashes)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return nil, fmt.Errorf("read tile: %w", err)
		}
		return hashes, nil
	}
}

// digest is the hash of what a leaf is about, "" for nothing.
func digest(text []byte) string {
	if len(text) == 0 {
		return ""
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

func stateLeaf(p state.Pulse, b state.Brief) api.LogLeaf {
	return api.LogLeaf{
		Kind: api.LeafState, Pack: p.Pack, PackVersion: p.Version, GeneratedAt: p.GeneratedAt.UTC(), State: digest(p.State),
		Brief: digest([]byte(b.Text)), Sources: p.Made.Sources, Digest: p.Made.Digest, Every: p.Made.Every.Seconds(), Tables: p.Made.Tables,
		NotBefore: p.Made.NotBefore,
	}
}

func briefLeaf(pack string, b state.Brief) api.LogLeaf {
	of := b.Of.UnixMilli() // until it is appended
	return api.LogLeaf{
		Kind: api.LeafBrief, Pack: pack, GeneratedAt: b.At.UTC(), Brief: digest([]byte(b.Text)), Of: &of,
	}
}

// proof is that of what was made at a time, in the log of pack that goes on; zero where it is not in that.
func proof(ctx context.Context, db database.Querier, pack string, kind int, at time.Time) (p api.Proof, err error) {
	var hash []byte
	err = db.QueryRowContext(ctx, `SELECT logs.origin, l.seq, substr(t.hashes, CAST(l.seq % 256 * 32 + 1 AS INTEGER), 32)
		FROM logs JOIN log_leaves AS l ON l.log = logs.id JOIN log_tiles AS t ON t.log = l.log AND t.level = 0 AND t.n = l.seq / 256
		WHERE logs.pack = ? AND logs.ended = 0 AND l.kind = ? AND l.at = ? ORDER BY l.seq DESC LIMIT 1`,
		pack, kind, at.UnixMilli()).Scan(&p.Log, &p.Seq, &hash)
	if errors.Is(err, sql.ErrNoRows) {
		return api.Proof{}, nil
	}
	if err != nil {
		return api.Proof{}, fmt.Errorf("look for the leaf of %s: %w", pack, err)
	}
	p.Leaf = hex.EncodeToString(hash)
	return p, nil
}

// ResumeLogs begins a log for each pack whose last one has ended, with the leaf that the newest state had in that: what is served after a
// restore is proven from the start, and clients that remember the old log are told at once. SignLogs comes first.
func (h *History) ResumeLogs(ctx context.Context) error {
	packs, err := database.Query(ctx, h.db.Read, func(rows *sql.Rows) (pack string, err error) { return pack, rows.Scan(&pack) },
		"SELECT pack FROM logs GROUP BY pack HAVING min(ended) = 1")
	for _, pack := range packs {
		err = errors.Join(err, h.db.Tx(ctx, func(tx *sql.Tx) error { return h.resume(ctx, tx, pack) }))
		h.logs.forget(pack)
	}
	return err
}

// resume begins a log of a pack that has none that goes on. Without the old leaf of the newest state, the next state begins it.
func (h *History) resume(ctx context.Context, tx *sql.Tx, pack string) error {
	var id, seq int64
	var body []byte
	err := tx.QueryRowContext(ctx, `SELECT logs.id, l.seq, l.body FROM logs JOIN log_leaves AS l ON l.log = logs.id AND l.kind = ?1
		WHERE logs.id = (SELECT max(id) FROM logs WHERE pack = ?2) AND logs.ended = 1
		AND l.at = (SELECT max(generated_at) FROM pulses WHERE pack = ?2) ORDER BY l.seq DESC LIMIT 1`, kindState, pack).Scan(&id, &seq, &body)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err == nil && body == nil {
		body, err = h.packedLeaf(ctx, tx, id, seq)
	}
	var leaf api.LogLeaf
	if err == nil && json.Unmarshal(body, &leaf) != nil {
		err = translog.ErrDamaged
	}
	if errors.Is(err, translog.ErrDamaged) {
		return nil
	}
	if err == nil {
		_, err = h.appendLeaf(ctx, tx, leaf)
	}
	if err != nil {
		return fmt.Errorf("go on with the log of %s: %w", pack, err)
	}
	return nil
}

// packedLeaf is a leaf of a bundle that was put together.
func (h *History) packedLeaf(ctx context.Context, db database.Querier, id, seq int64) ([]byte, error) {
	bundle, err := h.packed(ctx, db, id, seq/translog.Width)
	if err != nil {
		return nil, err
	}
	list, err := translog.Entries(bundle)
	if err == nil && int64(len(list)) <= seq%translog.Width {
		err = translog.ErrDamaged
	}
	if err != nil {
		return nil, err
	}
	return list[seq%translog.Width], nil
}

// endLogs ends the log of pack that goes on; "" is those of all packs.
func endLogs(ctx context.Context, tx *sql.Tx, pack string) error {
	if _, err := tx.ExecContext(ctx, "UPDATE logs SET ended = 1 WHERE ended = 0 AND (pack = ?1 OR ?1 = '')", pack); err != nil {
		return fmt.Errorf("end log: %w", err)
	}
	return nil
}
