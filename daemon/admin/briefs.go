// Package admin is what the operator asks about briefs on the admin socket: to try one out, and what became of those published.
package admin

import (
	"context"
	"net/http"

	"github.com/contextd/contextd/daemon/brief"
	"github.com/contextd/contextd/daemon/web"
)

// Editor tries briefs out and reports on those published; *brief.Editor is one.
type Editor interface {
	Preview(ctx context.Context, pack, writer string) (brief.Preview, error)
	Check(ctx context.Context, pack string) (brief.Report, error)
}

// Routes are those for the admin socket: a POST to PathPreview is answered with a brief.Preview, a GET of PathBrief with an
// brief.Report.
func Routes(e Editor) web.Routes {
	return web.Routes{
		PathPreview: {http.MethodPost: func(w http.ResponseWriter, r *http.Request) error {
			var ask PreviewRequest
			if err := web.ReadJSON(w, r, &ask, `{"writer":"built-in"}`); err != nil {
				return err
			}
			p, err := e.Preview(r.Context(), r.PathValue("pack"), ask.Writer)
			if err != nil {
				return err
			}
			return web.WriteJSON(w, http.StatusOK, p)
		}},
		PathBrief: {http.MethodGet: func(w http.ResponseWriter, r *http.Request) error {
			report, err := e.Check(r.Context(), r.PathValue("pack"))
			if err != nil {
				return err
			}
			return web.WriteJSON(w, http.StatusOK, report)
		}},
	}
}
