package web_test

import (
	"database/sql"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/admin"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/sdk/api"
)

// identities are those of u.
func (u *user) identities() []api.Identity {
	u.t.Helper()
	var list api.IdentityListResponse
	u.into(u.call(http.MethodGet, api.PathAuthIdentities, nil), http.StatusOK, &list)
	return list.Identities
}

// addEmail adds a mail address to u's account.
func (u *user) addEmail(email string) answer {
	u.t.Helper()
	if got := u.call(http.MethodPost, api.PathAuthEmail, api.EmailSignInRequest{Email: email}); got.Status != http.StatusAccepted {
		return got
	}
	return u.call(http.MethodPost, api.PathAuthEmailVerify, api.EmailVerifyRequest{Token: u.d.MailedToken(u.t, email)})
}

// unlink removes an identity of u.
func (u *user) unlink(id string) answer {
	return u.call(http.MethodDelete, api.PathAuthIdentities+"/"+id, nil)
}

// mailed are the recipients of the mails since the first n whose text has all the given parts.
func mailed(t *testing.T, d *daemontest.Daemon, n int, parts ...string) (to []string) {
	t.Helper()
	for _, file := range d.Mails(t)[n:] {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all := true
		for _, part := range parts {
			all = all && strings.Contains(string(text), part)
		}
		_, rest, _ := strings.Cut(string(text), "To: <")
		if address, _, ok := strings.Cut(rest, ">"); all && ok {
			to = append(to, address)
		}
	}
	return to
}

// TestIdentities: an owner sees what they sign in by, adds and removes, is told of it, and keeps one.
func TestIdentities(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t, free)
	ada, phone, w := newUser(t, d), newUser(t, d), newWallet(t)
	ada.signIn("ada@example.org")
	phone.signIn("ada@example.org")
	d.Clock.Advance(time.Second)
	before := len(d.Mails(t))
	ada.into(ada.byWallet(w), http.StatusOK, nil)
	if to := mailed(t, d, before, w.address+" is being added", "ctx login unlink"); fmt.Sprint(to) != "[ada@example.org]" {
		t.Errorf("told of a wallet that was added: %v", to)
	}
	d.Clock.Advance(time.Second)
	before = len(d.Mails(t))
	ada.into(ada.addEmail("second@example.org"), http.StatusOK, nil)
	if to := mailed(t, d, before, "second@example.org is being added"); fmt.Sprint(to) != "[ada@example.org]" {
		t.Errorf("told of an address that was added: %v", to)
	}
	list := ada.identities()
	if len(list) != 3 || list[0].Subject != "ada@example.org" || list[0].Kind != api.IdentityEmail || list[1].Subject != w.address ||
		list[1].Kind != api.IdentityWallet || !list[2].CreatedAt.Equal(d.Clock.Now()) {
		t.Fatalf("identities %+v", list)
	}
	eve := newUser(t, d)
	eve.signIn("eve@example.org")
	eve.refused(eve.unlink(list[0].ID), api.ReasonNotFound) // another's
	ada.refused(ada.unlink("none"), api.ReasonNotFound)
	before = len(d.Mails(t))
	ada.into(ada.unlink(list[0].ID), http.StatusNoContent, nil)
	if to := mailed(t, d, before, "ada@example.org is being removed"); fmt.Sprint(to) != "[ada@example.org second@example.org]" {
		t.Errorf("told of an address that was removed: %v", to)
	}
	phone.refused(phone.call(http.MethodGet, api.PathAuthSession, nil), api.ReasonInvalidSession)
	ada.into(ada.unlink(list[1].ID), http.StatusNoContent, nil)
	ada.refused(ada.unlink(list[2].ID), api.ReasonInvalidRequest)
	if left := ada.identities(); len(left) != 1 || left[0].ID != list[2].ID {
		t.Errorf("left are %+v", left)
	}
	var other api.Session
	again := newUser(t, d)
	again.into(again.byWallet(w), http.StatusOK, &other)
	if other.Email != nil {
		t.Error("a wallet that was removed still signs in to the account")
	}
}

