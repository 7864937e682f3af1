package sdk

import (
	"fmt"
	"log/slog"
	"strings"

	"github.com/contextd/contextd/sdk/api"
)

// Key is an API key, cv_<env>_<32 base62 characters>. The zero Key is none. It hides itself: format verbs, log handlers and encoders show
// String, and reflection finds only a pointer. Only Secret returns the text. Do not compare keys with ==.
type Key struct{ secret *string }

// shownKeyChars is how much of a key String shows: cv_test_ and four characters of its public part.
const shownKeyChars = 12

var (
	_ fmt.Formatter  = Key{}
	_ fmt.Stringer   = Key{}
	_ fmt.GoStringer = Key{}
	_ slog.LogValuer = Key{}
)

// NewKey makes a Key of its text, without surrounding white space. Empty text makes the zero Key.
func NewKey(text string) Key {
	if text = strings.TrimSpace(text); text != "" {
		return Key{&text}
	}
	return Key{}
}

// Secret returns the whole key, empty for the zero Key. Never print it.
func (k Key) Secret() string {
	if k.secret == nil {
		return ""
	}
	return *k.secret
}

// IsZero reports whether there is no key.
func (k Key) IsZero() bool { return k.secret == nil }

// KeyID returns the public part of the key, its first api.KeyIDLength characters, its name in lists and logs. It is empty for an invalid
// key.
func (k Key) KeyID() string {
	if !k.Valid() {
		return ""
	}
	return k.Secret()[:api.KeyIDLength]
}

// Env returns the environment of the key, empty for an invalid key.
func (k Key) Env() api.KeyEnv {
	if !k.Valid() {
		return ""
	}
	return api.KeyEnv(strings.Split(k.Secret(), "_")[1])
}

// Valid reports whether k has the form of a key. Only the service knows whether the key exists.
func (k Key) Valid() bool {
	parts := strings.Split(k.Secret(), "_")
	if len(parts) != 3 || parts[0] != "cv" || len(parts[2]) != api.KeySecretChars {
		return false
	}
	if env := api.KeyEnv(parts[1]); env != api.EnvLive && env != api.EnvTest {
		return false
	}
	return !strings.ContainsFunc(parts[2], func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
}

// String returns the beginning of the key and an ellipsis, such as cv_test_ab12…, or "" for an invalid key.
func (k Key) String() string {
	switch {
	case k.IsZero():
		return ""
	case !k.Valid():
		return "(not a key)"
	}
	return k.Secret()[:shownKeyChars] + "…"
}

// GoString returns String, quoted.
func (k Key) GoString() string { return fmt.Sprintf("sdk.Key(%q)", k.String()) }

// Format writes String for every verb, quoted for %q, or GoString for %#v.
func (k Key) Format(f fmt.State, verb rune) {
	if verb == 'v' && f.Flag('#') {
		fmt.Fprint(f, k.GoString())
		return
	}
	if verb != 'q' {
		verb = 's'
	}
	fmt.Fprintf(f, fmt.FormatString(f, verb), k.String())
}

// LogValue returns String.
func (k Key) LogValue() slog.Value { return slog.StringValue(k.String()) }

// MarshalText returns String: an encoded Key cannot be decoded again. It never fails.
func (k Key) MarshalText() ([]byte, error) { return []byte(k.String()), nil }
