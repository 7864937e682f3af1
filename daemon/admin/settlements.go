package admin

import (
	"cmp"
	"context"
	"encoding/hex"
	"math/big"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/contextd/contextd/daemon/web"
	"github.com/contextd/contextd/daemon/x402"
	"github.com/contextd/contextd/internal/usdg"
	"github.com/contextd/contextd/sdk/api"
)

// Settlement is an authorization that was taken for a request, or for a pack of credits.
type Settlement struct {
	ID          string               `json:"settlement"` // the authorization's nonce: 0x and 64 hexadecimal digits
	Rail        string               `json:"rail"`
	Payer       string               `json:"payer"`
	Op          string               `json:"op"`
	AmountUSDG  string               `json:"amountUsdg"`
	State       x402.SettlementState `json:"state"`
	Why         string               `json:"why"` // it has failed, or waits
	At          time.Time            `json:"at"`
	ValidBefore time.Time            `json:"validBefore"`
	DoneAt      *time.Time           `json:"doneAt"`      // null while it is pending
	Transaction string               `json:"transaction"` // that has settled it, "" for none
	By          string               `json:"by"`          // address of the key that paid the gas, or host of the facilitator
	GasUsed     uint64               `json:"gasUsed"`     // by all transactions of ours
	FeeWei      string               `json:"feeWei"`      // of those, "" while none is in a block
	Tries       []Try                `json:"tries"`       // oldest first
}

// Try is a transaction, or a request to a facilitator, that was to settle something.
type Try struct {
	Hash         string    `json:"hash"` // of a request, the digest
	At           time.Time `json:"at"`
	AccountNonce uint64    `json:"accountNonce"`
	GasUsed      uint64    `json:"gasUsed"`
	FeeWei       string    `json:"feeWei"` // "" while it is in no block
	Reverted     bool      `json:"reverted"`
}

// SettlementsResponse answers a GET of PathSettlements, which takes state and limit, newest first.
type SettlementsResponse struct {
	Settlements []Settlement `json:"settlements"`
}

// SettlingResponse answers a GET of PathSettling: how each rail stands on which payments are settled.
type SettlingResponse struct {
	Rails []x402.Standing `json:"rails"`
}

func settlementOf(s x402.Settlement) Settlement {
	row := Settlement{
		ID: "0x" + hex.EncodeToString(s.Nonce[:]), Rail: s.Rail, Payer: s.From, Op: s.For(),
		AmountUSDG: usdg.Amount(s.Value).String(), State: s.State, Why: s.Why, At: s.At,
		ValidBefore: time.Unix(min(s.ValidBefore, endOfTime), 0).UTC(), By: s.Facilitator, Tries: []Try{},
	}
	if !s.DoneAt.IsZero() {
		row.DoneAt = &s.DoneAt
	}
	if s.TxHash != [32]byte{} {
		row.Transaction = "0x" + hex.EncodeToString(s.TxHash[:])
	}
	var fees *big.Int
	for _, tx := range s.Txs {
		row.By = tx.Sender
		row.GasUsed += tx.GasUsed
		if tx.Fee != nil {
			fees = new(big.Int).Add(cmp.Or(fees, new(big.Int)), tx.Fee)
		}
		row.Tries = append(row.Tries, Try{
			Hash: "0x" + hex.EncodeToString(tx.Hash[:]), At: tx.At, AccountNonce: tx.AccountNonce, GasUsed: tx.GasUsed,
			FeeWei: weiText(tx.Fee), Reverted: tx.Reverted,
		})
	}
	row.FeeWei = weiText(fees)
	return row
}

// weiText writes an amount, "" for none.
func weiText(n *big.Int) string {
	if n == nil {
		return ""
	}
	return n.String()
}

// endOfTime is the last second that can be written as a time of JSON.
const endOfTime = 253402300799

func (s Server) settlements(w http.ResponseWriter, r *http.Request) error {
	state := x402.SettlementState(r.FormValue("state"))
	switch state {
	case "", x402.SettlementPending, x402.SettlementSettled, x402.SettlementFailed:
	default:
		return api.Errorf(api.ReasonInvalidRequest, "state is %q, not pending, settled or failed", state).WithHint("leave it out for all")
	}
	limit, err := limitOf(r)
	if err != nil {
		return err
	}
	list, err := s.Store.NewestSettlements(r.Context(), state, limit)
	if err != nil {
		return err
	}
	waits, err := s.waits(r.Context())
	if err != nil {
		return err
	}
	answer := SettlementsResponse{Settlements: []Settlement{}}
	for _, one := range list {
		answer.Settlements = append(answer.Settlements, waiting(one, waits))
	}
	return web.WriteJSON(w, http.StatusOK, answer)
}

