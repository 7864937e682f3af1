package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"time"
)

const (
	headerTimeout = 10 * time.Second       // to send a request's headers
	readTimeout   = 20 * time.Second       // to send all of it
	writeTimeout  = 30 * time.Second       // to take an answer
	idleTimeout   = 2 * time.Minute        // between the requests of a connection
	drainTimeout  = 700 * time.Millisecond // for calls under way at a stop, so that a stop takes less than a second
	maxHeader     = 32 << 10
	sendBuffer    = 64 << 10 // bytes that the kernel holds for a reader
)

// endpoint is one address that is listened on.
type endpoint struct {
	listener net.Listener
	server   *http.Server
}

// newEndpoint makes the endpoint that answers on l with handler. It has its server from the start: a stop that comes before
// serve must end it all the same.
func newEndpoint(l net.Listener, handler http.Handler, logger *slog.Logger) *endpoint {
	return &endpoint{listener: l, server: &http.Server{
		Handler: handler, ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: maxHeader, ConnContext: boundBuffer, ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelDebug),
	}}
}

// boundBuffer keeps the kernel from holding megabytes for a reader that has stopped reading: it would look alive for half an hour.
func boundBuffer(ctx context.Context, conn net.Conn) context.Context {
	if c, ok := conn.(*net.TCPConn); ok {
		_ = c.SetWriteBuffer(sendBuffer) // a connection that is gone already is found out soon enough
	}
	return ctx
}

// serve answers on the listener until stop.
func (e *endpoint) serve() error {
	if err := e.server.Serve(e.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve %s: %w", e.listener.Addr(), err)
	}
	return nil
}

// stop takes no new connections, lets calls under way end and cuts off what does not end in time.
func (e *endpoint) stop(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, drainTimeout)
	defer cancel()
	if e.server.Shutdown(ctx) != nil {
		_ = e.server.Close() // what is still open gets no more time
	}
}

// adminSocket is the name of the admin socket in the data directory.
const adminSocket = "admin.sock"

// maxSocketPath is what the kernel takes as the path of a socket on every system we run on.
const maxSocketPath = 100

// listenAdmin listens on the admin socket of dir, which only the daemon's user can open. The caller holds the lock on dir, so a
// socket that is there was left behind.
func listenAdmin(dir string) (net.Listener, error) {
	if err := os.Remove(filepath.Join(dir, adminSocket)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("remove old admin socket: %w", err)
	}
	var l net.Listener
	err := atSocket(dir, func(path string) (err error) {
		if l, err = net.Listen("unix", path); err == nil {
			l.(*net.UnixListener).SetUnlinkOnClose(false) // the path may hold no longer; the next start removes it
			err = os.Chmod(path, 0o600)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("listen on admin socket: %w", err)
	}
	return l, nil
}

// dialAdmin connects to the admin socket of dir.
func dialAdmin(ctx context.Context, dir string) (net.Conn, error) {
	var conn net.Conn
	err := atSocket(dir, func(path string) (err error) {
		conn, err = new(net.Dialer).DialContext(ctx, "unix", path)
		return err
	})
	return conn, err
}

// atSocket calls use with a path of the admin socket of dir that the kernel takes: where the true one is too long, one through
// an open descriptor of dir, which Linux offers.
func atSocket(dir string, use func(path string) error) error {
	path := filepath.Join(dir, adminSocket)
	if len(path) <= maxSocketPath {
		return use(path)
	}
	if runtime.GOOS != "linux" {
		return fmt.Errorf("the path %s is too long for a socket: use a shorter data directory", path)
	}
	open, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer open.Close()
	return use(fmt.Sprintf("/proc/self/fd/%d/%s", open.Fd(), adminSocket))
}
