package web_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/daemon/testbed"
	"github.com/contextd/contextd/sdk/api"
)

// free lifts the limits that a test would come to.
func free(c *daemon.Config) {
	c.Limits = daemon.Limits{SignIns: 1_000_000, Mails: 1_000_000, Requests: 1_000_000}
}

// TestByMail is the whole way: link, session, key, call, revocation, sign-out. No secret of it is on disk or in the log.
func TestByMail(t *testing.T) {
	t.Parallel()
	var log testbed.Log
	d := daemontest.Start(t, func(c *daemon.Config) {
		c.Logger = log.Logger()
	})
	u := newUser(t, d)
	var sent api.EmailSignInResponse
	u.into(u.call(http.MethodPost, api.PathAuthEmail, api.EmailSignInRequest{Email: " Ada@Example.org "}), http.StatusAccepted, &sent)
	if want := d.Clock.Now().Add(15 * time.Minute); !sent.ExpiresAt.Equal(want) {
		t.Errorf("the link lives until %v, want %v", sent.ExpiresAt, want)
	}
	link, token := d.MailedLink(t, "ada@example.org"), d.MailedToken(t, "ada@example.org")
	if want := d.URL() + "/auth/email?token=" + token; link != want {
		t.Errorf("the link is %s, want %s", link, want)
	}
	var session, again api.Session
	got := u.call(http.MethodPost, api.PathAuthEmailVerify, api.EmailVerifyRequest{Token: token})
	u.into(got, http.StatusOK, &session)
	if session.Email == nil || *session.Email != "ada@example.org" || session.Address != nil || session.Tier != api.TierFree || session.UserID == "" ||
		!session.ExpiresAt.Equal(d.Clock.Now().Add(30*24*time.Hour)) {
		t.Errorf("session %s", got.Body)
	}
	if c := got.Header.Get("Set-Cookie"); !strings.HasPrefix(c, "contextd_session=") || !strings.Contains(c, "HttpOnly") ||
		!strings.Contains(c, "SameSite=Lax") || !strings.Contains(c, "Path=/") || !strings.Contains(c, "Max-Age=2592000") || strings.Contains(c, "Secure") {
		t.Errorf("the cookie is %s", c)
	}
	u.into(u.call(http.MethodGet, api.PathAuthSession, nil), http.StatusOK, &again)
	if again.UserID != session.UserID {
		t.Errorf("signed in as %s, the session is of %s", session.UserID, again.UserID)
	}
	var key api.IssuedKey
	u.into(u.call(http.MethodPost, api.PathKeys, api.CreateKeyRequest{Name: "agent"}), http.StatusCreated, &key)
	u.header["Authorization"] = "Bearer " + key.Key
	u.into(u.call(http.MethodGet, api.PathFresh, nil), http.StatusOK, nil)
	var gone api.RevokeResponse
	u.into(u.call(http.MethodDelete, api.PathKeys+"/"+key.KeyID, nil), http.StatusOK, &gone)
	u.refused(u.call(http.MethodGet, api.PathFresh, nil), api.ReasonKeyRevoked)
	secret := u.secret
	u.into(u.call(http.MethodDelete, api.PathAuthSession, nil), http.StatusNoContent, nil)
	u.secret = secret
	u.refused(u.call(http.MethodGet, api.PathAuthSession, nil), api.ReasonInvalidSession)
	d.Stop(t)
	for _, file := range []string{"contextd.db", "contextd.db-wal"} {
		text, _ := os.ReadFile(filepath.Join(d.Config.DataDir, file)) // the log is gone after a clean stop
		for what, s := range map[string]string{"token": token, "session": secret, "key": key.Key[api.KeyIDLength:]} {
			if strings.Contains(string(text), s) || strings.Contains(log.String(), s) {
				t.Errorf("the %s is on disk or in the log", what)
			}
		}
	}
}

