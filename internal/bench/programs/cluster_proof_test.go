package programs_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/admin"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/daemon/store/history"
	"github.com/contextd/contextd/daemon/testbed"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

var (
	// clusterFor is how long TestCluster runs: CONTEXTD_TEST_POSTGRES=1 go -C internal/bench test ./programs -run TestCluster$ -cluster 30m
	// -streams 5000 -timeout 50m -v.
	clusterFor     = flag.Duration("cluster", 0, "how long TestCluster runs; 0 skips it")
	clusterStreams = flag.Int("streams", 300, "how many streams TestCluster keeps open")
)

// cluster is three nodes that are used in every way at once, while they are killed or restarted and their database comes and goes.
type cluster struct {
	*soak
	nodes  []*node
	server *testbed.Server
	proxy  string   // host:port
	keys   []string // of streams: each may have api.StreamsPerKey open

	unsure   atomic.Int64   // calls of which nobody knows whether they were charged
	ending   sync.WaitGroup // of nodes that were told to stop
	mu       sync.Mutex     // guards the rest
	lives    []*streamLife
	faults   []fault
	revokes  []time.Duration
	overlaps []string
}

// fault is something that was done to the cluster, and how long until another node led, where the leader was hit.
type fault struct {
	at       time.Time
	what     string
	takeover time.Duration
	healed   time.Duration // until all nodes were ready
}

// streamLife is a stream from its opening to its end.
type streamLife struct {
	node          string
	states        []int64     // Unix milliseconds, as they came
	at            []time.Time // when
	opened, ended time.Time
	before        *streamLife // of the same client, nil for its first
}

// TestCluster keeps three nodes behind a proxy on one PostgreSQL under load while their leader, followers, database and wires fail. No
// state is missed or repeated on any stream, every call that was answered is charged once, one node at a time asks sources and chain, a
// revoked key is refused everywhere, another node leads soon, and the books agree with the chain. While a node is restarted, no call fails.
func TestCluster(t *testing.T) {
	if *clusterFor == 0 {
		t.Skip("SKIPPED: it runs with -cluster 1m or longer")
	}
	server, chain := testbed.NewServer(t), daemontest.Chain(t)
	c := &cluster{soak: &soak{t: t, chain: chain, log: new(bytes.Buffer)}, server: server}
	c.nodes = newNodes(t, 3, server.URL, server.Port, chain)
	proxy := balance(t, c.nodes)
	c.proxy = proxy.Listener.Addr().String()
	c.dir, c.listen = c.nodes[0].dir, c.proxy
	done := make(chan struct{})
	defer close(done)
	for _, n := range c.nodes {
		n.env = append(n.env, "CONTEXTD_PUBLIC_URL=http://"+c.proxy, "CONTEXTD_DRAIN_DELAY=2s")
		go n.watch(done)
	}
	c.nodes[0].start()
	c.await("the first node is ready", c.nodes[0].up)
	c.key = issueWithCredits(t, c.dir, "compared", soakCredits)
	for n := 0; n < *clusterStreams; n += api.StreamsPerKey {
		c.keys = append(c.keys, issueWithCredits(t, c.dir, fmt.Sprintf("streams %d", n), soakCredits))
	}
	ctx, cancel := context.WithTimeout(t.Context(), *clusterFor)
	defer cancel()
	var all sync.WaitGroup
	console := c.console(t.Context()) // its mail is with the only node
	c.agents(ctx, &all)
	for _, n := range c.nodes[1:] {
		n.start()
	}
	c.await("all nodes are ready", c.whole)
	open, payer := c.money(ctx, console, &all)
	defer payer.Close()
	c.call(ctx, &all)
	c.watchStreams(ctx, &all)
	c.refreshes(ctx, &all)
	c.revocations(ctx, &all)
	c.sample(ctx, &all)
	c.trouble(ctx)
	all.Wait()
	c.await("all nodes are ready at the end", c.whole)
	c.settle(console, payer, open())
	c.dir = leader(c.nodes).dir // which alone looks at the chain
	c.compare(console)
	for _, n := range c.nodes {
		if err := n.stop(); err != nil {
			t.Errorf("node %s ends with %v", n.name, err)
		}
	}
	c.compareCharges()
	c.compareStates()
	c.tell()
}

