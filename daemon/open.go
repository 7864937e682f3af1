package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/admin"
	"github.com/contextd/contextd/daemon/backup"
	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/chain"
	"github.com/contextd/contextd/daemon/cluster"
	"github.com/contextd/contextd/daemon/datadir"
	"github.com/contextd/contextd/daemon/feed"
	"github.com/contextd/contextd/daemon/gate"
	"github.com/contextd/contextd/daemon/mail"
	"github.com/contextd/contextd/daemon/mcp"
	"github.com/contextd/contextd/daemon/oauth"
	"github.com/contextd/contextd/daemon/operate"
	"github.com/contextd/contextd/daemon/pipeline"
	"github.com/contextd/contextd/daemon/reader"
	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/daemon/store/database"
	"github.com/contextd/contextd/daemon/store/history"
	"github.com/contextd/contextd/daemon/translog"
	"github.com/contextd/contextd/daemon/translog/witness"
	"github.com/contextd/contextd/daemon/watch"
	"github.com/contextd/contextd/daemon/web"
	"github.com/contextd/contextd/daemon/x402"
	"github.com/contextd/contextd/internal/build"
	"github.com/contextd/contextd/internal/skills"
	"github.com/contextd/contextd/sdk/api"
)

var (
	_ account.Store       = (*store.Store)(nil)
	_ pipeline.Store      = (*history.History)(nil)
	_ reader.History      = (*history.History)(nil)
	_ pipeline.Publisher  = (*feed.Feed)(nil)
	_ billing.Store       = (*store.Store)(nil)
	_ billing.Ledger      = (*store.Store)(nil)
	_ gate.Keys           = (*account.Keys)(nil)
	_ gate.Meter          = (*billing.Meter)(nil)
	_ web.Reader          = (*reader.Reader)(nil)
	_ web.Gate            = (*gate.Gate)(nil)
	_ web.Streams         = (*feed.Feed)(nil)
	_ web.Watches         = (*watch.Service)(nil)
	_ web.Sheets          = (*reader.Reader)(nil)
	_ account.SignInStore = (*store.Store)(nil)
	_ account.InviteStore = (*store.Store)(nil)
	_ account.TokenStore  = (*store.Store)(nil)
	_ oauth.Documents     = (*store.Store)(nil)
	_ account.PromptStore = (*store.Store)(nil)
	_ web.Books           = (*billing.Credits)(nil)
	_ mcp.Gate            = (*gate.Gate)(nil)
	_ operate.Database    = (*store.Store)(nil)
	_ operate.Database    = (*history.History)(nil)
	_ admin.Daemon        = (*Daemon)(nil)
)

// lockDirectory takes the data directory, which no other daemon works on.
func (d *Daemon) lockDirectory(ctx context.Context) (err error) {
	if d.lock, err = datadir.Lock(d.cfg.DataDir); err != nil || d.cfg.Recording != nil {
		return err
	}
	return refuseSynthetic(ctx, d.cfg.place())
}

// refuseSynthetic reports a data directory or database whose states a demo has made: real prices would stand among invented ones.
func refuseSynthetic(ctx context.Context, place string) error {
	origin, err := history.OriginOf(ctx, place)
	if err == nil && origin.Demo {
		if database.IsURL(place) {
			return errors.New("the database holds the synthetic data of contextd demo, which must not mix with real data: " +
				"name another in store.url, or another schema: postgres://…?schema=NAME")
		}
		err = fmt.Errorf("%s holds the synthetic data of contextd demo, which must not mix with real data: give another --data-dir, "+
			"or go on with: contextd demo --data-dir %[1]s", place)
	}
	return err
}

