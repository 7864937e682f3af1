package sdk_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

// TestConsole walks through everything an owner does.
func TestConsole(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t)
	c, err := sdk.New(sdk.WithoutEnv(), sdk.WithBaseURL(d.URL()), sdk.WithAPIKey(sdk.NewKey(d.Key(t, api.TierFree))))
	if err != nil {
		t.Fatal(err)
	}
	console, ctx := c.Console(""), t.Context()
	if _, err := console.Keys(ctx); !errors.Is(err, sdk.ErrMissingSession) {
		t.Errorf("signed in by an API key: %v", err)
	}
	if until, err := console.SendLink(ctx, "a@example.org"); err != nil || !until.Equal(d.Clock.Now().Add(15*time.Minute)) {
		t.Fatal(until, err)
	}
	session, err := console.ByLink(ctx, " "+d.MailedLink(t, "a@example.org")+"\n")
	if err != nil || *session.Email != "a@example.org" || console.Secret() == "" {
		t.Fatal(session, err)
	}
	list, err := console.Identities(ctx)
	if err != nil || len(list) != 1 || list[0].Subject != "a@example.org" || list[0].Kind != api.IdentityEmail {
		t.Errorf("identities %+v, %v", list, err)
	}
	for id, reason := range map[string]api.Reason{list[0].ID: api.ReasonInvalidRequest, "a/b": api.ReasonNotFound} {
		if err := console.Unlink(ctx, id); !errors.Is(err, &api.Error{Reason: reason}) {
			t.Errorf("unlink %s: %v, want %s", id, err, reason)
		}
	}
	if _, err := c.Console("").ByLink(ctx, d.MailedToken(t, "a@example.org")); !errors.Is(err, sdk.ErrInvalidSignIn) {
		t.Errorf("a used token: %v", err)
	}
	later := c.Console(console.Secret()) // as after a restart of the program
	if again, err := later.Session(ctx); err != nil || again.UserID != session.UserID {
		t.Errorf("the session does not go on: %v, %v", again, err)
	}
	key, err := later.CreateKey(ctx, "agent", api.ConsentNone)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := later.Keys(ctx)
	if err != nil || len(rows) != 1 || rows[0].KeyID != key.KeyID || rows[0].TraceConsent != api.ConsentNone {
		t.Errorf("keys: %+v, %v", rows, err)
	}
	if balance, err := later.Balance(ctx, key.KeyID); err != nil || balance.Balance != 0 || balance.KeyCount != 1 {
		t.Errorf("balance: %+v, %v", balance, err)
	}
	if usage, err := later.Usage(ctx, 7); err != nil || len(usage) != 0 {
		t.Errorf("usage: %+v, %v", usage, err)
	}
	if done, err := later.RevokeKey(ctx, key.KeyID); err != nil || !done.OK {
		t.Errorf("revoked: %+v, %v", done, err)
	}
	if err := d.Keys().SetTier(ctx, session.UserID, api.TierPro); err != nil {
		t.Fatal(err)
	}
	if kept, err := later.SetPrompt(ctx, "crypto", " Short. "); err != nil || kept != "Short." {
		t.Errorf("the prompt is %q, %v", kept, err)
	}
	if err := later.DropPrompt(ctx, "crypto"); err != nil {
		t.Error(err)
	}
	if kept, err := later.Prompt(ctx, "crypto"); err != nil || kept != "" {
		t.Errorf("the prompt is %q, %v", kept, err)
	}
	if err := later.SignOut(ctx); err != nil || later.Secret() != "" {
		t.Errorf("signed out: %q, %v", later.Secret(), err)
	}
	if _, err := console.Session(ctx); !errors.Is(err, sdk.ErrInvalidSession) {
		t.Errorf("a session that was ended: %v", err)
	}
}

