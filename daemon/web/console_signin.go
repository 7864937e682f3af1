package web

import (
	"net/http"
	"strings"

	"github.com/contextd/contextd/sdk/api"
)

// sendLink mails a sign-in link.
func (c *Console) sendLink(w http.ResponseWriter, r *http.Request) error {
	var ask api.EmailSignInRequest
	if err := ReadJSON(w, r, &ask, `{"email":"you@example.com"}`); err != nil {
		return err
	}
	if err := c.mails.Allow(strings.ToLower(strings.TrimSpace(ask.Email))); err != nil {
		return err
	}
	owner, err := c.signedIn(r)
	if err != nil {
		return err
	}
	expires, err := c.cfg.SignIn.SendLink(r.Context(), ask.Email, owner)
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
	session, err := c.redeem(w, r, ask.Token)
	if err != nil {
		return err
	}
	return WriteJSON(w, http.StatusOK, session)
}

// redeem signs in with a token and sets the cookie.
func (c *Console) redeem(w http.ResponseWriter, r *http.Request, token string) (api.Session, error) {
	owner, err := c.signedIn(r)
	if err != nil {
		return api.Session{}, err
	}
	secret, session, err := c.cfg.SignIn.ByLink(r.Context(), token, owner)
	if err != nil {
		return api.Session{}, err
	}
	c.setCookie(w, secret, session)
	return session, nil
}

// message hands out the text that a wallet has to sign.
func (c *Console) message(w http.ResponseWriter, r *http.Request) error {
	var ask api.WalletSignInRequest
	if err := ReadJSON(w, r, &ask, `{"address":"0x…"}`); err != nil {
		return err
	}
	owner, err := c.signedIn(r)
	if err != nil {
		return err
	}
	text, expires, err := c.cfg.SignIn.Message(r.Context(), ask.Address, owner)
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
	owner, err := c.signedIn(r)
	if err != nil {
		return err
	}
	secret, session, err := c.cfg.SignIn.ByWallet(r.Context(), ask.Message, ask.Signature, owner)
	if err != nil {
		return err
	}
	c.setCookie(w, secret, session)
	return WriteJSON(w, http.StatusOK, session)
}

// session says who is signed in.
func (c *Console) session(w http.ResponseWriter, _ *http.Request, s api.Session) error {
	return WriteJSON(w, http.StatusOK, s)
}

// signOut ends the session, if there is one.
func (c *Console) signOut(w http.ResponseWriter, r *http.Request) error {
	if cookie, err := r.Cookie(api.SessionCookie); err == nil {
		if err := c.cfg.SignIn.SignOut(r.Context(), cookie.Value); err != nil {
			return err
		}
	}
	c.dropCookie(w)
	w.WriteHeader(http.StatusNoContent)
	return nil
}
