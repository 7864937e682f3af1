package client

import (
	"context"
	"time"

	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

// snapshot shows the state of a past minute.
func (o freshOptions) snapshot(ctx context.Context) error {
	text := o.past.Value.String()
	if text == "" {
		return cli.Invalid("--at is missing: the minute to show").WithHint("ctx state --at 2h")
	}
	at, err := human.ParsePoint(text, o.Now())
	if err != nil {
		return cli.Invalid("--at: %w", err)
	}
	state, meta, err := snapshot(ctx, o.streams, o.client, o.pack, at)
	if err != nil {
		return err
	}
	if o.bundle != "" {
		if err := writeBundle(ctx, o.logs, "--bundle", o.bundle, o.pack, state, nil, meta); err != nil {
			return err
		}
	}
	answer, err := o.answer(state, meta.Body, func(p Page) error { return p.Snapshot(o.pack, at, state) })
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
