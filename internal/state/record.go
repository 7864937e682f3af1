package state

import (
	"errors"
	"fmt"
	"time"

	"github.com/contextd/contextd/sdk/api"
)

// ErrNoPulse is what a history answers when it holds no pulse that old.
var ErrNoPulse = errors.New("no pulse that old")

// ErrWithheld is ErrNoPulse for a moment whose pulse there is, and must not be served.
var ErrWithheld = fmt.Errorf("%w that may be served", ErrNoPulse)

// Pulse is one compacted state of a pack.
type Pulse struct {
	Pack        string
	Version     int       // of the pack's source order
	GeneratedAt time.Time // UTC, whole milliseconds, strictly rising per pack
	State       []byte    // compact JSON, never changed
	Doc         *Document // State, parsed by whoever publishes it; nil for one that was only stored
	Citations   []api.Citation
	Worst       map[string]*api.Flag // flags that stand, by id, as they stood when they were gravest; not kept, as Ended
	Ended       []Ended              // flags that ended in the hour before; not kept, for the states before it tell of them
	Made        Made                 // how it was made; it is not kept with it, for its leaf tells of it
	Health      *api.Ages            // how its sources do since, where that is known better than Doc does; it is not kept
	Proof       api.Proof            // its leaf in the log; zero before it is stored, and for states from before there was a log
}

// Made is how a state was made, as its leaf tells it.
type Made struct {
	Sources []api.LogSource // of what, ordered by id
	Digest  string          // of the manifest of its pack, "" for none
	Every   time.Duration   // from refresh to refresh
	Tables  string          // root of the tree of its rows, "" for a pack without

	NotBefore *api.LogNotBefore // what nobody could know before, nil for none
}

// Read is the state of p parsed.
func (p Pulse) Read() *Document {
	if p.Doc == nil {
		return Read(p.State)
	}
	return p.Doc
}

// Ages are how old the data of p are, and how its sources do.
func (p Pulse) Ages() api.Ages {
	if p.Health != nil {
		return *p.Health
	}
	return p.Read().Ages()
}

// Freshness is that of p at now.
func (p Pulse) Freshness(now time.Time) api.Freshness {
	f := p.Ages().Freshness(p.GeneratedAt, now)
	f.Provenance = api.LowestProvenance(p.Citations)
	return f
}

// Brief is one narrated brief of a pack. The zero Brief is "none yet".
type Brief struct {
	Text    string
	At      time.Time // when it was written
	Of      time.Time // GeneratedAt of the state it was written from
	Writer  string    // who wrote it
	Refused string    // why texts before it were not taken, one per line
	Proof   api.Proof // the leaf that has its hash; zero as that of a Pulse
}

// Narration is a brief as it is told with a pulse.
type Narration struct {
	Brief
	Citations []api.Citation // of the state that it was written from; nil where that is the one it is told with
	Since     *api.Since     // what came after; nil likewise
	Claims    []api.Claim    // what backs its figures, where that is asked for
}

// SourceRecord is what is kept of one source over a restart.
type SourceRecord struct {
	Source      string
	Doc         []byte    // the last good answer as JSON, nil if there never was one
	Bodies      []string  // hashes of what upstream sent for Doc, as in api.LogSource
	AskedAt     time.Time // when the attempt began that brought Doc; zero where that is not known
	From        string    // hash of the document before, where Doc was made from that too
	Versions    string    // how upstream names the versions of what Doc was read from
	FetchedAt   time.Time // when that was; zero if never
	AttemptedAt time.Time // the last attempt, good or not
	NotBefore   time.Time // no attempt before this; zero means none was asked for
	Failures    int       // attempts that failed since FetchedAt
	Err         string    // why the last attempt failed, "" after a good one
}

// OwnerBrief is a brief by an owner's own prompt. Its Text is "" where no model could write it.
type OwnerBrief struct {
	Brief
	Prompt   []byte // SHA-256
	Attempts int    // to write one about that state
}

// Saved is what a store holds of a pack.
type Saved struct {
	Start      time.Time // when the pack was first opened
	Pulse      *Pulse    // the newest readable one, nil if there is none
	Damaged    int       // newer pulses that could not be read
	Withheld   time.Time // when a newer one was made that must not be served; zero for none
	Brief      Brief
	BriefState *Pulse    // the one that Brief was written from, nil if it is not kept
	Tried      time.Time // when the daily brief was written last, or failed to be
	Sources    []SourceRecord
}

// Mark is how much of what a store holds of a pack somebody has seen: when the newest state was made, the newest brief written, and a
// source last asked.
type Mark struct{ State, Brief, Asked time.Time }

// News is what a store holds of a pack beyond a Mark.
type News struct {
	Mark   Mark    // of all that is in it
	Pulses []Pulse // oldest first; those that cannot be read are left out
	Saved          // what else is kept now; Pulse is nil
	More   bool    // there are younger states
}
