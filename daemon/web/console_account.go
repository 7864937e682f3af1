package web

import (
	"net/http"
	"slices"
	"strconv"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/sdk/api"
)

// listKeys lists the owner's keys.
func (c *Console) listKeys(w http.ResponseWriter, _ *http.Request, s api.Session) error {
	return WriteJSON(w, http.StatusOK, api.KeyListResponse{Keys: account.Rows(c.cfg.Keys.List(s.UserID))})
}

// issueKey makes a key of the owner's tier.
func (c *Console) issueKey(w http.ResponseWriter, r *http.Request, s api.Session) error {
	var ask api.CreateKeyRequest
	if err := ReadJSON(w, r, &ask, `{"name":"my agent"}`); err != nil {
		return err
	}
	issued, err := c.cfg.Keys.Issue(r.Context(), account.NewKey{OwnerID: s.UserID, Name: ask.Name, Consent: ask.TraceConsent})
	if err != nil {
		return err
	}
	return WriteJSON(w, http.StatusCreated, issued)
}

// revokeKey ends one of the owner's keys. Another's is as one that is not there.
func (c *Console) revokeKey(w http.ResponseWriter, r *http.Request, s api.Session) error {
	id := r.PathValue("keyId")
	if key, err := c.cfg.Keys.Lookup(id); err != nil || key.OwnerID != s.UserID {
		return account.NoKey(id)
	}
	done, err := c.cfg.Keys.Revoke(r.Context(), id)
	if err != nil {
		return err
	}
	return WriteJSON(w, http.StatusOK, done)
}

// balance reports the owner's credits, or those on one of their keys.
func (c *Console) balance(w http.ResponseWriter, r *http.Request, s api.Session) error {
	query, err := Parameters(r, "keyId")
	if err != nil {
		return err
	}
	answer, err := c.cfg.Books.Balance(r.Context(), s.UserID, query.Get("keyId"))
	if err != nil {
		return err
	}
	if answer.RecentDeposits, err = c.recent(r, s); err != nil {
		return err
	}
	return WriteJSON(w, http.StatusOK, answer)
}

// defaultDays is how many days of usage are reported unless asked otherwise.
const defaultDays = 30

// usage reports the owner's calls by day.
func (c *Console) usage(w http.ResponseWriter, r *http.Request, s api.Session) error {
	query, err := Parameters(r, "days")
	if err != nil {
		return err
	}
	days := defaultDays
	if text := query.Get("days"); text != "" {
		if days, err = strconv.Atoi(text); err != nil {
			return api.Errorf(api.ReasonInvalidRequest, "days is not a whole number").WithHint("leave it out for %d", defaultDays)
		}
	}
	answer, err := c.cfg.Books.Usage(r.Context(), s.UserID, days)
	if err != nil {
		return err
	}
	answer.Days = append([]api.UsageRow{}, answer.Days...) // never null
	return WriteJSON(w, http.StatusOK, answer)
}

// pack is the pack in the path of r, if it is served here.
func (c *Console) pack(r *http.Request) (string, error) {
	id := r.PathValue("pack")
	if !slices.Contains(c.cfg.Packs, id) {
		return "", api.Errorf(api.ReasonPackNotFound, "pack %q is not served here", id).WithHint("served: %v", c.cfg.Packs)
	}
	return id, nil
}

// prompt reports the owner's prompt for a pack.
func (c *Console) prompt(w http.ResponseWriter, r *http.Request, s api.Session) error {
	pack, err := c.pack(r)
	if err != nil {
		return err
	}
	text, err := c.cfg.Prompts.Of(r.Context(), s.UserID, s.Tier, pack)
	if err != nil {
		return err
	}
	return WriteJSON(w, http.StatusOK, api.PromptBody{Prompt: text})
}

// setPrompt sets it.
func (c *Console) setPrompt(w http.ResponseWriter, r *http.Request, s api.Session) error {
	pack, err := c.pack(r)
	if err != nil {
		return err
	}
	var ask api.PromptBody
	if err := ReadJSON(w, r, &ask, `{"prompt":"Only what concerns stablecoins."}`); err != nil {
		return err
	}
	kept, err := c.cfg.Prompts.Set(r.Context(), s.UserID, s.Tier, pack, ask.Prompt)
	if err != nil {
		return err
	}
	return WriteJSON(w, http.StatusOK, api.PromptBody{Prompt: kept})
}

// dropPrompt drops it.
func (c *Console) dropPrompt(w http.ResponseWriter, r *http.Request, s api.Session) error {
	pack, err := c.pack(r)
	if err != nil {
		return err
	}
	if err := c.cfg.Prompts.Drop(r.Context(), s.UserID, s.Tier, pack); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
