package wallet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/usdg"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

// Policy bounds the payments of a wallet. It is checked before anything is signed. A zero bound means its default; no default exceeds the
// published price of a call.
type Policy struct {
	PerCall  usdg.Amount // micro-USDG; 0 means the published price of the call, and nothing for a call that has none
	PerDay   usdg.Amount // in the last 24 hours; 0 means DefaultPerDay
	PerMonth usdg.Amount // in the last 30 days; 0 means DefaultPerMonth
	MaxFee   int64       // wei that the chain may take for one payment; 0 means DefaultMaxFee
}

// Default bounds.
const (
	DefaultPerDay   usdg.Amount = 1_000_000  // 1 USDG
	DefaultPerMonth usdg.Amount = 10_000_000 // 10 USDG
	DefaultMaxFee               = 200_000_000_000_000
)

// ErrPolicy reports a payment against the rules of the wallet. Nothing was signed.
var ErrPolicy = errors.New("the wallet's policy forbids it")

func (p Policy) withDefaults() Policy {
	if p.PerDay == 0 {
		p.PerDay = DefaultPerDay
	}
	if p.PerMonth == 0 {
		p.PerMonth = DefaultPerMonth
	}
	if p.MaxFee == 0 {
		p.MaxFee = DefaultMaxFee
	}
	return p
}

// longestQuote is how long a quote may hold; one that holds for longer is not one of this service.
const longestQuote = time.Hour

// checkQuote reads a quote and says what is wrong with it.
func checkQuote(q sdk.Quote, now time.Time) (amount usdg.Amount, nonce []byte, err error) {
	if amount, err = usdg.ParseAmount(q.Amount); err != nil || amount == 0 {
		return 0, nil, fmt.Errorf("%w: the price %q is not an amount", ErrPolicy, human.Short(q.Amount, human.Quoted))
	}
	until := time.Unix(q.ValidUntil, 0)
	nonce = common.FromHex(q.Nonce)
	switch {
	case q.Scheme != api.SchemeX402 || q.Network != api.NetworkL2 || q.Asset != api.AssetUSDG:
		return 0, nil, fmt.Errorf("%w: it is to be paid by %s in %s on %s", ErrPolicy,
			human.Short(q.Scheme, human.Quoted), human.Short(q.Asset, human.Quoted), human.Short(q.Network, human.Quoted))
	case !strings.HasPrefix(q.Recipient, "0x") || !common.IsHexAddress(q.Recipient):
		return 0, nil, fmt.Errorf("%w: the recipient %q is not an address", ErrPolicy, human.Short(q.Recipient, human.Quoted))
	case len(nonce) != 32 || len(q.Nonce) != 66:
		return 0, nil, fmt.Errorf("%w: the nonce of the quote is not 32 bytes", ErrPolicy)
	case !until.After(now):
		return 0, nil, fmt.Errorf("%w: the quote ended at %s", ErrPolicy, until.UTC().Format(time.RFC3339))
	case until.Sub(now) > longestQuote:
		return 0, nil, fmt.Errorf("%w: the quote ends at %s, later than any valid quote", ErrPolicy, until.UTC().Format(time.RFC3339))
	}
	return amount, nonce, nil
}

// checkPlace says whether q is to be paid on another chain, or with another token, than those of the wallet. A service that does not say
// is checked by its network alone.
func (p *Payer) checkPlace(q sdk.Quote) error {
	switch {
	case q.ChainID != 0 && q.ChainID != p.cfg.ChainID:
		return fmt.Errorf("%w: %d, not %d", ErrWrongChain, q.ChainID, p.cfg.ChainID)
	case q.Token != "" && (!common.IsHexAddress(q.Token) || common.HexToAddress(q.Token) != p.token):
		return fmt.Errorf("%w: the quote is for token %s, the wallet pays with %s", ErrPolicy,
			human.Short(q.Token, human.Quoted), p.token.Hex())
	case q.Decimals != 0 && q.Decimals != usdg.Decimals:
		return fmt.Errorf("%w: the quote is for a token of %d decimals, not %d", ErrPolicy, q.Decimals, usdg.Decimals)
	}
	return nil
}

// checkPurchase says what is wrong with a purchase that is to be paid with amount: it costs what its pack does, and the little that makes
// the amount its own, and is paid on the chain and with the token of the wallet.
func (p *Payer) checkPurchase(intent api.DepositIntent, amount usdg.Amount) error {
	offer, ok := intent.Pack.Offer()
	price := usdg.Amount(offer.PriceMicros)
	switch {
	case !ok:
		return fmt.Errorf("%w: the price of the package %q is not known", ErrPolicy, human.Short(string(intent.Pack), human.Quoted))
	case amount < price || amount >= price+api.DepositSlots:
		return fmt.Errorf("%w: the service wants %s for the package %s, which costs %s", ErrPolicy, amount, intent.Pack, price)
	case intent.ChainID != p.cfg.ChainID:
		return fmt.Errorf("%w: the purchase is on chain %d, the wallet pays on %d", ErrPolicy, intent.ChainID, p.cfg.ChainID)
	case !common.IsHexAddress(intent.Token) || common.HexToAddress(intent.Token) != p.token:
		return fmt.Errorf("%w: the purchase is in token %q, the wallet pays with %s", ErrPolicy,
			human.Short(intent.Token, human.Quoted), p.token)
	}
	return nil
}

