package admin

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/backup"
	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/brief"
	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/daemon/web"
	"github.com/contextd/contextd/daemon/x402"
	"github.com/contextd/contextd/sdk/api"
)

// Daemon is what only a daemon that runs can do; *daemon.Daemon is one.
type Daemon interface {
	// Alive says why the daemon cannot work, nil if it can.
	Alive(ctx context.Context) error
	// URL is where it serves: http://host:port, https://host:port or unix:/path.
	URL() string
	// Reload reads the settings again, or fails with ErrNoSettings.
	Reload(ctx context.Context) (ReloadResponse, error)
	// Jobs says how the jobs stand.
	Jobs() []Job
	// Cluster says how the nodes stand, of which it is self.
	Cluster(ctx context.Context) (c store.Cluster, self string, err error)
	// RunJob runs a job and waits for its end.
	RunJob(ctx context.Context, name string) error
	// Settling says how the rails stand on which payments are settled.
	Settling(ctx context.Context) ([]x402.Standing, error)
	// Status says how the daemon stands, for an operator.
	Status(ctx context.Context) (Status, error)
	// Connections says how the connections of the public address stand.
	Connections() web.ConnectionStats
	// RetrySettlement goes on with a settlement that is pending, and returns it as it is then.
	RetrySettlement(ctx context.Context, k x402.Key) (x402.Settlement, error)
}

// Server is what the handlers work on.
type Server struct {
	DataDir  string
	StoreURL string // of a PostgreSQL database; "" means SQLite in DataDir
	Store    *store.Store
	Keys     *account.Keys
	Invites  account.Invites
	SignIn   *account.SignIn // nil means that owners are not told when what they sign in by is removed
	Credits  *billing.Credits
	Deposits *billing.Deposits
	Signing  func(pack string) []backup.Cosigner // how the witnesses of a log stand; nil where there are none
	Briefs   *brief.Editor                       // nil means that nobody asks about briefs
	Daemon   Daemon                              // nil while none runs
	Now      func() time.Time                    // nil means time.Now
	Logger   *slog.Logger                        // nil means slog.Default
}

// Handler makes the handler of the socket. It asks for no credentials: the mode of the socket is the admission.
func (s Server) Handler() *web.Server {
	if s.Now == nil {
		s.Now = time.Now
	}
	if s.Logger == nil {
		s.Logger = slog.Default()
	}
	routes := web.Routes{
		PathKeys:    {http.MethodGet: s.listKeys, http.MethodPost: s.issueKey},
		PathKey:     {http.MethodDelete: s.revokeKey},
		PathKeyTier: {http.MethodPut: s.setKeyTier},
		PathRotate:  {http.MethodPost: s.rotateKey},
		PathCredits: {http.MethodPost: s.move},
		PathOwners:  {http.MethodGet: s.owners},
		PathOwner:   {http.MethodGet: s.owner},
		PathTier:    {http.MethodPut: s.setTier},
		PathAccess:  {http.MethodPut: s.setAccess},
		PathUnlink:  {http.MethodDelete: s.unlink},
		PathInvites: {http.MethodGet: s.invites, http.MethodPost: s.invite},
		PathInvite:  {http.MethodDelete: s.revokeInvite},
		PathLedger:  {http.MethodGet: s.ledger},
		PathAudit:   {http.MethodGet: s.audit},

		PathDeposits:  {http.MethodGet: s.deposits, http.MethodPost: s.rescan},
		PathUnmatched: {http.MethodGet: s.unmatched},
		PathAssign:    {http.MethodPost: s.assign},
		PathWriteOff:  {http.MethodPost: s.writeOff},
		PathReconcile: {http.MethodGet: s.reconcile},

		PathSettlements: {http.MethodGet: s.settlements},

		PathDatabases: {http.MethodGet: s.databases},
		PathVerify:    {http.MethodPost: s.verify},
		PathBackup:    {http.MethodPost: s.backUp},
		PathLogs:      {http.MethodGet: s.logs},
		PathLogVerify: {http.MethodPost: s.verifyLogs},

		PathReload: {http.MethodPost: s.reload},
		"/":        {},
	}
	settlement := map[string]web.Handler{http.MethodGet: s.settlement}
	routes[PathSettlement] = settlement
	if s.Briefs != nil {
		routes[PathBrief] = map[string]web.Handler{http.MethodGet: s.checkBriefs}
		routes[PathPreview] = map[string]web.Handler{http.MethodPost: s.previewBrief}
	}
	if s.Daemon != nil {
		routes[PathAlive] = map[string]web.Handler{http.MethodGet: s.alive}
		routes[PathListen] = map[string]web.Handler{http.MethodGet: s.listening}
		routes[PathCluster] = map[string]web.Handler{http.MethodGet: s.cluster}
		routes[PathStatus] = map[string]web.Handler{http.MethodGet: s.status}
		routes[PathJobs] = map[string]web.Handler{http.MethodGet: s.jobs}
		routes[PathConnections] = map[string]web.Handler{http.MethodGet: s.connections}
		routes[PathSettling] = map[string]web.Handler{http.MethodGet: s.settling}
		settlement[http.MethodPost] = s.retrySettlement
		routes[PathRunJob] = map[string]web.Handler{http.MethodPost: s.runJob}
	}
	return web.NewAt(web.Config{Now: s.Now, Logger: s.Logger}, func(*web.Server) web.Routes { return routes })
}

