package client

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/client/config"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

func sessionFields() []string { return []string{"userId", "email", "address", "tier", "expiresAt"} }

// authOptions are the flags of the commands on the session.
type authOptions struct {
	*factory

	everywhere bool // sign out wherever the account is signed in
}

// signInCommands make the commands that sign in and out.
func signInCommands(f *factory) []*cobra.Command {
	o := &authOptions{factory: f}
	whoami := f.Command(&cobra.Command{Use: "whoami", Short: "Show the signed-in account", SuggestFor: []string{"status", "account", "me"}},
		sessionFields(), o.status)
	logout := f.Command(&cobra.Command{Use: "logout", Short: "Sign out and forget the session",
		SuggestFor: []string{"signout", "sign-out", "logoff"}}, nil, o.signOut)
	logout.Flags().BoolVar(&o.everywhere, "all", false, "end every session of the account, wherever it is signed in")
	token := f.Command(&cobra.Command{Use: "token", Short: "Print the secret of the session, for scripts",
		Long: "Print the secret of the session. Anyone with it is signed in as you: put it into " + envSession + " and\n" +
			"nowhere else."}, nil, o.token)
	identities := f.Command(&cobra.Command{Use: "identities", Short: "List the mail addresses and wallets you sign in by"},
		[]string{"id", "kind", "subject", "createdAt"}, o.identities)
	unlink := f.Command(&cobra.Command{Use: "unlink ID", Short: "Remove a mail address or wallet from your account",
		Args: cobra.ExactArgs(1),
		Long: "Remove a mail address or wallet from your account. Your other sessions end, and a mail goes to your mail\n" +
			"addresses. Do so within ten minutes of a sign-in; the last identity cannot be removed.",
		Example: "  ctx login identities\n  ctx login unlink 5f0c2d9e8b7a6413"}, nil, o.unlink)
	login := newLogin(f)
	login.AddCommand(identities, unlink, token)
	return []*cobra.Command{login, logout, whoami}
}

type loginOptions struct {
	authOptions

	email        string
	wallet       string
	passwordFile string
	domain       string
	codeStdin    bool
	noWait       bool
	link         bool
	invite       string
}

func newLogin(f *factory) *cobra.Command {
	o := &loginOptions{authOptions: authOptions{factory: f}}
	c := f.Command(&cobra.Command{
		Use: "login", Short: "Sign in by mail or with a wallet", SuggestFor: []string{"signin", "sign-in", "auth"},
		Long: "Sign in by mail: the service mails you a link; paste it, or the code on its page, when asked. Or sign in with a\n" +
			"wallet: a keystore file signs a message. The session is stored in the system's keyring, or else in a file that\n" +
			"only you can read.\n\n" +
			"Without a terminal, send the link first and pass the code in later.",
		Example: "  ctx login --email you@example.com\n  ctx login --email you@example.com --no-wait\n" +
			"  ctx login --code-stdin < code.txt\n  ctx login --wallet ~/.foundry/keystores/main --password-file pass.txt\n" +
			"  ctx login --wallet main --link      add a wallet to the account you are signed in to",
	}, sessionFields(), func(ctx context.Context, _ []string) error { return o.run(ctx) })
	flags := c.Flags()
	flags.StringVar(&o.email, "email", "", "have a link mailed to this `address`")
	flags.BoolVar(&o.codeStdin, "code-stdin", false, "read the link or code from standard input; no mail is sent")
	flags.BoolVar(&o.noWait, "no-wait", false, "only have the link mailed")
	flags.StringVar(&o.wallet, "wallet", "", "sign in with this `wallet`: a keystore file, or its name or address in a keystore directory")
	flags.StringVar(&o.passwordFile, "password-file", "", "read the wallet's passphrase from this `file`")
	flags.StringVar(&o.domain, "domain", "", "the service signs people in as this `host`, not as that of the base URL")
	flags.BoolVar(&o.link, "link", false, "add the address or wallet to the account you are signed in to")
	flags.StringVar(&o.invite, "invite", "", "use this invitation `code`, if new accounts need one")
	c.MarkFlagsMutuallyExclusive("email", "wallet", "code-stdin")
	c.MarkFlagsMutuallyExclusive("link", "invite")
	return c
}

func (o *loginOptions) run(ctx context.Context) error {
	byWallet := o.wallet != "" || o.email == "" && !o.codeStdin && o.Wallets.Configured()
	var session *api.Session
	var console *sdk.Console
	var err error
	if o.link || o.codeStdin { // a code may be for adding an address
		console, err = o.Account.Console(o.link)
	} else if client, failed := o.Client(); failed == nil {
		console = client.Console("")
	} else {
		err = failed
	}
	if console != nil {
		console.UseInvite(o.invite)
	}
	switch {
	case err != nil:
	case byWallet:
		session, err = o.byWallet(ctx, console)
	default:
		session, err = o.byMail(ctx, console)
	}
	if err != nil || session == nil {
		return err
	}
	where, err := o.keepSession(console)
	if err != nil {
		return err
	}
	o.Note("you are signed in; the session is in %s\nnext: ctx keys create NAME --save", where)
	return o.show(ctx, session)
}

