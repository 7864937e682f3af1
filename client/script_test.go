package client_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
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
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			f := newFake()
			env.Defer(f.Close)
			env.Values["fake"] = f
			env.Vars = append(env.Vars, "CTX_BASE_URL="+f.URL, "CTX_API_KEY="+goodKey, "CTX_CONFIG_DIR="+filepath.Join(env.WorkDir, ".ctx"),
				"CI=true",                  // no line that says what takes a while: here that depends on the machine
				"GORACE=atexit_sleep_ms=0", // else each program takes a second to end under the race detector
				"TZ=UTC", "LANG=C.UTF-8", "COLUMNS=80", "TERM=xterm",
				"good="+goodKey, "revoked="+revokedKey, "empty="+emptyKey, "spent="+spentKey, "old="+oldKey, "wild="+wildKey)
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits": exits, "requests": requests, "nosecret": noSecret, "mode": mode,
		},
	})
}

// exits runs a command and checks its exit code: exits 3 ctx state --bad.
func exits(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		failed, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("%v", err)
		}
		got = failed.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d\n%s%s", got, want, ts.ReadFile("stdout"), ts.ReadFile("stderr"))
	}
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

// mode checks the mode of a file: mode 0600 file.
func mode(ts *testscript.TestScript, _ bool, args []string) {
	info, err := os.Stat(ts.MkAbs(args[1]))
	ts.Check(err)
	if got := fmt.Sprintf("%04o", info.Mode().Perm()); got != args[0] {
		ts.Fatalf("mode of %s is %s, want %s", args[1], got, args[0])
	}
}
