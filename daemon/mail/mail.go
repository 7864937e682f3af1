// Package mail sends what the daemon mails: by SMTP, or, where none is configured, into files of an outbox.
//
// It knows nothing of what a message says. Messages carry secrets, so neither their text nor their recipient reaches the log.
package mail

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	gomail "github.com/wneessen/go-mail"
)

// message makes a message of plain text.
func message(from, to, subject, text string, encoding gomail.Encoding, now time.Time) (*gomail.Msg, error) {
	m := gomail.NewMsg(gomail.WithEncoding(encoding), gomail.WithNoDefaultUserAgent())
	if err := errors.Join(m.From(from), m.To(to)); err != nil {
		return nil, fmt.Errorf("address message: %w", err)
	}
	m.Subject(subject)
	m.SetDateWithValue(now)
	m.SetMessageID()
	m.SetBodyString(gomail.TypeTextPlain, text)
	return m, nil
}

// Outbox writes messages as files, for who has no mail server, and for demos and tests. It is safe for concurrent use.
type Outbox struct {
	Dir    string           // made when the first message comes, for the user alone
	From   string           // "" means contextd@localhost
	Now    func() time.Time // nil means time.Now
	Logger *slog.Logger     // nil means slog.Default

	sent atomic.Int64
}

// defaultFrom is the sender of messages that go nowhere.
const defaultFrom = "contextd@localhost"

// Send writes a message to a new file in Dir, whole or not at all. The names of files are in the order in which they were sent.
func (o *Outbox) Send(_ context.Context, to, subject, text string) error {
	now, log, from := time.Now, slog.Default(), defaultFrom
	if o.Now != nil {
		now = o.Now
	}
	if o.Logger != nil {
		log = o.Logger
	}
	if o.From != "" {
		from = o.From
	}
	m, err := message(from, to, subject, text, gomail.NoEncoding, now()) // so that scripts find a link whole
	if err != nil {
		return err
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return fmt.Errorf("make outbox: %w", err)
	}
	name := filepath.Join(o.Dir, fmt.Sprintf("%s-%06d-%s", now().UTC().Format("20060102T150405.000Z"), o.sent.Add(1), rand.Text()[:6]))
	f, err := os.OpenFile(name+".new", os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("write to outbox: %w", err)
	}
	_, err = m.WriteTo(f)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(name+".new", name+".eml")
	}
	if err != nil {
		return fmt.Errorf("write to outbox: %w", errors.Join(err, os.Remove(name+".new")))
	}
	log.Info("no SMTP server is configured; a mail was written to a file", "file", name+".eml")
	return nil
}
