package web

import (
	"context"
	"time"

	"github.com/contextd/contextd/daemon/gate"
)

// Known counts the clients and sites that c remembers.
func (c *Connections) Known() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.groups)
}

// Seats takes places for streams of a server, on a connection that may have one more or, where full, may not.
type Seats struct{ server Server }

// Take takes a place for a stream of c without credits.
func (s *Seats) Take(ctx context.Context, c gate.Caller, full bool) (leave func(), err error) {
	if full {
		set := NewConnections(1, nil, time.Now)
		set.stats.Streams = 1
		ctx = context.WithValue(ctx, connectionKey{}, &connection{set: set})
	}
	return s.server.place(ctx, c, false)
}

// Rooms are the streams of pages.
type Rooms struct{ rooms pageRooms }

// Take takes a place for a client, as ClientsOf names it.
func (r *Rooms) Take(clients ...string) (leave func(), err error) { return r.rooms.take(clients) }
