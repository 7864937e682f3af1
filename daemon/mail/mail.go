// Package mail sends what the daemon mails: by SMTP, or, where none is configured, into files of an outbox.
//
// It knows nothing of what a message says. Messages carry secrets, so neither their text nor their recipient reaches the log.
package mail

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	gomail "github.com/wneessen/go-mail"

	"github.com/contextd/contextd/internal/atomicfile"
)

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

// Prune removes the files of messages that were sent before the given time. By their names, others stay.
func (o *Outbox) Prune(before time.Time) error {
	files, err := filepath.Glob(filepath.Join(o.Dir, "*.eml"))
	for _, file := range files {
		stamp, _, _ := strings.Cut(filepath.Base(file), "-")
		if at, bad := time.Parse(stampLayout, stamp); bad == nil && at.Before(before) {
			err = errors.Join(err, os.Remove(file))
		}
	}
	return err
}

// stampLayout is how the name of a file begins.
const stampLayout = "20060102T150405.000Z"

// defaultFrom is the sender of messages that go nowhere.
const defaultFrom = "contextd@localhost"

// Deliver is Send, for who has to know whether it was sent.
func (o *Outbox) Deliver(ctx context.Context, to, subject, text string) error {
	return o.Send(ctx, to, subject, text)
}

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
	name := fmt.Sprintf("%s-%06d-%s.eml", now().UTC().Format(stampLayout), o.sent.Add(1), rand.Text()[:6])
	file := atomicfile.File{Path: filepath.Join(o.Dir, name)}
	if err := file.Write(func(w io.Writer) error { _, err := m.WriteTo(w); return err }); err != nil {
		return fmt.Errorf("write to outbox: %w", err)
	}
	log.Info("no SMTP server configured; mail saved to a file", "file", file.Path)
	return nil
}
