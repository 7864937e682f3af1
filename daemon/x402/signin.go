package x402

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/contextd/contextd/internal/usdg"
	"github.com/contextd/contextd/sdk/api"
)

// SignIns takes sign-ins of wallets, by the extension sign-in-with-x of standard x402. Its fields are set before use; it is safe for
// concurrent use. What it hands out it keeps nowhere: the nonce says, by a MAC, that it did.
type SignIns struct {
	PublicURL *url.URL // where users reach the service; what their requests say counts for nothing
	Networks  []string // CAIP-2
	Secret    []byte   // the same on all nodes
	Spend     bool     // the credits of a wallet's owner pay too
	Recover   func(text, signature string) (address string, err error)
	Store     SignInStore
	Now       func() time.Time
}

// SignInStore keeps which sign-ins were used, on all nodes.
type SignInStore interface {
	// UseSignIn notes that the sign-in with a hash was used, until some time, and reports whether this is the first use.
	UseSignIn(ctx context.Context, hash [sha256.Size]byte, at, until time.Time) (first bool, err error)
}

// SignedIn is a wallet that has signed in with a request. Nothing is written down for one that gets nothing by it.
type SignedIn struct {
	Address string // in the spelling of EIP-55
	nonce   string
	by      *SignIns // nil where it is used up nowhere
}

// Use uses the sign-in up, or says why it cannot be used. It is called once it is sure that it gets the wallet something.
func (s *SignedIn) Use(ctx context.Context) error {
	if s.by == nil {
		return nil
	}
	now := s.by.Now()
	first, err := s.by.Store.UseSignIn(ctx, sha256.Sum256([]byte("sign-in-with-x "+s.nonce)), now, now.Add(signInLife+signInSkew))
	switch {
	case err != nil:
		return fmt.Errorf("use up sign-in: %w", err)
	case !first:
		return refusedExact(api.ReasonBadSignature, "the sign-in is refused: it was used before")
	}
	return nil
}

// Bounds of sign-ins.
const (
	signInLife   = 5 * time.Minute
	signInSkew   = time.Minute // by which clocks may differ
	maxSignIn    = 16 << 10    // bytes of the header
	signInRandom = 8           // bytes of a nonce, of which as many more are the MAC
	signInTime   = "2006-01-02T15:04:05.000Z"
)

// What a wallet signs, by what it gets.
const (
	recoverStatement = "Get again what this wallet has paid for at contextd. This signs a message only: it moves no funds."
	spendStatement   = "Pay for this call at contextd with credits of this wallet's owner, or get again what the wallet has paid for. " +
		"This signs a message only: it moves no tokens."
)

func (s *SignIns) statement() string {
	if s.Spend {
		return spendStatement
	}
	return recoverStatement
}

// signIn is a sign-in as a wallet sends it.
type signIn struct {
	Domain         string   `json:"domain"`
	URI            string   `json:"uri"`
	Version        string   `json:"version"`
	Nonce          string   `json:"nonce"`
	IssuedAt       string   `json:"issuedAt"`
	ExpirationTime string   `json:"expirationTime"`
	NotBefore      string   `json:"notBefore"`
	RequestID      string   `json:"requestId"`
	Statement      string   `json:"statement"`
	Resources      []string `json:"resources"`
	ChainID        string   `json:"chainId"`
	Type           string   `json:"type"`
	Address        string   `json:"address"`
	Signature      string   `json:"signature"`
}

// Offer is the extension in a request for payment.
func (s *SignIns) Offer() (e api.StandardExtension, err error) {
	random := make([]byte, signInRandom)
	if _, err := rand.Read(random); err != nil {
		return e, fmt.Errorf("make nonce: %w", err)
	}
	issued := s.Now().UTC()
	at := issued.Format(signInTime)
	e.Info = map[string]any{
		"domain": s.PublicURL.Host, "uri": s.PublicURL.String(), "version": "1", "nonce": s.nonce(random, at), "issuedAt": at,
		"expirationTime": issued.Add(signInLife).Format(signInTime), "statement": s.statement(),
	}
	e.Schema = map[string]any{"type": "object"}
	for _, network := range s.Networks {
		e.SupportedChains = append(e.SupportedChains, api.SupportedChain{ChainID: network, Type: "eip191"})
	}
	return e, nil
}

// nonce is the nonce that begins with random, of what was issued at a time.
func (s *SignIns) nonce(random []byte, issuedAt string) string {
	mac := hmac.New(sha256.New, s.Secret)
	_, _ = fmt.Fprintf(mac, "sign-in-with-x\n%s\n%s\n%s\n%x", s.PublicURL.Host, s.PublicURL, issuedAt, random) // which never fails
	return hex.EncodeToString(random) + hex.EncodeToString(mac.Sum(nil)[:signInRandom])
}

