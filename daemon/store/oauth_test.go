package store_test

import (
	"crypto/sha256"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/testbed"
	"github.com/contextd/contextd/sdk/api"
)

// token is one of a key that ends an hour after the store was opened.
func token(name, key string, refresh bool) account.Token {
	return account.Token{Hash: sha256.Sum256([]byte(name)), KeyID: key, Refresh: refresh, ExpiresAt: opened().Add(time.Hour)}
}

// TestCodeIsUsedOnce: a form has one code, and a code one key with its tokens; a use that fails leaves nothing behind.
func TestCodeIsUsedOnce(t *testing.T) {
	t.Parallel()
	s, c := open(t, testbed.Place(t)), chargedKey(1)
	grant(t, s, c, 0)
	code := account.Code{
		Hash: sha256.Sum256([]byte("code")), Form: sha256.Sum256([]byte("form")), Redirect: "https://x.test/", Challenge: "of PKCE",
		Consent:   account.Consent{OwnerID: c.OwnerID, Name: "agent", Grant: &api.Grant{ClientID: "x"}},
		ExpiresAt: opened().Add(time.Minute),
	}
	if err := s.AddCode(t.Context(), code); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Code(t.Context(), code.Hash); err != nil || !reflect.DeepEqual(got, code) {
		t.Errorf("kept %+v, %v, want %+v", got, err, code)
	}
	second := code
	second.Hash = sha256.Sum256([]byte("second"))
	if err := s.AddCode(t.Context(), second); !errors.Is(err, account.ErrUsed) {
		t.Errorf("a second code of a form: %v", err)
	}
	if _, err := s.Code(t.Context(), second.Hash); !errors.Is(err, account.ErrNoToken) {
		t.Errorf("a code that was not added: %v", err)
	}
	for _, use := range []struct {
		key  string
		want error
	}{{c.KeyID, account.ErrDuplicate}, {"agent", nil}, {"other", account.ErrUsed}} {
		made := []account.Token{token("access "+use.key, use.key, false), token("refresh "+use.key, use.key, true)}
		k := newKey(c, use.key, opened())
		k.Grant = code.Consent.Grant
		if err := s.UseCode(t.Context(), code.Hash, opened(), k, made); !errors.Is(err, use.want) {
			t.Errorf("used for %s: %v, want %v", use.key, err, use.want)
		}
		for _, m := range made {
			if got, err := s.Token(t.Context(), m.Hash); use.want == nil && !reflect.DeepEqual(got, m) ||
				use.want != nil && !errors.Is(err, account.ErrNoToken) {
				t.Errorf("token of %s: %+v, %v", use.key, got, err)
			}
		}
	}
	code.UsedAt, code.KeyID = opened(), "agent"
	if got, err := s.Code(t.Context(), code.Hash); err != nil || !reflect.DeepEqual(got, code) {
		t.Errorf("used %+v, %v, want %+v", got, err, code)
	}
	changed := api.Grant{ClientID: "x", Copied: true}
	if err := s.KeepGrant(t.Context(), "agent", changed); err != nil {
		t.Fatal(err)
	}
	keys, err := s.Keys(t.Context(), nil)
	for _, k := range keys {
		if k.ID == "other" || k.ID == "agent" && !reflect.DeepEqual(k.Grant, &changed) {
			t.Errorf("key %+v", k)
		}
	}
	if err != nil || len(keys) != 2 {
		t.Errorf("%d keys, %v", len(keys), err)
	}
}

