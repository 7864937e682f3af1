// Package daemon wires contextd together: configuration, the data directory with its lock, store, packs, pipelines, admission
// and the HTTP server, from Open through Run to Close.
//
// It holds no rules: what a key may do, when a state is new and how an error reads is decided in the packages below. It is the
// only package that knows all of them, and asserts here that store and friends fit the interfaces their users declare.
package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/admin"
	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/brief"
	"github.com/contextd/contextd/daemon/chain"
	"github.com/contextd/contextd/daemon/datadir"
	"github.com/contextd/contextd/daemon/feed"
	"github.com/contextd/contextd/daemon/gate"
	"github.com/contextd/contextd/daemon/mail"
	"github.com/contextd/contextd/daemon/mcp"
	"github.com/contextd/contextd/daemon/metrics"
	"github.com/contextd/contextd/daemon/pack"
	"github.com/contextd/contextd/daemon/pipeline"
	"github.com/contextd/contextd/daemon/reader"
	"github.com/contextd/contextd/daemon/source"
	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/daemon/store/history"
	"github.com/contextd/contextd/daemon/web"
	"github.com/contextd/contextd/daemon/x402"
	"github.com/contextd/contextd/internal/devchain"
	"github.com/contextd/contextd/sdk/api"
)

var (
	_ account.Store      = (*store.Store)(nil)
	_ pipeline.Store     = (*history.History)(nil)
	_ reader.History     = (*history.History)(nil)
	_ pipeline.Fetcher   = (*source.Fetcher)(nil)
	_ pipeline.Publisher = (*feed.Feed)(nil)
	_ billing.Store      = (*store.Store)(nil)
	_ billing.Ledger     = (*store.Store)(nil)
	_ gate.Keys          = (*account.Keys)(nil)
	_ gate.Meter         = (*billing.Meter)(nil)
	_ web.Reader         = (*reader.Reader)(nil)
	_ web.Gate           = (*gate.Gate)(nil)
	_ web.Streams        = (*feed.Feed)(nil)
)

// Config says how a daemon runs. The zero value of a field is its default.
type Config struct {
	DataDir string // required
	Listen  string // host:port, or unix:/path; "" means api.DefaultListen; port 0 takes a free one

	Listener net.Listener      // handed over by who started the process, in place of Listen; nil means none. Open takes it over
	TLS      *web.Certificates // nil means plain HTTP; its clock, log and cache are set by Open
	Drain    time.Duration     // at a stop, for which calls are still taken while Ready already fails

	PublicURL      string           // where users reach the daemon; "" means where it listens
	TrustedProxies []netip.Prefix   // whose X-Forwarded-For is believed
	ChainID        int64            // of the chain that pays; 0 means api.ChainIDTest
	Chain          *Chain           // nil means that calls are paid with keys alone
	SMTP           *mail.SMTPConfig // where mail goes out; nil means into files of OutboxDir

	Plans     billing.Plans     // what tiers allow; nil means billing.DefaultPlans
	FreeCalls int               // per key without credits and 24 hours; 0 means api.FreeCallsPerDay
	MaxKeys   int               // active keys per owner; 0 means api.MaxActiveKeys
	Limits    web.ConsoleLimits // of requests to the console
	MCP       MCP

	AdminListen string // address of metrics and profiles; "" means none, port 0 takes a free one
	LogCalls    bool   // a line of the log for every call
	JobsKey     []byte // lets who has it start jobs from outside; nil means nobody

	Packs        []*pack.Pack  // that are served; nil means the crypto pack
	Every        time.Duration // from refresh to refresh; 0 means api.RefreshInterval
	Briefs       Briefs
	Disabled     []string // ids of sources that are switched off
	CoinGeckoKey string   // used after CoinGecko refuses calls without one; "" means none

	Backup     Backup
	Litestream bool // checkpoints are left to Litestream, which follows the write-ahead logs

	Transport http.RoundTripper // to the sources; nil means the real network
	Recording Recording         // recorded sources in place of real ones; nil means none

	Reload func(ctx context.Context) (admin.ReloadResponse, error) // called when the operator asks for it; nil where there are no settings to read
	Now    func() time.Time                                        // nil means time.Now
	Logger *slog.Logger                                            // nil means slog.Default
}

