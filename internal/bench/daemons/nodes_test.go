package daemons_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/admin"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/daemon/store/history"
	"github.com/contextd/contextd/daemon/testbed"
	"github.com/contextd/contextd/sdk/api"
)

// askers notes which nodes ask sources.
type askers struct {
	mu       sync.Mutex
	asking   map[int]int // requests under way, by node
	turns    []int       // the nodes, one after the other
	overlaps int
}

// recorder plays recorded sources to a node.
type recorder struct {
	daemon.Recording
	node int
	all  *askers
}

// RoundTrip notes that the node asks while it does.
func (r recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	a := r.all
	a.mu.Lock()
	a.asking[r.node]++
	for node, n := range a.asking {
		if node != r.node && n > 0 {
			a.overlaps++
		}
	}
	if n := len(a.turns); n == 0 || a.turns[n-1] != r.node {
		a.turns = append(a.turns, r.node)
	}
	a.mu.Unlock()
	defer func() {
		a.mu.Lock()
		a.asking[r.node]--
		a.mu.Unlock()
	}()
	return r.Recording.RoundTrip(req)
}

// stream is a node tells in one.
type stream struct {
	mu     sync.Mutex
	states []int64 // Unix milliseconds
	err    error   // of its end
}

// list are the states so far.
func (s *stream) list() []int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.states)
}

// read notes every state of a stream of url.
func (s *stream) read(ctx context.Context, url, key string) {
	err := s.follow(ctx, url, key)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

func (s *stream) follow(ctx context.Context, url, key string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url+api.PathSubscribe+"?token="+key, nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d", res.StatusCode)
	}
	lines, event := bufio.NewReader(res.Body), ""
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return err
		}
		if name, ok := bytes.CutPrefix(line, []byte("event: ")); ok {
			event = string(bytes.TrimSpace(name))
		}
		data, ok := bytes.CutPrefix(line, []byte("data: "))
		if !ok || event != string(api.EventDelta) {
			continue
		}
		var state api.StreamState
		if err := json.Unmarshal(data, &state); err != nil {
			return err
		}
		s.mu.Lock()
		s.states = append(s.states, state.TS.UnixMilli())
		s.mu.Unlock()
	}
}

// member is a node of three.
type member struct {
	*daemontest.Daemon
	url, admin string
	wire       *testbed.Wire
	dropped    float64 // states that its stream was too slow for
	stream
}

// three is a cluster of them, each on a wire to the database.
type three struct {
	t     *testing.T
	books *store.Store
	nodes []*member
	asked askers
}

// newThree starts a cluster whose first node leads, and makes a state each second.
func newThree(t *testing.T, server *testbed.Server) *three {
	t.Helper()
	c := &three{t: t, asked: askers{asking: map[int]int{}}}
	began := time.Now()
	for i := range 3 {
		m := &member{wire: testbed.NewWire(t, fmt.Sprintf("127.0.0.1:%d", server.Port))}
		m.Daemon = daemontest.Open(t, func(cfg *daemon.Config) {
			cfg.StoreURL, cfg.Every = server.URL(m.wire.Address()), time.Second/2
			start := cfg.Now()
			cfg.Now = func() time.Time { return start.Add(time.Since(began)) }
			cfg.AdminListen, cfg.Watches.HTTPLoopback = "127.0.0.1:0", true
			cfg.Recording = recorder{cfg.Recording, i, &c.asked}
		})
		m.Run(t)
		m.url, m.admin = m.URL(), m.AdminURL()
		c.nodes = append(c.nodes, m)
		if i == 0 {
			c.books = openBooks(t, server)
			c.await("the first node leads", func() bool { return c.leader() == m })
		}
	}
	c.await("three nodes work", func() bool { return len(c.cluster().Live()) == 3 })
	return c
}

