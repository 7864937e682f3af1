package admin

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/backup"
	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/brief"
	"github.com/contextd/contextd/daemon/datadir"
	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/sdk/api"
)

// Operator asks the daemon that runs on a data directory, or answers itself while none does. Make one with Open or OpenDatabases.
type Operator struct {
	Direct bool // no daemon runs; the directory is locked until Close

	client *http.Client
	close  func() error
}

// patience is how long Open waits for a daemon that has the lock and does not answer yet.
const patience = 5 * time.Second

// Config says what an Operator works on.
type Config struct {
	DataDir  string
	StoreURL string           // of a PostgreSQL database; "" means SQLite in DataDir
	Env      api.KeyEnv       // of keys that are made
	MaxKeys  int              // active keys per owner; 0 means api.MaxActiveKeys
	Metered  bool             // new keys of the operator are charged
	Now      func() time.Time // nil means time.Now

	// OpenEditor makes what is asked about briefs while no daemon runs that has one, and the function that frees it; nil makes none. It is
	// a function because the writers it needs are wired by package daemon, which imports this one.
	OpenEditor func(ctx context.Context, s *store.Store) (*brief.Editor, func() error, error)
}

// Open opens a data directory. It waits a moment for a daemon that is just starting or stopping. Where no daemon runs, it brings the
// databases to the newest schema, after a backup.
func Open(ctx context.Context, cfg Config) (*Operator, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return reach(ctx, cfg.DataDir, func(unlock func() error) (*Operator, error) { return openDirect(ctx, cfg, unlock) })
}

// OpenDatabases opens a data directory for what concerns its databases as a whole. Unlike Open it leaves them at the schema that they have.
func OpenDatabases(ctx context.Context, dir, storeURL string, now func() time.Time) (*Operator, error) {
	return reach(ctx, dir, func(unlock func() error) (*Operator, error) {
		silent := slog.New(slog.DiscardHandler) // what goes wrong is told
		return direct(Server{DataDir: dir, StoreURL: storeURL, Now: now, Logger: silent}, unlock), nil
	})
}

// reach returns an Operator that asks the daemon on dir, or what open makes of the lock while none runs.
func reach(ctx context.Context, dir string, open func(unlock func() error) (*Operator, error)) (*Operator, error) {
	wait, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		held, err := datadir.Lock(dir)
		if err == nil {
			return open(held.Close)
		}
		if !errors.Is(err, datadir.ErrLocked) {
			return nil, err
		}
		conn, dialErr := datadir.Dial(wait, dir)
		if dialErr == nil {
			return through(dir), conn.Close()
		}
		select {
		case <-wait.Done():
			return nil, fmt.Errorf("%w, and its holder does not answer: %w", err, dialErr)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func through(dir string) *Operator {
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return datadir.Dial(ctx, dir) }}
	free := func() error { transport.CloseIdleConnections(); return nil }
	return &Operator{client: &http.Client{Transport: transport}, close: free}
}

// Alive asks the daemon on dir whether it can work, over its admin socket: nil if it answers that it can.
func Alive(ctx context.Context, dir string) error {
	o := through(dir)
	_, err := ask[struct{}](ctx, o, http.MethodGet, PathAlive, nil)
	return errors.Join(err, o.Close())
}

// Listening asks the daemon on dir, over its admin socket, where it serves: http://host:port, https://host:port or unix:/path.
func Listening(ctx context.Context, dir string) (string, error) {
	o := through(dir)
	at, err := ask[ListenResponse](ctx, o, http.MethodGet, PathListen, nil)
	return at.URL, errors.Join(err, o.Close())
}

func direct(s Server, free func() error) *Operator {
	return &Operator{client: &http.Client{Transport: inProcess{s.Handler()}}, close: free, Direct: true}
}

