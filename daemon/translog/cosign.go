package translog

import (
	"context"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/contextd/contextd/sdk/api"
)

// Cosigner is how a witness stands with the log of a pack.
type Cosigner struct {
	Name  string     `json:"name"`
	Size  int64      `json:"size"`            // of the log, as of the last checkpoint that it signed since the daemon started
	Since *time.Time `json:"since,omitempty"` // from when on it has not signed, nil where it signed the newest
	Error string     `json:"error,omitempty"` // why not, where it was asked
}

// cosigned is what witnesses have signed of a log.
type cosigned struct {
	head  api.LogHead
	lines string
}

// Head is the head of the log of pack.
func (l *Logs) Head(ctx context.Context, pack string) (api.LogHead, error) { return l.head(ctx, pack) }

// Plain is the checkpoint of a head without the signatures of witnesses.
func (l *Logs) Plain(head api.LogHead) (string, error) {
	text, err := l.key.Sign(head)
	return string(text), err
}

// Cosign has the checkpoint of a head carry the signatures of witnesses, a line of a signed note each, as long as it is the newest. The
// first of each hour is kept: a witness does not sign a log as it was before.
func (l *Logs) Cosign(ctx context.Context, head api.LogHead, lines []string, now time.Time) error {
	signatures := strings.Join(lines, "")
	l.mu.Lock()
	l.cosigned[head.Origin] = cosigned{head, signatures}
	l.mu.Unlock()
	plain, err := l.Plain(head)
	if err != nil {
		return err
	}
	return l.store.KeepAnchor(ctx, head, now, len(lines), plain+signatures)
}

// Stand notes how the witnesses of the log of pack stand.
func (l *Logs) Stand(pack string, list []Cosigner) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.standing[pack] = list
}

// Witnesses are how the witnesses of the log of pack stand, none where there are none.
func (l *Logs) Witnesses(pack string) []Cosigner {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.standing[pack]
}

func (l *Logs) signatures(head api.LogHead) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c := l.cosigned[head.Origin]; c.head == head {
		return c.lines
	}
	return ""
}

// Consistency returns the hashes in base64 that prove that the log of a head had another size before.
func (l *Logs) Consistency(ctx context.Context, head api.LogHead, old int64) (texts []string, err error) {
	if old <= 0 || old >= head.Size {
		return nil, nil
	}
	read := func(level int, n int64) ([]byte, error) { return l.store.LogTile(ctx, head.Origin, level, n) }
	proof, err := tlog.ProveTree(head.Size, old, reader(head.Size, read))
	for _, h := range proof {
		texts = append(texts, h.String())
	}
	return texts, err
}
