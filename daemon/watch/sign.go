package watch

import (
	"crypto/rand"
	"encoding/base64"
	"strings"

	"github.com/contextd/contextd/sdk/api"
)

// Bounds of the secret of a webhook in bytes, and its text, as Standard Webhooks has them.
const (
	secretPrefix = "whsec_"
	secretMin    = 24
	secretMax    = 64
	secretMade   = 32
)

// newSecret is a secret of a webhook.
func newSecret() []byte {
	key := make([]byte, secretMade)
	_, _ = rand.Read(key) // which never fails
	return key
}

// secretText is a secret as its receiver has it.
func secretText(key []byte) string { return secretPrefix + base64.StdEncoding.EncodeToString(key) }

// parseSecret reads the secret of a webhook.
func parseSecret(text string) ([]byte, error) {
	rest, ok := strings.CutPrefix(text, secretPrefix)
	key, err := base64.StdEncoding.DecodeString(rest)
	if !ok || err != nil || len(key) < secretMin || len(key) > secretMax {
		return nil, api.Errorf(api.ReasonInvalidDelivery, "secret is not %s and base64 of %d to %d bytes", secretPrefix, secretMin,
			secretMax).WithHint("leave it out, and one is made and shown once")
	}
	return key, nil
}
