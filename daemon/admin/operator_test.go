package admin_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/admin"
	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/datadir"
	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/daemon/web"
	"github.com/contextd/contextd/daemon/x402"
	"github.com/contextd/contextd/sdk/api"
)

func now() time.Time { return time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC) }

// node stands for a daemon that runs.
type node struct {
	jobs  []admin.Job
	fails error
}

func (n *node) Alive(context.Context) error { return n.fails }
func (n *node) URL() string                 { return "unix:/run/contextd.sock" }
func (n *node) Jobs() []admin.Job           { return n.jobs }
func (n *node) Reload(context.Context) (admin.ReloadResponse, error) {
	return admin.ReloadResponse{Changed: []string{"log.level"}}, n.fails
}
func (n *node) Cluster(context.Context) (store.Cluster, string, error) {
	return store.Cluster{Leader: "n1", Epoch: 3, Since: now(), BeatAt: now(), Now: now(), Nodes: []store.Node{
		{ID: "n1", SeenAt: now(), States: map[string]time.Time{"crypto": now()}},
		{ID: "n2", SeenAt: now(), States: map[string]time.Time{"crypto": now().Add(-2 * time.Second)}},
		{ID: "n3", SeenAt: now().Add(-store.NodeSeen - time.Second)},
	}}, "n2", n.fails
}
func (n *node) RunJob(_ context.Context, name string) error {
	i := slices.IndexFunc(n.jobs, func(j admin.Job) bool { return j.Name == name })
	if i < 0 {
		return api.Errorf(api.ReasonNotFound, "there is no job %q", name)
	}
	n.jobs[i].Runs++
	return nil
}
func (n *node) Connections() web.ConnectionStats                  { return web.ConnectionStats{} }
func (n *node) Status(context.Context) (admin.Status, error)      { return admin.Status{}, n.fails }
func (n *node) Settling(context.Context) ([]x402.Standing, error) { return nil, n.fails }
func (n *node) RetrySettlement(context.Context, x402.Key) (x402.Settlement, error) {
	return x402.Settlement{}, api.Errorf(api.ReasonNotFound, "there is none")
}

// direct is an Operator on a directory on which no daemon runs.
func direct(t *testing.T) *admin.Operator {
	t.Helper()
	o, err := admin.Open(t.Context(), admin.Config{DataDir: t.TempDir(), Now: now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = o.Close() })
	return o
}

// running is an Operator on a directory that is served.
func running(t *testing.T, n *node) *admin.Operator {
	t.Helper()
	dir := t.TempDir()
	serve(t, dir, n)
	o, err := admin.Open(t.Context(), admin.Config{DataDir: dir, Now: now})
	if err != nil || o.Direct {
		t.Fatalf("it asks nobody: %v", err)
	}
	t.Cleanup(func() { _ = o.Close() })
	return o
}

