package web

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
)

const (
	contentHTML     = "text/html; charset=utf-8"
	contentPlain    = "text/plain; charset=utf-8"
	contentMarkdown = "text/markdown; charset=utf-8"
)

// pageHeaders sets the headers of a page, in which css is all that is in its one style element. Its forms lead here, and to targets.
func pageHeaders(h http.Header, css string, targets ...string) {
	sum := sha256.Sum256([]byte(css))
	h.Set("Content-Security-Policy", fmt.Sprintf(
		"default-src 'none'; style-src 'sha256-%s'; form-action %s; base-uri 'none'; frame-ancestors 'none'",
		base64.StdEncoding.EncodeToString(sum[:]), strings.TrimSpace("'self' "+strings.Join(targets, " "))))
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
}
