package oauth_test

import (
	"testing"
	"time"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/daemon/testbed"
	"github.com/contextd/contextd/sdk/api"
)

// TestNodes: of two nodes on one database, one takes the code that the other has made, both take its tokens, and what is revoked on one has
// ended on the other.
func TestNodes(t *testing.T) {
	t.Parallel()
	place := testbed.Postgres(t)
	on := func(c *daemon.Config) { c.StoreURL, c.OAuth.Enabled = place, true }
	first := newHouse(t, on)
	d := daemontest.Open(t, on)
	d.Run(t)
	second := &house{Daemon: d, t: t, base: d.URL(), http: first.http}
	owner := first.browser("ada@example.org")
	given := first.consent(owner)
	tokens := second.exchange(given, "resource", second.base+"/mcp")
	if tokens.status != 200 {
		t.Fatalf("the other node: %d %s", tokens.status, tokens.text)
	}
	for _, node := range []*house{first, second} {
		if a := node.call(tokens.json("access_token"), "context.cite", `{"ref":1}`); a.status != 200 {
			t.Errorf("a call at %s: %d %s", node.base, a.status, a.text)
		}
	}
	if a := first.refresh(tokens.json("refresh_token")); a.status != 200 {
		t.Errorf("refresh: %d %s", a.status, a.text)
	}
	if a := do(t, owner, "DELETE", first.base+api.PathKeys+"/"+agentsOf(first)[0].ID, ""); a.status != 200 {
		t.Fatalf("revoke: %d %s", a.status, a.text)
	}
	until := time.Now().Add(time.Second)
	for a := second.call(tokens.json("access_token"), "context.cite", `{"ref":1}`); a.status != 401; a = second.call(tokens.json("access_token"), "context.cite", `{"ref":1}`) {
		if time.Now().After(until) {
			t.Fatalf("a second after the revocation: %d %s", a.status, a.text)
		}
	}
}
