package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"time"

	"github.com/coreos/go-systemd/v22/activation"
	sd "github.com/coreos/go-systemd/v22/daemon"
)

// handedOver is the socket that systemd hands over to this process; nil if it does not.
func handedOver() (net.Listener, error) {
	files := activation.Files(false)
	if len(files) == 0 {
		return nil, nil
	}
	if len(files) > 1 {
		return nil, fmt.Errorf("systemd hands over %d sockets, and contextd takes one: leave one ListenStream= in its socket unit",
			len(files))
	}
	l, err := net.FileListener(files[0])
	if err != nil {
		err = fmt.Errorf("take socket of systemd: %w", err)
	}
	return l, errors.Join(err, files[0].Close()) // l has a copy
}

// notifier tells systemd how the daemon does. Without systemd it tells nobody. Make one with newNotifier.
type notifier struct {
	watchdog time.Duration // within which systemd wants to hear that the daemon is alive; 0 means never
	logger   *slog.Logger
}

// newNotifier makes the notifier of this process, as its environment says.
func newNotifier(logger *slog.Logger) *notifier {
	watchdog, err := sd.SdWatchdogEnabled(false)
	if err != nil {
		logger.Error("systemd watchdog not notified", "error", err)
	}
	return &notifier{watchdog, logger}
}

// Ready says that the daemon answers, for the first time or after a reload.
func (n *notifier) Ready() { n.send(sd.SdNotifyReady + "\nSTATUS=answering") }

// Reloading says that the daemon reads its settings again. Ready ends that.
func (n *notifier) Reloading() {
	n.send(sd.SdNotifyReloading + "\n" + sd.SdNotifyMonotonicUsec() + "STATUS=reading settings")
}

// send sends a message. A systemd that does not hear it will find out what it meant; it is no reason to stop.
func (n *notifier) send(message string) {
	if _, err := sd.SdNotify(false, message); err != nil {
		n.logger.Error("systemd not notified", "error", err)
	}
}

const (
	firstLook = 20 * time.Millisecond // between looks until the daemon is alive for the first time
	patience  = 5 * time.Second       // that one look may take without a watchdog
)

// Supervise tells systemd that the daemon is ready once alive says nil, then within each interval of the watchdog that it is alive, as
// long as alive says so in time, and that it is stopping when ctx is done. A daemon that hangs is so killed and started again.
func (n *notifier) Supervise(ctx context.Context, alive func(context.Context) error) {
	if os.Getenv("NOTIFY_SOCKET") == "" {
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
	defer n.send(sd.SdNotifyStopping + "\nSTATUS=stopping")
	for look() != nil {
		if !sleep(ctx, firstLook) {
			return
		}
	}
	n.Ready()
	for n.watchdog > 0 {
		if err := look(); err == nil {
			n.send(sd.SdNotifyWatchdog)
		} else if ctx.Err() == nil {
			n.logger.Error("the daemon does not respond; systemd ends it if this lasts", "error", err)
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
