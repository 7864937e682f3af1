package mcp_test

import (
	"strings"
	"testing"
)

// TestHostAndOrigin lets in who calls the server by its names, and scripts of its own pages.
func TestHostAndOrigin(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	key := s.key(0)
	ping := `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	for host, status := range map[string]int{
		"localhost": 200, "localhost:8402": 200, "127.0.0.1:1": 200, "[::1]:8402": 200, "192.168.1.7:8402": 200, "context.example.org": 200, "CONTEXT.example.org:443": 200, // the last as behind a proxy on this machine
		"evil.example": 403, "evil.example:8402": 403, "localhost.evil.example": 403, "127.0.0.1.evil.example": 403, "context.example.org.evil.example": 403,
	} {
		if a := s.post(ping, bearer(key, "Host", host)...); a.Status != status || status == 403 && !strings.Contains(a.Body, `"cross_origin"`) {
			t.Errorf("host %s: %d %s", host, a.Status, a.Body)
		}
	}
	for origin, status := range map[string]int{
		"http://localhost:5173": 200, "http://127.0.0.1": 200, "https://context.example.org": 200, "https://studio.example": 200,
		"http://evil.example": 403, "null": 403, "http://context.example.org": 403, "https://context.example.org.evil.example": 403, "https://studio.example:8443": 403, "file://": 403,
	} {
		a := s.post(ping, bearer(key, "Origin", origin)...)
		if allowed := a.Header.Get("Access-Control-Allow-Origin"); a.Status != status || (allowed == origin) != (status == 200) {
			t.Errorf("origin %s: %d %q %s", origin, a.Status, allowed, a.Body)
		}
		pre := s.do("OPTIONS", "/api/mcp", "", "Origin", origin, "Access-Control-Request-Method", "POST")
		if allowed := pre.Header.Get("Access-Control-Allow-Headers"); status == 200 && (pre.Status != 204 || !strings.Contains(allowed, "Mcp-Session-Id") || !strings.Contains(allowed, "X-402-Payment")) || status != 200 && allowed != "" {
			t.Errorf("preflight of %s: %d %v", origin, pre.Status, pre.Header)
		}
	}
	if a := s.do("OPTIONS", "/api/mcp", ""); a.Status != 204 || !strings.Contains(a.Header.Get("Allow"), "DELETE") {
		t.Errorf("OPTIONS: %d %v", a.Status, a.Header)
	}
	if a := s.do("GET", "/api/mcp", "", "Host", "evil.example"); a.Status != 403 {
		t.Errorf("GET: %d %s", a.Status, a.Body)
	}
}

// TestLimitsAndStatuses has bodies, types and headers that will not do refused in the envelope.
func TestLimitsAndStatuses(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	key := s.key(0)
	large := `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"` + strings.Repeat("x", 256<<10) + `"}}`
	for name, c := range map[string]struct {
		a      answer
		status int
		want   string
	}{
		"too large":                {s.post(large, bearer(key)...), 413, `"requestId"`},
		"too large, without key":   {s.post(large), 413, `"requestId"`},
		"wrong type":               {s.post(`{"jsonrpc":"2.0","id":1,"method":"ping"}`, bearer(key, "Content-Type", "text/plain")...), 415, `"requestId"`},
		"unknown old version":      {s.post(`{"jsonrpc":"2.0","id":1,"method":"ping"}`, bearer(key, "Mcp-Protocol-Version", "2020-01-01")...), 400, `"code":-32600`},
		"version of the future":    {s.post(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{`+strings.Replace(meta, "2026-07-28", "2099-01-01", 1)+`}}`, bearer(key, "Accept", streams, "Mcp-Protocol-Version", "2099-01-01", "Mcp-Method", "tools/list")...), 400, `"code":-32022`},
		"header and meta differ":   {s.post(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{`+meta+`}}`, modern(key, "tools/call", "x")...), 400, `"code":-32020`},
		"unknown method, old era":  {s.post(`{"jsonrpc":"2.0","id":"i","method":"nothing"}`, bearer(key)...), 200, `"code":-32601`},
		"unknown method, new era":  {s.post(`{"jsonrpc":"2.0","id":"i","method":"nothing","params":{`+meta+`}}`, modern(key, "nothing", "")...), 404, `"code":-32601`},
		"unknown tool":             {s.post(call("nothing", `{}`), bearer(key)...), 200, `"code":-32602`},
		"unknown prompt":           {s.post(`{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"nothing"}}`, bearer(key)...), 200, `"code":-32602`},
		"params of another type":   {s.post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":5}}`, bearer(key)...), 200, `"code":-32602`},
		"cursor of another type":   {s.post(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":5}}`, bearer(key)...), 200, `"code":-32602`},
		"foreign cursor":           {s.post(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"x"}}`, bearer(key)...), 200, `"code":-32602`},
		"no params":                {s.post(`{"jsonrpc":"2.0","id":1,"method":"tools/call"}`, bearer(key)...), 400, `"code":-32600`},
		"call without an id":       {s.post(`{"jsonrpc":"2.0","method":"tools/list"}`, bearer(key)...), 400, `"code":-32600`},
		"subscription, no session": {s.post(`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"context://packs/crypto/state"}}`, bearer(key)...), 200, `"code":-32600`},
	} {
		if c.a.Status != c.status || !strings.Contains(c.a.Body, c.want) {
			t.Errorf("%s: %d %s, want %d %s", name, c.a.Status, c.a.Body, c.status, c.want)
		}
		if strings.Contains(c.a.Body, `"code":0`) {
			t.Errorf("%s: code 0 in %s", name, c.a.Body)
		}
	}
	if a := s.do("GET", "/api/mcp", "", append(s.in(key, s.initialize(key)), "Last-Event-ID", "1_1")...); a.Status != 400 || !strings.Contains(a.Body, `"requestId"`) {
		t.Errorf("replay of a stream: %d %s", a.Status, a.Body)
	}
	if text := s.log.String(); strings.Contains(text, key) || strings.Contains(text, "level=ERROR") {
		t.Errorf("the log says %s", text)
	}
}
