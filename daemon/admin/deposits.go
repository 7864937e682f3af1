package admin

import (
	"net/http"

	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/web"
	"github.com/contextd/contextd/internal/usdg"
	"github.com/contextd/contextd/sdk/api"
)

// maxDeposits bounds the rows of one answer.
const maxDeposits = 1000

func writeDeposits(w http.ResponseWriter, list []billing.Deposit) error {
	answer := DepositsResponse{Deposits: []api.Deposit{}}
	for _, d := range list {
		answer.Deposits = append(answer.Deposits, d.ToAPI())
	}
	return web.WriteJSON(w, http.StatusOK, answer)
}

func (s Server) deposits(w http.ResponseWriter, r *http.Request) error {
	list, err := s.Deposits.Newest(r.Context(), maxDeposits)
	if err != nil {
		return err
	}
	return writeDeposits(w, list)
}

func (s Server) rescan(w http.ResponseWriter, r *http.Request) error {
	var ask RescanRequest
	if err := web.ReadJSON(w, r, &ask, `{"from":0}`); err != nil {
		return err
	}
	list, err := s.Deposits.Rescan(r.Context(), ask.Rail, ask.From)
	if err != nil {
		return err
	}
	return writeDeposits(w, list)
}

func (s Server) unmatched(w http.ResponseWriter, r *http.Request) error {
	list, err := s.Deposits.Unmatched(r.Context(), maxDeposits)
	if err != nil {
		return err
	}
	return web.WriteJSON(w, http.StatusOK, UnmatchedResponse{Unmatched: append([]billing.Unmatched{}, list...)})
}

func readUnmatched(w http.ResponseWriter, r *http.Request) (ask UnmatchedRequest, hash [32]byte, err error) {
	if err = web.ReadJSON(w, r, &ask, `{"txHash":"0x…","logIndex":0,"reason":"sent back"}`); err != nil {
		return ask, hash, err
	}
	if !usdg.ReadHex(ask.TxHash, hash[:]) {
		return ask, hash, api.Errorf(api.ReasonInvalidRequest, "txHash is not 0x and 64 hexadecimal digits").
			WithHint("list transfers: contextd money deposits unmatched")
	}
	return ask, hash, nil
}

func (s Server) assign(w http.ResponseWriter, r *http.Request) error {
	ask, hash, err := readUnmatched(w, r)
	if err != nil {
		return err
	}
	d, err := s.Deposits.Assign(r.Context(), ask.Rail, hash, ask.LogIndex, ask.DepositID)
	if err != nil {
		return err
	}
	return web.WriteJSON(w, http.StatusOK, d.ToAPI())
}

func (s Server) writeOff(w http.ResponseWriter, r *http.Request) error {
	ask, hash, err := readUnmatched(w, r)
	if err != nil {
		return err
	}
	if err := s.Deposits.WriteOff(r.Context(), ask.Rail, hash, ask.LogIndex, ask.Reason); err != nil {
		return err
	}
	return web.WriteJSON(w, http.StatusOK, ask)
}

func (s Server) reconcile(w http.ResponseWriter, r *http.Request) error {
	found, err := s.Deposits.Reconcile(r.Context())
	if err != nil {
		return err
	}
	return web.WriteJSON(w, http.StatusOK, found)
}