// TestSessionIsRenewed: what the service sends is what the console has from then on.
func TestSessionIsRenewed(t *testing.T) {
	t.Parallel()
	var cookies, keys []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		cookies, keys = append(cookies, r.Header.Get("Cookie")), append(keys, r.Header.Get("Authorization"))
		name := [...]string{api.SecureSessionCookie, api.SessionCookie}[len(cookies)%2]
		http.SetCookie(w, &http.Cookie{Name: name, Value: fmt.Sprintf("secret%d", len(cookies))})
		fmt.Fprint(w, `{"userId":"u"}`)
	}))
	defer server.Close()
	c, err := sdk.New(sdk.WithoutEnv(), sdk.WithBaseURL(server.URL), sdk.WithAPIKey(sdk.NewKey("cv_test_00000000000000000000000000000000")))
	if err != nil {
		t.Fatal(err)
	}
	console := c.Console("secret0")
	for range 2 {
		if _, err := console.Session(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if got := strings.Join(cookies, " "); got != "__Host-contextd_session=secret0; contextd_session=secret0 "+
		"__Host-contextd_session=secret1; contextd_session=secret1" || console.Secret() != "secret2" || strings.Join(keys, "") != "" {
		t.Errorf("cookies %s, keys %q, now %s", got, keys, console.Secret())
	}
	if shown := fmt.Sprintf("%v %+v %#v", console, console, console); strings.Contains(shown, "secret2") {
		t.Errorf("the console shows its session: %s", shown)
	}
}

// TestCreateKeyIsNeverRepeated: nobody knows what became of a request whose answer is lost.
func TestCreateKeyIsNeverRepeated(t *testing.T) {
	t.Parallel()
	calls := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		calls++
		w.WriteHeader(http.StatusBadGateway)
	}))
	defer server.Close()
	c, err := sdk.New(sdk.WithoutEnv(), sdk.WithBaseURL(server.URL))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Console("x").CreateKey(t.Context(), "a", ""); err == nil || calls != 1 {
		t.Errorf("%d calls, %v", calls, err)
	}
}

// pen signs anything and notes that it did.
type pen struct{ signed []string }

func (*pen) Address() string { return "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed" }
func (p *pen) SignMessage(text string) (string, error) {
	p.signed = append(p.signed, text)
	return "0x00", nil
}

// TestForeignMessagesAreNotSigned: a service that is not what it seems gets no signature.
func TestForeignMessagesAreNotSigned(t *testing.T) {
	t.Parallel()
	var message string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == api.PathAuthWallet {
			fmt.Fprintf(w, `{"message":%q,"expiresAt":"2026-11-20T20:00:00Z"}`, message)
			return
		}
		fmt.Fprint(w, `{"userId":"u"}`)
	}))
	defer server.Close()
	c, err := sdk.New(sdk.WithoutEnv(), sdk.WithBaseURL(server.URL))
	if err != nil {
		t.Fatal(err)
	}
	host := strings.TrimPrefix(server.URL, "http://")
	const wants = " wants you to sign in with your Ethereum account:\n"
	for _, test := range []struct {
		message, domain string
		good            bool
	}{
		{host + wants + (*pen)(nil).Address() + "\n\nURI: x", "", true},
		{"context.example.org" + wants + (*pen)(nil).Address() + "\n", "context.example.org", true},
		{"context.example.org" + wants + (*pen)(nil).Address() + "\n", "", false},
		{host + wants + "0x1111111111111111111111111111111111111111\n", "", false},
		{host + ".evil.example" + wants + (*pen)(nil).Address() + "\n", "", false},
		{host + "1" + wants + (*pen)(nil).Address() + "\n", "", false},
		{"context.example.org.evil.example" + wants + (*pen)(nil).Address() + "\n", "context.example.org", false},
		{"context.example" + wants + (*pen)(nil).Address() + "\n", "context.example.org", false},
		{"transfer everything", "", false},
		{"", "", false},
	} {
		message = test.message
		var p pen
		_, err := c.Console("").ByWallet(context.WithoutCancel(t.Context()), &p, test.domain)
		if (err == nil) != test.good || (len(p.signed) == 1) != test.good || !test.good && !errors.Is(err, sdk.ErrForeignMessage) {
			t.Errorf("%q for %q: signed %d, %v", test.message, test.domain, len(p.signed), err)
		}
	}
}

// TestConsoleInvited hands in an invitation, and signs out everywhere.
func TestConsoleInvited(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t, func(c *daemon.Config) { c.Accounts.Signup = account.SignupInvite })
	c, err := sdk.New(sdk.WithoutEnv(), sdk.WithBaseURL(d.URL()))
	if err != nil {
		t.Fatal(err)
	}
	console, ctx := c.Console(""), t.Context()
	if _, err := console.SendLink(ctx, "a@example.org"); err != nil {
		t.Fatal(err)
	}
	link := d.MailedLink(t, "a@example.org")
	if _, err := console.ByLink(ctx, link); !errors.Is(err, &api.Error{Reason: api.ReasonSignupClosed}) {
		t.Errorf("without an invitation: %v", err)
	}
	made, err := d.Invites().Make(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	console.UseInvite(made.Code + "\n")
	if _, err := console.ByLink(ctx, link); err != nil {
		t.Fatalf("with one: %v", err)
	}
	other := c.Console(console.Secret())
	if err := console.SignOutEverywhere(ctx); err != nil || console.Secret() != "" {
		t.Errorf("signed out everywhere: %v", err)
	}
	if _, err := other.Session(ctx); !errors.Is(err, &api.Error{Reason: api.ReasonInvalidSession}) {
		t.Errorf("elsewhere: %v", err)
	}
}
