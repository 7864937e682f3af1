package client_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/client"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/sdk/api"
)

// run runs ctx in this process with the environment env.
func run(ctx context.Context, env map[string]string, args ...string) (code int, stdout, stderr string) {
	var out, errOut bytes.Buffer
	code = client.Main(ctx, args, cli.System{
		In: strings.NewReader(""), Out: &out, Err: &errOut, Now: fakeNow,
		LookupEnv: func(name string) (string, bool) { value, ok := env[name]; return value, ok },
	})
	return code, out.String(), errOut.String()
}

// TestCompletionsAreFresh compares the committed completions with what ctx writes.
func TestCompletionsAreFresh(t *testing.T) {
	t.Parallel()
	for shell, file := range map[string]string{"bash": "ctx.bash", "zsh": "ctx.zsh", "fish": "ctx.fish", "powershell": "ctx.ps1"} {
		want, err := os.ReadFile(filepath.Join("..", "completions", file))
		if err != nil {
			t.Fatal(err)
		}
		if code, got, _ := run(t.Context(), nil, "completion", shell); code != 0 || got != string(want) {
			t.Errorf("completions/%s is stale (exit %d); run go generate ./client", file, code)
		}
	}
}

// watched serves states by a script, and calls end when it is over: 0 is a failure that passes, all else the age of a state.
func watched(script []int64, end func()) *httptest.Server {
	n := 0
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n == len(script) {
			end()
			<-r.Context().Done()
			return
		}
		n++
		if age := script[n-1]; age > 0 {
			fmt.Fprintf(w, `{"state":{"n":%d},"brief":"","citations":[],"freshness":%s}`, age, fresh(age))
			return
		}
		w.WriteHeader(http.StatusServiceUnavailable)
		io.WriteString(w, `{"error":{"code":"UPSTREAM_ERROR","reason":"state_unavailable","message":"m","requestId":"r"}}`)
	}))
}

// TestWatch checks that each new state is shown once, that what passes does not end it, and that Ctrl-C does, well.
func TestWatch(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	srv := watched([]int64{50, 50, 0, 10}, cancel)
	defer srv.Close()
	env := map[string]string{"CTX_BASE_URL": srv.URL, "CTX_CONFIG_DIR": t.TempDir()}
	code, stdout, stderr := run(ctx, env, "fresh", "--watch", "1s", "--retries", "0", "-q", ".state.n")
	if code != cli.ExitOK || stdout != "50\n10\n" || !strings.Contains(stderr, "asking again in 1s") {
		t.Errorf("exit %d\n%s%s", code, stdout, stderr)
	}
}

// TestWatchEnds checks what ends it: a failure before the first state, and one that does not pass.
func TestWatchEnds(t *testing.T) {
	t.Parallel()
	srv := watched([]int64{0}, func() {})
	defer srv.Close()
	env := map[string]string{"CTX_BASE_URL": srv.URL, "CTX_CONFIG_DIR": t.TempDir()}
	if code, _, _ := run(t.Context(), env, "fresh", "--watch", "1s", "--retries", "0"); code != cli.ExitUnavailable {
		t.Errorf("exit %d before the first state", code)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if code, stdout, stderr := run(ctx, env, "fresh", "--watch", "1s"); code != cli.ExitInterrupted || stdout+stderr != "" {
		t.Errorf("exit %d, interrupted before the first state\n%s%s", code, stdout, stderr)
	}
	if code, _, _ := run(ctx, env, "fresh"); code != cli.ExitInterrupted {
		t.Errorf("exit %d, interrupted", code)
	}
}

// TestEveryFailureHasAnExit checks the exit code of every reason of the service, and that its words come through.
func TestEveryFailureHasAnExit(t *testing.T) {
	t.Parallel()
	exits := map[int]int{400: 3, 401: 4, 402: 5, 403: 6, 404: 7, 405: 3, 409: 3, 429: 8, 500: 1, 503: 9}
	for _, reason := range api.Reasons() {
		e := api.Errorf(reason, "words of the service")
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(e.Status)
			fmt.Fprintf(w, `{"error":{"code":%q,"reason":%q,"message":%q,"requestId":"r-1"}}`, e.Code, e.Reason, e.Message)
		}))
		env := map[string]string{"CTX_BASE_URL": srv.URL, "CTX_CONFIG_DIR": t.TempDir(), "CTX_RETRIES": "0"}
		code, stdout, stderr := run(t.Context(), env, "brief")
		srv.Close()
		want := fmt.Sprintf("✗ %d %s: words of the service\n", e.Status, reason)
		if code != exits[e.Status] || stdout != "" || !strings.HasPrefix(stderr, want) || !strings.HasSuffix(stderr, "  request r-1\n") {
			t.Errorf("%s: exit %d\n%s%s", reason, code, stdout, stderr)
		}
	}
}

