package account_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/sdk/api"
)

func TestEmailIsOneAddressInOneSpelling(t *testing.T) {
	t.Parallel()
	longest := strings.Repeat("a", 64) + "@" + strings.Repeat("b.", 93) + "cde"
	for _, c := range []struct{ name, address, want string }{
		{"as it is", "ada@example.org", "ada@example.org"},
		{"case and blanks", "  Ada@Example.ORG ", "ada@example.org"},
		{"a tag", "ada+bot@example.org", "ada+bot@example.org"},
		{"64 before the @", strings.Repeat("a", 64) + "@example.org", strings.Repeat("a", 64) + "@example.org"},
		{"65 before the @", strings.Repeat("a", 65) + "@example.org", ""},
		{"254 characters", longest, longest},
		{"255 characters", longest + "f", ""},
		{"a name beside it", "Ada <ada@example.org>", ""},
		{"two", "ada@example.org, bob@example.org", ""},
		{"a number for a host", "ada@127.0.0.1", ""},
		{"an empty label", "ada@example..org", ""},
		{"a label of 64", "ada@" + strings.Repeat("b", 64) + ".org", ""},
		{"not ASCII", "ädä@example.org", ""},
		{"no host", "ada", ""},
		{"nothing", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			id, err := account.Email(c.address)
			if c.want == "" {
				wants(t, err, api.ReasonInvalidRequest)
			} else if err != nil || id != (account.Identity{Kind: account.KindEmail, Subject: c.want}) {
				t.Errorf("it is %v, %v, want %q", id, err, c.want)
			}
		})
	}
}

func TestInboxLeavesOutWhatIsForItsReader(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"ada@example.org": "ada@example.org", "ada+a@example.org": "ada@example.org", "ada+a+b@example.org": "ada@example.org",
	} {
		if got := (account.Identity{Kind: account.KindEmail, Subject: address}).Inbox(); got != want {
			t.Errorf("%s ends up at %s, want %s", address, got, want)
		}
	}
}

func TestLinkSignsInOnceAndInTime(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		after  time.Duration
		before func(h *house, token string)
		want   api.Reason
	}{
		{name: "at once"},
		{name: "at its last moment", after: api.SignInLifetime - time.Millisecond},
		{name: "at its end", after: api.SignInLifetime, want: api.ReasonInvalidSignIn},
		{name: "a second time", want: api.ReasonInvalidSignIn, before: func(h *house, token string) {
			if _, _, err := h.ByLink(h.t.Context(), token, account.Visitor{}); err != nil {
				h.t.Fatal(err)
			}
		}},
		{name: "after it was looked at", before: func(h *house, token string) {
			if l, err := h.Preview(h.t.Context(), token, account.Visitor{}); err != nil || l.Subject != "ada@example.org" {
				h.t.Errorf("it is for %q, %v", l.Subject, err)
			}
		}},
		{name: "after signing out everywhere", want: api.ReasonInvalidSignIn, before: func(h *house, _ string) {
			_, v := h.enter("ada@example.org")
			if err := h.SignOutEverywhere(h.t.Context(), v.Session.OwnerID); err != nil {
				h.t.Fatal(err)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			h.enter("ada@example.org") // the owner is there
			token := h.ask("ada@example.org", account.Visitor{})
			if c.before != nil {
				c.before(h, token)
			}
			h.clock.Add(c.after)
			_, session, err := h.ByLink(t.Context(), token, account.Visitor{})
			if wants(t, err, c.want); err == nil && (session.OwnerID != "owner-1" || session.Email != "ada@example.org") {
				t.Errorf("the session is of %+v", session)
			}
		})
	}
}

func TestLinkThatIsUnknown(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	_, _, err := h.ByLink(t.Context(), strings.Repeat("a", 43), account.Visitor{})
	wants(t, err, api.ReasonInvalidSignIn)
	if l, err := h.Preview(t.Context(), strings.Repeat("a", 43), account.Visitor{}); err != nil || l != (account.Landing{}) {
		t.Errorf("its page says %+v, %v", l, err)
	}
}

func TestClientIsKnownByTheLinkItRedeemed(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	id := account.Identity{Kind: account.KindEmail, Subject: "ada@example.org"}
	home, away := account.Visitor{Client: "home"}, account.Visitor{Client: "away"}
	if known, err := h.Knows(t.Context(), id, home); err != nil || known {
		t.Errorf("before any link: %t, %v", known, err)
	}
	_, session, err := h.ByLink(t.Context(), h.ask(id.Subject, home), home)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		v    account.Visitor
		want bool
	}{
		"from there": {home, true}, "from elsewhere": {away, false}, "signed in": {account.Visitor{Client: "away", Session: &session}, true},
	} {
		if known, err := h.Knows(t.Context(), id, c.v); err != nil || known != c.want {
			t.Errorf("%s: %t, %v", name, known, err)
		}
	}
}

