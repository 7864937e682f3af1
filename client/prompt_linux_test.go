package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/contextd/contextd/client"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/long"
	"github.com/contextd/contextd/sdk/api"
)

// terminal is a pseudo-terminal with somebody at it.
type terminal struct {
	t      *testing.T
	hands  *os.File // what is typed
	screen buffer   // what is seen
	line   *os.File // the side of the program
	env    map[string]string
}

// newTerminal opens a terminal and a home.
func newTerminal(t *testing.T) *terminal {
	t.Helper()
	x := &terminal{t: t, env: map[string]string{"HOME": t.TempDir(), "CTX_SECRET_STORE": "file", "LANG": "C.UTF-8"}}
	x.open()
	return x
}

// open puts somebody at a new terminal.
func (x *terminal) open() {
	t := x.t
	t.Helper()
	hands, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("there are no terminals here: %v", err)
	}
	var n int
	raw, err := hands.SyscallConn() // Fd would have Close wait for what reads
	if err != nil {
		t.Fatal(err)
	}
	failed := raw.Control(func(fd uintptr) {
		if n, err = unix.IoctlGetInt(int(fd), unix.TIOCGPTN); err == nil {
			err = unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0)
		}
	})
	if err := errors.Join(failed, err); err != nil {
		t.Fatal(err)
	}
	line, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	x.hands, x.line = hands, line
	seen := make(chan struct{})
	go func() {
		defer close(seen)
		_, _ = io.Copy(&x.screen, hands) // ends with an error when it is closed
	}()
	t.Cleanup(func() {
		_ = hands.Close() // which ends what reads the line
		<-seen
		_ = line.Close()
	})
}

// echoes reports whether what is typed is shown.
func (x *terminal) echoes() bool {
	state, err := unix.IoctlGetTermios(int(x.line.Fd()), unix.TCGETS)
	return err == nil && state.Lflag&unix.ECHO != 0
}

// reply is what somebody types at a question.
type reply struct {
	question string
	text     string // with its line end; "" interrupts
	hidden   bool   // the screen does not show it
}

// run runs ctx with somebody who answers its questions, and returns its exit code and what was seen meanwhile.
func (x *terminal) run(args []string, replies ...reply) (code int, seen string) {
	x.t.Helper()
	ctx, cancel := context.WithCancel(x.t.Context())
	defer cancel()
	from := len(x.screen.String())
	ended := make(chan int, 1)
	go func() {
		ended <- client.Main(ctx, args, cli.System{
			In: x.line, Out: x.line, Err: x.line, InTTY: true, OutTTY: true, ErrTTY: true, Width: 200, Now: fakeNow,
			LookupEnv: func(name string) (string, bool) { value, ok := x.env[name]; return value, ok },
		})
	}()
	at := from
	for _, r := range replies {
		x.await(func() bool {
			now := x.screen.String()
			i := strings.Index(now[at:], r.question)
			if i < 0 || x.echoes() == r.hidden {
				return false
			}
			at += i + len(r.question)
			return true
		}, "asks "+r.question)
		if r.text == "" {
			cancel()
			break
		}
		if _, err := io.WriteString(x.hands, r.text); err != nil {
			x.t.Fatal(err)
		}
	}
	x.await(func() bool { return len(ended) > 0 }, "ends")
	code = <-ended
	const mark = "[that was all]"
	_, _ = io.WriteString(x.line, mark)
	x.await(func() bool {
		var all bool
		seen, _, all = strings.Cut(x.screen.String()[from:], mark)
		return all
	}, "is seen")
	for _, r := range replies {
		if r.hidden && r.text != "" && strings.Contains(seen, strings.TrimSpace(r.text)) {
			x.t.Errorf("%v shows what was typed at %s", args, r.question)
		}
	}
	if !x.echoes() {
		x.t.Errorf("%v leaves a terminal that hides what is typed", args)
	}
	if ctx.Err() != nil {
		x.open() // the program would be gone; here it still reads the old one, and would set it as it was
	}
	return code, seen
}

