package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/accounts/keystore"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/google/uuid"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/contextd/contextd/client"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/daemon/demo"
	"github.com/contextd/contextd/internal/cli"
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

// TestScripts runs testdata/script: both programs as their users call them. With -short it runs those that call the most commands for the
// least time; of money, backups and streams the tests of the packages say the rest.
func TestScripts(t *testing.T) {
	t.Parallel()
	p := params("testdata/script")
	if testing.Short() {
		p.Dir = ""
		for _, name := range []string{"alerts", "config", "init", "keys", "lookup", "mcp", "openapi", "operate", "reload", "serve"} {
			p.Files = append(p.Files, filepath.Join("testdata/script", name+".txtar"))
		}
	}
	testscript.Run(t, p)
}

// params are those of a script that may start daemons but reaches no real source.
func params(dir string) testscript.Params {
	return testscript.Params{
		Dir:                 dir,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Vars = append(env.Vars, "HOME="+env.WorkDir, "XDG_CONFIG_HOME="+filepath.Join(env.WorkDir, ".config"),
				"XDG_DATA_HOME="+filepath.Join(env.WorkDir, ".data"), "CTX_CONFIG_DIR="+filepath.Join(env.WorkDir, ".ctx"),
				"HTTPS_PROXY=http://127.0.0.1:1", "HTTP_PROXY=", "NO_PROXY=127.0.0.1", // every source is out of reach
				"GORACE=atexit_sleep_ms=0", "TZ=UTC", "LANG=C.UTF-8", "COLUMNS=80", "TERM=xterm")
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"await": await, "exits": exits, "mode": mode, "usedemo": useDemo, "get": get, "model": serveModel, "keystore": sealKey,
			"answers": serveAnswers, "demobefore": demoBefore,
		},
	}
}

// await waits until a file holds a text: await FILE TEXT.
func await(ts *testscript.TestScript, _ bool, args []string) {
	const tries = 6000
	for range tries {
		if text, err := os.ReadFile(ts.MkAbs(args[0])); err == nil && strings.Contains(string(text), args[1]) {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	text, _ := os.ReadFile(ts.MkAbs(args[0]))
	ts.Fatalf("%s never came to hold %q:\n%s", args[0], args[1], text)
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

// exits runs a command and checks its exit code: exits 3 contextd serve --bad.
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
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// mode checks the mode of a file: mode 0600 FILE.
func mode(ts *testscript.TestScript, _ bool, args []string) {
	info, err := os.Stat(ts.MkAbs(args[1]))
	ts.Check(err)
	if got := fmt.Sprintf("%04o", info.Mode().Perm()); got != args[0] {
		ts.Fatalf("mode of %s is %s, want %s", args[1], got, args[0])
	}
}

// useDemo makes the daemon that a demo file tells of the one that ctx calls: usedemo DIR.
func useDemo(ts *testscript.TestScript, _ bool, args []string) {
	info, err := readDemo(ts.MkAbs(args[0]))
	ts.Check(err)
	ts.Setenv("CTX_BASE_URL", info.BaseURL)
	ts.Setenv("CTX_API_KEY", info.APIKey)
	if info.Chain != nil {
		ts.Setenv("CTX_RPC_URL", info.Chain.RPCURL)
		ts.Setenv("CTX_CHAIN_ID", strconv.FormatInt(info.Chain.ChainID, 10))
		ts.Setenv("CTX_TOKEN", info.Chain.Token)
		ts.Setenv("CTX_WALLET_PRIVATE_KEY", info.Wallet.PrivateKey)
	}
}

// sealKey writes the wallet of the demo in use as a keystore that opens at once, with the passphrase of a file: keystore FILE PASS. What
// ctx seals takes a second of processor time to open, by design.
func sealKey(ts *testscript.TestScript, _ bool, args []string) {
	secret, err := crypto.HexToECDSA(strings.TrimPrefix(ts.Getenv("CTX_WALLET_PRIVATE_KEY"), "0x"))
	ts.Check(err)
	key := &keystore.Key{Id: uuid.New(), Address: crypto.PubkeyToAddress(secret.PublicKey), PrivateKey: secret}
	const n, p = 16, 1
	text, err := keystore.EncryptKey(key, strings.TrimRight(ts.ReadFile(args[1]), "\n"), n, p)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), text, 0o600))
}

// readDemo reads the demo file of dir.
func readDemo(dir string) (info demo.Info, err error) {
	text, err := os.ReadFile(filepath.Join(dir, demo.File))
	if err != nil {
		return info, err
	}
	return info, json.Unmarshal(text, &info)
}

// past is the data directory of a demo, of which all tests here have copies.
var past = sync.OnceValues(func() (daemontest.PastDemo, error) { return daemontest.NewPastDemo(context.Background()) })

// demoBefore makes a directory the data directory of a demo that ended: demobefore DIR.
func demoBefore(ts *testscript.TestScript, _ bool, args []string) {
	demo, err := past()
	ts.Check(err)
	ts.Check(demo.CopyTo(ts.MkAbs(args[0])))
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
	await(ts, false, []string{log, `"msg":"listening"`})
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
