// Package config is the configuration of contextd: one struct, whose tags are what the file, the environment, the documentation and the
// JSON schema say. See internal/setting for the tags.
//
// A setting wins by where it stands: a flag over the environment, that over the file, that over a credential of systemd, that over the
// default. To add one, add its field here, or in the struct that the daemon takes as it is (mcp, limits and accounts
// in daemon/config.go, a rail in daemon/x402/rail.go), and use it.
//
// It is a package of its own for the commands that only read it.
package config

import (
	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/brief/llm"
	"github.com/contextd/contextd/daemon/mail"
	"github.com/contextd/contextd/daemon/source"
	"github.com/contextd/contextd/daemon/web"
	"github.com/contextd/contextd/daemon/x402"
	"github.com/contextd/contextd/internal/alert"
	"github.com/contextd/contextd/sdk/api"
)

// Config is the configuration that is in effect.
type Config struct {
	DataDir string   `key:"data_dir" doc:"Directory of the databases and keys, for one daemon alone. Empty means"`
	_       struct{} `doc:"~/.local/share/contextd."`
	Store   struct {
		URL     string   `key:"url,secret" doc:"A PostgreSQL database, like postgres://user@host/database, where the URL"`
		_       struct{} `doc:"holds no secret. Its tables are in the schemas contextd and contextd_history, or NAME"`
		_       struct{} `doc:"and NAME_history with ?schema=NAME. Empty means SQLite."`
		URLFile string   `key:"url_file" doc:"File with that URL, where it holds one; instead of url."`
		KeyFile string   `key:"key_file" doc:"File with a key, as openssl rand -hex 32 makes one, that encrypts the"`
		_       struct{} `doc:"secret keys in PostgreSQL. All nodes need the same. Empty means that anyone with access"`
		_       struct{} `doc:"to the database can read them."`
	} `key:"store" doc:"The databases of books and history, where they are not SQLite's files in data_dir."`
	Listen         string   `key:"listen" default:"127.0.0.1:8402" doc:"Where to serve: host:port, or unix:/path for a"`
	_              struct{} `doc:"socket that a proxy on this machine connects to. Port 0 takes a free one. A socket that"`
	_              struct{} `doc:"systemd hands over is used instead."`
	PublicURL      string   `key:"public_url" doc:"Where clients reach the daemon, such as https://context.example.org:"`
	_              struct{} `doc:"what mails link to and wallets sign in to. With https, cookies go over that alone. Empty"`
	_              struct{} `doc:"means where it listens."`
	Hosts          []string `key:"hosts" doc:"Other names by which browsers and MCP clients may reach the daemon, such as"`
	_              struct{} `doc:"that of this machine in the local network."`
	TrustedProxies []string `key:"trusted_proxies,live" doc:"Addresses and networks of proxies, such as"`
	_              struct{} `doc:"10.0.0.0/8, whose X-Forwarded-For says who calls."`
	DrainDelay     string   `key:"drain_delay" default:"0s" doc:"At a stop, how long calls are still taken while"`
	_              struct{} `doc:"/readyz already says that they should go elsewhere."`
	Log            struct {
		Level     string   `key:"level,live" default:"info" enum:"debug,info,warn,error" doc:"How much is logged."`
		Format    string   `key:"format" default:"auto" enum:"auto,text,json" doc:"auto is short lines on a terminal and"`
		_         struct{} `doc:"JSON elsewhere."`
		Calls     bool     `key:"calls" doc:"A line for every call: method, path, status, time, client and the public part"`
		_         struct{} `doc:"of the key."`
		Witnesses []string `key:"witnesses" doc:"Who signs the checkpoints of the transparency logs: of each its"`
		_         struct{} `doc:"verifier key, a space and its address, such as \"witness.example.org/1+0a1b2c3d+BAAA…"`
		_         struct{} `doc:"https://witness.example.org\"."`
		Beacon    struct {
			URL string   `key:"url" doc:"Address of the newest round of a drand chain, such as"`
			_   struct{} `doc:"https://api.drand.sh/CHAIN/public/latest. It is asked at each refresh, and the leaf of the state has"`
			_   struct{} `doc:"the round: the state was not made before. Empty means none."`
		} `key:"beacon" doc:"What proves that a state was not made in advance."`
	} `key:"log" doc:"The log, on standard error."`
	Backup struct {
		Every string   `key:"every" doc:"How often, such as 24h or 7d; off for never. Empty means 24h, but never with"`
		_     struct{} `doc:"store.url or litestream."`
		Dir   string   `key:"dir" doc:"Where they go, a directory for one daemon alone: two that share one remove each"`
		_     struct{} `doc:"other's backups. Empty means backups, in the data directory."`
		Keep  int      `key:"keep" default:"7" min:"0" not:"0 (all) or more" doc:"How many are kept, the newest; 0 keeps"`
		_     struct{} `doc:"all."`
		MaxMB int      `key:"max_mb" min:"0" not:"0 or more" doc:"How much of these is kept, in MB, the newest; the one just made always"`
		_     struct{} `doc:"is. 0 means 4096 where every is empty and keep is not 0, and no bound else."`
	} `key:"backup" doc:"Backups by the daemon itself. contextd backup makes one at any time."`
	_        struct{} `doc:"None is made that would leave less than 512 MB free."`
	Evidence struct {
		Keep    bool     `key:"keep" doc:"Whether what sources answer is kept, in evidence in the data directory, so that states can"`
		_       struct{} `doc:"be recomputed: contextd db evidence. Measured by pack in MB a day: crypto 16.8, perps 10.0,"`
		_       struct{} `doc:"ai 1.4 and markets 0.8. Many sources do not allow it for long: read their terms."`
		For     string   `key:"for" default:"48h" doc:"How long, such as 48h or 7d."`
		MaxMB   int      `key:"max_mb" default:"2048" min:"1" not:"1 or more" doc:"The most on disk, in MB; the oldest goes first."`
		OfOneMB int      `key:"max_source_mb" default:"256" min:"1" not:"1 or more" doc:"The most of one source, in MB."`
	} `key:"evidence" doc:"What the sources answered."`
	Updates struct {
		URL string   `key:"url" doc:"Where the newest release is told, for contextd version --check and doctor, such as"`
		_   struct{} `doc:"https://api.github.com/repos/contextd/contextd/releases/latest, or a file of yours with"`
		_   struct{} `doc:"the version. Empty means that nobody is asked; the daemon itself never asks."`
	} `key:"updates" doc:"Newer releases."`
	Litestream bool `key:"litestream" doc:"Leave checkpoints of the databases to Litestream."`
	Web        struct {
		Page web.PageMode `key:"page" default:"on" enum:"off,on,public" doc:"Who sees the state there: off has no pages;"`
		_    struct{}     `doc:"on shows it to signed-in owners, of the packs that their keys may read, and to browsers"`
		_    struct{}     `doc:"on this machine, and prices, health and sign-in to everybody; public shows everything to"`
		_    struct{}     `doc:"everybody."`

		ThisMachine bool     `key:"this_machine" doc:"Whether callers at a loopback address count as this machine"`
		_           struct{} `doc:"although public_url is elsewhere. Only without a proxy or tunnel on this machine: it"`
		_           struct{} `doc:"could bring anyone."`

		SecurityContact string   `key:"security_contact" doc:"Where reports of weaknesses go, an e-mail address or a URL, for"`
		_               struct{} `doc:"/.well-known/security.txt. Empty means that there is none."`
	} `key:"web" doc:"The pages for browsers, at / and /packs/PACK."`
	Snapshots struct {
		Cache web.SnapshotCache `key:"cache" default:"public" enum:"public,private" doc:"Who may keep them: public lets"`
		_     struct{}          `doc:"shared caches, such as a CDN, keep those had with a key, by caller; private lets only"`
		_     struct{}          `doc:"the caller. Those that were paid for by call are always private."`
	} `key:"snapshots" doc:"Answers of the past, which never change."`
	X402 struct {
		SignIn x402.SignInMode `key:"sign_in" default:"off" enum:"off,recover,spend" doc:"What wallets may sign in for, by the"`
		_      struct{}        `doc:"extension sign-in-with-x: recover gives them again, for a day, the answers that they"`
		_      struct{}        `doc:"have paid for; spend also lets an owner's wallet pay with the owner's credits. It"`
		_      struct{}        `doc:"needs public_url. Some catalogues list a service that offers sign-ins as free."`
	} `key:"x402" doc:"Standard x402, where calls are paid by it."`
	Admin struct {
		Listen string   `key:"listen" doc:"Where metrics and profiles are served, such as 127.0.0.1:8403. Empty means"`
		_      struct{} `doc:"nowhere."`
	} `key:"admin" doc:"What only the operator should reach."`
	Jobs struct {
		KeyFile string `key:"key_file" doc:"File with the key that it signs with. Empty means that there is none."`
	} `key:"jobs" doc:"Jobs that a scheduler outside may start."`
	TLS struct {
		CertFile string   `key:"cert_file" doc:"The certificate with its chain, PEM. The file is read again when it"`
		_        struct{} `doc:"changes."`
		KeyFile  string   `key:"key_file" doc:"Its private key, PEM."`
		ACME     struct {
			Hosts        []string `key:"hosts" doc:"Names that a certificate may be asked for, such as context.example.org."`
			Email        string   `key:"email" doc:"Where the authority writes to about trouble."`
			DirectoryURL string   `key:"directory_url" doc:"The authority. Empty means Let's Encrypt."`
		} `key:"acme" doc:"Certificates by ACME, kept in the data directory. The authority must reach port 443 of these"`
		_ struct{} `doc:"hosts, and that must lead to listen. Naming hosts here accepts the authority's terms."`
	} `key:"tls" doc:"HTTPS without a proxy: a certificate from files, or from a certificate authority by ACME."`
	_       struct{} `doc:"Neither means plain HTTP."`
	Packs   Packs    `key:"packs" doc:"What is served beside the crypto pack: see contextd help packs."`
	Sources struct {
		Disabled  []string       `key:"disabled,live" doc:"Ids of sources that are switched off, such as news-decrypt. They"`
		_         struct{}       `doc:"keep their numbers; their rows are gone."`
		Contact   string         `key:"contact" doc:"Your e-mail address, for the services that answer only who gives one:"`
		_         struct{}       `doc:"the SEC (sec-filings) and BLS (bls-calendar). Empty means that they are not asked."`
		Licensed  []string       `key:"licensed,live" doc:"Ids of sources that you have a licence for, by which you may sell"`
		_         struct{}       `doc:"their data, such as coingecko-markets."`
		URL       []source.Moved `key:"url,live" doc:"Where a source is asked that has moved, by its id, as in alternativeme-fng:"`
		_         struct{}       `doc:"https://example.org/fng/. No key goes to another host; a private one has to be in"`
		_         struct{}       `doc:"packs.private_hosts."`
		CoinGecko struct {
			Plan    source.Plan `key:"plan" enum:",keyless,demo,pro" doc:"What the key is of, which decides where CoinGecko"`
			_       struct{}    `doc:"is asked and how often. Empty means demo with a key, keyless without."`
			KeyFile string      `key:"key_file" doc:"File with the key."`
		} `key:"coingecko" doc:"Your account at CoinGecko, if you have one."`
		CoinGeckoKeyFile string `key:"coingecko_key_file" doc:"The older name of coingecko.key_file."`
	} `key:"sources" doc:"Where the data of the packs comes from."`
	Sell struct {
		Clean bool     `key:"clean,live" doc:"Whether only sources are served that may be sold: whose terms allow it"`
		_     struct{} `doc:"or do not speak of it, and those in sources.licensed."`
	} `key:"sell" doc:"What is served to those who pay: see contextd help sell."`
	Brief struct {
		At      string   `key:"at" default:"12:00" doc:"Time of day, UTC. The first brief is written as soon as there is a"`
		_       struct{} `doc:"state."`
		Timeout string   `key:"timeout" default:"2m0s" doc:"Of one text. A slow model holds up nothing but the brief"`
		_       struct{} `doc:"itself."`
		LLM     struct {
			Provider            llm.Provider `key:"provider" enum:",anthropic,openai" doc:"Whose way of asking the model understands."`
			Model               string       `key:"model" doc:"Its name there."`
			BaseURL             string       `key:"base_url,secret" doc:"Where it is, such as http://127.0.0.1:11434/v1. Empty means at"`
			_                   struct{}     `doc:"the provider's own."`
			KeyFile             string       `key:"key_file" doc:"File with the key."`
			MaxTokens           int64        `key:"max_tokens" default:"4000" doc:"Of one answer; more for models that think first."`
			Retries             int          `key:"retries" default:"2" doc:"Of a request that failed."`
			TokensPerDay        int64        `key:"tokens_per_day" default:"1000000" doc:"The most that is spent in a day of UTC. 0"`
			_                   struct{}     `doc:"is without bound."`
			USDPerDay           string       `key:"usd_per_day" default:"0" doc:"The same in US dollars, which needs the prices. 0 is"`
			_                   struct{}     `doc:"without bound."`
			USDPerMillionInput  string       `key:"usd_per_million_input" default:"0" doc:"Price of a million tokens that it"`
			_                   struct{}     `doc:"reads."`
			USDPerMillionOutput string       `key:"usd_per_million_output" default:"0" doc:"Price of a million tokens that it"`
			_                   struct{}     `doc:"writes."`
		} `key:"llm" doc:"A language model that writes, where what it writes can be checked. Without a provider, rules"`
		_ struct{} `doc:"write."`
	} `key:"brief" doc:"The daily brief of each pack."`
	MCP   daemon.MCP `key:"mcp" doc:"The Model Context Protocol, at /api/mcp."`
	Chain struct {
		ID              int64    `key:"id" default:"46630" min:"1" doc:"Chain id: 4663 is the main chain, 46630 the test chain."`
		RPCURL          string   `key:"rpc_url,secret" doc:"JSON-RPC over HTTP, where the URL holds no secret."`
		RPCURLFile      string   `key:"rpc_url_file" doc:"File with that URL, where it holds one; instead of rpc_url."`
		SettleKeyFile   string   `key:"settle_key_file" doc:"File with a private key that has ether alone, to settle"`
		_               struct{} `doc:"payments of standard x402; without one, none are taken. By a facilitator instead: rails,"`
		_               struct{} `doc:"with settle.facilitator_url."`
		Token           string   `key:"token" doc:"Address of the USDG contract."`
		Treasury        string   `key:"treasury" doc:"Address that payments go to. The daemon needs no key to it."`
		DepositFinality string   `key:"deposit_finality" default:"safe" enum:"safe,latest" doc:"When the packs of 70"`
		_               struct{} `doc:"and 600 USDG are verified: once the chain calls their block safe, or at once."`
	} `key:"chain" doc:"To sell credits and be paid by call. Without rpc_url, token and treasury, calls are paid with"`
	_     struct{}    `doc:"keys alone."`
	Rails []x402.Rail `key:"rails" doc:"To be paid on several chains, in place of chain: each with one token of 6"`
	_     struct{}    `doc:"decimals. Our own quotes and proofs are for the first alone, whose network is l2chain;"`
	_     struct{}    `doc:"standard x402 and purchases of credits are taken on all. See contextd help configure."`
	Gas   struct {
		MaxPercent   int64    `key:"max_percent" default:"100" min:"0" not:"0 (any) or more" doc:"Of a price, that"`
		_            struct{} `doc:"settling its payment may cost. Calls for which it costs more are not offered by standard"`
		_            struct{} `doc:"x402, credits are. 0 is any."`
		EtherUSD     string   `key:"ether_usd" default:"state" doc:"What an ether costs, to compare: a number, or state"`
		_            struct{} `doc:"for what the crypto pack's newest state says. Empty means that nothing is compared."`
		RevertBudget string   `key:"revert_budget" default:"0.002" doc:"Ether that transactions which moved nothing"`
		_            struct{} `doc:"may cost in 24 hours, on each chain. Above it, standard x402 settles calls only for"`
		_            struct{} `doc:"wallets that have paid before; credits go on. 0 is any."`
	} `key:"gas" doc:"What the gas may cost by which payments of standard x402 are settled."`
	SMTP struct {
		Host         string        `key:"host" doc:"Name of the mail server."`
		Port         int           `key:"port" doc:"0 means the usual one for the security."`
		Security     mail.Security `key:"security" default:"starttls" enum:"starttls,tls,none" doc:"none is for a server on the"`
		_            struct{}      `doc:"same machine."`
		Username     string        `key:"username" doc:"Empty means that the server asks for none."`
		PasswordFile string        `key:"password_file" doc:"File with the password."`
		From         string        `key:"from" doc:"Address that mail comes from."`
	} `key:"smtp" doc:"Where mail goes out. Without a host, mail goes into files in outbox in the data directory."`
	Accounts daemon.Accounts `key:"accounts" doc:"Who may become an owner."`
	Billing  struct {
		Operator string   `key:"operator" default:"unmetered" enum:"unmetered,metered" doc:"Keys that contextd keys"`
		_        struct{} `doc:"create makes without --tier: unmetered ones read all packs and are counted, not charged;"`
		_        struct{} `doc:"metered ones are as those of owners. Keys that there are stay as they are."`
	} `key:"billing" doc:"What calls cost."`
	Limits daemon.Limits `key:"limits" doc:"How much one may ask for."`
	Tiers  struct {
		Free struct {
			Snapshot string `key:"snapshot,live" default:"24h"`
			Volume   int    `key:"volume,live" min:"0" not:"0 (without bound) or more"`
		} `key:"free"`
		Hobby struct {
			Snapshot string `key:"snapshot,live" default:"24h"`
			Volume   int    `key:"volume,live" default:"10000" min:"0" not:"0 (without bound) or more"`
		} `key:"hobby"`
		Pro struct {
			Snapshot string `key:"snapshot,live" default:"30d"`
			Volume   int    `key:"volume,live" default:"100000" min:"0" not:"0 (without bound) or more"`
		} `key:"pro"`
		Team struct {
			Snapshot string `key:"snapshot,live" default:"365d"`
			Volume   int    `key:"volume,live" default:"1000000" min:"0" not:"0 (without bound) or more"`
		} `key:"team"`
		Enterprise struct {
			Snapshot string `key:"snapshot,live" default:"365d"`
			Volume   int    `key:"volume,live" min:"0" not:"0 (without bound) or more"`
		} `key:"enterprise"`
	} `key:"tiers,live" doc:"What the tier of a key allows: how far back snapshots reach, such as 24h or 30d, and how"`
	_       struct{}       `doc:"many calls with credits a key may make in 30 days, 0 for any number."`
	OAuth   daemon.OAuth   `key:"oauth" doc:"Agents that sign in for an owner: see contextd help agents."`
	Watches daemon.Watches `key:"watches" doc:"Conditions that owners set, and where they are told: see contextd help watches."`
	Alerts  []Alert        `key:"alerts,live" doc:"What the operator is told of: flags and numbers, by a webhook, in a"`
	_       struct{}       `doc:"chat or by mail. Such as [{name: peg, severity: critical, url: \"https://hooks.example.org/peg\","`
	_       struct{}       `doc:"mail: [ops@example.org]}]."`

	File string // that it was read from; "" for none

	origin map[string]string // of what is set, by setting: where
}

