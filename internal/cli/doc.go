// Package cli is what the command lines of both programs share: groups of commands and their help, flags told in our words, exit codes,
// the report of an error, the flags about output and the printer behind them, completions, manual pages and the version.
//
// It owns the formats and what may reach a terminal. It knows no command and no service: a command hands its answer to the Printer, with
// its JSON and its human form, and the flags and the terminal pick what is written.
package cli
