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
	"github.com/ethereum/go-ethereum/ethclient"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/usdg"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

var _ sdk.Payer = (*Payer)(nil)

// Config configures a Payer. Chain and token come from the user, never from the service.
type Config struct {
	Key     *Key   // nil makes a Payer that looks, and goes on with what was begun, and pays nothing
	Address string // of the wallet where Key is nil
	RPCURL  string // JSON-RPC over HTTP; it may hold a secret, so it reaches no error
	ChainID int64
	Token   string           // address of the USDG contract
	Dir     string           // of the journal, for the user alone
	Policy  Policy           // bounds of payments
	Assets  []Asset          // of an Authorizer
	Now     func() time.Time // nil means time.Now
	Tell    func(string)     // called with progress for people; may be nil
}

// Payer pays quotes from a wallet. It is safe for concurrent use, also across processes: an address makes one payment at a time.
type Payer struct {
	cfg     Config
	address string // of the wallet, in the spelling of EIP-55
	token   common.Address
	chain   *ethclient.Client
	journal journal
}

// Sentinel errors, for errors.Is.
var (
	ErrNoGas      = errors.New("the wallet has no ether for the chain's fee")
	ErrNoUSDG     = errors.New("the wallet has not enough USDG")
	ErrNoFunds    = errors.New("the wallet has not enough of what is to be paid with")
	ErrReverted   = errors.New("the token refuses the transfer")
	ErrRecipient  = errors.New("the service wants to be paid at another address than before")
	ErrWrongChain = errors.New("the node serves another chain")
	ErrNode       = errors.New("the node of the chain does not answer")
	ErrNotBegun   = errors.New("there is no payment to go on with")
)

// NewPayer makes a Payer. It does not contact the node.
func NewPayer(ctx context.Context, cfg Config) (*Payer, error) {
	if !common.IsHexAddress(cfg.Token) {
		return nil, fmt.Errorf("make payer: the token %q is not an address", cfg.Token)
	}
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	client, err := rpc.DialContext(ctx, cfg.RPCURL)
	if err != nil {
		return nil, errors.New("make payer: the RPC URL cannot be used")
	}
	return &Payer{
		cfg:     cfg,
		address: common.HexToAddress(cfg.Address).Hex(),
		token:   common.HexToAddress(cfg.Token),
		chain:   ethclient.NewClient(client),
		journal: journal{filepath.Join(cfg.Dir, journalDir)},
	}, nil
}

