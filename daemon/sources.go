package daemon

import (
	"sync/atomic"
	"time"

	"github.com/contextd/contextd/daemon/evidence"
	"github.com/contextd/contextd/daemon/source"
)

// sources are what asks the sources of all packs, so that it knows all calls of a host.
type sources struct {
	*source.Fetcher
	advance func()                        // before every refresh, nil for none: to the next moment of a recording
	unasked func(source.Connector) string // why a source is not asked, "" where it is
}

// newSources makes what asks sources as cfg says.
func newSources(cfg Config, kept *evidence.Store) sources {
	fetch := source.Config{
		Transport: cfg.Transport, Contact: cfg.Contact, CoinGecko: cfg.CoinGecko, PrivateHosts: cfg.PrivateHosts, Now: cfg.Now,
	}
	if kept != nil {
		fetch.Answered = kept.Answered
	}
	unasked := func(c source.Connector) string { return c.Unasked(cfg.Contact) }
	rec := cfg.Recording
	if rec == nil {
		return sources{Fetcher: source.NewFetcher(fetch), unasked: unasked}
	}
	fetch.Transport, fetch.Shift = rec, rec.Shift
	if kept != nil {
		fetch.Shift = func(id string) time.Duration {
			by := rec.Shift(id)
			kept.Shifted(id, by)
			return by
		}
	}
	var started atomic.Bool                                         // the first refresh plays the moment the recording stands at
	unasked = func(c source.Connector) string { return c.Withheld } // nobody is asked for an address
	return sources{Fetcher: source.NewFetcher(fetch), unasked: unasked, advance: func() {
		if started.Swap(true) {
			rec.Advance()
		}
	}}
}
