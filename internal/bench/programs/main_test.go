package programs_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/daemon/demo"
)

// programs is the directory of contextd and ctx.
var programs string

func TestMain(m *testing.M) {
	if os.Getenv(edgeEnv) != "" {
		runEdge()
		return
	}
	if dir := os.Getenv(publishEnv); dir != "" {
		runPublish(dir)
	}
	if dir := os.Getenv(payEnv); dir != "" {
		runPay(dir)
		return
	}
	if dir := os.Getenv(chargeEnv); dir != "" {
		fmt.Fprintln(os.Stderr, chargeUntilKilled(context.Background(), dir, os.Stdout))
		os.Exit(1)
	}
	code, err := buildAndRun(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// buildAndRun builds the programs and runs the tests.
func buildAndRun(m *testing.M) (code int, err error) {
	if programs, err = os.MkdirTemp("", "contextd-bench-"); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(programs)) }()
	build := exec.Command("go", "build", fmt.Sprintf("-race=%t", withRace()), "-o", programs, "./cmd/contextd", "./cmd/ctx")
	build.Dir = filepath.Join("..", "..", "..")
	if text, err := build.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("build the programs: %w: %s", err, text)
	}
	daemontest.Overlap(4)
	return m.Run(), nil
}

// withRace reports whether the tests were built with the race detector.
func withRace() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// program is the command that runs contextd with args.
func program(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	return programOf(t, "contextd", args...)
}

// programOf is the command that runs a program with args, in a home of its own.
func programOf(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	c := exec.Command(filepath.Join(programs, name), args...)
	c.Env = append(os.Environ(), "HOME="+t.TempDir())
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return c
}

// past is the data directory of a demo, of which all tests here have copies.
var past = sync.OnceValues(func() (daemontest.PastDemo, error) { return daemontest.NewPastDemo(context.Background()) })

// oldDemo is the data directory of a demo that began and ended before.
func oldDemo(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	demo, err := past()
	if err == nil {
		err = demo.CopyTo(dir)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// comes waits for something that another process does, and reports whether it came.
func comes(ok func() bool) bool {
	for end := time.Now().Add(4 * time.Minute); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

// soon waits for something that another process does and that has to come.
func soon(t *testing.T, what string, ok func() bool) {
	t.Helper()
	if !comes(ok) {
		t.Fatal("never: " + what)
	}
}

// readDemo reads the demo file of dir.
func readDemo(dir string) (info demo.Info, err error) {
	text, err := os.ReadFile(filepath.Join(dir, demo.File))
	if err != nil {
		return info, err
	}
	return info, json.Unmarshal(text, &info)
}
