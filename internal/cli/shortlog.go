package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/contextd/contextd/internal/human"
)

// foldWithin is how long a record that names a source waits for others that say the same of another.
const foldWithin = 100 * time.Millisecond

// shortLog writes records for people who watch: the time of day, what happened, and what is known of it without zero times. What the same
// moment says of several sources is one line.
type shortLog struct {
	*shortLogOut
	attrs []slog.Attr
}

type shortLogOut struct {
	level slog.Leveler
	style Style

	mu      sync.Mutex // guards the rest
	w       io.Writer
	waiting string   // a line without its sources, "" for none
	sources []string // that it is of
	flush   *time.Timer
}

// NewShortLog makes a handler of a log that people watch on w: short lines, and one for what the same moment says of several sources.
func NewShortLog(w io.Writer, level slog.Leveler, style Style) slog.Handler {
	return &shortLog{shortLogOut: &shortLogOut{w: w, level: level, style: style}}
}

// Enabled implements slog.Handler.
func (l *shortLog) Enabled(_ context.Context, level slog.Level) bool { return level >= l.level.Level() }

// WithAttrs implements slog.Handler.
func (l *shortLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &shortLog{l.shortLogOut, append(l.attrs[:len(l.attrs):len(l.attrs)], attrs...)}
}

// WithGroup implements slog.Handler. Nothing here groups.
func (l *shortLog) WithGroup(string) slog.Handler { return l }

// Handle implements slog.Handler.
func (l *shortLog) Handle(_ context.Context, r slog.Record) error {
	source, told := "", ""
	tell := func(a slog.Attr) bool {
		switch v := a.Value.Resolve(); {
		case a.Key == "source":
			source = human.Line(v.String())
		case v.Kind() == slog.KindTime && v.Time().IsZero(), v.Kind() == slog.KindAny && v.Any() == nil:
		case v.Kind() == slog.KindTime:
			told += "  " + l.style.Dim(a.Key) + " " + v.Time().Local().Format(time.TimeOnly)
		default:
			told += "  " + l.style.Dim(a.Key) + " " + human.Line(v.String())
		}
		return true
	}
	for _, a := range l.attrs {
		tell(a)
	}
	r.Attrs(tell)
	line := l.style.Dim(r.Time.Local().Format(time.TimeOnly)) + "  " + l.mark(r.Level) + human.Line(r.Message) + told
	l.mu.Lock()
	defer l.mu.Unlock()
	if source != "" && line == l.waiting {
		l.sources = append(l.sources, source)
		return nil
	}
	l.write()
	if source == "" {
		_, err := fmt.Fprintln(l.w, line)
		return err
	}
	l.waiting, l.sources = line, []string{source}
	l.flush = time.AfterFunc(foldWithin, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.write()
	})
	return nil
}

// mark says how grave a record is.
func (l *shortLogOut) mark(level slog.Level) string {
	switch {
	case level >= slog.LevelError:
		return l.style.Bad("error  ")
	case level >= slog.LevelWarn:
		return l.style.Warn("warn   ")
	}
	return "       "
}

// write writes the line that waits. It is called with the lock.
func (l *shortLogOut) write() {
	if l.waiting == "" {
		return
	}
	l.flush.Stop()
	const most = 4 // sources that are named
	named := strings.Join(l.sources[:min(len(l.sources), most)], ", ")
	if more := len(l.sources) - most; more > 0 {
		named += fmt.Sprintf(" and %d more", more)
	}
	_, _ = fmt.Fprintln(l.w, l.waiting+"  "+named) // a terminal that is gone has no reader
	l.waiting, l.sources = "", nil
}
