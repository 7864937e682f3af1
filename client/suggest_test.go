package client_test

import (
	"strings"
	"testing"
)

// TestSuggestions: what people type by mistake, or by the habits of other programs, leads to the command that they mean.
func TestSuggestions(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]string{
		"signin": "login", "auth-login": "", "signout": "logout", "logoff": "logout", "status": "whoami", "me": "whoami", "account": "whoami",
		"balance": "credits balance", "usage": "credits usage", "buy": "credits buy", "quote": "pay quote", "receipts": "pay receipts",
		"flags": "state", "get": "ask", "find": "ask", "grep": "ask", "askk": "ask", "top": "ui", "tui": "ui", "dashboard": "ui", "ls": "packs",
		"list": "packs", "history": "state", "stat": "state", "news": "changes", "compare": "changes", "graph": "chart", "alert": "watch",
		"follow": "state follow", "stream": "state follow", "revoke": "keys revoke", "install": "mcp install", "prove": "verify",
		"set": "config set", "profile-list": "", "zzzzzz": "",
	} {
		t.Run(typed, func(t *testing.T) {
			t.Parallel()
			if want = strings.TrimSpace("ctx " + want); want == "ctx" {
				want = "ctx --help"
			}
			code, stdout, stderr := run(t.Context(), nil, typed)
			if code != 3 || stdout != "" || !strings.HasSuffix(stderr, "  try: "+want+"\n") {
				t.Errorf("exit %d\n%s%s", code, stdout, stderr)
			}
		})
	}
}
