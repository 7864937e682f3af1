package wallet

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"

	"github.com/contextd/contextd/sdk/api"
)

// StoppedError says that a service has refused a payment that was made to it, so that nothing more is paid to it until AllowService says
// otherwise. Nothing was signed.
type StoppedError struct {
	Refused Payment
}

// Error tells of the payment that was refused.
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

// AllowService has a service be paid again that has refused payments, by the journal in dir, the Dir of a Config, and returns these.
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
