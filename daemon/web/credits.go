package web

import (
	"net/http"
	"strconv"
	"time"

	"github.com/contextd/contextd/daemon/gate"
	"github.com/contextd/contextd/daemon/x402"
	"github.com/contextd/contextd/sdk/api"
)

// sellCredits sells a pack of credits with a key, for a payment of standard x402 alone. The payer needs no account: their wallet is one.
func (s *Server) sellCredits(w http.ResponseWriter, r *http.Request) error {
	values, err := Parameters(r, "pack")
	if err != nil {
		return err
	}
	pack := api.CreditPack(values.Get("pack"))
	if _, ok := pack.Offer(); !ok {
		return api.Errorf(api.ReasonInvalidRequest, "there is no package %q of credits", pack).
			WithHint("POST %s?pack=%s; packs: %s", api.PathPurchase, api.CreditStarter, api.List(api.CreditPacks()))
	}
	who := gate.Credentials{
		Subject: x402.Subject{Pack: pack, Fingerprint: x402.Fingerprint(http.MethodPost, api.PathPurchase, "pack="+string(pack))},
	}
	claim, err := s.claimCredits(r, &who)
	if err == nil {
		defer claim.Close()
		if claim.Replay == nil {
			err = claim.Spend(r.Context(), nil)
		}
	}
	s.writeStandard(w, r, who, claim, err)
	if err != nil {
		return err
	}
	return s.writeBought(w, claim)
}

// claimCredits takes the payment that r carries for what who wants to buy, or says why there is none.
func (s *Server) claimCredits(r *http.Request, who *gate.Credentials) (*x402.Claim, error) {
	paid := r.Header.Values(api.HeaderSignature)
	if len(paid) == 0 {
		return nil, s.unpaid(r, who.Subject)
	}
	var err error
	if *who, err = s.cfg.Payers.exact(r, *who, paid); err != nil {
		return nil, err
	}
	if who.Refused != nil {
		return nil, who.Refused
	}
	return s.cfg.Standard.Exact.ClaimExact(r.Context(), *who.Exact, who.Subject)
}

// unpaid is the answer to who has sent no payment of standard x402.
func (s *Server) unpaid(r *http.Request, subject x402.Subject) error {
	const way = "pay what " + api.HeaderRequired + " offers with a client of x402, version 2, and send " + api.HeaderSignature
	if len(r.Header.Values(api.HeaderPayment))+len(ours(r.Header.Values(api.HeaderPaymentAlias))) > 0 {
		return api.Errorf(api.ReasonMalformedProof, "credits need standard x402; the proof of a transfer pays for single calls").
			WithHint(way)
	}
	offer, ok := s.cfg.Standard.Exact.Offer(subject)
	if !ok {
		return api.Errorf(api.ReasonChainUnavailable, "payments cannot be settled now").
			WithHint("try again later, or sign in and pay by transfer: ctx credits buy").WithRetryAfter(time.Minute)
	}
	if err := formerVersion(r); err != nil {
		return err
	}
	return api.Errorf(api.ReasonPaymentRequired, "%s: %s", offer.Resource.Description, offer.Error).WithHint(way)
}

// writeBought answers with the key that was bought: created where its plaintext is told.
func (s *Server) writeBought(w http.ResponseWriter, claim *x402.Claim) error {
	h, key := w.Header(), claim.Bought
	h.Set("Cache-Control", "no-store")
	if kept := claim.Replay; kept != nil {
		h.Set(api.HeaderReplayed, "true")
		h.Set(api.HeaderAge, strconv.FormatInt(int64(max(0, s.cfg.Now().Sub(kept.At))/time.Second), 10))
	}
	if key.Key != "" {
		return WriteJSON(w, http.StatusCreated, key)
	}
	return WriteJSON(w, http.StatusOK, api.BoughtKey{
		KeyID: key.KeyID, Name: key.Name, Tier: key.Tier, CreatedAt: key.CreatedAt, CreditBalance: *key.CreditBalance,
		Hint: "the key was shown once, to the request that paid; sign in with the paying wallet and rotate it: " +
			"ctx login --wallet FILE, then ctx keys rotate " + key.KeyID,
	})
}
