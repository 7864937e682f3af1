package api_test

import (
	"testing"
	"time"

	"github.com/contextd/contextd/sdk/api"
)

// TestLimits compares the limits with the pages that set them, so that none changes in passing.
func TestLimits(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	durations := map[string][2]time.Duration{
		"free window":                {api.FreeWindow, day},
		"volume window":              {api.VolumeWindow, 30 * day},
		"history retention":          {api.HistoryRetention, 365 * day},
		"deposit window":             {api.DepositWindow, 30 * time.Minute},
		"deposit grace":              {api.DepositGrace, day},
		"quote window":               {api.QuoteWindow, 5 * time.Minute},
		"proof idempotency":          {api.ProofIdempotency, day},
		"pulse interval":             {api.PulseInterval, 15 * time.Second},
		"keepalive interval":         {api.KeepaliveInterval, 25 * time.Second},
		"stalled reader":             {api.StalledReader, time.Minute},
		"refresh interval":           {api.RefreshInterval, 5 * time.Minute},
		"session lifetime":           {api.SessionLifetime, 30 * day},
		"longest session":            {api.SessionLongest, 180 * day},
		"fresh proof":                {api.ProofLifetime, 10 * time.Minute},
		"invitation":                 {api.InviteLifetime, 7 * day},
		"sign-in link":               {api.SignInLifetime, 15 * time.Minute},
		"state unavailable, retry":   {api.StateUnavailableRetry * time.Second, 5 * time.Second},
		"age that says lag, refresh": {api.MaxFreshAge * time.Second, api.RefreshInterval},
	}
	for name, pair := range durations {
		if pair[0] != pair[1] {
			t.Errorf("%s is %v, want %v", name, pair[0], pair[1])
		}
	}
	numbers := map[string][2]int{
		"free calls a day": {api.FreeCallsPerDay, 100},
		"smallest k":       {api.SearchKMin, 1},
		"largest k":        {api.SearchKMax, 50},
		"default k":        {api.SearchKDefault, 10},
		"deposit slots":    {api.DepositSlots, 10_000},
		"pending deposits": {api.MaxPendingDeposit, 3},
		"recent deposits":  {api.RecentDeposits, 20},
		"proof bytes":      {api.MaxProofBytes, 4096},
		"keyId length":     {api.KeyIDLength, 16},
		"key secret":       {api.KeySecretChars, 32},
		"active keys":      {api.MaxActiveKeys, 25},
		"bound of a day":   {api.MaxDailyCredits, 1_000_000},
		"free streams":     {api.StreamsPerFreeKey, 10},
		"streams":          {api.StreamsPerKey, 100},
		"streams in all":   {api.Streams, 10_000},
		"new per client":   {api.NewOwnersPerClient, 20},
		"new per day":      {api.NewOwnersPerDay, 2000},
	}
	for name, pair := range numbers {
		if pair[0] != pair[1] {
			t.Errorf("%s is %d, want %d", name, pair[0], pair[1])
		}
	}
}

// TestNames compares what is spelled on the wire with the pages that spell it.
func TestNames(t *testing.T) {
	t.Parallel()
	for got, want := range map[string]string{
		api.Version:         "0.3.0",
		api.PathMCP:         "/api/mcp",
		api.PathPacks:       "/api/packs",
		api.PathOpenAPI:     "/api/openapi",
		api.PathOpenAPIYAML: "/api/openapi.yaml",
		api.PathDocs:        "/docs",
		api.PathOpenAPIRoot: "/openapi.json",
		api.PathX402:        "/.well-known/x402",
		api.PathX402Items:   "/.well-known/x402.json",
		api.PathDID:         "/.well-known/did.json",
		api.PathLLMs:        "/llms.txt",

		api.PathServerCard:      "/mcp/server-card",
		api.PathServerCardKnown: "/.well-known/mcp/server-card.json",
		api.PathAICatalog:       "/.well-known/ai-catalog.json",
		api.PathMCPCatalog:      "/.well-known/mcp/catalog.json",
		api.PathAPICatalog:      "/.well-known/api-catalog",
		api.PathSkillsIndex:     "/.well-known/agent-skills/index.json",
		api.PathSecurity:        "/.well-known/security.txt",
		api.PathRegistryAuth:    "/.well-known/mcp-registry-auth",
		api.PathAuthEmail:       "/api/auth/email",
		api.PathAuthWallet:      "/api/auth/wallet",
		api.PathAuthSession:     "/api/auth/session",
		api.PathKeys:            "/api/keys",
		api.PathCredits:         "/api/console/credits",
		api.PathUsage:           "/api/console/usage",
		api.PathOwnWatches:      "/api/console/watches",
		api.PathPrompts:         "/api/console/prompts",
		api.PathInternalJobs:    "/api/internal/jobs",
		api.PathHealth:          "/healthz",
		api.PathReady:           "/readyz",
		api.HeaderRequestID:     "X-Request-Id",
		api.HeaderPayment:       "X-402-Payment",
		api.HeaderPaymentAlias:  "X-Payment",
		api.HeaderPayerHint:     "X-402-Payer-Hint",
		api.HeaderDataMode:      "X-Data-Mode",
		api.DataModeDemo:        "demo",
		api.HeaderReplayed:      "Idempotency-Replayed",
		api.HeaderAge:           "Age",
		api.HeaderCreditsLeft:   "X-Credits-Remaining",
		api.HeaderDailyLeft:     "X-Daily-Credits-Remaining",
		api.HeaderFreeLeft:      "X-Free-Calls-Remaining",
		api.HeaderFreeReset:     "X-Free-Calls-Reset",
		api.HeaderJobTimestamp:  "X-Contextd-Timestamp",
		api.HeaderJobSignature:  "X-Contextd-Signature",
		api.SessionCookie:       "contextd_session", api.SecureSessionCookie: "__Host-contextd_session",
		api.CacheImmutable: "public, max-age=86400, immutable", api.CacheImmutableOwn: "private, max-age=86400, immutable",
		api.CacheHour: "public, max-age=3600",

		api.PathAuthEmailVerify:  "/api/auth/email/verify",
		api.PathAuthEmailLanding: "/auth/email",
		api.PathAuthWalletVerify: "/api/auth/wallet/verify",
		api.HeaderRetryAfter:     "Retry-After",
		api.HeaderWarning:        "Warning",
	} {
		if got != want {
			t.Errorf("spelled %q, want %q", got, want)
		}
	}
	if want := "http://" + api.DefaultListen; api.DefaultBaseURL != want {
		t.Errorf("clients look for the daemon at %s, and it listens at %s", api.DefaultBaseURL, want)
	}
}
