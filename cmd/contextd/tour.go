package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/sdk/wallet"
)

// tour is where the story has come to.
type tour struct {
	out io.Writer
	tourConfig
	client *sdk.Client
	owner  *sdk.Console

	steps  int
	before api.CryptoState // what the first step read
	anchor int             // of the brief's first citation
}

// tourConfig is what the tour is about: a daemon that runs.
type tourConfig struct {
	BaseURL string
	APIKey  string
	Outbox  string // directory where its mail goes
	Books   *billing.Credits
	Refresh func(ctx context.Context, pack string) error // makes a new state now
	Now     func() time.Time
	Money   *tourMoney // nil where there is no chain
}

type tourMoney struct {
	RPCURL, Token, PrivateKey string
	ChainID                   int64
	Dir                       string // for the journal of payments
}

// takeTour takes every step in order and tells of it on out.
func takeTour(ctx context.Context, out io.Writer, cfg tourConfig) error {
	c, err := sdk.New(sdk.WithoutEnv(), sdk.WithBaseURL(cfg.BaseURL), sdk.WithAPIKey(sdk.NewKey(cfg.APIKey)))
	if err != nil {
		return err
	}
	t := &tour{out: out, tourConfig: cfg, client: c, owner: c.Console("")}
	fmt.Fprintf(out, "A tour of contextd at %s, on synthetic data: no price here is real.\n", cfg.BaseURL)
	for _, step := range []func(context.Context) error{
		t.fresh, t.brief, t.cite, t.search, t.snapshot, t.live, t.packs, t.cost, t.noKey, t.pay, t.signIn, t.buy, t.keys,
	} {
		if err := step(ctx); err != nil {
			return fmt.Errorf("step %d of the tour: %w", t.steps, err)
		}
	}
	fmt.Fprintf(out, "\nEnd of the tour. To try it yourself, run: contextd demo\n")
	return nil
}

func (t *tour) title(what, command string) {
	t.steps++
	fmt.Fprintf(t.out, "\n%d. %s\n   $ %s\n", t.steps, what, command)
}

// printf prints a paragraph, wrapped for a terminal of 80 columns.
func (t *tour) printf(format string, args ...any) {
	text := ansi.Wordwrap(fmt.Sprintf(format, args...), 74, "")
	fmt.Fprintln(t.out, "   "+strings.ReplaceAll(text, "\n", "\n   "))
}

func (t *tour) fresh(ctx context.Context) error {
	t.title("The state of the crypto pack, compacted from all its sources", "ctx state")
	answer, err := t.client.Fresh(ctx, api.PackCrypto)
	if err != nil {
		return err
	}
	if err := sdk.DecodeState(answer.State, &t.before); err != nil {
		return err
	}
	t.printf("%d bytes from %d sources, generated %d s ago.", len(answer.State), len(answer.Citations), answer.Freshness.AgeSeconds)
	for _, m := range t.before.TopMovers {
		if m.Group == api.GroupMajor {
			t.printf("%-5s %12s %9s in 24 hours [%d]", m.Symbol, human.USD(known(m.PriceUSD)), human.Percent(known(m.Change24hPct)), m.Ref)
		}
	}
	for _, f := range t.before.Flags {
		t.printf("%s: %s [%d]", f.Severity, f.Message, f.Ref)
	}
	return nil
}

func (t *tour) brief(ctx context.Context) error {
	t.title("The state as prose; every statement cites its source", "ctx brief")
	answer, err := t.client.Brief(ctx, api.PackCrypto)
	if err != nil {
		return err
	}
	t.printf("%s", answer.Brief)
	first := regexp.MustCompile(`\[(\d+)\]`).FindStringSubmatch(answer.Brief)
	if first == nil {
		return errors.New("the brief cites nothing")
	}
	t.anchor, err = strconv.Atoi(first[1])
	return err
}

func (t *tour) cite(ctx context.Context) error {
	t.title(fmt.Sprintf("The source behind [%d]", t.anchor), fmt.Sprintf("ctx cite %d", t.anchor))
	answer, err := t.client.Cite(ctx, api.PackCrypto, t.anchor)
	if err != nil {
		return err
	}
	t.printf("%s, %s, fetched at %s: %q", answer.Source.Name, answer.Citation.URL,
		answer.Citation.FetchedAt.Format(time.RFC3339), answer.Citation.Excerpt)
	return nil
}

func (t *tour) search(ctx context.Context) error {
	const query = "bitcoin"
	t.title("Search the state", "ctx ask --text "+query)
	answer, err := t.client.Search(ctx, sdk.SearchRequest{Query: query, K: 3})
	if err != nil {
		return err
	}
	if answer.Total == 0 {
		return fmt.Errorf("nothing matches %q", query)
	}
	for _, m := range answer.Matches {
		t.printf("%.1f  %s = %s", m.Score, m.Path, m.Value)
	}
	t.printf("%d of %d matches", len(answer.Matches), answer.Total)
	return nil
}

