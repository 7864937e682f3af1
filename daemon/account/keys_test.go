package account_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/daemon/testbed"
	"github.com/contextd/contextd/sdk/api"
)

// clock is a settable time.
type clock struct {
	mu sync.Mutex
	t  time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *clock) Add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

// open opens keys on a store in dir.
func open(t *testing.T, dir string, cfg account.Config) *account.Keys {
	t.Helper()
	s, err := store.Open(t.Context(), dir, time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	cfg.Store = s
	keys, err := account.OpenKeys(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// issue makes a key.
func issue(t *testing.T, keys *account.Keys, name string) api.IssuedKey {
	t.Helper()
	key, err := keys.Issue(t.Context(), account.NewKey{OwnerID: account.OperatorID, Name: name})
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func TestIssuedKeyHasTheSpecifiedForm(t *testing.T) {
	t.Parallel()
	for env, pattern := range map[api.KeyEnv]string{"": `^cv_test_[0-9A-Za-z]{32}$`, api.EnvLive: `^cv_live_[0-9A-Za-z]{32}$`} {
		keys := open(t, testbed.Place(t), account.Config{Env: env})
		key := issue(t, keys, " agent ")
		if !regexp.MustCompile(pattern).MatchString(key.Key) {
			t.Errorf("key %q does not match %s", key.Key, pattern)
		}
		if key.KeyID != key.Key[:16] || key.Name != "agent" || key.Tier != api.TierEnterprise {
			t.Errorf("issued %+v", key)
		}
		got, err := keys.Resolve(key.Key)
		if err != nil || got.ID != key.KeyID || got.Consent != api.ConsentAggregated {
			t.Errorf("Resolve = %+v, %v", got, err)
		}
	}
}

func TestSecretIsDrawnWithoutBias(t *testing.T) {
	t.Parallel()
	// Bytes from 248 up would favour the first characters of the alphabet, so they must be skipped.
	stream := append(bytes.Repeat([]byte{255, 248}, 64), bytes.Repeat([]byte{61, 62}, 64)...)
	keys := open(t, testbed.Place(t), account.Config{Random: bytes.NewReader(stream)})
	if got, want := issue(t, keys, "a").Key, "cv_test_"+strings.Repeat("z0", 16); got != want {
		t.Errorf("key %q, want %q", got, want)
	}
}

func TestOnlyTheHashIsStored(t *testing.T) {
	t.Parallel()
	dir := testbed.Files(t)
	s, err := store.Open(t.Context(), dir, time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	keys, err := account.OpenKeys(t.Context(), account.Config{Store: s})
	if err != nil {
		t.Fatal(err)
	}
	secret := issue(t, keys, "a").Key
	for name, text := range readAll(t, dir) {
		if bytes.Contains(text, []byte(secret[api.KeyIDLength:])) {
			t.Errorf("%s holds the secret part of a key", name)
		}
	}
}

func TestDuplicateIDIsDrawnAgain(t *testing.T) {
	t.Parallel()
	same := bytes.Repeat([]byte{7}, 64)
	keys := open(t, testbed.Place(t), account.Config{Random: io.MultiReader(bytes.NewReader(same), bytes.NewReader(same), rand.Reader)})
	first, second := issue(t, keys, "a"), issue(t, keys, "b")
	if first.KeyID == second.KeyID {
		t.Fatalf("both keys are %s", first.KeyID)
	}
	if got, err := keys.Resolve(first.Key); err != nil || got.Name != "a" {
		t.Errorf("first key resolves to %+v, %v", got, err)
	}
}

func TestResolveRefuses(t *testing.T) {
	t.Parallel()
	keys := open(t, testbed.Place(t), account.Config{})
	key := issue(t, keys, "a")
	last := key.Key[len(key.Key)-1]
	other := byte('x')
	if last == other {
		other = 'y'
	}
	for name, secret := range map[string]string{
		"empty": "", "prefix only": "cv_test_", "other secret": key.Key[:len(key.Key)-1] + string(other), "too long": key.Key + "a",
		"other env": strings.Replace(key.Key, "test", "live", 1), "key id": key.KeyID, "space": " " + key.Key,
		"wrong alphabet": key.Key[:len(key.Key)-1] + "-",
	} {
		if _, err := keys.Resolve(secret); !errors.Is(err, &api.Error{Reason: api.ReasonInvalidToken}) {
			t.Errorf("%s: %v, want invalid_token", name, err)
		}
	}
}

func TestRevocationHoldsAtOnceAndForEver(t *testing.T) {
	t.Parallel()
	dir := testbed.Place(t)
	now := &clock{t: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	keys := open(t, dir, account.Config{Now: now.Now})
	key := issue(t, keys, "a")
	first, err := keys.Revoke(t.Context(), key.KeyID)
	if err != nil || !first.OK {
		t.Fatalf("Revoke = %+v, %v", first, err)
	}
	if _, err := keys.Resolve(key.Key); !errors.Is(err, &api.Error{Reason: api.ReasonKeyRevoked}) {
		t.Errorf("after Revoke: %v, want key_revoked", err)
	}
	now.Add(time.Hour)
	if again, err := keys.Revoke(t.Context(), key.KeyID); err != nil || !again.RevokedAt.Equal(first.RevokedAt) {
		t.Errorf("second Revoke = %+v, %v; want the time of the first", again, err)
	}
	if _, err := open(t, dir, account.Config{}).Resolve(key.Key); !errors.Is(err, &api.Error{Reason: api.ReasonKeyRevoked}) {
		t.Errorf("after a restart: %v, want key_revoked", err)
	}
	if _, err := keys.Revoke(t.Context(), "cv_test_nobody00"); !errors.Is(err, &api.Error{Reason: api.ReasonKeyNotFound}) {
		t.Errorf("unknown key: %v, want key_not_found", err)
	}
}

func TestUseIsWrittenLazily(t *testing.T) {
	t.Parallel()
	dir := testbed.Place(t)
	now := &clock{t: time.Date(2026, 1, 2, 3, 4, 5, 123_456_789, time.UTC)}
	keys := open(t, dir, account.Config{Now: now.Now})
	key := issue(t, keys, "a")
	now.Add(time.Minute)
	keys.Used(key.KeyID)
	used := time.Date(2026, 1, 2, 3, 5, 5, 123_000_000, time.UTC) // as the wire has times
	if got := open(t, dir, account.Config{}).List("")[0].Row().LastUsedAt; got != nil {
		t.Errorf("before Flush the store has a last use at %v", got)
	}
	if got := keys.List("")[0].LastUsedAt; !got.Equal(used) {
		t.Errorf("before Flush last use is %v, want %v", got, used)
	}
	if err := keys.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, k := range []*account.Keys{keys, open(t, dir, account.Config{})} {
		if got := k.List("")[0].LastUsedAt; !got.Equal(used) {
			t.Errorf("last use is %v, want %v", got, used)
		}
	}
}

// failing is a store whose TouchKeys fails.
type failing struct{ account.Store }

func (failing) TouchKeys(context.Context, map[string]time.Time) error { return errors.New("disk full") }

func TestUseIsKeptWhenItCannotBeWritten(t *testing.T) {
	t.Parallel()
	s, err := store.Open(t.Context(), testbed.Place(t), time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	broken, err := account.OpenKeys(t.Context(), account.Config{Store: failing{s}})
	if err != nil {
		t.Fatal(err)
	}
	key := issue(t, broken, "a")
	broken.Used(key.KeyID)
	for range 2 { // the second time it is still there to fail on
		if err := broken.Flush(t.Context()); err == nil {
			t.Error("Flush succeeded without a store")
		}
	}
}

func TestIssueChecksItsInput(t *testing.T) {
	t.Parallel()
	keys := open(t, testbed.Place(t), account.Config{})
	for name, bad := range map[string]account.NewKey{
		"no name":       {Name: "  "},
		"long name":     {Name: strings.Repeat("ä", api.MaxKeyName+1)},
		"control":       {Name: "a\x1b[31m"},
		"invalid UTF-8": {Name: "a\xff"},
		"tier":          {Name: "a", Tier: "gold"},
		"consent":       {Name: "a", Consent: "some"},
	} {
		bad.OwnerID = account.OperatorID
		if _, err := keys.Issue(t.Context(), bad); !errors.Is(err, &api.Error{Reason: api.ReasonInvalidRequest}) {
			t.Errorf("%s: %v, want invalid_request", name, err)
		}
	}
	if len(keys.List("")) != 0 {
		t.Error("a refused key was stored")
	}
}

func TestListIsNewestFirst(t *testing.T) {
	t.Parallel()
	now := &clock{t: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	keys := open(t, testbed.Place(t), account.Config{Now: now.Now})
	for _, name := range []string{"first", "second", "third"} {
		issue(t, keys, name)
		now.Add(time.Second)
	}
	var names []string
	for _, r := range account.Rows(keys.List("")) {
		names = append(names, r.Name)
	}
	if got := strings.Join(names, " "); got != "third second first" {
		t.Errorf("order is %q", got)
	}
}

// TestSpending: an owner's wallet spends by their oldest active key that is no agent's, and by one with a bound where all have one.
func TestSpending(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	k := open(t, t.TempDir(), account.Config{Metered: true, Now: func() time.Time { return now }})
	bound := int64(5)
	issue := func(name string, daily *int64) string {
		now = now.Add(time.Minute)
		key, err := k.Issue(t.Context(), account.NewKey{OwnerID: account.OperatorID, Name: name, Daily: daily})
		if err != nil {
			t.Fatal(err)
		}
		return key.KeyID
	}
	by := func(want string) {
		t.Helper()
		key, err := k.Spending(account.OperatorID)
		if refused := errors.Is(err, &api.Error{Reason: api.ReasonInvalidToken}); key.ID != want || refused != (want == "") {
			t.Errorf("it is %q, %v, want %q", key.ID, err, want)
		}
	}
	end := func(id string) {
		if _, err := k.Revoke(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	by("")
	bounded, oldest, newer := issue("bounded", &bound), issue("oldest", nil), issue("newer", nil)
	by(oldest)
	end(oldest)
	by(newer)
	end(newer)
	by(bounded)
	end(bounded)
	by("")
}
