package web_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/pack"
	"github.com/contextd/contextd/sdk/api"
)

// bazaar is a market with a second pack, and keys of owners of each kind.
type bazaar struct {
	*market
	rich, free, lapsed string // with credits; without, of tier free and of a tier that is paid for
	operators          string // a key of the operator's that is not charged
}

func newBazaar(t *testing.T) *bazaar {
	t.Helper()
	b := &bazaar{market: newMarket(t, 3*time.Minute)}
	if err := b.serve(second()); err != nil {
		t.Fatal(err)
	}
	b.rich, b.free, b.lapsed = b.key("rich", api.TierFree), b.key("free", api.TierFree), b.key("lapsed", api.TierTeam)
	b.grant("rich", b.rich, 1000)
	b.operators = b.key(account.OperatorID, "")
	for get(t, b.d.URL()+"/v1/brief?pack=ai", bearer(b.operators)).Status != http.StatusOK {
		time.Sleep(10 * time.Millisecond)
	}
	b.back.Store(0)
	return b
}

// serve has packs served beside crypto.
func (b *bazaar) serve(packs ...*pack.Pack) error {
	next := b.d.Config.Reloadable
	next.Packs = []daemon.Pack{{Pack: pack.Crypto()}}
	for _, p := range packs {
		next.Packs = append(next.Packs, daemon.Pack{Pack: p})
	}
	return b.d.Apply(b.t.Context(), next)
}

// key is a new one of an owner.
func (b *bazaar) key(owner string, tier api.Tier) string {
	b.t.Helper()
	issued, err := b.d.Keys().Issue(b.t.Context(), account.NewKey{OwnerID: owner, Name: "test", Tier: tier})
	if err != nil {
		b.t.Fatal(err)
	}
	return issued.Key
}

// grant gives an owner's key credits.
func (b *bazaar) grant(owner, key string, credits int64) {
	b.t.Helper()
	e := billing.Entry{KeyID: key[:api.KeyIDLength], Amount: credits, Kind: billing.KindGrant, Reason: "test"}
	if _, err := b.d.Credits().Move(b.t.Context(), owner, e); err != nil {
		b.t.Fatal(err)
	}
}

// credits are what is left of the rich owner's.
func (b *bazaar) credits() int64 {
	b.t.Helper()
	have, err := b.d.Credits().Balance(b.t.Context(), "rich", b.rich[:api.KeyIDLength])
	if err != nil {
		b.t.Fatal(err)
	}
	return have.Balance
}

// refusedFor checks the error that key gets for a call, and whether there is a quote in it.
func (b *bazaar) refusedFor(method, path, key string, want api.Reason, quoted bool) {
	b.t.Helper()
	a := call(b.t, method, b.d.URL()+path, bearer(key))
	code, status := want.Answer()
	failure := refusal(b.t, a, method)
	if a.Status != status || failure.Error.Code != code || failure.Error.Reason != want || (failure.Payment != nil) != quoted {
		b.t.Errorf("%s %s: %d %s, want %s, quoted %t", method, path, a.Status, a.Body, want, quoted)
	}
}

