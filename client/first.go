package client

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/client/config"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/sdk"
)

const firstChoices = `There is no key for %s yet.

  1  try it here: a demo on this machine, with a key, no network and no account
  2  sign in by mail, and make a key
  3  use a key that you have
  4  ask another service
  5  show the help
`

// first asks what to do where there is no key, and does that.
func first(ctx context.Context, f *factory, root *cobra.Command) error {
	c, err := f.Config()
	if err != nil {
		return err
	}
	fmt.Fprintf(f.Err, firstChoices, c.Get(config.BaseURL).Text)
	choice, err := f.Ask(ctx, "What now", "ctx --help")
	if err != nil {
		return err
	}
	switch choice {
	case "1":
		f.Note("In another terminal: contextd demo\n" +
			"It says its address and a key. Then run ctx again, with 4 for the address and 3 for the key.")
		return nil
	case "2":
		email, err := f.Ask(ctx, "Mail address", "ctx login --email you@example.com")
		if err != nil {
			return err
		}
		root.SetArgs([]string{"login", "--email=" + email})
		if err := root.ExecuteContext(ctx); err != nil {
			return err
		}
		f.Note("next: ctx keys create my-key --save")
		return nil
	case "3":
		return pasteKey(ctx, f)
	case "4":
		address, err := f.Ask(ctx, "Address", "ctx config set base_url https://…")
		if err != nil {
			return err
		}
		if err := f.SetHere(config.BaseURL, address); err != nil {
			return cli.Invalid("%w", err)
		}
		return first(ctx, f, root)
	case "5":
		return root.Help()
	}
	return cli.Invalid("%q is none of 1 to 5; nothing was changed", choice).WithHint("ctx")
}

// pasteKey keeps a key that somebody types.
func pasteKey(ctx context.Context, f *factory) error {
	text, err := f.AskHidden(ctx, "Key (it is not shown)", "ctx config profile add NAME --api-key-file FILE")
	if err != nil {
		return err
	}
	key := sdk.NewKey(text)
	if !key.Valid() {
		return cli.Invalid("that is no whole key: one begins with cv_; nothing was changed").WithHint("ctx, and copy it again, whole")
	}
	where, err := f.Account.Store(func(c *config.Credential) { c.Key = key })
	if err != nil {
		return err
	}
	f.Note("%s is kept in %s\nnext: ctx, or ctx state", key, cmp.Or(where, "no place"))
	return nil
}
