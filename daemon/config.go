package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/admin"
	"github.com/contextd/contextd/daemon/backup"
	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/brief/llm"
	"github.com/contextd/contextd/daemon/evidence"
	"github.com/contextd/contextd/daemon/mail"
	"github.com/contextd/contextd/daemon/operate"
	"github.com/contextd/contextd/daemon/pack"
	"github.com/contextd/contextd/daemon/source"
	"github.com/contextd/contextd/daemon/store/database"
	"github.com/contextd/contextd/daemon/translog/witness"
	"github.com/contextd/contextd/daemon/web"
	"github.com/contextd/contextd/daemon/x402"
	"github.com/contextd/contextd/internal/beacon"
	"github.com/contextd/contextd/sdk/api"
)

// Config says how a daemon runs. The zero value of a field is its default.
type Config struct {
	DataDir  string // required
	StoreURL string // of a PostgreSQL database for books and history; "" means SQLite in DataDir. It may hold a secret
	StoreKey []byte // of store.SealSize bytes, with which the secrets in that database are sealed; nil leaves them as they are
	Serve
	Pay
	Data
	Operate
	Reloadable

	Now    func() time.Time // nil means time.Now
	Logger *slog.Logger     // nil means slog.Default

	demo bool // set by OpenDemo: the history is marked
}

// Serve says where owners and their agents reach a daemon.
type Serve struct {
	Listen   string       // host:port, or unix:/path; "" means api.DefaultListen; port 0 takes a free one
	Listener net.Listener // handed over by who started the process, in place of Listen; nil means none. Open takes it over

	// PublicURL is where users reach the daemon; "" means where it listens. Behind a proxy the daemon cannot tell: mails, sign-in messages
	// and the origins that may call name the address that users see.
	PublicURL string

	// Hosts are other names by which browsers may reach the daemon, beside those of PublicURL and TLS. Under any other name that points
	// here, a page that somebody else has made could use the session of who reads it.
	Hosts []string

	// Drain is the time, at a stop, in which calls are still answered while Ready already fails, so that load balancers notice.
	Drain time.Duration

	Page        web.PageMode // who sees the state on the pages; "" means web.PageOn
	ThisMachine bool         // callers on this machine count as its own although PublicURL is not on it

	SecurityContact string // a URI for who found a weakness, as web.ParseContact has it; "" means that none is told

	Watches Watches
	OAuth   OAuth

	AgentDocuments http.RoundTripper // to the documents of agents that sign in; nil means the real network, public addresses alone

	SignIn    x402.SignInMode   // of wallets that have paid by standard x402; "" means x402.SignInOff
	Snapshots web.SnapshotCache // who may keep snapshots; "" means web.SnapshotsPublic

	SMTP *mail.SMTPConfig // where mail goes out; nil means into files of OutboxDir
	MCP  MCP
}

// Pay says how a daemon is paid.
type Pay struct {
	ChainID int64   // of the chain that pays; 0 means api.ChainIDTest
	Chain   *Chain  // the first rail; nil means that calls are paid with keys alone
	More    []Chain // the other rails: deposits and payments of standard x402 are taken there too
	Gas     Gas     // of all rails
	Metered bool    // new keys of the operator are charged, as those of owners are
}

// Data says how a daemon comes by what it serves.
type Data struct {
	Every  time.Duration // from refresh to refresh; 0 means api.RefreshInterval
	Briefs Briefs

	// Contact is the operator's e-mail address for the hosts that want one of who asks; "" means none, and that some are not asked.
	Contact string

	// CoinGecko is the operator's account there; the zero value means none. Calls without one are enough for one daemon, but not for
	// several behind one address.
	CoinGecko source.CoinGecko

	// PrivateHosts are those on private addresses that packs of manifests may ask; they reach no others.
	PrivateHosts []string

	// Evidence is how much is kept of what sources answered; nil means nothing.
	Evidence *evidence.Bounds

	Transport http.RoundTripper // to the sources; nil means the real network
	Recording Recording         // recorded sources in place of real ones; nil means none
}

// Watches says where events of watches may be delivered.
type Watches struct {
	PrivateHosts []string `key:"private_hosts" doc:"Hosts on private addresses that owners may have events posted to,"`
	_            struct{} `doc:"also on plain HTTP, such as n8n.lan or n8n.lan:5678. All others have to be public."`
	HTTPLoopback bool     `key:"http_loopback" doc:"Receivers may be on this machine, on plain HTTP. It is for tests; a demo"`
	_            struct{} `doc:"has it on."`
}

// Operate says how the operator looks after a daemon.
type Operate struct {
	AdminListen string            // address of metrics and profiles; "" means none, port 0 takes a free one
	LogCalls    bool              // a line of the log for every call
	Witnesses   []witness.Witness // that sign the checkpoints of the logs
	Beacon      string            // address of the rounds that states are dated with, "" for none
	JobsKey     []byte            // lets who has it start jobs from outside; nil means nobody

	Backup     Backup
	Litestream bool // checkpoints are left to Litestream, which follows the write-ahead logs

	// Reload is called when the operator asks for it; nil where there are no settings to read.
	Reload func(ctx context.Context) (admin.ReloadResponse, error)
}

