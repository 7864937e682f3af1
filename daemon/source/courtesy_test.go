package source_test

import (
	"net/http"
	"testing"

	"github.com/contextd/contextd/daemon/source"
)

// TestContact: who gives an e-mail address is asked in the form that a host wants it in, and those that want one are not asked without.
func TestContact(t *testing.T) {
	t.Parallel()
	const usual = "contextd (+https://github.com/contextd/contextd)"
	for _, tt := range []struct{ url, contact, agent, unasked string }{
		{"https://www.sec.gov/x", "ops@example.org", "contextd ops@example.org", ""},
		{"https://data.sec.gov/x", "ops@example.org", "contextd ops@example.org", ""},
		{"https://www.bls.gov/x.ics", "ops@example.org", "contextd ops@example.org", ""},
		{"https://rss.arxiv.org/atom/cs.AI", "ops@example.org", usual + " ops@example.org", ""},
		{"https://rss.arxiv.org/atom/cs.AI", "", usual, ""},
		{"https://api.bls.gov/x", "ops@example.org", usual, ""},
		{"https://api.bls.gov/x", "", usual, ""},
		{"https://nosec.gov/x", "", usual, ""},
		{"https://www.sec.gov/x?{date}", "", "", "not asked: www.sec.gov wants an e-mail address, see sources.contact"},
		{"https://www.bls.gov/x.ics", "", "", "not asked: www.bls.gov wants an e-mail address, see sources.contact"},
	} {
		c := source.Declared{ID: "one", URL: tt.url}.Connector()
		if got := c.Unasked(tt.contact); got != tt.unasked {
			t.Errorf("%s with %q: %q, want %q", tt.url, tt.contact, got, tt.unasked)
		}
		if tt.unasked != "" {
			continue
		}
		var agent string
		transport := roundTrip(func(r *http.Request) (*http.Response, error) {
			agent = r.Header.Get("User-Agent")
			return respond(r, 404, ""), nil
		})
		source.NewFetcher(source.Config{Transport: transport, Contact: tt.contact}).Fetch(t.Context(), c, nil)
		if agent != tt.agent {
			t.Errorf("%s with %q: asked as %q, want %q", tt.url, tt.contact, agent, tt.agent)
		}
	}
}