// TestOperatorUnlinks: what the operator removes ends the account's sessions, and its addresses are told, that which goes too. Nobody is told
// of what is not removed.
func TestOperatorUnlinks(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t, free)
	ada, w := newUser(t, d), newWallet(t)
	ada.signIn("ada@example.org")
	d.Clock.Advance(time.Second)
	ada.into(ada.byWallet(w), http.StatusOK, nil)
	d.Clock.Advance(time.Second)
	ada.into(ada.addEmail("second@example.org"), http.StatusOK, nil)
	list := ada.identities()
	owners, err := d.Keys().Owners(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	owner := owners[slices.IndexFunc(owners, func(o account.Owner) bool { return len(o.Identities) == 3 })].ID
	o, err := admin.Open(t.Context(), admin.Config{DataDir: d.Config.DataDir})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	before := len(d.Mails(t))
	for _, id := range []string{"none", ""} {
		if err := o.Unlink(t.Context(), owner, id); err == nil || len(d.Mails(t)) != before {
			t.Errorf("unlink %q: %v, %d mails", id, err, len(d.Mails(t))-before)
		}
	}
	if err := o.Unlink(t.Context(), owner, list[0].ID); err != nil {
		t.Fatal(err)
	}
	if to := mailed(t, d, before, "ada@example.org is being removed by the operator", "ctx login identities"); fmt.Sprint(to) != "[ada@example.org second@example.org]" {
		t.Errorf("told %v", to)
	}
	ada.refused(ada.call(http.MethodGet, api.PathAuthSession, nil), api.ReasonInvalidSession)
}

// TestFreshProof is both sides of the ten minutes after a sign-in, for everything that changes what an account signs in by.
func TestFreshProof(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t, free)
	for i, c := range []struct {
		after time.Duration
		fresh bool
	}{{0, true}, {10 * time.Minute, true}, {10*time.Minute + time.Millisecond, false}, {24 * time.Hour, false}} {
		u := newUser(t, d)
		mail := fmt.Sprintf("fresh%d@example.org", i)
		u.signIn(mail)
		u.into(u.addEmail("with-"+mail), http.StatusOK, nil)
		d.Clock.Advance(c.after)
		message := u.call(http.MethodPost, api.PathAuthWallet, api.WalletSignInRequest{Address: newWallet(t).address})
		link := u.call(http.MethodPost, api.PathAuthEmail, api.EmailSignInRequest{Email: "more-" + mail})
		gone := u.unlink(u.identities()[1].ID)
		if c.fresh {
			u.into(message, http.StatusOK, nil)
			u.into(link, http.StatusAccepted, nil)
			u.into(gone, http.StatusNoContent, nil)
			continue
		}
		for _, got := range []answer{message, link, gone} {
			u.refused(got, api.ReasonReauthentication)
		}
		u.into(u.addEmail(mail), http.StatusOK, nil) // which proves what is theirs already
		u.into(u.unlink(u.identities()[1].ID), http.StatusNoContent, nil)
	}
}

// TestAddingProvesNothing: what is added has been asked for in time and is used in time, and makes the session no fresher.
func TestAddingProvesNothing(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t, free)
	u, w := newUser(t, d), newWallet(t)
	u.signIn("slow@example.org")
	d.Clock.Advance(9 * time.Minute)
	u.into(u.byWallet(w), http.StatusOK, nil) // a new session, of an old proof
	u.into(u.call(http.MethodPost, api.PathAuthEmail, api.EmailSignInRequest{Email: "late@example.org"}), http.StatusAccepted, nil)
	token := d.MailedToken(t, "late@example.org")
	other := newWallet(t)
	text := u.message(other).Message
	d.Clock.Advance(time.Minute + time.Millisecond)
	u.refused(u.unlink(u.identities()[0].ID), api.ReasonReauthentication)
	u.refused(u.call(http.MethodPost, api.PathAuthEmailVerify, api.EmailVerifyRequest{Token: token}), api.ReasonReauthentication)
	u.refused(u.call(http.MethodPost, api.PathAuthWalletVerify,
		api.WalletVerifyRequest{Message: text, Signature: other.sign(t, text)}), api.ReasonReauthentication)
	u.into(u.byWallet(w), http.StatusOK, nil)                                                                          // theirs by now, so a proof
	u.into(u.call(http.MethodPost, api.PathAuthEmailVerify, api.EmailVerifyRequest{Token: token}), http.StatusOK, nil) // it was not used up
	if n := len(u.identities()); n != 3 {
		t.Errorf("%d identities, want 3", n)
	}
}

