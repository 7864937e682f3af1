package prose

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Flat is a text with one form of each sign, space and digit, and the way back to the text that it was made of.
type Flat struct {
	Text string
	at   []int32 // of each byte of Text, the code point that it was made of; one more for the end
}

// At is the place in code points, in the text that f was made of, of byte i of f.Text.
func (f *Flat) At(i int) int { return int(f.at[i]) }

// Flatten folds the digits of other scripts, full-width signs, the spellings of a space, of a minus and of a percent to ASCII. What cannot
// be seen goes, so that no figure is hidden by it.
func Flatten(t string) *Flat {
	f := &Flat{at: make([]int32, 0, len(t)+1)}
	var b strings.Builder
	b.Grow(len(t))
	n, last := int32(0), rune(0)
	for i := 0; i < len(t); n++ {
		r, size := utf8.DecodeRuneInString(t[i:])
		i += size
		if r = flat(r); r < 0 {
			continue
		}
		if unicode.IsLetter(r) && unicode.IsLetter(last) && unspaced(r) != unspaced(last) { // Bitcoinは
			f.at = append(f.at, n)
			b.WriteByte(' ')
		}
		last = r
		for range max(utf8.RuneLen(r), 1) {
			f.at = append(f.at, n)
		}
		b.WriteRune(r)
	}
	f.Text, f.at = b.String(), append(f.at, n)
	return f
}

// flat is the ASCII form of r where it has one, and -1 where nothing of it can be seen.
func flat(r rune) rune {
	if r < utf8.RuneSelf {
		return r
	}
	switch r {
	case '\u00a0', '\u202f', '\u2009', '\u2007', '\u3000':
		return ' '
	case '\u2212', '\u2011', '\ufe63', '\uff0d':
		return '-'
	case '٪', '％', '﹪':
		return '%'
	case '٫':
		return '.'
	case '٬', '，':
		return ','
	case '＄', '﹩':
		return '$'
	case '．':
		return '.'
	case '＋':
		return '+'
	}
	if unicode.Is(unicode.Nd, r) {
		return '0' + digitOf(r)
	}
	if unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Mn, r) && r >= '\ufe00' && r <= '\ufe0f' {
		return -1
	}
	return r
}

// digitOf is the value of a decimal digit of any script: they stand in rows of ten.
func digitOf(r rune) rune {
	for _, t := range unicode.Nd.R16 {
		if rune(t.Lo) <= r && r <= rune(t.Hi) {
			return (r - rune(t.Lo)) % 10
		}
	}
	for _, t := range unicode.Nd.R32 {
		if rune(t.Lo) <= r && r <= rune(t.Hi) {
			return (r - rune(t.Lo)) % 10
		}
	}
	return 0
}
