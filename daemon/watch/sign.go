package watch

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"
	"time"

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

// sign puts the headers of Standard Webhooks on a message with an id, signed at a time with keys: the newest, and the one before it while
// both are good.
func sign(h http.Header, id string, at time.Time, body []byte, keys ...[]byte) {
	seconds := strconv.FormatInt(at.Unix(), 10)
	var signatures []string
	for _, key := range keys {
		mac := hmac.New(sha256.New, key)
		_, _ = mac.Write([]byte(id + "." + seconds + "."))
		_, _ = mac.Write(body)
		signatures = append(signatures, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
	h.Set("Webhook-Id", id)
	h.Set("Webhook-Timestamp", seconds)
	h.Set("Webhook-Signature", strings.Join(signatures, " "))
}
