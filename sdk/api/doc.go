// Package api is the wire vocabulary of the context service: the resources, enumerations, error codes, statuses, prices,
// limits, paths and header names that the daemon, the sdk and every client agree on.
//
// It owns names and shapes, nothing else: it opens no connection, reads no clock and imports the standard library alone, so
// that the server and its clients cannot drift apart. The daemon uses the same structs inside until a shape has to differ.
package api

// Version is the version of the API surface, the description's info.version.
const Version = "0.3.0"

// DefaultListen is the address the daemon listens on unless told otherwise; DefaultBaseURL is how clients reach it there.
const (
	DefaultListen  = "127.0.0.1:8402"
	DefaultBaseURL = "http://127.0.0.1:8402"
)

// Paths of the service, relative to its base URL. Those of operations are what Op.Path returns; no later one has a constant.
const (
	PathFresh     = "/v1/fresh"
	PathBrief     = "/v1/brief"
	PathSearch    = "/v1/search"
	PathSnapshot  = "/v1/snapshot"
	PathSubscribe = "/v1/subscribe"
	PathCite      = "/v1/cite"
	PathLookup    = "/v1/lookup"
	PathChanges   = "/v1/changes"
	PathSeries    = "/v1/series"
	PathHistory   = "/v1/history"
	PathPurchase  = "/v1/credits" // POST; paid by standard x402 alone

	PathPacks       = "/api/packs"
	PathMCP         = "/api/mcp"
	PathMCPAccount  = "/mcp" // the same for who has a key or an account: nothing is paid by call there
	PathOpenAPI     = "/api/openapi"
	PathOpenAPIYAML = "/api/openapi.yaml"
	PathDocs        = "/docs"

	// Where catalogues and agents look, unasked.
	PathOpenAPIRoot = "/openapi.json"
	PathX402        = "/.well-known/x402"
	PathX402Items   = "/.well-known/x402.json"
	PathDID         = "/.well-known/did.json"
	PathLLMs        = "/llms.txt"

	PathServerCard      = PathMCPAccount + "/server-card"
	PathServerCardKnown = "/.well-known/mcp/server-card.json" // the same, for those that look there
	PathAICatalog       = "/.well-known/ai-catalog.json"
	PathMCPCatalog      = "/.well-known/mcp/catalog.json" // the server's entry of it
	PathAPICatalog      = "/.well-known/api-catalog"
	PathSkills          = "/.well-known/agent-skills" // below it a directory for each skill
	PathSkillsIndex     = PathSkills + "/index.json"
	PathSecurity        = "/.well-known/security.txt"
	PathRegistryAuth    = "/.well-known/mcp-registry-auth"

	PathAuthEmail        = "/api/auth/email"
	PathAuthEmailVerify  = "/api/auth/email/verify"
	PathAuthEmailLanding = "/auth/email"
	PathAuthWallet       = "/api/auth/wallet"
	PathAuthWalletVerify = "/api/auth/wallet/verify"
	PathAuthSession      = "/api/auth/session"
	PathAuthIdentities   = "/api/auth/identities"
	PathKeys             = "/api/keys"
	PathCredits          = "/api/console/credits"
	PathUsage            = "/api/console/usage"
	PathOwnWatches       = "/api/console/watches" // of who is signed in, whichever key made them
	PathPrompts          = "/api/console/prompts"
	PathInternalJobs     = "/api/internal/jobs"

	PathHealth = "/healthz"
	PathReady  = "/readyz"
)

// Names of the headers with a special meaning in this API.
const (
	HeaderRequestID    = "X-Request-Id"              // on every response; equal to requestId of an error envelope
	HeaderPayment      = "X-402-Payment"             // base64 of a PaymentProof
	HeaderPaymentAlias = "X-Payment"                 // accepted for HeaderPayment
	HeaderRequired     = "PAYMENT-REQUIRED"          // base64 of a StandardRequired, beside a 402
	HeaderSignature    = "PAYMENT-SIGNATURE"         // base64 of a payment of standard x402; it wins over HeaderPayment
	HeaderSignIn       = "SIGN-IN-WITH-X"            // base64 of a sign-in of a wallet, in place of a payment
	HeaderSettlement   = "PAYMENT-RESPONSE"          // base64 of a StandardReceipt
	HeaderPayerHint    = "X-402-Payer-Hint"          // accepted and ignored
	HeaderDataMode     = "X-Data-Mode"               // DataModeDemo when answers are made from recorded data
	HeaderVersion      = "X-Contextd-Version"        // of the service, where that is a release
	HeaderReplayed     = "Idempotency-Replayed"      // "true" on the stored answer to a proof sent again
	HeaderAge          = "Age"                       // seconds since that answer was first given
	HeaderRetryAfter   = "Retry-After"               // seconds
	HeaderWarning      = "Warning"                   // a fallback was served
	HeaderDailyLeft    = "X-Daily-Credits-Remaining" // that the key may spend today, where it has a bound
	HeaderCreditsLeft  = "X-Credits-Remaining"       // of the owner of the key that called
	HeaderFreeLeft     = "X-Free-Calls-Remaining"
	HeaderFreeReset    = "X-Free-Calls-Reset"   // seconds until there is one more
	HeaderJobTimestamp = "X-Contextd-Timestamp" // Unix seconds, signed
	HeaderJobSignature = "X-Contextd-Signature" // hex HMAC-SHA256 of timestamp, method, path and body
)

// DataModeDemo is the value of HeaderDataMode when the answer was made from recorded, synthetic data.
const DataModeDemo = "demo"

// SessionCookie and SecureSessionCookie are the names of the console session cookie: that of a service on plain HTTP, and that of one on
// https, which browsers take from its own host alone.
const (
	SessionCookie       = "contextd_session"
	SecureSessionCookie = "__Host-" + SessionCookie
)

// CacheImmutable is the Cache-Control of snapshots, and CacheImmutableOwn that of such as were paid for by call, which no shared cache
// keeps.
const (
	CacheImmutable    = "public, max-age=86400, immutable"
	CacheImmutableOwn = "private, max-age=86400, immutable"
)

// CacheRevalidate is the Cache-Control of the list of packs, which may change at any time.
const CacheRevalidate = "public, no-cache"

// CacheHour is the Cache-Control of the description.
const CacheHour = "public, max-age=3600"
