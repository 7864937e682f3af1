package daemon

import (
	"sync"

	"github.com/contextd/contextd/daemon/feed"
	"github.com/contextd/contextd/daemon/pack"
	"github.com/contextd/contextd/sdk/api"
)

// etherPrice reads what an ether costs in the newest state of the crypto pack, once for each state.
type etherPrice struct {
	feed *feed.Feed

	mu     sync.Mutex // guards what follows
	of     *feed.Edition
	micros int64
}

// Micros is the price in micro-USDG, 0 while it is not known.
func (e *etherPrice) Micros() int64 {
	newest, _ := e.feed.Latest(api.PackCrypto)
	e.mu.Lock()
	defer e.mu.Unlock()
	if newest != nil && newest != e.of {
		e.of, e.micros = newest, pack.EtherMicros(newest.Doc)
	}
	return e.micros
}
