// Package daemon wires contextd together: configuration, the data directory with its lock, store, packs, pipelines, admission
// and the HTTP server, from Open through Run to Close.
//
// It holds no rules: the packages below decide what a key may do, when a state is new and how an error reads. Only this package
// knows all of them, and asserts here that the store and its peers implement the interfaces of their users.
//
// # Words
//
// These words have one meaning everywhere, in code, messages and the handbook:
//
//	source      a service on the network that supplies data, read by one connector
//	pack        a set of sources with the rules that make a state of them, such as crypto
//	state       the data of a pack at one time, made of the answers of its sources; every field states its age
//	brief       a few paragraphs about one state, with every figure checked against it
//	lookup      one request for one of the operations: fresh, brief, search, snapshot, cite, subscribe
//	owner       the holder of keys and credits: somebody who signs in, or the operator
//	key         the credential of a program; it belongs to one owner and has a tier
//	credit      the price of one lookup; credits are on keys, and the keys of an owner share them
//	deposit     an owner's purchase of credits, from the offer until a transfer pays for it or it expires
//	unmatched   a transfer to the treasury that has paid for nothing, until the operator assigns it or writes it off
//	payment     one transfer that pays for one lookup, without a key, by the protocol x402
//	settlement  the use of a transfer for a deposit or a payment: once, in the transaction that delivers the purchase
//
// A pack of credits, such as starter, is what a deposit buys; it has nothing to do with a pack of data.
package daemon

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/admin"
	"github.com/contextd/contextd/daemon/backup"
	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/brief"
	"github.com/contextd/contextd/daemon/cluster"
	"github.com/contextd/contextd/daemon/datadir"
	"github.com/contextd/contextd/daemon/feed"
	"github.com/contextd/contextd/daemon/gate"
	"github.com/contextd/contextd/daemon/mail"
	"github.com/contextd/contextd/daemon/mcp"
	"github.com/contextd/contextd/daemon/metrics"
	"github.com/contextd/contextd/daemon/pipeline"
	"github.com/contextd/contextd/daemon/reader"
	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/daemon/store/database"
	"github.com/contextd/contextd/daemon/store/history"
	"github.com/contextd/contextd/daemon/translog"
	"github.com/contextd/contextd/daemon/web"
	"github.com/contextd/contextd/daemon/x402"
	"github.com/contextd/contextd/internal/alert"
	"github.com/contextd/contextd/internal/build"
	"github.com/contextd/contextd/internal/devchain"
	"github.com/contextd/contextd/sdk/api"
)

var (
	_ account.Store      = (*store.Store)(nil)
	_ pipeline.Store     = (*history.History)(nil)
	_ reader.History     = (*history.History)(nil)
	_ pipeline.Publisher = (*feed.Feed)(nil)
	_ billing.Store      = (*store.Store)(nil)
	_ billing.Ledger     = (*store.Store)(nil)
	_ gate.Keys          = (*account.Keys)(nil)
	_ gate.Meter         = (*billing.Meter)(nil)
	_ web.Reader         = (*reader.Reader)(nil)
	_ web.Gate           = (*gate.Gate)(nil)
	_ web.Streams        = (*feed.Feed)(nil)
	_ web.Sheets         = (*reader.Reader)(nil)
)

// Daemon is a running contextd. Make one with Open, then Run it, then Close it.
type Daemon struct {
	cfg  Config
	jobs *Board

	databases
	node       *cluster.Node
	began      time.Time
	membership *cluster.Membership
	admission
	data
	endpoints

	metrics   *metrics.Metrics
	writable  writable
	demoChain *devchain.Chain // of a demo alone
	stopping  atomic.Bool
}

// databases are the data directory's, which is locked.
type databases struct {
	lock    *os.File
	store   *store.Store
	history *history.History
	proven  *translog.Logs
}

// admission is who may call, and how they pay.
type admission struct {
	keys     *account.Keys
	changes  *cluster.Changes // nil without other nodes
	outage   *cluster.Outage  // nil without other nodes
	signIn   *account.SignIn
	meter    *billing.Meter
	credits  *billing.Credits
	deposits *billing.Deposits
	rails    []*rail        // the first one first; none without a chain
	payments *x402.Payments // nil without a chain
	gate     *gate.Gate
	smtp     *mail.SMTP // nil without a server
	mailer   mailer
}

// data is what makes states and briefs, and keeps the newest at hand.
type data struct {
	packs  *packSet
	feed   *feed.Feed
	reader *reader.Reader
	editor *brief.Editor
	alerts *alert.Teller
}

