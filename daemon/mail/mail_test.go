package mail_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime/quotedprintable"
	netmail "net/mail"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/mail"
	"github.com/contextd/contextd/daemon/testbed"
	"github.com/contextd/contextd/sdk/api"
)

const (
	to   = "reader@example.org"
	link = "https://context.example.org/auth/email?token=0123456789012345678901234567890123456789012"
)

// text has a line that most encodings would break.
func text() string {
	return "Open this:\n\n" + link + strings.Repeat("x", 100) + "\n\n.\nA line with = and a dot above.\n"
}

// check reports where a message is not the one that was sent.
func check(t *testing.T, raw string) {
	t.Helper()
	m, err := netmail.ReadMessage(strings.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	if m.Header.Get("Content-Transfer-Encoding") == "quoted-printable" {
		m.Body = quotedprintable.NewReader(m.Body)
	}
	body, err := io.ReadAll(m.Body)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.TrimSpace(strings.ReplaceAll(string(body), "\r\n", "\n")); got != strings.TrimSpace(text()) {
		t.Errorf("the body is %q", got)
	}
	for name, want := range map[string]string{"Subject": "Sign in", "To": "<" + to + ">"} {
		if got := m.Header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if at, err := m.Header.Date(); err != nil || !at.Equal(now()) {
		t.Errorf("the date is %v, %v", at, err)
	}
}

func now() time.Time { return time.Date(2026, 11, 20, 20, 0, 0, 0, time.UTC) }

func TestOutbox(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "outbox")
	var log testbed.Log
	o := &mail.Outbox{Dir: dir, Now: now, Logger: log.Logger()}
	for range 2 {
		if err := o.Send(t.Context(), to, "Sign in", text()); err != nil {
			t.Fatal(err)
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) != 2 {
		t.Fatalf("files: %v, %v", files, err)
	}
	for _, name := range files {
		info, err := os.Stat(name)
		if err != nil || info.Mode().Perm() != 0o600 || filepath.Ext(name) != ".eml" {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		check(t, string(raw))
		if !strings.Contains(log.String(), name) {
			t.Errorf("the log does not name %s", name)
		}
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the outbox: %v, %v", info.Mode(), err)
	}
	if strings.Contains(log.String(), "token") || strings.Contains(log.String(), to) {
		t.Errorf("the log tells too much: %s", &log)
	}
	if err := o.Send(t.Context(), "nobody", "x", "y"); err == nil {
		t.Error("a message to no address is sent")
	}
}

// start makes an SMTP for s and runs it until the test ends.
func start(t *testing.T, s *server, change func(*mail.SMTPConfig)) (*mail.SMTP, *testbed.Log) {
	t.Helper()
	log := new(testbed.Log)
	cfg := mail.SMTPConfig{Host: "127.0.0.1", Port: s.port(), From: "contextd@example.org", RootCAs: s.pool, Now: now, Logger: log.Logger()}
	if change != nil {
		change(&cfg)
	}
	m, err := mail.NewSMTP(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan struct{})
	go func() { defer close(ended); m.Run(ctx) }()
	t.Cleanup(func() { stop(); <-ended })
	return m, log
}

func TestSMTP(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		implicit  bool
		change    func(*mail.SMTPConfig)
		encrypted bool
		user      bool
	}{
		"STARTTLS":  {false, nil, true, false},
		"signed in": {false, func(c *mail.SMTPConfig) { c.Username, c.Password = "u", "secret" }, true, true},
		"TLS":       {true, func(c *mail.SMTPConfig) { c.Security, c.Username, c.Password = mail.TLS, "u", "secret" }, true, true},
		"plain":     {false, func(c *mail.SMTPConfig) { c.Security = mail.Plain }, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, func(s *server) { s.implicit = c.implicit })
			m, log := start(t, s, c.change)
			if err := m.Send(t.Context(), to, "Sign in", text()); err != nil {
				t.Fatal(err)
			}
			got := s.next()
			if got.to != to || got.encrypted != c.encrypted || got.user != c.user {
				t.Errorf("got a mail to %s, encrypted %v, signed in %v", got.to, got.encrypted, got.user)
			}
			check(t, strings.ReplaceAll(got.text, "\r\n..\r\n", "\r\n.\r\n"))
			if log.String() != "" {
				t.Errorf("the log says %s", log)
			}
		})
	}
}

