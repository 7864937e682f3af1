package client

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/client/config"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/sdk/api"
)

func watchlist(c *config.Config) []string {
	return strings.FieldsFunc(c.Get(config.Watchlist).Text, func(r rune) bool { return r == ',' })
}

// watched completes names of the watchlist.
func watched(configured func() (*config.Config, error)) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		c, err := configured()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return watchlist(c), cobra.ShellCompDirectiveNoFileComp
	}
}

type watchlistOptions struct {
	*streams
	config  func() (*config.Config, error)
	setHere func(name, value string) error
}

// newWatchlist makes the group of commands that keep the names that @ stands for.
func newWatchlist(f *factory) *cobra.Command {
	o := watchlistOptions{streams: f.streams, config: f.Config, setHere: f.SetHere}
	fields := []string{"name"}
	list := f.Command(&cobra.Command{Use: "list", Short: "Show the names", Aliases: []string{"ls"}, Args: cobra.NoArgs}, fields,
		func(ctx context.Context, _ []string) error { return o.list(ctx) })
	add := f.Command(&cobra.Command{Use: "add NAME...", Short: "Add names", Args: cobra.MinimumNArgs(1),
		ValidArgsFunction: anyName(f.Config), Example: "  ctx config watchlist add ada aave"}, fields,
		func(ctx context.Context, args []string) error { return o.change(ctx, args, true) })
	remove := f.Command(&cobra.Command{Use: "remove NAME...", Short: "Remove names", Aliases: []string{"rm"}, Args: cobra.MinimumNArgs(1),
		ValidArgsFunction: watched(f.Config), Example: "  ctx config watchlist remove aave"}, fields,
		func(ctx context.Context, args []string) error { return o.change(ctx, args, false) })
	return cli.Group(&cobra.Command{
		Use: "watchlist", Short: "Manage the names behind @ in questions",
		Example: "  ctx config watchlist add ada aave\n  ctx ask @",
	}, list, add, remove)
}

func (o watchlistOptions) list(ctx context.Context) error {
	c, err := o.config()
	if err != nil {
		return err
	}
	return o.show(ctx, watchlist(c))
}

func (o watchlistOptions) show(ctx context.Context, names []string) error {
	type row struct {
		Name string `json:"name"`
	}
	doc, rows := []row{}, &cli.Rows{Columns: []string{"name"}, Empty: "the watchlist is empty"}
	for _, name := range names {
		doc, rows.Rows = append(doc, row{name}), append(rows.Rows, []string{name})
	}
	return o.Show(ctx, doc, rows)
}

// change adds names or removes them, and shows what is left.
func (o watchlistOptions) change(ctx context.Context, args []string, add bool) error {
	c, err := o.config()
	if err != nil {
		return err
	}
	names := watchlist(c)
	for text := range strings.SplitSeq(strings.Join(args, ","), ",") {
		name := strings.Join(strings.Fields(text), " ")
		same := func(other string) bool { return strings.EqualFold(other, name) }
		switch at := slices.IndexFunc(names, same); {
		case name == "" || name == "@":
			return cli.Invalid("%q is no name", name)
		case add && at < 0:
			names = append(names, name)
		case !add && at < 0:
			return cli.Invalid("%q is not in the watchlist", name).WithHint("ctx config watchlist list")
		case !add:
			names = slices.Delete(names, at, at+1)
		}
	}
	if n := len(names); n > api.MaxQuestions {
		return cli.Invalid("that would be %d names, and a lookup takes %d", n, api.MaxQuestions).
			WithHint("ctx config watchlist remove NAME")
	}
	if err := o.setHere(config.Watchlist, strings.Join(names, ",")); err != nil {
		return err
	}
	return o.show(ctx, names)
}
