package mcp_test

import (
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/sdk/api"
)

// TestSnapshotMembers: the tool tells the members that are asked for, of the past state and no other, and a name that is none is refused
// and free.
func TestSnapshotMembers(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	key := s.key(100)
	s.publishState(flagged("warning"))
	at := s.clock().Format(time.RFC3339Nano)
	s.publishState(`{"top_movers":[],"flags":[]}`)
	s.later(time.Second)
	for members, want := range map[string]string{
		`"flags"`:                `{"flags":[{"id":"x"`,
		`" top_movers, flags ,"`: `{"top_movers":[{"id":"bitcoin","name":"Bitcoin","priceUsd":5,"ref":1}],"flags":[{"id":"x"`,
		`""`:                     `{"top_movers":[`, `null`: `{"top_movers":[`,
	} {
		text, structured := told(t, s.call(key, "context.snapshot", `{"at":"`+at+`","members":`+members+`}`))
		if !strings.HasPrefix(structured, `{"state":`+want) || strings.Contains(text, "## top_movers") != strings.Contains(want, "top_movers") || !strings.Contains(text, "X fell") {
			t.Errorf("%s: %s\n%s", members, structured, text)
		}
	}
	if r := s.call(key, "context.snapshot", `{"at":"`+at+`","members":"flag"}`).Result; !r.IsError || !strings.Contains(r.Content[0].Text, "members: top_movers, flags") {
		t.Errorf("%+v", r)
	}
	if got := s.calls(key, api.OpSnapshot); got != 4 {
		t.Errorf("%d calls were charged, want 4", got)
	}
}

// TestSnapshotMembersPaid: a payment is for the members that it was quoted for, however they are written.
func TestSnapshotMembersPaid(t *testing.T) {
	t.Parallel()
	p := newShop(t)
	at := time.Now().UTC().Format("2006-01-02T15:04:05.000Z")
	time.Sleep(2 * time.Millisecond) // until that is over
	ask := func(members string) string { return call("context.snapshot", `{"at":"`+at+`"`+members+`}`) }
	proof := p.pay(p.quote(ask(`,"members":"flags"`), "0.01"))
	for _, other := range []string{ask(""), ask(`,"members":"flags,top_movers"`)} {
		if a := p.post(other, header(proof)...); a.Status != 402 || !strings.Contains(a.Body, string(api.ReasonNonceMismatch)) {
			t.Errorf("%s: %d %s", other, a.Status, a.Body)
		}
	}
	if a := p.post(ask(`,"members":" flags,"`), header(proof)...); a.Status != 200 || a.read(t).Result.IsError || !strings.Contains(a.Body, `"state":{"flags":[`) {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	whole := p.pay(p.quote(ask(""), "0.01"))
	if a := p.post(ask(`,"members":""`), header(whole)...); a.Status != 200 || !strings.Contains(a.Body, `"source_status":`) {
		t.Errorf("%d %s", a.Status, a.Body)
	}
}
