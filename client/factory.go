package client

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/contextd/contextd/client/config"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

// factory makes what the commands of one run of ctx need: its settings, keys, clients and wallets. Nothing is read and no connection opened
// before a command asks for it: help and completion cost nothing, and flags may be parsed after commands were made. A command keeps of it
// what it uses, in its options.
//
// Each part needs those above it: the settings say which profile is in use, the profile which key, and both who pays. A factory is not safe
// for concurrent use, but for Payments.Payer.
type factory struct {
	*streams
	*settings
	*clients

	Account  *account
	Wallets  *wallets
	Payments *payments
	Logs     *logs
	Packs    packList // what packs the configured service has
}

// newFactory makes the factory of a run in the surroundings s.
func newFactory(s cli.System) *factory { return newFactoryFor(s, &globalFlags{}, "") }

// newFactoryFor makes a factory for a profile, "" for the one that is set.
func newFactoryFor(s cli.System, flags *globalFlags, profile string) *factory {
	s.LookupEnv = withoutUnset(s.LookupEnv)
	f := &factory{settings: &settings{lookupEnv: s.LookupEnv, flags: flags, profile: profile}}
	s.Err = cli.NewProgress(s)
	f.streams = &streams{System: s, Flags: flags, settings: f.settings}
	f.Wallets = &wallets{io: f.streams, config: f.Config}
	f.Payments = &payments{io: f.streams, wallets: f.Wallets, settings: f.settings}
	f.Account = &account{io: f.streams, settings: f.settings}
	f.clients = newClients(f.streams, f.settings, f.Account, f.Payments)
	f.Account.client = f.Client
	f.Logs = &logs{io: f.streams, settings: f.settings, reader: f.open}
	f.check = sdk.WithProofCheck(f.Logs.Check)
	f.Packs = packList{f.Config, f.PayingClient, s.Now}
	return f
}

// withoutUnset is what lookup finds, without what is as good as unset: settings of a bundle whose host passes them on as the manifest names
// them. Where there is no HOME, as on Windows, it is USERPROFILE.
func withoutUnset(lookup func(string) (string, bool)) func(string) (string, bool) {
	if lookup == nil {
		return nil
	}
	return func(name string) (string, bool) {
		value, ok := lookup(name)
		switch {
		case strings.HasPrefix(value, "${user_config."):
			return "", false
		case name == "HOME" && value == "":
			return lookup("USERPROFILE")
		}
		return value, ok
	}
}

// As is the factory of another run in the same surroundings, with a profile in place of the one that is set. It is to be closed too.
func (f *factory) As(profile string) *factory { return newFactoryFor(f.System, f.Flags, profile) }

// Key is the key that calls are made with, zero if there is none, and where it comes from.
func (f *factory) Key() (key sdk.Key, origin string, err error) { return f.Account.key() }

// Newer says that the service is newer than ctx, "" where it is not.
func (f *factory) Newer() string { return f.release.notice() }

// Close notes what was paid and answered, tells of a newer service, and ends the connections that are open.
func (f *factory) Close() {
	f.Payments.close()
	f.release.show()
	f.transport.CloseIdleConnections()
}

// Command completes c: its output has the fields, and run runs once the flags are checked. Mistakes in flags and arguments end
// before run does anything.
func (f *factory) Command(c *cobra.Command, fields []string, run func(ctx context.Context, args []string) error) *cobra.Command {
	cli.SetFields(c, fields...)
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := f.Check(c); err != nil {
			return err
		}
		return run(c.Context(), args)
	}
	return c
}

// checkFile refuses a --config that is not there, but for the commands that make it.
func (f *factory) checkFile(c *cobra.Command) error {
	named := f.Flags.ConfigFile
	section, _, _ := strings.Cut(strings.TrimPrefix(c.CommandPath(), c.Root().Name()+" "), " ")
	if named == "" || slices.Contains([]string{"config", "login", "logout", "whoami", "doctor"}, section) {
		return nil
	}
	if _, err := os.Stat(named); errors.Is(err, fs.ErrNotExist) {
		return cli.Invalid("--config: %w", err).
			WithHint("check the spelling, or create it: ctx config set NAME VALUE --config %s", named)
	}
	return nil
}

