package feed_test

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/feed"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// must stops the test on an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// latest is the edition of pack, which must be there.
func latest(t testing.TB, f *feed.Feed, pack string) *feed.Edition {
	t.Helper()
	e, ok := f.Latest(pack)
	if !ok || e == nil {
		t.Fatalf("no edition of %s (registered: %t)", pack, ok)
	}
	return e
}

func TestLatest(t *testing.T) {
	t.Parallel()
	f := feed.New("crypto", "ai")
	for pack, want := range map[string]bool{"crypto": true, "ai": true, "markets": false, "": false, "Crypto": false} {
		if e, ok := f.Latest(pack); e != nil || ok != want {
			t.Errorf("Latest(%q) of an empty feed is %v, %t, want %t", pack, e, ok, want)
		}
	}
	must(t, f.Publish(pulse("ai", born()), state.Narration{}, nil))
	if e, _ := f.Latest("crypto"); e != nil {
		t.Error("a pulse of one pack shows in another")
	}
	e := latest(t, f, "ai")
	if e.Pack != "ai" || e.Version != 1 || !e.GeneratedAt.Equal(born()) || len(e.Citations) != 2 || e.Brief.Brief != (state.Brief{}) {
		t.Errorf("edition %+v", e.Pulse)
	}
	if e.Doc.Table().Len() != 4 || e.Doc.Table().Search("priceUsd", 1).Total != 1 {
		t.Errorf("table of %d leaves", e.Doc.Table().Len())
	}
	if got := e.Freshness(born().Add(61 * time.Second)); !reflect.DeepEqual(got, api.Freshness{GeneratedAt: born(), AgeSeconds: 61, DataAgeSeconds: 61}) {
		t.Errorf("freshness %+v", got)
	}
}

// TestPublishOrder: a pulse that is not newer is refused and changes nothing.
func TestPublishOrder(t *testing.T) {
	t.Parallel()
	f := feed.New("crypto")
	must(t, f.Publish(pulse("crypto", born()), state.Narration{}, nil))
	first := latest(t, f, "crypto")
	for _, at := range []time.Time{born(), born().Add(-time.Millisecond), born().In(time.FixedZone("", 7200)), {}} {
		if err := f.Publish(pulse("crypto", at), state.Narration{}, nil); err == nil || !strings.Contains(err.Error(), "not newer") {
			t.Errorf("a pulse at %v after one at %v: %v", at, born(), err)
		}
		if latest(t, f, "crypto") != first {
			t.Fatalf("the refused pulse at %v changed the feed", at)
		}
	}
	must(t, f.Publish(pulse("crypto", born().Add(time.Millisecond)), state.Narration{}, nil))
	if got := latest(t, f, "crypto").GeneratedAt; !got.Equal(born().Add(time.Millisecond)) {
		t.Errorf("newest is %v", got)
	}
}

// TestTrail: an edition tells what the rows of those before it said.
func TestTrail(t *testing.T) {
	t.Parallel()
	f := feed.New("crypto")
	kinds := []state.Kind{{Name: "asset", Fields: []state.Field{{Name: "priceUsd"}}}}
	for i, price := range []float64{1, 2} {
		must(t, f.Publish(pulse("crypto", born().Add(time.Duration(i)*5*time.Minute)), state.Narration{}, state.NewTables(kinds, []state.Row{
			{Kind: "asset", Key: "bitcoin", Name: "Bitcoin", Fields: api.Fields{{Name: "priceUsd", Value: price}}}})))
	}
	got := latest(t, f, "crypto").Trail().Before(born(), born().Add(time.Hour), "asset", "bitcoin", "priceUsd")
	if len(got) != 2 || got[0].Value != 2 || !got[1].At.Equal(born()) {
		t.Errorf("the trail is %v", got)
	}
}

func TestPublishRefuses(t *testing.T) {
	t.Parallel()
	f := feed.New("crypto")
	if err := f.Publish(pulse("ai", born()), state.Narration{}, nil); err == nil || !strings.Contains(err.Error(), `"ai" is not registered`) {
		t.Errorf("unknown pack: %v", err)
	}
	if err := f.PublishBrief("ai", brief()); err == nil || !strings.Contains(err.Error(), `"ai" is not registered`) {
		t.Errorf("brief of an unknown pack: %v", err)
	}
	if err := f.PublishBrief("crypto", brief()); err == nil || !strings.Contains(err.Error(), "no state yet") {
		t.Errorf("brief before the first state: %v", err)
	}
	for _, text := range []string{"", "{", `{"a":1}}`, "{} {}"} {
		p := pulse("crypto", born())
		p.State = []byte(text)
		if err := f.Publish(p, state.Narration{}, nil); err == nil || !strings.Contains(err.Error(), "crypto") {
			t.Errorf("state %q: %v", text, err)
		}
	}
	if e, _ := f.Latest("crypto"); e != nil {
		t.Error("what was refused is there")
	}
	must(t, f.Publish(pulse("crypto", born()), state.Narration{}, nil))
	first, late := latest(t, f, "crypto"), brief()
	late.At = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC) // has no JSON
	if err := f.PublishBrief("crypto", late); err == nil || !strings.Contains(err.Error(), "encode fresh of crypto") {
		t.Errorf("brief that cannot be encoded: %v", err)
	}
	if latest(t, f, "crypto") != first {
		t.Error("the refused brief changed the feed")
	}
}

