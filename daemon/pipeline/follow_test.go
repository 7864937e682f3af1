package pipeline_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/feed"
	"github.com/contextd/contextd/daemon/pipeline"
	"github.com/contextd/contextd/daemon/source"
	"github.com/contextd/contextd/internal/state"
)

// recorder is a feed that notes what is published, in order.
type recorder struct {
	*feed.Feed
	published []time.Time
	briefs    []string
	failures  []string
}

func (r *recorder) Publish(p state.Pulse, b state.Narration, rows *state.Tables) error {
	r.published = append(r.published, p.GeneratedAt)
	return r.Feed.Publish(p, b, rows)
}

func (r *recorder) PublishBrief(pack string, b state.Narration) error {
	r.briefs = append(r.briefs, b.Text)
	return r.Feed.PublishBrief(pack, b)
}

func (r *recorder) Fail(pack, message string) {
	r.failures = append(r.failures, message)
	r.Feed.Fail(pack, message)
}

// follower is a pipeline of another node, on the history that r writes.
func (r *rig) follower() (*rig, *recorder) {
	r.t.Helper()
	other := *r
	other.feed = feed.New(packID)
	recorded := &recorder{Feed: other.feed}
	other.fetcher = &fetcher{now: r.clock.now, answers: make(map[string]answer)}
	other.cfg.Feed, other.cfg.Fetcher = recorded, other.fetcher
	var err error
	if other.Pipeline, err = pipeline.Open(r.t.Context(), other.cfg); err != nil {
		r.t.Fatal(err)
	}
	return &other, recorded
}

func (r *rig) catchUp() {
	r.t.Helper()
	if err := r.CatchUp(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
}

func text(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// agree says how what two nodes serve differs.
func agree(t *testing.T, a, b *rig) {
	t.Helper()
	x, y := a.edition(), b.edition()
	want(t, "state", string(y.State), string(x.State))
	want(t, "generatedAt", y.GeneratedAt, x.GeneratedAt)
	want(t, "citations", y.Citations, x.Citations)
	want(t, "leaf", y.Proof, x.Proof)
	want(t, "brief", y.Brief, x.Brief)
	want(t, "status of the sources", text(t, b.Status()), text(t, a.Status()))
}

func TestFollow(t *testing.T) {
	virtual(t, func(t *testing.T) {
		leader := build(t, newPack(times(2)...), nil)
		follower, seen := leader.follower()
		follower.catchUp()
		if e, _ := follower.feed.Latest(packID); e != nil {
			t.Fatal("it has a state, and there is none")
		}

		var made []time.Time
		step := func() {
			time.Sleep(5 * time.Minute)
			made = append(made, leader.refresh().GeneratedAt)
		}
		step()
		follower.catchUp()
		agree(t, leader, follower)
		follower.catchUp() // finds nothing
		for range 20 {     // more than are read at once
			step()
		}
		follower.catchUp()
		agree(t, leader, follower)
		want(t, "published", seen.published, made)
		want(t, "briefs beside states", len(seen.briefs), 0)

		time.Sleep(time.Minute)
		if err := leader.Narrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		follower.catchUp()
		follower.catchUp()
		agree(t, leader, follower)
		want(t, "briefs alone", len(seen.briefs), 1)

		leader.fetcher.tell(failing(source.ClassNetwork, 0), "s1", "s2")
		time.Sleep(5 * time.Minute)
		if _, err := leader.Refresh(t.Context(), false); !errors.Is(err, pipeline.ErrAllFailed) {
			t.Fatal(err)
		}
		follower.catchUp()
		follower.catchUp()
		agree(t, leader, follower)
		want(t, "failures", seen.failures, "[refresh failed: every source failed]")
		want(t, "published after the failure", seen.published, made)
		want(t, "asked by the follower", follower.fetcher.asked(""), 0)
	})
}

// TestFollowerTakesOver: the schedule goes on where the other node left it, and that one follows then.
func TestFollowerTakesOver(t *testing.T) {
	virtual(t, func(t *testing.T) {
		first := new(recorder)
		leader := build(t, newPack(times(1)...), func(r *rig) {
			first.Feed = r.feed
			r.cfg.Feed = first
		})
		follower, seen := leader.follower()
		stop := leader.start()
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			follower.Follow(ctx)
		}()
		time.Sleep(11 * time.Minute) // slots 0, 5 and 10
		want(t, "asked by the leader", leader.fetcher.asked("s1"), 3)
		want(t, "published by the follower", len(seen.published), 3)
		stop()
		cancel()
		<-ended

		leader.catchUp() // finds what it has saved
		follower.catchUp()
		follower.store.Forget()
		begin := time.Now().Truncate(5 * time.Minute)
		stop = follower.start()
		time.Sleep(10 * time.Minute)
		stop()
		want(t, "asked after the turn", follower.fetcher.asking("s1", begin), []time.Duration{5 * time.Minute, 10 * time.Minute})
		leader.catchUp()
		agree(t, follower, leader)
		want(t, "published by both", text(t, seen.published), text(t, first.published))
		want(t, "published by the follower", len(seen.published), 5)
		leader.catchUp()
		want(t, "briefs and failures that came alone", len(first.briefs)+len(first.failures), 0)
	})
}

// TestHint: a follower that is told looks at once, else within a second.
func TestHint(t *testing.T) {
	virtual(t, func(t *testing.T) {
		leader := build(t, newPack(times(1)...), nil)
		follower, _ := leader.follower()
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			follower.Follow(ctx)
		}()
		for _, hinted := range []bool{true, false} {
			time.Sleep(5*time.Minute + 100*time.Millisecond) // it looks at whole seconds
			made := leader.refresh().GeneratedAt
			if hinted {
				follower.Hint()
			}
			time.Sleep(800 * time.Millisecond)
			e, _ := follower.feed.Latest(packID)
			want(t, "seen before the second is over", e != nil && e.GeneratedAt.Equal(made), hinted)
			time.Sleep(200 * time.Millisecond)
			want(t, "seen within a second", follower.edition().GeneratedAt, made)
		}
		cancel()
		<-ended
	})
}
