package web_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/internal/devchain"
	"github.com/contextd/contextd/internal/jsonx"
	"github.com/contextd/contextd/sdk/api"
)

// suiteChain is the id of the chain that x402-conformance signs for: it signs on test chains alone.
const suiteChain = 31337

// suite is x402-conformance against a daemon: GET of one path, paid for by one wallet.
type suite struct {
	*market
	path  string
	asked answer         // the bare call
	text  []byte         // the offer, as JSON
	said  map[string]any // the same
	offer api.StandardRequired
}

func newSuite(t *testing.T) *suite {
	t.Helper()
	chain, err := devchain.Open(t.Context(), devchain.Config{Listen: "127.0.0.1:0", Ahead: 30 * time.Second, ChainID: suiteChain})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = chain.Close() })
	s := &suite{market: &market{t: t, chain: chain}, path: "/v1/fresh?pack=crypto"}
	s.d = daemontest.Start(t, daemontest.On(chain), func(c *daemon.Config) {
		c.ChainID = suiteChain
		c.Chain.SettleKey, c.Chain.Wait, c.Logger = chain.Gas().PrivateKey, 20*time.Second, s.log.Logger()
	})
	s.asked = get(t, s.d.URL()+s.path)
	s.offer = unwrap[api.StandardRequired](t, s.asked, api.HeaderRequired)
	s.said = unwrap[map[string]any](t, s.asked, api.HeaderRequired)
	s.text, _ = base64.StdEncoding.DecodeString(s.asked.Header.Get(api.HeaderRequired)) // as unwrap has
	return s
}

// way is the way to pay that is offered.
func (s *suite) way() map[string]any { return s.said["accepts"].([]any)[0].(map[string]any) }

// payment is a payment as the suite makes it, which repeats the offer and has no identifier of its own.
func (s *suite) payment(from devchain.Account, changes ...func(*devchain.Authorization)) map[string]any {
	s.t.Helper()
	text, err := json.Marshal(s.sign(from, s.offer, changes...))
	var p map[string]any
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	p["resource"], p["extensions"] = s.said["resource"], s.said["extensions"]
	return p
}

// send asks for the path with a payment.
func (s *suite) send(p map[string]any, changes ...change) answer {
	s.t.Helper()
	text, err := json.Marshal(p)
	if err != nil {
		s.t.Fatal(err)
	}
	return get(s.t, s.d.URL()+s.path, append(changes, with(api.HeaderSignature, base64.StdEncoding.EncodeToString(text)))...)
}

