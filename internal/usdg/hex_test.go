package usdg_test

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/contextd/contextd/internal/usdg"
)

func TestReadHex(t *testing.T) {
	t.Parallel()
	hash := strings.Repeat("0a", 32)
	for text, good := range map[string]bool{
		hash: true, "0x" + hash: true, "0X" + strings.ToUpper(hash): true, " 0x" + hash + "\n": true,
		"": false, "0x": false, "0x" + hash[1:]: false, hash[2:]: false, hash + "00": false, "0x0x" + hash[4:]: false, "0x " + hash: false,
		strings.Repeat("0g", 32): false, "-" + hash[1:]: false,
	} {
		var got [32]byte
		if ok := usdg.ReadHex(text, got[:]); ok != good || ok && hex.EncodeToString(got[:]) != hash {
			t.Errorf("%q is read as %x: %v", text, got, ok)
		}
	}
	var address [20]byte
	if !usdg.ReadHex("0x"+hash[:40], address[:]) || usdg.ReadHex(hash, address[:]) {
		t.Error("the length does not count")
	}
}
