package sdk_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

// apiError returns the *api.Error in err.
func apiError(t *testing.T, err error) *api.Error {
	t.Helper()
	var e *api.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want an *api.Error", err)
	}
	return e
}

// TestEnvelope checks that what the server says of an error arrives whole.
func TestEnvelope(t *testing.T) {
	t.Parallel()
	quote := &api.PaymentRequirements{Scheme: api.SchemeX402, Amount: "0.001"}
	client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "7")
		e := api.Errorf(api.ReasonPaymentRequired, "pay").WithHint("buy %s", "credits")
		e.RequestID = "0000"
		answer(w, 402, api.ErrorBody{Error: e, Payment: quote})
	})
	var meta sdk.Response
	_, err := client.Fresh(t.Context(), "", sdk.WithResponse(&meta))
	e := apiError(t, err)
	if e.Code != api.CodePaymentRequired || e.Reason != api.ReasonPaymentRequired || e.Message != "pay" || e.Hint != "buy credits" ||
		e.RequestID != "0000" || e.Status != 402 || e.RetryAfter != 7*time.Second || e.Payment == nil || e.Payment.Amount != "0.001" {
		t.Errorf("rebuilt %+v", e)
	}
	if meta.Status != 402 || len(meta.Body) == 0 {
		t.Errorf("the HTTP side of a failure is %+v", meta)
	}
}

// sentinels are the exported errors by what the server answers for each.
func sentinels() map[api.Reason]error {
	return map[api.Reason]error{
		api.ReasonInvalidToken: sdk.ErrInvalidToken, api.ReasonKeyRevoked: sdk.ErrKeyRevoked,
		api.ReasonPaymentRequired: sdk.ErrPaymentRequired, api.ReasonInsufficient: sdk.ErrInsufficientCredits,
		api.ReasonPackAccessDenied: sdk.ErrPackAccessDenied, api.ReasonQuotaExhausted: sdk.ErrQuotaExhausted,
		api.ReasonRateLimited: sdk.ErrRateLimited, api.ReasonPackNotFound: sdk.ErrPackNotFound,
		api.ReasonSnapshotNotFound: sdk.ErrSnapshotNotFound, api.ReasonCitationNotFound: sdk.ErrCitationNotFound,
		api.ReasonStateUnavailable: sdk.ErrStateUnavailable, api.ReasonBriefUnavailable: sdk.ErrBriefUnavailable,
		api.ReasonInvalidAt: sdk.ErrInvalidRequest,
	}
}

func TestSentinels(t *testing.T) {
	t.Parallel()
	for reason, want := range sentinels() {
		for _, lowerCode := range []bool{false, true} {
			client := serve(t, func(w http.ResponseWriter, r *http.Request) {
				e := api.Errorf(reason, "no")
				if lowerCode {
					e.Code, e.Reason = api.Code(reason), ""
				}
				answer(w, e.Status, api.ErrorBody{Error: e})
			}, sdk.WithRetries(0))
			_, err := client.Brief(t.Context(), "")
			for other, sentinel := range sentinels() {
				is := errors.Is(err, sentinel)
				if is != (sentinel == want) {
					t.Errorf("%s (lower-case code: %v) is %s: %v; %v", reason, lowerCode, other, is, err)
				}
			}
		}
	}
}

