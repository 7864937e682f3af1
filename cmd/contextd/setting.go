package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/brief/llm"
	"github.com/contextd/contextd/daemon/mail"
	"github.com/contextd/contextd/daemon/mcp"
	"github.com/contextd/contextd/daemon/pipeline"
	"github.com/contextd/contextd/daemon/web"
	"github.com/contextd/contextd/sdk/api"
)

// Setting is one setting, or a section of them.
type Setting struct {
	Key     string   // its place in the file, such as log.level
	Doc     string   // what it is for, in sentences; lines are broken where they are written
	Default any      // a string, a bool, an int, an int64, a []string or a []map[string]any, which is also its kind; nil for a section
	Enum    []string // the values it may have; nil means any
	Secret  bool     // the value itself may be one, and is not shown
	Live    bool     // a reload changes it; others need a restart

	Members []Setting // of each entry of a []map[string]any, or of a section in one; nil for others. Their keys are names alone
}

// Section reports whether s is a section of settings.
func (s Setting) Section() bool { return s.Default == nil }

// Env is the environment variable of s.
func (s Setting) Env() string {
	return "CONTEXTD_" + strings.ToUpper(strings.ReplaceAll(s.Key, ".", "_"))
}

// credentialSuffix ends the names of settings that name a file.
const credentialSuffix = "_file"

// Credential is the name that the file of s has in $CREDENTIALS_DIRECTORY, "" for a setting that names no file.
func (s Setting) Credential() string {
	name, ok := strings.CutSuffix(s.Key, credentialSuffix)
	if !ok {
		return ""
	}
	return strings.NewReplacer(".", "-", "_", "-").Replace(name)
}

// CredentialFile is the file of s in $CREDENTIALS_DIRECTORY, where systemd puts what LoadCredential= names; "" if there is none.
func (s Setting) CredentialFile() string {
	dir, name := os.Getenv("CREDENTIALS_DIRECTORY"), s.Credential()
	if dir == "" || name == "" {
		return ""
	}
	path := filepath.Join(dir, name)
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}

// Table lists every setting in the order of the file, each section before what is in it.
func Table() []Setting {
	return slices.Concat(placeSettings(), tlsSettings(), dataSettings(), briefSettings(), agentSettings(),
		moneySettings(), ownerSettings(), tierSettings(), alertSettings())
}

// DefaultDataDir is where data goes unless told otherwise: the XDG data directory. It is "" without a home.
func DefaultDataDir() string {
	base := os.Getenv("XDG_DATA_HOME")
	if base == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return ""
		}
		base = filepath.Join(home, ".local", "share")
	}
	return filepath.Join(base, "contextd")
}

// DefaultFile is the configuration file that is read unless told otherwise. It is "" without a home.
func DefaultFile() string {
	base, err := os.UserConfigDir()
	if err != nil {
		return ""
	}
	return filepath.Join(base, "contextd", "config.yaml")
}

