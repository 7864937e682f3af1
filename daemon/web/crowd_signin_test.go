package web_test

import (
	"database/sql"
	"fmt"
	"net/http"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/sdk/api"
)

// behindProxy believes what X-Forwarded-For says, so that a test can be many clients.
func behindProxy(c *daemon.Config) {
	c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
}

// from is somebody at an address.
func from(t testing.TB, d *daemontest.Daemon, address string) *user {
	u := newUser(t, d)
	u.header["X-Forwarded-For"] = address
	return u
}

// ask asks for a link.
func (u *user) ask(email string) answer {
	u.t.Helper()
	return u.call(http.MethodPost, api.PathAuthEmail, api.EmailSignInRequest{Email: email})
}

// waits checks that an answer refuses for so many seconds.
func (u *user) waits(got answer, seconds int) {
	u.t.Helper()
	u.refused(got, api.ReasonRateLimited)
	if retry := got.Header.Get(api.HeaderRetryAfter); retry != fmt.Sprint(seconds) {
		u.t.Errorf("Retry-After is %s, want %d", retry, seconds)
	}
}

// TestStrangersKeepNobodyOut: strangers share few mails to an inbox, whatever they write behind a +, and who has redeemed a link where they
// are has others.
func TestStrangersKeepNobodyOut(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t, behindProxy, func(c *daemon.Config) {
		c.Limits = daemon.Limits{SignIns: 1000, Mails: 2}
		c.Accounts.NewPerClient = 100
	})
	ada, elsewhere := from(t, d, "198.51.100.1"), from(t, d, "198.51.100.2")
	ada.signIn("ada@example.org")
	ada.secret = ""
	stranger := func(i int) *user { return from(t, d, fmt.Sprintf("203.0.113.%d", i)) }
	stranger(1).into(stranger(1).ask("ada+1@example.org"), http.StatusAccepted, nil) // Ada's own first link counts as a stranger's
	for i, email := range []string{"ada@example.org", "ada+2@example.org", "ADA+x+y@example.org"} {
		stranger(i+2).waits(stranger(i+2).ask(email), 7*60+30)
	}
	elsewhere.waits(elsewhere.ask("ada@example.org"), 7*60+30) // nobody can tell her from a stranger there
	for range 2 {
		ada.into(ada.ask("ada@example.org"), http.StatusAccepted, nil)
	}
	ada.waits(ada.ask("ada+2@example.org"), 7*60+30) // her own bound
	stranger(9).into(stranger(9).ask("bob@example.org"), http.StatusAccepted, nil)
	// In a day, strangers have few more.
	sent := len(d.Mails(t))
	for i := range 4 * 24 * 2 {
		d.Clock.Advance(7*time.Minute + 30*time.Second)
		stranger(i%200 + 1).ask("ada@example.org")
	}
	if n := len(d.Mails(t)) - sent; n > 16 {
		t.Errorf("%d mails from strangers in a day, want at most 16", n)
	}
	ada.into(ada.ask("ada@example.org"), http.StatusAccepted, nil)
	d.Stop(t)
	cfg := d.Config
	again := daemontest.Start(t, func(c *daemon.Config) {
		c.DataDir, c.TrustedProxies, c.Limits, c.Accounts, c.Now = cfg.DataDir, cfg.TrustedProxies, cfg.Limits, cfg.Accounts, cfg.Now
	})
	for i := range 3 {
		from(t, again, fmt.Sprintf("203.0.113.%d", i)).ask("ada@example.org")
	}
	who := from(t, again, "198.51.100.1")
	who.into(who.ask("ada@example.org"), http.StatusAccepted, nil) // a restart forgets no one who is known
}

// TestMailsOfAClient: one client has links mailed to few inboxes in an hour.
func TestMailsOfAClient(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t, behindProxy, func(c *daemon.Config) { c.Limits = daemon.Limits{SignIns: 1000, Mails: 3} })
	u := from(t, d, "198.51.100.1")
	for i := range 12 {
		u.into(u.ask(fmt.Sprintf("x%d@example.org", i)), http.StatusAccepted, nil)
	}
	u.waits(u.ask("x@example.org"), 300)
	other := from(t, d, "198.51.100.2")
	other.into(other.ask("x@example.org"), http.StatusAccepted, nil)
	d.Clock.Advance(5*time.Minute - time.Second)
	u.waits(u.ask("y@example.org"), 1)
	d.Clock.Advance(time.Second)
	u.into(u.ask("y@example.org"), http.StatusAccepted, nil)
}

