package wallet_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/internal/devchain"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/sdk/wallet"
)

// purchase is the quote of a purchase of the smallest pack, as the service makes it.
func (m *market) purchase(id string) sdk.Quote {
	return m.ask(&api.DepositIntent{
		ID: id, Pack: api.CreditStarter, AmountUSDC: "1.000317", Recipient: m.chain.Treasury(), Nonce: "0x" + strings.Repeat("ab", 32),
		ExpiresAt: time.Now().Add(time.Minute).Unix(), ChainID: devchain.ChainID, Token: m.chain.Token(),
	})
}

// ask is the quote of a purchase.
func (m *market) ask(i *api.DepositIntent) sdk.Quote {
	return sdk.Quote{PaymentRequirements: i.Requirements(), Service: m.d.URL(), Request: "deposit " + i.ID, Purchase: i}
}

// TestPurchaseIsAsOffered: a purchase that is not what was consented to is not signed.
func TestPurchaseIsAsOffered(t *testing.T) {
	t.Parallel()
	m := newMarket(t)
	for what, change := range map[string]func(*api.DepositIntent){
		"more than the price":     func(i *api.DepositIntent) { i.AmountUSDC = "1.010000" },
		"less than the price":     func(i *api.DepositIntent) { i.AmountUSDC = "0.999999" },
		"all that the wallet has": func(i *api.DepositIntent) { i.AmountUSDC = "900.000000" },
		"price of another pack":   func(i *api.DepositIntent) { i.Pack = api.CreditHobby },
		"no pack":                 func(i *api.DepositIntent) { i.Pack = "" },
		"chain":                   func(i *api.DepositIntent) { i.ChainID = api.ChainIDMain },
		"token":                   func(i *api.DepositIntent) { i.Token = m.chain.Treasury() },
		"no token":                func(i *api.DepositIntent) { i.Token = "" },
	} {
		i := m.purchase("1").Purchase
		change(i)
		if _, err := m.payer().Pay(t.Context(), m.ask(i)); !errors.Is(err, wallet.ErrPolicy) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if m.states() != "" || m.balance() != 0 {
		t.Fatalf("the treasury has %d, payments are %s", m.balance(), m.states())
	}
	for id, amount := range map[string]string{"least": "1.000000", "most": "1.009999"} {
		i := m.purchase(id).Purchase
		i.AmountUSDC = amount
		if _, err := m.payer().Pay(t.Context(), m.ask(i)); err != nil {
			t.Errorf("%s: %v", amount, err)
		}
	}
}

// TestPackIsAsOffered: a pack is bought by authorization for its price alone, whatever the bounds on calls are, and one that was not
// answered is paid by the same authorization.
func TestPackIsAsOffered(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pack   api.CreditPack
		amount string
		want   string // in the error; "" is paid
	}{
		{api.CreditStarter, "999999", "wants 0.999999 for the package"},
		{api.CreditStarter, "1000000", ""},
		{api.CreditStarter, "1000001", "which costs 1"},
		{api.CreditHobby, "8000000", ""},
		{api.CreditHobby, "1000000", "which costs 8"},
		{"gold", "1000000", "which costs 0"},
		{"", "1000000", "the bound per call is 0.01"},
	} {
		p, s := newSpender(t), newSeller(t, usdc(c.amount))
		sold := func(w http.ResponseWriter) {
			tell(w, true, "")
			_, _ = io.WriteString(w, `{"key":"cv_test_ab12cd34x","keyId":"cv_test_ab12cd34"}`)
		}
		s.replies = []func(http.ResponseWriter){func(w http.ResponseWriter) { w.WriteHeader(http.StatusBadGateway) }, sold}
		buy := func() (*api.IssuedKey, error) {
			client, err := sdk.New(sdk.WithoutEnv(), sdk.WithBaseURL(s.URL))
			if err != nil {
				t.Fatal(err)
			}
			return client.BuyKey(t.Context(), c.pack, p.authorizer())
		}
		_, err := buy()
		if c.want != "" {
			if !errors.Is(err, wallet.ErrPolicy) || !strings.Contains(err.Error(), c.want) || len(s.paid()) != 0 {
				t.Errorf("%q for %s: %v, %d payments", c.pack, c.amount, err, len(s.paid()))
			}
			continue
		}
		var lost *sdk.PaidError
		if !errors.As(err, &lost) {
			t.Errorf("%s, not answered: %v", c.pack, err)
		}
		key, err := buy()
		if paid := s.paid(); err != nil || key.Key != "cv_test_ab12cd34x" || len(paid) != 2 || paid[0] != paid[1] {
			t.Errorf("%s: %+v, %v, payments %q", c.pack, key, err, paid)
		}
		if spent, err := wallet.Spent(p.dir, p.now); err != nil || spent.Day != 0 {
			t.Errorf("%s counts as %v spent on calls, %v", c.pack, spent.Day, err)
		}
	}
}

