package api

import (
	"errors"
	"fmt"
	"net/http"
	"time"
)

// Code is the upper-case error code of the envelope. Codes are stable across API versions.
type Code string

// The codes of the specification.
const (
	CodeAuthMissing       Code = "AUTH_MISSING"
	CodeAuthInvalid       Code = "AUTH_INVALID"
	CodeQuotaExhausted    Code = "QUOTA_EXHAUSTED"
	CodePackNotFound      Code = "PACK_NOT_FOUND"
	CodePackNotSubscribed Code = "PACK_NOT_SUBSCRIBED"
	CodeSnapshotNotFound  Code = "SNAPSHOT_NOT_FOUND"
	CodeCitationNotFound  Code = "CITATION_NOT_FOUND"
	CodePaymentRequired   Code = "PAYMENT_REQUIRED"
	CodePaymentInvalid    Code = "PAYMENT_INVALID"
	CodeUpstreamTimeout   Code = "UPSTREAM_TIMEOUT"
	CodeUpstreamError     Code = "UPSTREAM_ERROR"
	CodeValidation        Code = "VALIDATION_ERROR"
	CodeRateLimited       Code = "RATE_LIMITED"
	CodeInternal          Code = "INTERNAL_ERROR"
)

// Codes returns every code of the envelope.
func Codes() []Code {
	return []Code{
		CodeAuthMissing, CodeAuthInvalid, CodeQuotaExhausted, CodePackNotFound, CodePackNotSubscribed, CodeSnapshotNotFound,
		CodeCitationNotFound, CodePaymentRequired, CodePaymentInvalid, CodeUpstreamTimeout, CodeUpstreamError, CodeValidation,
		CodeRateLimited, CodeInternal,
	}
}

// Reason is the lower-case prose code beside Code. It is finer than Code: every reason has one code and one status.
type Reason string

