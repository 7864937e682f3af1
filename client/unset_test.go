package client_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
)

// TestUnsetSettings: what the host of a bundle passes on for a setting that was left empty, "" or the name in its manifest, is as unset. Where
// there is no HOME the settings are below USERPROFILE, as on Windows, whose programs with windows pass on nothing else.
func TestUnsetSettings(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	for what, c := range map[string]struct{ url, key, wantURL string }{
		"by name": {"${user_config.url}", "${user_config.key}", "http://127.0.0.1:8402"},
		"empty":   {"", "", "http://127.0.0.1:8402"},
		"set":     {"https://context.example.org", "cv_test_set0set0set0set0set0set0set0set0", "https://context.example.org"},
	} {
		env := map[string]string{"CTX_BASE_URL": c.url, "CTX_API_KEY": c.key, "USERPROFILE": home}
		code, out, errOut := run(t.Context(), env, "config", "list", "-o", "json")
		var list []struct{ Name, Value, Origin string }
		if err := json.Unmarshal([]byte(out), &list); err != nil || code != 0 {
			t.Fatalf("%s: exit %d, %v\n%s%s", what, code, err, out, errOut)
		}
		for _, s := range list {
			if s.Name == "base_url" && (s.Value != c.wantURL || strings.HasPrefix(s.Origin, "environment") != (what == "set")) {
				t.Errorf("%s: the address is %s, from %s", what, s.Value, s.Origin)
			}
		}
		if code, out, errOut = run(t.Context(), env, "config", "path"); code != 0 || !strings.Contains(out, filepath.Join(home, ".config", "ctx")) {
			t.Errorf("%s: settings are in %s, exit %d\n%s", what, out, code, errOut)
		}
		var sent string
		service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			sent = r.Header.Get("Authorization")
			w.WriteHeader(http.StatusNotFound)
		}))
		env["CTX_BASE_URL"] = service.URL
		_, _, _ = run(t.Context(), env, "fresh")
		service.Close()
		if want := map[bool]string{true: "Bearer " + c.key}[what == "set"]; sent != want {
			t.Errorf("%s: the key that is sent is %q", what, sent)
		}
	}
}
