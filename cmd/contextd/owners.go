package main

import (
	"fmt"
	"math/big"
	"net/netip"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/mail"
	"github.com/contextd/contextd/daemon/web"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/usdg"
	"github.com/contextd/contextd/sdk/api"
)

// ownerConfig is the part of the configuration that concerns owners: how they reach the daemon and sign in, and what they may.
type ownerConfig struct {
	PublicURL      string   `mapstructure:"public_url"`
	Hosts          []string `mapstructure:"hosts"`
	TrustedProxies []string `mapstructure:"trusted_proxies"`
	chainConfig    `mapstructure:",squash"`
	Gas            struct {
		MaxPercent int64  `mapstructure:"max_percent"`
		Reverts    string `mapstructure:"revert_budget"` // ether a day
		Ether      string `mapstructure:"ether_usd"`     // state, a number, or ""
	} `mapstructure:"gas"`
	Billing struct {
		Operator string `mapstructure:"operator"` // unmetered or metered
	} `mapstructure:"billing"`
	SMTP struct {
		Host         string `mapstructure:"host"`
		Port         int    `mapstructure:"port"`
		Security     string `mapstructure:"security"`
		Username     string `mapstructure:"username"`
		PasswordFile string `mapstructure:"password_file"`
		From         string `mapstructure:"from"`
	} `mapstructure:"smtp"`
	Limits struct {
		FreeCalls  int `mapstructure:"free_calls"`
		PerClient  int `mapstructure:"free_calls_per_client"`
		ActiveKeys int `mapstructure:"active_keys"`
		SignIns    int `mapstructure:"sign_ins"`
		Mails      int `mapstructure:"mails"`
		MailsADay  int `mapstructure:"mails_per_day"`
		Requests   int `mapstructure:"requests"`
	} `mapstructure:"limits"`
	Accounts struct {
		Signup       string `mapstructure:"signup"` // open, invite or closed
		NewPerClient int    `mapstructure:"new_per_client"`
		NewPerDay    int    `mapstructure:"new_per_day"`
	} `mapstructure:"accounts"`
	Tiers map[string]tierConfig `mapstructure:"tiers"`
}

// The values of billing.operator.
const (
	operatorMetered   = "metered"
	operatorUnmetered = "unmetered"
)

// tierConfig is what a tier allows.
type tierConfig struct {
	Snapshot string `mapstructure:"snapshot"` // how far back, such as 24h or 30d
	Volume   int    `mapstructure:"volume"`   // calls with credits per key and 30 days; 0 is without bound
}

// parseSpan reads a time, which may be in whole days.
func parseSpan(text string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.Atoi(days)
		return time.Duration(n) * 24 * time.Hour, err
	}
	return time.ParseDuration(text)
}

// apply puts c into d, with secrets read from their files. What is wrong with c is a usageError.
func (c ownerConfig) apply(d *daemon.Config) error {
	d.Hosts = c.Hosts
	d.PublicURL, d.ChainID, d.MaxKeys = c.PublicURL, c.chainID(), c.Limits.ActiveKeys
	d.Metered = c.Billing.Operator == operatorMetered
	d.FreeCalls, d.PerClient = c.Limits.FreeCalls, c.Limits.PerClient
	d.Limits = web.ConsoleLimits{
		SignIns: c.Limits.SignIns, Mails: c.Limits.Mails, MailsPerDay: c.Limits.MailsADay, Requests: c.Limits.Requests,
		NewOwners: c.Accounts.NewPerClient, NewOwnersPerDay: c.Accounts.NewPerDay,
	}
	d.Signup = account.Signup(c.Accounts.Signup)
	if s := d.Signup; s != account.SignupOpen && s != account.SignupInvite && s != account.SignupClosed {
		return cli.Invalid("accounts.signup is %q, not open, invite or closed", c.Accounts.Signup)
	}
	if c.PublicURL != "" {
		if _, err := daemon.ParsePublicURL(c.PublicURL); err != nil {
			return cli.Invalid("public_url: %w", err)
		}
	}
	for name, n := range map[string]int64{
		"chain.id": c.Chain.ID, "limits.free_calls": int64(c.Limits.FreeCalls), "limits.active_keys": int64(c.Limits.ActiveKeys),
		"limits.free_calls_per_client": int64(c.Limits.PerClient), "limits.sign_ins": int64(c.Limits.SignIns),
		"limits.mails": int64(c.Limits.Mails), "limits.requests": int64(c.Limits.Requests),
		"limits.mails_per_day": int64(c.Limits.MailsADay), "accounts.new_per_client": int64(c.Accounts.NewPerClient),
		"accounts.new_per_day": int64(c.Accounts.NewPerDay),
	} {
		if n < 1 {
			return cli.Invalid("%s is %d, not 1 or more", name, n)
		}
	}
	for _, text := range c.TrustedProxies {
		network, err := parseNetwork(text)
		if err != nil {
			return cli.Invalid("trusted_proxies: %q is neither an address nor a network such as 10.0.0.0/8", text)
		}
		d.TrustedProxies = append(d.TrustedProxies, network)
	}
	var err error
	if d.Plans, err = c.plans(); err != nil {
		return err
	}
	if d.Chain, d.More, err = c.places(); err != nil {
		return err
	}
	if d.Gas, err = c.gas(); err != nil {
		return err
	}
	d.SMTP, err = c.smtp()
	return err
}

