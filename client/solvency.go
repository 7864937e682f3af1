package client

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/contextd/contextd/client/config"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/doctor"
	"github.com/contextd/contextd/internal/usdg"
	"github.com/contextd/contextd/sdk/wallet"
)

// solvency checks all that paying needs, where anything about that is configured: the wallet, the chain, what the wallet has, what it may
// pay and what is unfinished. No wallet is opened.
func (o *doctorOptions) solvency(ctx context.Context, c *config.Config) {
	o.unfinished()
	if !o.Payments.On() && !o.Wallets.Configured() && c.Get(config.RPCURL).Text == "" {
		return
	}
	address := o.wallet(ctx, c)
	o.policy(c)
	if c.Get(config.RPCURL).Text == "" || c.Get(config.Token).Text == "" {
		o.add("chain", doctor.Warning, "ctx config set rpc_url URL; ctx config set token ADDRESS; ctx config set chain_id ID",
			"unknown to ctx: the wallet can only sign in")
		return
	}
	o.chain(ctx, address)
}

// unfinished tells of payments that have not come to an end.
func (o *doctorOptions) unfinished() {
	list, err := wallet.Payments(o.Wallets.DataDir())
	if err != nil {
		o.add("payments", doctor.Failure, "move the named file away, then ctx pay receipts", "%v", err)
		return
	}
	live, oldest := 0, ""
	for _, p := range list {
		if !p.Live {
			continue
		}
		if live++; live == 1 {
			oldest = p.Amount.String() + " USDG for " + p.Request + ", transaction " + p.TxHash
		}
	}
	if live > 0 {
		o.add("payments", doctor.Warning, "ctx pay resume", "%d unfinished, the oldest %s", live, oldest)
	} else if len(list) > 0 {
		o.add("payments", doctor.OK, "", "%d made, none unfinished", len(list))
	}
}

// wallet checks the file of the wallet and returns its address, "" if that is not known.
func (o *doctorOptions) wallet(ctx context.Context, c *config.Config) string {
	name := c.Get(config.Wallet)
	if env := o.Wallets.OpenKey(); env != "" {
		address, err := o.Wallets.Address(ctx, "", "")
		if err != nil {
			o.add("wallet", doctor.Failure, "correct "+env+", or unset it", "%v", err)
			return ""
		}
		o.add("wallet", doctor.Warning, "for real money: ctx wallet import NAME", "%s; its key is unencrypted in %s", address, env)
		return address
	}
	if name.Text == "" {
		o.add("wallet", doctor.Warning, "ctx wallet new NAME; ctx wallet use NAME", "none configured")
		return ""
	}
	file, err := o.Wallets.Find(name.Text)
	if err != nil {
		o.add("wallet", doctor.Failure, "ctx wallet list; ctx wallet use NAME", "%v (from %s)", err, name.Origin)
		return ""
	}
	for _, path := range []string{file.Path, filepath.Dir(file.Path)} {
		loose, fix := os.FileMode(0o077), "chmod 600 "+path
		if path != file.Path {
			loose, fix = 0o022, "chmod 700 "+path
		}
		if info, err := os.Stat(path); err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&loose != 0 {
			o.add("wallet", doctor.Warning, fix, "other users can access %s (mode %04o)", path, info.Mode().Perm())
			return file.Address
		}
	}
	if file.Address == "" {
		o.add("wallet", doctor.OK, "", "%s, without an address (from %s)", file.Path, name.Origin)
		return ""
	}
	o.add("wallet", doctor.OK, "", "%s in %s (from %s)", file.Address, file.Path, name.Origin)
	return file.Address
}

// policy tells what the wallet may pay, and whether it may pay anything today.
func (o *doctorOptions) policy(c *config.Config) {
	paid, err := wallet.Spent(o.Wallets.DataDir(), o.Now())
	if err != nil {
		return // unfinished has told
	}
	text := func(name string) string { return c.Get(name).Text }
	outcome, fix := doctor.OK, ""
	for name, sum := range map[string]usdg.Amount{config.MaxPerDay: paid.Day, config.MaxPerMonth: paid.Month} {
		if bound, err := usdg.ParseAmount(text(name)); err == nil && sum >= bound {
			outcome, fix = doctor.Warning, "wait, or ctx pay policy set per-day USDG"
		}
	}
	call := text(config.MaxPerCall) + " USDG"
	if text(config.MaxPerCall) == config.Published {
		call = "the published price"
	}
	o.add("policy", outcome, fix, "%s per call, %s USDG per day (%s paid), %s per month (%s paid)",
		call, text(config.MaxPerDay), paid.Day, text(config.MaxPerMonth), paid.Month)
}

// chain checks the node, the token and, where its address is known, what the wallet has.
func (o *doctorOptions) chain(ctx context.Context, address string) {
	const patience = 10 * time.Second
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	known := address != ""
	if !known {
		address = "0x0000000000000000000000000000000000000000"
	}
	p, err := o.Payments.ReadOnly(ctx, address, true)
	if err != nil {
		o.add("chain", doctor.Failure, hintOf(err), "%v", err)
		return
	}
	defer p.Close()
	if err := p.CheckChain(ctx); err != nil {
		fix := "check rpc_url and the network"
		if errors.Is(err, wallet.ErrWrongChain) {
			fix = "correct one of them: ctx config set rpc_url URL, ctx config set chain_id ID"
		}
		o.add("chain", doctor.Failure, fix, "%v", err)
		return
	}
	if err := p.CheckToken(ctx); err != nil {
		o.add("token", doctor.Failure, "ask the operator for the token, then: ctx config set token ADDRESS", "%v", err)
		return
	}
	b, err := p.Balance(ctx)
	if err != nil {
		o.add("chain", doctor.Failure, "check rpc_url and the network", "%v", err)
		return
	}
	o.add("chain", doctor.OK, "", "the node answers for chain %d and knows USDG", b.ChainID)
	if !known {
		return
	}
	outcome, fix := doctor.OK, ""
	switch {
	case b.Wei == "0":
		outcome, fix = doctor.Warning, "send ether for fees to "+address
	case b.USDG == 0:
		outcome, fix = doctor.Warning, "send USDG to "+address
	}
	o.add("balance", outcome, fix, "%s USDG, %s ether", b.USDG, wallet.Ether(b.Wei))
}

// hintOf is what to do about an error of ctx, "" if it does not say.
func hintOf(err error) string {
	if f, ok := errors.AsType[*cli.Failure](err); ok {
		return f.Hint
	}
	return ""
}
