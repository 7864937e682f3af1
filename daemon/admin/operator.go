// Package admin is what the operator does on a data directory, from another process: it asks the daemon that runs there over its
// admin socket, or does the same directly while none runs.
package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/brief"
	"github.com/contextd/contextd/daemon/datadir"
	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/daemon/web"
	"github.com/contextd/contextd/sdk/api"
)

// Operator is what the operator does on a data directory: through the daemon that runs on it, or directly while none does. Both
// ways end in the same handler. Make one with Open.
type Operator struct {
	Direct bool // no daemon runs; the directory is locked until Close

	client *http.Client
	close  func() error
}

// patience is how long Open waits for a daemon that has the lock and does not answer yet.
const patience = 5 * time.Second

// Config says what an Operator works on.
type Config struct {
	DataDir string
	Env     api.KeyEnv       // of keys that are made
	MaxKeys int              // active keys per owner; 0 means api.MaxActiveKeys
	Now     func() time.Time // nil means time.Now

	// BeforeUpgrade backs up what opening it upgrades, where no daemon runs; backup.BeforeUpgrade is meant, nil is for tests.
	BeforeUpgrade func(ctx context.Context, dir string, now time.Time) (string, error)

	// More makes routes beside those of package web, where no daemon runs that has them; nil makes none.
	More func(ctx context.Context, s *store.Store) (web.Routes, func() error, error)
}

// Open opens a data directory. It waits a moment for a daemon that
// is just starting or stopping.
func Open(ctx context.Context, cfg Config) (*Operator, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return reach(ctx, cfg.DataDir, func(unlock func() error) (*Operator, error) { return openDirect(ctx, cfg, unlock) })
}

// reach returns an Operator that asks the daemon on dir, or what direct makes of the lock while none runs.
func reach(ctx context.Context, dir string, direct func(unlock func() error) (*Operator, error)) (*Operator, error) {
	wait, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		held, err := datadir.Lock(dir)
		if err == nil {
			return direct(held.Close)
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
			return nil, fmt.Errorf("%w, and whoever has it does not answer: %w", err, dialErr)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// through is the Operator that asks the daemon on dir.
func through(dir string) *Operator {
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return datadir.Dial(ctx, dir) }}
	free := func() error { transport.CloseIdleConnections(); return nil }
	return &Operator{client: &http.Client{Transport: transport}, close: free}
}

// Alive asks the daemon on dir whether it can work, over its admin socket: nil if it answers that it can.
func Alive(ctx context.Context, dir string) error {
	o := through(dir)
	err := o.call(ctx, http.MethodGet, PathAlive, nil, &struct{}{})
	return errors.Join(err, o.Close())
}

// openDirect opens the database of cfg's directory, whose lock is held.
func openDirect(ctx context.Context, cfg Config, unlock func() error) (*Operator, error) {
	if cfg.BeforeUpgrade != nil {
		if _, err := cfg.BeforeUpgrade(ctx, cfg.DataDir, cfg.Now()); err != nil {
			return nil, errors.Join(err, unlock())
		}
	}
	s, err := store.Open(ctx, cfg.DataDir, cfg.Now())
	if err != nil {
		return nil, errors.Join(err, unlock())
	}
	shut := func() error { return errors.Join(s.Close(), unlock()) }
	var more web.Routes
	if cfg.More != nil {
		routes, free, err := cfg.More(ctx, s)
		if err != nil {
			return nil, errors.Join(err, shut())
		}
		more, shut = routes, func() error { return errors.Join(free(), s.Close(), unlock()) }
	}
	keys, err := account.OpenKeys(ctx, account.Config{Store: s, Env: cfg.Env, MaxKeys: cfg.MaxKeys, Now: cfg.Now})
	if err != nil {
		return nil, errors.Join(err, shut())
	}
	handler := NewHandler(Server{Keys: keys, Credits: &billing.Credits{Ledger: s, Now: cfg.Now}, Deposits: billing.NewDeposits(billing.DepositsConfig{Store: s, Now: cfg.Now}), More: more})
	return &Operator{client: &http.Client{Transport: inProcess{handler}}, close: shut, Direct: true}, nil
}

