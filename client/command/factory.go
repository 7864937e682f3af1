// Package command is what every command of ctx is made with: the settings, keys, clients and wallets of one run, each found when it is
// first asked for, and the streams on which people are asked and told.
//
// It has no command of its own. Those on money are in client/pay, all others in client, which assembles them.
package command

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/contextd/contextd/client/config"
	"github.com/contextd/contextd/internal/build"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

// Factory is one run of ctx. It is not safe for concurrent use.
type Factory struct {
	cli.System
	Flags Flags

	profile     string // in place of the one that is set, "" for that
	config      *config.Config
	client      *sdk.Client
	stored      *config.Credential // of the profile in use, nil until it was read
	transport   *http.Transport
	payer       sdk.Payer    // pays in place of the wallet, nil for the wallet
	wallet      string       // to use in place of the configured one, "" for that
	walletPayer *walletPayer // pays from the wallet, nil until asked for
	warned      bool         // that a secret goes over plain http
}

// New makes the Factory of a run in the surroundings s.
func New(s cli.System) *Factory {
	a := &Factory{System: s}
	a.transport, _ = http.DefaultTransport.(*http.Transport)
	if a.transport == nil { // a program around this one has put another in its place
		a.transport = &http.Transport{}
	}
	a.transport = a.transport.Clone()
	return a
}

// As is another run in the same surroundings, with a profile in place of the one that is set. It is to be closed too.
func (a *Factory) As(profile string) *Factory {
	other := New(a.System)
	other.Flags, other.profile = a.Flags, profile
	return other
}

// Close notes what was paid and answered, and ends the connections that are open.
func (a *Factory) Close() {
	a.walletPayer.close()
	a.transport.CloseIdleConnections()
}

// Paths are the places of the configuration.
func (a *Factory) Paths() (config.Paths, error) {
	return config.Locate(a.LookupEnv, a.Flags.ConfigFile)
}

// Config is the configuration that holds.
func (a *Factory) Config() (*config.Config, error) {
	if a.config != nil {
		return a.config, nil
	}
	paths, err := a.Paths()
	if err != nil {
		return nil, cli.Invalid("%w", err)
	}
	c, err := config.Load(paths, a.LookupEnv, a.Flags.set, a.profile)
	if err != nil {
		return nil, cli.Invalid("%w", err).WithHint("ctx doctor")
	}
	a.config = c
	return c, nil
}

// SetHere writes a setting for the profile in use: into the profile, or at the top of the file for the one that is not in it.
func (a *Factory) SetHere(name, value string) error {
	c, err := a.Config()
	if err != nil {
		return err
	}
	profile := c.Profile()
	if profile == config.DefaultProfile && !slices.Contains(c.Profiles, profile) {
		profile = ""
	}
	a.config = nil // the next who asks reads it anew
	return c.Set(profile, name, value)
}

// Key is the key that calls are made with, zero if there is none, and where it comes from.
func (a *Factory) Key() (key sdk.Key, origin string, err error) {
	c, err := a.Config()
	if err != nil {
		return sdk.Key{}, "", err
	}
	file := c.Get(config.APIKeyFile)
	if env := a.Env(sdk.EnvAPIKey); env != "" && !strings.HasPrefix(file.Origin, "flag") {
		return sdk.NewKey(env), "environment " + sdk.EnvAPIKey, nil
	}
	if file.Text != "" {
		if address := c.Get(config.BaseURL); file.Origin == "file" && strings.HasPrefix(address.Origin, "profile ") {
			return sdk.Key{}, "", cli.Invalid("%s has an address of its own, and the key file of the whole configuration is for another",
				address.Origin).WithHint("ctx config set api_key_file FILE -p %s", c.Profile())
		}
		key, err := config.ReadKey(file.Text, a.In)
		if err != nil {
			return sdk.Key{}, "", cli.Invalid("%w", err)
		}
		return key, file.Origin, nil
	}
	stored, err := a.Stored()
	if err != nil || stored.Key.IsZero() {
		return sdk.Key{}, "", err
	}
	return stored.Key, "profile " + c.Profile(), nil
}

// Client is the client of the service.
func (a *Factory) Client() (*sdk.Client, error) {
	if a.client != nil {
		return a.client, nil
	}
	c, err := a.Config()
	if err != nil {
		return nil, err
	}
	var key sdk.Key
	var payer sdk.Payer
	if a.payer != nil {
		payer = a.payer
	} else if a.Pays() {
		payer = a.WalletPayer()
	} else if key, _, err = a.Key(); err != nil {
		return nil, err
	}
	a.client, err = a.newClient(c, c.Get(config.BaseURL).Text, key, payer)
	return a.client, err
}

// PayingClient is a client of the service at an address, which need not be the configured one: it sends no key, and p pays.
func (a *Factory) PayingClient(address string, p sdk.Payer) (*sdk.Client, error) {
	c, err := a.Config()
	if err != nil {
		return nil, err
	}
	return a.newClient(c, address, sdk.Key{}, p)
}

