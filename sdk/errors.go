package sdk

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk/api"
)

// Error is an error of the service, for errors.As: code, reason, message, hint and, if the call can be paid, the quote. The service uses
// the same type.
type Error = api.Error

// Sentinel errors of the service, for errors.Is. The error itself is an *Error, for errors.As.
var (
	ErrInvalidToken        error = &api.Error{Reason: api.ReasonInvalidToken}     // the key is unknown or malformed
	ErrKeyRevoked          error = &api.Error{Reason: api.ReasonKeyRevoked}       // the key was revoked
	ErrMissingSession      error = &api.Error{Reason: api.ReasonMissingSession}   // nobody is signed in to the console
	ErrInvalidSession      error = &api.Error{Reason: api.ReasonInvalidSession}   // the session has ended
	ErrInvalidSignIn       error = &api.Error{Reason: api.ReasonInvalidSignIn}    // a link, code or signature that does not work
	ErrPaymentRequired     error = &api.Error{Reason: api.ReasonPaymentRequired}  // no credentials; Payment has the quote
	ErrInsufficientCredits error = &api.Error{Reason: api.ReasonInsufficient}     // the key's owner has no credits left
	ErrPackAccessDenied    error = &api.Error{Reason: api.ReasonPackAccessDenied} // a free key without credits, not the free pack
	ErrQuotaExhausted      error = &api.Error{Reason: api.ReasonQuotaExhausted}   // RetryAfter says when one more call fits
	ErrDailySpent          error = &api.Error{Reason: api.ReasonDailySpent}       // the key may spend no more until midnight UTC
	ErrRateLimited         error = &api.Error{Reason: api.ReasonRateLimited}
	ErrPackNotFound        error = &api.Error{Reason: api.ReasonPackNotFound}
	ErrSnapshotNotFound    error = &api.Error{Reason: api.ReasonSnapshotNotFound} // outside the tier's window, or not over yet
	ErrCitationNotFound    error = &api.Error{Reason: api.ReasonCitationNotFound}
	ErrStateUnavailable    error = &api.Error{Reason: api.ReasonStateUnavailable} // no state yet; try again in seconds
	ErrBriefUnavailable    error = &api.Error{Reason: api.ReasonBriefUnavailable} // no brief yet; try again in seconds
	ErrInvalidRequest      error = &api.Error{Code: api.CodeValidation}           // a parameter is missing or out of range
)

// TransportError reports that no answer came. It wraps the cause, so that errors.Is finds context.DeadlineExceeded, context.Canceled or the
// error of the connection.
type TransportError struct {
	Method   string
	URL      string // without secrets
	Attempts int    // requests sent, 1 or more; 0 when the call ended before the first
	Err      error
}

// Error returns the request and the cause in words.
func (e *TransportError) Error() string {
	why := human.Words(e.Err)
	if e.Err == io.EOF {
		why = "the connection broke off"
	}
	return strings.ToLower(e.Method) + " " + e.URL + ": " + why
}

// Unwrap returns the cause.
func (e *TransportError) Unwrap() error { return e.Err }

// Timeout reports whether the time limit of the Client, the context or the connection was exceeded.
func (e *TransportError) Timeout() bool {
	var t net.Error
	return errors.Is(e.Err, context.DeadlineExceeded) || errors.As(e.Err, &t) && t.Timeout()
}

// transportError makes a TransportError of what http.Client.Do returned. The *url.Error around the cause goes: it spells out
// the URL, with its token. A TransportError stays as it is.
func transportError(req *http.Request, attempts int, err error) *TransportError {
	var lost *TransportError
	if errors.As(err, &lost) {
		return lost
	}
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	return &TransportError{Method: req.Method, URL: RedactURL(req.URL), Attempts: attempts, Err: err}
}

// RedactURL returns u without the value of a token parameter, which is a key, and without a password.
func RedactURL(u *url.URL) string {
	shown := *u
	if q := shown.Query(); q.Has("token") {
		q.Set("token", "redacted")
		shown.RawQuery = q.Encode()
	}
	return shown.Redacted()
}

