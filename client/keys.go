package client

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/client/config"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

type keyOptions struct {
	*factory

	given *keyOut // where a new key goes

	consent string
	perDay  *int64
	bound   api.BoundChange
	name    string
	revoked bool
	dryRun  bool
	grace   time.Duration
	limit   int
	cursor  string
}

// rowFields are the members of a listed key.
func rowFields() []string {
	return []string{"keyId", "name", "tier", "createdAt", "lastUsedAt", "revokedAt", "traceConsent", "revokesAt", "unmetered",
		"dailyCredits", "oauth"}
}

func newKeys(f *factory) *cobra.Command {
	o := &keyOptions{factory: f, given: f.KeyOut()}
	create := f.Command(&cobra.Command{Use: "create NAME", Short: "Create a key and print it, once", Args: cobra.ExactArgs(1),
		Long: "Create a key for an agent or a machine, of your tier. It is shown once: on standard output, or only written to a\n" +
			"file (--out), or only stored with the secrets of the profile (--save).",
		Example: "  ctx keys create my-agent --out my-agent.key\n  ctx keys create laptop --save\n  ctx keys create ci --consent none\n" +
			"  ctx keys create agent --per-day 200 --save"},
		[]string{"key", "keyId", "name", "tier", "createdAt", "dailyCredits"},
		func(ctx context.Context, args []string) error { return o.create(ctx, args[0]) })
	o.given.Bind(create)
	create.Flags().StringVar(&o.consent, "consent", "", "records of its calls to keep: full, aggregated (the default) or none")
	cli.PerDay(create, &o.perDay)
	cli.CompleteValues(create, "consent", api.Consents()...)
	list := f.Command(&cobra.Command{Use: "list", Aliases: []string{"ls"}, Short: "List your keys, newest first"}, rowFields(), o.list)
	list.Flags().BoolVar(&o.revoked, "revoked", false, "also those that were revoked")
	list.Flags().IntVar(&o.limit, "limit", 0, "show at most this many (0 means all)")
	list.Flags().StringVar(&o.cursor, "cursor", "", "the next page, as named by a list with --limit")
	view := f.Command(&cobra.Command{Use: "view KEYID", Short: "Show a key and the credits on it",
		Args: cobra.ExactArgs(1), ValidArgsFunction: o.complete}, append(rowFields(), "credits"), o.view)
	edit := f.Command(&cobra.Command{Use: "edit KEYID", Short: "Change the name of a key, or its bound of credits a day",
		Args: cobra.ExactArgs(1), ValidArgsFunction: o.complete,
		Example: "  ctx keys edit cv_test_ab12cd34 --per-day 500\n  ctx keys edit cv_test_ab12cd34 --per-day none --name indexer"},
		rowFields(), o.edit)
	edit.Flags().StringVar(&o.name, "name", "", "its new name")
	cli.PerDayOrNone(edit, &o.bound)
	revoke := f.Command(&cobra.Command{Use: "revoke KEYID...", Short: "Revoke keys, at once and for good", Args: cobra.MinimumNArgs(1),
		SuggestFor: []string{"rm", "delete", "remove"}, ValidArgsFunction: o.complete,
		Example: "  ctx keys revoke cv_test_ab12cd34\n  ctx keys revoke cv_test_ab12cd34 --yes --jq '.[].strandedCredits'"},
		[]string{"keyId", "ok", "revokedAt", "strandedCredits"}, o.revoke)
	revoke.Flags().BoolVar(&o.dryRun, "dry-run", false, "only show what would be revoked")
	use := f.Command(&cobra.Command{Use: "use KEYID --api-key-file FILE", Short: "Use an existing key for the profile",
		Args: cobra.ExactArgs(1), Example: "  ctx keys use cv_test_ab12cd34 --api-key-file - < my-agent.key"}, nil, o.use)
	rotate := f.Command(&cobra.Command{Use: "rotate NAME", Short: "Replace a key, and move its credits to the new one",
		Args: cobra.ExactArgs(1),
		Long: "Create a key with the name and consent of an existing one and move its credits to the new key. The service ends\n" +
			"the old key at once, or with --grace after a while, so programs can switch; the command does not wait. If the\n" +
			"profile uses the old key, it uses the new one from then on.",
		Example: "  ctx keys rotate my-agent --out my-agent.key\n  ctx keys rotate laptop --save --grace 10m"},
		[]string{"key", "keyId", "name", "tier", "createdAt", "creditBalance", "revokesAt"}, o.rotate)
	o.given.Bind(rotate)
	rotate.Flags().DurationVar(&o.grace, "grace", 0, "keep the old key valid for this `long` (10m), a week at most")
	return cli.Group(&cobra.Command{Use: "keys", Short: "Create, list, change, revoke and rotate your API keys",
		Example: "  ctx keys create my-agent --save\n  ctx keys list"}, create, list, view, edit, revoke, use, rotate)
}

