package web_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/daemon/gate"
	"github.com/contextd/contextd/daemon/reader"
	"github.com/contextd/contextd/daemon/web"
	"github.com/contextd/contextd/sdk/api"
)

// errorRow is a call and the row of the error table that it is answered by.
type errorRow struct {
	call    string // server, method and path
	want    string // status, code and reason
	headers string // Retry-After, Allow or WWW-Authenticate with its value; the others are absent
	changes []change
}

// check makes the call and compares.
func (row errorRow) check(t *testing.T, servers map[string]string) {
	t.Helper()
	f := strings.Fields(row.call)
	a := call(t, f[1], servers[f[0]]+f[2], row.changes...)
	failure := refusal(t, a, f[1])
	e := failure.Error
	if got := fmt.Sprintf("%d %s %s", a.Status, e.Code, e.Reason); got != row.want {
		t.Errorf("answered %s (%s), want %s", got, e.Message, row.want)
	}
	if failure.Payment != nil {
		t.Errorf("a quote that nobody made: %+v", failure.Payment)
	}
	name, value, _ := strings.Cut(row.headers, ": ")
	for _, h := range []string{"Retry-After", "Allow", "WWW-Authenticate"} {
		want := ""
		if h == name {
			want = value
		}
		if got := a.Header.Get(h); got != want {
			t.Errorf("%s is %q, want %q", h, got, want)
		}
	}
}

// checkAll checks every row on its own.
func checkAll(t *testing.T, servers map[string]string, rows []errorRow) {
	t.Helper()
	for _, row := range rows {
		t.Run(row.call, func(t *testing.T) { row.check(t, servers) })
	}
}

const challenge = `WWW-Authenticate: Bearer realm="contextd"`

// TestWhereMCPIs: who looks for MCP where most servers have it is told where it is.
func TestWhereMCPIs(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t)
	for path, tells := range map[string]bool{"/mcp/": true, "/mcps": false, "/v1/mcp": false} {
		a := call(t, http.MethodPost, d.URL()+path, sending("{}"))
		if a.Status != http.StatusNotFound || strings.Contains(string(a.Body), `"hint":"MCP is at `+api.PathMCPAccount+` and`) != tells {
			t.Errorf("%s: %d %s", path, a.Status, a.Body)
		}
	}
}

