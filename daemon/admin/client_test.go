package admin_test

import (
	"bufio"
	"net/http"
	"strings"
	"testing"

	"github.com/contextd/contextd/daemon/admin"
	"github.com/contextd/contextd/daemon/datadir"
)

// TestDaemonEndsWhileAsked: who asks a daemon that is killed just then learns what has happened, and not that a read failed.
func TestDaemonEndsWhileAsked(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	lock, err := datadir.Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	l, err := datadir.Listen(dir)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { // a daemon that reads what it is asked and ends
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = http.ReadRequest(bufio.NewReader(conn)) // none from the one who only looks whether somebody listens
			_ = conn.Close()
		}
	}()
	o, err := admin.Open(t.Context(), admin.Config{DataDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	_, err = o.Jobs(t.Context())
	if err == nil || !strings.Contains(err.Error(), "the daemon ended while it was asked") {
		t.Errorf("says %v", err)
	}
	if err := o.Close(); err != nil {
		t.Error(err)
	}
	_ = l.Close()
	<-done
	if err := admin.Alive(t.Context(), dir); err == nil || strings.Contains(err.Error(), "ended while") {
		t.Errorf("where nobody listens it says %v", err)
	}
}