// openDatabases opens the books and the history, after a backup if that upgrades one of them.
func (d *Daemon) openDatabases(ctx context.Context) error {
	if err := d.refuseHalf(); err != nil {
		return err
	}
	saved, err := backup.BeforeUpgrade(ctx, d.cfg.place(), d.cfg.Now())
	if err != nil {
		return err
	}
	if saved != "" {
		d.cfg.Logger.Info("upgrading the databases; backup made before", "backup", saved)
	}
	if d.store, err = store.Open(ctx, d.cfg.place(), d.cfg.Now()); err != nil {
		return err
	}
	if len(d.cfg.StoreKey) > 0 {
		seal, err := store.NewSeal(d.cfg.StoreKey)
		if err != nil {
			return err
		}
		d.store.SealWith(seal)
	}
	if _, err := os.Stat(filepath.Join(d.cfg.DataDir, store.File)); err == nil && d.cfg.StoreURL != "" {
		d.cfg.Logger.Warn("the data directory holds unused SQLite databases: store.url names PostgreSQL",
			"data_dir", d.cfg.DataDir)
	}
	if d.history, err = history.Open(ctx, d.cfg.place(), d.cfg.Now()); err != nil {
		return err
	}
	d.secrets = secrets{dir: d.cfg.DataDir, logger: d.cfg.Logger}
	if d.cfg.StoreURL != "" {
		d.secrets.shared = d.store
	}
	if d.cfg.demo {
		if err := d.history.MarkDemo(ctx); err != nil {
			return err
		}
	}
	if d.cfg.Litestream {
		return errors.Join(d.store.LeaveLog(ctx), d.history.LeaveLog(ctx))
	}
	return nil
}

// refuseHalf reports a data directory that lacks one of its databases and has what only comes after it: to begin with an empty one would
// forget what was paid, or begin the logs again under the key by which clients know them.
func (d *Daemon) refuseHalf() error {
	if d.cfg.StoreURL != "" {
		return nil
	}
	is := func(name string) bool {
		_, err := os.Stat(filepath.Join(d.cfg.DataDir, name))
		return err == nil
	}
	const restore = "%s has no %s, and there is %s\n  try: put it back, or contextd restore FILE with a backup; "
	switch {
	case !is(store.File) && is(history.File):
		return fmt.Errorf(restore+"an empty file there begins books without owners and credits", d.cfg.DataDir, store.File, history.File)
	case !is(history.File) && is(translog.KeyFile):
		return fmt.Errorf(restore+"without %[3]s new logs begin, which every client must accept",
			d.cfg.DataDir, history.File, translog.KeyFile)
	}
	return nil
}

// joinCluster makes the daemon a node, which leads if nobody does.
func (d *Daemon) joinCluster(ctx context.Context) (err error) {
	cfg := cluster.Config{ID: uuid.NewString(), Stopping: d.stopping.Load, Now: d.cfg.Now, Logger: d.cfg.Logger}
	if lease := d.store.Lease(cfg.ID); lease != nil {
		d.history.Use(lease)
		cfg.Lease, cfg.Registry = lease, d.store
	}
	d.node, err = cluster.Join(ctx, cfg)
	return err
}

// openKeys loads the keys, makes the meter that charges calls to them, and follows what other nodes do to both.
func (d *Daemon) openKeys(ctx context.Context) (err error) {
	calls := billing.Config{
		Store: d.store, Plans: d.cfg.Plans, FreeCalls: d.cfg.Limits.FreeCalls, PerClient: d.cfg.Limits.FreeCallsPerClient,
		Booked: d.metrics.Booked,
		Sells:  d.cfg.Chain != nil, Operator: account.OperatorID, Now: d.cfg.Now,
	}
	keys := account.Config{
		Store: d.store, Env: api.EnvOfChain(d.cfg.chainID()), MaxKeys: d.cfg.Limits.ActiveKeys, Metered: d.cfg.Metered, Now: d.cfg.Now,
	}
	if d.cfg.StoreURL != "" { // before anything is loaded that others may change
		d.outage = cluster.NewOutage(d.cfg.Logger)
		if d.changes, err = cluster.OpenChanges(ctx, d.store, d.outage); err != nil {
			return err
		}
		calls.CatchUp, keys.Others = d.changes.CatchUp, d.changes
	}
	d.meter = billing.New(calls)
	keys.WithLock = d.meter.WithLock
	d.credits = &billing.Credits{Ledger: d.store, Meter: d.meter, Now: d.cfg.Now}
	if d.keys, err = account.OpenKeys(ctx, keys); err != nil || d.changes == nil {
		return err
	}
	d.changes.OnChange(func(ctx context.Context, owners []string) error {
		return d.meter.WithLockOnAll(ctx, func() ([]string, error) { return d.keys.Reload(ctx, owners) })
	})
	return nil
}