// TestConformanceOfOffers has the rows of x402-conformance about the answer to a bare call, by their ids.
func TestConformanceOfOffers(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	way, offer := s.way(), s.offer
	again := get(t, s.d.URL()+s.path)
	caip := regexp.MustCompile(`^eip155:[1-9][0-9]*$`)
	for id, ok := range map[string]bool{
		"RS-HS-001": s.asked.Status == http.StatusPaymentRequired,
		"RS-HS-002": len(s.asked.Header.Values(api.HeaderRequired)) == 1,
		"RS-HS-003": len(s.text) > 0,
		"RS-HS-004": strictly(s.text),
		"RS-HS-005": !hasPrefix(s.asked.Header, "X-Payment"),
		"RS-HS-006": call(t, http.MethodHead, s.d.URL()+s.path).Header.Get(api.HeaderRequired) != "", // which has no body
		"RS-HS-007": s.asked.Header.Get("Cache-Control") == "no-store",
		"RS-PR-001": s.said["x402Version"] == 2.0,
		"RS-PR-002": offer.Resource.URL != "",
		"RS-PR-003": offer.Resource.URL == s.d.URL()+s.path,
		"RS-PR-004": len(offer.Accepts) > 0 && hasAll(way, "scheme", "network", "amount", "asset", "payTo", "maxTimeoutSeconds"),
		"RS-PR-005": caip.MatchString(offer.Accepts[0].Network) && offer.Accepts[0].Network == fmt.Sprint("eip155:", suiteChain),
		"RS-PR-006": strings.Trim(offer.Accepts[0].Amount, "0123456789") == "",
		"RS-PR-007": strings.Trim(offer.Accepts[0].Amount, "0") != "",
		"RS-PR-008": isChecksummed(offer.Accepts[0].Asset),
		"RS-PR-009": offer.Accepts[0].Extra.Name != "" && offer.Accepts[0].Extra.Version != "",
		"RS-PR-010": inWords(append(offer.Resource.Tags, offer.Resource.ServiceName)),
		"RS-PR-011": extended(s.said),
		"RS-PR-012": reflect.DeepEqual(unwrap[map[string]any](t, again, api.HeaderRequired)["accepts"], s.said["accepts"]),
		"RS-PR-013": common.IsHexAddress(offer.Accepts[0].Asset),
		"RS-PR-014": common.IsHexAddress(offer.Accepts[0].PayTo) && common.HexToAddress(offer.Accepts[0].PayTo) != common.Address{},
		"RS-PR-017": offer.Accepts[0].Scheme == "exact",
		"RS-PR-018": len(offer.Accepts) == 1, // of two for the same, one would contradict
		"RS-PR-019": way["extra"].(map[string]any)["assetTransferMethod"] == "eip3009",
		"RS-PR-020": len(way) == 7 && len(s.said) == 5, // those of the schema
		"RS-PR-021": json.Valid(s.text),                // which has no NaN
		"RS-PR-022": jsonx.Walk(s.text, once()) == nil,
		"RS-PR-025": way["extra"].(map[string]any)["paymentFlow"] == nil, // which means authorization
		"RS-PR-026": way["extra"].(map[string]any)["paymentFlow"] == nil,
		"DI-004":    regexp.MustCompile(`"\$(ref|id)":"[^#]`).Find(s.text) == nil,
	} {
		if !ok {
			t.Errorf("%s: %d %v %s", id, s.asked.Status, s.asked.Header, s.text)
		}
	}
	for _, path := range []string{ // RS-SEC-012
		"%0A", "%0A?", "%0D", "%E2%80%A8", "\\", "%5C", "/../fresh%2F", "/%2E/", "/x/%2E%2E/",
	} {
		s.never("/v1/fresh" + path)
	}
	s.never("/v1%2Ffresh")
	s.never("/v1/./fresh")
	s.never("/v1/x/%2E%2E/fresh")
	s.never("/v1/fres%68")
	if status := s.never("/v1/fresh-control"); status != http.StatusNotFound {
		t.Errorf("RS-SEC-012: a path of nothing is answered %d", status)
	}
}

// never checks that a path, as it is spelled, gives no answer that is to be paid for.
func (s *suite) never(path string) int {
	s.t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(s.d.URL(), "http://"))
	if err != nil {
		s.t.Fatal(err)
	}
	defer c.Close()
	_, _ = fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", path) // what it has not read, it does not answer
	var status int
	if _, err := fmt.Fscanf(c, "HTTP/1.1 %d", &status); err != nil || status < 300 {
		s.t.Errorf("RS-SEC-012: %q is answered %d, %v", path, status, err)
	}
	return status
}

