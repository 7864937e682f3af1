package daemon_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/contextd/contextd/daemon/admin"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

// operator opens dir as the operator does.
func openOperator(t *testing.T, dir string) *admin.Operator {
	t.Helper()
	o, err := admin.Open(t.Context(), admin.Config{DataDir: dir, Now: daemontest.NewClock().Now})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// ask is a request for a key.
func ask(name string, tier api.Tier) admin.KeyRequest {
	return admin.KeyRequest{CreateKeyRequest: api.CreateKeyRequest{Name: name}, Tier: tier}
}

func TestOperatorWhileTheDaemonRunsOrNot(t *testing.T) {
	t.Parallel()
	for name, dir := range map[string]string{
		"short": t.TempDir(),
		"long":  filepath.Join(t.TempDir(), strings.Repeat("a-long-name/", 10)), // longer than a socket's path may be
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := openOperator(t, dir) // nothing runs: this makes the directory
			early, err := o.IssueKey(t.Context(), ask("early", api.TierTeam))
			if err != nil {
				t.Fatal(err)
			}
			if err := o.Close(); err != nil {
				t.Fatal(err)
			}
			d := daemontest.Start(t, at(dir))
			o = openOperator(t, dir)
			late, err := o.IssueKey(t.Context(), ask("late", ""))
			if err != nil {
				t.Fatal(err)
			}
			for _, key := range []string{early.Key, late.Key} {
				if _, err := client(t, d, key).Fresh(t.Context(), ""); err != nil {
					t.Errorf("a call with a key: %v", err)
				}
			}
			revokeAndCall(t, o, d, late)
			rows, err := o.ListKeys(t.Context())
			if err != nil || len(rows) != 2 {
				t.Fatalf("%d keys, %v", len(rows), err)
			}
			if err := o.Close(); err != nil {
				t.Error(err)
			}
			d.Stop(t)
			o = openOperator(t, dir)
			defer o.Close()
			stored, err := o.ListKeys(t.Context())
			if err != nil || len(stored) != 2 {
				t.Fatalf("%d stored keys, %v", len(stored), err)
			}
			for _, r := range stored {
				if (r.RevokedAt != nil) != (r.KeyID == late.KeyID) || r.LastUsedAt == nil {
					t.Errorf("stored row %+v", r)
				}
				if r.KeyID == early.KeyID && (r.Tier != api.TierTeam || r.Name != "early") {
					t.Errorf("stored row %+v", r)
				}
			}
		})
	}
}

// revokeAndCall revokes a key, again with the same answer, and sees it refused by the very next call.
func revokeAndCall(t *testing.T, o *admin.Operator, d *daemontest.Daemon, key api.IssuedKey) {
	t.Helper()
	done, err := o.RevokeKey(t.Context(), key.KeyID)
	if err != nil || !done.OK {
		t.Fatalf("revoke: %+v, %v", done, err)
	}
	if _, err := client(t, d, key.Key).Fresh(t.Context(), ""); !errors.Is(err, sdk.ErrKeyRevoked) {
		t.Errorf("a call with the revoked key: %v", err)
	}
	d.Clock.Advance(1)
	again, err := o.RevokeKey(t.Context(), key.KeyID)
	if err != nil || !again.RevokedAt.Equal(done.RevokedAt) {
		t.Errorf("revoked again: %+v, %v", again, err)
	}
}

func TestOperatorRefusals(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := daemontest.Start(t, at(dir))
	for _, running := range []bool{true, false} {
		if !running {
			d.Stop(t)
		}
		o := openOperator(t, dir)
		for want, act := range map[api.Reason]func() error{
			api.ReasonKeyNotFound: func() error { _, err := o.RevokeKey(t.Context(), "cv_test_none/../x"); return err },
			api.ReasonInvalidRequest: func() error {
				_, err := o.IssueKey(t.Context(), ask("x", "gold"))
				return err
			},
		} {
			var refused *api.Error
			if err := act(); !errors.As(err, &refused) || refused.Reason != want || refused.Hint == "" {
				t.Errorf("running %v: %v, want reason %s with a hint", running, err, want)
			}
		}
		if err := o.Close(); err != nil {
			t.Error(err)
		}
	}
}
