// Package admin is the operator's socket: its paths, what is sent over it, the handlers that answer and the client that asks.
//
// The operator's commands work on a data directory. While a daemon runs on it, the daemon has the lock, and a command asks it over the
// socket, which only the operator's user can open; while none does, the command takes the lock and answers itself. Either way the same
// handlers do it, so a command says and does the same. For example, contextd keys revoke cv_test_ab12cd34:
//
//	o, err := admin.Open(ctx, admin.Config{DataDir: dir}) // dials dir/admin.sock, or opens the books in dir
//	done, err := o.RevokeKey(ctx, "cv_test_ab12cd34")     // DELETE /keys/cv_test_ab12cd34, over the socket or in this process
//	err = o.Close()
//
// What goes over the socket is no part of the contract: client and handlers are of one program and change together.
package admin

import (
	"errors"
	"time"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/backup"
	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/sdk/api"
)

// Paths of the socket.
const (
	PathKeys    = "/keys"
	PathKey     = "/keys/{keyId}"
	PathKeyTier = "/keys/{keyId}/tier"
	PathRotate  = "/keys/{keyId}/rotate"
	PathCredits = "/keys/{keyId}/credits"
	PathOwners  = "/owners"
	PathOwner   = "/owners/{ownerId}"
	PathTier    = "/owners/{ownerId}/tier"
	PathAccess  = "/owners/{ownerId}/access"
	PathUnlink  = "/owners/{ownerId}/identities/{identityId}"
	PathInvites = "/invites"
	PathInvite  = "/invites/{inviteId}"
	PathLedger  = "/ledger"
	PathAudit   = "/audit"

	PathDeposits  = "/deposits"
	PathUnmatched = "/unmatched"
	PathAssign    = "/unmatched/assign"
	PathWriteOff  = "/unmatched/write-off"
	PathReconcile = "/reconcile"

	PathSettlements = "/settlements"
	PathSettlement  = "/settlements/{settlement}"
	PathSettling    = "/settling"
	PathConnections = "/connections"

	PathBrief   = "/packs/{pack}/brief"
	PathPreview = "/packs/{pack}/preview"

	PathDatabases = "/databases"
	PathVerify    = "/databases/verify"
	PathLogs      = "/logs"
	PathLogVerify = "/logs/verify"
	PathBackup    = "/backup"

	PathAlive  = "/alive"
	PathListen = "/listening"
	PathReload = "/reload"
	PathJobs   = "/jobs"
	PathRunJob = "/jobs/{name}"

	PathCluster = "/cluster"
	PathStatus  = "/status"
)

// ErrNoSettings is what a daemon answers that was started without settings it could read again.
var ErrNoSettings = errors.New("there are no settings to read again")

// ListenResponse answers a GET of PathListen.
type ListenResponse struct {
	URL string `json:"url"` // unix:/path for a socket
}

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

// InviteRequest is the body of a POST to PathInvites.
type InviteRequest struct {
	Note string `json:"note"`
}

// InvitesResponse answers a GET of PathInvites.
type InvitesResponse struct {
	Invites []account.Invite `json:"invites"` // newest first
}

// AccessRequest is the body of a PUT to PathAccess.
type AccessRequest struct {
	Disabled bool `json:"disabled"`
}

// TierRequest is the body of a PUT to PathTier or PathKeyTier.
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

// LogVerifyResponse answers a POST to PathLogVerify. The logs are sound if there is no problem.
type LogVerifyResponse struct {
	Leaves   int64            `json:"leaves"` // that were hashed again
	Problems []backup.Problem `json:"problems"`
}

// ReloadResponse answers a POST to PathReload with the names of the settings and the packs that are others now.
type ReloadResponse struct {
	Changed []string `json:"changed"` // in effect
	Packs   []string `json:"packs"`   // that came, went, or are made of another manifest: in effect
	Restart []string `json:"restart"` // in effect after a restart
}

// PreviewRequest is the body of a POST to PathPreview.
type PreviewRequest struct {
	Writer string `json:"writer"` // by name; "" means as the schedule would
}

// UnmatchedResponse answers a GET of PathUnmatched.
type UnmatchedResponse struct {
	Unmatched []billing.Unmatched `json:"strays"` // newest first
}

// UnmatchedRequest is the body of a POST to PathAssign or PathWriteOff.
type UnmatchedRequest struct {
	Rail      string `json:"rail,omitempty"` // absent means the first
	TxHash    string `json:"txHash"`
	LogIndex  uint64 `json:"logIndex"`
	DepositID string `json:"depositId,omitempty"` // to assign
	Reason    string `json:"reason,omitempty"`    // to write off
}

// DepositsResponse answers a GET of PathDeposits, and a POST, which looks at the chain again from the block in the body on and
// answers with the deposits that were verified by that.
type DepositsResponse struct {
	Deposits []api.Deposit `json:"deposits"` // newest first
}

// RescanRequest is the body of a POST to PathDeposits.
type RescanRequest struct {
	Rail string `json:"rail,omitempty"` // absent means the first
	From uint64 `json:"from"`
}

// Job is how a job of the daemon stands. Times are nil for never since the start.
type Job struct {
	Name         string     `json:"name"`
	Pack         string     `json:"pack,omitempty"` // that it concerns
	Does         string     `json:"does"`
	EverySeconds int64      `json:"everySeconds"` // 0 for one that has a schedule of its own
	Running      bool       `json:"running"`
	StartedAt    *time.Time `json:"startedAt"`
	SucceededAt  *time.Time `json:"succeededAt"`
	TookMillis   int64      `json:"tookMillis"` // the last run
	Runs         int64      `json:"runs"`       // since the start
	Failures     int64      `json:"failures"`   // of those
	Error        string     `json:"error,omitempty"`
}

// JobsResponse answers a GET of PathJobs, and a POST to PathRunJob once the job has ended.
type JobsResponse struct {
	Jobs []Job `json:"jobs"`
}
