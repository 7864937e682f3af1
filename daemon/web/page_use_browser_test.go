package web_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/daemon/web"
	"github.com/contextd/contextd/sdk/api"
)

// TestRowsInABrowser: tables are sorted, filtered and watched, rows opened, compared and left again, by mouse and by keyboard, while new
// states come; nothing moves by itself.
func TestRowsInABrowser(t *testing.T) {
	t.Parallel()
	for _, wide := range []int{390, 1280} {
		b := newBrowser(t, true)
		d := daemontest.Start(t, func(cfg *daemon.Config) { cfg.Page = web.PagePublic })
		b.width(wide)
		b.do("POST", "/goog/cdp/execute", map[string]any{"cmd": "Page.addScriptToEvaluateOnNewDocument", "params": map[string]any{
			"source": `window.shift = 0; new PerformanceObserver(l => l.getEntries().forEach(e => { if (!e.hadRecentInput) window.shift += e.value; }))` +
				`.observe({type: "layout-shift", buffered: true})`}}, nil)
		b.visit(d.URL() + "/")
		const rows = `[...document.querySelectorAll("#t1 tbody tr")]`
		b.until("headings are buttons", `document.querySelectorAll("#t1 th .sort").length > 2`)
		b.until("nothing has moved", `window.shift < 0.05`)
		b.run(`window.order = `+rows+`.map(r => r.id).join(); return true`, nil)
		b.press("#t1 thead th:nth-child(2) .sort")
		b.until("the dearest comes first", rows+`[0].textContent.includes("BTC") && document.querySelector("#t1 th[aria-sort=descending]")`)
		b.press("#t1 thead th:nth-child(2) .sort")
		b.until("the cheapest comes first", `!`+rows+`[0].textContent.includes("BTC") && `+rows+`.at(-1).textContent.includes("BTC")`)
		d.Recording.Advance()
		d.Clock.Advance(20 * time.Minute)
		b.run(`window.before = document.querySelector("main").textContent; return true`, nil)
		if err := d.Refresh(t.Context(), api.PackCrypto); err != nil {
			t.Fatal(err)
		}
		b.until("a new state is in the order", `document.querySelector("main").textContent !== window.before && `+rows+`.at(-1).textContent.includes("BTC")`)
		b.press("#t1 thead th:nth-child(2) .sort")
		b.until("the order of the pack is back", `!document.querySelector("#t1 th[aria-sort]")`)

		b.key("/", 191)
		b.until("/ leads to the filter", `document.activeElement.id === "filter"`)
		b.fill("#filter", "ethereum")
		b.until("rows without the text are gone", rows+`.some(r => r.hidden) && `+rows+`.some(r => !r.hidden) && `+
			rows+`.every(r => r.hidden || r.textContent.toLowerCase().includes("ethereum"))`)
		b.fits("a filtered page")
		b.key("Escape", 27)
		b.until("Escape shows them again", rows+`.every(r => !r.hidden) && document.getElementById("filter").value === ""`)

		b.press(`#t1 a[href*="asset%2Fbitcoin"]`)
		b.until("a row opens with its link", `document.activeElement.id === "h-row" && location.search.includes("row=asset%2Fbitcoin") && document.querySelector("#row .chart polyline")`)
		b.fits("the view of a row")
		b.press("#watch")
		b.until("it is watched", `document.getElementById("watch").getAttribute("aria-pressed") === "true" && document.querySelectorAll("#t1 tr.watched").length === 1`)
		b.run(`const s = document.getElementById("with"); s.value = "asset/ethereum"; s.dispatchEvent(new Event("change", {bubbles: true})); return true`, nil)
		b.until("it is compared", `document.querySelectorAll("#row .chart polyline").length === 2 && location.search.includes("with=asset%2Fethereum")`)
		b.fits("two rows")
		b.press(`.spans a:first-child`)
		b.until("the span is another", `location.search.includes("span=1h") && document.querySelector('.spans a[aria-current]').textContent === "1h"`)
		d.Recording.Advance()
		d.Clock.Advance(5 * time.Minute)
		b.run(`window.made = document.getElementById("row"); return true`, nil)
		if err := d.Refresh(t.Context(), api.PackCrypto); err != nil {
			t.Fatal(err)
		}
		b.until("the view follows the state", `document.getElementById("row") && document.getElementById("row") !== window.made`)
		b.run(`history.back(); return true`, nil)
		b.until("back leads to the view before", `location.search.includes("span=24h") && document.querySelector('.spans a[aria-current]').textContent === "24h"`)
		b.key("Escape", 27)
		b.until("Escape leaves it, to where it was opened", `!document.getElementById("row") && location.search === "" && document.activeElement.closest("#t1 tr")`)
		b.key("ArrowDown", 40)
		b.until("arrows go on", rows+`[1].contains(document.activeElement)`)
		b.press("#watched")
		b.until("what is watched is alone", rows+`.filter(r => !r.hidden).length === 1`)
		b.visit(d.URL() + "/")
		b.until("the browser keeps it", `document.querySelectorAll("tr.watched").length >= 1`)

		b.visit(d.URL() + "/?at=" + api.Minute(d.Clock.Now().Add(-2*time.Minute)).Key())
		b.until("the past is not live", `document.querySelector(".then") && !document.getElementById("live") && !document.getElementById("lost").textContent`)
		b.fits("a past minute")
		b.press(`#t1 a[href*="asset%2Fbitcoin"]`)
		b.until("its rows open", `document.querySelector("#row blockquote") && location.search.includes("at=")`)
		b.press("#shut")
		b.until("and close there", `!document.getElementById("row") && location.search.includes("at=")`)
		b.quietBut()
	}
}

