package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// Notifier tells systemd how the daemon does. Without systemd it tells nobody. Make one with NewNotifier.
type Notifier struct {
	socket   string        // "" without systemd
	watchdog time.Duration // within which systemd wants to hear that the daemon is alive; 0 means never
	logger   *slog.Logger
}

// NewNotifier makes the Notifier of this process, as its environment says (sd_notify(3), sd_watchdog_enabled(3)).
func NewNotifier(logger *slog.Logger) *Notifier {
	n := &Notifier{socket: os.Getenv("NOTIFY_SOCKET"), logger: logger}
	pid := os.Getenv("WATCHDOG_PID")
	if usec, err := strconv.ParseInt(os.Getenv("WATCHDOG_USEC"), 10, 64); err == nil && (pid == "" || pid == strconv.Itoa(os.Getpid())) {
		n.watchdog = time.Duration(usec) * time.Microsecond
	}
	return n
}

// Ready says that the daemon answers, for the first time or after a reload.
func (n *Notifier) Ready() { n.tell("READY=1\nSTATUS=answering") }

// Reloading says that the daemon reads its settings again. Ready ends that.
func (n *Notifier) Reloading() {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		n.logger.Error("systemd was not told of the reload", "error", err)
		return
	}
	n.tell(fmt.Sprintf("RELOADING=1\nMONOTONIC_USEC=%d\nSTATUS=reading settings", now.Nano()/int64(time.Microsecond)))
}

// tell sends a message. A systemd that does not hear it will find out what it meant; it is no reason to stop.
func (n *Notifier) tell(message string) {
	if n.socket == "" {
		return
	}
	conn, err := net.Dial("unixgram", n.socket)
	if err == nil {
		_, err = conn.Write([]byte(message))
		_ = conn.Close() // nothing is buffered
	}
	if err != nil {
		n.logger.Error("systemd was not told", "error", err)
	}
}

const (
	firstLook = 20 * time.Millisecond // between looks until the daemon is alive for the first time
	patience  = 5 * time.Second       // that one look may take without a watchdog
)

// Supervise tells systemd that the daemon is ready once alive says nil, then within each interval of the watchdog that it is alive, as
// long as alive says so in time, and that it is stopping when ctx is done. A daemon that hangs is so killed and started again.
func (n *Notifier) Supervise(ctx context.Context, alive func(context.Context) error) {
	if n.socket == "" {
		return
	}
	within := patience
	if n.watchdog > 0 {
		within = n.watchdog / 3
	}
	look := func() error {
		ctx, cancel := context.WithTimeout(ctx, within)
		defer cancel()
		return alive(ctx)
	}
	defer n.tell("STOPPING=1\nSTATUS=stopping")
	for look() != nil {
		if !sleep(ctx, firstLook) {
			return
		}
	}
	n.Ready()
	for n.watchdog > 0 {
		if err := look(); err == nil {
			n.tell("WATCHDOG=1")
		} else if ctx.Err() == nil {
			n.logger.Error("the daemon is not alive; systemd will end it if that lasts", "error", err)
		}
		if !sleep(ctx, n.watchdog/3) {
			return
		}
	}
	<-ctx.Done()
}

// sleep waits for d and reports whether ctx is still not done.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
