package web_test

import (
	"errors"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

// TestConsoleOfSDK walks through everything that an owner does with the SDK.
func TestConsoleOfSDK(t *testing.T) {
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
	if usage, err := later.Usage(ctx, 7); err != nil || len(usage.Days) != 0 {
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

// TestConsoleOfSDKInvited hands in an invitation, and signs out everywhere.
func TestConsoleOfSDKInvited(t *testing.T) {
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
