// Package feed holds the newest edition of each pack: its state and brief with everything that is read from them, encoded once.
//
// It is where the data flow ends and every read begins: daemon/pipeline publishes, daemon/reader and the transports take the
// newest. Publishing swaps a pointer, so no reader ever waits for a refresh and no refresh for a reader. It writes nothing to disk.
package feed

import (
	"fmt"
	"sync"
	"time"

	"github.com/contextd/contextd/internal/jsonx"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// Edition is a pulse and the newest brief, ready to be read. It never changes.
type Edition struct {
	state.Pulse // with its Doc
	Brief       state.Narration
	Rows        *state.Tables // all that the sources last said when State was made; it may be empty

	Serial int64 // counts the pulses of the pack since the start

	fresh, brief *Body
	cites        [][]byte // Citations in JSON, each on its own
	looked       *looked  // shared by the editions with the same rows
	frames       *frames  // shared with no other edition
	parts        *parts
	trail        *state.Trail // shared by all editions of the pack
}

// Fresh is the body of the fresh operation.
func (e *Edition) Fresh() *Body { return e.fresh }

// BriefBody is the body of the brief operation. It is only meaningful where Brief is not zero.
func (e *Edition) BriefBody() *Body { return e.brief }

// Citation is the citation at place i as JSON. The caller must not change it.
func (e *Edition) Citation(i int) []byte { return e.cites[i] }

// Trail is what the rows said since the start.
func (e *Edition) Trail() *state.Trail { return e.trail }

// RowAt says whether what the source of row said is stale at now, or so old that the row is left out.
func (e *Edition) RowAt(row *state.Row, now time.Time) (stale, gone bool) {
	ages := e.Ages()
	status := ages.Of(row.Ref, now)
	_, late := ages.Late(row.Ref, now)
	return row.Stale || late || status != api.SourceOK, status == api.SourceError
}

// Feed is the newest edition of every pack. Make one with New.
type Feed struct {
	publish sync.Mutex // orders publishers; readers never take it
	slots   sync.Map   // *slot by pack
}

// New makes a Feed for the given pack ids.
func New(packs ...string) *Feed {
	f := &Feed{}
	for _, id := range packs {
		f.Add(id)
	}
	return f
}

// Add makes room for the editions of pack, which is not there yet.
func (f *Feed) Add(pack string) {
	f.slots.Store(pack, &slot{watchers: map[*Watcher]struct{}{}, ended: make(chan struct{})})
}

// Remove forgets pack. Its watchers find message as the last failure, for them to read, and then that nothing follows.
func (f *Feed) Remove(pack, message string) {
	f.Fail(pack, message)
	if s, ok := f.slots.LoadAndDelete(pack); ok {
		close(s.(*slot).ended)
	}
}

// slot is that of pack, nil where there is none.
func (f *Feed) slot(pack string) *slot {
	s, ok := f.slots.Load(pack)
	if !ok {
		return nil
	}
	return s.(*slot)
}

// Latest returns the newest edition of pack, nil while there is none. ok is false for a pack the feed does not know.
func (f *Feed) Latest(pack string) (edition *Edition, ok bool) {
	s := f.slot(pack)
	if s == nil {
		return nil, false
	}
	return s.edition.Load(), true
}

// Restore is Publish of a state that was stored. A pack that has an edition keeps it: it is that, or a newer one.
func (f *Feed) Restore(p state.Pulse, b state.Narration, rows *state.Tables) error {
	if old, _ := f.Latest(p.Pack); old != nil {
		return nil
	}
	return f.Publish(p, b, rows)
}

// Publish makes p the newest pulse of its pack, told with b, made of rows; nil means none. It fails on a pulse that is not newer than the
// one before.
func (f *Feed) Publish(p state.Pulse, b state.Narration, rows *state.Tables) error {
	if rows == nil {
		rows = state.NewTables(nil, nil)
	}
	p.Doc = p.Read()
	err := p.Doc.Err()
	if err != nil {
		return fmt.Errorf("read state of %s: %w", p.Pack, err)
	}
	p.Doc.Table() // before the first who searches
	cites, err := encodeCitations(p)
	if err != nil {
		return err
	}
	return f.update(p.Pack, func(old *Edition) (*Edition, error) {
		next := &Edition{
			Pulse: p, Brief: b, Rows: rows, Serial: 1, cites: cites, looked: new(looked), frames: new(frames),
			trail: new(state.Trail),
		}
		if old != nil {
			if !p.GeneratedAt.After(old.GeneratedAt) {
				return nil, fmt.Errorf("pulse of %s at %s is not newer than %s", p.Pack, p.GeneratedAt, old.GeneratedAt)
			}
			next.Serial, next.trail = old.Serial+1, old.trail
		}
		next.trail.Add(p.GeneratedAt, rows)
		return next, nil
	})
}

func encodeCitations(p state.Pulse) (cites [][]byte, err error) {
	cites = make([][]byte, len(p.Citations))
	for i, c := range p.Citations {
		if cites[i], err = jsonx.Encode(c); err != nil {
			return nil, fmt.Errorf("encode citation [%d] of %s: %w", c.Ref, p.Pack, err)
		}
	}
	return cites, nil
}

// PublishCitations puts what change makes of them in place of the citations of the newest edition of pack, if there is one, and of its
// brief. The newest pulse stays.
func (f *Feed) PublishCitations(pack string, change func(state.Pulse, []api.Citation) []api.Citation) error {
	if old, _ := f.Latest(pack); old == nil {
		return nil
	}
	return f.update(pack, func(old *Edition) (_ *Edition, err error) {
		next := *old
		next.Citations, next.Brief.Citations = change(old.Pulse, old.Citations), change(old.Pulse, old.Brief.Citations)
		next.cites, err = encodeCitations(next.Pulse)
		return &next, err
	})
}

// PublishBrief makes b the brief that the newest pulse of pack is told with. It fails while the pack has no pulse.
func (f *Feed) PublishBrief(pack string, b state.Narration) error {
	return f.update(pack, func(old *Edition) (*Edition, error) {
		if old == nil {
			return nil, fmt.Errorf("brief of %s: no state yet", pack)
		}
		next := *old
		next.Brief, next.frames = b, new(frames)
		return &next, nil
	})
}

// PublishHealth puts rows, if there are any, in place of those of the newest edition of pack, and health in place of how its sources did:
// they were asked again, and gave no newer state.
func (f *Feed) PublishHealth(pack string, rows *state.Tables, health api.Ages) error {
	return f.update(pack, func(old *Edition) (*Edition, error) {
		if old == nil {
			return nil, fmt.Errorf("sources of %s: no state yet", pack)
		}
		next := *old
		next.Health, next.frames = &health, new(frames)
		if rows != nil {
			next.Rows, next.looked = rows, new(looked)
		}
		return &next, nil
	})
}

// update replaces the edition of pack by what change makes of it, with its bodies encoded.
func (f *Feed) update(pack string, change func(old *Edition) (*Edition, error)) error {
	f.publish.Lock()
	defer f.publish.Unlock()
	s := f.slot(pack)
	if s == nil {
		return fmt.Errorf("pack %q is not registered", pack)
	}
	old := s.edition.Load()
	next, err := change(old)
	if err != nil {
		return err
	}
	if next.fresh, err = FreshBody(next.Pulse, next.Brief); err != nil {
		return fmt.Errorf("encode fresh of %s: %w", pack, err)
	}
	if next.brief, err = BriefBody(next.Pulse, next.Brief); err != nil {
		return fmt.Errorf("encode brief of %s: %w", pack, err)
	}
	next.parts = new(parts)
	s.edition.Store(next)
	s.wake()
	return nil
}
