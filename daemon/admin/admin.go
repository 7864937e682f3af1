package admin

import (
	"context"
	"log/slog"
	"maps"
	"net/http"
	"strconv"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/web"
	"github.com/contextd/contextd/sdk/api"
)

// Paths of the admin socket, which only the operator's user can open.
const (
	AdminKeys    = "/keys"
	AdminKey     = "/keys/{keyId}"
	AdminCredits = "/keys/{keyId}/credits"
	AdminOwners  = "/owners"
	AdminOwner   = "/owners/{ownerId}"
	AdminTier    = "/owners/{ownerId}/tier"
	AdminAccess  = "/owners/{ownerId}/access"
	AdminLedger  = "/ledger"
	AdminAudit   = "/audit"
	AdminBrief   = "/packs/{pack}/brief"
	AdminReload  = "/reload"
	AdminAlive   = "/alive"
	AdminPreview = "/packs/{pack}/preview"
)

// AdminKeyRequest is the body of a POST to AdminKeys.
type AdminKeyRequest struct {
	api.CreateKeyRequest
	Tier api.Tier `json:"tier,omitempty"`
}

// AdminOwnersResponse answers a GET of AdminOwners.
type AdminOwnersResponse struct {
	Owners []account.Owner `json:"owners"` // oldest first
}

// AdminOwnerResponse answers a GET of AdminOwner.
type AdminOwnerResponse struct {
	account.Owner
	KeyList []api.APIKeyRow `json:"keyList"` // newest first
}

// AdminAccessRequest is the body of a PUT to AdminAccess.
type AdminAccessRequest struct {
	Disabled bool `json:"disabled"`
}

// AdminTierRequest is the body of a PUT to AdminTier.
type AdminTierRequest struct {
	Tier api.Tier `json:"tier"`
}

// AdminMoveRequest is the body of a POST to AdminCredits.
type AdminMoveRequest struct {
	Kind   billing.Kind `json:"kind"`
	Amount int64        `json:"amount"`
	Reason string       `json:"reason"`
}

// AdminMoveResponse answers it with the owner's credits afterwards.
type AdminMoveResponse struct {
	OwnerID string `json:"ownerId"`
	Balance int64  `json:"balance"`
}

// AdminLedgerResponse answers a GET of AdminLedger, which takes owner and limit.
type AdminLedgerResponse struct {
	Entries []billing.Entry `json:"entries"` // newest first
}

// AdminAuditResponse answers a GET of AdminAudit. The books agree if there is no finding.
type AdminAuditResponse struct {
	Findings []billing.Finding `json:"findings"`
}

// AdminReloadResponse answers a POST to AdminReload with the names of the settings that are others now.
type AdminReloadResponse struct {
	Changed []string `json:"changed"` // in effect
	Restart []string `json:"restart"` // in effect after a restart
}

// AdminPreviewRequest is the body of a POST to AdminPreview.
type AdminPreviewRequest struct {
	Writer string `json:"writer"` // by name; "" means as the schedule would
}

// AdminConfig is what the admin handler needs.
type AdminConfig struct {
	Keys   *account.Keys
	Books  *billing.Books
	Till   *billing.Till
	Reload func(ctx context.Context) (AdminReloadResponse, error) // reads the settings again; nil where there are none
	Alive  func(ctx context.Context) error                        // why the daemon cannot work, nil if it can; nil while none runs
	More   web.Routes                                             // beside those of the package
	Jobs   *Jobs                                                  // nil while no daemon runs
	Logger *slog.Logger                                           // nil means slog.Default
}

// maxLedger bounds the rows of one answer, defaultLedger is how many come unless asked otherwise.
const (
	maxLedger     = 10_000
	defaultLedger = 50
)

// owners lists every owner.
func (cfg AdminConfig) owners(w http.ResponseWriter, r *http.Request) error {
	list, err := cfg.Keys.Owners(r.Context())
	if err != nil {
		return err
	}
	return web.WriteJSON(w, http.StatusOK, AdminOwnersResponse{Owners: append([]account.Owner{}, list...)})
}

// owner shows one owner with his keys.
func (cfg AdminConfig) owner(w http.ResponseWriter, r *http.Request) error {
	owner, err := cfg.Keys.Owner(r.Context(), r.PathValue("ownerId"))
	if err != nil {
		return err
	}
	return web.WriteJSON(w, http.StatusOK, AdminOwnerResponse{Owner: owner, KeyList: account.Rows(cfg.Keys.List(owner.ID))})
}

// setAccess disables an owner or enables him again.
func (cfg AdminConfig) setAccess(w http.ResponseWriter, r *http.Request) error {
	var ask AdminAccessRequest
	if err := web.ReadJSON(w, r, &ask, `{"disabled":true}`); err != nil {
		return err
	}
	set := cfg.Keys.Enable
	if ask.Disabled {
		set = cfg.Keys.Disable
	}
	if err := set(r.Context(), r.PathValue("ownerId")); err != nil {
		return err
	}
	return web.WriteJSON(w, http.StatusOK, ask)
}

// setTier sets the tier of an owner and of his keys.
func (cfg AdminConfig) setTier(w http.ResponseWriter, r *http.Request) error {
	var ask AdminTierRequest
	if err := web.ReadJSON(w, r, &ask, `{"tier":"enterprise"}`); err != nil {
		return err
	}
	if err := cfg.Keys.SetTier(r.Context(), r.PathValue("ownerId"), ask.Tier); err != nil {
		return err
	}
	return web.WriteJSON(w, http.StatusOK, ask)
}

