package admin

import (
	"net/http"

	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/web"
	"github.com/contextd/contextd/internal/usdg"
	"github.com/contextd/contextd/sdk/api"
)

// Paths of the admin socket about money that arrived.
const (
	PathDeposits  = "/deposits"
	PathUnmatched = "/unmatched"
	PathAssign    = "/unmatched/assign"
	PathWriteOff  = "/unmatched/write-off"
	PathReconcile = "/reconcile"
)

// UnmatchedResponse answers a GET of PathUnmatched.
type UnmatchedResponse struct {
	Unmatched []billing.Unmatched `json:"strays"` // newest first
}

// UnmatchedRequest is the body of a POST to PathAssign or PathWriteOff.
type UnmatchedRequest struct {
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
	From uint64 `json:"from"`
}

// maxStrays bounds the rows of one answer.
const maxDeposits = 1000

// writeDeposits answers with deposits.
func writeDeposits(w http.ResponseWriter, list []billing.Deposit) error {
	answer := DepositsResponse{Deposits: []api.Deposit{}}
	for _, d := range list {
		answer.Deposits = append(answer.Deposits, d.ToAPI())
	}
	return web.WriteJSON(w, http.StatusOK, answer)
}

// deposits lists the newest deposits.
func (cfg Server) deposits(w http.ResponseWriter, r *http.Request) error {
	list, err := cfg.Deposits.Newest(r.Context(), maxDeposits)
	if err != nil {
		return err
	}
	return writeDeposits(w, list)
}

// rescan looks at the chain again.
func (cfg Server) rescan(w http.ResponseWriter, r *http.Request) error {
	var ask RescanRequest
	if err := web.ReadJSON(w, r, &ask, `{"from":0}`); err != nil {
		return err
	}
	list, err := cfg.Deposits.Rescan(r.Context(), ask.From)
	if err != nil {
		return err
	}
	return writeDeposits(w, list)
}

// unmatched lists transfers that have paid for nothing.
func (cfg Server) unmatched(w http.ResponseWriter, r *http.Request) error {
	list, err := cfg.Deposits.Unmatched(r.Context(), maxDeposits)
	if err != nil {
		return err
	}
	return web.WriteJSON(w, http.StatusOK, UnmatchedResponse{Unmatched: append([]billing.Unmatched{}, list...)})
}

// readStray reads which transfer a request is about.
func readUnmatched(w http.ResponseWriter, r *http.Request) (ask UnmatchedRequest, hash [32]byte, err error) {
	if err = web.ReadJSON(w, r, &ask, `{"txHash":"0x…","logIndex":0,"reason":"sent back"}`); err != nil {
		return ask, hash, err
	}
	if !usdg.ReadHex(ask.TxHash, hash[:]) {
		return ask, hash, api.Errorf(api.ReasonInvalidRequest, "txHash is not 0x and 64 hexadecimal digits").WithHint("list transfers: contextd deposits unmatched")
	}
	return ask, hash, nil
}

// assign lets an unmatched transfer pay for a deposit.
func (cfg Server) assign(w http.ResponseWriter, r *http.Request) error {
	ask, hash, err := readUnmatched(w, r)
	if err != nil {
		return err
	}
	d, err := cfg.Deposits.Assign(r.Context(), hash, ask.LogIndex, ask.DepositID)
	if err != nil {
		return err
	}
	return web.WriteJSON(w, http.StatusOK, d.ToAPI())
}

// writeOff notes that an unmatched transfer will pay for nothing.
func (cfg Server) writeOff(w http.ResponseWriter, r *http.Request) error {
	ask, hash, err := readUnmatched(w, r)
	if err != nil {
		return err
	}
	if err := cfg.Deposits.WriteOff(r.Context(), hash, ask.LogIndex, ask.Reason); err != nil {
		return err
	}
	return web.WriteJSON(w, http.StatusOK, ask)
}

// reconcile compares the books with the chain.
func (cfg Server) reconcile(w http.ResponseWriter, r *http.Request) error {
	found, err := cfg.Deposits.Reconcile(r.Context())
	if err != nil {
		return err
	}
	return web.WriteJSON(w, http.StatusOK, found)
}
