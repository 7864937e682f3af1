package testbed

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
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

// Postgres is LocalPostgres for tests that take long: without OnPostgres, the test is skipped.
func Postgres(t testing.TB) string {
	t.Helper()
	if os.Getenv(OnPostgres) == "" {
		t.Skip("SKIPPED: it is on PostgreSQL, for which " + OnPostgres + " is set")
	}
	return LocalPostgres(t)
}

// LocalPostgres is the URL of a schema of the test's own. The server is one for all tests of a package, in a directory of its own, and made
// by the programs of this machine. Without them, the test is skipped.
func LocalPostgres(t testing.TB) string {
	t.Helper()
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
	awaitServer(t, bin, dir)
	return fmt.Sprintf("postgres://contextd@/postgres?host=%s&schema=test_%x", dir, rand.Uint64())
}

// RestorePostgres makes the schemas of a dump by "pg_dump --inserts -n SCHEMA -n SCHEMA_history", in the server of LocalPostgres, and
// returns the URL. What the schemas had before goes. Where LocalPostgres skips a test, so does RestorePostgres.
func RestorePostgres(t testing.TB, dump, schema string) string {
	t.Helper()
	place, err := url.Parse(LocalPostgres(t))
	if err != nil {
		t.Fatal(err)
	}
	query := place.Query()
	restore := exec.Command(filepath.Join(programs(), "psql"), "-h", query.Get("host"), "-U", "contextd", "-q", "-X", "-1",
		"-v", "ON_ERROR_STOP=1", "-c", "DROP SCHEMA IF EXISTS "+schema+", "+schema+"_history CASCADE", "-f", dump, "postgres")
	if said, err := restore.CombinedOutput(); err != nil {
		t.Fatalf("restore %s: %v: %s", dump, err, said)
	}
	query.Set("schema", schema)
	place.RawQuery = query.Encode()
	return place.String()
}

// startServer starts PostgreSQL with its data and socket in dir. It ends with this process, however that ends.
func startServer(bin, dir string) error {
	if err := initServer(bin, dir); err != nil {
		return err
	}
	_, held, err := runServer(bin, dir, "rm -rf \"$1\"", "-c", "listen_addresses=", "-c", "fsync=off", "-c", "shared_buffers=32MB")
	if err != nil {
		return err
	}
	_, err = unix.FcntlInt(held.Fd(), unix.F_DUPFD_CLOEXEC, 0) // which nothing closes before this process ends
	return errors.Join(err, held.Close())
}

// asNobody is how programs run as a user that PostgreSQL takes.
func asNobody() (*syscall.SysProcAttr, error) {
	as := &syscall.SysProcAttr{Setpgid: true} // it is not for the interrupts of a terminal
	if os.Geteuid() != 0 {                    // whom it refuses
		return as, nil
	}
	var err error
	as.Credential, err = nobody()
	return as, err
}

func initServer(bin, dir string) error {
	as, err := asNobody()
	if err == nil && as.Credential != nil {
		err = os.Chown(dir, int(as.Credential.Uid), int(as.Credential.Gid))
	}
	if err != nil {
		return err
	}
	made := exec.Command(filepath.Join(bin, "initdb"), "-D", filepath.Join(dir, "data"), "-U", "contextd", "-A", "trust", "-E", "UTF8",
		"--no-locale", "-N")
	made.SysProcAttr, made.Dir = as, dir
	if told, err := made.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, told)
	}
	return nil
}

// runServer runs a server in dir until held is closed, and then does what last says.
func runServer(bin, dir, last string, settings ...string) (run *exec.Cmd, held *os.File, err error) {
	as, err := asNobody()
	if err != nil {
		return nil, nil, err
	}
	// The shell waits for the end of its input, which is that of this process.
	const script = `bin="$0"; dir="$1"; shift; "$bin" -D "$dir/data" -k "$dir" -c max_connections=400 "$@" >>"$dir/log" 2>&1 </dev/null & pid=$!
		set -- "$dir"; cat >/dev/null; kill -QUIT $pid; wait $pid; `
	run = exec.Command("sh", append([]string{"-c", script + last, filepath.Join(bin, "postgres"), dir}, settings...)...)
	run.SysProcAttr, run.Dir = as, dir
	input, held, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	run.Stdin = input
	return run, held, errors.Join(run.Start(), input.Close())
}

// Server is a PostgreSQL of one test, which writes to the disk before it answers, and which the test may have crash.
type Server struct {
	Port int // of 127.0.0.1

	bin, dir string
	run      *exec.Cmd
	held     *os.File
}

// NewServer starts one, which ends with the test. Where Postgres skips a test, so does NewServer.
func NewServer(t testing.TB) *Server {
	t.Helper()
	if os.Getenv(OnPostgres) == "" {
		t.Skip("SKIPPED: it is on PostgreSQL, for which " + OnPostgres + " is set")
	}
	s := &Server{bin: programs()}
	if s.bin == "" {
		t.Skip("SKIPPED: there is no PostgreSQL on this machine")
	}
	address, err := DeadAddress()
	if err != nil {
		t.Fatal(err)
	}
	if s.Port, err = strconv.Atoi(strings.TrimPrefix(address, "127.0.0.1:")); err != nil {
		t.Fatal(err)
	}
	if s.dir, err = os.MkdirTemp("", "contextd-pg-"); err == nil {
		err = initServer(s.bin, s.dir)
	}
	if err != nil {
		t.Fatal(err)
	}
	s.start(t)
	t.Cleanup(func() {
		s.stop()
		_ = os.RemoveAll(s.dir)
	})
	return s
}

func (s *Server) start(t testing.TB) {
	t.Helper()
	var err error
	if s.run, s.held, err = runServer(s.bin, s.dir, "true", "-p", strconv.Itoa(s.Port), "-c", "listen_addresses=127.0.0.1"); err != nil {
		t.Fatal(err)
	}
	awaitServer(t, s.bin, s.dir, "-p", strconv.Itoa(s.Port))
}

func (s *Server) stop() {
	_ = s.held.Close()
	_ = s.run.Wait()
}

// Crash ends the server at once and starts it again.
func (s *Server) Crash(t testing.TB) {
	t.Helper()
	s.stop()
	s.start(t)
}

// URL is that of a schema of its database, reached at an address such as 127.0.0.1:5432.
func (s *Server) URL(address string) string {
	return "postgres://contextd@" + address + "/postgres?sslmode=disable"
}

// awaitServer waits until a server answers, which has its socket in dir.
func awaitServer(t testing.TB, bin, dir string, more ...string) {
	t.Helper()
	for range 600 { // another test may be about to start it
		if exec.Command(filepath.Join(bin, "pg_isready"), append([]string{"-q", "-h", dir}, more...)...).Run() == nil {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	told, _ := os.ReadFile(filepath.Join(dir, "log"))
	t.Fatalf("PostgreSQL does not start: %s", told)
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

// SQL opens a database of a place, by the name of its file, beside its other users, and closes it with the test.
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
