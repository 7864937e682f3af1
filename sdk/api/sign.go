package api

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"strconv"
	"time"
)

// SignRequest signs a request at a time with a key. The signature is the HMAC-SHA256, in hexadecimal, of the time in Unix seconds, the
// method and the path, each followed by a newline, and the body. Send it as HeaderJobSignature and the time as HeaderJobTimestamp. It signs
// requests that start jobs, and webhook events.
func SignRequest(key []byte, at time.Time, method, path string, body []byte) string {
	mac := hmac.New(sha256.New, key)
	for _, part := range []string{strconv.FormatInt(at.Unix(), 10), method, path} {
		_, _ = io.WriteString(mac, part+"\n") // which never fails
	}
	_, _ = mac.Write(body)
	return hex.EncodeToString(mac.Sum(nil))
}
