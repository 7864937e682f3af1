package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/sdk/api"
)

// host is a daemon that serves one pack, at a tick.
type host struct {
	cfg     config
	pack    string
	sources []string // ids, [1] first
	tick    int
	caller  *caller

	now    atomic.Pointer[time.Time]
	daemon *daemon.Daemon
	dir    string
	stop   context.CancelFunc
	ended  chan error
}

// began is the time of the first tick.
func began() time.Time { return time.Date(2026, 11, 20, 20, 1, 2, 0, time.UTC) }

func newHost(cfg config, pack string, sources []string) *host {
	h := &host{cfg: cfg, pack: pack, sources: sources, ended: make(chan error, 1)}
	h.set(began())
	return h
}

// open starts the daemon, whose first state refresh makes.
func (h *host) open(ctx context.Context, recording daemon.Recording, packs []daemon.Pack,
	refresh func(context.Context) error) (err error) {
	if h.dir, err = os.MkdirTemp("", "contextbench-"); err != nil {
		return err
	}
	h.daemon, err = daemon.Open(ctx, daemon.Config{
		DataDir: h.dir, Serve: daemon.Serve{Listen: "127.0.0.1:0"}, Data: daemon.Data{Recording: recording},
		Reloadable: daemon.Reloadable{Packs: packs}, Now: h.clock, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		return errors.Join(err, os.RemoveAll(h.dir))
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	h.stop = stop
	if err = refresh(ctx); err != nil {
		stop()
		return errors.Join(err, h.daemon.Close(), os.RemoveAll(h.dir))
	}
	go func() { h.ended <- h.daemon.Run(running) }()
	if err := h.issue(ctx); err != nil {
		return errors.Join(err, h.close())
	}
	return nil
}

// issue has another caller, with a key of their own, ask from now on.
func (h *host) issue(ctx context.Context) error {
	key, err := h.daemon.Keys().Issue(ctx, account.NewKey{OwnerID: account.OperatorID, Name: "contextbench", Tier: api.TierEnterprise})
	if err == nil {
		_, err = h.daemon.Credits().Move(ctx, account.OperatorID, billing.Entry{
			KeyID: key.KeyID, Amount: 1_000_000, Kind: billing.KindGrant, Reason: "contextbench",
		})
	}
	h.caller = &caller{base: h.daemon.URL(), key: key.Key, pack: h.pack}
	return err
}

// close ends the daemon.
func (h *host) close() error {
	h.stop()
	return errors.Join(<-h.ended, h.daemon.Close(), os.RemoveAll(h.dir))
}

// refresh has the daemon ask upstream at the time of the tick, and moves the clock on to when questions are asked. With all sources dead,
// no state is made.
func (h *host) refresh(ctx context.Context, allDead bool) error {
	h.set(h.at(h.tick))
	if err := h.daemon.Refresh(ctx, h.pack); err != nil && !allDead {
		return fmt.Errorf("refresh at tick %d: %w", h.tick, err)
	}
	h.set(h.at(h.tick).Add(read))
	return nil
}

func (h *host) clock() time.Time { return *h.now.Load() }

func (h *host) set(t time.Time) { h.now.Store(&t) }

// at is when a tick is.
func (h *host) at(tick int) time.Time { return began().Add(time.Duration(tick) * 5 * time.Minute) }

// count counts an answer; wrong is the class of a wrong one, and the rest tells what it was.
func (h *host) count(t *test, right bool, wrong, format string, args ...any) {
	t.Asked++
	t.Measured = true
	if right {
		t.Right++
		return
	}
	if t.Wrong == nil {
		t.Wrong = map[string]*class{}
	}
	c := t.Wrong[wrong]
	if c == nil {
		c = &class{}
		t.Wrong[wrong] = c
	}
	if c.Count++; len(c.Examples) < h.cfg.wrong {
		c.Examples = append(c.Examples, fmt.Sprintf("tick %d: ", h.tick)+fmt.Sprintf(format, args...))
	}
}

// prove has every figure of a brief in a claim, and every claim's row cited with the figure.
func (h *host) prove(ctx context.Context, t *test, a claimed) error {
	text := []rune(a.Brief)
	for _, at := range amounts.FindAllStringIndex(a.Brief, -1) {
		start, end := len([]rune(a.Brief[:at[0]])), len([]rune(a.Brief[:at[1]]))
		covered := false
		for _, c := range a.Claims {
			covered = covered || c.Start <= start && end <= c.End
		}
		if !covered {
			h.count(t, false, "a figure without a claim", "%s in …%s…", a.Brief[at[0]:at[1]],
				string(text[max(0, start-60):min(len(text), end+30)]))
		}
	}
	for _, c := range a.Claims {
		if c.Start < 0 || c.End > len(text) || c.Start >= c.End || string(text[c.Start:c.End]) != c.Text {
			h.count(t, false, "a span that is not the text", "%+v", c)
			continue
		}
		parameters := []string{"ref", strconv.Itoa(c.Ref), "row", c.Row}
		if a.BriefOf != nil {
			parameters = append(parameters, "at", a.BriefOf.Format(time.RFC3339Nano))
		}
		var cited api.CiteResponse
		status, body, err := h.caller.get(ctx, "/v1/cite", &cited, parameters...)
		if err != nil {
			return err
		}
		right := status == http.StatusOK && holds(cited.Citation.Excerpt, c.Text)
		said := clip(string(body), 200)
		h.count(t, right, "a claim whose row does not hold it", "%q [%d] %s %s: %d, %s", c.Text, c.Ref, c.Row, c.Field, status, said)
	}
	return nil
}
