package wallet

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/contextd/contextd/internal/usdg"
	"github.com/contextd/contextd/sdk"
)

// CheckChain checks that the node answers and serves the chain of the Config, else ErrWrongChain.
func (p *Payer) CheckChain(ctx context.Context) error {
	if p.chain == nil {
		return errNoNode
	}
	id, err := p.chain.ChainID(ctx)
	if err != nil {
		return p.ask(ctx, err)
	}
	if !id.IsInt64() || id.Int64() != p.cfg.ChainID {
		return fmt.Errorf("%w: %s, not %d", ErrWrongChain, id, p.cfg.ChainID)
	}
	return nil
}

// CheckToken checks that the token of the Config can be USDG, with six decimals.
func (p *Payer) CheckToken(ctx context.Context) error {
	if p.chain == nil {
		return errNoNode
	}
	word, err := p.chain.CallContract(ctx, ethereum.CallMsg{To: &p.token, Data: []byte{0x31, 0x3c, 0xe5, 0x67}}, nil)
	if err != nil {
		return p.ask(ctx, err)
	}
	if new(big.Int).SetBytes(word).Cmp(big.NewInt(usdg.Decimals)) != 0 {
		return fmt.Errorf("what is at %s on chain %d is no USDG", p.token, p.cfg.ChainID)
	}
	return nil
}

// Balance is the balance of a wallet.
type Balance struct {
	Address string      `json:"address"`
	USDG    usdg.Amount `json:"usdg"` // micro-USDG
	Wei     string      `json:"wei"`  // for the chain's fees; too many for some programs as a number
	ChainID int64       `json:"chainId"`
}

// Balance returns the balance of the wallet.
func (p *Payer) Balance(ctx context.Context) (Balance, error) {
	if p.chain == nil {
		return Balance{}, errNoNode
	}
	address := common.HexToAddress(p.address)
	ether, err := p.chain.BalanceAt(ctx, address, nil)
	if err != nil {
		return Balance{}, p.ask(ctx, err)
	}
	have, err := p.tokens(ctx, p.token, address)
	if err == nil && !have.IsInt64() {
		err = errors.New("the wallet has more than can be counted")
	}
	if err != nil {
		return Balance{}, err
	}
	return Balance{p.address, usdg.Amount(have.Int64()), ether.String(), p.cfg.ChainID}, nil
}

// tokens is what an address has of a token, in its smallest unit.
func (p *Payer) tokens(ctx context.Context, token, of common.Address) (*big.Int, error) {
	balanceOf := append([]byte{0x70, 0xa0, 0x82, 0x31}, common.LeftPadBytes(of[:], common.HashLength)...)
	word, err := p.chain.CallContract(ctx, ethereum.CallMsg{To: &token, Data: balanceOf}, nil)
	if err != nil {
		return nil, p.ask(ctx, err)
	}
	return new(big.Int).SetBytes(word), nil
}

// Preview is the expected result of paying a quote. Nothing was signed.
type Preview struct {
	Amount    usdg.Amount
	Asset     Asset  // of an authorization; zero where the service takes none that the wallet makes
	Recipient string // in the spelling of EIP-55
	Calldata  string // of the transaction to the token, for wallets that send it by themselves; "" for an authorization
	MaxFee    string // wei, the most that the chain may take for a transfer; "" where it was not asked
	Refusal   string // why it would not be paid; "" if it would be
	Why       error  // the Refusal, nil if there is none
	Unable    bool   // another scheme may do
}

