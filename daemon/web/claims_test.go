package web_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/sdk/api"
)

// TestClaims: each figure of a brief resolves to the row that holds it, by a citation of the same state.
func TestClaims(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t)
	key := bearer(d.Key(t, api.TierTeam))
	d.Grant(t, d.Key(t, api.TierTeam), 1000)
	d.Clock.Advance(time.Second)
	brief := decode[api.BriefResponse](t, get(t, d.URL()+"/v1/brief?claims=true", key))
	if len(brief.Claims) < 30 {
		t.Fatalf("there are %d claims", len(brief.Claims))
	}
	fresh := decode[api.StateResponse](t, get(t, d.URL()+"/v1/fresh?claims=true&members=flags", key))
	if len(fresh.Claims) != len(brief.Claims) {
		t.Errorf("fresh has %d claims, brief %d", len(fresh.Claims), len(brief.Claims))
	}
	if plain := decode[api.BriefResponse](t, get(t, d.URL()+"/v1/brief?claims=false", key)); plain.Claims != nil {
		t.Error("claims are told where they are not asked for")
	}
	runes, seen := []rune(brief.Brief), map[string]bool{}
	for _, c := range brief.Claims {
		if got := string(runes[c.Start:c.End]); got != c.Text {
			t.Errorf("the claim %+v stands at %q", c, got)
		}
		if kind, rest, ok := strings.Cut(c.Row, "/"); !ok || kind == "" || rest == "" {
			t.Errorf("the claim %+v has no row", c)
			continue
		}
		if seen[c.Row] {
			continue
		}
		seen[c.Row] = true
		path := fmt.Sprintf("/v1/cite?ref=%d&row=%s&at=%s", c.Ref, url.QueryEscape(c.Row), url.QueryEscape(brief.BriefOf.Format(time.RFC3339Nano)))
		a := get(t, d.URL()+path, key)
		if a.Status != http.StatusOK {
			t.Errorf("%s: %d %s", path, a.Status, a.Body)
			continue
		}
		cited := decode[api.CiteResponse](t, a).Citation
		if cited.Row != c.Row || cited.URL == "" || cited.Excerpt == "" || cited.Ref != c.Ref {
			t.Errorf("%s is %+v", path, cited)
		}
	}
	if len(seen) < 10 {
		t.Errorf("the claims are of %d rows", len(seen))
	}
}

// TestCiteRow has the page and the figures of a row, now and then, and not those of another source.
func TestCiteRow(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t)
	key := bearer(d.Key(t, api.TierTeam))
	first := decode[api.BriefResponse](t, get(t, d.URL()+"/v1/brief", key)).Freshness.GeneratedAt
	d.Recording.Advance()
	d.Clock.Advance(5 * time.Minute)
	if err := d.Refresh(t.Context(), api.PackCrypto); err != nil {
		t.Fatal(err)
	}
	cite := func(query string) api.Citation {
		t.Helper()
		a := get(t, d.URL()+"/v1/cite?"+query, key)
		if a.Status != http.StatusOK {
			t.Fatalf("%s: %d %s", query, a.Status, a.Body)
		}
		return decode[api.CiteResponse](t, a).Citation
	}
	now, then := cite("ref=1&row=asset/bitcoin"), cite("ref=1&row=asset/bitcoin&at="+url.QueryEscape(first.Format(time.RFC3339Nano)))
	if now.URL != "https://www.coingecko.com/en/coins/bitcoin" || then.URL != now.URL || now.Excerpt == then.Excerpt ||
		!strings.HasPrefix(now.Excerpt, "Bitcoin (BTC) $") || !strings.HasPrefix(then.Excerpt, "Bitcoin (BTC) $") {
		t.Errorf("now %+v\nthen %+v", now, then)
	}
	if source := cite("ref=1&at=" + url.QueryEscape(first.Format(time.RFC3339Nano))); source.Row != "" || !source.FetchedAt.Before(now.FetchedAt) {
		t.Errorf("the source then is %+v", source)
	}
	for query, reason := range map[string]api.Reason{
		"ref=2&row=asset/bitcoin": api.ReasonCitationNotFound, "ref=1&row=asset/none": api.ReasonCitationNotFound,
		"ref=1&row=bitcoin": api.ReasonInvalidRow, "ref=1&row=/x": api.ReasonInvalidRow, "ref=1&row=asset/": api.ReasonInvalidRow,
		"ref=1&at=x": api.ReasonInvalidAt, "ref=1&at=2001-01-01T00:00": api.ReasonSnapshotNotFound,
	} {
		if e := refusal(t, get(t, d.URL()+"/v1/cite?"+query, key), http.MethodGet).Error; e.Reason != reason {
			t.Errorf("%s: %s, want %s", query, e.Reason, reason)
		}
	}
}
