package feed

import (
	"sync"

	"github.com/contextd/contextd/sdk/api"
)

// maxParts is how many parts of an edition are kept. It is more than anybody has use for, and a bound on what callers can make us hold.
const maxParts = 64

// parts are what was made of an edition for those who asked for some members of its state alone.
type parts struct {
	mu   sync.Mutex // guards made
	made map[string]*Edition
}

// Part is e with the named members of its state alone, in the order of the state and as they are written there: its body of fresh and its
// frames, while its Doc is that of all. names have commas between; "" means all. Those that the state has not are left out. It is made for
// the first who asks.
func (e *Edition) Part(names string) *Edition {
	if names == "" {
		return e
	}
	p := e.parts
	p.mu.Lock()
	defer p.mu.Unlock()
	if part := p.made[names]; part != nil {
		return part
	}
	if p.made == nil {
		p.made = map[string]*Edition{}
	}
	part := *e
	part.frames, part.parts = new(frames), new(parts)
	part.State = e.Doc.Part(names)
	part.Proof.Scope = api.ScopeFull
	if part.fresh, _ = FreshBody(part.Pulse, part.Brief); len(p.made) < maxParts {
		p.made[names] = &part
	}
	return &part
}
