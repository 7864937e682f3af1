package programs_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/demo"
	"github.com/contextd/contextd/daemon/testbed"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/sdk/wallet"
)

// edgeEnv makes the test binary a demo whose clock is ahead, and whose callers without a key read half an hour of history.
const edgeEnv = "CONTEXTD_BENCH_EDGE"

// edgeWindow is how far back they read.
const edgeWindow = 30 * time.Minute

// edgeProgram is the command that runs that demo in dir.
func edgeProgram(t *testing.T, dir, listen string, ahead time.Duration) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(self, dir, listen, ahead.String())
	c.Env = append(os.Environ(), edgeEnv+"=1", "HOME="+t.TempDir())
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return c
}

// runEdge is that demo.
func runEdge() {
	ahead, err := time.ParseDuration(os.Args[3])
	if err != nil {
		panic(err)
	}
	plans := billing.DefaultPlans()
	plans[api.TierFree] = billing.Plan{Snapshot: edgeWindow}
	d, _, err := daemon.OpenDemo(context.Background(), daemon.Config{
		DataDir: os.Args[1], Serve: daemon.Serve{Listen: os.Args[2]}, Data: daemon.Data{Every: time.Hour},
		Reloadable: daemon.Reloadable{Plans: plans},
		Now:        func() time.Time { return time.Now().Add(ahead) },
	}, demo.Play{ChainListen: "127.0.0.1:0"})
	if err != nil {
		panic(err)
	}
	_ = d.Run(context.Background())
}

// edge is a daemon that is killed around the time at which a snapshot leaves its window.
type edge struct {
	t           *testing.T
	dir, listen string
}

// start starts it with its clock ahead.
func (e *edge) start(ahead time.Duration) (c *exec.Cmd, info demo.Info) {
	e.t.Helper()
	var said bytes.Buffer
	c = edgeProgram(e.t, e.dir, e.listen, ahead)
	c.Stdout, c.Stderr = &said, &said
	_ = os.Remove(filepath.Join(e.dir, demo.File)) // it is of the life before
	if err := c.Start(); err != nil {
		e.t.Fatal(err)
	}
	if !comes(func() bool {
		var err error
		info, err = readDemo(e.dir)
		return err == nil && reachable(e.listen)
	}) {
		e.t.Fatalf("it does not start: %s", &said)
	}
	return c, info
}

// kill kills it.
func (e *edge) kill(c *exec.Cmd) {
	e.t.Helper()
	if err := c.Process.Kill(); err != nil {
		e.t.Fatal(err)
	}
	_ = c.Wait()
}

// get asks for path, with a proof unless that is "".
func (e *edge) get(path, proof string) (status int, header http.Header, body []byte, err error) {
	e.t.Helper()
	r, err := http.NewRequestWithContext(e.t.Context(), http.MethodGet, "http://"+e.listen+path, nil)
	if err != nil {
		e.t.Fatal(err)
	}
	if proof != "" {
		r.Header.Set(api.HeaderPayment, proof)
	}
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
	if err != nil {
		return 0, nil, nil, err
	}
	defer resp.Body.Close()
	body, err = io.ReadAll(resp.Body)
	return resp.StatusCode, resp.Header, body, err
}

// pay pays what path is quoted at and returns the proof.
func (e *edge) pay(info demo.Info, path string) string {
	e.t.Helper()
	status, _, body, err := e.get(path, "")
	var asked api.ErrorBody
	if err != nil || status != http.StatusPaymentRequired || json.Unmarshal(body, &asked) != nil {
		e.t.Fatalf("%s: %d %s, %v", path, status, body, err)
	}
	key, err := wallet.ParseKey(info.Wallet.PrivateKey)
	if err != nil {
		e.t.Fatal(err)
	}
	p, err := wallet.NewPayer(e.t.Context(), wallet.Config{
		Key: key, RPCURL: info.Chain.RPCURL, ChainID: info.Chain.ChainID, Token: info.Chain.Token, Dir: e.t.TempDir(),
	})
	if err != nil {
		e.t.Fatal(err)
	}
	defer p.Close()
	paid, err := p.Pay(e.t.Context(), sdk.Quote{PaymentRequirements: *asked.Payment, Service: "http://" + e.listen,
		Request: "GET " + path, Price: api.OpSnapshot.PriceMicros()})
	if err != nil {
		e.t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(paid.Payload)
}

// TestKillAtTheEdgeOfTheWindow pays for the oldest snapshot that is sold, and kills the service before it is presented, while it is, and
// after: the snapshot has left its window by then, and is answered all the same, always the same, for as long as answers are kept.
func TestKillAtTheEdgeOfTheWindow(t *testing.T) {
	t.Parallel()
	listen, err := testbed.DeadAddress()
	if err != nil {
		t.Fatal(err)
	}
	e := &edge{t: t, dir: oldDemo(t), listen: listen}
	c, info := e.start(0)
	minute := time.Now().Add(-edgeWindow + time.Minute).UTC().Truncate(time.Minute)
	path := api.PathSnapshot + "?at=" + minute.Format("2006-01-02T15:04")
	proof := e.pay(info, path)
	e.kill(c)
	var sold []byte
	for life, ahead := range []time.Duration{4 * time.Minute, 4 * time.Minute, 12 * time.Hour, 23*time.Hour + 55*time.Minute} {
		c, _ := e.start(ahead)
		if status, _, body, err := e.get(path, ""); err != nil || status != http.StatusNotFound {
			t.Errorf("life %d: it is still sold: %d %s, %v", life, status, body, err)
		}
		answered := make(chan struct{})
		go func() {
			defer close(answered)
			status, header, body, err := e.get(path, proof)
			switch {
			case err != nil: // it was killed first
			case status != http.StatusOK:
				t.Errorf("life %d: %d %s", life, status, body)
			case sold != nil && (!bytes.Equal(body, sold) || header.Get(api.HeaderReplayed) != "true"):
				t.Errorf("life %d: what was sold is another now, replayed %q", life, header.Get(api.HeaderReplayed))
			default:
				sold = body
			}
		}()
		if life == 0 { // in the middle of the answer, or before it
			time.Sleep(3 * time.Millisecond)
		} else {
			<-answered
		}
		e.kill(c)
		<-answered
	}
	if !bytes.Contains(sold, []byte(`"top_movers"`)) {
		t.Errorf("what was paid for was never answered: %.200s", sold)
	}
}
