package daemontest

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/contextd/contextd/internal/devchain"
	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/sdk/wallet"
)

// SignIn is what a wallet sends for the extension sign-in-with-x of a 402, changed before it is signed, and after; nil changes nothing.
func SignIn(t testing.TB, from devchain.Account, offer api.StandardRequired, before, after func(map[string]any)) json.RawMessage {
	t.Helper()
	e := offer.Extensions[api.ExtensionSignIn]
	if len(e.SupportedChains) != 1 || e.Info["nonce"] == nil {
		t.Fatalf("it offers %+v", e)
	}
	v := maps.Clone(e.Info)
	v["chainId"], v["type"], v["address"] = e.SupportedChains[0].ChainID, e.SupportedChains[0].Type, from.Address
	if before != nil {
		before(v)
	}
	text := fmt.Sprintf("%s wants you to sign in with your Ethereum account:\n%s\n\n%s\n\nURI: %s\nVersion: %s\nChain ID: %s\nNonce: %s\n"+
		"Issued At: %s\nExpiration Time: %s", v["domain"], v["address"], v["statement"], v["uri"], v["version"],
		strings.TrimPrefix(fmt.Sprint(v["chainId"]), "eip155:"), v["nonce"], v["issuedAt"], v["expirationTime"])
	key, err := wallet.ParseKey(from.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	if v["signature"], err = key.SignMessage(text); err != nil {
		t.Fatal(err)
	}
	if after != nil {
		after(v)
	}
	sent, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return sent
}
