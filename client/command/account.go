package command

import (
	"context"

	"github.com/contextd/contextd/client/config"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/sdk"
)

// Account calls the console with the session that is kept, and keeps the one that comes back.
func Account[T any](ctx context.Context, a *Factory, ask func(c *sdk.Console, opts []sdk.CallOption) (T, error)) (answer T, err error) {
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

// Show writes v as JSON, or rows for people and pipes.
func (a *Factory) Show(ctx context.Context, v any, rows *cli.Rows) error {
	doc, err := cli.Marshal(v)
	if err != nil {
		return err
	}
	return a.Print(ctx, cli.Answer{JSON: doc, Rows: rows})
}
