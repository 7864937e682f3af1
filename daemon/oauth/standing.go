package oauth

import (
	"cmp"
	"errors"
	"net/http"
	"sync/atomic"

	"github.com/contextd/contextd/daemon/web"
	"github.com/contextd/contextd/sdk/api"
)

// The steps by which an agent signs in.
const (
	stepAuthorize = "authorize" // the owner has answered, or the agent has asked for what there is not
	stepToken     = "token"     // a code is exchanged
	stepRefresh   = "refresh"
	stepRegister  = "register"
	stepRevoke    = "revoke"
)

// Standing is what agents were answered since the start.
type Standing struct {
	Agents     int   // keys of consents that have not ended
	Authorized int64 // by their owners
	Tokens     int64 // pairs, refreshed ones among them
	Refused    int64 // steps
}

// counts are the steps so far.
type counts struct{ authorized, tokens, refused atomic.Int64 }

// count counts a step with the code of its error, "" for none.
func (s *Server) count(step, code string) {
	switch {
	case code != "":
		s.counts.refused.Add(1)
	case step == stepAuthorize:
		s.counts.authorized.Add(1)
	case step == stepToken || step == stepRefresh:
		s.counts.tokens.Add(1)
	}
	if s.cfg.Counted != nil {
		s.cfg.Counted(step, code)
	}
}

// counted counts a step that fails with an error of the API, such as that of a limit.
func (s *Server) counted(step string, h web.Handler) web.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		err := h(w, r)
		if err != nil {
			s.count(step, string(api.AsError(err).Reason))
		}
		return err
	}
}

// countProblem counts what is shown to an owner in place of the page that the agent asked for.
func (s *Server) countProblem(err error) {
	reason, e := api.Reason(""), new(api.Error)
	if errors.As(err, &e) {
		reason = e.Reason
	}
	s.count(stepAuthorize, string(cmp.Or(reason, "shown")))
}

// Standing is how agents stand.
func (s *Server) Standing() Standing {
	n := Standing{Authorized: s.counts.authorized.Load(), Tokens: s.counts.tokens.Load(), Refused: s.counts.refused.Load()}
	for _, k := range s.cfg.Keys.List("") {
		if k.Grant != nil && k.RevokedAt.IsZero() {
			n.Agents++
		}
	}
	return n
}
