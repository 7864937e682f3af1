package pipeline_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/source"
	"github.com/contextd/contextd/daemon/translog"
	"github.com/contextd/contextd/sdk/api"
)

// leaf is the last one of the log.
func (r *rig) leaf() (l api.LogLeaf) {
	r.t.Helper()
	head, err := r.store.LogHead(r.t.Context(), packID)
	if err != nil || head.Size == 0 {
		r.t.Fatal(head, err)
	}
	bundle, err := r.store.LogBundle(r.t.Context(), head.Origin, (head.Size-1)/translog.Width)
	if err != nil {
		r.t.Fatal(err)
	}
	list, err := translog.Entries(bundle)
	if err != nil {
		r.t.Fatal(err)
	}
	if err := json.Unmarshal(list[len(list)-1], &l); err != nil {
		r.t.Fatal(err)
	}
	return l
}

// TestLeavesNameWhatStatesAreMadeOf: the bodies of a source stay those of its last good answer, through a failure, a confirmation and a
// restart; one that never answered and one that is switched off are not named.
func TestLeavesNameWhatStatesAreMadeOf(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := build(t, newPack(times(4)...), func(r *rig) { r.cfg.Disabled = []string{"s4"} })
		begin := time.Now().UTC()
		says := func(hash string) answer {
			return func(context.Context, int) source.Outcome {
				o := fee(1)
				o.Bodies = []string{hash}
				return o
			}
		}
		r.fetcher.tell(says("a"), "s1")
		r.fetcher.tell(says("b"), "s2")
		r.fetcher.tell(failing(source.ClassNetwork, 0), "s3")
		r.refresh()
		at := func(minutes int) time.Time { return begin.Add(time.Duration(minutes) * time.Minute) }
		want(t, "first", r.leaf().Sources, []api.LogSource{
			{ID: "s1", FetchedAt: at(0), Bodies: []string{"a"}}, {ID: "s2", FetchedAt: at(0), Bodies: []string{"b"}},
		})
		want(t, "proof", r.edition().Proof.Log != "", true)
		r.fetcher.tell(failing(source.ClassNetwork, 0), "s1")
		r.fetcher.tell(func(context.Context, int) source.Outcome {
			return source.Outcome{Class: source.ClassOK, NotModified: true}
		}, "s2")
		time.Sleep(5 * time.Minute)
		r.refresh()
		carried := []api.LogSource{{ID: "s1", FetchedAt: at(0), Bodies: []string{"a"}}, {ID: "s2", FetchedAt: at(5), Bodies: []string{"b"}}}
		want(t, "after a failure and a confirmation", r.leaf().Sources, carried)
		r.reopen(nil)
		want(t, "proof after a restart", r.edition().Proof.Seq, int64(1))
		r.fetcher.tell(says("c"), "s2")
		time.Sleep(5 * time.Minute)
		r.refresh()
		carried[1] = api.LogSource{ID: "s2", FetchedAt: at(10), Bodies: []string{"c"}}
		want(t, "after a restart", r.leaf().Sources, carried)

		const damaged = "the transparency log is damaged"
		want(t, "warnings of a sound log", r.log.Count(damaged), 0)
		r.spoil("UPDATE log_tiles SET hashes = zeroblob(96)")
		r.open(nil)
		time.Sleep(5 * time.Minute)
		r.refresh()
		want(t, "leaf of the log that follows", r.edition().Proof.Seq, int64(0))
		want(t, "warnings of a damaged log", r.log.Count(damaged), 1)
		time.Sleep(5 * time.Minute)
		r.refresh()
		want(t, "warnings once it is followed", r.log.Count(damaged), 1)
	})
}