// TestBudgetOfMails: a crowd of clients and addresses uses up what strangers have of a day's mails, and those who are known have theirs.
func TestBudgetOfMails(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t, behindProxy, func(c *daemon.Config) { c.Limits = daemon.Limits{MailsPerDay: 30} })
	ada := from(t, d, "198.51.100.1")
	ada.signIn("ada@example.org")
	ada.secret = ""
	for i := range 9 {
		u := from(t, d, fmt.Sprintf("203.0.113.%d", i))
		u.into(u.ask(fmt.Sprintf("x%d@example.org", i)), http.StatusAccepted, nil)
	}
	for i := range 50 {
		u := from(t, d, fmt.Sprintf("203.0.113.%d", 50+i))
		u.waits(u.ask(fmt.Sprintf("y%d@example.org", i)), 24*3600/10)
	}
	ada.into(ada.ask("ada@example.org"), http.StatusAccepted, nil)
	ada.signIn("ada@example.org")
	ada.into(ada.byWallet(newWallet(t)), http.StatusOK, nil) // of which she is told
	if n := len(d.Mails(t)); n != 13 {
		t.Errorf("%d mails, want 13", n)
	}
	d.Clock.Advance(24 * time.Hour / 10)
	u := from(t, d, "203.0.113.200")
	u.into(u.ask("z@example.org"), http.StatusAccepted, nil)
	u.refused(u.ask("z2@example.org"), api.ReasonRateLimited)
}

// TestRushOfStrangers: a crowd of clients and addresses has one mail a second after the first sixty, and keeps nobody waiting who is known.
func TestRushOfStrangers(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t, behindProxy)
	ada := from(t, d, "198.51.100.1")
	ada.signIn("ada@example.org")
	ada.secret = ""
	d.Clock.Advance(time.Minute)
	stranger := func(i int) answer {
		return from(t, d, fmt.Sprintf("203.0.113.%d", i)).ask(fmt.Sprintf("x%d@example.org", i))
	}
	for i := range 60 {
		ada.into(stranger(i), http.StatusAccepted, nil)
	}
	ada.waits(stranger(60), 1)
	ada.into(ada.ask("ada@example.org"), http.StatusAccepted, nil)
	d.Clock.Advance(time.Second)
	ada.into(stranger(61), http.StatusAccepted, nil)
	ada.waits(stranger(62), 1)
}

// TestBadAddressCostsNothing: what is no address is refused before anything is counted or kept of it.
func TestBadAddressCostsNothing(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t, func(c *daemon.Config) { c.Limits = daemon.Limits{SignIns: 1000, Mails: 1} })
	u := newUser(t, d)
	for i := range 20 {
		u.refused(u.ask(fmt.Sprint(i, strings.Repeat("x", 60<<10))), api.ReasonInvalidRequest)
		u.refused(u.ask(strings.Repeat("x", 250)+"@example.org"), api.ReasonInvalidRequest)
	}
	for _, local := range []int{64, 65} {
		got := u.ask(strings.Repeat("a", local) + "@example.org")
		if local == 64 {
			u.into(got, http.StatusAccepted, nil)
		} else {
			u.refused(got, api.ReasonInvalidRequest)
		}
	}
}

// TestSitesAreBounded: who has a site of IPv6 has ten networks' worth of sign-ins, however many networks are in it.
func TestSitesAreBounded(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t, behindProxy, func(c *daemon.Config) { c.Limits = daemon.Limits{SignIns: 2} })
	try := func(address string) answer {
		return from(t, d, address).call(http.MethodPost, api.PathAuthEmailVerify, api.EmailVerifyRequest{Token: "x"})
	}
	u := newUser(t, d)
	for i := range 20 {
		u.refused(try(fmt.Sprintf("2001:db8:1:%x::1", i)), api.ReasonInvalidSignIn)
	}
	u.refused(try("2001:db8:1:ffff::1"), api.ReasonRateLimited)
	u.refused(try("2001:db8:2::1"), api.ReasonInvalidSignIn)
	u.refused(try("::ffff:198.51.100.1"), api.ReasonInvalidSignIn) // IPv4 has no site
}

