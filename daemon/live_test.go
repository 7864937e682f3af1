package daemon_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/admin"
	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/daemon/web"
	"github.com/contextd/contextd/sdk/api"
)

// testCertificate is the files of a certificate for 127.0.0.1 (that of httptest), and who trusts it.
func testCertificate(t *testing.T) (web.Certificates, *x509.CertPool) {
	t.Helper()
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	key, err := x509.MarshalPKCS8PrivateKey(s.TLS.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	c := web.Certificates{CertFile: filepath.Join(dir, "cert.pem"), KeyFile: filepath.Join(dir, "key.pem")}
	for path, block := range map[string]*pem.Block{c.CertFile: {Type: "CERTIFICATE", Bytes: s.Certificate().Raw}, c.KeyFile: {Type: "PRIVATE KEY", Bytes: key}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pool := x509.NewCertPool()
	pool.AddCert(s.Certificate())
	return c, pool
}

// TestHTTPS serves calls and streams with a certificate, over HTTP/1.1 and HTTP/2; streams end cleanly with the daemon.
func TestHTTPS(t *testing.T) {
	t.Parallel()
	certificate, trusted := testCertificate(t)
	d := daemontest.Start(t, func(c *daemon.Config) { c.TLS = &certificate })
	if !strings.HasPrefix(d.URL(), "https://127.0.0.1:") {
		t.Errorf("the URL is %s", d.URL())
	}
	key, url := d.Key(t, api.TierPro), d.URL()
	var streams []*http.Response
	for _, h2 := range []bool{false, true} {
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted}, ForceAttemptHTTP2: h2}
		if !h2 {
			transport.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{}
		}
		defer transport.CloseIdleConnections()
		c := &http.Client{Transport: transport}
		res, err := c.Get(url + api.PathHealth)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if got := res.Header.Get("Strict-Transport-Security"); got != "max-age=31536000" || res.ProtoMajor != map[bool]int{false: 1, true: 2}[h2] {
			t.Errorf("over %s browsers are told %q", res.Proto, got)
		}
		stream, err := c.Get(url + api.PathSubscribe + "?token=" + key)
		if err != nil || stream.StatusCode != http.StatusOK {
			t.Fatalf("subscribe: %v, %v", stream, err)
		}
		defer stream.Body.Close()
		streams = append(streams, stream)
	}
	for _, stream := range streams {
		if line, err := bufio.NewReader(stream.Body).ReadString('\n'); err != nil || line == "" {
			t.Fatalf("the stream over %s begins with %q, %v", stream.Proto, line, err)
		}
	}
	d.Stop(t)
	for _, stream := range streams {
		if _, err := io.Copy(io.Discard, stream.Body); err != nil {
			t.Errorf("the stream over %s does not end cleanly: %v", stream.Proto, err)
		}
	}
}

// TestCertificateElsewhere: a certificate whose files have other names now waits for a restart, and holds nothing else up.
func TestCertificateElsewhere(t *testing.T) {
	t.Parallel()
	certificate, _ := testCertificate(t)
	renewed, _ := testCertificate(t)
	d := daemontest.Start(t, func(c *daemon.Config) { c.TLS = &certificate })
	live := d.Config.Reloadable
	if err := d.Apply(t.Context(), live); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Remove(certificate.CertFile), os.Remove(certificate.KeyFile)); err != nil {
		t.Fatal(err)
	}
	if err := d.Apply(t.Context(), live); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a certificate that is gone: %v", err)
	}
	live.TLS = &renewed
	if err := d.Apply(t.Context(), live); err != nil {
		t.Errorf("a certificate elsewhere: %v", err)
	}
	live.TLS = nil
	if err := d.Apply(t.Context(), live); err != nil {
		t.Errorf("no certificate any more: %v", err)
	}
}

