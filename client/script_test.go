package client_test

import (
	"context"
	"flag"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/contextd/contextd/client"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/scripttest"
)

// update rewrites the golden parts of the scripts: go test ./client -update.
var update = flag.Bool("update", false, "rewrite the golden parts of the scripts")

func TestMain(m *testing.M) {
	daemontest.Overlap(8)
	testscript.Main(m, map[string]func(){"ctx": runCtx})
}

// runCtx is the program ctx with a clock that stands still and with terminals where CTX_TEST_TTY names them: in, out, err.
func runCtx() {
	s := cli.OS()
	s.Now = func() time.Time { return fakeNow().In(time.Local) }
	s.InTTY, s.OutTTY, s.ErrTTY = false, false, false
	for name := range strings.SplitSeq(os.Getenv("CTX_TEST_TTY"), ",") {
		s.InTTY, s.OutTTY, s.ErrTTY = s.InTTY || name == "in", s.OutTTY || name == "out", s.ErrTTY || name == "err"
	}
	s.Width, _ = strconv.Atoi(os.Getenv("COLUMNS"))
	s.Height, _ = strconv.Atoi(os.Getenv("LINES"))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	os.Exit(client.Main(ctx, os.Args[1:], s))
}

// TestScripts runs testdata/script, each script against a service of its own.
func TestScripts(t *testing.T) {
	t.Parallel()
	more := map[string]scripttest.Command{"requests": requests, "nosecret": noSecret}
	p := scripttest.Params("testdata/script", more, func(env *testscript.Env) error {
		f := newFake()
		env.Defer(f.Close)
		env.Values["fake"] = f
		env.Vars = append(env.Vars, "CTX_BASE_URL="+f.URL, "CTX_API_KEY="+goodKey, "CTX_CONFIG_DIR="+filepath.Join(env.WorkDir, ".ctx"),
			"CI=true", // no line that says what takes a while: here that depends on the machine
			"good="+goodKey, "revoked="+revokedKey, "empty="+emptyKey, "spent="+spentKey, "old="+oldKey, "wild="+wildKey)
		return nil
	})
	p.UpdateScripts = *update
	testscript.Run(t, p)
}

// requests writes what the service was asked since the last time to the file named, one request in a line.
func requests(ts *testscript.TestScript, _ bool, args []string) {
	f := ts.Value("fake").(*fake)
	f.mu.Lock()
	defer f.mu.Unlock()
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.Join(append(f.requests, ""), "\n")), 0o600))
	f.requests = nil
}

// noSecret checks that neither stdout nor stderr of the last command shows a key.
func noSecret(ts *testscript.TestScript, _ bool, _ []string) {
	for _, file := range []string{"stdout", "stderr"} {
		if text := ts.ReadFile(file); strings.Contains(text, "SECRET") {
			ts.Fatalf("%s shows a key:\n%s", file, text)
		}
	}
}
