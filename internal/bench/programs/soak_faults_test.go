package programs_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"sync/atomic"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/source/replay"
)

// outside is the world of a soak: the sources, recorded, and the node of a chain, both of which fail now and then.
type outside struct {
	proxy, rpc  *httptest.Server
	authorities string // file with the certificate that the proxy signs with

	faults atomic.Int64 // so far
	asked  atomic.Int64 // requests to sources
	scans  atomic.Int64 // requests of transfers to the node
	quiet  atomic.Bool  // nothing fails any more
}

// faultShare is how many requests in a thousand fail.
const faultShare = 80

// fails decides whether a request fails.
func (o *outside) fails() bool {
	if o.quiet.Load() || mathrand.IntN(1000) >= faultShare {
		return false
	}
	o.faults.Add(1)
	return true
}

// newOutside makes the world before a chain.
func newOutside(t *testing.T, node string) *outside {
	t.Helper()
	o := &outside{authorities: filepath.Join(t.TempDir(), "authorities.pem")}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	authority := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "soak"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature}
	raw, err := x509.CreateCertificate(rand.Reader, authority, authority, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(o.authorities, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	sources := &http.Server{Handler: o.sources(), ReadHeaderTimeout: time.Minute}
	streams := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
	go func() { _ = sources.Serve(streams) }()
	t.Cleanup(func() { _ = sources.Close() })
	settings := &tls.Config{GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		leaf := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), DNSNames: []string{hello.ServerName}, NotBefore: authority.NotBefore, NotAfter: authority.NotAfter,
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
		raw, err := x509.CreateCertificate(rand.Reader, leaf, authority, &key.PublicKey, key)
		return &tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key}, err
	}}
	o.proxy = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect || o.fails() {
			http.Error(w, "the network is down", http.StatusBadGateway)
			return
		}
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n")
		streams.conns <- tls.Server(conn, settings)
	}))
	t.Cleanup(o.proxy.Close)
	target, err := url.Parse(node)
	if err != nil {
		t.Fatal(err)
	}
	forward := httputil.NewSingleHostReverseProxy(target)
	o.rpc = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if o.fails() {
			http.Error(w, "overloaded", http.StatusServiceUnavailable)
			return
		}
		text, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		if bytes.Contains(text, []byte("eth_getLogs")) {
			o.scans.Add(1)
		}
		r.Body = io.NopCloser(bytes.NewReader(text))
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(o.rpc.Close)
	return o
}

// stamp is a time in a recorded page.
var stamp = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)

// sources answers as the sources do, with times that are of now.
func (o *outside) sources() http.Handler {
	recording := replay.New(time.Now)
	var asked atomic.Int64
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o.asked.Add(1)
		if o.fails() {
			http.Error(w, "try later", http.StatusInternalServerError)
			return
		}
		if asked.Add(1)%17 == 0 {
			recording.Advance()
		}
		out := r.Clone(r.Context())
		out.URL.Scheme, out.URL.Host, out.RequestURI = "https", r.Host, ""
		res, err := recording.RoundTrip(out)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		shift := recording.Shift("")
		body = stamp.ReplaceAllFunc(body, func(text []byte) []byte {
			at, err := time.Parse(time.RFC3339, string(text))
			if err != nil {
				return text
			}
			return []byte(at.Add(shift).UTC().Format("2006-01-02T15:04:05Z"))
		})
		for name, values := range res.Header {
			if name != "Content-Length" {
				w.Header()[name] = values
			}
		}
		w.WriteHeader(res.StatusCode)
		_, _ = w.Write(body) // a client that has left is no error
	})
}

// pipes is a listener of connections that are handed to it.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
}

// Accept returns the next.
func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

// Close ends it.
func (p *pipes) Close() error {
	close(p.done)
	return nil
}

// Addr is none.
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }
