package client_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/contextd/contextd/client"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/sdk/wallet"
)

// newApp makes a Factory with the flags of args and the environment of pairs; what it tells goes to the buffer.
func newFactory(t *testing.T, in string, args []string, pairs ...string) (*client.Factory, *bytes.Buffer) {
	t.Helper()
	pairs = append(pairs, "CTX_CONFIG_DIR", t.TempDir())
	var told bytes.Buffer
	a := client.New(cli.System{In: strings.NewReader(in), Out: io.Discard, Err: &told, InTTY: true, OutTTY: true, ErrTTY: true,
		Now: func() time.Time { return time.Time{} },
		LookupEnv: func(name string) (string, bool) {
			for i := 0; i < len(pairs); i += 2 {
				if pairs[i] == name {
					return pairs[i+1], true
				}
			}
			return "", false
		}})
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	a.Flags.Bind(set)
	if err := set.Parse(args); err != nil {
		t.Fatal(err)
	}
	return a, &told
}

func TestToFailure(t *testing.T) {
	t.Parallel()
	lost := func(err error) error { return fmt.Errorf("call: %w", &sdk.TransportError{Method: "GET", Err: err}) }
	sent := func(refused bool, r *api.StandardReceipt) error {
		return fmt.Errorf("w: %w", &sdk.PaidError{Payment: sdk.Payment{Scheme: api.SchemeExact}, Refused: refused, Receipt: r, Err: api.Errorf(api.ReasonKeyRevoked, "x")})
	}
	for name, c := range map[string]struct {
		err    error
		exit   int
		reason string
	}{
		"usage":               {cli.Invalid("x"), 3, "usage"},
		"wrapped":             {fmt.Errorf("w: %w", cli.Invalid("x")), 3, "usage"},
		"service":             {api.Errorf(api.ReasonKeyRevoked, "x"), 4, "key_revoked"},
		"too large":           {api.Errorf(api.ReasonInvalidRequest, "x").WithStatus(413), 3, "invalid_request"},
		"redirect":            {&api.Error{Code: api.CodeUpstreamError, Status: 301}, 1, ""},
		"gateway":             {&api.Error{Code: api.CodeUpstreamError, Status: 502}, 9, ""},
		"field":               {&cli.FieldError{Field: "x"}, 3, "usage"},
		"unreachable":         {lost(syscall.ECONNREFUSED), 9, "unreachable"},
		"pipe of the network": {lost(syscall.EPIPE), 9, "unreachable"},
		"timeout":             {lost(context.DeadlineExceeded), 9, "timeout"},
		"timeout of a dial":   {lost(&net.DNSError{IsTimeout: true}), 9, "timeout"},
		"interrupted":         {lost(context.Canceled), 130, "interrupted"},
		"interrupted waiting": {fmt.Errorf("%w (after %w)", context.Canceled, api.Errorf(api.ReasonStateUnavailable, "x")), 130, "interrupted"},
		"timeout waiting":     {fmt.Errorf("%w (after %w)", context.DeadlineExceeded, api.Errorf(api.ReasonStateUnavailable, "x")), 9, "state_unavailable"},
		"anything":            {errors.New("x"), 1, "failure"},
		"not x402":            {fmt.Errorf("w: %w", sdk.ErrRequired), 5, "payment_required"},
		"no funds":            {fmt.Errorf("w: %w", wallet.ErrNoFunds), 12, "payment_failed"},
		"authorized":          {sent(false, nil), 13, "paid_unanswered"},
		"settled":             {sent(false, &api.StandardReceipt{Success: true}), 13, "paid_unanswered"},
		"refused":             {sent(true, nil), 13, "paid_refused"},
		"settled and refused": {sent(true, &api.StandardReceipt{Success: true}), 13, "paid_refused"},
		"not settled":         {sent(true, &api.StandardReceipt{}), 12, "payment_failed"},
	} {
		if f := client.ToFailure(c.err); f == nil || f.Exit != c.exit || f.Reason != c.reason {
			t.Errorf("%s: %+v, want %d %s", name, f, c.exit, c.reason)
		}
	}
	for _, err := range []error{nil, fmt.Errorf("write: %w", syscall.EPIPE)} {
		if f := client.ToFailure(err); f != nil {
			t.Errorf("%v is a failure: %+v", err, f)
		}
	}
}

