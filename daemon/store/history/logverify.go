package history

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/contextd/contextd/daemon/store/database"
	"github.com/contextd/contextd/daemon/translog"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// LogStatus is how one log stands.
type LogStatus struct {
	api.LogHead
	Pack       string    `json:"pack"`
	AppendedAt time.Time `json:"appendedAt"`
	Ended      bool      `json:"ended"`               // another one of the pack follows it
	Public     string    `json:"-"`                   // the public key in base64, "" while nothing was signed
	Key        string    `json:"key,omitempty"`       // that verifies its checkpoints
	AnchoredAt time.Time `json:"anchoredAt,omitzero"` // the hour of the newest checkpoint that is kept with signatures of witnesses

	Witnesses []translog.Cosigner `json:"witnesses,omitempty"` // who are asked to sign, while the daemon runs

	id int64
}

// Logs are all logs, the oldest first.
func (h *History) Logs(ctx context.Context) ([]LogStatus, error) {
	list, err := database.Query(ctx, h.db.Read, func(rows *sql.Rows) (l LogStatus, err error) {
		var at, hour sql.NullInt64
		err = rows.Scan(&l.id, &l.Pack, &l.Origin, &l.Size, &l.Root, &at, &l.Ended, &l.Public, &hour)
		if hour.Valid {
			l.AnchoredAt = time.Unix(hour.Int64*3600, 0).UTC()
		}
		l.AppendedAt = database.FromMillis(at)
		if err == nil && l.Public != "" {
			l.Key, err = translog.Verifier(l.Origin, l.Public)
		}
		return l, err
	}, `SELECT id, pack, origin, size, root, appended_at, ended, public_key,
		(SELECT max(hour) FROM log_anchors WHERE log = logs.id) FROM logs ORDER BY id`)
	if err != nil {
		return nil, fmt.Errorf("list logs: %w", err)
	}
	return list, nil
}

// EndLogs ends the logs that go on. With the next state of its pack, each is followed by a new one that names its head.
func (h *History) EndLogs(ctx context.Context) error {
	return h.db.TxLeading(ctx, func(tx *sql.Tx) error { return endLogs(ctx, tx, "") })
}

// VerifyLogs makes the trees of all logs again, of their leaves, and holds those to the states and briefs that are still kept. It returns
// how many leaves there are, and what is wrong, in at most limit lines.
func (h *History) VerifyLogs(ctx context.Context, limit int) (leaves int64, problems []string, err error) {
	logs, err := h.Logs(ctx)
	if err != nil {
		return 0, nil, err
	}
	for _, l := range logs {
		a := audit{History: h, LogStatus: l, limit: limit - len(problems), tree: map[place][]byte{}}
		if err := a.run(ctx); err != nil {
			return leaves, problems, fmt.Errorf("verify log %s: %w", l.Origin, err)
		}
		problems = append(problems, a.problems...)
		leaves += l.Size
	}
	return leaves, problems, nil
}

type place struct {
	level int
	n     int64
}

type audit struct {
	*History
	LogStatus
	limit    int
	problems []string

	tree map[place][]byte // as the leaves make it
	edge translog.Edge    // of that
}

func (a *audit) wrong(format string, args ...any) {
	if len(a.problems) < a.limit {
		a.problems = append(a.problems, "log "+a.Origin+": "+fmt.Sprintf(format, args...))
	}
}

func (a *audit) run(ctx context.Context) error {
	for n := int64(0); n*translog.Width < a.Size; n++ {
		bundle, err := a.LogBundle(ctx, a.Origin, n)
		var list [][]byte
		if err == nil {
			list, err = translog.Entries(bundle)
		}
		if err != nil && !errors.Is(err, translog.ErrDamaged) {
			return err
		}
		if want := int(min(a.Size-n*translog.Width, translog.Width)); err != nil || len(list) < want {
			a.wrong("of the leaves from %d on, %d are missing: what is behind cannot be verified", n*translog.Width, want-len(list))
			return nil
		} else if err := a.bundle(ctx, n, list[:want]); err != nil {
			return err
		}
	}
	if root := a.edge.Root().String(); root != a.Root && a.Size > 0 {
		a.wrong("its leaves hash to %s, not to the root %s of its checkpoint", root, a.Root)
	}
	for at, hashes := range a.tree {
		stored, err := readTile(ctx, a.db.Read, a.id)(at.level, at.n)
		if err != nil {
			return err
		}
		if len(stored) < len(hashes) {
			a.wrong("tile %d of level %d has %d bytes, not %d: it was cut off", at.n, at.level, len(stored), len(hashes))
		} else if !bytes.Equal(stored[:len(hashes)], hashes) {
			a.wrong("tile %d of level %d has another hash than its leaves", at.n, at.level)
		}
	}
	return a.rest(ctx)
}

