package api

import "time"

// Limits of the specification and of the decisions that fill its gaps. Where the operator can change one, it is the default.
const (
	FreeCallsPerDay = 100            // owners without credits, sliding window
	FreePerClient   = 300            // in the same window, of all keys at one client address
	FreeWindow      = 24 * time.Hour // length of that window
	VolumeWindow    = 30 * 24 * time.Hour
	TraceRetention  = 30 * 24 * time.Hour // raw traces of keys with full consent

	SearchKMin     = 1
	SearchKMax     = 50
	SearchKDefault = 10

	HistoryRetention = 365 * 24 * time.Hour

	DepositWindow     = 30 * time.Minute
	DepositGrace      = 24 * time.Hour // a unique amount stays reserved this long after expiry
	DepositSlots      = 10_000
	MaxPendingDeposit = 3
	MaxUnpaidDeposits = 10 // of an owner in 24 hours
	MaxClientDeposits = 50 // of all owners behind a client address who never paid, in 24 hours
	RecentDeposits    = 20

	QuoteWindow      = 5 * time.Minute
	ProofIdempotency = 24 * time.Hour
	MaxProofBytes    = 4 << 10

	PulseInterval     = 15 * time.Second
	KeepaliveInterval = 25 * time.Second
	StalledReader     = 60 * time.Second // a stream that takes nothing for this long is closed

	StreamsPerFreeKey   = 10
	StreamsPerKey       = 100 // with credits
	StreamsPerFreeOwner = 20
	StreamsPerOwner     = 1_000 // with credits
	Streams             = 10_000
	StreamsWithCredits  = 1_000 // of Streams, kept for keys with credits

	RefreshInterval = 5 * time.Minute
	MaxFreshAge     = 300 // seconds; a greater ageSeconds says that the pipeline lags

	KeyIDLength     = 16
	KeySecretChars  = 32 // base62 characters after the prefix
	MaxActiveKeys   = 25
	MaxDailyCredits = 1_000_000 // that the bound of a key can be
	MaxNewKeys      = 100       // keys made per owner and 24 hours
	MaxNewFreeKeys  = 10        // the same of an owner who has never paid
	MaxRevokedKeys  = 200       // revoked keys without credits that are kept per owner
	MaxSessions     = 50        // of an owner; of more, those used longest ago end
	MaxKeyName      = 64        // runes
	MaxPrompt       = 4_000     // runes

	MaxRotationGrace = 7 * 24 * time.Hour  // until a replaced key ends
	UnpaidRetention  = 90 * 24 * time.Hour // of purchases that nobody paid and settlements that have failed, once they have ended
	OutboxRetention  = 30 * 24 * time.Hour // of mails that are saved in files
	KeyRetention     = 30 * 24 * time.Hour // of revoked keys without credits
	MaxPage          = 200                 // rows of a page of a list

	SessionLifetime = 30 * 24 * time.Hour  // of a session that is not used; its use moves the end
	SessionLongest  = 180 * 24 * time.Hour // of any
	ProofLifetime   = 10 * time.Minute     // of a sign-in as proof of who adds or removes an identity
	SignInLifetime  = 15 * time.Minute
	WalletLifetime  = 5 * time.Minute
	InviteLifetime  = 7 * 24 * time.Hour
	MaxIdentities   = 10 // of an owner

	NewOwnersPerClient = 20 // a day; of IPv6, per /64 and per /48
	NewOwnersPerDay    = 2_000

	MaxBodyBytes = 64 << 10 // request bodies of /v1 and the console
)

// StateUnavailableRetry is the Retry-After, in seconds, of an answer that says that no state or no brief exists yet.
const StateUnavailableRetry = 5