// TestAnswerTellsNothingOfTheAddress: known or not, it is the same.
func TestAnswerTellsNothingOfTheAddress(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t)
	newUser(t, d).signIn("known@example.org")
	var bodies []string
	for _, email := range []string{"known@example.org", "unknown@example.org"} {
		u := newUser(t, d)
		bodies = append(bodies, string(u.call(http.MethodPost, api.PathAuthEmail, api.EmailSignInRequest{Email: email}).Body))
		d.MailedLink(t, email)
	}
	if bodies[0] != bodies[1] {
		t.Errorf("known: %s, unknown: %s", bodies[0], bodies[1])
	}
}

func TestLinkWorksOnceAndNotForLong(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t, free)
	const email = "once@example.org"
	verify := func(token string) answer {
		return newUser(t, d).call(http.MethodPost, api.PathAuthEmailVerify, api.EmailVerifyRequest{Token: token})
	}
	u := newUser(t, d)
	ask := func() string {
		u.into(u.call(http.MethodPost, api.PathAuthEmail, api.EmailSignInRequest{Email: email}), http.StatusAccepted, nil)
		return d.MailedToken(t, email)
	}
	token := ask()
	var all sync.WaitGroup
	var mu sync.Mutex
	statuses := map[int]int{}
	for range 20 {
		all.Go(func() {
			got := verify(token)
			mu.Lock()
			defer mu.Unlock()
			statuses[got.Status]++
		})
	}
	all.Wait()
	if statuses[http.StatusOK] != 1 || statuses[http.StatusUnauthorized] != 19 {
		t.Errorf("20 uses of one link: %v", statuses)
	}
	token = ask()
	d.Clock.Advance(15 * time.Minute)
	u.refused(verify(token), api.ReasonInvalidSignIn)
	token = ask()
	d.Clock.Advance(15*time.Minute - time.Millisecond)
	u.into(verify(token), http.StatusOK, nil)
	for _, bad := range []string{"", "x", token, strings.Repeat("a", 43), "' OR 1=1"} {
		u.refused(verify(bad), api.ReasonInvalidSignIn)
	}
}

func TestBadAddresses(t *testing.T) {
	t.Parallel()
	u := newUser(t, daemontest.Start(t, free))
	for _, bad := range []string{
		"", "a", "a@", "@b.org", "a b@c.org", "Ada <a@b.org>", "a@b.org, c@d.org", "a@b..org", "a@[127.0.0.1]", "a@127.0.0.1", "a@b.org\r\nBcc: c@d.org",
		"ä@b.org", "a@bücher.de", strings.Repeat("a", 65) + "@b.org", "a@" + strings.Repeat("b.", 130) + "org",
	} {
		got := u.call(http.MethodPost, api.PathAuthEmail, api.EmailSignInRequest{Email: bad})
		if got.Status == http.StatusAccepted {
			t.Errorf("%q is taken for an address", bad)
			continue
		}
		u.refused(got, api.ReasonInvalidRequest)
	}
	for _, bad := range []string{"", "0x", "vitalik.eth", "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD"} {
		u.refused(u.call(http.MethodPost, api.PathAuthWallet, api.WalletSignInRequest{Address: bad}), api.ReasonInvalidRequest)
	}
	if n := len(u.d.Mails(t)); n != 0 {
		t.Errorf("%d mails were sent", n)
	}
}

// TestCookiesOfOneName: of several, any that is good counts, so that nobody is signed out by a cookie that a neighboring site has set. Four
// are looked for in the books.
func TestCookiesOfOneName(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t, free, daemontest.WithPages)
	u := newUser(t, d)
	u.signIn("ada@example.org")
	good, bad := api.SessionCookie+"="+u.secret, api.SessionCookie+"=x"
	for cookies, status := range map[string]int{good: 200, bad + "; " + good: 200, good + "; " + bad: 200, bad + "; " + bad: 401, bad: 401,
		strings.Repeat(bad+"; ", 3) + good: 200, strings.Repeat(bad+"; ", 4) + good: 401, api.SecureSessionCookie + "=" + u.secret: 401} {
		if got := get(t, d.URL()+api.PathAuthSession, with("Cookie", cookies)); got.Status != status {
			t.Errorf("%s: %d %s", strings.ReplaceAll(cookies, u.secret, "GOOD"), got.Status, got.Body)
		}
	}
}

