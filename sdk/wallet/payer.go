package wallet

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/ethclient"
	"github.com/ethereum/go-ethereum/rpc"
	"github.com/gofrs/flock"

	"github.com/contextd/contextd/internal/usdg"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

var _ sdk.Payer = (*Payer)(nil)

// Config is what a Payer needs. Chain and token come from the user, never from the service that wants to be paid.
type Config struct {
	Key     *Key
	RPCURL  string // JSON-RPC over HTTP; it may hold a secret, so it reaches no error
	ChainID int64
	Token   string           // address of the USDG contract
	Dir     string           // of the journal, for the user alone
	Policy  Policy           // what may be paid
	Now     func() time.Time // nil means time.Now
	Tell    func(string)     // is told what happens, for people; nil tells nobody
}

// Payer pays quotes from a wallet. It is safe for concurrent use, and across processes: one payment of an address at a time.
type Payer struct {
	cfg     Config
	token   common.Address
	chain   *ethclient.Client
	journal journal
}

// Errors that programs tell apart.
var (
	ErrNoGas      = errors.New("the wallet has no ether for the chain's fee")
	ErrNoUSDG     = errors.New("the wallet has not enough USDG")
	ErrReverted   = errors.New("the token refuses the transfer")
	ErrRecipient  = errors.New("the service wants to be paid at another address than before")
	ErrWrongChain = errors.New("the node serves another chain")
)

