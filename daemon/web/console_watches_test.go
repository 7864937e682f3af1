package web_test

import (
	"database/sql"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/sdk/api"
)

// hook takes what watches post.
type hook struct {
	*httptest.Server
	refuses bool
}

func newHook(t *testing.T) *hook {
	h := &hook{}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h.refuses {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		_, _ = io.Copy(w, r.Body)
	}))
	t.Cleanup(h.Close)
	return h
}

// watch makes a watch with a key of u.
func (u *user) watch(key, body string) (w api.Watch) {
	u.t.Helper()
	u.header["Authorization"] = "Bearer " + key
	defer delete(u.header, "Authorization")
	u.into(u.call(http.MethodPost, api.PathWatches, body), http.StatusCreated, &w)
	return w
}

// watchesInBooks lets receivers be on this machine, and keeps the books in a file that a test can change.
func watchesInBooks(c *daemon.Config) { c.Watches.HTTPLoopback, c.StoreURL = true, "" }

// rewrite changes the books of d.
func rewrite(t *testing.T, d *daemontest.Daemon, text string, args ...any) {
	t.Helper()
	db, err := sql.Open("sqlite3", "file:"+filepath.Join(d.Config.DataDir, "contextd.db")+"?_busy_timeout=10000")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), text, args...); err != nil {
		t.Fatal(err)
	}
}

// TestOwnWatches: an owner sees the watches of all their keys with what became of deliveries, tests and removes them, and nobody else's.
func TestOwnWatches(t *testing.T) {
	t.Parallel()
	d, h := daemontest.Start(t, free, watchesInBooks), newHook(t)
	ada, eve := newUser(t, d), newUser(t, d)
	ada.signIn("ada@example.org")
	eve.signIn("eve@example.org")
	list := func(u *user) []api.Watch {
		t.Helper()
		var told api.WatchList
		u.into(u.call(http.MethodGet, api.PathOwnWatches, nil), http.StatusOK, &told)
		if told.Watches == nil {
			t.Error("no watches are null")
		}
		return told.Watches
	}
	if got := list(ada); len(got) != 0 {
		t.Errorf("before the first: %+v", got)
	}
	first := ada.watch(ada.issue("first").Key, `{"type":"flag.changed"}`)
	d.Clock.Advance(time.Second)
	second := ada.watch(ada.issue("second").Key, `{"type":"state.published","delivery":{"type":"webhook","url":"`+h.URL+`"}}`)
	eve.watch(eve.issue("hers").Key, `{"type":"flag.changed"}`)
	rewrite(t, d, `UPDATE watches SET last_at = 60000, failures = 3, failed_since = 120000, last_error = 'http_5xx', suspended_at = 180000,
		gap = 'djF8bG9nfDF8MA' WHERE id = ?`, second.ID)
	got := list(ada)
	if len(got) != 2 || got[0].ID != first.ID || got[0].Status != api.WatchActive || got[0].LastDeliveryAt != nil || got[0].Gap != "" {
		t.Fatalf("%+v", got)
	}
	if w := got[1]; w.ID != second.ID || w.Status != api.WatchSuspended || w.Failures != 3 || w.LastError != "http_5xx" ||
		w.FailedSince.UnixMilli() != 120000 || w.LastDeliveryAt.UnixMilli() != 60000 || w.Gap != "djF8bG9nfDF8MA" || w.Secret != "" {
		t.Errorf("%+v", w)
	}
	test := func(u *user, id string) answer {
		return u.call(http.MethodPost, api.PathOwnWatches+"/"+id+"/test", nil)
	}
	ada.into(test(ada, second.ID), http.StatusNoContent, nil)
	h.refuses = true
	ada.refused(test(ada, second.ID), api.ReasonCallbackRefused)
	ada.refused(test(ada, first.ID), api.ReasonInvalidDelivery)
	eve.refused(test(eve, second.ID), api.ReasonWatchNotFound)
	remove := func(u *user, id string) answer { return u.call(http.MethodDelete, api.PathOwnWatches+"/"+id, nil) }
	eve.refused(remove(eve, first.ID), api.ReasonWatchNotFound)
	ada.header["Sec-Fetch-Site"] = "cross-site"
	ada.refused(remove(ada, first.ID), api.ReasonCrossOrigin)
	ada.refused(test(ada, first.ID), api.ReasonCrossOrigin)
	delete(ada.header, "Sec-Fetch-Site")
	ada.into(remove(ada, first.ID), http.StatusNoContent, nil)
	ada.refused(remove(ada, first.ID), api.ReasonWatchNotFound)
	if got := list(ada); len(got) != 1 || got[0].ID != second.ID {
		t.Errorf("after the removal: %+v", got)
	}
	newUser(t, d).refused(newUser(t, d).call(http.MethodGet, api.PathOwnWatches, nil), api.ReasonMissingSession)
}