// move grants or adjusts credits.
func (cfg AdminConfig) move(w http.ResponseWriter, r *http.Request) error {
	var ask AdminMoveRequest
	if err := web.ReadJSON(w, r, &ask, `{"kind":"grant","amount":1000,"reason":"welcome"}`); err != nil {
		return err
	}
	if ask.Kind != billing.KindGrant && ask.Kind != billing.KindAdjust {
		return api.Errorf(api.ReasonInvalidRequest, "kind is %q, not grant or adjust", ask.Kind).WithHint("grant adds, adjust corrects")
	}
	key, err := cfg.Keys.Lookup(r.PathValue("keyId"))
	if err != nil {
		return err
	}
	pool, err := cfg.Books.Move(r.Context(), key.OwnerID, billing.Entry{
		KeyID: key.ID, Amount: ask.Amount, Kind: ask.Kind, Reason: ask.Reason,
	})
	if err != nil {
		return err
	}
	return web.WriteJSON(w, http.StatusOK, AdminMoveResponse{OwnerID: key.OwnerID, Balance: pool})
}

// ledger lists what moved credits.
func (cfg AdminConfig) ledger(w http.ResponseWriter, r *http.Request) error {
	limit := defaultLedger
	if text := r.FormValue("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > maxLedger {
			return api.Errorf(api.ReasonInvalidRequest, "limit is %q, not a number from 1 to %d", text, maxLedger).
				WithHint("leave it out for %d rows", defaultLedger)
		}
		limit = n
	}
	entries, err := cfg.Books.Entries(r.Context(), r.FormValue("owner"), limit)
	if err != nil {
		return err
	}
	return web.WriteJSON(w, http.StatusOK, AdminLedgerResponse{Entries: append([]billing.Entry{}, entries...)})
}

// audit checks the books.
func (cfg AdminConfig) audit(w http.ResponseWriter, r *http.Request) error {
	findings, err := cfg.Books.Audit(r.Context())
	if err != nil {
		return err
	}
	return web.WriteJSON(w, http.StatusOK, AdminAuditResponse{Findings: append([]billing.Finding{}, findings...)})
}

// listKeys lists every key.
func (cfg AdminConfig) listKeys(w http.ResponseWriter, _ *http.Request) error {
	return web.WriteJSON(w, http.StatusOK, api.KeyListResponse{Keys: account.Rows(cfg.Keys.List(""))})
}

// issueKey makes a key of the operator's.
func (cfg AdminConfig) issueKey(w http.ResponseWriter, r *http.Request) error {
	var ask AdminKeyRequest
	if err := web.ReadJSON(w, r, &ask, `{"name":"my agent"}`); err != nil {
		return err
	}
	issued, err := cfg.Keys.Issue(r.Context(), account.NewKey{
		OwnerID: account.OperatorID, Name: ask.Name, Tier: ask.Tier, Consent: ask.TraceConsent,
	})
	if err != nil {
		return err
	}
	return web.WriteJSON(w, http.StatusCreated, issued)
}

// revokeKey ends a key.
func (cfg AdminConfig) revokeKey(w http.ResponseWriter, r *http.Request) error {
	done, err := cfg.Keys.Revoke(r.Context(), r.PathValue("keyId"))
	if err != nil {
		return err
	}
	return web.WriteJSON(w, http.StatusOK, done)
}

// reload reads the settings again.
func (cfg AdminConfig) reload(w http.ResponseWriter, r *http.Request) error {
	if cfg.Reload == nil {
		return api.Errorf(api.ReasonInvalidRequest, "no daemon runs here that has settings to read again").WithHint("contextd serve reads them when it starts")
	}
	changed, err := cfg.Reload(r.Context())
	if err != nil { // the operator's own, so he may read all of it
		return api.Errorf(api.ReasonInvalidRequest, "the settings stay as they were: %v", err).WithHint("mend that, try it with contextd check-config, and reload again")
	}
	return web.WriteJSON(w, http.StatusOK, changed)
}

// alive says whether the daemon can work.
func (cfg AdminConfig) alive(w http.ResponseWriter, r *http.Request) error {
	if err := cfg.Alive(r.Context()); err != nil {
		return err
	}
	return web.WriteJSON(w, http.StatusOK, map[string]bool{"ok": true})
}

// NewAdmin makes the handler of the admin socket. It asks for no credentials: the mode of the socket is the admission.
func NewAdmin(cfg AdminConfig) *web.Server {
	routes := web.Routes{
		AdminKeys:    {http.MethodGet: cfg.listKeys, http.MethodPost: cfg.issueKey},
		AdminKey:     {http.MethodDelete: cfg.revokeKey},
		AdminCredits: {http.MethodPost: cfg.move},
		AdminOwners:  {http.MethodGet: cfg.owners},
		AdminOwner:   {http.MethodGet: cfg.owner},
		AdminTier:    {http.MethodPut: cfg.setTier},
		AdminAccess:  {http.MethodPut: cfg.setAccess},
		AdminLedger:  {http.MethodGet: cfg.ledger},
		AdminAudit:   {http.MethodGet: cfg.audit},

		AdminDeposits:  {http.MethodGet: cfg.deposits, http.MethodPost: cfg.rescan},
		AdminStrays:    {http.MethodGet: cfg.strays},
		AdminAssign:    {http.MethodPost: cfg.assign},
		AdminWriteOff:  {http.MethodPost: cfg.writeOff},
		AdminReconcile: {http.MethodGet: cfg.reconcile},
		AdminReload:    {http.MethodPost: cfg.reload},
		"/":            {},
	}
	if cfg.Alive != nil {
		routes[AdminAlive] = map[string]web.Handler{http.MethodGet: cfg.alive}
	}
	maps.Copy(routes, cfg.More)
	cfg.Jobs.routes(routes)
	return web.NewAt(web.Config{Logger: cfg.Logger}, func(*web.Server) web.Routes { return routes })
}
