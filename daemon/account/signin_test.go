package account_test

import (
	"crypto/sha256"
	"errors"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/daemon/testbed"
	"github.com/contextd/contextd/sdk/api"
)

// TestMailedLinkIsOfMail: a row that stands for a wallet's challenge, as older programs kept them, signs nobody in as that wallet.
func TestMailedLinkIsOfMail(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	s, err := store.Open(t.Context(), testbed.Place(t), now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	signIn, err := account.NewSignIn(account.SignInConfig{Store: s, NewID: func() string { return ada }, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		id    account.Identity
		holds bool
	}{
		{account.Identity{Kind: account.KindWallet, Subject: "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"}, false},
		{account.Identity{Kind: account.KindEmail, Subject: "ada@example.org"}, true},
	} {
		token := "token of " + string(c.id.Kind)
		challenge := account.Challenge{Hash: sha256.Sum256([]byte(token)), Identity: c.id, CreatedAt: now, ExpiresAt: now.Add(time.Minute)}
		if err := s.AddChallenge(t.Context(), challenge); err != nil {
			t.Fatal(err)
		}
		if l, err := signIn.Preview(t.Context(), token, account.Visitor{}); err != nil || (l.Subject == c.id.Subject) != c.holds {
			t.Errorf("%s: the page of the link names %q, %v", c.id.Kind, l.Subject, err)
		}
		secret, _, err := signIn.ByLink(t.Context(), token, account.Visitor{})
		if refused := errors.Is(err, &api.Error{Reason: api.ReasonInvalidSignIn}); (secret != "") != c.holds || refused == c.holds {
			t.Errorf("%s: signing in by the link ends with %v", c.id.Kind, err)
		}
		if owner, err := s.OwnerOf(t.Context(), c.id); err != nil || (owner == ada) != c.holds {
			t.Errorf("%s: its owner is %q, %v", c.id.Kind, owner, err)
		}
	}
}
