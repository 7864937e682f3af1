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
	PathKeys    = "/keys"
	PathKey     = "/keys/{keyId}"
	PathCredits = "/keys/{keyId}/credits"
	PathOwners  = "/owners"
	PathOwner   = "/owners/{ownerId}"
	PathTier    = "/owners/{ownerId}/tier"
	PathAccess  = "/owners/{ownerId}/access"
	PathLedger  = "/ledger"
	PathAudit   = "/audit"
	PathBrief   = "/packs/{pack}/brief"
	PathReload  = "/reload"
	PathAlive   = "/alive"
	PathPreview = "/packs/{pack}/preview"
)

// KeyRequest is the body of a POST to PathKeys.
type KeyRequest struct {
	api.CreateKeyRequest
	Tier api.Tier `json:"tier,omitempty"`
}

// OwnersResponse answers a GET of PathOwners.
type OwnersResponse struct {
	Owners []account.Owner `json:"owners"` // oldest first
}

// OwnerResponse answers a GET of PathOwner.
type OwnerResponse struct {
	account.Owner
	KeyList []api.APIKeyRow `json:"keyList"` // newest first
}

// AccessRequest is the body of a PUT to PathAccess.
type AccessRequest struct {
	Disabled bool `json:"disabled"`
}

// TierRequest is the body of a PUT to PathTier.
type TierRequest struct {
	Tier api.Tier `json:"tier"`
}

// MoveRequest is the body of a POST to PathCredits.
type MoveRequest struct {
	Kind   billing.Kind `json:"kind"`
	Amount int64        `json:"amount"`
	Reason string       `json:"reason"`
}

// MoveResponse answers it with the owner's credits afterwards.
type MoveResponse struct {
	OwnerID string `json:"ownerId"`
	Balance int64  `json:"balance"`
}

// LedgerResponse answers a GET of PathLedger, which takes owner and limit.
type LedgerResponse struct {
	Entries []billing.Entry `json:"entries"` // newest first
}

// AuditResponse answers a GET of PathAudit. The books agree if there is no finding.
type AuditResponse struct {
	Findings []billing.Finding `json:"findings"`
}

// ReloadResponse answers a POST to PathReload with the names of the settings that are others now.
type ReloadResponse struct {
	Changed []string `json:"changed"` // in effect
	Restart []string `json:"restart"` // in effect after a restart
}

// PreviewRequest is the body of a POST to PathPreview.
type PreviewRequest struct {
	Writer string `json:"writer"` // by name; "" means as the schedule would
}

// Server is what the admin handler needs.
type Server struct {
	Keys     *account.Keys
	Credits  *billing.Credits
	Deposits *billing.Deposits
	Reload   func(ctx context.Context) (ReloadResponse, error) // reads the settings again; nil where there are none
	Alive    func(ctx context.Context) error                   // why the daemon cannot work, nil if it can; nil while none runs
	More     web.Routes                                        // beside those of the package
	Jobs     *Jobs                                             // nil while no daemon runs
	Logger   *slog.Logger                                      // nil means slog.Default
}

// maxLedger bounds the rows of one answer, defaultLedger is how many come unless asked otherwise.
const (
	maxLedger     = 10_000
	defaultLedger = 50
)

// owners lists every owner.
func (cfg Server) owners(w http.ResponseWriter, r *http.Request) error {
	list, err := cfg.Keys.Owners(r.Context())
	if err != nil {
		return err
	}
	return web.WriteJSON(w, http.StatusOK, OwnersResponse{Owners: append([]account.Owner{}, list...)})
}

// owner shows one owner with his keys.
func (cfg Server) owner(w http.ResponseWriter, r *http.Request) error {
	owner, err := cfg.Keys.Owner(r.Context(), r.PathValue("ownerId"))
	if err != nil {
		return err
	}
	return web.WriteJSON(w, http.StatusOK, OwnerResponse{Owner: owner, KeyList: account.Rows(cfg.Keys.List(owner.ID))})
}