// await waits for something that the program does. Sealing a key is slow by design, and slower under the race detector.
func (x *terminal) await(done func() bool, what string) {
	x.t.Helper()
	for end := time.Now().Add(2 * time.Minute); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			x.t.Fatalf("the program never %s:\n%s", what, x.screen.String())
		}
	}
}

// light is a keystore that is opened quickly, of a key in hexadecimal, with the passphrase "correct horse".
const light = `{"crypto":{"cipher":"aes-128-ctr","ciphertext":"182c31dd7aa52416cf2fa2be1ac40ad7ae355c80c75d54f3ec53020e87eaeebb",` +
	`"cipherparams":{"iv":"831af8247ed2fc287588af4e380dfa10"},"kdf":"scrypt","kdfparams":{"dklen":32,"n":16,"p":1,"r":8,` +
	`"salt":"953d1a8c48353b328d07120c83260c83c605195bd20da1e7a4593839a194f6d8"},` +
	`"mac":"73299ce4bdcfd2d417842b51f64a5007e4dcbe765fb6ed374f3226d02e7c9806"},"id":"c4b79582-2abd-48d2-a6cb-afdf43819069","version":3}`

const (
	lightKey     = "1717171717171717171717171717171717171717171717171717171717171717"
	lightAddress = "0x7e9fb40f66c4e132Fa5E64E49f307E02B76540f8"
)

// TestPassphrasesAreAskedFor walks a wallet through every question about it.
func TestPassphrasesAreAskedFor(t *testing.T) {
	t.Parallel()
	x := newTerminal(t)
	file := filepath.Join(x.env["HOME"], "light.json")
	if err := os.WriteFile(file, []byte(light), 0o600); err != nil {
		t.Fatal(err)
	}
	const first, again, old = "New passphrase: ", "The same again: ", "Passphrase of "
	check := func(args string, code int, want string, replies ...reply) {
		t.Helper()
		if got, seen := x.run(strings.Fields(args), replies...); got != code || !strings.Contains(seen, want) {
			t.Errorf("%s: exit %d, not %d, without %q\n%s", args, got, code, want, seen)
		}
	}
	check("wallet new agent", 3, "the two differ", reply{first, "first secret\n", true}, reply{again, "second secret\n", true})
	check("wallet new agent", 2, "nothing was changed", reply{first, "", true})
	check("wallet list", 0, "no wallet")
	check("wallet import main --key-file "+file, 3, "the passphrase is wrong", reply{old + "main: ", "battery staple\n", true})
	check("wallet import main --key-file "+file, 0, lightAddress, reply{old + "main: ", "correct horse\n", true})
	check("wallet export main --private-key", 2, "nothing was changed", reply{"[y/N] ", "n\n", false})
	check("wallet export main --private-key", 0, lightKey, reply{"[y/N] ", "y\n", false}, reply{old + "main: ", "correct horse\n", true})
	check("wallet import typed", 0, lightAddress,
		reply{"Private key: ", lightKey + "\n", true}, reply{first, "first secret\n", true}, reply{again, "first secret\n", true})
	if !long.On() { // a key that is sealed, and opened, takes seconds of processor time by design
		check("wallet passwd main", 3, "the two differ",
			reply{old + "main: ", "correct horse\n", true}, reply{first, "second secret\n", true}, reply{again, "third secret\n", true})
	} else {
		check("wallet passwd main", 0, "is changed",
			reply{old + "main: ", "correct horse\n", true}, reply{first, "second secret\n", true}, reply{again, "second secret\n", true})
		check("wallet export main --private-key --yes", 0, lightKey, reply{old + "main: ", "second secret\n", true})
	}
	check("wallet delete typed", 2, "nothing was changed", reply{"for good [y/N] ", "\n", false})
	check("wallet delete typed", 0, "is deleted", reply{"for good [y/N] ", "yes\n", false})
}