// placeSettings say where the daemon is.
func placeSettings() []Setting {
	return []Setting{
		{Key: "data_dir", Default: "",
			Doc: "Directory of the databases and keys, for one daemon alone. Empty means ~/.local/share/contextd."},
		{Key: "store", Doc: "The databases of books and history, where they are not SQLite's files in data_dir."},
		{Key: "store.url", Default: "", Secret: true,
			Doc: "A PostgreSQL database, like postgres://user@host/database, where the URL holds no secret. " +
				"Its tables are in the schemas contextd and contextd_history, or NAME and NAME_history with ?schema=NAME. " +
				"Empty means SQLite."},
		{Key: "store.url_file", Default: "", Doc: "File with that URL, where it holds one; instead of url."},
		{Key: "store.key_file", Default: "",
			Doc: "File with a key, as openssl rand -hex 32 makes one, that encrypts the secret keys in PostgreSQL. " +
				"All nodes need the same. Empty means that anyone with access to the database can read them."},
		{Key: "listen", Default: api.DefaultListen,
			Doc: "Where to serve: host:port, or unix:/path for a socket that a proxy on this machine connects to. " +
				"Port 0 takes a free one. A socket that systemd hands over is used instead."},
		{Key: "public_url", Default: "",
			Doc: "Where users reach the daemon, such as https://context.example.org: what mails link to and wallets sign in to. " +
				"With https, cookies go over that alone. Empty means where it listens."},
		{Key: "hosts", Default: []string{},
			Doc: "Other names by which browsers and MCP clients may reach the daemon, such as that of this machine in the local network."},
		{Key: "trusted_proxies", Default: []string{}, Live: true,
			Doc: "Addresses and networks of proxies, such as 10.0.0.0/8, whose X-Forwarded-For says who calls."},
		{Key: "drain_delay", Default: "0s",
			Doc: "At a stop, how long calls are still taken while /readyz already says that they should go elsewhere."},
		{Key: "log", Doc: "The log, on standard error."},
		{Key: "log.level", Default: "info", Enum: []string{"debug", "info", "warn", "error"}, Live: true, Doc: "How much is logged."},
		{Key: "log.format", Default: "auto", Enum: []string{"auto", "text", "json"},
			Doc: "auto is short lines on a terminal and JSON elsewhere."},
		{Key: "log.calls", Default: false,
			Doc: "A line for every call: method, path, status, time, client and the public part of the key."},
		{Key: "log.witnesses", Default: []string{},
			Doc: "Who signs the checkpoints of the transparency logs: of each its verifier key, a space and its address, such as " +
				"\"witness.example.org/1+0a1b2c3d+BAAA… https://witness.example.org\"."},
		{Key: "backup", Doc: "Backups by the daemon itself. contextd backup makes one at any time."},
		{Key: "backup.every", Default: "", Doc: "How often, such as 24h or 7d. Empty means never."},
		{Key: "backup.dir", Default: "",
			Doc: "Where they go, a directory for one daemon alone: two that share one remove each other's backups. " +
				"Empty means backups, in the data directory."},
		{Key: "backup.keep", Default: 7, Doc: "How many are kept, the newest; 0 keeps all."},
		{Key: "litestream", Default: false, Doc: "Leave checkpoints of the databases to Litestream."},
		{Key: "web", Doc: "The pages for browsers, at / and /packs/PACK."},
		{Key: "web.page", Default: string(web.PageOn), Enum: []string{string(web.PageOff), string(web.PageOn), string(web.PagePublic)},
			Doc: "Who sees the state there: off has no pages; on shows it to signed-in owners, of the packs that their keys may read, " +
				"and to browsers on this machine, and prices, health and sign-in to everybody; public shows everything to everybody."},
		{Key: "admin", Doc: "What only the operator should reach."},
		{Key: "admin.listen", Default: "", Doc: "Where metrics and profiles are served, such as 127.0.0.1:8403. Empty means nowhere."},
		{Key: "jobs", Doc: "Jobs that a scheduler outside may start."},
		{Key: "jobs.key_file", Default: "", Doc: "File with the key that it signs with. Empty means that there is none."},
	}
}

// tlsSettings say how the daemon serves HTTPS by itself.
func tlsSettings() []Setting {
	return []Setting{
		{Key: "tls",
			Doc: "HTTPS without a proxy: a certificate from files, or from a certificate authority by ACME. Neither means plain HTTP."},
		{Key: "tls.cert_file", Default: "", Doc: "The certificate with its chain, PEM. The file is read again when it changes."},
		{Key: "tls.key_file", Default: "", Doc: "Its private key, PEM."},
		{Key: "tls.acme",
			Doc: "Certificates by ACME, kept in the data directory. The authority must reach port 443 of these hosts, " +
				"and that must lead to listen. Naming hosts here accepts the authority's terms."},
		{Key: "tls.acme.hosts", Default: []string{}, Doc: "Names that a certificate may be asked for, such as context.example.org."},
		{Key: "tls.acme.email", Default: "", Doc: "Where the authority writes to about trouble."},
		{Key: "tls.acme.directory_url", Default: "", Doc: "The authority. Empty means Let's Encrypt."},
	}
}

// dataSettings are about the packs.
func dataSettings() []Setting {
	return []Setting{
		{Key: "packs", Doc: "What is served beside the crypto pack: see contextd help packs."},
		{Key: "packs.enabled", Default: []string{}, Live: true,
			Doc: "Ids of packs, such as perps, markets, ai, or those of manifests in packs.dir. All of them need credits."},
		{Key: "packs.dir", Default: "", Doc: "Directory of manifests, each ID.yaml. Empty means packs, beside this file."},
		{Key: "packs.private_hosts", Default: []string{},
			Doc: "Hosts on private addresses that manifests may ask, such as metrics.lan. All others are refused."},
		{Key: "sources", Doc: "Where the data of the packs comes from."},
		{Key: "sources.disabled", Default: []string{}, Live: true,
			Doc: "Ids of sources that are switched off, such as news-decrypt. They keep their numbers; their rows are gone."},
		{Key: "sources.coingecko_key_file", Default: "", Doc: "File with a CoinGecko demo key, used only after a refusal without one."},
	}
}