// TestErrorTable has a call for every row that this daemon can answer by, and for every operation that has the row.
func TestErrorTable(t *testing.T) {
	t.Parallel()
	live, off := daemontest.Start(t), dark(t)
	servers := map[string]string{"live": live.URL(), "dark": off.URL()}
	key := bearer(live.Key(t, api.TierFree))
	gone := live.Key(t, api.TierFree)
	if _, err := live.Keys().Revoke(t.Context(), gone[:api.KeyIDLength]); err != nil {
		t.Fatal(err)
	}
	unknown := bearer("cv_test_" + strings.Repeat("x", api.KeySecretChars))
	early := "/v1/snapshot?at=" + minute(live.Clock.Now().Add(-time.Minute))
	rows := []errorRow{
		{"live GET /v1/snapshot", "400 VALIDATION_ERROR invalid_at", "", []change{key}},
		{"live GET /v1/snapshot?at=yesterday", "400 VALIDATION_ERROR invalid_at", "", []change{key}},
		{"live GET /v1/cite", "400 VALIDATION_ERROR invalid_ref", "", []change{key}},
		{"live GET /v1/cite?ref=0", "400 VALIDATION_ERROR invalid_ref", "", []change{key}},
		{"live POST /v1/cite", "400 VALIDATION_ERROR invalid_ref", "", []change{key}},
		{"live GET /v1/search", "400 VALIDATION_ERROR invalid_q", "", []change{key}},
		{"live GET /v1/search?q=%20%09", "400 VALIDATION_ERROR invalid_q", "", []change{key}},
		{"live GET /v1/search?q=btc&k=51", "400 VALIDATION_ERROR invalid_k", "", []change{key}},
		{"live GET /v1/lookup", "400 VALIDATION_ERROR invalid_q", "", []change{key}},
		{"live GET /v1/lookup?q=,%20,", "400 VALIDATION_ERROR invalid_q", "", []change{key}},
		{"live GET /v1/lookup?q=" + strings.Repeat("a,", 20) + "a", "400 VALIDATION_ERROR invalid_q", "", []change{key}},
		{"live GET /v1/lookup?q=" + strings.Repeat("a", 201), "400 VALIDATION_ERROR invalid_q", "", []change{key}},
		{"live GET /v1/lookup?q=btc&limit=0", "400 VALIDATION_ERROR invalid_limit", "", []change{key}},
		{"live GET /v1/lookup?q=btc&limit=11", "400 VALIDATION_ERROR invalid_limit", "", []change{key}},
		{"live GET /v1/lookup?q=btc&kind=coin", "400 VALIDATION_ERROR invalid_kind", "", []change{key}},
		{"live GET /v1/series", "400 VALIDATION_ERROR invalid_path", "", []change{key}},
		{"live GET /v1/series?path=flags", "400 VALIDATION_ERROR invalid_path", "", []change{key}},
		{"live GET /v1/series?path=asset/bitcoin&field=tvlUsd", "400 VALIDATION_ERROR invalid_field", "", []change{key}},
		{"live GET /v1/series?path=asset/bitcoin&points=289", "400 VALIDATION_ERROR invalid_points", "", []change{key}},
		{"live GET /v1/series?path=asset/bitcoin&span=59m", "400 VALIDATION_ERROR invalid_span", "", []change{key}},
		{"live GET /v1/series?path=asset/bitcoin&span=25h", "404 SNAPSHOT_NOT_FOUND snapshot_not_found", "", []change{key}},
		{"live GET /v1/history?from=2026-11-20T20:00", "400 VALIDATION_ERROR invalid_members", "", []change{key}},
		{"live GET /v1/history?member=movers&from=2026-11-20T20:00", "400 VALIDATION_ERROR invalid_members", "", []change{key}},
		{"live GET /v1/history?member=flags", "400 VALIDATION_ERROR invalid_range", "", []change{key}},
		{"live GET /v1/history?member=flags&from=2026-11-20T20:00&to=2026-11-20T19:59", "400 VALIDATION_ERROR invalid_range", "", []change{key}},
		{"live GET /v1/history?member=flags&from=2026-10-20T20:00&to=2026-11-20T20:00:00.001Z", "400 VALIDATION_ERROR invalid_range", "", []change{key}},
		{"live GET /v1/history?member=flags&from=2026-11-20T20:00&every=299s", "400 VALIDATION_ERROR invalid_every", "", []change{key}},
		{"live GET /v1/history?member=flags&from=2026-11-19T19:59", "404 SNAPSHOT_NOT_FOUND snapshot_not_found", "", []change{key}},
		{"live GET /v1/history?member=flags&from=2026-11-20T20:00&to=2026-11-20T20:01", "404 SNAPSHOT_NOT_FOUND snapshot_not_found", "", []change{key}},
		{"live GET /v1/fresh?pack=crypto&pack=crypto", "400 VALIDATION_ERROR invalid_request", "", []change{key}},
		{"live GET /v1/brief?pack=%zz", "400 VALIDATION_ERROR invalid_request", "", []change{key}},
		{"live POST /v1/cite?ref=1", "400 VALIDATION_ERROR invalid_request", "", []change{key, sending("{")}},
		{"live POST /v1/cite?ref=2", "413 VALIDATION_ERROR invalid_request", "", []change{key, sending(strings.Repeat(" ", api.MaxBodyBytes+1))}},
		{"live GET /v1/fresh", "401 AUTH_INVALID invalid_token", challenge, []change{unknown}},
		{"live GET /v1/brief", "401 AUTH_INVALID key_revoked", challenge, []change{bearer(gone)}},
		{"live POST /v1/cite?ref=3", "401 AUTH_INVALID key_revoked", challenge, []change{bearer(gone)}},
		{"live GET " + early, "404 SNAPSHOT_NOT_FOUND snapshot_not_found", "", []change{key}},
		{"live GET /v1/snapshot?at=2026-11-20T20:00", "404 SNAPSHOT_NOT_FOUND snapshot_not_found", "", []change{key}},
		{"live GET /v1/cite?ref=99999999999999999999", "400 VALIDATION_ERROR invalid_ref", "", []change{key}},
		{"live GET /none", "404 VALIDATION_ERROR not_found", "", nil},
		{"live GET /v1/", "404 VALIDATION_ERROR not_found", "", []change{key}},
		{"live GET /v1/fresh/", "404 VALIDATION_ERROR not_found", "", []change{key}},
		{"live GET /V1/fresh", "404 VALIDATION_ERROR not_found", "", []change{key}},
		{"live OPTIONS /nothing", "404 VALIDATION_ERROR not_found", "", nil},
		{"live GET /keys", "404 VALIDATION_ERROR not_found", "", nil}, // the admin socket's
		{"live POST /v1/fresh", "405 VALIDATION_ERROR method_not_allowed", "Allow: GET, HEAD, OPTIONS", []change{key}},
		{"live DELETE /v1/cite?ref=1", "405 VALIDATION_ERROR method_not_allowed", "Allow: GET, POST, HEAD, OPTIONS", []change{key}},
		{"live BREW /healthz", "405 VALIDATION_ERROR method_not_allowed", "Allow: GET, HEAD, OPTIONS", nil},
	}
	for _, path := range []string{"/v1/fresh", "/v1/brief", "/v1/search?q=btc", early, "/v1/cite?ref=1", "/v1/lookup?q=btc", "/v1/series?path=asset/btc",
		"/v1/history?member=flags&from=2026-11-20T20:00"} {
		join := "?"
		if strings.Contains(path, "?") {
			join = "&"
		}
		rows = append(rows,
			errorRow{"live GET " + path + join + "n=1", "401 AUTH_MISSING missing_token", challenge, nil},
			errorRow{"live GET " + path + join + "pack=ai", "404 PACK_NOT_FOUND pack_not_found", "", []change{key}},
			errorRow{"live GET " + path + join + "pack=", "404 PACK_NOT_FOUND pack_not_found", "", []change{key}},
			errorRow{"dark GET " + path + join + "n=2", "503 UPSTREAM_ERROR state_unavailable", "Retry-After: 5", []change{key}},
		)
	}
	checkAll(t, servers, rows)
}