// The reasons.
const (
	ReasonInvalidAt        Reason = "invalid_at"
	ReasonInvalidRef       Reason = "invalid_ref"
	ReasonInvalidQ         Reason = "invalid_q"
	ReasonInvalidK         Reason = "invalid_k"
	ReasonInvalidKind      Reason = "invalid_kind"
	ReasonInvalidLimit     Reason = "invalid_limit"
	ReasonInvalidSince     Reason = "invalid_since"
	ReasonInvalidMin       Reason = "invalid_min"
	ReasonInvalidPath      Reason = "invalid_path"
	ReasonInvalidField     Reason = "invalid_field"
	ReasonInvalidPoints    Reason = "invalid_points"
	ReasonInvalidSpan      Reason = "invalid_span"
	ReasonInvalidMembers   Reason = "invalid_members"
	ReasonInvalidRow       Reason = "invalid_row"
	ReasonInvalidRange     Reason = "invalid_range"
	ReasonInvalidEvery     Reason = "invalid_every"
	ReasonInvalidTable     Reason = "invalid_table" // from here on of query
	ReasonInvalidWhere     Reason = "invalid_where"
	ReasonInvalidOrder     Reason = "invalid_order"
	ReasonInvalidAgg       Reason = "invalid_agg"
	ReasonInvalidOver      Reason = "invalid_over"
	ReasonInvalidText      Reason = "invalid_text"
	ReasonInvalidType      Reason = "invalid_type" // from here on of watches
	ReasonInvalidArguments Reason = "invalid_arguments"
	ReasonInvalidDelivery  Reason = "invalid_delivery"
	ReasonCallbackRefused  Reason = "callback_refused" // the receiver of a webhook did not answer its challenge
	ReasonMissingToken     Reason = "missing_token"    // subscribe without token: 400; a key that is missing elsewhere: see KeyMissing
	ReasonInvalidRequest   Reason = "invalid_request"
	ReasonMalformedProof   Reason = "malformed_proof"
	ReasonPaymentsDisabled Reason = "payments_disabled" // a proof at a service without a chain
	ReasonMissingSession   Reason = "missing_session"
	ReasonInvalidToken     Reason = "invalid_token"
	ReasonInvalidSession   Reason = "invalid_session"
	ReasonKeyRevoked       Reason = "key_revoked"
	ReasonInvalidSignIn    Reason = "invalid_signin"
	ReasonPaymentRequired  Reason = "payment_required"
	ReasonInsufficient     Reason = "insufficient_credits"
	ReasonAmountMismatch   Reason = "amount_mismatch"
	ReasonWrongRecipient   Reason = "wrong_recipient"
	ReasonWrongToken       Reason = "wrong_token"
	ReasonWrongNetwork     Reason = "wrong_network"
	ReasonPayerMismatch    Reason = "payer_mismatch"
	ReasonNonceMismatch    Reason = "nonce_mismatch"
	ReasonTxFailed         Reason = "tx_failed"
	ReasonQuoteExpired     Reason = "quote_expired"
	ReasonAlreadyUsed      Reason = "already_used"
	ReasonBadSignature     Reason = "invalid_signature" // from here on of standard x402
	ReasonNotYetValid      Reason = "not_yet_valid"
	ReasonExpired          Reason = "expired"
	ReasonExpiresTooLate   Reason = "expires_too_late"
	ReasonNoFunds          Reason = "insufficient_funds"
	ReasonAuthUsed         Reason = "authorization_used"
	ReasonUnsettled        Reason = "settlement_failed"
	ReasonIDConflict       Reason = "identifier_conflict"
	ReasonPackAccessDenied Reason = "pack_access_denied"
	ReasonNoScope          Reason = "insufficient_scope" // an agent that has signed in was not allowed it
	ReasonCrossOrigin      Reason = "cross_origin"
	ReasonReauthentication Reason = "reauthentication_required"
	ReasonSignupClosed     Reason = "signup_closed"
	ReasonOwnerDisabled    Reason = "owner_disabled" // a disabled owner who would buy; their keys are key_revoked
	ReasonPackNotFound     Reason = "pack_not_found"
	ReasonSnapshotNotFound Reason = "snapshot_not_found"
	ReasonCitationNotFound Reason = "citation_not_found"
	ReasonNothingFound     Reason = "nothing_found"
	ReasonNotFound         Reason = "not_found"
	ReasonWatchNotFound    Reason = "watch_not_found"
	ReasonDepositNotFound  Reason = "deposit_not_found"
	ReasonKeyNotFound      Reason = "key_not_found"
	ReasonMethodNotAllowed Reason = "method_not_allowed"
	ReasonQuotaExhausted   Reason = "quota_exhausted"
	ReasonDailySpent       Reason = "daily_credits_spent"
	ReasonRateLimited      Reason = "rate_limited"
	ReasonTooManyWatches   Reason = "too_many_watches"
	ReasonInternal         Reason = "internal_error"
	ReasonStateUnavailable Reason = "state_unavailable"
	ReasonBriefUnavailable Reason = "brief_unavailable"
	ReasonPaymentPending   Reason = "payment_pending"
	ReasonSettling         Reason = "settlement_pending"
	ReasonChainUnavailable Reason = "chain_unavailable"
)

// Reasons returns every reason.
func Reasons() []Reason {
	return []Reason{
		ReasonInvalidAt, ReasonInvalidRef, ReasonInvalidQ, ReasonInvalidK, ReasonInvalidKind, ReasonInvalidLimit, ReasonInvalidSince,
		ReasonInvalidMin, ReasonInvalidPath, ReasonInvalidField, ReasonInvalidPoints, ReasonInvalidSpan, ReasonInvalidMembers,
		ReasonInvalidRow, ReasonInvalidRange, ReasonInvalidEvery, ReasonInvalidTable, ReasonInvalidWhere, ReasonInvalidOrder,
		ReasonInvalidAgg, ReasonInvalidOver, ReasonInvalidType, ReasonInvalidArguments, ReasonInvalidDelivery, ReasonCallbackRefused,
		ReasonInvalidText,
		ReasonMissingToken,
		ReasonInvalidRequest,
		ReasonMalformedProof, ReasonPaymentsDisabled, ReasonMissingSession, ReasonInvalidToken, ReasonInvalidSession, ReasonKeyRevoked,
		ReasonInvalidSignIn, ReasonPaymentRequired, ReasonInsufficient, ReasonAmountMismatch, ReasonWrongRecipient,
		ReasonWrongToken, ReasonWrongNetwork, ReasonPayerMismatch, ReasonNonceMismatch, ReasonTxFailed, ReasonQuoteExpired,
		ReasonAlreadyUsed, ReasonBadSignature, ReasonNotYetValid, ReasonExpired, ReasonExpiresTooLate, ReasonNoFunds, ReasonAuthUsed,
		ReasonUnsettled, ReasonIDConflict, ReasonPackAccessDenied, ReasonNoScope, ReasonCrossOrigin, ReasonReauthentication,
		ReasonSignupClosed, ReasonOwnerDisabled,
		ReasonPackNotFound, ReasonSnapshotNotFound, ReasonCitationNotFound, ReasonNothingFound, ReasonNotFound, ReasonWatchNotFound,
		ReasonDepositNotFound, ReasonKeyNotFound, ReasonMethodNotAllowed,
		ReasonQuotaExhausted, ReasonDailySpent, ReasonRateLimited, ReasonTooManyWatches, ReasonInternal, ReasonStateUnavailable,
		ReasonBriefUnavailable, ReasonPaymentPending, ReasonSettling, ReasonChainUnavailable,
	}
}

