package web_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/web"
)

// authority is a certificate authority that speaks as much of ACME (RFC 8555) as one certificate takes. It validates a host by
// TLS-ALPN-01 (RFC 8737) on the server that it is given, and checks no signatures.
type authority struct {
	t      *testing.T
	issuer issuer
	url    string
	server func(host string) *tls.Config // how to reach the server of a host

	valid  atomic.Bool
	issued atomic.Pointer[[]byte] // DER
	orders atomic.Int32
}

// serve answers r.
func (a *authority) serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Replay-Nonce", "nonce")
	status, answer := http.StatusOK, any(nil)
	state := func(yes bool, then, otherwise string) string {
		if yes {
			return then
		}
		return otherwise
	}
	challenge := map[string]any{"type": "tls-alpn-01", "url": a.url + "/challenge", "token": "token", "status": state(a.valid.Load(), "valid", "pending")}
	host := map[string]any{"type": "dns", "value": "context.example.org"}
	order := func() map[string]any {
		o := map[string]any{"status": state(a.valid.Load(), "ready", "pending"), "identifiers": []any{host}, "authorizations": []string{a.url + "/authz"}, "finalize": a.url + "/finalize"}
		if a.issued.Load() != nil {
			o["status"], o["certificate"] = "valid", a.url+"/cert"
		}
		return o
	}
	switch r.URL.Path {
	case "/dir":
		answer = map[string]string{"newNonce": a.url + "/nonce", "newAccount": a.url + "/account", "newOrder": a.url + "/order"}
	case "/nonce":
	case "/account":
		w.Header().Set("Location", a.url+"/account/1")
		status, answer = http.StatusCreated, map[string]string{"status": "valid"}
	case "/order":
		a.orders.Add(1)
		w.Header().Set("Location", a.url+"/order/1")
		status, answer = http.StatusCreated, order()
	case "/order/1":
		answer = order()
	case "/authz":
		answer = map[string]any{"status": challenge["status"], "identifier": host, "challenges": []any{challenge}}
	case "/challenge":
		a.validate()
		answer = challenge
	case "/finalize":
		a.finalize(r)
		w.Header().Set("Location", a.url+"/order/1")
		answer = order()
	case "/cert":
		w.Header().Set("Content-Type", "application/pem-certificate-chain")
		_ = pem.Encode(w, &pem.Block{Type: "CERTIFICATE", Bytes: *a.issued.Load()})
		_ = pem.Encode(w, &pem.Block{Type: "CERTIFICATE", Bytes: a.issuer.cert.Raw})
		return
	default:
		a.t.Errorf("the authority was asked for %s", r.URL.Path)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer)
}

// validate looks whether the host's server proves that it is that.
func (a *authority) validate() {
	here, there := net.Pipe()
	go func() {
		server := tls.Server(there, a.server("context.example.org"))
		_ = server.Handshake()
		_ = server.Close()
	}()
	client := tls.Client(here, &tls.Config{ServerName: "context.example.org", NextProtos: []string{"acme-tls/1"}, InsecureSkipVerify: true})
	if err := client.Handshake(); err != nil {
		a.t.Errorf("the server does not answer the challenge: %v", err)
		return
	}
	state := client.ConnectionState()
	proof := false
	for _, e := range state.PeerCertificates[0].Extensions {
		proof = proof || e.Id.String() == "1.3.6.1.5.5.7.1.31"
	}
	if state.NegotiatedProtocol != "acme-tls/1" || !proof {
		a.t.Errorf("the server answers the challenge by %q without its proof", state.NegotiatedProtocol)
		return
	}
	a.valid.Store(true)
	_ = here.Close()
}

// finalize issues the certificate that r asks for.
func (a *authority) finalize(r *http.Request) {
	var signed, body struct{ Payload, CSR string }
	fail := func(err error) bool {
		if err != nil {
			a.t.Errorf("read request for a certificate: %v", err)
		}
		return err != nil
	}
	if fail(json.NewDecoder(r.Body).Decode(&signed)) {
		return
	}
	text, err := base64.RawURLEncoding.DecodeString(signed.Payload)
	if fail(err) || fail(json.Unmarshal(text, &body)) {
		return
	}
	der, err := base64.RawURLEncoding.DecodeString(body.CSR)
	if fail(err) {
		return
	}
	request, err := x509.ParseCertificateRequest(der)
	if fail(err) {
		return
	}
	issued, _ := a.issuer.issue(a.t, request.DNSNames[0], request.PublicKey)
	a.issued.Store(&issued)
}

// TestACME asks a fake authority for a certificate when the first client comes, and keeps it.
func TestACME(t *testing.T) {
	t.Parallel()
	root, key := issuer{}.issue(t, "authority", nil)
	cert, err := x509.ParseCertificate(root)
	if err != nil {
		t.Fatal(err)
	}
	a := &authority{t: t, issuer: issuer{cert, key}}
	server := httptest.NewServer(http.HandlerFunc(a.serve))
	defer server.Close()
	a.url = server.URL
	c := web.Certificates{Hosts: []string{"context.example.org"}, Email: "ops@example.org", Directory: a.url + "/dir", Cache: filepath.Join(t.TempDir(), "acme")}
	for range 2 { // asked for, and found in the cache
		s, err := c.Open()
		if err != nil {
			t.Fatal(err)
		}
		a.server = func(string) *tls.Config { return s.Config }
		if got, err := name(t, s, "context.example.org"); got != "context.example.org" || err != nil {
			t.Fatalf("the certificate is that of %q, %v", got, err)
		}
		if _, err := name(t, s, "other.example.org"); err == nil || !strings.Contains(err.Error(), "not configured") {
			t.Errorf("for another host: %v", err)
		}
		if err := s.Reload(); err != nil {
			t.Error(err)
		}
	}
	if n := a.orders.Load(); n != 1 {
		t.Errorf("%d certificates were ordered, want 1", n)
	}
	var entries []os.DirEntry
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(5 * time.Millisecond) { // the token of the order is removed behind its back
		var err error
		if entries, err = os.ReadDir(c.Cache); err != nil || time.Now().After(deadline) {
			t.Fatalf("the cache has %v, %v", entries, err)
		}
		if len(entries) == 2 { // the account's key and the certificate with its key
			break
		}
	}
	for _, e := range entries {
		if info, err := e.Info(); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v, %v", e.Name(), info.Mode(), err)
		}
	}
}