// TestTokenIsExchangedAgain is both sides of how long after its first use a refresh token may be exchanged again.
func TestTokenIsExchangedAgain(t *testing.T) {
	t.Parallel()
	s, c := open(t, testbed.Place(t)), chargedKey(1)
	grant(t, s, c, 0)
	refresh, code := token("refresh", c.KeyID, true), account.Code{Hash: sha256.Sum256([]byte("code"))}
	if err := s.AddCode(t.Context(), code); err != nil {
		t.Fatal(err)
	}
	if err := s.UseCode(t.Context(), code.Hash, opened(), newKey(c, "agent", opened()), []account.Token{refresh}); err != nil {
		t.Fatal(err)
	}
	first := opened().Add(time.Second)
	for i, use := range []struct {
		since time.Time // the last moment whose use counts
		want  error
	}{{first, nil}, {first.Add(-time.Millisecond), nil}, {first, account.ErrUsed}, {first.Add(time.Millisecond), account.ErrUsed}} {
		made := token("next "+string(rune('0'+i)), c.KeyID, false)
		err := s.UseToken(t.Context(), refresh.Hash, use.since, first.Add(time.Duration(i)*time.Second), []account.Token{made})
		if !errors.Is(err, use.want) {
			t.Errorf("use %d: %v, want %v", i, err, use.want)
		}
		if _, err := s.Token(t.Context(), made.Hash); (err == nil) != (use.want == nil) {
			t.Errorf("the token of use %d: %v", i, err)
		}
		if got, err := s.Token(t.Context(), refresh.Hash); err != nil || !got.UsedAt.Equal(first) {
			t.Errorf("after use %d it was used at %s, %v, want the first", i, got.UsedAt, err)
		}
	}
	if err := s.UseToken(t.Context(), sha256.Sum256([]byte("none")), first, first, nil); !errors.Is(err, account.ErrUsed) {
		t.Errorf("a token that is not there: %v", err)
	}
}

// TestPruneTokens is both sides of the end of codes, tokens and documents.
func TestPruneTokens(t *testing.T) {
	t.Parallel()
	s, c := open(t, testbed.Place(t)), chargedKey(1)
	grant(t, s, c, 0)
	code := account.Code{Hash: sha256.Sum256([]byte("code")), ExpiresAt: opened()}
	access, used := token("access", c.KeyID, false), token("used", c.KeyID, true)
	used.ExpiresAt = opened().Add(1000 * time.Hour)
	if err := s.AddCode(t.Context(), code); err != nil {
		t.Fatal(err)
	}
	if err := s.UseCode(t.Context(), code.Hash, opened(), newKey(c, "agent", opened()), []account.Token{access, used}); err != nil {
		t.Fatal(err)
	}
	if err := s.UseToken(t.Context(), used.Hash, time.Time{}, opened(), nil); err != nil {
		t.Fatal(err)
	}
	for _, read := range []time.Time{opened().Add(-time.Hour), opened()} { // the later one counts
		if err := s.SaveClient(t.Context(), "x", read.String(), read, read.Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
	document, read, fresh, err := s.Client(t.Context(), "x")
	if err != nil || document != opened().String() || !read.Equal(opened()) || !fresh.Equal(opened().Add(time.Minute)) {
		t.Errorf("client %q of %s, fresh until %s, %v", document, read, fresh, err)
	}
	there := map[string]func() error{
		"code":     func() error { _, err := s.Code(t.Context(), code.Hash); return err },
		"access":   func() error { _, err := s.Token(t.Context(), access.Hash); return err },
		"used":     func() error { _, err := s.Token(t.Context(), used.Hash); return err },
		"document": func() error { _, _, _, err := s.Client(t.Context(), "x"); return err },
	}
	for _, one := range []struct {
		name string
		kept time.Duration
	}{{"access", time.Hour}, {"code", 24 * time.Hour}, {"document", 7 * 24 * time.Hour}, {"used", 30 * 24 * time.Hour}} { // in this order
		for _, end := range []struct {
			now  time.Time
			want error
		}{{opened().Add(one.kept - time.Millisecond), nil}, {opened().Add(one.kept), account.ErrNoToken}} {
			if err := s.PruneTokens(t.Context(), end.now); err != nil {
				t.Fatal(err)
			}
			if err := there[one.name](); !errors.Is(err, end.want) {
				t.Errorf("%s at %s: %v, want %v", one.name, end.now, err, end.want)
			}
		}
	}
}
