package web

import (
	"sync"
	"time"

	"github.com/contextd/contextd/daemon/gate"
	"github.com/contextd/contextd/sdk/api"
)

// streamRetry is when somebody who found no place for a stream may look again.
const streamRetry = 30 * time.Second

// Places bounds the streams that are open: of a key, of an owner and in all. The last of all are kept for who has credits, so that a crowd
// without any cannot close the shop. The zero Places is empty; it is safe for concurrent use.
type Places struct {
	mu     sync.Mutex // guards what follows
	keys   map[string]int
	owners map[string]int
	all    int
}

// Take takes a place for a stream of c, who has credits or not, until leave is called, or returns the *api.Error to answer with.
func (p *Places) Take(c gate.Caller, credits bool) (leave func(), err error) {
	key, owner, all := api.StreamsPerFreeKey, api.StreamsPerFreeOwner, api.Streams-api.StreamsWithCredits
	if credits {
		key, owner, all = api.StreamsPerKey, api.StreamsPerOwner, api.Streams
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.keys[c.KeyID] >= key:
		return nil, crowded(credits, "key %s has %d streams open", c.KeyID, p.keys[c.KeyID])
	case p.owners[c.Holder()] >= owner:
		return nil, crowded(credits, "the keys of this owner have %d streams open", p.owners[c.Holder()])
	case p.all >= all:
		return nil, crowded(credits, "%d streams are open here", p.all)
	}
	if p.keys == nil {
		p.keys, p.owners = map[string]int{}, map[string]int{}
	}
	p.keys[c.KeyID]++
	p.owners[c.Holder()]++
	p.all++
	return sync.OnceFunc(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		vacate(p.keys, c.KeyID)
		vacate(p.owners, c.Holder())
		p.all--
	}), nil
}

func vacate(taken map[string]int, whose string) {
	if taken[whose]--; taken[whose] == 0 {
		delete(taken, whose)
	}
}

// crowded is the answer to who finds no place.
func crowded(credits bool, format string, args ...any) error {
	hint := "close an unused stream, or share one stream"
	if !credits {
		hint += "; a key with credits can have more"
	}
	return api.Errorf(api.ReasonRateLimited, format, args...).WithHint("%s", hint).WithRetryAfter(streamRetry)
}