// setAccess disables an owner or enables him again.
func (cfg Server) setAccess(w http.ResponseWriter, r *http.Request) error {
	var ask AccessRequest
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
func (cfg Server) setTier(w http.ResponseWriter, r *http.Request) error {
	var ask TierRequest
	if err := web.ReadJSON(w, r, &ask, `{"tier":"enterprise"}`); err != nil {
		return err
	}
	if err := cfg.Keys.SetTier(r.Context(), r.PathValue("ownerId"), ask.Tier); err != nil {
		return err
	}
	return web.WriteJSON(w, http.StatusOK, ask)
}

// move grants or adjusts credits.
func (cfg Server) move(w http.ResponseWriter, r *http.Request) error {
	var ask MoveRequest
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
	pool, err := cfg.Credits.Move(r.Context(), key.OwnerID, billing.Entry{
		KeyID: key.ID, Amount: ask.Amount, Kind: ask.Kind, Reason: ask.Reason,
	})
	if err != nil {
		return err
	}
	return web.WriteJSON(w, http.StatusOK, MoveResponse{OwnerID: key.OwnerID, Balance: pool})
}

// ledger lists what moved credits.
func (cfg Server) ledger(w http.ResponseWriter, r *http.Request) error {
	limit := defaultLedger
	if text := r.FormValue("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > maxLedger {
			return api.Errorf(api.ReasonInvalidRequest, "limit is %q, not a number from 1 to %d", text, maxLedger).
				WithHint("leave it out for %d rows", defaultLedger)
		}
		limit = n
	}
	entries, err := cfg.Credits.Entries(r.Context(), r.FormValue("owner"), limit)
	if err != nil {
		return err
	}
	return web.WriteJSON(w, http.StatusOK, LedgerResponse{Entries: append([]billing.Entry{}, entries...)})
}

// audit checks the books.
func (cfg Server) audit(w http.ResponseWriter, r *http.Request) error {
	findings, err := cfg.Credits.Audit(r.Context())
	if err != nil {
		return err
	}
	return web.WriteJSON(w, http.StatusOK, AuditResponse{Findings: append([]billing.Finding{}, findings...)})
}

// listKeys lists every key.
func (cfg Server) listKeys(w http.ResponseWriter, _ *http.Request) error {
	return web.WriteJSON(w, http.StatusOK, api.KeyListResponse{Keys: account.Rows(cfg.Keys.List(""))})
}

// issueKey makes a key of the operator's.
func (cfg Server) issueKey(w http.ResponseWriter, r *http.Request) error {
	var ask KeyRequest
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
func (cfg Server) revokeKey(w http.ResponseWriter, r *http.Request) error {
	done, err := cfg.Keys.Revoke(r.Context(), r.PathValue("keyId"))
	if err != nil {
		return err
	}
	return web.WriteJSON(w, http.StatusOK, done)
}

// reload reads the settings again.
func (cfg Server) reload(w http.ResponseWriter, r *http.Request) error {
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
func (cfg Server) alive(w http.ResponseWriter, r *http.Request) error {
	if err := cfg.Alive(r.Context()); err != nil {
		return err
	}
	return web.WriteJSON(w, http.StatusOK, map[string]bool{"ok": true})
}

// NewHandler makes the handler of the admin socket. It asks for no credentials: the mode of the socket is the admission.
func NewHandler(cfg Server) *web.Server {
	routes := web.Routes{
		PathKeys:    {http.MethodGet: cfg.listKeys, http.MethodPost: cfg.issueKey},
		PathKey:     {http.MethodDelete: cfg.revokeKey},
		PathCredits: {http.MethodPost: cfg.move},
		PathOwners:  {http.MethodGet: cfg.owners},
		PathOwner:   {http.MethodGet: cfg.owner},
		PathTier:    {http.MethodPut: cfg.setTier},
		PathAccess:  {http.MethodPut: cfg.setAccess},
		PathLedger:  {http.MethodGet: cfg.ledger},
		PathAudit:   {http.MethodGet: cfg.audit},

		PathDeposits:  {http.MethodGet: cfg.deposits, http.MethodPost: cfg.rescan},
		PathUnmatched: {http.MethodGet: cfg.unmatched},
		PathAssign:    {http.MethodPost: cfg.assign},
		PathWriteOff:  {http.MethodPost: cfg.writeOff},
		PathReconcile: {http.MethodGet: cfg.reconcile},
		PathReload:    {http.MethodPost: cfg.reload},
		"/":           {},
	}
	if cfg.Alive != nil {
		routes[PathAlive] = map[string]web.Handler{http.MethodGet: cfg.alive}
	}
	maps.Copy(routes, cfg.More)
	cfg.Jobs.routes(routes)
	return web.NewAt(web.Config{Logger: cfg.Logger}, func(*web.Server) web.Routes { return routes })
}
