package termguard_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/contextd/contextd/tui/termguard"
)

const childEnv = "CTX_QUIET_TEST_CHILD"

// TestMain is also the child: it says what TERM is before and after, and after again.
func TestMain(m *testing.M) {
	if os.Getenv(childEnv) == "" {
		os.Exit(m.Run())
	}
	said := []string{os.Getenv("TERM")}
	for range 2 {
		if err := termguard.Release(); err != nil {
			panic(err)
		}
		said = append(said, os.Getenv("TERM"))
	}
	_, _ = os.Stdout.WriteString(strings.Join(said, "|"))
}

func TestHoldAndRelease(t *testing.T) {
	t.Parallel()
	for _, term := range []string{"xterm-256color", "dumb", ""} {
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), childEnv+"=1", "TERM="+term)
		out, err := child.Output()
		said := strings.Split(string(out), "|")
		if err != nil || len(said) != 3 || !strings.HasPrefix(said[0], "dumb") || said[1] != term || said[2] != term {
			t.Errorf("TERM=%s: %q, %v", term, said, err)
		}
	}
}
