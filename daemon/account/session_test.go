package account_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/sdk/api"
)

func TestSessionEndsWhereItIsNotUsed(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for _, c := range []struct {
		name    string
		used    []time.Duration // after the sign-in
		at      time.Duration
		want    api.Reason
		renewed bool
		ends    time.Duration
	}{
		{name: "at once", ends: 30 * day},
		{name: "used within a day", at: day - time.Millisecond, ends: 30 * day},
		{name: "used after a day", at: day, renewed: true, ends: 31 * day},
		{name: "at its last moment", at: 30*day - time.Millisecond, renewed: true, ends: 60*day - time.Millisecond},
		{name: "at its end", at: 30 * day, want: api.ReasonInvalidSession},
		{name: "used in between", used: []time.Duration{20 * day}, at: 45 * day, renewed: true, ends: 75 * day},
		{name: "near the longest", used: []time.Duration{29 * day, 58 * day, 87 * day, 116 * day, 145 * day}, at: 170 * day, renewed: true,
			ends: 180 * day},
		{name: "at the longest", used: []time.Duration{29 * day, 58 * day, 87 * day, 116 * day, 145 * day, 170 * day}, at: 180 * day,
			want: api.ReasonInvalidSession},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			began := h.clock.Now()
			secret, _ := h.enter("ada@example.org")
			for _, used := range c.used {
				h.clock.Add(began.Add(used).Sub(h.clock.Now()))
				if _, _, err := h.Session(t.Context(), secret); err != nil {
					t.Fatalf("after %s: %v", used, err)
				}
			}
			h.clock.Add(began.Add(c.at).Sub(h.clock.Now()))
			session, renewed, err := h.Session(t.Context(), secret)
			if wants(t, err, c.want); err == nil && (renewed != c.renewed || !session.ExpiresAt.Equal(began.Add(c.ends))) {
				t.Errorf("renewed %t until %s, want %t until %s", renewed, session.ExpiresAt, c.renewed, began.Add(c.ends))
			}
		})
	}
}

func TestSessionThatIsNone(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	secret, v := h.enter("ada@example.org")
	other, _ := h.enter("ada@example.org")
	if err := h.SignOut(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	for name, secret := range map[string]string{
		"short": "abc", "not base62": strings.Repeat("-", 43), "unknown": strings.Repeat("a", 43), "signed out": other,
	} {
		_, _, err := h.Session(t.Context(), secret)
		if got := reason(err); got != api.ReasonInvalidSession {
			t.Errorf("%s: the reason is %q", name, got)
		}
	}
	if _, _, err := h.Session(t.Context(), secret); err != nil {
		t.Errorf("the one that was left alone: %v", err)
	}
	if err := h.SignOutEverywhere(t.Context(), v.Session.OwnerID); err != nil {
		t.Fatal(err)
	}
	_, _, err := h.Session(t.Context(), secret)
	wants(t, err, api.ReasonInvalidSession)
}

func TestIdentityIsAddedByWhoIsSignedIn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		after time.Duration // since the sign-in
		as    func(h *house, v account.Visitor) account.Visitor
		want  api.Reason
	}{
		{name: "at once"},
		{name: "with a proof of ten minutes", after: api.ProofLifetime},
		{name: "with an older proof", after: api.ProofLifetime + time.Millisecond, want: api.ReasonReauthentication},
		{name: "signed out meanwhile", want: api.ReasonInvalidSignIn,
			as: func(*house, account.Visitor) account.Visitor { return account.Visitor{} }},
		{name: "as another meanwhile", want: api.ReasonInvalidSignIn, as: func(h *house, _ account.Visitor) account.Visitor {
			_, v := h.enter("eve@example.org")
			return v
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			_, v := h.enter("ada@example.org")
			token := h.ask("ada@work.example", v)
			h.clock.Add(c.after)
			asked := v
			if c.as != nil {
				asked = c.as(h, v)
			}
			before := len(h.mails)
			_, session, err := h.ByLink(t.Context(), token, asked)
			wants(t, err, c.want)
			list, listErr := h.Identities(t.Context(), v.Session.OwnerID)
			if listErr != nil || (len(list) == 2) != (c.want == "") {
				t.Errorf("the identities are %v, %v", list, listErr)
			}
			if err != nil {
				return
			}
			if session.OwnerID != v.Session.OwnerID || !session.ProvedAt.Equal(v.Session.ProvedAt) {
				t.Errorf("the session is %+v: what is added proves nothing of who adds it", session)
			}
			mails := h.mails[before:]
			if len(mails) != 1 || mails[0].to != "ada@example.org" || !strings.Contains(mails[0].text, "ada@work.example") {
				t.Errorf("the account was sent %v", mails)
			}
		})
	}
}