// TestEveryCommandSaysHowItIsUsed checks that each command has help with its usage and, where it does something, an example.
func TestEveryCommandSaysHowItIsUsed(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"state", "state follow", "ask", "brief", "changes", "chart", "cite", "api", "config", "config profile", "doctor", "completion", "config set",
		"config profile add", "login", "verify",
	} {
		code, stdout, stderr := run(t.Context(), nil, append(strings.Fields(name), "--help")...)
		if code != 0 || stderr != "" || !strings.Contains(stdout, "Examples\n  ") || !strings.Contains(stdout, "Usage\n  ctx "+name) {
			t.Errorf("%s --help: exit %d\n%s%s", name, code, stdout, stderr)
		}
		for i, line := range strings.Split(stdout, "\n") {
			if len(line) > 120 {
				t.Errorf("%s --help, line %d is %d columns wide: %s", name, i+1, len(line), line)
			}
		}
	}
}

// TestHelpReadsNothing has what needs no settings read none: commands are made without a configuration, a key or a connection.
func TestHelpReadsNothing(t *testing.T) {
	t.Parallel()
	settings := []string{"CTX_CONFIG", "CTX_CONFIG_DIR", "CTX_API_KEY", "CTX_BASE_URL", "CTX_SESSION", "CTX_WALLET_PRIVATE_KEY"}
	for args, reads := range map[string]bool{
		"--help": false, "fresh --help": false, "wallet new --help": false, "help environment": false, "completion bash": false, "fresh": true,
	} {
		var read []string
		client.Main(t.Context(), strings.Fields(args), cli.System{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard, Now: fakeNow,
			LookupEnv: func(name string) (string, bool) {
				if slices.Contains(settings, name) {
					read = append(read, name)
				}
				return map[string]string{"CTX_CONFIG_DIR": t.TempDir(), "CTX_BASE_URL": "nonsense"}[name], name == "CTX_CONFIG_DIR" || name == "CTX_BASE_URL"
			}})
		if (len(read) > 0) != reads {
			t.Errorf("ctx %s reads %q", args, read)
		}
	}
}

// TestDebugHidesKeys checks the most talkative call for the key.
func TestDebugHidesKeys(t *testing.T) {
	t.Parallel()
	f := newFake()
	defer f.Close()
	env := map[string]string{"CTX_BASE_URL": f.URL, "CTX_CONFIG_DIR": t.TempDir(), "CTX_API_KEY": goodKey}
	for _, args := range [][]string{{"fresh"}, {"doctor"}, {"config", "list"}, {"api", "/v1/subscribe?token=" + goodKey}, {"brief", "--timeout", "1ns"}} {
		_, stdout, stderr := run(t.Context(), env, slices.Concat(args, []string{"--debug", "-v"})...)
		if strings.Contains(stdout+stderr, "SECRET") || !strings.Contains(stdout+stderr, "debug: ") && args[0] != "config" {
			t.Errorf("%v:\n%s%s", args, stdout, stderr)
		}
	}
	if slices.Contains(f.requests, "") || len(f.requests) == 0 {
		t.Error("nothing was asked")
	}
}

// TestNow checks that ctx takes the time from the system it is given.
func TestNow(t *testing.T) {
	t.Parallel()
	f := newFake()
	defer f.Close()
	env := map[string]string{"CTX_BASE_URL": f.URL, "CTX_CONFIG_DIR": t.TempDir(), "CTX_API_KEY": goodKey}
	run(t.Context(), env, "snapshot", "--at", "90m")
	if want := "GET /v1/snapshot?at=" + strings.ReplaceAll(api.Minute(fakeNow().Add(-90*time.Minute)).Key(), ":", "%3A") + "&pack=crypto"; !slices.Contains(f.requests, want) {
		t.Errorf("asked %q, want %q", f.requests, want)
	}
}
