package web_test

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/daemon/web"
	"github.com/contextd/contextd/internal/devchain"
	"github.com/contextd/contextd/internal/usdg"
	"github.com/contextd/contextd/sdk/api"
)

// visit goes to url.
func (b *browser) visit(url string) {
	b.t.Helper()
	b.do(http.MethodPost, "/url", map[string]string{"url": url}, nil)
}

// click presses the element that a selector means.
func (b *browser) click(selector string) {
	b.t.Helper()
	b.do(http.MethodPost, "/element/"+b.find(selector)+"/click", nil, nil)
}

// fill types text into a field.
func (b *browser) fill(selector, text string) {
	b.t.Helper()
	b.do(http.MethodPost, "/element/"+b.find(selector)+"/value", map[string]string{"text": text}, nil)
}

// run runs a script and decodes what it returns.
func (b *browser) run(script string, value any) {
	b.t.Helper()
	b.do(http.MethodPost, "/execute/sync", map[string]any{"script": script, "args": []any{}}, value)
}

// until waits until a script returns true.
func (b *browser) until(what, script string) {
	b.t.Helper()
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		var done bool
		if b.run("return !!("+script+")", &done); done {
			return
		}
		if time.Now().After(end) {
			b.t.Fatalf("not so: %s; the page reads %q", what, b.text())
		}
	}
}

// width makes the page so wide.
func (b *browser) width(wide int) {
	b.t.Helper()
	b.do(http.MethodPost, "/goog/cdp/execute", map[string]any{"cmd": "Emulation.setDeviceMetricsOverride",
		"params": map[string]any{"width": wide, "height": 900, "deviceScaleFactor": 1, "mobile": false}}, nil)
}

// fits fails if the page scrolls sideways, and has axe look at it where CONTEXTD_AXE names its script.
func (b *browser) fits(what string) {
	b.t.Helper()
	var over []string
	b.run(`const w = document.documentElement.clientWidth; return document.documentElement.scrollWidth <= w ? [] : [...document.querySelectorAll("body *")]`+
		`.filter(e => e.getBoundingClientRect().right > w + 1).slice(0, 5).map(e => e.tagName + "." + e.className + " " + e.textContent.slice(0, 40))`, &over)
	if len(over) > 0 {
		b.t.Errorf("%s scrolls sideways: %q", what, over)
	}
	path := os.Getenv("CONTEXTD_AXE")
	if path == "" {
		return
	}
	axe, err := os.ReadFile(path)
	if err != nil {
		b.t.Fatal(err)
	}
	b.run(string(axe), nil)
	var found []struct {
		ID, Impact, Help string
		Nodes            []struct{ HTML string }
	}
	b.do(http.MethodPost, "/execute/async", map[string]any{
		"script": "const done = arguments[0]; axe.run(document).then(r => done(r.violations.map(v => ({id: v.id, impact: v.impact, help: v.help, " +
			"nodes: v.nodes.slice(0, 3).map(n => ({html: n.html}))}))))", "args": []any{},
	}, &found)
	for _, v := range found {
		b.t.Errorf("%s breaks %s (%s): %s: %v", what, v.ID, v.Impact, v.Help, v.Nodes)
	}
}

// key presses a key.
func (b *browser) key(name string, code int) {
	b.t.Helper()
	for _, kind := range []string{"keyDown", "keyUp"} {
		params := map[string]any{"type": kind, "key": name, "code": name, "windowsVirtualKeyCode": code}
		if name == "Enter" && kind == "keyDown" {
			params["text"] = "\r"
		}
		b.do(http.MethodPost, "/goog/cdp/execute", map[string]any{"cmd": "Input.dispatchKeyEvent", "params": params}, nil)
	}
}

// byKeyboard walks over a page with the keyboard alone: past the header in one step, and whatever is reached is seen and marked.
func (b *browser) byKeyboard() {
	b.t.Helper()
	const tab, enter = 9, 13
	b.key("Tab", tab)
	b.until("the way past the header is first", `document.activeElement.className === "skip" && document.activeElement.getBoundingClientRect().left >= 0`)
	b.key("Enter", enter)
	b.key("Tab", tab)
	b.until("the header is passed", `location.hash === "#main" && document.querySelector("main").contains(document.activeElement)`)
	for range 12 {
		b.until("the focus is seen", `(e => getComputedStyle(e).outlineStyle === "solid" && e.getBoundingClientRect().width > 0)(document.activeElement)`)
		b.key("Tab", tab)
	}
	still := map[string]any{"features": []map[string]string{{"name": "prefers-reduced-motion", "value": "reduce"}}}
	b.do(http.MethodPost, "/goog/cdp/execute", map[string]any{"cmd": "Emulation.setEmulatedMedia", "params": still}, nil)
	b.until("nothing moves for who wants none of it",
		`(e => { e.className = "glow"; document.body.append(e); const s = getComputedStyle(e).animationName; e.remove(); return s === "none"; })(document.createElement("b"))`)
}

