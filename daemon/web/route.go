package web

import (
	"context"
	"encoding/binary"
	"errors"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/contextd/contextd/sdk/api"
)

// dispatch answers a path by method: the handler's error as an envelope, 405 for a method the path does not have, 404 where
// it has none at all. Under /v1 browsers of any origin may read the answers.
func (s *Server) dispatch(methods map[string]Handler) http.Handler {
	allowed := slices.Sorted(maps.Keys(methods))
	if methods[http.MethodGet] != nil {
		allowed = append(allowed, http.MethodHead)
	}
	allow := strings.Join(append(allowed, http.MethodOptions), ", ")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/v1/") {
			s.open.set(w.Header())
		}
		method := r.Method
		if method == http.MethodHead {
			method = http.MethodGet
		}
		handle := methods[method]
		switch {
		case handle != nil:
			if err := handle(w, r); err != nil {
				s.fail(w, r, err)
			}
		case len(methods) == 0:
			s.fail(w, r, nothingAt(r))
		case method == http.MethodOptions:
			preflight(w, r, allow)
		default:
			w.Header().Set("Allow", allow)
			s.fail(w, r, api.Errorf(api.ReasonMethodNotAllowed, "%s does not answer %s", r.URL.Path, r.Method).
				WithHint("it answers %s", allow))
		}
	})
}

// nothingAt is the answer to a path that is none.
func nothingAt(r *http.Request) error {
	err := api.Errorf(api.ReasonNotFound, "there is nothing at %s", r.URL.Path)
	if strings.TrimSuffix(r.URL.Path, "/") == api.PathMCPAccount {
		return err.WithHint("MCP is at %s and, paid by call, at %s", api.PathMCPAccount, api.PathMCP)
	}
	return err.WithHint("data endpoints are /v1/ with one of %s; see %s", api.List(api.Ops()), api.PathDocs)
}

// exposed are the response headers that scripts of other origins may read, accepted the request headers they may send.
const (
	exposed = api.HeaderRequestID + ", " + api.HeaderDataMode + ", " + api.HeaderReplayed + ", " + api.HeaderAge + ", " +
		api.HeaderRetryAfter + ", " + api.HeaderWarning + ", " + api.HeaderFreeLeft + ", " + api.HeaderFreeReset + ", " +
		api.HeaderCreditsLeft + ", " + api.HeaderDailyLeft + ", " +
		api.HeaderRequired + ", " + api.HeaderSettlement + ", " + api.HeaderProof
	accepted = "Authorization, Content-Type, " + api.HeaderPayment + ", " + api.HeaderPaymentAlias + ", " + api.HeaderPayerHint +
		", " + api.HeaderRequestID + ", " + api.HeaderSignature + ", " + api.HeaderSignIn +
		", Access-Control-Expose-Headers" // which some clients send
)

// openHeaders let scripts of every origin read an answer.
func openHeaders() lines {
	return lines{{"Access-Control-Allow-Origin", []string{"*"}}, {"Access-Control-Expose-Headers", []string{exposed}}}
}

func preflight(w http.ResponseWriter, r *http.Request, allow string) {
	w.Header().Set("Allow", allow)
	if strings.HasPrefix(r.URL.Path, "/v1/") {
		w.Header().Set("Access-Control-Allow-Methods", allow)
		w.Header().Set("Access-Control-Allow-Headers", accepted)
		w.Header().Set("Access-Control-Max-Age", "86400")
	}
	w.WriteHeader(http.StatusNoContent)
}

// requestID is the caller's own id where that is a UUID, else a new one.
func requestID(r *http.Request) string {
	if own := r.Header[api.HeaderRequestID]; len(own) > 0 && len(own[0]) == 36 {
		if id, err := uuid.Parse(own[0]); err == nil {
			return id.String()
		}
	}
	return newID()
}

// newID is a random UUID of version 4. It has to be unique, not secret, so it does without a system call.
func newID() string {
	var id uuid.UUID
	binary.NativeEndian.PutUint64(id[:8], rand.Uint64())
	binary.NativeEndian.PutUint64(id[8:], rand.Uint64())
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
	return id.String()
}

// fail answers with the error err stands for. A cause that is not the caller's is logged here, once, and not sent.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	e := *api.AsError(err)
	e.RequestID = w.Header().Get(api.HeaderRequestID)
	if e.Status >= http.StatusInternalServerError && r.Context().Err() == nil {
		// There is more to it than what is answered, and not one cause of many failures.
		if _, whole := err.(*api.Error); !whole && (s.cfg.Outage == nil || !s.cfg.Outage(err)) {
			s.cfg.Logger.Error("call failed", "request_id", e.RequestID, "method", r.Method, "path", r.URL.Path, "error", err)
		}
	}
	if errors.Is(err, context.Canceled) && r.Context().Err() != nil {
		panic(http.ErrAbortHandler) // nobody is there to read an answer
	}
	h := w.Header()
	if e.RetryAfter > 0 {
		h.Set(api.HeaderRetryAfter, Seconds(e.RetryAfter))
	}
	if e.Status == http.StatusUnauthorized && strings.HasPrefix(r.URL.Path, "/v1/") { // sessions have no scheme to name
		h.Set("WWW-Authenticate", `Bearer realm="contextd"`)
	}
	h.Set("Cache-Control", "no-store")
	if err := WriteJSON(w, e.Status, api.ErrorBody{Error: &e, Payment: e.Payment}); err != nil {
		s.cfg.Logger.Error("error not encoded", "request_id", e.RequestID, "error", err)
	}
}