// endpoints are what is listened on, and what answers there.
type endpoints struct {
	listener net.Listener // of public
	tls      *web.TLS     // nil with plain HTTP
	proxies  *web.Proxies
	web      *web.Server
	console  *web.Console
	page     *web.Page
	mcp      *mcp.Server

	public *endpoint
	admin  *endpoint
	watch  *endpoint // of metrics and profiles, nil without an address
}

// Open takes the data directory, restores what it holds and begins to listen, but does not answer until Run. What it opened is
// closed again if it fails.
func Open(ctx context.Context, cfg Config) (*Daemon, error) {
	if cfg.Listen == "" {
		cfg.Listen = api.DefaultListen
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	if err := cfg.Check(); err != nil { // before anything is opened, and perhaps upgraded
		return nil, err
	}
	d := &Daemon{
		cfg: cfg, metrics: metrics.New(cfg.Now),
	}
	for _, step := range []func(context.Context) error{
		d.openStore, d.openPublic, d.openChain, d.openPacks, d.openAlerts, d.openEndpoints, d.openWatch,
	} {
		if err := step(ctx); err != nil {
			return nil, errors.Join(err, d.Close())
		}
	}
	return d, nil
}

// openStore takes the lock, opens the databases and loads the keys.
func (d *Daemon) openStore(ctx context.Context) error {
	var err error
	if d.lock, err = datadir.Lock(d.cfg.DataDir); err != nil {
		return err
	}
	if d.cfg.Recording == nil {
		if err := refuseDemo(ctx, d.cfg.place()); err != nil {
			return err
		}
	}
	if err := d.openDatabases(ctx); err != nil {
		return err
	}
	d.feed = feed.New()
	d.packs = &packSet{
		cfg: d.cfg, node: d.node, sources: newSources(d.cfg), feed: d.feed, history: d.history, jobs: d.jobs, metrics: d.metrics,
		alerts: d.watchForAlerts,
	}
	if d.editor, err = newEditor(ctx, d.cfg, d.packs.packs, d.store, d.history, d.metrics); err != nil {
		return err
	}
	d.packs.models = d.editor.Models()
	calls := billing.Config{
		Store: d.store, Plans: d.cfg.Plans, FreeCalls: d.cfg.FreeCalls, PerClient: d.cfg.PerClient, Booked: d.metrics.Booked,
		Sells: d.cfg.Chain != nil, Operator: account.OperatorID, Now: d.cfg.Now,
	}
	keys := account.Config{
		Store: d.store, Env: api.EnvOfChain(d.cfg.chainID()), MaxKeys: d.cfg.MaxKeys, Metered: d.cfg.Metered, Now: d.cfg.Now,
	}
	if d.cfg.StoreURL != "" {
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

// openDatabases opens both databases, after a backup if that upgrades one of them.
func (d *Daemon) openDatabases(ctx context.Context) error {
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
	if err := d.joinCluster(ctx); err != nil {
		return err
	}
	d.jobs = &Board{Now: d.cfg.Now, Logger: d.cfg.Logger, Lead: d.node.AsLeader}
	if d.cfg.demo {
		if err := d.history.MarkDemo(ctx); err != nil {
			return err
		}
	}
	if err := d.openLogs(ctx); err != nil {
		return err
	}
	if !d.cfg.Litestream {
		return nil
	}
	return errors.Join(d.store.LeaveLog(ctx), d.history.LeaveLog(ctx))
}

// joinCluster makes the daemon a node, which leads if nobody does.
func (d *Daemon) joinCluster(ctx context.Context) (err error) {
	cfg := cluster.Config{ID: uuid.NewString(), Stopping: d.stopping.Load, Logger: d.cfg.Logger}
	d.began = d.cfg.Now()
	if lease := d.store.Lease(cfg.ID); lease != nil {
		d.history.Use(lease)
		cfg.Lease, cfg.Registry = lease, d.store
	}
	d.node, err = cluster.Join(ctx, cfg)
	return err
}

// openPacks restores every pack, so that its newest stored state is served at once.
func (d *Daemon) openPacks(ctx context.Context) error {
	d.node.Add(leading{d}, nil) // first, so that what is caught up with is read anew
	first, err := d.packs.prepare(ctx, d.cfg.packList(), d.cfg.Disabled)
	if err != nil {
		return err
	}
	d.packs.swap(ctx, first)
	d.packs.finish(first)
	d.membership = &cluster.Membership{
		Node: d.node, URL: cluster.NodeURL(d.URL(), d.listener.Addr()), Version: build.Read().Version, Began: d.began,
		States: d.packs.stateTimes, Now: d.cfg.Now, Logger: d.cfg.Logger,
	}
	d.addJobs()
	d.reader = reader.New(reader.Config{
		Packs: d.packs.readable(), Feed: d.feed, History: d.history, Leaves: d.history, Briefs: d.editor, Now: d.cfg.Now,
		Trouble: d.packs.trouble,
	})
	public, err := d.publicURL()
	if err != nil {
		return err
	}
	if d.console, err = d.openConsole(ctx, public); err != nil {
		return err
	}
	rules := gate.Config{Keys: d.keys, Meter: d.meter, Plans: d.cfg.Plans, Observer: d.metrics}
	if d.payments != nil {
		rules.Payments = d.payments
	}
	d.gate = gate.New(rules)
	d.page = web.NewPage(web.PageConfig{
		Mode: d.cfg.Page, Sheets: d.reader, Streams: d.feed, Console: d.console, Packs: d.packs.info, Ready: d.Ready,
		Sells: d.payments != nil, Demo: d.cfg.Recording != nil, Now: d.cfg.Now, Logger: d.cfg.Logger,
	})
	server := web.Config{
		Reader: d.reader, Proofs: d.reader, Gate: d.gate, Streams: d.feed, Ready: d.Ready, Payers: web.NewPayers(d.proxies, d.cfg.Now),
		HTTPS: public.Scheme == "https", More: d.moreRoutes(d.console), Demo: d.cfg.Recording != nil, Now: d.cfg.Now, Logger: d.cfg.Logger,
		Version: build.Release(), Away: d.outage.Covers,
	}
	server.Standard.HTTPS = server.HTTPS
	if d.cfg.PublicURL != "" {
		server.Standard.PublicURL = public
	}
	if d.payments != nil && len(d.payments.Rails) > 0 {
		server.Standard.Exact, server.Payers.Standard = d.payments, true
	}
	if err := d.openMCP(&server, d.gate, public); err != nil {
		return err
	}
	server.More.Add(web.Discovery{
		PublicURL: public, Packs: d.packs.info, Tools: cmp.Or(d.cfg.MCP.Prefix, mcp.DefaultPrefix), Sells: d.payments != nil,
		Standard: server.Standard.Exact != nil,
	}.Routes())
	d.web = web.New(server)
	return nil
}

// moreRoutes are the routes of the console and of the description, and those for a scheduler outside.
func (d *Daemon) moreRoutes(owners *web.Console) web.Routes {
	routes := owners.Routes()
	routes.Add(web.DescriptionRoutes())
	routes.Add(web.PackRoutes(d.packs.info))
	routes.Add(web.LogRoutes(d.proven, d.proxies, d.cfg.Now))
	routes.Add(d.page.Routes())
	if d.cfg.JobsKey != nil {
		routes.Add(web.HookRoutes(web.HookConfig{Key: d.cfg.JobsKey, Start: d.jobs.Start, Now: d.cfg.Now}))
	}
	return routes
}

// openEndpoints makes the endpoints of the public address and the admin socket.
func (d *Daemon) openEndpoints(context.Context) error {
	var access *slog.Logger
	if d.cfg.LogCalls {
		access = d.cfg.Logger
	}
	calls := d.metrics.Calls(d.web, access, d.proxies.Client, d.keys.Untraced)
	d.public = newEndpoint(d.listener, parting(calls, &d.stopping), d.cfg.Logger)
	if d.tls != nil {
		d.public.server.TLSConfig = d.tls.Config
	}
	d.public.server.RegisterOnShutdown(d.web.EndStreams)
	d.public.server.RegisterOnShutdown(d.page.End)
	d.public.server.RegisterOnShutdown(d.mcp.End)
	l, err := datadir.Listen(d.cfg.DataDir)
	if err != nil {
		return err
	}
	d.admin = newEndpoint(l, admin.Server{
		DataDir: d.cfg.DataDir, StoreURL: d.cfg.StoreURL, Store: d.store, Keys: d.keys, Invites: d.Invites(), SignIn: d.signIn,
		Credits: d.credits, Deposits: d.deposits, Signing: d.proven.Witnesses,
		Briefs: d.editor, Daemon: d, Now: d.cfg.Now, Logger: d.cfg.Logger,
	}.Handler(), d.cfg.Logger)
	d.admin.server.WriteTimeout = 0 // a refresh may take a minute, a backup longer; only the operator's user is here
	return nil
}

// Routes are the methods and paths of the public address, such as "GET /v1/fresh", sorted.
func (d *Daemon) Routes() []string { return d.web.Routes() }

// Keys issues, lists and revokes the daemon's keys.
func (d *Daemon) Keys() *account.Keys { return d.keys }

// Invites makes, lists and revokes invitations to become an owner.
func (d *Daemon) Invites() account.Invites { return account.Invites{Store: d.store, Now: d.cfg.Now} }

// Credits moves and reports the credits of the daemon's keys.
func (d *Daemon) Credits() *billing.Credits { return d.credits }

// Refresh refreshes pack now, beside the schedule.
func (d *Daemon) Refresh(ctx context.Context, pack string) error {
	return d.packs.refresh(ctx, pack, true)
}

// Narrate writes a brief of pack now, beside the schedule.
func (d *Daemon) Narrate(ctx context.Context, pack string) error { return d.packs.narrate(ctx, pack) }

// Run answers and refreshes until ctx is done, then stops: no longer ready, no new calls, streams ended, calls under way answered, jobs
// ended, last uses written. It returns why an endpoint failed, nil after a stop that was asked for.
func (d *Daemon) Run(ctx context.Context) error {
	jobs, stopJobs := context.WithCancel(context.WithoutCancel(ctx)) // calls under way may need them
	defer stopJobs()
	var all sync.WaitGroup
	d.packs.run(d.mcp.Tell, d.page.Follow)
	d.jobs.Schedule(jobs, &all, true)
	all.Go(func() { d.node.Run(jobs, ctx.Done()) })
	all.Go(func() { d.changes.Run(jobs) })
	all.Go(func() { d.membership.Run(jobs) })
	all.Go(func() { d.mcp.Run(jobs) })
	if d.cfg.StoreURL != "" {
		notified := cluster.Listener{
			Listen: func(ctx context.Context, notified func(string)) error {
				return database.Listen(ctx, d.cfg.StoreURL, notified)
			},
			Owners: d.changes.Notify, States: d.packs.follow, Logger: d.cfg.Logger,
		}
		all.Go(func() { notified.Run(jobs) })
	}
	if d.smtp != nil {
		all.Go(func() { d.smtp.Run(jobs) })
	}
	open := d.open()
	failed := make(chan error, len(open))
	for _, e := range open {
		all.Go(func() { failed <- e.serve() })
	}
	d.cfg.Logger.Info("listening", "url", d.URL(), "data_dir", d.cfg.DataDir)
	var err error
	select {
	case <-ctx.Done():
		d.stopping.Store(true)
		select {
		case <-time.After(d.cfg.Drain): // load balancers send calls elsewhere by now
		case err = <-failed:
		}
	case err = <-failed:
	}
	d.stopping.Store(true)
	var stops sync.WaitGroup
	for _, e := range open {
		stops.Go(func() { e.stop(context.WithoutCancel(ctx), max(drainTimeout, d.cfg.Drain)) })
	}
	stops.Wait()
	stopJobs()
	d.packs.end()
	all.Wait()
	d.jobs.Wait()
	err = errors.Join(err, d.keys.Flush(context.WithoutCancel(ctx)))
	d.node.Leave()
	return err
}

// open are the endpoints that there are.
func (e *endpoints) open() []*endpoint {
	list := []*endpoint{e.public, e.admin}
	if e.watch != nil {
		list = append(list, e.watch)
	}
	return list
}

// Close frees what Open took. It is for after Run, or instead of it.
func (d *Daemon) Close() error {
	var errs []error
	listeners := []net.Listener{d.listener}
	for _, e := range []*endpoint{d.admin, d.watch} {
		if e != nil {
			listeners = append(listeners, e.listener)
		}
	}
	for _, l := range listeners {
		if l != nil {
			if err := l.Close(); !errors.Is(err, net.ErrClosed) {
				errs = append(errs, err)
			}
		}
	}
	if d.node != nil {
		d.node.Leave() // where Run has not
	}
	for _, r := range d.rails {
		r.client.Close()
	}
	if d.demoChain != nil {
		errs = append(errs, d.demoChain.Close())
	}
	if d.editor != nil {
		d.editor.Close()
	}
	if d.alerts != nil {
		errs = append(errs, d.alerts.Close())
	}
	if d.history != nil {
		errs = append(errs, d.history.Close())
	}
	if d.store != nil {
		errs = append(errs, d.store.Close())
	}
	if d.lock != nil {
		errs = append(errs, d.lock.Close())
	}
	return errors.Join(errs...)
}
