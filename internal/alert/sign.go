package alert

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Sign puts the headers of Standard Webhooks on a message with an id, signed at a time with keys: the newest, and the one before it while
// both are good.
func Sign(h http.Header, id string, at time.Time, body []byte, keys ...[]byte) {
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

// signingKey is the key in the text of a secret: that of Standard Webhooks is written in base64.
func signingKey(secret []byte) []byte {
	text, ok := strings.CutPrefix(string(secret), "whsec_")
	if key, err := base64.StdEncoding.DecodeString(text); ok && err == nil && len(key) > 0 {
		return key
	}
	return secret
}
