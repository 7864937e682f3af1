package programs_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/admin"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/daemon/testbed"
	"github.com/contextd/contextd/internal/devchain"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/sdk/wallet"
)

// soakFor is how long TestSoak runs: go -C internal/bench test ./programs -run TestSoak -soak 30m -timeout 40m -v. With a life of less than
// 8 s, which is a soak of less than 40 s, every failure is near enough to a kill to be explained by it.
var soakFor = flag.Duration("soak", 10*time.Second, "how long TestSoak runs")

// soak is a daemon that is used in every way at once, while it is killed and the world around it fails.
type soak struct {
	t             *testing.T
	dir           string
	listen, admin string
	chain         *devchain.Chain
	outside       *outside
	log           *bytes.Buffer // of all lives; read after the last

	up      sync.RWMutex // held for writing from a kill until the next life answers
	killed  atomic.Int64 // when, last, in Unix milliseconds
	kills   int
	counts  sync.Map // what was done how often: string to *atomic.Int64
	strange sync.Map // failures that nothing explains: string to string
	key     string   // of the caller whose calls are compared with the books
	wallet  string   // its directory
}

// count counts something.
func (s *soak) count(what string) {
	n, _ := s.counts.LoadOrStore(what, new(atomic.Int64))
	n.(*atomic.Int64).Add(1)
}

// counted is how often something was counted.
func (s *soak) counted(what string) int64 {
	n, ok := s.counts.Load(what)
	if !ok {
		return 0
	}
	return n.(*atomic.Int64).Load()
}

// explain counts a failure, and keeps one that has no explanation: the soak is not over, the daemon was not killed lately, and nothing
// outside of it is to blame.
func (s *soak) explain(ctx context.Context, what string, err error) {
	var refused *api.Error
	var stopped *wallet.StoppedError
	kind := "failed: "
	switch {
	case ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)):
		return
	case errors.As(err, &stopped) && stopped.Empty: // by a chain that fails, or kills
		kind = "paid nothing more: "
		s.allow()
	case time.Since(time.UnixMilli(s.killed.Load())) < 8*time.Second:
		kind = "killed: "
	case errors.As(err, &refused) && (refused.Reason == api.ReasonPaymentPending || refused.Reason == api.ReasonChainUnavailable || refused.Reason == api.ReasonStateUnavailable || refused.Reason == api.ReasonBriefUnavailable):
		kind = "chain or sources: "
	default:
		s.strange.Store(what, fmt.Sprintf("%s: %v", time.Now().Format(time.TimeOnly), err))
	}
	s.count(kind + what)
}

// allow has the daemon be paid again after it left payments without an answer, as the wallet's owner would.
func (s *soak) allow() {
	if _, err := wallet.AllowService(s.t.Context(), s.wallet, "http://"+s.listen); err != nil {
		s.t.Error(err)
	}
}

// life is the daemon as one process.
type life struct {
	*os.Process
	ended chan error // says once how it ended
}

// begin starts the daemon.
func (s *soak) begin() life {
	s.t.Helper()
	c := program(s.t, "serve", "--listen", s.listen, "--admin-listen", s.admin, "--data-dir", s.dir, "--log-format", "json")
	c.Env = append(c.Env, "HTTPS_PROXY="+s.outside.proxy.URL, "SSL_CERT_FILE="+s.outside.authorities,
		"CONTEXTD_CHAIN_ID="+strconv.Itoa(devchain.ChainID), "CONTEXTD_CHAIN_RPC_URL="+s.outside.rpc.URL, "CONTEXTD_CHAIN_TOKEN="+s.chain.Token(), "CONTEXTD_CHAIN_TREASURY="+s.chain.Treasury(),
		"CONTEXTD_LIMITS_REQUESTS=100000", "CONTEXTD_LIMITS_SIGN_INS=1000")
	c.Stdout, c.Stderr = s.log, s.log
	if err := c.Start(); err != nil {
		s.t.Fatal(err)
	}
	l := life{c.Process, make(chan error, 1)}
	go func() { l.ended <- c.Wait() }()
	return l
}

// refused is what the daemon says that has to be started again: the backup that runs between two lives has the data directory, or another
// test its port.
var refused = regexp.MustCompile("(?m)^✗ (the data directory is in use: |another process has )")

