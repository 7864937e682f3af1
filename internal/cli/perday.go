package cli

import (
	"errors"
	"strconv"

	"github.com/spf13/cobra"
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