func TestByWallet(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t, free, func(c *daemon.Config) { c.PublicURL, c.ChainID = "https://context.example.org/x/", 4663 })
	u, w := newUser(t, d), newWallet(t)
	u.header["Host"] = "203.0.113.7" // which nothing follows
	m := u.message(w)
	at := d.Clock.Now().UTC().Format("2006-01-02T15:04:05.000Z")
	want := fmt.Sprintf("context.example.org wants you to sign in with your Ethereum account:\n%s\n\n"+
		"Sign in to contextd. This signs a message only: it moves no funds.\n\n"+
		"URI: https://context.example.org/x\nVersion: 1\nChain ID: 4663\nNonce: ", w.address)
	if !strings.HasPrefix(m.Message, want) || !strings.Contains(m.Message, "\nIssued At: "+at+"\nExpiration Time: ") || !m.ExpiresAt.Equal(d.Clock.Now().Add(5*time.Minute)) {
		t.Errorf("the message is\n%s", m.Message)
	}
	var session api.Session
	got := u.call(http.MethodPost, api.PathAuthWalletVerify, api.WalletVerifyRequest{Message: m.Message, Signature: w.sign(t, m.Message)})
	u.into(got, http.StatusOK, &session)
	if session.Address == nil || *session.Address != w.address || session.Email != nil {
		t.Errorf("session %s", got.Body)
	}
	c := got.Header.Get("Set-Cookie")
	if !strings.HasPrefix(c, "__Host-contextd_session=") || !strings.Contains(c, "Secure") || !strings.Contains(c, "; Path=/;") || strings.Contains(c, "Domain") {
		t.Errorf("on https the cookie is %s", c)
	}
	if got := get(t, d.URL()+api.PathAuthSession, with("Cookie", api.SessionCookie+"="+u.secret)); got.Status != http.StatusUnauthorized {
		t.Errorf("a cookie that a neighbor could have set: %s", got.Body)
	}
	var key api.IssuedKey
	u.into(u.call(http.MethodPost, api.PathKeys, api.CreateKeyRequest{Name: "agent"}), http.StatusCreated, &key)
	if !strings.HasPrefix(key.Key, "cv_live_") {
		t.Errorf("on the main chain the key is %s…", key.KeyID)
	}
	var same api.Session
	again := newUser(t, d)
	again.into(again.byWallet(w), http.StatusOK, &same)
	if same.UserID != session.UserID {
		t.Error("the second time the wallet is another owner")
	}
}

