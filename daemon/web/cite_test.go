package web_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/sdk/api"
)

// TestCitePost has bodies of POST /v1/cite. want is the pack and ref understood, or the reason of the refusal.
func TestCitePost(t *testing.T) {
	t.Parallel()
	p := newParsed(t)
	padded := func(size int) string {
		const object = `{"ref":3}`
		return object + strings.Repeat(" ", size-len(object))
	}
	for _, c := range []struct{ query, body, want string }{
		{"", `{"ref":3}`, "crypto 3"},
		{"", `{"pack":"ai","ref":3}`, "ai 3"},
		{"", "\n\t {\"ref\" : 3 , \"x\":[{\"ref\":4}], \"REF\":5,\"Pack\":\"ai\"} \r\n", "crypto 3"}, // unknown members
		{"", `{"\u0072ef":3}`, "crypto 3"},
		{"", `{"ref":3,"pack":null}`, "crypto 3"},
		{"", `{"ref":3,"pack":""}`, " 3"},
		{"", `{"ref":99999999999999999999}`, "invalid_ref"},
		{"?ref=3", "", "crypto 3"},
		{"?ref=3&pack=ai", " \n", "ai 3"},
		{"?ref=3", "{}", "crypto 3"},
		{"?ref=3", `{"ref":null}`, "crypto 3"},
		{"?ref=3", `{"pack":"ai"}`, "ai 3"},
		{"?pack=ai", `{"ref":3}`, "ai 3"},
		{"?pack=ai&ref=3", `{"ref":3,"pack":"ai"}`, "ai 3"},
		{"", padded(api.MaxBodyBytes), "crypto 3"},

		{"", "", "invalid_ref"},
		{"", "{}", "invalid_ref"},
		{"", `{"ref":null}`, "invalid_ref"},
		{"", `{"ref":0}`, "invalid_ref"},
		{"", `{"ref":-1}`, "invalid_ref"},
		{"", `{"ref":3.0}`, "invalid_ref"},
		{"", `{"ref":3e0}`, "invalid_ref"},
		{"", `{"ref":"3"}`, "invalid_ref"},
		{"", `{"ref":true}`, "invalid_ref"},
		{"", `{"ref":[3]}`, "invalid_ref"},
		{"", `{"ref":{}}`, "invalid_ref"},
		{"", `{"Ref":3}`, "invalid_ref"},
		{"?ref=x", `{"ref":null}`, "invalid_ref"},

		{"?ref=4", `{"ref":3}`, "invalid_request"},
		{"?ref=", `{"ref":3}`, "invalid_request"},
		{"?ref=3", `{"ref":"3"}`, "invalid_request"},
		{"?ref=3&pack=ai", `{"pack":"crypto"}`, "invalid_request"},
		{"?ref=3&ref=3", `{"ref":3}`, "invalid_request"},
		{"", `{"ref":3,"ref":3}`, "invalid_request"},
		{"?ref=3", `{"pack":"crypto","pack":"crypto"}`, "invalid_request"},
		{"", `{"pack":5,"ref":3}`, "invalid_request"},
		{"", `{"pack":["crypto"],"ref":3}`, "invalid_request"},
		{"", `{"ref":3`, "invalid_request"},
		{"", `{"ref":3,}`, "invalid_request"},
		{"", `{"ref":03}`, "invalid_request"},
		{"", `{'ref':3}`, "invalid_request"},
		{"", `{"ref":3}{"ref":3}`, "invalid_request"},
		{"", `{"ref":3} x`, "invalid_request"},
		{"?ref=3", `null`, "invalid_request"},
		{"?ref=3", `[]`, "invalid_request"},
		{"?ref=3", `3`, "invalid_request"},
		{"", `ref=3&pack=crypto`, "invalid_request"},
		{"", "\ufeff{\"ref\":3}", "invalid_request"},
		{"", strings.Repeat("[", 50_000), "invalid_request"},
		{"", padded(api.MaxBodyBytes + 1), "413 invalid_request"},
	} {
		q, got := p.ask(t, http.MethodPost, "/v1/cite"+c.query, sending(c.body))
		if got == "" {
			got = fmt.Sprint(q.Pack, " ", q.Ref)
		}
		if got != c.want {
			t.Errorf("%s with %.60s: got %q, want %q", c.query, c.body, got, c.want)
		}
	}
}

// TestCitePostTakesAnyContentType: the contract shows no form but JSON, so nothing hangs on what the header says.
func TestCitePostTakesAnyContentType(t *testing.T) {
	t.Parallel()
	p := newParsed(t)
	want := api.Query{Op: api.OpCite, Pack: "crypto", Ref: 3}
	for _, kind := range []string{"application/json", "application/json; charset=utf-8", "text/plain", "application/x-www-form-urlencoded", "", "/"} {
		if got, reason := p.ask(t, http.MethodPost, "/v1/cite", sending(`{"ref":3}`), with("Content-Type", kind)); got != want {
			t.Errorf("%q: got %v %s", kind, got, reason)
		}
	}
	if got, reason := p.ask(t, http.MethodGet, "/v1/cite?ref=3", sending(`{"ref":4`)); got != want {
		t.Errorf("GET with a body: got %v %s", got, reason)
	}
	chunked := func(r *http.Request) { r.ContentLength = -1 }
	if got, reason := p.ask(t, http.MethodPost, "/v1/cite", sending(`{"ref":3}`), chunked); got != want {
		t.Errorf("chunked: got %v %s", got, reason)
	}
}

// TestCiteEveryAnchor resolves every anchor by GET and by POST and finds it at its place in the list of fresh.
func TestCiteEveryAnchor(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t)
	key := bearer(d.Key(t, api.TierFree))
	list := decode[api.StateResponse](t, get(t, d.URL()+"/v1/fresh", key)).Citations
	if len(list) == 0 {
		t.Fatal("no citations")
	}
	for i, want := range list {
		a := get(t, fmt.Sprintf("%s/v1/cite?ref=%d", d.URL(), i+1), key)
		got := decode[api.CiteResponse](t, a)
		if got.Citation != want || got.Citation.Ref != i+1 || got.Source.ID != want.SourceID || got.Source.Name == "" || got.Source.PublicURL != want.URL {
			t.Errorf("[%d] is %+v, want %+v", i+1, got, want)
		}
		posted := call(t, http.MethodPost, d.URL()+"/v1/cite", key, sending(fmt.Sprintf(`{"ref":%d,"pack":"crypto"}`, i+1)))
		if string(posted.Body) != string(a.Body) {
			t.Errorf("[%d] by POST is %s", i+1, posted.Body)
		}
	}
}
