package wallet_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/math"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/signer/core/apitypes"

	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/sdk/wallet"
)

const (
	sellerKey = "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d" // of a development chain, known to everybody
	payTo     = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"
)

// accepted is a way to pay as a service offers it.
type accepted map[string]any

// usdc is a way to pay with USDC on Base, changed by pairs of member and value; nil takes one away.
func usdc(amount string, changes ...any) accepted {
	base := wallet.Assets()["usdc-base"]
	a := accepted{"scheme": "exact", "network": base.Network(), "amount": amount, "asset": strings.ToLower(base.Token), "payTo": payTo,
		"maxTimeoutSeconds": 60, "extra": map[string]any{"name": base.Name, "version": base.Version, "more": []int{1}}}
	for i := 0; i < len(changes); i += 2 {
		name, _ := changes[i].(string)
		a[name] = changes[i+1]
	}
	return a
}

// sale is a payment as a seller gets it.
type sale struct {
	X402Version int
	Accepted    json.RawMessage
	Payload     struct {
		Signature     string
		Authorization map[string]string
	}
	Extensions map[string]struct{ Info, Schema map[string]any }
}

// seller is a service of somebody else that is paid by x402. It looks at signatures with the library of Ethereum's own client.
type seller struct {
	*httptest.Server
	t       *testing.T
	path    string // of the resource that it says it sells
	accepts []accepted

	mu      sync.Mutex
	pad     any                         // what else it wants repeated; nil for nothing
	offers  []api.SignedOffer           // that it signs
	replies []func(http.ResponseWriter) // to the first payments, in order; then each is answered
	headers []string                    // of the payments
	bodies  []string
}

// newSeller makes a seller that takes what accepts says.
func newSeller(t *testing.T, accepts ...accepted) *seller {
	t.Helper()
	s := &seller{t: t, accepts: accepts}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

// ask says how it is paid.
func (s *seller) ask(w http.ResponseWriter) {
	extensions := map[string]any{
		"payment-identifier": map[string]any{"info": map[string]any{"required": true}, "schema": map[string]any{"type": "object"}},
		"other":              map[string]any{"info": map[string]any{"n": 1.5, "nonce": "<x>"}, "pad": s.pad},
	}
	if s.offers != nil {
		extensions["offer-receipt"] = map[string]any{"info": map[string]any{"offers": s.offers}, "schema": map[string]any{}}
	}
	text, err := json.Marshal(map[string]any{"x402Version": 2, "error": "pay", "accepts": s.accepts,
		"resource": map[string]any{"url": s.URL + s.path, "x": 1}, "extensions": extensions})
	if err != nil {
		s.t.Error(err)
	}
	w.Header().Set(api.HeaderRequired, base64.StdEncoding.EncodeToString(text))
	w.WriteHeader(http.StatusPaymentRequired)
}

// tell says what became of a payment.
func tell(w http.ResponseWriter, success bool, reason string) {
	text := fmt.Sprintf(`{"success":%v,"errorReason":%q,"transaction":"0x%064d","network":"eip155:8453"}`, success, reason, 7)
	w.Header().Set(api.HeaderSettlement, base64.StdEncoding.EncodeToString([]byte(text)))
}

// ServeHTTP answers who pays.
func (s *seller) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	header := r.Header.Get(api.HeaderSignature)
	if header == "" {
		s.ask(w)
		return
	}
	body, _ := io.ReadAll(r.Body)
	s.headers, s.bodies = append(s.headers, header), append(s.bodies, string(body))
	if n := len(s.headers); n <= len(s.replies) {
		s.replies[n-1](w)
		return
	}
	tell(w, true, "")
	_, _ = io.WriteString(w, "sold")
}

// paid are the payments that came.
func (s *seller) paid() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.headers
}

// check says who signed a payment, for the domain of an asset.
func (s *seller) check(header string, asset wallet.Asset) (signer string, p sale) {
	s.t.Helper()
	text, err := base64.StdEncoding.DecodeString(header)
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	message := apitypes.TypedDataMessage{}
	for name, value := range p.Payload.Authorization {
		message[name] = value
	}
	kind := func(name, of string) apitypes.Type { return apitypes.Type{Name: name, Type: of} }
	hash, _, err := apitypes.TypedDataAndHash(apitypes.TypedData{
		Types: apitypes.Types{
			"EIP712Domain": {kind("name", "string"), kind("version", "string"), kind("chainId", "uint256"), kind("verifyingContract", "address")},
			"TransferWithAuthorization": {kind("from", "address"), kind("to", "address"), kind("value", "uint256"),
				kind("validAfter", "uint256"), kind("validBefore", "uint256"), kind("nonce", "bytes32")},
		},
		PrimaryType: "TransferWithAuthorization", Message: message,
		Domain: apitypes.TypedDataDomain{Name: asset.Name, Version: asset.Version, ChainId: math.NewHexOrDecimal256(asset.ChainID),
			VerifyingContract: asset.Token},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	signature := common.FromHex(p.Payload.Signature)
	signature[crypto.RecoveryIDOffset] -= 27
	key, err := crypto.SigToPub(hash, signature)
	if err != nil {
		s.t.Fatal(err)
	}
	return crypto.PubkeyToAddress(*key).Hex(), p
}

// spender is a wallet that pays by authorization, with its clock.
type spender struct {
	t   *testing.T
	dir string
	now time.Time
	cfg func(*wallet.Config)
}

func newSpender(t *testing.T) *spender {
	t.Helper()
	return &spender{t: t, dir: t.TempDir(), now: time.Now().Truncate(time.Second), cfg: func(*wallet.Config) {}}
}

// authorizer is one as a process that has just begun has it.
func (p *spender) authorizer() *wallet.Payer {
	p.t.Helper()
	key, err := wallet.ParseKey(sellerKey)
	if err != nil {
		p.t.Fatal(err)
	}
	cfg := wallet.Config{Key: key, Dir: p.dir, Now: func() time.Time { return p.now }, Policy: wallet.Policy{PerCall: 10_000},
		Assets: []wallet.Asset{wallet.Assets()["usdc-base"], wallet.Assets()["usdg"]}}
	p.cfg(&cfg)
	a, err := wallet.NewPayer(p.t.Context(), cfg)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(a.Close)
	return a
}

// post asks a seller for path with a body, and pays.
func (p *spender) post(s *seller, path, body string) (answer string, err error) {
	p.t.Helper()
	transport := &sdk.PayTransport{Schemes: []sdk.Scheme{sdk.Exact{}}, Payer: p.authorizer(), Service: s.URL, Base: http.DefaultTransport, Patience: 3,
		Name: func(r *http.Request) (string, bool) { return r.Method + " " + r.URL.RequestURI() + " " + body, false }}
	client := &http.Client{Transport: transport}
	resp, err := client.Post(s.URL+path, "text/plain", strings.NewReader(body))
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return string(text), err
}

// states are those of the journal, oldest first.
func (p *spender) states() (list []string) {
	p.t.Helper()
	all, err := wallet.Payments(p.dir)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, one := range all {
		list = append(list, string(one.State))
	}
	return list
}