// openDirect opens the database of cfg's directory, whose lock is held.
func openDirect(ctx context.Context, cfg Config, unlock func() error) (*Operator, error) {
	place := cmp.Or(cfg.StoreURL, cfg.DataDir)
	if _, err := backup.BeforeUpgrade(ctx, place, cfg.Now()); err != nil {
		return nil, errors.Join(err, unlock())
	}
	s, err := store.Open(ctx, place, cfg.Now())
	if err != nil {
		return nil, errors.Join(err, unlock())
	}
	free := func() error { return errors.Join(s.Close(), unlock()) }
	if err := s.Free(ctx); err != nil { // what is done by a daemon holds at once
		return nil, errors.Join(err, free())
	}
	keys, err := account.OpenKeys(ctx, account.Config{Store: s, Env: cfg.Env, MaxKeys: cfg.MaxKeys, Metered: cfg.Metered, Now: cfg.Now})
	if err != nil {
		return nil, errors.Join(err, free())
	}
	server := Server{
		DataDir: cfg.DataDir, StoreURL: cfg.StoreURL, Store: s, Keys: keys, Invites: account.Invites{Store: s, Now: cfg.Now},
		Credits:  &billing.Credits{Ledger: s, Now: cfg.Now},
		Deposits: billing.NewDeposits(billing.DepositsConfig{Store: s, Now: cfg.Now}), Now: cfg.Now,
	}
	if cfg.OpenEditor == nil {
		return direct(server, free), nil
	}
	editor, freeEditor, err := cfg.OpenEditor(ctx, s)
	if err != nil {
		return nil, errors.Join(err, free())
	}
	server.Briefs = editor
	return direct(server, func() error { return errors.Join(freeEditor(), free()) }), nil
}

// Close frees what Open took.
func (o *Operator) Close() error { return o.close() }

// IssueKey makes a key that belongs to the operator.
func (o *Operator) IssueKey(ctx context.Context, want KeyRequest) (api.IssuedKey, error) {
	return ask[api.IssuedKey](ctx, o, http.MethodPost, PathKeys, want)
}

// ListKeys returns every key, newest first.
func (o *Operator) ListKeys(ctx context.Context) ([]api.APIKeyRow, error) {
	list, err := ask[api.KeyListResponse](ctx, o, http.MethodGet, PathKeys, nil)
	return list.Keys, err
}

// SetKeyTier sets the tier of a key of the operator.
func (o *Operator) SetKeyTier(ctx context.Context, id string, tier api.Tier) (api.APIKeyRow, error) {
	return ask[api.APIKeyRow](ctx, o, http.MethodPut, at(PathKeyTier, id), TierRequest{Tier: tier})
}

// RotateKey makes a key in place of another.
func (o *Operator) RotateKey(ctx context.Context, id string, want api.RotateKeyRequest) (api.IssuedKey, error) {
	return ask[api.IssuedKey](ctx, o, http.MethodPost, at(PathRotate, id), want)
}

// RevokeKey ends a key.
func (o *Operator) RevokeKey(ctx context.Context, id string) (api.RevokeResponse, error) {
	return ask[api.RevokeResponse](ctx, o, http.MethodDelete, at(PathKey, id), nil)
}

// Owners returns every owner, oldest first.
func (o *Operator) Owners(ctx context.Context) ([]account.Owner, error) {
	list, err := ask[OwnersResponse](ctx, o, http.MethodGet, PathOwners, nil)
	return list.Owners, err
}

// Owner returns an owner with their keys.
func (o *Operator) Owner(ctx context.Context, id string) (OwnerResponse, error) {
	return ask[OwnerResponse](ctx, o, http.MethodGet, at(PathOwner, id), nil)
}

// SetDisabled disables an owner or enables them again.
func (o *Operator) SetDisabled(ctx context.Context, id string, disabled bool) error {
	_, err := ask[AccessRequest](ctx, o, http.MethodPut, at(PathAccess, id), AccessRequest{Disabled: disabled})
	return err
}

// SetTier sets the tier of an owner and of all their keys.
func (o *Operator) SetTier(ctx context.Context, ownerID string, tier api.Tier) error {
	_, err := ask[TierRequest](ctx, o, http.MethodPut, at(PathTier, ownerID), TierRequest{Tier: tier})
	return err
}