// serve has the handlers answer the socket of dir as a daemon has them do, beside n.
func serve(t *testing.T, dir string, n *node) {
	t.Helper()
	lock, err := datadir.Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(t.Context(), dir, now())
	if err != nil {
		t.Fatal(err)
	}
	keys, err := account.OpenKeys(t.Context(), account.Config{Store: s, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	l, err := datadir.Listen(dir)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: admin.Server{
		DataDir: dir, Store: s, Keys: keys, Invites: account.Invites{Store: s, Now: now}, Credits: &billing.Credits{Ledger: s, Now: now},
		Deposits: billing.NewDeposits(billing.DepositsConfig{Store: s, Now: now}), Daemon: n, Now: now,
	}.Handler()}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	t.Cleanup(func() {
		_ = server.Close()
		<-ended
		_ = s.Close()
		_ = lock.Close()
	})
}

// both has test run on a directory without a daemon and on one with one: a command says and does the same.
func both(t *testing.T, test func(t *testing.T, o *admin.Operator)) {
	t.Helper()
	t.Run("direct", func(t *testing.T) { t.Parallel(); test(t, direct(t)) })
	t.Run("running", func(t *testing.T) { t.Parallel(); test(t, running(t, &node{})) })
}

// wants fails the test where err does not refuse for the given reason; "" wants no error.
func wants(t *testing.T, err error, want api.Reason) {
	t.Helper()
	var refused *api.Error
	switch {
	case errors.As(err, &refused) && refused.Reason == want:
	case err == nil && want == "":
	default:
		t.Errorf("it ends with %v, want %q", err, want)
	}
}

// issue makes a key with credits.
func issue(t *testing.T, o *admin.Operator, credits int64) api.IssuedKey {
	t.Helper()
	key, err := o.IssueKey(t.Context(), admin.KeyRequest{CreateKeyRequest: api.CreateKeyRequest{Name: "agent"}})
	if err != nil {
		t.Fatal(err)
	}
	if credits > 0 {
		if _, err := o.MoveCredits(t.Context(), key.KeyID, admin.MoveRequest{Kind: billing.KindGrant, Amount: credits, Reason: "welcome"}); err != nil {
			t.Fatal(err)
		}
	}
	return key
}

func TestKeys(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, o *admin.Operator) {
		key := issue(t, o, 100)
		if list, err := o.ListKeys(t.Context()); err != nil || len(list) != 1 || list[0].KeyID != key.KeyID {
			t.Errorf("the list is %+v, %v", list, err)
		}
		if row, err := o.SetKeyTier(t.Context(), key.KeyID, api.TierHobby); err != nil || row.Tier != api.TierHobby {
			t.Errorf("its tier: %+v, %v", row, err)
		}
		made, err := o.RotateKey(t.Context(), key.KeyID, api.RotateKeyRequest{})
		if err != nil || *made.CreditBalance != 100 {
			t.Errorf("rotated: %+v, %v", made, err)
		}
		if done, err := o.RevokeKey(t.Context(), made.KeyID); err != nil || !done.OK {
			t.Errorf("revoked: %+v, %v", done, err)
		}
		_, err = o.IssueKey(t.Context(), admin.KeyRequest{})
		wants(t, err, api.ReasonInvalidRequest)
		_, err = o.SetKeyTier(t.Context(), key.KeyID, "gold")
		wants(t, err, api.ReasonInvalidRequest)
		for name, act := range map[string]func() error{
			"tier": func() error { _, err := o.SetKeyTier(t.Context(), "cv_test_00000000", api.TierPro); return err },
			"rotate": func() error {
				_, err := o.RotateKey(t.Context(), "cv_test_00000000", api.RotateKeyRequest{})
				return err
			},
			"revoke": func() error { _, err := o.RevokeKey(t.Context(), "cv_test_00000000"); return err },
			"credits": func() error {
				_, err := o.MoveCredits(t.Context(), "cv_test_00000000", admin.MoveRequest{Kind: billing.KindGrant, Amount: 1, Reason: "x"})
				return err
			},
		} {
			t.Run("none to "+name, func(t *testing.T) { wants(t, act(), api.ReasonKeyNotFound) })
		}
	})
}

