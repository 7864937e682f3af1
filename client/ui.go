package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/client/config"
	"github.com/contextd/contextd/internal/atomicfile"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/tui"
	"github.com/contextd/contextd/tui/session"
	"github.com/contextd/contextd/tui/view"
)

// replayPace is the time between two events of a recording.
const replayPace = 2 * time.Second

type uiOptions struct {
	factory  *factory // of which the UI needs nearly all
	theme    string
	ascii    bool
	readOnly bool
	replay   string
}

func uiCommands(f *factory) []*cobra.Command {
	o, pack := &uiOptions{factory: f}, ""
	c := f.Command(&cobra.Command{
		Use: "ui", Short: "Watch a pack in the terminal", SuggestFor: []string{"tui", "dashboard", "top"},
		Long: "Watch a pack in the terminal: the live state, its brief, search, history and sources, and your keys and credits.\n" +
			"ctx without a command does the same on a terminal, if there is a key. Press ? for the keys; ctx help shortcuts\n" +
			"explains how to change them. B shows a second pack beside it where the terminal has 160 columns.\n\n" +
			"Opening the stream of a pack costs a credit, and so does every further connection; states and briefs come with\n" +
			"it. Anything else that costs says so first, such as the trends of the last day. If calls are not charged, the\n" +
			"trends load at once, and the watchlist follows the state. Without a key, nothing is sent until you choose how\n" +
			"to begin.",
		Example: "  ctx ui\n  ctx ui --theme light\n  ctx state follow -o ndjson > day.ndjson; ctx ui --replay day.ndjson",
	}, nil, func(ctx context.Context, _ []string) error { return o.run(ctx, []string{pack}) })
	flags := c.Flags()
	flags.StringVar(&o.theme, "theme", themeAuto, "`colours`: auto, dark, light or mono; auto asks the terminal for its background")
	cli.CompleteValues(c, "theme", themeAuto, string(view.Dark), string(view.Light), string(view.Mono))
	flags.BoolVar(&o.ascii, "ascii", false, "draw with ASCII characters alone")
	flags.BoolVar(&o.readOnly, "read-only", false, "neither make nor revoke keys, nor buy credits")
	flags.StringVar(&o.replay, "replay", "", "show a recording instead of a service, from a `file` of ctx state follow -o ndjson")
	return []*cobra.Command{f.Packed(c, &pack, "this `pack`", 0, 0)}
}

// bareUI lets ctx without arguments start the UI where it can: on a terminal, with a key. Without a key it asks there what to do.
// Elsewhere it shows its help. With the name of a pack it starts the UI of that.
func bareUI(f *factory, root *cobra.Command) {
	otherwise := root.RunE
	root.RunE = func(c *cobra.Command, args []string) error {
		if ok, err := f.packUI(c.Context(), args); ok {
			return err
		}
		if len(args) > 0 || !drawable(f.streams) {
			return otherwise(c, args)
		}
		switch key, _, err := f.Key(); {
		case err != nil:
			return otherwise(c, args)
		case key.IsZero() && f.ErrTTY && !f.Flags.NoInput && !f.Payments.On():
			return first(c.Context(), f, root)
		case key.IsZero():
			return otherwise(c, args)
		}
		o := &uiOptions{factory: f, theme: themeAuto}
		return o.run(c.Context(), nil)
	}
}

// drawable reports whether there is a terminal to draw on.
func drawable(s *streams) bool { return s.InTTY && s.OutTTY && s.Env("TERM") != "dumb" }

// themeAuto is the value of --theme that goes by the background of the terminal.
const themeAuto = "auto"

func (o *uiOptions) run(ctx context.Context, args []string) error {
	if !slices.Contains([]string{themeAuto, string(view.Dark), string(view.Light), string(view.Mono)}, o.theme) {
		return cli.Invalid("--theme has %q, which is none of auto, dark, light, mono", o.theme)
	}
	if !drawable(o.factory.streams) {
		return cli.Invalid("ui needs a terminal that can be drawn on, for input and output").
			WithHint("ctx state or ctx state follow, which need none")
	}
	c, err := o.config(o.factory, args)
	if err != nil {
		return err
	}
	o.factory.Flags.Quiet, o.factory.Flags.NoInput = true, true // the terminal is the UI's: nothing else writes to it or asks on it
	return tui.Run(ctx, c.Detect())
}

func (o *uiOptions) config(f *factory, args []string) (tui.Config, error) {
	style := f.Style(f.OutTTY)
	c := tui.Config{
		ASCII: o.ascii || style.ASCII, ReadOnly: o.readOnly, Now: f.Now, Env: f.Env, In: f.In, Out: f.Out, Notice: f.Newer,
		Browse: func(ctx context.Context, address string) error { return browse(ctx, f.Env, address) },
	}
	if o.theme != themeAuto {
		c.Theme = view.ThemeName(o.theme)
	}
	if !style.Color {
		c.Theme = view.Mono
	}
	paths, err := f.Paths()
	if err != nil {
		return c, cli.Invalid("%w", err)
	}
	c.CrashDir = filepath.Join(paths.Dir, "crash")
	if c.Pack, err = f.Pack(args); err != nil {
		return c, err
	}
	settings, err := f.Config()
	if err != nil {
		return c, err
	}
	if c.Keys, err = keymap(settings); err != nil {
		return c, err
	}
	c.Watchlist = watchlist(settings)
	c.Notify = f.OutTTY && settings.Get(config.Notify).Text == "true"
	if o.replay != "" {
		return o.recording(c)
	}
	kept := filepath.Join(paths.Dir, "ui.json")
	if text, err := os.ReadFile(kept); err == nil {
		c.Saved = tui.ReadSaved(text)
	}
	c.Save = func(k tui.Saved) { // of no loss where it cannot be written
		if text, err := json.Marshal(k); err == nil && os.MkdirAll(paths.Dir, 0o700) == nil {
			_ = atomicfile.Write(kept, append(text, '\n'), 0o644)
		}
	}
	c.Packs = func(ctx context.Context) (ids []string) {
		for _, p := range f.Packs.Known(ctx) {
			ids = append(ids, p.ID)
		}
		return ids
	}
	c.Close = f.Close
	c.Profile, c.Profiles = settings.Profile(), settings.Profiles
	if !slices.Contains(c.Profiles, config.DefaultProfile) { // it need not be written down
		c.Profiles = append([]string{config.DefaultProfile}, c.Profiles...)
	}
	if len(c.Profiles) > 1 {
		c.Switch = o.other
	}
	if settings.Get(config.APIKeyFile).Text != "-" { // which cannot be read twice
		c.Again = func() (tui.Config, error) { return o.config(o.factory.As(settings.Profile()), args) }
	}
	return service(f, c)
}

