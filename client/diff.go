package client

import (
	"context"
	"io"
	"time"

	"github.com/spf13/pflag"

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

// diffFields are the fields of what changed between two minutes.
func diffFields() []string { return []string{"type", "pack", "from", "ts", "changes"} }

// register adds the flags that compare two minutes to those of the command that compares one with now.
func (o *diffOptions) register(flags *pflag.FlagSet) {
	flags.StringVar(&o.fromAt, "from", "", "compare the states of two minutes instead, of this `time`")
	flags.StringVar(&o.toward, "to", "now", "with --from: the newer minute, as `time`, or now")
	flags.StringVar(&o.path, "path", "", "with --from: show only this `path` of the state")
	flags.BoolVar(&o.all, "all", false, "with --from: show every changed value, including bookkeeping")
}

// run gets both states and shows what changed.
func (o diffOptions) run(ctx context.Context) error {
	if o.fromAt == "" {
		return cli.Invalid("--from is missing: the older minute").WithHint("ctx changes --from 1h")
	}
	if err := o.check(); err != nil {
		return err
	}
	from, err := o.moment("--from", o.fromAt)
	if err != nil {
		return err
	}
	to, err := o.moment("--to", o.toward)
	if err != nil {
		return err
	}
	if from.After(to) {
		return cli.Invalid("--from %s is later than --to %s", o.fromAt, o.toward).
			WithHint("ctx changes --from %q --to %q", o.toward, o.fromAt)
	}
	client, err := o.client()
	if err != nil {
		return err
	}
	var meta sdk.Response
	older, err := o.state(ctx, client, o.fromAt, from, &meta)
	if err != nil {
		return err
	}
	newer, err := o.state(ctx, client, o.toward, to, &meta)
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

// moment is the minute that a flag names.
func (o diffOptions) moment(flag, text string) (time.Time, error) {
	at, err := human.ParsePoint(text, o.Now())
	if err != nil {
		return at, cli.Invalid("%s: %w", flag, err)
	}
	return at, nil
}

// state gets the state of a minute, or the newest one for now.
func (o diffOptions) state(ctx context.Context, client *sdk.Client, text string, at time.Time, meta *sdk.Response) (
	*api.StateResponse, error,
) {
	if text == "now" {
		return client.Fresh(ctx, o.pack, o.Call(meta)...)
	}
	return client.Snapshot(ctx, o.pack, at, o.Call(meta)...)
}