func TestStyle(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		env  []string
		tty  bool
		want cli.Style
	}{
		{nil, nil, true, cli.Style{Color: true}},
		{nil, nil, false, cli.Style{}},
		{nil, []string{"NO_COLOR", "1"}, true, cli.Style{}},
		{nil, []string{"NO_COLOR", ""}, true, cli.Style{Color: true}},
		{nil, []string{"TERM", "dumb"}, true, cli.Style{}},
		{[]string{"--no-color"}, nil, true, cli.Style{}},
		{[]string{"--color", "never"}, nil, true, cli.Style{}},
		{[]string{"--color", "always"}, []string{"NO_COLOR", "1"}, false, cli.Style{Color: true}},
		{nil, []string{"CTX_COLOR", "never"}, true, cli.Style{}},
		{nil, []string{"CTX_COLOR", "always"}, false, cli.Style{Color: true}},
		{nil, []string{"CTX_COLOR", "always", "NO_COLOR", "1"}, true, cli.Style{}},
		{nil, []string{"CTX_ACCESSIBLE", "1", "LANG", "C"}, false, cli.Style{Words: true, ASCII: true}},
		{nil, []string{"ACCESSIBLE", "0", "LANG", "de_DE.utf8"}, false, cli.Style{}},
		{nil, []string{"LC_ALL", "POSIX", "LANG", "en_US.UTF-8"}, false, cli.Style{ASCII: true}},
	} {
		a, _ := newFactory(t, "", c.args, c.env...)
		if got := a.Style(c.tty); got != c.want {
			t.Errorf("%v %v on a terminal %v: %+v, want %+v", c.args, c.env, c.tty, got, c.want)
		}
	}
}

// TestSpec checks that what one command was asked for wins over the format that is set for all.
func TestSpec(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		env  []string
		want cli.Format
		bad  bool
	}{
		{nil, []string{"CTX_OUTPUT", "yaml"}, cli.YAML, false},
		{[]string{"-o", "tsv"}, []string{"CTX_OUTPUT", "yaml"}, cli.TSV, false},
		{[]string{"--json", "a, b"}, []string{"CTX_OUTPUT", "table"}, "", false},
		{[]string{"-q", "."}, []string{"CTX_OUTPUT", "tsv"}, "", false},
		{[]string{"-q", ".", "-o", "tsv"}, nil, cli.TSV, true},
	} {
		a, _ := newFactory(t, "", c.args, c.env...)
		spec, err := a.Spec()
		if spec.Format != c.want || (err != nil) != c.bad {
			t.Errorf("%v %v: %q, %v", c.args, c.env, spec.Format, err)
		}
		if len(c.args) == 2 && c.args[0] == "--json" && strings.Join(spec.Fields, "|") != "a|b" {
			t.Errorf("fields %q", spec.Fields)
		}
	}
}

func TestConfirm(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]int{"y\n": 0, " YES \n": 0, "n\n": cli.ExitDeclined, "\n": cli.ExitDeclined, "": cli.ExitDeclined} {
		a, told := newFactory(t, in, nil)
		if f := client.ToFailure(a.Confirm(t.Context(), "remove it")); f == nil && want != 0 || f != nil && f.Exit != want {
			t.Errorf("answer %q: %+v", in, f)
		}
		if told.String() != "remove it [y/N] " {
			t.Errorf("asked %q", told)
		}
	}
	a, _ := newFactory(t, "", []string{"--yes"})
	if err := a.Confirm(t.Context(), "x"); err != nil {
		t.Error(err)
	}
	for _, args := range [][]string{{"--no-input"}, nil} {
		a, _ := newFactory(t, "y\n", args)
		a.InTTY = args != nil
		if f := client.ToFailure(a.Confirm(t.Context(), "x")); f == nil || f.Exit != cli.ExitUsage || !strings.Contains(f.Hint, "--yes") {
			t.Errorf("%v, nobody to ask: %+v", args, f)
		}
	}
}

// TestInterruptedQuestion checks that Ctrl-C at a question is a no.
func TestInterruptedQuestion(t *testing.T) {
	t.Parallel()
	a, _ := newFactory(t, "", nil)
	in, typing := io.Pipe()
	defer typing.Close()
	a.In = in
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if f := client.ToFailure(a.Confirm(ctx, "x")); f == nil || f.Exit != cli.ExitDeclined {
		t.Errorf("got %+v", f)
	}
}