// prints fails unless the page goes onto one sheet of paper.
func (b *browser) prints() {
	b.t.Helper()
	var printed struct{ Data []byte }
	b.do(http.MethodPost, "/goog/cdp/execute", map[string]any{"cmd": "Page.printToPDF", "params": map[string]any{"paperWidth": 8.27, "paperHeight": 11.69}}, &printed)
	if sheets := len(regexp.MustCompile(`/Type /Page\b`).FindAll(printed.Data, -1)); sheets != 1 {
		b.t.Errorf("the page is printed on %d sheets", sheets)
	}
}

// TestDocsInABrowser: without scripts of its own the page of the description is a few screens of index, nothing on it is too wide, open or
// not, and an address opens what it means.
func TestDocsInABrowser(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, true)
	d := daemontest.Start(t, func(cfg *daemon.Config) { cfg.Page = web.PagePublic })
	for _, wide := range []int{390, 1280, 1920} {
		b.width(wide)
		b.visit(d.URL() + api.PathDocs)
		b.fits(fmt.Sprintf("/docs at %d", wide))
		var tall int
		if b.run(`return document.documentElement.scrollHeight`, &tall); tall > 20_000 {
			t.Errorf("/docs at %d is %d tall", wide, tall)
		}
		b.run(`document.querySelectorAll("details").forEach(e => e.open = true)`, nil)
		b.fits(fmt.Sprintf("/docs at %d, unfolded", wide))
		for _, at := range []string{"getFresh", "errors", "error-invalid_request", "schemas", "schema-Error"} {
			b.visit("about:blank")
			b.visit(d.URL() + api.PathDocs + "#" + at)
			b.until("#"+at+" is shown", `(e => { const r = e.getBoundingClientRect(), p = e.querySelector(":scope > td, :scope > details > :not(summary)"); `+
				`return r.top > -1 && r.top < innerHeight && p.checkVisibility({contentVisibilityAuto: true}) && p.getBoundingClientRect().height > 0 })`+
				`(document.getElementById("`+at+`"))`)
		}
		b.visit(d.URL() + api.PathDocs + "/run")
		b.fits(fmt.Sprintf("/docs/run at %d", wide))
	}
	b.quiet()
}

// TestPagesInABrowser walks through the pages in a real browser, at the widths of a phone and a desktop.
func TestPagesInABrowser(t *testing.T) {
	t.Parallel()
	for _, wide := range []int{360, 390, 1280} {
		b := newBrowser(t, true)
		d := daemontest.Start(t, func(cfg *daemon.Config) { cfg.Page = web.PagePublic })
		b.width(wide)
		b.visit(d.URL() + "/")
		b.until("the page is live", `document.querySelector(".live time") && document.title.includes("old")`)
		b.until("prices are on the first screen", `document.querySelectorAll(".tile .v").length === 4 && [...document.querySelectorAll(".tile .v")].every(v => v.getBoundingClientRect().bottom < innerHeight)`)
		b.fits("the front page")
		b.byKeyboard()
		b.click(`.brief a.fig`)
		b.until("a figure leads to its source", `document.querySelector(".sources li:target")`)
		d.Recording.Advance()
		d.Clock.Advance(5 * time.Minute)
		b.run(`window.same = document.querySelector("#t1 tbody"); window.before = document.querySelector("main").textContent; return true`, nil)
		if err := d.Refresh(t.Context(), api.PackCrypto); err != nil {
			t.Fatal(err)
		}
		b.until("a new state is put in place", `document.querySelector("main").textContent !== window.before && document.body.dataset.version`)
		b.fits("the page of a new state")
		b.fill("#q", "ADA price")
		b.click("form[role=search] button")
		b.until("the answer is there", `document.querySelector(".ask table") && document.querySelector(".ask").textContent.includes("Cardano")`)
		b.fits("an answer")
		b.click("#check summary")
		b.fill("#draft", "Bitcoin trades at $12. It may hit $5.")
		b.click("#check button")
		b.until("the text is marked", `location.hash === "#check" && document.querySelectorAll("#check .ck").length === 2`)
		b.until("marks differ not by colour alone", `new Set([...document.querySelectorAll("#check .ck")].map(a => getComputedStyle(a).textDecorationStyle + a.firstElementChild.textContent)).size === 2`)
		b.fits("a text that was checked")
		b.click("#check .refuted")
		b.until("a mark leads to what is to say", `document.querySelector("#f1:target").textContent.includes("Bitcoin price was $")`)
		b.click("#f1 a[href^='?row=']")
		b.until("and that to the row", `document.querySelector("#row[data-row='asset/bitcoin']")`)
		b.click("#shut")
		b.until("the row is shut", `!document.querySelector("#row")`)
		b.prints()
		b.visit(d.URL() + "/account")
		b.until("one can sign in", `!document.getElementById("signin").hidden`)
		b.until("what is hidden is not seen", `document.getElementById("token").offsetParent === null`)
		b.fits("the account of nobody")
		b.quietBut("401") // of the session that there is not
		b.visit(d.URL() + "/")
		b.until("the page is live", `document.querySelector(".live .state").textContent === "live"`)
		d.Stop(t)
		b.until("the page says that it is cut off", `document.body.classList.contains("gone") && document.getElementById("lost").textContent.includes("figures are frozen")`)
	}
}

