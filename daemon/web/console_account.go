package web

import (
	"cmp"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/sdk/api"
)

// listKeys lists the owner's keys, all or a page of them.
func (c *Console) listKeys(w http.ResponseWriter, r *http.Request, s api.Session) error {
	query, err := Parameters(r, "limit", "cursor")
	if err != nil {
		return err
	}
	list := c.cfg.Keys.List(s.UserID)
	if !query.Has("limit") && !query.Has("cursor") {
		return WriteJSON(w, http.StatusOK, api.KeyListResponse{Keys: account.Rows(list)})
	}
	limit, err := strconv.Atoi(cmp.Or(query.Get("limit"), strconv.Itoa(api.MaxPage)))
	if err != nil || limit < 1 || limit > api.MaxPage {
		return api.Errorf(api.ReasonInvalidRequest, "limit is not a number from 1 to %d", api.MaxPage).
			WithHint("leave it out for the whole list")
	}
	page, next, err := account.Page(list, limit, query.Get("cursor"))
	if err != nil {
		return err
	}
	return WriteJSON(w, http.StatusOK, api.KeyListResponse{Keys: account.Rows(page), NextCursor: next})
}

// issueKey makes a key of the owner's tier.
func (c *Console) issueKey(w http.ResponseWriter, r *http.Request, s api.Session) error {
	var ask api.CreateKeyRequest
	if err := ReadJSON(w, r, &ask, `{"name":"my agent"}`); err != nil {
		return err
	}
	issued, err := c.cfg.Keys.Issue(r.Context(), account.NewKey{
		OwnerID: s.UserID, Name: ask.Name, Consent: ask.TraceConsent, Daily: ask.DailyCredits,
	})
	if err != nil {
		return err
	}
	return WriteJSON(w, http.StatusCreated, issued)
}

// ownKey is the key in the path of r, if it is the owner's. Another's is as one that is not there.
func (c *Console) ownKey(r *http.Request, s api.Session) (string, error) {
	id := r.PathValue("keyId")
	if key, err := c.cfg.Keys.Lookup(id); err != nil || key.OwnerID != s.UserID {
		return "", account.NoKey(id)
	}
	return id, nil
}

// rotateKey makes a key in place of one of the owner's.
func (c *Console) rotateKey(w http.ResponseWriter, r *http.Request, s api.Session) error {
	id, err := c.ownKey(r, s)
	if err != nil {
		return err
	}
	return RotateKey(w, r, c.cfg.Keys, id)
}

// RotateKey answers a request to make a key in place of the one with the given id. Its body may be empty.
func RotateKey(w http.ResponseWriter, r *http.Request, keys *account.Keys, id string) error {
	var ask api.RotateKeyRequest
	if r.ContentLength != 0 {
		if err := ReadJSON(w, r, &ask, `{"graceSeconds":600}`); err != nil {
			return err
		}
	}
	grace := time.Duration(min(max(ask.GraceSeconds, -1), math.MaxInt32)) * time.Second // beyond the bounds, which Rotate knows, as it was
	issued, err := keys.Rotate(r.Context(), id, account.Rotation{Name: ask.Name, Grace: grace})
	if err != nil {
		return err
	}
	return WriteJSON(w, http.StatusCreated, issued)
}

// editKey changes name and bound of one of the owner's keys.
func (c *Console) editKey(w http.ResponseWriter, r *http.Request, s api.Session) error {
	id, err := c.ownKey(r, s)
	if err != nil {
		return err
	}
	var ask api.EditKeyRequest
	if err := ReadJSON(w, r, &ask, `{"dailyCredits":200}`); err != nil {
		return err
	}
	key, err := c.cfg.Keys.Edit(r.Context(), id, ask)
	if err != nil {
		return err
	}
	return WriteJSON(w, http.StatusOK, key.Row())
}

func (c *Console) revokeKey(w http.ResponseWriter, r *http.Request, s api.Session) error {
	id, err := c.ownKey(r, s)
	if err != nil {
		return err
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
	answer.Days, answer.Bounds = append([]api.UsageRow{}, answer.Days...), append([]api.KeyBound{}, answer.Bounds...) // never null
	return WriteJSON(w, http.StatusOK, answer)
}

// pack is the pack in the path of r, if it is served here.
func (c *Console) pack(r *http.Request) (string, error) {
	id := r.PathValue("pack")
	if packs := c.cfg.Packs(); !slices.Contains(packs, id) {
		return "", api.Errorf(api.ReasonPackNotFound, "pack %q is not served here", id).
			WithHint("packs served: %s", strings.Join(packs, ", "))
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
	if text != "" {
		setWarning(w, c.cfg.Prompts.Warning())
	}
	return WriteJSON(w, http.StatusOK, api.PromptBody{Prompt: text})
}

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
	setWarning(w, c.cfg.Prompts.Warning())
	return WriteJSON(w, http.StatusOK, api.PromptBody{Prompt: kept})
}

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