func TestCredits(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, o *admin.Operator) {
		key := issue(t, o, 100)
		for _, c := range []struct {
			name string
			ask  admin.MoveRequest
			want api.Reason
			then int64
		}{
			{"all away", admin.MoveRequest{Kind: billing.KindAdjust, Amount: -100, Reason: "a mistake"}, "", 0},
			{"more than there are", admin.MoveRequest{Kind: billing.KindAdjust, Amount: -1, Reason: "a mistake"}, api.ReasonInvalidRequest, 0},
			{"a grant", admin.MoveRequest{Kind: billing.KindGrant, Amount: 7, Reason: "again"}, "", 7},
			{"a grant of less than nothing", admin.MoveRequest{Kind: billing.KindGrant, Amount: -7, Reason: "x"}, api.ReasonInvalidRequest, 7},
			{"without a reason", admin.MoveRequest{Kind: billing.KindGrant, Amount: 1}, api.ReasonInvalidRequest, 7},
			{"a purchase", admin.MoveRequest{Kind: "purchase", Amount: 1, Reason: "x"}, api.ReasonInvalidRequest, 7},
		} {
			t.Run(c.name, func(t *testing.T) {
				moved, err := o.MoveCredits(t.Context(), key.KeyID, c.ask)
				if wants(t, err, c.want); err == nil && moved.Balance != c.then {
					t.Errorf("%d are left, want %d", moved.Balance, c.then)
				}
				if one, err := o.Owner(t.Context(), account.OperatorID); err != nil || one.Credits != c.then {
					t.Errorf("the operator has %d, %v, want %d", one.Credits, err, c.then)
				}
			})
		}
		entries, err := o.Ledger(t.Context(), "", 2)
		if err != nil || len(entries) != 2 || entries[0].Amount != 7 || entries[1].Amount != -100 {
			t.Errorf("the newest two entries are %+v, %v", entries, err)
		}
		for _, limit := range []int{0, -1, 10_001} {
			_, err := o.Ledger(t.Context(), "", limit)
			wants(t, err, api.ReasonInvalidRequest)
		}
		if _, err := o.Ledger(t.Context(), "", 10_000); err != nil {
			t.Error(err)
		}
		if found, err := o.Audit(t.Context()); err != nil || len(found) != 0 {
			t.Errorf("the audit finds %+v, %v", found, err)
		}
	})
}

func TestOwners(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, o *admin.Operator) {
		key := issue(t, o, 0)
		list, err := o.Owners(t.Context())
		if err != nil || len(list) != 1 || list[0].ID != account.OperatorID {
			t.Fatalf("the owners are %+v, %v", list, err)
		}
		one, err := o.Owner(t.Context(), account.OperatorID)
		if err != nil || len(one.KeyList) != 1 || one.KeyList[0].KeyID != key.KeyID {
			t.Errorf("the operator is %+v, %v", one, err)
		}
		if err := o.SetTier(t.Context(), account.OperatorID, api.TierPro); err != nil {
			t.Error(err)
		}
		if one, err = o.Owner(t.Context(), account.OperatorID); err != nil || one.Tier != api.TierPro || one.KeyList[0].Tier != api.TierPro {
			t.Errorf("of tier pro: %+v, %v", one, err)
		}
		wants(t, o.SetDisabled(t.Context(), account.OperatorID, true), api.ReasonInvalidRequest)
		wants(t, o.SetDisabled(t.Context(), "nobody", true), api.ReasonNotFound)
		wants(t, o.SetDisabled(t.Context(), "nobody", false), api.ReasonNotFound)
		wants(t, o.SetTier(t.Context(), "nobody", api.TierPro), api.ReasonNotFound)
		wants(t, o.SetTier(t.Context(), account.OperatorID, "gold"), api.ReasonInvalidRequest)
		_, err = o.Owner(t.Context(), "a/b")
		wants(t, err, api.ReasonNotFound)
	})
}

func TestInvites(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, o *admin.Operator) {
		made, err := o.Invite(t.Context(), "for Ada")
		if err != nil || !strings.HasPrefix(made.Code, made.ID) {
			t.Fatalf("made %+v, %v", made, err)
		}
		if err := o.RevokeInvite(t.Context(), made.ID); err != nil {
			t.Error(err)
		}
		wants(t, o.RevokeInvite(t.Context(), made.ID), api.ReasonNotFound)
		if list, err := o.Invites(t.Context()); err != nil || len(list) != 1 || list[0].Note != "for Ada" || list[0].RevokedAt == nil {
			t.Errorf("the list is %+v, %v", list, err)
		}
	})
}

