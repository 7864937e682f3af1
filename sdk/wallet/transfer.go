package wallet

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/usdg"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

// judgeTransfer reads the quote of a transfer and says whether it may be paid now, after what the journal has.
func (p *Payer) judgeTransfer(q sdk.Quote, past []entry) (amount usdg.Amount, nonce []byte, err error) {
	if amount, nonce, err = checkQuote(q, p.cfg.Now()); err == nil {
		err = p.checkPlace(q)
	}
	if err == nil {
		err = checkStopped(q.Service, past)
	}
	switch {
	case err != nil:
	case q.Purchase != nil:
		err = p.checkPurchase(*q.Purchase, amount)
	default:
		err = p.cfg.Policy.allow(amount, usdg.Amount(q.Price), past, p.cfg.Now())
	}
	return amount, nonce, err
}

// signTransfer judges the transfer that q asks for, after what the journal has, makes its transaction and signs it.
func (p *Payer) signTransfer(ctx context.Context, q sdk.Quote, past []entry) (_ entry, notice string, err error) {
	amount, nonce, err := p.judgeTransfer(q, past)
	if err != nil {
		return entry{}, "", err
	}
	recipient, err := p.journal.recipient(ctx, q.Service, common.HexToAddress(q.Recipient).Hex())
	if err != nil {
		return entry{}, "", err
	}
	now := p.cfg.Now()
	e := entry{
		ID: fmt.Sprintf("%020d", now.UnixNano()), At: now.UTC(), Service: q.Service, Request: q.Request, Purchase: q.Purchase != nil,
		Amount: amount, Recipient: recipient, Payer: p.address, ChainID: p.cfg.ChainID, Token: p.token.Hex(), Until: q.ValidUntil,
		State: stateSigned,
	}
	if err := p.CheckChain(ctx); err != nil {
		return entry{}, "", err
	}
	from := common.HexToAddress(p.address)
	tx, err := p.price(ctx, amount, append(transferData(common.HexToAddress(recipient), amount), nonce...))
	if err != nil {
		return entry{}, "", err
	}
	if tx.Nonce, err = p.chain.PendingNonceAt(ctx, from); err != nil {
		return entry{}, "", p.ask(ctx, err)
	}
	signed, err := types.SignNewTx(p.cfg.Key.secret, types.LatestSignerForChainID(tx.ChainID), tx)
	if err != nil {
		return entry{}, "", fmt.Errorf("sign payment: %w", err)
	}
	raw, err := signed.MarshalBinary()
	if err != nil {
		return entry{}, "", fmt.Errorf("sign payment: %w", err)
	}
	e.TxNonce, e.RawTx, e.TxHash = tx.Nonce, hexutil.Encode(raw), signed.Hash().Hex()
	if e.Signature, err = p.cfg.Key.SignMessage(api.ProofText(signed.Hash(), hexutil.Encode(nonce))); err != nil {
		return entry{}, "", fmt.Errorf("sign proof: %w", err)
	}
	notice = fmt.Sprintf("paying %s %s to %s; the chain takes at most %s ether for it",
		amount, api.AssetUSDG, recipient, Fee(maxFee(tx).String()))
	return e, notice, nil
}

// price is the transaction that transfers amount with the given calldata, without its nonce. It fails where the wallet cannot afford it
// and where the chain may take more than the policy allows.
func (p *Payer) price(ctx context.Context, amount usdg.Amount, data []byte) (*types.DynamicFeeTx, error) {
	from := common.HexToAddress(p.address)
	ether, err := p.afford(ctx, from, amount)
	if err != nil {
		return nil, err
	}
	head, err := p.chain.HeaderByNumber(ctx, nil)
	if err != nil {
		return nil, p.ask(ctx, err)
	}
	tip, err := p.chain.SuggestGasTipCap(ctx)
	if err != nil {
		return nil, p.ask(ctx, err)
	}
	gas, err := p.chain.EstimateGas(ctx, ethereum.CallMsg{From: from, To: &p.token, Data: data})
	if err != nil {
		return nil, p.explain(ctx, from, err)
	}
	gas += gas / 5 // storage that is cold by then costs more
	tx := &types.DynamicFeeTx{
		ChainID: big.NewInt(p.cfg.ChainID), To: &p.token, Data: data,
		Gas: gas, GasTipCap: tip, GasFeeCap: new(big.Int).Add(tip, new(big.Int).Lsh(head.BaseFee, 1)),
	}
	fee := maxFee(tx)
	if fee.Cmp(big.NewInt(p.cfg.Policy.withDefaults().MaxFee)) > 0 {
		return nil, fmt.Errorf("%w: the fee may reach %s ether; credits are cheaper", ErrPolicy, Fee(fee.String()))
	}
	if ether.Cmp(fee) < 0 {
		return nil, fmt.Errorf("%w: the fee may reach %s ether, the wallet has %s; send some to %s",
			ErrNoGas, Fee(fee.String()), Ether(ether.String()), from)
	}
	return tx, nil
}

