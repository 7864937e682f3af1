package reader

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/url"
	"strings"
	"time"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/jsonx"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// parseHistory reads member, from, to and every. Without to it stays zero.
func parseHistory(q *Query, values url.Values) (err error) {
	if q.Member = values.Get("member"); q.Member == "" {
		return api.Errorf(api.ReasonInvalidMembers, "member is missing or empty").WithHint("name a member of the state, such as top_movers")
	}
	if q.From, err = parseBound("from", values); err != nil {
		return err
	}
	if values.Has("to") {
		if q.To, err = parseBound("to", values); err != nil {
			return err
		}
	}
	q.Every = api.HistoryEveryMin
	if !values.Has("every") {
		return nil
	}
	text := values.Get("every")
	if q.Every, err = api.ParseSpan(text); err != nil || q.Every < api.HistoryEveryMin {
		least := api.FormatSpan(api.HistoryEveryMin)
		return api.Errorf(api.ReasonInvalidEvery, "every is %q, not a duration of %s or more", human.Clip(text, human.Quoted), least).
			WithHint("write it as 5m, 1h or 1d; leave it out for %s", least)
	}
	return nil
}

// parseBound reads from or to.
func parseBound(name string, values url.Values) (time.Time, error) {
	text := values.Get(name)
	m, err := state.ParseMoment(text)
	if err == nil {
		return m.At, nil
	}
	e := api.Errorf(api.ReasonInvalidRange, "%s is %q, not a date-time from 1970 to 9999", name, human.Short(text, human.Quoted))
	if text == "" {
		e = api.Errorf(api.ReasonInvalidRange, "%s is missing or empty", name)
	}
	return time.Time{}, e.WithHint("write a minute in UTC, for example 2026-11-20T20:05, or any RFC 3339 date-time")
}

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
	if v.edition.Doc.Root().Find(v.path()...) == nil {
		return v, api.Errorf(api.ReasonInvalidMembers, "member is %q, not in the state of pack %s",
			human.Short(v.Member, human.Quoted), v.Pack).WithHint("members: %s", strings.Join(v.edition.Doc.Names(), ", "))
	}
	return v, nil
}

// path is where the member of v stands in a state.
func (v View) path() []string { return strings.Split(v.Member, ".") }

// Credits is what v, a call of history, costs.
func (v View) Credits() int64 { return api.HistoryCredits(v.From, v.To) }

// Lines are the answer of history: a line of JSON for each state, the oldest first. They are to be closed.
type Lines struct {
	first []byte
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
	l := &Lines{path: v.path()}
	l.next, l.stop = iter.Pull2(r.cfg.History.Past(ctx, v.pack.ID, steps(v.From, v.To, v.Every)))
	var err error
	if l.first, err = l.read(); err != nil {
		l.stop()
		if errors.Is(err, io.EOF) {
			return nil, api.Errorf(api.ReasonSnapshotNotFound, "pack %s had no state yet at %s", v.pack.ID, v.To.Format(time.RFC3339)).
				WithHint("%s", r.earliest(ctx, v, window))
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

// read is the line of the next state.
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
		return append(append(append(line, `","value":`...), value...), '}', '\n'), nil
	}
}
