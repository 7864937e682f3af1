package metrics_test

import (
	"context"

	"github.com/contextd/contextd/daemon/x402"
	"github.com/contextd/contextd/sdk/api"
)

// desk gives every call the answer that it had before.
type desk struct{}

func (desk) Quote(x402.Subject) (api.PaymentRequirements, error) {
	return api.PaymentRequirements{}, nil
}

func (desk) Claim(context.Context, x402.Proof, x402.Subject) (*x402.Claim, error) {
	return &x402.Claim{Replay: &x402.StoredAnswer{}}, nil
}

func subject() x402.Subject { return x402.Subject{} }
func proof() x402.Proof     { return x402.Proof{} }