// TestNewOwnersAreBounded: both sides of the bounds per client, per network and site of IPv6, and in all. Who has an account is let in.
func TestNewOwnersAreBounded(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t, behindProxy, func(c *daemon.Config) {
		free(c)
		c.Accounts.NewPerClient, c.Accounts.NewPerDay = 2, 7
	})
	first := newWallet(t)
	try := func(address string, w wallet) answer { return from(t, d, address).byWallet(w) }
	u := newUser(t, d)
	for i, step := range []struct {
		address string
		allowed bool
	}{
		{"198.51.100.1", true}, {"198.51.100.1", true}, {"198.51.100.1", false}, {"198.51.100.2", true},
		{"2001:db8:1:1::1", true}, {"2001:db8:1:1::2", true}, {"2001:db8:1:1::3", false}, {"2001:db8:1:2::1", false}, // the site is full
		{"2001:db8:2:1::1", true}, {"2001:db8:2:2::1", true}, {"2001:db8:2:3::1", false},
		{"198.51.100.3", false}, // seven in all
	} {
		w := newWallet(t)
		if i == 0 {
			w = first
		}
		if got := try(step.address, w); step.allowed {
			u.into(got, http.StatusOK, nil)
		} else {
			u.refused(got, api.ReasonRateLimited)
		}
	}
	u.into(try("198.51.100.1", first), http.StatusOK, nil)
	d.Clock.Advance(24*time.Hour/7 + time.Second)
	u.into(try("198.51.100.4", newWallet(t)), http.StatusOK, nil)
	u.refused(try("198.51.100.5", newWallet(t)), api.ReasonRateLimited)

	// A restart forgets none of them, and counts none twice; a bound that is lower by then lasts no longer than a day.
	restart := func(perDay int) {
		d.Stop(t)
		again := daemontest.Open(t, behindProxy, func(c *daemon.Config) {
			free(c)
			c.DataDir, c.Now, c.Accounts.NewPerDay = d.Config.DataDir, d.Clock.Now, perDay
		})
		again.Clock, d = d.Clock, again
		d.Run(t)
		u = newUser(t, d)
	}
	restart(7)
	u.refused(try("198.51.100.5", newWallet(t)), api.ReasonRateLimited)
	u.into(try("198.51.100.1", first), http.StatusOK, nil)
	d.Clock.Advance(24*time.Hour/7 + time.Second)
	restart(7)
	u.into(try("198.51.100.5", newWallet(t)), http.StatusOK, nil)
	u.refused(try("198.51.100.6", newWallet(t)), api.ReasonRateLimited)
	restart(2)
	d.Clock.Advance(12*time.Hour - time.Second)
	u.refused(try("198.51.100.6", newWallet(t)), api.ReasonRateLimited)
	d.Clock.Advance(2 * time.Second)
	u.into(try("198.51.100.6", newWallet(t)), http.StatusOK, nil)
}

// TestOpenMessagesAreNoRows: however many messages to sign are open, nothing is kept of them and nobody waits; each signs in once.
func TestOpenMessagesAreNoRows(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t, free)
	u, w := newUser(t, d), newWallet(t)
	first := u.message(w).Message
	for range 500 {
		u.message(w)
	}
	if n := rowsOf(t, d, "challenges"); n != 0 {
		t.Errorf("%d rows of open messages", n)
	}
	signIn := func() answer {
		return newUser(t, d).call(http.MethodPost, api.PathAuthWalletVerify, api.WalletVerifyRequest{Message: first, Signature: w.sign(t, first)})
	}
	results := make(chan int)
	for range 8 {
		go func() { results <- signIn().Status }()
	}
	statuses := map[int]int{}
	for range 8 {
		statuses[<-results]++
	}
	if statuses[http.StatusOK] != 1 || statuses[http.StatusUnauthorized] != 7 {
		t.Errorf("8 uses of one message: %v", statuses)
	}
	d.Clock.Advance(5*time.Minute - time.Millisecond)
	u.refused(signIn(), api.ReasonInvalidSignIn)
	for _, c := range []struct {
		later time.Duration
		want  int
	}{{5*time.Minute - time.Millisecond, http.StatusOK}, {5 * time.Minute, http.StatusUnauthorized}} {
		last := newUser(t, d).message(w).Message
		d.Clock.Advance(c.later)
		if got := newUser(t, d).call(http.MethodPost, api.PathAuthWalletVerify, api.WalletVerifyRequest{Message: last, Signature: w.sign(t, last)}); got.Status != c.want {
			t.Errorf("after %v: %d, want %d", c.later, got.Status, c.want)
		}
	}
}

