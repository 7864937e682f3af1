package client

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/google/uuid"
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

	fields string
	spec   cli.Spec
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
	set.Duration("timeout", sdk.DefaultTimeout, "time limit of a call, retries included")
	set.Int("retries", sdk.DefaultRetries, "attempts after the first")
	set.StringVar(&f.RequestID, "request-id", "", "send this `uuid` as the request id")

	set.StringP("output", "o", "", "`format`: table, json, yaml, ndjson, tsv or text")
	set.StringVar(&f.fields, "json", "", "JSON with these `fields`; without fields: list them")
	set.StringVarP(&f.spec.JQ, "jq", "q", "", "filter the JSON with a jq `expression`")
	set.StringVarP(&f.spec.Template, "template", "t", "", "format the JSON with a Go `template`")
	set.BoolVar(&f.spec.Header, "header", false, "write a header line for TSV")

	set.BoolVar(&f.Quiet, "quiet", false, "no notes on stderr")
	set.BoolVarP(&f.Verbose, "verbose", "v", false, "tell the request id and more on stderr")
	set.BoolVar(&f.Debug, "debug", false, "tell every HTTP request on stderr")
	set.String("color", "auto", "`when` to use colour: auto, always or never")
	set.BoolVar(&f.NoColor, "no-color", false, "no colour")
	set.BoolVar(&f.NoInput, "no-input", false, "never ask")
	set.BoolVarP(&f.Yes, "yes", "y", false, "answer every question with yes")
}

// Spec is how the output is wanted. It fails, before anything is called, where the flags cannot be followed.
func (a *App) Spec() (cli.Spec, error) {
	spec := a.Flags.spec
	c, err := a.Config()
	if err != nil {
		return spec, err
	}
	format := c.Get(config.Output)
	spec.Format = cli.Format(format.Text)
	if fields := a.Flags.fields; fields != "" {
		for field := range strings.SplitSeq(fields, ",") {
			spec.Fields = append(spec.Fields, strings.TrimSpace(field))
		}
	}
	asked := strings.HasPrefix(format.Origin, "flag")
	if !asked && (spec.Fields != nil || spec.JQ != "" || spec.Template != "") {
		spec.Format = "" // what is configured for every command yields to what this one was asked for
	}
	if err := spec.Check(); err != nil {
		return spec, Invalid("%w", err).WithHint("ctx help formatting")
	}
	return spec, nil
}

// Check reports what is wrong with the flags and with the fields asked for, of those that a command has. A field list that ends
// in OpenFields is open: the answer may have more.
func (a *App) Check(fields []string) error {
	if id := a.Flags.RequestID; id != "" && uuid.Validate(id) != nil {
		return Invalid("--request-id %q is not a UUID", id)
	}
	spec, err := a.Spec()
	if err != nil || a.payer != nil { // the command around this one has been checked
		return err
	}
	known := map[string]bool{}
	for _, field := range fields {
		known[field] = true
	}
	for _, field := range spec.Fields {
		if len(fields) > 0 && !known[field] && !known[OpenFields] {
			return Invalid("%w", &cli.FieldError{Field: field, Has: fields})
		}
	}
	return nil
}

// Style is how text for stdout or stderr may be marked, which is a terminal or not.
func (a *App) Style(tty bool) cli.Style {
	accessible := isSet(a.Env("CTX_ACCESSIBLE")) || isSet(a.Env("ACCESSIBLE"))
	style := cli.Style{Words: accessible, ASCII: !utf8Locale(a.System), Color: tty && a.Env("NO_COLOR") == "" && a.Env("TERM") != "dumb"}
	when := config.Value{}
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

// isSet reports whether the value of a variable switches something on.
func isSet(value string) bool { return value != "" && value != "0" && value != "false" }

// utf8Locale reports whether the locale takes more than ASCII. No locale at all is taken for a container's, which does.
func utf8Locale(s System) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if value := s.Env(name); value != "" {
			lower := strings.ToLower(value)
			return strings.Contains(lower, "utf-8") || strings.Contains(lower, "utf8")
		}
	}
	return true
}

// tracer tells every request on stderr. Secrets are in headers, which it leaves out, and in a token parameter, which it hides.
type tracer struct{ app *App }

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
