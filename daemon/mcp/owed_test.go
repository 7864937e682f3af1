package mcp_test

import (
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/sdk/api"
)

// TestWhatCannotBeAnsweredIsNotQuoted: without a key, before and after a payment, what no payment could buy asks for none.
func TestWhatCannotBeAnsweredIsNotQuoted(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*daemon.Config){
		"sold": func(*daemon.Config) {}, "lists are free": func(c *daemon.Config) { c.MCP.PublicDiscovery = true },
	} {
		p := newShop(t, change)
		paid := header(p.pay(p.quote(call("context.cite", `{"ref":1}`), "0.001")))
		elsewhere := p.pay(p.quote(call("context.cite", `{"ref":2}`), "0.001"))
		elsewhere.Network = "mainnet"
		for what, headers := range map[string][]string{"nothing": nil, "a proof": paid, "a proof for elsewhere": header(elsewhere)} {
			for _, unknown := range []string{
				call("nothing", `{}`), call("context.nothing", `{}`), call("context", `{}`), read("test://x"), read("context://packs/ai/state"),
				read("context://packs/crypto/nothing"),
			} {
				a := p.post(unknown, headers...)
				if r := a.read(t); a.Status != 200 || r.Error == nil || r.Error.Code != -32602 || string(r.ID) != "1" || strings.Contains(a.Body, "payment") {
					t.Errorf("%s, %s, %s: %d %s", name, what, unknown, a.Status, a.Body)
				}
			}
			for subscribe, tool := range map[string]bool{
				call("context.subscribe", `{}`): true, call("context_subscribe", `{"pack":"crypto"}`): true,
				`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"context://packs/crypto/state"}}`: false,
			} {
				a := p.post(subscribe, headers...)
				status, reason := 401, `"missing_token"`
				if tool && name == "lists are free" { // a tool that is listed to who has no key refuses by its result
					status, reason = 200, `\"missing_token\"`
				}
				if a.Status != status || !strings.Contains(a.Body, reason) || !strings.Contains(a.Body, "AUTH_MISSING") ||
					strings.Contains(a.Body, `"payment"`) || (a.Header.Get("WWW-Authenticate") == "Bearer") != (status == 401) {
					t.Errorf("%s, %s, %s: %d %s", name, what, subscribe, a.Status, a.Body)
				}
			}
		}
		if a := p.post(call("context.cite", `{"ref":2}`), header(elsewhere)...); a.Status != 402 || !strings.Contains(a.Body, `"wrong_network"`) ||
			!strings.Contains(a.Body, `"payment"`) {
			t.Errorf("%s: a proof for another network: %d %s", name, a.Status, a.Body)
		}
	}
}

// TestLookupOfNothingIsAResult: who has no key gets the refusal as a result, without a quote, and not without end.
func TestLookupOfNothingIsAResult(t *testing.T) {
	t.Parallel()
	stopped := time.Now()
	p := newShop(t, func(c *daemon.Config) { c.Now = func() time.Time { return stopped } })
	nothing := call("context.lookup", `{"q":"foo,kardanno"}`)
	a := p.post(nothing)
	r := a.read(t)
	if a.Status != 200 || !r.Result.IsError || a.Header.Get("Payment-Required") != "" {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	if text := r.Result.Content[0].Text; !strings.Contains(text, "nothing_found") || !strings.Contains(text, "Cardano") || strings.Contains(text, `"payment"`) {
		t.Errorf("the result is %s", text)
	}
	if a := p.post(call("context.lookup", `{"q":"foo,ada"}`)); a.Status != 402 {
		t.Errorf("what finds something is answered with %d", a.Status)
	}
	answered := 0
	for range 70 {
		if p.post(nothing).Status == 200 {
			answered++
		}
	}
	if answered != 59 { // and the one above
		t.Errorf("nothing was looked up %d times", answered)
	}
}

// TestReplayedResult: a result that is given again counts its ages on, in the JSON and in the text, and says how old it is.
func TestReplayedResult(t *testing.T) {
	t.Parallel()
	var ahead atomic.Int64
	p := newShop(t, func(c *daemon.Config) {
		c.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	})
	old, leaf := regexp.MustCompile(`, (\d+) s old`), regexp.MustCompile(`"contextd/proof":{"log":"contextd/[0-9a-f]{16}/crypto","seq":\d+,"leaf":"[0-9a-f]{64}"}`)
	for body, price := range map[string]string{
		call("context.fresh", `{}`): "0.001", call("context.brief", `{}`): "0.005", call("context.search", `{"q":"bitcoin"}`): "0.002",
	} {
		ahead.Store(0)
		proof := header(p.pay(p.quote(body, price)))
		first := p.post(body, proof...)
		ahead.Store(int64(20 * time.Hour))
		again := p.post(body, proof...)
		if age, err := strconv.Atoi(again.Header.Get("Age")); err != nil || age < 72_000 || age > 72_060 || first.Header.Get("Age") != "" {
			t.Errorf("%s: Age %q, %q", body, first.Header.Get("Age"), again.Header.Get("Age"))
		}
		if again.Header.Get(api.HeaderReplayed) != "true" {
			t.Errorf("%s: not marked: %v", body, again.Header)
		}
		if proof := leaf.FindString(first.Body); !strings.Contains(body, "search") && (proof == "" || leaf.FindString(again.Body) != proof) {
			t.Errorf("%s: proven by %q, then by %q", body, proof, leaf.FindString(again.Body))
		}
		seconds := old.FindStringSubmatch(again.Body)
		if seconds == nil {
			t.Fatalf("%s: the text has no age: %s", body, again.Body)
		}
		if n, _ := strconv.Atoi(seconds[1]); n < 72_000 || !strings.Contains(again.Body, `"ageSeconds":`+seconds[1]) {
			t.Errorf("%s: the text says %s s", body, seconds[1])
		}
	}
}