// briefSettings are about briefs.
func briefSettings() []Setting {
	return []Setting{
		{Key: "brief", Doc: "The daily brief of each pack."},
		{Key: "brief.at", Default: "12:00", Doc: "Time of day, UTC. The first brief is written as soon as there is a state."},
		{Key: "brief.timeout", Default: pipeline.DefaultTextWithin.String(),
			Doc: "Of one text. A slow model holds up nothing but the brief itself."},
		{Key: "brief.llm", Doc: "A language model that writes, where what it writes can be checked. Without a provider, rules write."},
		{Key: "brief.llm.provider", Default: "", Enum: []string{"", string(llm.Anthropic), string(llm.OpenAI)},
			Doc: "Whose way of asking the model understands."},
		{Key: "brief.llm.model", Default: "", Doc: "Its name there."},
		{Key: "brief.llm.base_url", Default: "", Secret: true,
			Doc: "Where it is, such as http://127.0.0.1:11434/v1. Empty means at the provider's own."},
		{Key: "brief.llm.key_file", Default: "", Doc: "File with the key."},
		{Key: "brief.llm.max_tokens", Default: int64(llm.DefaultMaxTokens), Doc: "Of one answer; more for models that think first."},
		{Key: "brief.llm.retries", Default: llm.DefaultRetries, Doc: "Of a request that failed."},
		{Key: "brief.llm.tokens_per_day", Default: int64(llm.DefaultTokens),
			Doc: "The most that is spent in a day of UTC. 0 is without bound."},
		{Key: "brief.llm.usd_per_day", Default: "0", Doc: "The same in US dollars, which needs the prices. 0 is without bound."},
		{Key: "brief.llm.usd_per_million_input", Default: "0", Doc: "Price of a million tokens that it reads."},
		{Key: "brief.llm.usd_per_million_output", Default: "0", Doc: "Price of a million tokens that it writes."},
	}
}

// agentSettings are about the Model Context Protocol.
func agentSettings() []Setting {
	return []Setting{
		{Key: "mcp", Doc: "The Model Context Protocol, at /api/mcp."},
		{Key: "mcp.prefix", Default: mcp.DefaultPrefix, Doc: "The first part of the tools' names."},
		{Key: "mcp.origins", Default: []string{}, Doc: "Pages of other origins whose scripts may call, such as https://app.example.org."},
		{Key: "mcp.public_discovery", Default: false, Doc: "Whether handshake and lists are free for callers without a key."},
	}
}

// moneySettings say where payments are made.
func moneySettings() []Setting {
	return []Setting{
		{Key: "chain", Doc: "To sell credits and be paid by call. Without rpc_url, token and treasury, calls are paid with keys alone."},
		{Key: "chain.id", Default: int64(api.ChainIDTest),
			Doc: fmt.Sprintf("Chain id: %d is the main chain, %d the test chain.", api.ChainIDMain, api.ChainIDTest)},
		{Key: "chain.rpc_url", Default: "", Secret: true, Doc: "JSON-RPC over HTTP, where the URL holds no secret."},
		{Key: "chain.rpc_url_file", Default: "", Doc: "File with that URL, where it holds one; instead of rpc_url."},
		{Key: "chain.settle_key_file", Default: "",
			Doc: "File with a private key that has ether alone, to settle payments of standard x402; without one, none are taken."},
		{Key: "chain.token", Default: "", Doc: "Address of the USDG contract."},
		{Key: "chain.treasury", Default: "", Doc: "Address that payments go to. The daemon needs no key to it."},
		{Key: "chain.deposit_finality", Default: "safe", Enum: []string{"safe", "latest"},
			Doc: "When the packs of 70 and 600 USDG are verified: once the chain calls their block safe, or at once."},
		railSettings(),
		{Key: "gas", Doc: "What the gas may cost by which payments of standard x402 are settled."},
		{Key: "gas.max_percent", Default: int64(100),
			Doc: "Of a price, that settling its payment may cost. Calls for which it costs more are not offered by standard x402, " +
				"credits are. 0 is any."},
		{Key: "gas.ether_usd", Default: etherOfState,
			Doc: "What an ether costs, to compare: a number, or state for what the crypto pack's newest state says. " +
				"Empty means that nothing is compared."},
		{Key: "gas.revert_budget", Default: "0.002",
			Doc: "Ether that transactions which moved nothing may cost in 24 hours, on each chain. " +
				"Above it nothing is offered by standard x402. 0 is any."},
	}
}

