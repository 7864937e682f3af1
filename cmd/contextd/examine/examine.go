// Package examine finds what is wrong with an installation: files, clock, sources, chain, mail, disk, databases, logs and alerts. It
// changes nothing, and works whether the daemon runs or not. It is a package of its own as the commands only list what it finds.
package examine

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/contextd/contextd/daemon/admin"
	"github.com/contextd/contextd/daemon/backup"
	"github.com/contextd/contextd/daemon/chain"
	"github.com/contextd/contextd/daemon/datadir"
	"github.com/contextd/contextd/daemon/demo"
	"github.com/contextd/contextd/daemon/evidence"
	"github.com/contextd/contextd/daemon/mail"
	"github.com/contextd/contextd/daemon/operate"
	"github.com/contextd/contextd/daemon/pack"
	"github.com/contextd/contextd/daemon/source"
	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/daemon/store/database"
	"github.com/contextd/contextd/daemon/store/history"
	"github.com/contextd/contextd/daemon/translog"
	"github.com/contextd/contextd/daemon/x402"
	"github.com/contextd/contextd/internal/alert"
	"github.com/contextd/contextd/internal/doctor"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk/api"
)

// Config is what is looked at.
type Config struct {
	DataDir     string
	StoreURL    string            // of a PostgreSQL database; "" means SQLite in DataDir. It may hold a secret
	SecretFiles map[string]string // that only the daemon's user and group should be able to read, by the setting that names them

	Packs        []*pack.Pack // whose sources are asked; none means the crypto pack
	PrivateHosts []string     // that sources may be at
	Charges      bool         // calls are paid
	Disabled     []string
	Contact      string                            // e-mail address for the sources that want one
	CoinGecko    source.CoinGecko                  // the account there
	Transport    http.RoundTripper                 // to the sources; nil means the real network
	Shift        func(source string) time.Duration // from the moment of a recording to now; nil for real sources
	Offline      bool                              // nothing outside is asked

	Rails []chain.Config   // none where nothing is paid on a chain
	SMTP  *mail.SMTPConfig // nil where mail goes into files

	Backups    operate.Backups // that the daemon makes
	Litestream bool            // it does in their place

	Evidence *evidence.Bounds // of what sources answered; nil where nothing is kept

	Journal string            // of alerts, in DataDir; "" means that there is none
	Hooks   map[string]string // webhooks of alerts, by the alert; the addresses are secret

	Now func() time.Time // nil means time.Now
}

const (
	fewBytes    = 1 << 30   // free on the disk: a warning
	noBytes     = 100 << 20 // free on the disk: a failure
	maxSkew     = 30 * time.Second
	sourceTime  = time.Minute // for one source, with those that stand in for it
	sourcesOnce = 6           // asked at the same time
)

type examiner struct {
	Config
	doctor.Report
}

// All makes all checks and reports what each found, as soon as that is known.
func All(ctx context.Context, cfg Config, report doctor.Report) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	e := examiner{cfg, report}
	e.directory(ctx)
	e.secrets()
	e.disk()
	e.databases(ctx)
	e.backups()
	e.logs(ctx)
	if e.Evidence != nil {
		e.evidence(ctx)
	}
	e.waiting()
	e.sold()
	if cfg.Offline {
		return
	}
	e.sources(ctx)
	e.chains(ctx)
	e.mail(ctx)
	e.hooks(ctx)
}

// directory looks at the data directory and whether a daemon runs on it.
func (e examiner) directory(ctx context.Context) {
	info, err := os.Stat(e.DataDir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e.Warn("data directory", "contextd serve creates it", "%s does not exist yet", e.DataDir)
		return
	case err != nil:
		e.Fail("data directory", "give it to the daemon's user", "%v", err)
		return
	case info.Mode().Perm()&0o077 != 0:
		e.Fail("data directory", "chmod 700 "+e.DataDir, "%s is open to other users (%04o): it holds keys", e.DataDir, info.Mode().Perm())
	default:
		e.OK("data directory", "%s, private to its user", e.DataDir)
	}
	e.files()
	switch runs, err := datadir.Runs(ctx, e.DataDir); {
	case err != nil:
		e.Warn("daemon", "run this as the daemon's user", "unknown whether it runs: %v", err)
	case runs:
		e.running(ctx)
	default:
		e.OK("daemon", "not running")
	}
}

