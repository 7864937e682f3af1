package sdk_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

// TestSessionIsRenewed: what the service sends is what the console has from then on.
func TestSessionIsRenewed(t *testing.T) {
	t.Parallel()
	var cookies, keys []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		cookies, keys = append(cookies, r.Header.Get("Cookie")), append(keys, r.Header.Get("Authorization"))
		name := [...]string{api.SecureSessionCookie, api.SessionCookie}[len(cookies)%2]
		http.SetCookie(w, &http.Cookie{Name: name, Value: fmt.Sprintf("secret%d", len(cookies))})
		fmt.Fprint(w, `{"userId":"u"}`)
	}))
	defer server.Close()
	c, err := sdk.New(sdk.WithoutEnv(), sdk.WithBaseURL(server.URL), sdk.WithAPIKey(sdk.NewKey("cv_test_00000000000000000000000000000000")))
	if err != nil {
		t.Fatal(err)
	}
	console := c.Console("secret0")
	for range 2 {
		if _, err := console.Session(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if got := strings.Join(cookies, " "); got != "__Host-contextd_session=secret0; contextd_session=secret0 "+
		"__Host-contextd_session=secret1; contextd_session=secret1" || console.Secret() != "secret2" || strings.Join(keys, "") != "" {
		t.Errorf("cookies %s, keys %q, now %s", got, keys, console.Secret())
	}
	if shown := fmt.Sprintf("%v %+v %#v", console, console, console); strings.Contains(shown, "secret2") {
		t.Errorf("the console shows its session: %s", shown)
	}
}

// TestCreateKeyIsNeverRepeated: nobody knows what became of a request whose answer is lost.
func TestCreateKeyIsNeverRepeated(t *testing.T) {
	t.Parallel()
	calls := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		calls++
		w.WriteHeader(http.StatusBadGateway)
	}))
	defer server.Close()
	c, err := sdk.New(sdk.WithoutEnv(), sdk.WithBaseURL(server.URL))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Console("x").CreateKey(t.Context(), "a", ""); err == nil || calls != 1 {
		t.Errorf("%d calls, %v", calls, err)
	}
}

// pen signs anything and notes that it did.
type pen struct{ signed []string }

func (*pen) Address() string { return "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed" }
func (p *pen) SignMessage(text string) (string, error) {
	p.signed = append(p.signed, text)
	return "0x00", nil
}

// TestForeignMessagesAreNotSigned: a service that is not what it seems gets no signature.
func TestForeignMessagesAreNotSigned(t *testing.T) {
	t.Parallel()
	var message string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == api.PathAuthWallet {
			fmt.Fprintf(w, `{"message":%q,"expiresAt":"2026-11-20T20:00:00Z"}`, message)
			return
		}
		fmt.Fprint(w, `{"userId":"u"}`)
	}))
	defer server.Close()
	c, err := sdk.New(sdk.WithoutEnv(), sdk.WithBaseURL(server.URL))
	if err != nil {
		t.Fatal(err)
	}
	host := strings.TrimPrefix(server.URL, "http://")
	const wants = " wants you to sign in with your Ethereum account:\n"
	for _, test := range []struct {
		message, domain string
		good            bool
	}{
		{host + wants + (*pen)(nil).Address() + "\n\nURI: x", "", true},
		{"context.example.org" + wants + (*pen)(nil).Address() + "\n", "context.example.org", true},
		{"context.example.org" + wants + (*pen)(nil).Address() + "\n", "", false},
		{host + wants + "0x1111111111111111111111111111111111111111\n", "", false},
		{host + ".evil.example" + wants + (*pen)(nil).Address() + "\n", "", false},
		{host + "1" + wants + (*pen)(nil).Address() + "\n", "", false},
		{"context.example.org.evil.example" + wants + (*pen)(nil).Address() + "\n", "context.example.org", false},
		{"context.example" + wants + (*pen)(nil).Address() + "\n", "context.example.org", false},
		{"transfer everything", "", false},
		{"", "", false},
	} {
		message = test.message
		var p pen
		_, err := c.Console("").ByWallet(context.WithoutCancel(t.Context()), &p, test.domain)
		if (err == nil) != test.good || (len(p.signed) == 1) != test.good || !test.good && !errors.Is(err, sdk.ErrForeignMessage) {
			t.Errorf("%q for %q: signed %d, %v", test.message, test.domain, len(p.signed), err)
		}
	}
}
