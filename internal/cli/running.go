package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"syscall"

	"github.com/contextd/contextd/internal/atomicfile"
)

// Running is a service on this machine, as it tells the user's own programs where it is. Their other users cannot read it.
type Running struct {
	BaseURL string `json:"baseUrl"`
	APIKey  string `json:"apiKey,omitempty"` // of a demo alone
	Demo    bool   `json:"demo,omitempty"`
	DataDir string `json:"dataDir,omitempty"`
	PID     int    `json:"pid"`
}

// runningFile is where the user's newest service tells of itself, "" where the user has no place for it.
func runningFile(env func(string) (string, bool)) string {
	if dir, _ := env("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "contextd.json")
	}
	if dir, _ := env("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "contextd", "running.json")
	}
	if home, _ := env("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".local", "state", "contextd", "running.json")
	}
	return ""
}

// FindRunning is the user's newest service on this machine, as far as it tells of itself and runs. What one that was killed has left, and a
// file of another user, count for nothing.
func FindRunning(env func(string) (string, bool)) (r Running, ok bool) {
	path := runningFile(env)
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || info.Mode().Perm()&0o077 != 0 || !owned(info) {
		return r, false
	}
	text, err := os.ReadFile(path)
	if err != nil || json.Unmarshal(text, &r) != nil || r.BaseURL == "" || !alive(r.PID) {
		return Running{}, false
	}
	return r, true
}

// owned reports whether a file is the user's own, as far as the system tells whose it is.
func owned(info os.FileInfo) bool {
	uid := reflect.Indirect(reflect.ValueOf(info.Sys())).FieldByName("Uid") // which not every system has
	return !uid.IsValid() || int64(uid.Uint()) == int64(os.Geteuid())
}

// alive reports whether a process runs.
func alive(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	err = p.Signal(syscall.Signal(0)) // which is not sent
	return err == nil || errors.Is(err, os.ErrPermission)
}

// Announce tells the user's own programs of a service until the function that it returns is called.
func Announce(env func(string) (string, bool), r Running) (withdraw func() error, err error) {
	path := runningFile(env)
	if path == "" {
		return func() error { return nil }, nil
	}
	r.PID = os.Getpid()
	if dir, err := filepath.Abs(r.DataDir); err == nil && r.DataDir != "" {
		r.DataDir = dir // others run elsewhere
	}
	text, err := json.Marshal(r)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o700)
	}
	if err == nil {
		err = atomicfile.Write(path, append(text, '\n'), 0o600)
	}
	if err != nil {
		return nil, fmt.Errorf("tell ctx of this service: %w", err)
	}
	return func() error {
		if now, ok := FindRunning(env); !ok || now.PID != r.PID {
			return nil // another service tells of itself there
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		return nil
	}, nil
}