// Reloadable is what can change while a daemon runs: Apply takes it.
type Reloadable struct {
	Packs          []Pack         // that are served; none means the crypto pack
	TrustedProxies []netip.Prefix // whose X-Forwarded-For is believed
	Plans          billing.Plans  // what tiers allow; nil means billing.DefaultPlans
	Limits         Limits
	Accounts       Accounts
	Disabled       []string        // ids of sources that are switched off
	Licensed       []string        // ids of sources that the operator has a licence for; Packs heed it already
	Alerts         []operate.Alert // what the operator is told of

	// TLS says where the certificate comes from; nil means plain HTTP. Its clock, log and cache are set by Open. Apply reads the
	// certificate again, but only from files with the names that the daemon was opened with.
	TLS *web.Certificates
}

// Chain is a rail as it is opened. The ID of the first may be "", for api.NetworkL2; a ChainID of 0 means, for the first, that of Pay; no
// Domain means that of USDG.
type Chain struct {
	x402.Rail
	Wait   time.Duration // for a payment to be in a block; 0 means chain.DefaultWait
	AtOnce bool          // deposits for big packs are verified without waiting until their block is safe

	// SettleKey pays the gas of settlements, in hexadecimal; "" means that no payments of standard x402 are taken, unless a facilitator
	// settles them.
	SettleKey string
}

// DefaultTokenName and DefaultTokenVersion are those that wallets sign with for USDG.
const (
	DefaultTokenName    = "Global Dollar"
	DefaultTokenVersion = "1"
)

// MCP says how the Model Context Protocol is served. Zero values are defaults. Its fields are settings, by their tags: see
// internal/setting.
type MCP struct {
	Prefix          string   `key:"prefix" default:"context" doc:"The first part of the tools' names."`
	Origins         []string `key:"origins" doc:"Pages of other origins whose scripts may call, such as"`
	_               struct{} `doc:"https://app.example.org."`
	PublicDiscovery bool     `key:"public_discovery" doc:"Whether handshake and lists are free for callers without a"`
	_               struct{} `doc:"key."`
	RegistryAuth    string   `key:"registry_auth" doc:"The line by which the MCP registry knows who publishes for this host,"`
	_               struct{} `doc:"served at /.well-known/mcp-registry-auth, such as v=MCPv1; k=ed25519; p=…. It is public."`
}

// Limits are the bounds of what one may ask for. Zero values are defaults. Its fields are settings.
type Limits struct {
	FreeCalls          int      `key:"free_calls,live" default:"100" min:"1" doc:"Calls in 24 hours with a key whose owner has"`
	_                  struct{} `doc:"no credits."`
	FreeCallsPerClient int      `key:"free_calls_per_client,live" default:"300" min:"1" doc:"Such calls from one"`
	_                  struct{} `doc:"client address, or a /48 of IPv6, with whatever keys. Calls of this machine are not"`
	_                  struct{} `doc:"bounded so: see web.this_machine."`
	ActiveKeys         int      `key:"active_keys,live" default:"25" min:"1" doc:"Keys that an owner may have at a time."`
	SignIns            int      `key:"sign_ins,live" default:"20" min:"1" doc:"Sign-in requests per minute and client."`
	Mails              int      `key:"mails,live" default:"5" min:"1" doc:"Mails per quarter of an hour and address."`
	MailsPerDay        int      `key:"mails_per_day,live" default:"6000" min:"1" doc:"Mails in all per day: a third to"`
	_                  struct{} `doc:"strangers, a third to who signed in from there before, a third about accounts that"`
	_                  struct{} `doc:"change."`
	Requests           int      `key:"requests,live" default:"300" min:"1" doc:"Other requests to the console per minute and"`
	_                  struct{} `doc:"client."`

	ConnectionsPerClient int      `key:"connections_per_client,live" default:"512" min:"1" doc:"Connections of one client"`
	_                    struct{} `doc:"address beside its streams; a /48 of IPv6 has four times as many. Those of"`
	_                    struct{} `doc:"trusted_proxies are not bounded so."`
}

// Accounts says who may become an owner. Zero values are defaults. Its fields are settings.
type Accounts struct {
	Signup       account.Signup `key:"signup,live" default:"open" enum:"open,invite,closed" doc:"open is for everybody, invite"`
	_            struct{}       `doc:"for who has an invitation (contextd owners invites), closed for nobody. Owners sign in"`
	_            struct{}       `doc:"always."`
	NewPerClient int            `key:"new_per_client,live" default:"20" min:"1" doc:"New owners per day and client: an"`
	_            struct{}       `doc:"address of IPv4, a /64 and a /48 of IPv6."`
	NewPerDay    int            `key:"new_per_day,live" default:"2000" min:"1" doc:"New owners per day in all."`
}

func (r Reloadable) console() web.ConsoleLimits {
	return web.ConsoleLimits{
		SignIns: r.Limits.SignIns, Mails: r.Limits.Mails, MailsPerDay: r.Limits.MailsPerDay, Requests: r.Limits.Requests,
		NewOwners: r.Accounts.NewPerClient, NewOwnersPerDay: r.Accounts.NewPerDay,
	}
}

