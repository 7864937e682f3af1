package web_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/contextd/contextd/daemon/daemontest"
)

// TestForeignPayer pays a quote with nothing but JSON-RPC, HTTP and a library that signs: what somebody writes who has read the
// specification alone.
func TestForeignPayer(t *testing.T) {
	t.Parallel()
	chain := daemontest.Chain(t)
	d := daemontest.Start(t, daemontest.On(chain))
	secret, err := crypto.HexToECDSA(strings.TrimPrefix(chain.Wallet().PrivateKey, "0x"))
	if err != nil {
		t.Fatal(err)
	}
	post := func(url, body string) (text []byte) {
		t.Helper()
		res, err := http.Post(url, "application/json", strings.NewReader(body))
		if err == nil {
			defer res.Body.Close()
			text, err = io.ReadAll(res.Body)
		}
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	rpc := func(method, params string) (result string) {
		t.Helper()
		var answer struct{ Result, Error json.RawMessage }
		text := post(chain.URL(), fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params))
		if err := json.Unmarshal(text, &answer); err != nil || answer.Error != nil {
			t.Fatalf("%s: %s", method, text)
		}
		_ = json.Unmarshal(answer.Result, &result) // "" where it is no text
		if result == "" {
			result = string(answer.Result)
		}
		return result
	}
	number := func(text string) *big.Int {
		n, _ := new(big.Int).SetString(strings.TrimPrefix(text, "0x"), 16)
		return n
	}

	res, err := http.Get(d.URL() + "/v1/brief")
	if err != nil {
		t.Fatal(err)
	}
	var asked struct {
		Payment struct{ Amount, Recipient, Nonce string }
	}
	err = json.NewDecoder(res.Body).Decode(&asked)
	_ = res.Body.Close()
	if err != nil || res.StatusCode != http.StatusPaymentRequired || asked.Payment.Amount != "0.005" {
		t.Fatalf("%d %+v, %v", res.StatusCode, asked, err)
	}
	from := crypto.PubkeyToAddress(secret.PublicKey)
	data := common.FromHex("a9059cbb" + strings.Repeat("0", 24) + asked.Payment.Recipient[2:] + fmt.Sprintf("%064x", 5_000) + asked.Payment.Nonce[2:])
	to := common.HexToAddress(chain.Token())
	signed, err := types.SignNewTx(secret, types.LatestSignerForChainID(number(rpc("eth_chainId", "[]"))), &types.LegacyTx{
		Nonce: number(rpc("eth_getTransactionCount", fmt.Sprintf(`[%q,"pending"]`, from.Hex()))).Uint64(), GasPrice: new(big.Int).Lsh(number(rpc("eth_gasPrice", "[]")), 1),
		Gas: 100_000, To: &to, Data: data,
	})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := signed.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	hash := rpc("eth_sendRawTransaction", fmt.Sprintf(`["0x%s"]`, hex.EncodeToString(raw)))
	for end := time.Now().Add(2 * time.Minute); rpc("eth_getTransactionReceipt", fmt.Sprintf(`[%q]`, hash)) == "null"; {
		if time.Now().After(end) {
			t.Fatal("the transaction is not mined")
		}
		time.Sleep(20 * time.Millisecond)
	}
	proof := base64.StdEncoding.EncodeToString(fmt.Appendf(nil, `{"scheme":"x402","network":"l2chain","txHash":%q,"payer":%q}`, hash, strings.ToLower(from.Hex())))
	var bodies [2][]byte
	for i := range bodies {
		req, err := http.NewRequest(http.MethodGet, d.URL()+"/v1/brief", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Payment", proof)
		res, err := http.DefaultClient.Do(req)
		if err == nil {
			bodies[i], err = io.ReadAll(res.Body)
			_ = res.Body.Close()
		}
		if err != nil || res.StatusCode != http.StatusOK || !bytes.Contains(bodies[i], []byte(`"brief":"`)) {
			t.Fatalf("%s, %v", bodies[i], err)
		}
	}
	if !bytes.Equal(bodies[0], bodies[1]) {
		t.Error("the same proof has another answer")
	}
}
