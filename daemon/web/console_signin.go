package web

import (
	"net/http"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/sdk/api"
)

func (c *Console) sendLink(w http.ResponseWriter, r *http.Request) error {
	var ask api.EmailSignInRequest
	if err := ReadJSON(w, r, &ask, `{"email":"you@example.com"}`); err != nil {
		return err
	}
	id, err := account.Email(ask.Email)
	if err != nil {
		return err
	}
	v, err := c.visitor(r, "")
	if err != nil {
		return err
	}
	known, err := c.cfg.SignIn.Knows(r.Context(), id, v)
	if err != nil {
		return err
	}
	if err := c.mails.allow(c.cfg.TrustedProxies.ClientsOf(r), id.Inbox(), known); err != nil {
		return err
	}
	expires, err := c.cfg.SignIn.SendLink(r.Context(), id, v)
	if err != nil {
		return err
	}
	return WriteJSON(w, http.StatusAccepted, api.EmailSignInResponse{ExpiresAt: expires})
}

// byLink signs in with the token of a mailed link.
func (c *Console) byLink(w http.ResponseWriter, r *http.Request) error {
	var ask api.EmailVerifyRequest
	if err := ReadJSON(w, r, &ask, `{"token":"…"}`); err != nil {
		return err
	}
	v, err := c.visitor(r, ask.Invite)
	if err != nil {
		return err
	}
	session, err := c.redeem(w, r, ask.Token, v)
	if err != nil {
		return err
	}
	return WriteJSON(w, http.StatusOK, session)
}

// redeem signs v in with a token and sets the cookie.
func (c *Console) redeem(w http.ResponseWriter, r *http.Request, token string, v account.Visitor) (api.Session, error) {
	secret, session, err := c.cfg.SignIn.ByLink(r.Context(), token, v)
	if err != nil {
		return api.Session{}, err
	}
	c.setCookie(w, secret, session.ExpiresAt)
	return session.ToAPI(), nil
}

// message hands out the text that a wallet has to sign.
func (c *Console) message(w http.ResponseWriter, r *http.Request) error {
	var ask api.WalletSignInRequest
	if err := ReadJSON(w, r, &ask, `{"address":"0x…"}`); err != nil {
		return err
	}
	v, err := c.visitor(r, "")
	if err != nil {
		return err
	}
	text, expires, err := c.cfg.SignIn.Message(r.Context(), ask.Address, v)
	if err != nil {
		return err
	}
	return WriteJSON(w, http.StatusOK, api.WalletSignInResponse{Message: text, ExpiresAt: expires})
}

// byWallet signs in with a signed message.
func (c *Console) byWallet(w http.ResponseWriter, r *http.Request) error {
	var ask api.WalletVerifyRequest
	if err := ReadJSON(w, r, &ask, `{"message":"…","signature":"0x…"}`); err != nil {
		return err
	}
	v, err := c.visitor(r, ask.Invite)
	if err != nil {
		return err
	}
	secret, session, err := c.cfg.SignIn.ByWallet(r.Context(), ask.Message, ask.Signature, v)
	if err != nil {
		return err
	}
	c.setCookie(w, secret, session.ExpiresAt)
	return WriteJSON(w, http.StatusOK, session.ToAPI())
}

func (c *Console) session(w http.ResponseWriter, _ *http.Request, s api.Session) error {
	return WriteJSON(w, http.StatusOK, s)
}

// signOut ends the session, if there is one; with all, every session of its owner, and then there has to be one.
func (c *Console) signOut(w http.ResponseWriter, r *http.Request) error {
	query, err := Parameters(r, "all")
	if err != nil {
		return err
	}
	switch query.Get("all") {
	case "true":
		everywhere := func(_ http.ResponseWriter, r *http.Request, s api.Session) error {
			return c.cfg.SignIn.SignOutEverywhere(r.Context(), s.UserID)
		}
		if err := c.owner(everywhere)(w, r); err != nil {
			return err
		}
		w.Header().Del("Set-Cookie") // of a renewal
	case "", "false":
		for _, secret := range c.secrets(r) {
			if err := c.cfg.SignIn.SignOut(r.Context(), secret); err != nil {
				return err
			}
		}
	default:
		return api.Errorf(api.ReasonInvalidRequest, "all is neither true nor false").WithHint("leave it out to end this session alone")
	}
	c.dropCookie(w)
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// identities lists what the owner signs in by.
func (c *Console) identities(w http.ResponseWriter, r *http.Request, s api.Session) error {
	list, err := c.cfg.SignIn.Identities(r.Context(), s.UserID)
	if err != nil {
		return err
	}
	return WriteJSON(w, http.StatusOK, api.IdentityListResponse{Identities: append([]api.Identity{}, list...)})
}

// unlink removes an identity from the owner's account.
func (c *Console) unlink(w http.ResponseWriter, r *http.Request, _ api.Session) error {
	v, err := c.visitor(r, "")
	if err != nil {
		return err
	}
	if v.Session == nil { // it has ended just now
		return api.Errorf(api.ReasonInvalidSession, "the session has ended").WithHint("sign in again: ctx login")
	}
	if err := c.cfg.SignIn.Unlink(r.Context(), r.PathValue("identityId"), v); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
