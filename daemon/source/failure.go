package source

import (
	"compress/flate"
	"compress/gzip"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"syscall"
	"time"
)

// maxRetryAfter bounds what a server may ask us to wait.
const maxRetryAfter = time.Hour

func statusFailure(resp *http.Response, now time.Time) *failure {
	f := fail(classOf(resp.StatusCode), "HTTP %d", resp.StatusCode)
	f.Status = resp.StatusCode
	f.RetryAfter = retryAfter(resp.Header.Get("Retry-After"), now)
	return f
}

func classOf(status int) Class {
	switch status {
	case http.StatusUnauthorized:
		return ClassAuth
	case http.StatusForbidden:
		return ClassForbidden
	case http.StatusNotFound, http.StatusGone:
		return ClassNotFound
	case http.StatusTooManyRequests:
		return ClassRateLimited
	case http.StatusUnavailableForLegalReasons:
		return ClassRegionBlocked
	}
	if status >= 500 {
		return ClassUpstream
	}
	return ClassBadContent
}

// retryAfter reads a Retry-After header, seconds or a date, as a duration from 0 to an hour.
func retryAfter(value string, now time.Time) time.Duration {
	if t, err := http.ParseTime(value); err == nil {
		return max(0, min(t.Sub(now), maxRetryAfter))
	}
	seconds, err := strconv.Atoi(value)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0
	}
	return time.Duration(max(0, min(seconds, int(maxRetryAfter.Seconds())))) * time.Second
}

// readFailure judges an error in the middle of a body: a broken body is bad content, the rest is the network.
func readFailure(err error) *failure {
	var corrupt flate.CorruptInputError
	switch {
	case errors.Is(err, errTooLarge):
		return fail(ClassBadContent, "the answer is larger than allowed")
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return fail(ClassBadContent, "the answer is cut off")
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum), errors.As(err, &corrupt):
		return fail(ClassBadContent, "the answer is not valid gzip")
	}
	return networkFailure(err)
}

// networkFailure says in a few words why nothing came, without the URL and the internals that err's own text is full of.
func networkFailure(err error) *failure {
	var (
		dns  *net.DNSError
		cert *tls.CertificateVerificationError
		slow net.Error
	)
	switch {
	case errors.Is(err, context.Canceled):
		return fail(ClassNetwork, "cancelled")
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &slow) && slow.Timeout():
		return fail(ClassNetwork, "no answer in time")
	case errors.As(err, &dns):
		return fail(ClassNetwork, "host not found")
	case errors.As(err, &cert):
		return fail(ClassNetwork, "the certificate is not valid")
	case errors.Is(err, syscall.ECONNREFUSED):
		return fail(ClassNetwork, "connection refused")
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fail(ClassNetwork, "connection lost")
	}
	return fail(ClassNetwork, "cannot connect")
}