// Close frees what Open took.
func (o *Operator) Close() error { return o.close() }

// IssueKey makes a key that belongs to the operator.
func (o *Operator) IssueKey(ctx context.Context, ask KeyRequest) (issued api.IssuedKey, err error) {
	err = o.call(ctx, http.MethodPost, PathKeys, ask, &issued)
	return issued, err
}

// ListKeys returns every key, newest first.
func (o *Operator) ListKeys(ctx context.Context) ([]api.APIKeyRow, error) {
	var list api.KeyListResponse
	err := o.call(ctx, http.MethodGet, PathKeys, nil, &list)
	return list.Keys, err
}

// RevokeKey ends a key.
func (o *Operator) RevokeKey(ctx context.Context, id string) (done api.RevokeResponse, err error) {
	err = o.call(ctx, http.MethodDelete, ofKey(PathKey, id), nil, &done)
	return done, err
}

// Owners returns every owner, oldest first.
func (o *Operator) Owners(ctx context.Context) ([]account.Owner, error) {
	var list OwnersResponse
	err := o.call(ctx, http.MethodGet, PathOwners, nil, &list)
	return list.Owners, err
}

// Owner returns an owner with his keys.
func (o *Operator) Owner(ctx context.Context, id string) (owner OwnerResponse, err error) {
	err = o.call(ctx, http.MethodGet, ofOwner(PathOwner, id), nil, &owner)
	return owner, err
}

// SetDisabled disables an owner or enables him again.
func (o *Operator) SetDisabled(ctx context.Context, id string, disabled bool) error {
	return o.call(ctx, http.MethodPut, ofOwner(PathAccess, id), AccessRequest{Disabled: disabled}, &AccessRequest{})
}

// SetTier sets the tier of an owner and of all his keys.
func (o *Operator) SetTier(ctx context.Context, ownerID string, tier api.Tier) error {
	return o.call(ctx, http.MethodPut, ofOwner(PathTier, ownerID), TierRequest{Tier: tier}, &TierRequest{})
}

// MoveCredits grants credits to a key, or adjusts them.
func (o *Operator) MoveCredits(ctx context.Context, id string, ask MoveRequest) (done MoveResponse, err error) {
	err = o.call(ctx, http.MethodPost, ofKey(PathCredits, id), ask, &done)
	return done, err
}

// Ledger returns what moved the credits of an owner, or of all owners for "", newest first, at most limit rows.
func (o *Operator) Ledger(ctx context.Context, ownerID string, limit int) ([]billing.Entry, error) {
	var list LedgerResponse
	query := url.Values{"owner": {ownerID}, "limit": {strconv.Itoa(limit)}}
	err := o.call(ctx, http.MethodGet, PathLedger+"?"+query.Encode(), nil, &list)
	return list.Entries, err
}

// Audit checks the books and returns what does not agree.
func (o *Operator) Audit(ctx context.Context) ([]billing.Finding, error) {
	var list AuditResponse
	err := o.call(ctx, http.MethodGet, PathAudit, nil, &list)
	return list.Findings, err
}

// Deposits returns the newest deposits of all owners.
func (o *Operator) Deposits(ctx context.Context) ([]api.Deposit, error) {
	var list DepositsResponse
	err := o.call(ctx, http.MethodGet, PathDeposits, nil, &list)
	return list.Deposits, err
}

// Rescan looks at the chain again from the given block on, and returns the deposits that were verified by that.
func (o *Operator) Rescan(ctx context.Context, from uint64) ([]api.Deposit, error) {
	var list DepositsResponse
	err := o.call(ctx, http.MethodPost, PathDeposits, RescanRequest{From: from}, &list)
	return list.Deposits, err
}

// Unmatched returns the transfers that have paid for nothing, newest first.
func (o *Operator) Unmatched(ctx context.Context) ([]billing.Unmatched, error) {
	var list UnmatchedResponse
	err := o.call(ctx, http.MethodGet, PathUnmatched, nil, &list)
	return list.Unmatched, err
}

