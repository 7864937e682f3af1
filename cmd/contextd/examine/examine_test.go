package examine

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/backup"
	"github.com/contextd/contextd/daemon/chain"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/daemon/demo"
	"github.com/contextd/contextd/daemon/mail"
	"github.com/contextd/contextd/daemon/operate"
	"github.com/contextd/contextd/daemon/pack"
	"github.com/contextd/contextd/daemon/source"
	"github.com/contextd/contextd/daemon/source/replay"
	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/daemon/store/history"
	"github.com/contextd/contextd/daemon/x402"
	"github.com/contextd/contextd/internal/doctor"
)

// examine makes all checks and returns the findings by check.
func examine(t *testing.T, cfg Config) map[string]doctor.Finding {
	t.Helper()
	found := map[string]doctor.Finding{}
	All(t.Context(), cfg, func(f doctor.Finding) {
		if old, ok := found[f.Check]; !ok || old.Outcome == doctor.OK {
			found[f.Check] = f
		}
		if f.Outcome != doctor.OK && f.Fix == "" {
			t.Errorf("%s does not say what to do: %s", f.Check, f.Found)
		}
	})
	return found
}

// dating gives every answer a date.
type dating struct {
	next http.RoundTripper
	now  func() time.Time
	fail bool
}

func (d dating) RoundTrip(r *http.Request) (*http.Response, error) {
	if d.fail {
		return nil, errors.New("no route to host")
	}
	res, err := d.next.RoundTrip(r)
	if err == nil {
		res.Header.Set("Date", d.now().UTC().Format(http.TimeFormat))
	}
	return res, err
}

