package mcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/contextd/contextd/daemon/gate"
	"github.com/contextd/contextd/daemon/reader"
	"github.com/contextd/contextd/daemon/web"
	"github.com/contextd/contextd/daemon/x402"
	"github.com/contextd/contextd/sdk/api"
)

// metaPayment is the member of _meta that a proof of payment may come in, metaReceipt the one of results that were paid for.
const (
	metaPayment = "x402/payment"
	metaReceipt = "x402/payment-response"
	metaSignIn  = "x402/sign-in-with-x" // a wallet's sign-in, in place of a payment or beside it
	metaProof   = "contextd/proof"      // the leaf of the log that proves the answer
	metaWarning = "contextd/warning"    // what an answer lacks, such as a brief of the caller's own that is not written yet
)

// post answers one message, and says to clients of standard x402 what they look for in headers.
func (s *Server) post(w http.ResponseWriter, r *http.Request, rq *request) error {
	err := s.postMessage(w, r, rq)
	if err == nil || rq.account {
		return err
	}
	s.cfg.Standard.WriteHeaders(w.Header(), rq.who, nil, err, rq.asked)
	if rq.bound != nil && rq.payer() && !rq.ours() {
		if written, err := s.writeRequired(w, rq, err); written {
			return err
		}
	}
	return err
}

// postMessage answers one message, which comes with rq.
func (s *Server) postMessage(w http.ResponseWriter, r *http.Request, rq *request) error {
	body, err := web.ReadText(w, r, maxBody)
	if err != nil {
		return err
	}
	if err := s.cfg.Crowd.Take(r, web.CostOfBody(int64(len(body)))); err != nil {
		return err
	}
	m, fault := parseMessage(body)
	if fault == nil && s.binds(r, m) {
		rq.bound = &m
	}
	err = s.enter(r, rq, m, fault)
	if wire := new(jsonrpc.Error); errors.As(err, &wire) {
		if m.ID == nil { // nobody waits for an answer
			w.WriteHeader(http.StatusAccepted)
			return nil
		}
		return writeFault(w, m, err)
	}
	// A tool that takes a key, which those see who come without one: the SDKs take a 401 for the end of the connection.
	keyed := s.cfg.PublicDiscovery && m.Method == methodCall && errors.Is(err, &api.Error{Reason: api.ReasonMissingToken})
	if (keyed || errors.Is(err, &api.Error{Reason: api.ReasonNothingFound})) && m.ID != nil {
		return writeRefusal(w, r, m, err)
	}
	if err != nil {
		return s.challenge(w, rq, err)
	}
	rq.id = w.Header().Get(api.HeaderRequestID)
	if err := s.allowed(w, rq, m); err != nil {
		return err
	}
	if fault == nil && s.cfg.Watches != nil && m.IsCall() && strings.HasPrefix(m.Method, methodsOfEvents) {
		return s.answerEvents(w, rq, m)
	}
	if err := errors.Join(fault, s.check(r, m)); err != nil {
		return writeFault(w, m, err)
	}
	if m.ID == nil && !known(m.Method) { // nobody waits for an answer
		w.WriteHeader(http.StatusAccepted)
		return nil
	}
	to := routeOf(r, m, !rq.payer())
	if m.Method == methodInitialize {
		done, err := s.admitSession(r, rq, to)
		if err != nil {
			return err
		}
		defer done()
	}
	rq.session = to == routeStateful
	rq.slow = to != routeBare && m.Method == methodCall
	handler := map[route]http.Handler{routeStateful: s.stateful, routeStateless: s.stateless, routeBare: s.bare}[to]
	return s.pass(w, r, rq, m, handler)
}

// admitSession bounds how often a client, or a key with credits, makes a handshake, and makes room for the session that it opens. done is
// called when that is there.
func (s *Server) admitSession(r *http.Request, rq *request, to route) (done func(), err error) {
	subjects := rq.clients
	if !rq.payer() {
		rich, err := s.cfg.Gate.HasCredits(r.Context(), rq.caller)
		if err != nil {
			return nil, err
		}
		if rich { // many of them may come from the address of a hosted client
			subjects = []string{"key " + rq.caller.KeyID}
		}
	}
	if err := s.cfg.Handshakes.AllowAll(subjects...); err != nil {
		return nil, err
	}
	if to != routeStateful || r.Header.Get(headerSession) != "" {
		return func() {}, nil
	}
	return s.table.Room(r.Context(), rq.caller)
}

