package source_test

import (
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/contextd/contextd/daemon/source"
)

// switched is a network that can be cut.
type switched struct{ cut bool }

func (s *switched) RoundTrip(req *http.Request) (*http.Response, error) {
	if s.cut {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	}
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader("ok")), Request: req}, nil
}

func TestCutNetworkUsesUpNoLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		network := &switched{cut: true}
		c := source.NewClient(source.Config{Transport: network})
		ask := func() error {
			return c.Attempt("").Get(t.Context(), source.Request{URL: "https://api.coingecko.com/api/v3/global"},
				func(r io.Reader) error { _, err := io.ReadAll(r); return err })
		}
		for range 20 {
			if f := source.AsFailure(ask()); f == nil || f.Class != source.ClassNetwork {
				t.Fatalf("a cut network gives %v", f)
			}
		}
		network.cut = false
		begin := time.Now()
		for range 5 {
			if err := ask(); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(begin); took != 0 {
			t.Errorf("five requests after the network came back waited %v", took)
		}
		for range 6 {
			if err := ask(); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(begin); took < 12*time.Second {
			t.Errorf("eleven requests took %v: the limit is gone", took)
		}
	})
}
