//go:build linux

package tui_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/contextd/contextd/sdk/api"
)

// terminal is a pseudo-terminal with this test's own program in it, doing what the child is told.
type terminal struct {
	t      *testing.T
	master *os.File
	before *unix.Termios // mode before the child
	cmd    *exec.Cmd

	mu   sync.Mutex // guards seen
	seen bytes.Buffer
	done chan struct{} // closed when the terminal is
}

// open starts a child in a terminal of 80 by 24.
func openTerminal(t *testing.T, child string, env ...string) *terminal {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatalf("open terminal: %v", err)
	}
	fd := int(master.Fd())
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err := errors.Join(err, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0), unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80})); err != nil {
		t.Fatalf("unlock terminal: %v", err)
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatalf("open terminal: %v", err)
	}
	defer slave.Close()
	p := &terminal{t: t, master: master, done: make(chan struct{}), cmd: exec.Command(os.Args[0])}
	p.cmd.Env = append(os.Environ(), append(env, childEnv+"="+child, "TERM=xterm-256color", "LANG=C.UTF-8", "GORACE=atexit_sleep_ms=0")...)
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = slave, slave, slave
	p.before = p.mode()
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := p.cmd.Start(); err != nil {
		t.Fatalf("start: %v", err)
	}
	go func() {
		defer close(p.done)
		_, _ = io.Copy(p, master) // ends with an error when the child has gone
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
		_ = master.Close()
		<-p.done
	})
	return p
}

// Write takes what the child writes.
func (p *terminal) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen.Write(b)
}

// text is what the child has written.
func (p *terminal) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen.String()
}

// shows waits until the child has written text.
func (p *terminal) shows(text string) {
	p.t.Helper()
	for end := time.Now().Add(2 * time.Minute); !strings.Contains(p.text(), text); {
		if time.Now().After(end) {
			p.t.Fatalf("never: %q\n%q", text, p.text())
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// types sends what a user types.
func (p *terminal) types(text string) {
	p.t.Helper()
	if _, err := io.WriteString(p.master, text); err != nil {
		p.t.Fatal(err)
	}
}

// restored checks that the terminal is given back: the main screen, the cursor, no mouse, no raw mode.
func (p *terminal) restored() {
	p.t.Helper()
	for _, sequence := range []string{"\x1b[?1049l", "\x1b[?25h", "\x1b[?1002l"} {
		if !strings.Contains(p.text(), sequence) {
			p.t.Errorf("%q was not written", sequence)
		}
	}
	if now := p.mode(); now.Lflag != p.before.Lflag || now.Iflag != p.before.Iflag || now.Oflag != p.before.Oflag {
		p.t.Errorf("mode %+v, was %+v", now, p.before)
	}
}

// mode is the mode of the terminal.
func (p *terminal) mode() *unix.Termios {
	p.t.Helper()
	mode, err := unix.IoctlGetTermios(int(p.master.Fd()), unix.TCGETS)
	if err != nil {
		p.t.Fatal(err)
	}
	return mode
}

// TestImportIsQuiet checks that a program that only links the UI asks the terminal nothing, and leaves TERM as it was.
func TestImportIsQuiet(t *testing.T) {
	t.Parallel()
	p := openTerminal(t, childQuiet)
	p.shows("TERM is")
	if err := p.cmd.Wait(); err != nil {
		t.Error(err)
	}
	if got := p.text(); got != "TERM is xterm-256color\r\n" {
		t.Errorf("wrote %q", got)
	}
}

// TestTerminal uses the program in a terminal, from the first frame to the last.
func TestTerminal(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "day.ndjson")
	line, err := json.Marshal(map[string]any{"type": api.EventDelta, "pack": api.PackCrypto, "ts": began(), "state": state(t)})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, append(line, '\n'), 0o600); err != nil {
		t.Fatal(err)
	}
	p := openTerminal(t, childReplay, "RECORDING="+file)
	p.shows("91,442.90")
	p.types("5")
	p.shows("geckoterminal-trending")
	p.types("\x1b[<0;3;2M") // a click on the first tab
	p.types("?")
	p.shows("1 of 2")
	p.types("x")
	p.shows("any key closes")
	p.types("xq")
	p.shows("ended with: <nil>")
	if err := p.cmd.Wait(); err != nil {
		t.Error(err)
	}
	p.restored()
}

// TestProfileInTerminal goes over to another profile and back, in one terminal: what belongs to the one before is closed first.
func TestProfileInTerminal(t *testing.T) {
	t.Parallel()
	p := openTerminal(t, childTwo)
	p.shows("pack-one")
	p.types("m")
	p.shows("the mouse selects text")
	p.types("@two\r")
	p.shows("closed one")
	p.shows("pack-two")
	p.types("@one\r")
	p.shows("closed two")
	p.types("?")
	p.shows("any key closes")
	p.types("xq")
	p.shows("ended with: <nil>")
	if err := p.cmd.Wait(); err != nil {
		t.Error(err)
	}
	p.restored()
	if n := strings.Count(p.text(), "\x1b[?1002h"); n != 1 {
		t.Errorf("clicks were taken %d times, and the user had left them to the terminal", n)
	}
	if n := strings.Count(p.text(), "closed one"); n != 2 {
		t.Errorf("the first was closed %d times", n)
	}
}

// TestPanic checks that a bug gives the terminal back and is told.
func TestPanic(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "crash")
	p := openTerminal(t, childPanic, "CRASH_DIR="+dir)
	p.shows("what happened is in " + dir)
	_ = p.cmd.Wait()
	p.restored()
	report, err := os.ReadFile(filepath.Join(dir, "ctx-crash-20261120-200600.txt"))
	if err != nil || !strings.Contains(string(report), "a bug") || !strings.Contains(string(report), "goroutine") {
		t.Errorf("report %q, %v", report, err)
	}
}
