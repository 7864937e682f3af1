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
	AdminDeposits  = "/deposits"
	AdminStrays    = "/strays"
	AdminAssign    = "/strays/assign"
	AdminWriteOff  = "/strays/write-off"
	AdminReconcile = "/reconcile"
)

// AdminStraysResponse answers a GET of AdminStrays.
type AdminStraysResponse struct {
	Strays []billing.Stray `json:"strays"` // newest first
}

// AdminStrayRequest is the body of a POST to AdminAssign or AdminWriteOff.
type AdminStrayRequest struct {
	TxHash    string `json:"txHash"`
	LogIndex  uint64 `json:"logIndex"`
	DepositID string `json:"depositId,omitempty"` // to assign
	Reason    string `json:"reason,omitempty"`    // to write off
}

// AdminDepositsResponse answers a GET of AdminDeposits, and a POST, which looks at the chain again from the block in the body on and
// answers with the deposits that were verified by that.
type AdminDepositsResponse struct {
	Deposits []api.Deposit `json:"deposits"` // newest first
}

// AdminRescanRequest is the body of a POST to AdminDeposits.
type AdminRescanRequest struct {
	From uint64 `json:"from"`
}

// maxStrays bounds the rows of one answer.
const maxStrays = 1000

// writeDeposits answers with deposits.
func writeDeposits(w http.ResponseWriter, list []billing.Deposit) error {
	answer := AdminDepositsResponse{Deposits: []api.Deposit{}}
	for _, d := range list {
		answer.Deposits = append(answer.Deposits, d.ToAPI())
	}
	return web.WriteJSON(w, http.StatusOK, answer)
}

// deposits lists the newest deposits.
func (cfg AdminConfig) deposits(w http.ResponseWriter, r *http.Request) error {
	list, err := cfg.Till.Deposits(r.Context(), maxStrays)
	if err != nil {
		return err
	}
	return writeDeposits(w, list)
}

// rescan looks at the chain again.
func (cfg AdminConfig) rescan(w http.ResponseWriter, r *http.Request) error {
	var ask AdminRescanRequest
	if err := web.ReadJSON(w, r, &ask, `{"from":0}`); err != nil {
		return err
	}
	list, err := cfg.Till.Rescan(r.Context(), ask.From)
	if err != nil {
		return err
	}
	return writeDeposits(w, list)
}

// strays lists transfers that have paid for nothing.
func (cfg AdminConfig) strays(w http.ResponseWriter, r *http.Request) error {
	list, err := cfg.Till.Strays(r.Context(), maxStrays)
	if err != nil {
		return err
	}
	return web.WriteJSON(w, http.StatusOK, AdminStraysResponse{Strays: append([]billing.Stray{}, list...)})
}

// readStray reads which transfer a request is about.
func readStray(w http.ResponseWriter, r *http.Request) (ask AdminStrayRequest, hash [32]byte, err error) {
	if err = web.ReadJSON(w, r, &ask, `{"txHash":"0x…","logIndex":0,"reason":"sent back"}`); err != nil {
		return ask, hash, err
	}
	if !usdg.ReadHex(ask.TxHash, hash[:]) {
		return ask, hash, api.Errorf(api.ReasonInvalidRequest, "txHash is not 0x and 64 hexadecimal digits").WithHint("list transfers: contextd deposits unmatched")
	}
	return ask, hash, nil
}

// assign lets a stray pay for a deposit.
func (cfg AdminConfig) assign(w http.ResponseWriter, r *http.Request) error {
	ask, hash, err := readStray(w, r)
	if err != nil {
		return err
	}
	d, err := cfg.Till.Assign(r.Context(), hash, ask.LogIndex, ask.DepositID)
	if err != nil {
		return err
	}
	return web.WriteJSON(w, http.StatusOK, d.ToAPI())
}

// writeOff notes that a stray will pay for nothing.
func (cfg AdminConfig) writeOff(w http.ResponseWriter, r *http.Request) error {
	ask, hash, err := readStray(w, r)
	if err != nil {
		return err
	}
	if err := cfg.Till.WriteOff(r.Context(), hash, ask.LogIndex, ask.Reason); err != nil {
		return err
	}
	return web.WriteJSON(w, http.StatusOK, ask)
}

// reconcile compares the books with the chain.
func (cfg AdminConfig) reconcile(w http.ResponseWriter, r *http.Request) error {
	found, err := cfg.Till.Reconcile(r.Context())
	if err != nil {
		return err
	}
	return web.WriteJSON(w, http.StatusOK, found)
}