func TestIdentityOfAnotherIsNotAdded(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	_, ada := h.enter("ada@example.org")
	token := h.ask("bob@example.org", ada)
	h.enter("bob@example.org")
	_, _, err := h.ByLink(t.Context(), token, ada)
	wants(t, err, api.ReasonInvalidSignIn)
}

func TestAccountHasTenIdentitiesAtMost(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	_, v := h.enter("ada@example.org")
	for i := 1; i < api.MaxIdentities; i++ {
		if _, err := h.sign(wallet(fmt.Sprintf("%x", i)), v); err != nil {
			t.Fatal(err)
		}
	}
	_, err := h.sign(wallet("f"), v)
	wants(t, err, api.ReasonInvalidRequest)
}

func TestLandingSaysWhatALinkWouldDo(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	_, ada := h.enter("ada@example.org")
	_, bob := h.enter("bob@example.org")
	links := h.ask("ada@work.example", ada)
	signs := h.ask("ada@example.org", account.Visitor{})
	h.SetSignup(account.SignupInvite)
	stranger := h.ask("new@example.org", account.Visitor{})
	for _, c := range []struct {
		name, token string
		v           account.Visitor
		want        account.Landing
	}{
		{"to add, as who asked", links, ada, account.Landing{Subject: "ada@work.example", Adds: "ada@example.org"}},
		{"to add, as nobody", links, account.Visitor{}, account.Landing{Subject: "ada@work.example"}},
		{"to sign in", signs, account.Visitor{}, account.Landing{Subject: "ada@example.org"}},
		{"to sign in, as the same", signs, ada, account.Landing{Subject: "ada@example.org"}},
		{"to sign in, as another", signs, bob, account.Landing{Subject: "ada@example.org", Replaces: "bob@example.org"}},
		{"to sign up", stranger, account.Visitor{}, account.Landing{Subject: "new@example.org", Invite: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, err := h.Preview(t.Context(), c.token, c.v); err != nil || got != c.want {
				t.Errorf("it says %+v, %v, want %+v", got, err, c.want)
			}
		})
	}
}

func TestUnlink(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		pick  func(list []api.Identity) string
		after time.Duration
		alone bool
		want  api.Reason
	}{
		{name: "one of two", pick: func(list []api.Identity) string { return list[1].ID }},
		{name: "the last", alone: true, pick: func(list []api.Identity) string { return list[0].ID }, want: api.ReasonInvalidRequest},
		{name: "none of theirs", pick: func([]api.Identity) string { return "0123456789abcdef" }, want: api.ReasonNotFound},
		{name: "with an old proof", after: api.ProofLifetime + time.Millisecond, want: api.ReasonReauthentication,
			pick: func(list []api.Identity) string { return list[1].ID }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			secret, v := h.enter("ada@example.org")
			if !c.alone {
				if _, err := h.sign(wallet("a"), v); err != nil {
					t.Fatal(err)
				}
			}
			other, _ := h.enter("ada@example.org")
			list, err := h.Identities(t.Context(), v.Session.OwnerID)
			if err != nil {
				t.Fatal(err)
			}
			h.clock.Add(c.after)
			wants(t, h.Unlink(t.Context(), c.pick(list), v), c.want)
			if _, _, err := h.Session(t.Context(), secret); err != nil {
				t.Errorf("the session that removed it: %v", err)
			}
			_, _, err = h.Session(t.Context(), other)
			if ended := reason(err) == api.ReasonInvalidSession; ended != (c.want == "") {
				t.Errorf("another session: %v; it may have been opened by what was removed", err)
			}
		})
	}
}

