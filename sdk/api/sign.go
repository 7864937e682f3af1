package api

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"strconv"
	"time"
)

// SignRequest is the signature of a request that is made at a time with a key: the HMAC-SHA256, in hexadecimal, of the time in Unix
// seconds, the method and the path, each with a newline behind it, and the body. It goes into HeaderJobSignature, the time into
// HeaderJobTimestamp. Jobs started from outside are signed so, and events that go to a webhook.
func SignRequest(key []byte, at time.Time, method, path string, body []byte) string {
	mac := hmac.New(sha256.New, key)
	for _, part := range []string{strconv.FormatInt(at.Unix(), 10), method, path} {
		_, _ = io.WriteString(mac, part+"\n") // which never fails
	}
	_, _ = mac.Write(body)
	return hex.EncodeToString(mac.Sum(nil))
}
