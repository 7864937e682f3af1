package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/cmd/contextd/config"
	"github.com/contextd/contextd/cmd/contextd/examine"
	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/admin"
	"github.com/contextd/contextd/daemon/backup"
	"github.com/contextd/contextd/daemon/chain"
	"github.com/contextd/contextd/daemon/metrics"
	"github.com/contextd/contextd/daemon/operate"
	"github.com/contextd/contextd/daemon/web"
	"github.com/contextd/contextd/daemon/x402"
	"github.com/contextd/contextd/internal/build"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/doctor"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk/api"
)

// newDoctor makes the command that looks for what is wrong with an installation.
func newDoctor(s *settings) *cobra.Command {
	c := &cobra.Command{
		Use: "doctor", Short: "Check this installation and suggest fixes", Args: cobra.NoArgs,
		Long: "Check this installation: configuration, file modes, disk space, databases and, unless --offline, sources, clock,\n" +
			"chain, mail server and, where updates.url is set, the newest release. Nothing is changed, and the daemon may\n" +
			"run. Exit code 1 means that something is wrong; warnings do not count.\n\n" +
			"--bundle writes a tar.gz to send to those who help: findings, versions, settings without secrets, counts,\n" +
			"metrics if admin.listen is set, and the end of the log if journald has it. Read it before you send it.\n\n" +
			"--live asks every source once, with those that stand in for it, and prints status, fields, age, limits and what\n" +
			"it announces. A field that is known in no row is named: upstream lacks it, or has it in another form.",
		Example: "  contextd doctor\n  contextd doctor --offline -o json\n  contextd doctor --bundle contextd-doctor.tar.gz\n" +
			"  contextd doctor --live --pack markets --record answers",
	}
	live := c.Flags().Bool("live", false, "ask every source once as the daemon does, and print what each said")
	only := c.Flags().String("pack", "", "with --live, the sources of this pack alone")
	record := c.Flags().String("record", "", "with --live, keep the answers in this `directory`, without secrets")
	file := c.Flags().String("bundle", "", "also write what was found, with settings and metrics but no secrets, to this `file`")
	offline := c.Flags().Bool("offline", false, "ask nothing outside of this machine")
	out := cli.AddOutput(c, cli.FieldsIn(doctor.Finding{})...)
	c.RunE = func(c *cobra.Command, _ []string) error {
		cfg, err := s.Load()
		if err != nil {
			return err
		}
		cfg.DataDir = runningDir(c.Context(), cfg)
		d, err := cfg.Daemon(nil)
		if err != nil {
			return err
		}
		switch {
		case *live:
			return liveSources(c, out, examined(d, nil, false), *only, *record)
		case *only != "" || *record != "":
			return cli.Invalid("--pack and --record go with --live")
		}
		told := findings{list: []doctor.Finding{}}
		if !out.Chosen() {
			told.out = c.OutOrStdout()
		}
		report := doctor.Report(told.add)
		report.OK("configuration", "%s", cmp.Or(cfg.File, "no file: defaults, environment and options"))
		examine.All(c.Context(), examined(d, cfg.SecretFiles(), *offline), report)
		for _, f := range settling(c.Context(), d, *offline) {
			report(f)
		}
		if counts, ok := countsFinding(c.Context(), d.DataDir); ok {
			report(counts)
		}
		if c, err := admin.ConnectionsOf(c.Context(), d.DataDir); err == nil {
			report(connectionsFinding(c))
		}
		if s, err := admin.StatusOf(c.Context(), d.DataDir); err == nil {
			reportWatches(report, s.Watches)
			reportAgents(report, s.Agents)
		}
		report(quotaFinding(cfg))
		if cfg.Updates.URL != "" && !*offline {
			report(newestFinding(c.Context(), cfg.Updates.URL, build.Read().Version))
		}
		if *file != "" {
			b, err := newBundle(c.Context(), cfg, d.DataDir, told.list)
			if err == nil {
				err = b.write(*file, time.Now())
			}
			if err != nil {
				return err
			}
			fmt.Fprintf(c.ErrOrStderr(), "wrote %s: %s; read it before you send it\n", *file, strings.Join(b.names, ", "))
		}
		if out.Chosen() {
			err = out.Print(told.list, table(doctor.Rows(told.list, "check", "outcome", "found", "fix")))
		}
		return errors.Join(err, verdict(told.list))
	}
	return c
}

