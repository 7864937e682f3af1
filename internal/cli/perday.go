package cli

import (
	"errors"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/sdk/api"
)

// PerDay adds the flag for a bound of credits a day to a command that makes keys. bound stays nil where it is not given.
func PerDay(c *cobra.Command, bound **int64) {
	c.Flags().Func("per-day", "the `credits` that it spends in a UTC day at most (unlimited if left out)", func(text string) error {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 1 {
			return errors.New("not a whole number of 1 or more")
		}
		*bound = &n
		return nil
	})
}

// PerDayOrNone is PerDay for a command that changes keys, where none lifts the bound.
func PerDayOrNone(c *cobra.Command, bound *api.BoundChange) {
	c.Flags().Func("per-day", "the `credits` that it spends in a UTC day at most, or none", func(text string) error {
		n, err := strconv.ParseInt(text, 10, 64)
		switch {
		case text == "none":
			*bound = api.BoundChange{Set: true}
		case err != nil || n < 1:
			return errors.New("neither none nor a whole number of 1 or more")
		default:
			*bound = api.BoundChange{Set: true, To: &n}
		}
		return nil
	})
}

// Bound is a bound as tables show it.
func Bound(n *int64) string {
	if n == nil {
		return "-"
	}
	return strconv.FormatInt(*n, 10)
}
