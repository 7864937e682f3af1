package web_test

import (
	"net/http"
	"sync"
	"testing"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/daemon/testbed"
	"github.com/contextd/contextd/sdk/api"
)

// TestSignInAtTwoNodes: what one node hands out signs in at another, once at any of them, also when both are asked at the same time or the
// owner has ended all sessions since.
func TestSignInAtTwoNodes(t *testing.T) {
	t.Parallel()
	place := testbed.Postgres(t)
	one := daemontest.Start(t, func(cfg *daemon.Config) { cfg.StoreURL, cfg.PublicURL = place, "http://contextd.test" })
	two := daemontest.Open(t, func(cfg *daemon.Config) {
		cfg.StoreURL, cfg.PublicURL, cfg.Now = place, "http://contextd.test", one.Clock.Now
	})
	two.Run(t)
	a, b := newUser(t, one), newUser(t, two)
	w := newWallet(t)
	message := func() (body api.WalletVerifyRequest) {
		text := a.message(w).Message
		return api.WalletVerifyRequest{Message: text, Signature: w.sign(t, text)}
	}
	first := message()
	second := message()
	b.into(b.call(http.MethodPost, api.PathAuthWalletVerify, first), http.StatusOK, nil)
	a.refused(a.call(http.MethodPost, api.PathAuthWalletVerify, first), api.ReasonInvalidSignIn)
	b.refused(b.call(http.MethodPost, api.PathAuthWalletVerify, first), api.ReasonInvalidSignIn)
	b.into(b.call(http.MethodPost, api.PathAuthWalletVerify, second), http.StatusOK, nil)
	a.secret = b.secret
	a.into(a.call(http.MethodGet, api.PathAuthSession, nil), http.StatusOK, nil)
	a.into(a.call(http.MethodDelete, api.PathAuthSession+"?all=true", nil), http.StatusNoContent, nil)
	if got := b.call(http.MethodGet, api.PathAuthSession, nil); got.Status != http.StatusUnauthorized {
		t.Errorf("a session that another node has ended: %d", got.Status)
	}
	a.secret, b.secret = "", ""
	a.refused(a.call(http.MethodPost, api.PathAuthWalletVerify, second), api.ReasonInvalidSignIn)
	for range 5 {
		both := message()
		var all sync.WaitGroup
		status := make([]int, 2)
		for i, d := range []*daemontest.Daemon{one, two} {
			all.Go(func() { status[i] = newUser(t, d).call(http.MethodPost, api.PathAuthWalletVerify, both).Status })
		}
		all.Wait()
		if status[0] == status[1] || status[0]+status[1] != http.StatusOK+http.StatusUnauthorized {
			t.Errorf("the same message at two nodes at once is answered with %v", status)
		}
	}
	email := "ada@example.com"
	a.into(a.call(http.MethodPost, api.PathAuthEmail, api.EmailSignInRequest{Email: email}), http.StatusAccepted, nil)
	link := api.EmailVerifyRequest{Token: one.MailedToken(t, email)}
	b.into(b.call(http.MethodPost, api.PathAuthEmailVerify, link), http.StatusOK, nil)
	a.refused(a.call(http.MethodPost, api.PathAuthEmailVerify, link), api.ReasonInvalidSignIn)
}
