package sdk

import (
	"fmt"
	"log/slog"
	"strings"

	"github.com/contextd/contextd/sdk/api"
)

// Key is an API key, cv_<env>_<32 base62 characters>. The zero Key is none. It shows itself only in part: every format verb, log
// handler and encoder gets String, and what reads past its methods, as package fmt does with unexported fields, finds a pointer.
// Secret is the one way to the text. Keys are not comparable by ==.
type Key struct{ secret *string }

// shownKeyChars is how much of a key String shows: cv_test_ and four characters of its public part.
const shownKeyChars = 12

var (
	_ fmt.Formatter  = Key{}
	_ fmt.Stringer   = Key{}
	_ fmt.GoStringer = Key{}
	_ slog.LogValuer = Key{}
)

// NewKey wraps the text of a key, without the white space around it. Empty text makes the zero Key.
func NewKey(text string) Key {
	if text = strings.TrimSpace(text); text != "" {
		return Key{&text}
	}
	return Key{}
}

// Secret is the whole key, empty for the zero Key. Never print it.
func (k Key) Secret() string {
	if k.secret == nil {
		return ""
	}
	return *k.secret
}

// IsZero reports whether there is no key.
func (k Key) IsZero() bool { return k.secret == nil }

// KeyID is the public part of the key, its first api.KeyIDLength characters, by which lists and logs name it. It is empty for
// what is not Valid.
func (k Key) KeyID() string {
	if !k.Valid() {
		return ""
	}
	return k.Secret()[:api.KeyIDLength]
}

// Env is the environment the key belongs to; empty for what is not Valid.
func (k Key) Env() api.KeyEnv {
	if !k.Valid() {
		return ""
	}
	return api.KeyEnv(strings.Split(k.Secret(), "_")[1])
}

// Valid reports whether k has the form of a key. Whether the service knows it, only the service can say.
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

// String is the beginning of the key and an ellipsis, such as cv_test_ab12…; of what is not Valid it shows nothing.
func (k Key) String() string {
	switch {
	case k.IsZero():
		return ""
	case !k.Valid():
		return "(not a key)"
	}
	return k.Secret()[:shownKeyChars] + "…"
}

// GoString is String, quoted.
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

// LogValue is String.
func (k Key) LogValue() slog.Value { return slog.StringValue(k.String()) }

// MarshalText is String: an encoded Key cannot be decoded again. It never fails.
func (k Key) MarshalText() ([]byte, error) { return []byte(k.String()), nil }
