package main

import (
	"bytes"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/cmd/contextd/config"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/setting"
)

// TestFlagsAreSettings: a flag that stands for a setting says the same default.
func TestFlagsAreSettings(t *testing.T) {
	t.Parallel()
	root := newRoot(cli.System{Out: t.Output(), Err: t.Output()})
	serve, _, err := root.Find([]string{"serve"})
	if err != nil {
		t.Fatal(err)
	}
	for flag, key := range map[string]string{"listen": "listen", "log-level": "log.level", "log-format": "log.format"} {
		i := slices.IndexFunc(config.Table(), func(s setting.Setting) bool { return s.Key == key })
		f := serve.Flag(flag)
		if f == nil || i < 0 || f.DefValue != config.Table()[i].Default() {
			t.Errorf("--%s does not have the default of %s", flag, key)
		}
	}
}

// TestLogOfNoTime: the log has no time where there is none, in either format, also in what is said with every line.
func TestLogOfNoTime(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"json", "text"} {
		var b bytes.Buffer
		log := newLogger(&b, format, slog.LevelInfo)
		log.With("last_good", time.Time{}).Warn("source failed", "not_before", time.Time{}, "newest_state", time.Unix(1e9, 0).UTC())
		if said := b.String(); strings.Contains(said, "0001") || strings.Contains(said, "not_before") || !strings.Contains(said, "2001-09-09") {
			t.Errorf("as %s: %s", format, said)
		}
	}
}
