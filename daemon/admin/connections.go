package admin

import (
	"context"
	"net/http"

	"github.com/contextd/contextd/daemon/web"
)

// Connections answers a GET of PathConnections: how the connections of the public address stand.
type Connections struct {
	Open    int   `json:"open"`
	Most    int   `json:"most"`    // that may be
	Streams int   `json:"streams"` // of those that are open
	Refused int64 `json:"refused"` // since the start: all others were being answered
}

func (s Server) connections(w http.ResponseWriter, _ *http.Request) error {
	c := s.Daemon.Connections()
	return web.WriteJSON(w, http.StatusOK, Connections{Open: c.Open, Most: c.Most, Streams: c.Streams, Refused: c.Refused})
}

// ConnectionsOf asks the daemon on dir how its connections stand.
func ConnectionsOf(ctx context.Context, dir string) (Connections, error) {
	o := through(dir)
	defer func() { _ = o.Close() }() // nothing is left open
	return ask[Connections](ctx, o, http.MethodGet, PathConnections, nil)
}