// await waits for what must come.
func (c *cluster) await(what string, ok func() bool) {
	c.t.Helper()
	for end := time.Now().Add(90 * time.Second); !ok(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			for _, n := range c.nodes {
				text := n.log.String()
				c.t.Logf("node %s: %s", n.name, text[max(0, len(text)-2000):])
			}
			c.t.Fatalf("in vain: %s", what)
		}
	}
}

// whole reports whether all nodes are ready and one leads.
func (c *cluster) whole() bool {
	for _, n := range c.nodes {
		if !n.up() {
			return false
		}
	}
	return leader(c.nodes) != nil
}

// call has callers share the key that is compared with the books.
func (c *cluster) call(ctx context.Context, all *sync.WaitGroup) {
	for range soakCallers {
		all.Go(func() {
			transport := &http.Transport{}
			defer transport.CloseIdleConnections()
			client := c.client(sdk.WithAPIKey(sdk.NewKey(c.key)), sdk.WithHTTPClient(&http.Client{Transport: transport, Timeout: 20 * time.Second}))
			c.until(ctx, "call with a key", 5*time.Millisecond, func(context.Context) error {
				_, err := client.Cite(c.t.Context(), "", 1+rand.IntN(10)) // to its end, whatever the hour
				var refused *api.Error
				switch {
				case err == nil:
					c.count("answered")
				case errors.As(err, &refused) && refused.Reason != "" && refused.Status != http.StatusInternalServerError && refused.Status != http.StatusBadGateway:
					c.count("refused: " + string(refused.Reason)) // by a node, which has charged nothing
				default:
					c.unsure.Add(1)
				}
				return err
			})
		})
	}
}

// watchStreams keeps streams open, and opens each again that ends.
func (c *cluster) watchStreams(ctx context.Context, all *sync.WaitGroup) {
	transport := &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: -1}
	for i := range *clusterStreams {
		all.Go(func() {
			time.Sleep(time.Duration(i) * time.Millisecond)
			var before *streamLife
			for ctx.Err() == nil {
				life, err := c.stream(ctx, &http.Client{Transport: transport}, c.keys[i/api.StreamsPerKey])
				if err != nil {
					c.explain(ctx, "stream", err)
				}
				if len(life.states) > 0 {
					life.before, life.ended, before = before, time.Now(), life
					c.mu.Lock()
					c.lives = append(c.lives, life)
					c.mu.Unlock()
				}
				select {
				case <-ctx.Done():
				case <-time.After(200*time.Millisecond + time.Duration(rand.IntN(800))*time.Millisecond):
				}
			}
		})
	}
}

// stream reads a stream of key until it ends.
func (c *cluster) stream(ctx context.Context, client *http.Client, key string) (*streamLife, error) {
	life := new(streamLife)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+c.proxy+api.PathSubscribe+"?token="+key, nil)
	if err != nil {
		return life, err
	}
	res, err := client.Do(r)
	if err != nil {
		return life, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return life, fmt.Errorf("status %d", res.StatusCode)
	}
	life.node, life.opened = res.Header.Get(nodeHeader), time.Now()
	c.count("stream opened")
	lines := bufio.NewReaderSize(res.Body, 4<<10)
	var event []byte
	for {
		line, err := lastOf(lines)
		if err != nil {
			return life, nil
		}
		if name, ok := bytes.CutPrefix(line, []byte("event: ")); ok {
			event = bytes.Clone(name)
			continue
		}
		_, ts, ok := bytes.Cut(line, []byte(`"ts":"`))
		if !ok || string(event) != string(api.EventPulse) && string(event) != string(api.EventDelta) {
			continue
		}
		ts, _, _ = bytes.Cut(ts, []byte(`"`))
		at, err := time.Parse(time.RFC3339Nano, string(ts))
		if err != nil {
			return life, err
		}
		if ms, n := at.UnixMilli(), len(life.states); string(event) == string(api.EventDelta) || n == 0 || life.states[n-1] != ms {
			life.states, life.at = append(life.states, ms), append(life.at, time.Now())
		}
	}
}

// lastOf reads a line, of which it returns the end, and the beginning of a short one.
func lastOf(r *bufio.Reader) ([]byte, error) {
	var kept []byte
	for {
		part, err := r.ReadSlice('\n')
		kept = append(kept, part...)
		if over := len(kept) - 256; over > 0 {
			kept = append(kept[:0], kept[over:]...)
		}
		if err == nil {
			return bytes.TrimRight(kept, "\r\n"), nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return nil, err
		}
	}
}

