package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/cmd/contextd/config"
	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/demo"
	"github.com/contextd/contextd/daemon/evidence"
	"github.com/contextd/contextd/daemon/operate"
	"github.com/contextd/contextd/daemon/pack"
	"github.com/contextd/contextd/daemon/pack/manifest"
	"github.com/contextd/contextd/daemon/source"
	"github.com/contextd/contextd/daemon/web"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/sdk/api"
)

type demoOptions struct {
	listen, chainListen string
	storeURL            string
	refresh             time.Duration
	history, sparse     time.Duration // how far the past goes back, and from state to state in it
	once, ui            bool
	packs               []string
	mcp                 daemon.MCP
	alerts              []operate.Alert
	progress            *cli.Progress
}

// newDemo makes the command that runs everything on a synthetic market.
func newDemo(s *settings) *cobra.Command {
	var o demoOptions
	c := &cobra.Command{
		Use: "demo", Short: "Run everything on this machine, on a synthetic market", Args: cobra.NoArgs,
		Long: "Run everything on this machine: a synthetic market that moves every few seconds through the real connectors,\n" +
			"the built-in brief writer, a day of history, a chain with test money, and a key. It prints commands to try.\n" +
			"With --once, it shows a complete tour and exits.\n\n" +
			"Without --data-dir, it uses a temporary directory. From a file named by --config or CONTEXTD_CONFIG it takes\n" +
			"only the settings mcp and alerts.",
		Example: "  contextd demo\n  contextd demo --once\n  contextd demo --listen 127.0.0.1:0 --data-dir ./demo",
	}
	f := c.Flags()
	f.StringVar(&o.listen, "listen", api.DefaultListen, "address to serve on; port 0 takes a free one (as --once does by default)")
	f.StringVar(&o.chainListen, "chain-listen", "127.0.0.1:8545",
		"address of the embedded chain; a free port if it is taken, or if --listen takes one")
	f.DurationVar(&o.refresh, "refresh", 15*time.Second, "time from one state to the next")
	f.DurationVar(&o.history, "history", 24*time.Hour, "how far the past of a new demo goes back")
	all := append([]string{api.PackCrypto}, manifest.Shipped()...)
	f.StringSliceVar(&o.packs, "packs", all, "comma-separated `names` of the packs to serve; crypto is always included")
	cli.CompleteValues(c, "packs", all...)
	f.BoolVar(&o.once, "once", false, "show a complete tour and exit")
	f.BoolVar(&o.ui, "ui", false, "show the terminal UI, which ends the demo when you leave it")
	f.StringVar(&o.storeURL, "store-url", "",
		"`URL` of a PostgreSQL database for books and history; CONTEXTD_STORE_URL keeps a password from other users")
	c.RunE = func(c *cobra.Command, _ []string) error {
		o.storeURL = cmp.Or(o.storeURL, os.Getenv("CONTEXTD_STORE_URL"))
		dir, _ := c.Flags().GetString("data-dir")
		if err := o.check(dir); err != nil {
			return err
		}
		if o.once && !c.Flags().Changed("listen") {
			o.listen = "127.0.0.1:0"
		}
		if !c.Flags().Changed("chain-listen") {
			o.chainListen = chainAddress(o.listen)
		}
		if !o.once {
			o.sparse = 15 * time.Minute
		}
		if o.once && !c.Flags().Changed("refresh") {
			o.refresh = time.Hour // the tour refreshes when it comes to that
		}
		level := slog.LevelWarn
		if named := c.Flags().Changed("config") || os.Getenv("CONTEXTD_CONFIG") != ""; named || c.Flags().Changed("log-level") {
			cfg, err := s.Load()
			if err != nil {
				return err
			}
			if c.Flags().Changed("log-level") {
				level, _ = cfg.Level() // read has checked it
			}
			if named {
				o.mcp = cfg.MCP
				if o.alerts, err = cfg.AlertRules(); err != nil {
					return err
				}
			}
		}
		format := "text"
		if cli.IsTerminal(c.ErrOrStderr()) {
			format = "auto"
		}
		o.progress, _ = c.ErrOrStderr().(*cli.Progress)
		to := c.ErrOrStderr()
		if o.ui {
			to, format = io.Discard, "text" // the screen is the UI's; what fails shows there, and in contextd doctor
		}
		return o.run(c.Context(), c.OutOrStdout(), dir, newLogger(to, format, level))
	}
	return c
}

