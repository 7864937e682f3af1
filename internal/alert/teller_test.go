package alert_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/contextd/contextd/internal/alert"
)

// taker is a target that notes what it takes, and refuses what refuse says.
type taker struct {
	name   string
	refuse func(e alert.Event, attempt int) error // nil takes all

	mu       sync.Mutex // guards what follows
	attempts map[string]int
	took     []string // messages
	failed   int
}

func (k *taker) target() alert.Target {
	return alert.Target{Name: k.name, Deliver: func(_ context.Context, e alert.Event) error {
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.attempts == nil {
			k.attempts = map[string]int{}
		}
		k.attempts[e.ID]++
		if k.refuse != nil {
			if err := k.refuse(e, k.attempts[e.ID]); err != nil {
				k.failed++
				return err
			}
		}
		k.took = append(k.took, e.Message)
		return nil
	}}
}

func (k *taker) has() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.took)
}

func (k *taker) failures() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.failed
}

// until waits until true.
func until(t *testing.T, true func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !true(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it did not happen")
		}
	}
}

// run runs teller until stop, which waits for it.
func run(t *testing.T, teller *alert.Teller) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() { teller.Run(ctx) })
	stop = func() { cancel(); all.Wait() }
	t.Cleanup(stop)
	return stop
}

// rule is a rule with the targets.
func rule(takers ...*taker) alert.Rule {
	r := alert.Rule{Name: "r", Pack: "crypto", Find: marks}
	for _, k := range takers {
		r.Targets = append(r.Targets, k.target())
	}
	return r
}

// observe has teller look at a state.
func observe(t *testing.T, teller *alert.Teller, minute int, text string) {
	t.Helper()
	if _, err := teller.Observe(t.Context(), stateOf(minute, text)); err != nil {
		t.Error(err)
	}
}

// TestDelivery: each target gets each event once, in order; one that is down for a while gets them later, and holds up no other.
func TestDelivery(t *testing.T) {
	t.Parallel()
	good := &taker{name: "good"}
	tries := 0 // by one goroutine at a time
	slow := &taker{name: "slow", refuse: func(alert.Event, int) error {
		if tries++; tries < 7 {
			return errors.New("500")
		}
		return nil
	}}
	teller := open(t, filepath.Join(t.TempDir(), "journal"), rule(good, slow))
	stop := run(t, teller)
	for minute := range 5 {
		observe(t, teller, minute, fmt.Sprint("e", minute))
	}
	want := []string{"e0", "e1", "e2", "e3", "e4"}
	until(t, func() bool { n, _ := teller.Pending(); return n == 0 })
	stop()
	if got := good.has(); !slices.Equal(got, want) {
		t.Errorf("good took %q", got)
	}
	if got := slices.Sorted(slices.Values(slow.has())); !slices.Equal(got, want) {
		t.Errorf("slow took %q", got)
	}
	if err := teller.Close(); err != nil {
		t.Error(err)
	}
}

// TestRefusedHoldsUpNoOther: an event that a target refuses always waits, and the others are taken.
func TestRefusedHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	k := &taker{name: "k", refuse: func(e alert.Event, _ int) error {
		if e.Message == "bad" {
			return &alert.Later{After: time.Nanosecond, Err: errors.New("400")}
		}
		return nil
	}}
	teller := open(t, filepath.Join(t.TempDir(), "journal"), rule(k))
	defer run(t, teller)()
	observe(t, teller, 0, "bad a b")
	until(t, func() bool { return len(k.has()) == 2 && k.failures() > 3 })
	observe(t, teller, 1, "bad c")
	until(t, func() bool { n, _ := teller.Pending(); return n == 1 && len(k.has()) == 3 })
	if _, oldest := teller.Pending(); !oldest.Equal(began()) {
		t.Errorf("one waits since %v", oldest)
	}
}

// TestLater: a target that names a time is not asked before, an hour at the longest.
func TestLater(t *testing.T) {
	t.Parallel()
	for after, want := range map[time.Duration][2]time.Duration{
		0: {0, time.Second}, time.Minute: {time.Minute, time.Minute}, 48 * time.Hour: {time.Hour, time.Hour},
	} {
		waits := make(chan time.Duration, 100)
		k := &taker{name: "k", refuse: func(alert.Event, int) error { return &alert.Later{After: after, Err: errors.New("429")} }}
		teller, err := alert.Open(alert.Config{Path: filepath.Join(t.TempDir(), "journal"), Rules: []alert.Rule{rule(k)}, FirstWait: time.Millisecond,
			Notify: func(r alert.Report) {
				select {
				case waits <- r.Wait:
				default: // enough are known
				}
			}})
		if err != nil {
			t.Fatal(err)
		}
		stop := run(t, teller)
		observe(t, teller, 0, "a")
		if wait := <-waits; wait < want[0] || wait > want[1] {
			t.Errorf("asked to wait for %s, it waits for %s", after, wait)
		}
		stop()
	}
}