// Preview returns the expected result of paying q. An error means that it is unknown.
func (p *Payer) Preview(ctx context.Context, q sdk.Quote) (v Preview, err error) {
	past, err := p.journal.all()
	if err != nil {
		return v, err
	}
	pins, err := p.journal.pins()
	if err != nil {
		return v, err
	}
	var refusal error
	var data []byte
	if q.Exact != nil {
		w, err := p.judgeExact(ctx, q, past)
		v, refusal = Preview{Amount: w.amount, Asset: w.asset, Recipient: w.payTo}, err
	} else {
		amount, nonce, err := p.judgeTransfer(q, past)
		if nonce == nil {
			return Preview{Refusal: err.Error(), Why: err}, nil
		}
		recipient := common.HexToAddress(q.Recipient)
		data = append(transferData(recipient, amount), nonce...)
		v, refusal = Preview{Amount: amount, Recipient: recipient.Hex(), Calldata: hexutil.Encode(data)}, err
	}
	if i := slices.IndexFunc(pins, func(pin Pin) bool { return pin.Service == q.Service }); i >= 0 && refusal == nil {
		refusal = checkRecipient(q.Service, pins[i].Recipient, v.Recipient)
	}
	if refusal == nil && q.Exact == nil {
		v.MaxFee, refusal = p.previewFee(ctx, v.Amount, data)
	}
	if refusal != nil {
		v.Refusal, v.Why, v.Unable = refusal.Error(), refusal, sdk.IsUnable(refusal)
	}
	return v, nil
}

// previewFee is the most that the chain may take for a transfer, in wei.
func (p *Payer) previewFee(ctx context.Context, amount usdg.Amount, data []byte) (string, error) {
	if err := p.CheckChain(ctx); err != nil {
		return "", err
	}
	tx, err := p.price(ctx, amount, data)
	if err != nil {
		return "", err
	}
	return maxFee(tx).String(), nil
}

// Spending is the sum of payments for calls in the journal.
type Spending struct {
	Day   usdg.Amount `json:"dayMicros"`   // within the last 24 hours
	Month usdg.Amount `json:"monthMicros"` // within the last 30 days
}

// Spent sums the payments for calls before now in the journal of dir, the Dir of a Config.
func Spent(dir string, now time.Time) (Spending, error) {
	past, err := journal{filepath.Join(dir, journalDir)}.all()
	return spent(past, now), err
}

// Pins returns the paid services with their recipients.
func Pins(dir string) ([]Pin, error) { return journal{filepath.Join(dir, journalDir)}.pins() }

// TrustRecipient replaces the recorded recipient of a service. It fails if recipient is not an address.
func TrustRecipient(ctx context.Context, dir, service, recipient string) error {
	if !strings.HasPrefix(recipient, "0x") || !common.IsHexAddress(recipient) || service == "" || strings.ContainsAny(service, " \n") {
		return errors.New("name a service and the address it is paid at")
	}
	_, err := journal{filepath.Join(dir, journalDir)}.pin(ctx, service, func(string) string { return common.HexToAddress(recipient).Hex() })
	return err
}

// ForgetRecipient removes the recorded recipient of a service and returns it, "" for none: the next quote records another.
func ForgetRecipient(ctx context.Context, dir, service string) (recipient string, err error) {
	_, err = journal{filepath.Join(dir, journalDir)}.pin(ctx, service, func(known string) string {
		recipient = known
		return ""
	})
	return recipient, err
}

// Ether converts wei, in decimal digits, to ether without trailing zeros.
func Ether(wei string) string {
	const decimals = 18
	digits := strings.Repeat("0", max(0, decimals+1-len(wei))) + wei
	return strings.TrimRight(strings.TrimRight(digits[:len(digits)-decimals]+"."+digits[len(digits)-decimals:], "0"), ".")
}

// Fee converts wei, in decimal digits, to ether with three significant digits, rounded up: it bounds what is paid.
func Fee(wei string) string {
	const significant = 3
	n, ok := new(big.Int).SetString(wei, 10)
	if extra := len(wei) - significant; ok && extra > 0 {
		unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(extra)), nil)
		n.Add(n, unit).Sub(n, big.NewInt(1)).Div(n, unit).Mul(n, unit)
		wei = n.String()
	}
	return Ether(wei)
}