// ownerSettings are about those who have keys.
func ownerSettings() []Setting {
	return []Setting{
		{Key: "smtp", Doc: "Where mail goes out. Without a host, mail goes into files in outbox in the data directory."},
		{Key: "smtp.host", Default: "", Doc: "Name of the mail server."},
		{Key: "smtp.port", Default: 0, Doc: "0 means the usual one for the security."},
		{Key: "smtp.security", Default: string(mail.StartTLS), Enum: []string{string(mail.StartTLS), string(mail.TLS), string(mail.Plain)},
			Doc: "none is for a server on the same machine."},
		{Key: "smtp.username", Default: "", Doc: "Empty means that the server asks for none."},
		{Key: "smtp.password_file", Default: "", Doc: "File with the password."},
		{Key: "smtp.from", Default: "", Doc: "Address that mail comes from."},
		{Key: "accounts", Doc: "Who may become an owner."},
		{Key: "accounts.signup", Default: string(account.SignupOpen), Live: true,
			Enum: []string{string(account.SignupOpen), string(account.SignupInvite), string(account.SignupClosed)},
			Doc: "open is for everybody, invite for who has an invitation (contextd admin invites), closed for nobody. " +
				"Owners sign in always."},
		{Key: "accounts.new_per_client", Default: api.NewOwnersPerClient, Live: true,
			Doc: "New owners per day and client: an address of IPv4, a /64 and a /48 of IPv6."},
		{Key: "accounts.new_per_day", Default: api.NewOwnersPerDay, Live: true, Doc: "New owners per day in all."},
		{Key: "billing", Doc: "What calls cost."},
		{Key: "billing.operator", Default: operatorUnmetered, Enum: []string{operatorUnmetered, operatorMetered},
			Doc: "Keys that contextd keys create makes without --tier: unmetered ones read all packs and are counted, not charged; " +
				"metered ones are as those of owners. Keys that there are stay as they are."},
		{Key: "limits", Doc: "How much one may ask for."},
		{Key: "limits.free_calls", Default: api.FreeCallsPerDay, Live: true,
			Doc: "Calls in 24 hours with a key whose owner has no credits."},
		{Key: "limits.free_calls_per_client", Default: api.FreePerClient, Live: true,
			Doc: "Such calls from one client address, with whatever keys. Calls of this machine are not bounded so."},
		{Key: "limits.active_keys", Default: api.MaxActiveKeys, Live: true, Doc: "Keys that an owner may have at a time."},
		{Key: "limits.sign_ins", Default: web.DefaultSignIns, Live: true, Doc: "Sign-in requests per minute and client."},
		{Key: "limits.mails", Default: web.DefaultMails, Live: true, Doc: "Mails per quarter of an hour and address."},
		{Key: "limits.mails_per_day", Default: web.DefaultMailsPerDay, Live: true,
			Doc: "Mails in all per day: a third to strangers, a third to who signed in from there before, " +
				"a third about accounts that change."},
		{Key: "limits.requests", Default: web.DefaultRequests, Live: true, Doc: "Other requests to the console per minute and client."},
	}
}

// tierSettings say what tiers allow.
func tierSettings() []Setting {
	list := []Setting{{Key: "tiers", Live: true, Doc: "What the tier of a key allows: how far back snapshots reach, such as 24h or 30d, " +
		"and how many calls with credits a key may make in 30 days, 0 for any number."}}
	plans := billing.DefaultPlans()
	for _, tier := range api.Tiers() {
		at := "tiers." + string(tier)
		list = append(list, Setting{Key: at},
			Setting{Key: at + ".snapshot", Default: FormatSpan(plans[tier].Snapshot), Live: true},
			Setting{Key: at + ".volume", Default: plans[tier].Volume, Live: true})
	}
	return list
}

// FormatSpan writes a time as settings have it, in whole days where it is some.
func FormatSpan(d time.Duration) string {
	const day = 24 * time.Hour
	if d > day && d%day == 0 {
		return fmt.Sprintf("%dd", d/day)
	}
	return strings.TrimSuffix(strings.TrimSuffix(d.String(), "0s"), "0m")
}
