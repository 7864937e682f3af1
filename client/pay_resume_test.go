package client_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/contextd/contextd/client"
	"github.com/contextd/contextd/sdk/api"
)

// TestResumedKey: a key that was bought becomes that of the profile where the profile has none, or has it already, and is for the service
// that has made it; else it is shown.
func TestResumedKey(t *testing.T) {
	t.Parallel()
	key := func(c string) string { return "cv_test_" + strings.Repeat(c, api.KeySecretChars) }
	a, _ := newFactory(t, "", nil, "CTX_BASE_URL", "https://one.example")
	for _, c := range []struct {
		what, service, key, stored string
		shown                      bool
	}{
		{"of another service", "https://two.example", key("a"), "", true},
		{"of the service over plain HTTP", "http://one.example", key("a"), "", true},
		{"the first", "https://one.example", key("a"), key("a"), false},
		{"the same again", "https://one.example", key("a"), key("a"), false},
		{"another", "https://one.example", key("b"), key("a"), true},
	} {
		told, err := client.SaveBought(a, c.service, fmt.Appendf(nil, `{"key":%q,"keyId":%q,"name":"x","tier":"pro"}`, c.key,
			c.key[:api.KeyIDLength]))
		stored, failed := client.StoredKey(a)
		if err != nil || failed != nil || stored != c.stored || strings.Contains(string(told), c.key) != c.shown {
			t.Errorf("%s: the profile has %q, want %q; the answer is %s, %v, %v", c.what, stored, c.stored, told, err, failed)
		}
	}
}