// chainAddress is where the chain listens unless told otherwise: at the usual port, if that is free and listen names a port too.
func chainAddress(listen string) string {
	const usual, free = "127.0.0.1:8545", "127.0.0.1:0"
	if _, port, err := net.SplitHostPort(listen); err == nil && port == "0" {
		return free
	}
	l, err := net.Listen("tcp", usual)
	if err != nil {
		return free
	}
	_ = l.Close() // nothing was accepted on it
	return usual
}

// check reports what is wrong with the flags.
func (o demoOptions) check(dir string) error {
	if o.storeURL != "" && dir == "" { // the chain there is that of the books
		return cli.Invalid("the books of a demo on PostgreSQL need its chain at every start").WithHint("--data-dir")
	}
	if o.once && o.ui {
		return cli.Invalid("--once and --ui exclude each other")
	}
	if o.history < time.Hour || o.history > 24*time.Hour {
		return cli.Invalid("--history is %s; give 1h to 24h", o.history)
	}
	if o.refresh < 100*time.Millisecond {
		return cli.Invalid("--refresh is %s; give at least 100ms", o.refresh)
	}
	for flag, addr := range map[string]string{"--listen": o.listen, "--chain-listen": o.chainListen} {
		if _, _, err := net.SplitHostPort(addr); err != nil {
			return cli.Invalid("%s is %q, not host:port", flag, addr)
		}
	}
	return nil
}

// run runs the demo in dir, "" for a directory that is removed at the end.
func (o demoOptions) run(ctx context.Context, out io.Writer, dir string, log *slog.Logger) (err error) {
	began := time.Now()
	place := dir
	if dir == "" {
		if dir, err = os.MkdirTemp("", "contextd-demo-"); err != nil {
			return fmt.Errorf("make demo directory: %w", err)
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
		place = dir + " (removed at the end)"
	}
	packs, err := config.Packs{Enabled: o.packs}.Load(source.CoinGecko{}, pack.Terms{})
	if err != nil {
		return fmt.Errorf("--packs: %w", err)
	}
	kept := evidence.DefaultBounds()
	making := o.progress.Begin("Starting")
	d, info, err := daemon.OpenDemo(ctx, daemon.Config{
		DataDir: dir, StoreURL: o.storeURL, Serve: daemon.Serve{Listen: o.listen, Page: web.PagePublic, MCP: o.mcp,
			Watches: daemon.Watches{HTTPLoopback: true}, OAuth: daemon.OAuth{Enabled: true}},
		Data:    daemon.Data{Every: o.refresh, Evidence: &kept},
		Operate: daemon.Operate{AdminListen: "127.0.0.1:0"}, Logger: log,
		Reloadable: daemon.Reloadable{Packs: packs, Alerts: o.alerts},
	}, demo.Play{ChainListen: o.chainListen, History: o.history, Sparse: o.sparse, Progress: func(made, total int) {
		making.Printf("Making a day of history: %d of %d states", made, total)
	}})
	making.Done()
	if err != nil {
		return err
	}
	if o.once {
		return walk(ctx, out, d, info)
	}
	withdraw, err := cli.Announce(os.LookupEnv, cli.Running{BaseURL: info.BaseURL, APIKey: info.APIKey, Demo: true, DataDir: dir})
	if err != nil {
		log.Warn("ctx does not find this demo by itself", "error", err)
	} else {
		defer func() { err = errors.Join(err, withdraw()) }()
	}
	if o.ui {
		return watch(ctx, d, info)
	}
	fmt.Fprintf(out, "contextd demo is ready after %.1f s. It plays a synthetic market: no price here is real.\n\n"+
		"  page     %s/\n  address  %s\n  metrics  %s/metrics\n  key      %s\n  data     %s\n  mail     %s\n  scripts  %s\n\n"+
		"In another terminal:\n\n",
		time.Since(began).Seconds(), info.BaseURL, info.BaseURL, info.AdminURL, info.APIKey,
		place, info.Outbox, filepath.Join(dir, demo.File))
	for _, line := range commands(info, ctxCommand()) {
		fmt.Fprintln(out, "  "+line)
	}
	fmt.Fprintf(out, "\nctx finds this demo without the two lines that begin with export; curl and others need them. Watch it: %s ui\n",
		ctxCommand())
	fmt.Fprintf(out, "A new state every %s. Ctrl-C ends it.\n", o.refresh)
	return run(ctx, d)
}

// watch runs d for as long as the user watches it in the terminal UI.
func watch(ctx context.Context, d *daemon.Daemon, info demo.Info) error {
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, d) }()
	words := append(strings.Fields(ctxCommand()), "ui")
	if self, err := os.Executable(); err == nil && words[0] == "ctx" {
		if beside, err := exec.LookPath(filepath.Join(filepath.Dir(self), "ctx")); err == nil {
			words[0] = beside // of the same release
		}
	}
	c := exec.Command(words[0], words[1:]...)
	c.Env = append(os.Environ(), "CTX_BASE_URL="+info.BaseURL, "CTX_API_KEY="+info.APIKey)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := c.Run()
	if errors.Is(err, exec.ErrNotFound) {
		err = cli.Invalid("there is no ctx in PATH or beside this program").WithHint("install ctx, or leave --ui out")
	}
	stop()
	return errors.Join(err, <-ended)
}

