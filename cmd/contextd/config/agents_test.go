package config_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTold: what the service tells of its operator is read as the documents have it, and what they cannot have is refused by name.
func TestTold(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct{ contact, wrong string }{
		"": {},
		"web: {security_contact: me@example.org}":                {contact: "mailto:me@example.org"},
		"web: {security_contact: 'http://a.test'}":               {wrong: "web.security_contact: "},
		`mcp: {registry_auth: "v=MCPv1; k=ed25519; p=AAAA"}`:     {},
		`mcp: {registry_auth: "p=AAAA"}`:                         {wrong: "mcp.registry_auth is no line that begins with v=MCPv1; k="},
		`mcp: {registry_auth: "v=MCPv1; k=ed25519; p=A\nx"}`:     {wrong: "mcp.registry_auth"},
		"web: {security_contact: \"me@example.org\\nExpires:\"}": {wrong: "web.security_contact: "},
	} {
		file := filepath.Join(t.TempDir(), "config.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := load(t, file)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		d, err := c.Daemon(slog.New(slog.DiscardHandler))
		if err == nil {
			err = d.Check()
		}
		if (err == nil) != (want.wrong == "") || err != nil && !strings.Contains(err.Error(), want.wrong) || d.SecurityContact != want.contact {
			t.Errorf("%s: %v, contact %q", text, err, d.SecurityContact)
		}
	}
}