func TestDepositsWithoutAChain(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, o *admin.Operator) {
		hash := "0x" + strings.Repeat("ab", 32)
		for name, act := range map[string]func(hash string) error{
			"list":      func(string) error { _, err := o.Deposits(t.Context()); return err },
			"rescan":    func(string) error { _, err := o.Rescan(t.Context(), "", 0); return err },
			"reconcile": func(string) error { _, err := o.Reconcile(t.Context()); return err },
			"assign": func(hash string) error {
				_, err := o.Assign(t.Context(), admin.UnmatchedRequest{TxHash: hash, DepositID: "d"})
				return err
			},
		} {
			t.Run(name, func(t *testing.T) {
				wants(t, act(hash), api.ReasonChainUnavailable)
				if name == "assign" {
					wants(t, act(hash[:64]), api.ReasonInvalidRequest)
				}
			})
		}
		if list, err := o.Unmatched(t.Context()); err != nil || len(list) != 0 {
			t.Errorf("the unmatched transfers are %v, %v", list, err)
		}
		wants(t, o.WriteOff(t.Context(), admin.UnmatchedRequest{TxHash: hash, Reason: "sent back"}), api.ReasonNotFound)
		wants(t, o.WriteOff(t.Context(), admin.UnmatchedRequest{TxHash: hash[:64], Reason: "sent back"}), api.ReasonInvalidRequest)
	})
}

func TestSettlements(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, o *admin.Operator) {
		for _, state := range []string{"", "pending", "settled", "failed"} {
			if list, err := o.Settlements(t.Context(), state, 10); err != nil || len(list) != 0 {
				t.Errorf("%q: %v, %v", state, list, err)
			}
		}
		_, err := o.Settlements(t.Context(), "lost", 10)
		wants(t, err, api.ReasonInvalidRequest)
	})
}

func TestDatabases(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, o *admin.Operator) {
		list, err := o.Databases(t.Context(), true)
		if err != nil || len(list) == 0 {
			t.Fatalf("the databases are %+v, %v", list, err)
		}
		if report, err := o.VerifyDatabases(t.Context()); err != nil || len(report.Problems) != 0 {
			t.Errorf("verified: %+v, %v", report, err)
		}
		if logs, err := o.Logs(t.Context()); err != nil || len(logs) != 0 {
			t.Errorf("the logs are %+v, %v", logs, err)
		}
		if verified, err := o.VerifyLogs(t.Context()); err != nil || verified.Leaves != 0 || len(verified.Problems) != 0 {
			t.Errorf("the logs, verified: %+v, %v", verified, err)
		}
		var saved bytes.Buffer
		if err := o.Backup(t.Context(), &saved); err != nil || saved.Len() == 0 {
			t.Errorf("the backup has %d bytes, %v", saved.Len(), err)
		}
	})
}

func TestWhatOnlyADaemonDoes(t *testing.T) {
	t.Parallel()
	n := &node{jobs: []admin.Job{{Name: "refresh-crypto"}}}
	o := running(t, n)
	if jobs, err := o.RunJob(t.Context(), "refresh-crypto"); err != nil || len(jobs) != 1 || jobs[0].Runs != 1 {
		t.Errorf("the jobs are %+v, %v", jobs, err)
	}
	_, err := o.RunJob(t.Context(), "none")
	wants(t, err, api.ReasonNotFound)
	if changed, err := o.Reload(t.Context()); err != nil || !slices.Equal(changed.Changed, []string{"log.level"}) {
		t.Errorf("reloaded %+v, %v", changed, err)
	}
	n.fails = errors.New("line 3 is wrong")
	if _, err := o.Reload(t.Context()); err == nil || !strings.Contains(err.Error(), "line 3 is wrong") {
		t.Errorf("a reload that fails says %v", err)
	}
	n.fails = admin.ErrNoSettings
	_, err = o.Reload(t.Context())
	wants(t, err, api.ReasonInvalidRequest)
}

