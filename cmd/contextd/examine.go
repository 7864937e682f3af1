// doctor: what is wrong with an installation: files, clock, sources, chain, mail, disk, databases. It changes nothing, and works whether
// the daemon runs or not.

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/chain"
	"github.com/contextd/contextd/daemon/datadir"
	"github.com/contextd/contextd/daemon/mail"
	"github.com/contextd/contextd/daemon/pack"
	"github.com/contextd/contextd/daemon/source"
)

// outcome is how a check ended.
type outcome string

// The outcomes.
const (
	outcomeOK      outcome = "ok"
	outcomeWarning outcome = "warning"
	outcomeFailure outcome = "error"
)

// finding is what a check found.
type finding struct {
	Check   string  `json:"check"`
	Outcome outcome `json:"outcome"`
	Found   string  `json:"found"`
	Fix     string  `json:"fix"` // what to do; "" where nothing is wrong
}

// examination is what is looked at.
type examination struct {
	DataDir     string
	StoreURL    string            // of a PostgreSQL database; "" means SQLite in DataDir. It may hold a secret
	SecretFiles map[string]string // that only the daemon's user and group should be able to read, by the setting that names them

	Packs        []*pack.Pack // whose sources are asked; none means the crypto pack
	PrivateHosts []string     // that sources may be at
	Disabled     []string
	CoinGeckoKey string
	Transport    http.RoundTripper                 // to the sources; nil means the real network
	Shift        func(source string) time.Duration // from the moment of a recording to now; nil for real sources
	Offline      bool                              // nothing outside is asked

	Rails []chain.Config   // none where nothing is paid on a chain
	SMTP  *mail.SMTPConfig // nil where mail goes into files

	Journal string            // of alerts, in DataDir; "" means that there is none
	Hooks   map[string]string // webhooks of alerts, by the alert; the addresses are secret

	Now func() time.Time // nil means time.Now
}

const (
	fewBytes    = 1 << 30   // free on the disk: a warning
	noBytes     = 100 << 20 // free on the disk: a failure
	maxSkew     = 30 * time.Second
	sourceTime  = 30 * time.Second // for one source
	sourcesOnce = 6                // asked at the same time
)

type examiner struct {
	examination
	tell func(finding)
}

// examineAll makes all checks and tells what each found, as soon as that is known.
func examineAll(ctx context.Context, cfg examination, tell func(finding)) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	e := examiner{cfg, tell}
	e.directory(ctx)
	e.secrets()
	e.disk()
	e.databases(ctx)
	e.logs(ctx)
	e.waiting()
	if cfg.Offline {
		return
	}
	e.sources(ctx)
	e.chains(ctx)
	e.mail(ctx)
	e.hooks(ctx)
}

func (e examiner) ok(check, format string, args ...any) {
	e.tell(finding{Check: check, Outcome: outcomeOK, Found: fmt.Sprintf(format, args...)})
}

func (e examiner) warn(check, fix, format string, args ...any) {
	e.tell(finding{Check: check, Outcome: outcomeWarning, Found: fmt.Sprintf(format, args...), Fix: fix})
}

func (e examiner) fail(check, fix, format string, args ...any) {
	e.tell(finding{Check: check, Outcome: outcomeFailure, Found: fmt.Sprintf(format, args...), Fix: fix})
}

// directory looks at the data directory and whether a daemon runs on it.
func (e examiner) directory(ctx context.Context) {
	info, err := os.Stat(e.DataDir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e.warn("data directory", "contextd serve creates it", "%s does not exist yet", e.DataDir)
		return
	case err != nil:
		e.fail("data directory", "give it to the daemon's user", "%v", err)
		return
	case info.Mode().Perm()&0o077 != 0:
		e.fail("data directory", "chmod 700 "+e.DataDir, "%s is open to other users (%04o): it holds keys", e.DataDir, info.Mode().Perm())
	default:
		e.ok("data directory", "%s, private to its user", e.DataDir)
	}
	e.files()
	switch runs, err := datadir.Runs(ctx, e.DataDir); {
	case err != nil:
		e.warn("daemon", "run this as the daemon's user", "unknown whether it runs: %v", err)
	case runs:
		e.ok("daemon", "running")
	default:
		e.ok("daemon", "not running")
	}
}

// files looks at the modes of the files in the data directory.
func (e examiner) files() {
	entries, err := os.ReadDir(e.DataDir)
	if err != nil {
		e.fail("files", "run this as the daemon's user", "%v", err)
		return
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o077 != 0 {
			e.fail("files", "chmod 600 "+filepath.Join(e.DataDir, entry.Name()),
				"%s is open to other users (%04o)", entry.Name(), info.Mode().Perm())
		}
	}
}

// secrets looks at the files with secrets that the configuration names. They may be for the daemon's group, as contextd init makes them in
// a directory of root.
func (e examiner) secrets() {
	for _, setting := range slices.Sorted(maps.Keys(e.SecretFiles)) {
		path := e.SecretFiles[setting]
		info, err := os.Stat(path)
		switch {
		case err != nil:
			e.fail(setting, "create the file, or correct the setting", "%v", err)
		case info.Mode().Perm()&0o007 != 0:
			e.warn(setting, "chmod o= "+path, "%s is readable by other users (%04o)", path, info.Mode().Perm())
		default:
			e.ok(setting, "%s, not readable by other users", path)
		}
	}
}

