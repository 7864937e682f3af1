package web

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// unixPrefix is before the path of a Unix socket.
const unixPrefix = "unix:"

// socketMode lets the group of the daemon's user connect, which a proxy on the same machine can be a member of.
const socketMode = 0o660

// UnixPath is the path of the Unix socket that addr names. ok is false for any other address.
func UnixPath(addr string) (path string, ok bool) { return strings.CutPrefix(addr, unixPrefix) }

// CheckListen reports what is wrong with addr: host:port, or unix:/path.
func CheckListen(addr string) error {
	if path, ok := UnixPath(addr); ok {
		if !strings.HasPrefix(path, "/") {
			return fmt.Errorf("%q is not unix: and a path that begins with /", addr)
		}
		return nil
	}
	if _, port, err := net.SplitHostPort(addr); err != nil {
		return fmt.Errorf("%q is neither host:port, such as 127.0.0.1:8402, nor unix:/path", addr)
	} else if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return fmt.Errorf("%q has a port that is not a number from 0 to 65535", addr)
	}
	return nil
}

// Listen listens on addr: host:port, or unix:/path for a socket that user and group can connect to. A socket that was left behind
// is replaced; one that somebody listens on is in use.
func Listen(addr string) (net.Listener, error) {
	if err := CheckListen(addr); err != nil {
		return nil, fmt.Errorf("listen on %w", err)
	}
	path, unix := UnixPath(addr)
	if !unix {
		l, err := net.Listen("tcp", addr)
		if err != nil {
			return nil, fmt.Errorf("listen on %s: %w", addr, err)
		}
		return l, nil
	}
	if err := clearSocket(path); err != nil {
		return nil, fmt.Errorf("listen on %s: %w", addr, err)
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", addr, err)
	}
	if err := os.Chmod(path, socketMode); err != nil {
		return nil, errors.Join(fmt.Errorf("listen on %s: %w", addr, err), l.Close())
	}
	return l, nil
}

// clearSocket removes a socket at path that nobody listens on.
func clearSocket(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode().Type() != fs.ModeSocket {
		return fmt.Errorf("%s is there already, and is no socket", path)
	}
	conn, err := net.Dial("unix", path)
	if err == nil {
		return errors.Join(syscall.EADDRINUSE, conn.Close())
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return err
	}
	return os.Remove(path)
}
