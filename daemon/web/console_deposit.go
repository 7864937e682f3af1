package web

import (
	"net/http"

	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/internal/usdg"
	"github.com/contextd/contextd/sdk/api"
)

// Sale is where credits are bought.
type Sale struct {
	Deposits *billing.Deposits
	Rails    []string         // the first is where purchases are paid unless another is asked for
	Places   map[string]Place // by rail
	Notices  func() []string  // what is said of the sources before a purchase
}

// Place is where purchases are paid.
type Place struct {
	ChainID  int64
	Token    string // address of its contract
	Treasury string // address that is paid to
}

func (c *Console) buy(w http.ResponseWriter, r *http.Request, s api.Session) error {
	var ask api.CreateDepositRequest
	if err := ReadJSON(w, r, &ask, `{"pack":"starter"}`); err != nil {
		return err
	}
	order := billing.Order{Pack: ask.Pack, Rail: ask.Rail}
	if ask.KeyID != nil {
		order.KeyID = *ask.KeyID
	}
	d, err := c.cfg.Sale.Deposits.Open(r.Context(), s.UserID, order, func() error {
		return c.purchases.allow(c.cfg.TrustedProxies.ClientsOf(r))
	})
	if err != nil {
		return err
	}
	at := c.cfg.Sale.Places[d.Rail]
	intent := api.DepositIntent{
		ID: d.ID, Rail: d.Rail, Recipient: at.Treasury, AmountUSDC: d.Amount.Fixed(), Nonce: d.ToAPI().Nonce, ExpiresAt: d.ExpiresAt.Unix(),
		ChainID: at.ChainID, Token: at.Token, NonceRequired: d.Named,
	}
	if !d.Named { // the link can carry no nonce: money sent by it would pay for nothing
		intent.PaymentURI = usdg.PaymentURI(at.Token, at.ChainID, at.Treasury, d.Amount)
	}
	intent.Notices = c.cfg.Sale.Notices()
	if offer, _ := ask.Pack.Offer(); offer.Tier.AtLeast(api.TierPro) { // which has prompts
		intent.Warning = c.cfg.Prompts.Warning()
	}
	return WriteJSON(w, http.StatusCreated, intent)
}

func (c *Console) deposit(w http.ResponseWriter, r *http.Request, s api.Session) error {
	d, err := c.cfg.Sale.Deposits.Deposit(r.Context(), s.UserID, r.PathValue("depositId"))
	if err != nil {
		return err
	}
	return WriteJSON(w, http.StatusOK, d.ToAPI())
}

// verify looks for the payment of a purchase in a transaction.
func (c *Console) verify(w http.ResponseWriter, r *http.Request, s api.Session) error {
	var ask api.VerifyDepositRequest
	if err := ReadJSON(w, r, &ask, `{"txHash":"0x…"}`); err != nil {
		return err
	}
	var hash [32]byte
	if !usdg.ReadHex(ask.TxHash, hash[:]) {
		return api.Errorf(api.ReasonInvalidRequest, "txHash is not 0x and 64 hexadecimal digits").WithHint("copy it from your wallet")
	}
	d, refused, err := c.cfg.Sale.Deposits.Verify(r.Context(), s.UserID, r.PathValue("depositId"), hash)
	if err != nil {
		return err
	}
	answer := d.ToAPI()
	if refused != nil {
		answer.Reason, answer.Message = refused.Reason, refused.Message
	}
	return WriteJSON(w, http.StatusOK, answer)
}

// recent are the newest purchases of an owner, as the balance lists them.
func (c *Console) recent(r *http.Request, s api.Session) ([]api.Deposit, error) {
	list := []api.Deposit{}
	if c.cfg.Sale == nil {
		return list, nil
	}
	deposits, err := c.cfg.Sale.Deposits.Recent(r.Context(), s.UserID)
	for _, d := range deposits {
		list = append(list, d.ToAPI())
	}
	return list, err
}