// TestGzipStreamInABrowser: a browser, which asks for gzip by itself, reads a compressed stream as fetch and as EventSource, each event as it
// comes.
func TestGzipStreamInABrowser(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, true)
	d := daemontest.Start(t, func(cfg *daemon.Config) { cfg.Page = web.PagePublic })
	b.visit(d.URL() + "/account")
	b.run(`window.coding = ""; window.fetched = ""; window.events = [];
		const url = "`+api.PathSubscribe+`?token=`+d.Key(t, api.TierPro)+`";
		fetch(url).then(async r => {
			window.coding = r.headers.get("Content-Encoding");
			const reader = r.body.pipeThrough(new TextDecoderStream()).getReader();
			for (let part; !(part = await reader.read()).done;) window.fetched += part.value;
		});
		const source = new EventSource(url);
		for (const name of ["pulse", "delta"]) source.addEventListener(name, e => window.events.push(name + e.data));
		return true`, nil)
	const both = `window.fetched.includes("event: %[1]s") && window.events.some(e => e.startsWith("%[1]s{"))`
	b.until("the pulse of the connection came", fmt.Sprintf(both, api.EventPulse))
	d.Recording.Advance()
	d.Clock.Advance(5 * time.Minute)
	if err := d.Refresh(t.Context(), api.PackCrypto); err != nil {
		t.Fatal(err)
	}
	b.until("the new state came while the streams are open", fmt.Sprintf(both, api.EventDelta))
	b.until("the stream was compressed", `window.coding === "gzip"`)
}

// quietBut is quiet but for lines with one of the texts in them.
func (b *browser) quietBut(texts ...string) {
	b.t.Helper()
	var log []struct{ Level, Message string }
	b.do(http.MethodPost, "/se/log", map[string]string{"type": "browser"}, &log)
	for _, line := range log {
		expected := func(text string) bool { return strings.Contains(line.Message, text) }
		if !slices.ContainsFunc(texts, expected) && !expected("favicon") {
			b.t.Errorf("the browser says %s: %s", line.Level, line.Message)
		}
	}
}

// signsIn signs in by a mailed link, which is asked for as press says, and ends at the account.
func (b *browser) signsIn(d *daemontest.Daemon, email string, press func(selector string)) {
	b.t.Helper()
	b.visit(d.URL() + "/account")
	b.until("one can sign in", `!document.getElementById("signin").hidden`)
	b.fill("#email", email)
	press("#mail button")
	b.until("the link is on its way", `document.getElementById("say").textContent.includes("on its way")`)
	b.visit(d.MailedLink(b.t, email))
	b.click("button")
	b.click(`a[href$="/account"]`)
}

