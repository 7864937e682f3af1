package usdg

import (
	"net/url"
	"slices"
	"strings"
)

// shortestSecret is how long a part of a URL is at least that may be a secret.
const shortestSecret = 8

// RedactRPC is text without what may be a secret in the URL of a node: the whole of it, and each part of its path and value of its
// query that is long enough. Providers put keys into all of these, and nodes repeat them in errors.
func RedactRPC(text, rpcURL string) string {
	parts := []string{rpcURL}
	if u, err := url.Parse(rpcURL); err == nil {
		for _, values := range u.Query() {
			parts = append(parts, values...)
		}
		parts = append(parts, strings.Split(u.Path, "/")...)
	}
	slices.SortFunc(parts, func(a, b string) int { return len(b) - len(a) })
	for _, part := range parts {
		if len(part) >= shortestSecret {
			text = strings.ReplaceAll(text, part, "…")
		}
	}
	return text
}