// TestForeignAnswers checks answers that no context service gives.
func TestForeignAnswers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		kind   string
		body   string
		want   []string // in message and hint
		code   api.Code
	}{
		"page of a proxy":   {502, "text/html", "<html>\x1b[31m<h1>Bad\n  Gateway</h1>", []string{"502", "text/html", "<html><h1>Bad Gateway</h1>", "proxy"}, api.CodeUpstreamError},
		"gateway timeout":   {504, "text/plain", "", []string{"504", "empty"}, api.CodeUpstreamTimeout},
		"throttled":         {429, "text/plain", "Throttled", []string{"Throttled"}, api.CodeRateLimited},
		"other JSON":        {404, "application/json", `{"detail":"Not Found"}`, []string{"404 Not Found", "detail"}, api.CodeUpstreamError},
		"error is text":     {403, "application/json", `{"error":"forbidden"}`, []string{"403"}, api.CodeUpstreamError},
		"captive portal":    {200, "text/html", "<html>Log in", []string{"not what the service gives", "Log in", "proxy"}, api.CodeUpstreamError},
		"long page":         {500, "text/html", strings.Repeat("x", 500), []string{strings.Repeat("x", 59) + "…"}, api.CodeUpstreamError},
		"more than allowed": {200, "application/json", strings.Repeat(" ", 8<<20) + "{}", []string{"longer than 8 MiB"}, api.CodeUpstreamError},
		"quote alone":       {402, "application/json", `{"payment":{"amount":"0.005"}}`, []string{"needs a payment"}, api.CodePaymentRequired},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := serve(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", c.kind)
				w.WriteHeader(c.status)
				w.Write([]byte(c.body))
			}, sdk.WithRetries(0))
			_, err := client.Brief(t.Context(), "")
			e := apiError(t, err)
			if e.Status != c.status || e.Code != c.code {
				t.Errorf("status %d, code %s", e.Status, e.Code)
			}
			if c.status == 402 && (e.Payment == nil || e.Payment.Amount != "0.005") {
				t.Errorf("quote %+v", e.Payment)
			}
			for _, want := range c.want {
				if !strings.Contains(e.Message+e.Hint, want) {
					t.Errorf("%q (%s) lacks %q", e.Message, e.Hint, want)
				}
			}
			if strings.ContainsRune(e.Error(), '\x1b') {
				t.Errorf("%q would speak to a terminal", e.Error())
			}
		})
	}
}

// TestRetryAfterDate checks the date form, which is measured against the answer's own clock.
func TestRetryAfterDate(t *testing.T) {
	t.Parallel()
	date := time.Date(2026, 11, 20, 20, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		date.Add(90 * time.Second).Format(http.TimeFormat): 90 * time.Second,
		date.Add(-time.Hour).Format(http.TimeFormat):       0,
		"120": 2 * time.Minute, "-5": 0, "soon": 0, "99999999999": 0, "": 0,
	} {
		client := serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Date", date.Format(http.TimeFormat))
			w.Header().Set("Retry-After", value)
			answer(w, 429, api.ErrorBody{Error: api.Errorf(api.ReasonRateLimited, "slow")})
		}, sdk.WithRetries(0))
		_, err := client.Brief(t.Context(), "")
		if got := apiError(t, err).RetryAfter; got != want {
			t.Errorf("Retry-After %q is %s, want %s", value, got, want)
		}
	}
}

// TestTransportError checks what a caller can tell when nothing answers.
func TestTransportError(t *testing.T) {
	t.Parallel()
	cause := fmt.Errorf("no route")
	client, err := sdk.New(sdk.WithoutEnv(), sdk.WithBaseURL("http://nowhere.example"), sdk.WithRetries(0),
		sdk.WithHTTPClient(&http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) { return nil, cause })}))
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.Brief(t.Context(), "ai")
	var lost *sdk.TransportError
	if !errors.As(err, &lost) || !errors.Is(err, cause) || lost.Timeout() || lost.Attempts != 1 {
		t.Fatalf("got %#v", err)
	}
	if want := "get http://nowhere.example/v1/brief?pack=ai: no route"; err.Error() != want {
		t.Errorf("says %q, want %q", err, want)
	}
}

// TestErrorsAreListed checks that no sentinel is forgotten above.
func TestErrorsAreListed(t *testing.T) {
	t.Parallel()
	var told []string
	for _, sentinel := range sentinels() {
		told = append(told, fmt.Sprint(sentinel))
	}
	slices.Sort(told)
	if len(slices.Compact(told)) != len(sentinels()) {
		t.Errorf("two sentinels say the same: %q", told)
	}
}
