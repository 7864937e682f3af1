package web

import (
	"net/http"

	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/gate"
	"github.com/contextd/contextd/sdk/api"
)

// ownerOf is who is signed in, as the watches of all their keys know them.
func ownerOf(s api.Session) gate.Caller { return gate.Caller{Call: billing.Call{OwnerID: s.UserID}} }

// watches lists the owner's watches, of all keys.
func (c *Console) watches(w http.ResponseWriter, r *http.Request, s api.Session) error {
	list, err := c.cfg.Watches.List(r.Context(), ownerOf(s))
	if err != nil {
		return err
	}
	return WriteJSON(w, http.StatusOK, api.WatchList{Watches: list})
}

// removeWatch drops one of the owner's watches. Another's is as one that is not there.
func (c *Console) removeWatch(w http.ResponseWriter, r *http.Request, s api.Session) error {
	if err := c.cfg.Watches.Remove(r.Context(), ownerOf(s), r.PathValue("watchId")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// testWatch has the delivery of one of the owner's watches tried now.
func (c *Console) testWatch(w http.ResponseWriter, r *http.Request, s api.Session) error {
	if err := c.cfg.Watches.Test(r.Context(), ownerOf(s), r.PathValue("watchId")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