// TestConfirmationsArePrompted has each question about whom to pay be asked, and what is typed decide.
func TestConfirmationsArePrompted(t *testing.T) {
	t.Parallel()
	x := newTerminal(t)
	journal := filepath.Join(x.env["HOME"], ".local", "share", "ctx", "payments")
	refused := `{"id":"1","service":"http://a","request":"GET /v1/fresh","amount":1000,"state":"refused","stops":true,"txHash":"0x01"}`
	if err := os.MkdirAll(journal, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(journal, "1.json"), []byte(refused), 0o600); err != nil {
		t.Fatal(err)
	}
	const address = "0x1000000000000000000000000000000000000001"
	for _, c := range []struct{ args, question, want string }{
		{"pay policy trust http://a " + address, "pay http://a at " + address + " from now on [y/N] ", address},
		{"pay policy forget http://a", "forget where http://a was paid, and pay where it says next [y/N] ", address},
		{"pay policy allow http://a", "pay http://a again, which has refused or not answered a payment [y/N] ", "GET /v1/fresh"},
	} {
		if code, seen := x.run(strings.Fields(c.args), reply{c.question, "no\n", false}); code != cli.ExitDeclined {
			t.Errorf("%s: exit %d after a no\n%s", c.args, code, seen)
		}
		if code, seen := x.run(strings.Fields(c.args), reply{c.question, "y\n", false}); code != 0 || !strings.Contains(seen, c.want) {
			t.Errorf("%s: exit %d after a yes\n%s", c.args, code, seen)
		}
	}
	if code, seen := x.run([]string{"pay", "policy", "allow", "http://a"}); code != cli.ExitNotFound {
		t.Errorf("allowed twice: exit %d\n%s", code, seen)
	}
}

// TestLossesArePrompted has each question be asked before something is bought or lost for good. After a no, nothing was asked of the service
// but to look; after a yes it was, once.
func TestLossesArePrompted(t *testing.T) {
	t.Parallel()
	var acts atomic.Int32
	const id = "cv_test_ab12cd34"
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.Method == http.MethodGet {
			_, _ = io.WriteString(w, `{"keys":[{"keyId":"`+id+`","name":"agent","tier":"free","createdAt":"2026-11-20T20:06:00Z"}],"balance":50}`)
			return
		}
		acts.Add(1)
		w.WriteHeader(http.StatusForbidden)
	}))
	defer service.Close()
	x := newTerminal(t)
	x.env["CTX_BASE_URL"], x.env["CTX_SESSION"], x.env["CTX_WALLET_PRIVATE_KEY"] = service.URL, "cs_0123456789", "0x"+lightKey
	if code, seen := x.run(strings.Fields("profile add other --base-url http://two.test")); code != 0 {
		t.Fatal(seen)
	}
	for _, c := range []struct {
		args, question string
		acts           int32
	}{
		{"keys revoke " + id, "with 50 credits) [y/N] ", 1},
		{"credits buy starter --x402", "buy 1000 credits for 1 USDG from the wallet, on a new key [y/N] ", 1},
		{"profile remove other", "remove profile other with its key and session [y/N] ", 0},
	} {
		for answer, want := range []int32{0, c.acts} {
			acts.Store(0)
			code, seen := x.run(strings.Fields(c.args), reply{c.question, []string{"\n", "yes\n"}[answer], false})
			if (code == cli.ExitDeclined) != (answer == 0) || acts.Load() != want {
				t.Errorf("%s, %d: exit %d, %d acts\n%s", c.args, answer, code, acts.Load(), seen)
			}
		}
	}
	acts.Store(0)
	for what, key := range map[string]string{"needs the settings of the chain": "0x" + lightKey, "no wallet is configured": ""} {
		x.env["CTX_WALLET_PRIVATE_KEY"] = key
		args := map[bool]string{true: "credits buy starter --x402", false: "credits buy starter --pay"}[key == ""]
		if code, seen := x.run(strings.Fields(args)); code != cli.ExitUsage || !strings.Contains(seen, what) || strings.Contains(seen, "[y/N]") || acts.Load() != 0 {
			t.Errorf("%s: exit %d, %d acts\n%s", args, code, acts.Load(), seen)
		}
	}
}

