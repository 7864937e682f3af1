package client_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/jsonx"
	"github.com/contextd/contextd/internal/long"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

const (
	originOne = "contextd/0011223344556677/crypto"
	originTwo = "contextd/8899aabbccddeeff/crypto"
)

// user runs ctx against a service, with a memory.
func user(t *testing.T, p *proven) func(args ...string) (int, string, string) {
	t.Helper()
	env := map[string]string{"CTX_BASE_URL": p.URL, "CTX_CONFIG_DIR": t.TempDir(), "HOME": t.TempDir(), "CTX_RETRIES": "0", "CTX_API_KEY": goodKey}
	return func(args ...string) (int, string, string) { return run(t.Context(), env, args...) }
}

// reasonIn is the reason of an error as JSON, and the file with the evidence that it names.
func reasonIn(t *testing.T, stderr string) (reason, file string) {
	t.Helper()
	var e struct {
		Error struct{ Reason, Message string }
	}
	at := strings.Index(stderr, `{"error"`)
	if at < 0 || json.Unmarshal([]byte(stderr[at:]), &e) != nil {
		t.Fatalf("no envelope: %q", stderr)
	}
	_, file, _ = strings.Cut(e.Error.Message, "both checkpoints are kept in ")
	return e.Error.Reason, file
}

// TestEveryCommandFollowsTheLog has every command that sees a log refuse what became of it, say so in JSON too, print nothing of the
// answer, and keep the evidence.
func TestEveryCommandFollowsTheLog(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		become func(t *testing.T, p *proven)
		exit   int
		reason string
	}{
		"grew":     {func(t *testing.T, p *proven) { p.grow(t, 7, "a") }, cli.ExitOK, ""},
		"the same": {func(*testing.T, *proven) {}, cli.ExitOK, ""},
		"forked": {func(t *testing.T, p *proven) {
			f := p.fork(t)
			f.cut(9)
			f.grow(t, 3, "b")
		}, cli.ExitUnproven, "log_forked"},
		"forked at the same size": {func(t *testing.T, p *proven) {
			f := p.fork(t)
			f.cut(9)
			f.grow(t, 1, "b")
		}, cli.ExitUnproven, "log_forked"},
		"shrank": {func(t *testing.T, p *proven) { p.fork(t).cut(9) }, cli.ExitUnproven, "log_shrunk"},
		"another key": {func(t *testing.T, p *proven) {
			newProven(t, originOne, 11).start(t, p)
		}, cli.ExitUnproven, "log_key_changed"},
		"another log": {func(t *testing.T, p *proven) { newProven(t, originTwo, 11).start(t, p) }, cli.ExitUnproven, "log_replaced"},
		"a backup was restored": {func(t *testing.T, p *proven) {
			n := newProven(t, originTwo, 0)
			n.add(t, "{}", api.LogLeaf{Previous: &api.LogHead{Origin: originOne, Size: 9, Root: "x"}})
			n.start(t, p)
		}, cli.ExitRestored, "log_restored"},
	} {
		for _, command := range [][]string{{"fresh"}, {"brief"}, {"snapshot", "--at", "1m"}, {"verify"}, {"api", "/v1/fresh"}} {
			t.Run(what+"/"+command[0], func(t *testing.T) {
				t.Parallel()
				p := newProven(t, originOne, 10)
				ctx := user(t, p)
				for range 2 {
					if code, _, stderr := ctx("fresh"); code != cli.ExitOK || stderr != "" {
						t.Fatalf("at first: exit %d %s", code, stderr)
					}
				}
				c.become(t, p)
				code, stdout, stderr := ctx(append(command, "-o", "json")...)
				if code != c.exit || (stdout == "") == (code == 0) {
					t.Fatalf("exit %d, want %d\n%s\n%s", code, c.exit, stdout, stderr)
				}
				if code == cli.ExitOK {
					return
				}
				reason, file := reasonIn(t, stderr)
				text, err := os.ReadFile(file)
				if reason != c.reason || err != nil || !strings.Contains(string(text), `"known"`) || strings.Count(string(text), originOne) < 2 {
					t.Errorf("reason %q, evidence %v: %s", reason, err, text)
				}
				if code, _, stderr := ctx("fresh"); code != c.exit || !strings.HasPrefix(stderr, "✗ ") {
					t.Errorf("the next time: exit %d\n%s", code, stderr)
				}
			})
		}
	}
}

// TestAnswerIsNotTheLeaf refuses answers that their leaf does not prove.
func TestAnswerIsNotTheLeaf(t *testing.T) {
	t.Parallel()
	p := newProven(t, originOne, 10)
	ctx := user(t, p)
	for what, lie := range map[string]func(){
		"the state has more":     func() { p.lie = `,"x":1` },
		"another leaf's hash":    func() { p.proof = func(n *api.Proof) { n.Leaf = strings.Repeat("0", 64) } },
		"another log":            func() { p.proof = func(n *api.Proof) { n.Log = originTwo } },
		"a proof that is no one": func() { p.proof = func(n *api.Proof) { n.Leaf = "0" } },
		"another state's leaf": func() {
			p.proof = func(n *api.Proof) {
				n.Seq = 0
				n.Leaf = strings.Repeat("1", 64)
			}
		},
	} {
		lie()
		code, stdout, stderr := ctx("fresh", "-o", "json")
		if reason, _ := reasonIn(t, stderr); code != cli.ExitUnproven || stdout != "" || reason != "proof_invalid" {
			t.Errorf("%s: exit %d\n%s%s", what, code, stdout, stderr)
		}
		p.lie, p.proof = "", nil
		if code, _, stderr := ctx("fresh"); code != cli.ExitOK {
			t.Errorf("%s, and then none: exit %d %s", what, code, stderr)
		}
		p.lie = `,"x":1` // what is known of the last leaf is enough
		if code, _, _ := ctx("fresh"); code != cli.ExitUnproven {
			t.Errorf("a lie on what is known: exit %d", code)
		}
		p.lie = ""
	}
	p.proof = func(n *api.Proof) { n.Log = "" }
	if code, stdout, stderr := ctx("fresh"); code != cli.ExitUnproven || stdout != "" || !strings.Contains(stderr, "this was not said in public") {
		t.Errorf("no proof any more: exit %d %s", code, stderr)
	}
	p.asked = nil
	p.proof = nil
	for range 3 {
		ctx("fresh")
	}
	if got := strings.Join(p.asked, " "); strings.Contains(got, "/log/") {
		t.Errorf("what was looked at is looked at again: %s", got)
	}
}