// refreshes has the leader make states, as an operator's scheduler does that does not know who leads.
func (c *cluster) refreshes(ctx context.Context, all *sync.WaitGroup) {
	every := max(3*time.Second, time.Duration(*clusterStreams)*3*time.Millisecond)
	all.Go(func() {
		for ctx.Err() == nil {
			for _, n := range c.nodes {
				if !n.up() {
					continue
				}
				bound, cancel := context.WithTimeout(ctx, 15*time.Second)
				o, err := admin.Open(bound, admin.Config{DataDir: n.dir})
				if err == nil && !o.Direct {
					_, err = o.RunJob(bound, "refresh")
				}
				if err == nil {
					c.count("refresh")
					err = o.Close()
				}
				cancel()
				if refused := (*api.Error)(nil); errors.As(err, &refused) {
					c.count("refresh refused: " + refused.Message)
				} else if err != nil {
					c.count("refresh failed")
				}
			}
			select {
			case <-ctx.Done():
			case <-time.After(every):
			}
		}
	})
}

// revocations makes keys at one node and revokes them there, and measures until every other refuses them.
func (c *cluster) revocations(ctx context.Context, all *sync.WaitGroup) {
	all.Go(func() {
		for ctx.Err() == nil {
			at := c.nodes[rand.IntN(len(c.nodes))]
			if at.up() {
				if err := c.revoke(ctx, at); err != nil {
					c.explain(ctx, "revocation", err)
				}
			}
			select {
			case <-ctx.Done():
			case <-time.After(2 * time.Second):
			}
		}
	})
}

// revoke is one revocation.
func (c *cluster) revoke(ctx context.Context, at *node) (err error) {
	bound, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	o, err := admin.Open(bound, admin.Config{DataDir: at.dir})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.Close()) }()
	if o.Direct { // it has died since
		return nil
	}
	issued, err := o.IssueKey(bound, admin.KeyRequest{CreateKeyRequest: api.CreateKeyRequest{Name: "short"}, Tier: api.TierEnterprise})
	if err != nil {
		return err
	}
	for _, n := range c.nodes {
		if n.up() && c.status(bound, n, issued.Key) != http.StatusOK {
			c.count("a new key is not known at once")
			return nil
		}
	}
	if _, err := o.RevokeKey(bound, issued.KeyID); err != nil {
		return err
	}
	began := time.Now()
	for _, n := range c.nodes {
		for n.up() && bound.Err() == nil {
			status := c.status(bound, n, issued.Key)
			if status == http.StatusUnauthorized {
				c.mu.Lock()
				c.revokes = append(c.revokes, time.Since(began))
				c.mu.Unlock()
				c.count("revocation seen")
			}
			if status != http.StatusOK {
				break
			}
			if time.Since(began) > 5*time.Second {
				return fmt.Errorf("node %s takes a key that was revoked %s ago", n.name, time.Since(began))
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	return nil
}

// status is what a node answers to a call with a key, 0 where it does not.
func (c *cluster) status(ctx context.Context, n *node, key string) int {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+n.listen+"/v1/cite?ref=1", nil)
	if err != nil {
		return 0
	}
	r.Header.Set("Authorization", "Bearer "+key)
	r.Host = c.proxy
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0
	}
	_, _ = io.Copy(io.Discard, res.Body)
	_ = res.Body.Close()
	return res.StatusCode
}

// sample looks who asks sources, and who the chain for transfers: never two in one moment.
func (c *cluster) sample(ctx context.Context, all *sync.WaitGroup) {
	all.Go(func() {
		type asked struct{ sources, scans int64 }
		was := make([]asked, len(c.nodes))
		look := func() (sources, scans []string) {
			for i, n := range c.nodes {
				now := asked{n.outside.asked.Load(), n.outside.scans.Load()}
				if now.sources > was[i].sources {
					sources = append(sources, n.name)
				}
				if now.scans > was[i].scans {
					scans = append(scans, n.name)
				}
				was[i] = now
			}
			return sources, scans
		}
		look()
		for ctx.Err() == nil {
			time.Sleep(100 * time.Millisecond)
			sources, scans := look()
			for what, who := range map[string][]string{"sources": sources, "the chain for transfers": scans} {
				if len(who) > 1 {
					c.mu.Lock()
					c.overlaps = append(c.overlaps, fmt.Sprintf("%s: nodes %v ask %s", time.Now().Format(time.TimeOnly), who, what))
					c.mu.Unlock()
				}
			}
		}
	})
}

