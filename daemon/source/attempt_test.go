package source_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/contextd/contextd/daemon/source"
)

// handler answers requests without a network, for tests in virtual time.
type handler http.HandlerFunc

func (h handler) RoundTrip(req *http.Request) (*http.Response, error) {
	rec := httptest.NewRecorder()
	h(rec, req)
	resp := rec.Result()
	resp.Request = req
	return resp, nil
}

// discard reads a body to its end.
func discard(body io.Reader) error {
	_, err := io.Copy(io.Discard, body)
	return err
}

func TestOneRetryForAllRequestsOfAnAttempt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		asked := make(map[string]int)
		c := source.NewClient(source.Config{Transport: handler(func(w http.ResponseWriter, r *http.Request) {
			if asked[r.URL.Path]++; r.URL.Path != "/good" {
				w.WriteHeader(http.StatusBadGateway)
			}
		})})
		a := c.Attempt("")
		for _, path := range []string{"/bad", "/worse", "/good"} {
			err := a.Get(t.Context(), source.Request{URL: "https://a.example" + path}, discard)
			if (err == nil) != (path == "/good") {
				t.Errorf("%s: %v", path, err)
			}
		}
		if asked["/bad"] != 2 || asked["/worse"] != 1 || asked["/good"] != 1 {
			t.Errorf("asked %v", asked)
		}
		if a.Latency() != 500*time.Millisecond {
			t.Errorf("latency %v, want one pause", a.Latency())
		}
	})
}

func TestOnlyAcceptedVersionsAreConfirmed(t *testing.T) {
	t.Parallel()
	version := "1"
	server := handler(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", version)
		if r.Header.Get("If-None-Match") == version {
			w.WriteHeader(http.StatusNotModified)
		}
	})
	c := source.NewClient(source.Config{Transport: server, Shift: func(string) time.Duration { return 0 }}) // without limits
	get := func(ifChanged, accept bool) bool {
		a := c.Attempt("")
		err := a.Get(t.Context(), source.Request{URL: "https://a.example/x", IfChanged: ifChanged}, discard)
		if err != nil && !errors.Is(err, source.ErrNotModified()) {
			t.Fatal(err)
		}
		if accept {
			a.Accept()
		}
		return err != nil
	}
	if get(true, false) || get(true, true) {
		t.Error("confirmed what was never accepted")
	}
	if !get(true, false) {
		t.Error("not confirmed although it was accepted")
	}
	if get(false, false) {
		t.Error("confirmed although it was asked unconditionally")
	}
	if version = "2"; get(true, false) || get(true, true) {
		t.Error("confirmed the version before")
	}
}

func TestLimitsAreByHost(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]struct {
		burst int
		next  time.Duration
	}{
		"api.coingecko.com":         {5, 12 * time.Second},
		"api.llama.fi":              {12, time.Second},
		"stablecoins.llama.fi":      {4, 2 * time.Second},
		"api.geckoterminal.com":     {2, 10 * time.Second},
		"api.kraken.com":            {2, time.Second},
		"api.exchange.coinbase.com": {6, 500 * time.Millisecond},
	} {
		t.Run(host, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := source.NewClient(source.Config{Transport: handler(func(http.ResponseWriter, *http.Request) {})})
				begin := time.Now()
				for i := range want.burst + 1 {
					if took := time.Since(begin); took != 0 {
						t.Fatalf("request %d of the burst waited %v", i, took)
					}
					if err := c.Attempt("").Get(t.Context(), source.Request{URL: "https://" + host}, discard); err != nil {
						t.Fatal(err)
					}
				}
				if took := time.Since(begin); took != want.next {
					t.Errorf("the next one waited %v, want %v", took, want.next)
				}
			})
		})
	}
}

func TestRetryReadsTheBodyAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		c := source.NewClient(source.Config{Transport: handler(func(w http.ResponseWriter, _ *http.Request) {
			asked++
			_, _ = io.WriteString(w, strings.Repeat("x", asked))
		})})
		var bodies []string
		err := c.Attempt("").Get(t.Context(), source.Request{URL: "https://a.example"}, func(body io.Reader) error {
			data, err := io.ReadAll(body)
			if bodies = append(bodies, string(data)); len(bodies) == 1 {
				return errors.New("the connection broke")
			}
			return err
		})
		if err != nil || strings.Join(bodies, " ") != "x xx" {
			t.Errorf("bodies %q, %v", bodies, err)
		}
	})
}
