package mcp

import (
	"net/http"

	"github.com/contextd/contextd/daemon/web"
	"github.com/contextd/contextd/sdk/api"
)

// checkOrigin lets pass what was meant for this server: a page that a user looks at must not get at it by a name that points here, nor
// with a script of another origin.
func (s *Server) checkOrigin(next web.Handler) web.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		origin := r.Header.Get("Origin")
		if err := s.cfg.Origin.Admits(r.Host, origin); err != nil {
			return err
		}
		if origin == "" {
			return next(w, r)
		}
		h := w.Header()
		h.Set("Access-Control-Allow-Origin", origin)
		h.Set("Access-Control-Expose-Headers", exposed)
		h.Add("Vary", "Origin")
		return next(w, r)
	}
}

// Headers that scripts may read and send.
const (
	exposed = headerSession + ", " + api.HeaderRequestID + ", " + api.HeaderDataMode + ", " + api.HeaderReplayed + ", " +
		api.HeaderAge + ", " + api.HeaderRetryAfter + ", " + api.HeaderRequired + ", " + api.HeaderSettlement + ", WWW-Authenticate"
	sent = "Authorization, Content-Type, Accept, " + headerSession + ", " + headerVersion + ", Mcp-Method, Mcp-Name, Last-Event-ID, " +
		api.HeaderPayment + ", " + api.HeaderPaymentAlias + ", " + api.HeaderPayerHint + ", " + api.HeaderRequestID +
		", " + api.HeaderSignature + ", Access-Control-Expose-Headers"
)

func preflight(w http.ResponseWriter, _ *http.Request) error {
	h := w.Header()
	h.Set("Allow", "DELETE, GET, OPTIONS, POST")
	if h.Get("Access-Control-Allow-Origin") != "" {
		h.Set("Access-Control-Allow-Methods", "DELETE, GET, POST")
		h.Set("Access-Control-Allow-Headers", sent)
		h.Set("Access-Control-Max-Age", "86400")
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
