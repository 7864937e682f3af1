package api

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// List returns the values of an enumeration as text, separated by commas.
func List[T ~string](values []T) string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = string(v)
	}
	return strings.Join(texts, ", ")
}

// Tier is an owner's service level.
type Tier string

// The tiers, lowest first.
const (
	TierFree       Tier = "free"
	TierHobby      Tier = "hobby"
	TierPro        Tier = "pro"
	TierTeam       Tier = "team"
	TierEnterprise Tier = "enterprise"
)

// Tiers returns every tier, lowest first.
func Tiers() []Tier {
	return []Tier{TierFree, TierHobby, TierPro, TierTeam, TierEnterprise}
}

// Valid reports whether t is one of Tiers.
func (t Tier) Valid() bool { return slices.Contains(Tiers(), t) }

// AtLeast reports whether t is min or a higher tier. An unknown tier is below all others.
func (t Tier) AtLeast(min Tier) bool {
	return slices.Index(Tiers(), t) >= slices.Index(Tiers(), min)
}

// MonthlyCalls is the default call volume of t in 30 days for keys with credits; 0 means no limit.
func (t Tier) MonthlyCalls() int {
	switch t {
	case TierHobby:
		return 10_000
	case TierPro:
		return 100_000
	case TierTeam:
		return 1_000_000
	}
	return 0
}

// SnapshotWindow is the default age of the oldest history that t can read.
func (t Tier) SnapshotWindow() time.Duration {
	switch t {
	case TierTeam, TierEnterprise:
		return 365 * 24 * time.Hour
	case TierPro:
		return 30 * 24 * time.Hour
	}
	return 24 * time.Hour
}

// TraceConsent is the consent to traces of a key's calls.
type TraceConsent string

// The trace consents: raw events, counters only, nothing. The default of new keys is ConsentAggregated.
const (
	ConsentFull       TraceConsent = "full"
	ConsentAggregated TraceConsent = "aggregated"
	ConsentNone       TraceConsent = "none"
)

// Consents returns the three consents, from most to least.
func Consents() []TraceConsent { return []TraceConsent{ConsentFull, ConsentAggregated, ConsentNone} }

// Valid reports whether c is one of the three consents.
func (c TraceConsent) Valid() bool {
	return c == ConsentFull || c == ConsentAggregated || c == ConsentNone
}

// AttestationType names an on-chain registry of a later phase.
type AttestationType string

// The attestation types.
const (
	AttestationERC8004 AttestationType = "erc8004"
	AttestationEAS     AttestationType = "eas"
)

// Ids of the built-in packs. All but PackCrypto are served only if the operator enables them.
const (
	PackCrypto  = "crypto"
	PackAI      = "ai"
	PackMarkets = "markets"
	PackPerps   = "perps"

	DefaultPack = PackCrypto
	PackAll     = "*" // of a lookup or query, all packs that the caller may read
)

// KeyEnv is the environment part of an API key.
type KeyEnv string

// The environments: live keys belong to a daemon on the main chain, all others are test keys.
const (
	EnvLive KeyEnv = "live"
	EnvTest KeyEnv = "test"
)

// EnvOfChain returns the environment of keys for a chain.
func EnvOfChain(chainID int64) KeyEnv {
	if chainID == ChainIDMain {
		return EnvLive
	}
	return EnvTest
}

// CreditPack is a bundle of credits on sale.
type CreditPack string

// The credit packs.
const (
	CreditStarter CreditPack = "starter"
	CreditHobby   CreditPack = "hobby"
	CreditPro     CreditPack = "pro"
	CreditTeam    CreditPack = "team"
)

// CreditPacks returns every credit pack, smallest first.
func CreditPacks() []CreditPack {
	return []CreditPack{CreditStarter, CreditHobby, CreditPro, CreditTeam}
}

// CreditOffer is the content and the price of a credit pack.
type CreditOffer struct {
	Pack            CreditPack `json:"pack"`
	Credits         int64      `json:"credits"`
	PriceMicros     int64      `json:"-"`               // micro-USDG
	DiscountPercent int        `json:"discountPercent"` // against the starter pack
	Tier            Tier       `json:"tier"`            // the owner's tier rises to at least this; free raises nothing
}

// Offer returns the content and price of p; ok is false for an unknown pack.
func (p CreditPack) Offer() (offer CreditOffer, ok bool) {
	switch p {
	case CreditStarter:
		return CreditOffer{p, 1_000, 1_000_000, 0, TierFree}, true
	case CreditHobby:
		return CreditOffer{p, 10_000, 8_000_000, 20, TierHobby}, true
	case CreditPro:
		return CreditOffer{p, 100_000, 70_000_000, 30, TierPro}, true
	case CreditTeam:
		return CreditOffer{p, 1_000_000, 600_000_000, 40, TierTeam}, true
	}
	return CreditOffer{}, false
}

// DepositStatus is the status of a deposit.
type DepositStatus string

// The deposit statuses. Pending moves to one of the other two and never back.
const (
	DepositPending  DepositStatus = "pending"
	DepositVerified DepositStatus = "verified"
	DepositExpired  DepositStatus = "expired"
)

// Constants of payment requirements and chain ids.
const (
	SchemeX402  = "x402"
	NetworkL2   = "l2chain"
	AssetUSDG   = "USDG"
	ChainIDMain = 4663
	ChainIDTest = 46630
)

// ChainName is what people call a chain, with its id.
func ChainName(id int64) string {
	name := map[int64]string{
		1: "Ethereum", 8453: "Base", 84532: "Base Sepolia", ChainIDMain: "Robinhood Chain", ChainIDTest: "Robinhood Chain testnet",
	}[id]
	if name == "" {
		return fmt.Sprintf("chain %d", id)
	}
	return fmt.Sprintf("%s, chain %d", name, id)
}
