package daemon_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/admin"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/daemon/datadir"
	"github.com/contextd/contextd/daemon/web"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

// slow is a transport to the sources that lets nothing through until it is told to.
type slow struct {
	daemon.Recording
	mu   sync.Mutex // guards gate
	gate chan struct{}
}

func (s *slow) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	gate := s.gate
	s.mu.Unlock()
	select {
	case <-gate:
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	return s.Recording.RoundTrip(r)
}

// jobOf is how the job of a name stands.
func jobOf(t *testing.T, d *daemontest.Daemon, name string) admin.Job {
	t.Helper()
	for _, j := range d.Jobs() {
		if j.Name == name {
			return j
		}
	}
	t.Fatalf("there is no job %s", name)
	return admin.Job{}
}

// until waits for something that happens in the background.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for range 10_000 {
		if ok() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("never: " + what)
}

// TestJobsNeverTwice runs a job while it runs, by every way there is, and checks that it ran once and that its state is told.
func TestJobsNeverTwice(t *testing.T) {
	t.Parallel()
	gate := &slow{gate: make(chan struct{})}
	close(gate.gate)
	key := []byte(strings.Repeat("k", web.MinJobsKey))
	d := daemontest.Start(t, func(c *daemon.Config) {
		gate.Recording, c.JobsKey = c.Recording, key
		c.Recording = gate
	})
	until(t, "the first jobs", func() bool { return jobOf(t, d, "prune").Runs > 0 && jobOf(t, d, "flush").SucceededAt != nil })
	before := jobOf(t, d, "refresh")
	gate.mu.Lock()
	gate.gate = make(chan struct{})
	gate.mu.Unlock()
	done := make(chan error, 1)
	go func() { done <- d.RunJob(context.WithoutCancel(t.Context()), "refresh") }()
	until(t, "the refresh begins", func() bool { return jobOf(t, d, "refresh").Running })
	if err := d.Daemon.RunJob(t.Context(), "refresh"); err == nil || !strings.Contains(err.Error(), "job refresh is running already") {
		t.Errorf("a second run: %v", err)
	}
	if status := start(t, d, key, "refresh"); status != http.StatusAccepted {
		t.Errorf("from outside: status %d", status)
	}
	close(gate.gate)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if after := jobOf(t, d, "refresh"); after.Runs != before.Runs+1 || after.Failures != before.Failures || after.Running || after.SucceededAt == nil {
		t.Errorf("refresh stands at %+v, before %+v", after, before)
	}
	if err := d.RunJob(t.Context(), "dance"); !strings.Contains(fmt.Sprint(err), `there is no job "dance"`) {
		t.Errorf("an unknown job: %v", err)
	}
	for _, name := range []string{"refresh", "brief", "deposits", "expire", "prune"} { // the names of the contract
		if status := start(t, d, key, name); status != http.StatusAccepted {
			t.Errorf("%s: status %d", name, status)
		}
	}
	until(t, "the refresh from outside", func() bool { return jobOf(t, d, "refresh").Runs == before.Runs+2 })
}

// TestNoWayAroundTheScheduler: on the admin socket, refreshes and briefs are run as jobs and in no other way.
func TestNoWayAroundTheScheduler(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t)
	socket := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return datadir.Dial(ctx, d.Config.DataDir)
	}}}
	for path, want := range map[string]int{"/packs/crypto/refresh": http.StatusNotFound, "/packs/crypto/brief": http.StatusMethodNotAllowed} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://admin"+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := socket.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if res.Body.Close(); res.StatusCode != want {
			t.Errorf("%s: status %d, want %d", path, res.StatusCode, want)
		}
	}
}

// start starts a job from outside.
func start(t *testing.T, d *daemontest.Daemon, key []byte, name string) int {
	t.Helper()
	path, now := api.PathInternalJobs+"/"+name, d.Clock.Now()
	d.Clock.Advance(time.Second) // two requests of one second would be the same
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, d.URL()+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set(api.HeaderJobTimestamp, fmt.Sprint(now.Unix()))
	r.Header.Set(api.HeaderJobSignature, api.SignRequest(key, now, r.Method, path, nil))
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	return res.StatusCode
}

