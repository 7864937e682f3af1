package usdg

import (
	"encoding/hex"
	"strings"
)

// ReadHex reads the hash or address text into into and reports whether it is exactly as many bytes in hexadecimal, with 0x or 0X before
// them or without. White space around it does not count.
func ReadHex(text string, into []byte) bool {
	text = strings.TrimSpace(text)
	if len(text) > 2 && (text[:2] == "0x" || text[:2] == "0X") {
		text = text[2:]
	}
	raw, err := hex.DecodeString(text)
	return err == nil && len(raw) == len(into) && copy(into, raw) == len(into)
}

// SameAddress reports whether two texts are the same address, with 0x or without, in whatever case. Texts that are no addresses are never
// the same.
func SameAddress(a, b string) bool {
	const size = 20
	var x, y [size]byte
	return ReadHex(a, x[:]) && ReadHex(b, y[:]) && x == y
}