// Read is who has made the header of a sign-in, or why nobody has.
func (s *SignIns) Read(header string) (*SignedIn, error) {
	refused := func(format string, args ...any) (*SignedIn, error) {
		return nil, refusedExact(api.ReasonBadSignature, "the sign-in is refused: "+format, args...)
	}
	var m signIn
	text, err := base64.StdEncoding.DecodeString(header)
	if len(header) > maxSignIn || err != nil || json.Unmarshal(text, &m) != nil || onceEach(text) != nil {
		return refused("it is not base64 of a JSON object of at most %d bytes, each member once", maxSignIn)
	}
	chain, ok := strings.CutPrefix(m.ChainID, "eip155:")
	if !ok || !slices.Contains(s.Networks, m.ChainID) || m.Type != "eip191" {
		return refused("it is for another chain or of another type than are offered")
	}
	uri, err := url.Parse(m.URI)
	if m.Domain != s.PublicURL.Host || err != nil || uri.Scheme != s.PublicURL.Scheme || uri.Host != s.PublicURL.Host || m.Version != "1" ||
		m.Statement != s.statement() {
		return refused("it is for another service, or says something else")
	}
	if err := s.timely(m); err != nil {
		return refused("%s", err)
	}
	random, err := hex.DecodeString(m.Nonce)
	if err != nil || len(random) != 2*signInRandom || !hmac.Equal([]byte(s.nonce(random[:signInRandom], m.IssuedAt)), []byte(m.Nonce)) {
		return refused("this service has not handed it out")
	}
	signer, err := s.Recover(m.text(chain), m.Signature)
	if err != nil || !usdg.SameAddress(signer, m.Address) {
		return refused("it is not signed by %s", strconv.QuoteToASCII(m.Address[:min(len(m.Address), 42)]))
	}
	return &SignedIn{signer, m.Nonce, s}, nil
}

// timely checks the times of m.
func (s *SignIns) timely(m signIn) error {
	now := s.Now()
	issued, err := time.Parse(time.RFC3339, m.IssuedAt)
	switch {
	case err != nil, issued.After(now.Add(signInSkew)), now.Sub(issued) > signInLife:
		return fmt.Errorf("it was not issued within the last %s", signInLife)
	}
	for _, bound := range []struct {
		text string
		ends bool
	}{{m.ExpirationTime, true}, {m.NotBefore, false}} {
		if bound.text == "" {
			continue
		}
		at, err := time.Parse(time.RFC3339, bound.text)
		if err != nil || bound.ends && !now.Before(at) || !bound.ends && now.Before(at) {
			return fmt.Errorf("it does not hold now")
		}
	}
	return nil
}

// text is what is signed, by EIP-4361.
func (m signIn) text(chain string) string {
	var b strings.Builder
	_, _ = fmt.Fprintf(&b, "%s wants you to sign in with your Ethereum account:\n%s\n\n", m.Domain, m.Address)
	if m.Statement != "" {
		b.WriteString(m.Statement + "\n")
	}
	_, _ = fmt.Fprintf(&b, "\nURI: %s\nVersion: %s\nChain ID: %s\nNonce: %s\nIssued At: %s", m.URI, m.Version, chain, m.Nonce, m.IssuedAt)
	for _, line := range []struct{ name, text string }{
		{"Expiration Time", m.ExpirationTime}, {"Not Before", m.NotBefore}, {"Request ID", m.RequestID},
	} {
		if line.text != "" {
			b.WriteString("\n" + line.name + ": " + line.text)
		}
	}
	if len(m.Resources) > 0 {
		b.WriteString("\nResources:\n- " + strings.Join(m.Resources, "\n- "))
	}
	return b.String()
}

// SignInMode says what wallets may sign in for.
type SignInMode string

// The modes.
const (
	SignInOff     SignInMode = "off"
	SignInRecover SignInMode = "recover" // answers that they have paid for
	SignInSpend   SignInMode = "spend"   // those, and calls that their owners' credits pay for
)

// Networks are those of the rails, as standard x402 names them.
func (r Settlers) Networks() (list []string) {
	for _, s := range r {
		if !slices.Contains(list, s.network()) {
			list = append(list, s.network())
		}
	}
	return list
}

// ClaimSignedIn claims for a request what its payer, who has signed in, has paid for it within a day: the answer is given once more. There
// is none where nothing was.
func (r Settlers) ClaimSignedIn(ctx context.Context, payer *SignedIn, sub Subject) (*Claim, error) {
	for _, s := range r {
		for _, fingerprint := range []string{sub.Fingerprint, sub.Former} {
			since := s.cfg.Now().Add(-api.ProofIdempotency)
			paid, err := s.cfg.Store.SettledFor(ctx, s.cfg.ID, strings.ToLower(payer.Address), fingerprint, since)
			if err != nil {
				return nil, fmt.Errorf("look up settlement: %w", err)
			}
			if fingerprint == "" || len(paid) == 0 || paid[0].Body == nil {
				continue
			}
			row := paid[0]
			if err := s.cfg.tellSignedIn(ctx, payer, row); err != nil {
				return nil, err
			}
			return &Claim{
				Replay:  &StoredAnswer{Fingerprint: row.Fingerprint, Payer: row.From, At: row.At, Body: row.Body},
				Receipt: s.receipt(row.From, row.TxHash), Settled: row.DoneAt,
			}, nil
		}
	}
	return nil, api.Errorf(api.ReasonPaymentRequired, "the wallet %s has not paid for this request within %s", payer.Address,
		api.ProofIdempotency).WithHint("pay for it: %s says how", api.HeaderRequired)
}

// tellSignedIn notes that the answer of row is handed out to its payer, who has signed in, and to nobody else by the payment alone from
// now on.
func (cfg SettlerConfig) tellSignedIn(ctx context.Context, payer *SignedIn, row Settlement) error {
	if err := payer.Use(ctx); err != nil {
		return err
	}
	if _, err := cfg.Store.Tell(ctx, row.Key(), cfg.Now().UTC()); err != nil {
		return fmt.Errorf("note that an answer is handed out: %w", err)
	}
	return nil
}
