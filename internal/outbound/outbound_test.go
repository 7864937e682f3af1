package outbound_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/contextd/contextd/internal/outbound"
)

// TestTransport: a connection to a private address is refused when it is made, whatever named it, but for allowed hosts; no proxy comes
// between.
func TestTransport(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	t.Cleanup(server.Close)
	address := strings.TrimPrefix(server.URL, "http://")
	host, port, _ := strings.Cut(address, ":")
	for _, c := range []struct {
		allowed []string
		url     string
		reaches bool
	}{
		{nil, server.URL, false},
		{nil, "http://localhost:" + port, false},
		{[]string{"localhost"}, server.URL, false},
		{[]string{host + ":1"}, server.URL, false},
		{[]string{host}, server.URL, true},
		{[]string{address}, server.URL, true},
		{[]string{"LOCALHOST:" + port}, "http://localhost:" + port, true},
	} {
		transport := outbound.NewTransport(c.allowed)
		if transport.Proxy != nil {
			t.Fatal("there is a proxy")
		}
		res, err := (&http.Client{Transport: transport}).Get(c.url)
		if err == nil {
			_ = res.Body.Close()
		}
		private := new(outbound.PrivateError)
		if (err == nil) != c.reaches || !c.reaches && !errors.As(err, &private) {
			t.Errorf("%s, allowed %q: %v", c.url, c.allowed, err)
		}
		transport.CloseIdleConnections()
	}
}
