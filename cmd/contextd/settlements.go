package main

import (
	"context"
	"fmt"
	"io"
	"math/big"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/daemon/admin"
	"github.com/contextd/contextd/daemon/x402"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/doctor"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/usdg"
	"github.com/contextd/contextd/sdk/api"
)

// newSettlements makes the commands on payments by standard x402.
func newSettlements(operate runOperator) *cobra.Command {
	c := &cobra.Command{Use: "settlements", Short: "Manage x402 payments and their costs"}
	cli.Group(c, newSettlementsList(operate), newSettlementsView(operate), newSettlementsRetry(operate))
	return c
}

// shownDigits are those of a nonce by which a table names a settlement: more than the eight that the other commands ask for.
const shownDigits = len("0x") + 12

func newSettlementsList(operate runOperator) *cobra.Command {
	var state string
	var limit int
	c := &cobra.Command{
		Use: "list", Short: "List the newest payments by standard x402", Args: cobra.NoArgs,
		Long: "List the newest payments by standard x402, with the cost of their settlement. The id of a payment is the nonce\n" +
			"of its authorization; tables show its beginning.",
		Example: "  contextd money settlements list --state pending\n  contextd money settlements list --json settlement,state,feeWei",
	}
	c.Flags().StringVar(&state, "state", "", "pending, settled or failed (default all)")
	c.Flags().IntVarP(&limit, "limit", "n", 50, "show at most this many")
	_ = c.RegisterFlagCompletionFunc("state", cobra.FixedCompletions([]string{
		string(x402.SettlementPending), string(x402.SettlementSettled), string(x402.SettlementFailed),
	}, cobra.ShellCompDirectiveNoFileComp)) // fails only for a flag that is not there
	return show(operate, c, func(ctx context.Context, o *admin.Operator, _ []string) ([]admin.Settlement, error) {
		return o.Settlements(ctx, state, limit)
	}, settlementsTable)
}

func settlementsTable(list []admin.Settlement) cli.Answer {
	rows := &cli.Rows{
		Columns: []string{"settlement", "rail", "for", "usdg", "state", "at", "gas", "gwei", "payer", "why"}, Wide: 9,
		Right: []bool{3: true, 6: true, 7: true}, Empty: "No payment by standard x402 was taken yet.",
	}
	for _, s := range list {
		gas := ""
		if s.GasUsed > 0 {
			gas = strconv.FormatUint(s.GasUsed, 10)
		}
		rows.Rows = append(rows.Rows, []string{s.ID[:shownDigits], s.Rail, s.Op, s.AmountUSDG, string(s.State),
			s.At.Format(time.DateTime), gas, gwei(s.FeeWei), s.Payer, s.Why})
	}
	return table(rows)
}

// gwei writes an amount of wei for people, "" for none.
func gwei(wei string) string { return inUnits(wei, 9, 0) }

// ether writes an amount of wei for people, "" for none.
func ether(wei string) string { return inUnits(wei, 18, 6) }

// inUnits writes an amount of wei in units of a power of ten, with so many places.
func inUnits(wei string, power, places int) string {
	n, ok := new(big.Int).SetString(wei, 10)
	if !ok {
		return ""
	}
	return new(big.Rat).SetFrac(n, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(power)), nil)).FloatString(places)
}

func newSettlementsView(operate runOperator) *cobra.Command {
	c := &cobra.Command{
		Use: "view SETTLEMENT", Short: "Show a payment and its settlement transactions", Args: cobra.ExactArgs(1),
		Long: "Show a payment by standard x402 and every transaction to settle it. Name it by the first eight or more\n" +
			"hexadecimal digits of its nonce or of a transaction.",
		Example: "  contextd money settlements view 0x3f9a01c277de",
	}
	return show(operate, c, func(ctx context.Context, o *admin.Operator, args []string) (admin.Settlement, error) {
		return o.Settlement(ctx, args[0])
	}, settlementText)
}

func newSettlementsRetry(operate runOperator) *cobra.Command {
	c := &cobra.Command{
		Use: "retry SETTLEMENT", Short: "Continue a pending settlement now", Args: cobra.ExactArgs(1),
		Long: "Continue a pending settlement now: look for it on the chain. If it is in no block, replace its transaction at a\n" +
			"higher price, or ask the facilitator again. The daemon does so without help after two minutes. Failed payments\n" +
			"are not tried again: their payers were told, and may have paid again.",
		Example: "  contextd money settlements retry 0x3f9a01c277de",
	}
	return show(operate, c, func(ctx context.Context, o *admin.Operator, args []string) (admin.Settlement, error) {
		return o.RetrySettlement(ctx, args[0])
	}, settlementText)
}

func settlementText(s admin.Settlement) cli.Answer {
	return prose(func(w io.Writer) error {
		line := func(name, text string) {
			if text != "" {
				fmt.Fprintf(w, "%-12s %s\n", name, text)
			}
		}
		line("settlement", s.ID)
		line("payer", s.Payer)
		line("for", fmt.Sprintf("%s, %s USDG on %s", s.Op, s.AmountUSDG, s.Rail))
		state := string(s.State)
		if s.Why != "" {
			state += ": " + s.Why
		}
		line("state", state)
		line("answered", s.At.Format(time.DateTime))
		if s.DoneAt != nil {
			line("over", s.DoneAt.Format(time.DateTime))
		} else {
			line("ends", s.ValidBefore.Format(time.DateTime))
		}
		line("transaction", s.Transaction)
		line("by", s.By)
		if s.FeeWei != "" {
			line("cost", fmt.Sprintf("%d gas, %s gwei", s.GasUsed, gwei(s.FeeWei)))
		}
		for _, t := range s.Tries {
			became := "in no block"
			switch {
			case t.Reverted:
				became = fmt.Sprintf("reverted, %d gas, %s gwei", t.GasUsed, gwei(t.FeeWei))
			case t.GasUsed > 0:
				became = fmt.Sprintf("%d gas, %s gwei", t.GasUsed, gwei(t.FeeWei))
			}
			line("  "+t.At.Format(time.TimeOnly), t.Hash+"  "+became)
		}
		return nil
	})
}

