package web

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"strconv"
)

// PageHeaders sets the headers of a page that works without scripts and loads nothing: css is all that is in its one style element.
func PageHeaders(h http.Header, css string) {
	sum := sha256.Sum256([]byte(css))
	h.Set("Content-Security-Policy", fmt.Sprintf("default-src 'none'; style-src 'sha256-%s'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
		base64.StdEncoding.EncodeToString(sum[:])))
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
}

// Send writes a text with its type and length. A client that went away is not an error of ours.
func Send(w http.ResponseWriter, status int, contentType string, text []byte) {
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(status)
	_, _ = w.Write(text)
}