// byMail has a link mailed, if asked to, and signs in with it. With --no-wait it returns no session.
func (o *loginOptions) byMail(ctx context.Context, console *sdk.Console) (*api.Session, error) {
	if o.codeStdin {
		if o.InTTY {
			o.Note("paste the link, or the code that its page shows:")
		}
		code, err := o.Line()
		if err != nil {
			return nil, err
		}
		return console.ByLink(ctx, code)
	}
	const instead = "ctx login --email ADDRESS --no-wait, and later ctx login --code-stdin"
	var err error
	if o.email == "" {
		if o.email, err = o.Ask(ctx, "Your mail address", instead); err != nil {
			return nil, err
		}
	}
	if !o.noWait && (!o.InTTY || !o.ErrTTY || o.Flags.NoInput) { // before a mail goes out for nothing
		return nil, cli.Invalid("there is nobody to ask for the link that would be mailed").WithHint("%s", instead)
	}
	until, err := console.SendLink(ctx, o.email)
	if err != nil {
		return nil, err
	}
	o.Note("a link was mailed to %s; it works once, until %s", o.email, until.In(o.Now().Location()).Format(time.TimeOnly))
	if o.noWait {
		return nil, nil
	}
	code, err := o.Ask(ctx, "Paste the link, or the code that its page shows", instead)
	if err != nil {
		return nil, err
	}
	return console.ByLink(ctx, code)
}

func (o *loginOptions) byWallet(ctx context.Context, console *sdk.Console) (*api.Session, error) {
	key, err := o.Wallets.Open(ctx, o.wallet, o.passwordFile)
	if err != nil {
		return nil, err
	}
	session, err := console.ByWallet(ctx, key, o.domain)
	if err != nil && strings.Contains(err.Error(), sdk.ErrForeignMessage.Error()) {
		return nil, cli.Invalid("%w", err).WithHint("if that is the right service, name it: --domain HOST")
	}
	return session, err
}

func (o *authOptions) status(ctx context.Context, _ []string) error {
	session, err := askConsole(o.Account, func(c *sdk.Console, opts []sdk.CallOption) (*api.Session, error) {
		return c.Session(ctx, opts...)
	})
	if err != nil {
		return err
	}
	return o.show(ctx, session)
}

// token writes the secret of the session.
func (o *authOptions) token(context.Context, []string) error {
	console, err := o.Account.Console(true)
	if err != nil {
		return err
	}
	_, err = o.Out.Write([]byte(console.Secret() + "\n"))
	return err
}

// identities lists what the owner signs in by.
func (o *authOptions) identities(ctx context.Context, _ []string) error {
	list, err := askConsole(o.Account, func(c *sdk.Console, opts []sdk.CallOption) ([]api.Identity, error) {
		return c.Identities(ctx, opts...)
	})
	if err != nil {
		return err
	}
	rows := &cli.Rows{Columns: []string{"id", "kind", "subject", "added"}, Wide: 2}
	for _, id := range list {
		added := id.CreatedAt.In(o.Now().Location()).Format(time.DateTime)
		rows.Rows = append(rows.Rows, []string{id.ID, string(id.Kind), id.Subject, added})
	}
	return o.Show(ctx, list, rows)
}

func (o *authOptions) unlink(ctx context.Context, args []string) error {
	_, err := askConsole(o.Account, func(c *sdk.Console, opts []sdk.CallOption) (struct{}, error) {
		return struct{}{}, c.Unlink(ctx, args[0], opts...)
	})
	if err != nil {
		return err
	}
	o.Note("you do not sign in by %s any more; the other sessions of your account have ended", args[0])
	return nil
}

// signOut ends the session, or all of the account, and forgets it. A service that cannot be reached does not keep ctx from forgetting.
func (o *authOptions) signOut(ctx context.Context, _ []string) error {
	console, err := o.Account.Console(false)
	if err != nil {
		return err
	}
	if console.Secret() == "" {
		o.Note("you are not signed in")
		return nil
	}
	end := console.SignOut
	if o.everywhere {
		end = console.SignOutEverywhere
	}
	ended := end(ctx)
	if o.Env(envSession) == "" {
		if _, err := o.Account.Store(func(c *config.Credential) { c.Session = sdk.Key{} }); err != nil {
			return err
		}
	}
	if ended != nil {
		o.Note("the session is forgotten here, but the service could not be told")
		return ended
	}
	if o.everywhere {
		o.Note("you are signed out everywhere")
		return nil
	}
	o.Note("you are signed out")
	return nil
}

func (o *authOptions) show(ctx context.Context, s *api.Session) error {
	client, err := o.Client()
	if err != nil {
		return err
	}
	text := func(p *string) string {
		if p == nil {
			return ""
		}
		return *p
	}
	return o.Show(ctx, s, &cli.Rows{Columns: []string{"service", "mail", "wallet", "tier", "until"}, Wide: 1, Rows: [][]string{{
		client.BaseURL(), text(s.Email), text(s.Address), string(s.Tier), s.ExpiresAt.In(o.Now().Location()).Format(time.DateTime),
	}}})
}