// TestAccountInABrowser: an owner comes by a mailed link, makes a key, buys credits, adds a wallet and signs in with that.
func TestAccountInABrowser(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, true)
	c := daemontest.Chain(t)
	d := daemontest.Start(t, daemontest.On(c), daemontest.WithPages, func(cfg *daemon.Config) { cfg.Chain.AtOnce = true })
	w := newWallet(t)
	b.do(http.MethodPost, "/goog/cdp/execute", map[string]any{"cmd": "Page.addScriptToEvaluateOnNewDocument", "params": map[string]any{
		"source": `window.ethereum = {request: ({method, params}) => method === "eth_requestAccounts" ? Promise.resolve(["` + w.address + `"]) :
			new Promise(done => { window.asked = {method, params}; window.answer = done; })}`}}, nil)
	b.width(1280)
	const email = "browser@example.org"
	b.signsIn(d, email, b.click)
	b.until("the account is there", `document.getElementById("who").textContent === "`+email+`" && document.querySelector("#chart svg")`)
	b.fits("the account")
	b.fill("#keyname", "my <agent>")
	b.click("#make button")
	b.until("the key is shown", `document.getElementById("plain").textContent.startsWith("cv_")`)
	var key string
	b.run(`return document.getElementById("plain").textContent`, &key)
	u := newUser(t, d)
	if got := u.fresh(key); got.Status != http.StatusOK {
		t.Errorf("the new key: %d", got.Status)
	}
	b.click("#hide")
	b.until("the key is gone", `!document.documentElement.outerHTML.includes("`+key+`")`)
	// As where there are several chains to pay on: what is chosen is asked for.
	b.run(`const s = document.createElement("select"); s.id = "rail"; s.append(new Option("none"), new Option("`+api.NetworkL2+`"));
		s.setAttribute("aria-label", "Pay on"); document.querySelector("main").append(s)`, nil)
	b.click(`.buy[data-pack="starter"]`)
	b.until("no such chain is refused", `document.getElementById("say").textContent.startsWith('There is no rail "none"')`)
	b.run(`document.getElementById("rail").value = "`+api.NetworkL2+`"`, nil)
	b.click(`.buy[data-pack="starter"]`)
	b.until("the code is drawn", `document.querySelector(".deposit img") && document.querySelector(".deposit img").naturalWidth > 0`)
	b.fits("a purchase")
	var intent api.DepositIntent
	b.run(`return JSON.parse(localStorage.getItem("contextd-deposits"))[0]`, &intent)
	b.paysByWallet(c, intent)
	if err := d.RunJob(t.Context(), "deposits"); err != nil {
		t.Fatal(err)
	}
	b.until("the credits are there", `document.getElementById("balance").textContent === "1,000"`)
	b.click("#addwallet")
	b.signs(w)
	b.until("the wallet is added", `document.querySelectorAll("#ids tr").length === 2`)
	b.click("#out")
	b.until("nobody is signed in", `!document.getElementById("signin").hidden && document.getElementById("mine").hidden`)
	b.click("#wallet")
	b.signs(w)
	b.until("the wallet signs in", `!document.getElementById("mine").hidden && document.querySelectorAll("#ids tr").length === 2`)
	b.click("#keys tr button:last-child")
	b.agrees()
	b.until("the key is revoked", `document.getElementById("keys").textContent.includes("revoked")`)
	if got := u.fresh(key); got.Status != http.StatusUnauthorized {
		t.Errorf("the revoked key: %d", got.Status)
	}
	b.width(360)
	b.fits("the account on a telephone")
	b.quietBut("401", "400") // of the session that there was not, and of the chain
}

// agrees answers yes to what the page asks, as soon as it does.
func (b *browser) agrees() {
	b.t.Helper()
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		res, err := http.Post(b.base+"/alert/accept", "application/json", strings.NewReader("{}"))
		if err != nil {
			b.t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode == http.StatusOK {
			return
		}
		if time.Now().After(end) {
			b.t.Fatal("the page asks nothing")
		}
	}
}

// asked is what the page asks its wallet for by a method, with its parameters.
func (b *browser) asked(method string, params any) {
	b.t.Helper()
	b.until("the wallet is asked for "+method, `window.asked && window.asked.method === "`+method+`"`)
	b.run(`const params = window.asked.params; delete window.asked; return params`, params)
}

// answers answers for the wallet.
func (b *browser) answers(v any) {
	b.t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		b.t.Fatal(err)
	}
	b.run("window.answer("+string(text)+"); return true", nil)
}

// paysByWallet pays for a purchase with the wallet, and looks that it can be done once.
func (b *browser) paysByWallet(c *devchain.Chain, intent api.DepositIntent) {
	b.t.Helper()
	const pay = ".deposit .pay"
	b.click(pay)
	b.asked("wallet_switchEthereumChain", nil)
	b.answers(nil)
	var sends []struct{ To, Data string }
	b.asked("eth_sendTransaction", &sends)
	amount, err := usdg.ParseAmount(intent.AmountUSDC)
	if err != nil {
		b.t.Fatal(err)
	}
	nonce, err := hex.DecodeString(strings.TrimPrefix(intent.Nonce, "0x"))
	if err != nil {
		b.t.Fatal(err)
	}
	want := fmt.Sprintf("0xa9059cbb%064s%064x%x", strings.ToLower(strings.TrimPrefix(intent.Recipient, "0x")), int64(amount), nonce)
	if len(sends) != 1 || sends[0].To != intent.Token || sends[0].Data != want {
		b.t.Fatalf("the wallet is to send %+v, want %s to %s", sends, want, intent.Token)
	}
	hash, err := c.Transfer(b.t.Context(), c.Wallet(), intent.Recipient, int64(amount), nonce)
	if err != nil {
		b.t.Fatal(err)
	}
	b.answers("0x" + hex.EncodeToString(hash[:]))
	b.until("it cannot be paid for once more", `document.querySelector(".deposit") && !document.querySelector("`+pay+`")`)
}

// signs signs with w what the page asks its wallet for.
func (b *browser) signs(w wallet) {
	b.t.Helper()
	var asked []string
	b.asked("personal_sign", &asked)
	text, err := hexutil.Decode(asked[0])
	if err != nil {
		b.t.Fatal(err)
	}
	b.answers(w.sign(b.t, string(text)))
}
