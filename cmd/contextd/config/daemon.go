package config

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/big"
	netmail "net/mail"
	"net/netip"
	"net/url"
	"os"
	"reflect"
	"regexp"
	"strings"
	"time"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/backup"
	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/brief"
	"github.com/contextd/contextd/daemon/brief/llm"
	"github.com/contextd/contextd/daemon/evidence"
	"github.com/contextd/contextd/daemon/mail"
	"github.com/contextd/contextd/daemon/operate"
	"github.com/contextd/contextd/daemon/pack"
	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/daemon/store/database"
	"github.com/contextd/contextd/daemon/translog/witness"
	"github.com/contextd/contextd/daemon/web"
	"github.com/contextd/contextd/internal/alert"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/outbound"
	"github.com/contextd/contextd/internal/setting"
	"github.com/contextd/contextd/internal/usdg"
	"github.com/contextd/contextd/sdk/api"
)

// Daemon is c as the daemon takes it, with secrets read from their files, or what is wrong with it.
func (c *Config) Daemon(log *slog.Logger) (daemon.Config, error) {
	d := daemon.Config{
		DataDir: c.DataDir,
		Serve: daemon.Serve{
			Listen: c.Listen, PublicURL: c.PublicURL, Hosts: c.Hosts, Page: c.Web.Page, ThisMachine: c.Web.ThisMachine,
			Snapshots: c.Snapshots.Cache, SignIn: c.X402.SignIn, MCP: c.MCP,
			Watches: c.Watches, OAuth: c.OAuth,
		},
		Pay:  daemon.Pay{ChainID: c.ChainID(), Metered: c.Metered()},
		Data: daemon.Data{PrivateHosts: c.Packs.PrivateHosts, Contact: c.Sources.Contact},
		Operate: daemon.Operate{
			AdminListen: c.Admin.Listen, LogCalls: c.Log.Calls, Litestream: c.Litestream, Beacon: c.Log.Beacon.URL,
		},
		Reloadable: daemon.Reloadable{Limits: c.Limits, Accounts: c.Accounts, Disabled: c.Sources.Disabled, Licensed: c.Sources.Licensed},
		Logger:     log,
	}
	if err := setting.Check(reflect.ValueOf(c).Elem()); err != nil {
		return d, cli.Invalid("%w", err)
	}
	if text := c.Web.SecurityContact; text != "" {
		var err error
		if d.SecurityContact, err = web.ParseContact(text); err != nil {
			return d, cli.Invalid("web.security_contact: %w", err)
		}
	}
	for _, text := range c.Log.Witnesses {
		key, address, _ := strings.Cut(strings.TrimSpace(text), " ")
		d.Witnesses = append(d.Witnesses, witness.Witness{Key: key, URL: strings.TrimSpace(address)})
	}
	for _, put := range []func(*daemon.Config) error{
		c.putBriefs, c.putStore, c.putSources, c.putPacks, c.putAlerts, c.putTimes, c.putCertificates, c.putKeys, c.putNetwork,
		c.putPlans, c.putRails, c.putGas, c.putMail, func(*daemon.Config) error { return c.CheckUpdates() },
	} {
		if err := put(&d); err != nil {
			return daemon.Config{}, err
		}
	}
	return d, nil
}

// CheckUpdates reports an address of the newest release that is none, or that somebody on the way could answer for.
func (c *Config) CheckUpdates() error {
	address := c.Updates.URL
	u, err := url.Parse(address)
	if address == "" || err == nil && u.User == nil && u.Hostname() != "" &&
		(u.Scheme == "https" || u.Scheme == "http" && outbound.Local(u.Hostname())) {
		return nil
	}
	return cli.Invalid("updates.url is not an address with https, such as https://api.github.com/repos/contextd/contextd/releases/latest")
}

// Metered reports whether keys that the operator makes are charged.
func (c *Config) Metered() bool { return c.Billing.Operator == "metered" }

func (c *Config) putStore(d *daemon.Config) (err error) {
	d.StoreURL, err = c.StoreURL()
	return err
}

// StoreURL is that of the PostgreSQL database, "" for SQLite.
func (c *Config) StoreURL() (string, error) {
	text, err := urlOrFile("store.url", c.Store.URL, c.Store.URLFile)
	if err != nil || text == "" {
		return "", err
	}
	if err := database.CheckURL(text); err != nil {
		return "", cli.Invalid("store.url: %w", err)
	}
	return text, nil
}

// StoreKey is the key that seals secrets in the database, nil for none.
func (c *Config) StoreKey() ([]byte, error) {
	if c.Store.KeyFile == "" {
		return nil, nil
	}
	text, err := os.ReadFile(c.Store.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("read store.key_file: %w", err)
	}
	key, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(key) != store.SealSize {
		return nil, cli.Invalid("the key in store.key_file is not %d hexadecimal digits: make one with openssl rand -hex %d",
			2*store.SealSize, store.SealSize)
	}
	return key, nil
}

