package chain_test

import (
	"math/big"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/accounts"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/contextd/contextd/daemon/chain"
)

func TestChecksum(t *testing.T) {
	t.Parallel()
	// Spellings from the text of EIP-55.
	for _, want := range []string{
		"0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
		"0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB", "0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb",
	} {
		for _, given := range []string{want, strings.ToLower(want), "0x" + strings.ToUpper(want[2:])} {
			if got, err := chain.Checksum(given); got != want || err != nil {
				t.Errorf("%s is spelled %s, %v; want %s", given, got, err, want)
			}
		}
	}
	for _, bad := range []string{
		"", "0x", "5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD", "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAe",
		"0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAedd", "0X5aaeb6053f3e94c9b9a09f33669435e7ef1beaed", "0xgaaeb6053f3e94c9b9a09f33669435e7ef1beaed",
	} {
		if got, err := chain.Checksum(bad); err == nil {
			t.Errorf("%q is taken for address %s", bad, got)
		}
	}
}

func TestRecover(t *testing.T) {
	t.Parallel()
	key, err := crypto.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	const text = "Sign in\n\nÄ"
	sig, err := crypto.Sign(accounts.TextHash([]byte(text)), key)
	if err != nil {
		t.Fatal(err)
	}
	want := crypto.PubkeyToAddress(key.PublicKey).Hex()
	wallet := append([]byte{}, sig...)
	wallet[64] += 27
	for _, given := range [][]byte{sig, wallet} {
		if got, err := chain.Recover(text, hexutil.Encode(given)); got != want || err != nil {
			t.Errorf("recovered %s, %v; want %s", got, err, want)
		}
	}
	if got, err := chain.Recover(text+" ", hexutil.Encode(sig)); err == nil && got == want {
		t.Error("another text has the same signer")
	}
	high := append([]byte{}, sig...)
	s := new(big.Int).Sub(crypto.S256().Params().N, new(big.Int).SetBytes(sig[32:64]))
	s.FillBytes(high[32:64])
	high[64] ^= 1
	for what, bad := range map[string]string{
		"nothing": "", "no 0x": hexutil.Encode(sig)[2:], "short": hexutil.Encode(sig[:64]), "long": hexutil.Encode(append(sig, 0)),
		"recovery id": hexutil.Encode(append(append([]byte{}, sig[:64]...), 7)), "high s": hexutil.Encode(high), "zeros": hexutil.Encode(make([]byte, 65)),
	} {
		t.Run(what, func(t *testing.T) {
			if got, err := chain.Recover(text, bad); err == nil {
				t.Errorf("%s: recovered %s", what, got)
			}
		})
	}
}
