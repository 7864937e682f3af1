package client

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

type creditOptions struct {
	*factory

	key   string // whose balance, "" for that of all
	since string // as typed
}

func newCredits(f *factory) *cobra.Command {
	o := &creditOptions{factory: f}
	balance := f.Command(&cobra.Command{Use: "balance", Short: "Show the remaining credits",
		Long: "Show the credits of your account. Without a session, make one call with the API key and show the rest of its\n" +
			"credits.",
		Example: "  ctx credits balance\n  ctx credits balance --jq .balance"},
		[]string{"balance", "keyCount", "recentDeposits", "freeCalls", "resetSeconds", "unmetered"},
		o.balance)
	balance.Flags().StringVar(&o.key, "key", "", "only credits recorded under this key, by its `id`")
	packs := f.Command(&cobra.Command{Use: "packages", Short: "List the packages of credits with their prices"},
		[]string{"pack", "credits", "price", "discountPercent", "tier"},
		o.packs)
	usage := f.Command(&cobra.Command{Use: "usage", Short: "Show your calls by day, key and operation",
		Example: "  ctx credits usage\n  ctx credits usage --since 7d --json day,calls"}, []string{"day", "keyId", "op", "calls"},
		o.usage)
	usage.Flags().StringVar(&o.since, "since", "30d", "from so `long` ago (7d) or from a date")
	return cli.Group(&cobra.Command{Use: "credits", Short: "Buy credits, and show their use",
		Example: "  ctx credits buy starter\n  ctx credits balance\n  ctx credits usage --since 7d"},
		balance, packs, newBuy(f), newDeposits(f), usage)
}

// balance shows the balance of all keys, or of one. Without a session it asks with the key that calls are made with.
func (o *creditOptions) balance(ctx context.Context, _ []string) error {
	stored, err := o.Account.Stored()
	if err != nil {
		return err
	}
	if key, _, err := o.Key(); err == nil && !key.IsZero() && o.key == "" && stored.Session.IsZero() && o.Env(envSession) == "" {
		return o.left(ctx)
	}
	b, err := askConsole(o.Account, func(c *sdk.Console, opts []sdk.CallOption) (*api.CreditBalanceResponse, error) {
		return c.Balance(ctx, o.key, opts...)
	})
	if err != nil {
		return err
	}
	if b.FreeCalls > 0 {
		o.Note("without credits, your keys share %d free calls in 24 hours", b.FreeCalls)
	}
	return o.Show(ctx, b, &cli.Rows{Columns: []string{"credits", "active keys"}, Right: []bool{true, true},
		Rows: [][]string{{strconv.FormatInt(b.Balance, 10), strconv.Itoa(b.KeyCount)}}})
}

// leftOf is what a key can still call, as JSON shows it.
type leftOf struct {
	Balance      *int64 `json:"balance"`   // credits; null where the last call took none
	FreeCalls    *int64 `json:"freeCalls"` // null where the last call was no free one
	ResetSeconds int64  `json:"resetSeconds"`
	Unmetered    bool   `json:"unmetered"`
}

// left shows what the key can still call, which a call with it says.
func (o *creditOptions) left(ctx context.Context) error {
	client, err := o.Client()
	if err != nil {
		return err
	}
	pack, err := o.Pack(nil)
	if err != nil {
		return err
	}
	var meta sdk.Response
	if _, err := client.Cite(ctx, pack, 1, o.Call(&meta)...); err != nil {
		return err
	}
	left := meta.Left()
	words := leftWords(left)
	if words == "" {
		return cli.Invalid("the service does not say what a key can still call").WithHint("ctx login --email you@example.com")
	}
	o.Note("asked with one call; ctx login shows the balance of your account")
	return o.Show(ctx, leftOf{left.Credits, left.FreeCalls, int64(left.Reset.Seconds()), left.Unmetered},
		&cli.Rows{Columns: []string{"left"}, Rows: [][]string{{words}}})
}

// offer is a package of credits as JSON shows it.
type offer struct {
	api.CreditOffer
	Price string `json:"price"` // USDG
}

// packs shows the packs, which are the same everywhere.
func (o *creditOptions) packs(ctx context.Context, _ []string) error {
	var list []offer
	table := &cli.Rows{Columns: []string{"package", "credits", "price", "discount", "tier"}, Right: []bool{false, true, true, true}}
	for _, p := range api.CreditPacks() {
		credits, _ := p.Offer() // there is one for each
		price := strconv.FormatInt(credits.PriceMicros/1_000_000, 10)
		list = append(list, offer{credits, price})
		table.Rows = append(table.Rows, []string{
			string(p), strconv.FormatInt(credits.Credits, 10), price + " " + api.AssetUSDG,
			strconv.Itoa(credits.DiscountPercent) + "%", string(credits.Tier),
		})
	}
	return o.Show(ctx, list, table)
}

// usage shows the calls since a moment, on a terminal with a bar for each day.
func (o *creditOptions) usage(ctx context.Context, _ []string) error {
	from, err := human.ParseMoment(o.since, o.Now())
	if err != nil {
		return cli.Invalid("--since: %w", err)
	}
	const day = 24 * time.Hour
	days := int(o.Now().UTC().Truncate(day).Sub(from.UTC().Truncate(day))/day) + 1
	if days < 1 {
		return cli.Invalid("--since %s is in the future", o.since)
	}
	usage, err := askConsole(o.Account, func(c *sdk.Console, opts []sdk.CallOption) (*api.UsageResponse, error) {
		return c.Usage(ctx, days, opts...)
	})
	if err != nil {
		return err
	}
	for _, b := range usage.Bounds {
		o.Note("key %s has spent %d of the %d credits that it may spend today, in UTC", b.KeyID, b.SpentToday, b.DailyCredits)
	}
	rows := usage.Days
	table := &cli.Rows{Columns: []string{"day", "key id", "operation", "calls"}, Right: []bool{false, false, false, true},
		Empty: "no call since " + from.Format(time.DateOnly)}
	for _, r := range rows {
		table.Rows = append(table.Rows, []string{r.Day, r.KeyID, string(r.Op), strconv.FormatInt(r.Calls, 10)})
	}
	doc, err := cli.Marshal(rows)
	if err != nil {
		return err
	}
	return o.Print(ctx, cli.Answer{JSON: doc, Rows: table, Text: func(w io.Writer, width int, style cli.Style) error {
		if err := table.Write(w, width, style); err != nil || len(rows) == 0 {
			return err
		}
		return writeDays(w, width, style, rows)
	}})
}

// writeDays writes a bar for the calls of each day.
func writeDays(w io.Writer, width int, style cli.Style, rows []api.UsageRow) error {
	var days []string
	calls, most := map[string]int64{}, int64(1)
	for _, r := range rows {
		if calls[r.Day] == 0 {
			days = append(days, r.Day)
		}
		calls[r.Day] += r.Calls
		most = max(most, calls[r.Day])
	}
	block := "█"
	if style.ASCII {
		block = "#"
	}
	const around = 24 // columns for the day and the number
	if _, err := fmt.Fprintln(w); err != nil {
		return err
	}
	for _, d := range days {
		long := int(calls[d] * int64(max(width-around, 1)) / most)
		if _, err := fmt.Fprintf(w, "%s  %s %d\n", d, strings.Repeat(block, max(long, 1)), calls[d]); err != nil {
			return err
		}
	}
	return nil
}
