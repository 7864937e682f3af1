package web

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
)

const contentHTML = "text/html; charset=utf-8"

// pageHeaders sets the headers of a page, in which css is all that is in its one style element.
func pageHeaders(h http.Header, css string) {
	sum := sha256.Sum256([]byte(css))
	h.Set("Content-Security-Policy", fmt.Sprintf(
		"default-src 'none'; style-src 'sha256-%s'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
		base64.StdEncoding.EncodeToString(sum[:])))
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
}