func TestAccountHearsOfARemovalByTheOperator(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	secret, v := h.enter("ada@example.org")
	if _, err := h.sign(wallet("a"), v); err != nil {
		t.Fatal(err)
	}
	list, err := h.Identities(t.Context(), v.Session.OwnerID)
	if err != nil {
		t.Fatal(err)
	}
	before := len(h.mails)
	if err := h.NotifyRemoval(t.Context(), v.Session.OwnerID, list[1].ID); err != nil {
		t.Fatal(err)
	}
	if mails := h.mails[before:]; len(mails) != 1 || !strings.Contains(mails[0].text, wallet("A")+" is being removed by the operator") {
		t.Errorf("the mails are %v", mails)
	}
	wants(t, h.NotifyRemoval(t.Context(), v.Session.OwnerID, "0123456789abcdef"), api.ReasonNotFound)
	if err := h.keys.Unlink(t.Context(), v.Session.OwnerID, list[1].ID); err != nil {
		t.Fatal(err)
	}
	_, _, err = h.Session(t.Context(), secret)
	wants(t, err, api.ReasonInvalidSession)
	wants(t, h.keys.Unlink(t.Context(), v.Session.OwnerID, list[0].ID), api.ReasonInvalidRequest)
	wants(t, h.keys.Unlink(t.Context(), "nobody", list[0].ID), api.ReasonNotFound)
}

func TestDisabledOwner(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	secret, v := h.enter("ada@example.org")
	key, err := h.keys.Issue(t.Context(), account.NewKey{OwnerID: v.Session.OwnerID, Name: "agent", Consent: api.ConsentNone})
	if err != nil {
		t.Fatal(err)
	}
	ended := h.keys.Ended(key.KeyID)
	if err := h.keys.Disable(t.Context(), v.Session.OwnerID); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ended:
	default:
		t.Error("their streams go on")
	}
	_, err = h.keys.Resolve(key.Key)
	wants(t, err, api.ReasonKeyRevoked)
	_, _, err = h.Session(t.Context(), secret)
	wants(t, err, api.ReasonInvalidSession)
	_, _, err = h.ByLink(t.Context(), h.ask("ada@example.org", account.Visitor{}), account.Visitor{})
	wants(t, err, api.ReasonInvalidSignIn)

	if err := h.keys.Enable(t.Context(), v.Session.OwnerID); err != nil {
		t.Fatal(err)
	}
	if _, err := h.keys.Resolve(key.Key); err != nil {
		t.Errorf("their key, enabled: %v", err)
	}
	_, _, err = h.Session(t.Context(), secret)
	wants(t, err, api.ReasonInvalidSession)
	h.enter("ada@example.org")
	wants(t, h.keys.Disable(t.Context(), account.OperatorID), api.ReasonInvalidRequest)
	wants(t, h.keys.Disable(t.Context(), "nobody"), api.ReasonNotFound)
	wants(t, h.keys.Enable(t.Context(), "nobody"), api.ReasonNotFound)
}

func TestTierOfAnOwnerIsThatOfTheirKeys(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	_, v := h.enter("ada@example.org")
	id := v.Session.OwnerID
	key, err := h.keys.Issue(t.Context(), account.NewKey{OwnerID: id, Name: "agent", Consent: api.ConsentNone})
	if err != nil {
		t.Fatal(err)
	}
	has := func(want api.Tier) {
		t.Helper()
		if got, err := h.keys.Resolve(key.Key); err != nil || got.Tier != want {
			t.Errorf("the key has tier %s, %v, want %s", got.Tier, err, want)
		}
	}
	has(api.TierFree)
	if err := h.keys.SetTier(t.Context(), id, api.TierPro); err != nil {
		t.Fatal(err)
	}
	has(api.TierPro)
	h.keys.TierRaised(id, api.TierHobby)
	has(api.TierPro)
	h.keys.TierRaised(id, api.TierTeam)
	has(api.TierTeam)
	wants(t, h.keys.SetTier(t.Context(), id, "gold"), api.ReasonInvalidRequest)
	wants(t, h.keys.SetTier(t.Context(), "nobody", api.TierPro), api.ReasonNotFound)
	owner, err := h.keys.Owner(t.Context(), id)
	if err != nil || owner.Tier != api.TierPro || owner.Keys != 1 || len(owner.Identities) != 1 {
		t.Errorf("the owner is %+v, %v", owner, err)
	}
	_, err = h.keys.Owner(t.Context(), "nobody")
	wants(t, err, api.ReasonNotFound)
}