// Recording is recorded source data that is played back; *replay.Recording is one.
type Recording interface {
	http.RoundTripper
	Advance()             // to the next recorded moment
	Shift() time.Duration // from the recorded moment to now
}

// Daemon is a running contextd. Make one with Open, then Run it, then Close it.
type Daemon struct {
	cfg       Config
	lock      *os.File
	store     *store.Store
	history   *history.History
	editor    *brief.Editor
	keys      *account.Keys
	meter     *billing.Meter
	credits   *billing.Credits
	smtp      *mail.SMTP    // nil without a server
	chain     *chain.Client // nil without a chain, as desk
	payments  *x402.Payments
	deposits  *billing.Deposits
	demoChain *devchain.Chain // of a demo alone
	pipelines map[string]*pipeline.Pipeline
	feed      *feed.Feed
	metrics   *metrics.Metrics
	jobs      *Board
	web       *web.Server
	gate      *gate.Gate
	console   *web.Console
	proxies   *web.Proxies
	mcp       *mcp.Server
	tls       *web.TLS     // nil with plain HTTP
	listener  net.Listener // of public
	public    *endpoint
	admin     *endpoint
	watch     *endpoint // of metrics and profiles, nil without an address
	stopping  atomic.Bool
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
	d := &Daemon{cfg: cfg, pipelines: map[string]*pipeline.Pipeline{}, metrics: metrics.New(cfg.Now), jobs: &Board{Now: cfg.Now, Logger: cfg.Logger}}
	for _, step := range []func(context.Context) error{d.openStore, d.openPublic, d.openChain, d.openPacks, d.openEndpoints, d.openWatch} {
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
	if err := d.openDatabases(ctx); err != nil {
		return err
	}
	if d.editor, err = newEditor(ctx, d.cfg, d.store, d.history, d.metrics); err != nil {
		return err
	}
	d.meter = billing.New(billing.Config{Store: d.store, Plans: d.cfg.Plans, FreeCalls: d.cfg.FreeCalls, Booked: d.metrics.Booked, Now: d.cfg.Now})
	d.credits = &billing.Credits{Ledger: d.store, Meter: d.meter, Now: d.cfg.Now}
	d.keys, err = account.OpenKeys(ctx, account.Config{
		Store: d.store, Env: api.EnvOfChain(d.cfg.chainID()), MaxKeys: d.cfg.MaxKeys, WithLock: d.meter.WithLock, Now: d.cfg.Now,
	})
	return err
}

// openPacks restores every pack, so that its newest stored state is served at once.
func (d *Daemon) openPacks(ctx context.Context) error {
	packs, ids := d.cfg.packs(), d.cfg.packIDs()
	d.feed = feed.New(ids...)
	fetch := source.Config{Transport: d.cfg.Transport, CoinGeckoKey: d.cfg.CoinGeckoKey, Now: d.cfg.Now}
	advance := func() {}
	if rec := d.cfg.Recording; rec != nil {
		fetch.Transport, fetch.Shift = rec, rec.Shift
		var started bool // the first refresh plays the moment the recording stands at
		advance = func() {
			if started {
				rec.Advance()
			}
			started = true
		}
	}
	fetcher := source.NewFetcher(fetch)
	for _, p := range packs {
		line, err := pipeline.Open(ctx, pipeline.Config{
			Pack: p, Fetcher: fetcher, Store: d.history, Feed: d.feed, Writers: d.editor.Writers(),
			Every: d.cfg.Every, BriefAt: d.cfg.Briefs.At, TextWithin: d.cfg.Briefs.TextWithin, Disabled: d.cfg.Disabled,
			AlwaysDue: d.cfg.Recording != nil, EveryState: d.cfg.Recording != nil, Before: advance, Observer: d.metrics, Track: d.jobs.Track,
			Now: d.cfg.Now, Logger: d.cfg.Logger,
		})
		if err != nil {
			return err
		}
		d.pipelines[p.ID] = line
	}
	d.addJobs()
	read := reader.New(reader.Config{
		Packs: served(packs), Feed: d.feed, History: d.history, Briefs: d.editor, Now: d.cfg.Now,
		Trouble: func(pack string) []api.SourceStatus { return d.pipelines[pack].Status() },
	})
	public, err := d.publicURL()
	if err != nil {
		return err
	}
	if d.console, err = d.openConsole(ids, public); err != nil {
		return err
	}
	admission := gate.Config{Keys: d.keys, Meter: d.meter, Plans: d.cfg.Plans, Observer: d.metrics}
	if d.payments != nil {
		admission.Payments = d.payments
	}
	d.gate = gate.New(admission)
	server := web.Config{
		Reader: read, Gate: d.gate, Streams: d.feed, Ready: d.Ready, Payers: web.NewPayers(d.proxies, d.cfg.Now), HTTPS: public.Scheme == "https",
		More: d.moreRoutes(d.console), Demo: d.cfg.Recording != nil, Now: d.cfg.Now, Logger: d.cfg.Logger,
	}
	if err := d.openMCP(&server, d.gate, ids, public); err != nil {
		return err
	}
	d.web = web.New(server)
	return nil
}

// packs are those that are served.
func (cfg Config) packs() []*pack.Pack {
	if cfg.Packs == nil {
		return []*pack.Pack{pack.Crypto()}
	}
	return cfg.Packs
}

// packIDs are their ids.
func (cfg Config) packIDs() (ids []string) {
	for _, p := range cfg.packs() {
		ids = append(ids, p.ID)
	}
	return ids
}

// moreRoutes are the routes of the console and of the description, and those for a scheduler outside.
func (d *Daemon) moreRoutes(owners *web.Console) web.Routes {
	routes := owners.Routes()
	maps.Copy(routes, web.DescriptionRoutes())
	if d.cfg.JobsKey != nil {
		maps.Copy(routes, web.HookRoutes(web.HookConfig{Key: d.cfg.JobsKey, Start: d.jobs.Start, Now: d.cfg.Now}))
	}
	return routes
}

// served are packs as the reader knows them.
func served(packs []*pack.Pack) []reader.Pack {
	list := make([]reader.Pack, len(packs))
	for i, p := range packs {
		list[i] = reader.Pack{ID: p.ID, Names: make(map[string]string, len(p.Sources))}
		for _, s := range p.Sources {
			list[i].Names[s.ID] = s.Name
		}
	}
	return list
}

// Check says what would end a start with c, as far as that can be told without starting anything.
func (c Config) Check() error {
	if err := checkSources(c.packs(), c.Disabled); err != nil {
		return err
	}
	if _, unix := web.UnixPath(c.Listen); unix && c.Listener == nil && c.PublicURL == "" {
		return noPublicURL(c.Listen)
	}
	if c.Chain != nil {
		return chain.CheckURL(c.Chain.RPCURL)
	}
	return nil
}

// checkSources reports a switched-off source that no pack has.
func checkSources(packs []*pack.Pack, disabled []string) error {
	known := map[string]bool{}
	for _, p := range packs {
		for _, s := range p.Sources {
			known[s.ID] = true
		}
	}
	for _, id := range disabled {
		if !known[id] {
			return fmt.Errorf("cannot switch off source %q: no pack has it", id)
		}
	}
	return nil
}

// openEndpoints makes the endpoints of the public address and the admin socket.
func (d *Daemon) openEndpoints(context.Context) error {
	var access *slog.Logger
	if d.cfg.LogCalls {
		access = d.cfg.Logger
	}
	d.public = newEndpoint(d.listener, d.metrics.Calls(d.web, access, d.proxies.Client), d.cfg.Logger)
	if d.tls != nil {
		d.public.server.TLSConfig = d.tls.Config
	}
	d.public.server.RegisterOnShutdown(d.web.EndStreams)
	d.public.server.RegisterOnShutdown(d.mcp.End)
	l, err := datadir.Listen(d.cfg.DataDir)
	if err != nil {
		return err
	}
	d.admin = newEndpoint(l, admin.Server{
		DataDir: d.cfg.DataDir, Keys: d.keys, Credits: d.credits, Deposits: d.deposits, Briefs: d.editor, Daemon: d,
		Now: d.cfg.Now, Logger: d.cfg.Logger,
	}.Handler(), d.cfg.Logger)
	d.admin.server.WriteTimeout = 0 // a refresh may take a minute, a backup longer; only the operator's user is here
	return nil
}

// Routes are the methods and paths of the public address, such as "GET /v1/fresh", sorted.
func (d *Daemon) Routes() []string { return d.web.Routes() }

// Keys issues, lists and revokes the daemon's keys.
func (d *Daemon) Keys() *account.Keys { return d.keys }

// Credits moves and reports the credits of the daemon's keys.
func (d *Daemon) Credits() *billing.Credits { return d.credits }

// Ready says why the daemon cannot answer calls now, nil if it can.
func (d *Daemon) Ready(ctx context.Context) error {
	if d.stopping.Load() {
		return errors.New("stopping")
	}
	for id := range d.pipelines {
		if edition, _ := d.feed.Latest(id); edition == nil {
			return fmt.Errorf("pack %s has no state yet", id)
		}
	}
	return errors.Join(d.store.Check(ctx), d.history.Check(ctx))
}

// Refresh refreshes pack now, beside the schedule.
func (d *Daemon) Refresh(ctx context.Context, pack string) error {
	line, err := d.pipeline(pack)
	if err != nil {
		return err
	}
	_, err = line.Refresh(ctx, true)
	return err
}

// Narrate writes a brief of pack now, beside the schedule.
func (d *Daemon) Narrate(ctx context.Context, pack string) error {
	line, err := d.pipeline(pack)
	if err != nil {
		return err
	}
	return line.Narrate(ctx)
}

// pipeline returns that of pack.
func (d *Daemon) pipeline(pack string) (*pipeline.Pipeline, error) {
	line := d.pipelines[pack]
	if line == nil {
		return nil, api.Errorf(api.ReasonPackNotFound, "pack %q is not served here", pack)
	}
	return line, nil
}

// Run answers and refreshes until ctx is done, then stops: no longer ready, no new calls, streams ended, calls under way answered, jobs
// ended, last uses written. It returns why an endpoint failed, nil after a stop that was asked for.
func (d *Daemon) Run(ctx context.Context) error {
	jobs, stopJobs := context.WithCancel(context.WithoutCancel(ctx)) // calls under way may need them
	defer stopJobs()
	var all sync.WaitGroup
	for _, line := range d.pipelines {
		all.Go(func() { line.Run(jobs) })
	}
	d.jobs.Schedule(jobs, &all)
	all.Go(func() { d.mcp.Run(jobs) })
	if d.cfg.Backup.Every > 0 {
		all.Go(func() { d.backUpOnSchedule(jobs) })
	}
	if d.smtp != nil {
		all.Go(func() { d.smtp.Run(jobs) })
	}
	endpoints := d.endpoints()
	failed := make(chan error, len(endpoints))
	for _, e := range endpoints {
		all.Go(func() { failed <- e.serve() })
	}
	d.cfg.Logger.Info("listening", "url", d.URL(), "data_dir", d.cfg.DataDir)
	var err error
	select {
	case <-ctx.Done():
		d.stopping.Store(true)
		select {
		case <-time.After(d.cfg.Drain): // whoever asks Ready sends calls elsewhere by now
		case err = <-failed:
		}
	case err = <-failed:
	}
	d.stopping.Store(true)
	var doors sync.WaitGroup
	for _, e := range endpoints {
		doors.Go(func() { e.stop(context.WithoutCancel(ctx)) })
	}
	doors.Wait()
	stopJobs()
	all.Wait()
	d.jobs.Wait()
	return errors.Join(err, d.keys.Flush(context.WithoutCancel(ctx)))
}

// endpoints are those that are open.
func (d *Daemon) endpoints() []*endpoint {
	list := []*endpoint{d.public, d.admin}
	if d.watch != nil {
		list = append(list, d.watch)
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
	if d.chain != nil {
		d.chain.Close()
	}
	if d.demoChain != nil {
		errs = append(errs, d.demoChain.Close())
	}
	if d.editor != nil {
		d.editor.Close()
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