// afford says what the wallet lacks, and returns its wei: what the fee is is not known yet.
func (p *Payer) afford(ctx context.Context, from common.Address, amount usdg.Amount) (ether *big.Int, err error) {
	if ether, err = p.chain.BalanceAt(ctx, from, nil); err != nil {
		return nil, p.ask(ctx, err)
	}
	if ether.Sign() == 0 {
		return nil, fmt.Errorf("%w: send some to %s", ErrNoGas, from)
	}
	have, err := p.tokens(ctx, p.token, from)
	if err != nil {
		return nil, err
	}
	if have.Cmp(big.NewInt(int64(amount))) < 0 {
		return nil, fmt.Errorf("%w: %s has %s micro-USDG, the call costs %d", ErrNoUSDG, from, have, amount)
	}
	return ether, nil
}

// explain is why a transfer cannot be made.
func (p *Payer) explain(ctx context.Context, from common.Address, err error) error {
	if strings.Contains(err.Error(), "insufficient funds") {
		return fmt.Errorf("%w: send some to %s", ErrNoGas, from)
	}
	if strings.Contains(err.Error(), "revert") {
		return fmt.Errorf("%w: %s", ErrReverted, human.Short(strings.TrimPrefix(err.Error(), "execution reverted: "), human.Quoted))
	}
	return p.ask(ctx, err)
}

// poll is how often the chain is asked for a receipt.
const poll = 100 * time.Millisecond

// finish brings a signed payment onto the chain, however often it was begun, and writes down what became of it.
func (p *Payer) finish(ctx context.Context, e *entry) error {
	hash := common.HexToHash(e.TxHash)
	for sent := false; ; {
		receipt, err := p.chain.TransactionReceipt(ctx, hash)
		switch {
		case err == nil && receipt.Status == types.ReceiptStatusSuccessful:
			return p.journal.advance(e, stateMined)
		case err == nil:
			return errors.Join(fmt.Errorf("%w: transaction %s", ErrReverted, e.TxHash), p.journal.advance(e, stateReverted))
		case !errors.Is(err, ethereum.NotFound) && !strings.Contains(err.Error(), "indexing is in progress"):
			return p.ask(ctx, err)
		}
		if !sent {
			if p.cfg.Now().Unix() >= e.Until {
				if err := p.expire(ctx, e); err != nil {
					return err
				}
			}
			if err := p.send(ctx, e); err != nil {
				return err
			}
			sent = true
		}
		if err := pause(ctx); err != nil {
			return err
		}
	}
}

// pause waits until the chain may be asked again.
func pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(poll):
		return nil
	}
}

// expire ends a payment that was signed and never sent, once its quote has ended: on chain now, it would pay for nothing. One that the
// node knows of goes on.
func (p *Payer) expire(ctx context.Context, e *entry) error {
	_, _, err := p.chain.TransactionByHash(ctx, common.HexToHash(e.TxHash))
	if err == nil {
		return nil
	}
	if !errors.Is(err, ethereum.NotFound) {
		return p.ask(ctx, err)
	}
	if err := p.CheckChain(ctx); err != nil {
		return err
	}
	next, err := p.chain.NonceAt(ctx, common.HexToAddress(e.Payer), nil)
	if err != nil {
		return p.ask(ctx, err)
	}
	if e.State == stateMined || next > e.TxNonce {
		return p.errUnknown(e)
	}
	return errors.Join(errors.New("the quote ended before the payment was sent: ask again"), p.journal.advance(e, stateDropped))
}

// errUnknown says that the node does not know a transaction that may well be on chain, as its place there is taken. The payment stays
// what it is: nodes forget old transactions, and are behind others.
func (p *Payer) errUnknown(e *entry) error {
	return fmt.Errorf("the node does not know transaction %s, whose place on the chain is taken: "+
		"ask again, or another node; if no node knows it, delete %s",
		e.TxHash, p.journal.file(*e))
}

// send sends the signed transaction. That it is known already is as good.
func (p *Payer) send(ctx context.Context, e *entry) error {
	raw, err := hexutil.Decode(e.RawTx)
	if err != nil {
		return fmt.Errorf("read journal of payments: %w", err)
	}
	err = p.chain.Client().CallContext(ctx, nil, "eth_sendRawTransaction", hexutil.Encode(raw))
	switch {
	case err == nil || strings.Contains(err.Error(), "already known"):
		return nil
	case strings.Contains(err.Error(), "nonce too low"):
		// Either it is in a block that this node, or the one beside it that answers the next call, comes to, or another has its place.
		const looks = 10
		for range looks {
			if _, _, lookErr := p.chain.TransactionByHash(ctx, common.HexToHash(e.TxHash)); lookErr == nil {
				return nil
			} else if !errors.Is(lookErr, ethereum.NotFound) {
				return p.ask(ctx, lookErr)
			}
			if err := pause(ctx); err != nil {
				return err
			}
		}
		return p.errUnknown(e)
	}
	return p.explain(ctx, common.HexToAddress(e.Payer), err)
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
