package sdk

import (
	"context"
	"net/http"
)

// Passes waits as an answer to a payment asks, and reports whether the payment is shown again.
func Passes(ctx context.Context, p Payment, resp *http.Response) bool { return passes(ctx, p, resp) }
