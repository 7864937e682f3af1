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
//	session     the time in which somebody is signed in, or an MCP client connected
//	job         what the daemon does now and then, such as prune; the scheduler runs it, never twice at once
//	node        a daemon among those on one database
//	lease       the right to lead, a row of the database that its holder renews each second; a term lasts until it is lost
//	role        what a node is: the leader, which alone asks sources, writes states and runs most jobs, or a follower
//	listener    who is notified: of a new state, or of what another node has changed
//	lock        what one holder has at a time: a data directory, the keys of an owner, a rail while a transaction is sent
//
// A pack of credits, such as starter, is what a deposit buys; it has nothing to do with a pack of data.
package daemon

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/admin"
	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/brief"
	"github.com/contextd/contextd/daemon/cluster"
	"github.com/contextd/contextd/daemon/datadir"
	"github.com/contextd/contextd/daemon/demo"
	"github.com/contextd/contextd/daemon/evidence"
	"github.com/contextd/contextd/daemon/feed"
	"github.com/contextd/contextd/daemon/gate"
	"github.com/contextd/contextd/daemon/mail"
	"github.com/contextd/contextd/daemon/mcp"
	"github.com/contextd/contextd/daemon/metrics"
	"github.com/contextd/contextd/daemon/oauth"
	"github.com/contextd/contextd/daemon/operate"
	"github.com/contextd/contextd/daemon/reader"
	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/daemon/store/database"
	"github.com/contextd/contextd/daemon/store/history"
	"github.com/contextd/contextd/daemon/translog"
	"github.com/contextd/contextd/daemon/watch"
	"github.com/contextd/contextd/daemon/web"
	"github.com/contextd/contextd/daemon/x402"
	"github.com/contextd/contextd/internal/skills"
	"github.com/contextd/contextd/sdk/api"
)

// Daemon is a running contextd. Make one with Open, then Run it, then Close it.
type Daemon struct {
	cfg      Config
	metrics  *metrics.Metrics
	started  time.Time
	stopping atomic.Bool

	lock    *datadir.Held
	store   *store.Store
	history *history.History
	secrets secrets
	logs    *translog.Logs

	evidence *evidence.Store // nil where none is kept

	node       *cluster.Node
	membership *cluster.Membership
	changes    *cluster.Changes // nil without other nodes
	outage     *cluster.Outage  // nil without other nodes
	chainFails chainFailures

	keys     *account.Keys
	meter    *billing.Meter
	credits  *billing.Credits
	signIn   *account.SignIn
	deposits *billing.Deposits
	rails    []*rail        // the first one first; none without a chain
	payments *x402.Payments // nil without a chain
	gate     *gate.Gate
	tokens   *account.Tokens
	agents   *oauth.Server // nil where none sign in

	feed    *feed.Feed
	served  *servedPacks
	packs   *packSet // that changes served
	editor  *brief.Editor
	reader  *reader.Reader
	watches *watch.Service
	skills  []skills.Skill // as they are served

	jobs    *operate.Scheduler
	backups operate.Backups
	alerts  *operate.Alerts
	health  *operate.Health
	mailer  mailer
	smtp    *mail.SMTP // nil without a server

	listener  net.Listener // of the public address
	proxies   *web.Proxies
	tls       *web.TLS // nil with plain HTTP
	publicURL *url.URL // at which users reach the daemon
	payers    *web.Payers
	crowd     *web.Crowd
	standard  web.Standard
	signers   []string // addresses of the keys of offers and receipts, the one that signs first
	console   *web.Console
	page      *web.Page
	mcp       *mcp.Server
	web       *web.Server

	public      *endpoint
	connections *web.Connections // of public
	admin       *endpoint
	watch       *endpoint // of metrics and profiles, nil without an address

	demo *demo.Demo // nil for real data
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
	d := &Daemon{cfg: cfg, started: cfg.Now(), metrics: metrics.New(cfg.Now), feed: feed.New(), served: &servedPacks{}}
	for _, step := range []func(context.Context) error{ // each needs what those before it have made
		d.lockDirectory, d.listenPublic, d.openDatabases, d.joinCluster, d.openLogs, d.openEvidence, d.openKeys,
		d.openMail, d.openSignIn, d.openChain,
		d.openScheduler, d.openAlerts, d.assignLeader, d.openEditor, d.servePacks, d.openMembership, d.addJobs,
		d.openReader, d.openGate, d.openWatches, d.openHealth, d.openConsole, d.openPage, d.openAgents, d.openMCP, d.openHTTP,
		d.openPublic, d.listenAdmin, d.listenMetrics,
	} {
		if err := step(ctx); err != nil {
			return nil, errors.Join(err, d.Close())
		}
	}
	return d, nil
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
	return d.packs.refresh(ctx, pack)
}

