package programs_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/admin"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/daemon/testbed"
	"github.com/contextd/contextd/internal/devchain"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

// node is a daemon of a cluster, with a way of its own to everything outside.
type node struct {
	t             *testing.T
	name, dir     string
	listen, admin string
	outside       *outside
	wire          *testbed.Wire
	env           []string
	log           lockedLog

	mu    sync.Mutex // guards what follows
	life  *life      // nil while it is dead
	ready bool       // as the proxy knows it
	seen  time.Time  // of the answer that said so
}

// lockedLog is a log that is written while it is read.
type lockedLog struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write appends p.
func (l *lockedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// String is what was written.
func (l *lockedLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// start starts the node.
func (n *node) start() {
	n.t.Helper()
	_, _ = n.log.Write([]byte(startedAgain)) // never fails
	c := program(n.t, "serve", "--listen", n.listen, "--admin-listen", n.admin, "--data-dir", n.dir, "--log-format", "json")
	c.Env = append(c.Env, n.env...)
	c.Stdout, c.Stderr = &n.log, &n.log
	if err := c.Start(); err != nil {
		n.t.Fatal(err)
	}
	l := &life{c.Process, make(chan error, 1)}
	go func() { l.ended <- c.Wait() }()
	n.mu.Lock()
	n.life = l
	n.mu.Unlock()
}

// kill ends it without a warning, and reports whether it lived.
func (n *node) kill() bool {
	n.mu.Lock()
	l := n.life
	n.life, n.ready = nil, false
	n.mu.Unlock()
	if l != nil {
		l.kill()
	}
	return l != nil
}

// stop ends it as a service manager does. Until it has ended, it answers.
func (n *node) stop() error {
	n.mu.Lock()
	l := n.life
	n.mu.Unlock()
	if l == nil {
		return nil
	}
	defer func() {
		n.mu.Lock()
		n.life, n.ready = nil, false
		n.mu.Unlock()
	}()
	if err := l.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case err := <-l.ended:
		return err
	case <-time.After(2 * time.Minute):
		_ = l.Kill()
		return fmt.Errorf("node %s does not stop", n.name)
	}
}

// up reports whether it lives and has said that it is ready.
func (n *node) up() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.life != nil && n.ready
}

// watch asks it whether it is ready, as a balancer does, until done is closed.
func (n *node) watch(done <-chan struct{}) {
	c := &http.Client{Timeout: time.Second}
	for {
		ready := false
		if res, err := c.Get("http://" + n.listen + api.PathReady); err == nil {
			ready = res.StatusCode == http.StatusOK
			_ = res.Body.Close()
		}
		n.mu.Lock()
		n.ready, n.seen = ready && n.life != nil, time.Now()
		n.mu.Unlock()
		select {
		case <-done:
			return
		case <-time.After(250 * time.Millisecond):
		}
	}
}

// nodeHeader names the node that an answer is of.
const nodeHeader = "X-Node"

// balance is a proxy that gives each request to the next node that is ready. It asks none twice: a call may have been charged.
func balance(t *testing.T, nodes []*node) *httptest.Server {
	t.Helper()
	var next atomic.Int64
	byHost := map[string]string{}
	for _, n := range nodes {
		byHost[n.listen] = n.name
	}
	proxy := &httputil.ReverseProxy{
		FlushInterval: -1,
		Transport:     &http.Transport{MaxIdleConnsPerHost: 256},
		Rewrite: func(r *httputil.ProxyRequest) {
			target := &url.URL{Scheme: "http", Host: "127.0.0.1:1"}
			for range nodes {
				if n := nodes[int(next.Add(1))%len(nodes)]; n.up() {
					target.Host = n.listen
					break
				}
			}
			r.SetURL(target)
			r.Out.Host = r.In.Host
			r.SetXForwarded()
		},
		ModifyResponse: func(res *http.Response) error {
			res.Header.Set(nodeHeader, byHost[res.Request.URL.Host])
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
		ErrorLog:     log.New(io.Discard, "", 0), // streams end in the middle wherever a node is killed
	}
	s := httptest.NewServer(proxy)
	t.Cleanup(s.Close)
	return s
}

// newNodes makes the nodes of a cluster, of which none is started. Each has its wire to the database, its own recorded sources and its own
// way to the chain, so that who asks what can be told.
func newNodes(t *testing.T, count int, database func(address string) string, port int, chain *devchain.Chain) []*node {
	t.Helper()
	var list []*node
	for i := range count {
		n := &node{t: t, name: strconv.Itoa(i + 1), outside: newOutside(t, chain.URL()), wire: testbed.NewWire(t, net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))}
		n.outside.quiet.Store(true) // the faults here are others
		n.dir = filepath.Join(t.TempDir(), "node")
		var err error
		if n.listen, err = testbed.DeadAddress(); err == nil {
			n.admin, err = testbed.DeadAddress()
		}
		if err != nil {
			t.Fatal(err)
		}
		n.env = []string{"CONTEXTD_STORE_URL=" + database(n.wire.Address()),
			"HTTPS_PROXY=" + n.outside.proxy.URL, "SSL_CERT_FILE=" + n.outside.authorities,
			"CONTEXTD_CHAIN_ID=" + strconv.Itoa(devchain.ChainID), "CONTEXTD_CHAIN_RPC_URL=" + n.outside.rpc.URL,
			"CONTEXTD_CHAIN_TOKEN=" + chain.Token(), "CONTEXTD_CHAIN_TREASURY=" + chain.Treasury(),
			"CONTEXTD_PACKS_ENABLED=crypto", "CONTEXTD_LIMITS_REQUESTS=100000", "CONTEXTD_LIMITS_SIGN_INS=1000", "CONTEXTD_TRUSTED_PROXIES=127.0.0.1"}
		list = append(list, n)
	}
	t.Cleanup(func() {
		for _, n := range list {
			n.kill()
			if t.Failed() {
				_ = os.WriteFile(filepath.Join(os.TempDir(), "cluster-node-"+n.name+".log"), []byte(n.log.String()), 0o600)
			}
		}
	})
	return list
}