// etherOfState is the value of gas.ether_usd with which the price of ether is read in the state of the crypto pack.
const etherOfState = "state"

// gas is what the gas of settlements may cost.
func (c ownerConfig) gas() (g daemon.Gas, err error) {
	if g.MaxPercent = c.Gas.MaxPercent; g.MaxPercent < 0 {
		return g, cli.Invalid("gas.max_percent is %d, not 0 (any) or more", c.Gas.MaxPercent)
	}
	const places = 18 // of an ether: a wei
	if g.Reverts, err = decimal(c.Gas.Reverts, places); err != nil {
		return g, cli.Invalid("gas.revert_budget is %q, not an amount of ether such as 0.002, or 0 for any", c.Gas.Reverts)
	}
	if g.Reverts.Sign() == 0 {
		g.Reverts = nil
	}
	switch c.Gas.Ether {
	case "":
	case etherOfState:
		g.ByState = true
	default:
		price, err := usdg.ParseAmount(c.Gas.Ether)
		if err != nil || price <= 0 {
			return g, cli.Invalid("gas.ether_usd is %q, not a price such as 3000, state, or empty", c.Gas.Ether)
		}
		g.EtherMicros = int64(price)
	}
	return g, nil
}

// decimal reads a decimal number that is not negative as a whole number of its last place.
func decimal(text string, places int) (*big.Int, error) {
	whole, part, _ := strings.Cut(text, ".")
	if len(part) > places || !regexp.MustCompile(`^[0-9]{1,18}(\.[0-9]+)?$`).MatchString(text) {
		return nil, fmt.Errorf("%q is no decimal number", text)
	}
	n, _ := new(big.Int).SetString(whole+part+strings.Repeat("0", places-len(part)), 10)
	return n, nil
}

// parseNetwork reads a network, or an address as the network of that alone.
func parseNetwork(text string) (netip.Prefix, error) {
	if addr, err := netip.ParseAddr(text); err == nil {
		return netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	return netip.ParsePrefix(text)
}

// plans is what the tiers allow.
func (c ownerConfig) plans() (billing.Plans, error) {
	plans := billing.DefaultPlans()
	for name, t := range c.Tiers {
		tier := api.Tier(name)
		if !tier.Valid() {
			return nil, cli.Invalid("tiers.%s: there is no such tier; tiers: %v", name, api.Tiers())
		}
		reach, err := parseSpan(t.Snapshot)
		if err != nil || reach <= 0 || reach > api.HistoryRetention {
			return nil, cli.Invalid("tiers.%s.snapshot is %q, not a time such as 24h or 30d, of at most %s",
				name, t.Snapshot, FormatSpan(api.HistoryRetention))
		}
		if t.Volume < 0 {
			return nil, cli.Invalid("tiers.%s.volume is %d, not 0 (without bound) or more", name, t.Volume)
		}
		plans[tier] = billing.Plan{Snapshot: reach, Volume: t.Volume}
	}
	return plans, nil
}

// smtp is the mail server, nil for none.
func (c ownerConfig) smtp() (*mail.SMTPConfig, error) {
	if c.SMTP.Host == "" {
		return nil, nil
	}
	cfg := &mail.SMTPConfig{
		Host: c.SMTP.Host, Port: c.SMTP.Port, Security: mail.Security(c.SMTP.Security), Username: c.SMTP.Username, From: c.SMTP.From,
	}
	if c.SMTP.From == "" {
		return nil, cli.Invalid("smtp.from is missing: the address that mail comes from")
	}
	if c.SMTP.PasswordFile != "" {
		secret, err := os.ReadFile(c.SMTP.PasswordFile)
		if err != nil {
			return nil, fmt.Errorf("read smtp.password_file: %w", err)
		}
		cfg.Password = strings.TrimSpace(string(secret))
	}
	if _, err := mail.NewSMTP(*cfg); err != nil {
		return nil, cli.Invalid("smtp: %w", err)
	}
	return cfg, nil
}