func TestWalletSignsInOnceAndInTime(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		after time.Duration
		twice bool
		edit  func(text string) string
		by    string
		want  api.Reason
	}{
		{name: "at once"},
		{name: "at its last moment", after: api.WalletLifetime - time.Millisecond},
		{name: "at its end", after: api.WalletLifetime, want: api.ReasonInvalidSignIn},
		{name: "a second time", twice: true, want: api.ReasonInvalidSignIn},
		{name: "by another wallet", by: wallet("B"), want: api.ReasonInvalidSignIn},
		{name: "for another wallet", by: wallet("B"), want: api.ReasonInvalidSignIn, edit: func(text string) string {
			return strings.Replace(text, wallet("A"), wallet("B"), 1)
		}},
		{name: "for another host", want: api.ReasonInvalidSignIn, edit: func(text string) string {
			return strings.Replace(text, "node.example wants", "evil.example wants", 1)
		}},
		{name: "on another chain", want: api.ReasonInvalidSignIn, edit: func(text string) string {
			return strings.Replace(text, "Chain ID: 4217", "Chain ID: 1", 1)
		}},
		{name: "with a line more", want: api.ReasonInvalidSignIn, edit: func(text string) string { return text + "\n" }},
		{name: "with a later end", want: api.ReasonInvalidSignIn, edit: func(text string) string {
			return strings.Replace(text, "12:05:00.000Z", "12:55:00.000Z", 1)
		}},
		{name: "not a message", want: api.ReasonInvalidSignIn, edit: func(string) string { return "let me in" }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			text, expires, err := h.Message(t.Context(), wallet("a"), account.Visitor{})
			if err != nil || !expires.Equal(h.clock.Now().Add(api.WalletLifetime)) {
				t.Fatalf("a message until %s, %v", expires, err)
			}
			if c.edit != nil {
				text = c.edit(text)
			}
			if c.by == "" {
				c.by = wallet("A")
			}
			if c.twice {
				if _, _, err := h.ByWallet(t.Context(), text, "signed by "+c.by, account.Visitor{}); err != nil {
					t.Fatal(err)
				}
			}
			h.clock.Add(c.after)
			_, session, err := h.ByWallet(t.Context(), text, "signed by "+c.by, account.Visitor{})
			if wants(t, err, c.want); err == nil && session.Address != wallet("A") {
				t.Errorf("the session is of %+v", session)
			}
		})
	}
}

func TestMessageOfAnotherServiceIsRefused(t *testing.T) {
	t.Parallel()
	here, there := newHouse(t), newHouse(t)
	text, _, err := there.Message(t.Context(), wallet("a"), account.Visitor{})
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = here.ByWallet(t.Context(), text, "signed by "+wallet("A"), account.Visitor{})
	wants(t, err, api.ReasonInvalidSignIn)
}

func TestMessageIsUsedUpOnAllNodes(t *testing.T) {
	t.Parallel()
	shared := func(cfg *account.SignInConfig) { cfg.Key = []byte("the key of all nodes, 32 bytes...") }
	first := newHouse(t, shared)
	second := newHouse(t, shared, func(cfg *account.SignInConfig) { cfg.Store = first.store })
	text, _, err := first.Message(t.Context(), wallet("a"), account.Visitor{})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := second.ByWallet(t.Context(), text, "signed by "+wallet("A"), account.Visitor{}); err != nil {
		t.Fatalf("on the other node: %v", err)
	}
	_, _, err = first.ByWallet(t.Context(), text, "signed by "+wallet("A"), account.Visitor{})
	wants(t, err, api.ReasonInvalidSignIn)
}

func TestWalletAddressThatIsNone(t *testing.T) {
	t.Parallel()
	_, _, err := newHouse(t).Message(t.Context(), "0x12", account.Visitor{})
	wants(t, err, api.ReasonInvalidRequest)
}