// listenPublic begins to listen on the public address, and reads the certificate.
func (d *Daemon) listenPublic(context.Context) (err error) {
	d.proxies = web.NewProxies(d.cfg.TrustedProxies)
	if d.listener = d.cfg.Listener; d.listener == nil {
		if d.listener, err = web.Listen(d.cfg.Listen); err != nil {
			return err
		}
	}
	if d.cfg.TLS != nil {
		c := *d.cfg.TLS
		c.Now, c.Logger, c.Cache = d.cfg.Now, d.cfg.Logger, filepath.Join(d.cfg.DataDir, acmeDir)
		if d.tls, err = c.Open(); err != nil {
			return err
		}
	}
	text := cmp.Or(d.cfg.PublicURL, d.URL())
	if _, unix := web.UnixPath(text); unix {
		return noPublicURL(d.listener.Addr().String())
	}
	if d.publicURL, err = ParsePublicURL(text); err != nil {
		return err
	}
	d.proxies.NobodyHere = d.cfg.PublicURL != "" && !web.LoopbackHost(d.publicURL.Host) && !d.cfg.ThisMachine
	return nil
}

// OutboxDir is the name, in the data directory, of the directory for mail where no SMTP server is configured.
const OutboxDir = "outbox"

// mailer sends mail to owners and to the operator.
type mailer interface {
	account.Mailer
	operate.Mailer
}

// openMail makes what sends mail: by SMTP or, without a server, into files.
func (d *Daemon) openMail(context.Context) (err error) {
	if d.cfg.SMTP == nil {
		d.mailer = &mail.Outbox{Dir: filepath.Join(d.cfg.DataDir, OutboxDir), Now: d.cfg.Now, Logger: d.cfg.Logger}
		return nil
	}
	server := *d.cfg.SMTP
	server.Now, server.Logger = d.cfg.Now, d.cfg.Logger
	d.smtp, err = mail.NewSMTP(server)
	d.mailer = d.smtp
	return err
}

func (d *Daemon) openSignIn(ctx context.Context) (err error) {
	var key []byte // one of this process alone
	if d.cfg.StoreURL != "" {
		if key, err = d.store.Secret(ctx, "signin", newSecretKey); err != nil {
			return err
		}
	}
	d.signIn, err = account.NewSignIn(account.SignInConfig{
		Store: d.store, Mailer: d.mailer, Signup: d.cfg.Accounts.Signup, PublicURL: d.publicURL, ChainID: d.cfg.chainID(),
		Recover: chain.Recover, Checksum: chain.Checksum, NewID: uuid.NewString, Key: key, Now: d.cfg.Now,
	})
	return err
}

// openScheduler makes what runs the jobs, of which there are none yet.
func (d *Daemon) openScheduler(context.Context) error {
	d.jobs = &operate.Scheduler{Now: d.cfg.Now, Logger: d.cfg.Logger, AsLeader: d.node.AsLeader}
	return nil
}

// openAlerts makes what notifies the operator of flags.
func (d *Daemon) openAlerts(context.Context) (err error) {
	d.alerts, err = operate.OpenAlerts(operate.AlertsConfig{
		Journal: filepath.Join(d.cfg.DataDir, backup.AlertJournal), Mailer: d.mailer, Feed: d.feed, Delivered: d.metrics.Alerted,
		Past: d.history.PulseBefore, Synthetic: d.cfg.Recording != nil, Now: d.cfg.Now, Logger: d.cfg.Logger,
	}, d.cfg.served(), d.cfg.Alerts)
	return err
}