// Briefs says how briefs are written.
type Briefs struct {
	At         time.Duration // time of day, UTC, of the daily brief
	TextWithin time.Duration // bound of one text of a writer; 0 means pipeline.DefaultTextWithin
	Model      *llm.Config   // the language model; nil means the built-in writer alone. Ledger and Now are the daemon's.
}

// Backup says where and how often a daemon backs itself up.
type Backup struct {
	Dir    string        // "" means backup.BackupDir in the data directory
	Every  time.Duration // 0 means not at all
	Within backup.Bounds // how much stays
}

// Recording is recorded source data that is played back; *replay.Recording is one.
type Recording interface {
	http.RoundTripper
	Advance()                          // to the next recorded moment
	Shift(source string) time.Duration // from the moment that a source was recorded at to now
}

// Charges reports whether calls are charged: they can be paid, or the operator has their own keys metered.
func (p Pay) Charges() bool { return len(p.Rails()) > 0 || p.Metered }

// chainID is that of the first rail, or what it would be: keys and sign-in messages go by it.
func (p Pay) chainID() int64 {
	if list := p.Rails(); len(list) > 0 {
		return list[0].ChainID
	}
	return cmp.Or(p.ChainID, api.ChainIDTest)
}

// place is where books and history are.
func (c Config) place() string { return cmp.Or(c.StoreURL, c.DataDir) }

// checkStore says what is wrong with where books and history are to be.
func (c Config) checkStore() error {
	switch {
	case c.StoreURL == "" && len(c.StoreKey) > 0:
		return api.Errorf(api.ReasonInvalidRequest, "store.key_file seals secrets in PostgreSQL, and store.url is not set").
			WithHint("remove store.key_file: only the daemon's user can read the data directory")
	case c.StoreURL == "":
		return nil
	case c.Litestream:
		return api.Errorf(api.ReasonInvalidRequest, "litestream replicates SQLite, and store.url names PostgreSQL").
			WithHint("remove one of the two")
	case c.Backup.Every > 0:
		return api.Errorf(api.ReasonInvalidRequest, "backup.every backs up SQLite, and store.url names PostgreSQL").
			WithHint("remove backup.every, and back up with pg_dump")
	}
	return database.CheckURL(c.StoreURL)
}

// Check says what would end a start with c, as far as that can be told without starting anything.
func (c Config) Check() error {
	if err := c.Reloadable.check(); err != nil {
		return err
	}
	if _, unix := web.UnixPath(c.Listen); unix && c.Listener == nil && c.PublicURL == "" {
		return noPublicURL(c.Listen)
	}
	if err := errors.Join(c.checkStore(), witness.Check(c.Witnesses)); err != nil {
		return err
	}
	if c.Beacon != "" {
		if err := beacon.Check(c.Beacon); err != nil {
			return fmt.Errorf("log.beacon.url: %w", err)
		}
	}
	if line := c.MCP.RegistryAuth; line != "" && (!strings.HasPrefix(line, "v=MCPv1; k=") || strings.ContainsAny(line, "\r\n")) {
		return api.Errorf(api.ReasonInvalidRequest, "mcp.registry_auth is no line that begins with v=MCPv1; k=").
			WithHint("copy the line that mcp-publisher login http prints")
	}
	return errors.Join(c.checkAgents(), c.checkRails())
}

// check says what is wrong with r, as far as that can be told without doing it.
func (r Reloadable) check() error {
	packs := r.packList()
	if err := checkPacks(packs); err != nil {
		return err
	}
	if err := checkSources(packs, r.Disabled, "cannot switch off source"); err != nil {
		return err
	}
	if err := checkSources(packs, r.Licensed, "sources.licensed: there is no source"); err != nil {
		return err
	}
	return operate.CheckAlerts(r.served(), r.Alerts)
}

// served are the packs that are served.
func (r Reloadable) served() (list []*pack.Pack) {
	for _, p := range r.packList() {
		list = append(list, p.Pack)
	}
	return list
}

// checkSources reports a source that no pack has, after why.
func checkSources(packs []Pack, ids []string, why string) error {
	known := map[string]bool{}
	for _, p := range packs {
		for _, s := range p.Sources {
			known[s.ID] = true
		}
	}
	for _, id := range ids {
		if !known[id] {
			return fmt.Errorf("%s %q: no pack has it", why, id)
		}
	}
	return nil
}

// noPublicURL is the error for a socket without a URL that leads to it.
func noPublicURL(socket string) error {
	return fmt.Errorf("the daemon listens on the socket %s: say in public_url where users reach it", socket)
}

// ParsePublicURL reads the URL at which users reach a daemon: http or https, a host, perhaps a path, nothing else.
func ParsePublicURL(text string) (*url.URL, error) {
	u, err := api.ParseBaseURL(text)
	if err != nil {
		return nil, fmt.Errorf("public URL %q is not like https://context.example.org", text)
	}
	return u, nil
}
