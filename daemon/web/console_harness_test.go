package web_test

import (
	"cmp"
	"crypto/ecdsa"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/accounts"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/sdk/api"
)

// user calls the console of a daemon and keeps its cookie.
type user struct {
	t      testing.TB
	d      *daemontest.Daemon
	cookie string            // its name
	secret string            // of the session, "" if there is none
	header map[string]string // of every request
}

// newUser is somebody without a session.
func newUser(t testing.TB, d *daemontest.Daemon) *user {
	return &user{t: t, d: d, header: map[string]string{}}
}

// call sends body, as JSON unless it is text, and keeps the cookie of the answer.
func (u *user) call(method, path string, body any) answer {
	u.t.Helper()
	text, ok := body.(string)
	if !ok && body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			u.t.Fatal(err)
		}
		text = string(encoded)
	}
	req, err := http.NewRequestWithContext(u.t.Context(), method, u.d.URL()+path, strings.NewReader(text))
	if err != nil {
		u.t.Fatal(err)
	}
	for name, value := range u.header {
		req.Header.Set(name, value)
	}
	if host := u.header["Host"]; host != "" {
		req.Host = host
	}
	if u.secret != "" {
		req.AddCookie(&http.Cookie{Name: cmp.Or(u.cookie, api.SessionCookie), Value: u.secret})
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		u.t.Fatal(err)
	}
	defer res.Body.Close()
	got := answer{Status: res.StatusCode, Header: res.Header}
	if got.Body, err = io.ReadAll(res.Body); err != nil {
		u.t.Fatal(err)
	}
	for _, c := range res.Cookies() {
		u.cookie, u.secret = c.Name, c.Value
	}
	return got
}

// into decodes an answer that must have the given status.
func (u *user) into(got answer, status int, v any) {
	u.t.Helper()
	if got.Status != status {
		u.t.Fatalf("status %d: %s; want %d", got.Status, got.Body, status)
	}
	if v != nil {
		if err := json.Unmarshal(got.Body, v); err != nil {
			u.t.Fatalf("%v: %s", err, got.Body)
		}
	}
}

// refused checks that an answer is the envelope for reason.
func (u *user) refused(got answer, reason api.Reason) {
	u.t.Helper()
	code, status := reason.Answer()
	var body api.ErrorBody
	if err := json.Unmarshal(got.Body, &body); err != nil || body.Error == nil {
		u.t.Fatalf("status %d, no envelope: %s", got.Status, got.Body)
	}
	e := body.Error
	if got.Status != status || e.Code != code || e.Reason != reason || e.Message == "" || e.Hint == "" || e.RequestID != got.Header.Get(api.HeaderRequestID) {
		u.t.Errorf("status %d: %s; want %d %s %s with message, hint and request id", got.Status, got.Body, status, code, reason)
	}
	if (got.Header.Get(api.HeaderRetryAfter) != "") != (status == http.StatusTooManyRequests) {
		u.t.Errorf("status %d with Retry-After %q", status, got.Header.Get(api.HeaderRetryAfter))
	}
}

// signIn signs u in by mail.
func (u *user) signIn(email string) api.Session {
	u.t.Helper()
	u.into(u.call(http.MethodPost, api.PathAuthEmail, api.EmailSignInRequest{Email: email}), http.StatusAccepted, nil)
	var session api.Session
	u.into(u.call(http.MethodPost, api.PathAuthEmailVerify, api.EmailVerifyRequest{Token: u.d.MailedToken(u.t, email)}), http.StatusOK, &session)
	return session
}

// wallet is a key that signs.
type wallet struct {
	key     *ecdsa.PrivateKey
	address string
}

func newWallet(t testing.TB) wallet {
	t.Helper()
	key, err := crypto.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	return wallet{key, crypto.PubkeyToAddress(key.PublicKey).Hex()}
}

// sign signs text as wallets do.
func (w wallet) sign(t testing.TB, text string) string {
	t.Helper()
	sig, err := crypto.Sign(accounts.TextHash([]byte(text)), w.key)
	if err != nil {
		t.Fatal(err)
	}
	sig[64] += 27
	return hexutil.Encode(sig)
}

// message asks for the text that w has to sign.
func (u *user) message(w wallet) api.WalletSignInResponse {
	u.t.Helper()
	var m api.WalletSignInResponse
	u.into(u.call(http.MethodPost, api.PathAuthWallet, api.WalletSignInRequest{Address: w.address}), http.StatusOK, &m)
	return m
}

// byWallet signs u in, or adds w where u is signed in.
func (u *user) byWallet(w wallet) answer {
	u.t.Helper()
	text := u.message(w).Message
	return u.call(http.MethodPost, api.PathAuthWalletVerify, api.WalletVerifyRequest{Message: text, Signature: w.sign(u.t, text)})
}