// waits says, for each rail on which nothing settles any more, why that is.
func (s Server) waits(ctx context.Context) (map[string]string, error) {
	if s.Daemon == nil {
		return nil, nil
	}
	list, err := s.Daemon.Settling(ctx)
	why := map[string]string{}
	for _, one := range list {
		if one.Left {
			why[one.Rail] = one.Off
		}
	}
	return why, err
}

func (s Server) found(r *http.Request) (x402.Settlement, error) {
	const least = 8 // digits, with which few are meant
	digits := strings.TrimPrefix(strings.TrimSuffix(strings.ToLower(r.PathValue("settlement")), "…"), "0x")
	const list = "list them: contextd money settlements list"
	if !regexp.MustCompile(`^[0-9a-f]{8,64}$`).MatchString(digits) {
		return x402.Settlement{}, api.Errorf(api.ReasonInvalidRequest, "a settlement is named by at least %d hexadecimal digits "+
			"of its nonce or of a transaction", least).WithHint(list)
	}
	rows, err := s.Store.FindSettlements(r.Context(), digits, 2)
	switch {
	case err != nil:
		return x402.Settlement{}, err
	case len(rows) == 0:
		return x402.Settlement{}, api.Errorf(api.ReasonInvalidRequest, "there is no settlement %s", digits).WithHint(list)
	case len(rows) > 1:
		return x402.Settlement{}, api.Errorf(api.ReasonInvalidRequest, "several settlements begin with %s", digits).
			WithHint("give more digits")
	}
	return rows[0], nil
}

func (s Server) settlement(w http.ResponseWriter, r *http.Request) error {
	row, err := s.found(r)
	if err != nil {
		return err
	}
	waits, err := s.waits(r.Context())
	if err != nil {
		return err
	}
	return web.WriteJSON(w, http.StatusOK, waiting(row, waits))
}

// waiting is row as the operator sees it, with why it waits.
func waiting(row x402.Settlement, waits map[string]string) Settlement {
	s := settlementOf(row)
	if row.State == x402.SettlementPending {
		s.Why = waits[row.Rail]
	}
	return s
}

func (s Server) retrySettlement(w http.ResponseWriter, r *http.Request) error {
	row, err := s.found(r)
	switch {
	case err != nil:
		return err
	case row.State == x402.SettlementFailed:
		return api.Errorf(api.ReasonInvalidRequest, "the settlement failed: %s", row.Why).
			WithHint("do nothing: its payer was told and may have paid again; an authorization submitted later settles then")
	case row.State == x402.SettlementPending:
		if row, err = s.Daemon.RetrySettlement(r.Context(), row.Key()); err != nil {
			return err
		}
	}
	return web.WriteJSON(w, http.StatusOK, settlementOf(row))
}

func (s Server) settling(w http.ResponseWriter, r *http.Request) error {
	list, err := s.Daemon.Settling(r.Context())
	if err != nil {
		return err
	}
	return web.WriteJSON(w, http.StatusOK, SettlingResponse{Rails: append([]x402.Standing{}, list...)})
}

// Settlements returns the newest settlements in a state, or all for "", at most limit.
func (o *Operator) Settlements(ctx context.Context, state string, limit int) ([]Settlement, error) {
	query := url.Values{"state": {state}, "limit": {strconv.Itoa(limit)}}
	list, err := ask[SettlementsResponse](ctx, o, http.MethodGet, PathSettlements+"?"+query.Encode(), nil)
	return list.Settlements, err
}

// Settlement returns one, by the first digits of its nonce or of a transaction.
func (o *Operator) Settlement(ctx context.Context, digits string) (Settlement, error) {
	return ask[Settlement](ctx, o, http.MethodGet, at(PathSettlement, digits), nil)
}

// RetrySettlement has the daemon go on with one now. It needs a daemon that runs.
func (o *Operator) RetrySettlement(ctx context.Context, digits string) (Settlement, error) {
	if o.Direct {
		return Settlement{}, errNotRunning
	}
	return ask[Settlement](ctx, o, http.MethodPost, at(PathSettlement, digits), nil)
}

// Settling asks the daemon on dir how the rails stand on which it settles payments.
func Settling(ctx context.Context, dir string) ([]x402.Standing, error) {
	o := through(dir)
	defer func() { _ = o.Close() }() // nothing is left open
	list, err := ask[SettlingResponse](ctx, o, http.MethodGet, PathSettling, nil)
	return list.Rails, err
}
