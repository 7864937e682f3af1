// Package command is what every command of ctx is made with: the settings, keys, clients and wallets of one run, each found when it is
// first asked for, and the streams on which people are asked and told.
//
// It has no command of its own. Those on money are in client/pay, all others in client, which assembles them.
package command

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/contextd/contextd/client/config"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/sdk"
)

// Factory makes what the commands of one run of ctx need. Nothing is read and no connection opened before a command calls one of the funcs:
// help and completion cost nothing, and flags may be parsed after commands were made. A command keeps of it what it uses, in its options.
//
// Each needs those above it: the configuration says which profile holds, the profile which key is kept, and both who pays. A Factory is
// not safe for concurrent use, but for Payments.Payer.
type Factory struct {
	*IO

	// Paths are where the configuration is, and Config is what holds: flags go before the environment, that before the profile and the
	// file.
	Paths  func() (config.Paths, error)
	Config func() (*config.Config, error)
	// SetHere writes a setting for the profile in use: into the profile, or at the top of the file for the one that is not in it.
	SetHere func(name, value string) error
	// Pack is the pack a command is about: its first argument, if there is one, or the configured one.
	Pack func(args []string) (string, error)
	// Key is the key that calls are made with, zero if there is none, and where it comes from.
	Key func() (key sdk.Key, origin string, err error)
	// Client is the client of the configured service, with the key or with who pays in its place.
	Client func() (*sdk.Client, error)
	// KeyedClient is a client of the configured service with a key that is kept nowhere.
	KeyedClient func(key sdk.Key) (*sdk.Client, error)
	// PayingClient is a client of the service at an address, which need not be the configured one: it sends no key, and p pays.
	PayingClient func(address string, p sdk.Payer) (*sdk.Client, error)
	// Packs is what packs the configured service has.
	Packs PackList
	// HTTP is what requests are sent with. With --debug it tells each on stderr.
	HTTP func() http.RoundTripper
	// Newer says that the service is newer than ctx, "" where it is not.
	Newer func() string

	Account  *Account
	Wallets  *Wallets
	Payments *Payments
	Logs     *Logs

	service *service
}

// New makes the Factory of a run in the surroundings s.
func New(s cli.System) *Factory { return newFactory(s, &Flags{}, "") }

// newFactory makes a Factory for a profile, "" for the one that is set.
func newFactory(s cli.System, flags *Flags, profile string) *Factory {
	set := &settings{lookupEnv: s.LookupEnv, flags: flags, profile: profile}
	s.Err = cli.NewProgress(s)
	streams := &IO{System: s, Flags: flags, config: set.config}
	wallets := &Wallets{io: streams, config: set.config}
	payments := &Payments{io: streams, wallets: wallets, settings: set}
	account := &Account{io: streams, settings: set}
	calls := newService(streams, set, account, payments)
	account.client = calls.configured
	logs := &Logs{io: streams, settings: set, reader: calls.open}
	calls.check = sdk.WithProofCheck(logs.Check)
	return &Factory{
		IO: streams, Paths: set.paths, Config: set.config, SetHere: set.setHere, Pack: set.pack, Key: account.key,
		Client: calls.configured, HTTP: calls.http, Newer: calls.release.says, PayingClient: calls.paying, KeyedClient: calls.keyed,
		Packs:   PackList{set.config, calls.paying, s.Now},
		Account: account, Wallets: wallets, Payments: payments, Logs: logs, service: calls,
	}
}

// As is the Factory of another run in the same surroundings, with a profile in place of the one that is set. It is to be closed too.
func (f *Factory) As(profile string) *Factory { return newFactory(f.System, f.Flags, profile) }

// Close notes what was paid and answered, tells of a newer service, and ends the connections that are open.
func (f *Factory) Close() {
	f.Payments.close()
	f.service.release.tell()
	f.service.transport.CloseIdleConnections()
}

// Command completes c: its output has the fields, and run runs once the flags are checked. Mistakes in flags and arguments end
// before run does anything.
func (f *Factory) Command(c *cobra.Command, fields []string, run func(ctx context.Context, args []string) error) *cobra.Command {
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
func (f *Factory) checkFile(c *cobra.Command) error {
	named := f.Flags.ConfigFile
	section, _, _ := strings.Cut(strings.TrimPrefix(c.CommandPath(), c.Root().Name()+" "), " ")
	if named == "" || slices.Contains([]string{"config", "profile", "auth", "doctor"}, section) {
		return nil
	}
	if _, err := os.Stat(named); errors.Is(err, fs.ErrNotExist) {
		return cli.Invalid("--config: %w", err).
			WithHint("check the spelling, or create it: ctx config set NAME VALUE --config %s", named)
	}
	return nil
}

// Check reports what is wrong with the global flags of a call of c.
func (f *Factory) Check(c *cobra.Command) error {
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
