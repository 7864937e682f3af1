package mcp

import (
	"context"
	"crypto/rand"
	"net/http"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/contextd/contextd/daemon/gate"
	"github.com/contextd/contextd/daemon/web"
	"github.com/contextd/contextd/daemon/x402"
	"github.com/contextd/contextd/sdk/api"
)

// headerRequest carries the reference of a request through the SDK. What a client sends under this name is dropped.
const headerRequest = "X-Contextd-Visit"

// request is one HTTP request while it is answered. The SDK hands the headers of a request to its handlers, but not its context: in a
// session that is the context of the request that opened it, for ever. So what belongs to a request is kept here, by a reference in
// its headers.
type request struct {
	ctx        context.Context // of the request: done when the client has gone
	id         string          // of the request
	clients    []string        // the address that it came from, and its networks
	who        gate.Credentials
	caller     gate.Caller      // with a key; zero without
	ended      <-chan struct{}  // closes when the key ends; nil without
	session    bool             // it goes to the handler with sessions
	account    bool             // it has an account or a key: nothing is sold to it by call
	slow       bool             // it is answered with a stream that may have nothing to say for long
	events     bool             // it listens for other types of events
	underscore bool             // tools are listed without dots
	inBand     bool             // it is a call of a tool, whose payment is asked for and refused in the result
	bound      *message         // it, where its payment is asked for by extensionPayment; nil elsewhere
	paysFor    x402.Subject     // what a payment of it is for
	about      func() web.Asked // what it asks for, but for that; nil where the body could not be read

	receipt *api.StandardReceipt // of standard x402, which the result tells; set before it is written
	sold    http.Header          // what the transport adds to an answer that was paid by call; set before the SDK answers
	refused error                // what the transport answers in place of the SDK, for who pays by call; set before the SDK answers
}

// register makes rq findable by the headers of r until forget is called.
func (s *Server) register(rq *request, r *http.Request) (forget func()) {
	ref := rand.Text()
	r.Header.Set(headerRequest, ref)
	s.requests.Store(ref, rq)
	return func() { s.requests.Delete(ref) }
}

// requestIn finds the request whose headers the SDK has copied into h, nil once it has ended.
func (s *Server) requestIn(h http.Header) *request {
	found, _ := s.requests.Load(h.Get(headerRequest))
	rq, _ := found.(*request)
	return rq
}

func (s *Server) requestOf(req sdk.Request) *request {
	extra := req.GetExtra()
	if extra == nil {
		return nil
	}
	return s.requestIn(extra.Header)
}

// payer reports whether rq is of someone who pays by call.
func (rq *request) payer() bool { return !rq.who.HasBearer }

// ours reports whether rq shows a proof of our own dialect, and is answered in that.
func (rq *request) ours() bool {
	return rq.who.Exact == nil && (rq.who.Proof != nil || rq.who.Refused != nil && !rq.who.SignIn)
}

// asked is what rq asks for, as it is offered to clients of standard x402.
func (rq *request) asked() (a web.Asked) {
	if rq.about != nil {
		a = rq.about()
	}
	a.Subject = rq.paysFor
	return a
}

// subject names who rq is of, for limits.
func (rq *request) subject() string {
	if rq.caller.KeyID != "" {
		return rq.caller.KeyID
	}
	return "client " + rq.clients[len(rq.clients)-1] // of IPv6, the site
}
