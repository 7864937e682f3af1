package alert

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/contextd/contextd/internal/build"
	"github.com/contextd/contextd/sdk/api"
)

const (
	webhookTime = 10 * time.Second // for one delivery
	webhookRest = 64 << 10         // bytes of an answer that are read, so that the connection can be used again
)

// Hook says where and how events are posted.
type Hook struct {
	// URL is of http or https. It may be a private address: who names it looks after this machine. It may be a secret: no error has it.
	URL string

	Secret []byte           // that posts are signed with, or the access token of ntfy; nil for none
	Format Format           // "" means FormatJSON
	Text   string           // template of what a chat is told, over an Event with its Value decoded; "" means Event.Text
	Now    func() time.Time // nil means time.Now
}

// Webhook is an address that takes events. Make one with NewWebhook.
type Webhook struct {
	url    *url.URL
	secret []byte
	writer writer
	client *http.Client
	now    func() time.Time
}

// NewWebhook makes a Webhook.
func NewWebhook(h Hook) (*Webhook, error) {
	u, err := url.Parse(h.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.Fragment != "" {
		return nil, errors.New("the address of the webhook is not like https://example.org/path")
	}
	if u.Path == "" {
		u.Path = "/" // which is what the server sees, and what is signed
	}
	w, err := newWriter(h, u)
	if err != nil {
		return nil, err
	}
	now := h.Now
	if now == nil {
		now = time.Now
	}
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, MaxIdleConns: 1, IdleConnTimeout: time.Minute}
	if d, ok := http.DefaultTransport.(*http.Transport); ok {
		transport.DialContext, transport.TLSHandshakeTimeout = d.DialContext, d.TLSHandshakeTimeout
	}
	return &Webhook{url: u, secret: h.Secret, writer: w, now: now, client: &http.Client{
		Transport: transport, Timeout: webhookTime,
		// A redirect would take the event, and its signature, to where nobody has sent it.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// Host is where w is, without what may be secret.
func (w *Webhook) Host() string { return w.url.Host }

// Deliver posts e. An answer of the kind 2xx takes it.
func (w *Webhook) Deliver(ctx context.Context, e Event) error {
	body, err := w.writer.body(e)
	if err != nil {
		return fmt.Errorf("write event: %w", err)
	}
	if body == nil {
		return nil
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url.String(), bytes.NewReader(body))
	if err != nil {
		return errors.New("the webhook cannot be asked") // the error itself would show the address
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "contextd-alert/"+build.Read().Version)
	r.Header.Set("Idempotency-Key", e.ID)
	switch {
	case len(w.secret) == 0:
	case w.writer.format == FormatNtfy:
		r.Header.Set("Authorization", "Bearer "+string(w.secret))
	default:
		at := w.now()
		Sign(r.Header, e.ID, at, body, signingKey(w.secret))
		r.Header.Set(api.HeaderJobTimestamp, strconv.FormatInt(at.Unix(), 10))
		r.Header.Set(api.HeaderJobSignature, api.SignRequest(w.secret, at, r.Method, w.url.Path, body))
	}
	res, err := w.client.Do(r)
	if err != nil {
		if failed, ok := errors.AsType[*url.Error](err); ok {
			err = failed.Err // without the address
		}
		return fmt.Errorf("post to %s: %w", w.url.Host, err)
	}
	defer res.Body.Close()
	_, _ = io.CopyN(io.Discard, res.Body, webhookRest) // what it says beside its status is its own affair
	if res.StatusCode/100 == 2 {
		return nil
	}
	err = fmt.Errorf("%s answers %s", w.url.Host, statusOf(res.StatusCode))
	if seconds, bad := strconv.ParseInt(res.Header.Get("Retry-After"), 10, 32); bad == nil && seconds > 0 {
		return &Later{After: time.Duration(seconds) * time.Second, Err: err}
	}
	return err
}

// statusOf is a status with its usual words, and not with those of the server.
func statusOf(code int) string {
	if code/100 == 3 {
		return fmt.Sprintf("%d, a redirect, which is not followed", code)
	}
	return fmt.Sprintf("%d %s", code, http.StatusText(code))
}