// trouble does something to the cluster again and again until ctx is done, and waits each time until all is well.
func (c *cluster) trouble(ctx context.Context) {
	every := min(time.Minute, max(*clusterFor/6, 8*time.Second))
	kinds := []struct {
		what string
		do   func(f *fault)
	}{
		{"the leader was killed", c.killLeader},
		{restarted, c.restart},
		{"the leader's connection went silent", c.cutLeader},
		{databaseCrashed, func(*fault) { c.server.Crash(c.t) }},
		{"the leader and a follower were killed", func(f *fault) { c.killFollower(); c.killLeader(f) }},
	}
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return
		case <-time.After(every):
		}
		was, k := leader(c.nodes), kinds[i%len(kinds)]
		if k.what != restarted { // by which no call may fail
			c.killed.Store(time.Now().UnixMilli())
		}
		f := fault{at: time.Now(), what: k.what}
		k.do(&f)
		if was != nil && k.what != databaseCrashed {
			c.await("another node leads after "+f.what, func() bool {
				now := leader(c.nodes)
				return now != nil && now != was
			})
			f.takeover = time.Since(f.at)
		}
		c.ending.Wait()
		for _, n := range c.nodes {
			n.wire.Mend()
			n.mu.Lock()
			dead := n.life == nil
			n.mu.Unlock()
			if dead {
				n.start()
			}
		}
		c.await("all nodes are ready after "+f.what, c.whole)
		f.healed = time.Since(f.at)
		c.kills++
		if k.what != restarted {
			c.killed.Store(time.Now().UnixMilli())
		}
		c.mu.Lock()
		c.faults = append(c.faults, f)
		c.mu.Unlock()
	}
}

func (c *cluster) killLeader(*fault) {
	if n := leader(c.nodes); n != nil {
		n.kill()
	}
}

func (c *cluster) killFollower() {
	if n := c.follower(); n != nil {
		n.kill()
	}
}

// follower is the first node that does not lead.
func (c *cluster) follower() *node {
	l := leader(c.nodes)
	for _, n := range c.nodes {
		if n != l {
			return n
		}
	}
	return nil
}

// restart restarts a follower, and then begins to stop the leader.
func (c *cluster) restart(f *fault) {
	n, l := c.follower(), leader(c.nodes)
	if n == nil || l == nil {
		return
	}
	if err := n.stop(); err != nil {
		c.t.Errorf("node %s ends with %v", n.name, err)
	}
	n.start()
	c.await("the follower that was restarted is ready", c.whole)
	f.at = time.Now()
	c.ending.Go(func() {
		if err := l.stop(); err != nil {
			c.t.Errorf("node %s ends with %v", l.name, err)
		}
	})
}

func (c *cluster) cutLeader(*fault) {
	if n := leader(c.nodes); n != nil {
		n.wire.Silence()
	}
}

const (
	databaseCrashed = "PostgreSQL crashed"
	restarted       = "a follower and the leader were restarted"
)

// compareCharges compares the calls that were answered with those that were charged, once all nodes have ended.
func (c *cluster) compareCharges() {
	books, err := store.Open(c.t.Context(), c.place(), time.Now())
	if err != nil {
		c.t.Fatal(err)
	}
	defer books.Close()
	rows, err := books.Usage(c.t.Context(), account.OperatorID, time.Now().Add(-48*time.Hour))
	if err != nil {
		c.t.Fatal(err)
	}
	var charged int64
	for _, r := range rows {
		if r.KeyID == c.key[:api.KeyIDLength] && r.Op == api.OpCite {
			charged += r.Calls
		}
	}
	answered, unsure := c.counted("answered"), c.unsure.Load()
	if charged < answered || charged > answered+unsure {
		c.t.Errorf("%d calls were answered, %d charged, and of %d nobody knows", answered, charged, unsure)
	}
	c.t.Logf("%d calls with the compared key answered, %d charged, %d unsure", answered, charged, unsure)
}

// place is the URL of the database without a wire.
func (c *cluster) place() string { return c.server.URL(fmt.Sprintf("127.0.0.1:%d", c.server.Port)) }