// running asks the daemon that runs whether it works.
func (e examiner) running(ctx context.Context) {
	err := admin.Alive(ctx, e.DataDir)
	if err == nil {
		e.OK("daemon", "running")
		return
	}
	e.Fail("daemon", "contextd help operate, under Data", "runs, and answers nothing that has to be written: %s", api.AsError(err).Message)
}

// files looks at the modes of the files in the data directory.
func (e examiner) files() {
	entries, err := os.ReadDir(e.DataDir)
	if err != nil {
		e.Fail("files", "run this as the daemon's user", "%v", err)
		return
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o077 != 0 {
			e.Fail("files", "chmod 600 "+filepath.Join(e.DataDir, entry.Name()),
				"%s is open to other users (%04o)", entry.Name(), info.Mode().Perm())
		}
	}
}

// secrets looks at the files with secrets that the configuration names. They may be for the daemon's group, as contextd config init makes
// them in a directory of root.
func (e examiner) secrets() {
	for _, setting := range slices.Sorted(maps.Keys(e.SecretFiles)) {
		path := e.SecretFiles[setting]
		info, err := os.Stat(path)
		switch {
		case err != nil:
			e.Fail(setting, "create the file, or correct the setting", "%v", err)
		case info.Mode().Perm()&0o007 != 0:
			e.Warn(setting, "chmod o= "+path, "%s is readable by other users (%04o)", path, info.Mode().Perm())
		default:
			e.OK(setting, "%s, not readable by other users", path)
		}
	}
}

// disk looks at the room that is left.
func (e examiner) disk() {
	free, err := datadir.Free(e.DataDir)
	if err != nil {
		e.Warn("disk", "df -h", "%v", err)
		return
	}
	const fix = "free space, or move data_dir: a pack adds about 100 MB of history a year, and a full disk stops paid calls"
	switch {
	case free < noBytes:
		e.Fail("disk", fix, "%d MB free", free>>20)
	case free < fewBytes:
		e.Warn("disk", fix, "%d MB free", free>>20)
	default:
		e.OK("disk", "%.1f GB free", float64(free)/(1<<30))
	}
}

// sources asks every source once, politely, and compares its clock with ours.
func (e examiner) sources(ctx context.Context) {
	if e.demo() {
		e.OK("sources", "not asked: a demo plays recorded ones")
		return
	}
	clock := &source.Dates{Now: e.Now}
	fetcher := source.NewFetcher(source.Config{
		Transport: e.Transport, Answered: clock.Note, Contact: e.Contact, CoinGecko: e.CoinGecko, PrivateHosts: e.PrivateHosts,
		Shift: e.Shift, Now: e.Now,
	})
	list := e.sourceList()
	outcomes := make([]source.Outcome, len(list))
	places := make(chan struct{}, sourcesOnce)
	var all sync.WaitGroup
	for i, s := range list {
		if slices.Contains(e.Disabled, s.ID) || e.unasked(s) != "" {
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
			e.OK("source "+s.ID, "disabled")
		case e.unasked(s) != "":
			if s.Withheld != "" {
				e.OK("source "+s.ID, "%s", s.Withheld)
				continue
			}
			const fix = "set sources.contact to your e-mail address and restart, or add the source to sources.disabled"
			e.Warn("source "+s.ID, fix, "%s", e.unasked(s))
		case o.Doc == nil && !o.NotModified:
			e.Warn("source "+s.ID, sourceFix(o.Class), "%v", o.Err)
		case o.Via != "":
			const fix = "contextd doctor --live says more; the daemon retries by itself"
			e.Warn("source "+s.ID, fix, "%s answers in its place: %v", o.Via, o.Own)
		case o.Ending != "":
			e.Warn("source "+s.ID, "look for a newer version of contextd", "announces an end: %s", o.Ending)
		default:
			e.OK("source "+s.ID, "answers in %s", o.Latency.Round(time.Millisecond))
		}
	}
	if skew, known := clock.Skew(); known && skew.Abs() > maxSkew {
		e.Fail("clock", "synchronize it, for example with systemd-timesyncd or chrony: quotes, sessions and purchases depend on it",
			"%s off the clocks of the sources", skew.Round(time.Second))
	} else if known {
		e.OK("clock", "agrees with the sources within %s", max(skew.Abs(), time.Second).Round(time.Second))
	}
}