// inSession answers GET, which opens the stream of a session, and DELETE, which ends one.
func (s *Server) inSession(w http.ResponseWriter, r *http.Request, rq *request) error {
	if _, ok := r.Header["Authorization"]; !ok {
		return s.challenge(w, rq, api.KeyMissing("%s needs an API key: sessions belong to keys", r.Method).
			WithHint("send Authorization: Bearer <API_KEY>; calls without a session are paid one by one with POST"))
	}
	if err := s.enter(r, rq, message{}, nil); err != nil {
		return s.challenge(w, rq, err)
	}
	rq.session = true
	return s.pass(w, r, rq, message{}, s.stateful)
}

// challenge names the scheme where err says that a key is missing or not good, and where an account is asked for how to get a token.
func (s *Server) challenge(w http.ResponseWriter, rq *request, err error) error {
	e := api.AsError(err)
	if e.Status != http.StatusUnauthorized {
		return err
	}
	var told []string
	if e.Reason != api.ReasonMissingToken {
		told = append(told, `error="invalid_token"`)
	}
	if rq.account && s.cfg.Metadata != "" {
		told = append(told, s.cfg.Metadata, fmt.Sprintf("scope=%q", api.ScopeRead+" "+api.ScopeEvents))
	}
	w.Header().Set("WWW-Authenticate", strings.TrimSpace("Bearer "+strings.Join(told, ", ")))
	return err
}

// allowed refuses an agent that has signed in, and asks with m for what it was not allowed, so that its program sees how to be.
func (s *Server) allowed(w http.ResponseWriter, rq *request, m message) error {
	if rq.caller.Grant == nil || slices.Contains(rq.caller.Grant.Scopes, s.scopeOf(m)) {
		return nil
	}
	w.Header().Set("WWW-Authenticate", fmt.Sprintf("Bearer error=%q, scope=%q, %s", api.ReasonNoScope,
		strings.Join(append(slices.Clone(rq.caller.Grant.Scopes), s.scopeOf(m)), " "), s.cfg.Metadata))
	return api.Errorf(api.ReasonNoScope, "this agent was not allowed %s", s.scopeOf(m)).
		WithHint("have its owner sign in again with this agent, and allow it")
}

// scopeOf is the scope that m needs.
func (s *Server) scopeOf(m message) string {
	op, _ := toolOp(s.cfg.Prefix, m.Text("name"))
	switch {
	case m.Method == methodSubscribe, m.Method == methodListen, strings.HasPrefix(m.Method, methodsOfEvents):
		return api.ScopeEvents
	case m.Method == methodCall:
		return gate.ScopeOf(op)
	}
	return api.ScopeRead
}

// enter lets in who has a key, or who pays for what m asks, and returns the error to answer with for all others.
func (s *Server) enter(r *http.Request, rq *request, m message, fault error) (err error) {
	if value, exact := m.Payment(); exact { // from here on it is as if it had come in the header
		r.Header.Set(api.HeaderSignature, value)
	} else if value != "" {
		r.Header.Add(api.HeaderPayment, value)
	}
	if value := m.SignIn(); value != "" {
		r.Header.Set(api.HeaderSignIn, value)
	}
	rq.about = func() web.Asked { return s.asked(r, m) }
	if rq.who, err = s.cfg.Payers.Credentials(r, x402.Subject{}); err != nil {
		return err
	}
	if rq.who.HasBearer {
		rq.who.Account = rq.account
		if rq.caller, err = s.cfg.Gate.Identify(r.Context(), rq.who); err == nil {
			rq.ended = s.cfg.Gate.Ended(rq.caller)
		}
		return err
	}
	return s.enterUnknown(r, rq, m, fault)
}