// TestBriefComesWithItsState: a new brief keeps the state, a new state has the brief it is published with, and editions that were taken
// never change.
func TestBriefComesWithItsState(t *testing.T) {
	t.Parallel()
	f, now := feed.New("crypto"), born().Add(time.Minute)
	must(t, f.Publish(pulse("crypto", born()), state.Narration{}, nil))
	first := latest(t, f, "crypto")
	body := bytes.Clone(first.Fresh().Bytes(now))

	must(t, f.PublishBrief("crypto", brief()))
	second := latest(t, f, "crypto")
	if second == first || second.Brief.Brief != brief().Brief || second.Doc != first.Doc || !second.GeneratedAt.Equal(born()) {
		t.Errorf("after the brief: %+v", second)
	}
	next := pulse("crypto", born().Add(time.Second))
	next.State = []byte(`{"only":"new"}`)
	must(t, f.Publish(next, brief(), nil))
	third := latest(t, f, "crypto")
	if third.Brief.Brief != brief().Brief || third.Doc.Table().Len() != 1 || !bytes.Equal(third.State, next.State) {
		t.Errorf("after the next state: %+v", third)
	}
	other := state.Narration{Brief: state.Brief{Text: "Other.", At: born(), Writer: "other"}}
	must(t, f.PublishBrief("crypto", other))
	if e := latest(t, f, "crypto"); e.Brief.Brief != other.Brief || !bytes.Equal(e.State, next.State) {
		t.Errorf("after the other brief: %+v", e)
	}

	if first.Brief.Brief != (state.Brief{}) || !bytes.Equal(first.Fresh().Bytes(now), body) || third.Brief.Brief != brief().Brief {
		t.Error("an edition changed after it was taken")
	}
	for i, e := range []*feed.Edition{first, second, third} {
		fresh, text := bodies(t, e.Pulse, e.Brief)
		if !bytes.Equal(e.Fresh().Bytes(now), fresh.Bytes(now)) || !bytes.Equal(e.BriefBody().Bytes(now), text.Bytes(now)) {
			t.Errorf("bodies of edition %d are not those of its state and brief", i+1)
		}
	}
}

// TestPublishersAndReaders: readers see whole editions in rising order, with several publishers.
func TestPublishersAndReaders(t *testing.T) {
	t.Parallel()
	const pulses = 60
	f := feed.New("crypto", "ai")
	must(t, f.Publish(pulse("crypto", born()), state.Narration{}, nil))
	var publishers, readers sync.WaitGroup
	var done atomic.Bool
	publishers.Go(func() {
		for i := range pulses {
			p := pulse("crypto", born().Add(time.Duration(i+1)*time.Second))
			p.State = fmt.Appendf(nil, `{"n":%d}`, i+1)
			if err := f.Publish(p, state.Narration{Brief: state.Brief{Text: fmt.Sprintf("Brief %d.", pulses-1), At: born()}}, nil); err != nil {
				t.Error(err)
			}
		}
	})
	publishers.Go(func() {
		for i := range pulses {
			if err := f.PublishBrief("crypto", state.Narration{Brief: state.Brief{Text: fmt.Sprintf("Brief %d.", i), At: born()}}); err != nil {
				t.Error(err)
			}
		}
	})
	for range 4 {
		readers.Go(func() {
			for last := born(); !done.Load(); {
				e, _ := f.Latest("crypto")
				if e.GeneratedAt.Before(last) {
					t.Errorf("an edition of %v came after one of %v", e.GeneratedAt, last)
					return
				}
				last = e.GeneratedAt
				body := e.Fresh().Bytes(last)
				if want := fmt.Sprintf("{\"state\":%s,\"brief\":%q", e.State, e.Brief.Text); !strings.HasPrefix(string(body), want) {
					t.Errorf("body of the edition of %v begins %.60s", last, body)
					return
				}
			}
		})
	}
	publishers.Wait()
	done.Store(true)
	readers.Wait()
	e := latest(t, f, "crypto")
	if e.Brief.Text != fmt.Sprintf("Brief %d.", pulses-1) || !slices.Equal(e.State, fmt.Appendf(nil, `{"n":%d}`, pulses)) {
		t.Errorf("a publication is lost: state %s, brief %q", e.State, e.Brief.Text)
	}
}

// TestAllAreWoken: a state is told to every watcher of its pack, to those that have not looked at the last one yet with one wake.
func TestAllAreWoken(t *testing.T) {
	t.Parallel()
	f := feed.New(api.PackCrypto)
	var watchers []*feed.Watcher
	for range 5 {
		w := f.Watch(api.PackCrypto)
		defer w.Close()
		watchers = append(watchers, w)
	}
	for n := range 2 {
		if err := f.Publish(pulse(api.PackCrypto, born().Add(time.Duration(n)*time.Second)), brief(), nil); err != nil {
			t.Fatal(err)
		}
	}
	for i, w := range watchers {
		if len(w.Wake()) != 1 {
			t.Errorf("watcher %d was woken %d times", i, len(w.Wake()))
		}
	}
}
