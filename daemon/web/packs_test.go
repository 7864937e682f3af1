package web_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/daemon/pack"
	"github.com/contextd/contextd/daemon/web"
	"github.com/contextd/contextd/sdk/api"
)

// TestEveryPackIsDescribed: each pack of the list may be asked as the description has it, whoever made it.
func TestEveryPackIsDescribed(t *testing.T) {
	t.Parallel()
	c := newContract(t)
	d := daemontest.Start(t, func(cfg *daemon.Config) {
		cfg.Packs = nil
		for _, id := range []string{api.PackCrypto, api.PackAI, api.PackMarkets, api.PackPerps, "of-a-user"} {
			p := pack.Crypto()
			p.ID = id
			cfg.Packs = append(cfg.Packs, daemon.Pack{Pack: p})
		}
	})
	key := d.Key(t, api.TierPro)
	d.Grant(t, key, 10)
	list := decode[api.PacksResponse](t, get(t, d.URL()+api.PathPacks)).Packs
	for _, p := range list {
		if err := d.Refresh(t.Context(), p.ID); err != nil {
			t.Fatal(err)
		}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, d.URL()+api.OpFresh.Path()+"?pack="+p.ID, nil)
		if err != nil {
			t.Fatal(err)
		}
		openapiBearer(key)(r)
		c.call(t, http.StatusOK, r)
	}
	if len(list) != 5 {
		t.Errorf("%d packs are served", len(list))
	}
}

// TestWithoutCrypto: a service may leave the pack crypto out. Its page and what it says of itself begin with the first pack that there is, and
// who names none is told which there are.
func TestWithoutCrypto(t *testing.T) {
	t.Parallel()
	d := daemontest.Open(t, daemontest.WithPages, func(cfg *daemon.Config) {
		cfg.Packs, cfg.Page = []daemon.Pack{{Pack: second()}}, web.PagePublic
	})
	if err := d.Refresh(t.Context(), api.PackAI); err != nil {
		t.Fatal(err)
	}
	d.Run(t)
	key := d.Key(t, api.TierPro)
	d.Grant(t, key, 10)
	decode[api.StateResponse](t, get(t, d.URL()+"/v1/fresh?pack=ai", bearer(key)))
	if a := get(t, d.URL()+"/v1/fresh", bearer(key)); a.Status != http.StatusNotFound || refusal(t, a, http.MethodGet).Error.Hint != "packs served: ai" {
		t.Errorf("without a pack: %d %s", a.Status, a.Body)
	}
	if a := get(t, d.URL()+"/"); !strings.Contains(string(a.Body), "/v1/brief?pack=ai'") {
		t.Errorf("the front says %s", a.Body)
	}
	if a := get(t, d.URL()+"/", asBrowser); a.Status != http.StatusOK || !strings.Contains(string(a.Body), ` data-pack="ai"`) {
		t.Errorf("the page: %d %.2000s", a.Status, a.Body)
	}
}

// TestPacks: the list is of the packs that are served, it is free, and it says of a state what is so.
func TestPacks(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t, func(c *daemon.Config) { c.Packs = []daemon.Pack{{Pack: pack.Crypto()}, {Pack: second()}} })
	a := get(t, d.URL()+api.PathPacks)
	list := decode[api.PacksResponse](t, a).Packs
	if len(list) != 2 || list[0].ID != api.PackCrypto || list[1].ID != api.PackAI {
		t.Fatalf("listed are %+v", list)
	}
	if got := a.Header.Get("Cache-Control"); got != api.CacheRevalidate {
		t.Errorf("Cache-Control is %q", got)
	}
	key := bearer(d.Key(t, api.TierFree))
	p, fresh := list[0], decode[api.StateResponse](t, get(t, d.URL()+"/v1/fresh", key))
	if len(p.Sources) != len(fresh.Citations) || p.Title == "" || p.Description == "" {
		t.Errorf("%q, %q has %d sources and %d citations", p.Title, p.Description, len(p.Sources), len(fresh.Citations))
	}
	for i, s := range p.Sources {
		if c := fresh.Citations[i]; s.Ref != c.Ref || s.ID != c.SourceID || s.URL != c.URL || s.Name == "" || s.Licence == "" || s.IntervalSeconds < 60 {
			t.Errorf("source %+v is cited as %+v", s, c)
		}
	}
	for _, m := range p.Members {
		at := fresh.State
		for name := range strings.SplitSeq(m.Name, ".") {
			var rows []json.RawMessage
			if json.Unmarshal(at, &rows) == nil { // of which each has what stands deeper
				at = rows[0]
			}
			var members map[string]json.RawMessage
			if err := json.Unmarshal(at, &members); err != nil || members[name] == nil {
				t.Errorf("the state has no %s: %v", m.Name, err)
				break
			}
			at = members[name]
		}
	}
	for _, kind := range p.Kinds {
		decode[api.LookupResponse](t, get(t, d.URL()+"/v1/lookup?q=bitcoin&kind="+kind, key))
	}
}