// settling says how payments are settled: by the daemon that runs or, where none does, what the keys have that are to pay the gas.
func settling(ctx context.Context, d daemon.Config, offline bool) []doctor.Finding {
	standing, err := admin.Settling(ctx, d.DataDir)
	if err == nil {
		return settlingFindings(standing, time.Now())
	}
	if offline {
		return nil
	}
	return gasKeys(ctx, d.Rails())
}

// gasKeys returns a finding for the gas key of each rail whose node answers.
func gasKeys(ctx context.Context, rails []daemon.Chain) (found []doctor.Finding) {
	for _, r := range rails {
		if r.SettleKey == "" {
			continue
		}
		client, err := chain.New(ctx, asked(r))
		if err != nil {
			continue
		}
		sender, err := chain.NewSender(client, r.SettleKey)
		if err != nil {
			found = append(found, doctor.Finding{Check: "gas key " + r.ID, Outcome: doctor.Failure, Found: err.Error(),
				Fix: "correct the key file of " + cmp.Or(r.Section, "chain")})
		} else if has, err := sender.Ready(ctx); err == nil || errors.Is(err, x402.ErrDry) {
			f := gasFinding(x402.Standing{Rail: r.ID, By: sender.Address(), Balance: has.Balance.String(), GasPrice: has.GasPrice.String(),
				Gas: x402.UsualGas})
			if err != nil {
				f.Outcome = doctor.Failure
			}
			found = append(found, f)
		}
		client.Close()
	}
	return found
}

func asked(r daemon.Chain) chain.Config {
	return chain.Config{Rail: r.Rail}
}

// examined is what is looked at of a configuration with the given files of secrets.
func examined(d daemon.Config, secrets map[string]string, offline bool) examine.Config {
	e := examine.Config{
		DataDir: d.DataDir, StoreURL: d.StoreURL, SecretFiles: secrets, SMTP: d.SMTP,
		Charges: d.Charges(), Disabled: d.Disabled, PrivateHosts: d.PrivateHosts, Contact: d.Contact, CoinGecko: d.CoinGecko,
		Transport: d.Transport, Offline: offline, Litestream: d.Litestream,
		Evidence: d.Evidence,
		Backups:  operate.Backups{DataDir: d.DataDir, Dir: d.Backup.Dir, Every: d.Backup.Every},
	}
	for _, p := range d.Packs {
		e.Packs = append(e.Packs, p.Pack)
	}
	for _, a := range d.Alerts {
		e.Journal = backup.AlertJournal
		if a.Hook.URL != "" {
			if e.Hooks == nil {
				e.Hooks = map[string]string{}
			}
			e.Hooks[a.Name] = a.Hook.URL
		}
	}
	for _, r := range d.Rails() {
		e.Rails = append(e.Rails, asked(r))
	}
	return e
}

type findings struct {
	out   io.Writer // where they are printed for people; nil means nowhere
	list  []doctor.Finding
	shown int // of list
}

// add takes one and prints it, for some take a while; but sources with the same trouble are one line. The last of all is of no source.
func (l *findings) add(f doctor.Finding) {
	l.list = append(l.list, f)
	for l.out != nil && l.shown < len(l.list) {
		next, n := l.list[l.shown:], 1
		for n < len(next) && troubled(next[0]) && troubled(next[n]) && next[n].Found == next[0].Found && next[n].Fix == next[0].Fix {
			n++
		}
		if n == len(next) && troubled(f) { // another may follow
			return
		}
		printFindings(l.out, next[:n])
		l.shown += n
	}
}

// troubled reports whether f is of a source that something is wrong with.
func troubled(f doctor.Finding) bool {
	return f.Outcome != doctor.OK && strings.HasPrefix(f.Check, "source ")
}

// printFindings prints findings that say the same for people.
func printFindings(out io.Writer, list []doctor.Finding) {
	mark := map[doctor.Outcome]string{doctor.OK: "ok  ", doctor.Warning: "warn", doctor.Failure: "FAIL"}
	f := list[0]
	if len(list) > 1 {
		var names []string
		for _, f := range list {
			names = append(names, strings.TrimPrefix(f.Check, "source "))
		}
		f.Check, f.Found = human.Plural(len(list), "source"), f.Found+": "+human.List(names, 3)
	}
	fmt.Fprintf(out, "%s  %-28s %s\n", mark[f.Outcome], f.Check, f.Found)
	if f.Fix != "" {
		fmt.Fprintf(out, "      try: %s\n", f.Fix)
	}
}