// compareStates compares what each stream has shown with what was published: each state once, in order.
func (c *cluster) compareStates() {
	rows, err := testbed.SQL(c.t, c.place(), history.File).QueryContext(c.t.Context(), "SELECT generated_at FROM pulses WHERE pack = 'crypto' ORDER BY 1")
	if err != nil {
		c.t.Fatal(err)
	}
	defer rows.Close()
	place := map[int64]int{}
	for rows.Next() {
		var at int64
		if err := rows.Scan(&at); err != nil {
			c.t.Fatal(err)
		}
		place[at] = len(place)
	}
	if err := rows.Err(); err != nil {
		c.t.Fatal(err)
	}
	missed, repeated, unknown, shown, gaps := 0, 0, 0, 0, 0
	last := map[string]map[int64]time.Duration{} // by node and state, until the last stream has shown it
	for _, l := range c.lives {
		shown += len(l.states)
		if l.before != nil {
			gaps += len(between(place, l))
		}
		for i, state := range l.states {
			at, known := place[state]
			if !known {
				unknown++
				continue
			}
			if i == 0 {
				continue
			}
			switch before, ok := place[l.states[i-1]]; {
			case ok && at <= before:
				repeated++
			case ok && at > before+1:
				missed++
			}
			if last[l.node] == nil {
				last[l.node] = map[int64]time.Duration{}
			}
			last[l.node][state] = max(last[l.node][state], l.at[i].Sub(time.UnixMilli(state)))
		}
	}
	c.t.Logf("%d states, shown %d times on %d streams", len(place), shown, len(c.lives))
	if missed+repeated+unknown+gaps > 0 || shown == 0 {
		c.t.Errorf("streams: %d times a state was missed, %d times one came again or out of order, %d times one that is not in history, "+
			"%d times one was missed between a stream and the next", missed, repeated, unknown, gaps)
	}
	for name, states := range last {
		var all []time.Duration
		for _, d := range states {
			all = append(all, d)
		}
		c.t.Logf("node %s: from the moment of a state to its last stream: %s", name, spread(all))
	}
}

// between are the states that a client has missed at the end of one stream and the beginning of the next, which begins with the newest: it
// has had none of those that are older than that, and newer than its last one, and that came while a stream was open, as far as streams
// may be behind.
func between(place map[int64]int, l *streamLife) (list []int64) {
	const behind = 3 * time.Second
	last := l.before.states[len(l.before.states)-1]
	for state := range place {
		at := time.UnixMilli(state)
		old := at.Before(l.before.ended.Add(-behind)) && state < l.states[0] // the stream before had time for it
		due := at.Before(l.opened.Add(-behind)) && state > l.states[0]       // this one does not begin with the newest
		if state > last && (old || due) {
			list = append(list, state)
		}
	}
	return list
}

// spread says how durations are distributed.
func spread(all []time.Duration) string {
	if len(all) == 0 {
		return "none"
	}
	slices.Sort(all)
	at := func(share float64) time.Duration { return all[int(share*float64(len(all)-1))].Round(time.Millisecond) }
	return fmt.Sprintf("%s median, %s p99, %s at most, of %d", at(0.5), at(0.99), at(1), len(all))
}

// tell says what was measured, and fails for what took far too long.
func (c *cluster) tell() {
	var takeovers []time.Duration
	for _, f := range c.faults {
		c.t.Logf("%s %s: another led after %s, all well after %s", f.at.Format(time.TimeOnly), f.what, f.takeover.Round(10*time.Millisecond), f.healed.Round(10*time.Millisecond))
		if f.takeover > 0 {
			takeovers = append(takeovers, f.takeover)
		}
		if f.what == restarted && f.takeover > 3*time.Second { // as if its lease had run out
			c.t.Errorf("a leader that was told to stop did not hand over: %s", f.takeover)
		}
	}
	c.t.Logf("takeovers: %s", spread(takeovers))
	c.t.Logf("revocations: %s", spread(c.revokes))
	for _, o := range c.overlaps {
		c.t.Error(o)
	}
	c.strange.Range(func(what, err any) bool {
		c.t.Errorf("%v failed, which nothing explains: %v", what, err)
		return true
	})
	c.counts.Range(func(what, n any) bool {
		c.t.Logf("%8d %v", n.(*atomic.Int64).Load(), what)
		return true
	})
	for _, must := range []string{"answered", "purchase", "call that is paid", "tool in a session", "tool without a session", "refresh", "revocation seen"} {
		if c.counted(must) == 0 {
			c.t.Errorf("nothing was done of: %s", must)
		}
	}
}