// TestOrderOfChecks sends calls that break several rules at once; the one that comes first in the decisions answers.
func TestOrderOfChecks(t *testing.T) {
	t.Parallel()
	live, off := daemontest.Start(t), dark(t)
	servers := map[string]string{"live": live.URL(), "dark": off.URL()}
	good, bad := []change{bearer(live.Key(t, api.TierFree))}, []change{bearer("cv_test_bad")}
	const (
		badPack  = "404 PACK_NOT_FOUND pack_not_found"
		noState  = "503 UPSTREAM_ERROR state_unavailable"
		noKey    = "401 AUTH_MISSING missing_token"
		badKey   = "401 AUTH_INVALID invalid_token"
		noMinute = "404 SNAPSHOT_NOT_FOUND snapshot_not_found"
		noSource = "404 CITATION_NOT_FOUND citation_not_found"
	)
	large := sending(strings.Repeat("{", api.MaxBodyBytes+1))
	checkAll(t, servers, []errorRow{
		{"dark PUT /v1/nothing?pack=%zz", "404 VALIDATION_ERROR not_found", "", bad},
		{"dark PUT /v1/search?pack=%zz", "405 VALIDATION_ERROR method_not_allowed", "Allow: GET, HEAD, OPTIONS", bad},

		{"dark GET /v1/fresh?pack=a&pack=b", "400 VALIDATION_ERROR invalid_request", "", nil},
		{"dark GET /v1/search?pack=none&k=0", "400 VALIDATION_ERROR invalid_q", "", nil},
		{"dark GET /v1/search?pack=none&k=0&q=x", "400 VALIDATION_ERROR invalid_k", "", bad},
		{"dark GET /v1/snapshot?pack=none", "400 VALIDATION_ERROR invalid_at", "", bad},
		{"dark GET /v1/cite?pack=none", "400 VALIDATION_ERROR invalid_ref", "", bad},
		{"dark POST /v1/cite?pack=none&ref=x", "413 VALIDATION_ERROR invalid_request", "", []change{large}},

		{"dark GET /v1/fresh?pack=none", badPack, "", nil},
		{"dark GET /v1/brief?pack=none", badPack, "", bad},
		{"dark GET /v1/search?pack=none&q=x", badPack, "", nil},
		{"live GET /v1/snapshot?pack=none&at=1999-01-01T00:00", badPack, "", bad},
		{"live GET /v1/cite?pack=none&ref=99", badPack, "", nil},

		{"dark GET /v1/fresh", noState, "Retry-After: 5", nil},
		{"dark GET /v1/brief", noState, "Retry-After: 5", bad},
		{"dark GET /v1/search?q=x", noState, "Retry-After: 5", nil},
		{"dark GET /v1/snapshot?at=1999-01-01T00:00", noState, "Retry-After: 5", nil},
		{"dark POST /v1/cite?ref=99", noState, "Retry-After: 5", bad},

		{"live GET /v1/snapshot?at=1999-01-01T00:00", noKey, challenge, nil},
		{"live GET /v1/cite?ref=99", noKey, challenge, nil},
		{"live GET /v1/snapshot?at=1999-01-01T00:01", badKey, challenge, bad},
		{"live POST /v1/cite?ref=99", badKey, challenge, bad},
		{"live GET /v1/snapshot?at=1999-01-01T00:02", noMinute, "", good},
		{"live GET /v1/cite?ref=98", noSource, "", good},
	})
}

