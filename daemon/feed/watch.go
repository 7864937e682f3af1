package feed

import (
	"encoding/json"
	"sync"
	"sync/atomic"
	"time"

	"github.com/contextd/contextd/internal/jsonx"
	"github.com/contextd/contextd/sdk/api"
)

// frames are the stream frames of an edition, made for the first who asks and shared by all.
type frames struct {
	making sync.Mutex
	made   [4]atomic.Pointer[framePair] // by With
}

// With is what frames tell beside a state.
type With struct {
	Proof bool // its leaf in the log
	Brief bool // the newest brief
}

func (w With) place() (i int) {
	if w.Proof {
		i++
	}
	if w.Brief {
		i += 2
	}
	return i
}

// framePair is a state as both events.
type framePair struct {
	beside       api.Freshness // zero where all sources are ok
	pulse, delta *Frame
}

// is reports whether p is what is told with f.
func (p *framePair) is(f api.Freshness) bool {
	return p != nil && p.beside.AgeSeconds == f.AgeSeconds && len(p.beside.Sources) == len(f.Sources)
}

// PulseFrame is the state of e as a pulse event at now.
func (e *Edition) PulseFrame(w With, now time.Time) *Frame {
	return e.encodeFrames(w, now).pulse
}

// DeltaFrame is the state of e as a delta event at now.
func (e *Edition) DeltaFrame(w With, now time.Time) *Frame {
	return e.encodeFrames(w, now).delta
}

// encodeFrames makes the frames of now, once for all who ask within a second; where all sources are ok, once.
func (e *Edition) encodeFrames(w With, now time.Time) *framePair {
	kept := &e.frames.made[w.place()]
	f := e.Freshness(now)
	if len(f.Sources) == 0 {
		f = api.Freshness{}
	}
	if pair := kept.Load(); pair.is(f) {
		return pair
	}
	e.frames.making.Lock()
	defer e.frames.making.Unlock()
	if pair := kept.Load(); pair.is(f) {
		return pair
	}
	told, next := api.StreamState{Pack: e.Pack, State: json.RawMessage(e.State), TS: e.GeneratedAt.UTC()}, &framePair{beside: f}
	if len(f.Sources) > 0 {
		told.Freshness = &f
	}
	if w.Proof && e.Proof.Log != "" {
		told.Seq, told.Leaf, told.Scope = &e.Proof.Seq, e.Proof.Leaf, e.Proof.Scope
	}
	if w.Brief && e.Brief.Text != "" {
		b := briefMembers(e.Pulse, e.Brief)
		told.Brief, told.BriefAt, told.Since, told.Citations = b.Brief, b.BriefAt, b.Since, b.Citations
	}
	data, _ := jsonx.Encode(told) // of texts, valid JSON and times: this cannot fail
	next.pulse, next.delta = NewFrame(api.EventPulse, data), NewFrame(api.EventDelta, data)
	kept.Store(next)
	return next
}

// Failure is a refresh that brought no new state.
type Failure struct {
	Serial  int64 // rises with every failure of the pack
	Message string

	frame *Frame
}

// Frame is f as an error event.
func (f *Failure) Frame() *Frame { return f.frame }

type slot struct {
	edition atomic.Pointer[Edition]
	failure atomic.Pointer[Failure]

	mu       sync.Mutex // guards watchers; no reader of the edition needs it
	watchers map[*Watcher]struct{}

	ended chan struct{} // closed when the pack is removed
}

// wake tells every watcher that there is something new. It waits for none.
func (s *slot) wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := range s.watchers {
		select {
		case w.wake <- struct{}{}:
		default: // it has not looked at the last one yet, and will find this one instead
		}
	}
}

// Watcher is notified of news of a pack. A slow one skips to the newest and never blocks the others.
type Watcher struct {
	slot *slot
	wake chan struct{} // holds one
}

// Watch returns a Watcher of pack, which must be closed; nil for a pack the feed does not know.
func (f *Feed) Watch(pack string) *Watcher {
	s := f.slot(pack)
	if s == nil {
		return nil
	}
	w := &Watcher{slot: s, wake: make(chan struct{}, 1)}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watchers[w] = struct{}{}
	return w
}

// Wake receives when there may be something new.
func (w *Watcher) Wake() <-chan struct{} { return w.wake }

// Ended closes when the pack is removed: Latest tells the last that there was.
func (w *Watcher) Ended() <-chan struct{} { return w.slot.ended }

// Latest returns the newest edition, nil while there is none, and the newest failure, nil if there was none.
func (w *Watcher) Latest() (*Edition, *Failure) { return w.slot.edition.Load(), w.slot.failure.Load() }

// Close ends the watching.
func (w *Watcher) Close() {
	w.slot.mu.Lock()
	defer w.slot.mu.Unlock()
	delete(w.slot.watchers, w)
}

// Fail tells the watchers of pack that a refresh brought no new state. message is for them to read and holds nothing internal.
func (f *Feed) Fail(pack, message string) {
	f.publish.Lock()
	defer f.publish.Unlock()
	s := f.slot(pack)
	if s == nil {
		return
	}
	var serial int64 = 1
	if old := s.failure.Load(); old != nil {
		serial = old.Serial + 1
	}
	data, _ := json.Marshal(api.StreamError{Message: message}) // a text can always be written
	s.failure.Store(&Failure{Serial: serial, Message: message, frame: NewFrame(api.EventError, data)})
	s.wake()
}
