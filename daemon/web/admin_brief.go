package web

import (
	"context"
	"net/http"
	"time"

	"github.com/contextd/contextd/daemon/brief/editor"
)

// Briefs tries briefs out and reports on those published; *editor.Editor is one.
type Briefs interface {
	Preview(ctx context.Context, pack, writer string) (editor.Preview, error)
	Check(ctx context.Context, pack string) (editor.Report, error)
}

// AdminPreviewRequest is the body of a POST to AdminPreview, which answers with an editor.Preview.
type AdminPreviewRequest struct {
	Writer string `json:"writer"` // by name; "" means as the schedule would
}

// previewBrief tries a brief out.
func (cfg AdminConfig) previewBrief(w http.ResponseWriter, r *http.Request) error {
	unhurried(w)
	var ask AdminPreviewRequest
	if err := ReadJSON(w, r, &ask, `{"writer":"built-in"}`); err != nil {
		return err
	}
	p, err := cfg.Briefs.Preview(r.Context(), r.PathValue("pack"), ask.Writer)
	if err != nil {
		return err
	}
	return WriteJSON(w, http.StatusOK, p)
}

// checkBriefs answers with an editor.Report.
func (cfg AdminConfig) checkBriefs(w http.ResponseWriter, r *http.Request) error {
	report, err := cfg.Briefs.Check(r.Context(), r.PathValue("pack"))
	if err != nil {
		return err
	}
	return WriteJSON(w, http.StatusOK, report)
}

// unhurried takes the deadlines of the server off a call that waits for a language model. Within the process there are none.
func unhurried(w http.ResponseWriter) {
	c := http.NewResponseController(w)
	_, _ = c.SetReadDeadline(time.Time{}), c.SetWriteDeadline(time.Time{})
}