// disk looks at the room that is left.
func (e examiner) disk() {
	dir := e.DataDir
	for {
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			break
		}
		dir = filepath.Dir(dir)
	}
	free, err := datadir.Free(dir)
	if err != nil {
		e.warn("disk", "df -h", "%v", err)
		return
	}
	const fix = "free space, or move data_dir: a pack adds about 100 MB of history a year, and a full disk stops paid calls"
	switch {
	case free < noBytes:
		e.fail("disk", fix, "%d MB free", free>>20)
	case free < fewBytes:
		e.warn("disk", fix, "%d MB free", free>>20)
	default:
		e.ok("disk", "%.1f GB free", float64(free)/(1<<30))
	}
}

// sources asks every source once, politely, and compares its clock with ours.
func (e examiner) sources(ctx context.Context) {
	clock := &source.Dates{Now: e.Now}
	fetcher := source.NewFetcher(source.Config{
		Transport: e.Transport, Answered: clock.Note, CoinGeckoKey: e.CoinGeckoKey, PrivateHosts: e.PrivateHosts,
		Shift: e.Shift, Now: e.Now,
	})
	list := e.sourceList()
	outcomes := make([]source.Outcome, len(list))
	places := make(chan struct{}, sourcesOnce)
	var all sync.WaitGroup
	for i, s := range list {
		if slices.Contains(e.Disabled, s.ID) {
			continue
		}
		all.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			ctx, cancel := context.WithTimeout(ctx, sourceTime)
			defer cancel()
			outcomes[i] = fetcher.Fetch(ctx, s.Connector, nil)
		})
	}
	all.Wait()
	for i, s := range list {
		switch o := outcomes[i]; {
		case slices.Contains(e.Disabled, s.ID):
			e.ok("source "+s.ID, "disabled")
		case o.Doc == nil && !o.NotModified:
			e.warn("source "+s.ID, sourceFix(o.Class), "%v", o.Err)
		default:
			e.ok("source "+s.ID, "answers in %s", o.Latency.Round(time.Millisecond))
		}
	}
	if skew, known := clock.Skew(); known && skew.Abs() > maxSkew {
		e.fail("clock", "synchronize it, for example with systemd-timesyncd or chrony: quotes, sessions and purchases depend on it",
			"%s off the clocks of the sources", skew.Round(time.Second))
	} else if known {
		e.ok("clock", "agrees with the sources within %s", max(skew.Abs(), time.Second).Round(time.Second))
	}
}

// sourceList are the sources of all packs.
func (e examiner) sourceList() (list []pack.Source) {
	if len(e.Packs) == 0 {
		return pack.Crypto().Sources
	}
	for _, p := range e.Packs {
		list = append(list, p.Sources...)
	}
	return list
}

func sourceFix(c source.Class) string {
	switch c {
	case source.ClassAuth, source.ClassForbidden:
		return "give a key (sources.coingecko_key_file, or key_file in a manifest), or add the source to sources.disabled"
	case source.ClassRegionBlocked:
		return "this region is not served: add the source to sources.disabled"
	case source.ClassRateLimited:
		return "do nothing: the daemon waits as long as the source asks"
	}
	return "check the network if this lasts, or add the source to sources.disabled; the daemon retries by itself"
}

// chains looks at the chains that are paid on.
func (e examiner) chains(ctx context.Context) {
	if demo, ok := daemon.ReadDemo(e.DataDir); ok && demo.Chain != nil {
		if runs, err := datadir.Runs(ctx, e.DataDir); err == nil && !runs {
			e.ok("chain", "the demo's, which runs while the demo does")
			return
		}
		e.Rails = []chain.Config{
			{URL: demo.Chain.RPCURL, ChainID: demo.Chain.ChainID, Token: demo.Chain.Token, Treasury: demo.Chain.Treasury, Now: e.Now},
		}
	}
	if len(e.Rails) == 0 {
		e.ok("chain", "none configured: only keys pay for calls")
	}
	for _, cfg := range e.Rails {
		name := "chain"
		if len(e.Rails) > 1 {
			name += " " + cfg.Rail
		}
		e.chain(ctx, name, cfg)
	}
}

// chain looks at one.
func (e examiner) chain(ctx context.Context, name string, cfg chain.Config) {
	section := cmp.Or(cfg.Section, "chain")
	c, err := chain.New(ctx, cfg)
	if err != nil {
		e.fail(name, "correct the settings "+section+".*", "%v", err)
		return
	}
	defer c.Close()
	err = c.Check(ctx)
	switch {
	case errors.Is(err, chain.ErrNoAnswer):
		e.fail(name, "check "+section+".rpc_url and its node; payments that arrive meanwhile are not lost", "%v", err)
	case err != nil:
		e.fail(name, "correct this; payments are refused until then", "%v", err)
	default:
		e.chainFound(ctx, name, cfg, c)
	}
}

// chainFound tells of a chain that is right.
func (e examiner) chainFound(ctx context.Context, name string, cfg chain.Config, c *chain.Client) {
	head, err := c.Head(ctx)
	if err != nil {
		e.warn(name, "run doctor again", "%v", err)
		return
	}
	e.ok(name, "chain %d, token and treasury correct, newest block %d", cfg.ChainID, head.Number)
}

// mail connects to the mail server and signs in, without sending anything.
func (e examiner) mail(ctx context.Context) {
	if e.SMTP == nil {
		e.warn("mail", "set smtp.host and smtp.from to send mail",
			"no server configured: sign-in links are saved in %s", filepath.Join(e.DataDir, "outbox"))
		return
	}
	server, err := mail.NewSMTP(*e.SMTP)
	if err == nil {
		err = server.Check(ctx)
	}
	if err != nil {
		e.fail("mail", "correct the settings smtp.*; sign-in by mail fails until then",
			"%s: %s", e.SMTP.Host, strings.TrimSpace(err.Error()))
		return
	}
	e.ok("mail", "%s accepts mail", e.SMTP.Host)
}
