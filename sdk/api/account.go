package api

import (
	"encoding/json"
	"time"
)

// APIKeyRow describes a key without its secret.
type APIKeyRow struct {
	KeyID        string       `json:"keyId"` // the first KeyIDLength characters of the key; safe to log
	Name         string       `json:"name"`
	Tier         Tier         `json:"tier"`
	CreatedAt    time.Time    `json:"createdAt"`
	LastUsedAt   *time.Time   `json:"lastUsedAt"` // nil if never used
	RevokedAt    *time.Time   `json:"revokedAt"`  // nil while active
	TraceConsent TraceConsent `json:"traceConsent"`
	RevokesAt    *time.Time   `json:"revokesAt,omitempty"`    // when a key ends that was replaced by another, or an agent's; nil for all others
	Unmetered    bool         `json:"unmetered,omitempty"`    // its calls are counted and not charged
	DailyCredits *int64       `json:"dailyCredits,omitempty"` // that it spends in a UTC day at most; nil means no bound
	OAuth        *Grant       `json:"oauth,omitempty"`        // of an agent that has signed in, which has no key; nil for keys
}

// Grant is what an owner has agreed to with an agent that has signed in.
type Grant struct {
	ClientID string   `json:"clientId"`
	Client   string   `json:"client"`           // what it calls itself
	Redirect string   `json:"redirect"`         // host, or scheme, where its sign-in leads back to
	Scopes   []string `json:"scopes"`           // such as ScopeRead
	Packs    []string `json:"packs,omitempty"`  // that it may read; none means all
	Copied   bool     `json:"copied,omitempty"` // a code or token of it was used again, so somebody has a copy: the key has ended for that
}

// The scopes of a Grant. There is none to buy, to make keys or to withdraw.
const (
	ScopeRead   = "context:read"     // operations that read
	ScopeEvents = "events:subscribe" // streams and watches
)

// CreateKeyRequest is the body of POST /api/keys. An empty TraceConsent means ConsentAggregated.
type CreateKeyRequest struct {
	Name         string       `json:"name"`
	TraceConsent TraceConsent `json:"traceConsent,omitempty"`
	DailyCredits *int64       `json:"dailyCredits,omitempty"` // 1 to MaxDailyCredits; nil means no bound
}

// EditKeyRequest is the body of PATCH /api/keys/{keyId}. What is left out stays as it is.
type EditKeyRequest struct {
	Name         string      `json:"name,omitempty"`
	DailyCredits BoundChange `json:"dailyCredits,omitzero"`
}

// BoundChange changes a bound; the zero value leaves it as it is.
type BoundChange struct {
	Set bool
	To  *int64 // nil, null in JSON, means no bound
}

// MarshalJSON writes the bound.
func (c BoundChange) MarshalJSON() ([]byte, error) { return json.Marshal(c.To) }

// UnmarshalJSON reads a bound, which is a change also where it is null.
func (c *BoundChange) UnmarshalJSON(text []byte) error {
	c.Set = true
	return json.Unmarshal(text, &c.To)
}

// IssuedKey is the answer of key creation, the only one that ever carries the key.
type IssuedKey struct {
	Key       string    `json:"key"`
	KeyID     string    `json:"keyId"`
	Name      string    `json:"name"`
	Tier      Tier      `json:"tier"`
	CreatedAt time.Time `json:"createdAt"`
	Unmetered bool      `json:"unmetered,omitempty"` // its calls are counted and not charged

	DailyCredits *int64 `json:"dailyCredits,omitempty"` // that it spends in a UTC day at most; nil means no bound

	CreditBalance *int64     `json:"creditBalance,omitempty"` // credits on a key that was bought with them, or that replaces another
	RevokesAt     *time.Time `json:"revokesAt,omitempty"`     // and when the other one ends
}

