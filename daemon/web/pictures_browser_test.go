package web_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/daemon/demo"
)

// picture keeps what is seen of the page as dir/name.webp.
func (b *browser) picture(dir, name string) {
	b.t.Helper()
	var shot struct{ Data []byte }
	b.do(http.MethodPost, "/goog/cdp/execute", map[string]any{"cmd": "Page.captureScreenshot", "params": map[string]any{"format": "webp", "quality": 60}}, &shot)
	if err := os.WriteFile(filepath.Join(dir, name+".webp"), shot.Data, 0o644); err != nil {
		b.t.Fatal(err)
	}
}

// TestPicturesInABrowser draws the pages of a demo into the directory that CONTEXTD_PICTURES names, to be looked at, and kept in
// internal/handbook/pictures: at the widths of a phone and of two screens, light and dark, without scripts, of a past minute, of a row and of
// a purchase.
func TestPicturesInABrowser(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("CONTEXTD_PICTURES")
	if dir == "" {
		t.Skip("CONTEXTD_PICTURES names no directory")
	}
	data := t.TempDir()
	d, _, err := daemon.OpenDemo(t.Context(), daemon.Config{
		DataDir: data, Serve: daemon.Serve{Listen: "127.0.0.1:0"}, Data: daemon.Data{Every: time.Hour},
		Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
	}, demo.Play{ChainListen: "127.0.0.1:0", Sparse: 15 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := errors.Join(<-ended, d.Close()); err != nil {
			t.Error(err)
		}
	})
	plain := newBrowser(t, false)
	plain.width(1280)
	plain.visit(d.URL() + "/")
	plain.picture(dir, "page-1280-no-scripts")

	b := newBrowser(t, true)
	for _, scheme := range []string{"light", "dark"} {
		b.do(http.MethodPost, "/goog/cdp/execute", map[string]any{"cmd": "Emulation.setEmulatedMedia",
			"params": map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}}}, nil)
		for _, wide := range []int{390, 1280, 1920} {
			b.width(wide)
			b.visit(d.URL() + "/")
			b.until("the page is live", `document.querySelector(".live .state").textContent === "live"`)
			b.picture(dir, fmt.Sprintf("page-%d-%s", wide, scheme))
		}
	}
	b.width(1280)
	b.visit(d.URL() + "/?row=" + url.QueryEscape("asset/bitcoin"))
	b.until("the row is open", `document.querySelector("#row svg")`)
	b.picture(dir, "row")
	b.visit(d.URL() + "/?at=" + time.Now().Add(-5*time.Hour).UTC().Format("2006-01-02T15:04Z"))
	b.picture(dir, "past")
	b.signsIn(&daemontest.Daemon{Daemon: d, Config: daemon.Config{DataDir: data}}, "buyer@example.org", b.press)
	b.until("the account is there", `document.getElementById("who").textContent.includes("@")`)
	b.fill("#keyname", "agent")
	b.press("#make button")
	b.until("there is a key", `document.getElementById("plain").textContent.startsWith("cv_")`)
	b.press("#hide")
	b.press(`.buy[data-pack="starter"]`)
	b.until("the code is drawn", `document.querySelector(".deposit img").naturalWidth > 0`)
	b.run(`document.querySelector(".deposit").scrollIntoView()`, nil)
	b.picture(dir, "purchase")
}