func (a *audit) bundle(ctx context.Context, n int64, list [][]byte) error {
	for i, text := range list {
		seq := n*translog.Width + int64(i)
		_, tiles, err := a.edge.Append(text)
		if err != nil {
			return err
		}
		for _, t := range tiles {
			a.tree[place{t.Level, t.N}] = t.Hashes
		}
		var leaf api.LogLeaf
		if err := json.Unmarshal(text, &leaf); err != nil || leaf.Seq != seq || leaf.Pack != a.Pack {
			a.wrong("leaf %d is not one of that place", seq)
			continue
		}
		if err := a.leaf(ctx, leaf); err != nil {
			return err
		}
	}
	return nil
}

// leaf holds a leaf to what is kept of what it proves.
func (a *audit) leaf(ctx context.Context, leaf api.LogLeaf) error {
	at := leaf.GeneratedAt.UnixMilli()
	briefs := "SELECT text FROM briefs WHERE pack = ? AND generated_at = ? AND with_state = 1"
	if leaf.Kind == api.LeafBrief {
		briefs = "SELECT text FROM briefs WHERE pack = ? AND written_at = ? AND with_state = 0"
	}
	var text string
	err := a.db.Read.QueryRowContext(ctx, briefs, a.Pack, at).Scan(&text)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if err == nil && digest([]byte(text)) != leaf.Brief {
		a.wrong("leaf %d proves another brief than the one of %s that is kept", leaf.Seq, leaf.GeneratedAt.Format(time.RFC3339))
	}
	if leaf.Kind == api.LeafBrief {
		return nil
	}
	return a.state(ctx, leaf, at)
}

// state holds the leaf of a state to that state, unless it was pruned.
func (a *audit) state(ctx context.Context, leaf api.LogLeaf, at int64) error {
	made := leaf.GeneratedAt.Format(time.RFC3339Nano)
	r, err := scan(a.db.Read.QueryRowContext(ctx, "SELECT "+columns+" FROM pulses WHERE pack = ? AND generated_at = ?", a.Pack, at))
	if errors.Is(err, state.ErrNoPulse) {
		var older bool
		err := a.db.Read.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM pulses WHERE pack = ? AND generated_at < ?)", a.Pack, at).
			Scan(&older)
		if err == nil && older { // else it was pruned
			a.wrong("the state of %s, which leaf %d proves, is missing", made, leaf.Seq)
		}
		return err
	}
	if err != nil {
		return err
	}
	content, err := a.decode(ctx, a.db.Read, r)
	if err == nil {
		content, _, err = r.parts(content)
	}
	if errors.Is(err, ErrDamaged) || err == nil && (digest(content) != leaf.State || r.version != leaf.PackVersion) {
		a.wrong("the state of %s is not the one that leaf %d proves", made, leaf.Seq)
		return nil
	}
	return err
}

// rest looks for rows that no leaf accounts for.
func (a *audit) rest(ctx context.Context) error {
	var behind int64
	err := a.db.Read.QueryRowContext(ctx, `SELECT (SELECT count(*) FROM log_leaves AS l WHERE l.log = logs.id AND l.seq >= logs.size) +
		(SELECT count(*) FROM log_bundles AS b WHERE b.log = logs.id AND b.n * 256 >= logs.size) FROM logs WHERE id = ?`, a.id).Scan(&behind)
	if err != nil {
		return err
	}
	if behind > 0 {
		a.wrong("there are %d rows behind its last leaf: it was cut off", behind)
	}
	if a.Ended {
		return nil
	}
	var at sql.NullInt64
	err = a.db.Read.QueryRowContext(ctx, `SELECT min(p.generated_at) FROM pulses AS p WHERE p.pack = ?
		AND p.generated_at >= (SELECT min(l.at) FROM log_leaves AS l WHERE l.log = ? AND l.kind = 0)
		AND NOT EXISTS (SELECT 1 FROM log_leaves AS l WHERE l.log = ? AND l.kind = 0 AND l.at = p.generated_at)`, a.Pack, a.id, a.id).Scan(&at)
	if err == nil && at.Valid {
		a.wrong("the state of %s has no leaf", database.FromMillis(at).Format(time.RFC3339Nano))
	}
	return err
}