// BoughtKey answers a payment that already bought credits. It leaves out the key, which only the first answer carries.
type BoughtKey struct {
	KeyID         string    `json:"keyId"`
	Name          string    `json:"name"`
	Tier          Tier      `json:"tier"`
	CreatedAt     time.Time `json:"createdAt"`
	CreditBalance int64     `json:"creditBalance"` // on the key now
	Hint          string    `json:"hint"`          // the next step if the key is lost
}

// RotateKeyRequest is the body of POST /api/keys/{keyId}/rotate, which may be empty.
type RotateKeyRequest struct {
	Name         string `json:"name,omitempty"`         // of the new key; empty means that of the old one
	GraceSeconds int64  `json:"graceSeconds,omitempty"` // until the old key ends, at most MaxRotationGrace
}

// KeyListResponse lists the keys of an owner, newest first.
type KeyListResponse struct {
	Keys       []APIKeyRow `json:"keys"`
	NextCursor string      `json:"nextCursor,omitempty"` // where the next page begins; empty on the last, and where no limit was given
}

// RevokeResponse is the answer of a revocation. StrandedCredits stay on the revoked key's record.
type RevokeResponse struct {
	OK              bool      `json:"ok"`
	RevokedAt       time.Time `json:"revokedAt"`
	StrandedCredits int64     `json:"strandedCredits"`
}

// Session describes the signed-in owner of a console session.
type Session struct {
	UserID    string    `json:"userId"`
	Email     *string   `json:"email"`
	Address   *string   `json:"address"`
	Tier      Tier      `json:"tier"`
	ExpiresAt time.Time `json:"expiresAt"`
}

// EmailSignInRequest asks for a sign-in link by mail.
type EmailSignInRequest struct {
	Email string `json:"email"`
}

// EmailSignInResponse says until when the link works. It is the same whether or not the address is known.
type EmailSignInResponse struct {
	ExpiresAt time.Time `json:"expiresAt"`
}

// EmailVerifyRequest redeems the token of a mailed link.
type EmailVerifyRequest struct {
	Token  string `json:"token"`
	Invite string `json:"invite,omitempty"` // an invitation, where new owners need one
}

// WalletSignInRequest asks for a message for a wallet to sign.
type WalletSignInRequest struct {
	Address string `json:"address"`
}

// WalletSignInResponse carries the message to sign (EIP-4361).
type WalletSignInResponse struct {
	Message   string    `json:"message"`
	ExpiresAt time.Time `json:"expiresAt"`
}

// WalletVerifyRequest redeems a signed message.
type WalletVerifyRequest struct {
	Message   string `json:"message"`
	Signature string `json:"signature"`
	Invite    string `json:"invite,omitempty"` // an invitation, where new owners need one
}

// IdentityKind is the kind of an Identity.
type IdentityKind string

// The kinds of identities.
const (
	IdentityEmail  IdentityKind = "email"
	IdentityWallet IdentityKind = "wallet"
)

// Identity is a mail address or a wallet of an owner, for signing in. Subject is the address: mail in lower case, a wallet with the
// checksum of EIP-55.
type Identity struct {
	ID        string       `json:"id"`
	Kind      IdentityKind `json:"kind"`
	Subject   string       `json:"subject"`
	CreatedAt time.Time    `json:"createdAt"` // when it was added to the account
}

// IdentityListResponse lists the identities of an owner, oldest first.
type IdentityListResponse struct {
	Identities []Identity `json:"identities"`
}

