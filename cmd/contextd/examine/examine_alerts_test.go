package examine

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/pack"
	"github.com/contextd/contextd/internal/alert"
	"github.com/contextd/contextd/internal/doctor"
	"github.com/contextd/contextd/internal/state"
)

// TestAlerts: what waits for long is a warning, as is a webhook that cannot be reached; its address is not shown.
func TestAlerts(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	dead, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := dead.Close(); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "data")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 11, 20, 20, 0, 0, 0, time.UTC)
	refuse := func(context.Context, alert.Event) error { return errors.New("no") }
	teller, err := alert.Open(alert.Config{Path: filepath.Join(dir, "alerts.journal"), Rules: []alert.Rule{{
		Name: "r", Pack: "crypto", Find: alert.Flags("", nil), Targets: []alert.Target{{Name: "r/webhook", Deliver: refuse}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	defer teller.Close() // the doctor looks beside a daemon
	doc := []byte(`{"flags":[{"id":"a"},{"id":"b"}]}`)
	if _, err := teller.Observe(t.Context(), alert.State{Pack: "crypto", At: at, Doc: state.Read(doc)}); err != nil {
		t.Fatal(err)
	}
	for after, want := range map[time.Duration]doctor.Outcome{time.Hour: doctor.OK, time.Hour + time.Second: doctor.Warning} {
		found := examine(t, Config{DataDir: dir, Journal: "alerts.journal", Now: func() time.Time { return at.Add(after) }, Offline: true})
		if f := found["alerts"]; f.Outcome != want || !strings.Contains(f.Found, "2 events undelivered") {
			t.Errorf("after %s: %+v", after, f)
		}
	}
	var sources []string // which are not the matter
	for _, source := range pack.Crypto().Sources {
		sources = append(sources, source.ID)
	}
	hooks := map[string]string{"up": "http://" + l.Addr().String() + "/SECRET", "down": "http://" + dead.Addr().String() + "/SECRET"}
	found := examine(t, Config{DataDir: dir, Hooks: hooks, Disabled: sources})
	if f := found["alert up"]; f.Outcome != doctor.OK {
		t.Errorf("%+v", f)
	}
	if f := found["alert down"]; f.Outcome != doctor.Warning || f.Fix == "" || strings.Contains(f.Found, "SECRET") {
		t.Errorf("%+v", f)
	}
}