// TestLogIsGone: a service that has no log any more has taken back what it said, whether it still names leaves or not, until the log is
// forgotten.
func TestLogIsGone(t *testing.T) {
	t.Parallel()
	p := newProven(t, originOne, 10)
	ctx := user(t, p)
	ctx("fresh")
	p.grow(t, 1, "a")
	p.gone = true
	for _, drop := range []func(*api.Proof){nil, func(n *api.Proof) { n.Log = "" }} {
		p.proof = drop
		for _, args := range [][]string{{"fresh"}, {"verify"}, {"verify", "--since", "1h"}} {
			code, stdout, stderr := ctx(append(args, "-o", "json")...)
			if reason, _ := reasonIn(t, stderr); code != cli.ExitUnproven || stdout != "" || reason != "log_shrunk" {
				t.Errorf("ctx %v: exit %d\n%s%s", args, code, stdout, stderr)
			}
		}
	}
	if code, _, _ := ctx("verify", "--accept-new-log"); code != cli.ExitUsage {
		t.Errorf("nobody was asked: exit %d", code)
	}
	if code, _, stderr := ctx("verify", "--accept-new-log", "--yes"); code != cli.ExitOK || !strings.Contains(stderr, "has forgotten the log") {
		t.Errorf("exit %d %s", code, stderr)
	}
	if code, _, stderr := ctx("fresh"); code != cli.ExitOK || stderr != "" {
		t.Errorf("exit %d %s", code, stderr)
	}
	if code, _, _ := ctx("verify"); code != cli.ExitNotFound {
		t.Errorf("a log that was never seen: exit %d", code)
	}
}

// TestCacheOnTheWay takes a leaf whose checkpoint a cache kept for one of before, as long as the log goes on as it was known.
func TestCacheOnTheWay(t *testing.T) {
	t.Parallel()
	p := newProven(t, originOne, 10)
	ctx := user(t, p)
	p.old = map[string][]byte{"leaf/9": p.entry(9)}
	p.grow(t, 2, "a")
	ctx("verify")
	if code, _, stderr := ctx("snapshot", "--at", p.at(9).Format(time.RFC3339)); code != cli.ExitOK || stderr != "" {
		t.Errorf("exit %d %s", code, stderr)
	}
	if code, stdout, _ := ctx("verify"); code != cli.ExitOK || !strings.Contains(stdout, "all 12 entries") {
		t.Errorf("exit %d %s", code, stdout)
	}
}

// TestAnotherDemo follows the next demo at the same address.
func TestAnotherDemo(t *testing.T) {
	t.Parallel()
	p := newProven(t, "contextd-demo/1/crypto", 10)
	ctx := user(t, p)
	ctx("fresh")
	newProven(t, "contextd-demo/2/crypto", 3).start(t, p)
	if code, _, stderr := ctx("fresh"); code != cli.ExitOK || !strings.Contains(stderr, "another demo") {
		t.Errorf("exit %d %s", code, stderr)
	}
	if code, _, stderr := ctx("fresh"); code != cli.ExitOK || stderr != "" {
		t.Errorf("exit %d %s", code, stderr)
	}
}

// TestAccept forgets a log only where it is asked to, and a strange one only where somebody agrees.
func TestAccept(t *testing.T) {
	t.Parallel()
	p := newProven(t, originOne, 10)
	ctx := user(t, p)
	ctx("fresh")
	n := newProven(t, originTwo, 0)
	n.add(t, "{}", api.LogLeaf{Previous: &api.LogHead{Origin: originOne, Size: 9, Root: "x"}})
	n.start(t, p)
	code, stdout, stderr := ctx("verify", "--accept-new-log")
	if code != cli.ExitOK || !strings.Contains(stdout, originTwo) || !strings.Contains(stderr, "states 9 to 9") {
		t.Fatalf("exit %d\n%s%s", code, stdout, stderr)
	}
	if code, _, stderr := ctx("fresh"); code != cli.ExitOK || stderr != "" {
		t.Errorf("exit %d %s", code, stderr)
	}
	p.start(t, n) // the old one is back
	if code, _, _ := ctx("verify", "--accept-new-log"); code != cli.ExitUsage {
		t.Errorf("nobody was asked: exit %d", code)
	}
	if code, _, _ := ctx("fresh"); code != cli.ExitUnproven {
		t.Errorf("it was taken over: exit %d", code)
	}
	if code, _, stderr := ctx("verify", "--accept-new-log", "--yes"); code != cli.ExitOK {
		t.Errorf("exit %d %s", code, stderr)
	}
	if code, _, _ := ctx("fresh"); code != cli.ExitOK {
		t.Errorf("exit %d", code)
	}
}

