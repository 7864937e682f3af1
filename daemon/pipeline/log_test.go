package pipeline_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"runtime"
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

// TestLeavesAreDated: a leaf has the value that was to be had when its sources were asked, none where there was none, and no state waits
// long for one.
func TestLeavesAreDated(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := build(t, newPack(times(1)...), func(r *rig) {
			n := 0
			r.cfg.NotBefore = func(ctx context.Context) *api.LogNotBefore {
				switch n++; n {
				case 2:
					return nil
				case 3:
					<-ctx.Done()
				}
				return &api.LogNotBefore{Kind: "k", Value: fmt.Sprint(n)}
			}
		})
		r.fetcher.tell(counting, "s1")
		for i, expect := range []*api.LogNotBefore{{Kind: "k", Value: "1"}, nil, {Kind: "k", Value: "3"}} {
			began := time.Now()
			r.refresh()
			want(t, fmt.Sprint("value ", i), r.leaf().NotBefore, expect)
			want(t, fmt.Sprint("wait ", i), time.Since(began) <= 3*time.Second, true)
			time.Sleep(5 * time.Minute)
		}
		r.cfg.NotBefore = nil
		r.reopen(nil)
		r.refresh()
		want(t, "without a beacon", r.leaf().NotBefore, nil)
	})
}

// TestLeavesNameWhatStatesAreMadeOf: the bodies of a source stay those of its last good answer, through a failure, a confirmation and a
// restart; one that never answered and one that is switched off are not named.
func TestLeavesNameWhatStatesAreMadeOf(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := build(t, newPack(times(4)...), func(r *rig) { r.cfg.Disabled = []string{"s4"} })
		r.cfg.Pack.Sources[1].Remembers = true
		r.reopen(nil)
		begin := time.Now().UTC()
		at := func(minutes int) time.Time { return begin.Add(time.Duration(minutes) * time.Minute) }
		doc := func(x float64) string {
			text, err := json.Marshal(fee(x).Doc)
			want(t, "error of a document", err, nil)
			sum := sha256.Sum256(text)
			return hex.EncodeToString(sum[:])
		}
		says := func(hash string, x float64) answer {
			return func(context.Context, int) source.Outcome {
				o := fee(x)
				o.Bodies, o.At = []string{hash}, time.Now()
				return o
			}
		}
		r.fetcher.tell(says("a", 1), "s1")
		r.fetcher.tell(says("b", 2), "s2")
		r.fetcher.tell(failing(source.ClassNetwork, 0), "s3")
		r.refresh()
		of := []api.LogSource{
			{ID: "s1", FetchedAt: at(0), Bodies: []string{"a"}, At: at(0), Doc: doc(1)},
			{ID: "s2", FetchedAt: at(0), Bodies: []string{"b"}, At: at(0), Doc: doc(2)},
		}
		want(t, "first", r.leaf().Sources, of)
		want(t, "proof", r.edition().Proof.Log != "", true)
		want(t, "seconds between refreshes, architecture", fmt.Sprint(r.leaf().Every, r.leaf().Arch), "300"+runtime.GOARCH)
		r.fetcher.tell(failing(source.ClassNetwork, 0), "s1")
		r.fetcher.tell(func(context.Context, int) source.Outcome {
			return source.Outcome{Class: source.ClassOK, NotModified: true}
		}, "s2")
		time.Sleep(5 * time.Minute)
		r.refresh()
		of[1].FetchedAt = at(5)
		want(t, "after a failure and a confirmation", r.leaf().Sources, of)
		r.reopen(nil)
		want(t, "proof after a restart", r.edition().Proof.Seq, int64(1))
		r.fetcher.tell(says("c", 3), "s2")
		time.Sleep(5 * time.Minute)
		r.refresh()
		of[1] = api.LogSource{ID: "s2", FetchedAt: at(10), Bodies: []string{"c"}, At: at(10), Doc: doc(3), From: doc(2)}
		want(t, "after a restart", r.leaf().Sources, of)
		r.reopen(nil)
		r.fetcher.tell(failing(source.ClassNetwork, 0), "s2")
		r.fetcher.tell(says("d", 4), "s1")
		time.Sleep(time.Hour)
		r.refresh()
		of[0] = api.LogSource{ID: "s1", FetchedAt: at(70), Bodies: []string{"d"}, At: at(70), Doc: doc(4)}
		want(t, "what was kept over a restart", r.leaf().Sources, of)

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