// assignLeader makes what only the leader does for no single pack, beside its jobs: backups, alerts and requests to witnesses.
func (d *Daemon) assignLeader(context.Context) error {
	d.backups = operate.Backups{
		DataDir: d.cfg.DataDir, Dir: d.cfg.Backup.Dir, Every: d.cfg.Backup.Every, Within: d.cfg.Backup.Within, Now: d.cfg.Now,
		Logger: d.cfg.Logger,
	}
	witnesses := &witness.Set{Witnesses: d.cfg.Witnesses, Logs: d.logs, Packs: d.served.ids, Now: d.cfg.Now, Logger: d.cfg.Logger}
	work := leaderWork{d.history, d.jobs, d.backups, d.alerts, witnesses, d.deliverToWatches}
	d.node.Add(work, nil) // before the packs: it forgets what they read
	return nil
}

// openEditor makes what writes briefs.
func (d *Daemon) openEditor(ctx context.Context) (err error) {
	d.editor, err = newEditor(ctx, d.cfg, d.served.packs, d.store, d.history, d.metrics)
	return err
}

// servePacks restores every pack, so that its newest stored state is served at once.
func (d *Daemon) servePacks(ctx context.Context) error {
	d.packs = &packSet{
		servedPacks: d.served, cfg: d.cfg, node: d.node, sources: newSources(d.cfg, d.evidence),
		evidence: d.evidence, feed: d.feed, history: d.history,
		models: d.editor.Models(), jobs: d.jobs, metrics: d.metrics, alerts: d.alerts, look: d.lookForWatches,
		notBefore: d.askBeacon(),
	}
	first, err := d.packs.prepare(ctx, d.cfg.packList(), d.cfg.Disabled)
	if err != nil {
		return err
	}
	d.packs.swap(ctx, first)
	d.packs.finish(first)
	return nil
}

// openMembership makes what makes this node known to others, with the states that it serves.
func (d *Daemon) openMembership(context.Context) error {
	d.membership = &cluster.Membership{
		Node: d.node, URL: cluster.NodeURL(d.URL(), d.listener.Addr()), Version: build.Read().Version, States: d.packs.stateTimes,
	}
	return nil
}

// openReader makes what answers the operations.
func (d *Daemon) openReader(context.Context) error {
	d.reader = reader.New(reader.Config{
		Packs: d.packs.readable(), Feed: d.feed, History: provenHistory{servedHistory{d.history, d.served.made}, d.evidence},
		Leaves: d.history, Briefs: d.editor, Now: d.cfg.Now,
		Trouble: d.packs.trouble, Sign: d.logs.SignCheck,
	})
	return nil
}

// openGate makes the gate, which admits calls, with the credentials that it takes.
func (d *Daemon) openGate(ctx context.Context) error {
	d.tokens = account.NewTokens(account.TokensConfig{Store: d.store, Keys: d.keys, Now: d.cfg.Now})
	rules := gate.Config{Keys: d.keys, Tokens: d.tokens, Meter: d.meter, Plans: d.cfg.Plans, Observer: d.metrics}
	if d.payments != nil {
		rules.Payments = d.payments
	}
	d.payers = web.NewPayers(d.proxies, d.cfg.Now)
	d.crowd = web.NewCrowd(d.proxies, d.knows, d.cfg.Now)
	d.standard.HTTPS = d.publicURL.Scheme == "https"
	if d.cfg.PublicURL != "" {
		d.standard.PublicURL = d.publicURL
	}
	if d.payments != nil && len(d.payments.Settlers) > 0 {
		d.standard.Exact, d.payers.Standard = d.payments, &d.standard
		sign, err := d.notaries(ctx)
		if err != nil {
			return err
		}
		d.standard.Notary, d.standard.Now = sign[0], d.cfg.Now
		for _, n := range sign {
			d.signers = append(d.signers, n.Address())
		}
		if err := d.openSignIns(ctx, &rules); err != nil {
			return err
		}
	}
	d.gate = gate.New(rules)
	return nil
}