// sold looks for what may not be sold and is.
func (e examiner) sold() {
	if !e.Charges {
		return
	}
	var unsold []string
	for _, p := range e.Packs {
		unsold = append(unsold, p.Unsold()...)
	}
	if len(unsold) > 0 {
		e.Warn("licences", "set sell.clean, or name in sources.licensed what you have a licence for: contextd help sell",
			"calls are charged, and %d sources may not be sold: %s", len(unsold), strings.Join(unsold, ", "))
		return
	}
	e.OK("licences", "all that is served may be sold")
}

// unasked says why a source is not asked, "" where it is.
func (e examiner) unasked(s pack.Source) string {
	if e.Shift != nil {
		return ""
	}
	return s.Unasked(e.Contact)
}

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
		return "give a key (sources.coingecko.key_file, or key_file in a manifest), or add the source to sources.disabled"
	case source.ClassRegionBlocked:
		return "this region is not served: add the source to sources.disabled"
	case source.ClassRateLimited:
		return "do nothing: the daemon waits as long as the source asks"
	}
	return "check the network if this lasts, or add the source to sources.disabled; the daemon retries by itself"
}

func (e examiner) chains(ctx context.Context) {
	if left, ok := demo.Read(e.DataDir); ok && left.Chain != nil {
		if runs, err := datadir.Runs(ctx, e.DataDir); err == nil && !runs {
			e.OK("chain", "the demo's, which runs while the demo does")
			return
		}
		c := left.Chain
		e.Rails = []chain.Config{
			{Rail: x402.Rail{RPCURL: c.RPCURL, ChainID: c.ChainID, Token: c.Token, Treasury: c.Treasury}, Now: e.Now},
		}
	}
	if len(e.Rails) == 0 {
		e.OK("chain", "none configured: only keys pay for calls")
	}
	for _, cfg := range e.Rails {
		name := "chain"
		if len(e.Rails) > 1 {
			name += " " + cfg.ID
		}
		e.chain(ctx, name, cfg)
	}
}

func (e examiner) chain(ctx context.Context, name string, cfg chain.Config) {
	section := cmp.Or(cfg.Section, "chain")
	c, err := chain.New(ctx, cfg)
	if err != nil {
		e.Fail(name, "correct the settings "+section+".*", "%v", err)
		return
	}
	defer c.Close()
	err = c.Check(ctx)
	switch {
	case errors.Is(err, chain.ErrNoAnswer):
		e.Fail(name, "check "+section+".rpc_url and its node; payments that arrive meanwhile are not lost", "%v", err)
	case err != nil:
		e.Fail(name, "correct this; payments are refused until then", "%v", err)
	default:
		e.chainFound(ctx, name, cfg, c)
	}
}

func (e examiner) chainFound(ctx context.Context, name string, cfg chain.Config, c *chain.Client) {
	head, err := c.Head(ctx)
	if err != nil {
		e.Warn(name, "run doctor again", "%v", err)
		return
	}
	e.OK(name, "chain %d, token and treasury correct, newest block %d", cfg.ChainID, head.Number)
}

// mail connects to the mail server and signs in, without sending anything.
func (e examiner) mail(ctx context.Context) {
	if e.SMTP == nil && e.demo() {
		e.OK("mail", "a demo saves it in %s", filepath.Join(e.DataDir, "outbox"))
		return
	}
	if e.SMTP == nil {
		e.Warn("mail", "set smtp.host and smtp.from to send mail",
			"no server configured: sign-in links are saved in %s", filepath.Join(e.DataDir, "outbox"))
		return
	}
	server, err := mail.NewSMTP(*e.SMTP)
	if err == nil {
		err = server.Check(ctx)
	}
	if err != nil {
		e.Fail("mail", "correct the settings smtp.*; sign-in by mail fails until then",
			"%s: %s", e.SMTP.Host, strings.TrimSpace(err.Error()))
		return
	}
	e.OK("mail", "%s accepts mail", e.SMTP.Host)
}

