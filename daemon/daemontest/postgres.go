package daemontest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/daemon/store/database"
	"github.com/contextd/contextd/daemon/store/history"
)

// OnPostgres names the variable of the environment that has tests keep what Place is for in PostgreSQL, where it is not empty.
const OnPostgres = "CONTEXTD_TEST_POSTGRES"

// Place is where the databases of a test go: into a directory of its own or, where OnPostgres says so, into a schema of its own.
func Place(t testing.TB) string {
	t.Helper()
	if os.Getenv(OnPostgres) != "" {
		return Postgres(t)
	}
	return t.TempDir()
}

// Files is a directory for the databases of a test that is about SQLite: where OnPostgres says so, the test is skipped.
func Files(t testing.TB) string {
	t.Helper()
	if os.Getenv(OnPostgres) != "" {
		t.Skip("it is about SQLite's files")
	}
	return t.TempDir()
}

// Postgres is the URL of a schema of the test's own. The server is one for all tests of a package, in a directory of its own, and made by
// the programs of this machine. Without them, and without OnPostgres, the test is skipped.
func Postgres(t testing.TB) string {
	t.Helper()
	if os.Getenv(OnPostgres) == "" {
		t.Skip("SKIPPED: it is on PostgreSQL, for which " + OnPostgres + " is set")
	}
	bin := programs()
	if bin == "" {
		t.Skip("SKIPPED: there is no PostgreSQL on this machine")
	}
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("contextd-pg-%d", os.Getpid()))
	if err := os.Mkdir(dir, 0o700); err == nil {
		err = startServer(bin, dir)
		if err != nil {
			t.Fatal(err)
		}
	} else if !errors.Is(err, os.ErrExist) {
		t.Fatal(err)
	}
	for range 600 { // another test may be about to start it
		if exec.CommandContext(t.Context(), filepath.Join(bin, "pg_isready"), "-q", "-h", dir).Run() == nil {
			return fmt.Sprintf("postgres://contextd@/postgres?host=%s&schema=test_%x", dir, rand.Uint64())
		}
		time.Sleep(100 * time.Millisecond)
	}
	told, _ := os.ReadFile(filepath.Join(dir, "log"))
	t.Fatalf("PostgreSQL does not start: %s", told)
	return ""
}

// startServer starts PostgreSQL with its data and socket in dir. It ends with this process, however that ends.
func startServer(bin, dir string) error {
	as := &syscall.SysProcAttr{Setpgid: true} // it is not for the interrupts of a terminal
	if os.Geteuid() == 0 {                    // whom it refuses
		var err error
		if as.Credential, err = nobody(); err == nil {
			err = os.Chown(dir, int(as.Credential.Uid), int(as.Credential.Gid))
		}
		if err != nil {
			return err
		}
	}
	made := exec.Command(filepath.Join(bin, "initdb"), "-D", filepath.Join(dir, "data"), "-U", "contextd", "-A", "trust", "-E", "UTF8",
		"--no-locale", "-N")
	made.SysProcAttr, made.Dir = as, dir
	if told, err := made.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, told)
	}
	// The shell waits for the end of its input, which is that of this process.
	const script = `"$0" -D "$1/data" -k "$1" -c listen_addresses= -c fsync=off -c max_connections=400 -c shared_buffers=32MB \
		>"$1/log" 2>&1 </dev/null & pid=$!; cat >/dev/null; kill -QUIT $pid; wait $pid; rm -rf "$1"`
	run := exec.Command("sh", "-c", script, filepath.Join(bin, "postgres"), dir)
	run.SysProcAttr = as
	input, held, err := os.Pipe()
	if err != nil {
		return err
	}
	run.Stdin = input
	_, err = unix.FcntlInt(held.Fd(), unix.F_DUPFD_CLOEXEC, 0) // which nothing closes before this process ends
	return errors.Join(err, run.Start(), input.Close(), held.Close())
}

// programs is the directory of PostgreSQL's newest programs, "" where there are none.
func programs() string {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb") // where Debian has them, in no path
	if path, err := exec.LookPath("initdb"); len(found) == 0 && err == nil {
		found = []string{path}
	}
	if len(found) == 0 {
		return ""
	}
	path, err := filepath.EvalSymlinks(found[len(found)-1])
	if err != nil {
		return ""
	}
	return filepath.Dir(path)
}

// nobody is a user that may run a server.
func nobody() (*syscall.Credential, error) {
	u, err := user.Lookup("nobody")
	if err != nil {
		return nil, err
	}
	uid, errUser := strconv.ParseUint(u.Uid, 10, 32)
	gid, errGroup := strconv.ParseUint(u.Gid, 10, 32)
	if errUser != nil || errGroup != nil {
		return nil, fmt.Errorf("nobody is %s:%s", u.Uid, strings.TrimSpace(u.Gid))
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}

// SQL opens a database of a place, by the name of its file, beside whoever else has it open, and closes it with the test.
func SQL(t testing.TB, place, file string) *sql.DB {
	t.Helper()
	if !database.IsURL(place) {
		db, err := sql.Open("sqlite3", "file:"+filepath.Join(place, file)+"?_busy_timeout=5000")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		return db
	}
	layout, err := store.Layout()
	if file == history.File {
		layout, err = history.Layout()
	}
	if err != nil {
		t.Fatal(err)
	}
	opened, err := database.Open(context.WithoutCancel(t.Context()), place, layout, time.Unix(1, 0))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = opened.Close() })
	return opened.Write
}