// TestKeyOrder takes the sources of a key away one by one.
func TestKeyOrder(t *testing.T) {
	t.Parallel()
	const inEnv, inStdin = "cv_test_11111111111111111111111111111111", "cv_test_22222222222222222222222222222222"
	for _, c := range []struct {
		args []string
		env  []string
		want string
	}{
		{[]string{"--api-key-file", "-"}, []string{"CTX_API_KEY", inEnv}, inStdin},
		{nil, []string{"CTX_API_KEY", inEnv, "CTX_API_KEY_FILE", "-"}, inEnv},
		{nil, []string{"CTX_API_KEY_FILE", "-"}, inStdin},
		{nil, nil, ""},
	} {
		a, _ := newFactory(t, inStdin+"\n", c.args, c.env...)
		if key, origin, err := a.Key(); err != nil || key.Secret() != c.want {
			t.Errorf("%v %v: %v from %s, %v", c.args, c.env, key, origin, err)
		}
	}
}

// TestWalletPayerIsShared has several calls want to pay while the wallet is closed, as the terminal UI can.
func TestWalletPayerIsShared(t *testing.T) {
	t.Parallel()
	a, _ := newFactory(t, "", nil)
	walletPayer := a.Payments.Payer()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if _, err := walletPayer.Pay(t.Context(), sdk.Quote{}); err == nil {
				t.Error("paid without a chain")
			}
		})
	}
	a.Close()
	all.Wait()
	a.Close()
	if _, err := walletPayer.Pay(t.Context(), sdk.Quote{}); err == nil || err.Error() != "the wallet is closed" {
		t.Errorf("after the end: %v", err)
	}
}

// TestPlainHTTPIsTold has ctx warn, once, when a key would go to another machine without encryption.
func TestPlainHTTPIsTold(t *testing.T) {
	t.Parallel()
	const key = "cv_test_ab12cd34SECRETSECRETSECRETSECRET"
	for _, c := range []struct {
		address, key, session string
		want                  string // "" for no warning
	}{
		{"http://ctx.example", key, "", "the API key goes to ctx.example over plain http"},
		{"http://192.0.2.7:8402", key, "", "the API key goes to 192.0.2.7"},
		{"http://ctx.example", "", "cs_secret", "your session goes to ctx.example"},
		{"http://[2001:db8::1]:8402", key, "cs_secret", "the API key goes to 2001:db8::1"},
		{"http://localhost.example", key, "", "the API key goes to"},
		{"http://127.0.0.1.example", key, "", "the API key goes to"},
		{"https://ctx.example", key, "cs_secret", ""},
		{"http://127.0.0.1:8402", key, "cs_secret", ""},
		{"http://127.9.9.9", key, "", ""},
		{"http://[::1]:8402", key, "", ""},
		{"http://localhost:8402", key, "", ""},
		{"http://demo.localhost", key, "", ""},
		{"http://ctx.example", "", "", ""},
	} {
		a, told := newFactory(t, "", []string{"--base-url", c.address, "--quiet"}, "CTX_API_KEY", c.key, "CTX_SESSION", c.session, "NO_COLOR", "1")
		for range 2 {
			if _, err := a.Client(); err != nil {
				t.Fatal(err)
			}
			if _, err := a.Account.Console(false); err != nil {
				t.Fatal(err)
			}
		}
		if got := told.String(); strings.Count(got, "warning: ") != min(len(c.want), 1) || !strings.Contains(got, c.want) ||
			strings.Contains(got, "secret") || strings.Contains(got, "SECRET") {
			t.Errorf("%s with key %q and session %q: %q", c.address, c.key, c.session, got)
		}
	}
}

// TestBusy begins a task only where people read the answer.
func TestBusy(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		env  []string
		told bool
	}{
		{nil, nil, true}, {[]string{"-o", "table"}, nil, true}, {[]string{"-o", "json"}, nil, false}, {[]string{"--quiet"}, nil, false},
		{[]string{"-q", "."}, nil, false}, {nil, []string{"CTX_OUTPUT", "yaml"}, false}, {nil, []string{"CI", "1"}, false},
	} {
		f, _ := newFactory(t, "", c.args, c.env...)
		task := f.Busy("work")
		if task.Done(); (task != nil) != c.told {
			t.Errorf("%v %v: told %t", c.args, c.env, task != nil)
		}
	}
}