// MoveCredits grants credits to a key, or adjusts them.
func (o *Operator) MoveCredits(ctx context.Context, id string, want MoveRequest) (MoveResponse, error) {
	return ask[MoveResponse](ctx, o, http.MethodPost, at(PathCredits, id), want)
}

// Ledger returns what moved the credits of an owner, or of all owners for "", newest first, at most limit rows.
func (o *Operator) Ledger(ctx context.Context, ownerID string, limit int) ([]billing.Entry, error) {
	query := url.Values{"owner": {ownerID}, "limit": {strconv.Itoa(limit)}}
	list, err := ask[LedgerResponse](ctx, o, http.MethodGet, PathLedger+"?"+query.Encode(), nil)
	return list.Entries, err
}

// Audit checks the books and returns what does not agree.
func (o *Operator) Audit(ctx context.Context) ([]billing.Finding, error) {
	list, err := ask[AuditResponse](ctx, o, http.MethodGet, PathAudit, nil)
	return list.Findings, err
}

// Deposits returns the newest deposits of all owners.
func (o *Operator) Deposits(ctx context.Context) ([]api.Deposit, error) {
	list, err := ask[DepositsResponse](ctx, o, http.MethodGet, PathDeposits, nil)
	return list.Deposits, err
}

// Rescan looks at the chain of a rail, "" for the first, again from the given block on, and returns the deposits that were verified by
// that.
func (o *Operator) Rescan(ctx context.Context, rail string, from uint64) ([]api.Deposit, error) {
	list, err := ask[DepositsResponse](ctx, o, http.MethodPost, PathDeposits, RescanRequest{Rail: rail, From: from})
	return list.Deposits, err
}

// Unmatched returns the transfers that have paid for nothing, newest first.
func (o *Operator) Unmatched(ctx context.Context) ([]billing.Unmatched, error) {
	list, err := ask[UnmatchedResponse](ctx, o, http.MethodGet, PathUnmatched, nil)
	return list.Unmatched, err
}

// Assign lets a transfer pay for a deposit.
func (o *Operator) Assign(ctx context.Context, want UnmatchedRequest) (api.Deposit, error) {
	return ask[api.Deposit](ctx, o, http.MethodPost, PathAssign, want)
}

// WriteOff notes that a transfer will pay for nothing.
func (o *Operator) WriteOff(ctx context.Context, want UnmatchedRequest) error {
	_, err := ask[UnmatchedRequest](ctx, o, http.MethodPost, PathWriteOff, want)
	return err
}

// Reconcile compares the books with the chain. It needs a daemon that runs.
func (o *Operator) Reconcile(ctx context.Context) (billing.Reconciliation, error) {
	return ask[billing.Reconciliation](ctx, o, http.MethodGet, PathReconcile, nil)
}

// Reload has the daemon read its settings again. It needs a daemon that runs.
func (o *Operator) Reload(ctx context.Context) (ReloadResponse, error) {
	return ask[ReloadResponse](ctx, o, http.MethodPost, PathReload, nil)
}

// PreviewBrief writes a brief of pack without publishing it, by the writer with the given name or, for "", as the schedule would.
func (o *Operator) PreviewBrief(ctx context.Context, pack, writer string) (brief.Preview, error) {
	return ask[brief.Preview](ctx, o, http.MethodPost, at(PathPreview, pack), PreviewRequest{Writer: writer})
}

// CheckBriefs reports on the briefs of pack and checks the newest again.
func (o *Operator) CheckBriefs(ctx context.Context, pack string) (brief.Report, error) {
	return ask[brief.Report](ctx, o, http.MethodGet, at(PathBrief, pack), nil)
}

// Jobs returns how the jobs of the daemon stand. It needs a daemon that runs, as RunJob.
func (o *Operator) Jobs(ctx context.Context) ([]Job, error) {
	if o.Direct {
		return nil, errNotRunning
	}
	list, err := ask[JobsResponse](ctx, o, http.MethodGet, PathJobs, nil)
	return list.Jobs, err
}

