// Package prose reads what a text says: its sentences and quotations, the figures in it with their signs, units, scales and spans, the
// names that it has of a list, and which way a figure is said to go.
//
// It is the one reader of all who judge a text, so that a figure is the same to each of them. It knows no state and no pack, keeps
// nothing and reads no clock.
package prose

import (
	"strings"
	"unicode"

	"github.com/contextd/contextd/internal/human"
)

// fold gives the spellings of a space and of a minus one form, so that they compare.
var fold = strings.NewReplacer("\u00a0", " ", "\u202f", " ", "\u2009", " ", "\u2212", "-", "\u2011", "-")

// Fold is t with one form of each sign, so that texts compare.
func Fold(t string) string { return fold.Replace(t) }

// parens takes the brackets from a text, for only anchors have them.
var parens = strings.NewReplacer("[", "(", "]", ")")

// innerQuotes keeps a quoted text from ending its own quotation.
var innerQuotes = strings.NewReplacer("“", "’", "”", "’", `"`, "’")

// Parenthesize replaces brackets by parentheses. Positions stay.
func Parenthesize(s string) string { return parens.Replace(s) }

// Inline makes a text of others fit to stand in a sentence or in a quotation: safe, on one line, without brackets and double quotes.
func Inline(s string) string {
	return innerQuotes.Replace(Parenthesize(human.Label(s, len(s)+1)))
}

// Says reports whether t has something to read.
func Says(t string) bool {
	return strings.ContainsFunc(t, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) })
}