// verdict is the error for findings among which is a failure.
func verdict(list []doctor.Finding) error {
	if n := doctor.Failures(list); n > 0 {
		return fmt.Errorf("%d checks failed", n)
	}
	return nil
}

const healthTimeout = 5 * time.Second

// newHealthcheck makes the command by which a container or a script learns whether the daemon answers.
func newHealthcheck(s *settings) *cobra.Command {
	c := &cobra.Command{
		Use: "health", Short: "Check that the daemon on this machine answers", Args: cobra.NoArgs,
		Long: "Check that the daemon on this machine answers or, with --ready, that it can answer calls. It prints nothing on\n" +
			"success; otherwise the exit code is 1.",
		Example: "  contextd status health\n  contextd status health --ready",
	}
	ready := c.Flags().Bool("ready", false, "check that it can answer calls")
	listen := c.Flags().String("listen", "", "address to ask (default the one that the daemon on the data directory has)")
	c.RunE = func(c *cobra.Command, _ []string) error {
		cfg, err := s.Load()
		if err != nil {
			return err
		}
		if *listen != "" {
			cfg.Listen = *listen
		} else if at, err := admin.Listening(c.Context(), cfg.DataDir); err == nil { // else it may be of another user
			cfg.Listen = at
			if u, err := url.Parse(at); err == nil && u.Host != "" {
				cfg.Listen = u.Host
			}
		}
		path := api.PathHealth
		if *ready {
			path = api.PathReady
		}
		return healthy(c.Context(), cfg, path)
	}
	return c
}

// healthy asks the daemon that listens where cfg says.
func healthy(ctx context.Context, cfg *config.Config, path string) error {
	if err := web.CheckListen(cfg.Listen); err != nil {
		return cli.Invalid("listen: %w", err)
	}
	network, address := "tcp", cfg.Listen
	if socket, ok := web.UnixPath(cfg.Listen); ok {
		network, address = "unix", socket
	} else if host, port, _ := net.SplitHostPort(cfg.Listen); host == "" || net.ParseIP(host).IsUnspecified() {
		address = net.JoinHostPort("127.0.0.1", port)
	}
	scheme, named := "http", "localhost"
	if cfg.TLS.CertFile != "" {
		scheme = "https"
	}
	if hosts := cfg.TLS.ACME.Hosts; len(hosts) > 0 {
		scheme, named = "https", hosts[0]
	}
	client := http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, address)
		},
		// It is asked on this machine, by an address that the certificate need not name, and hears no secret.
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true, ServerName: named},
	}}
	defer client.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	target := url.URL{Scheme: scheme, Host: named, Path: path}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return err
	}
	res, err := client.Do(r)
	if err != nil {
		if asked, ok := errors.AsType[*url.Error](err); ok { // which names no address
			err = asked.Err
		}
		err = fmt.Errorf("no daemon answers on %s: %w", address, err)
		return &cli.Failure{Exit: cli.ExitFailure, Reason: "unreachable", Err: err, // 1 for a timeout too: containers know no other
			Hint: "contextd serve, or name the running daemon with --data-dir or --listen"}
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		err := fmt.Errorf("the daemon on %s is unhealthy: %s answers %s", address, path, res.Status)
		return &cli.Failure{Exit: cli.ExitFailure, Reason: "unhealthy", Err: err, Hint: "contextd doctor"}
	}
	return nil
}

// newPrint makes the commands that print what other programs read.
func newPrint() *cobra.Command {
	c := &cobra.Command{Use: "print", Short: "Print units, monitoring rules and the API description"}
	printing := func(use, short string, text []byte) *cobra.Command {
		return &cobra.Command{
			Use: use, Short: short, Args: cobra.NoArgs, Example: "  contextd print " + use + " > " + use,
			RunE: func(c *cobra.Command, _ []string) error {
				_, err := c.OutOrStdout().Write(text)
				return err
			},
		}
	}
	return cli.Group(c, newSystemd(), newOpenAPI(), printing("dashboard", "Print a dashboard to import into Grafana", metrics.Dashboard),
		printing("alerts", "Print rules to load into Prometheus", metrics.Alerts))
}
