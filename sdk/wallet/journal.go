package wallet

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/contextd/contextd/internal/usdg"
)

// State is what became of a payment.
type State string

// The states of a payment. What is signed or mined may still be presented; the others are ends.
const (
	stateSigned   State = "signed"   // may have been broadcast
	stateMined    State = "mined"    // is on chain, and was not answered yet
	stateAnswered State = "answered" // its call was answered
	stateReverted State = "reverted" // is on chain and has moved nothing
	stateRefused  State = "refused"  // the service refuses it for good
	stateDropped  State = "dropped"  // can never get on chain: another transaction has its place
)

// entry is a payment in the journal.
type entry struct {
	ID        string      `json:"id"`
	At        time.Time   `json:"at"`
	Service   string      `json:"service"`
	Request   string      `json:"request"`
	Purchase  bool        `json:"purchase,omitempty"` // of credits
	Amount    usdg.Amount `json:"amount"`             // micro-USDG
	Recipient string      `json:"recipient"`
	Payer     string      `json:"payer"`
	Until     int64       `json:"validUntil"` // of the quote, Unix seconds
	TxNonce   uint64      `json:"txNonce"`
	TxHash    string      `json:"txHash"`
	RawTx     string      `json:"rawTx"` // signed; sending it again pays nothing more
	State     State       `json:"state"`
	Note      string      `json:"note,omitempty"`
}

// live reports whether e may still be presented.
func (e entry) live() bool { return e.State == stateSigned || e.State == stateMined }

// journalDir is the name of the journal in the directory of a Config.
const journalDir = "payments"

// journal is a directory with a file for each payment. A file is whole or not there: it is on disk before what it tells of is done.
type journal struct{ dir string }

// all are the payments, oldest first.
func (j journal) all() ([]entry, error) {
	names, err := filepath.Glob(filepath.Join(j.dir, "*.json"))
	if err != nil {
		return nil, fmt.Errorf("read journal of payments: %w", err)
	}
	slices.Sort(names)
	var list []entry
	for _, name := range names {
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

// write puts e on disk, in place of what was there of it.
func (j journal) write(e entry) error {
	text, err := json.MarshalIndent(e, "", "  ")
	if err != nil {
		return fmt.Errorf("write journal of payments: %w", err)
	}
	if err := j.replace(filepath.Join(j.dir, e.ID+".json"), append(text, '\n')); err != nil {
		return fmt.Errorf("write journal of payments: %w", err)
	}
	return nil
}

// replace writes a file whole and has it and its name on disk.
func (j journal) replace(path string, text []byte) (err error) {
	if err := os.MkdirAll(j.dir, 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(path+".new", path); err != nil {
		return err
	}
	d, err := os.Open(j.dir)
	if err != nil {
		return err
	}
	defer d.Close()
	_ = d.Sync() // where directories cannot be synced, the rename has to do
	return nil
}

// pins are the recipients that services were first paid at.
const pinFile = "recipients"

// pin returns the recipient that a service was first paid at, and makes it the given one if there is none.
func (j journal) pin(service, recipient string) (pinned string, err error) {
	path := filepath.Join(j.dir, pinFile)
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("read known recipients: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		if known, address, ok := strings.Cut(strings.TrimSpace(line), " "); ok && known == service {
			return address, nil
		}
	}
	if err := j.replace(path, append(text, service+" "+recipient+"\n"...)); err != nil {
		return "", fmt.Errorf("write known recipients: %w", err)
	}
	return recipient, nil
}