// complete offers ids of active keys.
func (o *keyOptions) complete(c *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(c.Context(), time.Second)
	defer cancel()
	console, err := o.Account.Console(true)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	rows, _ := console.Keys(ctx) // what cannot be asked now is not offered
	var ids []string
	for _, r := range rows {
		if r.RevokedAt == nil {
			ids = append(ids, r.KeyID+"\t"+human.Line(r.Name))
		}
	}
	return ids, cobra.ShellCompDirectiveNoFileComp
}

func (o *keyOptions) create(ctx context.Context, name string) error {
	_, err := o.issue(ctx, func(c *sdk.Console, opts []sdk.CallOption) (*api.IssuedKey, error) {
		return c.NewKey(ctx, api.CreateKeyRequest{Name: name, TraceConsent: api.TraceConsent(o.consent), DailyCredits: o.perDay}, opts...)
	})
	return err
}

// issue has ask make a key and gives it to whom it was asked for.
func (o *keyOptions) issue(ctx context.Context,
	ask func(*sdk.Console, []sdk.CallOption) (*api.IssuedKey, error)) (*api.IssuedKey, error) {
	if err := o.given.Open(); err != nil {
		return nil, err
	}
	issued, err := askConsole(o.Account, ask)
	if err != nil {
		return nil, o.given.Drop(err)
	}
	return issued, o.given.Hand(ctx, issued)
}

func (o *keyOptions) rows(ctx context.Context) ([]api.APIKeyRow, error) {
	return askConsole(o.Account, func(c *sdk.Console, opts []sdk.CallOption) ([]api.APIKeyRow, error) { return c.Keys(ctx, opts...) })
}

func (o *keyOptions) list(ctx context.Context, _ []string) error {
	page, err := askConsole(o.Account, func(c *sdk.Console, opts []sdk.CallOption) (*api.KeyListResponse, error) {
		return c.KeyPage(ctx, o.limit, o.cursor, opts...)
	})
	if err != nil {
		return err
	}
	if page.NextCursor != "" {
		o.Note("there are more: ctx keys list --limit %d --cursor %s", o.limit, human.Line(page.NextCursor))
	}
	rows := slices.DeleteFunc(page.Keys, func(r api.APIKeyRow) bool { return r.RevokedAt != nil && !o.revoked })
	table := &cli.Rows{Columns: []string{"key id", "name", "tier", "created", "last used", "state", "per day"},
		Wide: 1, Right: []bool{6: true}, Empty: "no key; ctx keys create NAME makes one"}
	for _, r := range rows {
		table.Rows = append(table.Rows, o.cells(r))
	}
	return o.Show(ctx, rows, table)
}

func (o *keyOptions) cells(r api.APIKeyRow) []string {
	state := "active"
	switch {
	case r.OAuth != nil && r.RevokesAt != nil:
		state = "agent until " + o.date(r.RevokesAt)
	case r.OAuth != nil:
		state = "agent"
	case r.RevokesAt != nil:
		state = "ends " + o.date(r.RevokesAt)
	}
	if r.RevokedAt != nil {
		state = "revoked " + o.date(r.RevokedAt)
	}
	return []string{r.KeyID, r.Name, string(r.Tier), o.date(&r.CreatedAt), o.used(r), state, cli.Bound(r.DailyCredits)}
}

func (o *keyOptions) date(t *time.Time) string {
	return t.In(o.Now().Location()).Format(time.DateTime)
}

// used says when a key was last used.
func (o *keyOptions) used(r api.APIKeyRow) string {
	if r.LastUsedAt == nil {
		return "never"
	}
	return o.date(r.LastUsedAt)
}

func (o *keyOptions) find(rows []api.APIKeyRow, id string) (api.APIKeyRow, error) {
	for _, r := range rows {
		if r.KeyID == id {
			return r, nil
		}
	}
	return api.APIKeyRow{}, &cli.Failure{Exit: cli.ExitNotFound, Reason: string(api.ReasonKeyNotFound),
		Err: fmt.Errorf("you have no key %q", id), Hint: "ctx keys list"}
}

func (o *keyOptions) view(ctx context.Context, args []string) error {
	rows, err := o.rows(ctx)
	if err != nil {
		return err
	}
	row, err := o.find(rows, args[0])
	if err != nil {
		return err
	}
	credits, err := o.credits(ctx, row.KeyID)
	if err != nil {
		return err
	}
	return o.Show(ctx, struct {
		api.APIKeyRow
		Credits int64 `json:"credits"`
	}{row, credits}, nil)
}

func (o *keyOptions) edit(ctx context.Context, args []string) error {
	want := api.EditKeyRequest{Name: o.name, DailyCredits: o.bound}
	if want == (api.EditKeyRequest{}) {
		return cli.Invalid("nothing of the key is to be changed").WithHint("add --per-day CREDITS, --per-day none or --name NAME")
	}
	row, err := askConsole(o.Account, func(c *sdk.Console, opts []sdk.CallOption) (*api.APIKeyRow, error) {
		return c.EditKey(ctx, args[0], want, opts...)
	})
	if err != nil {
		return err
	}
	return o.Show(ctx, row, nil)
}

