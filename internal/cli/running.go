package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"syscall"
	"time"

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

// runningDir is where each of the user's services tells of itself in a file of its own, "" where the user has no place for them.
func runningDir(env func(string) (string, bool)) string {
	for _, name := range []string{"XDG_RUNTIME_DIR", "XDG_STATE_HOME"} {
		if dir, _ := env(name); filepath.IsAbs(dir) {
			return filepath.Join(dir, "contextd")
		}
	}
	if home, _ := env("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".local", "state", "contextd")
	}
	return ""
}

// tellings are the names of the files in dir by which services tell of themselves.
func tellings(dir string) []string {
	names, _ := fs.Glob(os.DirFS(dir), "running-*.json") // of a good pattern
	return names
}

// FindRunning is the user's newest service on this machine, as far as it tells of itself and runs. What one that was killed has left, and a
// file of another user, count for nothing.
func FindRunning(env func(string) (string, bool)) (r Running, ok bool) {
	dir, newest := runningDir(env), time.Time{}
	for _, name := range tellings(dir) {
		if found, at := readRunning(filepath.Join(dir, name)); alive(found.PID) && at.After(newest) {
			r, ok, newest = found, true, at
		}
	}
	return r, ok
}

// readRunning is what a service tells in the user's own file at path, and since when.
func readRunning(path string) (r Running, at time.Time) {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || info.Mode().Perm()&0o077 != 0 || !owned(info) {
		return r, at
	}
	text, err := os.ReadFile(path)
	if err != nil || json.Unmarshal(text, &r) != nil || r.BaseURL == "" {
		return Running{}, at
	}
	return r, info.ModTime()
}

// owned reports whether a file is the user's own, as far as the system tells whose it is.
func owned(info os.FileInfo) bool {
	uid := reflect.Indirect(reflect.ValueOf(info.Sys())).FieldByName("Uid") // which not every system has
	return !uid.IsValid() || int64(uid.Uint()) == int64(os.Geteuid())
}

// alive reports whether a process runs.
func alive(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil || pid <= 0 {
		return false
	}
	err = p.Signal(syscall.Signal(0)) // which is not sent
	return err == nil || errors.Is(err, os.ErrPermission)
}

// Announce tells the user's own programs of a service until the function that it returns is called. What killed services have left goes.
func Announce(env func(string) (string, bool), r Running) (withdraw func() error, err error) {
	dir := runningDir(env)
	if dir == "" {
		return func() error { return nil }, nil
	}
	r.PID = os.Getpid()
	if data, err := filepath.Abs(r.DataDir); err == nil && r.DataDir != "" {
		r.DataDir = data // others run elsewhere
	}
	for _, name := range tellings(dir) {
		if left, _ := readRunning(filepath.Join(dir, name)); left.PID != 0 && !alive(left.PID) {
			_ = os.Remove(filepath.Join(dir, name)) // else it counts for nothing
		}
	}
	path := filepath.Join(dir, fmt.Sprintf("running-%d.json", r.PID))
	text, err := json.Marshal(r)
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err == nil {
		err = atomicfile.Write(path, append(text, '\n'), 0o600)
	}
	if err != nil {
		return nil, fmt.Errorf("tell ctx of this service: %w", err)
	}
	return func() error {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		return nil
	}, nil
}