// Answer returns the envelope code and the HTTP status of r. An unknown reason is an internal error.
func (r Reason) Answer() (Code, int) {
	switch r {
	case ReasonInvalidAt, ReasonInvalidRef, ReasonInvalidQ, ReasonInvalidK, ReasonInvalidKind, ReasonInvalidLimit, ReasonInvalidSince,
		ReasonInvalidMin, ReasonInvalidPath, ReasonInvalidField, ReasonInvalidPoints, ReasonInvalidSpan, ReasonInvalidMembers,
		ReasonInvalidRow, ReasonInvalidRange, ReasonInvalidEvery, ReasonInvalidTable, ReasonInvalidWhere, ReasonInvalidOrder,
		ReasonInvalidAgg, ReasonInvalidOver, ReasonInvalidType, ReasonInvalidArguments, ReasonInvalidDelivery, ReasonCallbackRefused,
		ReasonInvalidText,
		ReasonMissingToken,
		ReasonInvalidRequest:
		return CodeValidation, http.StatusBadRequest
	case ReasonMalformedProof, ReasonPaymentsDisabled:
		return CodePaymentInvalid, http.StatusBadRequest
	case ReasonMissingSession:
		return CodeAuthMissing, http.StatusUnauthorized
	case ReasonInvalidToken, ReasonInvalidSession, ReasonKeyRevoked, ReasonInvalidSignIn:
		return CodeAuthInvalid, http.StatusUnauthorized
	case ReasonPaymentRequired, ReasonInsufficient:
		return CodePaymentRequired, http.StatusPaymentRequired
	case ReasonAmountMismatch, ReasonWrongRecipient, ReasonWrongToken, ReasonWrongNetwork, ReasonPayerMismatch,
		ReasonNonceMismatch, ReasonTxFailed, ReasonQuoteExpired, ReasonAlreadyUsed, ReasonBadSignature, ReasonNotYetValid,
		ReasonExpired, ReasonExpiresTooLate, ReasonNoFunds, ReasonAuthUsed, ReasonUnsettled:
		return CodePaymentInvalid, http.StatusPaymentRequired
	case ReasonPackAccessDenied:
		return CodePackNotSubscribed, http.StatusForbidden
	case ReasonCrossOrigin, ReasonReauthentication, ReasonSignupClosed, ReasonOwnerDisabled, ReasonNoScope:
		return CodeAuthInvalid, http.StatusForbidden
	}
	return r.answerAbsent()
}