func TestWithoutADaemon(t *testing.T) {
	t.Parallel()
	o := direct(t)
	if !o.Direct {
		t.Error("it asks a daemon")
	}
	if _, err := o.Jobs(t.Context()); err == nil || !strings.Contains(err.Error(), "contextd serve") {
		t.Errorf("jobs: %v", err)
	}
	if _, err := o.RunJob(t.Context(), "x"); err == nil || !strings.Contains(err.Error(), "contextd serve") {
		t.Errorf("running a job: %v", err)
	}
	_, err := o.Reload(t.Context())
	wants(t, err, api.ReasonInvalidRequest)
}

func TestRolesOfNodes(t *testing.T) {
	t.Parallel()
	n, dir := &node{}, t.TempDir()
	serve(t, dir, n)
	c, err := admin.ReadCluster(t.Context(), dir, "")
	if err != nil {
		t.Fatal(err)
	}
	if c.Leader != "n1" || c.Self != "n2" || c.Epoch != 3 || len(c.Nodes) != 3 {
		t.Fatalf("the cluster is %+v", c)
	}
	for i, want := range []string{admin.RoleLeads, admin.RoleFollows, admin.RoleSilent} {
		if got := c.Nodes[i].Role; got != want {
			t.Errorf("node %d %s, want %s", i, got, want)
		}
	}
	if lag := c.Nodes[1].LagSeconds["crypto"]; lag != 2 {
		t.Errorf("the second lags by %g s", lag)
	}
	if got := c.Nodes[0].Behind() + "; " + c.Nodes[1].Behind(); got != "no; crypto 2.0s" {
		t.Errorf("they are behind by %s", got)
	}
	if leads := c.Leading(); leads == nil || leads.ID != "n1" || !strings.HasPrefix(c.Summary(), "2 nodes; ") {
		t.Errorf("%+v leads; %s", leads, c.Summary())
	}
	if _, err := admin.ReadCluster(t.Context(), t.TempDir(), ""); err == nil {
		t.Error("a directory without a daemon has a cluster")
	}
}

func TestAskedByPath(t *testing.T) {
	t.Parallel()
	n, dir := &node{}, t.TempDir()
	if err := admin.Alive(t.Context(), dir); err == nil {
		t.Error("a directory without a daemon is alive")
	}
	serve(t, dir, n)
	if err := admin.Alive(t.Context(), dir); err != nil {
		t.Error(err)
	}
	if url, err := admin.Listening(t.Context(), dir); err != nil || url != n.URL() {
		t.Errorf("it listens at %q, %v", url, err)
	}
	if rails, err := admin.Settling(t.Context(), dir); err != nil || len(rails) != 0 {
		t.Errorf("the rails are %v, %v", rails, err)
	}
	if logs, err := admin.Logs(t.Context(), dir); err != nil || len(logs) != 0 {
		t.Errorf("the logs are %v, %v", logs, err)
	}
	n.fails = api.Errorf(api.ReasonInternal, "the disk is full")
	if err := admin.Alive(t.Context(), dir); err == nil {
		t.Error("a daemon that cannot work is alive")
	}
}

func TestOpenDatabasesLeavesThemAsTheyAre(t *testing.T) {
	t.Parallel()
	o, err := admin.OpenDatabases(t.Context(), t.TempDir(), "", now)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	if list, err := o.Databases(t.Context(), false); err == nil && len(list) > 0 {
		t.Errorf("in an empty directory there are %+v, %v", list, err)
	}
}

func TestSettlementByItsDigits(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, o *admin.Operator) {
		for _, digits := range []string{"ab", strings.Repeat("a", 65), "0xabcdefgh", "abcdef12"} {
			_, err := o.Settlement(t.Context(), digits)
			wants(t, err, api.ReasonInvalidRequest)
		}
		if !o.Direct {
			_, err := o.RetrySettlement(t.Context(), "abcdef12")
			wants(t, err, api.ReasonInvalidRequest)
		}
	})
}