// TestErrorsOfTheParts has what a Reader and a Gate may answer beyond what the real ones can be brought to here.
func TestErrorsOfTheParts(t *testing.T) {
	t.Parallel()
	why := "connection refused"
	quote := &api.PaymentRequirements{Scheme: api.SchemeX402, Network: api.NetworkL2, Asset: api.AssetUSDG, Amount: "0.001"}
	unpaid := api.Errorf(api.ReasonPaymentRequired, "pay").WithHint("pay")
	unpaid.Payment = quote
	failing := api.Errorf(api.ReasonStateUnavailable, "none").WithHint("wait").WithRetryAfter(5 * time.Second)
	failing.SourceStatus = []api.SourceStatus{{Ref: 1, ID: "one", Status: api.SourceError, Error: &why}}
	for _, c := range []struct {
		name, want, retry, body string
		script                  script
	}{
		{"window used up", "429 QUOTA_EXHAUSTED quota_exhausted", "91", "", script{admit: func(gate.Credentials) (gate.Caller, error) {
			return gate.Caller{}, fmt.Errorf("admit: %w", api.Errorf(api.ReasonQuotaExhausted, "100 calls").WithHint("wait").
				WithRetryAfter(90*time.Second+time.Nanosecond))
		}}},
		{"quote", "402 PAYMENT_REQUIRED payment_required", "", `"payment":{"scheme":"x402",`, script{
			admit: func(gate.Credentials) (gate.Caller, error) { return gate.Caller{}, unpaid },
		}},
		{"why there is no state", "503 UPSTREAM_ERROR state_unavailable", "5",
			`"source_status":[{"ref":1,"id":"one","status":"error","fetchedAt":null,"items":0,"failures":0,"intervalSeconds":0,"staleAfterSeconds":0,"error":"connection refused"}]`,
			script{ready: func(api.Query) error { return failing }}},
		{"store", "500 INTERNAL_ERROR internal_error", "", "", script{
			answer: func(context.Context) (reader.Answer, error) { return reader.Answer{}, errors.New("disk I/O error") },
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := get(t, play(t, c.script)+"/v1/fresh")
			e := refusal(t, a, http.MethodGet).Error
			if got := fmt.Sprintf("%d %s %s", a.Status, e.Code, e.Reason); got != c.want || a.Header.Get("Retry-After") != c.retry {
				t.Errorf("answered %s with Retry-After %q", got, a.Header.Get("Retry-After"))
			}
			if !strings.Contains(string(a.Body), c.body) || strings.Contains(string(a.Body), "disk") {
				t.Errorf("body %s", a.Body)
			}
		})
	}
	if quote.Amount != "0.001" || unpaid.RequestID != "" {
		t.Errorf("answering changed the error of the gate: %+v", unpaid)
	}
}

// TestRefusedCallsGoNoFurther sees which steps a call gets to.
func TestRefusedCallsGoNoFurther(t *testing.T) {
	t.Parallel()
	stop := errors.New("stop")
	for want, c := range map[string]struct {
		query                        string
		ready, admit, answer, charge error
		status                       int
	}{
		"":                           {status: 400, query: "?pack=a&pack=b"},
		"ready":                      {status: 500, ready: stop},
		"ready admit":                {status: 500, admit: stop},
		"ready admit answer":         {status: 500, answer: stop}, // what has no answer costs nothing
		"ready admit answer charge":  {status: 429, charge: api.Errorf(api.ReasonQuotaExhausted, "100 calls").WithHint("wait")},
		"ready admit answer charge ": {status: 200},
	} {
		var steps []string
		step := func(name string, err error) error { steps = append(steps, name); return err }
		s := script{
			ready:  func(api.Query) error { return step("ready", c.ready) },
			admit:  func(gate.Credentials) (gate.Caller, error) { return gate.Caller{}, step("admit", c.admit) },
			charge: func() error { return step("charge", c.charge) },
			answer: func(context.Context) (reader.Answer, error) {
				return reader.Answer{JSON: []byte(`{"secret":"answer"}`)}, step("answer", c.answer)
			},
		}
		server, _ := serve(t, web.Config{Reader: s, Gate: s})
		a := get(t, server.URL+"/v1/fresh"+c.query)
		server.Close() // every handler has returned
		if got := strings.Join(steps, " "); got != strings.TrimSpace(want) || a.Status != c.status {
			t.Errorf("steps %q and status %d, want %q and %d", got, a.Status, want, c.status)
		}
		if strings.Contains(string(a.Body), "secret") != (c.status == http.StatusOK) {
			t.Errorf("after %q the body is %s", want, a.Body)
		}
	}
}
