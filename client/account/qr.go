package account

import (
	"strings"

	"rsc.io/qr"
)

// quiet is how many modules of white are around a code, without which readers do not find it.
const quiet = 4

// drawQR is text as a QR code of half blocks, black on white whatever the theme, or "" if it does not fit into width columns.
func drawQR(text string, width int) string {
	code, err := qr.Encode(text, qr.L)
	if err != nil || code.Size+2*quiet > width {
		return ""
	}
	black := func(x, y int) bool { return code.Black(x-quiet, y-quiet) } // outside of it all is white
	var b strings.Builder
	for y := 0; y < code.Size+2*quiet; y += 2 {
		b.WriteString("\x1b[30;107m")
		for x := range code.Size + 2*quiet {
			switch upper, lower := black(x, y), black(x, y+1); {
			case upper && lower:
				b.WriteRune('█')
			case upper:
				b.WriteRune('▀')
			case lower:
				b.WriteRune('▄')
			default:
				b.WriteRune(' ')
			}
		}
		b.WriteString("\x1b[0m\n")
	}
	return b.String()
}
