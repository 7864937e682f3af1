package usdg

import (
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/contextd/contextd/internal/human"
)

// shortestSecret is how long a part of a URL is at least that may be a secret.
const shortestSecret = 8

// RedactRPC is what err, of a call of a node, says without what may be a secret in the node's URL: the whole of it, and each part of its
// path and value of its query that is long enough. Providers put keys into all of these, and nodes repeat them in errors.
func RedactRPC(err error, rpcURL string) string {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err // what is around it spells out the URL
	}
	text := human.Words(err)
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
