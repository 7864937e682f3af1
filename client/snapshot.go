package client

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

type snapshotOptions struct {
	*streams
	client func() (*sdk.Client, error)

	logs *logs

	pack   string
	at     string // as typed
	bundle string // file, "" for none
}

// newSnapshot makes the command that shows history.
func newSnapshot(f *factory) *cobra.Command {
	o := snapshotOptions{streams: f.streams, client: f.Client, logs: f.Logs}
	c := f.Command(&cobra.Command{
		Use: "snapshot [PACK] --at TIME", Short: "Show the state of a pack as of a past minute",
		Args: cobra.MaximumNArgs(1), ValidArgsFunction: f.CompletePackArgument(), SuggestFor: []string{"history"},
		Long: "Show the state of a pack as of a past minute: an overview on a terminal, JSON elsewhere.\n\n" +
			"TIME is " + human.MomentForms + ".\n" +
			"Times without a zone are local. The tier of a key limits how far back it reaches. A time with seconds, such as\n" +
			"the generatedAt of an answer, selects the newest state at that moment.",
		Example: "  ctx snapshot --at 2h\n  ctx snapshot crypto --at \"yesterday 14:00\"\n  ctx snapshot --at 2026-11-20T14:00:00Z " +
			"-o json\n" +
			"  ctx snapshot --at 20m --bundle said.json     what proves it, for ctx verify",
	}, stateFields(), func(ctx context.Context, args []string) (err error) {
		if o.pack, err = f.Pack(args); err != nil {
			return err
		}
		if o.at == "" {
			return cli.Invalid("--at is missing: the minute to show").WithHint("ctx snapshot --at 2h")
		}
		at, err := human.ParsePoint(o.at, f.Now())
		if err != nil {
			return cli.Invalid("--at: %w", err)
		}
		if err := checkBundle(o.bundle); err != nil {
			return err
		}
		return o.run(ctx, at)
	})
	c.Flags().StringVar(&o.at, "at", "", "the minute to show, as `time`")
	c.Flags().StringVar(&o.bundle, "bundle", "", bundleFlag)
	return c
}

func (o snapshotOptions) run(ctx context.Context, at time.Time) error {
	state, meta, err := snapshot(ctx, o.streams, o.client, o.pack, at)
	if err != nil {
		return err
	}
	if o.bundle != "" {
		if err := writeBundle(ctx, o.logs, o.bundle, o.pack, state, meta); err != nil {
			return err
		}
	}
	answer, err := stateAnswer(state, meta.Body, func(p Page) error { return p.Snapshot(o.pack, at, state) }, o.Now())
	if err != nil {
		return err
	}
	return o.Print(ctx, answer)
}

// snapshot calls for the state of pack as of the minute of at, and reports what the service says beside it.
func snapshot(ctx context.Context, o *streams, connect func() (*sdk.Client, error), pack string, at time.Time) (
	*api.StateResponse, *sdk.Response, error,
) {
	client, err := connect()
	if err != nil {
		return nil, nil, err
	}
	var meta sdk.Response
	state, err := client.Snapshot(ctx, pack, at, o.Call(&meta)...)
	if err != nil {
		return nil, nil, err
	}
	o.ReportMeta(&meta)
	return state, &meta, nil
}