// start starts the daemon and waits until it answers. Like a service manager it starts it again where it is refused.
func (s *soak) start() life {
	s.t.Helper()
	logged := s.log.Len()
	l := s.begin()
	for end := time.Now().Add(3 * time.Minute); !s.ready(); {
		select {
		case <-l.ended:
			if told := s.log.String()[logged:]; !refused.MatchString(told) {
				s.t.Fatalf("the daemon ends as soon as it begins: %s", told)
			}
			s.log.Truncate(logged)
			l = s.begin()
		case <-time.After(20 * time.Millisecond):
		}
		if time.Now().After(end) {
			l.kill()
			s.t.Fatalf("the daemon is not ready: %s", s.log)
		}
	}
	return l
}

// kill ends the process without a warning.
func (l life) kill() {
	_ = l.Kill()
	<-l.ended
}

// ready reports whether the daemon can answer calls.
func (s *soak) ready() bool {
	res, err := http.Get("http://" + s.listen + api.PathReady)
	if err != nil {
		return false
	}
	_ = res.Body.Close()
	return res.StatusCode == http.StatusOK
}

// client is a client of the daemon.
func (s *soak) client(options ...sdk.Option) *sdk.Client {
	c, err := sdk.New(append([]sdk.Option{sdk.WithoutEnv(), sdk.WithBaseURL("http://" + s.listen), sdk.WithRetries(0)}, options...)...)
	if err != nil {
		s.t.Error(err)
	}
	return c
}