// walk runs d for as long as the tour takes and closes it.
func walk(ctx context.Context, out io.Writer, d *daemon.Daemon, info demo.Info) error {
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, d) }()
	err := takeTour(ctx, out, tourOf(d, info))
	stop()
	return errors.Join(err, <-ended)
}

func tourOf(d *daemon.Daemon, info demo.Info) tourConfig {
	cfg := tourConfig{
		BaseURL: info.BaseURL, APIKey: info.APIKey, Outbox: info.Outbox,
		Books: d.Credits(), Refresh: d.Refresh, Now: time.Now,
	}
	if info.Chain != nil {
		cfg.Money = &tourMoney{
			RPCURL: info.Chain.RPCURL, ChainID: info.Chain.ChainID, Token: info.Chain.Token, PrivateKey: info.Wallet.PrivateKey,
			Dir: filepath.Join(filepath.Dir(info.Outbox), "wallet"),
		}
	}
	return cfg
}

// commands are lines to paste into another terminal. The key stays out of command lines, which other users can see.
func commands(info demo.Info, ctx string) []string {
	lines := []string{
		"export CTX_BASE_URL=" + info.BaseURL,
		"export CTX_API_KEY=" + info.APIKey,
		ctx + " state",
		ctx + " brief",
		ctx + " ask 'btc price' 'tether supply'",
		ctx + " ask --price btc eth sol",
		ctx + " ask --text bitcoin",
		ctx + " cite 1",
		ctx + " state --at 20m",
		ctx + " mcp install claude-code --dry-run",
		ctx + " state --json top_movers --jq '.top_movers[0].priceUsd'",
		`printf 'Authorization: Bearer %s' "$CTX_API_KEY" | curl -s -H @- $CTX_BASE_URL/v1/brief`,
		ctx + " login --email you@example.com --no-wait",
		"grep -h token= '" + info.Outbox + "'/*.eml | tail -n 1 | " + ctx + " login --code-stdin",
		ctx + " keys create my-agent",
		ctx + " credits balance",
	}
	if info.Chain == nil {
		return lines
	}
	return append(lines,
		fmt.Sprintf("export CTX_RPC_URL=%s CTX_CHAIN_ID=%d CTX_TOKEN=%s", info.Chain.RPCURL, info.Chain.ChainID, info.Chain.Token),
		"export CTX_WALLET_PRIVATE_KEY="+info.Wallet.PrivateKey+" # test money",
		ctx+" ask --text bitcoin --pay")
}

// ctxCommand is how the client is called from where this program was: by the Go tool where that built it just now.
func ctxCommand() string {
	if self, err := os.Executable(); err == nil && strings.Contains(self, "go-build") {
		return "go run ./cmd/ctx"
	}
	return "ctx"
}