// TestVerifyRefuses: what a service does not prove of its past is refused, one lie at a time.
func TestVerifyRefuses(t *testing.T) {
	t.Parallel()
	p := newProven(t, originOne, 10)
	ctx := user(t, p)
	file := filepath.Join(t.TempDir(), "said.json")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	refused := func(what, want string, args ...string) {
		t.Helper()
		code, stdout, stderr := ctx(append([]string{"verify", "-o", "json"}, args...)...)
		if reason, _ := reasonIn(t, stderr); code != cli.ExitUnproven || stdout != "" || reason != want {
			t.Errorf("%s: exit %d\n%s%s", what, code, stdout, stderr)
		}
	}
	_, brief, _ := ctx("brief", "-o", "json")
	write(brief)
	if code, _, stderr := ctx("verify", file); code != cli.ExitOK {
		t.Fatalf("exit %d %s", code, stderr)
	}
	write(strings.Replace(brief, `"brief",`, `"belief",`, 1))
	refused("a brief that was changed", "proof_invalid", file)
	since := []string{"--since", p.at(8).Format(time.RFC3339)}
	p.old = map[string][]byte{"at": p.entry(5)}
	refused("a leaf that is not the newest before", "proof_invalid", since...)
	p.old = nil
	if code, _, stderr := ctx(append([]string{"verify"}, since...)...); code != cli.ExitOK {
		t.Fatalf("exit %d %s", code, stderr)
	}
	f := p.fork(t)
	f.cut(9)
	f.grow(t, 1, "b")
	if code, _, stderr := user(t, f)("fresh", "--bundle", file); code != cli.ExitOK {
		t.Fatalf("exit %d %s", code, stderr)
	}
	refused("a bundle of a fork", "log_forked", file)
	p.start(t, f)
	p.add(t, "{}", api.LogLeaf{GeneratedAt: p.at(0)})
	refused("a leaf that is older than the one before", "proof_invalid", "--since", "3d")
}

