package wallet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/contextd/contextd/internal/atomicfile"
	"github.com/contextd/contextd/internal/usdg"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

// State is the state of a payment.
type State string

// The states of a payment. Signed and mined payments may still be presented; the others are final, but for an authorization that was
// refused: the service may settle it until it lapses.
const (
	stateSigned   State = "signed"   // may have been broadcast
	stateMined    State = "mined"    // is on chain, and was not answered yet
	stateAnswered State = "answered" // its call was answered
	stateReverted State = "reverted" // is on chain and has moved nothing
	stateRefused  State = "refused"  // the service refuses it for good
	stateDropped  State = "dropped"  // was never on chain, and is not sent any more
	stateLapsed   State = "lapsed"   // an authorization that is over and was not answered; whether it was settled is not known
)

type entry struct {
	ID        string      `json:"id"`
	At        time.Time   `json:"at"`
	Service   string      `json:"service"`
	Request   string      `json:"request"`
	Purchase  bool        `json:"purchase,omitempty"` // of credits
	Amount    usdg.Amount `json:"amount"`             // micro-USDG
	Recipient string      `json:"recipient"`
	Payer     string      `json:"payer"`
	ChainID   int64       `json:"chainId,omitempty"` // 0 in entries from before it was noted, as the token
	Token     string      `json:"token,omitempty"`
	Until     int64       `json:"validUntil"` // of the quote, Unix seconds
	TxNonce   uint64      `json:"txNonce"`
	TxHash    string      `json:"txHash"`
	RawTx     string      `json:"rawTx"`               // signed; sending it again pays nothing more
	Signature string      `json:"signature,omitempty"` // of the proof, with which alone the service gives the answer again
	State     State       `json:"state"`
	Note      string      `json:"note,omitempty"`
	Stops     bool        `json:"stops,omitempty"` // it was refused, and nobody has allowed the service to be paid since
	Empty     bool        `json:"empty,omitempty"` // it was sent and brought no answer, likewise
	Exact     *exact      `json:"exact,omitempty"` // nil for a transaction

	Receipt *api.SignedReceipt `json:"receipt,omitempty"` // of the service, nil where it signs none
}

// exact is what an entry has of an authorization of x402, in place of a transaction.
type exact struct {
	Asset   string `json:"asset"`   // its name, for people
	Nonce   string `json:"nonce"`   // 0x and 64 digits; names the authorization
	Payload []byte `json:"payload"` // as it is sent, signed; sending it again pays nothing more
	Bare    bool   `json:"bare"`    // the request has no body and no headers of its own
}

// live reports whether e may still be presented.
func (e entry) live() bool { return e.State == stateSigned || e.State == stateMined }

// name is what a payment is known by: the hash of its transaction, or the nonce of its authorization.
func (e entry) name() string {
	if e.Exact != nil {
		return e.Exact.Nonce
	}
	return e.TxHash
}

// by names the transaction or the authorization.
func (e entry) by() string {
	if e.Exact != nil {
		return "authorization " + e.Exact.Nonce
	}
	return "transaction " + e.TxHash
}

// is reports whether e pays for a request of a service, which an earlier version may have spelled otherwise.
func (e entry) is(q sdk.Quote) bool {
	same := e.Request == q.Request || q.Canonical != "" && q.Canonical == sdk.CanonicalRequest(e.Service, e.Request)
	return e.Service == q.Service && same
}

// transitions are the states that may follow one. A mined payment is never dropped: a node that forgets it would have it paid twice.
func transitions(from State) []State {
	switch from {
	case stateSigned:
		return []State{stateMined, stateAnswered, stateReverted, stateRefused, stateDropped, stateLapsed}
	case stateMined:
		return []State{stateMined, stateAnswered, stateReverted, stateRefused, stateLapsed}
	case stateRefused:
		return []State{stateMined, stateAnswered, stateRefused, stateLapsed}
	}
	return nil
}

// advance puts e in another state, on disk first: what is not written has not happened.
func (j journal) advance(e *entry, to State) error {
	if !slices.Contains(transitions(e.State), to) {
		return fmt.Errorf("write journal of payments: %s is %s, and cannot be %s", j.file(*e), e.State, to)
	}
	next := *e
	next.State = to
	if err := j.write(next); err != nil {
		return err
	}
	*e = next
	return nil
}

// journalDir is the name of the journal in the directory of a Config.
const journalDir = "payments"

// journal is a directory with a file for each payment. A file is whole or not there: it is on disk before what it tells of is done.
type journal struct{ dir string }

// all are the payments, oldest first.
func (j journal) all() ([]entry, error) {
	files, err := os.ReadDir(j.dir) // sorted by name
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("read journal of payments: %w", err)
	}
	var list []entry
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".json") {
			continue
		}
		name := filepath.Join(j.dir, f.Name())
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("read journal of payments: %w", err)
		}
		var e entry
		if err := json.Unmarshal(text, &e); err != nil {
			return nil, fmt.Errorf("read journal of payments: %s is not JSON", name)
		}
		list = append(list, e)
	}
	return list, nil
}

func (j journal) file(e entry) string { return filepath.Join(j.dir, e.ID+".json") }

// write puts e on disk, in place of what was there of it.
func (j journal) write(e entry) error {
	text, err := json.MarshalIndent(e, "", "  ")
	if err != nil {
		return fmt.Errorf("write journal of payments: %w", err)
	}
	if err := replace(j.file(e), append(text, '\n')); err != nil {
		return fmt.Errorf("write journal of payments: %w", err)
	}
	return nil
}

// replace writes a file as a whole and has it and its name on disk, in a directory that it makes if need be.
func replace(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return atomicfile.Write(path, text, 0o600)
}

