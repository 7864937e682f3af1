package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/client/config"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/doctor"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

type doctorOptions struct {
	*factory

	free   bool             // no call that is charged
	checks []doctor.Finding // so far
}

// newDoctor makes the command that looks for what is wrong.
func newDoctor(f *factory) *cobra.Command {
	o := doctorOptions{factory: f}
	c := lenient(&cobra.Command{Use: "doctor", Short: "Check the configuration, the service and the key", Args: cobra.NoArgs,
		Long: "Check the configuration, the connection, the clock, the key, access to the pack and the age of its state. This\n" +
			"costs one call; --free skips it. If a wallet or a chain is configured, also check these, the wallet's balance\n" +
			"and bounds, and unfinished payments. Exit code 1 means that something is broken.",
		Example: "  ctx doctor\n  ctx doctor --free -o json",
	}, func(c *cobra.Command, _ []string) error { return o.run(c.Context()) })
	cli.SetFields(c, "check", "outcome", "found", "fix")
	c.Flags().BoolVar(&o.free, "free", false, "make no call that is charged")
	return c
}

func (o *doctorOptions) add(name string, outcome doctor.Outcome, fix, found string, args ...any) {
	o.checks = append(o.checks, doctor.Finding{
		Check: name, Outcome: outcome, Found: human.Line(fmt.Sprintf(found, args...)), Fix: human.Line(fix),
	})
}

// run makes the checks in an order in which each may lean on those before, and shows them.
func (o *doctorOptions) run(ctx context.Context) error {
	c := o.settings()
	task := o.Busy("looking at the service, its state and the wallet")
	defer task.Done()
	o.terminal()
	if c != nil {
		if o.server(ctx, c) {
			o.service(ctx, c)
		}
		o.solvency(ctx, c)
	}
	task.Done()
	if err := o.print(ctx); err != nil {
		return err
	}
	if doctor.Failures(o.checks) > 0 {
		return &cli.Failure{Exit: cli.ExitFailure, Reason: "unwell", Err: errors.New("at least one check failed")}
	}
	return nil
}

// settings checks the files. It returns nil where there is no configuration to go on with.
func (o *doctorOptions) settings() *config.Config {
	c, err := o.Config()
	if err != nil {
		o.add("configuration", doctor.Failure, "correct the file (ctx config path) or the variable", "%v", err)
		return nil
	}
	switch _, err := os.Stat(c.File); {
	case len(c.Unknown) > 0:
		o.add("configuration", doctor.Warning, "ctx config list shows all settings",
			"%s has unknown settings: %s", c.File, strings.Join(c.Unknown, ", "))
	case errors.Is(err, fs.ErrNotExist):
		o.add("configuration", doctor.OK, "", "no file: defaults and environment")
	default:
		o.add("configuration", doctor.OK, "", "%s, profile %s", c.File, c.Profile())
	}
	if _, err := keymap(c); err != nil {
		o.add("shortcuts", doctor.Failure, "ctx help shortcuts", "%v", err)
	}
	if info, err := os.Stat(c.Dir); err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o022 != 0 {
		o.add("directory", doctor.Warning, "chmod 700 "+c.Dir, "other users can write to %s (mode %04o)", c.Dir, info.Mode().Perm())
	}
	return c
}

// terminal tells what the terminal can do.
func (o *doctorOptions) terminal() {
	style := o.Style(o.OutTTY)
	word := map[bool]string{true: "yes", false: "no"}
	o.add("terminal", doctor.OK, "", "terminal %s, colour %s, UTF-8 %s, %d columns, TERM %q",
		word[o.OutTTY], word[style.Color], word[!style.ASCII], o.Columns(), o.Env("TERM"))
}

// server checks that something answers at the address and that the clocks agree. It reports whether to go on.
func (o *doctorOptions) server(ctx context.Context, c *config.Config) bool {
	base := c.Get(config.BaseURL)
	u, err := url.Parse(base.Text)
	if err != nil {
		o.add("address", doctor.Failure, "ctx config set base_url https://…", "%s is not an address", base.Text)
		return false
	}
	if loopback := isLoopback(u.Hostname()); u.Scheme == "http" && !loopback {
		o.add("address", doctor.Warning, "use https", "%s (from %s): the key travels unencrypted", base.Text, base.Origin)
	} else {
		o.add("address", doctor.OK, "", "%s (from %s)", base.Text, base.Origin)
	}
	if !isLoopback(u.Hostname()) {
		if _, err := net.DefaultResolver.LookupHost(ctx, u.Hostname()); err != nil {
			o.add("name", doctor.Failure, "check the address and the network", "%v", err)
			return false
		}
	}
	client, err := sdk.New(sdk.WithoutEnv(), sdk.WithBaseURL(base.Text), sdk.WithRetries(0),
		sdk.WithTimeout(min(c.Timeout(), 10*time.Second)), sdk.WithHTTPClient(&http.Client{Transport: o.HTTP()}))
	if err != nil {
		o.add("server", doctor.Failure, "ctx config set base_url https://…", "%v", err)
		return false
	}
	began := o.Now()
	var meta sdk.Response
	_, err = client.Do(ctx, sdk.Request{Path: api.PathReady}, sdk.WithResponse(&meta))
	took := o.Now().Sub(began)
	if meta.Status == 0 {
		o.add("server", doctor.Failure, "start it (contextd demo, contextd serve) or set another address", "%v", err)
		return false
	}
	switch {
	case meta.RequestID == "":
		o.add("server", doctor.Failure, "check the base URL and any proxy on the way",
			"not a context service (status %d)", meta.Status)
		return false
	case err != nil:
		o.add("server", doctor.Warning, "wait a few seconds, then check the daemon's log",
			"answered in %d ms, but not ready (status %d)", took.Milliseconds(), meta.Status)
	default:
		o.add("server", doctor.OK, "", "ready, answered in %d ms", took.Milliseconds())
	}
	if meta.Demo() {
		o.add("data", doctor.Warning, "contextd serve reads real sources", "demo data: synthetic values")
	}
	o.clock(meta.Header, began.Add(took/2))
	return true
}