// CheckContact reports what is no e-mail address that can stand in a request.
func CheckContact(text string) error {
	parsed, err := netmail.ParseAddress(text)
	if err != nil || parsed.Address != text || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return cli.Invalid("sources.contact is %q, not an e-mail address such as ops@example.org", text)
	}
	return nil
}

// putSources puts into d how sources are asked.
func (c *Config) putSources(d *daemon.Config) (err error) {
	of := c.Sources
	if of.Contact != "" {
		if err := CheckContact(of.Contact); err != nil {
			return err
		}
	}
	name, file := "sources.coingecko.key_file", of.CoinGecko.KeyFile
	switch {
	case file != "" && of.CoinGeckoKeyFile != "":
		return cli.Invalid("sources.coingecko_key_file is the older name of %s: use the newer one", name)
	case file == "":
		name, file = "sources.coingecko_key_file", of.CoinGeckoKeyFile
	}
	d.CoinGecko.Plan = of.CoinGecko.Plan
	if file != "" {
		if d.CoinGecko.Key, err = readSecret(name, file); err != nil {
			return err
		}
	}
	if err := d.CoinGecko.Check(); err != nil {
		return cli.Invalid("sources.coingecko: %w", err)
	}
	return nil
}

func (c *Config) putPacks(d *daemon.Config) (err error) {
	terms := pack.Terms{Licensed: c.Sources.Licensed, Clean: c.Sell.Clean}
	if u, err := url.Parse(c.PublicURL); err == nil {
		terms.Service = u.Hostname()
	}
	if d.Packs, err = c.Packs.Load(d.CoinGecko, terms); err != nil {
		return fmt.Errorf("packs.enabled: %w", err)
	}
	return move(d.Packs, c.Sources.URL)
}

// putTimes puts into d when it backs itself up, and how long it drains.
func (c *Config) putTimes(d *daemon.Config) (err error) {
	if d.Backup, err = c.Backups(); err != nil {
		return err
	}
	if d.Drain, err = setting.ParseSpan(c.DrainDelay); err != nil || d.Drain < 0 {
		return cli.Invalid("drain_delay is %q, not a time such as 5s", c.DrainDelay)
	}
	return c.putEvidence(d)
}

// Backups is how the daemon backs itself up.
func (c *Config) Backups() (b daemon.Backup, err error) {
	b.Dir, b.Within = c.Backup.Dir, backup.Bounds{Keep: c.Backup.Keep, Bytes: int64(c.Backup.MaxMB) << 20}
	switch every := c.Backup.Every; {
	case every == "off":
	case every != "":
		if b.Every, err = setting.ParseSpan(every); err != nil || b.Every < time.Minute {
			err = cli.Invalid("backup.every is %q, not off or a time such as 24h or 7d, of a minute or more", every)
		}
	case c.Store.URL == "" && c.Store.URLFile == "" && !c.Litestream:
		b.Every = 24 * time.Hour
		if c.Backup.MaxMB == 0 && c.Backup.Keep > 0 { // who keeps all, keeps all
			b.Within.Bytes = 4096 << 20
		}
	}
	return b, err
}

// putEvidence puts into d how much is kept of what sources answered.
func (c *Config) putEvidence(d *daemon.Config) (err error) {
	bounds := evidence.DefaultBounds()
	if bounds.For, err = setting.ParseSpan(c.Evidence.For); err != nil || bounds.For < time.Hour {
		return cli.Invalid("evidence.for is %q, not a time such as 48h or 7d, of an hour or more", c.Evidence.For)
	}
	bounds.All, bounds.OfOne = int64(c.Evidence.MaxMB)<<20, int64(c.Evidence.OfOneMB)<<20
	if c.Evidence.Keep {
		d.Evidence = &bounds
	}
	return nil
}

// putKeys puts into d the keys that files hold.
func (c *Config) putKeys(d *daemon.Config) (err error) {
	if d.StoreKey, err = c.StoreKey(); err != nil {
		return err
	}
	if c.Jobs.KeyFile != "" {
		key, err := os.ReadFile(c.Jobs.KeyFile)
		if err != nil {
			return fmt.Errorf("read jobs.key_file: %w", err)
		}
		if d.JobsKey = bytes.TrimSpace(key); len(d.JobsKey) < web.MinJobsKey {
			return cli.Invalid("the key in jobs.key_file has %d bytes, fewer than %d: make one with openssl rand -hex 32",
				len(d.JobsKey), web.MinJobsKey)
		}
	}
	return nil
}

// readSecret is the text in the file that a setting names.
func readSecret(key, file string) (string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", key, err)
	}
	return strings.TrimSpace(string(text)), nil
}

