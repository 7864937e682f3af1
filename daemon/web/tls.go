package web

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"time"

	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"
)

// Certificates say where those of HTTPS come from: from files, or by ACME where Hosts are named.
type Certificates struct {
	CertFile, KeyFile string // PEM, the certificate with its chain

	Hosts     []string // that a certificate may be asked for
	Email     string   // for the authority; "" means none
	Directory string   // URL of the authority's directory; "" means Let's Encrypt
	Cache     string   // directory where certificates by ACME are kept

	Now    func() time.Time // nil means time.Now
	Logger *slog.Logger     // nil means slog.Default
}

// TLS is the TLS of a server that has Certificates.
type TLS struct {
	*tls.Config
	pair *pair // nil with ACME
}

// Open reads the certificate, or prepares to ask for one when the first client comes.
func (c Certificates) Open() (*TLS, error) {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if len(c.Hosts) > 0 {
		manager := &autocert.Manager{
			Prompt: autocert.AcceptTOS, Cache: autocert.DirCache(c.Cache), HostPolicy: autocert.HostWhitelist(c.Hosts...), Email: c.Email,
		}
		if c.Directory != "" {
			manager.Client = &acme.Client{DirectoryURL: c.Directory}
		}
		t := manager.TLSConfig()
		t.MinVersion = tls.VersionTLS12
		return &TLS{Config: t}, nil
	}
	p := &pair{cfg: c}
	if err := p.load(); err != nil {
		return nil, err
	}
	return &TLS{Config: &tls.Config{GetCertificate: p.get, MinVersion: tls.VersionTLS12}, pair: p}, nil
}

// Reload reads the certificate again. The old one stays where the new one is no good.
func (t *TLS) Reload() error {
	if t.pair == nil {
		return nil
	}
	return t.pair.load()
}

// lookEvery is how often it is looked whether the files of a certificate have changed.
const lookEvery = 10 * time.Second

// pair is a certificate and its key in files.
type pair struct {
	cfg Certificates

	mu     sync.Mutex // guards what follows
	cert   *tls.Certificate
	seen   [2]version // of the files that were read last, good or not
	looked time.Time
}

// version tells files apart that were at the same path at different times.
type version struct {
	at   time.Time
	size int64
}

func (p *pair) versions() (now [2]version, err error) {
	for i, path := range []string{p.cfg.CertFile, p.cfg.KeyFile} {
		info, err := os.Stat(path)
		if err != nil {
			return now, err
		}
		now[i] = version{info.ModTime(), info.Size()}
	}
	return now, nil
}

func (p *pair) load() error {
	seen, err := p.versions() // before the files: what changes in between is read again
	if err == nil {
		var cert tls.Certificate
		cert, err = tls.LoadX509KeyPair(p.cfg.CertFile, p.cfg.KeyFile)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.seen = seen
		if err == nil {
			p.cert = &cert
			return nil
		}
	}
	var file *fs.PathError
	if errors.As(err, &file) {
		return fmt.Errorf("read certificate: %w", err)
	}
	return fmt.Errorf("read certificate %s with key %s: %w", p.cfg.CertFile, p.cfg.KeyFile, err)
}

// get is the certificate for a client, of the files as they are now.
func (p *pair) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	p.mu.Lock()
	now := p.cfg.Now()
	look := now.Sub(p.looked) >= lookEvery || now.Before(p.looked)
	if look {
		p.looked = now
	}
	seen := p.seen
	p.mu.Unlock()
	if look {
		// A file that is away for a moment is being replaced.
		if versions, err := p.versions(); err == nil && versions != seen {
			if err := p.load(); err != nil {
				p.cfg.Logger.Error("new certificate is invalid; the old one stays", "error", err)
			} else {
				p.cfg.Logger.Info("certificate replaced", "file", p.cfg.CertFile)
			}
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cert, nil
}
