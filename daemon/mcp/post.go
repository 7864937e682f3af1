package mcp

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"time"

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
	metaWarning = "contextd/warning" // what an answer lacks, such as a brief of the caller's own that is not written yet
)

// post answers one message.
func (s *Server) post(w http.ResponseWriter, r *http.Request) error {
	body, err := web.ReadText(w, r, maxBody)
	if err != nil {
		return err
	}
	m, fault := ParseEnvelope(body)
	v, err := s.enter(r, m, fault)
	if err != nil {
		return unknownKey(w, err)
	}
	v.request = w.Header().Get(api.HeaderRequestID)
	if err := errors.Join(fault, s.check(r, m)); err != nil {
		return writeFault(w, m, err)
	}
	if m.ID == nil && !known(m.Method) { // nobody waits for an answer
		w.WriteHeader(http.StatusAccepted)
		return nil
	}
	to := route(r, m, !v.payer())
	if to == wayStateful && r.Header.Get(headerSession) == "" {
		if err := s.table.Room(v.caller.KeyID); err != nil {
			return err
		}
	}
	v.session, v.slow = to == wayStateful, to != wayBare && m.Method == methodCall
	handler := map[way]http.Handler{wayStateful: s.stateful, wayStateless: s.stateless, wayBare: s.bare}[to]
	return s.pass(w, r, v, m, handler)
}

// inSession answers GET, which opens the stream of a session, and DELETE, which ends one.
func (s *Server) inSession(w http.ResponseWriter, r *http.Request) error {
	if _, ok := r.Header["Authorization"]; !ok {
		w.Header().Set("WWW-Authenticate", "Bearer")
		err := api.Errorf(api.ReasonMissingToken, "%s needs an API key: sessions belong to keys", r.Method).
			WithHint("send Authorization: Bearer <API_KEY>; calls without a session are paid one by one with POST").WithStatus(http.StatusUnauthorized)
		err.Code = api.CodeAuthMissing
		return err
	}
	v, err := s.enter(r, Envelope{}, nil)
	if err != nil {
		return unknownKey(w, err)
	}
	v.session = true
	return s.pass(w, r, v, Envelope{}, s.stateful)
}

// unknownKey names the scheme where err says that a key is not good.
func unknownKey(w http.ResponseWriter, err error) error {
	if e := api.AsError(err); e.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
	}
	return err
}

// enter lets in who has a key, or who pays for what m asks, and returns the error to answer with for all others.
func (s *Server) enter(r *http.Request, m Envelope, fault error) (*visit, error) {
	v := &visit{ctx: r.Context(), underscore: r.URL.Query().Get("names") == "underscore"}
	if proof := m.Object("_meta", metaPayment); proof != nil {
		r.Header.Add(api.HeaderPayment, base64.StdEncoding.EncodeToString(proof)) // from here on it is as if it had come in the header
	}
	var err error
	if v.who, err = s.cfg.Payers.Credentials(r, x402.Subject{}); err != nil {
		return nil, err
	}
	if v.who.HasBearer {
		if v.caller, err = s.cfg.Gate.Known(v.who.Bearer); err == nil {
			v.ended = s.cfg.Gate.Ended(v.caller)
		}
		return v, err
	}
	return v, s.enterUnknown(v, m, fault)
}

// enterUnknown decides about who has no key. A call of an operation that is not paid for yet is quoted; with a proof it is let through,
// because only its handler knows what the SDK has read. All else is opened by the price of the cheapest operation, for as long as that
// payment's answer is kept.
func (s *Server) enterUnknown(v *visit, m Envelope, fault error) error {
	if fault == nil {
		o, priced, err := s.priced(v, m)
		switch {
		case err != nil:
			return err
		case priced && v.who.Proof != nil:
			return nil
		case priced:
			_, err := gate.Serve(v.ctx, s.cfg.Gate, o)
			return err // there is one: nobody gets by without key and proof
		case s.cfg.PublicDiscovery:
			return nil
		}
	}
	o := gate.Order[reader.Answer]{Credentials: v.who, Op: api.OpFresh, Pack: api.DefaultPack, Text: s.text,
		Answer: func(context.Context, gate.Caller) (reader.Answer, error) {
			return reader.Answer{JSON: []byte("{}")}, nil
		}}
	o.Subject = x402.Subject{Op: o.Op, Fingerprint: x402.Fingerprint("MCP", "handshake", "")}
	_, err := gate.Serve(v.ctx, s.cfg.Gate, o)
	if e := new(api.Error); errors.As(err, &e) && e.Reason == api.ReasonPaymentRequired {
		e.Message = "MCP needs an API key or a payment"
	}
	return err
}

// pass has handler answer r and looks after the answer.
func (s *Server) pass(w http.ResponseWriter, r *http.Request, v *visit, m Envelope, handler http.Handler) error {
	done, err := s.table.Begin(v.subject(s.cfg.Payers.Trusted.ClientOf(r)), r.Header.Get(headerSession))
	if err != nil {
		return err
	}
	defer done()
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // the bounds of the server are for calls, and the body is read
	ctx, leave := context.WithCancel(r.Context())
	defer leave()
	v.ctx = ctx
	r = r.Clone(ctx)
	r.Body = io.NopCloser(bytes.NewReader(m.Raw))
	r.ContentLength = int64(len(m.Raw))
	normalize(r)
	defer s.keep(v, r)()
	if r.Method == http.MethodGet || m.Method == methodListen {
		go s.endWith(v, leave)
	}
	out := NewStreamWriter(w, StreamConfig{Every: s.cfg.Keepalive, Stall: api.StalledReader, Hold: v.payer(), Slow: v.slow})
	defer out.End()
	handler.ServeHTTP(out, r)
	if v.refused != nil {
		return v.refused
	}
	if status, text, failed := out.Failure(); failed {
		return s.failure(w, r, m, status, text)
	}
	if v.payer() {
		w.Header().Set("Cache-Control", "no-store")
	}
	out.Release()
	return nil
}

// endWith ends a stream when the key of v ends or the server stops.
func (s *Server) endWith(v *visit, leave func()) {
	select {
	case <-v.ended:
	case <-s.stopping:
	case <-v.ctx.Done():
	}
	leave()
}
