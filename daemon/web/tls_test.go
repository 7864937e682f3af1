package web_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/web"
)

// issuer signs certificates; the zero issuer lets each sign itself.
type issuer struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// issue makes a certificate for name and the public key, which is its own where that is nil.
func (i issuer) issue(t testing.TB, name string, public any) (der []byte, key *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if public == nil {
		public = &key.PublicKey
	}
	cert := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), IsCA: i.key == nil, BasicConstraintsValid: true,
	}
	parent, signer := i.cert, i.key
	if signer == nil {
		parent, signer = cert, key
	}
	der, err = x509.CreateCertificate(rand.Reader, cert, parent, public, signer)
	if err != nil {
		t.Fatal(err)
	}
	return der, key
}

// files are the paths of a certificate and its key in dir.
func files(dir string) web.Certificates {
	return web.Certificates{CertFile: filepath.Join(dir, "cert.pem"), KeyFile: filepath.Join(dir, "key.pem")}
}

// write writes a new certificate for name to the files of c.
func write(t *testing.T, c web.Certificates, name string) {
	t.Helper()
	der, key := issuer{}.issue(t, name, nil)
	secret, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for path, block := range map[string]*pem.Block{c.CertFile: {Type: "CERTIFICATE", Bytes: der}, c.KeyFile: {Type: "EC PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// name dials a server of s and returns the name in the certificate it shows.
func name(t *testing.T, s *web.TLS, ask string) (string, error) {
	t.Helper()
	here, there := net.Pipe()
	server := tls.Server(there, s.Config)
	done := make(chan error, 1)
	go func() { done <- server.Handshake(); _ = server.Close() }()
	client := tls.Client(here, &tls.Config{ServerName: ask, InsecureSkipVerify: true})
	err := client.Handshake()
	shown := client.ConnectionState().PeerCertificates
	_ = here.Close()
	if refused := <-done; refused != nil {
		return "", refused
	}
	if err != nil {
		return "", err
	}
	return shown[0].Subject.CommonName, nil
}

// TestCertificateIsReadAgain when its files have changed: soon by itself, at once by Reload. What is no good changes nothing.
func TestCertificateIsReadAgain(t *testing.T) {
	t.Parallel()
	c := files(t.TempDir())
	now := time.Unix(1_000_000, 0)
	var log bytes.Buffer
	c.Now, c.Logger = func() time.Time { return now }, slog.New(slog.NewTextHandler(&log, nil))
	write(t, c, "one")
	s, err := c.Open()
	if err != nil {
		t.Fatal(err)
	}
	shows := func(want string) {
		t.Helper()
		if got, err := name(t, s, "x"); got != want || err != nil {
			t.Errorf("the certificate is that of %q, want %q; %v", got, want, err)
		}
	}
	shows("one")
	write(t, c, "second")
	shows("one") // it was looked at a moment ago
	now = now.Add(time.Minute)
	shows("second")
	write(t, c, "three")
	if err := s.Reload(); err != nil {
		t.Error(err)
	}
	shows("three")
	if err := os.WriteFile(c.KeyFile, []byte("none"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Reload(); err == nil || !strings.Contains(err.Error(), c.CertFile) {
		t.Errorf("Reload of a broken key: %v", err)
	}
	now = now.Add(time.Minute)
	shows("three")
	write(t, c, "four, which is longer")
	if err := os.WriteFile(c.CertFile, []byte("none"), 0o600); err != nil {
		t.Fatal(err)
	}
	log.Reset()
	for range 3 {
		now = now.Add(time.Minute)
		shows("three")
	}
	if got := strings.Count(log.String(), "the old one stays"); got != 1 {
		t.Errorf("a broken certificate is logged %d times, want once:\n%s", got, &log)
	}
	if err := os.Remove(c.CertFile); err != nil { // being replaced
		t.Fatal(err)
	}
	now = now.Add(time.Minute)
	shows("three")
	if err := s.Reload(); err == nil {
		t.Error("Reload of a missing certificate succeeds")
	}
	write(t, c, "five")
	now = now.Add(time.Minute)
	shows("five")
	now = now.Add(-time.Hour) // the clock is set back
	write(t, c, "six and a bit")
	shows("six and a bit")
}

func TestBadCertificateIsRefused(t *testing.T) {
	t.Parallel()
	c := files(t.TempDir())
	if _, err := c.Open(); err == nil || !strings.Contains(err.Error(), "cert.pem") {
		t.Errorf("without files: %v", err)
	}
	write(t, c, "one")
	other := files(t.TempDir())
	write(t, other, "two")
	c.KeyFile = other.KeyFile
	if _, err := c.Open(); err == nil || !strings.Contains(err.Error(), other.KeyFile) {
		t.Errorf("with the key of another: %v", err)
	}
}

// TestOldTLSIsRefused: TLS 1.2 is the oldest that is spoken, with certificates from files and by ACME.
func TestOldTLSIsRefused(t *testing.T) {
	t.Parallel()
	fromFiles := files(t.TempDir())
	write(t, fromFiles, "one")
	for from, c := range map[string]web.Certificates{"files": fromFiles, "ACME": {Hosts: []string{"one.test"}, Cache: t.TempDir()}} {
		s, err := c.Open()
		if err != nil {
			t.Fatal(err)
		}
		der, key := issuer{}.issue(t, "one.test", nil) // ACME has none without an authority
		s.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
		}
		for version, spoken := range map[uint16]bool{tls.VersionTLS10: false, tls.VersionTLS11: false, tls.VersionTLS12: true, tls.VersionTLS13: true} {
			here, there := net.Pipe()
			server := tls.Server(there, s.Config)
			done := make(chan error, 1)
			go func() { done <- server.Handshake(); _ = there.Close() }()
			client := tls.Client(here, &tls.Config{ServerName: "one.test", InsecureSkipVerify: true, MinVersion: version, MaxVersion: version})
			err := client.Handshake()
			_ = here.Close()
			if refused := <-done; (err == nil && refused == nil) != spoken {
				t.Errorf("%s with a certificate from %s: %v, %v", tls.VersionName(version), from, err, refused)
			}
		}
	}
}