// openSignIns takes sign-ins of wallets, where that is switched on.
func (d *Daemon) openSignIns(ctx context.Context, rules *gate.Config) error {
	switch {
	case d.cfg.SignIn == "" || d.cfg.SignIn == x402.SignInOff:
		return nil
	case d.cfg.PublicURL == "":
		d.cfg.Logger.Warn("wallets cannot sign in: what they sign names public_url, which is not set", "setting", "x402.sign_in")
		return nil
	}
	keys, err := d.secrets.keys(ctx, quoteKeyFile, "quotes", nil)
	if err != nil {
		return err
	}
	d.standard.SignIns = &x402.SignIns{
		PublicURL: d.publicURL, Networks: d.payments.Settlers.Networks(), Secret: keys[0], Spend: d.cfg.SignIn == x402.SignInSpend,
		Recover: chain.Recover, Store: d.store, Now: d.cfg.Now,
	}
	if d.standard.SignIns.Spend {
		rules.Owners = d.signIn
	}
	d.payers.SignIns = d.standard.SignIns
	return nil
}

// knows reports whether r is of who has a key or is signed in.
func (d *Daemon) knows(r *http.Request) bool {
	key := web.Bearer(r)
	if key == "" {
		return d.console.Knows(r)
	}
	_, err := d.gate.Identify(r.Context(), gate.Credentials{Bearer: key, HasBearer: true, Account: true})
	return err == nil
}

// openHealth makes what says whether the daemon can answer calls.
func (d *Daemon) openHealth(context.Context) error {
	charges := d.changes.Lost
	if d.node.Alone() { // on a server that is back, calls are charged again; a proxy that sends none would never know
		charges = d.meter.Check
	}
	d.health = &operate.Health{
		Stopping: d.stopping.Load, Packs: d.served.ids, HasState: d.packs.hasState, Charges: charges,
		Databases: []operate.Database{d.store, d.history}, Now: d.cfg.Now,
	}
	return nil
}

// origins are where browsers may come from, and what they may call the daemon.
func (d *Daemon) origins() web.OriginCheck {
	names := d.cfg.Hosts
	if d.cfg.TLS != nil {
		names = append(slices.Clone(names), d.cfg.TLS.Hosts...)
	}
	return web.OriginCheck{PublicURL: d.publicURL, Names: names, Origins: d.cfg.MCP.Origins}
}

// openConsole makes what owners call: sign-in, keys, credits and prompts.
func (d *Daemon) openConsole(ctx context.Context) error {
	made, err := d.store.SignedUp(ctx, d.cfg.Now().Add(-24*time.Hour))
	if err != nil {
		return err
	}
	d.console, err = web.NewConsole(web.ConsoleConfig{
		SignedUp: made,
		Sale:     d.sale(), Pages: d.cfg.Page != web.PageOff,
		SignIn: d.signIn, Keys: d.keys, Books: d.credits, Packs: d.packs.ids, Watches: d.watches,
		Prompts:   &account.Prompts{Store: d.store, NoModel: d.cfg.Briefs.Model == nil, Now: d.cfg.Now},
		PublicURL: d.publicURL, Hosts: d.origins(), TrustedProxies: d.proxies, Limits: d.cfg.console(), Now: d.cfg.Now,
	})
	return err
}

func (d *Daemon) openPage(context.Context) error {
	d.page = web.NewPage(web.PageConfig{
		Mode: d.cfg.Page, Window: d.gate.Window,
		Sheets: d.reader, Streams: d.feed, Console: d.console, Packs: d.packs.info, Ready: d.health.Ready,
		Crowd: d.crowd, Sells: d.payments != nil, Exact: d.standard.Exact, Demo: d.cfg.Recording != nil, Now: d.cfg.Now,
		Logger: d.cfg.Logger, Unsold: d.unsold,
	})
	return nil
}

func (d *Daemon) openMCP(context.Context) (err error) {
	if d.skills, err = skills.All(d.publicURL.String()); err != nil {
		return err
	}
	cfg := mcp.Config{
		Reader: d.reader, Proofs: d.reader, Gate: d.gate, Streams: d.feed, Payers: d.payers, Standard: d.standard,
		Watches: d.watches, Packs: d.packs.ids(), Skills: d.skills, Every: d.cfg.Every, Tells: d.packs.description,
		Crowd: d.crowd, Prefix: d.cfg.MCP.Prefix, PublicDiscovery: d.cfg.MCP.PublicDiscovery, Origin: d.origins(),
		Now: d.cfg.Now, Logger: d.cfg.Logger, Outage: d.covers,
	}
	if err := d.account(&cfg); err != nil {
		return err
	}
	d.mcp = mcp.New(cfg)
	return nil
}

