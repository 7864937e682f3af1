package feed

import (
	"slices"
	"strings"
	"sync"

	"github.com/contextd/contextd/internal/jsonx"
	"github.com/contextd/contextd/sdk/api"
)

// maxParts is how many parts of an edition are kept. It is more than anybody has use for, and a bound on what callers can make us hold.
const maxParts = 64

// parts are what was made of an edition for those who asked for some members of its state alone.
type parts struct {
	mu      sync.Mutex // guards all
	members []*jsonx.Value
	names   []string
	made    map[string]*Edition
}

// read reads the members of e's state, once.
func (p *parts) read(e *Edition) {
	if p.made != nil {
		return
	}
	p.made = map[string]*Edition{}
	list, _ := jsonx.Members(e.State) // a state that is no object has none
	for _, m := range list {
		m.Members = nil // their rows are not looked at, and not kept
		p.members, p.names = append(p.members, m), append(p.names, m.Name)
	}
}

// pick is an object of those of members that are named.
func pick(members []*jsonx.Value, names string) []byte {
	asked := strings.Split(names, ",")
	var told []*jsonx.Value
	for _, m := range members {
		if slices.Contains(asked, m.Name) {
			told = append(told, m)
		}
	}
	doc, _ := jsonx.Object(told) // names and texts that were read can be written
	return doc
}

// Part is the state doc with the named members alone, as Edition.Part has them.
func Part(doc []byte, names string) []byte {
	if names == "" {
		return doc
	}
	members, _ := jsonx.Members(doc) // a state that is no object has none
	return pick(members, names)
}

// Members are the names of the members of e's state, in their order.
func (e *Edition) Members() []string {
	e.parts.mu.Lock()
	defer e.parts.mu.Unlock()
	e.parts.read(e)
	return e.parts.names
}

// Part is e with the named members of its state alone, in the order of the state and as they are written there: its body of fresh and its
// frames. names have commas between; "" means all. Those that the state has not are left out. It is made for the first who asks.
func (e *Edition) Part(names string) *Edition {
	if names == "" {
		return e
	}
	p := e.parts
	p.mu.Lock()
	defer p.mu.Unlock()
	p.read(e)
	if part := p.made[names]; part != nil {
		return part
	}
	part := *e
	part.frames, part.parts = new(frames), new(parts)
	part.State = pick(p.members, names)
	part.Proof.Scope = api.ScopeFull
	if part.fresh, _ = FreshBody(part.Pulse, part.Brief, part.Ages); len(p.made) < maxParts {
		p.made[names] = &part
	}
	return &part
}