// TestOtherPacksNeedCredits: with credits a key reads every pack, without it reads crypto alone, over HTTP and streams. A refused
// call costs nothing.
func TestOtherPacksNeedCredits(t *testing.T) {
	t.Parallel()
	b := newBazaar(t)
	made := decode[api.StateResponse](t, get(t, b.d.URL()+"/v1/fresh?pack=ai", bearer(b.operators))).Freshness.GeneratedAt
	for path, costs := range map[string]int64{
		"/v1/fresh?pack=ai": 1, "/v1/brief?pack=ai": 1, "/v1/search?pack=ai&q=bitcoin": 1, "/v1/lookup?pack=ai&q=bitcoin": 1,
		"/v1/snapshot?pack=ai&at=" + minute(made): 1, "/v1/changes?pack=ai&since=" + minute(made): 1, "/v1/cite?pack=ai&ref=1": 1,
		"/v1/series?pack=ai&path=top_movers&points=2&span=1h":                             1,
		"/v1/history?pack=ai&member=flags&every=5m&from=" + made.Format(time.RFC3339Nano): api.HistoryCredits(made, made.Add(time.Minute)),
	} {
		op, _, _ := strings.Cut(strings.TrimPrefix(path, "/v1/"), "?")
		before := b.credits()
		if a := get(t, b.d.URL()+path, bearer(b.rich)); a.Status != http.StatusOK || before-b.credits() != costs {
			t.Errorf("%s with credits: %d %.200s, and costs %d", path, a.Status, a.Body, before-b.credits())
		}
		if a := get(t, b.d.URL()+path, bearer(b.operators)); a.Status != http.StatusOK {
			t.Errorf("%s with the operator's key: %d %.200s", path, a.Status, a.Body)
		}
		b.refusedFor(http.MethodGet, path, b.free, api.ReasonPackAccessDenied, false)
		b.refusedFor(http.MethodGet, path, b.lapsed, api.ReasonInsufficient, api.Op(op).PriceMicros() > 0)
		if a := call(t, http.MethodHead, b.d.URL()+path, bearer(b.free)); a.Status != http.StatusForbidden {
			t.Errorf("HEAD %s: %d", path, a.Status)
		}
	}
	b.refusedFor(http.MethodPost, "/v1/cite?pack=ai&ref=1", b.free, api.ReasonPackAccessDenied, false)

	for _, key := range []string{b.free, b.lapsed} { // a stream cannot be paid by call
		a := get(t, b.d.URL()+"/v1/subscribe?pack=ai&token="+key)
		if failure := refusal(t, a, http.MethodGet); failure.Error.Reason != api.ReasonPackAccessDenied || a.Status != http.StatusForbidden {
			t.Errorf("a stream without credits: %d %s", a.Status, a.Body)
		}
		if a := get(t, b.d.URL()+"/v1/fresh", bearer(key)); a.Header.Get(api.HeaderFreeLeft) != fmt.Sprint(api.FreeCallsPerDay-1) {
			t.Errorf("after refused calls there are %s free ones left", a.Header.Get(api.HeaderFreeLeft))
		}
	}
	before := b.credits()
	if got := b.firstFrame(b.rich); got.Pack != api.PackAI || before-b.credits() != 1 {
		t.Errorf("the stream is of %s and costs %d", got.Pack, before-b.credits())
	}

	b.grant("free", b.free, 1)
	decode[api.StateResponse](t, get(t, b.d.URL()+"/v1/fresh?pack=ai", bearer(b.free)))
	b.refusedFor(http.MethodGet, "/v1/fresh?pack=ai", b.free, api.ReasonPackAccessDenied, false) // the credit is used
	b.grant("lapsed", b.lapsed, 1)
	decode[api.StateResponse](t, get(t, b.d.URL()+"/v1/fresh?pack=ai", bearer(b.lapsed)))
	b.refusedFor(http.MethodGet, "/v1/fresh?pack=ai", b.lapsed, api.ReasonInsufficient, true)
}

// firstFrame opens a stream of the second pack, reads what comes first and closes it.
func (b *bazaar) firstFrame(key string) (first api.StreamState) {
	b.t.Helper()
	req, err := http.NewRequestWithContext(b.t.Context(), http.MethodGet, b.d.URL()+"/v1/subscribe?pack=ai&token="+key, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	res, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		b.t.Fatal(err)
	}
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			if err := json.Unmarshal([]byte(data), &first); err != nil {
				b.t.Fatal(err)
			}
			return first
		}
	}
	b.t.Fatalf("the stream ends: %d, %v", res.StatusCode, lines.Err())
	return first
}

