package daemon_test

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/admin"
	"github.com/contextd/contextd/daemon/brief/llm"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/daemon/testbed"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

// modelKey is the key of the model in these tests.
const modelKey = "sk-the-key-of-the-model"

// modelServer speaks the Messages API: it writes a text for what it is asked, or hangs.
type modelServer struct {
	*httptest.Server
	mu    sync.Mutex // guards what follows
	text  func(ask string) string
	hangs bool
	asked int
}

// newModel starts a model, and returns the change that makes a daemon's briefs be written by it.
func newModel(t *testing.T, within time.Duration) (*modelServer, func(*daemon.Config)) {
	t.Helper()
	m := &modelServer{text: func(string) string { return "The market moved [3]." }}
	m.Server = httptest.NewServer(m)
	t.Cleanup(m.Close)
	return m, func(c *daemon.Config) {
		c.Briefs = daemon.Briefs{TextWithin: within, Model: &llm.Config{
			Provider: llm.Anthropic, Model: "m-1", BaseURL: m.URL, Key: modelKey, Transport: m.Client().Transport,
		}}
	}
}

// set changes what the model does.
func (m *modelServer) set(hangs bool, text func(ask string) string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.hangs = hangs; text != nil {
		m.text = text
	}
}

// calls is how often it was asked.
func (m *modelServer) calls() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.asked
}

// ServeHTTP streams one message.
func (m *modelServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ask, _ := io.ReadAll(r.Body)
	m.mu.Lock()
	m.asked++
	text, hangs := m.text(string(ask)), m.hangs
	m.mu.Unlock()
	if hangs {
		<-r.Context().Done()
		return
	}
	quoted, _ := json.Marshal(text)
	w.Header().Set("Content-Type", "text/event-stream")
	for _, e := range [][2]string{
		{"message_start", `{"type":"message_start","message":{"id":"1","type":"message","role":"assistant","content":[],"usage":{"input_tokens":100,"output_tokens":1}}}`},
		{"content_block_start", `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`},
		{"content_block_delta", `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":` + string(quoted) + `}}`},
		{"content_block_stop", `{"type":"content_block_stop","index":0}`},
		{"message_delta", `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":20}}`},
		{"message_stop", `{"type":"message_stop"}`},
	} {
		fmt.Fprintf(w, "event: %s\ndata: %s\n\n", e[0], e[1])
	}
}

// logTo returns the change that makes a daemon write its log to j.
func logTo(j *testbed.Log) func(*daemon.Config) {
	return func(c *daemon.Config) { c.Logger = slog.New(slog.NewJSONHandler(j, nil)) }
}

// TestBriefByAModel: a model writes the brief of the pack; what it takes is kept, and a text that does not hold is replaced and told.
func TestBriefByAModel(t *testing.T) {
	t.Parallel()
	m, byModel := newModel(t, 0)
	log := new(testbed.Log)
	d := daemontest.Start(t, byModel, logTo(log), func(c *daemon.Config) { c.AdminListen = "127.0.0.1:0" })
	c := client(t, d, d.Key(t, api.TierFree))
	if b, err := c.Brief(t.Context(), ""); err != nil || b.Brief != "The market moved [3]." {
		t.Fatalf("brief %+v, %v", b, err)
	}
	m.set(false, func(ask string) string {
		if strings.Contains(ask, "A check refused this text") {
			return "See https://evil.example for $9.99 trillion [3]."
		}
		return "The market is worth $9.99 trillion [3]."
	})
	if err := d.Narrate(t.Context(), api.PackCrypto); err != nil {
		t.Fatal(err)
	}
	if b, err := c.Brief(t.Context(), ""); err != nil || strings.Contains(b.Brief, "9.99") || len(b.Brief) < 500 {
		t.Fatalf("brief %+v, %v", b, err)
	}
	o, err := admin.Open(t.Context(), admin.Config{DataDir: d.Config.DataDir})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	r, err := o.CheckBriefs(t.Context(), api.PackCrypto)
	if err != nil || len(r.Briefs) != 3 || len(r.Findings) != 0 || r.Unknown != "" || r.Taken.InputTokens != 300 || r.Taken.OutputTokens != 60 {
		t.Fatalf("report %+v, %v", r, err)
	}
	if b := r.Briefs[0]; b.Writer != "built-in" || len(b.Refused) != 2 || !strings.Contains(b.Refused[1], `second text: link "https://evil.example"`) {
		t.Errorf("published %+v", b)
	}
	if b := r.Briefs[1]; b.Writer != "anthropic/m-1" || len(b.Refused) != 0 {
		t.Errorf("published %+v", b)
	}
	if text := log.String(); !strings.Contains(text, "brief text refused") || !strings.Contains(text, `$9.99 trillion`) || strings.Contains(text, modelKey) {
		t.Errorf("log:\n%s", text)
	}
	for _, want := range []string{
		`contextd_brief_texts_refused_total{pack="crypto",why="figure",writer="anthropic/m-1"} 1`,
		`contextd_brief_texts_refused_total{pack="crypto",why="link",writer="anthropic/m-1"} 1`,
	} {
		if text := read(t, d.AdminURL()+"/metrics"); !strings.Contains(text, "\n"+want) {
			t.Errorf("lacks %s", want)
		}
	}
	p, err := o.PreviewBrief(t.Context(), api.PackCrypto, "anthropic/m-1")
	if err != nil || p.Writer != "" || len(p.Refused) != 2 || p.Usage.InputTokens != 200 {
		t.Errorf("preview %+v, %v", p, err)
	}
}

