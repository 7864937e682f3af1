// Package policy holds tests only: the rules of the repository's architecture as failing tests. They say who may import what,
// how large files, functions, interfaces and packages may be, where a clock may be read, and what has to carry a comment.
//
// It parses the hand-written, non-test Go files of the module and never builds or runs them, so it is fast and works on code
// that does not compile yet. Every check is itself tested on small sources that breach it and on sources that do not. A breach
// names the file, the line, the rule and what to do instead; it is mended in the code, not excused here.
package policy
