package account_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/daemon/testbed"
	"github.com/contextd/contextd/sdk/api"
)

// house is all of sign-in on a store: a clock that moves by hand, mail that is read here, and wallets that sign with their address.
type house struct {
	*account.SignIn
	t       *testing.T
	store   *store.Store
	keys    *account.Keys
	invites account.Invites
	clock   *clock
	mails   []letter
	owners  int // that were made
}

// letter is one mail.
type letter struct{ to, subject, text string }

// Send takes the place of the mail server.
func (h *house) Send(_ context.Context, to, subject, text string) error {
	h.mails = append(h.mails, letter{to, subject, text})
	return nil
}

// newHouse opens a house; change may set more of its configuration.
func newHouse(t *testing.T, change ...func(*account.SignInConfig)) *house {
	t.Helper()
	h := &house{t: t, clock: &clock{t: time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)}}
	var err error
	if h.store, err = store.Open(t.Context(), testbed.Place(t), h.clock.Now()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.store.Close() })
	cfg := account.SignInConfig{
		Store: h.store, Mailer: h, PublicURL: &url.URL{Scheme: "https", Host: "node.example"}, ChainID: 4217, Now: h.clock.Now,
		NewID: func() string { h.owners++; return fmt.Sprintf("owner-%d", h.owners) },
		Recover: func(_, signature string) (string, error) {
			signer, signed := strings.CutPrefix(signature, "signed by ")
			if !signed {
				return "", errors.New("not a signature")
			}
			return signer, nil
		},
		Checksum: func(address string) (string, error) {
			if len(address) != 42 {
				return "", errors.New("not 20 bytes")
			}
			return "0x" + strings.ToUpper(address[2:]), nil
		},
	}
	for _, f := range change {
		f(&cfg)
	}
	if h.SignIn, err = account.NewSignIn(cfg); err != nil {
		t.Fatal(err)
	}
	if h.keys, err = account.OpenKeys(t.Context(), account.Config{Store: h.store, Now: h.clock.Now}); err != nil {
		t.Fatal(err)
	}
	h.invites = account.Invites{Store: h.store, Now: h.clock.Now}
	return h
}

// ask has a link mailed and returns its token.
func (h *house) ask(address string, v account.Visitor) string {
	h.t.Helper()
	id, err := account.Email(address)
	if err != nil {
		h.t.Fatal(err)
	}
	if _, err := h.SendLink(h.t.Context(), id, v); err != nil {
		h.t.Fatal(err)
	}
	found := regexp.MustCompile(`token=([0-9A-Za-z]+)`).FindStringSubmatch(h.mails[len(h.mails)-1].text)
	if found == nil {
		h.t.Fatalf("no link in %q", h.mails[len(h.mails)-1].text)
	}
	return found[1]
}

// enter signs in by mail, as a caller who has no session.
func (h *house) enter(address string) (secret string, v account.Visitor) {
	h.t.Helper()
	secret, session, err := h.ByLink(h.t.Context(), h.ask(address, account.Visitor{}), account.Visitor{})
	if err != nil {
		h.t.Fatal(err)
	}
	return secret, account.Visitor{Session: &session}
}

// wallet is the address of a wallet whose digits are all c, as EIP-55 is written here.
func wallet(c string) string { return "0x" + strings.Repeat(c, 40) }

// sign has a message made for a wallet, signs it and hands it in.
func (h *house) sign(address string, v account.Visitor) (account.Session, error) {
	h.t.Helper()
	h.clock.Add(time.Millisecond) // identities of one moment have no order
	text, _, err := h.Message(h.t.Context(), address, v)
	if err != nil {
		h.t.Fatal(err)
	}
	_, session, err := h.ByWallet(h.t.Context(), text, "signed by "+wallet(strings.ToUpper(address[2:3])), v)
	return session, err
}

// reason is why err refuses, "" for nil.
func reason(err error) api.Reason {
	var refused *api.Error
	switch {
	case err == nil:
		return ""
	case errors.As(err, &refused):
		return refused.Reason
	}
	return api.Reason("not for the caller: " + err.Error())
}

// wants fails the test where err does not refuse for the given reason.
func wants(t *testing.T, err error, want api.Reason) {
	t.Helper()
	if got := reason(err); got != want {
		t.Errorf("the reason is %q (%v), want %q", got, err, want)
	}
}