// TestStolenSession: who has a session and nothing else adds nothing, and is thrown out everywhere.
func TestStolenSession(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t, free)
	ada, thief := newUser(t, d), newUser(t, d)
	id := ada.signIn("ada@example.org").UserID
	thief.secret = ada.secret
	d.Clock.Advance(time.Hour)
	thief.refused(thief.byWalletAsked(newWallet(t)), api.ReasonReauthentication)
	// A link to an address of the account would sign the thief in again: it ends with the sessions.
	newUser(t, d).call(http.MethodPost, api.PathAuthEmail, api.EmailSignInRequest{Email: "ada@example.org"})
	token := d.MailedToken(t, "ada@example.org")
	ada.into(ada.call(http.MethodDelete, api.PathAuthSession+"?all=true", nil), http.StatusNoContent, nil)
	if ada.secret != "" {
		t.Error("the cookie stays")
	}
	thief.refused(thief.call(http.MethodGet, api.PathAuthSession, nil), api.ReasonInvalidSession)
	thief.refused(thief.call(http.MethodPost, api.PathAuthEmailVerify, api.EmailVerifyRequest{Token: token}), api.ReasonInvalidSignIn)
	thief.refused(thief.call(http.MethodDelete, api.PathAuthSession+"?all=true", nil), api.ReasonInvalidSession)
	thief.refused(thief.call(http.MethodDelete, api.PathAuthSession+"?all=yes", nil), api.ReasonInvalidRequest)
	eve := newUser(t, d)
	eve.signIn("eve@example.org")
	if again := ada.signIn("ada@example.org"); again.UserID != id {
		t.Error("signing out everywhere lost the account")
	}
	ada.into(ada.call(http.MethodDelete, api.PathAuthSession+"?all=true", nil), http.StatusNoContent, nil)
	eve.into(eve.call(http.MethodGet, api.PathAuthSession, nil), http.StatusOK, nil) // another's goes on
}

// byWalletAsked asks for the message of a wallet alone.
func (u *user) byWalletAsked(w wallet) answer {
	return u.call(http.MethodPost, api.PathAuthWallet, api.WalletSignInRequest{Address: w.address})
}

// TestIdentitiesAreBounded: an account has ten at most, and changes ten times a day.
func TestIdentitiesAreBounded(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t, free)
	u := newUser(t, d)
	u.signIn("many@example.org")
	for range api.MaxIdentities - 1 {
		u.into(u.byWallet(newWallet(t)), http.StatusOK, nil)
	}
	u.refused(u.byWallet(newWallet(t)), api.ReasonInvalidRequest)
	u.into(u.unlink(u.identities()[1].ID), http.StatusNoContent, nil) // the tenth change
	u.refused(u.byWallet(newWallet(t)), api.ReasonRateLimited)
	if n := len(u.identities()); n != api.MaxIdentities-1 {
		t.Errorf("%d identities after a change too many, want %d", n, api.MaxIdentities-1)
	}
}

// TestSessionEndsAfterHalfAYear however often it is used, and not before.
func TestSessionEndsAfterHalfAYear(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t, free)
	u := newUser(t, d)
	u.signIn("forever@example.org")
	began := d.Clock.Now()
	last := began.Add(180 * 24 * time.Hour)
	for d.Clock.Now().Before(last.Add(-20 * 24 * time.Hour)) {
		d.Clock.Advance(20 * 24 * time.Hour)
		u.into(u.call(http.MethodGet, api.PathAuthSession, nil), http.StatusOK, nil)
	}
	prolonged(t, d) // as an earlier contextd would have renewed it
	var s api.Session
	u.into(u.call(http.MethodGet, api.PathAuthSession, nil), http.StatusOK, &s)
	if !s.ExpiresAt.Equal(last) {
		t.Errorf("it ends at %v, want %v", s.ExpiresAt, last)
	}
	secret := u.secret
	d.Clock.Advance(last.Sub(d.Clock.Now()) - time.Millisecond)
	u.into(u.call(http.MethodGet, api.PathAuthSession, nil), http.StatusOK, nil)
	d.Clock.Advance(time.Millisecond)
	u.secret = secret
	u.refused(u.call(http.MethodGet, api.PathAuthSession, nil), api.ReasonInvalidSession)
}

// prolonged lets every session end in a thousand years, by the database alone.
func prolonged(t *testing.T, d *daemontest.Daemon) {
	t.Helper()
	db, err := sql.Open("sqlite3", filepath.Join(d.Config.DataDir, "contextd.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), "UPDATE sessions SET expires_at = expires_at + 31536000000000"); err != nil {
		t.Fatal(err)
	}
}