// TestRestart: what was not taken is offered after a restart, and what was is not.
func TestRestart(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "journal")
	dead := &taker{name: "b", refuse: func(alert.Event, int) error { return errors.New("dead") }}
	a, b := &taker{name: "a"}, &taker{name: "b"}
	teller := open(t, path, rule(a, dead))
	stop := run(t, teller)
	observe(t, teller, 0, "x y")
	until(t, func() bool { return len(a.has()) == 2 && dead.failures() > 0 })
	stop()
	if _, err := alert.Open(alert.Config{Path: path}); !errors.Is(err, alert.ErrInUse) {
		t.Errorf("a second one: %v", err)
	}
	if err := teller.Close(); err != nil {
		t.Fatal(err)
	}
	teller = open(t, path, rule(a, b))
	stop = run(t, teller)
	until(t, func() bool { return len(b.has()) == 2 })
	stop()
	if n, _ := teller.Pending(); n != 0 || len(a.has()) != 2 {
		t.Errorf("%d wait, a took %q", n, a.has())
	}
}

// TestOtherRules: while it runs, rules change; of a target that is gone events are dropped and that is told, the rest goes on.
func TestOtherRules(t *testing.T) {
	t.Parallel()
	dead := &taker{name: "dead", refuse: func(alert.Event, int) error { return errors.New("dead") }}
	k := &taker{name: "k"}
	var mu sync.Mutex
	var dropped []string
	noted := 0 // what k took
	teller, err := alert.Open(alert.Config{Path: filepath.Join(t.TempDir(), "journal"), Rules: []alert.Rule{rule(dead)}, FirstWait: time.Millisecond,
		Notify: func(r alert.Report) {
			mu.Lock()
			defer mu.Unlock()
			if r.Err == nil && r.Target == k.name {
				noted++
			}
			if r.Err != nil && r.Target == "" {
				dropped = append(dropped, r.Err.Error())
			}
		}})
	if err != nil {
		t.Fatal(err)
	}
	defer run(t, teller)()
	observe(t, teller, 0, "a")
	until(t, func() bool { return dead.failures() > 2 })
	teller.SetRules([]alert.Rule{rule(k)})
	observe(t, teller, 1, "a b")
	until(t, func() bool { // else its event is dropped with its rule
		mu.Lock()
		defer mu.Unlock()
		return noted == 1
	})
	if got := k.has(); !slices.Equal(got, []string{"b"}) {
		t.Errorf("k took %q: what stood is no event", got)
	}
	teller.SetRules(nil)
	teller.SetRules([]alert.Rule{rule(k)})
	observe(t, teller, 2, "a b")
	until(t, func() bool { return len(k.has()) == 3 }) // nothing is known of the rule any more
	mu.Lock()
	defer mu.Unlock()
	if len(dropped) != 1 || !strings.Contains(dropped[0], "there is no dead any more") {
		t.Errorf("told: %q", dropped)
	}
}

