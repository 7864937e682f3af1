package reader

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"time"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/jsonx"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// ranged is v with both ends of its range, or the error for a range that nobody can ask for.
func (r *Reader) ranged(v View) (View, error) {
	longest := api.FormatSpan(api.HistoryRangeMax)
	if v.To.IsZero() {
		v.To = r.cfg.Now().UTC().Truncate(time.Millisecond)
		if last := v.From.Add(api.HistoryRangeMax); last.Before(v.To) {
			v.To = last
		}
	}
	switch length := v.To.Sub(v.From); {
	case length < 0:
		return v, api.Errorf(api.ReasonInvalidRange, "to is before from").WithHint("from is the older time and lies in the past")
	case length > api.HistoryRangeMax:
		return v, api.Errorf(api.ReasonInvalidRange, "from and to are more than %s apart", longest).
			WithHint("ask for %s at a time", longest)
	}
	if v.edition.Doc.Root().Find(v.memberPath()...) == nil {
		return v, api.Errorf(api.ReasonInvalidMembers, "member is %q, not in the state of pack %s",
			human.Short(v.Path, human.Quoted), v.Pack).WithHint("members: %s", strings.Join(v.edition.Doc.Names(), ", "))
	}
	return v, nil
}

// memberPath is where the member of v stands in a state.
func (v View) memberPath() []string { return strings.Split(v.Path, ".") }

// Credits is what v, a call of history, costs.
func (v View) Credits() int64 { return api.HistoryCredits(v.From, v.To) }

// Lines are the answer of history: a line of JSON for each state, the oldest first. They are to be closed.
type Lines struct {
	first []byte
	notes []byte // what the first line tells of the sources, as JSON; nil for nothing
	next  func() (state.Pulse, error, bool)
	stop  func()
	path  []string
	last  time.Time // when the state of the last line was made
}

// History resolves v, a call of history, for a caller who may read as far back as window. One line is read, so that what cannot be
// delivered is not charged.
func (r *Reader) History(ctx context.Context, v View, window time.Duration) (*Lines, error) {
	now := r.cfg.Now()
	if v.To.After(now) {
		return nil, api.Errorf(api.ReasonSnapshotNotFound, "to is in the future").
			WithHint("leave to out for now; %s", r.earliest(ctx, v, window))
	}
	if v.From.Before(now.Add(-window)) {
		return nil, api.Errorf(api.ReasonSnapshotNotFound, "from is more than %s ago, beyond the window of this caller", days(window)).
			WithHint("%s", r.earliest(ctx, v, window))
	}
	l := &Lines{path: v.memberPath()}
	if len(v.pack.Notices) > 0 {
		l.notes, _ = jsonx.Encode(v.pack.Notices) // texts
	}
	l.next, l.stop = iter.Pull2(r.cfg.History.Past(ctx, v.pack.ID, steps(v.From, v.To, v.Every)))
	var err error
	if l.first, err = l.read(); err != nil {
		l.stop()
		if errors.Is(err, io.EOF) {
			return nil, r.noneAt(ctx, v, v.To.Add(time.Millisecond), v.To.Format(time.RFC3339), window)
		}
		return nil, fmt.Errorf("history of %s: %w", v.pack.ID, err)
	}
	return l, nil
}

// steps are the moments from one to another, so far apart.
func steps(from, to time.Time, every time.Duration) iter.Seq[time.Time] {
	return func(yield func(time.Time) bool) {
		for t := from; !t.After(to) && yield(t); {
			t = t.Add(every)
		}
	}
}

// Next is the next line, with a line feed, or io.EOF behind the last. It is good until the next call.
func (l *Lines) Next() ([]byte, error) {
	if line := l.first; line != nil {
		l.first = nil
		return line, nil
	}
	return l.read()
}

// Close ends the reading.
func (l *Lines) Close() { l.stop() }

func (l *Lines) read() ([]byte, error) {
	for {
		p, err, ok := l.next()
		switch {
		case !ok:
			return nil, io.EOF
		case err != nil:
			return nil, err
		case p.GeneratedAt.IsZero() || p.GeneratedAt.Equal(l.last):
			continue
		}
		l.last = p.GeneratedAt
		value := jsonx.Find(p.State, l.path...)
		if value == nil {
			value = json.RawMessage("null")
		}
		line := make([]byte, 0, len(value)+len(`{"generatedAt":"2026-11-20T20:05:02.340Z","value":}`)+1)
		line = p.GeneratedAt.UTC().AppendFormat(append(line, `{"generatedAt":"`...), time.RFC3339Nano)
		line = append(append(line, `","value":`...), value...)
		if l.notes != nil {
			line = append(append(line, `,"notices":`...), l.notes...)
			l.notes = nil
		}
		return append(line, '}', '\n'), nil
	}
}
