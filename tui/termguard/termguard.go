// Package termguard keeps programs from questioning the terminal merely because they can draw on it.
//
// On import, Bubble Tea asks the terminal for its background and waits up to five seconds for an answer: that would make every
// command of ctx slow where a terminal does not answer, and the answer could end up in what the user typed. The library asks no
// terminal whose TERM begins with "dumb". So this package puts that word before TERM while packages are initialised, and package
// tui takes it away again.
//
// The order is certain: Go initialises packages by import path, as soon as what they import is ready. What this package imports
// is imported by termenv too, which Bubble Tea needs, and its path comes before that of termenv. That is why it is a package of its
// own: files of tui are initialised after all that tui imports, when the question has been asked.
package termguard

import (
	"os"
	"strings"
)

// held is what TERM begins with while packages are initialised.
const held = "dumb while packages are initialised "

var _ = hold()

func hold() error { return os.Setenv("TERM", held+os.Getenv("TERM")) }

// Release shows the terminal again. A second call does nothing.
func Release() error {
	if term, ok := strings.CutPrefix(os.Getenv("TERM"), held); ok {
		return os.Setenv("TERM", term)
	}
	return nil
}
