package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"slices"
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

// asProgram makes the test binary be the program that it names, for tests that start and kill it themselves.
const asProgram = "CONTEXTD_TEST_PROGRAM"

func TestMain(m *testing.M) {
	if slices.Equal(os.Args[1:], []string{"packs", "eval"}) { // as the daemon starts it, which passes no environment on
		main()
		return
	}
	switch os.Getenv(asProgram) {
	case "contextd":
		main()
		return
	case "ctx":
		runCtx()
	}
	daemontest.Overlap(4)
	testscript.Main(m, map[string]func(){"contextd": main, "ctx": runCtx})
}

// runCtx is the program ctx.
func runCtx() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(client.Main(ctx, os.Args[1:], cli.OS()))
}

// TestScripts runs testdata/script: both programs as their users call them. Scripts that need a demo are with internal/bench.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, params("testdata/script"))
}

// params are those of a script that may start daemons but reaches no real source.
func params(dir string) testscript.Params {
	return scripttest.Params(dir, map[string]scripttest.Command{"get": get, "answers": serveAnswers}, scripttest.AtHome)
}

// soon waits for something that another process does and that has to come.
func soon(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(4 * time.Minute); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("never: " + what)
		}
	}
}

// get checks the status of a path at the daemon whose log is in a file, and prints headers and body: get 503 LOG /readyz.
func get(ts *testscript.TestScript, _ bool, args []string) {
	resp, err := http.Get(addressIn(ts, args[1]) + args[2])
	ts.Check(err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	ts.Check(err)
	if got := strconv.Itoa(resp.StatusCode); got != args[0] {
		ts.Fatalf("%s answers %s, want %s: %s", args[2], got, args[0], body)
	}
	var head bytes.Buffer
	ts.Check(resp.Header.Write(&head))
	_, err = ts.Stdout().Write(append(head.Bytes(), body...))
	ts.Check(err)
}

// addressIn is the base URL that a daemon logged when it began to listen.
func addressIn(ts *testscript.TestScript, log string) string {
	scripttest.Await(ts, false, []string{log, `"msg":"listening"`})
	for line := range strings.Lines(ts.ReadFile(log)) {
		var entry struct{ Msg, URL string }
		if json.Unmarshal([]byte(line), &entry) == nil && entry.Msg == "listening" {
			return entry.URL
		}
	}
	ts.Fatalf("%s names no address", log)
	return ""
}

// program is the command that runs contextd with args.
func program(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	return programOf(t, "contextd", args...)
}

// programOf is the command that runs a program with args, in a home of its own.
func programOf(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(self, args...)
	c.Env = append(os.Environ(), asProgram+"="+name, "HOME="+t.TempDir())
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return c
}