// Deposit is one purchase of credits.
type Deposit struct {
	ID           string        `json:"id"`
	UserID       string        `json:"userId"`
	KeyID        *string       `json:"keyId"` // nil means the owner's default key
	Rail         string        `json:"rail"`  // chain and token on which it is to be paid, or was
	Pack         CreditPack    `json:"pack"`
	Credits      int64         `json:"credits"`
	AmountUSDC   string        `json:"amountUsdc"` // USDG, exactly six decimals
	Status       DepositStatus `json:"status"`
	TxHash       *string       `json:"txHash"`
	PayerAddress *string       `json:"payerAddress"`
	Nonce        string        `json:"nonce"`
	CreatedAt    time.Time     `json:"createdAt"`
	VerifiedAt   *time.Time    `json:"verifiedAt"`
	ExpiresAt    time.Time     `json:"expiresAt"`

	// NonceRequired says that the transfer counts only with Nonce in its calldata: others have the same amount to pay.
	NonceRequired bool `json:"nonceRequired,omitempty"`
	// Reason and Message say why the named transaction can never pay for this purchase. They are empty if it paid or still may.
	Reason  Reason `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}

// Elsewhere reports whether d names a rail other than NetworkL2.
func (d Deposit) Elsewhere() bool { return d.Rail != "" && d.Rail != NetworkL2 }

// CreateDepositRequest is the body of POST /api/console/credits.
type CreateDepositRequest struct {
	Pack  CreditPack `json:"pack"`
	KeyID *string    `json:"keyId,omitempty"`
	Rail  string     `json:"rail,omitempty"` // on which it is to be paid; "" means the first of the service
}

// DepositIntent tells the buyer the amount, the recipient and the deadline of a transfer.
type DepositIntent struct {
	ID         string `json:"id"`
	Rail       string `json:"rail"` // id of the chain and token that it is to be paid with
	Recipient  string `json:"recipient"`
	AmountUSDC string `json:"amountUsdc"` // exactly six decimals
	Nonce      string `json:"nonce"`
	ExpiresAt  int64  `json:"expiresAt"`  // Unix seconds
	PaymentURI string `json:"paymentUri"` // EIP-681; "" where NonceRequired, as it can carry no nonce
	ChainID    int64  `json:"chainId"`
	Token      string `json:"token"` // contract address
	// NonceRequired says that the transfer counts only with Nonce in its calldata: others have the same amount to pay.
	NonceRequired bool `json:"nonceRequired,omitempty"`

	Warning string   `json:"warning,omitempty"` // the parts of the pack that this service does not deliver
	Notices []string `json:"notices,omitempty"` // what who sells data of some sources has to say before the payment

	Pack CreditPack `json:"-"` // the requested pack, which the service does not return
}

// Requirements returns the payment as a quote, in the form of a call's.
func (i DepositIntent) Requirements() PaymentRequirements {
	return PaymentRequirements{
		Scheme: SchemeX402, Network: NetworkL2, Asset: AssetUSDG, Amount: i.AmountUSDC,
		Recipient: i.Recipient, ValidUntil: i.ExpiresAt, Nonce: i.Nonce,
	}
}

// VerifyDepositRequest is the body of POST /api/console/credits/{depositId}/verify.
type VerifyDepositRequest struct {
	TxHash string `json:"txHash"`
}

// CreditBalanceResponse is the answer of GET /api/console/credits.
type CreditBalanceResponse struct {
	Balance        int64     `json:"balance"`
	KeyCount       int       `json:"keyCount"`
	FreeCalls      int       `json:"freeCalls,omitempty"` // in 24 hours, while the owner has no credits; left out while there are some
	RecentDeposits []Deposit `json:"recentDeposits"`      // at most RecentDeposits, newest first
}

// UsageRow counts the calls of one key, operation and day.
type UsageRow struct {
	Day   string `json:"day"` // YYYY-MM-DD, UTC
	KeyID string `json:"keyId"`
	Op    Op     `json:"op"`
	Calls int64  `json:"calls"`
}

// UsageResponse is the answer of GET /api/console/usage.
type UsageResponse struct {
	Days   []UsageRow `json:"days"`
	Bounds []KeyBound `json:"bounds"` // of the active keys with one
}

// KeyBound is the bound of a key of credits in a UTC day, and what it has spent today.
type KeyBound struct {
	KeyID        string `json:"keyId"`
	DailyCredits int64  `json:"dailyCredits"`
	SpentToday   int64  `json:"spentToday"`
}

// PromptBody is an owner's brief prompt for a pack.
type PromptBody struct {
	Prompt string `json:"prompt"`
}
