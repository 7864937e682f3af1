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
	"sync"
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
	Recover   func(text, signature string) (address string, err error)
	Now       func() time.Time

	mu     sync.Mutex // guards what follows
	used   map[string]struct{}
	before map[string]struct{} // those of the time before since
	since  time.Time           // when used began
}

// Bounds of sign-ins.
const (
	signInLife   = 5 * time.Minute
	signInSkew   = time.Minute // by which clocks may differ
	maxSignIn    = 16 << 10    // bytes of the header
	maxUsed      = 200_000     // nonces of one generation
	signInRandom = 8           // bytes of a nonce, of which as many more are the MAC
	signInTime   = "2006-01-02T15:04:05.000Z"
)

const signInStatement = "Get again what this wallet has paid for at contextd. This signs a message only: it moves no funds."

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
		"expirationTime": issued.Add(signInLife).Format(signInTime), "statement": signInStatement,
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

// Signer is the address of the wallet, in the spelling of EIP-55, that has made the header of a sign-in, or why there is none.
func (s *SignIns) Signer(header string) (string, error) {
	refused := func(format string, args ...any) (string, error) {
		return "", refusedExact(api.ReasonBadSignature, "the sign-in is refused: "+format, args...)
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
		m.Statement != signInStatement {
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
	if !s.use(m.Nonce) {
		return refused("it was used before")
	}
	return signer, nil
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

// use notes a nonce, and reports whether it was not used. Nonces are kept for at least as long as a sign-in holds, on this node; a crowd
// that fills them faster has it forget the oldest.
func (s *SignIns) use(nonce string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := s.Now(); s.used == nil || now.Sub(s.since) > signInLife+signInSkew || len(s.used) >= maxUsed {
		s.before, s.used, s.since = s.used, map[string]struct{}{}, now
	}
	_, is := s.used[nonce]
	_, was := s.before[nonce]
	s.used[nonce] = struct{}{}
	return !is && !was
}

// SignInMode says what wallets may sign in for.
type SignInMode string

// The modes.
const (
	SignInOff     SignInMode = "off"
	SignInRecover SignInMode = "recover" // answers that they have paid for
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
func (r Settlers) ClaimSignedIn(ctx context.Context, payer string, sub Subject) (*Claim, error) {
	for _, s := range r {
		for _, fingerprint := range []string{sub.Fingerprint, sub.Former} {
			since := s.cfg.Now().Add(-api.ProofIdempotency)
			paid, err := s.cfg.Store.SettledFor(ctx, s.cfg.ID, strings.ToLower(payer), fingerprint, since)
			if err != nil {
				return nil, fmt.Errorf("look up settlement: %w", err)
			}
			if fingerprint == "" || len(paid) == 0 || paid[0].Body == nil {
				continue
			}
			row := paid[0]
			if _, err := s.cfg.Store.Tell(ctx, row.Key(), s.cfg.Now().UTC()); err != nil { // to nobody else from now on
				return nil, fmt.Errorf("note that an answer is handed out: %w", err)
			}
			return &Claim{
				Replay:  &StoredAnswer{Fingerprint: row.Fingerprint, Payer: row.From, At: row.At, Body: row.Body},
				Receipt: s.receipt(row.From, row.TxHash), Settled: row.DoneAt,
			}, nil
		}
	}
	return nil, api.Errorf(api.ReasonPaymentRequired, "the wallet %s has not paid for this request within %s", payer, api.ProofIdempotency).
		WithHint("pay for it: %s says how", api.HeaderRequired)
}