// until does act again and again until ctx is done. Act is not begun while the daemon is down.
func (s *soak) until(ctx context.Context, what string, pause time.Duration, act func(ctx context.Context) error) {
	for ctx.Err() == nil {
		s.up.RLock() // it is up now, and may be killed at any time
		s.count("begun")
		s.up.RUnlock()
		if err := act(ctx); err == nil {
			s.count(what)
		} else {
			s.explain(ctx, what, err)
			pause = max(pause, 50*time.Millisecond)
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// call makes one of the operations with a key.
func call(ctx context.Context, c *sdk.Client) (err error) {
	switch rand.IntN(5) {
	case 0:
		_, err = c.Fresh(ctx, "")
	case 1:
		_, err = c.Brief(ctx, "")
	case 2:
		_, err = c.Search(ctx, sdk.SearchRequest{Query: "bitcoin"})
	case 3:
		_, err = c.Cite(ctx, "", 1+rand.IntN(10))
	default:
		_, err = c.Snapshot(ctx, "", time.Now().Add(-time.Duration(rand.IntN(3))*time.Second))
		if refused, ok := errors.AsType[*api.Error](err); ok && refused.Reason == api.ReasonSnapshotNotFound {
			err = nil // of the first minute there is none
		}
	}
	return err
}

// callers call with a key, and count what was answered and charged.
func (s *soak) callers(ctx context.Context, all *sync.WaitGroup) {
	for range soakCallers {
		all.Go(func() {
			transport := &http.Transport{}
			defer transport.CloseIdleConnections()
			c := s.client(sdk.WithAPIKey(sdk.NewKey(s.key)), sdk.WithHTTPClient(&http.Client{Transport: transport}))
			s.until(ctx, "call with a key", time.Millisecond, func(ctx context.Context) error {
				if _, err := c.Cite(ctx, "", 1+rand.IntN(10)); err != nil {
					return err
				}
				s.count("answered")
				return nil
			})
		})
	}
	mixed := s.client(sdk.WithAPIKey(sdk.NewKey(issueWithCredits(s.t, s.dir, "mixed", soakCredits))))
	all.Go(func() {
		s.until(ctx, "call of every kind", 5*time.Millisecond, func(ctx context.Context) error { return call(ctx, mixed) })
	})
	for range 3 {
		all.Go(func() { s.stream(ctx, mixed) })
	}
}

// soakAtMost is how long a shorter soak may go on for something to be done of everything.
const soakAtMost = 2 * time.Minute

// soakCallers is how many callers share the key that is compared with the books.
const soakCallers = 4

// soakCredits are on the keys of a soak.
const soakCredits = 1_000_000_000

// stream reads a stream, which the sdk takes up again after every kill.
func (s *soak) stream(ctx context.Context, c *sdk.Client) {
	for event, err := range c.Subscribe(sdk.SubscribeRequest{Repeats: true}).Events(ctx) {
		if err != nil {
			s.explain(ctx, "stream", err)
			continue
		}
		s.count("stream " + string(event.Type))
	}
}

// console signs in an owner, who has a key.
func (s *soak) console(ctx context.Context) *sdk.Console {
	s.t.Helper()
	console := s.client().Console("")
	if _, err := console.SendLink(ctx, "soak@example.org"); err != nil {
		s.t.Fatal(err)
	}
	mails, err := filepath.Glob(filepath.Join(s.dir, "outbox", "*.eml"))
	if err != nil || len(mails) == 0 {
		s.t.Fatalf("no mail: %v", err)
	}
	text, err := os.ReadFile(mails[0])
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := console.ByLink(ctx, strings.TrimSpace(regexp.MustCompile(`http\S+token=\S+`).FindString(string(text)))); err != nil {
		s.t.Fatal(err)
	}
	if _, err := console.CreateKey(ctx, "bought", ""); err != nil {
		s.t.Fatal(err)
	}
	return console
}

// money buys credits and pays for calls, each from a wallet with a journal of its own, and returns the purchases that were begun and not
// finished.
func (s *soak) money(ctx context.Context, console *sdk.Console, all *sync.WaitGroup) (open func() []*api.DepositIntent, payer *wallet.Payer) {
	s.t.Helper()
	key, err := wallet.ParseKey(s.chain.Wallet().PrivateKey)
	if err != nil {
		s.t.Fatal(err)
	}
	s.wallet = s.t.TempDir()
	payer, err = wallet.NewPayer(ctx, wallet.Config{Key: key, RPCURL: s.chain.URL(), ChainID: devchain.ChainID, Token: s.chain.Token(), Dir: s.wallet,
		Policy: wallet.Policy{PerDay: 1_000_000_000, PerMonth: 1_000_000_000}})
	if err != nil {
		s.t.Fatal(err)
	}
	var mu sync.Mutex // guards intents
	var intents []*api.DepositIntent
	all.Go(func() {
		s.until(ctx, "purchase", min(*soakFor/20, 2*time.Second), func(ctx context.Context) error {
			mu.Lock()
			defer mu.Unlock()
			if len(intents) == 0 {
				intent, err := console.Buy(ctx, api.CreditStarter, "")
				if err != nil {
					return err
				}
				intents = append(intents, intent)
			}
			if _, err := console.PayDeposit(ctx, intents[0], payer); err != nil {
				return err
			}
			intents = intents[1:]
			return nil
		})
	})
	paying := s.client(sdk.WithPayer(payer))
	all.Go(func() {
		s.until(ctx, "call that is paid", 500*time.Millisecond, func(ctx context.Context) error {
			_, err := paying.Cite(ctx, "", 1+rand.IntN(10))
			return err
		})
	})
	return func() []*api.DepositIntent {
		mu.Lock()
		defer mu.Unlock()
		return intents
	}, payer
}

// operate does what an operator's scheduler does.
func (s *soak) operate(ctx context.Context, all *sync.WaitGroup, every time.Duration) {
	all.Go(func() {
		s.until(ctx, "refresh", every, func(ctx context.Context) error {
			o, err := admin.Open(ctx, admin.Config{DataDir: s.dir})
			if err != nil {
				return err
			}
			if _, err = o.RunJob(ctx, "refresh"); err != nil && strings.Contains(err.Error(), "is running already") {
				err = nil // the one that a daemon begins with, where the machine is busy
			}
			return errors.Join(err, o.Close())
		})
	})
}

// backups makes a backup again and again, as an operator's timer does, and has the newest restored for trial.
func (s *soak) backups(ctx context.Context, all *sync.WaitGroup, every time.Duration) {
	to := filepath.Join(s.t.TempDir(), "backups") + string(filepath.Separator)
	if err := os.Mkdir(to, 0o700); err != nil {
		s.t.Fatal(err)
	}
	all.Go(func() {
		s.until(ctx, "backup", every, func(ctx context.Context) error {
			if text, err := program(s.t, "backup", to, "--keep", "2", "--data-dir", s.dir).CombinedOutput(); err != nil {
				return fmt.Errorf("%w: %s", err, text)
			}
			made, err := filepath.Glob(to + "*.tar.zst")
			if err != nil || len(made) == 0 {
				return fmt.Errorf("no backup: %w", err)
			}
			if text, err := program(s.t, "restore", "--dry-run", made[len(made)-1], "--data-dir", s.dir).CombinedOutput(); err != nil {
				return fmt.Errorf("%w: %s", err, text)
			}
			return ctx.Err()
		})
	})
}

// sample is what the metrics say at one moment.
type sample struct{ memory, goroutines float64 }

// look reads the metrics.
func (s *soak) look() (sample, bool) {
	res, err := http.Get("http://" + s.admin + "/metrics")
	if err != nil {
		return sample{}, false
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return sample{}, false
	}
	value := func(name string) float64 {
		_, rest, _ := strings.Cut(string(text), "\n"+name+" ")
		line, _, _ := strings.Cut(rest, "\n")
		v, _ := strconv.ParseFloat(line, 64)
		return v
	}
	return sample{value("process_resident_memory_bytes"), value("go_goroutines")}, true
}

// TestSoak uses a daemon in every way at once, kills it again and again while sources and chain fail now and then, and then compares the
// books with the chain and with what the callers saw, and looks at what has grown and at what was logged.
func TestSoak(t *testing.T) {
	t.Parallel()
	s := &soak{t: t, dir: filepath.Join(t.TempDir(), "data"), chain: daemontest.Chain(t), log: new(bytes.Buffer)}
	s.outside = newOutside(t, s.chain.URL())
	var err1, err2 error
	s.listen, err1 = testbed.DeadAddress()
	s.admin, err2 = testbed.DeadAddress()
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	s.key = issueWithCredits(t, s.dir, "compared", soakCredits)
	daemon := s.start()
	defer func() { _ = daemon.Kill() }()
	began := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), max(*soakFor, soakAtMost))
	defer cancel()
	var all sync.WaitGroup
	console := s.console(t.Context())
	idle, _ := s.look()
	s.callers(ctx, &all)
	s.agents(ctx, &all)
	all.Go(func() {
		s.until(ctx, "look at the console", 20*time.Millisecond, func(ctx context.Context) error {
			_, err := console.Balance(ctx, "")
			return err
		})
	})
	open, payer := s.money(ctx, console, &all)
	defer payer.Close()
	life := min(*soakFor/5, 3*time.Minute)
	s.operate(ctx, &all, min(life/4, 15*time.Second))
	s.backups(ctx, &all, min(life/2, time.Minute))
	var grown []string
	for ctx.Err() == nil {
		warm, last := s.live(ctx, life)
		if last.memory > 1.5*warm.memory+64<<20 || last.goroutines > 1.5*warm.goroutines+100 {
			grown = append(grown, fmt.Sprintf("from %+v to %+v", warm, last))
		}
		t.Logf("life %d: %.0f MB and %.0f goroutines when warm, %.0f MB and %.0f at its end", s.kills+1, warm.memory/(1<<20), warm.goroutines, last.memory/(1<<20), last.goroutines)
		over := time.Since(began) >= *soakFor
		if over && len(s.lacks()) == 0 {
			cancel()
		}
		if over { // on a machine that is too slow for lives as short as that
			life *= 2
		}
		if ctx.Err() != nil {
			break
		}
		s.up.Lock()
		s.killed.Store(time.Now().UnixMilli())
		daemon.kill()
		s.kills++
		daemon = s.start()
		s.killed.Store(time.Now().UnixMilli())
		s.up.Unlock()
	}
	all.Wait()
	s.outside.quiet.Store(true)
	s.settle(console, payer, open())
	s.compare(console)
	s.rest(idle)
	_ = daemon.Signal(os.Interrupt)
	if err := <-daemon.ended; err != nil {
		t.Errorf("the daemon ends with %v", err)
	}
	s.compareCalls()
	s.readLog()
	for _, g := range grown {
		t.Errorf("memory or goroutines have grown %s", g)
	}
	s.strange.Range(func(what, err any) bool {
		t.Errorf("%v failed, which nothing explains: %v", what, err)
		return true
	})
	s.report()
}

// live waits for the end of a life, and looks at the daemon when it is warm and at its end.
func (s *soak) live(ctx context.Context, life time.Duration) (warm, last sample) {
	pause := func(d time.Duration) {
		select {
		case <-ctx.Done():
		case <-time.After(d):
		}
	}
	pause(life / 2)
	warm, _ = s.look()
	pause(life / 2)
	if now, ok := s.look(); ok {
		last = now
	}
	return warm, last
}

// settle finishes the purchases that were under way.
func (s *soak) settle(console *sdk.Console, payer *wallet.Payer, open []*api.DepositIntent) {
	s.allow()
	for _, intent := range open {
		d, err := console.PayDeposit(s.t.Context(), intent, payer)
		if err != nil || d.Status != api.DepositVerified {
			s.t.Errorf("a purchase does not come to its end: %+v, %v", d, err)
			continue
		}
		s.count("purchase") // in a short soak it may be the only one: one that meets a fault waits for the daemon's next look at the chain
	}
}

// compare compares the books with the chain and with what callers saw.
func (s *soak) compare(console *sdk.Console) {
	o, err := admin.Open(s.t.Context(), admin.Config{DataDir: s.dir})
	if err != nil {
		s.t.Fatal(err)
	}
	defer o.Close()
	if findings, err := o.Audit(s.t.Context()); err != nil || len(findings) > 0 {
		s.t.Errorf("the audit finds %v, %v", findings, err)
	}
	r, err := o.Reconcile(s.t.Context()) // which looks at the chain first
	if err != nil || len(r.Findings) > 0 {
		s.t.Errorf("the books do not agree with the chain: %+v, %v", r, err)
	}
	deposits, err := o.Deposits(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	var verified int64
	for _, d := range deposits {
		if d.Status == api.DepositVerified {
			verified += d.Credits
		}
	}
	if balance, err := console.Balance(s.t.Context(), ""); err != nil || balance.Balance != r.Sold || verified > r.Sold {
		s.t.Errorf("%d credits were bought, of the newest %d, and the balance is %+v, %v", r.Sold, verified, balance, err)
	}
}

// compareCalls compares the calls that were answered with those that were charged, once the daemon has ended: none is lost, and no more
// are charged than were under way at kills.
func (s *soak) compareCalls() {
	books, err := store.Open(s.t.Context(), s.dir, time.Now())
	if err != nil {
		s.t.Fatal(err)
	}
	defer books.Close()
	rows, err := books.Usage(s.t.Context(), account.OperatorID, time.Now().Add(-48*time.Hour))
	if err != nil {
		s.t.Fatal(err)
	}
	var charged int64
	for _, r := range rows {
		if r.KeyID == s.key[:api.KeyIDLength] {
			charged += r.Calls
		}
	}
	answered, under := s.counted("answered"), int64(soakCallers*(s.kills+1))
	if charged < answered || charged > answered+under {
		s.t.Errorf("%d calls were answered, %d charged, and at most %d were under way at kills", answered, charged, under)
	}
	s.t.Logf("%d calls with the compared key answered, %d charged", answered, charged)
}

// rest checks that nothing is left of all the callers.
func (s *soak) rest(idle sample) {
	var now sample
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		if now, _ = s.look(); now.goroutines <= idle.goroutines+20 {
			return
		}
	}
	s.t.Errorf("%.0f goroutines at the start, %.0f after all have left", idle.goroutines, now.goroutines)
}

// explained are the errors of the log that the faults explain.
var explained = regexp.MustCompile(`ask chain|the chain does not answer|every source failed|503 Service Unavailable|the daemon is stopping`)

// readLog reads what was logged in all lives.
func (s *soak) readLog() {
	lines := bufio.NewScanner(s.log)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var entry struct{ Level, Msg, Error string }
		if err := json.Unmarshal(lines.Bytes(), &entry); err != nil {
			if len(bytes.TrimSpace(lines.Bytes())) > 0 && !bytes.HasPrefix(lines.Bytes(), []byte("{")) { // else cut by a kill
				s.t.Errorf("not of the log: %s", lines.Text())
			}
			continue
		}
		if entry.Level == "ERROR" {
			s.count("logged: " + entry.Msg)
			if !explained.MatchString(entry.Msg + " " + entry.Error) {
				s.t.Errorf("logged, which nothing explains: %s", lines.Text())
			}
		}
	}
}

// report says what was done.
func (s *soak) report() {
	s.t.Logf("%s, %d kills, %d faults outside", *soakFor, s.kills, s.outside.faults.Load())
	s.counts.Range(func(what, n any) bool {
		s.t.Logf("%8d %v", n.(*atomic.Int64).Load(), what)
		return true
	})
	if list := s.lacks(); len(list) > 0 {
		s.t.Errorf("nothing was done of: %q", list)
	}
}

// lacks is what has to be done and was not yet.
func (s *soak) lacks() []string {
	must := []string{"answered", "call of every kind", "stream delta", "look at the console", "purchase", "call that is paid", "refresh",
		"tool in a session", "tool without a session", "backup"}
	return slices.DeleteFunc(must, func(what string) bool { return s.counted(what) > 0 })
}
