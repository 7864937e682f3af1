package main

import (
	"context"
	"flag"
	"io"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon"
	played "github.com/contextd/contextd/daemon/demo"
)

// crowdFor is how long each half of TestCrowd takes: go -C internal/bench test ./crowd -crowd 1m -v.
var crowdFor = flag.Duration("crowd", 3*time.Second, "how long each half of TestCrowd takes")

// TestCrowd plays a crowd against a demo and checks that no honest client notices more of it than time.
func TestCrowd(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux answers on every address of 127.0.0.0/8")
	}
	dir := t.TempDir()
	d, _, err := daemon.OpenDemo(t.Context(), daemon.Config{
		DataDir: dir, Serve: daemon.Serve{Listen: "127.0.0.1:0"}, Data: daemon.Data{Every: time.Second},
		Operate: daemon.Operate{AdminListen: "127.0.0.1:0"}, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}, played.Play{ChainListen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}()
	cfg := config{rate: 300, time: *crowdFor}
	var text strings.Builder
	r, err := run(t.Context(), cfg, dir, &text)
	if err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + text.String())
	for _, name := range []string{"call with a key", "sign in", "look at the console", "buy", "pay for a call", "open a stream", "MCP session and tool"} {
		if h := r.halves[1].honest[name]; len(h.took) == 0 || h.failed > 0 {
			t.Errorf("%s beside the crowd: %s succeeded, the last failure is %v", name, h, h.last)
		}
	}
	if r.halves[1].others["throw-away owner"].took == nil {
		t.Error("there was no crowd")
	}
}