func TestPrompts(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	prompts := &account.Prompts{Store: h.store, Now: h.clock.Now}
	_, v := h.enter("ada@example.org")
	id := v.Session.OwnerID
	for _, c := range []struct {
		name, text, kept string
		tier             api.Tier
		want             api.Reason
	}{
		{name: "pro", tier: api.TierPro, text: "  only DeFi\n", kept: "only DeFi"},
		{name: "hobby", tier: api.TierHobby, text: "only DeFi", want: api.ReasonPackAccessDenied},
		{name: "4,000 characters", tier: api.TierTeam, text: strings.Repeat("ä", 4_000), kept: strings.Repeat("ä", 4_000)},
		{name: "4,001 characters", tier: api.TierTeam, text: strings.Repeat("a", 4_001), want: api.ReasonInvalidRequest},
		{name: "blank", tier: api.TierPro, text: " \n", want: api.ReasonInvalidRequest},
		{name: "a zero", tier: api.TierPro, text: "a\x00b", want: api.ReasonInvalidRequest},
		{name: "not UTF-8", tier: api.TierPro, text: "\xff", want: api.ReasonInvalidRequest},
	} {
		t.Run(c.name, func(t *testing.T) {
			kept, err := prompts.Set(t.Context(), id, c.tier, api.PackCrypto, c.text)
			if wants(t, err, c.want); err != nil {
				return
			}
			if got, err := prompts.Of(t.Context(), id, c.tier, api.PackCrypto); err != nil || got != c.kept || kept != c.kept {
				t.Errorf("kept as %q, read as %q, %v", kept, got, err)
			}
		})
	}
	if err := prompts.Drop(t.Context(), id, api.TierPro, api.PackCrypto); err != nil {
		t.Fatal(err)
	}
	if got, err := prompts.Of(t.Context(), id, api.TierPro, api.PackCrypto); err != nil || got != "" {
		t.Errorf("after it was dropped: %q, %v", got, err)
	}
	wants(t, prompts.Drop(t.Context(), id, api.TierFree, api.PackCrypto), api.ReasonPackAccessDenied)
	if prompts.Warning() != "" || (&account.Prompts{NoModel: true}).Warning() == "" {
		t.Error("the warning is for services without a language model")
	}
}

func TestPurchaseAdmits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		open bool
		b    account.Buyer
		want api.Reason
	}{
		{name: "a stranger, open", open: true},
		{name: "a stranger, not open", want: api.ReasonSignupClosed},
		{name: "an owner, not open", b: account.Buyer{OwnerID: "ada"}},
		{name: "the last key", open: true, b: account.Buyer{OwnerID: "ada", Keys: 9}},
		{name: "a key too many", open: true, b: account.Buyer{OwnerID: "ada", Keys: 10}, want: api.ReasonInvalidRequest},
		{name: "a disabled owner", open: true, b: account.Buyer{OwnerID: "ada", Disabled: true}, want: api.ReasonOwnerDisabled},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			wants(t, account.Purchase{MaxKeys: 10, Open: c.open}.Admit(c.b), c.want)
		})
	}
}

func TestBoughtKeyComesFromItsPayment(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	shop := func(secrets ...string) *account.Shop {
		s := &account.Shop{
			Keys: h.keys, SignupOpen: func() bool { return true }, NewID: func() string { return "new" },
			Checksum: func(address string) (string, error) { return strings.ToUpper(address), nil },
		}
		for _, secret := range secrets {
			s.Secrets = append(s.Secrets, []byte(secret))
		}
		return s
	}
	paid := account.Paid{Rail: "eip155:1", Token: "0xTOKEN", Payer: "0xPayer", Nonce: [32]byte{1}}
	first, err := shop("one").Purchase(paid)
	if err != nil {
		t.Fatal(err)
	}
	text, ok, err := shop("two", "one").Secret(paid, first.KeyHash)
	if err != nil || !ok || text[:api.KeyIDLength] != first.KeyID {
		t.Errorf("after the secret was rotated: %q, %t, %v", text, ok, err)
	}
	if _, ok, err := shop("two").Secret(paid, first.KeyHash); err != nil || ok {
		t.Errorf("without its secret: %t, %v", ok, err)
	}
	others := []account.Paid{paid, paid, paid, paid}
	others[0].Nonce[0], others[1].Rail, others[2].Token, others[3].Payer = 2, "eip155:2", "0xother", "0xother"
	for _, other := range others {
		if p, err := shop("one").Purchase(other); err != nil || p.KeyHash == first.KeyHash {
			t.Errorf("%+v buys the same key, %v", other, err)
		}
	}
	spelled := paid
	spelled.Token, spelled.Payer = strings.ToLower(paid.Token), strings.ToUpper(paid.Payer)
	if p, err := shop("one").Purchase(spelled); err != nil || p.KeyHash != first.KeyHash {
		t.Errorf("spelled in another way it buys another key, %v", err)
	}
	if !slices.Equal([]string{string(first.Wallet.Kind), first.Wallet.Subject, first.OwnerID}, []string{"wallet", "0XPAYER", "new"}) {
		t.Errorf("the purchase is %+v", first)
	}
}
