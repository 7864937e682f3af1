package client

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/client/config"
	"github.com/contextd/contextd/tui/view"
)

// help begins with what a command is and how it is used; usage is the rest.
const help = `{{with or .Long .Short}}{{. | trimTrailingWhitespaces}}
{{end}}{{if or .Runnable .HasSubCommands}}{{.UsageString}}{{end}}`

const usage = `{{if .HasExample}}
Examples
{{.Example}}
{{end}}{{if .Runnable}}
Usage
  {{.UseLine}}{{if .HasAvailableSubCommands}}
  {{.CommandPath}} COMMAND{{end}}
{{end}}{{if .HasAvailableSubCommands}}{{$commands := .Commands}}{{range $group := .Groups}}
{{.Title}}{{range $commands}}{{if and (eq .GroupID $group.ID) (or .IsAvailableCommand (eq .Name "help"))}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}
{{end}}{{if not .Groups}}
Commands{{range $commands}}{{if .IsAvailableCommand}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}
{{end}}{{end}}{{if .HasAvailableLocalFlags}}
Flags
{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}
{{end}}{{if .HasHelpSubCommands}}
Topics, shown by ctx help TOPIC{{range .Commands}}{{if .IsAdditionalHelpTopicCommand}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}
{{end}}{{if .HasParent}}
"ctx --help" lists the flags that every command has; "ctx help formatting" is about output.
{{end}}`

// topics are the pages of help that are about no command, beside those of the handbook.
func topics() []*cobra.Command {
	return []*cobra.Command{
		{Use: "environment", Short: "Variables that ctx reads", Long: environment()},
		{Use: "exit-codes", Short: "What the exit codes mean", Long: exitCodes},
		{Use: "formatting", Short: "JSON, filters, templates and tables", Long: formatting},
		{Use: "shortcuts", Short: "Keys of the terminal UI, and how to have others", Long: shortcuts()},
	}
}

// environment lists the variables; those of settings come from their table.
func environment() string {
	var b strings.Builder
	b.WriteString("A flag wins over a variable, a variable over the configuration.\n\n")
	for _, s := range config.Settings() {
		fmt.Fprintf(&b, "  %-18s %s\n", s.Env, s.Help)
	}
	b.WriteString(`
  CTX_API_KEY        the API key; wins over files
  CTX_SESSION        the secret of a console session, as ctx auth token prints it; wins over what is kept
  CTX_SECRET_STORE   where keys and sessions are kept: keyring, file or env (nowhere); the keyring if there is one, else the file
  CTX_WALLET_KEYSTORE  the directory in which the wallet is looked for by name or address
  CTX_WALLET_PASSWORD_FILE  a file with its passphrase, or CTX_WALLET_PASSWORD the passphrase itself
  CTX_WALLET_PRIVATE_KEY  a key in hexadecimal in place of a wallet, for test money
  CTX_CONFIG         the settings file
  CTX_CONFIG_DIR     the directory of settings and keys (default $XDG_CONFIG_HOME/ctx or ~/.config/ctx)
  CTX_ACCESSIBLE     words instead of glyphs; ACCESSIBLE does the same
  NO_COLOR           no colour; TERM=dumb does the same
  BROWSER            what ctx cite --open runs
  VISUAL, EDITOR     what ctx config edit runs
  TZ                 the time zone of times typed and shown
`)
	return b.String()
}

const exitCodes = `A code that is not listed here is a failure.

    0  it worked
    1  it failed, or the service has a bug (500)
    2  you said no, or Ctrl-C at a question
    3  wrong flag, argument or setting (400)
    4  no such key, or it was revoked (401)
    5  to be paid, or no credits left (402)
    6  no access with this key (403)
    7  not found (404)
    8  quota used up or too many calls (429); stderr tells when to retry
    9  no answer in time, or nothing to answer with yet (502, 503, 504)
   10  the state is older than --max-age
   11  the wallet's policy refuses the payment
   12  the chain refuses the payment, or the wallet has not enough
  130  Ctrl-C; 0 if a stream had shown something
`

// shortcuts lists what keys of the terminal UI do, from their table.
func shortcuts() string {
	var b strings.Builder
	b.WriteString(`Each of these can be given other keys in the file of ctx config path, one or a list, which ctx config edit opens:

  keys:
    pause: space
    down: [J, down]
    screen-live: f1

A key is a character or such as tab, space, f5, ctrl+p, alt+p. Enter, esc, ctrl+c and ctrl+z stay as they are. A key that is taken is
refused: give what has it another one.

`)
	for _, a := range view.Actions() {
		fmt.Fprintf(&b, "  %-15s %-15s %s\n", a.Name, strings.Join(a.Keys, " "), a.Does)
	}
	return b.String()
}

const formatting = `Data goes to stdout, everything else to stderr.

On a terminal a command shows tables and text. Elsewhere fresh, snapshot and api write JSON, brief writes
text, and lists (search, cite, config list, profile list) write a line for each row with tabs between the
columns; --header adds their names.

  -o, --output FORMAT    table, json, yaml, ndjson (a line for each element), tsv or text
      --json FIELDS      JSON with these members; without FIELDS: what members there are
  -q, --jq EXPRESSION    filter the JSON; strings are written without quotes
  -t, --template TEXT    format the JSON with a Go template

An empty list is [] and no error. Where JSON was asked for, errors are JSON on stderr:
  {"error":{"code","reason","message","requestId","hint","status"}}

Templates have these functions besides Go's:
  timeago TIME            how long ago a time is          timefmt LAYOUT TIME   a time in a Go layout
  truncate N TEXT         at most N columns               join SEP LIST         a list as text
  color STYLE TEXT        red, green+b (bold) and so on   pluck NAME LIST       a member of each element
  tablerow CELL...        a row of a table                tablerender           the rows so far
  hyperlink URL TEXT      a link                          upper, lower TEXT     letter case

  ctx search eth --json path,value -q '.[] | "\(.path) = \(.value)"'
  ctx fresh --json flags -t '{{range .flags}}{{tablerow .severity (timeago .since) .message}}{{end}}'
`