// openHTTP makes the HTTP server of the public address, with the routes of all that answers there.
func (d *Daemon) openHTTP(context.Context) error {
	routes := d.console.Routes()
	paged := d.packs.info
	if d.cfg.Page == web.PageOff {
		paged = nil
	}
	routes.Add(d.crowd.Bounded(web.DescriptionRoutes(paged)))
	routes.Add(web.PackRoutes(d.packs.info))
	routes.Add(web.LogRoutes(d.logs, d.proxies, d.crowd, d.cfg.Now))
	discovery := web.Discovery{
		PublicURL: d.publicURL, Packs: d.packs.info, Tools: cmp.Or(d.cfg.MCP.Prefix, mcp.DefaultPrefix), Sells: d.payments != nil,
		Standard: d.standard.Exact, Signers: d.signers, Version: build.Read().Version, Protocols: mcp.Versions(), SignsIn: d.agents != nil,
		Skills: d.skills, SecurityContact: d.cfg.SecurityContact, RegistryAuth: d.cfg.MCP.RegistryAuth, Now: d.cfg.Now,
	}
	routes.Add(discovery.Announced(d.page.Routes(discovery.Front)))
	routes.Add(web.WatchRoutes(web.WatchConfig{Watches: d.watches, Known: d.gate.Known, Payers: d.payers, Now: d.cfg.Now}))
	if d.cfg.JobsKey != nil {
		routes.Add(web.HookRoutes(web.HookConfig{Key: d.cfg.JobsKey, Start: d.jobs.Start, Now: d.cfg.Now}))
	}
	routes.Add(d.mcp.Routes())
	if d.agents != nil {
		routes.Add(d.agents.Routes())
	}
	routes.Add(discovery.Routes())
	d.web = web.New(web.Config{
		Reader: d.reader, Proofs: d.reader, Gate: d.gate, Streams: d.feed, Ready: d.health.Ready, Payers: d.payers, Standard: d.standard,
		Crowd: d.crowd, HTTPS: d.standard.HTTPS, More: routes, Demo: d.cfg.Recording != nil, Now: d.cfg.Now, Logger: d.cfg.Logger,
		Version: build.Release(), Outage: d.covers, Snapshots: d.cfg.Snapshots,
	})
	return nil
}

// openPublic makes the endpoint that answers on the public address.
func (d *Daemon) openPublic(context.Context) error {
	var access *slog.Logger
	if d.cfg.LogCalls {
		access = d.cfg.Logger
	}
	calls := d.metrics.Calls(d.web, access, d.proxies.Client, d.keys.Untraced)
	d.public = newEndpoint(d.listener, parting(calls, &d.stopping), d.cfg.Logger)
	d.connections = web.NewConnections(mostConnections(descriptors()), d.proxies, d.cfg.Now)
	d.connections.SetPerClient(d.cfg.Limits.ConnectionsPerClient)
	d.public.bound(d.connections)
	if d.tls != nil {
		d.public.server.TLSConfig = d.tls.Config
	}
	d.public.server.RegisterOnShutdown(d.web.EndStreams)
	d.public.server.RegisterOnShutdown(d.page.End)
	d.public.server.RegisterOnShutdown(d.mcp.End)
	return nil
}

// listenAdmin makes the endpoint of the operator's socket, and begins to listen there.
func (d *Daemon) listenAdmin(context.Context) error {
	l, err := datadir.Listen(d.cfg.DataDir)
	if err != nil {
		return err
	}
	d.admin = newEndpoint(l, admin.Server{
		DataDir: d.cfg.DataDir, StoreURL: d.cfg.StoreURL, Store: d.store, Keys: d.keys, Invites: d.Invites(), SignIn: d.signIn,
		Credits: d.credits, Deposits: d.deposits, Signing: d.logs.Witnesses,
		Briefs: d.editor, Daemon: d, Now: d.cfg.Now, Logger: d.cfg.Logger,
	}.Handler(), d.cfg.Logger)
	d.admin.server.WriteTimeout = 0 // a refresh may take a minute, a backup longer; only the operator's user is here
	return nil
}