// TestVerify proves bundles, saved answers, minutes and the past.
func TestVerify(t *testing.T) {
	t.Parallel()
	p := newProven(t, originOne, 289)
	ctx := user(t, p)
	file := filepath.Join(t.TempDir(), "said.json")
	if code, _, stderr := ctx("snapshot", "--at", "20m", "--bundle", file); code != cli.ExitOK {
		t.Fatalf("exit %d %s", code, stderr)
	}
	bundle, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	saved := filepath.Join(t.TempDir(), "answer.json")
	_, answer, _ := ctx("fresh", "-o", "json")
	if err := os.WriteFile(saved, []byte(answer), 0o600); err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct {
		args []string
		want []string
	}{
		"saved":   {[]string{"verify", saved}, []string{"The service said this state and this brief at 2026-11-20 20:06:00 UTC, and it was not changed since.", "(remembered)"}},
		"minute":  {[]string{"verify", "--at", "2h"}, []string{"What the service now says of 2026-11-20 18:06", "at 2026-11-20 18:06:00 UTC"}},
		"now":     {[]string{"verify"}, []string{"all 289 entries that ctx knew are where they were, and 0 came after"}},
		"since":   {[]string{"verify", "--since", "61m"}, []string{"it said 13 states and 0 later briefs"}},
		"all":     {[]string{"verify", "--since", "3d"}, []string{"it said 289 states"}},
		"its key": {[]string{"verify", saved, "--key", p.key}, []string{"(given)"}},
	} {
		code, stdout, stderr := ctx(c.args...)
		for _, want := range append(c.want, "Proven. ", "That it is true is not proven.") {
			if code != cli.ExitOK || !strings.Contains(stdout, want) {
				t.Errorf("%s: exit %d, no %q\n%s%s", what, code, want, stdout, stderr)
			}
		}
	}
	p.lie = `,"x":1`
	if code, _, _ := ctx("verify", "--at", "2h"); code != cli.ExitUnproven {
		t.Errorf("a minute that was changed: exit %d", code)
	}
	if err := os.WriteFile(saved, []byte(strings.Replace(answer, `"n":288`, `"n":287`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, _ := ctx("verify", saved); code != cli.ExitUnproven {
		t.Errorf("an answer that was changed: exit %d", code)
	}
	if code, _, stderr := ctx("verify", saved); !strings.Contains(stderr, "the proof is of the whole state") {
		t.Errorf("what may be a part: exit %d %s", code, stderr)
	}
	if code, _, stderr := ctx("verify", file, "--pack", "ai"); code != cli.ExitUsage || !strings.Contains(stderr, "of pack crypto, not of ai") {
		t.Errorf("a bundle of another pack: exit %d %s", code, stderr)
	}
	if code, _, stderr := ctx("verify", file, "--pack", api.PackCrypto); code != cli.ExitOK {
		t.Errorf("a bundle of the pack that was named: exit %d %s", code, stderr)
	}
	witness, err := sdk.NewWitnessKey("w.test/1")
	if err != nil {
		t.Fatal(err)
	}
	if code, stdout, _ := ctx("verify", file, "--witness", witness.Public(), "--witnesses", "1"); code != cli.ExitUnproven || stdout != "" {
		t.Errorf("a witness that did not sign: exit %d %s", code, stdout)
	}
	if code, _, stderr := ctx("verify", "--key", "mine"); code != cli.ExitUsage || !strings.Contains(stderr, "contextd db log key") {
		t.Errorf("a key that is none: exit %d %s", code, stderr)
	}
	if code, stdout, _ := ctx("verify", "-o", "json"); code != cli.ExitOK || !strings.Contains(strings.ReplaceAll(stdout, " ", ""), `"witnesses":[]`) {
		t.Errorf("no witnesses: exit %d %s", code, stdout)
	}
	if code, stdout, _ := ctx("verify", "--key", newProven(t, originOne, 0).key); code != cli.ExitUnproven || stdout != "" {
		t.Errorf("another key than the service has is demanded: exit %d %s", code, stdout)
	}
	p.Close() // from here on there is no service
	if code, stdout, stderr := ctx("verify", file); code != cli.ExitOK || !strings.Contains(stdout, "(remembered)") {
		t.Errorf("a bundle: exit %d\n%s%s", code, stdout, stderr)
	}
	stranger := user(t, p)
	for _, c := range []struct{ output, want string }{
		{"json", `"proven":false`}, {"json", `"keyFrom":"file"`}, {"json", "Only the file says"}, {"text", "Consistent. State, proof"},
	} {
		code, stdout, stderr := stranger("verify", file, "-o", c.output)
		if code != cli.ExitConsistent || !strings.Contains(strings.ReplaceAll(stdout, `": `, `":`), c.want) || strings.Contains(stdout, "Proven") ||
			!strings.Contains(stderr, "--key KEY") {
			t.Errorf("a bundle of a log that is not known, without %q: exit %d\n%s%s", c.want, code, stdout, stderr)
		}
	}
	if code, stdout, _ := stranger("verify", file, "--key", p.key); code != cli.ExitOK || !strings.HasPrefix(stdout, "Proven.") {
		t.Errorf("a bundle by a key that was given: exit %d %s", code, stdout)
	}
	if code, _, _ := ctx("verify", file, "--key", newProven(t, originOne, 0).key); code != cli.ExitUnproven {
		t.Errorf("another key is demanded: exit %d", code)
	}
	for i := 0; i < len(bundle); i += 97 {
		bad := append([]byte{}, bundle...)
		bad[i] ^= 1
		if err := os.WriteFile(file, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		if code, stdout, _ := ctx("verify", file); code == cli.ExitOK || stdout != "" || sdk.IsBundle(bad) && code != cli.ExitUnproven {
			t.Errorf("byte %d changed: exit %d %s", i, code, stdout)
		}
	}
	// A bundle of who swapped the key of a log that is known.
	other := newProven(t, originOne, 289)
	liar := user(t, other)
	if code, _, stderr := liar("fresh", "--bundle", file); code != cli.ExitOK {
		t.Fatalf("exit %d %s", code, stderr)
	}
	code, _, stderr := ctx("verify", file, "-o", "json")
	if reason, _ := reasonIn(t, stderr); code != cli.ExitUnproven || reason != "log_key_changed" {
		t.Errorf("a swapped key: exit %d %s", code, stderr)
	}
}

// TestUnknownKeyIsAskedFor has ctx, where it does not know the log of a bundle, ask the service that it uses: the log's own bundle is proven,
// a forgery under its name is refused, and one of a log that the service has not is consistent alone.
func TestUnknownKeyIsAskedFor(t *testing.T) {
	t.Parallel()
	p := newProven(t, originOne, 10)
	for what, c := range map[string]struct {
		by   *proven
		code int
		says string
	}{
		"its own":     {p, cli.ExitOK, "(first seen)"},
		"a forgery":   {newProven(t, originOne, 10), cli.ExitUnproven, "log_key_changed"},
		"another log": {newProven(t, originTwo, 10), cli.ExitConsistent, "log_key_unknown"},
	} {
		file := filepath.Join(t.TempDir(), "said.json")
		if code, _, stderr := user(t, c.by)("fresh", "--bundle", file); code != cli.ExitOK {
			t.Fatalf("%s: exit %d %s", what, code, stderr)
		}
		format := "text"
		if c.code != cli.ExitOK {
			format = "json"
		}
		if code, stdout, stderr := user(t, p)("verify", file, "-o", format); code != c.code || !strings.Contains(stdout+stderr, c.says) {
			t.Errorf("%s: exit %d\n%s%s", what, code, stdout, stderr)
		}
	}
}

// TestEveryByteOfASavedAnswer changes every byte of what -o json writes: it is refused, or the byte is in a part that was named as not
// covered before.
func TestEveryByteOfASavedAnswer(t *testing.T) {
	t.Parallel()
	long.Test(t)
	for name, c := range map[string]struct {
		args    []string
		later   bool
		covered string
	}{
		"fresh":            {args: []string{"fresh"}, covered: "state freshness.generatedAt brief"},
		"snapshot":         {args: []string{"snapshot", "--at", "1m"}, covered: "state freshness.generatedAt"},
		"brief":            {args: []string{"brief"}, covered: "brief"},
		"a later brief":    {args: []string{"brief"}, later: true, covered: "brief"},
		"fresh with later": {args: []string{"fresh"}, later: true, covered: "state freshness.generatedAt brief"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProven(t, originOne, 3)
			if c.later {
				p.rewrite(t, "a later brief")
			}
			ctx := user(t, p)
			file := filepath.Join(t.TempDir(), "answer.json")
			verify := func(text string) (v struct{ Covered, NotCovered []string }, says string, code int) {
				t.Helper()
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				code, stdout, stderr := ctx("verify", file, "-o", "json")
				if code == cli.ExitOK && json.Unmarshal([]byte(stdout), &v) != nil || code != cli.ExitOK && stdout != "" {
					t.Fatalf("exit %d %s", code, stdout)
				}
				return v, stdout + stderr, code
			}
			_, answer, _ := ctx(append(c.args, "-o", "json")...)
			whole, says, code := verify(answer)
			if code != cli.ExitOK || strings.Join(whole.Covered, " ") != c.covered {
				t.Fatalf("exit %d, covered is %q\n%s", code, whole.Covered, says)
			}
			for _, part := range whole.NotCovered {
				if !strings.Contains(says, part) {
					t.Errorf("%s is not named: %s", part, says)
				}
			}
			open := make([]bool, len(answer)) // bytes that are in no covered part
			for _, m := range answerParts(t, answer) {
				for i := m.from; i < m.to && slices.Contains(whole.NotCovered, m.name); i++ {
					open[i] = true
				}
			}
			for i := range answer {
				bad := []byte(answer)
				bad[i] ^= [...]byte{0x01, 0x20, 1 << (i % 8)}[i%3]
				if _, says, code := verify(string(bad)); code == cli.ExitOK && !open[i] {
					t.Errorf("byte %d, %q, changed to %q: %s", i, answer[max(0, i-20):i+1], bad[i], says)
				}
			}
			brief := `"brief": "`
			if _, text, told := strings.Cut(answer, brief); told {
				brief += text[:1]
			}
			for what, change := range map[string][2]string{
				"a brief of nothing":      {`"` + map[bool]string{true: "a later brief"}[c.later] + `"`, `""`},
				"a state beside":          {`"freshness"`, `"State":{},"freshness"`},
				"a brief twice":           {`"freshness"`, `"brief":"forged","freshness"`},
				"a member twice":          {`"ageSeconds"`, `"generatedAt":"2026-11-20T20:06:00Z","ageSeconds"`},
				"a letter as its number":  {brief, brief[:len(brief)-1] + fmt.Sprintf(`\u%04x`, brief[len(brief)-1])},
				"another time of a brief": {`"briefOf": "2026-11-20T20`, `"briefOf": "2026-11-20T19`},
			} {
				bad := strings.Replace(answer, change[0], change[1], 1)
				if what == "another time of a brief" && !slices.Contains(whole.Covered, "briefOf") {
					continue
				}
				if _, says, code := verify(bad); bad != answer && code == cli.ExitOK {
					t.Errorf("%s: %s", what, says)
				}
			}
		})
	}
}

// answerPart is a member of an answer, with its name, in the text.
type answerPart struct {
	name     string
	from, to int
}

// answerParts are the members of an answer, and those of its freshness.
func answerParts(t *testing.T, answer string) (parts []answerPart) {
	t.Helper()
	root, err := jsonx.Parse([]byte(answer))
	if err != nil {
		t.Fatal(err)
	}
	add := func(prefix string, m *jsonx.Value) {
		from := strings.LastIndex(answer[:m.At], strconv.Quote(m.Name))
		parts = append(parts, answerPart{prefix + m.Name, from, m.At + len(m.Raw)})
	}
	for _, m := range root.Members {
		add("", m)
		if m.Name == "freshness" {
			for _, part := range m.Members {
				add("freshness.", part)
			}
		}
	}
	return parts
}

// TestBundleWithoutItsBrief names the brief that is not in a bundle, be it of a snapshot or taken out of one of fresh.
func TestBundleWithoutItsBrief(t *testing.T) {
	t.Parallel()
	p := newProven(t, originOne, 3)
	ctx := user(t, p)
	file := filepath.Join(t.TempDir(), "said.json")
	ctx("fresh", "--bundle", file)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if _, stdout, _ := ctx("verify", file); !strings.Contains(stdout, "this state and this brief") || strings.Contains(stdout, "not in the file") {
		t.Errorf("whole: %s", stdout)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(string(text), `"brief":"brief"`, `"brief":""`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	const missing = "The brief that was published with it is not in the file."
	for _, args := range [][]string{{"fresh"}, {"snapshot", "--at", "1m", "--bundle", file}} {
		if code, stdout, _ := ctx("verify", file); code != cli.ExitOK || strings.Contains(stdout, "this brief") || !strings.Contains(stdout, missing) {
			t.Errorf("exit %d %s", code, stdout)
		}
		ctx(args...)
	}
	if _, stdout, _ := ctx("verify", file, "-o", "json"); !strings.Contains(strings.Join(strings.Fields(stdout), ""), `"notCovered":["brief"]`) {
		t.Error(stdout)
	}
}

// TestTimes has verify say between which moments a state was made, and by whose word, and that no outside time is known without a witness.
func TestTimes(t *testing.T) {
	t.Parallel()
	key, err := sdk.NewWitnessKey("w.test/1")
	if err != nil {
		t.Fatal(err)
	}
	made := fakeNow().Add(-5*time.Minute + 400*time.Millisecond).UTC()
	const (
		clock = "2006-01-02 15:04:05 MST"
		none  = "No outside time is known: when it was made is the word of the service alone."
	)
	by := func(at time.Time) string { return "existed by " + at.Format(clock) + ", says the witness w.test/1" }
	for what, c := range map[string]struct {
		at   time.Duration // of the signature of the witness after the state, rounded down to seconds
		args []string
		want string
		not  string
	}{
		"no witness that ctx knows": {2 * time.Second, nil, none, "existed by"},
		"after the state": {2 * time.Second, []string{"--witness", key.Public()},
			by(made.Add(2*time.Second)) + "; that it was not made before " + made.Format(clock) + " is the word of the service alone.",
			"wrong"},
		"in its second": {0, []string{"--witness", key.Public()}, by(made) + "; that", "wrong"},
		"before it": {-time.Second, []string{"--witness", key.Public()},
			by(made.Add(-time.Second)) + ", and that is before the time that the service gives: one of their clocks is wrong.", "; that"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			p := newProven(t, originOne, 0)
			p.add(t, "{}", api.LogLeaf{Brief: sumOf("brief"), GeneratedAt: made})
			p.witness = &sdk.Witness{Key: key, Now: func() time.Time { return made.Add(c.at) },
				Load: func(string) (sdk.WitnessedLog, error) { return sdk.WitnessedLog{Key: p.key}, nil },
				Save: func(string, sdk.WitnessedLog) error { return nil }}
			ctx := user(t, p)
			file := filepath.Join(t.TempDir(), "said.json")
			if code, _, stderr := ctx("fresh", "--bundle", file); code != cli.ExitOK {
				t.Fatalf("exit %d %s", code, stderr)
			}
			code, stdout, stderr := ctx(append([]string{"verify", file}, c.args...)...)
			if code != cli.ExitOK || !strings.Contains(stdout, c.want) || strings.Contains(stdout, c.not) {
				t.Errorf("exit %d, no %q\n%s%s", code, c.want, stdout, stderr)
			}
			code, stdout, _ = ctx(append([]string{"verify"}, c.args...)...)
			want := none
			if c.args != nil {
				want = "All of it " + by(made.Add(c.at)) + "."
			}
			if code != cli.ExitOK || !strings.Contains(stdout, want) {
				t.Errorf("the log: exit %d, no %q\n%s", code, want, stdout)
			}
		})
	}
}

// TestNotBefore has verify tell the round of a beacon in a leaf as the word of its network, refuse one that the network has not signed, and
// go on with leaves of before and with values that it cannot date.
func TestNotBefore(t *testing.T) {
	t.Parallel()
	key, err := sdk.NewWitnessKey("w.test/1")
	if err != nil {
		t.Fatal(err)
	}
	const (
		quicknet  = "52db9ba70e0cc0f6eaf7803dd07447a1f5477735fd3f661792ba94600c84e971"
		signature = "b44679b9a59af2ec876b1a6b1ad52ea9b1615fc3982b19576350f93447cb1125e342b73a8dd2bacbe47e4b6b63ed5e39"
		since     = "2023-08-23 15:59:24 UTC, says round 1000 of drand quicknet"
	)
	drand := func(value string) *api.LogNotBefore { return &api.LogNotBefore{Kind: "drand", Value: value} }
	known := drand(quicknet + "/1000/" + signature)
	for what, c := range map[string]struct {
		value *api.LogNotBefore
		made  time.Time // zero for now
		args  []string
		code  int
		want  string
		not   string
	}{
		"a leaf of before":    {nil, time.Time{}, nil, cli.ExitOK, "No outside time is known", "beacon"},
		"a round alone":       {known, time.Time{}, nil, cli.ExitOK, "It was not made before " + since + "; that it was made by 2026", "No outside"},
		"a round in the JSON": {known, time.Time{}, []string{"-o", "json"}, cli.ExitOK, `"at":"2023-08-23T15:59:24Z"`, "No outside"},
		"a round and a witness": {known, time.Time{}, []string{"--witness", key.Public()}, cli.ExitOK,
			"It was made between " + since + ", and 2026-11-20 20:06:00 UTC, says the witness w.test/1.", "alone"},
		"a state of before its round": {known, time.Date(2023, 8, 23, 15, 59, 23, 0, time.UTC), nil, cli.ExitOK,
			"and that is after the time that the service gives: one of their clocks is wrong", "alone"},
		"a state of the second of its round": {known, time.Date(2023, 8, 23, 15, 59, 24, 0, time.UTC), nil, cli.ExitOK, "; that it was made by", "wrong"},
		"a round that nobody signed":         {drand(quicknet + "/1001/" + signature), time.Time{}, nil, cli.ExitUnproven, "has not signed it", "Proven"},
		"another network":                    {drand(strings.Repeat("0", 64) + "/1/ab"), time.Time{}, nil, cli.ExitOK, "a value of drand that this ctx cannot date", "round 1"},
		"another kind":                       {&api.LogNotBefore{Kind: "bitcoin", Value: "00"}, time.Time{}, nil, cli.ExitOK, "No outside time is known", "round"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			p := newProven(t, originOne, 0)
			p.add(t, "{}", api.LogLeaf{Brief: sumOf("brief"), GeneratedAt: c.made, NotBefore: c.value})
			p.witness = &sdk.Witness{Key: key, Now: fakeNow,
				Load: func(string) (sdk.WitnessedLog, error) { return sdk.WitnessedLog{Key: p.key}, nil },
				Save: func(string, sdk.WitnessedLog) error { return nil }}
			ctx := user(t, p)
			file := filepath.Join(t.TempDir(), "said.json")
			if code, _, stderr := ctx("fresh", "--bundle", file); code != cli.ExitOK {
				t.Fatalf("exit %d %s", code, stderr)
			}
			code, stdout, stderr := ctx(append([]string{"verify", file}, c.args...)...)
			if code != c.code || !strings.Contains(stdout+stderr, c.want) || strings.Contains(stdout, c.not) {
				t.Errorf("exit %d, no %q\n%s%s", code, c.want, stdout, stderr)
			}
			if code, stdout, stderr := ctx("verify"); code == cli.ExitOK && strings.Contains(stdout, "round") {
				t.Errorf("the log has no round: %s%s", stdout, stderr)
			}
		})
	}
}

// TestCorroborated compares the sources of a state with the log of another service: those with the same rows, those with others, whose
// figures are compared where the state there can be had, and those that are not there.
func TestCorroborated(t *testing.T) {
	t.Parallel()
	state := func(kraken, gas float64, name string) string {
		return fmt.Sprintf(`{"source_status":[{"ref":1,"id":"a","failures":%v},{"ref":2,"id":"b"},{"ref":3,"id":"c"},{"ref":4,"id":"d"},{"ref":5,"id":"g"}],`+
			`"same":{"usd":1,"ref":5},"prices":[{"id":"btc","symbol":"BTC","usd":%v,"ref":2},{"id":"eth","symbol":"ETH","usd":2000,"ref":2}],`+
			`"gas":{"gwei":%v,"ref":3},"news":[{"id":"n","title":%q,"ref":4}],"other":{"usd":%v,"ref":9}}`, kraken, kraken, gas, name, kraken)
	}
	leaf := func(p *proven, sources ...string) api.LogLeaf {
		l := api.LogLeaf{Brief: sumOf("brief"), Digest: "d"}
		for i := 0; i < len(sources); i += 2 {
			l.Sources = append(l.Sources, api.LogSource{ID: sources[i], FetchedAt: p.at(len(p.leaves)), Bodies: []string{}, Rows: sources[i+1]})
		}
		return l
	}
	one, two := newProven(t, originOne, 0), newProven(t, originTwo, 0)
	for _, p := range []*proven{one, two} {
		for range 2 {
			p.add(t, state(1, 1, "x"), leaf(p, "a", "a0", "z", "z0"))
		}
		p.add(t, state(1, 1, "x"), leaf(p, "a", "a0"))
	}
	two.add(t, state(1, 1, "x"), leaf(two, "a", "a1", "b", "b0"))
	one.add(t, state(1, 1, "x"), leaf(one, "a", "a9"))
	two.add(t, state(96_961.2, 4, "y"), leaf(two, "b", "b2", "c", "c2", "d", "d2", "f", "f2", "g", "g2"))
	two.add(t, state(1, 5, "y"), leaf(two, "a", "a2", "b", "b3"))
	two.add(t, "", api.LogLeaf{Kind: api.LeafBrief, Brief: sumOf("later")}) // which has no sources
	one.add(t, state(97_000, 5, "x"), leaf(one, "a", "a1", "b", "b1", "c", "c1", "d", "d1", "e", "e1", "f", "", "g", "g1", "z", "z0"))
	one.add(t, state(97_000, 5, "x"), leaf(one, "b", "b2"))
	keyFile, mine := filepath.Join(t.TempDir(), "key"), filepath.Join(t.TempDir(), "mine")
	if err := errors.Join(os.WriteFile(keyFile, []byte(revokedKey), 0o600), os.WriteFile(mine, []byte(goodKey), 0o600)); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"CTX_BASE_URL": one.URL, "CTX_CONFIG_DIR": t.TempDir(), "HOME": t.TempDir(), "CTX_RETRIES": "0",
		"CTX_API_KEY": goodKey, "CTX_API_KEY_FILE": mine}
	ctx := func(args ...string) (int, string, string) { return run(t.Context(), env, args...) }
	file, answer := filepath.Join(t.TempDir(), "said.json"), filepath.Join(t.TempDir(), "answer.json")
	at := one.at(4).Format(time.RFC3339)
	ctx("snapshot", "--at", at, "--bundle", file)
	_, saved, _ := ctx("snapshot", "--at", at, "-o", "json")
	if err := os.WriteFile(answer, []byte(saved), 0o600); err != nil {
		t.Fatal(err)
	}
	const of = "Of the state of 2026-11-19 20:26:00 UTC, the log " + originTwo + " has the same rows of 1 of 8 sources within 10m0s;"
	common := []string{"Proven.", of, "equal     a\n", "absent    e, z\n", "unknown   f\n", "two logs of one"}
	check := func(want []string, args ...string) {
		t.Helper()
		code, stdout, stderr := ctx(append([]string{"verify", "--corroborate", two.URL}, args...)...)
		for _, text := range want {
			if (code != cli.ExitOK || !strings.Contains(stdout, text)) && !strings.HasPrefix(text, "two logs") {
				t.Errorf("%v: exit %d, no %q\n%s%s", args, code, text, stdout, stderr)
			}
		}
	}
	two.asked = nil
	check(append(common, "differs   b, fetched 0s apart\n", "figures   not compared: no profile has the address", "--base-url "+two.URL), file)
	if slices.ContainsFunc(two.asked, func(path string) bool { return !strings.HasPrefix(path, "/log/") }) {
		t.Errorf("without a key it asks for %q", two.asked)
	}
	if code, _, stderr := ctx("profile", "add", "other", "--base-url", two.URL, "--api-key-file", keyFile); code != cli.ExitOK {
		t.Fatalf("exit %d %s", code, stderr)
	}
	two.keys = nil
	compared := append(common, "differs   b, fetched 0s apart: 0.04 % apart at most, 97000 and 96961.2, at prices[0].usd of BTC; 1 figure in all\n",
		"differs   g, fetched 0s apart: what the states show of it is equal\n",
		"differs   c, fetched 0s apart: 20.00 % apart at most, 5 and 4, at gas.gwei; 1 figure in all\n", "differs   d, fetched 0s apart: 1 value other than figures\n")
	for _, args := range [][]string{{file}, {answer}, {"--at", at}} {
		check(compared, args...)
	}
	if len(two.keys) != 3 || slices.ContainsFunc(two.keys, func(key string) bool { return key != "Bearer "+revokedKey }) {
		t.Errorf("the other service is sent %q", two.keys)
	}
	check([]string{"Of the state of 2026-11-19 20:31:00 UTC", "1 of 1 sources", "equal     b\n"})
	check([]string{`"stands":"equal"`, `"percent":0.04`, `"path":"prices[0].usd"`, `"samePack":true`, `"of":4`, `"leaves":4`}, file, "-o", "json")
	check([]string{"0 of 8 sources within 4m0s", "differs   b"}, file, "--within", "4m")

	for what, c := range map[string]struct {
		args []string
		code int
		want string
	}{
		"its own log":     {[]string{file, "--corroborate", one.URL}, cli.ExitUsage, "one operator cannot corroborate"},
		"its own key":     {[]string{file, "--corroborate", newProvenBy(t, one.private, originTwo, 20).URL}, cli.ExitUsage, "one operator"},
		"another time":    {[]string{file, "--corroborate", newProven(t, originTwo, 1).URL, "--within", "1m"}, cli.ExitNotFound, "no state within 1m0s"},
		"no log":          {[]string{file, "--corroborate", newProven(t, originTwo, 0).URL}, cli.ExitNotFound, "no state within 10m0s"},
		"no time":         {[]string{file, "--corroborate", two.URL, "--within", "0s"}, cli.ExitUsage, "--within is 0s"},
		"a day":           {[]string{file, "--corroborate", two.URL, "--within", "24h"}, cli.ExitOK, "within 24h0m0s"},
		"more than a day": {[]string{file, "--corroborate", two.URL, "--within", "24h0m1s"}, cli.ExitUsage, "--within is 24h0m1s"},
		"no address":      {[]string{file, "--corroborate", "other"}, cli.ExitUsage, "--corroborate: base URL"},
		"with --since":    {[]string{"--since", "1h", "--corroborate", two.URL}, cli.ExitUsage, "since"},
		"with a new log":  {[]string{"--accept-new-log", "--corroborate", two.URL}, cli.ExitUsage, "accept-new-log"},
	} {
		if code, stdout, stderr := ctx(append([]string{"verify"}, c.args...)...); code != c.code || !strings.Contains(stdout+stderr, c.want) {
			t.Errorf("%s: exit %d, no %q\n%s%s", what, code, c.want, stdout, stderr)
		}
	}
	two.lie = `,"more":1`
	if code, stdout, stderr := ctx("verify", file, "--corroborate", two.URL); code != cli.ExitUnproven || stdout != "" || !strings.Contains(stderr, two.URL) {
		t.Errorf("a state that the other log has not: exit %d %s%s", code, stdout, stderr)
	}
	two.cut(4)
	two.grow(t, 5, "other")
	if code, stdout, stderr := ctx("verify", file, "--corroborate", two.URL, "-o", "json"); code != cli.ExitUnproven || stdout != "" ||
		!strings.Contains(stderr, "log_forked") {
		t.Errorf("the other log forks: exit %d %s%s", code, stdout, stderr)
	}
	delete(env, "CTX_API_KEY_FILE")
	three := newProven(t, originTwo, 0) // whose profile has no key
	for range 5 {
		other := leaf(three, "b", "b9")
		other.Digest = "e"
		three.add(t, state(1, 1, "x"), other)
	}
	for _, args := range [][]string{{"config", "set", "api_key_file", mine}, {"profile", "add", "third", "--base-url", three.URL}} {
		if code, _, stderr := ctx(args...); code != cli.ExitOK {
			t.Fatalf("exit %d %s", code, stderr)
		}
	}
	if code, stdout, stderr := ctx("verify", file, "--corroborate", three.URL); code != cli.ExitOK || !strings.Contains(stdout, "the key file at the top of the configuration is for another one") ||
		!strings.Contains(stdout, " It is of another pack, or of another version of it.") ||
		len(three.keys) > 0 {
		t.Errorf("a profile without a key: exit %d %s%s, and it is sent %q", code, stdout, stderr, three.keys)
	}
}

// TestNamed has verify name what the sources' answers rest on, and whether the rows behind the state are covered.
func TestNamed(t *testing.T) {
	t.Parallel()
	p := newProven(t, originOne, 0)
	p.add(t, "{}", api.LogLeaf{Brief: sumOf("brief")})
	ctx := user(t, p)
	file := filepath.Join(t.TempDir(), "said.json")
	for what, c := range map[string]struct {
		leaf      api.LogLeaf
		want, not string
	}{
		"of before": {api.LogLeaf{}, "rows      not covered", "self_attested"},
		"with all": {api.LogLeaf{Tables: sumOf("x"), Sources: []api.LogSource{{ID: "a"}}},
			"sources   self_attested: the operator says that it fetched them", "not covered, but"},
	} {
		c.leaf.Brief = sumOf("brief")
		p.add(t, "{}", c.leaf)
		if code, _, stderr := ctx("fresh", "--bundle", file); code != cli.ExitOK {
			t.Fatalf("%s: exit %d %s", what, code, stderr)
		}
		code, stdout, _ := ctx("verify", file)
		if code != cli.ExitOK || !strings.Contains(stdout, c.want) || strings.Contains(stdout, c.not) {
			t.Errorf("%s: exit %d, no %q\n%s", what, code, c.want, stdout)
		}
	}
}

// TestAnchored has verify take the time of a witness from the checkpoint that the service kept, and refuse one of another history.
func TestAnchored(t *testing.T) {
	t.Parallel()
	key, err := sdk.NewWitnessKey("w.test/1")
	if err != nil {
		t.Fatal(err)
	}
	signed := fakeNow().UTC()
	witness := func(p *proven, at time.Time) {
		p.witness = &sdk.Witness{Key: key, Now: func() time.Time { return at },
			Load: func(string) (sdk.WitnessedLog, error) { return sdk.WitnessedLog{Key: p.key}, nil },
			Save: func(string, sdk.WitnessedLog) error { return nil }}
	}
	p := newProven(t, originOne, 266)
	f := p.fork(t)
	p.start(t, f)
	f.cut(265)
	f.grow(t, 5, "b")
	for _, log := range []*proven{p, f} {
		witness(log, signed.Add(-time.Hour))
		log.anchored = log.entry(264)
		witness(log, signed)
	}
	p.grow(t, 23, "a")
	ctx := user(t, p)
	file := filepath.Join(t.TempDir(), "answer.json")
	verify := func(args ...string) (int, string, string) {
		return ctx(append([]string{"verify", "--at", p.at(264).Format(time.RFC3339), "--witness", key.Public()}, args...)...)
	}
	early, late := "existed by 2026-11-20 19:06:00 UTC", "existed by 2026-11-20 20:06:00 UTC"
	if code, stdout, stderr := verify(); code != cli.ExitOK || !strings.Contains(stdout, early) {
		t.Errorf("exit %d\n%s%s", code, stdout, stderr)
	}
	_, answer, _ := ctx("snapshot", "--at", p.at(264).Format(time.RFC3339), "-o", "json")
	if err := os.WriteFile(file, []byte(answer), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, stdout, stderr := ctx("verify", file, "--witness", key.Public()); code != cli.ExitOK || !strings.Contains(stdout, early) {
		t.Errorf("a file: exit %d\n%s%s", code, stdout, stderr)
	}
	kept := p.anchored
	p.anchored = nil
	if code, stdout, stderr := verify(); code != cli.ExitOK || !strings.Contains(stdout, late) {
		t.Errorf("none was kept: exit %d\n%s%s", code, stdout, stderr)
	}
	p.anchored = f.anchored
	code, stdout, stderr := verify("-o", "json")
	if reason, _ := reasonIn(t, stderr); code != cli.ExitUnproven || stdout != "" || reason != "log_forked" {
		t.Errorf("of another history: exit %d\n%s%s", code, stdout, stderr)
	}
	p.anchored = p.entry(3)
	if code, stdout, _ := verify("-o", "json"); code != cli.ExitUnproven || stdout != "" {
		t.Errorf("of another leaf: exit %d\n%s", code, stdout)
	}
	p.anchored = kept
	kept[strings.Index(string(kept), `"proof":["`)+12] ^= 1
	if code, stdout, _ := verify("-o", "json"); code != cli.ExitUnproven || stdout != "" {
		t.Errorf("a proof that was changed: exit %d\n%s", code, stdout)
	}
}