// Narrate writes a brief of pack now, beside the schedule.
func (d *Daemon) Narrate(ctx context.Context, pack string) error { return d.packs.narrate(ctx, pack) }

// PacksWithoutState are the ids of the packs that have no state yet, in the order of the configuration.
func (d *Daemon) PacksWithoutState() []string {
	return slices.DeleteFunc(d.served.ids(), d.packs.hasState)
}

// Jobs says how the daemon's jobs stand.
func (d *Daemon) Jobs() (list []admin.Job) {
	for _, j := range d.jobs.List() {
		list = append(list, admin.Job(j))
	}
	return list
}

// RunJob runs a job now, beside the schedule, and returns when it has ended.
func (d *Daemon) RunJob(ctx context.Context, name string) error { return d.jobs.Run(ctx, name) }

// BackUp makes a backup now, beside the schedule.
func (d *Daemon) BackUp(ctx context.Context) error { return d.backups.Make(ctx) }

// Ready says why the daemon cannot answer calls now, nil if it can.
func (d *Daemon) Ready(ctx context.Context) error { return d.health.Ready(ctx) }

// Alive says why the daemon cannot work, nil if it can.
func (d *Daemon) Alive(ctx context.Context) error { return d.health.Alive(ctx) }

// Cluster says how the nodes stand, of which this one is self.
func (d *Daemon) Cluster(ctx context.Context) (c store.Cluster, self string, err error) {
	return d.membership.Cluster(ctx)
}

// Run answers and refreshes until ctx is done, then stops: no longer ready, no new calls, streams ended, calls under way answered, jobs
// ended, last uses written. It returns why an endpoint failed, nil after a stop that was asked for.
func (d *Daemon) Run(ctx context.Context) error {
	jobs, stopJobs := context.WithCancel(context.WithoutCancel(ctx)) // calls under way may need them
	defer stopJobs()
	var all sync.WaitGroup
	d.packs.run(d.mcp.Notify, d.page.Follow)
	d.jobs.Schedule(jobs, &all, true)
	all.Go(func() { d.node.Run(jobs, ctx.Done()) })
	all.Go(func() { d.changes.Run(jobs) })
	all.Go(func() { d.membership.Run(jobs) })
	all.Go(func() { d.mcp.Run(jobs) })
	if d.cfg.StoreURL != "" {
		others := cluster.Listener{
			Listen: func(ctx context.Context, notified func(string)) error {
				return database.Listen(ctx, d.cfg.StoreURL, notified)
			},
			Owners: d.changes.Notify, States: d.packs.follow, Logger: d.cfg.Logger,
		}
		all.Go(func() { others.Run(jobs) })
	}
	if d.smtp != nil {
		all.Go(func() { d.smtp.Run(jobs) })
	}
	open := []*endpoint{d.public, d.admin}
	if d.watch != nil {
		open = append(open, d.watch)
	}
	failed := make(chan error, len(open))
	for _, e := range open {
		all.Go(func() { failed <- e.serve() })
	}
	d.tellSources()
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
	if d.evidence != nil {
		d.evidence.Close()
	}
	if d.demo != nil {
		errs = append(errs, d.demo.Close())
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
