package command

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/contextd/contextd/client/config"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/human"
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
	set.BoolVarP(&f.Verbose, "verbose", "v", false, "tell the request id and more on stderr")
	set.BoolVar(&f.Debug, "debug", false, "tell every HTTP request on stderr")
	set.String("color", "auto", "`when` to use colour: auto, always or never")
	set.BoolVar(&f.NoColor, "no-color", false, "no colour")
	set.BoolVar(&f.NoInput, "no-input", false, "never ask")
	set.BoolVarP(&f.Yes, "yes", "y", false, "answer every question with yes")
}

// Spec is how the output is wanted. It fails, before anything is called, where the flags cannot be followed.
func (a *Factory) Spec() (cli.Spec, error) {
	c, err := a.Config()
	if err != nil {
		return cli.Spec{}, err
	}
	spec, err := a.Flags.output.Spec(cli.Format(c.Get(config.Output).Text))
	if err != nil {
		err = cli.Invalid("%w", err).WithHint("ctx help formatting")
	}
	return spec, err
}

// Command completes c: its output has the fields, and run runs once the flags are checked. Mistakes in flags and arguments end
// before run does anything.
func (a *Factory) Command(c *cobra.Command, fields []string, run func(ctx context.Context, args []string) error) *cobra.Command {
	cli.SetFields(c, fields...)
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := a.Check(c); err != nil {
			return err
		}
		return run(c.Context(), args)
	}
	return c
}

// Check reports what is wrong with the global flags of a call of c.
func (a *Factory) Check(c *cobra.Command) error {
	if id := a.Flags.RequestID; id != "" && uuid.Validate(id) != nil {
		return cli.Invalid("--request-id %q is not a UUID", id)
	}
	spec, err := a.Spec()
	if err != nil || a.payer != nil { // the command around this one has been checked
		return err
	}
	return spec.CheckFields(c)
}

// Style is how text for stdout or stderr may be marked, which is a terminal or not.
func (a *Factory) Style(tty bool) cli.Style {
	style, when := a.System.Style(tty), config.Value{}
	if c, err := a.Config(); err == nil {
		when = c.Get(config.Color)
	}
	switch {
	case a.Flags.NoColor || when.Text == "never":
		style.Color = false
	case when.Text == "always" && (a.Env("NO_COLOR") == "" || strings.HasPrefix(when.Origin, "flag")):
		style.Color = true
	}
	return style
}

// tracer tells every request on stderr. Secrets are in headers, which it leaves out, and in a token parameter, which it hides.
type tracer struct{ app *Factory }

// RoundTrip sends r and tells it.
func (t tracer) RoundTrip(r *http.Request) (*http.Response, error) {
	began := t.app.Now()
	resp, err := t.app.transport.RoundTrip(r)
	took := t.app.Now().Sub(began).Milliseconds()
	line := fmt.Sprintf("debug: %s %s (%d ms): ", r.Method, sdk.RedactURL(r.URL), took)
	if err != nil {
		line += err.Error()
	} else {
		line += resp.Status + ", request " + resp.Header.Get(api.HeaderRequestID)
	}
	fmt.Fprintln(t.app.Err, human.Line(line))
	return resp, err
}