// press presses what a selector means, in one step: a new state may replace it between two.
func (b *browser) press(selector string) {
	b.t.Helper()
	b.until("there is "+selector, "document.querySelector("+strconv.Quote(selector)+")")
	b.run("document.querySelector("+strconv.Quote(selector)+").click()", nil)
}

// TestRowsWithoutScripts: a row opens, is compared and left by links and a button alone, and what needs a script is not shown.
func TestRowsWithoutScripts(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, false)
	d := daemontest.Start(t, func(cfg *daemon.Config) { cfg.Page = web.PagePublic })
	b.width(1280)
	b.visit(d.URL() + "/packs/crypto")
	b.until("what needs a script is not shown", `document.getElementById("filter").offsetParent === null`)
	b.click(`#t1 a[href*="asset%2Fbitcoin"]`)
	b.until("the row is open", `document.querySelector("#row h2").textContent.includes("Bitcoin") && document.getElementById("watch").offsetParent === null`)
	b.click(`#with option[value="asset/ethereum"]`)
	b.click(`.cmp button`)
	b.until("it is compared", `document.querySelectorAll("#row thead th").length === 3`)
	b.click("#shut")
	b.until("it is left", `!document.getElementById("row") && location.pathname === "/packs/crypto"`)
}

// TestNotifyInABrowser: who allows it is notified of what is critical, once for each flag that goes up; who refuses it or ends it is not.
func TestNotifyInABrowser(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, true)
	d := daemontest.Start(t, func(cfg *daemon.Config) { cfg.Page = web.PagePublic })
	b.do("POST", "/goog/cdp/execute", map[string]any{"cmd": "Page.addScriptToEvaluateOnNewDocument", "params": map[string]any{
		"source": `window.notes = []; window.asked = 0; window.answer = "granted";
			window.Notification = class {
				constructor(title, o) { notes.push([title, o.body, o.tag].join(" | ")); }
				static permission = "default";
				static async requestPermission() { asked++; return Notification.permission = answer; }
			};
			window.EventSource = class { constructor() { window.events = this; } close() {} };`}}, nil)
	b.visit(d.URL() + "/")
	b.until("it is offered", `!document.getElementById("tell").hidden && !document.getElementById("notify").checked`)
	b.run(`window.up = (...ids) => {
			const flags = document.createElement("div");
			for (const id of ids) {
				const f = document.querySelector(".flag[data-flag]").cloneNode(true);
				f.className = "flag critical"; f.dataset.flag = id; f.querySelector("b + span").textContent = id + " lost its peg";
				flags.append(f);
			}
			events.onmessage({data: JSON.stringify({v: "1", parts: [["flags", flags.innerHTML]]})});
			return notes.join("; ");
		}; return true`, nil)
	for _, step := range []struct{ what, does, said string }{
		{"nobody has allowed it", `up("a")`, ""},
		{"it is allowed, and one goes up", `document.getElementById("notify").click(), new Promise(r => setTimeout(r)).then(() => up("a", "b"))`,
			"crypto: critical | b lost its peg | cryptob"},
		{"they stand", `notes.length = 0, up("a", "b")`, ""},
		{"one goes and comes again beside a third", `up("b"), up("a", "b", "c")`,
			"crypto: critical | a lost its peg | cryptoa; crypto: critical | c lost its peg | cryptoc"},
		{"it is ended", `notes.length = 0, document.getElementById("notify").click(), up("d")`, ""},
		{"it is refused", `answer = Notification.permission = "default", answer = "denied", document.getElementById("notify").click(),
			new Promise(r => setTimeout(r)).then(() => up("e") + document.getElementById("notify").checked + asked)`, "false2"},
	} {
		var said string
		if b.run(`return `+step.does, &said); said != step.said {
			t.Errorf("%s: %q, want %q", step.what, said, step.said)
		}
	}
	b.quiet()
}