func (t *tour) snapshot(ctx context.Context) error {
	t.title("The state as it was twenty minutes ago; the answer never changes", "ctx state --at 20m")
	at := t.Now().Add(-20 * time.Minute).Truncate(time.Minute)
	answer, err := t.client.Snapshot(ctx, api.PackCrypto, at)
	if err != nil {
		return err
	}
	again, err := t.client.Snapshot(ctx, api.PackCrypto, at)
	if err != nil {
		return err
	}
	if !bytes.Equal(answer.State, again.State) || !reflect.DeepEqual(answer.Freshness, again.Freshness) {
		return errors.New("two snapshots of one minute differ")
	}
	var then api.CryptoState
	if err := sdk.DecodeState(answer.State, &then); err != nil {
		return err
	}
	t.printf("generated at %s: BTC at %s, now %s", answer.Freshness.GeneratedAt.Format(time.RFC3339),
		human.USD(known(major(then, "BTC").PriceUSD)), human.USD(known(major(t.before, "BTC").PriceUSD)))
	return nil
}

func (t *tour) live(ctx context.Context) error {
	t.title("Sources move, and a stream brings the new state (here the next recorded moment)", "ctx state follow")
	after, err := t.next(ctx)
	if err != nil {
		return err
	}
	moved := 0
	for _, now := range after.TopMovers {
		was := major(t.before, now.Symbol)
		if now.Group == api.GroupMajor && human.USD(known(was.PriceUSD)) != human.USD(known(now.PriceUSD)) {
			t.printf("%-5s %12s -> %s", now.Symbol, human.USD(known(was.PriceUSD)), human.USD(known(now.PriceUSD)))
			moved++
		}
	}
	t.flags("down", t.before.Flags, after.Flags)
	t.flags("up", after.Flags, t.before.Flags)
	if moved == 0 {
		return errors.New("no price moved")
	}
	return nil
}

// next follows the stream until it brings a state that was made after it was opened.
func (t *tour) next(ctx context.Context) (after api.CryptoState, err error) {
	stream := t.client.Subscribe(sdk.SubscribeRequest{})
	defer stream.Close()
	for event, err := range stream.Events(ctx) {
		switch {
		case err != nil:
			return after, err
		case event.Type == api.EventDelta:
			err := sdk.DecodeState(event.State.State, &after)
			return after, err
		case event.Type == api.EventPulse:
			if err := t.Refresh(ctx, api.PackCrypto); err != nil {
				return after, err
			}
		}
	}
	return after, errors.New("the stream ended without a new state")
}

func (t *tour) packs(ctx context.Context) error {
	t.title("Other packs work the same way; listing them is free", "ctx packs")
	answer, err := t.client.Packs(ctx)
	if err != nil {
		return err
	}
	for _, p := range answer.Packs {
		t.printf("%-8s %s: %s", p.ID, p.Title, human.Plural(len(p.Sources), "source"))
	}
	return nil
}

func (t *tour) cost(ctx context.Context) error {
	t.title("The cost: a credit for each answered call and for the stream", "contextd credits ledger; contextd money audit")
	books := t.Books
	left, err := books.Balance(ctx, account.OperatorID, "")
	if err != nil {
		return err
	}
	entries, err := books.Entries(ctx, account.OperatorID, 10)
	if err != nil {
		return err
	}
	var given int64
	for _, e := range entries {
		given += e.Amount
	}
	findings, err := books.Audit(ctx)
	if err != nil {
		return err
	}
	if len(findings) > 0 || left.Balance >= given {
		return fmt.Errorf("%d of %d credits are left, and the audit finds %v", left.Balance, given, findings)
	}
	t.printf("%d of %d credits spent, the books agree", given-left.Balance, given)
	return nil
}

func (t *tour) flags(verb string, list, other []api.Flag) {
	known := make(map[string]bool, len(other))
	for _, f := range other {
		known[f.ID] = true
	}
	for _, f := range list {
		if !known[f.ID] {
			t.printf("flag %s: %s [%d]", verb, f.Message, f.Ref)
		}
	}
}

func (t *tour) noKey(ctx context.Context) error {
	t.title("A call without a key is refused", "curl -i "+t.BaseURL+api.PathFresh)
	c, err := sdk.New(sdk.WithoutEnv(), sdk.WithBaseURL(t.BaseURL))
	if err != nil {
		return err
	}
	_, err = c.Fresh(ctx, api.PackCrypto)
	return t.refused(err, api.ReasonPaymentRequired)
}