// openBooks opens the books beside the nodes.
func openBooks(t *testing.T, server *testbed.Server) *store.Store {
	t.Helper()
	s, err := store.OpenRead(t.Context(), server.URL(fmt.Sprintf("127.0.0.1:%d", server.Port)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func (c *three) cluster() store.Cluster {
	c.t.Helper()
	now, err := c.books.Cluster(c.t.Context())
	if err != nil {
		c.t.Fatal(err)
	}
	return now
}

// leader is the member that leads, nil for none.
func (c *three) leader() *member {
	now := c.cluster()
	for _, n := range now.Nodes {
		for _, m := range c.nodes {
			if n.ID == now.Leader && n.URL == m.url {
				return m
			}
		}
	}
	return nil
}

// await waits until something is so, and returns how long that took.
func (c *three) await(what string, so func() bool) time.Duration {
	c.t.Helper()
	for began := time.Now(); time.Since(began) < time.Minute; time.Sleep(10 * time.Millisecond) {
		if so() {
			return time.Since(began)
		}
	}
	c.t.Fatalf("never: %s", what)
	return 0
}

// more waits until members tell of so many more states than they had.
func (c *three) more(n int, members ...*member) {
	c.t.Helper()
	for _, m := range members {
		had := len(m.list())
		c.await(fmt.Sprintf("%d more states at %s", n, m.url), func() bool { return len(m.list()) >= had+n })
	}
}

// status asks a member for its state with a key.
func (c *three) status(m *member, key string) int {
	c.t.Helper()
	r, err := http.NewRequestWithContext(c.t.Context(), http.MethodGet, m.url+api.PathFresh, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+key)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	_ = res.Body.Close()
	return res.StatusCode
}

// metric is the value of a line of a member's metrics, -1 where there is none.
func (c *three) metric(m *member, name string) float64 {
	c.t.Helper()
	res, err := http.Get(m.admin + "/metrics")
	if err != nil {
		c.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(text), "\n"+name+" ")
	line, _, _ := strings.Cut(rest, "\n")
	v, err := strconv.ParseFloat(line, 64)
	if !ok || err != nil {
		return -1
	}
	return v
}

// tell sees that all nodes tell of the same cluster, and that the database does.
func (c *three) tell(server *testbed.Server) {
	c.t.Helper()
	asked := map[string]string{c.t.TempDir(): server.URL(fmt.Sprintf("127.0.0.1:%d", server.Port))}
	for _, m := range c.nodes {
		asked[m.Config.DataDir] = ""
	}
	selves := map[string]bool{}
	for dir, url := range asked {
		got, err := admin.ReadCluster(c.t.Context(), dir, url)
		if err != nil || len(got.Nodes) != 3 || got.Epoch != 1 || got.Since == nil {
			c.t.Fatalf("%q tells of %+v, %v", url, got, err)
		}
		for i, n := range got.Nodes {
			role := admin.RoleFollows
			if i == 0 {
				role = admin.RoleLeads
			}
			lag, serves := n.LagSeconds[api.PackCrypto]
			if n.Role != role || n.URL != c.nodes[i].url || !serves || lag < 0 || (n.ID == got.Leader) != (i == 0) {
				c.t.Errorf("node %d: %+v", i, n)
			}
		}
		selves[got.Self] = true
	}
	for i, m := range c.nodes {
		leads := 0.0
		if i == 0 {
			leads = 1
		}
		for name, want := range map[string]float64{"leader": leads, "cluster_nodes": 3, "takeovers_total": 1} {
			if got := c.metric(m, "contextd_"+name); got != want {
				c.t.Errorf("%s of node %d is %v, want %v", name, i, got, want)
			}
		}
		if c.metric(m, `contextd_state_lag_seconds{pack="crypto"}`) < 0 {
			c.t.Errorf("node %d does not tell how far it is behind", i)
		}
	}
	if len(selves) != 4 || !selves[""] {
		c.t.Errorf("who was asked: %v", selves)
	}
}

// revoke revokes a key on one node, and sees it refused on the others.
func (c *three) revoke() {
	c.t.Helper()
	key := c.nodes[0].Key(c.t, api.TierPro)
	c.nodes[0].Grant(c.t, key, 1_000_000)
	for _, m := range c.nodes {
		if got := c.status(m, key); got != http.StatusOK {
			c.t.Errorf("a key of another node: %d", got)
		}
	}
	if _, err := c.nodes[0].Keys().Revoke(c.t.Context(), key[:api.KeyIDLength]); err != nil {
		c.t.Fatal(err)
	}
	began := time.Now()
	for _, m := range c.nodes[1:] {
		c.await("the key is refused at "+m.url, func() bool { return c.status(m, key) == http.StatusUnauthorized })
	}
	c.t.Logf("a revoked key is refused on the other nodes within %v", time.Since(began))
}

// TestThreeNodes: of three one leads and asks the sources, and all tell every state once, in order, through a revocation, a graceful end of
// the leader, and a leader that hears nothing of the database any more, and writes nothing when it does again.
func TestThreeNodes(t *testing.T) {
	t.Parallel()
	server := testbed.NewServer(t)
	c := newThree(t, server)
	first := c.nodes[0]
	key := first.Key(t, api.TierPro)
	first.Grant(t, key, 1000)
	ctx, cancel := context.WithCancel(t.Context())
	var streams sync.WaitGroup
	t.Cleanup(func() { cancel(); streams.Wait() })
	for _, m := range c.nodes {
		streams.Go(func() { m.read(ctx, m.url, key) })
	}
	c.more(2, c.nodes...)
	c.tell(server)
	c.revoke()

	epoch := c.cluster().Epoch
	first.dropped = c.metric(first, "contextd_stream_states_dropped_total")
	began := time.Now()
	go first.Stop(t)
	c.await("another leads", func() bool { return c.cluster().Epoch > epoch })
	t.Logf("another leads %v after the leader was asked to end", time.Since(began))
	c.await("the first has left", func() bool { return len(c.cluster().Live()) == 2 })
	second := c.leader()
	third := c.nodes[1]
	if third == second {
		third = c.nodes[2]
	}
	c.more(2, second, third)

	epoch = c.cluster().Epoch
	second.wire.Silence()
	took := c.await("another leads in place of one that is cut off", func() bool { return c.leader() == third })
	t.Logf("another leads %v after the leader was cut off", took)
	if now := c.cluster(); now.Epoch != epoch+1 {
		t.Errorf("epoch %d after %d", now.Epoch, epoch)
	}
	began = time.Now()
	if err := second.Refresh(t.Context(), api.PackCrypto); err == nil || !strings.Contains(err.Error(), "only the leader") {
		t.Errorf("one that was cut off refreshes: %v", err)
	}
	t.Logf("one that is cut off refuses within %v", time.Since(began))
	if got := c.status(second, key); got != http.StatusServiceUnavailable {
		t.Errorf("one that is cut off answers with %d", got)
	}
	t.Logf("one that is cut off answers within %v", time.Since(began))
	c.more(2, third)
	second.wire.Mend()
	healed := c.await("it admits keys again", func() bool { return c.status(second, key) == http.StatusOK })
	t.Logf("one that was cut off admits keys %v after that has ended", healed)
	c.more(2, second, third)
	if now := c.cluster(); now.Epoch != epoch+1 {
		t.Errorf("epoch %d after it was mended, %d before", now.Epoch, epoch)
	}
	for _, m := range c.nodes[1:] {
		m.dropped = c.metric(m, "contextd_stream_states_dropped_total")
	}
	c.check(server, second, third)
}

// check compares what was told with what is stored, and who has asked with who has led.
func (c *three) check(server *testbed.Server, second, third *member) {
	t := c.t
	t.Helper()
	a := &c.asked
	a.mu.Lock()
	want := []int{0, slices.Index(c.nodes, second), slices.Index(c.nodes, third)}
	if a.overlaps > 0 || !slices.Equal(a.turns, want) {
		t.Errorf("%d requests beside those of another node, in turns of %v, want %v", a.overlaps, a.turns, want)
	}
	a.mu.Unlock()
	db := testbed.SQL(t, server.URL(fmt.Sprintf("127.0.0.1:%d", server.Port)), history.File)
	for _, m := range c.nodes {
		got := m.list()
		if len(got) == 0 {
			t.Fatalf("%s has told of nothing: %v", m.url, m.err)
		}
		var stored []int64
		rows, err := db.QueryContext(t.Context(), "SELECT generated_at FROM pulses WHERE generated_at BETWEEN ? AND ? ORDER BY generated_at",
			got[0], got[len(got)-1])
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			var at int64
			if err := rows.Scan(&at); err != nil {
				t.Fatal(err)
			}
			stored = append(stored, at)
		}
		missed := len(stored)
		stored = slices.DeleteFunc(stored, func(at int64) bool { return !slices.Contains(got, at) })
		missed -= len(stored)
		if err := rows.Close(); err != nil || float64(missed) > m.dropped || !slices.Equal(got, stored) {
			t.Errorf("%s told of %v, stored are %v and %d more, of which %v were passed over; %v", m.url, got, stored, missed, m.dropped, err)
		}
		t.Logf("%s has told of %d states", m.url, len(got))
	}
}
