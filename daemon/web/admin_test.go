package web_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/contextd/contextd/daemon/admin"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/daemon/testbed"
	"github.com/contextd/contextd/sdk/api"
)

// outOfInk is a daemon whose job brief fails.
type outOfInk struct{ *daemontest.Daemon }

func (d outOfInk) RunJob(ctx context.Context, name string) error {
	if name == "brief" {
		return errors.New("writer is out of ink")
	}
	return d.Daemon.RunJob(ctx, name)
}

// webAdmin serves the webAdmin handler of d, whose job brief fails, and returns its URL.
func webAdmin(t *testing.T, d *daemontest.Daemon) (string, *testbed.Log) {
	t.Helper()
	var log testbed.Log
	server := httptest.NewServer(admin.Server{Keys: d.Keys(), Daemon: outOfInk{d}, Logger: log.Logger()}.Handler())
	t.Cleanup(server.Close)
	return server.URL, &log
}

func TestAdminKeys(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t)
	url, _ := webAdmin(t, d)
	a := call(t, http.MethodPost, url+admin.PathKeys, sending(`{"name":" my agent ","tier":"team","traceConsent":"none"}`))
	var issued api.IssuedKey
	if err := json.Unmarshal(a.Body, &issued); err != nil || a.Status != http.StatusCreated {
		t.Fatalf("%d %s, %v", a.Status, a.Body, err)
	}
	if issued.Name != "my agent" || issued.Tier != api.TierTeam || issued.KeyID != issued.Key[:api.KeyIDLength] {
		t.Errorf("issued %+v", issued)
	}
	if a := get(t, d.URL()+"/v1/fresh", bearer(issued.Key)); a.Status != http.StatusOK {
		t.Errorf("the new key is answered %d", a.Status)
	}
	list := get(t, url+admin.PathKeys)
	rows := decode[api.KeyListResponse](t, list).Keys
	if len(rows) != 1 || rows[0].KeyID != issued.KeyID || rows[0].TraceConsent != api.ConsentNone || strings.Contains(string(list.Body), issued.Key) {
		t.Errorf("listed %s", list.Body)
	}
	done := call(t, http.MethodDelete, url+admin.PathKeys+"/"+issued.KeyID)
	if got := decode[api.RevokeResponse](t, done); !got.OK || got.RevokedAt.IsZero() {
		t.Errorf("revoked %s", done.Body)
	}
	if a := get(t, d.URL()+"/v1/fresh", bearer(issued.Key)); a.Status != http.StatusUnauthorized {
		t.Errorf("the revoked key is answered %d", a.Status)
	}
	before := decode[api.StateResponse](t, get(t, d.URL()+"/v1/fresh", bearer(d.Key(t, api.TierFree))))
	if a := call(t, http.MethodPost, url+"/jobs/refresh"); a.Status != http.StatusOK {
		t.Errorf("refresh: %d %s", a.Status, a.Body)
	}
	after := decode[api.StateResponse](t, get(t, d.URL()+"/v1/fresh", bearer(d.Key(t, api.TierFree))))
	if !after.Freshness.GeneratedAt.After(before.Freshness.GeneratedAt) {
		t.Errorf("a refresh gave no newer state: %+v", after.Freshness)
	}
}

func TestAdminRefusals(t *testing.T) {
	t.Parallel()
	url, log := webAdmin(t, daemontest.Start(t))
	for _, c := range []struct{ call, body, want string }{
		{"POST /keys", `{"name":""}`, "400 invalid_request"},
		{"POST /keys", `{"name":"x","tier":"gold"}`, "400 invalid_request"},
		{"POST /keys", `{"name":5}`, "400 invalid_request"},
		{"POST /keys", `{"name":"x","extra":1}`, "400 invalid_request"},
		{"POST /keys", `{"name":"x"}}`, "400 invalid_request"},
		{"POST /keys", `{`, "400 invalid_request"},
		{"POST /keys", "", "400 invalid_request"},
		{"POST /keys", `{"name":"` + strings.Repeat("x", api.MaxBodyBytes) + `"}`, "413 invalid_request"},
		{"DELETE /keys/cv_test_nobody00", "", "404 key_not_found"},
		{"DELETE /keys", "", "405 method_not_allowed"},
		{"GET /jobs/refresh", "", "405 method_not_allowed"},
		{"POST /jobs/none", "", "404 not_found"},
		{"POST /jobs/brief", "", "500 internal_error"},
		{"GET /v1/fresh", "", "404 not_found"},
	} {
		method, path, _ := strings.Cut(c.call, " ")
		a := call(t, method, url+path, sending(c.body))
		var failure api.ErrorBody
		if err := json.Unmarshal(a.Body, &failure); err != nil || failure.Error == nil {
			t.Fatalf("%s: %d %s", c.call, a.Status, a.Body)
		}
		if got := fmt.Sprint(a.Status, " ", failure.Error.Reason); got != c.want || strings.Contains(string(a.Body), "ink") {
			t.Errorf("%s %.40s: %s", c.call, c.body, a.Body)
		}
	}
	if n := len(lines(log, "out of ink")); n != 1 || len(lines(log, "level=")) != 1 {
		t.Errorf("logged:\n%s", log)
	}
}
