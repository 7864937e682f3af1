package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/web"
)

// TestGreeting: the greeting names the page where there is one, and says to other commands where the data is.
func TestGreeting(t *testing.T) {
	t.Parallel()
	for mode, named := range map[web.PageMode]bool{web.PageOn: true, web.PagePublic: true, web.PageOff: false} {
		var out bytes.Buffer
		greet(&out, daemon.Config{DataDir: "/srv/data", Serve: daemon.Serve{Page: mode}}, "http://127.0.0.1:8402", " --data-dir /srv/data")
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