// allow says whether amount may be paid now, after what the journal has, for a call with the published price, 0 for none.
func (p Policy) allow(amount, price usdg.Amount, past []entry, now time.Time) error {
	p = p.withDefaults()
	before := spent(past, now)
	day, month := before.Day, before.Month
	switch {
	case p.PerCall == 0 && price == 0:
		return fmt.Errorf("%w: the service asks %s for a call that has no published price; to pay that: --max-amount %[2]s",
			ErrPolicy, amount)
	case p.PerCall == 0 && amount > price:
		return fmt.Errorf("%w: the service asks %s for a call whose published price is %s; to pay that: --max-amount %[2]s",
			ErrPolicy, amount, price)
	case p.PerCall > 0 && amount > p.PerCall:
		return fmt.Errorf("%w: the call costs %s, the bound per call is %s", ErrPolicy, amount, p.PerCall)
	case day+amount > p.PerDay:
		return fmt.Errorf("%w: with %s more, %s would be paid within 24 hours; the bound is %s", ErrPolicy, amount, day+amount, p.PerDay)
	case month+amount > p.PerMonth:
		return fmt.Errorf("%w: with %s more, %s would be paid within 30 days; the bound is %s", ErrPolicy, amount, month+amount, p.PerMonth)
	}
	return nil
}

// spent sums what was paid for calls before now.
func spent(past []entry, now time.Time) (s Spending) {
	for _, e := range past {
		if e.State == stateDropped || e.Purchase { // never sent, or not a call
			continue
		}
		if age := now.Sub(e.At); age < 24*time.Hour {
			s.Day += e.Amount
			s.Month += e.Amount
		} else if age < 30*24*time.Hour {
			s.Month += e.Amount
		}
	}
	return s
}

// StoppedError reports that a service refused an earlier payment, or answered none of the last two: it is paid nothing more until
// AllowService. Nothing was signed.
type StoppedError struct {
	Refused Payment
	Empty   bool // it is the last of two that brought no answer
}

// Error returns the refused payment.
func (e *StoppedError) Error() string {
	if e.Empty {
		return fmt.Sprintf("nothing more is paid to %s: two payments in a row brought no answer, the last %s for %s with %s: %s",
			e.Refused.Service, e.Refused.Amount, e.Refused.Request, e.Refused.By(), e.Refused.Note)
	}
	asset := cmp.Or(e.Refused.Asset, api.AssetUSDG)
	did := "paid"
	if e.Refused.TxHash == "" {
		did = "allowed to take"
	}
	return fmt.Sprintf("nothing more is paid to %s: it was %s %s %s for %s with %s, and refused that: %s",
		e.Refused.Service, did, e.Refused.Amount, asset, e.Refused.Request, e.Refused.By(), e.Refused.Note)
}

// checkRefused refuses a service that has refused a payment. Which one comes after it is not looked at: a service that takes money for
// nothing answers now and then.
func checkRefused(service string, past []entry) error {
	for _, e := range past {
		if e.Stops && e.Service == service {
			return &StoppedError{Refused: e.payment()}
		}
	}
	return nil
}

// checkStopped is checkRefused for a new payment, and refuses one too where the last payments brought no answer. Those that are under way,
// which are not over yet, do not count.
func checkStopped(service string, past []entry) error {
	const most = 2
	empty, last := 0, entry{}
	for _, e := range past {
		switch {
		case e.Service != service:
		case e.Empty:
			empty, last = empty+1, e
		case e.State == stateAnswered:
			empty = 0
		}
	}
	if empty >= most {
		return &StoppedError{last.payment(), true}
	}
	return checkRefused(service, past)
}

// Stopped returns the services that are paid nothing more, by the journal of dir, the Dir of a Config.
func Stopped(dir string) ([]string, error) {
	past, err := journal{filepath.Join(dir, journalDir)}.all()
	services := []string{}
	for _, e := range past {
		if !slices.Contains(services, e.Service) && checkStopped(e.Service, past) != nil {
			services = append(services, e.Service)
		}
	}
	return services, err
}

// AllowService allows payments to a service again after it refused some or left them without an answer, in the journal of dir, the Dir of a
// Config, and returns those.
func AllowService(ctx context.Context, dir, service string) (refused []Payment, err error) {
	j := journal{filepath.Join(dir, journalDir)}
	release, err := j.hold(ctx, "journal")
	if err != nil {
		return nil, err
	}
	defer release()
	past, err := j.all()
	if err != nil {
		return nil, err
	}
	for _, e := range past {
		if !e.Stops && !e.Empty || e.Service != service {
			continue
		}
		e.Stops, e.Empty = false, false
		if err := j.write(e); err != nil {
			return nil, err
		}
		refused = append(refused, e.payment())
	}
	return refused, nil
}
