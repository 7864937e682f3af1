package pipeline_test

import (
	"context"
	"database/sql"
	"maps"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/feed"
	"github.com/contextd/contextd/daemon/pipeline"
	"github.com/contextd/contextd/daemon/source"
	"github.com/contextd/contextd/daemon/store/history"
	"github.com/contextd/contextd/sdk/api"
)

// TestRestartServesAtOnce: state and brief are there when Open returns, and sources are not asked again too soon.
func TestRestartServesAtOnce(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := build(t, newPack(5*time.Minute, time.Hour), nil)
		first := r.saved().Start
		r.refresh()
		if err := r.Narrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		before := r.edition()
		time.Sleep(time.Minute)
		r.reopen(nil)
		after := r.edition()
		now := r.clock.now()
		if got, old := string(after.Fresh().Bytes(now)), string(before.Fresh().Bytes(now)); got != old || after.Brief.Brief != before.Brief.Brief || after.Brief.Text == "" {
			t.Errorf("after the restart\n%s\nbefore it\n%s", got, old)
		}
		want(t, "start of the pack", r.saved().Start, first)
		want(t, "status", []any{r.status("s1").Status, r.status("s2").Status}, []any{api.SourceOK, api.SourceOK})

		r.start()
		time.Sleep(4*time.Minute - time.Second)
		want(t, "attempts in the slot of the first", r.fetcher.asked(""), 2)
		time.Sleep(2 * time.Second)
		want(t, "attempts in the next", []int{r.fetcher.asked("s1"), r.fetcher.asked("s2")}, []int{2, 1})
		time.Sleep(55 * time.Minute)
		want(t, "attempts after an hour", []int{r.fetcher.asked("s1"), r.fetcher.asked("s2")}, []int{13, 2})
	})
}

func TestRestartInALaterSlotRefreshesAtOnce(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := build(t, newPack(times(1)...), nil)
		r.refresh()
		time.Sleep(5*time.Minute + time.Second)
		r.reopen(nil)
		begin := time.Now()
		r.start()
		time.Sleep(time.Second)
		want(t, "attempts", r.fetcher.asking("s1", begin)[1:], []time.Duration{0})
	})
}

func TestNothingStoredPublishesNothing(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := build(t, newPack(times(1)...), nil)
		if e, ok := r.feed.Latest(packID); e != nil || !ok {
			t.Errorf("published %v", e)
		}
		want(t, "start", r.saved().Start, r.clock.now().UTC())
	})
}

// spoil overwrites columns of the history behind the store's back.
func (r *rig) spoil(query string) {
	r.t.Helper()
	if err := r.store.Close(); err != nil {
		r.t.Fatal(err)
	}
	db, err := sql.Open("sqlite3", filepath.Join(r.dir, history.File))
	if err != nil {
		r.t.Fatal(err)
	}
	defer db.Close()
	res, err := db.ExecContext(r.t.Context(), query)
	if err != nil {
		r.t.Fatal(err)
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		r.t.Fatalf("%q changed %d rows, %v", query, n, err)
	}
}

func TestDamagedNewestStateIsSteppedOver(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := build(t, newPack(times(1)...), nil)
		var states []pipeline.Report
		for range 4 {
			states = append(states, r.refresh())
			time.Sleep(5 * time.Minute)
		}
		r.spoil("UPDATE pulses SET body = x'00' WHERE id > 2")
		r.open(nil)
		want(t, "state that is served", r.edition().GeneratedAt, states[1].GeneratedAt)
		want(t, "error lines", r.log.Count("level=ERROR", "damaged=2", "pack="+packID), 1)
		next := r.refresh()
		if !next.GeneratedAt.After(states[3].GeneratedAt) {
			t.Errorf("the next state is of %v, the damaged one of %v", next.GeneratedAt, states[3].GeneratedAt)
		}
		r.reopen(nil)
		want(t, "state after the next restart", r.edition().GeneratedAt, next.GeneratedAt)
		want(t, "error lines in all", r.log.Count("level=ERROR"), 1)
	})
}

