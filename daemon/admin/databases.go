package admin

import (
	"cmp"
	"net/http"
	"time"

	"github.com/contextd/contextd/daemon/backup"
	"github.com/contextd/contextd/daemon/web"
	"github.com/contextd/contextd/sdk/api"
)

// stall is how long a reader of a backup may take nothing.
const stall = time.Minute

func (s Server) databases(w http.ResponseWriter, r *http.Request) error {
	if s.StoreURL != "" {
		return onServer("it tells their sizes").WithHint("in psql: \\dt+ contextd*.*")
	}
	list, err := backup.Status(r.Context(), s.DataDir, r.FormValue("tables") != "")
	if err != nil {
		return explained(err)
	}
	return web.WriteJSON(w, http.StatusOK, list)
}

func (s Server) verify(w http.ResponseWriter, r *http.Request) error {
	report, err := backup.Verify(r.Context(), cmp.Or(s.StoreURL, s.DataDir))
	if err != nil {
		return explained(err)
	}
	return web.WriteJSON(w, http.StatusOK, report)
}

func (s Server) logs(w http.ResponseWriter, r *http.Request) error {
	list, err := backup.Logs(r.Context(), cmp.Or(s.StoreURL, s.DataDir))
	if err != nil {
		return explained(err)
	}
	for i := range list {
		if s.Signing != nil && !list[i].Ended {
			list[i].Witnesses = s.Signing(list[i].Pack)
		}
	}
	return web.WriteJSON(w, http.StatusOK, append([]backup.LogStatus{}, list...))
}

func (s Server) verifyLogs(w http.ResponseWriter, r *http.Request) error {
	leaves, problems, err := backup.VerifyLogs(r.Context(), cmp.Or(s.StoreURL, s.DataDir))
	if err != nil {
		return explained(err)
	}
	return web.WriteJSON(w, http.StatusOK, LogVerifyResponse{leaves, append([]backup.Problem{}, problems...)})
}

func (s Server) backUp(w http.ResponseWriter, r *http.Request) error {
	if s.StoreURL != "" {
		return onServer("its own tools back them up").
			WithHint("pg_dump --schema='contextd*' DATABASE, and keep a copy of the file of store.key_file, if set, with it")
	}
	w.Header().Set("Content-Type", "application/zstd")
	out := web.NewTimedWriter(w, stall)
	_, err := backup.BackUp(r.Context(), s.DataDir, s.Now(), out)
	if err != nil && out.Begun() {
		s.Logger.Error("backup interrupted", "error", err)
		panic(http.ErrAbortHandler) // so that nobody takes it for whole
	}
	if err != nil {
		return explained(err)
	}
	s.Logger.Info("backup made")
	return nil
}

// onServer is the answer to what is done with SQLite's files.
func onServer(instead string) *api.Error {
	return api.Errorf(api.ReasonInvalidRequest, "the databases are in PostgreSQL: %s", instead)
}

// explained is err, with its cause, for the operator, who is the one to know what is wrong with their disk.
func explained(err error) error {
	failed := *api.AsError(err)
	if failed.Status < http.StatusInternalServerError {
		return err
	}
	failed.Message, failed.Hint = err.Error(), ""
	return &failed
}
