package source_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/source"
)

// get asks a server that answers with handler and returns what it says.
func get(t *testing.T, handler http.HandlerFunc) (string, error) {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	var body []byte
	err := source.NewClient(source.Config{}).Attempt("").Get(t.Context(), source.Request{URL: server.URL, Limit: 100}, func(r io.Reader) (err error) {
		body, err = io.ReadAll(r)
		return err
	})
	return string(body), err
}

func TestGetJudgesByStatus(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]source.Class{
		200: source.ClassOK, 204: source.ClassBadContent, 304: source.ClassBadContent, 400: source.ClassBadContent, 401: source.ClassAuth,
		403: source.ClassForbidden, 404: source.ClassNotFound, 410: source.ClassNotFound, 418: source.ClassBadContent,
		429: source.ClassRateLimited, 451: source.ClassRegionBlocked,
	} {
		_, err := get(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
		if class(err) != want {
			t.Errorf("HTTP %d: %v, want %s", status, err, want)
		}
		if err != nil && !strings.HasSuffix(err.Error(), fmt.Sprintf(": HTTP %d", status)) {
			t.Errorf("HTTP %d: text %q", status, err)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Now().UTC()
	for value, want := range map[string]time.Duration{
		"":                     0,
		"119":                  119 * time.Second,
		"0":                    0,
		"-5":                   0,
		"3600":                 time.Hour,
		"3601":                 time.Hour,
		"99999999999999999999": time.Hour,
		"-9223372036854775808": 0,
		"soon":                 0,
		now.Add(-time.Hour).Format(http.TimeFormat):       0,
		now.Add(9000 * time.Hour).Format(time.RFC1123):    0, // a date has to end in GMT
		now.Add(9000 * time.Hour).Format(http.TimeFormat): time.Hour,
	} {
		_, err := get(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", value)
			w.WriteHeader(http.StatusTooManyRequests)
		})
		if got := source.AsFailure(err).RetryAfter; got != want {
			t.Errorf("%q: %v, want %v", value, got, want)
		}
	}
}

func TestBodies(t *testing.T) {
	t.Parallel()
	zip := func(text string) []byte {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		_, _ = io.WriteString(w, text)
		_ = w.Close()
		return b.Bytes()
	}
	long := zip(strings.Repeat("hello", 20))
	flipped := bytes.Clone(long)
	flipped[len(flipped)-6] ^= 0xff // in the checksum
	for _, tt := range []struct {
		name    string
		gzip    bool
		body    []byte
		want    string
		failure string
	}{
		{"plain", false, []byte("hello"), "hello", ""},
		{"zipped", true, zip("hello"), "hello", ""},
		{"at the bound", false, bytes.Repeat([]byte("x"), 100), strings.Repeat("x", 100), ""},
		{"over the bound", false, bytes.Repeat([]byte("x"), 101), "", "bad_content: the answer is larger than allowed"},
		{"zipped over the bound", true, zip(strings.Repeat("x", 1<<20)), "", "bad_content: the answer is larger than allowed"},
		{"zipped, cut off", true, long[:len(long)-9], "", "bad_content: the answer is cut off"},
		{"zipped, cut off in the header", true, long[:5], "", "bad_content: the answer is cut off"},
		{"zipped, no body", true, nil, "", "bad_content: the answer is cut off"},
		{"zipped, wrong checksum", true, flipped, "", "bad_content: the answer is not valid gzip"},
		{"not zipped", true, []byte("plain text, not zipped"), "", "bad_content: the answer is not valid gzip"},
	} {
		got, err := get(t, func(w http.ResponseWriter, _ *http.Request) {
			if tt.gzip {
				w.Header().Set("Content-Encoding", "gzip")
			}
			_, _ = w.Write(tt.body)
		})
		if tt.failure == "" && (err != nil || got != tt.want) {
			t.Errorf("%s: %q, %v", tt.name, got, err)
		}
		if tt.failure != "" && (err == nil || err.Error() != tt.failure) {
			t.Errorf("%s: %v, want %s", tt.name, err, tt.failure)
		}
	}
}

func TestBrokenBodyOutranksItsSymptom(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "50")
		_, _ = io.WriteString(w, "[")
	}))
	defer server.Close()
	err := source.NewClient(source.Config{}).Attempt("").Get(t.Context(), source.Request{URL: server.URL}, func(r io.Reader) error {
		_, _ = io.ReadAll(r)
		return source.Fail(source.ClassEmpty, "nothing in it")
	})
	if err == nil || err.Error() != "bad_content: the answer is cut off" {
		t.Errorf("error %v", err)
	}
}

func TestNetworkFailures(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		cause error
		want  string
	}{
		{&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}, "network: connection refused"},
		{&net.OpError{Op: "read", Err: os.NewSyscallError("read", syscall.ECONNRESET)}, "network: connection lost"},
		{&net.DNSError{Err: "no such host", Name: "api.example", IsNotFound: true}, "network: host not found"},
		{&net.DNSError{Err: "i/o timeout", Name: "api.example", IsTimeout: true}, "network: no answer in time"},
		{&tls.CertificateVerificationError{Err: errors.New("x509: expired")}, "network: the certificate is not valid"},
		{io.ErrUnexpectedEOF, "network: connection lost"},
		{context.DeadlineExceeded, "network: no answer in time"},
		{context.Canceled, "network: cancelled"},
		{errors.New("http: secret=abc https://user:pw@api.example/x"), "network: cannot connect"},
	} {
		if got := source.AsFailure(fmt.Errorf("get: %w", tt.cause)).Error(); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.cause, got, tt.want)
		}
	}
}

func TestRealNetworkFailures(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.NotFoundHandler()) // its certificate is not one we trust
	defer server.Close()
	server.Config.ErrorLog = nil
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	for url, want := range map[string]string{
		server.URL:         "network: the certificate is not valid",
		closed.URL:         "network: connection refused",
		"https://[::1":     "network: cannot connect",
		"nonsense://a.b/c": "network: cannot connect",
	} {
		cfg := source.Config{Shift: func(string) time.Duration { return 0 }} // no pause before the retry
		err := source.NewClient(cfg).Attempt("").Get(t.Context(), source.Request{URL: url}, func(io.Reader) error { return nil })
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", url, err, want)
		}
	}
}

func TestFailureTextIsShort(t *testing.T) {
	t.Parallel()
	f := source.Fail(source.ClassBadContent, "upstream says %s", strings.Repeat("lång ", 50))
	text := f.Error()
	if n := len([]rune(text)); n != 120 || !strings.HasPrefix(text, "bad_content: upstream says lång") || !strings.HasSuffix(text, "…") {
		t.Errorf("%d runes: %q", n, text)
	}
}

func TestAttemptOnTwoClocks(t *testing.T) {
	t.Parallel()
	now := time.Date(2027, 1, 2, 3, 4, 5, 0, time.UTC)
	cfg := source.Config{Now: func() time.Time { return now }, Shift: func(string) time.Duration { return 48 * time.Hour }}
	a := source.NewClient(cfg).Attempt("")
	began := now
	now = now.Add(7 * time.Second)
	if !a.Now.Equal(began) || !a.At.Equal(began.Add(-48*time.Hour)) || a.Latency() != 7*time.Second {
		t.Errorf("now %v, at %v, latency %v", a.Now, a.At, a.Latency())
	}
}
