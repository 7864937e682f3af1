package admin

import (
	"context"
	"fmt"
	"net/http"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/web"
)

func (s Server) unlink(w http.ResponseWriter, r *http.Request) error {
	owner, id := r.PathValue("ownerId"), r.PathValue("identityId")
	var untold error
	if s.SignIn != nil {
		untold = s.SignIn.NotifyRemoval(r.Context(), owner, id)
	}
	if err := s.Keys.Unlink(r.Context(), owner, id); err != nil {
		return err
	}
	if untold != nil { // whose mail cannot be sent is not kept for that
		return fmt.Errorf("identity %s is removed, but its owner could not be told: %w", id, untold)
	}
	return web.WriteJSON(w, http.StatusOK, struct{}{})
}

func (s Server) invite(w http.ResponseWriter, r *http.Request) error {
	var ask InviteRequest
	if err := web.ReadJSON(w, r, &ask, `{"note":"for Ada"}`); err != nil {
		return err
	}
	made, err := s.Invites.Make(r.Context(), ask.Note)
	if err != nil {
		return err
	}
	return web.WriteJSON(w, http.StatusCreated, made)
}

func (s Server) invites(w http.ResponseWriter, r *http.Request) error {
	list, err := s.Invites.List(r.Context())
	if err != nil {
		return err
	}
	return web.WriteJSON(w, http.StatusOK, InvitesResponse{Invites: append([]account.Invite{}, list...)})
}

func (s Server) revokeInvite(w http.ResponseWriter, r *http.Request) error {
	if err := s.Invites.Revoke(r.Context(), r.PathValue("inviteId")); err != nil {
		return err
	}
	return web.WriteJSON(w, http.StatusOK, struct{}{})
}

// Unlink takes the identity with the given id from an owner and ends their sessions.
func (o *Operator) Unlink(ctx context.Context, ownerID, id string) error {
	_, err := ask[struct{}](ctx, o, http.MethodDelete, at(at(PathUnlink, ownerID), id), nil)
	return err
}

// Invite makes an invitation to become an owner.
func (o *Operator) Invite(ctx context.Context, note string) (account.IssuedInvite, error) {
	return ask[account.IssuedInvite](ctx, o, http.MethodPost, PathInvites, InviteRequest{Note: note})
}

// Invites returns every invitation, newest first.
func (o *Operator) Invites(ctx context.Context) ([]account.Invite, error) {
	list, err := ask[InvitesResponse](ctx, o, http.MethodGet, PathInvites, nil)
	return list.Invites, err
}

// RevokeInvite ends an invitation that was not used.
func (o *Operator) RevokeInvite(ctx context.Context, id string) error {
	_, err := ask[struct{}](ctx, o, http.MethodDelete, at(PathInvite, id), nil)
	return err
}
