package web_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/internal/jsonx"
	"github.com/contextd/contextd/sdk/api"
)

// TestMembers: who asks for some members of the state gets these as they are written in the whole, in its order, and all else of the answer.
func TestMembers(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t)
	free := d.Key(t, api.TierFree)
	key := bearer(free)
	whole := get(t, d.URL()+"/v1/fresh", key)
	all, err := jsonx.Members(decode[api.StateResponse](t, whole).State)
	if err != nil {
		t.Fatal(err)
	}
	part := func(names ...string) json.RawMessage {
		var list []*jsonx.Value
		for _, m := range all {
			for _, name := range names {
				if m.Name == name {
					list = append(list, m)
				}
			}
		}
		text, err := jsonx.Object(list)
		if err != nil || len(list) != len(names) {
			t.Fatal(names, err)
		}
		return text
	}
	for query, want := range map[string]json.RawMessage{
		"": decode[api.StateResponse](t, whole).State, "?members=": decode[api.StateResponse](t, whole).State, "?members=,": decode[api.StateResponse](t, whole).State,
		"?members=flags": part("flags"), "?members=sentiment,flags": part("flags", "sentiment"), "?members=flags,+sentiment,flags": part("flags", "sentiment"),
		"?members=top_movers,protocol_tvl,trending_pools,sentiment,narratives,flags,source_status": decode[api.StateResponse](t, whole).State,
	} {
		for _, coding := range []string{"identity", "gzip"} {
			a := get(t, d.URL()+"/v1/fresh"+query, key, with("Accept-Encoding", coding))
			if coding == "gzip" {
				a.Body = gunzip(t, a.Body)
			}
			if a.Status != http.StatusOK || !bytes.Equal(a.Body, bytes.Replace(whole.Body, decode[api.StateResponse](t, whole).State, want, 1)) {
				t.Errorf("%s: %d %s", query, a.Status, a.Body)
			}
		}
	}
	for _, query := range []string{"flag", "flags,x", "Flags", "flags.0", "flags|sentiment", strings.Repeat("x", 500)} {
		for _, path := range []string{"/v1/fresh?", "/v1/subscribe?token=" + free + "&"} {
			a := get(t, d.URL()+path+"members="+query, key)
			e := refusal(t, a, http.MethodGet).Error
			if e.Reason != api.ReasonInvalidMembers || a.Status != http.StatusBadRequest || len(e.Message) > 300 ||
				!strings.Contains(e.Hint, "top_movers, protocol_tvl, trending_pools, sentiment, narratives, flags, source_status") {
				t.Errorf("%s: %+v", query, e)
			}
		}
	}
	next, stays := subscribe(t, d, free+"&members=flags,sentiment", false), subscribe(t, d, free, false)
	if s := nextState(t, next, api.EventPulse); !bytes.Equal(s.State, part("flags", "sentiment")) {
		t.Errorf("the stream begins with %s", s.State)
	}
	if s := nextState(t, stays, api.EventPulse); len(s.State) <= len(part("flags", "sentiment")) {
		t.Errorf("the other stream begins with %s", s.State)
	}
	if err := d.Refresh(t.Context(), api.PackCrypto); err != nil {
		t.Fatal(err)
	}
	var s map[string]json.RawMessage
	if err := json.Unmarshal(nextState(t, next, api.EventDelta).State, &s); err != nil || len(s) != 2 || s["flags"] == nil || s["sentiment"] == nil {
		t.Errorf("then comes %s, %v", s, err)
	}
}
