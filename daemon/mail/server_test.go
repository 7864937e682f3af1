package mail_test

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"
)

// server is an SMTP server as far as a client that sends needs one.
type server struct {
	t        *testing.T
	listener net.Listener
	cert     tls.Certificate
	pool     *x509.CertPool
	offer    bool                     // offers STARTTLS
	implicit bool                     // speaks TLS from the first byte
	refuse   func(line string) string // answers a line with an error, "" to go on; nil refuses nothing
	mails    chan received
}

// received is a message with what is known of how it came.
type received struct {
	to, text  string
	encrypted bool
	user      bool // signed in before
}

// serve starts a server that ends with the test.
func serve(t *testing.T, change func(*server)) *server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	s := &server{t: t, listener: l, offer: true, mails: make(chan received, 100)}
	s.cert, s.pool = certificate(t)
	if change != nil {
		change(s)
	}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go s.talk(conn)
		}
	}()
	return s
}

func (s *server) port() int { return s.listener.Addr().(*net.TCPAddr).Port }

// talk answers one client.
func (s *server) talk(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	got := received{}
	if s.implicit {
		conn, got.encrypted = tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{s.cert}}), true
	}
	say := func(line string) { _, _ = io.WriteString(conn, line+"\r\n") }
	lines := bufio.NewReader(conn)
	say("220 test ESMTP")
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		line = strings.TrimSpace(line)
		if s.refuse != nil {
			if answer := s.refuse(line); answer != "" {
				say(answer)
				continue
			}
		}
		verb, rest, _ := strings.Cut(line, " ")
		switch strings.ToUpper(verb) {
		case "EHLO":
			if s.offer && !got.encrypted {
				say("250-test\r\n250 STARTTLS")
			} else {
				say("250-test\r\n250 AUTH PLAIN")
			}
		case "STARTTLS":
			say("220 go on")
			secure := tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{s.cert}})
			conn, lines, got.encrypted = secure, bufio.NewReader(secure), true
		case "AUTH":
			got.user = true
			say("235 welcome")
		case "RCPT":
			got.to = strings.Trim(strings.TrimPrefix(rest, "TO:"), "<>")
			say("250 ok")
		case "DATA":
			say("354 go on")
			got.text = ""
			for {
				line, err := lines.ReadString('\n')
				if err != nil {
					return
				}
				if line == ".\r\n" {
					break
				}
				got.text += line
			}
			s.mails <- got
			say("250 taken")
		case "QUIT":
			say("221 bye")
			return
		default:
			say("250 ok")
		}
	}
}

// certificate is one for 127.0.0.1 and the pool that trusts it.
func certificate(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

// next is the next message that s gets.
func (s *server) next() received {
	s.t.Helper()
	select {
	case m := <-s.mails:
		return m
	case <-time.After(2 * time.Minute):
		s.t.Fatal("no mail came")
		return received{}
	}
}
