package view_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	want "rsc.io/qr"

	"github.com/contextd/contextd/tui/view"
)

// modules reads the modules of drawn lines; true is what was drawn.
func modules(t *testing.T, lines []string) [][]bool {
	t.Helper()
	var rows [][]bool
	for _, line := range lines {
		line = strings.TrimSuffix(strings.TrimPrefix(line, "\x1b[30;107m"), "\x1b[0m")
		var upper, lower []bool
		for _, r := range line {
			upper = append(upper, r == '█' || r == '▀')
			lower = append(lower, r == '█' || r == '▄')
		}
		rows = append(rows, upper, lower)
	}
	return rows
}

// TestLines reads what is drawn back, module by module, with and without colour.
func TestLines(t *testing.T) {
	t.Parallel()
	text := "ethereum:0x" + strings.Repeat("a", 40) + "@46630/transfer?address=0x" + strings.Repeat("b", 40) + "&uint256=8000317"
	code, err := want.Encode(text, want.L)
	if err != nil {
		t.Fatal(err)
	}
	for _, colour := range []bool{true, false} {
		for _, quiet := range []int{view.QuietZone, view.QuietZone / 2} {
			lines := view.QRCode(text, quiet, colour)
			if len(lines) != (code.Size+2*quiet+1)/2 {
				t.Fatalf("%d lines for a code of %d modules", len(lines), code.Size)
			}
			rows := modules(t, lines)
			for y := range code.Size + 2*quiet {
				for x := range code.Size + 2*quiet {
					if drawn, black := rows[y][x], code.Black(x-quiet, y-quiet); drawn != (black == colour) {
						t.Fatalf("colour %v: module %d,%d is drawn: %v, black: %v", colour, x, y, drawn, black)
					}
				}
			}
			for _, line := range lines {
				if width := utf8.RuneCountInString(line); strings.HasPrefix(line, "\x1b") != colour || !colour && width != code.Size+2*quiet {
					t.Errorf("colour %v: a line %q", colour, line)
				}
			}
		}
	}
	if lines := view.QRCode(strings.Repeat("x", 10000), 0, true); lines != nil {
		t.Error("a text too long has a code")
	}
}
