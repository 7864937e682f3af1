package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/daemon/web"
	"github.com/contextd/contextd/sdk/api"
)

// Operator is what the operator does on a data directory: through the daemon that runs on it, or directly while none does.
// Make one with OpenOperator.
type Operator struct {
	remote *http.Client  // to the running daemon, nil if none runs
	keys   *account.Keys // else
	close  func() error
}

// operatorWait is how long OpenOperator waits for a daemon that has the lock and does not answer yet.
const operatorWait = 5 * time.Second

// OpenOperator opens dir. It waits a moment for a daemon that is just starting or stopping. now is nil for time.Now.
func OpenOperator(ctx context.Context, dir string, now func() time.Time) (*Operator, error) {
	if now == nil {
		now = time.Now
	}
	ctx, cancel := context.WithTimeout(ctx, operatorWait)
	defer cancel()
	for {
		held, err := lock(dir)
		if err == nil {
			return openDirect(ctx, dir, held.Close, now)
		}
		if !errors.Is(err, ErrLocked) {
			return nil, err
		}
		conn, dialErr := dialAdmin(ctx, dir)
		if dialErr == nil {
			return &Operator{remote: &http.Client{Transport: &http.Transport{
				DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return dialAdmin(ctx, dir) },
			}}, close: func() error { return nil }}, conn.Close()
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%w, and whoever has it does not answer: %w", err, dialErr)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// openDirect opens the database of dir, whose lock is held.
func openDirect(ctx context.Context, dir string, unlock func() error, now func() time.Time) (*Operator, error) {
	s, err := store.Open(ctx, dir, now())
	if err != nil {
		return nil, errors.Join(err, unlock())
	}
	shut := func() error { return errors.Join(s.Close(), unlock()) }
	keys, err := account.OpenKeys(ctx, account.Config{Store: s, Now: now})
	if err != nil {
		return nil, errors.Join(err, shut())
	}
	return &Operator{keys: keys, close: shut}, nil
}

// Close frees what OpenOperator took.
func (o *Operator) Close() error { return o.close() }

// IssueKey makes a key that belongs to the operator.
func (o *Operator) IssueKey(ctx context.Context, ask web.AdminKeyRequest) (api.IssuedKey, error) {
	if o.remote == nil {
		return o.keys.Issue(ctx, account.NewKey{
			OwnerID: account.OperatorID, Name: ask.Name, Tier: ask.Tier, Consent: ask.TraceConsent,
		})
	}
	var issued api.IssuedKey
	err := o.call(ctx, http.MethodPost, web.AdminKeys, ask, &issued)
	return issued, err
}

// ListKeys returns every key, newest first.
func (o *Operator) ListKeys(ctx context.Context) ([]api.APIKeyRow, error) {
	if o.remote == nil {
		return account.Rows(o.keys.List()), nil
	}
	var list api.KeyListResponse
	err := o.call(ctx, http.MethodGet, web.AdminKeys, nil, &list)
	return list.Keys, err
}

// RevokeKey ends a key.
func (o *Operator) RevokeKey(ctx context.Context, id string) (api.RevokeResponse, error) {
	if o.remote == nil {
		return o.keys.Revoke(ctx, id)
	}
	var done api.RevokeResponse
	err := o.call(ctx, http.MethodDelete, strings.Replace(web.AdminKey, "{keyId}", url.PathEscape(id), 1), nil, &done)
	return done, err
}

// call asks the running daemon and decodes its answer, or the *api.Error it answers with.
func (o *Operator) call(ctx context.Context, method, path string, ask, answer any) error {
	body, err := json.Marshal(ask)
	if err != nil {
		return fmt.Errorf("encode request: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://admin"+path, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("ask daemon: %w", err)
	}
	res, err := o.remote.Do(req)
	if err != nil {
		return fmt.Errorf("ask daemon: %w", err)
	}
	defer res.Body.Close()
	if res.StatusCode >= http.StatusBadRequest {
		var failure api.ErrorBody
		if err := json.NewDecoder(res.Body).Decode(&failure); err != nil || failure.Error == nil {
			return fmt.Errorf("ask daemon: status %d", res.StatusCode)
		}
		failure.Error.Status = res.StatusCode
		return failure.Error
	}
	if err := json.NewDecoder(res.Body).Decode(answer); err != nil {
		return fmt.Errorf("read answer of daemon: %w", err)
	}
	return nil
}