// other is what the UI needs for another profile. It fails where flags or the environment say which service to ask, with which key, or how
// to pay: they go before what the profile says, and are meant for the service that was asked for.
func (o *uiOptions) other(profile string) (tui.Config, error) {
	f := o.factory.As(profile)
	settings, err := f.Config()
	if err != nil {
		return tui.Config{}, err
	}
	var origins []string
	for _, name := range []string{
		config.BaseURL, config.APIKeyFile, config.Pay, config.Wallet, config.RPCURL, config.ChainID, config.Token,
	} {
		origins = append(origins, settings.Get(name).Origin)
	}
	for _, name := range []string{sdk.EnvAPIKey, envSession} {
		if f.Env(name) != "" {
			origins = append(origins, "environment "+name)
		}
	}
	for _, origin := range origins {
		if strings.HasPrefix(origin, "option ") || strings.HasPrefix(origin, "environment ") {
			return tui.Config{}, fmt.Errorf("%s goes before what profiles say; quit, and start without it", origin)
		}
	}
	if settings.Get(config.APIKeyFile).Text == "-" {
		return tui.Config{}, errors.New("its key is read from standard input, which is the terminal's now")
	}
	c, err := o.config(f, nil)
	if err != nil {
		f.Close()
		return tui.Config{}, err
	}
	return c, nil
}

func (o *uiOptions) recording(c tui.Config) (tui.Config, error) {
	if _, err := os.Stat(o.replay); err != nil {
		return c, cli.Invalid("--replay: %w", err)
	}
	c.Stream = session.PlayRecording(func() (io.ReadCloser, error) { return os.Open(o.replay) }, replayPace)
	c.Recording, c.Where = true, filepath.Base(o.replay)
	return c, nil
}

// service is c for the service of the profile of f. Where there is neither a key nor a payer the user is asked before anything is sent.
func service(f *factory, c tui.Config) (tui.Config, error) {
	client, err := f.Client()
	if err != nil {
		return c, err
	}
	if client.Key().IsZero() && !f.Payments.On() {
		keyless := c
		c.Close = nil // nothing is held before there is a key
		c.UseKey = func(text string) (tui.Config, error) { return withKey(f, keyless, sdk.NewKey(text)) }
	}
	return with(f, c, client)
}

// withKey is c for the service of the profile of f, with a key that is kept nowhere.
func withKey(f *factory, c tui.Config, key sdk.Key) (tui.Config, error) {
	if key.KeyID() == "" {
		return c, errors.New("that is no whole key: copy all of it, from cv_ to its end")
	}
	client, err := f.KeyedClient(key)
	if err != nil {
		return c, err
	}
	return with(f, c, client)
}

// with is c for a client of the service of the profile of f. Nobody has to be signed in.
func with(f *factory, c tui.Config, client *sdk.Client) (tui.Config, error) {
	c.Stream, c.Service, c.KeyID, c.Where = tui.Subscribe(client), client, client.Key().KeyID(), c.Profile
	if c.Where == config.DefaultProfile { // which says nothing: the address does
		_, c.Where, _ = strings.Cut(client.BaseURL(), "://")
	}
	c.Prove = func(ctx context.Context, pack string, made time.Time, state []byte) (bool, error) {
		p, _, err := f.Logs.See(ctx, pack, func(l *sdk.Log) (*api.LogEntry, error) { return l.At(ctx, made) })
		if err == nil {
			return p.IsOfState(state) == nil, nil
		}
		if !errors.Is(err, sdk.ErrUnproven) { // it could not be looked at
			err = nil
		}
		return false, err
	}
	if c.Again != nil && f.Env(envSession) == "" { // which goes before what is kept
		c.SignIn = uiSignIn{f, client}
	}
	console, err := f.Account.Console(true)
	if err != nil {
		var failure *cli.Failure
		if errors.As(err, &failure) && failure.Reason == "missing_session" {
			return c, nil
		}
		return c, err
	}
	c.Account, c.Seller = console, console
	if f.Wallets.Configured() {
		walletPayer := f.Payments.Payer()
		c.Pay = func(ctx context.Context, intent *api.DepositIntent) (*api.Deposit, error) {
			return console.PayDeposit(ctx, intent, walletPayer)
		}
	}
	return c, nil
}

// keymap is the keys of the terminal UI, by the configuration.
func keymap(c *config.Config) (*view.Keymap, error) {
	keys, err := view.NewKeymap(c.Keys)
	if err != nil {
		return nil, cli.Invalid("%w", err).WithHint("ctx help shortcuts, then ctx config edit")
	}
	return &keys, nil
}