// lock waits until nobody else pays from the address.
func (j journal) lock(ctx context.Context, address string) (unlock func(), err error) {
	return j.hold(ctx, strings.ToLower(address))
}

// hold waits until nobody else holds what is called name.
func (j journal) hold(ctx context.Context, name string) (release func(), err error) {
	if err := os.MkdirAll(j.dir, 0o700); err != nil {
		return nil, fmt.Errorf("make journal of payments: %w", err)
	}
	held := flock.New(filepath.Join(j.dir, name+".lock"))
	const poll = 20 * time.Millisecond
	if ok, err := held.TryLockContext(ctx, poll); err != nil || !ok {
		return nil, fmt.Errorf("wait for another payment of the wallet: %w", err)
	}
	return func() { _ = held.Unlock() }, nil
}

// pinFile has the recipients that services were first paid at.
const pinFile = "recipients"

// Pin is the recorded recipient of a service.
type Pin struct {
	Service   string `json:"service"`
	Recipient string `json:"recipient"`
}

// pins are all of them, in the order in which they became known.
func (j journal) pins() ([]Pin, error) {
	text, err := os.ReadFile(filepath.Join(j.dir, pinFile))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("read known recipients: %w", err)
	}
	var list []Pin
	for line := range strings.Lines(string(text)) {
		if service, address, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			list = append(list, Pin{service, address})
		}
	}
	return list, nil
}

// pin makes the recipient of a service the one that change says, given the one that is known, each "" for none, and returns it. Wallets
// share the file, so it is changed by one at a time.
func (j journal) pin(ctx context.Context, service string, change func(known string) string) (string, error) {
	release, err := j.hold(ctx, pinFile)
	if err != nil {
		return "", err
	}
	defer release()
	list, err := j.pins()
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(list, func(p Pin) bool { return p.Service == service })
	known := ""
	if i >= 0 {
		known = list[i].Recipient
		list = slices.Delete(list, i, i+1)
	}
	next := change(known)
	if next == known {
		return known, nil
	}
	if next != "" {
		list = append(list, Pin{service, next})
	}
	var text strings.Builder
	for _, p := range list {
		fmt.Fprintf(&text, "%s %s\n", p.Service, p.Recipient)
	}
	if err := replace(filepath.Join(j.dir, pinFile), []byte(text.String())); err != nil {
		return "", fmt.Errorf("write known recipients: %w", err)
	}
	return next, nil
}

// recipient notes where a service is paid when it is first paid, and refuses another later.
func (j journal) recipient(ctx context.Context, service, recipient string) (string, error) {
	pinned, err := j.pin(ctx, service, func(known string) string {
		if known == "" {
			return recipient
		}
		return known
	})
	if err != nil {
		return "", err
	}
	return recipient, checkRecipient(service, pinned, recipient)
}

// checkRecipient refuses a recipient that is another than the one that a service was paid at before, "" for none.
func checkRecipient(service, pinned, recipient string) error {
	if pinned == "" || pinned == recipient {
		return nil
	}
	return fmt.Errorf("%w: %s was paid at %s, now wants %s; if that is right: ctx pay policy trust %s %s",
		ErrRecipient, service, pinned, recipient, service, recipient)
}

// Payment is a payment in the journal.
type Payment struct {
	At        time.Time   `json:"at"`
	Service   string      `json:"service"`
	Request   string      `json:"request"`
	Amount    usdg.Amount `json:"amountMicros"`
	Recipient string      `json:"recipient"`
	Payer     string      `json:"payer"`
	TxHash    string      `json:"txHash"`
	State     State       `json:"state"`
	Note      string      `json:"note,omitempty"`
	Purchase  bool        `json:"purchase,omitempty"` // of credits: Request names the deposit, or is the one that an authorization was for
	Live      bool        `json:"unfinished"`         // may still be presented
	Stops     bool        `json:"stops,omitempty"`    // was refused: nothing more is paid to Service before AllowService

	// Of an authorization of standard x402, whose TxHash is known after the service reports it.
	Authorization string    `json:"authorization,omitempty"` // its nonce
	Asset         string    `json:"asset,omitempty"`
	Network       string    `json:"network,omitempty"`
	Until         time.Time `json:"validUntil,omitzero"` // until then it can be settled
	Bare          bool      `json:"-"`                   // Request says all of the request

	// Receipt is what the service has signed, which SignerOfReceipt says by which key; nil for nothing.
	Receipt *api.SignedReceipt `json:"receipt,omitempty"`
}

// By names the transaction or the authorization.
func (p Payment) By() string {
	if p.TxHash == "" {
		return "authorization " + p.Authorization
	}
	return "transaction " + p.TxHash
}

// Payments returns the payments in the journal of dir, the Dir of a Config, oldest first.
func Payments(dir string) ([]Payment, error) {
	all, err := journal{filepath.Join(dir, journalDir)}.all()
	var list []Payment
	for _, e := range all {
		list = append(list, e.payment())
	}
	return list, err
}

func (e entry) payment() Payment {
	p := Payment{At: e.At, Service: e.Service, Request: e.Request, Amount: e.Amount, Recipient: e.Recipient, Payer: e.Payer,
		TxHash: e.TxHash, State: e.State, Note: e.Note, Purchase: e.Purchase, Live: e.live(), Stops: e.Stops, Receipt: e.Receipt}
	if e.Exact != nil {
		p.Authorization, p.Asset, p.Bare = e.Exact.Nonce, e.Exact.Asset, e.Exact.Bare
		p.Network, p.Until = Asset{ChainID: e.ChainID}.Network(), time.Unix(e.Until, 0).UTC()
	}
	return p
}
