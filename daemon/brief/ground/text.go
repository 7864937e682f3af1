// Package ground checks a text against the state it is about: every anchor [N] names a source, every sentence that states
// something has one, and every figure occurs in the rows of the state that the anchors of its sentence point to.
//
// It is what stands between any writer of briefs, a language model above all, and publication. It knows no pack, takes any text
// and any JSON, keeps nothing and reads no clock. Package brief offers it as brief.Check.
package ground

import (
	"strings"

	"github.com/contextd/contextd/internal/human"
)

// fold gives the spellings of a space and of a minus one form, so that they compare.
var fold = strings.NewReplacer("\u00a0", " ", "\u202f", " ", "\u2009", " ", "\u2212", "-", "\u2011", "-")

// parens takes the brackets from a text, for only anchors have them.
var parens = strings.NewReplacer("[", "(", "]", ")")

// innerQuotes keeps a quoted text from ending its own quotation.
var innerQuotes = strings.NewReplacer("“", "’", "”", "’", `"`, "’")

// parenthesize replaces brackets by parentheses. Positions stay.
func parenthesize(s string) string { return parens.Replace(s) }

// Inline makes a text of the state fit to stand in a sentence or in a quotation: safe, on one line, without brackets and double
// quotes. Check knows a text again that was changed so.
func Inline(s string) string {
	return innerQuotes.Replace(parenthesize(human.Label(s, len(s)+1)))
}