// Check reports what is wrong with the global flags of a call of c.
func (f *factory) Check(c *cobra.Command) error {
	if id := f.Flags.RequestID; id != "" && uuid.Validate(id) != nil {
		return cli.Invalid("--request-id %q is not a UUID", id).WithHint("uuidgen, or no --request-id")
	}
	if err := f.checkFile(c); err != nil {
		return err
	}
	spec, err := f.Spec()
	if err != nil || f.Payments.instead != nil { // the command around this one has been checked
		return err
	}
	return spec.CheckFields(c)
}

// Flags are the global flags. Those that are settings too are read through Config.
type globalFlags struct {
	ConfigFile string
	RequestID  string
	Quiet      bool
	Verbose    bool
	Debug      bool
	NoColor    bool
	NoInput    bool
	Yes        bool

	output cli.OutputFlags
	set    *pflag.FlagSet
}

// Bind defines the global flags in set.
func (f *globalFlags) Bind(set *pflag.FlagSet) {
	f.set = set
	set.StringP("profile", "p", "", "use this `profile`")
	set.String("base-url", "", "`address` of the service (default "+api.DefaultBaseURL+")")
	set.String("api-key-file", "", "read the API key from `file`, - for stdin")
	set.StringVar(&f.ConfigFile, "config", "", "read settings from `file`")
	set.Bool("pay", false, "pay for calls from the wallet, one by one, and send no key")
	set.String("max-amount", "", "pay up to this much `USDG` for a call, not its published price")
	set.Duration("timeout", sdk.DefaultTimeout, "time limit of a call, retries included")
	set.Int("retries", sdk.DefaultRetries, "attempts after the first")
	set.StringVar(&f.RequestID, "request-id", "", "send this `uuid` as the request id")

	f.output.Bind(set)

	set.BoolVar(&f.Quiet, "quiet", false, "no notes on stderr")
	set.BoolVarP(&f.Verbose, "verbose", "v", false, "show the request id and more on stderr")
	set.BoolVar(&f.Debug, "debug", false, "log every HTTP request to stderr")
	set.String("color", "auto", "`when` to use colour: auto, always or never")
	set.BoolVar(&f.NoColor, "no-color", false, "no colour")
	set.BoolVar(&f.NoInput, "no-input", false, "never ask")
	set.BoolVarP(&f.Yes, "yes", "y", false, "answer every question with yes")
}

// settings are the configuration of a run, read when it is first asked for.
type settings struct {
	lookupEnv func(string) (string, bool)
	flags     *globalFlags
	profile   string         // in place of the one that is set, "" for that
	holds     *config.Config // nil until it was read
}

// Paths are the places of the configuration.
func (s *settings) Paths() (config.Paths, error) {
	return config.Locate(s.lookupEnv, s.flags.ConfigFile)
}

// Config is the configuration that holds.
func (s *settings) Config() (*config.Config, error) {
	if s.holds != nil {
		return s.holds, nil
	}
	paths, err := s.Paths()
	if err != nil {
		return nil, cli.Invalid("%w", err)
	}
	c, err := config.Load(paths, s.lookupEnv, s.flags.set, s.profile)
	if wrong, ok := errors.AsType[*config.ValueError](err); ok {
		return nil, cli.Invalid("%w", err).WithHint("%s", wrong.Next())
	}
	if err != nil {
		return nil, cli.Invalid("%w", err).WithHint("ctx config edit, or --config FILE for another file")
	}
	if r, ok := cli.FindRunning(s.lookupEnv); ok {
		c.Find(r.BaseURL, sdk.NewKey(r.APIKey))
	}
	s.holds = c
	return c, nil
}

// forget has the configuration read again when it is next asked for.
func (s *settings) forget() { s.holds = nil }

// SetHere writes a setting for the profile in use: into the profile, or at the top of the file for the one that is not in it.
func (s *settings) SetHere(name, value string) error {
	c, err := s.Config()
	if err != nil {
		return err
	}
	profile := c.Profile()
	if profile == config.DefaultProfile && !slices.Contains(c.Profiles, profile) {
		profile = ""
	}
	s.forget()
	return c.Set(profile, name, value)
}

// Pack is the pack a command is about: the argument, if there is one, or the configured one.
func (s *settings) Pack(args []string) (string, error) {
	if len(args) > 0 && args[0] != "" {
		return args[0], nil
	}
	c, err := s.Config()
	if err != nil {
		return "", err
	}
	return c.Get(config.Pack).Text, nil
}