// warnPlain tells people, once, that a secret is about to go to another machine without encryption.
func (a *Factory) warnPlain(what, address string) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" || a.warned {
		return
	}
	host := u.Hostname()
	if ip := net.ParseIP(host); ip.IsLoopback() || host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return
	}
	a.warned = true
	fmt.Fprintln(a.Err, a.Style(a.ErrTTY).Warn(human.Line(
		fmt.Sprintf("warning: %s goes to %s over plain http, where others can read it on the way; use https", what, host))))
}

// newClient makes a client with what is configured for all of them.
func (a *Factory) newClient(c *config.Config, address string, key sdk.Key, p sdk.Payer) (*sdk.Client, error) {
	if !key.IsZero() {
		a.warnPlain("the API key", address)
	}
	client, err := sdk.New(sdk.WithoutEnv(), sdk.WithBaseURL(address), sdk.WithAPIKey(key), sdk.WithPayer(p),
		sdk.WithTimeout(c.Timeout()), sdk.WithRetries(c.Retries()), sdk.WithUserAgent("ctx/"+build.Read().Version),
		sdk.WithHTTPClient(&http.Client{Transport: a.HTTP()}))
	if err != nil {
		return nil, cli.Invalid("%w", err)
	}
	return client, nil
}

// HTTP is what requests are sent with. With --debug it tells each on stderr.
func (a *Factory) HTTP() http.RoundTripper {
	if a.Flags.Debug {
		return tracer{a}
	}
	return a.transport
}

// Call are the options of a call: the request id of the flags, and where its HTTP side goes.
func (a *Factory) Call(meta *sdk.Response) []sdk.CallOption {
	opts := []sdk.CallOption{sdk.WithResponse(meta)}
	if a.Flags.RequestID != "" {
		opts = append(opts, sdk.WithRequestID(a.Flags.RequestID))
	}
	return opts
}

// Pack is the pack a command is about: the argument, if there is one, or the configured one.
func (a *Factory) Pack(args []string) (string, error) {
	if len(args) > 0 && args[0] != "" {
		return args[0], nil
	}
	c, err := a.Config()
	if err != nil {
		return "", err
	}
	return c.Get(config.Pack).Text, nil
}

// Printer writes answers to stdout as the flags, the configuration and the terminal ask.
func (a *Factory) Printer() (*cli.Printer, error) {
	spec, err := a.Spec()
	if err != nil {
		return nil, err
	}
	return &cli.Printer{Spec: spec, Style: a.Style(a.OutTTY), Out: a.Out, TTY: a.OutTTY, Width: a.Columns(), Now: a.Now}, nil
}

// Print writes answer to stdout.
func (a *Factory) Print(ctx context.Context, answer cli.Answer) error {
	p, err := a.Printer()
	if err != nil {
		return err
	}
	return p.Print(ctx, answer)
}

// Note tells people something on stderr, unless they asked for quiet.
func (a *Factory) Note(format string, args ...any) {
	if !a.Flags.Quiet {
		fmt.Fprintln(a.Err, human.Text(fmt.Sprintf(format, args...)))
	}
}

// ReportMeta tells people what the HTTP side of an answer says: that its data is of the demo and, with --verbose, its request id.
func (a *Factory) ReportMeta(meta *sdk.Response) {
	spec, err := a.Spec()
	if meta.Demo() && err == nil && (!spec.Machine() || a.ErrTTY) {
		fmt.Fprintln(a.Err, a.Style(a.ErrTTY).Warn("demo data: recorded, synthetic values"))
	}
	if meta.Replayed {
		fmt.Fprintln(a.Err, a.Style(a.ErrTTY).Warn("this answer was paid for before and is given again, "+human.Age(meta.Age)+" later"))
	}
	if warning := warningIn(meta.Header); warning != "" {
		fmt.Fprintln(a.Err, a.Style(a.ErrTTY).Warn("warning: "+warning))
	}
	if a.Flags.Verbose {
		a.Note("status %d, request %s, %d request(s) sent", meta.Status, meta.RequestID, meta.Attempts)
	}
}

// warningIn is the text of a warning of the service, "" if there is none.
func warningIn(h http.Header) string {
	_, quoted, _ := strings.Cut(h.Get(api.HeaderWarning), ` "`)
	text, err := strconv.Unquote(`"` + quoted)
	if err != nil {
		return ""
	}
	return human.Line(text)
}

// Confirm asks a yes-or-no question, answered by --yes. Where nobody can be asked it fails at once and names the flag.
func (a *Factory) Confirm(ctx context.Context, question string) error {
	if a.Flags.Yes {
		return nil
	}
	if !a.InTTY || !a.ErrTTY || a.Flags.NoInput {
		return cli.Invalid("%s: there is nobody to ask", question).WithHint("add --yes")
	}
	fmt.Fprintf(a.Err, "%s [y/N] ", question)
	// What cannot be read is no consent.
	text, _ := a.interruptible(ctx, func() (string, error) { return bufio.NewReader(a.In).ReadString('\n') })
	if answer := strings.ToLower(strings.TrimSpace(text)); answer == "y" || answer == "yes" {
		return nil
	}
	if ctx.Err() != nil {
		fmt.Fprintln(a.Err)
	}
	return &cli.Failure{Exit: cli.ExitDeclined, Reason: "declined", Err: fmt.Errorf("nothing was changed")}
}
