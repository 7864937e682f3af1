package mcp_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/sdk/api"
)

// TestNothingIsKeptOfARequest after its answer, for all callers and outcomes.
func TestNothingIsKeptOfARequest(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	key, err := s.keys.Issue(t.Context(), account.NewKey{OwnerID: account.OperatorID, Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		bearer, body string
		want         int
	}{
		{"", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, http.StatusUnauthorized},
		{key.Key, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, http.StatusOK},
		{key.Key, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"context.fresh","arguments":{}}}`, http.StatusOK},
		{key.Key, `{"jsonrpc":"2.0","id":1,"method":"nonsense"}`, http.StatusOK},
		{"cv_test_" + strings.Repeat("a", api.KeySecretChars), `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, http.StatusUnauthorized},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, s.url, strings.NewReader(c.body))
		r.Header.Set("Content-Type", "application/json")
		if c.bearer != "" {
			r.Header.Set("Authorization", "Bearer "+c.bearer)
		}
		w := httptest.NewRecorder()
		s.handler.ServeHTTP(w, r)
		if w.Code != c.want {
			t.Errorf("%s: %d %s, want %d", c.body, w.Code, w.Body, c.want)
		}
		if n := s.mcp.Kept(); n != 0 {
			t.Errorf("%s: %d requests are kept after the answer", c.body, n)
		}
	}
}