// Assign lets a transfer pay for a deposit.
func (o *Operator) Assign(ctx context.Context, ask UnmatchedRequest) (d api.Deposit, err error) {
	err = o.call(ctx, http.MethodPost, PathAssign, ask, &d)
	return d, err
}

// WriteOff notes that a transfer will pay for nothing.
func (o *Operator) WriteOff(ctx context.Context, ask UnmatchedRequest) error {
	return o.call(ctx, http.MethodPost, PathWriteOff, ask, &UnmatchedRequest{})
}

// Reconcile compares the books with the chain. It needs a daemon that runs.
func (o *Operator) Reconcile(ctx context.Context) (r billing.Reconciliation, err error) {
	err = o.call(ctx, http.MethodGet, PathReconcile, nil, &r)
	return r, err
}

// Reload has the daemon read its settings again. It needs a daemon that runs.
func (o *Operator) Reload(ctx context.Context) (changed ReloadResponse, err error) {
	err = o.call(ctx, http.MethodPost, PathReload, nil, &changed)
	return changed, err
}

// PreviewBrief writes a brief of pack without publishing it, by the writer with the given name or, for "", as the schedule would.
func (o *Operator) PreviewBrief(ctx context.Context, pack, writer string) (p brief.Preview, err error) {
	err = o.call(ctx, http.MethodPost, ofPack(PathPreview, pack), PreviewRequest{Writer: writer}, &p)
	return p, err
}

// CheckBriefs reports on the briefs of pack and checks the newest again.
func (o *Operator) CheckBriefs(ctx context.Context, pack string) (r brief.Report, err error) {
	err = o.call(ctx, http.MethodGet, ofPack(PathBrief, pack), nil, &r)
	return r, err
}

// ofPack is the path of a pack.
func ofPack(path, pack string) string {
	return strings.Replace(path, "{pack}", url.PathEscape(pack), 1)
}

// Jobs returns how the jobs of the daemon stand. It needs a daemon that runs, as RunJob.
func (o *Operator) Jobs(ctx context.Context) ([]Job, error) {
	var list JobsResponse
	err := o.call(ctx, http.MethodGet, PathJobs, nil, &list)
	return list.Jobs, notRunning(err)
}

// RunJob runs a job now and returns how all stand then.
func (o *Operator) RunJob(ctx context.Context, name string) ([]Job, error) {
	var list JobsResponse
	err := o.call(ctx, http.MethodPost, strings.Replace(PathRunJob, "{name}", url.PathEscape(name), 1), nil, &list)
	return list.Jobs, notRunning(err)
}

// notRunning is err, or what it means where no daemon runs that could do what was asked.
func notRunning(err error) error {
	var refused *api.Error
	if errors.As(err, &refused) && refused.Status == http.StatusNotFound && strings.HasPrefix(refused.Message, "there is nothing at") {
		return errors.New("no daemon runs on this data directory\n  try: contextd serve")
	}
	return err
}

// ofKey is the path of a key.
func ofKey(path, id string) string {
	return strings.Replace(path, "{keyId}", url.PathEscape(id), 1)
}

// ofOwner is the path of an owner.
func ofOwner(path, id string) string {
	return strings.Replace(path, "{ownerId}", url.PathEscape(id), 1)
}

// call asks the handler and decodes its answer, or the *api.Error it answers with.
func (o *Operator) call(ctx context.Context, method, path string, ask, answer any) error {
	body, err := o.open(ctx, method, path, ask)
	if err != nil {
		return err
	}
	defer body.Close()
	if err := json.NewDecoder(body).Decode(answer); err != nil {
		return fmt.Errorf("read answer of daemon: %w", err)
	}
	return nil
}

// open asks the handler and returns the body of its answer, or the *api.Error it answers with.
func (o *Operator) open(ctx context.Context, method, path string, ask any) (io.ReadCloser, error) {
	body, err := json.Marshal(ask)
	if err != nil {
		return nil, fmt.Errorf("encode request: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://admin"+path, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("ask daemon: %w", err)
	}
	res, err := o.client.Do(req)
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
