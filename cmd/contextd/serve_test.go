package main

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/pack"
	"github.com/contextd/contextd/daemon/web"
)

// TestGreeting: the greeting names the page where there is one, and says to other commands where the data is.
func TestGreeting(t *testing.T) {
	t.Parallel()
	for mode, named := range map[web.PageMode]bool{web.PageOn: true, web.PagePublic: true, web.PageOff: false} {
		var out bytes.Buffer
		greet(&out, daemon.Config{
			DataDir: "/srv/data", Serve: daemon.Serve{Page: mode}, Reloadable: daemon.Reloadable{Packs: []daemon.Pack{{Pack: pack.Crypto()}}},
		}, "http://127.0.0.1:8402", " --data-dir /srv/data")
		text := out.String()
		if strings.Contains(text, "  page     http://127.0.0.1:8402/\n") != named {
			t.Errorf("with web.page %s: %s", mode, text)
		}
		for _, want := range []string{"packs    crypto\n", "keys create my-agent --data-dir /srv/data\n", "export CTX_BASE_URL=http://127.0.0.1:8402\n"} {
			if !strings.Contains(text, want) {
				t.Errorf("no %q in %s", want, text)
			}
		}
	}
}

// told is a writer that calls do when something is written that holds text.
type told struct {
	text string
	do   func()
}

// Write looks for the text.
func (h told) Write(p []byte) (int, error) {
	if strings.Contains(string(p), h.text) {
		h.do()
	}
	return len(p), nil
}

// TestServeAwaitsItsDatabase tries again where nothing listens, and not where that cannot help.
func TestServeAwaitsItsDatabase(t *testing.T) {
	t.Parallel()
	for url, waits := range map[string]bool{
		"postgres://me@127.0.0.1:1/context":                                               true,
		"postgres://me@127.0.0.1:1/context?sslmode=verify-ca&sslrootcert=/does/not/exist": false,
	} {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		log := slog.New(slog.NewTextHandler(told{"trying again", cancel}, nil))
		cfg := daemon.Config{DataDir: t.TempDir(), StoreURL: url, Logger: log, Serve: daemon.Serve{Listen: "127.0.0.1:0"}}
		if _, err := openDaemon(ctx, cfg); err == nil || errors.Is(err, context.Canceled) != waits {
			t.Errorf("%s: %v", url, err)
		}
	}
}
