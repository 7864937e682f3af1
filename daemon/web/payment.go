package web

import (
	"net/http"
	"strings"

	"github.com/contextd/contextd/daemon/gate"
	"github.com/contextd/contextd/daemon/reader"
	"github.com/contextd/contextd/daemon/x402"
	"github.com/contextd/contextd/sdk/api"
)

// credentials are those that r carries, a call of op with the given parameters.
func (s *Server) credentials(r *http.Request, op api.Op, parameters string) (gate.Credentials, error) {
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	who := gate.Credentials{Subject: x402.Subject{Op: op, Fingerprint: x402.Fingerprint(method, r.URL.Path, parameters)}}
	if values, ok := r.Header["Authorization"]; ok {
		who.HasBearer = true
		// A header of no known form is of no key.
		if scheme, key, _ := strings.Cut(values[0], " "); len(values) == 1 && strings.EqualFold(scheme, "Bearer") {
			who.Bearer = strings.TrimSpace(key)
		}
		return who, nil
	}
	header, alias := r.Header.Values(api.HeaderPayment), r.Header.Values(api.HeaderPaymentAlias)
	if len(header)+len(alias) == 0 {
		return who, nil
	}
	if err := s.proofs.Allow(s.cfg.Trusted.ClientOf(r)); err != nil {
		return who, err
	}
	proof, err := x402.ParseProof(header, alias)
	who.Proof = &proof
	return who, err
}

// sell gives an answer to a caller who has paid for it, or the one that he got before.
func (s *Server) sell(w http.ResponseWriter, r *http.Request, payment *x402.Claim, answer reader.Answer) error {
	defer payment.Close()
	s.headers(w, answer)
	if !answer.Immutable {
		w.Header().Set("Cache-Control", "no-store")
	}
	if kept := payment.Replay; kept != nil {
		w.Header().Set(api.HeaderReplayed, "true")
		send(w, http.StatusOK, kept.Body)
		return nil
	}
	text := s.text(answer)
	if err := payment.Settle(r.Context(), text); err != nil {
		return err
	}
	send(w, http.StatusOK, text)
	return nil
}
