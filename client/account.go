package client

import (
	"context"

	"github.com/contextd/contextd/client/command"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/sdk"
)

// App is one run of ctx.
type App = command.Factory

// call calls the console with the session that is kept, and keeps the one that comes back.
func call[T any](_ context.Context, a *App, ask func(c *sdk.Console, opts []sdk.CallOption) (T, error)) (T, error) {
	return command.Ask(a.Account, ask)
}

// show writes v as JSON, or rows for people and pipes.
func show(ctx context.Context, a *App, v any, rows *cli.Rows) error { return a.Show(ctx, v, rows) }
