package daemon_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/backup"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/daemon/operate"
	"github.com/contextd/contextd/daemon/testbed"
	"github.com/contextd/contextd/internal/alert"
	"github.com/contextd/contextd/sdk/api"
)

const alertSecret = "SECRET of more than 16 bytes"

// hook is a webhook that notes the events that it takes.
type hook struct {
	*httptest.Server

	mu     sync.Mutex // guards what follows
	down   bool
	posts  int
	events []alert.Event
	bad    []string // what was wrong with posts
}

func newHook(t *testing.T) *hook {
	h := &hook{}
	h.Server = httptest.NewServer(h)
	t.Cleanup(h.Close)
	return h
}

// ServeHTTP takes an event.
func (h *hook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.posts++
	seconds, _ := strconv.ParseInt(r.Header.Get(api.HeaderJobTimestamp), 10, 64)
	if want := api.SignRequest([]byte(alertSecret), time.Unix(seconds, 0), r.Method, r.URL.Path, body); r.Header.Get(api.HeaderJobSignature) != want {
		h.bad = append(h.bad, "it is not signed")
	}
	var e alert.Event
	if err := json.Unmarshal(body, &e); err != nil || e.ID != r.Header.Get("Idempotency-Key") {
		h.bad = append(h.bad, string(body))
	}
	if h.down {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	h.events = append(h.events, e)
}

// taken are the events, and how many posts there were.
func (h *hook) taken() ([]alert.Event, int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.events), h.posts
}

// set says whether h is down.
func (h *hook) set(down bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.down = down
}

// flags are those of the newest state of d that are of a severity at least.
func flags(t *testing.T, d *daemontest.Daemon, key string, severities ...api.Severity) (ids []string) {
	t.Helper()
	r, err := http.NewRequest(http.MethodGet, d.URL()+api.PathFresh, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+key)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var answer struct{ State api.CryptoState }
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil {
		t.Fatal(err)
	}
	for _, f := range answer.State.Flags {
		if slices.Contains(severities, f.Severity) {
			ids = append(ids, f.ID)
		}
	}
	slices.Sort(ids)
	return ids
}

// told are the ids of the flags in events.
func told(events []alert.Event) (ids []string) {
	for _, e := range events {
		var f api.Flag
		_ = json.Unmarshal(e.Value, &f)
		ids = append(ids, f.ID)
	}
	slices.Sort(ids)
	return ids
}

// TestAlerts: flags of the severity are posted and mailed, each once, also after a restart; what failed before is tried again then; a
// reload changes the alerts. Neither log nor metrics nor journal shows a secret.
func TestAlerts(t *testing.T) {
	t.Parallel()
	h, dir := newHook(t), t.TempDir()
	h.set(true)
	var log testbed.Log
	change := func(c *daemon.Config) {
		c.DataDir, c.AdminListen, c.Logger = dir, "127.0.0.1:0", log.Logger()
		c.Alerts = []operate.Alert{{Name: "ops", Severity: api.SeverityNotice, Mail: []string{"SECRET@example.org"},
			Hook: alert.Hook{URL: h.URL + "/SECRET", Secret: []byte(alertSecret)}}}
	}
	d := daemontest.Open(t, change)
	for range 4 { // at which there are some
		if err := d.Refresh(t.Context(), api.PackCrypto); err != nil {
			t.Fatal(err)
		}
	}
	d.Run(t)
	want := flags(t, d, d.Key(t, api.TierPro), api.SeverityNotice, api.SeverityWarning, api.SeverityCritical)
	if len(want) < 2 {
		t.Fatalf("the recording has flags %q", want)
	}
	mails := func() []string {
		files, err := filepath.Glob(filepath.Join(dir, daemon.OutboxDir, "*.eml"))
		if err != nil {
			t.Fatal(err)
		}
		return files
	}
	until(t, "the alerts are mailed, and wait for the webhook", func() bool {
		text := read(t, d.AdminURL()+"/metrics")
		if strings.Contains(text, "SECRET") {
			t.Fatalf("metrics:\n%s", text)
		}
		return strings.Contains(text, `contextd_alert_deliveries_total{alert="ops",by="mail",outcome="ok"} `+strconv.Itoa(len(want))) &&
			!strings.Contains(text, `contextd_alert_deliveries_total{alert="ops",by="webhook",outcome="error"} 0`) &&
			strings.Contains(text, `contextd_alert_events_waiting `+strconv.Itoa(len(want)))
	})
	d.Stop(t)
	h.set(false)

	d = daemontest.Open(t, change)
	d.Run(t)
	until(t, "the alerts come", func() bool { events, _ := h.taken(); return len(events) == len(want) })
	events, _ := h.taken()
	if got := told(events); !slices.Equal(got, want) || len(mails()) != len(want) {
		t.Errorf("told %q by webhook and %d mails, want %q", got, len(mails()), want)
	}
	next := d.Config.Reloadable
	next.Alerts = append(slices.Clone(next.Alerts), operate.Alert{Name: "more", Severity: api.SeverityNotice, Kinds: []string{events[0].Kind},
		Hook: alert.Hook{URL: h.URL, Secret: []byte(alertSecret)}})
	if err := d.Apply(t.Context(), next); err != nil {
		t.Fatal(err)
	}
	until(t, "the alerts come", func() bool { events, _ := h.taken(); return len(events) > len(want) })
	events, _ = h.taken()
	if e := events[len(want)]; e.Alert != "more" || e.Kind != events[0].Kind || !e.Demo {
		t.Errorf("after a reload: %+v", e)
	}
	wrong := next
	wrong.Alerts = []operate.Alert{{Name: "x"}}
	if err := d.Apply(t.Context(), wrong); err == nil || !strings.Contains(err.Error(), "neither url nor mail") {
		t.Errorf("a wrong alert: %v", err)
	}
	d.Stop(t)
	journal, err := os.ReadFile(filepath.Join(dir, backup.AlertJournal))
	if err != nil || strings.Contains(string(journal), "SECRET") {
		t.Errorf("journal: %s, %v", journal, err)
	}
	if text := log.String(); strings.Contains(text, "SECRET") || !strings.Contains(text, "alert not delivered") || !strings.Contains(text, "500") {
		t.Errorf("log: %s", text)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.bad) > 0 {
		t.Errorf("posts: %q", h.bad)
	}
	mail, err := os.ReadFile(mails()[0])
	if err != nil || !strings.Contains(string(mail), "Subject: [") || !strings.Contains(string(mail), "synthetic data") {
		t.Errorf("mail: %s, %v", mail, err)
	}
}
