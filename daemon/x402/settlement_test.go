package x402_test

import (
	"testing"

	"github.com/contextd/contextd/daemon/x402"
	"github.com/contextd/contextd/sdk/api"
)

// TestWhatASettlementPaysFor tells a handshake of MCP from the operation whose price it has.
func TestWhatASettlementPaysFor(t *testing.T) {
	t.Parallel()
	for want, s := range map[string]x402.Settlement{
		"fresh":           {Op: api.OpFresh, Fingerprint: x402.Fingerprint("GET", api.OpFresh.Path(), "pack=crypto")},
		"mcp handshake":   {Op: x402.Handshake().Op, Fingerprint: x402.Handshake().Fingerprint},
		"credits starter": {Pack: api.CreditStarter},
	} {
		if got := s.For(); got != want {
			t.Errorf("it says %q, not %q", got, want)
		}
	}
}
