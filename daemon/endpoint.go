package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/contextd/contextd/daemon/web"
)

const (
	headerTimeout = 10 * time.Second       // to send a request's headers
	readTimeout   = 20 * time.Second       // to send all of it
	writeTimeout  = 30 * time.Second       // to take an answer
	idleTimeout   = 2 * time.Minute        // between the requests of a connection
	drainTimeout  = 700 * time.Millisecond // at least, for calls under way at a stop: without Config.Drain it takes less than a second
	maxHeader     = 96 << 10               // more than any payment: one of 64 KiB is told what is wrong with it
	sendBuffer    = 64 << 10               // bytes that the kernel holds for a reader
	maxUnread     = 256 << 10              // bytes of a request that are read away after its answer
)

type endpoint struct {
	listener net.Listener
	server   *http.Server
}

// newEndpoint makes the endpoint that answers on l with handler. It has its server from the start: a stop that comes before
// serve must end it all the same.
func newEndpoint(l net.Listener, handler http.Handler, logger *slog.Logger) *endpoint {
	return &endpoint{listener: l, server: &http.Server{
		Handler: drained(web.Answering(handler)), MaxHeaderBytes: maxHeader,
		ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
		ConnContext: boundBuffer, ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelDebug),
	}}
}

// bound has e take no more connections than c lets it.
func (e *endpoint) bound(c *web.Connections) {
	e.listener = c.Bound(e.listener)
	e.server.ConnContext = func(ctx context.Context, conn net.Conn) context.Context {
		return web.InContext(boundBuffer(ctx, conn), conn)
	}
}

// mostConnections is the number of connections of the public address that a process with so many descriptors can have. A part of them is
// left to the databases, the operator's socket, sources and chain.
func mostConnections(descriptors uint64) int {
	const least, most, reserve, memory = 48, 512, 4, 32_768 // each takes some 17 KB
	kept := min(max(descriptors/reserve, least), most)
	return int(min(max(descriptors, kept+least/reserve)-kept, memory))
}

// descriptors is how many this process may have open. The runtime has raised it as far as it may.
func descriptors() uint64 {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return math.MaxUint64
	}
	return uint64(limit.Cur)
}

// boundBuffer keeps the kernel from holding megabytes for a reader that has stopped reading: it would look alive for half an hour.
func boundBuffer(ctx context.Context, conn net.Conn) context.Context {
	for outer, ok := conn.(interface{ NetConn() net.Conn }); ok; outer, ok = conn.(interface{ NetConn() net.Conn }) {
		conn = outer.NetConn()
	}
	if c, ok := conn.(*net.TCPConn); ok {
		_ = c.SetWriteBuffer(sendBuffer) // a connection that is gone already is found out soon enough
	}
	return ctx
}

// drained reads what handler leaves of a request's body, so that who is still sending it gets the answer. net/http does so only where
// the connection is kept: that of a client which says Connection: close, or speaks HTTP/1.0 as some proxies do, it closes on unread bytes,
// and the kernel then resets it and with it the answer. Behind a longer rest it is closed in two steps.
func drained(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor < 2 && len(r.TransferEncoding) > 0 {
			w.Header().Set("Connection", "close") // a Content-Length beside it is gone: what follows may be of this request to a proxy
		}
		body := r.Body // handlers put others in its place
		handler.ServeHTTP(w, r)
		if body == http.NoBody || r.ProtoMajor > 1 || r.Header.Get("Expect") != "" { // who asks before sending may now not send at all
			return
		}
		late := time.AfterFunc(readTimeout, func() { // streams have no bound of their own
			_ = http.NewResponseController(w).SetReadDeadline(time.Unix(1, 0)) // long past; a connection that is gone needs none
		})
		defer late.Stop()
		_, _ = io.Copy(io.Discard, http.MaxBytesReader(w, body, maxUnread)) // the answer is sent whatever becomes of the rest
	})
}

// parting has clients connect again, once stopping is set: a call that is sent on a connection just as a stop closes it is lost.
func parting(handler http.Handler, stopping *atomic.Bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if stopping.Load() {
			w.Header().Set("Connection", "close")
		}
		handler.ServeHTTP(w, r)
	})
}

// serve answers on the listener until stop.
func (e *endpoint) serve() error {
	serve := e.server.Serve
	if e.server.TLSConfig != nil {
		serve = func(l net.Listener) error { return e.server.ServeTLS(l, "", "") }
	}
	if err := serve(e.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve %s: %w", e.listener.Addr(), err)
	}
	return nil
}

// stop takes no new connections, lets calls under way end and cuts off what does not end in time.
func (e *endpoint) stop(ctx context.Context, within time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	if e.server.Shutdown(ctx) != nil {
		_ = e.server.Close() // what is still open gets no more time
	}
}