// NewPayer makes a Payer. It asks the node for nothing yet.
func NewPayer(ctx context.Context, cfg Config) (*Payer, error) {
	if !common.IsHexAddress(cfg.Token) {
		return nil, fmt.Errorf("make payer: the token %q is no address", cfg.Token)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Tell == nil {
		cfg.Tell = func(string) {}
	}
	client, err := rpc.DialContext(ctx, cfg.RPCURL)
	if err != nil {
		return nil, errors.New("make payer: the RPC URL cannot be used")
	}
	return &Payer{cfg: cfg, token: common.HexToAddress(cfg.Token), chain: ethclient.NewClient(client), journal: journal{filepath.Join(cfg.Dir, journalDir)}}, nil
}

// Close ends the connections.
func (p *Payer) Close() { p.chain.Close() }

// ask is err without the URL of the node.
func (p *Payer) ask(what string, err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	return fmt.Errorf("%s: %s", what, usdg.RedactRPC(err.Error(), p.cfg.RPCURL))
}

// Pay pays q within the policy, or goes on with the payment that was made before for the same request and was not answered.
func (p *Payer) Pay(ctx context.Context, q sdk.Quote) (proof api.PaymentProof, err error) {
	unlock, err := p.lock(ctx)
	if err != nil {
		return proof, err
	}
	defer unlock()
	past, err := p.journal.all()
	if err != nil {
		return proof, err
	}
	if e := p.begun(past, q); e != nil {
		p.cfg.Tell("going on with payment " + e.TxHash + " for the same request")
		if err := p.finish(ctx, e); err == nil || e.live() {
			return p.proof(*e), err
		} // else it has come to an end, and the request is as good as new
	}
	amount, nonce, err := checkQuote(q, p.cfg.Now())
	if err != nil {
		return proof, err
	}
	if !q.Purchase {
		if err := p.cfg.Policy.allow(amount, past, p.cfg.Now()); err != nil {
			return proof, err
		}
	}
	recipient, err := p.recipient(q)
	if err != nil {
		return proof, err
	}
	e := entry{
		ID: fmt.Sprintf("%020d", p.cfg.Now().UnixNano()), At: p.cfg.Now().UTC(), Service: q.Service, Request: q.Request, Purchase: q.Purchase, Amount: amount, Recipient: recipient,
		Payer: p.cfg.Key.Address(), Until: q.ValidUntil, State: stateSigned,
	}
	if err := p.sign(ctx, &e, nonce); err != nil {
		return proof, err
	}
	if err := p.journal.write(e); err != nil { // before anybody else knows of it
		return proof, err
	}
	p.cfg.Tell(fmt.Sprintf("paying %s %s to %s", amount, api.AssetUSDG, recipient))
	return p.proof(e), p.finish(ctx, &e)
}

// begun is the payment for the same request that has not come to an end, nil if there is none.
func (p *Payer) begun(past []entry, q sdk.Quote) *entry {
	for _, e := range past {
		if e.live() && e.Service == q.Service && e.Request == q.Request && e.Payer == p.cfg.Key.Address() {
			return &e
		}
	}
	return nil
}

// recipient is where q is paid: where the service was paid the first time.
func (p *Payer) recipient(q sdk.Quote) (string, error) {
	recipient := common.HexToAddress(q.Recipient).Hex()
	pinned, err := p.journal.pin(q.Service, recipient)
	if err == nil && pinned != recipient {
		err = fmt.Errorf("%w: %s was paid at %s, now wants %s; if that is right, take its line out of %s", ErrRecipient, q.Service, pinned, recipient,
			filepath.Join(p.journal.dir, pinFile))
	}
	return recipient, err
}

// proof is the proof of a payment.
func (p *Payer) proof(e entry) api.PaymentProof {
	return api.PaymentProof{Scheme: api.SchemeX402, Network: api.NetworkL2, TxHash: e.TxHash, Payer: e.Payer}
}

// Settled notes what became of a payment.
func (p *Payer) Settled(proof api.PaymentProof, refused error) error {
	past, err := p.journal.all()
	if err != nil {
		return err
	}
	for _, e := range past {
		if e.TxHash == proof.TxHash && e.live() {
			e.State = stateAnswered
			if refused != nil {
				e.State, e.Note = stateRefused, clip(refused.Error())
			}
			return p.journal.write(e)
		}
	}
	return nil
}

// lock waits until nobody else pays from the address.
func (p *Payer) lock(ctx context.Context) (unlock func(), err error) {
	if err := os.MkdirAll(p.journal.dir, 0o700); err != nil {
		return nil, fmt.Errorf("make journal of payments: %w", err)
	}
	held := flock.New(filepath.Join(p.journal.dir, strings.ToLower(p.cfg.Key.Address())+".lock"))
	const poll = 20 * time.Millisecond
	if ok, err := held.TryLockContext(ctx, poll); err != nil || !ok {
		return nil, fmt.Errorf("wait for another payment of the wallet: %w", err)
	}
	return func() { _ = held.Unlock() }, nil
}

// sign makes the transaction of a payment and signs it.
func (p *Payer) sign(ctx context.Context, e *entry, nonce []byte) error {
	id, err := p.chain.ChainID(ctx)
	if err != nil {
		return p.ask("ask chain", err)
	}
	if !id.IsInt64() || id.Int64() != p.cfg.ChainID {
		return fmt.Errorf("%w: %s, not %d", ErrWrongChain, id, p.cfg.ChainID)
	}
	from := common.HexToAddress(p.cfg.Key.Address())
	data := append(transferData(common.HexToAddress(e.Recipient), e.Amount), nonce...)
	if err := p.afford(ctx, from, e.Amount); err != nil {
		return err
	}
	head, err := p.chain.HeaderByNumber(ctx, nil)
	if err != nil {
		return p.ask("ask chain", err)
	}
	tip, err := p.chain.SuggestGasTipCap(ctx)
	if err != nil {
		return p.ask("ask chain", err)
	}
	gas, err := p.chain.EstimateGas(ctx, ethereum.CallMsg{From: from, To: &p.token, Data: data})
	if err != nil {
		return p.explain(ctx, from, err)
	}
	gas += gas / 5 // storage that is cold by then costs more
	price := new(big.Int).Add(tip, new(big.Int).Lsh(head.BaseFee, 1))
	if fee := new(big.Int).Mul(price, new(big.Int).SetUint64(gas)); fee.Cmp(big.NewInt(p.cfg.Policy.withDefaults().MaxFee)) > 0 {
		return fmt.Errorf("%w: the chain may take %s wei for it; credits are cheaper", ErrPolicy, fee)
	}
	if e.TxNonce, err = p.chain.PendingNonceAt(ctx, from); err != nil {
		return p.ask("ask chain", err)
	}
	tx, err := types.SignNewTx(p.cfg.Key.secret, types.LatestSignerForChainID(id), &types.DynamicFeeTx{
		ChainID: id, Nonce: e.TxNonce, GasTipCap: tip, GasFeeCap: price, Gas: gas, To: &p.token, Data: data,
	})
	if err != nil {
		return fmt.Errorf("sign payment: %w", err)
	}
	raw, err := tx.MarshalBinary()
	if err != nil {
		return fmt.Errorf("sign payment: %w", err)
	}
	e.RawTx, e.TxHash = hexutil.Encode(raw), tx.Hash().Hex()
	return nil
}

// transferData is the calldata of a transfer.
func transferData(to common.Address, amount usdg.Amount) []byte {
	data := []byte{0xa9, 0x05, 0x9c, 0xbb}
	data = append(data, common.LeftPadBytes(to[:], common.HashLength)...)
	return append(data, common.LeftPadBytes(big.NewInt(int64(amount)).Bytes(), common.HashLength)...)
}

// Balance is what a wallet has.
type Balance struct {
	Address string      `json:"address"`
	USDG    usdg.Amount `json:"usdg"` // micro-USDG
	Wei     string      `json:"wei"`  // for the chain's fees; too many for some programs as a number
	ChainID int64       `json:"chainId"`
}

// Balance returns what the wallet has.
func (p *Payer) Balance(ctx context.Context) (Balance, error) {
	address := common.HexToAddress(p.cfg.Key.Address())
	ether, err := p.chain.BalanceAt(ctx, address, nil)
	if err != nil {
		return Balance{}, p.ask("ask chain", err)
	}
	have, err := p.tokens(ctx, address)
	if err == nil && !have.IsInt64() {
		err = errors.New("the wallet has more than can be counted")
	}
	if err != nil {
		return Balance{}, err
	}
	return Balance{p.cfg.Key.Address(), usdg.Amount(have.Int64()), ether.String(), p.cfg.ChainID}, nil
}

// tokens is what an address has, in micro-USDG.
func (p *Payer) tokens(ctx context.Context, of common.Address) (*big.Int, error) {
	word, err := p.chain.CallContract(ctx, ethereum.CallMsg{To: &p.token, Data: append([]byte{0x70, 0xa0, 0x82, 0x31}, common.LeftPadBytes(of[:], common.HashLength)...)}, nil)
	if err != nil {
		return nil, p.ask("ask chain", err)
	}
	return new(big.Int).SetBytes(word), nil
}

// afford says what the wallet lacks.
func (p *Payer) afford(ctx context.Context, from common.Address, amount usdg.Amount) error {
	ether, err := p.chain.BalanceAt(ctx, from, nil)
	if err != nil {
		return p.ask("ask chain", err)
	}
	if ether.Sign() == 0 {
		return fmt.Errorf("%w: send some to %s", ErrNoGas, from)
	}
	have, err := p.tokens(ctx, from)
	if err != nil {
		return err
	}
	if have.Cmp(big.NewInt(int64(amount))) < 0 {
		return fmt.Errorf("%w: %s has %s micro-USDG, the call costs %d", ErrNoUSDG, from, have, amount)
	}
	return nil
}

// explain is why a transfer cannot be made.
func (p *Payer) explain(_ context.Context, from common.Address, err error) error {
	if strings.Contains(err.Error(), "insufficient funds") {
		return fmt.Errorf("%w: send some to %s", ErrNoGas, from)
	}
	if strings.Contains(err.Error(), "revert") {
		return fmt.Errorf("%w: %s", ErrReverted, clip(strings.TrimPrefix(err.Error(), "execution reverted: ")))
	}
	return p.ask("ask chain", err)
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
			e.State = stateMined
			return p.journal.write(*e)
		case err == nil:
			e.State = stateReverted
			return errors.Join(fmt.Errorf("%w: transaction %s", ErrReverted, e.TxHash), p.journal.write(*e))
		case !errors.Is(err, ethereum.NotFound) && !strings.Contains(err.Error(), "indexing is in progress"):
			return p.ask("ask chain", err)
		}
		if !sent {
			if p.cfg.Now().Unix() >= e.Until {
				if done, err := p.tooLate(ctx, e); done || err != nil {
					return err
				}
			}
			if err := p.send(ctx, e); err != nil {
				return err
			}
			sent = true
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(poll):
		}
	}
}

// tooLate ends a payment that was signed and never sent, once its quote has ended: on chain now, it would pay for nothing. One that the
// node knows of goes on.
func (p *Payer) tooLate(ctx context.Context, e *entry) (done bool, err error) {
	_, _, err = p.chain.TransactionByHash(ctx, common.HexToHash(e.TxHash))
	if err == nil {
		return false, nil
	}
	if !errors.Is(err, ethereum.NotFound) {
		return false, p.ask("ask chain", err)
	}
	e.State = stateDropped
	return true, errors.Join(errors.New("the quote ended before the payment was sent: ask again"), p.journal.write(*e))
}

// send sends the signed transaction. That it is known already is as good. That another has its place ends it.
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
		// Either it is in a block that this node has just come to, or another transaction has taken its place.
		if _, lookErr := p.chain.TransactionReceipt(ctx, common.HexToHash(e.TxHash)); lookErr == nil {
			return nil
		}
		e.State = stateDropped
		return errors.Join(errors.New("another transaction of the wallet came first: ask again"), p.journal.write(*e))
	}
	return p.explain(ctx, common.HexToAddress(e.Payer), err)
}