// leader is the node that leads, by what it says itself, nil for none.
func leader(nodes []*node) *node {
	for _, n := range nodes {
		switch leads := n.metric("contextd_leader"); {
		case leads == 1:
			return n
		case leads < 0 && n.saysSo():
			return n
		}
	}
	return nil
}

// saysSo reports whether the last of its log about who leads is that it does itself.
func (n *node) saysSo() bool {
	n.mu.Lock()
	lives := n.life != nil
	n.mu.Unlock()
	text := n.log.String()
	began, ended := strings.LastIndex(text, "this node leads\""), strings.LastIndex(text, "this node no longer leads")
	return lives && began > max(ended, strings.LastIndex(text, startedAgain))
}

// startedAgain parts the lives of a node in its log.
const startedAgain = "started again\n"

// metric reads one without labels, -1 where there is none.
func (n *node) metric(name string) float64 {
	c := &http.Client{Timeout: time.Second}
	res, err := c.Get("http://" + n.admin + "/metrics")
	if err != nil {
		return -1
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return -1
	}
	_, rest, ok := bytes.Cut(text, []byte("\n"+name+" "))
	if !ok {
		return -1
	}
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	v, err := strconv.ParseFloat(string(line), 64)
	if err != nil {
		return -1
	}
	return v
}

// TestDrainHandsOver: a leader that is told to stop lets another node lead at once, and shows the states of that one as long as it drains.
func TestDrainHandsOver(t *testing.T) {
	t.Parallel()
	server := testbed.NewServer(t)
	nodes := newNodes(t, 2, server.URL, server.Port, daemontest.Chain(t))
	first, second := nodes[0], nodes[1]
	done := make(chan struct{})
	defer close(done)
	for _, n := range nodes {
		n.env = append(n.env, "CONTEXTD_DRAIN_DELAY=1h")
		go n.watch(done)
		n.start()
		soon(t, "the node is ready", n.up)
	}
	c, err := sdk.New(sdk.WithoutEnv(), sdk.WithBaseURL("http://"+first.listen), sdk.WithAPIKey(sdk.NewKey(issueWithCredits(t, first.dir, "k", 10))))
	if err != nil {
		t.Fatal(err)
	}
	next, end := iter.Pull2(c.Subscribe(sdk.SubscribeRequest{}).Events(t.Context()))
	defer end()
	was, err, _ := next()
	if err != nil || leader(nodes) != first {
		t.Fatalf("%v; the first node does not lead", err)
	}
	if err := first.life.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	soon(t, "the second node leads", func() bool { return leader(nodes) == second && first.metric("contextd_leader") == 0 })
	o, err := admin.Open(t.Context(), admin.Config{DataDir: second.dir})
	if err == nil {
		_, err = o.RunJob(t.Context(), "refresh")
		err = errors.Join(err, o.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	if is, err, _ := next(); err != nil || !is.State.TS.After(was.State.TS) || first.up() {
		t.Errorf("while it drains, it shows %v after %v, %v, and is ready: %t", is.State.TS, was.State.TS, err, first.up())
	}
	if got, err := c.Fresh(t.Context(), ""); err != nil || !got.Freshness.GeneratedAt.After(was.State.TS) {
		t.Errorf("while it drains, it answers with %+v, %v", got, err)
	}
}
