package daemon_test

import (
	"bufio"
	"io"
	"mime"
	"mime/quotedprintable"
	"net"
	netmail "net/mail"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/daemon/mail"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

// postOffice is a server of mail.
type postOffice struct {
	listener net.Listener

	mu      sync.Mutex // guards what follows
	refuses bool
	refused int
	mails   []letter
}

// letter is what it took.
type letter struct{ to, subject, text string }

func newPostOffice(t *testing.T) *postOffice {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &postOffice{listener: l}
	var all sync.WaitGroup
	t.Cleanup(func() { _ = l.Close(); all.Wait() })
	all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() { p.talk(conn) })
		}
	})
	return p
}

// talk answers one client.
func (p *postOffice) talk(conn net.Conn) {
	defer conn.Close()
	say := func(line string) { _, _ = io.WriteString(conn, line+"\r\n") }
	say("220 office")
	to := ""
	for lines := bufio.NewReader(conn); ; {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		switch verb, rest, _ := strings.Cut(strings.TrimSpace(line), " "); strings.ToUpper(verb) {
		case "RCPT":
			to = strings.Trim(strings.TrimPrefix(rest, "TO:"), "<>")
			p.mu.Lock()
			if p.refuses {
				p.refused++
				say("550 nobody")
			} else {
				say("250 ok")
			}
			p.mu.Unlock()
		case "DATA":
			say("354 go on")
			var text strings.Builder
			for line, err = lines.ReadString('\n'); err == nil && line != ".\r\n"; line, err = lines.ReadString('\n') {
				text.WriteString(strings.TrimPrefix(line, "."))
			}
			p.take(to, text.String())
			say("250 taken")
		case "QUIT":
			say("221 bye")
			return
		default:
			say("250 ok")
		}
	}
}

// take keeps a mail that came.
func (p *postOffice) take(to, text string) {
	l := letter{to: to, text: text}
	if m, err := netmail.ReadMessage(strings.NewReader(text)); err == nil {
		l.subject, _ = new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject"))
		body := m.Body
		if m.Header.Get("Content-Transfer-Encoding") == "quoted-printable" {
			body = quotedprintable.NewReader(body)
		}
		plain, _ := io.ReadAll(body)
		l.text = string(plain)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mails = append(p.mails, l)
}

// got are the mails so far.
func (p *postOffice) got() []letter {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.mails)
}

// refuse has p refuse everybody, or nobody; and returns how many it has refused.
func (p *postOffice) refuse(on bool) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuses = on
	return p.refused
}

// TestWatchByMail: events are mailed by a real server to an address by which the owner signs in, each once, with sources and the way to
// end it; what a server refuses is an error of the test of the watch.
func TestWatchByMail(t *testing.T) {
	t.Parallel()
	p := newPostOffice(t)
	d := daemontest.Start(t, func(c *daemon.Config) {
		c.SMTP = &mail.SMTPConfig{Host: "127.0.0.1", Port: p.listener.Addr().(*net.TCPAddr).Port, Security: mail.Plain, From: "us@example.org"}
	})
	ctx := t.Context()
	const address = "ada@example.org"
	public, err := sdk.New(sdk.WithoutEnv(), sdk.WithBaseURL(d.URL()), sdk.WithRetries(0))
	if err != nil {
		t.Fatal(err)
	}
	console := public.Console("")
	if _, err := console.SendLink(ctx, address); err != nil {
		t.Fatal(err)
	}
	until(t, "the link", func() bool { return len(p.got()) == 1 })
	link := regexp.MustCompile(`https?://\S+\?token=\S+`).FindString(p.got()[0].text)
	if _, err := console.ByLink(ctx, link); err != nil {
		t.Fatalf("%q: %v", link, err)
	}
	key, err := console.CreateKey(ctx, "mail", "")
	if err != nil {
		t.Fatal(err)
	}
	c := clientOf(t, d, key.Key)
	make := func(kind api.WatchType, to string) (*api.Watch, error) {
		return c.CreateWatch(ctx, api.WatchRequest{Type: kind, Arguments: []byte(map[api.WatchType]string{
			api.WatchFlagChanged: `{"severity":"notice"}`, api.WatchStatePublished: `{}`}[kind]),
			Delivery: api.WatchDelivery{Type: api.DeliverEmail, Email: to}})
	}
	for to, kind := range map[string]api.WatchType{"eve@example.org": api.WatchFlagChanged, address: api.WatchStatePublished} {
		if _, err := make(kind, to); api.AsError(err).Reason != api.ReasonInvalidDelivery {
			t.Errorf("%s to %s: %v", kind, to, err)
		}
	}
	w, err := make(api.WatchFlagChanged, address)
	if err != nil {
		t.Fatal(err)
	}
	refresh(t, d, 3)
	ids, _, _ := eventsAfter(t, c, w.ID, w.Cursor)
	if len(ids) < 2 {
		t.Fatalf("there are %d events", len(ids))
	}
	mails := func() []letter { return p.got()[1:] }
	later(t, d, time.Second, "the mails", func() bool { return len(mails()) == len(ids) })
	subjects := map[string]bool{}
	for _, m := range mails() {
		subjects[m.subject] = true
		for _, want := range []string{m.subject, "\n[", "https://", "This is synthetic data.", "ctx watch remove " + w.ID} {
			if m.to != address || m.subject == "" || !strings.Contains(strings.ReplaceAll(m.text, "\r\n", "\n"), want) {
				t.Errorf("mail to %s lacks %q: %q %s", m.to, want, m.subject, m.text)
			}
		}
	}
	if len(subjects) < 2 {
		t.Errorf("the subjects are %v", subjects)
	}

	if n := p.refuse(true); n != 0 {
		t.Errorf("%d were refused", n)
	}
	if err := c.TestWatch(ctx, w.ID); api.AsError(err).Reason != api.ReasonCallbackRefused {
		t.Errorf("a test that is refused: %v", err)
	}
	p.refuse(false)
	if err := c.TestWatch(ctx, w.ID); err != nil {
		t.Errorf("a test: %v", err)
	}
	if got := mails(); len(got) != len(ids)+1 || !strings.Contains(got[len(ids)].text, "This is a test") {
		t.Errorf("%d mails, the last of them %+v", len(got), got[len(got)-1])
	}
}
