package daemon

import (
	"time"

	"github.com/contextd/contextd/daemon/pack"
	"github.com/contextd/contextd/daemon/pipeline"
	"github.com/contextd/contextd/daemon/store/history"
)

// Served is h as what serves p reads it.
func Served(h *history.History, p *pack.Pack) pipeline.Store {
	return servedHistory{h, func(string) *pack.Pack { return p }}
}

// MostConnections is mostConnections.
func MostConnections(descriptors uint64) int { return mostConnections(descriptors) }

// Hurry gives every caller whose time is bounded as little as that to send a request and to take its answer. It comes before Run.
func (d *Daemon) Hurry(read, write time.Duration) {
	for _, e := range []*endpoint{d.public, d.admin} {
		if e.server.ReadTimeout > 0 {
			e.server.ReadTimeout = read
		}
		if e.server.WriteTimeout > 0 {
			e.server.WriteTimeout = write
		}
	}
}