// TestSourceIsAppended: a pack whose sources begin with those that its states cite goes on in the same version, and the new one is asked at
// once; one that lost a source, or has another order, does not.
func TestSourceIsAppended(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := build(t, newPack(times(2)...), nil)
		r.refresh()
		r.reopen(func(r *rig) { r.cfg.Pack = newPack(times(3)...) })
		want(t, "sources that are not ok", len(r.edition().Freshness(r.clock.now()).Sources), 1)
		r.start()
		time.Sleep(time.Second)
		want(t, "attempts", []int{r.fetcher.asked("s1"), r.fetcher.asked("s3")}, []int{1, 1})
		want(t, "sources", len(r.served().SourceStatus), 3)
		for _, n := range []int{1, 2} {
			cfg := r.cfg
			if cfg.Pack = newPack(times(n)...); n == 2 {
				cfg.Pack.Sources[0], cfg.Pack.Sources[1] = cfg.Pack.Sources[1], cfg.Pack.Sources[0]
			}
			if _, err := pipeline.Open(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "raise its version") {
				t.Errorf("%d sources: %v", n, err)
			}
		}
	})
}

// TestMendedConfiguration: what a restart may have mended is asked at once, and not when the pause after the failure is over.
func TestMendedConfiguration(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := build(t, newPack(times(1)...), nil)
		r.refresh()
		for _, c := range []struct {
			class source.Class
			asked int
		}{{source.ClassForbidden, 1}, {source.ClassAuth, 1}, {source.ClassUpstream, 0}} {
			r.fetcher.tell(failing(c.class, 0), "s1")
			time.Sleep(20 * time.Minute)
			_, _ = r.Refresh(t.Context(), false)
			before := r.fetcher.asked("s1")
			r.fetcher.tell(nil, "s1")
			r.reopen(nil)
			stop := r.start()
			time.Sleep(time.Second)
			want(t, "attempts after "+string(c.class), r.fetcher.asked("s1")-before, c.asked)
			stop()
		}
	})
}

func TestAllStatesDamaged(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := build(t, newPack(times(1)...), nil)
		r.refresh()
		if err := r.Narrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.spoil("UPDATE pulses SET body = x'00'")
		r.open(nil)
		if e, _ := r.feed.Latest(packID); e != nil {
			t.Error("a damaged state is published")
		}
		time.Sleep(5 * time.Minute)
		r.start()
		time.Sleep(time.Second)
		e := r.edition() // and a brief of the new state, as if it were the first
		want(t, "brief of", e.Brief.Of, e.GeneratedAt)
	})
}

func TestOpenFails(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := build(t, newPack(times(1)...), nil)
		r.refresh()
		cfg := r.cfg
		cfg.Feed = feed.New("another")
		if _, err := pipeline.Open(t.Context(), cfg); err == nil {
			t.Error("opened with a feed that knows no such pack")
		}
		if err := r.store.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := pipeline.Open(t.Context(), r.cfg); err == nil {
			t.Error("opened with a closed store")
		}
	})
}

// TestRestartAsksForWhatIsNew: documents that were read before a restart are asked for by their versions, by the same program and for the
// same pack alone: another may read more out of them.
func TestRestartAsksForWhatIsNew(t *testing.T) {
	virtual(t, func(t *testing.T) {
		read := source.Versions{"https://s1.example/": {Tag: `"a"`, Modified: "Thu, 26 Nov 2026 12:00:00 GMT"}}
		r := build(t, newPack(5*time.Minute), func(r *rig) { r.cfg.Program = "1" })
		r.fetcher.tell(func(context.Context, int) source.Outcome {
			out := fee(1)
			out.Versions = read
			return out
		}, "s1")
		if _, err := r.Refresh(t.Context(), true); err != nil {
			t.Fatal(err)
		}
		r.fetcher.tell(func(context.Context, int) source.Outcome { // which changes nothing of what is known
			return source.Outcome{Class: source.ClassOK, NotModified: true}
		}, "s1")
		if _, err := r.Refresh(t.Context(), true); err != nil {
			t.Fatal(err)
		}
		for _, tt := range []struct {
			program, digest string
			want            source.Versions
		}{{"1", "", read}, {"2", "", nil}, {"1", "other", nil}, {"", "", nil}} {
			r.fetcher.known = nil
			r.reopen(func(r *rig) {
				r.cfg.Program = tt.program
				p := *r.cfg.Pack
				p.Digest = tt.digest
				r.cfg.Pack = &p
			})
			if got := r.fetcher.known; !maps.Equal(got, tt.want) {
				t.Errorf("program %q, pack %q: known are %v, want %v", tt.program, tt.digest, got, tt.want)
			}
		}
	})
}
