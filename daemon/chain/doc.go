// Package chain reads the chain over JSON-RPC and knows how its signatures and addresses are written.
//
// It is the only ethclient of the daemon. What it returns are plain facts: whether a payment counts is for daemon/x402 and
// daemon/billing to say.
package chain