// putCertificates puts into d those of HTTPS, none for plain HTTP.
func (c *Config) putCertificates(d *daemon.Config) error {
	files := c.TLS.CertFile != "" || c.TLS.KeyFile != ""
	switch {
	case !files && len(c.TLS.ACME.Hosts) == 0:
		return nil
	case files && len(c.TLS.ACME.Hosts) > 0:
		return cli.Invalid("tls has certificate files and tls.acme.hosts: use one of them")
	case files && (c.TLS.CertFile == "" || c.TLS.KeyFile == ""):
		return cli.Invalid("tls.cert_file and tls.key_file are needed together")
	}
	d.TLS = &web.Certificates{
		CertFile: c.TLS.CertFile, KeyFile: c.TLS.KeyFile,
		Hosts: c.TLS.ACME.Hosts, Email: c.TLS.ACME.Email, Directory: c.TLS.ACME.DirectoryURL,
	}
	_, err := d.TLS.Open()
	return err
}

func (c *Config) putNetwork(d *daemon.Config) error {
	if c.PublicURL != "" {
		if _, err := daemon.ParsePublicURL(c.PublicURL); err != nil {
			return cli.Invalid("public_url: %w", err)
		}
	}
	for _, text := range c.TrustedProxies {
		network, err := netip.ParsePrefix(text)
		if addr, is := netip.ParseAddr(text); is == nil {
			network, err = netip.PrefixFrom(addr, addr.BitLen()), nil
		}
		if err != nil {
			return cli.Invalid("trusted_proxies: %q is neither an address nor a network such as 10.0.0.0/8", text)
		}
		d.TrustedProxies = append(d.TrustedProxies, network)
	}
	return nil
}

// putPlans puts into d what the tiers allow.
func (c *Config) putPlans(d *daemon.Config) error {
	d.Plans = billing.DefaultPlans()
	for name, t := range map[api.Tier]Tier{
		api.TierFree: Tier(c.Tiers.Free), api.TierHobby: Tier(c.Tiers.Hobby), api.TierPro: Tier(c.Tiers.Pro),
		api.TierTeam: Tier(c.Tiers.Team), api.TierEnterprise: Tier(c.Tiers.Enterprise),
	} {
		reach, err := setting.ParseSpan(t.Snapshot)
		if err != nil || reach <= 0 || reach > api.HistoryRetention {
			return cli.Invalid("tiers.%s.snapshot is %q, not a time such as 24h or 30d, of at most %s",
				name, t.Snapshot, api.FormatSpan(api.HistoryRetention))
		}
		d.Plans[name] = billing.Plan{Snapshot: reach, Volume: t.Volume}
	}
	return nil
}

// putRails puts into d where payments are made.
func (c *Config) putRails(d *daemon.Config) (err error) {
	d.Chain, d.More, err = c.rails()
	return err
}

