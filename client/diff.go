package client

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/sdk/diff"
)

type diffOptions struct {
	*streams
	client func() (*sdk.Client, error)

	digestOptions
	pack, path     string
	fromAt, toward string // as typed; package instant reads them
}

// newDiff makes the command that compares two minutes.
func newDiff(f *factory) *cobra.Command {
	o := diffOptions{streams: f.streams, client: f.Client}
	c := f.Command(&cobra.Command{
		Use: "diff [PACK] --from TIME", Short: "Show what changed between two minutes", Args: cobra.MaximumNArgs(1),
		SuggestFor: []string{"compare"}, ValidArgsFunction: f.CompletePackArgument(),
		Long: "Show what changed between the states of two minutes, or between one and now.\n\n" +
			"TIME is " + human.MomentForms + ".\n" +
			"Times without a zone are local. Each of the two states is one call.\n\n" +
			"A terminal shows a summary: flags, headlines, sources, then a line for each row that moved. --all and JSON have\n" +
			"every value.",
		Example: "  ctx diff --from 2h\n  ctx diff --from \"yesterday 14:00\" --to \"yesterday 15:00\" --path top_movers\n" +
			"  ctx diff --from 1h --jq '.changes[] | select(.row == \"BTC\")'",
	}, []string{"type", "pack", "from", "ts", "changes"}, func(ctx context.Context, args []string) (err error) {
		if o.pack, err = f.Pack(args); err != nil {
			return err
		}
		return o.run(ctx)
	})
	flags := c.Flags()
	flags.StringVar(&o.fromAt, "from", "", "the older minute, as `time` (required)")
	flags.StringVar(&o.toward, "to", "now", "the newer minute, as `time`, or now")
	flags.StringVar(&o.path, "path", "", "show only this `path` of the state")
	o.register(flags)
	return c
}

// run gets both states and shows what changed.
func (o diffOptions) run(ctx context.Context) error {
	if o.fromAt == "" {
		return cli.Invalid("--from is missing: the older minute").WithHint("ctx diff --from 1h")
	}
	if err := o.check(); err != nil {
		return err
	}
	client, err := o.client()
	if err != nil {
		return err
	}
	var meta sdk.Response
	older, err := o.state(ctx, client, "--from", o.fromAt, &meta)
	if err != nil {
		return err
	}
	newer, err := o.state(ctx, client, "--to", o.toward, &meta)
	if err != nil {
		return err
	}
	o.ReportMeta(&meta)
	changes, err := diff.States(older.State, newer.State)
	if err != nil {
		return err
	}
	r := changeReport{Type: "changes", Pack: o.pack, From: older.Freshness.GeneratedAt, TS: newer.Freshness.GeneratedAt,
		Changes: within(changes, o.path)}
	doc, err := cli.Marshal(r)
	if err != nil {
		return err
	}
	return o.Print(ctx, cli.Answer{JSON: doc, Piped: cli.JSON, Text: func(w io.Writer, width int, style cli.Style) error {
		return r.write(Page{W: w, Width: width, Style: style, Now: o.Now()}, o.digestOptions)
	}})
}

// state gets the state of a minute, or the newest one.
func (o diffOptions) state(ctx context.Context, client *sdk.Client, flag, text string, meta *sdk.Response) (*api.StateResponse, error) {
	if text == "now" {
		return client.Fresh(ctx, o.pack, o.Call(meta)...)
	}
	at, err := human.ParsePoint(text, o.Now())
	if err != nil {
		return nil, cli.Invalid("%s: %w", flag, err)
	}
	return client.Snapshot(ctx, o.pack, at, o.Call(meta)...)
}