// TestCutJournal: a journal that is cut off anywhere opens, and has all of what was whole before.
func TestCutJournal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "journal")
	teller := open(t, path, rule(&taker{name: "k"}))
	sizes := []int64{0}
	for minute := range 4 {
		observe(t, teller, minute, fmt.Sprint("e", minute))
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, info.Size())
	}
	if err := teller.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for cut := range len(text) + 1 {
		if near := slices.ContainsFunc(sizes, func(size int64) bool { return max(size-int64(cut), int64(cut)-size) < 4 }); !near && cut%41 != 0 {
			continue // each takes its time: what is opened is on the disk
		}
		path := filepath.Join(dir, fmt.Sprint("cut", cut))
		if err := os.WriteFile(path, text[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		whole := 0
		for whole+1 < len(sizes) && sizes[whole+1] <= int64(cut) {
			whole++
		}
		var told []string
		teller, err := alert.Open(alert.Config{Path: path, Rules: []alert.Rule{rule(&taker{name: "k"})},
			Notify: func(r alert.Report) { told = append(told, fmt.Sprint(r.Err)) }})
		if err != nil {
			t.Fatalf("cut after %d bytes: %v", cut, err)
		}
		if n, _ := teller.Pending(); n != whole || len(told) > 0 {
			t.Fatalf("cut after %d bytes: %d events, want %d; %q", cut, n, whole, told)
		}
		if err := teller.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestDamagedJournal: a line that is damaged is left out, and told.
func TestDamagedJournal(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "journal")
	teller := open(t, path, rule(&taker{name: "k"}))
	for minute := range 3 {
		observe(t, teller, minute, fmt.Sprint("e", minute))
	}
	if err := teller.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(text), `"message":"e1"`, `"message":"eX"`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	var told []string
	teller, err = alert.Open(alert.Config{Path: path, Rules: []alert.Rule{rule(&taker{name: "k"})},
		Notify: func(r alert.Report) { told = append(told, fmt.Sprint(r.Err)) }})
	if err != nil {
		t.Fatal(err)
	}
	defer teller.Close()
	if n, _ := teller.Pending(); n != 2 || len(told) != 1 || !strings.Contains(told[0], "1 lines of the journal cannot be read") {
		t.Errorf("%d events; %q", n, told)
	}
}

// TestJournalStaysSmall: what is over is no more in the journal some time later.
func TestJournalStaysSmall(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "journal")
	k := &taker{name: "k"}
	teller := open(t, path, rule(k))
	defer run(t, teller)()
	long := strings.Repeat("x", 20_000)
	for minute := range 60 {
		observe(t, teller, minute*200, fmt.Sprint(long, minute))
		until(t, func() bool { n, _ := teller.Pending(); return n == 0 }) // else the journal has to say more, and may be as much longer
	}
	info, err := os.Stat(path)
	if err != nil || info.Size() > 1<<20+100_000 {
		t.Errorf("%d bytes, %v", info.Size(), err)
	}
}

// TestFullDisk: while the journal cannot be written that is told, and nothing is sent: it could not be recorded. Then all of it is, once.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "journal")
	var disk alert.Disk
	k := &taker{name: "k"}
	var mu sync.Mutex
	told := 0
	cfg := alert.Config{Path: path, Rules: []alert.Rule{rule(k)}, FirstWait: time.Millisecond, Notify: func(r alert.Report) {
		mu.Lock()
		defer mu.Unlock()
		if r.Err != nil && strings.Contains(r.Err.Error(), "no space left on device") {
			told++
		}
	}}
	teller, err := disk.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	stop := run(t, teller)
	observe(t, teller, 0, "a")
	until(t, func() bool { n, _ := teller.Pending(); return n == 0 })
	disk.Fill()
	if _, err := teller.Observe(t.Context(), stateOf(1, "a b")); err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("err = %v", err)
	}
	if _, err := teller.Observe(t.Context(), stateOf(2, "c")); err == nil {
		t.Error("nothing was told")
	}
	until(t, func() bool { mu.Lock(); defer mu.Unlock(); return told > 5 })
	if got := k.has(); len(got) != 1 {
		t.Errorf("took %q while nothing could be recorded", got)
	}
	disk.Free()
	until(t, func() bool { return len(k.has()) == 3 })
	observe(t, teller, 3, "c")
	until(t, func() bool { n, _ := teller.Pending(); return n == 0 })
	stop()
	if err := teller.Close(); err != nil {
		t.Error(err)
	}
	teller = open(t, path, rule(k))
	defer teller.Close()
	if n, _ := teller.Pending(); n != 0 || !slices.Equal(k.has(), []string{"a", "b", "c"}) {
		t.Errorf("%d wait, took %q", n, k.has())
	}
	observe(t, teller, 4, "c")
	if n, _ := teller.Pending(); n != 0 {
		t.Error("what stands is told again after a full disk")
	}
}

// TestDiskFullOfDeliveries: the disk fills up while a delivery is recorded. Nothing more is sent until it is, and it is not sent again.
func TestDiskFullOfDeliveries(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "journal")
	var disk alert.Disk
	k := &taker{name: "k", refuse: func(alert.Event, int) error { disk.Fill(); return nil }}
	teller, err := disk.Open(alert.Config{Path: path, Rules: []alert.Rule{rule(k)}, FirstWait: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	observe(t, teller, 0, "a b c")
	stop := run(t, teller)
	for n := 1; n <= 3; n++ {
		until(t, func() bool { return disk.Tries() > 3 })
		if got := k.has(); len(got) != n {
			t.Errorf("took %q with a full disk", got)
		}
		disk.Free()
		until(t, func() bool { n2, _ := teller.Pending(); return len(k.has()) > n || n2 == 0 })
	}
	stop()
	if got := k.has(); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("took %q", got)
	}
}

// TestStopWaits: a delivery under way at a stop may end, and is recorded.
func TestStopWaits(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "journal")
	began, end := make(chan struct{}), make(chan struct{})
	r := rule()
	r.Targets = []alert.Target{{Name: "k", Deliver: func(ctx context.Context, _ alert.Event) error {
		close(began)
		<-end
		return ctx.Err()
	}}}
	teller := open(t, path, r)
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() { teller.Run(ctx) })
	observe(t, teller, 0, "a")
	<-began
	cancel()
	close(end)
	all.Wait()
	if n, _ := teller.Pending(); n != 0 {
		t.Error("it is not recorded")
	}
}