// putGas puts into d what the gas of settlements may cost.
func (c *Config) putGas(d *daemon.Config) (err error) {
	g := &d.Gas
	g.MaxPercent = c.Gas.MaxPercent
	const places = 18 // of an ether: a wei
	if g.Reverts, err = decimal(c.Gas.RevertBudget, places); err != nil {
		return cli.Invalid("gas.revert_budget is %q, not an amount of ether such as 0.002, or 0 for any", c.Gas.RevertBudget)
	}
	if g.Reverts.Sign() == 0 {
		g.Reverts = nil
	}
	switch c.Gas.EtherUSD {
	case "":
	case "state": // of the crypto pack
		g.ByState = true
	default:
		price, err := usdg.ParseAmount(c.Gas.EtherUSD)
		if err != nil || price <= 0 {
			return cli.Invalid("gas.ether_usd is %q, not a price such as 3000, state, or empty", c.Gas.EtherUSD)
		}
		g.EtherMicros = int64(price)
	}
	return nil
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

// putMail puts into d the mail server, none for files.
func (c *Config) putMail(d *daemon.Config) (err error) {
	if c.SMTP.Host == "" {
		return nil
	}
	cfg := &mail.SMTPConfig{
		Host: c.SMTP.Host, Port: c.SMTP.Port, Security: c.SMTP.Security, Username: c.SMTP.Username, From: c.SMTP.From,
	}
	if c.SMTP.From == "" {
		return cli.Invalid("smtp.from is missing: the address that mail comes from")
	}
	if c.SMTP.PasswordFile != "" {
		if cfg.Password, err = readSecret("smtp.password_file", c.SMTP.PasswordFile); err != nil {
			return err
		}
	}
	if _, err := mail.NewSMTP(*cfg); err != nil {
		return cli.Invalid("smtp: %w", err)
	}
	d.SMTP = cfg
	return nil
}

// Briefs is how briefs are written.
func (c *Config) Briefs() (daemon.Briefs, error) {
	var d daemon.Config
	err := c.putBriefs(&d)
	return d.Briefs, err
}

// putBriefs puts into d how briefs are written, with the key of the model read from its file.
func (c *Config) putBriefs(d *daemon.Config) error {
	at, err := time.Parse("15:04", c.Brief.At)
	if err != nil {
		return cli.Invalid("brief.at is %q, not a time of day such as 12:00 (UTC)", c.Brief.At)
	}
	d.Briefs.At = time.Duration(at.Hour())*time.Hour + time.Duration(at.Minute())*time.Minute
	if d.Briefs.TextWithin, err = setting.ParseSpan(c.Brief.Timeout); err != nil || d.Briefs.TextWithin < time.Second {
		return cli.Invalid("brief.timeout is %q, not a time of at least 1s, such as 2m", c.Brief.Timeout)
	}
	if c.Brief.LLM.Provider == "" {
		return nil
	}
	cfg := llm.Config{Provider: c.Brief.LLM.Provider, Model: c.Brief.LLM.Model, BaseURL: c.Brief.LLM.BaseURL,
		MaxTokens: c.Brief.LLM.MaxTokens, Retries: c.Brief.LLM.Retries, Limit: brief.Limit{Tokens: c.Brief.LLM.TokensPerDay}}
	for _, amount := range []struct {
		name, text string
		to         *int64
	}{
		{"usd_per_day", c.Brief.LLM.USDPerDay, &cfg.Limit.CostMicros},
		{"usd_per_million_input", c.Brief.LLM.USDPerMillionInput, &cfg.Prices.Input},
		{"usd_per_million_output", c.Brief.LLM.USDPerMillionOutput, &cfg.Prices.Output},
	} {
		n, err := usdg.ParseAmount(amount.text)
		if err != nil {
			return cli.Invalid("brief.llm.%s is %q, not an amount such as 1.50", amount.name, amount.text)
		}
		*amount.to = int64(n)
	}
	if cfg.MaxTokens < 1 {
		return cli.Invalid("brief.llm.max_tokens is %d, not 1 or more", cfg.MaxTokens)
	}
	if c.Brief.LLM.KeyFile != "" {
		if cfg.Key, err = readSecret("brief.llm.key_file", c.Brief.LLM.KeyFile); err != nil {
			return err
		}
	}
	if _, err := llm.New(cfg); err != nil {
		return cli.Invalid("brief.llm: %w", err)
	}
	d.Briefs.Model = &cfg
	return nil
}

func (c *Config) putAlerts(d *daemon.Config) (err error) {
	d.Alerts, err = c.AlertRules()
	return err
}

// AlertRules are the alerts of c as the daemon takes them, with secrets read from their files.
func (c *Config) AlertRules() (list []operate.Alert, err error) {
	for i, a := range c.Alerts {
		one := operate.Alert{Name: a.Name, Pack: a.Pack, Type: a.Type, Severity: a.Severity, Kinds: a.Kinds, Mail: a.Mail, Ended: a.Ended,
			Hook: alert.Hook{URL: a.URL, Format: a.Format, Text: a.Text}}
		if a.Type != api.WatchFlagChanged && a.Severity == api.SeverityWarning {
			one.Severity = "" // which is the default
		}
		if a.Arguments != nil {
			if one.Arguments, err = json.Marshal(a.Arguments); err != nil {
				return nil, fmt.Errorf("read alerts[%d].arguments: %w", i, err)
			}
		}
		if a.URL != "" && a.URLFile != "" {
			return nil, cli.Invalid("alerts[%d] has url and url_file: use one of them", i)
		}
		if a.URLFile != "" {
			text, err := os.ReadFile(a.URLFile)
			if err != nil {
				return nil, fmt.Errorf("read alerts[%d].url_file: %w", i, err)
			}
			if one.Hook.URL = strings.TrimSpace(string(text)); one.Hook.URL == "" {
				return nil, cli.Invalid("alerts[%d].url_file: %s is empty", i, a.URLFile)
			}
		}
		if a.SecretFile != "" {
			text, err := os.ReadFile(a.SecretFile)
			if err != nil {
				return nil, fmt.Errorf("read alerts[%d].secret_file: %w", i, err)
			}
			if one.Hook.Secret = bytes.TrimSpace(text); len(one.Hook.Secret) == 0 {
				return nil, cli.Invalid("alerts[%d].secret_file: %s is empty", i, a.SecretFile)
			}
		}
		if a.Cooldown != "" {
			if one.Cooldown, err = setting.ParseSpan(a.Cooldown); err != nil || one.Cooldown < time.Minute {
				return nil, cli.Invalid("alerts[%d].cooldown is %q, not a time such as 6h or 1d, of a minute or more", i, a.Cooldown)
			}
		}
		list = append(list, one)
	}
	return list, nil
}
