package operator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"time"

	"github.com/contextd/contextd/daemon/store/upkeep"
	"github.com/contextd/contextd/daemon/web"
	"github.com/contextd/contextd/sdk/api"
)

// Paths of the admin socket about the databases as a whole.
const (
	pathDatabases = "/databases"
	pathVerify    = "/databases/verify"
	pathBackup    = "/backup"
)

// stall is how long a reader of a backup may take nothing.
const stall = time.Minute

// Databases answers what the operator asks about the databases of a data directory as a whole: of the daemon that runs on it, or of this
// process while none does.
type Databases struct {
	Dir    string
	Now    func() time.Time
	Logger *slog.Logger // nil means slog.Default
}

// Routes are those of the admin socket.
func (d Databases) Routes() web.Routes {
	return web.Routes{
		pathDatabases: {http.MethodGet: d.look},
		pathVerify:    {http.MethodPost: d.verify},
		pathBackup:    {http.MethodPost: d.backUp},
	}
}

// look says how the databases stand.
func (d Databases) look(w http.ResponseWriter, r *http.Request) error {
	list, err := upkeep.Look(r.Context(), d.Dir, r.FormValue("tables") != "")
	if err != nil {
		return err
	}
	return web.WriteJSON(w, http.StatusOK, append([]upkeep.Database{}, list...))
}

// verify checks the databases.
func (d Databases) verify(w http.ResponseWriter, r *http.Request) error {
	patient(w)
	report, err := upkeep.Verify(r.Context(), d.Dir)
	if err != nil {
		return told(err)
	}
	return web.WriteJSON(w, http.StatusOK, report)
}

// patient lets a request take as long as it takes.
func patient(w http.ResponseWriter) *http.ResponseController {
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Time{}) // not supported within one process, where there is no deadline either
	_ = rc.SetWriteDeadline(time.Time{})
	return rc
}

// told is err, as it is told to the operator, who is the one to know what is wrong with his disk.
func told(err error) error {
	failed := *api.AsError(err)
	if failed.Status < http.StatusInternalServerError {
		return err
	}
	failed.Message, failed.Hint = err.Error(), ""
	return &failed
}

// backUp writes a upkeep.
func (d Databases) backUp(w http.ResponseWriter, r *http.Request) error {
	rc := patient(w)
	w.Header().Set("Content-Type", "application/zstd")
	out := &awaited{w: w, stalled: time.AfterFunc(math.MaxInt64, func() { _ = rc.SetWriteDeadline(time.Unix(1, 0)) })} // long past
	defer out.stalled.Stop()
	m, err := upkeep.BackUp(r.Context(), d.Dir, d.Now(), out)
	if err != nil && out.begun {
		d.logger().Error("backup was cut off", "error", err)
		panic(http.ErrAbortHandler) // so that nobody takes it for whole
	}
	if err != nil {
		return told(err)
	}
	d.logger().Info("backup was taken", "files", len(m.Files), "findings", len(m.Findings))
	return nil
}

// logger is where it is logged what was done.
func (d Databases) logger() *slog.Logger {
	if d.Logger == nil {
		return slog.Default()
	}
	return d.Logger
}

// awaited writes an answer to a reader who may be slow, but not for ever.
type awaited struct {
	w       io.Writer
	begun   bool
	stalled *time.Timer // ends the write under way
}

func (a *awaited) Write(p []byte) (int, error) {
	a.begun = true
	a.stalled.Reset(stall)
	defer a.stalled.Reset(math.MaxInt64)
	return a.w.Write(p)
}

// OpenDatabases opens a data directory for what concerns its databases as a whole. Unlike Open it does not bring them to the newest schema.
func OpenDatabases(ctx context.Context, dir string, now func() time.Time) (*Operator, error) {
	return reach(ctx, dir, func(unlock func() error) (*Operator, error) {
		handler := web.NewAdmin(web.AdminConfig{
			More: Databases{Dir: dir, Now: now, Logger: slog.New(slog.DiscardHandler)}.Routes(), Logger: slog.New(slog.DiscardHandler),
		})
		return &Operator{client: &http.Client{Transport: inProcess{handler}}, close: unlock, Direct: true}, nil
	})
}

// Databases says how the databases stand; with tables, how many rows their tables have.
func (o *Operator) Databases(ctx context.Context, tables bool) (list []upkeep.Database, err error) {
	path := pathDatabases
	if tables {
		path += "?tables=1"
	}
	return list, o.call(ctx, http.MethodGet, path, nil, &list)
}

// VerifyDatabases checks the databases: their structure, the books, every state.
func (o *Operator) VerifyDatabases(ctx context.Context) (r upkeep.Report, err error) {
	return r, o.call(ctx, http.MethodPost, pathVerify, nil, &r)
}

// Backup writes a backup to w, as it comes: whether it is whole, upkeep.Check tells.
func (o *Operator) Backup(ctx context.Context, w io.Writer) (err error) {
	body, err := o.open(ctx, http.MethodPost, pathBackup, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, body.Close()) }()
	if _, err := io.Copy(w, body); err != nil {
		return fmt.Errorf("read backup: %w", err)
	}
	return nil
}