func (t *tour) pay(ctx context.Context) error {
	if t.Money == nil {
		return nil
	}
	t.title("A wallet pays for the call, here with test money on the demo's chain", "ctx ask --text bitcoin --pay")
	p, err := t.payer(ctx)
	if err != nil {
		return err
	}
	defer p.Close()
	c, err := sdk.New(sdk.WithoutEnv(), sdk.WithBaseURL(t.BaseURL), sdk.WithPayer(p))
	if err != nil {
		return err
	}
	answer, err := c.Search(ctx, sdk.SearchRequest{Query: "bitcoin", K: 1})
	if err != nil {
		return err
	}
	t.printf("answered: %s = %s", answer.Matches[0].Path, answer.Matches[0].Value)
	return nil
}

// payer pays with the money of the demo.
func (t *tour) payer(ctx context.Context) (*wallet.Payer, error) {
	key, err := wallet.ParseKey(t.Money.PrivateKey)
	if err != nil {
		return nil, err
	}
	return wallet.NewPayer(ctx, wallet.Config{
		Key: key, RPCURL: t.Money.RPCURL, ChainID: t.Money.ChainID, Token: t.Money.Token, Dir: t.Money.Dir, Now: t.Now,
		Notify: func(text string) { t.printf("%s", text) },
	})
}

func (t *tour) buy(ctx context.Context) error {
	if t.Money == nil {
		return nil
	}
	t.title("They buy credits for a key, with USDG on the same chain",
		"ctx keys create mine; ctx credits buy starter --pay; ctx credits balance")
	if _, err := t.owner.CreateKey(ctx, "mine", ""); err != nil {
		return err
	}
	p, err := t.payer(ctx)
	if err != nil {
		return err
	}
	defer p.Close()
	bought, err := t.owner.BuyCredits(ctx, api.CreditStarter, "", p)
	if err != nil {
		return err
	}
	balance, err := t.owner.Balance(ctx, "")
	if err != nil {
		return err
	}
	if bought.Status != api.DepositVerified || balance.Balance != bought.Credits {
		return fmt.Errorf("the purchase is %s, the balance %d", bought.Status, balance.Balance)
	}
	t.printf("%s: %d credits for %s %s", bought.Status, balance.Balance, bought.AmountUSDC, api.AssetUSDG)
	return nil
}

func (t *tour) signIn(ctx context.Context) error {
	const email = "you@example.com"
	t.title("Another owner signs in with a mailed link (here saved to a file)", "ctx login --email "+email)
	if _, err := t.owner.SendLink(ctx, email); err != nil {
		return err
	}
	mails, err := filepath.Glob(filepath.Join(t.Outbox, "*.eml"))
	if err != nil || len(mails) == 0 {
		return fmt.Errorf("the outbox is empty: %w", err)
	}
	slices.Sort(mails)
	text, err := os.ReadFile(mails[len(mails)-1])
	if err != nil {
		return err
	}
	session, err := t.owner.ByLink(ctx, regexp.MustCompile(`http\S+token=\S+`).FindString(string(text)))
	if err != nil {
		return err
	}
	t.printf("signed in as %s, tier %s, until %s", *session.Email, session.Tier, session.ExpiresAt.Format(time.DateOnly))
	return nil
}

func (t *tour) keys(ctx context.Context) error {
	t.title("They create a key, use it and revoke it: keys end at once", "ctx keys create spare; ctx state; ctx keys revoke <KEYID>")
	issued, err := t.owner.CreateKey(ctx, "spare", "")
	if err != nil {
		return err
	}
	c, err := sdk.New(sdk.WithoutEnv(), sdk.WithBaseURL(t.BaseURL), sdk.WithAPIKey(sdk.NewKey(issued.Key)))
	if err != nil {
		return err
	}
	if _, err := c.Fresh(ctx, api.PackCrypto); err != nil {
		return err
	}
	t.printf("%s… is answered", issued.KeyID)
	if _, err := t.owner.RevokeKey(ctx, issued.KeyID); err != nil {
		return err
	}
	_, err = c.Fresh(ctx, api.PackCrypto)
	return t.refused(err, api.ReasonKeyRevoked)
}

// refused prints err, which must be the refusal with the given reason.
func (t *tour) refused(err error, reason api.Reason) error {
	var refusal *api.Error
	switch {
	case err == nil:
		return fmt.Errorf("a call was answered that should be refused with %s", reason)
	case !errors.As(err, &refusal) || refusal.Reason != reason:
		return fmt.Errorf("a call should be refused with %s, not with: %w", reason, err)
	}
	t.printf("%d %s (%s): %s", refusal.Status, refusal.Code, refusal.Reason, refusal.Message)
	return nil
}

// major is the major with the given symbol, zero if it is not there.
func major(s api.CryptoState, symbol string) api.Mover {
	for _, m := range s.TopMovers {
		if m.Group == api.GroupMajor && m.Symbol == symbol {
			return m
		}
	}
	return api.Mover{}
}

// known is x, or what reads as unknown.
func known(x *float64) float64 {
	if x == nil {
		return math.NaN()
	}
	return *x
}