// TestPurchaseIsPaidOnce: asking again for a paid purchase returns its proof, and no wallet pays for it again.
func TestPurchaseIsPaidOnce(t *testing.T) {
	t.Parallel()
	m := newMarket(t)
	rich, err := m.chain.NewAccount(t.Context(), 10_000_000)
	if err != nil {
		t.Fatal(err)
	}
	key, err := wallet.ParseKey(rich.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	other := m.payer(func(c *wallet.Config) { c.Key = key })
	m.node.fail("eth_sendRawTransaction")
	if _, err := m.payer().Pay(t.Context(), m.purchase("1")); err == nil {
		t.Fatal("paid without a node")
	}
	m.node.fail("")
	if _, err := other.Pay(t.Context(), m.purchase("1")); err == nil || m.states() != "signed" {
		t.Errorf("while another wallet pays: %v; payments are %s", err, m.states())
	}
	proof, err := m.payer().Pay(t.Context(), m.purchase("1"))
	if err != nil {
		t.Fatal(err)
	}
	if err := m.payer().Conclude(t.Context(), proof, sdk.Outcome{}); err != nil {
		t.Fatal(err)
	}
	for _, p := range []*wallet.Payer{m.payer(), other} {
		if again, err := p.Pay(t.Context(), m.purchase("1")); err != nil || again.ID != proof.ID {
			t.Errorf("%+v, not %+v; %v", again, proof, err)
		}
	}
	if m.balance() != 1_000_317 || m.states() != "answered" {
		t.Errorf("the treasury has %d, payments are %s", m.balance(), m.states())
	}
}

// TestQuoteIsOfTheWalletsChain: a quote that names another chain or token than the wallet's is not paid; one that names none is.
func TestQuoteIsOfTheWalletsChain(t *testing.T) {
	t.Parallel()
	m := newMarket(t)
	_, err := m.client(nil).Cite(t.Context(), "", 1)
	var asked *api.Error
	if !errors.As(err, &asked) || asked.Payment == nil {
		t.Fatal(err)
	}
	if q := asked.Payment; q.ChainID == 0 || q.Decimals != 6 || q.Token != m.chain.Token() {
		t.Errorf("the quote does not say where to pay: %+v", q)
	}
	for what, c := range map[string]struct {
		change func(*api.PaymentRequirements)
		want   error
	}{
		"chain":        {func(q *api.PaymentRequirements) { q.ChainID = api.ChainIDMain }, wallet.ErrWrongChain},
		"token":        {func(q *api.PaymentRequirements) { q.Token = m.chain.Treasury() }, wallet.ErrPolicy},
		"no token":     {func(q *api.PaymentRequirements) { q.Token = "x" }, wallet.ErrPolicy},
		"decimals":     {func(q *api.PaymentRequirements) { q.Decimals = 18 }, wallet.ErrPolicy},
		"none of them": {func(q *api.PaymentRequirements) { q.ChainID, q.Token, q.Decimals = 0, "", 0 }, nil},
	} {
		q := sdk.Quote{PaymentRequirements: *asked.Payment, Service: m.d.URL(), Request: what, Price: api.OpCite.PriceMicros()}
		c.change(&q.PaymentRequirements)
		if _, err := m.payer().Pay(t.Context(), q); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if m.balance() != 1_000 {
		t.Errorf("the treasury has %d", m.balance())
	}
}
