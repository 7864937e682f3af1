package sdk

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"unicode"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk/api"
)

// ErrSignIn reports a 402 that offers wallets no sign-in, or one that no wallet should sign.
var ErrSignIn = errors.New("the service offers no sign-in that can be signed")

// signInInfo is what a service has a wallet sign, in the order of the text.
type signInInfo struct {
	Domain, URI, Version, Nonce, IssuedAt, ExpirationTime, NotBefore, RequestID, Statement string
	Resources                                                                              []string
}

// SignIn signs in with a wallet to what r asks for, by the extension sign-in-with-x of the 402 resp, and returns the value of the header
// api.HeaderSignIn of the next attempt. It signs for the host of r alone, by sign, which signs a text by EIP-191; that moves nothing. The
// body of resp can be read afterwards.
func SignIn(r *http.Request, resp *http.Response, address string, sign func(text string) (signature string, err error)) (string, error) {
	required, err := requiredBy(r, resp)
	if err != nil {
		return "", err
	}
	var offer struct {
		Info            json.RawMessage
		SupportedChains []api.SupportedChain
	}
	var info signInInfo
	if required == nil || json.Unmarshal(required.Extensions[api.ExtensionSignIn], &offer) != nil ||
		json.Unmarshal(offer.Info, &info) != nil {
		return "", fmt.Errorf("%w: there is none in its 402", ErrSignIn)
	}
	if err := info.check(r.URL); err != nil {
		return "", fmt.Errorf("%w: %w", ErrSignIn, err)
	}
	for _, chain := range offer.SupportedChains {
		id, ok := strings.CutPrefix(chain.ChainID, "eip155:")
		if !ok || strings.Trim(id, "0123456789") != "" || chain.Type != "eip191" {
			continue
		}
		signature, err := sign(info.text(address, id))
		if err != nil {
			return "", err
		}
		sent := map[string]any{}
		_ = json.Unmarshal(offer.Info, &sent) // which was read before
		sent["chainId"], sent["type"], sent["address"], sent["signature"] = chain.ChainID, chain.Type, address, signature
		text, err := json.Marshal(sent)
		return base64.StdEncoding.EncodeToString(text), err
	}
	return "", fmt.Errorf("%w: it names no chain of Ethereum's kind", ErrSignIn)
}

// check says why a wallet does not sign i for the service at u.
func (i signInInfo) check(u *url.URL) error {
	at, err := url.Parse(i.URI)
	if err != nil || i.Domain != u.Host || at.Host != u.Host || at.Scheme != u.Scheme {
		return fmt.Errorf("it is for %s, and the request goes to %s", human.Short(i.Domain+" at "+i.URI, human.Quoted), u.Host)
	}
	for _, text := range append([]string{i.URI, i.Version, i.Nonce, i.IssuedAt, i.ExpirationTime, i.NotBefore, i.RequestID, i.Statement},
		i.Resources...) {
		if strings.ContainsFunc(text, unicode.IsControl) {
			return errors.New("what it says has more lines than it shows")
		}
	}
	return nil
}

// text is what is signed, by EIP-4361.
func (i signInInfo) text(address, chain string) string {
	text := i.Domain + " wants you to sign in with your Ethereum account:\n" + address + "\n\n"
	if i.Statement != "" {
		text += i.Statement + "\n"
	}
	text += "\nURI: " + i.URI + "\nVersion: " + i.Version + "\nChain ID: " + chain + "\nNonce: " + i.Nonce + "\nIssued At: " + i.IssuedAt
	for _, line := range [][2]string{{"Expiration Time", i.ExpirationTime}, {"Not Before", i.NotBefore}, {"Request ID", i.RequestID}} {
		if line[1] != "" {
			text += "\n" + line[0] + ": " + line[1]
		}
	}
	if len(i.Resources) > 0 {
		text += "\nResources:\n- " + strings.Join(i.Resources, "\n- ")
	}
	return text
}