// TestWell examines a daemon that is well, with a chain and recorded sources.
func TestWell(t *testing.T) {
	t.Parallel()
	c := daemontest.Chain(t)
	d := daemontest.Start(t, daemontest.On(c))
	now := time.Now // the time of the chain
	rec := replay.New(now)
	rail := d.Config.Chain.Rail
	rail.ChainID = d.Config.ChainID
	found := examine(t, Config{DataDir: d.Config.DataDir, Transport: dating{next: rec, now: now}, Shift: rec.Shift, Now: now,
		Rails: []chain.Config{{Rail: rail, Now: now}}})
	for _, check := range []string{"data directory", "daemon", "disk", "contextd.db", "history.db", "chain", "clock", "source coingecko-markets", "source defillama-hacks"} {
		if f := found[check]; f.Outcome != doctor.OK {
			t.Errorf("%s: %+v", check, f)
		}
	}
	if f := found["daemon"]; f.Found != "running" {
		t.Errorf("daemon: %+v", f)
	}
	if f := found["mail"]; f.Outcome != doctor.Warning {
		t.Errorf("mail without a server: %+v", f)
	}
	info, err := json.Marshal(demo.Info{Chain: &demo.Chain{
		RPCURL: c.URL(), ChainID: d.Config.ChainID, Token: d.Config.Chain.Token, Treasury: d.Config.Chain.Treasury,
	}})
	if err != nil {
		t.Fatal(err)
	}
	dir := d.Config.DataDir
	for _, want := range []string{"none configured", "token and treasury correct", "the demo's, which runs while the demo does"} {
		found := examine(t, Config{DataDir: dir, Transport: dating{next: rec, now: now}, Shift: rec.Shift, Now: now})
		if _, asked := found["sources"]; asked == strings.Contains(want, "none") || asked && found["mail"].Outcome != doctor.OK {
			t.Errorf("%s: %+v, %+v", want, found["sources"], found["mail"]) // those of a demo are recorded
		}
		if f := found["chain"]; f.Outcome != doctor.OK || !strings.Contains(f.Found, want) {
			t.Errorf("chain: %+v, want %s", f, want)
		}
		if strings.Contains(want, "correct") { // it was the look at a demo that runs
			d.Stop(t)
		}
		if err := os.WriteFile(filepath.Join(dir, demo.File), info, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestBackups: the doctor tells of backups that are missing or old where the daemon is to make them.
func TestBackups(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t)
	dir, to, now := d.Config.DataDir, t.TempDir(), d.Clock.Now()
	daily := operate.Backups{Dir: to, Every: 24 * time.Hour}
	look := func(cfg Config) doctor.Finding {
		cfg.DataDir, cfg.Offline, cfg.Now = dir, true, d.Clock.Now
		return examine(t, cfg)["backup"]
	}
	if f := look(Config{Backups: daily}); f.Outcome != doctor.Warning || f.Found != "none was made yet" {
		t.Errorf("%+v", f)
	}
	for _, c := range []struct {
		age  time.Duration
		want doctor.Outcome
		says string
	}{{49 * time.Hour, doctor.Warning, "the newest is 2d1h old"}, {47 * time.Hour, doctor.OK, "the newest is 1d23h old; 2 take 0 B"}} {
		if err := os.WriteFile(filepath.Join(to, backup.Name(now.Add(-c.age))), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if f := look(Config{Backups: daily}); f.Outcome != c.want || !strings.HasPrefix(f.Found, c.says) {
			t.Errorf("%s: %+v", c.age, f)
		}
	}
	if f := look(Config{}); f.Outcome != doctor.OK || !strings.Contains(f.Found, "switched off") {
		t.Errorf("%+v", f)
	}
	if f := look(Config{Litestream: true}); f.Outcome != doctor.OK || !strings.Contains(f.Found, "Litestream") {
		t.Errorf("%+v", f)
	}
}

// TestRemoved examines a daemon whose books were removed while it runs.
func TestRemoved(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t)
	books := filepath.Join(d.Config.DataDir, "contextd.db")
	if err := os.Rename(books, books+".away"); err != nil {
		t.Fatal(err)
	}
	f := examine(t, Config{DataDir: d.Config.DataDir, Offline: true, Now: d.Clock.Now})["daemon"]
	if f.Outcome != doctor.Failure || !strings.Contains(f.Found, "contextd.db was removed or replaced while the daemon runs") {
		t.Errorf("daemon: %+v", f)
	}
	if err := os.Rename(books+".away", books); err != nil {
		t.Fatal(err)
	}
}

// TestUnwell examines an installation where everything is wrong.
func TestUnwell(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t)
	dir := d.Config.DataDir
	d.Stop(t)
	secret := filepath.Join(t.TempDir(), "key")
	nobody, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dead := nobody.Addr().(*net.TCPAddr).Port
	nobody.Close()
	settle(t, dir)
	for _, spoil := range []error{
		os.Chmod(dir, 0o755), os.WriteFile(secret, []byte("x"), 0o644), os.WriteFile(secret+".group", []byte("x"), 0o640),
		damage(filepath.Join(dir, "contextd.db")), os.WriteFile(filepath.Join(dir, "history.db"), []byte(strings.Repeat("no database ", 1000)), 0o600),
		os.Chmod(filepath.Join(dir, "history.db"), 0o644),
	} {
		if spoil != nil {
			t.Fatal(spoil)
		}
	}
	now := daemontest.NewClock().Now
	rec := replay.New(now)
	late := func() time.Time { return now().Add(-time.Hour) }
	found := examine(t, Config{DataDir: dir, SecretFiles: map[string]string{"jobs.key_file": secret, "smtp.password_file": secret + ".gone", "tls.key_file": secret + ".group"}, Disabled: []string{"defillama-hacks"},
		Transport: dating{next: rec, now: late}, Shift: rec.Shift, Now: now,
		Rails: []chain.Config{{Rail: x402.Rail{
			RPCURL: "http://127.0.0.1:1", ChainID: 1, Token: "0x" + strings.Repeat("1", 40), Treasury: "0x" + strings.Repeat("2", 40),
		}}},
		SMTP: &mail.SMTPConfig{Host: "127.0.0.1", Port: dead, Security: mail.Plain, From: "us@example.org"}})
	for check, want := range map[string]doctor.Finding{
		"data directory": {Outcome: doctor.Failure, Found: "open to other users (0755)"}, "files": {Outcome: doctor.Failure, Found: "history.db is open to other users (0644)"},
		"jobs.key_file": {Outcome: doctor.Warning, Found: "is readable by other users"}, "smtp.password_file": {Outcome: doctor.Failure, Found: "no such file"},
		"tls.key_file": {Outcome: doctor.OK, Found: "not readable by other users"},
		"contextd.db":  {Outcome: doctor.Failure, Found: "damaged"}, "history.db": {Outcome: doctor.Failure, Found: "damaged"},
		"clock": {Outcome: doctor.Failure, Found: "1h0m0s off"}, "chain": {Outcome: doctor.Failure, Found: "ask chain"}, "mail": {Outcome: doctor.Failure, Found: "127.0.0.1: connect to mail server"},
		"source defillama-hacks": {Outcome: doctor.OK, Found: "disabled"}, "daemon": {Outcome: doctor.OK, Found: "not running"},
	} {
		if f := found[check]; f.Outcome != want.Outcome || !strings.Contains(f.Found, want.Found) {
			t.Errorf("%s: %+v, want %s with %q", check, f, want.Outcome, want.Found)
		}
	}
	found = examine(t, Config{DataDir: filepath.Join(dir, "nothing"), Transport: dating{fail: true}, Shift: rec.Shift, Now: now})
	if f := found["source coingecko-markets"]; f.Outcome != doctor.Warning {
		t.Errorf("a source that is unreachable: %+v", f)
	}
	if f := found["data directory"]; f.Outcome != doctor.Warning || !strings.Contains(f.Found, "does not exist yet") {
		t.Errorf("no directory: %+v", f)
	}
	if _, err := os.Stat(filepath.Join(dir, "nothing")); err == nil {
		t.Error("the doctor made the directory")
	}
}

// TestSourcesOfAllPacks: those of every pack are asked, and what one declares at a private address is not, unless that is allowed.
func TestSourcesOfAllPacks(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { asked.Add(1) }))
	defer server.Close()
	at := func(id string) *pack.Pack {
		declared := source.Declared{ID: id, URL: server.URL + "/" + id, Decode: func(context.Context, source.Answer, *source.RowsDoc) (*source.RowsDoc, int, error) {
			return &source.RowsDoc{Rows: []source.DeclaredRow{{Key: "a", Name: "A"}}}, 0, nil
		}}
		return &pack.Pack{ID: id, Sources: []pack.Source{{Connector: declared.Connector(), Name: id}}}
	}
	cfg := Config{DataDir: t.TempDir(), Packs: []*pack.Pack{at("one"), at("two")}, Disabled: []string{"two"}}
	found := examine(t, cfg)
	if f := found["source one"]; f.Outcome != doctor.Warning || !strings.Contains(f.Found, "127.0.0.1 is a private address: allow it in packs.private_hosts") || asked.Load() != 0 {
		t.Errorf("%+v, asked %d times", f, asked.Load())
	}
	if f := found["source two"]; f.Outcome != doctor.OK || f.Found != "disabled" {
		t.Errorf("%+v", f)
	}
	if _, ok := found["source coingecko-markets"]; ok {
		t.Error("a pack that is not served is examined")
	}
	cfg.PrivateHosts, cfg.Disabled = []string{"127.0.0.1"}, nil
	found = examine(t, cfg)
	for _, check := range []string{"source one", "source two", "clock"} {
		if f := found[check]; f.Outcome != doctor.OK {
			t.Errorf("%s: %+v", check, f)
		}
	}
}

