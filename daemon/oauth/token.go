package oauth

import (
	"errors"
	"mime"
	"net/http"
	"strings"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/web"
	"github.com/contextd/contextd/sdk/api"
)

// refuse answers a step with an error of OAuth.
func (s *Server) refuse(w http.ResponseWriter, step string, status int, code, text string) error {
	s.count(step, code)
	w.Header().Set("Cache-Control", "no-store")
	return web.WriteJSON(w, status, map[string]string{"error": code, "error_description": text})
}

// form reads the body of a POST, or has answered that it cannot.
func (s *Server) form(w http.ResponseWriter, r *http.Request, step string) (form map[string]string, ok bool, err error) {
	if err := s.tokens.AllowAll(s.cfg.Proxies.ClientsOf(r)...); err != nil {
		return nil, false, err
	}
	w.Header().Set("Cache-Control", "no-store")
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/x-www-form-urlencoded" {
		return nil, false, s.refuse(w, step, http.StatusBadRequest, "invalid_request",
			"the body has to be application/x-www-form-urlencoded")
	}
	text, err := web.ReadText(w, r, maxForm)
	if err != nil {
		return nil, false, err
	}
	if form, err = parameters(string(text)); err != nil {
		return nil, false, s.refuse(w, step, http.StatusBadRequest, "invalid_request", err.Error())
	}
	return form, true, nil
}

// token exchanges a code, or a refresh token, for tokens.
func (s *Server) token(w http.ResponseWriter, r *http.Request) error {
	step := stepToken
	form, ok, err := s.form(w, r, step)
	if !ok {
		return err
	}
	var pair account.Pair
	grant := form["grant_type"]
	if grant == "refresh_token" {
		step = stepRefresh
	}
	switch {
	case form["client_id"] == "":
		return s.refuse(w, step, http.StatusUnauthorized, "invalid_client", "client_id is missing")
	case !s.ours(form["resource"]):
		return s.refuse(w, step, http.StatusBadRequest, "invalid_target", "resource has to be "+s.resource())
	case grant == "authorization_code" && !verifier(form["code_verifier"]):
		return s.refuse(w, step, http.StatusBadRequest, "invalid_request", "code_verifier is no text of 43 to 128 characters")
	case grant == "authorization_code":
		pair, err = s.cfg.Tokens.Redeem(r.Context(), form["code"], form["client_id"], form["redirect_uri"], form["code_verifier"])
	case grant == "refresh_token":
		pair, err = s.cfg.Tokens.Refresh(r.Context(), form["refresh_token"], form["client_id"])
	default:
		return s.refuse(w, step, http.StatusBadRequest, "unsupported_grant_type",
			"grant_type has to be authorization_code or refresh_token")
	}
	if err != nil {
		return s.ungranted(w, r, step, err)
	}
	if grant == "authorization_code" {
		agent := pair.Key.Grant
		s.cfg.Logger.Info("an agent has signed in", "key_id", pair.Key.ID, "client", agent.Client, "redirect", agent.Redirect)
	}
	s.count(step, "")
	return web.WriteJSON(w, http.StatusOK, struct {
		Access  string `json:"access_token"`
		Type    string `json:"token_type"`
		Expires int64  `json:"expires_in"`
		Refresh string `json:"refresh_token"`
		Scope   string `json:"scope"`
	}{pair.Access, "Bearer", int64(pair.Lasts.Seconds()), pair.Refresh, strings.Join(pair.Key.Grant.Scopes, " ")})
}

// verifier reports whether text can be one of PKCE.
func verifier(text string) bool {
	const least, most = 43, 128
	return len(text) >= least && len(text) <= most &&
		strings.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~") == ""
}

// ungranted answers with why there are no tokens. What the agent cannot mend is no invalid_grant: it would have its owner sign in again.
func (s *Server) ungranted(w http.ResponseWriter, r *http.Request, step string, err error) error {
	refused := new(api.Error)
	switch {
	case errors.Is(err, account.ErrUsed):
		s.cfg.Logger.Warn("a code or refresh token was used again; its key has ended", "step", step, "error", err)
	case errors.As(err, &refused) && refused.Status < http.StatusInternalServerError && refused.RetryAfter == 0: // such as too many keys
		return s.refuse(w, step, http.StatusBadRequest, "invalid_grant", refused.Message)
	case !errors.Is(err, account.ErrNoToken):
		return err
	}
	if err := s.wrong.AllowAll(s.cfg.Proxies.ClientsOf(r)...); err != nil {
		return err
	}
	return s.refuse(w, step, http.StatusBadRequest, "invalid_grant", "it is unknown, used, has expired, or is of another client")
}

// revoke ends what a token stands for (RFC 7009): the key, with all its tokens. What a token is is nobody's business.
func (s *Server) revoke(w http.ResponseWriter, r *http.Request) error {
	const step = stepRevoke
	form, ok, err := s.form(w, r, step)
	if !ok {
		return err
	}
	switch {
	case form["client_id"] == "":
		return s.refuse(w, step, http.StatusUnauthorized, "invalid_client", "client_id is missing")
	case form["token"] == "":
		return s.refuse(w, step, http.StatusBadRequest, "invalid_request", "token is missing")
	}
	if err := s.cfg.Tokens.Revoke(r.Context(), form["token"], form["client_id"]); err != nil {
		return err
	}
	s.count(step, "")
	w.Header().Set("Content-Length", "0")
	w.WriteHeader(http.StatusOK)
	return nil
}
