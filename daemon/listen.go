package daemon

import (
	"net"
)

// acmeDir is the name, in the data directory, of the directory of certificates by ACME and their keys.
const acmeDir = "acme"

// URL is the base URL of the public address, as a client on this machine reaches it, or unix: and a path.
func (d *Daemon) URL() string {
	if socket, ok := d.listener.Addr().(*net.UnixAddr); ok {
		return "unix:" + socket.Name
	}
	if d.tls != nil {
		return reachable("https", d.listener, d.cfg.Listen)
	}
	return reachable("http", d.listener, d.cfg.Listen)
}

// reachable is the URL at which a client on this machine reaches l, which was asked to listen on listen.
func reachable(scheme string, l net.Listener, listen string) string {
	addr := l.Addr().String()
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return scheme + "://" + addr
	}
	if asked, _, err := net.SplitHostPort(listen); err == nil && net.ParseIP(host).IsUnspecified() {
		host = "127.0.0.1" // also where every address is listened on
		if asked == "::" {
			host = "::1"
		}
	}
	return scheme + "://" + net.JoinHostPort(host, port)
}