// TestLongJob has the operator run a job that takes longer than a call on the public address may.
func TestLongJob(t *testing.T) {
	t.Parallel()
	const read, write, longer = time.Second, 1500 * time.Millisecond, 2 * time.Second
	gate := &slow{gate: make(chan struct{})}
	close(gate.gate)
	d := daemontest.Open(t, func(c *daemon.Config) {
		gate.Recording = c.Recording
		c.Recording = gate
	})
	if err := d.Refresh(t.Context(), api.PackCrypto); err != nil {
		t.Fatal(err)
	}
	d.Hurry(read, write)
	d.Run(t)
	held := make(chan struct{})
	gate.mu.Lock()
	gate.gate = held
	gate.mu.Unlock()
	o := openOperator(t, d.Config.DataDir)
	defer o.Close()
	began, before := time.Now(), jobOf(t, d, "refresh").Runs
	time.AfterFunc(longer, func() { close(held) })
	list, err := o.RunJob(t.Context(), "refresh")
	if err != nil || len(list) == 0 {
		t.Fatalf("after %s: %v", time.Since(began), err)
	}
	if took := time.Since(began); took < longer {
		t.Errorf("it took %s, too short to tell", took)
	}
	if n := jobOf(t, d, "refresh").Runs - before; n != 1 {
		t.Errorf("it ran %d times", n)
	}
}

// TestJobFails checks that a failure is told, with its reason, until the job is well again.
func TestJobFails(t *testing.T) {
	t.Parallel()
	gate := &slow{gate: make(chan struct{})}
	close(gate.gate)
	d := daemontest.Start(t, func(c *daemon.Config) {
		gate.Recording = c.Recording
		c.Recording = gate
	})
	gate.mu.Lock()
	gate.gate = nil // nothing comes through any more
	gate.mu.Unlock()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := d.RunJob(ctx, "refresh"); err == nil {
		t.Fatal("a refresh without sources is well")
	}
	if j := jobOf(t, d, "refresh"); j.Failures == 0 || j.Error == "" || j.Running {
		t.Errorf("the failed refresh stands at %+v", j)
	}
	gate.mu.Lock()
	gate.gate = make(chan struct{})
	close(gate.gate)
	gate.mu.Unlock()
	d.Clock.Advance(time.Hour)
	if err := d.RunJob(t.Context(), "refresh"); err != nil {
		t.Fatal(err)
	}
	if j := jobOf(t, d, "refresh"); j.Error != "" {
		t.Errorf("well again, it stands at %+v", j)
	}
}

// TestMetricsOfADaemon makes calls of every kind and reads what the admin address says of them.
func TestMetricsOfADaemon(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t, func(c *daemon.Config) { c.AdminListen = "127.0.0.1:0" })
	key := d.Key(t, api.TierPro)
	c := client(t, d, key)
	if _, err := c.Fresh(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	_, _ = client(t, d, key[:len(key)-1]+"!").Fresh(t.Context(), "") // refused
	stream, stop := context.WithCancel(t.Context())
	for _, err := range c.Subscribe(sdk.SubscribeRequest{}).Events(stream) {
		if err != nil {
			t.Fatal(err)
		}
		break
	}
	stop()
	d.Grant(t, key, 10)
	if _, err := c.Brief(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	d.Clock.Advance(90 * time.Second)
	admin := d.AdminURL()
	text := read(t, admin+"/metrics")
	for _, want := range []string{
		`contextd_requests_total{authentication="key",operation="fresh",status="200"} 1`, `contextd_requests_total{authentication="key",operation="fresh",status="401"} 1`,
		`contextd_charges_total 3`, `contextd_credits_debited_total 1`, `contextd_streams_opened_total 1`, `contextd_ready 1`, `contextd_state_age_seconds{pack="crypto"} 89.999`,
		`contextd_refreshes_total{outcome="ok",pack="crypto"}`, `contextd_source_fetches_total{class="ok",pack="crypto",source="coingecko-markets"}`,
		`contextd_briefs_total{outcome="ok",pack="crypto",writer=`, `contextd_deposits{status="pending"} 0`, `contextd_sqlite_wal_bytes{database="books"}`,
		`contextd_job_success_timestamp_seconds{job_name="refresh/crypto"}`,
	} {
		if !strings.Contains(text, "\n"+want) {
			t.Errorf("lacks %s", want)
		}
	}
	if got := read(t, admin+"/readyz"); !strings.Contains(got, `"ready":true`) {
		t.Errorf("readyz says %s", got)
	}
	d.Stop(t)
	if conn, err := net.Dial("tcp", strings.TrimPrefix(admin, "http://")); err == nil {
		conn.Close()
		t.Error("the admin address answers after the stop")
	}
}

// read reads a page.
func read(t *testing.T, url string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