// TestConformanceOfRefusals has the rows of x402-conformance about payments that are none, by their ids. The wallet has the money, so that
// it is the fault of each that it is refused for.
func TestConformanceOfRefusals(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	wallet := s.chain.Wallet()
	poor, err := s.chain.NewAccount(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	before, err := s.chain.Balance(t.Context(), s.chain.Treasury())
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now().Unix()
	price, _ := strconv.ParseUint(s.offer.Accepts[0].Amount, 10, 64)
	authorization := func(p map[string]any) map[string]any {
		return p["payload"].(map[string]any)["authorization"].(map[string]any)
	}
	accepted := func(name, value string) func(map[string]any) {
		return func(p map[string]any) { p["accepted"].(map[string]any)[name] = value }
	}
	member := func(name, value string) func(map[string]any) {
		return func(p map[string]any) { authorization(p)[name] = value }
	}
	none := func(*devchain.Authorization) {}
	for id, row := range map[string]struct {
		sign   func(*devchain.Authorization)
		change func(map[string]any)
	}{
		"RS-NEG-003": {none, func(p map[string]any) { p["payload"].(map[string]any)["signature"] = "0x" + strings.Repeat("17", 65) }},
		"RS-NEG-004": {none, member("from", poor.Address)},
		"RS-NEG-005": {func(a *devchain.Authorization) { a.Value-- }, nil},
		"RS-NEG-006": {func(a *devchain.Authorization) { a.Value++ }, nil},
		"RS-NEG-007": {func(a *devchain.Authorization) { a.To = poor.Address }, nil},
		"RS-NEG-008": {func(a *devchain.Authorization) { a.Before = now - 1 }, nil},
		"RS-NEG-009": {func(a *devchain.Authorization) { a.After = now + 300 }, nil},
		"RS-NEG-011": {none, accepted("network", "eip155:999999")},
		"RS-NEG-012": {none, func(p map[string]any) { p["x402Version"] = 99 }},
		"RS-NEG-013": {func(a *devchain.Authorization) { a.Value = 1 }, accepted("amount", "1")},
		"RS-NEG-014": {none, accepted("asset", "0x036CbD53842c5426634e7929541eC2318f3dCF7e")},
		"RS-NEG-015": {none, accepted("asset", wallet.Address)},
		"RS-SEC-003": {none, func(p map[string]any) { p["resource"] = map[string]any{"url": s.d.URL() + "/v1/cite?ref=1"} }},
		"RS-SEC-004": {none, member("nonce", "0x1717")},
		"RS-SEC-007": {none, member("from", "0x\u0007\u202e"+wallet.Address[4:])},
		"RS-SEC-010": {none, func(p map[string]any) {
			p["payload"].(map[string]any)["signature"] = s.foreign(authorization(p), price)
		}},
		"RS-SEC-011": {none, member("value", new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 256), big.NewInt(1)).String())},
	} {
		p := s.payment(wallet, row.sign)
		if row.change != nil {
			row.change(p)
		}
		s.refused(id, s.send(p), http.StatusPaymentRequired)
	}
	for id, header := range map[string]string{
		"RS-NEG-001": "%%%", "RS-NEG-002": base64.StdEncoding.EncodeToString([]byte("no JSON")),
	} {
		s.refused(id, get(t, s.d.URL()+s.path, with(api.HeaderSignature, header)), http.StatusBadRequest)
	}
	s.refused("RS-NEG-010", s.send(s.payment(poor)), http.StatusPaymentRequired)
	elsewhere := s.payment(poor)
	elsewhere["resource"] = map[string]any{"url": "https://elsewhere.example/v1/fresh"}
	s.refused("RS-SEC-003 elsewhere", s.send(elsewhere), http.StatusPaymentRequired)
	wrong := s.payment(wallet)
	wrong["x402Version"] = 3
	v1 := with(api.HeaderPaymentAlias, base64.StdEncoding.EncodeToString([]byte(`{"x402Version":1,"scheme":"exact"}`)))
	s.refused("RS-SEC-006", s.send(wrong, v1), http.StatusPaymentRequired)
	if status := s.huge(); status < 400 || status > 499 {
		t.Errorf("RS-SEC-005: a header of 1 MiB is answered %d", status)
	}
	if after, err := s.chain.Balance(t.Context(), s.chain.Treasury()); err != nil || after != before {
		t.Errorf("the treasury has %d more, %v", after-before, err)
	}
}

// foreign is the signature of an authorization for the token as it would be on another chain.
func (s *suite) foreign(a map[string]any, value uint64) string {
	s.t.Helper()
	var one devchain.Authorization
	nonce, err := hex.DecodeString(strings.TrimPrefix(a["nonce"].(string), "0x"))
	if err != nil {
		s.t.Fatal(err)
	}
	after, _ := strconv.ParseInt(a["validAfter"].(string), 10, 64) // sign has written both
	end, _ := strconv.ParseInt(a["validBefore"].(string), 10, 64)
	one.To, one.Value, one.After, one.Before, one.Nonce = s.chain.Treasury(), value, after, end, [32]byte(nonce)
	signature, err := devchain.Authorize(s.chain.Token(), s.chain.Wallet(), one)
	if err != nil {
		s.t.Fatal(err)
	}
	return "0x" + hex.EncodeToString(signature[:])
}

// refused checks that a payment was refused, with nothing of what it would have paid for (RS-SEC-009).
func (s *suite) refused(id string, a answer, status int) {
	s.t.Helper()
	if a.Status != status {
		s.t.Errorf("%s: %d %s", id, a.Status, a.Body)
	}
	for _, marker := range []string{"citations", "generatedAt", "briefAt"} {
		if bytes.Contains(a.Body, []byte(marker)) {
			s.t.Errorf("RS-SEC-009: of %s, %s", id, a.Body)
		}
	}
	if status == http.StatusPaymentRequired && a.Header.Get(api.HeaderRequired) == "" {
		s.t.Errorf("%s: it has no offer", id)
	}
}