// Packs says which packs are served.
type Packs struct {
	Enabled      []string `key:"enabled,live" doc:"Ids of packs, such as perps, markets, ai, or those of manifests in"`
	_            struct{} `doc:"packs.dir. All of them need credits."`
	NoCrypto     bool     `key:"no_crypto,live" doc:"Whether the pack crypto is left out. Requests then name a pack,"`
	_            struct{} `doc:"and a key without credits reads none."`
	Dir          string   `key:"dir" doc:"Directory of manifests, each ID.yaml. Empty means packs, beside this file."`
	PrivateHosts []string `key:"private_hosts" doc:"Hosts on private addresses that manifests may ask, such as"`
	_            struct{} `doc:"metrics.lan or metrics.lan:9090. All others are refused."`

	beside string // where Dir is unless it is set
}

// Alert is what the operator is told of.
type Alert struct {
	Name       string        `key:"name" doc:"By this it is known in journal, log and metrics; one for each."`
	Pack       string        `key:"pack" default:"crypto" doc:"Whose flags and numbers."`
	Type       api.WatchType `key:"type" default:"flag.changed" enum:"flag.changed,condition.met,change.moved" doc:"Type of condition, see contextd help watches."`
	Severity   api.Severity  `key:"severity" default:"warning" enum:"notice,warning,critical" doc:"The least severity of a flag."`
	Kinds      []string      `key:"kinds" doc:"Kinds of flags. Empty means all."`
	Arguments  any           `key:"arguments" doc:"Arguments of the other types, such as {member: asset, key: BTC,"`
	_          struct{}      `doc:"field: priceUsd, op: \"<\", value: 90000}."`
	URL        string        `key:"url,secret" doc:"Webhook that each event is posted to."`
	URLFile    string        `key:"url_file" doc:"File with that address, where it is a secret; instead of url."`
	Format     alert.Format  `key:"format" default:"json" enum:"json,slack,discord,telegram,ntfy" doc:"Form of a post."`
	Text       string        `key:"text" doc:"Template of what a chat is told, such as {{.Subject}}: {{.Message}}."`
	SecretFile string        `key:"secret_file" doc:"File with the secret that posts are signed with, or the access token of"`
	_          struct{}      `doc:"ntfy."`
	Mail       []string      `key:"mail" doc:"Addresses that each event is mailed to."`
	Cooldown   string        `key:"cooldown" doc:"Time between two events of a condition, such as 6h; one that stands after"`
	_          struct{}      `doc:"it is told again. Empty means once."`
	Ended      bool          `key:"ended" doc:"Whether ends are told too."`
}

// Tier is what a tier allows.
type Tier struct {
	Snapshot string // how far back, such as 24h or 30d
	Volume   int    // calls with credits per key and 30 days; 0 is without bound
}