const (
	settlesLong = 5 * time.Minute // for a payment to be settled
	fewLeft     = 100             // settlements that the key can pay
)

// settlingFindings say how the rails stand on which a daemon settles payments.
func settlingFindings(list []x402.Standing, now time.Time) (found []doctor.Finding) {
	for _, s := range list {
		found = append(found, offered(s))
		if !s.Left {
			found = append(found, pending(s, now))
		}
		if s.Foreign > 0 {
			found = append(found, doctor.Finding{Check: "treasury " + s.Rail, Outcome: doctor.Warning,
				Found: fmt.Sprintf("transactions of others have settled %s in 24 hours; another service with this treasury may have sold "+
					"them too", human.Plural(s.Foreign, "payment")),
				Fix: "give each service its own treasury; contextd money settlements list; contextd help sell"})
		}
		if s.Balance != "" {
			found = append(found, gasFinding(s))
		}
	}
	return found
}

// offered says whether a rail takes payments by standard x402, and what they cost.
func offered(s x402.Standing) doctor.Finding {
	f := doctor.Finding{Check: "settlement " + s.Rail, Outcome: doctor.OK, Found: "by " + s.By}
	cheapest := api.OpFresh.PriceMicros()
	switch {
	case s.Left:
		f.Outcome, f.Found = doctor.Failure, fmt.Sprintf("%s and %s wait on it: %s", human.Plural(s.Pending, "payment"),
			human.Plural(s.Purchases, "purchase"), s.Off)
		f.Fix = "configure the rail again until they end: contextd money settlements list --state pending"
	case s.Off != "":
		f.Outcome, f.Found = doctor.Failure, "standard x402 is not offered: "+s.Off
		f.Fix = "send ether to " + s.By + ", or contextd money settlements list --state failed; contextd help sell"
	case s.Limited:
		f.Outcome = doctor.Warning
		f.Found = "gas above the budget was lost: calls are settled only for wallets that have paid before, and credit packages"
		f.Fix = "contextd money settlements list --state failed, or raise gas.revert_budget; contextd help sell"
	case s.CostMicros != nil && s.MaxPercent > 0 && *s.CostMicros*100 > cheapest*s.MaxPercent:
		f.Outcome = doctor.Warning
		f.Found = fmt.Sprintf("a settlement costs %s USDG of gas; standard x402 is offered only for calls from %s USDG",
			usdg.Amount(*s.CostMicros), usdg.Amount((*s.CostMicros*100+s.MaxPercent-1)/s.MaxPercent))
		f.Fix = "sell credits (one settlement for many calls), or raise gas.max_percent"
	case s.CostMicros != nil:
		f.Found += fmt.Sprintf(": a settlement costs %s USDG of gas, the cheapest call %s USDG", usdg.Amount(*s.CostMicros),
			usdg.Amount(cheapest))
	case s.GasPrice != "":
		price, _ := new(big.Int).SetString(s.GasPrice, 10)
		f.Found += fmt.Sprintf(": a settlement costs %s gwei (price in USDG unknown)",
			gwei(new(big.Int).Mul(price, new(big.Int).SetUint64(s.Gas)).String()))
	}
	return f
}

// pending says what is being settled on a rail.
func pending(s x402.Standing, now time.Time) doctor.Finding {
	f := doctor.Finding{Check: "pending " + s.Rail, Outcome: doctor.OK, Found: "no payment is being settled"}
	if s.OldestAt == nil {
		return f
	}
	age := now.Sub(*s.OldestAt)
	f.Found = fmt.Sprintf("%s being settled, the oldest for %s", human.Plural(s.Pending, "payment"), human.Age(age))
	if age > settlesLong {
		f.Outcome, f.Fix = doctor.Warning, "contextd money settlements list --state pending; contextd money settlements retry SETTLEMENT"
	}
	return f
}

// gasKey begins the check of what is left to pay gas with, before its rail.
const gasKey = "gas key "

// gasFinding says what the key of a rail has.
func gasFinding(s x402.Standing) doctor.Finding {
	f := doctor.Finding{Check: gasKey + s.Rail, Outcome: doctor.OK, Found: ether(s.Balance) + " ether"}
	has, ok := new(big.Int).SetString(s.Balance, 10)
	price, known := new(big.Int).SetString(s.GasPrice, 10)
	if ok && known && price.Sign() > 0 {
		left := has.Div(has, price.Mul(price, new(big.Int).SetUint64(s.Gas)))
		f.Found += fmt.Sprintf(", for about %s settlements", left)
		if left.Cmp(big.NewInt(fewLeft)) < 0 {
			f.Outcome, f.Fix = doctor.Warning, "send ether to "+s.By
		}
	}
	if s.Lost != "" && s.Lost != "0" {
		f.Found += fmt.Sprintf("; %s gwei lost to reverts in 24 hours", gwei(s.Lost))
		if s.Budget != "" {
			f.Found += " of " + gwei(s.Budget)
		}
	}
	return f
}