// RunJob runs a job now and returns how all stand then.
func (o *Operator) RunJob(ctx context.Context, name string) ([]Job, error) {
	if o.Direct {
		return nil, errNotRunning
	}
	list, err := ask[JobsResponse](ctx, o, http.MethodPost, at(PathRunJob, name), nil)
	return list.Jobs, err
}

// Databases returns how the databases stand; with tables, also how many rows their tables have.
func (o *Operator) Databases(ctx context.Context, tables bool) ([]backup.Database, error) {
	path := PathDatabases
	if tables {
		path += "?tables=1"
	}
	return ask[[]backup.Database](ctx, o, http.MethodGet, path, nil)
}

// VerifyDatabases checks the databases and returns what is wrong with them.
func (o *Operator) VerifyDatabases(ctx context.Context) (backup.Report, error) {
	return ask[backup.Report](ctx, o, http.MethodPost, PathVerify, nil)
}

// Logs returns how the transparency logs stand, the oldest first.
func (o *Operator) Logs(ctx context.Context) ([]backup.LogStatus, error) {
	return ask[[]backup.LogStatus](ctx, o, http.MethodGet, PathLogs, nil)
}

// Logs asks the daemon on dir how the transparency logs stand, and who signs them.
func Logs(ctx context.Context, dir string) ([]backup.LogStatus, error) {
	o := through(dir)
	defer func() { _ = o.Close() }() // nothing is left open
	return o.Logs(ctx)
}

// VerifyLogs makes the trees of the transparency logs again, and returns what is wrong with them.
func (o *Operator) VerifyLogs(ctx context.Context) (LogVerifyResponse, error) {
	return ask[LogVerifyResponse](ctx, o, http.MethodPost, PathLogVerify, nil)
}

// Backup writes a backup to w, as it comes: whether it is whole, backup.Check tells.
func (o *Operator) Backup(ctx context.Context, w io.Writer) (err error) {
	body, err := o.open(ctx, http.MethodPost, PathBackup, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, body.Close()) }()
	if _, err := io.Copy(w, body); err != nil {
		return fmt.Errorf("read backup: %w", err)
	}
	return nil
}

var errNotRunning = errors.New("no daemon runs on this data directory\n  try: contextd serve")

func at(path, id string) string {
	before, after, _ := strings.Cut(path, "{")
	_, after, _ = strings.Cut(after, "}")
	return before + url.PathEscape(id) + after
}

// ask asks the handler and decodes its answer, or the *api.Error it answers with.
func ask[T any](ctx context.Context, o *Operator, method, path string, want any) (answer T, err error) {
	body, err := o.open(ctx, method, path, want)
	if err != nil {
		return answer, err
	}
	defer body.Close()
	if err := json.NewDecoder(body).Decode(&answer); err != nil {
		return answer, fmt.Errorf("read answer of daemon: %w", err)
	}
	return answer, nil
}

// open asks the handler and returns the body of its answer, or the *api.Error it answers with.
func (o *Operator) open(ctx context.Context, method, path string, want any) (io.ReadCloser, error) {
	body, err := json.Marshal(want)
	if err != nil {
		return nil, fmt.Errorf("encode request: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://admin"+path, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("ask daemon: %w", err)
	}
	res, err := o.client.Do(req)
	var dial *net.OpError
	if unreached := errors.As(err, &dial) && dial.Op == "dial"; err != nil && !unreached && !o.Direct && ctx.Err() == nil {
		return nil, fmt.Errorf("the daemon ended while it was asked, so whether it did that is not known: %w", err)
	}
	if err != nil {
		return nil, fmt.Errorf("ask daemon: %w", err)
	}
	if res.StatusCode < http.StatusBadRequest {
		return res.Body, nil
	}
	defer res.Body.Close()
	var failure api.ErrorBody
	if err := json.NewDecoder(res.Body).Decode(&failure); err != nil || failure.Error == nil {
		return nil, fmt.Errorf("ask daemon: status %d", res.StatusCode)
	}
	failure.Error.Status = res.StatusCode
	return nil, failure.Error
}