// TestNoticesAreWrapped has what a seller says before a payment be broken between words.
func TestNoticesAreWrapped(t *testing.T) {
	t.Parallel()
	notice := strings.Repeat("said ", 60) + "all."
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(api.DepositIntent{
			ID: "d1", AmountUSDC: "1.000001", Recipient: lightAddress, ExpiresAt: fakeNow().Add(time.Hour).Unix(), Notices: []string{notice},
		})
	}))
	defer service.Close()
	x := newTerminal(t)
	x.env["CTX_BASE_URL"], x.env["CTX_SESSION"] = service.URL, "cs_0123456789"
	code, seen := x.run(strings.Fields("credits buy starter --no-wait"))
	told := strings.Count(seen, "said \r\n") + strings.Count(seen, "said\r\n")
	if code != 0 || told != 3 || strings.Count(seen, "said") != 60 {
		t.Errorf("exit %d, %d lines end after a word\n%s", code, told, seen)
	}
}

// TestSignInIsAsked asks for the address of the mail, and for what the mail says.
func TestSignInIsAsked(t *testing.T) {
	t.Parallel()
	x := newTerminal(t)
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.URL.Path == api.PathAuthEmail && strings.Contains(string(text), "you@example.com"):
			w.WriteHeader(http.StatusAccepted)
			_, _ = io.WriteString(w, `{"expiresAt":"2026-11-20T20:21:00Z"}`)
		case r.URL.Path == api.PathAuthEmailVerify && strings.Contains(string(text), "tttt"):
			http.SetCookie(w, &http.Cookie{Name: api.SessionCookie, Value: "cs_0123456789"})
			_, _ = io.WriteString(w, `{"userId":"u1","email":"you@example.com","tier":"free","expiresAt":"2026-12-20T20:06:00Z"}`)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer service.Close()
	x.env["CTX_BASE_URL"] = service.URL
	code, seen := x.run([]string{"auth", "login"}, reply{"Your mail address: ", "you@example.com\n", false},
		reply{"Paste the link, or the code that its page shows: ", "tttt\n", false})
	if code != 0 || !strings.Contains(seen, "you are signed in") {
		t.Errorf("exit %d\n%s", code, seen)
	}
	if code, seen := x.run([]string{"auth", "login"}, reply{"Your mail address: ", "", false}); code != cli.ExitDeclined {
		t.Errorf("interrupted: exit %d\n%s", code, seen)
	}
}

// TestFirstRun: ctx alone asks what to do where there is no key, and keeps the address and the key that it is told.
func TestFirstRun(t *testing.T) {
	t.Parallel()
	x := newTerminal(t)
	const ask = "What now: "
	for _, c := range []struct {
		code    int
		want    string
		replies []reply
	}{
		{0, "In another terminal: contextd demo", []reply{{ask, "1\n", false}}},
		{cli.ExitUsage, "nothing was changed", []reply{{ask, "6\n", false}}},
		{cli.ExitDeclined, "There is no key for http://127.0.0.1:8402 yet.", []reply{{ask, "", false}}},
		{0, "Ask the service", []reply{{ask, "5\n", false}}},
		{cli.ExitUsage, "that is no whole key", []reply{{ask, "3\n", false}, {"Key (it is not shown): ", "secret words\n", true}}},
		{0, "There is no key for http://one.test yet.", []reply{{ask, "4\n", false}, {"Address: ", "http://one.test\n", false}, {ask, "1\n", false}}},
		{0, "cv_test_ab12… is kept in ", []reply{{ask, "3\n", false}, {"Key (it is not shown): ", goodKey + "\n", true}}},
	} {
		if code, seen := x.run(nil, c.replies...); code != c.code || !strings.Contains(seen, c.want) {
			t.Errorf("exit %d, not %d, without %q\n%s", code, c.code, c.want, seen)
		}
	}
	if code, seen := x.run([]string{"config", "list", "-o", "tsv"}); code != 0 || !strings.Contains(seen, "cv_test_ab12…") ||
		!strings.Contains(seen, "http://one.test") {
		t.Errorf("exit %d\n%s", code, seen)
	}
	if code, seen := x.run([]string{"--no-input", "--base-url", "http://two.test"}); code != 0 || !strings.Contains(seen, "Ask the service") {
		t.Errorf("exit %d\n%s", code, seen)
	}
}
