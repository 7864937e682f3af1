package ground

import (
	"regexp"
	"strings"

	"golang.org/x/net/idna"
	"golang.org/x/net/publicsuffix"
)

var (
	link   = regexp.MustCompile(`(?i)\]\([^)\n]*\)|\b[a-z][a-z0-9+.-]*://[^\s\])]*|\bwww\.[^\s\])]+|[\pL\pN._%+-]*[\pL\pN]@[\pL\pN][\pL\pN.-]*`)
	dotted = regexp.MustCompile(`[\pL\pN][\pL\pN-]*(?:\.[\pL\pN-]+)+`)
)

// addresses lists where t has links, mail addresses and domains, each place once.
func addresses(t string) [][]int {
	list := link.FindAllStringIndex(t, -1)
	for _, m := range dotted.FindAllStringIndex(t, -1) {
		end := m[0] + domainLength(t[m[0]:m[1]])
		within := false
		for _, l := range list {
			within = within || l[0] < end && m[0] < l[1]
		}
		if end > m[0] && !within {
			list = append(list, []int{m[0], end})
		}
	}
	return list
}

// domainLength is the length of the domain that words with points between them start with: up to the last ending that is given out
// to anybody, so that Node.js and U.S. are none. It is 0 if there is no such ending.
func domainLength(words string) int {
	length := 0
	for at := strings.IndexByte(words, '.'); at >= 0 && at < len(words); {
		label, _, _ := strings.Cut(words[at+1:], ".")
		ending, _, _ := strings.Cut(label, "-") // example.com-like
		if isEnding(ending) {
			length = at + 1 + len(ending)
		}
		at += 1 + len(label)
	}
	return length
}

// isEnding reports whether domains end in label, of any script.
func isEnding(label string) bool {
	ascii, err := idna.ToASCII(strings.ToLower(label))
	if err != nil || ascii == "" {
		return false
	}
	_, official := publicsuffix.PublicSuffix("example." + ascii) // below it, because some endings have only such
	return official
}
