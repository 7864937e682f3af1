package database_test

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/store/database"
	"github.com/contextd/contextd/daemon/testbed"
)

// pooler starts a PgBouncer of a mode before the server of a URL, and returns the URL of that way.
func pooler(t *testing.T, mode string, server *testbed.Server) string {
	t.Helper()
	bin, err := exec.LookPath("pgbouncer")
	if err != nil {
		t.Skip("SKIPPED: there is no pgbouncer on this machine")
	}
	dir, err := os.MkdirTemp("", "contextd-pooler-") // whose socket has a short path
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	address, err := testbed.DeadAddress()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "pgbouncer.ini")
	text := fmt.Sprintf("[databases]\npostgres = host=127.0.0.1 port=%d user=contextd\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = %s\n"+
		"auth_type = any\npool_mode = %s\nunix_socket_dir =\ndefault_pool_size = 40\n", server.Port, strings.TrimPrefix(address, "127.0.0.1:"), mode)
	if err := errors.Join(os.WriteFile(file, []byte(text), 0o644), os.Chmod(dir, 0o755)); err != nil {
		t.Fatal(err)
	}
	run := exec.Command(bin, file)
	if os.Geteuid() == 0 { // whom it refuses
		run = exec.Command(bin, "-u", "nobody", file)
	}
	var told bytes.Buffer
	run.Stdout, run.Stderr = &told, &told
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = run.Process.Kill(); _ = run.Wait() })
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		c, err := net.Dial("tcp", address)
		if err == nil {
			_ = c.Close()
			break
		}
		if time.Since(began) > time.Minute {
			t.Fatalf("pgbouncer does not listen: %v", err)
		}
	}
	return "postgres://contextd@" + address + "/postgres?sslmode=disable"
}

// TestPoolers: a pooler that gives a connection's server to others is found, whoever else uses it; one that does not is as good as none.
func TestPoolers(t *testing.T) {
	t.Parallel()
	server := testbed.NewServer(t)
	for mode, want := range map[string]error{"session": nil, "transaction": database.ErrPooler, "statement": database.ErrPooler} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			place := pooler(t, mode, server)
			layout := onServer()
			var all sync.WaitGroup
			for range 4 { // at the same time
				all.Go(func() {
					f, err := database.Open(t.Context(), place+"&schema=pooled_"+mode, layout, time.Unix(1, 0))
					if !errors.Is(err, want) {
						t.Errorf("%v, want %v", err, want)
					}
					if err == nil {
						err = errors.Join(f.Exec(t.Context(), "INSERT INTO numbers (n) VALUES (floor(random()*1e9))"), f.Close())
					}
					if want == nil && err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
		})
	}
}
