package client

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/client/config"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/sdk"
)

func accountCommands(a *App) []*cobra.Command {
	return []*cobra.Command{newAuth(a), newKeys(a), newCredits(a)}
}

// call calls the console with the session that is kept, and keeps the one that comes back.
func call[T any](ctx context.Context, a *App, ask func(c *sdk.Console, opts []sdk.CallOption) (T, error)) (answer T, err error) {
	console, err := a.Console(true)
	if err != nil {
		return answer, err
	}
	before := console.Secret()
	var meta sdk.Response
	answer, err = ask(console, a.Call(&meta))
	if err != nil {
		return answer, err
	}
	meta.DataMode = "" // the account is real, even where the data is of a demo
	a.ReportMeta(&meta)
	if now := console.Secret(); now != before && a.Env(EnvSession) == "" {
		_, err = a.Keep(func(c *config.Credential) { c.Session = sdk.NewKey(now) })
	}
	return answer, err
}

// show writes v as JSON, or rows for people and pipes.
func show(ctx context.Context, a *App, v any, rows *cli.Rows) error {
	doc, err := cli.Marshal(v)
	if err != nil {
		return err
	}
	return a.Print(ctx, cli.Answer{JSON: doc, Rows: rows})
}
