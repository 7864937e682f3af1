package testbed

import (
	"bytes"
	"log/slog"
	"slices"
	"strings"
	"sync"
)

// Log keeps what is logged to it. The zero Log is empty. It is safe for concurrent use.
type Log struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

// Write adds to the log.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// String is all that was logged so far.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Count is the number of lines so far that have all the given texts.
func (l *Log) Count(texts ...string) (n int) {
	for line := range strings.Lines(l.String()) {
		if !slices.ContainsFunc(texts, func(s string) bool { return !strings.Contains(line, s) }) {
			n++
		}
	}
	return n
}

// Logger logs to l, everything.
func (l *Log) Logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
}
