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

	"golang.org/x/sys/unix"

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
		e.warn("data directory", "contextd serve makes it", "%s is not there yet", e.DataDir)
		return
	case err != nil:
		e.fail("data directory", "let the daemon's user open it", "%v", err)
		return
	case info.Mode().Perm()&0o077 != 0:
		e.fail("data directory", "chmod 700 "+e.DataDir, "%s is open to other users (%04o): it holds keys", e.DataDir, info.Mode().Perm())
	default:
		e.ok("data directory", "%s, for its user alone", e.DataDir)
	}
	e.files()
	conn, err := datadir.Dial(ctx, e.DataDir)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.ECONNREFUSED): // one that was killed leaves its socket
		e.ok("daemon", "none runs on it")
	case err != nil:
		e.warn("daemon", "run it as the daemon's user", "whether one runs on it is not known: %v", err)
	default:
		_ = conn.Close() // nothing was said
		e.ok("daemon", "one runs on it")
	}
}

// files looks at the modes of the files in the data directory.
func (e examiner) files() {
	entries, err := os.ReadDir(e.DataDir)
	if err != nil {
		e.fail("files", "run it as the daemon's user", "%v", err)
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
			e.fail(setting, "make the file, or mend the setting", "%v", err)
		case info.Mode().Perm()&0o007 != 0:
			e.warn(setting, "chmod o= "+path, "%s can be read by other users (%04o)", path, info.Mode().Perm())
		default:
			e.ok(setting, "%s, not for everybody", path)
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
		e.warn("disk", "look at it with df", "%v", err)
		return
	}
	const fix = "free some, or move data_dir: history takes some 100 MB a year for a pack, and a full disk stops the charging of calls"
	switch {
	case free < noBytes:
		e.fail("disk", fix, "%d MB are free", free>>20)
	case free < fewBytes:
		e.warn("disk", fix, "%d MB are free", free>>20)
	default:
		e.ok("disk", "%.1f GB are free", float64(free)/(1<<30))
	}
}

// sources asks every source once, politely, and compares its clock with ours.
func (e examiner) sources(ctx context.Context) {
	clock := &dated{now: e.Now}
	fetcher := source.NewFetcher(source.Config{
		Transport: e.Transport, Answered: clock.note, CoinGeckoKey: e.CoinGeckoKey, PrivateHosts: e.PrivateHosts,
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
			e.ok("source "+s.ID, "switched off")
		case o.Doc == nil && !o.NotModified:
			e.warn("source "+s.ID, sourceFix(o.Class), "%v", o.Err)
		default:
			e.ok("source "+s.ID, "answers in %s", o.Latency.Round(time.Millisecond))
		}
	}
	if skew, known := clock.skew(); known && skew.Abs() > maxSkew {
		e.fail("clock", "set it, for example with systemd-timesyncd or chrony: quotes, sessions and purchases go by it",
			"this machine's clock differs by %s from that of the sources", skew.Round(time.Second))
	} else if known {
		e.ok("clock", "as that of the sources, within %s", max(skew.Abs(), time.Second).Round(time.Second))
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
		return "give it a key (sources.coingecko_key_file, or key_file in its manifest), or switch it off: sources.disabled"
	case source.ClassRegionBlocked:
		return "it does not serve this region: switch it off with sources.disabled"
	case source.ClassRateLimited:
		return "it asks to wait; the daemon does so by itself"
	}
	return "the daemon asks it again by itself; if it stays so, is the network open to it? sources.disabled switches it off"
}

// dated compares the clocks of those who answer with ours.
type dated struct {
	now func() time.Time

	mu    sync.Mutex // guards skews
	skews []time.Duration
}

// note notes the time of an answer.
func (d *dated) note(h http.Header) {
	if at, err := http.ParseTime(h.Get("Date")); err == nil {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.skews = append(d.skews, d.now().Sub(at))
	}
}

// skew is how far our clock is ahead, by the answer in the middle; known is false without an answer.
func (d *dated) skew() (skew time.Duration, known bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.skews) == 0 {
		return 0, false
	}
	slices.Sort(d.skews)
	return d.skews[len(d.skews)/2], true
}

// chains looks at the chains that are paid on.
func (e examiner) chains(ctx context.Context) {
	if len(e.Rails) == 0 {
		e.ok("chain", "none is configured: calls are paid with keys alone")
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
		e.fail(name, "mend the settings "+section+".*", "%v", err)
		return
	}
	defer c.Close()
	err = c.Check(ctx)
	switch {
	case errors.Is(err, chain.ErrNoAnswer):
		e.fail(name, "is "+section+".rpc_url right, and does the node answer? Nothing that arrives meanwhile is lost", "%v", err)
	case err != nil:
		e.fail(name, "mend what it says; payments are refused until then", "%v", err)
	default:
		e.chainFound(ctx, name, cfg, c)
	}
}

// chainFound tells of a chain that is right.
func (e examiner) chainFound(ctx context.Context, name string, cfg chain.Config, c *chain.Client) {
	head, err := c.Head(ctx)
	if err != nil {
		e.warn(name, "ask again", "%v", err)
		return
	}
	e.ok(name, "id %d, token and treasury are right, newest block %d", cfg.ChainID, head.Number)
}

// mail connects to the mail server and signs in, without sending anything.
func (e examiner) mail(ctx context.Context) {
	if e.SMTP == nil {
		e.warn("mail", "to send mail, set smtp.host and smtp.from",
			"no server is configured: sign-in links go into files of %s", filepath.Join(e.DataDir, "outbox"))
		return
	}
	server, err := mail.NewSMTP(*e.SMTP)
	if err == nil {
		err = server.Check(ctx)
	}
	if err != nil {
		e.fail("mail", "mend the settings smtp.*; nobody can sign in by mail until then",
			"%s: %s", e.SMTP.Host, strings.TrimSpace(err.Error()))
		return
	}
	e.ok("mail", "%s takes our mail", e.SMTP.Host)
}