// clock compares the clock here with the server's, which tells whole seconds.
func (o *doctorOptions) clock(h http.Header, now time.Time) {
	date, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		return
	}
	const tolerated = 30 * time.Second
	if skew := now.Sub(date.Add(500 * time.Millisecond)); skew.Abs() > tolerated {
		o.add("clock", doctor.Warning, "set the clock; payments have deadlines",
			"this machine is %s off the server", skew.Round(time.Second))
		return
	}
	o.add("clock", doctor.OK, "", "agrees with the server")
}

// isLoopback reports whether host is this machine.
func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// service checks the key, the pack and the age of the state.
func (o *doctorOptions) service(ctx context.Context, c *config.Config) {
	if o.Payments.On() {
		o.add("key", doctor.OK, "", "not sent: each call is paid separately (from %s)", c.Get(config.Pay).Origin)
		return
	}
	key, origin, err := o.Key()
	switch {
	case err != nil:
		o.add("key", doctor.Failure, "chmod 600 the file, or name another file", "%v", err)
		return
	case key.IsZero():
		o.add("key", doctor.Failure, "export CTX_API_KEY=cv_…, or ctx config profile add NAME --api-key-file FILE", "none")
		return
	case !key.Valid():
		o.add("key", doctor.Failure, "copy it again, whole", "%s does not hold a key", origin)
		return
	}
	client, err := o.Client()
	if err != nil {
		o.add("key", doctor.Failure, "ctx config list --show-origin", "%v", err)
		return
	}
	pack := c.Get(config.Pack).Text
	// An anchor that no pack has is refused last of all, after the key and the pack, and costs nothing.
	const noAnchor = 1_000_000
	_, err = client.Cite(ctx, pack, noAnchor)
	switch e := api.AsError(err); {
	case errors.Is(err, sdk.ErrCitationNotFound):
		o.add("key", doctor.OK, "", "%s (from %s) is valid for pack %s", key, origin, pack)
	case e.Status == http.StatusUnauthorized:
		o.add("key", doctor.Failure, "use another key", "%s (from %s): %v", key, origin, err)
		return
	case err != nil:
		o.add("pack", doctor.Failure, e.Hint, "%s with %s: %v", pack, key, err)
		return
	}
	if !o.free {
		o.freshness(ctx, client, pack)
	}
}

// freshness checks the age of the state. It is one call.
func (o *doctorOptions) freshness(ctx context.Context, client *sdk.Client, pack string) {
	var meta sdk.Response
	fresh, err := client.Fresh(ctx, pack, sdk.WithResponse(&meta))
	if err != nil {
		o.add("freshness", doctor.Failure, api.AsError(err).Hint, "%v", err)
		return
	}
	o.quota(meta.Left())
	f := fresh.Freshness.At(o.Now())
	age := human.Age(time.Duration(f.AgeSeconds) * time.Second)
	switch {
	case f.AgeSeconds > api.MaxFreshAge:
		o.add("freshness", doctor.Warning, "the daemon's refresh lags; check its log", "the state of %s is %s old", pack, age)
		return
	case f.Stale(o.Now()):
		o.add("freshness", doctor.Warning, "a source does not answer; to see which: ctx state --path source_status",
			"the state of %s is %s old, its oldest data %s", pack, age, human.Age(time.Duration(f.DataAgeSeconds)*time.Second))
		return
	}
	o.add("freshness", doctor.OK, "", "the state of %s is %s old", pack, age)
}

// quota says what the key can still call.
func (o *doctorOptions) quota(left sdk.Left) {
	switch words := leftWords(left); {
	case words == "": // an older service
	case left.Credits != nil && *left.Credits == 0, left.FreeCalls != nil && *left.FreeCalls == 0:
		o.add("quota", doctor.Warning, "ctx credits buy PACK", "that was the last call: %s", words)
	default:
		o.add("quota", doctor.OK, "", "%s", words)
	}
}

// print shows what was found. Where the configuration is broken the flags cannot be trusted, and it shows text.
func (o *doctorOptions) print(ctx context.Context) error {
	doc, err := cli.Marshal(o.checks)
	if err != nil {
		return err
	}
	rows := doctor.Rows(o.checks, "outcome", "check", "found", "fix")
	answer := cli.Answer{JSON: doc, Rows: rows, Piped: cli.Text, Text: o.text}
	p, err := o.Printer()
	if err != nil {
		return o.text(o.Out, o.Columns(), o.Style(o.OutTTY))
	}
	return p.Print(ctx, answer)
}

// text writes a line for each check, and one for its fix.
func (o *doctorOptions) text(w io.Writer, _ int, style cli.Style) error {
	paint := map[doctor.Outcome]func(string) string{doctor.OK: style.Good, doctor.Warning: style.Warn, doctor.Failure: style.Bad}
	for _, c := range o.checks {
		fix := ""
		if c.Fix != "" {
			fix = "\n    fix: " + c.Fix
		}
		if _, err := fmt.Fprintf(w, "%s %s: %s%s\n", paint[c.Outcome](style.Mark(string(c.Outcome))), c.Check, c.Found, fix); err != nil {
			return err
		}
	}
	return nil
}