// huge is the status of a call with a header of 1 MiB, as one reads who goes on writing.
func (s *suite) huge() (status int) {
	s.t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(s.d.URL(), "http://"))
	if err != nil {
		s.t.Fatal(err)
	}
	defer c.Close()
	value := strings.Repeat("A", 1<<20)
	_, _ = fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: x\r\n%s: %s\r\n\r\n", s.path, api.HeaderSignature, value) // it may be cut off
	_, _ = fmt.Fscanf(c, "HTTP/1.1 %d", &status)
	return status
}

// TestConformanceOfPayments has the rows of x402-conformance about payments that settle, and about the same once more, by their ids.
func TestConformanceOfPayments(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	before, err := s.chain.Balance(t.Context(), s.chain.Treasury())
	if err != nil {
		t.Fatal(err)
	}
	p := s.payment(s.chain.Wallet())
	a := s.send(p)
	receipt := unwrap[api.StandardReceipt](t, a, api.HeaderSettlement)
	after, err := s.chain.Balance(t.Context(), s.chain.Treasury())
	for id, ok := range map[string]bool{
		"RS-HS-008":  a.Header.Get("Cache-Control") == "no-store",
		"RS-PAY-001": err == nil && after-before == 1_000, // one transfer of the amount
		"RS-PAY-002": a.Status == http.StatusOK && bytes.Contains(a.Body, []byte("generatedAt")),
		"RS-PAY-003": receipt.Success && len(receipt.Transaction) == 66,
		"RS-PAY-004": receipt.Network == s.offer.Accepts[0].Network && strings.EqualFold(receipt.Payer, s.chain.Wallet().Address),
	} {
		if !ok {
			t.Errorf("%s: %d %v %s", id, a.Status, a.Header, a.Body)
		}
	}
	s.refused("RS-SEC-001", s.send(p), http.StatusPaymentRequired)
	p = s.payment(s.chain.Wallet())
	var answered atomic.Int32
	var all sync.WaitGroup
	for range 5 {
		all.Go(func() {
			if a := s.send(p); a.Status < 300 {
				answered.Add(1)
			}
		})
	}
	all.Wait()
	if n := answered.Load(); n != 1 {
		t.Errorf("RS-SEC-002: %d of 5 were answered", n)
	}
	if after, err := s.chain.Balance(t.Context(), s.chain.Treasury()); err != nil || after-before != 2_000 {
		t.Errorf("the treasury has %d more, %v", after-before, err)
	}
}

// strictly reports whether an offer has the members of the schema alone, each of its type.
func strictly(text []byte) bool {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	return d.Decode(new(api.StandardRequired)) == nil
}

func hasPrefix(h http.Header, prefix string) bool {
	for name := range h {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

func hasAll(object map[string]any, names ...string) bool {
	for _, name := range names {
		if object[name] == nil {
			return false
		}
	}
	return true
}

// isChecksummed reports whether an address is in one case, or in the cases of EIP-55.
func isChecksummed(address string) bool {
	return address == strings.ToLower(address) || address == common.HexToAddress(address).Hex()
}

// extended reports whether each extension of an offer has info and schema.
func extended(offer map[string]any) bool {
	extensions, ok := offer["extensions"].(map[string]any)
	for _, e := range extensions {
		one, is := e.(map[string]any)
		ok = ok && is && hasAll(one, "info", "schema")
	}
	return ok
}

// once reports a name that an object has twice.
func once() func(*jsonx.Value) error {
	var names []map[string]bool
	return func(v *jsonx.Value) error {
		if names = names[:v.Depth]; v.Depth > 0 && names[v.Depth-1] != nil {
			if names[v.Depth-1][v.Name] {
				return fmt.Errorf("%q stands twice", v.Name)
			}
			names[v.Depth-1][v.Name] = true
		}
		switch {
		case v.IsLeaf():
		case v.IsObject():
			names = append(names, map[string]bool{})
		default:
			names = append(names, nil)
		}
		return nil
	}
}