// complete fills in what cfg leaves out.
func (cfg *Config) complete() error {
	if cfg.Key != nil {
		cfg.Address = cfg.Key.Address()
	}
	if !common.IsHexAddress(cfg.Address) {
		return fmt.Errorf("make payer: the wallet %q is not an address", cfg.Address)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Tell == nil {
		cfg.Tell = func(string) {}
	}
	return nil
}

// Close ends the connections.
func (p *Payer) Close() { p.chain.Close() }

// ask is err without the URL of the node. That the caller has given up, rather than that the node fails, can be told from it.
func (p *Payer) ask(ctx context.Context, err error) error {
	if ended := ctx.Err(); ended != nil {
		return fmt.Errorf("ask chain: %w", ended)
	}
	return fmt.Errorf("%w: %s", ErrNode, usdg.RedactRPC(err, p.cfg.RPCURL))
}

// Pay pays q within the policy, or continues an unanswered payment for the same request.
func (p *Payer) Pay(ctx context.Context, q sdk.Quote) (proof api.PaymentProof, err error) {
	proof, err = p.goOn(ctx, q, checkSend)
	if !errors.Is(err, ErrNotBegun) {
		return proof, err
	}
	if p.cfg.Key == nil {
		return proof, errors.New("the wallet was not opened")
	}
	unlock, err := p.journal.lock(ctx, p.address)
	if err != nil {
		return proof, err
	}
	defer unlock()
	e, begun, err := p.begin(ctx, q)
	if err != nil {
		return proof, err
	}
	if begun { // by another process, just now
		return p.complete(ctx, e)
	}
	return p.proof(*e), p.finish(ctx, e)
}

// begin signs the payment of q and writes it down, unless it was begun. Wallets share the bounds: no other begins one in between.
func (p *Payer) begin(ctx context.Context, q sdk.Quote) (_ *entry, begun bool, err error) {
	release, err := p.journal.hold(ctx, "journal")
	if err != nil {
		return nil, false, err
	}
	defer release()
	past, err := p.journal.all()
	if err != nil {
		return nil, false, err
	}
	if e := p.begun(past, q); e != nil {
		return e, true, nil
	}
	if e := heldFor(past, q.Service, q.Request, p.cfg.Now()); e != nil {
		return nil, false, fmt.Errorf("authorization %s pays for the same request and is unanswered: ctx pay resume", e.Exact.Nonce)
	}
	amount, nonce, err := p.judge(q, past)
	if err != nil {
		return nil, false, err
	}
	recipient, err := p.journal.recipient(ctx, q.Service, common.HexToAddress(q.Recipient).Hex())
	if err != nil {
		return nil, false, err
	}
	e := entry{
		ID: fmt.Sprintf("%020d", p.cfg.Now().UnixNano()), At: p.cfg.Now().UTC(),
		Service: q.Service, Request: q.Request, Purchase: q.Purchase != nil,
		Amount: amount, Recipient: recipient,
		Payer: p.address, ChainID: p.cfg.ChainID, Token: p.token.Hex(), Until: q.ValidUntil, State: stateSigned,
	}
	fee, err := p.sign(ctx, &e, nonce)
	if err != nil {
		return nil, false, err
	}
	if err := p.journal.write(e); err != nil { // before anybody else knows of it
		return nil, false, err
	}
	p.cfg.Tell(fmt.Sprintf("paying %s %s to %s; the chain takes at most %s ether for it",
		amount, api.AssetUSDG, recipient, Ether(fee.String())))
	return &e, false, nil
}

// Resume continues an unanswered payment for the request of q, whatever q asks. It never makes one: it fails with ErrNotBegun if there is
// none, or none that is unfinished. A paid purchase returns its proof.
func (p *Payer) Resume(ctx context.Context, q sdk.Quote) (api.PaymentProof, error) {
	return p.goOn(ctx, q, func(entry, []entry) error { return nil })
}

// goOn is Resume of a payment that may be gone on with, after what the journal has.
func (p *Payer) goOn(ctx context.Context, q sdk.Quote, may func(e entry, past []entry) error) (proof api.PaymentProof, err error) {
	unlock, err := p.journal.lock(ctx, p.address)
	if err != nil {
		return proof, err
	}
	defer unlock()
	past, err := p.journal.all()
	if err != nil {
		return proof, err
	}
	e := p.begun(past, q)
	if e == nil {
		return proof, ErrNotBegun
	}
	if err := may(*e, past); err != nil {
		return proof, err
	}
	return p.complete(ctx, e)
}

// complete brings a payment that was begun onto the chain. Where it has come to an end instead, the request is as good as new, but for a
// purchase, which is paid once.
func (p *Payer) complete(ctx context.Context, e *entry) (api.PaymentProof, error) {
	if !e.live() {
		return p.proof(*e), nil
	}
	if e.Payer != p.address {
		return api.PaymentProof{}, fmt.Errorf("the wallet %s pays for it already, with transaction %s: ctx pay resume", e.Payer, e.TxHash)
	}
	if e.ChainID != 0 && (e.ChainID != p.cfg.ChainID || e.Token != p.token.Hex()) {
		return api.PaymentProof{}, fmt.Errorf("%w: payment %s is of token %s on chain %d, the wallet pays with %s on %d", ErrWrongChain,
			e.TxHash, e.Token, e.ChainID, p.token, p.cfg.ChainID)
	}
	p.cfg.Tell("going on with payment " + e.TxHash + " for the same request")
	err := p.finish(ctx, e)
	if err != nil && !e.live() {
		err = fmt.Errorf("%w: %w", ErrNotBegun, err)
	}
	return p.proof(*e), err
}

// judge reads a quote and says whether it may be paid now, after what the journal has.
func (p *Payer) judge(q sdk.Quote, past []entry) (amount usdg.Amount, nonce []byte, err error) {
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

// begun is the payment for the same request that has not come to an end, nil if there is none. For a purchase it is the one that has moved
// something or still may, from whichever wallet.
func (p *Payer) begun(past []entry, q sdk.Quote) *entry {
	for _, e := range past {
		if e.Service != q.Service || e.Request != q.Request || e.Exact != nil {
			continue
		}
		if e.live() && e.Payer == p.address || q.Purchase != nil && e.State != stateDropped && e.State != stateReverted {
			return &e
		}
	}
	return nil
}

func (p *Payer) proof(e entry) api.PaymentProof {
	return api.PaymentProof{Scheme: api.SchemeX402, Network: api.NetworkL2, TxHash: e.TxHash, Payer: e.Payer}
}

// Settled records the outcome of a payment.
func (p *Payer) Settled(proof api.PaymentProof, refused error) error {
	past, err := p.journal.all()
	if err != nil {
		return err
	}
	for _, e := range past {
		if e.TxHash == proof.TxHash && e.live() {
			e.State = stateAnswered
			if refused != nil {
				e.State, e.Stops = stateRefused, true
				e.Note = human.Short(refused.Error(), human.Quoted)
			}
			return p.journal.write(e)
		}
	}
	return nil
}

// sign makes the transaction of a payment and signs it, and returns the most that the chain may take for it, in wei.
func (p *Payer) sign(ctx context.Context, e *entry, nonce []byte) (fee *big.Int, err error) {
	if err := p.CheckChain(ctx); err != nil {
		return nil, err
	}
	from := common.HexToAddress(p.address)
	tx, err := p.price(ctx, e.Amount, append(transferData(common.HexToAddress(e.Recipient), e.Amount), nonce...))
	if err != nil {
		return nil, err
	}
	if tx.Nonce, err = p.chain.PendingNonceAt(ctx, from); err != nil {
		return nil, p.ask(ctx, err)
	}
	signed, err := types.SignNewTx(p.cfg.Key.secret, types.LatestSignerForChainID(tx.ChainID), tx)
	if err != nil {
		return nil, fmt.Errorf("sign payment: %w", err)
	}
	raw, err := signed.MarshalBinary()
	if err != nil {
		return nil, fmt.Errorf("sign payment: %w", err)
	}
	e.TxNonce, e.RawTx, e.TxHash = tx.Nonce, hexutil.Encode(raw), signed.Hash().Hex()
	return maxFee(tx), nil
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
		return nil, fmt.Errorf("%w: the fee may reach %s ether; credits are cheaper", ErrPolicy, Ether(fee.String()))
	}
	if ether.Cmp(fee) < 0 {
		return nil, fmt.Errorf("%w: the fee may reach %s ether, the wallet has %s; send some to %s",
			ErrNoGas, Ether(fee.String()), Ether(ether.String()), from)
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
			e.State = stateMined
			return p.journal.write(*e)
		case err == nil:
			e.State = stateReverted
			return errors.Join(fmt.Errorf("%w: transaction %s", ErrReverted, e.TxHash), p.journal.write(*e))
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
	e.State = stateDropped
	return errors.Join(errors.New("the quote ended before the payment was sent: ask again"), p.journal.write(*e))
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