// enterUnknown decides about who has no key. A call of an operation that is not paid for yet is quoted; with a proof it is let through,
// because only its handler knows what the SDK has read. All else is opened by the price of the cheapest operation, for as long as that
// payment's answer is kept.
func (s *Server) enterUnknown(r *http.Request, rq *request, m message, fault error) error {
	if fault == nil {
		if at, ok := s.parseURI(m.Text("uri")); m.Method == methodRead && ok && at.free() {
			return nil
		}
		if s.paysInBand(rq, m) {
			rq.inBand = true
			return nil
		}
		o, priced, err := s.priced(rq, m)
		switch {
		case err != nil:
			return err
		case priced && rq.who.Presented():
			return nil
		case priced:
			if err := s.cfg.Crowd.Take(r, o.Cost); err != nil {
				return err
			}
			served, err := gate.Serve(rq.ctx, s.cfg.Gate, o)
			return s.cfg.Payers.Missed(rq.clients, served, err) // there is an error: nobody gets by without key and proof
		case s.cfg.PublicDiscovery:
			return nil
		}
	}
	if spends, err := s.cfg.Gate.Spends(rq.ctx, rq.who); err != nil || spends { // as with a key, calls alone cost something
		return err
	}
	o := gate.Order[reader.Answer]{Credentials: rq.who, Op: api.OpFresh, Pack: api.DefaultPack, Text: s.text,
		Answer: func(context.Context, gate.Caller) (reader.Answer, error) {
			return reader.Answer{JSON: []byte("{}")}, nil
		}}
	o.Subject = x402.Handshake()
	rq.paysFor = o.Subject
	served, err := gate.Serve(rq.ctx, s.cfg.Gate, o)
	if err == nil && served.Caller.Payment != nil {
		rq.sold = http.Header{}
		s.settled(rq, served.Caller.Payment)
	}
	if e := new(api.Error); errors.As(err, &e) {
		switch e.Reason {
		case api.ReasonPaymentRequired:
			e.Message = "MCP needs an API key or a payment"
		case api.ReasonMissingToken:
			e.Message = "MCP needs an API key"
		}
	}
	return err
}

// pass has handler answer r and looks after the answer.
func (s *Server) pass(w http.ResponseWriter, r *http.Request, rq *request, m message, handler http.Handler) error {
	done, err := s.table.Begin(rq.subject(), r.Header.Get(headerSession))
	if err != nil {
		return err
	}
	defer done()
	if rq.who.HasBearer && (r.Method == http.MethodGet || m.Method == methodListen) {
		release, err := web.Held(r.Context())
		if err != nil {
			return err
		}
		defer release()
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // the bounds of the server are for calls, and the body is read
	ctx, leave := context.WithCancel(r.Context())
	defer leave()
	rq.ctx = ctx
	r = r.Clone(ctx)
	r.Body = io.NopCloser(bytes.NewReader(m.Raw))
	r.ContentLength = int64(len(m.Raw))
	normalize(r)
	defer s.register(rq, r)()
	if r.Method == http.MethodGet || m.Method == methodListen {
		go s.endWith(rq, leave)
	}
	out := newStreamWriter(w, streamConfig{Every: s.cfg.Keepalive, Stall: api.StalledReader, Hold: rq.payer(), Slow: rq.slow})
	defer out.End()
	if rq.events = s.wantsEvents(m); rq.events {
		out.Acknowledge()
		s.listeners.Store(out, m.ID)
		defer s.listeners.Delete(out)
	}
	handler.ServeHTTP(out, r)
	if rq.refused != nil {
		return rq.refused
	}
	if status, text, failed := out.Failure(); failed {
		return s.failure(w, r, m, status, text)
	}
	if rq.payer() {
		w.Header().Set("Cache-Control", "no-store")
		maps.Copy(w.Header(), rq.sold)
	}
	out.Release()
	return nil
}

// endWith ends a stream when the key of rq ends or the server stops.
func (s *Server) endWith(rq *request, leave func()) {
	select {
	case <-rq.ended:
	case <-s.stopping:
	case <-rq.ctx.Done():
	}
	leave()
}
