package manifest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ofProcess is a file of the system about a process.
func ofProcess(t *testing.T, pid int, name string) string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// dataLimit is the bound of the data segment of a process, "unlimited" for none.
func dataLimit(t *testing.T, pid int) string {
	t.Helper()
	_, after, _ := strings.Cut(ofProcess(t, pid, "limits"), "Max data size")
	return strings.Fields(after)[0]
}

// TestChildHasNothing: the process has no secret of the environment, no file but its pipes, and a bound that it has set itself.
func TestChildHasNothing(t *testing.T) {
	t.Setenv("CONTEXTD_SECRET", "in the environment")
	c := newChild(t, mapping(`.[] | {key: ., name: "\($ENV) \(env)", x: 1}`, `.`))
	rows, err := c.Rows(t.Context(), "one", []byte(`["a"]`), time.Time{})
	if fmt.Sprint(rows) != "[map[key:a name:{} {} x:1]]" || err != nil {
		t.Errorf("of the environment jq sees %v, %v", rows, err)
	}
	pid := c.Command().Process.Pid
	for _, pair := range strings.Split(strings.TrimSuffix(ofProcess(t, pid, "environ"), "\x00"), "\x00") {
		if name, _, _ := strings.Cut(pair, "="); !strings.HasPrefix(name, "GO") {
			t.Errorf("the process has %s", pair)
		}
	}
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil || len(files) < 3 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		to, err := os.Readlink(file)
		ours := func(prefix string) bool { return strings.HasPrefix(to, prefix) }
		// the last of the runtime
		if err != nil || !slices.ContainsFunc([]string{"pipe:", "anon_inode:", "/dev/null", "/sys/fs/cgroup/"}, ours) {
			t.Errorf("the process has %s open, %v", to, err)
		}
	}
	if dataLimit(t, pid) == "unlimited" {
		t.Error("its data is not bounded")
	}
}

// TestChildIsWatched: where a filter of system calls, such as systemd's @resources, refuses the bound, the process works, and its memory is
// looked at from here.
func TestChildIsWatched(t *testing.T) {
	t.Parallel()
	c := newChild(t, mapping(`if . == ["long"] then ("x" * 900000000) else "a" end | {key: ., x: 1}`, `.`))
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlock: the thread ends, and its filter with it
		err := refuseLimits()
		if err == nil {
			_, err = c.Rows(t.Context(), "one", []byte(`["a"]`), time.Time{})
		}
		started <- err
	}()
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	process := c.Command()
	if limit := dataLimit(t, process.Process.Pid); limit != "unlimited" {
		t.Fatalf("the bound was not refused: %s", limit)
	}
	_, err := c.Rows(t.Context(), "one", []byte(`["long"]`), time.Time{})
	if err == nil || err.Error() != "bad_content: its mapping took more than 256 MB" && !strings.Contains(err.Error(), tooLong) {
		t.Errorf("without its own bound: %v", err)
	}
	if most := process.ProcessState.SysUsage().(*syscall.Rusage).Maxrss; most > 350<<10 {
		t.Errorf("it had %d kB", most)
	}
	if _, err := c.Rows(t.Context(), "one", []byte(`["a"]`), time.Time{}); err != nil {
		t.Error(err)
	}
}

// refuseLimits has the system refuse this thread, and what it starts, to set limits.
func refuseLimits() error {
	const number = 0 // offset of the system call's number
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: number},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: 1, K: unix.SYS_PRLIMIT64},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: unix.SYS_SETRLIMIT},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("give up privileges: %w", err)
	}
	err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0)
	runtime.KeepAlive(filter)
	if err != nil {
		return fmt.Errorf("set filter: %w", err)
	}
	return nil
}