// TestWatchesInABrowser: the account lists watches with failures and gaps, as text, tests and removes them.
func TestWatchesInABrowser(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, true)
	d, h := daemontest.Start(t, daemontest.WithPages, watchesInBooks), newHook(t)
	const email = "watcher@example.org"
	b.signsIn(d, email, b.press)
	b.until("there is no watch", `document.getElementById("who").textContent === "`+email+
		`" && !document.getElementById("watches").children.length`)
	b.fill("#keyname", "agent")
	b.press("#make button")
	b.until("there is a key", `document.getElementById("plain").textContent.startsWith("cv_")`)
	var key string
	b.run(`return document.getElementById("plain").textContent`, &key)
	u := newUser(t, d)
	polled := u.watch(key, `{"type":"condition.met","arguments":{"member":"asset","key":"<b>BTC</b>","field":"priceUsd","op":"<","value":1}}`)
	d.Clock.Advance(time.Second) // they are listed in the order in which they were made
	posted := u.watch(key, `{"type":"state.published","delivery":{"type":"webhook","url":"`+h.URL+`/secret-path"}}`)
	rewrite(t, d, `UPDATE watches SET last_at = 60000, failures = 21, failed_since = 120000, last_error = 'http_5xx', suspended_at = 180000,
		gap = 'djF8bG9nfDF8MA' WHERE id = ?`, posted.ID)
	b.visit(d.URL() + "/account")
	const rows = `document.querySelectorAll("#watches tr")`
	has := func(i, text string) string { return rows + `[` + i + `].textContent.includes(` + "`" + text + "`)" }
	b.until("both are there", rows+`.length === 2`)
	for _, text := range []string{polled.ID, "<b>BTC</b>", "op <", "by cursor", "active"} {
		b.until("of the first: "+text, has("0", text)+` && !document.querySelector("#watches b")`)
	}
	for _, text := range []string{
		posted.ID, "webhook to " + strings.TrimPrefix(h.URL, "http://"), "suspended", "make it again",
		"21 failed since 1970-01-01 00:02: http_5xx",
		"1970-01-01 00:01", "ctx watch events " + posted.ID + " --cursor djF8bG9nfDF8MA",
	} {
		b.until("of the second: "+text, has("1", text)+` && !`+has("1", "secret-path"))
	}
	for _, wide := range []int{360, 1280} {
		b.width(wide)
		b.fits("watches")
	}
	b.press("#watches tr:nth-child(2) button")
	b.until("the test is good", `document.getElementById("say").textContent === "The delivery of state.published works."`)
	h.refuses = true
	b.press("#watches tr:nth-child(2) button")
	b.until("the test is bad", `document.getElementById("say").textContent.includes("did not answer the challenge")`)
	b.click("#watches tr:nth-child(1) button")
	b.agrees()
	b.until("one is left", rows+`.length === 1 && `+has("0", posted.ID))
	b.quietBut("401", "400")
}
