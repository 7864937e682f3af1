// Package long says how much a test does. What takes seconds of processor time, such as hundreds of states or thousands of texts one after
// another, go test leaves out or cuts short; CONTEXTD_TEST_LONG=1 has it done whole, as .ci/run does.
package long

import (
	"os"
	"testing"
)

// On reports whether tests do all that they can.
func On() bool { return os.Getenv("CONTEXTD_TEST_LONG") != "" }

// Test skips a test that takes long, where it is not asked for.
func Test(t *testing.T) {
	t.Helper()
	if !On() {
		t.Skip("it takes long; CONTEXTD_TEST_LONG=1 runs it")
	}
}
