package web_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/sdk/api"
)

// gunzip undoes the coding and wants one whole stream, without anything behind it.
func gunzip(t *testing.T, body []byte) []byte {
	t.Helper()
	source := bytes.NewReader(body)
	r, err := gzip.NewReader(source)
	if err != nil {
		t.Fatal(err)
	}
	r.Multistream(false)
	text, err := io.ReadAll(r)
	if err != nil || source.Len() != 0 {
		t.Fatalf("%v, %d bytes behind the stream", err, source.Len())
	}
	return text
}

func TestGzipIsNegotiated(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t)
	key := bearer(d.Key(t, api.TierFree))
	plain := get(t, d.URL()+"/v1/fresh", key)
	if plain.Header.Get("Content-Encoding") != "" {
		t.Error("coded for a client that asked for nothing")
	}
	for _, c := range []struct {
		want   bool
		accept []string
	}{
		{true, []string{"gzip"}}, {true, []string{"GZIP"}}, {true, []string{"x-gzip"}}, {true, []string{"gzip, deflate, br, zstd"}},
		{true, []string{"br;q=1.0,gzip;q=0.2"}}, {true, []string{"identity, gzip ; q=0.001"}}, {true, []string{"*"}}, {true, []string{"br, *;q=0.1"}},
		{true, []string{"deflate", "gzip"}}, {true, []string{"gzip;q=1, *;q=0"}}, {true, []string{"*;q=0, gzip"}}, {true, []string{"\tgzip\t;\tQ=1"}},
		{false, []string{""}}, {false, []string{"identity"}}, {false, []string{"br"}}, {false, []string{"gzip;q=0"}}, {false, []string{"gzip; q=0.000"}},
		{false, []string{"*;q=0"}}, {false, []string{"gzip;q=0, *"}}, {false, []string{"*", "gzip;q=0"}}, {false, []string{"not-gzip, gzipped"}},
		{false, []string{"identity;q=1, gzip;Q=0."}}, {false, []string{"x-gzip;q=0"}}, {false, []string{", ,"}},
	} {
		a := get(t, d.URL()+"/v1/fresh", key, with("Accept-Encoding", c.accept...))
		body, coding := a.Body, ""
		if c.want {
			coding = "gzip"
		}
		if got := a.Header.Get("Content-Encoding"); got != coding {
			t.Errorf("%q: Content-Encoding %q, want %q", c.accept, got, coding)
			continue
		}
		if c.want {
			body = gunzip(t, a.Body)
		}
		if !bytes.Equal(body, plain.Body) {
			t.Errorf("%q: not the bytes of the plain answer", c.accept)
		}
		if got := a.Header.Get("Vary"); got != "Accept-Encoding" {
			t.Errorf("%q: Vary %q", c.accept, got)
		}
		if got := a.Header.Get("Content-Length"); got != strconv.Itoa(len(a.Body)) {
			t.Errorf("%q: Content-Length %q for %d bytes", c.accept, got, len(a.Body))
		}
	}
}

// TestGzipOfEveryOperation: what is encoded once is compressed; what is made for one caller is short and is not.
func TestGzipOfEveryOperation(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t)
	key := bearer(d.Key(t, api.TierFree))
	at := minute(d.Clock.Now())
	d.Clock.Advance(7 * time.Minute)
	for path, coded := range map[string]bool{
		"/v1/fresh": true, "/v1/brief": true, "/v1/snapshot?at=" + at: true, "/v1/search?q=a": false, "/v1/cite?ref=1": false,
		"/v1/cite": false, "/v1/nothing": false, "/healthz": false,
	} {
		plain, a := get(t, d.URL()+path, key), get(t, d.URL()+path, key, with("Accept-Encoding", "gzip"))
		if got := a.Header.Get("Content-Encoding") == "gzip"; got != coded {
			t.Errorf("%s: coded %v, want %v", path, got, coded)
			continue
		}
		if coded {
			if len(a.Body) >= len(plain.Body) {
				t.Errorf("%s: %d bytes are %d when compressed", path, len(plain.Body), len(a.Body))
			}
			a.Body = gunzip(t, a.Body)
		}
		if plain.Status == 200 && !bytes.Equal(a.Body, plain.Body) {
			t.Errorf("%s: not the bytes of the plain answer", path)
		}
		if plain.Status == 200 && strings.HasPrefix(path, "/v1/") && !strings.HasPrefix(plain.Header.Get("Vary"), "Accept-Encoding") {
			t.Errorf("%s: Vary %q", path, plain.Header.Get("Vary"))
		}
	}
}