const (
	waitsLong = time.Hour        // for an event of an alert to be delivered
	hookTime  = 10 * time.Second // to connect to a webhook
)

// waiting looks at the events that wait to be delivered.
func (e examiner) waiting() {
	if e.Journal == "" {
		return
	}
	n, oldest, err := alert.Waiting(filepath.Join(e.DataDir, e.Journal))
	switch age := e.Now().Sub(oldest); {
	case err != nil:
		e.Fail("alerts", "run this as the daemon's user", "%v", err)
	case n == 0:
		e.OK("alerts", "none undelivered")
	case age > waitsLong:
		e.Warn("alerts", "see the log for the receiver; the daemon retries every 5 minutes", "%s undelivered, the oldest for %s",
			human.Plural(n, "event"), human.Age(age))
	default:
		e.OK("alerts", "%s undelivered, the oldest for %s", human.Plural(n, "event"), human.Age(age))
	}
}

// hooks connects to the webhooks of alerts, and sends nothing.
func (e examiner) hooks(ctx context.Context) {
	for _, name := range slices.Sorted(maps.Keys(e.Hooks)) {
		u, err := url.Parse(e.Hooks[name])
		if err != nil {
			continue // which the configuration was refused for
		}
		port := cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
		dialer := net.Dialer{Timeout: hookTime}
		conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
		if err != nil {
			e.Warn("alert "+name, "start the receiver, or correct alerts in the configuration", "%s is unreachable: %v", u.Host, err)
			continue
		}
		_ = conn.Close() // nothing was said
		e.OK("alert "+name, "%s is reachable", u.Host)
	}
}

// unsignedLong is how long a witness may not sign before the doctor warns.
const unsignedLong = 10 * time.Minute

// logs looks at the transparency logs, at the key that signs them, and at the witnesses while a daemon asks them.
func (e examiner) logs(ctx context.Context) {
	list, err := backup.Logs(ctx, cmp.Or(e.StoreURL, e.DataDir))
	if err != nil { // what is wrong with the database is found there
		return
	}
	standing := map[string][]translog.Cosigner{}
	if asked, err := admin.Logs(ctx, e.DataDir); err == nil {
		for _, l := range asked {
			standing[l.Origin] = l.Witnesses
		}
	}
	public := ""
	for _, l := range list {
		if l.Ended {
			continue
		}
		public = cmp.Or(public, l.Public)
		e.OK("log "+l.Pack, "%d leaves, the last from %s", l.Size, l.AppendedAt.UTC().Format("2006-01-02 15:04:05 MST"))
		e.witnesses("witnesses "+l.Pack, standing[l.Origin])
		e.anchors("anchors "+l.Pack, l.AnchoredAt, len(standing[l.Origin]) > 0)
	}
	if public == "" {
		return
	}
	path := filepath.Join(e.DataDir, translog.KeyFile)
	switch wrong, err := backup.LogKey(ctx, cmp.Or(e.StoreURL, e.DataDir), public); {
	case err != nil:
		e.Fail("log key", "run this as the daemon's user", "%v", err)
	case wrong != "":
		e.Fail("log key", "restore "+path+" from a backup; if it is lost, contextd db log key --renew begins new logs that every "+
			"client must accept", "%s", wrong)
	default:
		e.OK("log key", "matches the logs")
	}
}

// unanchoredLong is how old the hour of the newest kept checkpoint may be before the doctor warns: each hour has one.
const unanchoredLong = 2 * time.Hour

// anchors looks at the checkpoints that are kept of a log with signatures of witnesses, and whether there are witnesses.
func (e examiner) anchors(check string, newest time.Time, witnessed bool) {
	const fix = "see its witnesses: states of now will have no outside time later"
	switch old := e.Now().Sub(newest); {
	case newest.IsZero() && witnessed:
		e.Warn(check, fix, "no checkpoint is kept with signatures of witnesses")
	case newest.IsZero():
	case old > unanchoredLong && witnessed:
		e.Warn(check, fix, "the newest checkpoint that witnesses signed is %s old", human.Age(old))
	default:
		e.OK(check, "the newest checkpoint that witnesses signed is of the hour of %s", newest.UTC().Format("2006-01-02 15:04 MST"))
	}
}

