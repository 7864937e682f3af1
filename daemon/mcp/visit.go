package mcp

import (
	"context"
	"crypto/rand"
	"net/http"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/contextd/contextd/daemon/gate"
)

// headerVisit carries the reference of a visit through the SDK. What a client sends under this name is dropped.
const headerVisit = "X-Contextd-Visit"

// visit is one HTTP request while it is answered. The SDK hands the headers of a request to its handlers, but not its context: in a
// session that is the context of the request that opened it, for ever. So what belongs to a request is kept here, by a reference in
// its headers.
type visit struct {
	ctx        context.Context // of the request: done when the client has gone
	request    string          // id of the request
	who        gate.Credentials
	caller     gate.Caller     // with a key; zero without
	ended      <-chan struct{} // closes when the key ends; nil without
	session    bool            // it goes to the handler with sessions
	slow       bool            // it is answered with a stream that may have nothing to say for long
	underscore bool            // tools are listed without dots

	refused error // what the transport answers in place of the SDK, for who pays by call; set before the SDK answers
}

// keep makes v findable by the headers of r until forget is called.
func (s *Server) keep(v *visit, r *http.Request) (forget func()) {
	ref := rand.Text()
	r.Header.Set(headerVisit, ref)
	s.visits.Store(ref, v)
	return func() { s.visits.Delete(ref) }
}

// visit finds the visit of a request, nil once it has left.
func (s *Server) visit(h http.Header) *visit {
	v, _ := s.visits.Load(h.Get(headerVisit))
	found, _ := v.(*visit)
	return found
}

// visitOf finds the visit that the SDK's request belongs to.
func (s *Server) visitOf(req sdk.Request) *visit {
	extra := req.GetExtra()
	if extra == nil {
		return nil
	}
	return s.visit(extra.Header)
}

// payer reports whether v is of someone who pays by call.
func (v *visit) payer() bool { return !v.who.HasBearer }

// subject names who v is of, for limits.
func (v *visit) subject(client string) string {
	if v.caller.KeyID != "" {
		return v.caller.KeyID
	}
	return "client " + strings.ToLower(client)
}