// maxLedger bounds the rows of one answer, defaultLedger is how many come unless asked otherwise.
const (
	maxLedger     = 10_000
	defaultLedger = 50
)

// limitOf is how many rows a request asks for.
func limitOf(r *http.Request) (int, error) {
	text := r.FormValue("limit")
	if text == "" {
		return defaultLedger, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > maxLedger {
		return 0, api.Errorf(api.ReasonInvalidRequest, "limit is %q, not a number from 1 to %d", text, maxLedger).
			WithHint("leave it out for %d rows", defaultLedger)
	}
	return n, nil
}

func (s Server) owners(w http.ResponseWriter, r *http.Request) error {
	list, err := s.Keys.Owners(r.Context())
	if err != nil {
		return err
	}
	return web.WriteJSON(w, http.StatusOK, OwnersResponse{Owners: append([]account.Owner{}, list...)})
}

func (s Server) owner(w http.ResponseWriter, r *http.Request) error {
	owner, err := s.Keys.Owner(r.Context(), r.PathValue("ownerId"))
	if err != nil {
		return err
	}
	return web.WriteJSON(w, http.StatusOK, OwnerResponse{Owner: owner, KeyList: account.Rows(s.Keys.List(owner.ID))})
}

func (s Server) setAccess(w http.ResponseWriter, r *http.Request) error {
	var ask AccessRequest
	if err := web.ReadJSON(w, r, &ask, `{"disabled":true}`); err != nil {
		return err
	}
	set := s.Keys.Enable
	if ask.Disabled {
		set = s.Keys.Disable
	}
	if err := set(r.Context(), r.PathValue("ownerId")); err != nil {
		return err
	}
	return web.WriteJSON(w, http.StatusOK, ask)
}

func (s Server) setTier(w http.ResponseWriter, r *http.Request) error {
	var ask TierRequest
	if err := web.ReadJSON(w, r, &ask, `{"tier":"enterprise"}`); err != nil {
		return err
	}
	if err := s.Keys.SetTier(r.Context(), r.PathValue("ownerId"), ask.Tier); err != nil {
		return err
	}
	return web.WriteJSON(w, http.StatusOK, ask)
}

func (s Server) move(w http.ResponseWriter, r *http.Request) error {
	var ask MoveRequest
	if err := web.ReadJSON(w, r, &ask, `{"kind":"grant","amount":1000,"reason":"welcome"}`); err != nil {
		return err
	}
	if ask.Kind != billing.KindGrant && ask.Kind != billing.KindAdjust {
		return api.Errorf(api.ReasonInvalidRequest, "kind is %q, not grant or adjust", ask.Kind).WithHint("grant adds, adjust corrects")
	}
	key, err := s.Keys.Lookup(r.PathValue("keyId"))
	if err != nil {
		return err
	}
	pool, err := s.Credits.Move(r.Context(), key.OwnerID, billing.Entry{
		KeyID: key.ID, Amount: ask.Amount, Kind: ask.Kind, Reason: ask.Reason,
	})
	if err != nil {
		return err
	}
	return web.WriteJSON(w, http.StatusOK, MoveResponse{OwnerID: key.OwnerID, Balance: pool})
}

func (s Server) ledger(w http.ResponseWriter, r *http.Request) error {
	limit, err := limitOf(r)
	if err != nil {
		return err
	}
	entries, err := s.Credits.Entries(r.Context(), r.FormValue("owner"), limit)
	if err != nil {
		return err
	}
	return web.WriteJSON(w, http.StatusOK, LedgerResponse{Entries: append([]billing.Entry{}, entries...)})
}

func (s Server) audit(w http.ResponseWriter, r *http.Request) error {
	findings, err := s.Credits.Audit(r.Context())
	if err != nil {
		return err
	}
	_, torn, err := backup.VerifyLogs(r.Context(), cmp.Or(s.StoreURL, s.DataDir))
	if err != nil {
		return explained(err)
	}
	for _, p := range torn {
		findings = append(findings, billing.Finding{Subject: p.Database, Text: p.Text})
	}
	return web.WriteJSON(w, http.StatusOK, AuditResponse{Findings: append([]billing.Finding{}, findings...)})
}

func (s Server) listKeys(w http.ResponseWriter, _ *http.Request) error {
	return web.WriteJSON(w, http.StatusOK, api.KeyListResponse{Keys: account.Rows(s.Keys.List(""))})
}

func (s Server) issueKey(w http.ResponseWriter, r *http.Request) error {
	var ask KeyRequest
	if err := web.ReadJSON(w, r, &ask, `{"name":"my agent"}`); err != nil {
		return err
	}
	issued, err := s.Keys.Issue(r.Context(), account.NewKey{
		OwnerID: account.OperatorID, Name: ask.Name, Tier: ask.Tier, Consent: ask.TraceConsent, Daily: ask.DailyCredits,
	})
	if err != nil {
		return err
	}
	return web.WriteJSON(w, http.StatusCreated, issued)
}

func (s Server) setKeyTier(w http.ResponseWriter, r *http.Request) error {
	var ask TierRequest
	if err := web.ReadJSON(w, r, &ask, `{"tier":"enterprise"}`); err != nil {
		return err
	}
	if err := s.Keys.SetKeyTier(r.Context(), r.PathValue("keyId"), ask.Tier); err != nil {
		return err
	}
	key, err := s.Keys.Lookup(r.PathValue("keyId"))
	if err != nil {
		return err
	}
	return web.WriteJSON(w, http.StatusOK, key.Row())
}

func (s Server) rotateKey(w http.ResponseWriter, r *http.Request) error {
	return web.RotateKey(w, r, s.Keys, r.PathValue("keyId"))
}

func (s Server) revokeKey(w http.ResponseWriter, r *http.Request) error {
	done, err := s.Keys.Revoke(r.Context(), r.PathValue("keyId"))
	if err != nil {
		return err
	}
	return web.WriteJSON(w, http.StatusOK, done)
}

func (s Server) previewBrief(w http.ResponseWriter, r *http.Request) error {
	var ask PreviewRequest
	if err := web.ReadJSON(w, r, &ask, `{"writer":"built-in"}`); err != nil {
		return err
	}
	p, err := s.Briefs.Preview(r.Context(), r.PathValue("pack"), ask.Writer)
	if err != nil {
		return err
	}
	return web.WriteJSON(w, http.StatusOK, p)
}

func (s Server) checkBriefs(w http.ResponseWriter, r *http.Request) error {
	report, err := s.Briefs.Check(r.Context(), r.PathValue("pack"))
	if err != nil {
		return err
	}
	return web.WriteJSON(w, http.StatusOK, report)
}

func (s Server) reload(w http.ResponseWriter, r *http.Request) error {
	changed, err := ReloadResponse{}, ErrNoSettings
	if s.Daemon != nil {
		changed, err = s.Daemon.Reload(r.Context())
	}
	if errors.Is(err, ErrNoSettings) {
		return api.Errorf(api.ReasonInvalidRequest, "no daemon with settings to reload runs here").
			WithHint("contextd serve reads its settings at start")
	}
	if err != nil { // the operator's own, so all of it is theirs to read
		return api.Errorf(api.ReasonInvalidRequest, "the settings are unchanged: %v", err).
			WithHint("correct them, try contextd config check, then reload again")
	}
	return web.WriteJSON(w, http.StatusOK, changed)
}

func (s Server) alive(w http.ResponseWriter, r *http.Request) error {
	if err := s.Daemon.Alive(r.Context()); err != nil {
		return api.Errorf(api.ReasonStateUnavailable, "%v", err).WithHint("contextd help operate, under Data") // the operator may know
	}
	return web.WriteJSON(w, http.StatusOK, map[string]bool{"ok": true})
}

func (s Server) listening(w http.ResponseWriter, _ *http.Request) error {
	return web.WriteJSON(w, http.StatusOK, ListenResponse{URL: s.Daemon.URL()})
}

func (s Server) jobs(w http.ResponseWriter, _ *http.Request) error {
	return web.WriteJSON(w, http.StatusOK, JobsResponse{Jobs: s.Daemon.Jobs()})
}

func (s Server) runJob(w http.ResponseWriter, r *http.Request) error {
	if err := s.Daemon.RunJob(r.Context(), r.PathValue("name")); err != nil {
		return err
	}
	return s.jobs(w, r)
}