// TestHangingModelHoldsUpNothing: states are made while it hangs, the built-in brief comes when its time is over, and a stop is not
// delayed.
func TestHangingModelHoldsUpNothing(t *testing.T) {
	t.Parallel()
	m, byModel := newModel(t, time.Hour)
	m.set(true, nil)
	d := daemontest.Open(t, byModel)
	if err := d.Refresh(t.Context(), api.PackCrypto); err != nil {
		t.Fatal(err)
	}
	d.Run(t)
	until(t, "the model is asked", func() bool { return m.calls() > 0 })
	for range 3 {
		d.Clock.Advance(5 * time.Minute)
		if err := d.Refresh(t.Context(), api.PackCrypto); err != nil {
			t.Fatal(err)
		}
	}
	c := client(t, d, d.Key(t, api.TierFree))
	if _, err := c.Fresh(t.Context(), ""); err != nil {
		t.Errorf("fresh while the model hangs: %v", err)
	}
	began := time.Now()
	d.Stop(t)
	if took := time.Since(began); took > time.Minute {
		t.Errorf("the stop took %v", took)
	}

	_, impatient := newModel(t, 50*time.Millisecond)
	d = daemontest.Open(t, byModel, func(c *daemon.Config) {
		impatient(c)
		c.Briefs.Model.BaseURL, c.Briefs.Model.Transport = m.URL, m.Client().Transport
	})
	if err := d.Refresh(t.Context(), api.PackCrypto); err != nil {
		t.Fatal(err)
	}
	if err := d.Narrate(t.Context(), api.PackCrypto); err != nil {
		t.Errorf("brief after a model that hung: %v", err)
	}
}

// owner signs in a new owner of tier pro with a key.
func owner(t *testing.T, d *daemontest.Daemon, c *sdk.Client) (*sdk.Console, string) {
	t.Helper()
	console := c.Console("")
	const mail = "ada@example.org"
	if _, err := console.SendLink(t.Context(), mail); err != nil {
		t.Fatal(err)
	}
	session, err := console.ByLink(t.Context(), d.MailedLink(t, mail))
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Keys().SetTier(t.Context(), session.UserID, api.TierPro); err != nil {
		t.Fatal(err)
	}
	key, err := console.CreateKey(t.Context(), "own", "")
	if err != nil {
		t.Fatal(err)
	}
	return console, key.Key
}

// TestBriefByAPrompt: an owner's prompt steers the briefs of their keys and of nobody else's, once per state; where it cannot, they get
// the pack's with a warning.
func TestBriefByAPrompt(t *testing.T) {
	t.Parallel()
	m, byModel := newModel(t, 0)
	m.set(false, func(ask string) string {
		if strings.Contains(ask, "Only stablecoins") {
			return "Stablecoins did not move [7]."
		}
		return "The market moved [3]."
	})
	d := daemontest.Start(t, byModel)
	other := client(t, d, d.Key(t, api.TierTeam))
	console, key := owner(t, d, other)
	own := client(t, d, key)
	read := func(c *sdk.Client, want, warning string) {
		t.Helper()
		var meta sdk.Response
		b, err := c.Brief(t.Context(), "", sdk.WithResponse(&meta))
		if err != nil || b.Brief != want || (meta.Header.Get("Warning") == "") != (warning == "") || !strings.Contains(meta.Header.Get("Warning"), warning) {
			t.Errorf("brief %+v, %v, warning %q; want %q", b, err, meta.Header.Get("Warning"), want)
		}
	}
	read(own, "The market moved [3].", "")
	if _, err := console.SetPrompt(t.Context(), api.PackCrypto, "Only stablecoins."); err != nil {
		t.Fatal(err)
	}
	read(own, "Stablecoins did not move [7].", "")
	read(own, "Stablecoins did not move [7].", "")
	read(other, "The market moved [3].", "")
	if n := m.calls(); n != 2 {
		t.Errorf("the model was asked %d times, want once for the pack and once for the owner", n)
	}
	if f, err := own.Fresh(t.Context(), ""); err != nil || f.Brief != "The market moved [3]." {
		t.Errorf("fresh has the brief %q, %v; want the pack's", f.Brief, err)
	}
	m.set(false, func(ask string) string {
		if strings.Contains(ask, "Only stablecoins") {
			return "Stablecoins are worth $987 [7]."
		}
		return "The market moved [3]."
	})
	d.Clock.Advance(5 * time.Minute)
	if err := d.Refresh(t.Context(), api.PackCrypto); err != nil {
		t.Fatal(err)
	}
	read(own, "The market moved [3].", `199 contextd "no text by your prompt passed the check`)
	if err := console.DropPrompt(t.Context(), api.PackCrypto); err != nil {
		t.Fatal(err)
	}
	read(own, "The market moved [3].", "")
}

// TestModelThatIsNone: what is wrong with a model is said at the start.
func TestModelThatIsNone(t *testing.T) {
	t.Parallel()
	_, err := daemon.Open(t.Context(), daemon.Config{
		DataDir: t.TempDir(), Serve: daemon.Serve{Listen: "127.0.0.1:0"},
		Data: daemon.Data{Briefs: daemon.Briefs{Model: &llm.Config{Provider: "x", Model: "m"}}},
	})
	if err == nil || !strings.Contains(err.Error(), `language model: provider "x"`) {
		t.Errorf("opened: %v", err)
	}
}
