package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
)

// firstFD is the file descriptor of the first socket that systemd hands over (sd_listen_fds(3)).
const firstFD = 3

// Listener is the socket that systemd hands over to this process; nil if it does not.
func Listener() (net.Listener, error) {
	if os.Getenv("LISTEN_PID") != strconv.Itoa(os.Getpid()) {
		return nil, nil
	}
	if n := os.Getenv("LISTEN_FDS"); n != "1" {
		return nil, fmt.Errorf("systemd hands over %s sockets, and contextd takes one: leave one ListenStream= in its socket unit", n)
	}
	file := os.NewFile(firstFD, "socket of systemd")
	l, err := net.FileListener(file)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("take socket of systemd: %w", err), file.Close())
	}
	return l, file.Close() // l has a copy
}
