package web_test

import (
	"errors"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/contextd/contextd/daemon/gate"
	"github.com/contextd/contextd/daemon/web"
	"github.com/contextd/contextd/daemon/x402"
)

// recorded are the lines of a file that release 30f57cb wrote: what was asked, and two columns of what it made of that.
func recorded(t *testing.T, name string) [][3]string {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var lines [][3]string
	for line := range strings.Lines(string(text)) {
		columns := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(columns) != 3 {
			t.Fatalf("%s has the line %q", name, line)
		}
		lines = append(lines, [3]string(columns))
	}
	return lines
}

// TestCanonicalForms: a request has the fingerprint that it had at 30f57cb, by which its payment and its answer are found again, and the
// one of earlier releases is accepted. canonical.golden has the two forms of each request; do not regenerate it.
func TestCanonicalForms(t *testing.T) {
	t.Parallel()
	seen := make(chan gate.Credentials, 1)
	s := script{admit: func(c gate.Credentials) (gate.Caller, error) { seen <- c; return gate.Caller{}, errors.New("no") }}
	server, _ := serve(t, web.Config{Reader: s, Gate: s})
	lines := recorded(t, "canonical.golden")
	if len(lines) < 90 {
		t.Fatalf("there are %d requests", len(lines))
	}
	fingerprints := map[string]string{}
	for _, line := range lines {
		request, canonical, spelled := line[0], line[1], line[2]
		method, target, _ := strings.Cut(request, " ")
		target, body, posted := strings.Cut(target, " ")
		var changes []change
		if posted {
			changes = append(changes, sending(body))
		}
		call(t, method, server.URL+target, changes...)
		got := (<-seen).Subject
		path, _, _ := strings.Cut(target, "?")
		if method == http.MethodHead {
			method = http.MethodGet
		}
		want := x402.Subject{Op: got.Op, Fingerprint: x402.Fingerprint(method, path, canonical)}
		if spelled != canonical {
			want.Former = x402.Fingerprint(method, path, spelled)
		}
		if got != want || "/v1/"+string(got.Op) != path {
			t.Errorf("%s is %+v, want %+v of %q, before %q", request, got, want, canonical, spelled)
		}
		// Two requests share a fingerprint only where they are one request.
		for _, print := range []string{got.Fingerprint, got.Former} {
			of := method + " " + path + " " + canonical
			if print == "" {
				continue
			}
			if other, known := fingerprints[print]; known && other != of {
				t.Errorf("a payment of %s buys %s", other, of)
			}
			fingerprints[print] = of
		}
	}
}

// TestRefusals: what cannot be read is refused in the words of 30f57cb.
func TestRefusals(t *testing.T) {
	t.Parallel()
	p := newParsed(t)
	for _, line := range recorded(t, "refusals.golden") {
		method, target, _ := strings.Cut(line[0], " ")
		target, body, posted := strings.Cut(target, " ")
		var changes []change
		if posted {
			changes = append(changes, sending(body))
		}
		a := call(t, method, p.url+target, changes...)
		e := refusal(t, a, method).Error
		if got := [3]string{line[0], string(e.Reason) + ": " + e.Message, e.Hint}; got != line {
			t.Errorf("%s: got %q, want %q", line[0], got[1:], line[1:])
		}
	}
}

// TestQueryIsOneRequest: a payment of a query is good for it however it is sent.
func TestQueryIsOneRequest(t *testing.T) {
	t.Parallel()
	seen := make(chan gate.Credentials, 1)
	s := script{admit: func(c gate.Credentials) (gate.Caller, error) { seen <- c; return gate.Caller{}, errors.New("no") }}
	server, _ := serve(t, web.Config{Reader: s, Gate: s})
	subject := func(method, query string, changes ...change) x402.Subject {
		call(t, method, server.URL+"/v1/query"+query, changes...)
		of := (<-seen).Subject
		of.Former = ""
		return of
	}
	want := subject("GET", "?table=asset&where=a+%3D+1&where=b%3E2&limit=3")
	for _, got := range []x402.Subject{
		subject("POST", "?table=asset&where=b%3E2&where=a+%3D+1&limit=3"), subject("POST", "", sending(`{"table":"asset","where":["b > 2","a=1"],"limit":3}`)),
		subject("POST", "?table=asset&limit=3", sending(`{"where":["b > 2","a=1"],"pack":"crypto"}`)),
	} {
		if got != want {
			t.Errorf("%+v, by GET %+v", got, want)
		}
	}
	if other := subject("GET", "?table=asset&where=a+%3D+1&limit=3"); other == want {
		t.Error("a payment buys another query")
	}
}
