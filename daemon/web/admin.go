package web

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/sdk/api"
)

// Paths of the admin socket, which only the operator's user can open.
const (
	AdminKeys    = "/keys"
	AdminKey     = "/keys/{keyId}"
	AdminRefresh = "/packs/{pack}/refresh"
	AdminBrief   = "/packs/{pack}/brief"
)

// AdminKeyRequest is the body of a POST to AdminKeys.
type AdminKeyRequest struct {
	api.CreateKeyRequest
	Tier api.Tier `json:"tier,omitempty"`
}

// AdminConfig is what the admin handler needs.
type AdminConfig struct {
	Keys    *account.Keys
	Refresh func(ctx context.Context, pack string) error // a refresh now
	Brief   func(ctx context.Context, pack string) error // a brief now
	Logger  *slog.Logger                                 // nil means slog.Default
}

// NewAdmin makes the handler of the admin socket. It asks for no credentials: the mode of the socket is the admission.
func NewAdmin(cfg AdminConfig) *Server {
	keys := cfg.Keys
	run := func(job func(context.Context, string) error) handler {
		return func(w http.ResponseWriter, r *http.Request) error {
			if err := job(r.Context(), r.PathValue("pack")); err != nil {
				return err
			}
			return writeJSON(w, http.StatusOK, map[string]bool{"ok": true})
		}
	}
	routes := map[string]map[string]handler{
		AdminKeys: {
			http.MethodGet: func(w http.ResponseWriter, _ *http.Request) error {
				return writeJSON(w, http.StatusOK, api.KeyListResponse{Keys: account.Rows(keys.List())})
			},
			http.MethodPost: func(w http.ResponseWriter, r *http.Request) error {
				text, err := readText(w, r)
				if err != nil {
					return err
				}
				var ask AdminKeyRequest
				if err := json.Unmarshal(text, &ask); err != nil {
					return api.Errorf(api.ReasonInvalidRequest, "the body cannot be read: %v", err).
						WithHint(`send {"name":"my agent"}`)
				}
				issued, err := keys.Issue(r.Context(), account.NewKey{
					OwnerID: account.OperatorID, Name: ask.Name, Tier: ask.Tier, Consent: ask.TraceConsent,
				})
				if err != nil {
					return err
				}
				return writeJSON(w, http.StatusCreated, issued)
			},
		},
		AdminKey: {
			http.MethodDelete: func(w http.ResponseWriter, r *http.Request) error {
				done, err := keys.Revoke(r.Context(), r.PathValue("keyId"))
				if err != nil {
					return err
				}
				return writeJSON(w, http.StatusOK, done)
			},
		},
		AdminRefresh: {http.MethodPost: run(cfg.Refresh)},
		AdminBrief:   {http.MethodPost: run(cfg.Brief)},
		"/":          {},
	}
	return newServer(Config{Logger: cfg.Logger}, func(*Server) map[string]map[string]handler { return routes })
}