// evidence looks at what is kept of the answers of sources, and asks the daemon that runs what it could not keep.
func (e examiner) evidence(ctx context.Context) {
	if told, err := admin.StatusOf(ctx, e.DataDir); err == nil {
		if told.Evidence != nil { // else evidence.keep was set since it began
			e.evidenceStands(*told.Evidence)
		}
		return
	}
	kept, err := evidence.Read(filepath.Join(e.DataDir, evidence.Dir))
	if err != nil {
		e.Fail("evidence", "run this as the daemon's user", "%v", err)
		return
	}
	s := kept.Standing()
	s.Most = e.Evidence.All
	e.evidenceStands(s)
}

// evidenceStands says how the evidence of sources stands.
func (e examiner) evidenceStands(s evidence.Standing) {
	const check = "evidence"
	size := human.Bytes(s.Bytes) + " of at most " + human.Bytes(s.Most)
	fix := map[string]string{
		evidence.LostFull:  "free space, or lower evidence.max_mb",
		evidence.LostSlow:  "move data_dir to a faster disk, or switch evidence.keep off",
		evidence.LostWrite: "see the log for why; make " + filepath.Join(e.DataDir, evidence.Dir) + " writable for the daemon's user",
	}
	crowded := s.Dropped[evidence.RoomAll] + s.Dropped[evidence.RoomOfOne]
	switch {
	case s.Failing != "":
		e.Warn(check, fix[s.Failing], "what sources answer is not kept: %s, %s since the start", s.Failing,
			human.Plural(int(s.Lost[s.Failing]), "time"))
	case crowded > 0:
		setting := "evidence." + evidence.RoomAll
		if s.Dropped[evidence.RoomOfOne] > 0 {
			setting = "evidence." + evidence.RoomOfOne
		}
		e.Warn(check, "raise "+setting+", or lower evidence.for", "%s; %s went before evidence.for was over since the start", size,
			human.Plural(int(crowded), "answer"))
	case s.Lost[evidence.LostLarge] > 0:
		e.OK(check, "%s; %s over 16 MB not kept since the start", size, human.Plural(int(s.Lost[evidence.LostLarge]), "answer"))
	default:
		e.OK(check, "%s", size)
	}
}

// witnesses looks at those of one log.
func (e examiner) witnesses(check string, list []translog.Cosigner) {
	const fix = "ask its operator whether it runs and trusts this log (ctx verify witness add); checkpoints lack its signature until then"
	signed := 0
	for _, w := range list {
		switch {
		case w.Since == nil:
			signed++
		case e.Now().Sub(*w.Since) < unsignedLong:
			e.OK(check, "%s is signing", w.Name)
		default:
			e.Warn(check, fix, "%s has not signed for %s: %s", w.Name, human.Age(e.Now().Sub(*w.Since)),
				cmp.Or(w.Error, "not asked yet"))
		}
	}
	if signed > 0 {
		e.OK(check, "%d of %d signed the newest checkpoint", signed, len(list))
	}
}

// databases reads the databases whole, beside a daemon that may use them.
func (e examiner) databases(ctx context.Context) {
	if e.StoreURL != "" {
		e.server(ctx)
		return
	}
	for _, name := range []string{store.File, history.File} {
		path := filepath.Join(e.DataDir, name)
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			e.OK(name, "does not exist")
			continue
		}
		trouble, err := database.Verify(ctx, path)
		switch {
		case err != nil:
			e.Fail(name, "run this as the daemon's user, and check the disk", "%v", err)
		case trouble != "":
			e.Fail(name, "stop the daemon and restore the newest good backup: contextd restore FILE", "damaged: %s", trouble)
		default:
			e.OK(name, "intact")
		}
	}
}

