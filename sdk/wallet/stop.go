package wallet

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"

	"github.com/contextd/contextd/sdk/api"
)

// StoppedError reports that a service refused an earlier payment: it is paid nothing more until AllowService. Nothing was signed.
type StoppedError struct {
	Refused Payment
}

// Error returns the refused payment.
func (e *StoppedError) Error() string {
	asset := cmp.Or(e.Refused.Asset, api.AssetUSDG)
	did := "paid"
	if e.Refused.TxHash == "" {
		did = "allowed to take"
	}
	return fmt.Sprintf("nothing more is paid to %s: it was %s %s %s for %s with %s, and refused that: %s",
		e.Refused.Service, did, e.Refused.Amount, asset, e.Refused.Request, e.Refused.By(), e.Refused.Note)
}

// checkStopped refuses a service that has refused a payment. Which one comes after it is not looked at: a service that takes money for
// nothing answers now and then.
func checkStopped(service string, past []entry) error {
	for _, e := range past {
		if e.Stops && e.Service == service {
			return &StoppedError{e.payment()}
		}
	}
	return nil
}

// checkSend refuses to go on with e where that may send it to a service that is paid nothing more. What is on chain already goes on.
func checkSend(e entry, past []entry) error {
	if e.State != stateSigned {
		return nil
	}
	return checkStopped(e.Service, past)
}

// AllowService allows payments to a service again after it refused some, in the journal of dir, the Dir of a Config, and returns the
// refused ones.
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
		if !e.Stops || e.Service != service {
			continue
		}
		e.Stops = false
		if err := j.write(e); err != nil {
			return nil, err
		}
		refused = append(refused, e.payment())
	}
	return refused, nil
}
