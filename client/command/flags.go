package command

import (
	"github.com/spf13/pflag"

	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

// Flags are the global flags. Those that are settings too are read through Config.
type Flags struct {
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
func (f *Flags) Bind(set *pflag.FlagSet) {
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
