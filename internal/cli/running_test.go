package cli_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/contextd/contextd/internal/cli"
)

// TestRunning: the newest service that runs is found where its user's programs look, by nobody's file but that user's own. At its end it
// goes, and no other.
func TestRunning(t *testing.T) {
	t.Parallel()
	for name, place := range map[string]string{
		"XDG_RUNTIME_DIR": "contextd", "XDG_STATE_HOME": "contextd", "HOME": ".local/state/contextd",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			env := func(asked string) (string, bool) {
				if asked != name {
					return "", false
				}
				return dir, true
			}
			if r, ok := cli.FindRunning(env); ok {
				t.Fatalf("%+v where nothing runs", r)
			}
			told := cli.Running{BaseURL: "http://127.0.0.1:1", APIKey: "cv_test_x", Demo: true}
			withdraw, err := cli.Announce(env, told)
			if err != nil {
				t.Fatal(err)
			}
			told.PID = os.Getpid()
			if r, ok := cli.FindRunning(env); !ok || r != told {
				t.Errorf("found %+v, %t", r, ok)
			}
			path := filepath.Join(dir, place, fmt.Sprintf("running-%d.json", told.PID))
			for mode, found := range map[os.FileMode]bool{0o640: false, 0o604: false, 0o400: true} {
				if err := os.Chmod(path, mode); err != nil {
					t.Fatal(err)
				}
				if _, ok := cli.FindRunning(env); ok != found {
					t.Errorf("with mode %o it is found: %t", mode, ok)
				}
			}
			if err := errors.Join(os.Chmod(path, 0o600), withdraw()); err != nil {
				t.Error(err)
			}
			if _, err := os.Stat(path); !os.IsNotExist(err) {
				t.Errorf("after the end of the service: %v", err)
			}
			newer, err := cli.Announce(env, told)
			if err != nil {
				t.Fatal(err)
			}
			path = filepath.Join(dir, place, "running-1.json") // of a process that runs
			if err := os.WriteFile(path, []byte(`{"baseUrl":"http://127.0.0.1:2","pid":1}`), 0o600); err != nil {
				t.Fatal(err)
			}
			for at, pid := range map[time.Duration]int{-time.Hour: told.PID, time.Hour: 1} {
				if err := os.Chtimes(path, time.Time{}, time.Now().Add(at)); err != nil {
					t.Fatal(err)
				}
				if r, ok := cli.FindRunning(env); !ok || r.PID != pid {
					t.Errorf("with another one that began %s from now it is %+v, %t", at, r, ok)
				}
			}
			if err := newer(); err != nil {
				t.Error(err)
			}
			if r, ok := cli.FindRunning(env); !ok || r.PID != 1 {
				t.Errorf("the end of one service withdraws another: %+v, %t", r, ok)
			}
			if os.Geteuid() == 0 { // nobody else may give files away
				if err := os.Chown(path, 12345, -1); err != nil {
					t.Fatal(err)
				}
				if r, ok := cli.FindRunning(env); ok {
					t.Errorf("another user's file is believed: %+v", r)
				}
				if err := os.Chown(path, 0, -1); err != nil {
					t.Fatal(err)
				}
			}
			stale := []byte(`{"baseUrl":"http://127.0.0.1:2","pid":1073741824}`) // more than there are
			if err := os.WriteFile(path, stale, 0o600); err != nil {
				t.Fatal(err)
			}
			if r, ok := cli.FindRunning(env); ok {
				t.Errorf("what a killed service has left is believed: %+v", r)
			}
			if withdraw, err := cli.Announce(env, told); err != nil || withdraw() != nil {
				t.Error(err)
			}
			if _, err := os.Stat(path); !os.IsNotExist(err) {
				t.Errorf("what a killed service has left stays: %v", err)
			}
		})
	}
	if withdraw, err := cli.Announce(func(string) (string, bool) { return "", false }, cli.Running{}); err != nil || withdraw() != nil {
		t.Errorf("without a place: %v", err)
	}
}
