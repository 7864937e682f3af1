package daemontest

import (
	"net/mail"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/contextd/contextd/daemon"
)

// Mails are the files of the daemon's outbox, oldest first.
func (d *Daemon) Mails(t testing.TB) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(d.Config.DataDir, daemon.OutboxDir, "*.eml"))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	return names
}

// link finds the sign-in link in a mail.
var link = regexp.MustCompile(`https?://\S+\?token=\S+`)

// MailedLink is the link in the newest mail, which must be to the given address.
func (d *Daemon) MailedLink(t testing.TB, address string) string {
	t.Helper()
	names := d.Mails(t)
	if len(names) == 0 {
		t.Fatal("the outbox is empty")
	}
	text, err := os.ReadFile(names[len(names)-1])
	if err != nil {
		t.Fatal(err)
	}
	m, err := mail.ReadMessage(strings.NewReader(string(text)))
	if err != nil || m.Header.Get("To") != "<"+address+">" {
		t.Fatalf("the newest mail is to %s, %v; want %s", m.Header.Get("To"), err, address)
	}
	found := link.FindString(string(text))
	if found == "" {
		t.Fatal("the mail has no link")
	}
	return found
}

// MailedToken is the token of that link.
func (d *Daemon) MailedToken(t testing.TB, address string) string {
	t.Helper()
	_, token, _ := strings.Cut(d.MailedLink(t, address), "?token=")
	return token
}