// TestMessageIsTheOneHandedOut: whatever is another, the sign-in fails, and the nonce is used up.
func TestMessageIsTheOneHandedOut(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t, free)
	w, other := newWallet(t), newWallet(t)
	host := strings.TrimPrefix(d.URL(), "http://")
	for what, change := range map[string]func(text, sig string) (string, string){
		"domain": func(text, _ string) (string, string) {
			return resign(t, w, strings.Replace(text, host, "evil.example.com", 1))
		},
		"address": func(text, _ string) (string, string) {
			return resign(t, other, strings.Replace(text, w.address, other.address, 1))
		},
		"signer": func(text, _ string) (string, string) { return resign(t, other, text) },
		"URI": func(text, _ string) (string, string) {
			return resign(t, w, strings.Replace(text, "URI: http:", "URI: https:", 1))
		},
		"chain": func(text, _ string) (string, string) {
			return resign(t, w, strings.Replace(text, "Chain ID: 46630", "Chain ID: 4663", 1))
		},
		"time": func(text, _ string) (string, string) {
			return resign(t, w, strings.Replace(text, "Issued At: 2026", "Issued At: 2027", 1))
		},
		"statement": func(text, _ string) (string, string) {
			return resign(t, w, strings.Replace(text, "no funds", "funds", 1))
		},
		"space": func(text, _ string) (string, string) { return resign(t, w, text+" ") },
		"line ends": func(text, _ string) (string, string) {
			return resign(t, w, strings.Replace(text, "Version: 1\n", "Version: 1\r\n", 1))
		},
		"signature": func(text, sig string) (string, string) { return text, sig[:len(sig)-4] + "0000" },
		"none":      func(text, _ string) (string, string) { return text, "" },
	} {
		u := newUser(t, d)
		text := u.message(w).Message
		sig := w.sign(t, text)
		changed, by := change(text, sig)
		u.refused(u.call(http.MethodPost, api.PathAuthWalletVerify, api.WalletVerifyRequest{Message: changed, Signature: by}), api.ReasonInvalidSignIn)
		got := u.call(http.MethodPost, api.PathAuthWalletVerify, api.WalletVerifyRequest{Message: text, Signature: sig})
		if got.Status != http.StatusUnauthorized {
			t.Errorf("%s: after a failed attempt the nonce still works: %s", what, got.Body)
		}
	}
	u := newUser(t, d)
	text := u.message(w).Message
	d.Clock.Advance(5 * time.Minute)
	u.refused(u.call(http.MethodPost, api.PathAuthWalletVerify, api.WalletVerifyRequest{Message: text, Signature: w.sign(t, text)}), api.ReasonInvalidSignIn)
	for _, bad := range []string{"", "x", strings.Repeat("\n", 10), "Nonce: " + strings.Repeat("a", 24)} {
		u.refused(u.call(http.MethodPost, api.PathAuthWalletVerify, api.WalletVerifyRequest{Message: bad, Signature: "0x"}), api.ReasonInvalidSignIn)
	}
}

// TestNonceIsNoToken: the requester of a message for a wallet has its nonce, and must not sign in with it as with a mailed token.
func TestNonceIsNoToken(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t, free)
	w, thief := newWallet(t), newUser(t, d)
	text := thief.message(w).Message
	nonce := text[strings.Index(text, "Nonce: ")+7:][:24]
	thief.refused(thief.call(http.MethodPost, api.PathAuthEmailVerify, api.EmailVerifyRequest{Token: nonce}), api.ReasonInvalidSignIn)
	if thief.secret != "" {
		t.Error("the refusal set a session")
	}
	// Nor does a mailed token stand for a nonce.
	thief.into(thief.call(http.MethodPost, api.PathAuthEmail, api.EmailSignInRequest{Email: "a@example.org"}), http.StatusAccepted, nil)
	changed := strings.Replace(thief.message(w).Message, "Nonce: ", "Nonce: "+d.MailedToken(t, "a@example.org"), 1)
	thief.refused(thief.call(http.MethodPost, api.PathAuthWalletVerify,
		api.WalletVerifyRequest{Message: changed, Signature: w.sign(t, changed)}), api.ReasonInvalidSignIn)
}

// resign is text with the signature of w on it.
func resign(t *testing.T, w wallet, text string) (string, string) {
	t.Helper()
	return text, w.sign(t, text)
}