func TestPlainHTTPTellsBrowsersNothing(t *testing.T) {
	t.Parallel()
	for public, want := range map[string]string{"": "", "http://context.example.org": "", "https://context.example.org": "max-age=31536000"} {
		d := daemontest.Start(t, func(c *daemon.Config) { c.PublicURL = public })
		res, err := http.Get(d.URL() + api.PathHealth)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if got := res.Header.Get("Strict-Transport-Security"); got != want {
			t.Errorf("at %q browsers are told %q, want %q", public, got, want)
		}
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
}

// TestSocket serves on a Unix socket, where the proxy that connects says who calls.
func TestSocket(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s")
	at := func(c *daemon.Config) {
		c.Listen, c.PublicURL, c.Limits = "unix:"+path, "https://context.example.org", daemon.Limits{SignIns: 1}
	}
	d := daemontest.Start(t, at)
	if d.URL() != "unix:"+path {
		t.Errorf("the URL is %s", d.URL())
	}
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}}
	defer transport.CloseIdleConnections()
	try := func(from string) int {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://x"+api.PathAuthEmailVerify, strings.NewReader(`{"token":"x"}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Host = "context.example.org"
		if from != "" {
			req.Header.Set("X-Forwarded-For", from)
		}
		res, err := transport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		return res.StatusCode
	}
	for i, from := range []string{"198.51.100.1", "198.51.100.2", "198.51.100.9, 198.51.100.3", ""} {
		if got := try(from); got != http.StatusUnauthorized {
			t.Errorf("request %d, from %q: %d", i, from, got)
		}
	}
	for _, from := range []string{"198.51.100.1", "198.51.100.9, 198.51.100.2", "198.51.100.3", "nonsense"} {
		if got := try(from); got != http.StatusTooManyRequests {
			t.Errorf("a second request from %q: %d", from, got)
		}
	}
	cfg := daemon.Config{DataDir: t.TempDir(), Serve: daemon.Serve{Listen: "unix:" + path + "2"}}
	if _, err := daemon.Open(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "public_url") {
		t.Errorf("without a public URL: %v", err)
	}
}

// TestApply changes what can change while the daemon runs, all of it or nothing.
func TestApply(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t, func(c *daemon.Config) { c.Limits = daemon.Limits{SignIns: 1} })
	key := d.Key(t, api.TierFree)
	c := client(t, d, key)
	try := func(from string) int {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, d.URL()+api.PathAuthEmailVerify, strings.NewReader(`{"token":"x"}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Forwarded-For", from)
		res, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		return res.StatusCode
	}
	defer http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	_ = try("198.51.100.1")
	if got := try("198.51.100.2"); got != http.StatusTooManyRequests {
		t.Fatalf("a client that nobody vouches for: %d", got)
	}
	plans := billing.DefaultPlans()
	plans[api.TierFree] = billing.Plan{Snapshot: plans[api.TierPro].Snapshot}
	live := daemon.Reloadable{
		TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, Plans: plans,
		Limits: daemon.Limits{FreeCalls: 2, SignIns: 1}, Disabled: []string{"kraken-ticker"},
	}
	wrong := live
	wrong.Disabled = []string{"kraken-ticker", "no-such-source"}
	if err := d.Apply(t.Context(), wrong); err == nil || !strings.Contains(err.Error(), "no-such-source") {
		t.Errorf("a source that is not there: %v", err)
	}
	if got := try("198.51.100.2"); got != http.StatusTooManyRequests {
		t.Errorf("what was refused is in effect: %d", got)
	}
	if err := d.Apply(t.Context(), live); err != nil {
		t.Fatal(err)
	}
	for _, from := range []string{"198.51.100.3", "198.51.100.4"} {
		if got := try(from); got != http.StatusUnauthorized {
			t.Errorf("%s, for whom a trusted proxy vouches: %d", from, got)
		}
	}
	if err := d.Refresh(t.Context(), api.PackCrypto); err != nil {
		t.Fatal(err)
	}
	answer, err := c.Fresh(t.Context(), "")
	if err != nil || !strings.Contains(string(answer.State), `"error":"disabled"`) {
		t.Errorf("the source is not switched off: %v", err)
	}
	_, _ = c.Fresh(t.Context(), "")
	if _, err = c.Fresh(t.Context(), ""); !errors.Is(err, &api.Error{Reason: api.ReasonQuotaExhausted}) {
		t.Errorf("a third call: %v", err)
	}
	if err := d.Apply(t.Context(), daemon.Reloadable{}); err != nil { // back to the defaults
		t.Fatal(err)
	}
	if err := d.Refresh(t.Context(), api.PackCrypto); err != nil {
		t.Fatal(err)
	}
	if answer, err = c.Fresh(t.Context(), ""); err != nil || strings.Contains(string(answer.State), `"error":"disabled"`) {
		t.Errorf("the source is not switched on again: %v", err)
	}
}

// TestAlive is answered over the admin socket as long as the daemon can write to its databases.
func TestAlive(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t)
	if err := admin.Alive(t.Context(), d.Config.DataDir); err != nil {
		t.Error(err)
	}
	db, err := sql.Open("sqlite3", filepath.Join(d.Config.DataDir, store.File))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(t.Context(), "BEGIN IMMEDIATE"); err != nil { // as a writer that hangs
		t.Fatal(err)
	}
	impatient, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := admin.Alive(impatient, d.Config.DataDir); err == nil {
		t.Error("a daemon that cannot write is alive")
	}
	if _, err := db.ExecContext(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if err := admin.Alive(t.Context(), d.Config.DataDir); err != nil {
		t.Error(err)
	}
	d.Stop(t)
	if err := admin.Alive(t.Context(), d.Config.DataDir); err == nil {
		t.Error("a daemon that is gone is alive")
	}
}