func (o *keyOptions) credits(ctx context.Context, id string) (int64, error) {
	balance, err := askConsole(o.Account, func(c *sdk.Console, opts []sdk.CallOption) (*api.CreditBalanceResponse, error) {
		return c.Balance(ctx, id, opts...)
	})
	if err != nil {
		return 0, err
	}
	return balance.Balance, nil
}

type revoked struct {
	KeyID string `json:"keyId"`
	api.RevokeResponse
}

func (o *keyOptions) revoke(ctx context.Context, args []string) error {
	rows, err := o.rows(ctx)
	if err != nil {
		return err
	}
	var names []string
	var lost int64
	for _, id := range args { // all are there before the first is revoked
		row, err := o.find(rows, id)
		if err != nil {
			return err
		}
		credits, err := o.credits(ctx, row.KeyID)
		if err != nil {
			return err
		}
		name := fmt.Sprintf("%s (%s, last used %s", row.KeyID, row.Name, o.used(row))
		if credits > 0 && row.RevokedAt == nil {
			lost += credits
			name += fmt.Sprintf(", with %d credits", credits)
		}
		names = append(names, name+")")
	}
	question := "revoke " + strings.Join(names, ", ")
	if lost > 0 {
		o.Note("%d credits would be lost; to move them to a new key: ctx keys rotate KEYID", lost)
	}
	if o.dryRun {
		o.Note("would %s", question)
		return nil
	}
	if err := o.Confirm(ctx, question); err != nil {
		return err
	}
	var done []revoked
	table := &cli.Rows{Columns: []string{"key id", "revoked", "stranded credits"}}
	for _, id := range args {
		r, err := askConsole(o.Account, func(c *sdk.Console, opts []sdk.CallOption) (*api.RevokeResponse, error) {
			return c.RevokeKey(ctx, id, opts...)
		})
		if err != nil {
			return err
		}
		done = append(done, revoked{id, *r})
		table.Rows = append(table.Rows, []string{id, o.date(&r.RevokedAt), fmt.Sprint(r.StrandedCredits)})
	}
	return o.Show(ctx, done, table)
}

// use keeps a key that the user has as that of the profile.
func (o *keyOptions) use(_ context.Context, args []string) error {
	c, err := o.Config()
	if err != nil {
		return err
	}
	file := c.Get(config.APIKeyFile)
	if file.Text == "" {
		return cli.Invalid("the service stores only the hash of a key, so the key itself is needed").
			WithHint("add --api-key-file FILE, or - for standard input")
	}
	key, err := config.ReadKey(file.Text, o.In)
	if err != nil {
		return cli.Invalid("%w", err)
	}
	if key.KeyID() != args[0] {
		return cli.Invalid("the key in %s is %s, not %s", file.Text, key.KeyID(), args[0])
	}
	where, err := o.Account.Store(func(c *config.Credential) { c.Key = key })
	if err == nil {
		o.Note("profile %s uses key %s, which is in %s", c.Profile(), key.KeyID(), where)
	}
	return err
}

func (o *keyOptions) rotate(ctx context.Context, args []string) error {
	old, err := o.named(ctx, args[0])
	if err != nil {
		return err
	}
	kept, err := o.Account.Stored()
	if err != nil {
		return err
	}
	o.given.Save = o.given.Save || o.given.Out == "" && kept.Key.KeyID() == old.KeyID
	issued, err := o.issue(ctx, func(c *sdk.Console, opts []sdk.CallOption) (*api.IssuedKey, error) {
		return c.RotateKey(ctx, old.KeyID, sdk.Rotation{Grace: o.grace}, opts...)
	})
	if issued != nil && issued.RevokesAt != nil && issued.CreditBalance != nil {
		end := "is revoked"
		if o.grace > 0 {
			end = "works until " + o.date(issued.RevokesAt)
		}
		o.Note("key %s %s; its %d credits are on %s", old.KeyID, end, *issued.CreditBalance, issued.KeyID)
	}
	return err
}

// named is the one active key with a name, or an id.
func (o *keyOptions) named(ctx context.Context, name string) (api.APIKeyRow, error) {
	rows, err := o.rows(ctx)
	if err != nil {
		return api.APIKeyRow{}, err
	}
	rows = slices.DeleteFunc(rows, func(r api.APIKeyRow) bool {
		return r.RevokedAt != nil || r.RevokesAt != nil || r.Name != name && r.KeyID != name
	})
	if len(rows) != 1 {
		return api.APIKeyRow{}, cli.Invalid("you have %d active keys called %q, not one", len(rows), name).
			WithHint("ctx keys list, and name it by its id")
	}
	return rows[0], nil
}
