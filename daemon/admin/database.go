package admin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"

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

// Keeper looks after the databases of a data directory as a whole. L says how they stand and R what is wrong with them, both as JSON.
// backup.Directory is one.
type Keeper[L, R any] interface {
	Look(ctx context.Context, tables bool) (L, error)
	Verify(ctx context.Context) (R, error)
	BackUp(ctx context.Context, w io.Writer) error
}

// DatabaseRoutes are those of the admin socket about the databases as a whole.
func DatabaseRoutes[L, R any](k Keeper[L, R], logger *slog.Logger) web.Routes {
	look := func(w http.ResponseWriter, r *http.Request) error {
		list, err := k.Look(r.Context(), r.FormValue("tables") != "")
		if err != nil {
			return told(err)
		}
		return web.WriteJSON(w, http.StatusOK, list)
	}
	verify := func(w http.ResponseWriter, r *http.Request) error {
		report, err := k.Verify(r.Context())
		if err != nil {
			return told(err)
		}
		return web.WriteJSON(w, http.StatusOK, report)
	}
	backUp := func(w http.ResponseWriter, r *http.Request) error { return sendBackup(w, r, k.BackUp, logger) }
	return web.Routes{
		pathDatabases: {http.MethodGet: look},
		pathVerify:    {http.MethodPost: verify},
		pathBackup:    {http.MethodPost: backUp},
	}
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

// sendBackup answers with a backup.
func sendBackup(w http.ResponseWriter, r *http.Request, produce func(context.Context, io.Writer) error, logger *slog.Logger) error {
	w.Header().Set("Content-Type", "application/zstd")
	out := web.NewTimedWriter(w, stall)
	err := produce(r.Context(), out)
	if err != nil && out.Begun() {
		logger.Error("backup was cut off", "error", err)
		panic(http.ErrAbortHandler) // so that nobody takes it for whole
	}
	if err != nil {
		return told(err)
	}
	logger.Info("backup was taken")
	return nil
}

// OpenDatabases opens a data directory for what concerns its databases as a whole; k does it while no daemon runs. Unlike Open it does not
// bring them to the newest schema.
func OpenDatabases[L, R any](ctx context.Context, dir string, k Keeper[L, R]) (*Operator, error) {
	return reach(ctx, dir, func(unlock func() error) (*Operator, error) {
		silent := slog.New(slog.DiscardHandler) // what goes wrong is told
		handler := NewHandler(Server{More: DatabaseRoutes(k, silent), Logger: silent})
		return &Operator{client: &http.Client{Transport: inProcess{handler}}, close: unlock, Direct: true}, nil
	})
}

// Databases reads how the databases stand into list, as a Keeper says it; with tables, how many rows their tables have.
func (o *Operator) Databases(ctx context.Context, tables bool, list any) error {
	path := pathDatabases
	if tables {
		path += "?tables=1"
	}
	return o.call(ctx, http.MethodGet, path, nil, list)
}

// VerifyDatabases checks the databases and reads what is wrong with them into report, as a Keeper says it.
func (o *Operator) VerifyDatabases(ctx context.Context, report any) error {
	return o.call(ctx, http.MethodPost, pathVerify, nil, report)
}

// Backup writes a backup to w, as it comes: whether it is whole, backup.Check tells.
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