func TestWhoMayBecomeAnOwner(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		signup account.Signup
		after  time.Duration // the making of the invitation
		invite func(h *house, code string) string
		admit  error
		want   api.Reason
	}{
		{name: "open", signup: account.SignupOpen},
		{name: "open by default"},
		{name: "closed", signup: account.SignupClosed, want: api.ReasonSignupClosed},
		{name: "invite without one", signup: account.SignupInvite, want: api.ReasonSignupClosed},
		{name: "invite with another", signup: account.SignupInvite, want: api.ReasonSignupClosed,
			invite: func(*house, string) string { return strings.Repeat("a", 26) }},
		{name: "invite", signup: account.SignupInvite, invite: func(_ *house, code string) string { return " " + code + "\n" }},
		{name: "invite at its last moment", signup: account.SignupInvite, after: api.InviteLifetime - time.Millisecond,
			invite: func(_ *house, code string) string { return code }},
		{name: "invite at its end", signup: account.SignupInvite, after: api.InviteLifetime, want: api.ReasonSignupClosed,
			invite: func(_ *house, code string) string { return code }},
		{name: "invite that was revoked", signup: account.SignupInvite, want: api.ReasonSignupClosed,
			invite: func(h *house, code string) string {
				if err := h.invites.Revoke(h.t.Context(), code[:8]); err != nil {
					h.t.Fatal(err)
				}
				return code
			}},
		{name: "too many from there", admit: api.Errorf(api.ReasonRateLimited, "later"), want: api.ReasonRateLimited},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			made, err := h.invites.Make(t.Context(), "for ada")
			if err != nil {
				t.Fatal(err)
			}
			h.clock.Add(c.after)
			token := h.ask("ada@example.org", account.Visitor{})
			h.SetSignup(c.signup)
			v := account.Visitor{}
			if c.invite != nil {
				v.Invite = c.invite(h, made.Code)
			}
			if c.admit != nil {
				v.Admit = func() error { return c.admit }
			}
			_, _, err = h.ByLink(t.Context(), token, v)
			wants(t, err, c.want)
			owners, err := h.keys.Owners(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if is := slices.ContainsFunc(owners, func(o account.Owner) bool { return o.ID == "owner-1" }); is != (c.want == "") {
				t.Errorf("the owners are %v", owners)
			}
		})
	}
}

func TestInvitationIsForOne(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.SetSignup(account.SignupInvite)
	made, err := h.invites.Make(t.Context(), "for one")
	if err != nil {
		t.Fatal(err)
	}
	v := account.Visitor{Invite: made.Code}
	if _, _, err := h.ByLink(t.Context(), h.ask("ada@example.org", v), v); err != nil {
		t.Fatal(err)
	}
	_, _, err = h.ByLink(t.Context(), h.ask("bob@example.org", v), v)
	wants(t, err, api.ReasonSignupClosed)
	wants(t, h.invites.Revoke(t.Context(), made.ID), api.ReasonNotFound)
	list, err := h.invites.List(t.Context())
	if err != nil || len(list) != 1 || list[0].UsedBy != "owner-1" || list[0].UsedAt == nil || list[0].Note != "for one" {
		t.Errorf("the list is %+v, %v", list, err)
	}
}

func TestNoteOfAnInvitation(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	for name, c := range map[string]struct {
		note string
		want api.Reason
	}{
		"80 characters": {strings.Repeat("ä", 80), ""}, "81 characters": {strings.Repeat("a", 81), api.ReasonInvalidRequest},
		"two lines": {"a\nb", api.ReasonInvalidRequest}, "none": {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := h.invites.Make(t.Context(), c.note)
			wants(t, err, c.want)
		})
	}
}

func TestMailToAStrangerWhereSignupIsClosed(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.SetSignup(account.SignupClosed)
	id, err := account.Email("ada@example.org")
	if err != nil {
		t.Fatal(err)
	}
	until, err := h.SendLink(t.Context(), id, account.Visitor{})
	if err != nil || !until.Equal(h.clock.Now().Add(api.SignInLifetime)) {
		t.Errorf("until %s, %v: the answer must not say whether there is an account", until, err)
	}
	if len(h.mails) != 1 || strings.Contains(h.mails[0].text, "token=") {
		t.Errorf("the mails are %v", h.mails)
	}
}

// TestMessageOnceForAsLongAsItHolds: a signed message that was handed in is refused until it ends, however many others come meanwhile.
func TestMessageOnceForAsLongAsItHolds(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	text, ends, err := h.Message(t.Context(), wallet("a"), account.Visitor{})
	if err != nil {
		t.Fatal(err)
	}
	enter := func() error {
		_, _, err := h.ByWallet(t.Context(), text, "signed by "+wallet("A"), account.Visitor{})
		return err
	}
	if err := enter(); err != nil {
		t.Fatal(err)
	}
	for part := ends.Sub(h.clock.Now()) * 3 / 10; h.clock.Now().Add(part).Before(ends); h.clock.Add(part) {
		if _, err := h.sign(wallet("b"), account.Visitor{}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := h.sign(wallet("b"), account.Visitor{}); err != nil {
		t.Fatal(err)
	}
	wants(t, enter(), api.ReasonInvalidSignIn)
}
