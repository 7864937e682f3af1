package api_test

import (
	"strings"
	"testing"

	"github.com/contextd/contextd/sdk/api"
)

func TestParseBaseURL(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"http://localhost:8080":     "http://localhost:8080",
		"https://example.org/":      "https://example.org",
		"https://example.org/a/b//": "https://example.org/a/b",
		"https://example.org/a%2Fb": "https://example.org/a/b",
		"http://[::1]:80/x":         "http://[::1]:80/x",
	} {
		if u, err := api.ParseBaseURL(text); err != nil || u.String() != want {
			t.Errorf("%q is %v, want %q: %v", text, u, want, err)
		}
	}
	for _, text := range []string{
		"", "example.org", "ftp://example.org", "http://", "http://:80", "http://example.org:", "http://example.org?a=b", "http://example.org#a",
		"http://me:hidden@example.org", "http://me:hidden@example.org:x", "://", " http://example.org",
	} {
		if u, err := api.ParseBaseURL(text); err == nil || strings.Contains(err.Error(), "hidden") {
			t.Errorf("%q is %v: %v", text, u, err)
		}
	}
}
