package mail

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	gomail "github.com/wneessen/go-mail"

	"github.com/contextd/contextd/sdk/api"
)

// Security says how the connection to the SMTP server is encrypted.
type Security string

// The kinds of encryption. There is no falling back from one to another.
const (
	StartTLS Security = "starttls" // after a greeting in the clear; usually port 587
	TLS      Security = "tls"      // from the first byte; usually port 465
	Plain    Security = "none"     // not at all: for a server on the same machine
)

// SMTPConfig is what SMTP needs.
type SMTPConfig struct {
	Host     string
	Port     int      // 0 means the usual one of Security
	Security Security // "" means StartTLS
	Username string   // "" means that the server asks for none
	Password string
	From     string           // the sender's address
	RootCAs  *x509.CertPool   // nil means those of the system
	Now      func() time.Time // nil means time.Now
	Logger   *slog.Logger     // nil means slog.Default
}

const (
	senders      = 4                      // at a time
	queued       = 256                    // messages that wait to be sent
	attempts     = 3                      // to send one
	attemptTime  = 20 * time.Second       // for one attempt
	attemptPause = 5 * time.Second        // after one that failed, times its number
	lastTime     = 500 * time.Millisecond // for all that is left at a stop
)

// SMTP sends messages through a mail server, in the background: whether an address is known and how long a server takes shows
// nobody. Make one with NewSMTP and let Run run.
type SMTP struct {
	cfg    SMTPConfig
	client *gomail.Client
	queue  chan *gomail.Msg
}

// NewSMTP makes an SMTP. It does not connect yet.
func NewSMTP(cfg SMTPConfig) (*SMTP, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	options := []gomail.Option{gomail.WithTimeout(attemptTime), gomail.WithTLSConfig(&tls.Config{
		ServerName: cfg.Host, RootCAs: cfg.RootCAs, MinVersion: tls.VersionTLS12,
	})}
	switch cfg.Security {
	case "", StartTLS:
		options = append(options, gomail.WithTLSPortPolicy(gomail.TLSMandatory))
	case TLS:
		options = append(options, gomail.WithSSL(), gomail.WithPort(gomail.DefaultPortSSL)) // so there is no port to fall back to
	case Plain:
		options = append(options, gomail.WithTLSPortPolicy(gomail.NoTLS))
	default:
		return nil, fmt.Errorf("SMTP security is %q, not %s, %s or %s", cfg.Security, StartTLS, TLS, Plain)
	}
	if cfg.Port != 0 {
		options = append(options, gomail.WithPort(cfg.Port))
	}
	if cfg.Username != "" {
		options = append(options, gomail.WithSMTPAuth(gomail.SMTPAuthAutoDiscover),
			gomail.WithUsername(cfg.Username), gomail.WithPassword(cfg.Password))
	}
	if _, err := message(cfg.From, cfg.From, "", "", gomail.EncodingQP, cfg.Now()); err != nil {
		return nil, fmt.Errorf("SMTP sender %q: %w", cfg.From, err)
	}
	client, err := gomail.NewClient(cfg.Host, options...)
	if err != nil {
		return nil, fmt.Errorf("SMTP server: %w", err)
	}
	return &SMTP{cfg: cfg, client: client, queue: make(chan *gomail.Msg, queued)}, nil
}

// Send takes a message to be sent. A full queue is an *api.Error that asks to try later.
func (s *SMTP) Send(_ context.Context, to, subject, text string) error {
	m, err := message(s.cfg.From, to, subject, text, gomail.EncodingQP, s.cfg.Now())
	if err != nil {
		return err
	}
	select {
	case s.queue <- m:
		return nil
	default:
		return api.Errorf(api.ReasonRateLimited, "too many mails wait to be sent").WithHint("try again after Retry-After").
			WithRetryAfter(time.Minute)
	}
}

// Deliver sends a message now and returns when the server has taken it, for who has to know. It is tried once.
func (s *SMTP) Deliver(ctx context.Context, to, subject, text string) error {
	m, err := message(s.cfg.From, to, subject, text, gomail.EncodingQP, s.cfg.Now())
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, attemptTime)
	defer cancel()
	if err := s.client.DialAndSendWithContext(ctx, m); err != nil {
		return fmt.Errorf("send mail by %s: %s", s.cfg.Host, withoutRecipients(err, m))
	}
	return nil
}

// Run sends until ctx is done, and then, once, what is still queued.
func (s *SMTP) Run(ctx context.Context) {
	var all sync.WaitGroup
	for range senders {
		all.Go(func() {
			for ctx.Err() == nil {
				select {
				case m := <-s.queue:
					s.deliver(ctx, m)
				case <-ctx.Done():
				}
			}
		})
	}
	all.Wait()
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastTime)
	defer cancel()
	for {
		select {
		case m := <-s.queue:
			s.try(last, m, 1)
		default:
			return
		}
	}
}

// deliver tries to send m until that works or the attempts are used up. When ctx is done first, m is queued again.
func (s *SMTP) deliver(ctx context.Context, m *gomail.Msg) {
	for attempt := 1; attempt <= attempts; attempt++ {
		if s.try(ctx, m, attempt) {
			return
		}
		select {
		case <-ctx.Done():
			select {
			case s.queue <- m:
			default:
			}
			return
		case <-time.After(time.Duration(attempt) * attemptPause):
		}
	}
}

// try tries to send m and reports whether nothing is left to do.
func (s *SMTP) try(ctx context.Context, m *gomail.Msg, attempt int) (done bool) {
	err := s.client.DialAndSendWithContext(ctx, m)
	if err == nil {
		return true
	}
	var refused *gomail.SendError
	final := errors.As(err, &refused) && !refused.IsTemp() && refused.ErrorCode() >= 500
	s.cfg.Logger.Error("mail not sent", "server", s.cfg.Host, "attempt", attempt, "final", final || attempt == attempts,
		"error", withoutRecipients(err, m))
	return final
}

// withoutRecipients is the text of err without the addresses that m goes to, which are nobody else's business.
func withoutRecipients(err error, m *gomail.Msg) string {
	text := err.Error()
	to, _ := m.GetRecipients() // none is as good
	for _, address := range to {
		text = strings.ReplaceAll(text, strings.Trim(address, "<>"), "…")
	}
	return text
}

// Check connects to the server and signs in, and sends nothing.
func (s *SMTP) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, attemptTime)
	defer cancel()
	if err := s.client.DialWithContext(ctx); err != nil {
		return fmt.Errorf("connect to mail server: %w", err)
	}
	if err := s.client.Close(); err != nil {
		return fmt.Errorf("leave mail server: %w", err)
	}
	return nil
}
