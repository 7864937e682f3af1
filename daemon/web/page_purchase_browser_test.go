package web_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/internal/usdg"
	"github.com/contextd/contextd/sdk/api"
)

// TestPurchaseInABrowser: a purchase says exactly what is to be paid, where and until when; what is cancelled, paid, too late or expired
// asks for no money any more.
func TestPurchaseInABrowser(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, true)
	chain := daemontest.Chain(t)
	var ahead atomic.Int64
	d := daemontest.Start(t, daemontest.On(chain), daemontest.WithPages, func(cfg *daemon.Config) {
		cfg.Chain.AtOnce, cfg.Now = true, func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	})
	b.do("POST", "/goog/cdp/execute", map[string]any{"cmd": "Page.addScriptToEvaluateOnNewDocument", "params": map[string]any{
		"source": `window.ethereum = {request: ({method}) => { window.asked = method; return new Promise(() => {}); }}`}}, nil)
	scan := func() {
		t.Helper()
		if err := d.Scan(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	scan()
	b.width(390)
	const email = "buyer@example.org"
	b.signsIn(d, email, b.press)
	const bought = `document.querySelector(".deposit")`
	shows := func(text string) string { return bought + ` && ` + bought + `.textContent.includes("` + text + `")` }
	const asksForMoney = `document.querySelector(".deposit dl, .deposit img, .deposit .pay, .deposit a[href^='ethereum:']")`
	buy := func() (i api.DepositIntent) {
		t.Helper()
		b.press(`.buy[data-pack="starter"]`)
		b.until("the purchase is there", bought+` && `+asksForMoney+` && !document.querySelector('.buy[data-pack="starter"]').disabled`)
		b.run(`return JSON.parse(localStorage.getItem("contextd-deposits")).at(-1)`, &i)
		return i
	}

	b.until("the account is there", `document.getElementById("who").textContent === "`+email+`"`)
	b.press(`.buy[data-pack="starter"]`)
	b.until("who has no key is told to make one", `document.getElementById("say").textContent.includes("make one first") && `+
		`document.activeElement.id === "keyname"`)
	b.fill("#keyname", "agent")
	b.press("#make button")
	b.until("there is a key for the credits", `document.getElementById("plain").textContent.startsWith("cv_")`)
	first := buy()
	for _, want := range []string{
		"exactly this amount", first.AmountUSDC, first.Recipient, "the test chain of this demo, chain 46630", " UTC, 29:", " min left",
		"waiting for the transfer",
	} {
		b.until("the purchase says "+want, shows(want))
	}
	b.until("the code is drawn", `document.querySelector(".deposit img").naturalWidth > 0`)
	b.fits("a purchase on a telephone")
	b.run(`window.left = document.querySelector(".deposit .left").textContent; return true`, nil)
	b.until("the time runs", `document.querySelector(".deposit .left").textContent !== window.left`)

	b.click(".deposit .acts button:last-child")
	b.agrees()
	const none = ` && localStorage.getItem("contextd-deposits") === "[]"`
	b.until("it is cancelled", `!`+bought+none+` && document.getElementById("say").textContent.includes("do not send")`)

	second := buy()
	amount, err := usdg.ParseAmount(second.AmountUSDC)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := chain.Transfer(t.Context(), chain.Wallet(), second.Recipient, int64(amount), nil); err != nil {
		t.Fatal(err)
	}
	scan()
	b.until("it is paid", shows("verified: 1,000 credits are there")+` && !`+asksForMoney+
		` && document.getElementById("balance").textContent === "1,000"`)
	b.press(".deposit .acts button")
	b.until("and can be closed", `!`+bought)

	buy()
	ahead.Store(int64(api.DepositWindow - 30*time.Second))
	b.visit(d.URL() + "/account")
	b.until("it is too late to send", shows("too late to send")+` && !`+asksForMoney)
	ahead.Store(int64(api.DepositWindow + time.Second))
	b.visit(d.URL() + "/account")
	b.until("its time is over, whatever the chain says", shows("expired: do not send it any more")+` && !`+asksForMoney)
	ahead.Store(int64(2 * time.Hour))
	scan()
	b.until("it is expired", shows("ask the operator")+` && document.querySelector(".deposit.over")`+none)
	b.fits("an expired purchase")
	var asked string
	if b.run(`return window.asked || ""`, &asked); strings.Contains(asked, "send") {
		t.Errorf("the wallet was asked for %s", asked)
	}
	b.quietBut("401")
}
