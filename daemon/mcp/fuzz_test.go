package mcp_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/sdk/api"
)

// FuzzPost sends bodies and headers that the router has to make something of: an answer, never a panic, a code 0 or an internal error, and
// a charge only for what was answered.
func FuzzPost(f *testing.F) {
	s := newStudio(f)
	key := s.key(1_000_000)
	for _, body := range []string{
		call("context.cite", `{"ref":1}`), call("context.search", `{"q":"b","k":"2"}`), `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"x"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"context.cite","arguments":{"ref":1},` + meta + `}}`, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
		`{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":1,"error":{"code":0}}`, `{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{"type":"ref/prompt"},"argument":{"name":"pack","value":""}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":5}}`,
		`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"context://packs/crypto/state"}}`, `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["context://packs/crypto/state"]},` + meta + `}}`,
		`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"context://packs/crypto/snapshot/%zz"}}`,
	} {
		for _, headers := range [][4]string{{"", "", "", ""}, {streams, "2025-11-25", "", ""}, {"*/*", "2026-07-28", "tools/call", "context.cite"}, {streams, "zzz", "x", "y"}, {streams, "2026-07-28", "subscriptions/listen", ""}} {
			f.Add(body, headers[0], headers[1], headers[2], headers[3], "")
		}
	}
	handler := s.handler
	f.Fuzz(func(t *testing.T, body, accept, version, method, name, session string) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second) // what subscribes would stay for ever
		defer cancel()
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, "http://localhost"+api.PathMCP, strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer "+key)
		for header, value := range map[string]string{"Accept": accept, "Mcp-Protocol-Version": version, "Mcp-Method": method, "Mcp-Name": name, "Mcp-Session-Id": session} {
			if value != "" {
				r.Header.Set(header, value)
			}
		}
		s.t = t // one input runs at a time
		before := s.calls(key, "")
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		text := w.Body.String()
		if w.Code >= 500 || strings.Contains(text, `"code":0,`) || w.Code >= 400 && !strings.Contains(text, `"error"`) {
			t.Errorf("%q: %d %s\n%s", body, w.Code, text, s.log.String())
		}
		if failed := w.Code/100 != 2 || strings.Contains(text, `"isError":true`) || strings.Contains(text, `"error":{`); failed && s.calls(key, "") != before {
			t.Errorf("%q was charged: %d %s", body, w.Code, text)
		}
	})
}