// TestIsOneRunning says that none runs where there is no socket, or one that nobody listens to, and else no more than is known.
func TestIsOneRunning(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		make func(socket string) error
		want doctor.Finding
	}{
		"no socket": {func(string) error { return nil }, doctor.Finding{Outcome: doctor.OK, Found: "not running"}},
		"left behind": {func(socket string) error {
			l, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
			if err != nil {
				return err
			}
			l.SetUnlinkOnClose(false)
			return l.Close()
		}, doctor.Finding{Outcome: doctor.OK, Found: "not running"}},
		"cannot be asked": {func(socket string) error { return os.Symlink(filepath.Base(socket), socket) }, doctor.Finding{Outcome: doctor.Warning, Found: "unknown whether"}},
	} {
		dir, err := os.MkdirTemp("", "doctor") // short enough for a socket
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		if err := c.make(filepath.Join(dir, "admin.sock")); err != nil {
			t.Fatal(err)
		}
		if f := examine(t, Config{DataDir: dir, Offline: true})["daemon"]; f.Outcome != c.want.Outcome || !strings.Contains(f.Found, c.want.Found) {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

// settle brings what is in the write-ahead logs into the databases, from which a damaged one could be read else.
func settle(t *testing.T, dir string) {
	t.Helper()
	books, err := store.Open(t.Context(), dir, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	past, err := history.Open(t.Context(), dir, time.Now())
	if err := errors.Join(err, books.Close(), past.Close()); err != nil {
		t.Fatal(err)
	}
}

// damage writes nonsense into the middle of a database.
func damage(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if info, err := f.Stat(); err == nil {
		for at := int64(4096); at < info.Size(); at += 4096 {
			if _, err := f.WriteAt([]byte(strings.Repeat("x", 2000)), at); err != nil {
				return errors.Join(err, f.Close())
			}
		}
	}
	return f.Close()
}

// TestLicences: while calls are charged, what may not be sold is named.
func TestLicences(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		charges bool
		terms   pack.Terms
		outcome doctor.Outcome
		names   bool
	}{
		{true, pack.Terms{}, doctor.Warning, true},
		{true, pack.Terms{Clean: true}, doctor.OK, false},
		{false, pack.Terms{}, "", false},
	} {
		packs := []*pack.Pack{pack.Crypto().Under(c.terms)}
		f := examine(t, Config{DataDir: t.TempDir(), Charges: c.charges, Packs: packs, Offline: true})["licences"]
		if f.Outcome != c.outcome || strings.Contains(f.Found, "coingecko-markets") != c.names {
			t.Errorf("%+v: %+v", c, f)
		}
	}
}
