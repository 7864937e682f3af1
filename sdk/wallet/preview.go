package wallet

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"path/filepath"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/contextd/contextd/internal/usdg"
	"github.com/contextd/contextd/sdk"
)

// CheckChain checks that the node answers and serves the chain of the Config, else ErrWrongChain.
func (p *Payer) CheckChain(ctx context.Context) error {
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

// maxFee is the most that the chain may take for a transaction, in wei.
func maxFee(tx *types.DynamicFeeTx) *big.Int {
	return new(big.Int).Mul(tx.GasFeeCap, new(big.Int).SetUint64(tx.Gas))
}

func transferData(to common.Address, amount usdg.Amount) []byte {
	data := []byte{0xa9, 0x05, 0x9c, 0xbb}
	data = append(data, common.LeftPadBytes(to[:], common.HashLength)...)
	return append(data, common.LeftPadBytes(big.NewInt(int64(amount)).Bytes(), common.HashLength)...)
}

// Preview is the expected result of paying a quote. Nothing was signed.
type Preview struct {
	Amount   usdg.Amount `json:"amountMicros"`      // of the quote
	Calldata string      `json:"calldata"`          // of the transaction to the token, for wallets that send it by themselves
	MaxFee   string      `json:"maxFeeWei"`         // the most that the chain may take; "" where it was not asked
	Refusal  string      `json:"refusal,omitempty"` // why it would not be paid; "" if it would be
}

// Preview returns the expected result of paying q. An error means that it is unknown.
func (p *Payer) Preview(ctx context.Context, q sdk.Quote) (Preview, error) {
	past, err := p.journal.all()
	if err != nil {
		return Preview{}, err
	}
	amount, nonce, err := p.judge(q, past)
	if nonce == nil {
		return Preview{Refusal: err.Error()}, nil
	}
	recipient := common.HexToAddress(q.Recipient)
	data := append(transferData(recipient, amount), nonce...)
	v := Preview{Amount: amount, Calldata: hexutil.Encode(data)}
	pins, errPins := p.journal.pins()
	if errPins != nil {
		return v, errPins
	}
	for _, pin := range pins {
		if err == nil && pin.Service == q.Service {
			err = checkRecipient(q.Service, pin.Recipient, recipient.Hex())
		}
	}
	if err == nil {
		err = p.CheckChain(ctx)
	}
	if err == nil {
		tx, errPrice := p.price(ctx, amount, data)
		if err = errPrice; err == nil {
			v.MaxFee = maxFee(tx).String()
		}
	}
	if err != nil {
		v.Refusal = err.Error()
	}
	return v, nil
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