// TestLinking: an owner adds a wallet to their mail address, and nobody adds anything to the account of another.
func TestLinking(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t, free)
	ada, w := newUser(t, d), newWallet(t)
	id := ada.signIn("ada@example.org").UserID
	var session api.Session
	ada.into(ada.byWallet(w), http.StatusOK, &session)
	if session.UserID != id || session.Email == nil || session.Address == nil || *session.Address != w.address {
		t.Errorf("after adding a wallet: %+v", session)
	}
	phone := newUser(t, d)
	phone.into(phone.byWallet(w), http.StatusOK, &session)
	if session.UserID != id {
		t.Error("the wallet does not lead to the account it was added to")
	}

	eve := newUser(t, d)
	eve.signIn("eve@example.org")
	eve.refused(eve.byWallet(w), api.ReasonInvalidSignIn) // it is Ada's
	// Eve has a link mailed to Bob that would add his address to her account. He opens it, signed in or not.
	eve.into(eve.call(http.MethodPost, api.PathAuthEmail, api.EmailSignInRequest{Email: "bob@example.org"}), http.StatusAccepted, nil)
	token := d.MailedToken(t, "bob@example.org")
	bob := newUser(t, d)
	bob.refused(bob.call(http.MethodPost, api.PathAuthEmailVerify, api.EmailVerifyRequest{Token: token}), api.ReasonInvalidSignIn)
	if got := bob.signIn("bob@example.org"); got.Email == nil || *got.Email != "bob@example.org" {
		t.Errorf("bob signs in as %+v", got)
	}
	// Ada's link, used where Bob is signed in, signs Ada in and adds nothing to Bob.
	newUser(t, d).call(http.MethodPost, api.PathAuthEmail, api.EmailSignInRequest{Email: "ada@example.org"})
	bob.into(bob.call(http.MethodPost, api.PathAuthEmailVerify, api.EmailVerifyRequest{Token: d.MailedToken(t, "ada@example.org")}), http.StatusOK, &session)
	if session.UserID != id {
		t.Error("a link signs in somebody else than it was mailed to")
	}
}

// TestLinkOfAnotherAddsNothing: a link that Eve asked for while signed in, to an address of nobody, adds it to nobody's account but hers,
// and only where she is signed in.
func TestLinkOfAnotherAddsNothing(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t, free)
	eve, bob := newUser(t, d), newUser(t, d)
	hers := eve.signIn("eve@example.org")
	bob.signIn("bob@example.org")
	eve.into(eve.ask("new@example.org"), http.StatusAccepted, nil)
	token := d.MailedToken(t, "new@example.org")
	for _, who := range []*user{newUser(t, d), bob} {
		had := who.secret
		who.refused(who.call(http.MethodPost, api.PathAuthEmailVerify, api.EmailVerifyRequest{Token: token}), api.ReasonInvalidSignIn)
		if who.secret != had {
			t.Error("the refusal set a session")
		}
	}
	if n := len(eve.identities()) + len(bob.identities()); n != 2 {
		t.Errorf("%d identities, want 2", n)
	}
	var s api.Session
	eve.into(eve.call(http.MethodPost, api.PathAuthEmailVerify, api.EmailVerifyRequest{Token: token}), http.StatusOK, &s)
	if s.UserID != hers.UserID || len(eve.identities()) != 2 {
		t.Errorf("where she asked for it: %+v", s)
	}
}

func TestSessionIsRenewedAndEnds(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t, free)
	u := newUser(t, d)
	u.signIn("long@example.org")
	for range 3 { // used every 29 days, it goes on
		d.Clock.Advance(29 * 24 * time.Hour)
		got := u.call(http.MethodGet, api.PathAuthSession, nil)
		var s api.Session
		u.into(got, http.StatusOK, &s)
		if !s.ExpiresAt.Equal(d.Clock.Now().Add(30*24*time.Hour)) || got.Header.Get("Set-Cookie") == "" {
			t.Fatalf("not renewed: %s, %v", got.Body, got.Header)
		}
	}
	if got := u.call(http.MethodGet, api.PathAuthSession, nil); got.Header.Get("Set-Cookie") != "" {
		t.Error("renewed twice within a day")
	}
	d.Clock.Advance(30 * 24 * time.Hour)
	u.refused(u.call(http.MethodGet, api.PathAuthSession, nil), api.ReasonInvalidSession)
	u.secret = ""
	u.refused(u.call(http.MethodGet, api.PathAuthSession, nil), api.ReasonMissingSession)
	u.into(u.call(http.MethodDelete, api.PathAuthSession, nil), http.StatusNoContent, nil)
}
