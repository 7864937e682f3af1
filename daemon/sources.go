package daemon

import (
	"sync/atomic"

	"github.com/contextd/contextd/daemon/source"
)

// sources are what asks the sources of all packs, so that it knows all calls of a host.
type sources struct {
	*source.Fetcher
	advance func() // before every refresh, nil for none: to the next moment of a recording
}

// newSources makes what asks sources as cfg says.
func newSources(cfg Config) sources {
	fetch := source.Config{Transport: cfg.Transport, CoinGeckoKey: cfg.CoinGeckoKey, PrivateHosts: cfg.PrivateHosts, Now: cfg.Now}
	rec := cfg.Recording
	if rec == nil {
		return sources{Fetcher: source.NewFetcher(fetch)}
	}
	fetch.Transport, fetch.Shift = rec, rec.Shift
	var started atomic.Bool // the first refresh plays the moment the recording stands at
	return sources{Fetcher: source.NewFetcher(fetch), advance: func() {
		if started.Swap(true) {
			rec.Advance()
		}
	}}
}
