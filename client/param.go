package client

import (
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/sdk/api"
)

// wholeFlag adds a flag for a whole number that the parameter of an operation is, with its default and its bounds in the help.
func wholeFlag(flags *pflag.FlagSet, n *int, op api.Op, param, name, short, help string) {
	p := op.Operation().Param(api.FaceHTTP, param)
	flags.IntVarP(n, name, short, wholeDefault(op, param), fmt.Sprintf("%s, %d to %d", help, p.Min, p.Max))
}

// wholeDefault is the default of a whole number that the parameter of an operation is.
func wholeDefault(op api.Op, param string) int {
	usual, _ := strconv.Atoi(op.Operation().Param(api.FaceHTTP, param).Default) // a test reads every default
	return usual
}

// checkWhole refuses a number that is outside the bounds of a parameter. flag is how people give it.
func checkWhole(op api.Op, param, flag string, n int) error {
	if p := op.Operation().Param(api.FaceHTTP, param); n < p.Min || n > p.Max {
		return cli.Invalid("%s is %d, must be %d to %d", flag, n, p.Min, p.Max)
	}
	return nil
}

// readSpan reads a span that the parameter of an operation is. flag is how people give it.
func readSpan(op api.Op, param, flag, text string) (time.Duration, error) {
	least := op.Operation().Param(api.FaceHTTP, param).Least
	span, err := api.ParseSpan(text)
	if err != nil || span < least {
		return 0, cli.Invalid("%s is %q, must be %s or more", flag, text, api.FormatSpan(least))
	}
	return span, nil
}