// TestOtherPackIsPaidByCall: without a key, a call on another pack is quoted and paid as one on crypto is. What was paid is for that pack
// alone, and is given again when the pack is gone.
func TestOtherPackIsPaidByCall(t *testing.T) {
	t.Parallel()
	b := newBazaar(t)
	const path = "/v1/lookup?pack=ai&q=bitcoin"
	q := b.quote(path)
	if q.Amount != b.quote("/v1/lookup?q=bitcoin").Amount {
		t.Errorf("another pack costs %s", q.Amount)
	}
	p := b.pay(q)
	b.refused("/v1/lookup?q=bitcoin", p, api.ReasonNonceMismatch)
	first := b.paid(path, p, false)
	b.refused("/v1/lookup?q=bitcoin", p, api.ReasonAlreadyUsed)
	unused := b.pay(b.quote("/v1/fresh?pack=ai"))

	if err := b.serve(); err != nil {
		t.Fatal(err)
	}
	if again := b.paid(path, p, true); string(ageless(again.Body)) != string(ageless(first.Body)) {
		t.Errorf("given again: %s", again.Body)
	}
	b.refused("/v1/fresh?pack=ai", unused, api.ReasonPackNotFound)
	b.refusedFor(http.MethodGet, path, b.rich, api.ReasonPackNotFound, false)
	if err := b.serve(second()); err != nil {
		t.Fatal(err)
	}
	b.paid("/v1/fresh?pack=ai", unused, false) // it was not lost
}

// TestOtherPacksOnMCP: tools, resources and subscriptions of another pack are for those who have credits, or pay for the call.
func TestOtherPacksOnMCP(t *testing.T) {
	t.Parallel()
	b := newBazaar(t)
	post := func(method, params string, changes ...change) answer {
		t.Helper()
		changes = append(changes, with("Content-Type", "application/json"),
			sending(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params)))
		return call(t, http.MethodPost, b.d.URL()+api.PathMCP, changes...)
	}
	const fresh = `{"name":"context.fresh","arguments":{"pack":"ai"}}`
	for _, c := range []struct{ method, params, answered string }{
		{"tools/call", fresh, "ageSeconds"},
		{"tools/call", `{"name":"context.lookup","arguments":{"pack":"ai","q":"bitcoin"}}`, "ageSeconds"},
		{"tools/call", `{"name":"context.subscribe","arguments":{"pack":"ai","seconds":1}}`, `"reason":"elapsed"`},
		{"resources/read", `{"uri":"context://packs/ai/brief"}`, "text/markdown"},
	} {
		for key, want := range map[string]string{
			b.rich: c.answered, b.operators: c.answered, b.free: "a free key without credits reads pack crypto only",
			b.lapsed: "no credits are left; pack ai needs them",
		} {
			if a := post(c.method, c.params, bearer(key)); !strings.Contains(string(a.Body), want) || want != c.answered && strings.Contains(string(a.Body), c.answered) {
				t.Errorf("%s %s: %d %.400s, want %q", c.method, c.params, a.Status, a.Body, want)
			}
		}
	}
	if left := b.credits(); left != 1000-4 {
		t.Errorf("four answered calls leave %d credits", left)
	}
	refused := post("tools/call", fresh)
	var quoted api.ErrorBody
	if err := json.Unmarshal(refused.Body, &quoted); err != nil || refused.Status != http.StatusPaymentRequired || quoted.Payment == nil {
		t.Fatalf("without a key: %d %s", refused.Status, refused.Body)
	}
	p := b.pay(*quoted.Payment)
	if a := post("tools/call", `{"name":"context.fresh","arguments":{}}`, proving(p)); a.Status != http.StatusPaymentRequired {
		t.Errorf("what was paid for another pack: %d %.200s", a.Status, a.Body)
	}
	if a := post("tools/call", fresh, proving(p)); a.Status != http.StatusOK || !strings.Contains(string(a.Body), "ageSeconds") {
		t.Errorf("paid: %d %.400s", a.Status, a.Body)
	}
}