// ErrorOf returns the error of an answer other than a 2xx, as the calls of a Client do: an *api.Error, also for an answer of another
// server, or a *TransportError if the answer cannot be read. It closes the body and replaces it by the bytes read.
func ErrorOf(resp *http.Response) error {
	text, err := readAnswer(resp.Request, resp)
	if err != nil {
		return err
	}
	return decodeError(resp, text)
}

// decodeError rebuilds the error of an answer that is not a 2xx.
func decodeError(resp *http.Response, body []byte) *api.Error {
	var envelope api.ErrorBody
	if err := json.Unmarshal(body, &envelope); err != nil || envelope.Error == nil || envelope.Error.Code == "" {
		e := foreignError(resp, body)
		if err == nil && envelope.Payment != nil { // the quote alone is what the specification promises of a 402
			e = api.Errorf(api.ReasonPaymentRequired, "the call needs a payment")
			e.Payment = envelope.Payment
		}
		return annotate(e, resp)
	}
	e := envelope.Error
	if lower := strings.ToLower(string(e.Code)); lower == string(e.Code) { // the prose spelling of the specification
		e.Reason = firstOf(e.Reason, api.Reason(lower))
		e.Code, _ = e.Reason.Answer()
	}
	e.Payment = envelope.Payment
	return annotate(e, resp)
}

// annotate sets on e what the status line and the headers of resp say.
func annotate(e *api.Error, resp *http.Response) *api.Error {
	e.Status = resp.StatusCode
	e.RequestID = firstOf(e.RequestID, resp.Header.Get(api.HeaderRequestID))
	e.RetryAfter = retryAfter(resp.Header)
	return e
}

// foreignError stands for an answer that no context service gives: a proxy's page, a captive portal, another service.
func foreignError(resp *http.Response, body []byte) *api.Error {
	code := api.CodeUpstreamError
	switch resp.StatusCode {
	case http.StatusGatewayTimeout:
		code = api.CodeUpstreamTimeout
	case http.StatusTooManyRequests:
		code = api.CodeRateLimited
	}
	e := &api.Error{Code: code, Status: resp.StatusCode, Message: fmt.Sprintf(
		"status %d %s without the service's error envelope (%s)", resp.StatusCode, http.StatusText(resp.StatusCode), glimpse(resp, body))}
	if to := resp.Header.Get("Location"); resp.StatusCode/100 == 3 && to != "" {
		e.Message = fmt.Sprintf("the service answered %d %s, a redirect to %q, which is not followed",
			resp.StatusCode, http.StatusText(resp.StatusCode), human.Short(to, 200))
		return e.WithHint("use %s as the base URL if you trust it", human.Short(to, 200))
	}
	if resp.StatusCode == http.StatusBadRequest && bytes.Contains(bytes.ToUpper(body), []byte("HTTPS")) {
		return e.WithHint("https:// in place of http://, if the server asks for TLS")
	}
	return e.WithHint("check the base URL and any proxy on the way")
}

// notJSON stands for a 2xx whose body is not the JSON that was asked for.
func notJSON(resp *http.Response, body []byte, err error) *api.Error {
	e := &api.Error{Code: api.CodeUpstreamError,
		Message: fmt.Sprintf("the answer is not what the service gives (%s): %v", glimpse(resp, body), err)}
	return annotate(e.WithHint("check the base URL and any proxy on the way"), resp)
}

// glimpse tells what kind of body came and how it begins.
func glimpse(resp *http.Response, body []byte) string {
	kind := human.Short(resp.Header.Get("Content-Type"), 60)
	if kind == "" {
		kind = "no content type"
	}
	if len(body) == 0 {
		return kind + ", empty"
	}
	return fmt.Sprintf("%s, begins %q", kind, human.Short(string(body), 60))
}

// retryAfter is the Retry-After of h, in seconds or as a date measured against the answer's own Date; 0 if there is none.
func retryAfter(h http.Header) time.Duration {
	value := h.Get(api.HeaderRetryAfter)
	if seconds, err := strconv.ParseInt(value, 10, 32); err == nil {
		return time.Duration(max(seconds, 0)) * time.Second
	}
	at, err := http.ParseTime(value)
	date, errDate := http.ParseTime(h.Get("Date"))
	if err != nil || errDate != nil {
		return 0
	}
	return max(at.Sub(date), 0)
}
