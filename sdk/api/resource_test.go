package api_test

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/sdk/api"
)

// shape is how a resource looks on the wire. In members, ? marks one that may be absent and 0 one that is null when it is not
// known; all others are always there.
type shape struct {
	of      any
	members string
}

// shapes are the resources of the specification, §2, and of the decisions, with their members.
func shapes() []shape {
	return []shape{
		{api.Freshness{}, "generatedAt ageSeconds dataAgeSeconds provenance? sources? flags?"},
		{api.SourceTrouble{}, "id status since? failures"},
		{api.Citation{}, "ref sourceId url fetchedAt excerpt? row? use? via? provenance?"},
		{api.Attestation{}, "type ref"},
		{api.StateResponse{}, "state brief briefAt? briefOf? since? citations freshness attestation? briefCitations? claims?"},
		{api.BriefResponse{}, "brief briefAt? briefOf? since? citations claims? freshness"},
		{api.Since{}, "text citations"},
		{api.SearchMatch{}, "path value score"},
		{api.SearchResponse{}, "matches total freshness notices?"},
		{api.Source{}, "id name publicUrl"},
		{api.CiteRequest{}, "pack? ref"},
		{api.CiteResponse{}, "citation source freshness"},
		{api.StreamState{}, "pack state ts seq? leaf? scope? freshness? brief? briefAt? since? citations?"},
		{api.StreamError{}, "message"},

		{api.APIKeyRow{}, "keyId name tier createdAt lastUsedAt0 revokedAt0 traceConsent revokesAt? unmetered? dailyCredits? oauth?"},
		{api.CreateKeyRequest{}, "name traceConsent? dailyCredits?"},
		{api.EditKeyRequest{}, "name? dailyCredits0?"},
		{api.KeyBound{}, "keyId dailyCredits spentToday"},
		{api.IssuedKey{}, "key keyId name tier createdAt unmetered? dailyCredits? creditBalance? revokesAt?"},
		{api.RotateKeyRequest{}, "name? graceSeconds?"},
		{api.KeyListResponse{}, "keys nextCursor?"},
		{api.RevokeResponse{}, "ok revokedAt strandedCredits"},
		{api.Session{}, "userId email0 address0 tier expiresAt"},
		{api.EmailSignInRequest{}, "email"},
		{api.EmailSignInResponse{}, "expiresAt"},
		{api.EmailVerifyRequest{}, "token invite?"},
		{api.WalletSignInRequest{}, "address"},
		{api.WalletSignInResponse{}, "message expiresAt"},
		{api.WalletVerifyRequest{}, "message signature invite?"},
		{api.Identity{}, "id kind subject createdAt"},
		{api.IdentityListResponse{}, "identities"},

		{api.Deposit{}, "id rail userId keyId0 pack credits amountUsdc status txHash0 payerAddress0 nonce createdAt verifiedAt0 expiresAt nonceRequired? reason? message?"},
		{api.CreateDepositRequest{}, "pack keyId? rail?"},
		{api.DepositIntent{}, "id rail recipient amountUsdc nonce expiresAt paymentUri chainId token nonceRequired? notices? warning?"},
		{api.VerifyDepositRequest{}, "txHash"},
		{api.CreditBalanceResponse{}, "balance keyCount freeCalls? recentDeposits"},
		{api.UsageRow{}, "day keyId op calls"},
		{api.UsageResponse{}, "days bounds"},
		{api.PromptBody{}, "prompt"},
		{api.CreditOffer{}, "pack credits discountPercent tier"},

		{api.PaymentRequirements{}, "scheme network asset amount recipient validUntil nonce chainId? token? decimals?"},
		{api.PaymentProof{}, "scheme network txHash payer signature?"},
		{api.Error{}, "code reason? message hint? requestId notices? source_status?"},
		{api.ErrorBody{}, "error0 payment?"},
	}
}

// check compares the members of s.of, with every field set, with none set, and with only the pointers unset.
func (s shape) check(t *testing.T) {
	t.Helper()
	var all, always, nullable []string
	for _, member := range strings.Fields(s.members) {
		name := strings.TrimRight(member, "?0")
		all = append(all, name)
		mark := strings.TrimPrefix(member, name)
		if !strings.Contains(mark, "?") {
			always = append(always, name)
		}
		if strings.Contains(mark, "0") {
			nullable = append(nullable, name)
		}
	}
	typ := reflect.TypeOf(s.of)
	full, known := reflect.New(typ).Elem(), reflect.New(typ).Elem()
	fill(full, true)
	fill(known, false)
	name := typ.Name() + " members"
	same(t, name+" when all are set", keys(t, full.Interface(), false), slices.Sorted(slices.Values(all)))
	same(t, name+" when none is set", keys(t, s.of, false), slices.Sorted(slices.Values(always)))
	same(t, name+" that are null when unknown", keys(t, known.Interface(), true), slices.Sorted(slices.Values(nullable)))
}

// keys are the sorted member names of v as JSON, or of its nulls alone.
func keys(t *testing.T, v any, nulls bool) []string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	members := map[string]json.RawMessage{}
	if err := json.Unmarshal(text, &members); err != nil {
		t.Fatal(err)
	}
	maps.DeleteFunc(members, func(_ string, value json.RawMessage) bool { return nulls && string(value) != "null" })
	return slices.Sorted(maps.Keys(members))
}

// fill sets everything in v to something that is not zero; pointers only if asked to.
func fill(v reflect.Value, pointers bool) {
	switch x := v.Addr().Interface().(type) {
	case *time.Time:
		*x = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		return
	case *json.RawMessage:
		*x = json.RawMessage(`1`)
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), pointers)
		}
	case reflect.Pointer:
		if pointers {
			v.Set(reflect.New(v.Type().Elem()))
			fill(v.Elem(), pointers)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), pointers)
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(1)
	case reflect.Float64:
		v.SetFloat(0.5)
	}
}

func TestMembers(t *testing.T) {
	t.Parallel()
	for _, s := range shapes() {
		s.check(t)
	}
}

// TestTimes tells times that are text on the wire from the two that the specification wants as Unix seconds.
func TestTimes(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 678_000_000, time.UTC)
	for _, c := range []struct {
		value any
		want  string
	}{
		{api.Freshness{GeneratedAt: at}, `"generatedAt":"2026-01-02T03:04:05.678Z"`},
		{api.StreamState{State: json.RawMessage(`{}`), TS: at}, `"ts":"2026-01-02T03:04:05.678Z"`},
		{api.DepositIntent{ExpiresAt: at.Unix()}, `"expiresAt":1767323045`},
		{api.PaymentRequirements{ValidUntil: at.Unix()}, `"validUntil":1767323045`},
	} {
		text, err := json.Marshal(c.value)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), c.want) {
			t.Errorf("%T is %s on the wire, want %s in it", c.value, text, c.want)
		}
	}
}
