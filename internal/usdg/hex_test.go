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

func TestSameAddress(t *testing.T) {
	t.Parallel()
	const address = "0xAbCd000000000000000000000000000000000001"
	for other, same := range map[string]bool{
		address: true, strings.ToLower(address): true, "0X" + strings.ToUpper(address[2:]): true, address[2:]: true, " " + address: true,
		"0xabcd000000000000000000000000000000000002": false, address[:40]: false, address + "00": false, "": false,
	} {
		t.Run(other, func(t *testing.T) {
			t.Parallel()
			if usdg.SameAddress(address, other) != same || usdg.SameAddress(other, address) != same {
				t.Errorf("%s and %s: want %v", address, other, same)
			}
		})
	}
	if usdg.SameAddress("", "") || usdg.SameAddress("none", "none") {
		t.Error("what is no address is the same as itself")
	}
}