// backups looks whether there are as many as there should be.
func (e examiner) backups() {
	const check = "backup"
	made, err := e.Backups.Made()
	switch _, none := os.Stat(filepath.Join(e.DataDir, store.File)); {
	case e.StoreURL != "":
		e.OK(check, "left to PostgreSQL: pg_dump")
	case none != nil:
	case e.demo():
		e.OK(check, "a demo makes none")
	case err != nil:
		e.Warn(check, "run this as the daemon's user", "%v", err)
	case made.Newest.IsZero() && e.Backups.Every > 0:
		e.Warn(check, "contextd jobs run backup; contextd jobs list says why one failed", "none was made yet")
	case made.Late(e.Backups.Every, e.Now()):
		e.Warn(check, "contextd jobs run backup; contextd jobs list says why one failed",
			"the newest is %s old, and one is to be made each %s", human.Age(e.Now().Sub(made.Newest)), api.FormatSpan(e.Backups.Every))
	case e.Backups.Every > 0:
		e.OK(check, "the newest is %s old; %d take %s", human.Age(e.Now().Sub(made.Newest)), made.Count, human.Bytes(made.Bytes))
	case e.Litestream:
		e.OK(check, "left to Litestream")
	default:
		e.OK(check, "switched off by backup.every")
	}
}

// demo reports whether the data is that of a demo.
func (e examiner) demo() bool {
	_, ok := demo.Read(e.DataDir)
	return ok
}

// server looks whether PostgreSQL can be used, and is as durable as it has to be.
func (e examiner) server(ctx context.Context) {
	const check = "store.url"
	version, durable, err := store.Server(ctx, e.StoreURL)
	switch {
	case errors.Is(err, database.ErrPooler):
		cause, fix, _ := strings.Cut(database.ErrPooler.Error(), "\n  try: ")
		e.Fail(check, fix, "%s", cause)
	case err != nil:
		e.Fail(check, "check the URL, that PostgreSQL runs, and that its pg_hba.conf admits this machine", "%v", err)
	case !durable:
		e.Fail(check, "set fsync, full_page_writes and synchronous_commit to on in postgresql.conf",
			"PostgreSQL %s can lose committed data in a crash", version)
	default:
		e.OK(check, "PostgreSQL %s at %s", version, database.Host(e.StoreURL))
		e.cluster(ctx)
	}
}

// cluster looks how the daemons on PostgreSQL stand.
func (e examiner) cluster(ctx context.Context) {
	const check = "cluster"
	c, err := admin.ReadCluster(ctx, e.DataDir, e.StoreURL)
	if errors.Is(err, database.ErrOlder) {
		return // no daemon has run on it yet
	}
	if err != nil {
		e.Warn(check, "run this as the daemon's user", "the state of the nodes is unknown: %v", err)
		return
	}
	for _, f := range clusterFindings(check, c) {
		e.Report(f)
	}
}

func clusterFindings(check string, c admin.Cluster) []doctor.Finding {
	role := doctor.Finding{Check: check, Outcome: doctor.OK, Found: c.Summary()}
	var silent, versions []string
	live := map[string]bool{}
	for _, n := range c.Nodes {
		switch n.Role {
		case admin.RoleSilent:
			silent = append(silent, n.URL)
			continue
		case admin.RoleFollows:
			if n.ID == c.Self {
				role.Found += "; this one follows"
			}
		}
		live[n.Version] = true
		versions = append(versions, n.URL+" runs "+n.Version)
	}
	if c.Leader == "" && len(live) > 0 {
		role.Outcome, role.Fix = doctor.Failure, "wait ten seconds; if none leads then, see what the nodes log about the lease"
	}
	found := []doctor.Finding{role}
	if len(live) > 1 {
		found = append(found, doctor.Finding{
			Check: check, Outcome: doctor.Warning, Found: "nodes run several versions: " + strings.Join(versions, ", "),
			Fix: "finish the upgrade: install the newest version on all nodes",
		})
	}
	if len(silent) > 0 {
		found = append(found, doctor.Finding{
			Check: check, Outcome: doctor.Warning, Found: "silent for ten seconds: " + strings.Join(silent, ", "),
			Fix: "if the node still runs, check its connection to the database; silent nodes are dropped after a minute",
		})
	}
	return found
}
