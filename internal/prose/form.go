package prose

import (
	"regexp"
	"sync"
)

// Form is a regular expression that is compiled when it is first needed, so that a program that reads no question pays for none.
func Form(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
