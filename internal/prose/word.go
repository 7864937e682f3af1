package prose

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Word is a run of letters and digits.
type Word struct {
	Start, End int
	Text       string // in lower case
	Capital    bool   // it starts with a capital letter
}

// Words lists the words of t in order.
func Words(t string) []Word {
	list := make([]Word, 0, len(t)/5)
	start := -1
	end := func(i int) {
		if start >= 0 {
			first, _ := utf8.DecodeRuneInString(t[start:])
			list = append(list, Word{start, i, strings.ToLower(t[start:i]), unicode.IsUpper(first)})
			start = -1
		}
	}
	for i, r := range t {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsNumber(r):
			end(i)
		case start < 0:
			start = i
		}
	}
	end(len(t))
	return list
}

// Stem is a word without the ending of a plural.
func Stem(word string) string {
	switch {
	case len(word) > 4 && strings.HasSuffix(word, "ies"):
		return word[:len(word)-3] + "y"
	case len(word) > 3 && strings.HasSuffix(word, "s") && !strings.HasSuffix(word, "ss"):
		return word[:len(word)-1]
	}
	return word
}

// Count is the number that a word says, in digits or letters.
func Count(word string) (float64, bool) {
	for i, w := range [...]string{"zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
		"thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty"} {
		if w == word {
			return float64(i), true
		}
	}
	for i, w := range [...]string{"thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety", "hundred"} {
		if w == word {
			return float64(10 * (i + 3)), true
		}
	}
	n, err := strconv.Atoi(word)
	return float64(n), err == nil
}
