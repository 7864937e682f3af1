package view

import (
	"strings"

	"rsc.io/qr"
)

// QuietZone is how many modules of white belong around a code. Most readers find one with half of it.
const QuietZone = 4

// onWhite are the colours of a code: black on white whatever the theme.
const onWhite Style = "30;107"

// QRCode draws text as a QR code with quiet modules of white around it, in lines that are equally wide; none if text is too long
// for one. Without colour, white is drawn and black is left out, for light text on a dark terminal.
func QRCode(text string, quiet int, colour bool) []string {
	code, err := qr.Encode(text, qr.L)
	if err != nil {
		return nil
	}
	size := code.Size + 2*quiet
	ink := func(x, y int) bool { // outside of the code all is white, and below its last line there is nothing
		return y < size && code.Black(x-quiet, y-quiet) == colour
	}
	var lines []string
	for y := 0; y < size; y += 2 {
		var b strings.Builder
		for x := range size {
			switch upper, lower := ink(x, y), ink(x, y+1); {
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
		line := b.String()
		if colour {
			line = onWhite.On(line)
		}
		lines = append(lines, line)
	}
	return lines
}
