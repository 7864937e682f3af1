package x402

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"math/big"
	"time"

	"github.com/contextd/contextd/internal/usdg"
	"github.com/contextd/contextd/sdk/api"
)

// Payment is the chain's data of a transaction.
type Payment struct {
	ChainID   int64 // 0 where the chain does not say
	From, To  string
	Input     []byte
	Succeeded bool
	Block     uint64
	BlockHash [32]byte
	At        time.Time // of the block
	Transfers []Transfer
	GasUsed   uint64
	Fee       *big.Int // that the sender has paid for it, in wei; nil where the chain does not say
}

// Transfer is a Transfer log of an ERC-20 token, of any contract.
type Transfer struct {
	Contract string
	From, To string
	Amount   uint64 // of the token's smallest unit; the greatest number stands for all that are greater
	LogIndex uint64 // place among the logs of its transaction; that in the block changes in a reorganisation

	Authorized    bool     // by EIP-3009: From signed it, anyone may send the transaction
	Authorization [32]byte // its nonce then
}

// Parts of the calldata of transfer(address,uint256).
const (
	selector     = "\xa9\x05\x9c\xbb"
	wordSize     = 32
	addressSize  = 20
	recipientEnd = len(selector) + wordSize
	amountEnd    = recipientEnd + wordSize
	maxInput     = 4 << 10 // of calldata that is searched for a nonce
)

// verify compares what the chain shows with what was quoted for s, and returns the log that pays for it and when that was quoted.
func (q *Quoter) verify(p Payment, proof Proof, s Subject) (paid Transfer, quoted time.Time, err error) {
	price := uint64(s.Price())
	if err := q.verifyCall(p, proof); err != nil {
		return paid, quoted, err
	}
	until, nonce, ok := q.findNonce(p.Input[amountEnd:], s)
	quoted = until.Add(-api.QuoteWindow)
	switch amount, whole := word(p.Input[recipientEnd:amountEnd]); {
	case !ok:
		return paid, quoted, refused(api.ReasonNonceMismatch, "the calldata has no nonce of a quote for this request")
	case !usdg.SameAddress(hex.EncodeToString(p.Input[recipientEnd-addressSize:recipientEnd]), q.Treasury):
		return paid, quoted, refused(api.ReasonWrongRecipient, "the transfer goes to another address than the treasury")
	case !whole || amount != price:
		return paid, quoted, refused(api.ReasonAmountMismatch, "the transfer is not exactly the quoted amount")
	case p.At.After(until):
		return paid, quoted, refused(api.ReasonQuoteExpired, "the payment reached a block %s after the quote ended",
			p.At.Sub(until).Round(time.Second))
	case p.At.Before(quoted.Add(-maxSkew)):
		return paid, quoted, refused(api.ReasonNonceMismatch, "the payment is older than the quote")
	}
	paid, err = q.onlyTransfer(p, price)
	if err == nil && proof.Signature != "" {
		err = q.checkSignature(proof, nonce)
	}
	return paid, quoted, err
}

// verifyCall checks that p is a direct call of transfer by the payer that did not fail.
func (q *Quoter) verifyCall(p Payment, proof Proof) error {
	switch {
	case p.ChainID != 0 && p.ChainID != q.ChainID:
		return refused(api.ReasonWrongNetwork, "the transaction is for chain %d, not %d", p.ChainID, q.ChainID)
	case !p.Succeeded:
		return refused(api.ReasonTxFailed, "the transaction failed on chain and moved nothing")
	case !usdg.SameAddress(p.To, q.Token):
		return refused(api.ReasonWrongToken, "the transaction is not a direct call of the %s contract: contract wallets, and "+
			"transfers through other contracts, cannot pay", api.AssetUSDG)
	case !usdg.SameAddress(p.From, proof.Payer):
		return refused(api.ReasonPayerMismatch, "the transaction was not sent by the payer in the proof")
	case len(p.Input) < amountEnd || string(p.Input[:len(selector)]) != selector:
		return refused(api.ReasonWrongToken, "the transaction calls another function than transfer")
	}
	return nil
}

// maxSkew is how far the clock of the chain may be behind ours.
const maxSkew = time.Minute

// refused is the answer to a proof that is refused for good.
func refused(reason api.Reason, format string, args ...any) *api.Error {
	return api.Errorf(reason, format, args...).
		WithHint("this payment cannot pay for this request; repeat it without a proof for a new quote")
}

// onlyTransfer is the one log of p by which the token came to the treasury.
func (q *Quoter) onlyTransfer(p Payment, price uint64) (paid Transfer, err error) {
	found := 0
	for _, t := range p.Transfers {
		if usdg.SameAddress(t.Contract, q.Token) && usdg.SameAddress(t.To, q.Treasury) && usdg.SameAddress(t.From, p.From) {
			paid = t
			found++
		}
	}
	switch {
	case found == 0:
		return paid, refused(api.ReasonWrongRecipient, "the transaction has no transfer of %s from the payer to the treasury",
			api.AssetUSDG)
	case found > 1 || paid.Amount != price:
		return paid, refused(api.ReasonAmountMismatch, "the transaction moved another amount than quoted, or several")
	}
	return paid, nil
}

// findNonce looks for a nonce that was made for s in rest, the calldata behind its parameters: as bytes or spelled out, anywhere,
// because wallets put notes of their own there too.
func (q *Quoter) findNonce(rest []byte, s Subject) (until time.Time, nonce [NonceSize]byte, ok bool) {
	rest = rest[:min(len(rest), maxInput)]
	for i := 0; i+NonceSize <= len(rest); i++ {
		copy(nonce[:], rest[i:])
		if until, ok := q.Made(nonce, s); ok {
			return until, nonce, true
		}
	}
	for {
		at := bytes.Index(bytes.ToLower(rest), []byte("0x"))
		if at < 0 {
			return time.Time{}, nonce, false
		}
		rest = rest[at+2:]
		if len(rest) < 2*NonceSize {
			return time.Time{}, nonce, false
		}
		if _, err := hex.Decode(nonce[:], rest[:2*NonceSize]); err != nil {
			continue
		}
		if until, ok := q.Made(nonce, s); ok {
			return until, nonce, true
		}
	}
}

// word is a 32-byte number, if it is one that fits.
func word(b []byte) (n uint64, ok bool) {
	return binary.BigEndian.Uint64(b[wordSize-8:]), bytes.Equal(b[:wordSize-8], make([]byte, wordSize-8))
}

// checkSignature checks what the payer has signed.
func (q *Quoter) checkSignature(proof Proof, nonce [NonceSize]byte) error {
	if q.Recover == nil {
		return nil
	}
	signer, err := q.Recover(SignedText(proof.Hash, "0x"+hex.EncodeToString(nonce[:])), proof.Signature)
	if err != nil || !usdg.SameAddress(signer, proof.Payer) {
		return refused(api.ReasonPayerMismatch, "the signature in the proof is not the payer's")
	}
	return nil
}