// TestMessageIsForWhoAsked: a message that somebody had made while signed in adds the wallet to their account, or does nothing; one that
// nobody had made signs in, in any session.
func TestMessageIsForWhoAsked(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t, free)
	eve, bob, w := newUser(t, d), newUser(t, d), newWallet(t)
	eve.signIn("eve@example.org")
	bobs := bob.signIn("bob@example.org")
	text := eve.message(w).Message
	for _, who := range []*user{newUser(t, d), bob} {
		who.refused(who.call(http.MethodPost, api.PathAuthWalletVerify, api.WalletVerifyRequest{Message: text, Signature: w.sign(t, text)}),
			api.ReasonInvalidSignIn)
		text = eve.message(w).Message
	}
	text = newUser(t, d).message(w).Message
	var s api.Session
	bob.into(bob.call(http.MethodPost, api.PathAuthWalletVerify, api.WalletVerifyRequest{Message: text, Signature: w.sign(t, text)}), http.StatusOK, &s)
	if s.UserID == bobs.UserID || s.Email != nil {
		t.Errorf("bob's account got a wallet by a message that nobody had asked for while signed in: %+v", s)
	}
}

// invite makes an invitation.
func invite(t *testing.T, d *daemontest.Daemon) string {
	t.Helper()
	made, err := d.Invites().Make(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	return made.Code
}

// signup has the operator change who may become an owner.
func signup(t *testing.T, d *daemontest.Daemon, to account.Signup) {
	t.Helper()
	next := d.Config.Reloadable
	next.Accounts.Signup = to
	if err := d.Apply(t.Context(), next); err != nil {
		t.Fatal(err)
	}
}

// rowsOf counts rows of the daemon's database.
func rowsOf(t testing.TB, d *daemontest.Daemon, from string) (n int) {
	t.Helper()
	db, err := sql.Open("sqlite3", filepath.Join(d.Config.DataDir, "contextd.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM "+from).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestSignup: who may become an owner, by either way in, with and without an invitation. Who has an account needs none.
func TestSignup(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t, free, func(c *daemon.Config) { c.Accounts.NewPerClient = 1000 })
	var old, added api.Session
	ada, w := newUser(t, d), newWallet(t)
	old = ada.signIn("ada@example.org")
	ada.into(ada.byWallet(w), http.StatusOK, nil)
	used, revoked, stale := invite(t, d), invite(t, d), invite(t, d)
	if err := d.Invites().Revoke(t.Context(), revoked[:8]); err != nil {
		t.Fatal(err)
	}
	n := 0
	byMail := func(invite string) answer {
		n++
		u := newUser(t, d)
		u.into(u.ask(fmt.Sprintf("new%d@example.org", n)), http.StatusAccepted, nil)
		token := "x"
		if len(mailed(t, d, len(d.Mails(t))-1, "?token=")) > 0 {
			token = d.MailedToken(t, fmt.Sprintf("new%d@example.org", n))
		}
		return u.call(http.MethodPost, api.PathAuthEmailVerify, api.EmailVerifyRequest{Token: token, Invite: invite})
	}
	byWallet := func(invite string) answer {
		u, w := newUser(t, d), newWallet(t)
		text := u.message(w).Message
		return u.call(http.MethodPost, api.PathAuthWalletVerify, api.WalletVerifyRequest{Message: text, Signature: w.sign(t, text), Invite: invite})
	}
	u := newUser(t, d)
	u.into(byMail(""), http.StatusOK, nil)
	u.into(byWallet("nonsense"), http.StatusOK, nil)

	signup(t, d, account.SignupInvite)
	for _, bad := range []string{"", "nonsense", revoked, used[:8], strings.ToLower(used)} {
		u.refused(byMail(bad), api.ReasonSignupClosed)
		u.refused(byWallet(bad), api.ReasonSignupClosed)
	}
	if to := mailed(t, d, len(d.Mails(t))-1, "?token=", "needs an invitation"); len(to) != 1 {
		t.Error("the mail to an unknown address does not say that an invitation is needed")
	}
	u.into(byMail(" "+used+"\n"), http.StatusOK, nil)
	u.refused(byWallet(used), api.ReasonSignupClosed) // one use
	d.Clock.Advance(7*24*time.Hour - time.Millisecond)
	u.into(byWallet(stale), http.StatusOK, nil)
	fresh := invite(t, d)
	d.Clock.Advance(7 * 24 * time.Hour)
	u.refused(byWallet(fresh), api.ReasonSignupClosed)

	signup(t, d, account.SignupClosed)
	u.refused(byWallet(invite(t, d)), api.ReasonSignupClosed)
	u.refused(byMail(""), api.ReasonInvalidSignIn) // the mail has no link
	if to := mailed(t, d, len(d.Mails(t))-1, "sign-up is closed at present"); len(to) != 1 || rowsOf(t, d, "challenges WHERE subject = '"+to[0]+"'") != 0 {
		t.Error("the mail to an unknown address does not say that sign-up is closed")
	}
	for _, kind := range []account.Signup{account.SignupInvite, account.SignupClosed} {
		signup(t, d, kind)
		again := newUser(t, d)
		if s := again.signIn("ada@example.org"); s.UserID != old.UserID {
			t.Errorf("%s: ada is somebody else", kind)
		}
		again.into(newUser(t, d).byWallet(w), http.StatusOK, &added)
		if added.UserID != old.UserID {
			t.Errorf("%s: ada's wallet is somebody else's", kind)
		}
		again.into(again.addEmail(string(kind)+"@example.org"), http.StatusOK, nil) // what is added makes no new owner
	}
}

// TestRefusedInviteKeepsTheLink: who forgot the invitation uses the link again with it.
func TestRefusedInviteKeepsTheLink(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t, free, func(c *daemon.Config) { c.Accounts.Signup = account.SignupInvite })
	u := newUser(t, d)
	u.into(u.ask("new@example.org"), http.StatusAccepted, nil)
	token := d.MailedToken(t, "new@example.org")
	code := invite(t, d)
	u.refused(u.call(http.MethodPost, api.PathAuthEmailVerify, api.EmailVerifyRequest{Token: token}), api.ReasonSignupClosed)
	u.into(u.call(http.MethodPost, api.PathAuthEmailVerify, api.EmailVerifyRequest{Token: token, Invite: code}), http.StatusOK, nil)
	list, err := d.Invites().List(t.Context())
	if err != nil || len(list) != 1 || list[0].UsedAt == nil || list[0].UsedBy == "" || list[0].RevokedAt != nil {
		t.Errorf("invitations %+v, %v", list, err)
	}
	if err := d.Invites().Revoke(t.Context(), list[0].ID); err == nil {
		t.Error("a used invitation is revoked")
	}
}

// TestMailsOfASite: a site of IPv6 with its 65,536 networks keeps no strangers elsewhere from signing in, and who is refused because all
// callers together asked for too much is not said to have asked too often.
func TestMailsOfASite(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t, behindProxy, func(c *daemon.Config) { c.Limits = daemon.Limits{SignIns: 1000, Mails: 2} })
	mailed, refused := 0, 0
	for i := range 90 {
		if from(t, d, fmt.Sprintf("2001:db8:1:%x::1", i)).ask(fmt.Sprintf("x%d@example.org", i)).Status == http.StatusAccepted {
			mailed++
		}
	}
	for i := range 5 {
		stranger := from(t, d, fmt.Sprintf("203.0.113.%d", i))
		stranger.into(stranger.ask(fmt.Sprintf("honest%d@example.org", i)), http.StatusAccepted, nil)
	}
	if mailed != 20 {
		t.Errorf("one site had %d mails sent within a minute, want 20", mailed)
	}
	for i := range 60 {
		if got := from(t, d, fmt.Sprintf("198.51.100.%d", i)).ask(fmt.Sprintf("y%d@example.org", i)); got.Status != http.StatusAccepted {
			refused++
			if text := string(got.Body); strings.Contains(text, "from your address") || !strings.Contains(text, "of all callers") {
				t.Errorf("a bound of all is refused as %s", text)
			}
		}
	}
	if refused != 25 {
		t.Errorf("%d of 60 strangers are refused, want 25: all may have 60 mails", refused)
	}
}

// TestMailsOfASiteInAnHour: what a site has mailed is bounded for an hour too, by ten clients' worth, and refused as its own limit.
func TestMailsOfASiteInAnHour(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t, behindProxy, func(c *daemon.Config) { c.Limits = daemon.Limits{SignIns: 1000, Mails: 2} })
	ask := func(i int) answer {
		return from(t, d, fmt.Sprintf("2001:db8:1:%x::1", i)).ask(fmt.Sprintf("x%d@example.org", i))
	}
	for i := range 85 { // 80, and one each 45 s
		if got := ask(i); got.Status != http.StatusAccepted {
			t.Fatalf("mail %d: %d %s", i, got.Status, got.Body)
		}
		if i%20 == 19 { // the share of a minute
			d.Clock.Advance(time.Minute)
		}
	}
	if got := ask(85); got.Status != http.StatusTooManyRequests || !strings.Contains(string(got.Body), "from your network") {
		t.Errorf("one more: %d %s", got.Status, got.Body)
	}
}
