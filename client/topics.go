package client

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/client/config"
	"github.com/contextd/contextd/tui/view"
)

// topics are the pages of help that only ctx has.
func topics() []*cobra.Command {
	return []*cobra.Command{
		{Use: "environment", Short: "Variables that ctx reads", Long: environment()},
		{Use: "shortcuts", Short: "Keys of the terminal UI, and how to change them", Long: shortcuts()},
	}
}

// environment lists the variables; those of settings come from their table.
func environment() string {
	var b strings.Builder
	b.WriteString("An option wins over a variable, a variable over the configuration.\n\n")
	for _, s := range config.Settings() {
		fmt.Fprintf(&b, "  %-18s %s\n", s.Env, s.Help)
	}
	b.WriteString(`
  CTX_API_KEY        the API key; wins over files
  CTX_SESSION        the secret of a console session, as ctx login token prints it; wins over what is kept
  CTX_SECRET_STORE   where keys and sessions are kept: keyring, file or env (nowhere); the keyring if there is one, else the file
  CTX_WALLET_KEYSTORE  the directory in which the wallet is looked for by name or address
  CTX_WALLET_PASSWORD_FILE  a file with its passphrase, or CTX_WALLET_PASSWORD the passphrase itself
  CTX_WALLET_PRIVATE_KEY  a key in hexadecimal in place of a wallet, for test money
  CTX_CONFIG         the settings file
  CTX_CONFIG_DIR     the directory of settings and keys (default $XDG_CONFIG_HOME/ctx or ~/.config/ctx)
  CTX_ACCESSIBLE     words instead of glyphs; ACCESSIBLE does the same
  NO_COLOR           no colour; TERM=dumb does the same
  BROWSER            what ctx open and ctx cite --open run
  PAGER              what long text is shown in on a terminal (default less; cat for none)
  VISUAL, EDITOR     what ctx config edit runs
  TZ                 the time zone of times typed and shown
`)
	return b.String()
}

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
