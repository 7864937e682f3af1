package client

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/client/config"
	"github.com/contextd/contextd/internal/cli"
)

type profileOptions struct {
	*streams
	config  func() (*config.Config, error)
	account *account

	use bool // the profile that is added
}

// profileRow is one profile, as JSON shows it.
type profileRow struct {
	Name    string `json:"name"`
	Active  bool   `json:"active"`
	BaseURL string `json:"baseUrl"`
	Key     string `json:"key"` // its beginning; empty if none is stored
}

func completeProfile(f *factory) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		c, err := f.Config()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return c.Profiles, cobra.ShellCompDirectiveNoFileComp
	}
}

// newProfile makes the group of commands that keep profiles.
func newProfile(f *factory) *cobra.Command {
	o := profileOptions{streams: f.streams, config: f.Config, account: f.Account}
	names := completeProfile(f)
	list := f.Command(&cobra.Command{Use: "list", Aliases: []string{"ls"}, Short: "List the profiles"},
		[]string{"name", "active", "baseUrl", "key"}, o.list)
	add := f.Command(&cobra.Command{Use: "add NAME", Short: "Add a profile, or change its address or key", Args: cobra.ExactArgs(1),
		Long: "Add a profile, with the address of --base-url and the key in --api-key-file. The key is stored in a file that\n" +
			"only you can read, and is sent only to that address.",
		Example: "  ctx config profile add prod --base-url https://ctx.example --api-key-file - --use"}, nil, o.add)
	add.Flags().BoolVar(&o.use, "use", false, "use the profile from now on")
	use := f.Command(&cobra.Command{Use: "use NAME", Short: "Use a profile from now on", Args: cobra.ExactArgs(1), ValidArgsFunction: names,
		SuggestFor: []string{"switch"}}, nil, o.switchTo)
	remove := f.Command(&cobra.Command{Use: "remove NAME", Short: "Remove a profile and its key",
		Args: cobra.ExactArgs(1), ValidArgsFunction: names, SuggestFor: []string{"rm", "delete"}}, nil, o.remove)
	return cli.Group(&cobra.Command{Use: "profile", Short: "Manage addresses and keys of several services",
		Example: "  ctx config profile add prod --base-url https://ctx.example --api-key-file key.txt\n" +
			"  ctx config profile use prod\n  ctx state -p prod"},
		list, add, use, remove)
}

func (o *profileOptions) list(ctx context.Context, _ []string) error {
	c, err := o.config()
	if err != nil {
		return err
	}
	secrets, err := o.account.Secrets()
	if err != nil {
		return err
	}
	list := []profileRow{}
	rows := &cli.Rows{Columns: []string{"name", "active", "base url", "key"}, Wide: 2,
		Empty: "no profile; ctx config profile add makes one"}
	for _, name := range c.Profiles {
		stored, err := secrets.Load(name)
		if err != nil {
			return cli.Invalid("%w", err)
		}
		row := profileRow{name, name == c.Profile(), c.ProfileURL(name), stored.Key.String()}
		list = append(list, row)
		active := ""
		if row.Active {
			active = "active"
		}
		rows.Rows = append(rows.Rows, []string{name, active, row.BaseURL, row.Key})
	}
	doc, err := cli.Marshal(list)
	if err != nil {
		return err
	}
	return o.Print(ctx, cli.Answer{JSON: doc, Rows: rows})
}

// add puts a profile into the file. The key comes by file or stdin alone: a flag would show it to every user of the machine.
func (o *profileOptions) add(_ context.Context, args []string) error {
	c, err := o.config()
	if err != nil {
		return err
	}
	name := args[0]
	s, err := config.Find(config.Profile)
	if err != nil {
		return err
	}
	if err := s.Check(name); err != nil {
		return cli.Invalid("%w", err)
	}
	base := c.Get(config.BaseURL)
	if base.Origin != "option --base-url" && c.ProfileURL(name) != "" {
		base.Text = c.ProfileURL(name)
	}
	var credential config.Credential
	if file := c.Get(config.APIKeyFile); file.Origin == "option --api-key-file" {
		key, err := config.ReadKey(file.Text, o.In)
		if err != nil {
			return cli.Invalid("%w", err)
		}
		credential = config.Credential{Key: key, BaseURL: base.Text}
	}
	if err := c.AddProfile(name); err != nil {
		return err
	}
	if err := c.Set(name, config.BaseURL, base.Text); err != nil {
		return err
	}
	if !credential.Key.IsZero() {
		where, err := o.store(name, credential)
		if err != nil {
			return err
		}
		o.Note("the key %s is in %s, which only you can read", credential.Key, where)
	}
	if o.use {
		return c.Set("", config.Profile, name)
	}
	return nil
}

// store stores the key of a profile, beside its session if that is for the same address.
func (o *profileOptions) store(name string, c config.Credential) (where string, err error) {
	secrets, err := o.account.Secrets()
	if err != nil {
		return "", err
	}
	if !c.IsZero() {
		old, err := secrets.Load(name)
		if err != nil {
			return "", cli.Invalid("%w", err)
		}
		if old.BaseURL == c.BaseURL {
			c.Session = old.Session
		}
	}
	return secrets.Save(name, c)
}

// known fails where there is no profile called name.
func known(c *config.Config, name string) error {
	if name != config.DefaultProfile && !slices.Contains(c.Profiles, name) {
		return cli.Invalid("there is no profile %q", name).WithHint("ctx config profile list")
	}
	return nil
}

func (o *profileOptions) switchTo(_ context.Context, args []string) error {
	c, err := o.config()
	if err != nil {
		return err
	}
	if err := known(c, args[0]); err != nil {
		return err
	}
	return c.Set("", config.Profile, args[0])
}

// remove forgets the key first: a profile without a key is better than a key without a profile.
func (o *profileOptions) remove(ctx context.Context, args []string) error {
	c, err := o.config()
	if err != nil {
		return err
	}
	if err := known(c, args[0]); err != nil {
		return err
	}
	if err := o.Confirm(ctx, "remove profile "+args[0]+" with its key and session"); err != nil {
		return err
	}
	if _, err := o.store(args[0], config.Credential{}); err != nil {
		return err
	}
	return c.RemoveProfile(args[0])
}
