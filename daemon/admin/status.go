package admin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/contextd/contextd/daemon/datadir"
	"github.com/contextd/contextd/daemon/event"
	"github.com/contextd/contextd/daemon/evidence"
	"github.com/contextd/contextd/daemon/web"
	"github.com/contextd/contextd/daemon/x402"
	"github.com/contextd/contextd/internal/usdg"
	"github.com/contextd/contextd/sdk/api"
)

// Status answers a GET of PathStatus: what an operator looks at each day.
type Status struct {
	Version   string       `json:"version"`
	URL       string       `json:"url"`
	DataDir   string       `json:"dataDir"`
	Demo      bool         `json:"demo"`
	Now       time.Time    `json:"now"` // by the clock of the daemon
	StartedAt time.Time    `json:"startedAt"`
	NotReady  string       `json:"notReady"` // why calls cannot be answered, "" if they can
	Packs     []PackStatus `json:"packs"`
	Jobs      []Job        `json:"jobs"` // those whose last run failed
	Disk      DiskStatus   `json:"disk"`
	Backup    BackupStatus `json:"backup"`
	Use       *UseStatus   `json:"use"`   // null where the books do not answer
	Money     *MoneyStatus `json:"money"` // null there too, and where nothing is paid on a chain

	Evidence *evidence.Standing `json:"evidence"` // null where none is kept
	Watches  *event.Standing    `json:"watches"`  // null where the books do not answer
	Agents   *AgentStatus       `json:"agents"`   // null where none sign in
}

// AgentStatus is how agents stand that sign in, by what they were answered since the start.
type AgentStatus struct {
	Agents     int   `json:"agents"`     // keys of consents that have not ended
	Authorized int64 `json:"authorized"` // by their owners
	Tokens     int64 `json:"tokens"`     // pairs, refreshed ones among them
	Refused    int64 `json:"refused"`    // steps
}

// PackStatus is how a pack stands.
type PackStatus struct {
	ID          string             `json:"id"`
	GeneratedAt *time.Time         `json:"generatedAt"` // null where there is no state yet
	AgeSeconds  int64              `json:"ageSeconds"`
	Sources     int                `json:"sources"`
	Failing     []api.SourceStatus `json:"failing"`
}

// DiskStatus is how the disk of the data directory stands.
type DiskStatus struct {
	FreeBytes     int64            `json:"freeBytes"`
	DatabaseBytes map[string]int64 `json:"databaseBytes"` // by database
}

// BackupStatus is how the backups stand that the daemon makes.
type BackupStatus struct {
	EverySeconds int64      `json:"everySeconds"` // 0 where none are made
	Else         string     `json:"else"`         // who makes them in its place: litestream, postgresql, or "" for nobody that it knows
	Dir          string     `json:"dir"`
	NewestAt     *time.Time `json:"newestAt"` // null for never
	Count        int        `json:"count"`
	Bytes        int64      `json:"bytes"`
	Late         bool       `json:"late"` // there is none, or the newest is older than it may be
}

// UseStatus is how much the service is used.
type UseStatus struct {
	ActiveKeys  int   `json:"activeKeys"`
	Owners      int   `json:"owners"`     // of these keys
	CallsToday  int64 `json:"callsToday"` // with a key, in the UTC day
	Connections int   `json:"connections"`
	Most        int   `json:"mostConnections"`
	Streams     int   `json:"streams"`
}

// MoneyStatus is how the money stands.
type MoneyStatus struct {
	PendingDeposits int64           `json:"pendingDeposits"`
	ReceivedToday   int64           `json:"receivedToday"`  // transfers that paid for something in the UTC day
	ReceivedMicros  usdg.Amount     `json:"receivedMicros"` // what they moved, in millionths of the token
	Rails           []x402.Standing `json:"rails"`          // on which payments are settled
	Lags            map[string]Lag  `json:"lags"`           // by rail
}

// Lag is how far a chain was looked at for deposits, in blocks.
type Lag struct {
	Newest uint64 `json:"newest"`
	Looked uint64 `json:"looked"`
}

func (s Server) status(w http.ResponseWriter, r *http.Request) error {
	told, err := s.Daemon.Status(r.Context())
	if err != nil {
		return err
	}
	return web.WriteJSON(w, http.StatusOK, told)
}

// ErrNotRunning is in the chain of the error of StatusOf where no daemon runs.
var ErrNotRunning = errors.New("no daemon runs")

// StatusOf asks the daemon on dir how it stands.
func StatusOf(ctx context.Context, dir string) (Status, error) {
	runs, err := datadir.Runs(ctx, dir)
	if err != nil {
		return Status{}, err
	}
	if !runs {
		return Status{}, fmt.Errorf("%w on %s", ErrNotRunning, dir)
	}
	o := through(dir)
	defer func() { _ = o.Close() }() // nothing is left open
	return ask[Status](ctx, o, http.MethodGet, PathStatus, nil)
}