// answerAbsent is the part of Answer for what is not there, not now or not again.
func (r Reason) answerAbsent() (Code, int) {
	switch r {
	case ReasonPackNotFound:
		return CodePackNotFound, http.StatusNotFound
	case ReasonSnapshotNotFound:
		return CodeSnapshotNotFound, http.StatusNotFound
	case ReasonCitationNotFound:
		return CodeCitationNotFound, http.StatusNotFound
	case ReasonNothingFound, ReasonNotFound, ReasonWatchNotFound, ReasonDepositNotFound, ReasonKeyNotFound:
		return CodeValidation, http.StatusNotFound
	case ReasonIDConflict:
		return CodePaymentInvalid, http.StatusConflict
	case ReasonMethodNotAllowed:
		return CodeValidation, http.StatusMethodNotAllowed
	case ReasonQuotaExhausted, ReasonDailySpent:
		return CodeQuotaExhausted, http.StatusTooManyRequests
	case ReasonRateLimited, ReasonTooManyWatches:
		return CodeRateLimited, http.StatusTooManyRequests
	case ReasonStateUnavailable, ReasonBriefUnavailable:
		return CodeUpstreamError, http.StatusServiceUnavailable
	case ReasonPaymentPending, ReasonSettling, ReasonChainUnavailable:
		return CodeUpstreamTimeout, http.StatusServiceUnavailable
	}
	return CodeInternal, http.StatusInternalServerError
}

// Error is an error of the API, the same on both sides of the wire: the server answers with it and the client rebuilds it.
type Error struct {
	Code      Code   `json:"code"`
	Reason    Reason `json:"reason,omitempty"`
	Message   string `json:"message"`
	Hint      string `json:"hint,omitempty"` // the next step for the caller
	RequestID string `json:"requestId"`

	// SourceStatus lists the failing sources of a pack, where they are the reason for an unavailable state.
	SourceStatus []SourceStatus `json:"source_status,omitempty"`

	// Notices are what those who sell data of some sources have to say before they are paid.
	Notices []string `json:"notices,omitempty"`

	Status     int                  `json:"-"` // HTTP status
	RetryAfter time.Duration        `json:"-"` // 0 means none was given
	Payment    *PaymentRequirements `json:"-"` // the quote of a 402, where there is one
}

// Errorf makes an error with the given reason, and the code and status of Reason.Answer.
func Errorf(reason Reason, format string, args ...any) *Error {
	code, status := reason.Answer()
	return &Error{Code: code, Reason: reason, Message: fmt.Sprintf(format, args...), Status: status}
}

// KeyMissing makes the error for a call without credentials that needs a key: missing_token, with code AUTH_MISSING and status 401.
func KeyMissing(format string, args ...any) *Error {
	e := Errorf(ReasonMissingToken, format, args...).WithStatus(http.StatusUnauthorized)
	e.Code = CodeAuthMissing
	return e
}

// WithHint sets the next step for the caller and returns e.
func (e *Error) WithHint(format string, args ...any) *Error {
	e.Hint = fmt.Sprintf(format, args...)
	return e
}

// WithStatus overrides the HTTP status, for a body that is too large (413), and returns e.
func (e *Error) WithStatus(status int) *Error {
	e.Status = status
	return e
}

// WithRetryAfter sets the wait before a repetition of the call and returns e.
func (e *Error) WithRetryAfter(d time.Duration) *Error {
	e.RetryAfter = d
	return e
}

// Error returns the reason (or the code if there is none) and the message.
func (e *Error) Error() string {
	name := string(e.Reason)
	if name == "" {
		name = string(e.Code)
	}
	if e.Message == "" {
		return name
	}
	return name + ": " + e.Message
}

// Is reports whether target is an *Error whose Code and Reason, as far as set, are those of e.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	if !ok || t.Code == "" && t.Reason == "" {
		return false
	}
	return (t.Code == "" || t.Code == e.Code) && (t.Reason == "" || t.Reason == e.Reason)
}

// awayRetry is the Retry-After of an answer for which a server was needed that is out of reach.
const awayRetry = 2 * time.Second

// AsError returns the *Error in err's chain. An error without one becomes an *Error that hides the cause, which belongs in the log:
// state_unavailable if an error in the chain has a method Unavailable that reports true, else internal_error.
func AsError(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	var away interface{ Unavailable() bool }
	if errors.As(err, &away) && away.Unavailable() {
		return Errorf(ReasonStateUnavailable, "the database does not answer").
			WithHint("try again after Retry-After").WithRetryAfter(awayRetry)
	}
	return Errorf(ReasonInternal, "the server failed to answer and logged why").
		WithHint("try again; if it fails again, send the operator the request id")
}

// ErrorBody is the body of every 4xx and 5xx answer. Payment is set on a 402 with a quote.
type ErrorBody struct {
	Error   *Error               `json:"error"`
	Payment *PaymentRequirements `json:"payment,omitempty"`
}