// TestNothingIsSentInTheClear: a server that offers no STARTTLS, and one that nobody trusts, get no message.
func TestNothingIsSentInTheClear(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		server func(*server)
		change func(*mail.SMTPConfig)
	}{
		"no STARTTLS": {func(s *server) { s.offer = false }, nil},
		"not trusted": {nil, func(c *mail.SMTPConfig) { c.RootCAs = nil }},
		"not trusted from the first byte": {func(s *server) { s.implicit = true },
			func(c *mail.SMTPConfig) { c.RootCAs, c.Security = nil, mail.TLS }},
		"no TLS from the first byte": {nil, func(c *mail.SMTPConfig) { c.Security = mail.TLS }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, c.server)
			m, log := start(t, s, c.change)
			if err := m.Send(t.Context(), to, "Sign in", text()); err != nil {
				t.Fatal(err)
			}
			until(t, func() bool { return strings.Contains(log.String(), "mail not sent") })
			if len(s.mails) > 0 {
				t.Error("the message was sent all the same")
			}
			if strings.Contains(log.String(), to) || strings.Contains(log.String(), "token") {
				t.Errorf("the log tells too much: %s", log)
			}
		})
	}
}

// until waits until true.
func until(t *testing.T, true func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !true(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it did not happen")
		}
	}
}

func TestRefusedForGoodIsNotTriedAgain(t *testing.T) {
	t.Parallel()
	s := serve(t, func(s *server) {
		s.refuse = func(line string) string {
			if strings.Contains(line, "nobody@") {
				return "550 no such user " + line
			}
			return ""
		}
	})
	m, log := start(t, s, nil)
	for _, address := range []string{"nobody@example.org", to} {
		if err := m.Send(t.Context(), address, "Sign in", text()); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.next(); got.to != to {
		t.Errorf("a mail to %s was sent", got.to)
	}
	until(t, func() bool { return strings.Contains(log.String(), "final=true") })
	if strings.Contains(log.String(), "nobody@") {
		t.Errorf("the log names the recipient: %s", log)
	}
}

// TestStopSendsWhatIsQueued queues before anything runs and stops at once.
func TestStopSendsWhatIsQueued(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	m, err := mail.NewSMTP(mail.SMTPConfig{Host: "127.0.0.1", Port: s.port(), From: "contextd@example.org", RootCAs: s.pool})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Send(t.Context(), to, "Sign in", text()); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	m.Run(ctx)
	if len(s.mails) != 1 {
		t.Errorf("%d mails were sent", len(s.mails))
	}
}

func TestFullQueue(t *testing.T) {
	t.Parallel()
	m, err := mail.NewSMTP(mail.SMTPConfig{Host: "127.0.0.1", From: "contextd@example.org"})
	if err != nil {
		t.Fatal(err)
	}
	for n := 0; ; n++ {
		if err = m.Send(t.Context(), to, "Sign in", "x"); err != nil || n > 10_000 {
			break
		}
	}
	if !errors.Is(err, &api.Error{Reason: api.ReasonRateLimited}) {
		t.Errorf("a queue without end: %v", err)
	}
}

func TestBadConfig(t *testing.T) {
	t.Parallel()
	for what, cfg := range map[string]mail.SMTPConfig{
		"no host": {From: "a@example.org"}, "no sender": {Host: "x"}, "security": {Host: "x", From: "a@example.org", Security: "ssl"},
		"port": {Host: "x", From: "a@example.org", Port: 70_000},
	} {
		if _, err := mail.NewSMTP(cfg); err == nil {
			t.Error(fmt.Sprint(what, " is taken"))
		}
	}
}

// TestUsualPorts: without a port, the one that the kind of encryption is known by.
func TestUsualPorts(t *testing.T) {
	t.Parallel()
	for security, want := range map[mail.Security]string{"": "587", mail.StartTLS: "587", mail.TLS: "465", mail.Plain: "25"} {
		m, err := mail.NewSMTP(mail.SMTPConfig{Host: "127.0.0.1", From: "contextd@example.org", Security: security})
		if err != nil {
			t.Fatal(err)
		}
		if got := m.ServerAddr(); got != "127.0.0.1:"+want {
			t.Errorf("%q: %s, want port %s", security, got, want)
		}
	}
}

// TestDeliver knows whether the server has taken a message, and says why not without the recipient.
func TestDeliver(t *testing.T) {
	t.Parallel()
	s := serve(t, func(s *server) {
		s.refuse = func(line string) string {
			if strings.Contains(line, "nobody@") {
				return "550 no such user " + line
			}
			return ""
		}
	})
	m, err := mail.NewSMTP(mail.SMTPConfig{Host: "127.0.0.1", Port: s.port(), From: "contextd@example.org", RootCAs: s.pool, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Deliver(t.Context(), to, "Sign in", text()); err != nil || len(s.mails) != 1 {
		t.Errorf("%d mails were sent, %v", len(s.mails), err)
	}
	err = m.Deliver(t.Context(), "nobody@example.org", "Sign in", text())
	if err == nil || !strings.Contains(err.Error(), "550") || strings.Contains(err.Error(), "nobody@") || len(s.mails) != 1 {
		t.Errorf("%d mails were sent, %v", len(s.mails), err)
	}
	if err := s.listener.Close(); err != nil {
		t.Fatal(err)
	}
	if err := m.Deliver(t.Context(), to, "Sign in", text()); err == nil {
		t.Error("nobody is there, and it is sent")
	}
}
