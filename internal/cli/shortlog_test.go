package cli_test

import (
	"bytes"
	"errors"
	"log/slog"
	"regexp"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/contextd/contextd/internal/cli"
)

// TestShortLog: records of the same moment that say the same of several sources are one line, and nothing is held back for long.
func TestShortLog(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out locked
		log := slog.New(cli.NewShortLog(&out, slog.LevelInfo, cli.Style{ASCII: true})).With("pack", "crypto")
		log.Debug("not told")
		log.Info("listening", "url", "http://127.0.0.1:8402", "since", time.Time{})
		for _, id := range []string{"a", "b", "c", "d", "e", "f"} {
			log.With("source", id).Warn("source failed", "error", errors.New("host not found\x1b[31m"), "last_good", time.Time{})
		}
		log.With("source", "g").Warn("source failed", "error", "timeout")
		log.Error("refresh failed")
		log.With("source", "h").Info("source is back")
		time.Sleep(time.Second)
		synctest.Wait()
		got := regexp.MustCompile(`(?m)^\d\d:\d\d:\d\d`).ReplaceAllString(out.String(), "TIME")
		const want = "TIME         listening  pack crypto  url http://127.0.0.1:8402\n" +
			"TIME  warn   source failed  pack crypto  error host not found  a, b, c, d and 2 more\n" +
			"TIME  warn   source failed  pack crypto  error timeout  g\n" +
			"TIME  error  refresh failed  pack crypto\n" +
			"TIME         source is back  pack crypto  h\n"
		if got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	})
}

// locked is a buffer that is written to at any time.
type locked struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *locked) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
