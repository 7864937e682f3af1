package client_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/sdk"
)

// head is the checkpoint of a log when it had n leaves.
func (p *proven) head(n int) string {
	root, _ := tlog.TreeHash(int64(n), p)
	text, err := note.Sign(&note.Note{Text: fmt.Sprintf("%s\n%d\n%s\n", p.origin, n, root)}, p.signer)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// asks sends the checkpoint of n leaves to a witness.
func (p *proven) asks(ctx context.Context, url, key string, n int) error {
	prove := func(_ context.Context, old int64) (list []string, _ error) {
		if old == 0 || old >= int64(n) {
			return nil, nil
		}
		proof, err := tlog.ProveTree(int64(n), old, p)
		for _, h := range proof {
			list = append(list, h.String())
		}
		return list, err
	}
	_, err := sdk.AskWitness(ctx, &http.Client{Timeout: 10 * time.Second}, url, key, p.head(n), 0, prove)
	return err
}

// TestWitnessNeverSignsTwoHistories kills a witness at random moments while two forks of a log ask it to sign, and goes on with what it
// remembers: all that it ever signed is of one history.
func TestWitnessNeverSignsTwoHistories(t *testing.T) {
	t.Parallel()
	one := newProven(t, originOne, 5)
	two := &proven{origin: one.origin, key: one.key, signer: one.signer}
	two.grow(t, 200, "b")
	dir := t.TempDir()
	env := map[string]string{"CTX_BASE_URL": one.URL, "CTX_CONFIG_DIR": dir, "HOME": dir, "XDG_DATA_HOME": dir}
	code, key, stderr := run(t.Context(), env, "witness", "key", "--name", "w.test/1")
	if code != cli.ExitOK {
		t.Fatal(stderr)
	}
	key = strings.TrimSpace(key)
	for range 2 { // the second time it is known
		if code, stdout, stderr := run(t.Context(), env, "witness", "add", one.URL); code != cli.ExitOK || !strings.Contains(stdout, one.key) {
			t.Fatal(stdout, stderr)
		}
	}
	if code, _, _ := run(t.Context(), env, "witness", "key", "--name", "w.test/2"); code != cli.ExitUsage {
		t.Errorf("a key is given another name: exit %d", code)
	}
	swapped := newProven(t, originOne, 5)
	if code, _, _ := run(t.Context(), env, "witness", "add", swapped.URL); code != cli.ExitUnproven {
		t.Errorf("a log's key is replaced: exit %d", code)
	}
	one.grow(t, 195, "a")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	signed := map[*proven]int{} // the largest that was signed, by fork
	for life := range 12 {
		c := exec.Command(self)
		c.Args = []string{"ctx", "witness", "serve", "--listen", "127.0.0.1:0"}
		c.Env = append(os.Environ(), "CTX_CONFIG_DIR="+dir, "HOME="+dir, "XDG_DATA_HOME="+dir)
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		line, err := bufio.NewReader(out).ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		url := strings.TrimSpace(line)
		type answer struct {
			log *proven
			n   int
		}
		answers := make(chan answer)
		ctx, stop := context.WithCancel(t.Context())
		first := signed[one]
		for i, log := range []*proven{one, two} {
			steps := []int{first + 1, first + 2, first + 3, first + 4 + random.IntN(3)}
			go func() {
				for _, n := range steps {
					if log.asks(ctx, url, key, n+i) == nil { // a fork may be ahead
						answers <- answer{log, n + i}
					}
				}
				answers <- answer{}
			}()
		}
		kill := time.NewTimer(time.Hour)
		after := time.Duration(random.IntN(60)) * time.Millisecond
		soon := func() { kill = time.AfterFunc(after, func() { _ = c.Process.Kill() }) }
		if life%3 > 0 { // the others live until they have signed, which takes a busy machine longer
			soon()
		}
		for ended := 0; ended < 2; {
			a := <-answers
			if a.log == nil {
				ended++
				continue
			}
			signed[a.log] = max(signed[a.log], a.n)
			if life%3 == 0 && kill.C != nil {
				soon()
			}
		}
		stop()
		kill.Stop()
		_ = c.Process.Kill()
		_ = c.Wait() // it was killed
		if signed[one] > 0 && signed[two] > 0 {
			t.Fatalf("both histories are signed: %d leaves of one, %d of the other", signed[one], signed[two])
		}
		if signed[two] > 0 { // the other one won: from here on it is the one
			one, two = two, one
			signed = map[*proven]int{one: signed[two]}
		}
	}
	if signed[one] == 0 {
		t.Error("nothing was ever signed")
	}
	t.Logf("12 lives signed up to %d leaves", signed[one])
}
