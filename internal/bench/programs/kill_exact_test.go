package programs_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/testbed"
	"github.com/contextd/contextd/internal/devchain"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/wallet"
)

// exactSteps are those of a call that is paid by standard x402, in order.
func exactSteps() []step {
	return []step{
		{name: "asked", says: "GET", after: true},
		{name: "signed and written down", says: "paid"},
		{name: "sent and answered", says: "paid", after: true, done: true},
		{name: "answer got in part", says: "paid", after: true, half: true, done: true},
		{name: "answer shown in part", deaf: true, done: true},
		{name: "signed, resumed", says: "paid", begun: true},
		{name: "sent, resumed", says: "paid", after: true, begun: true},
	}
}

// packSteps are those of a pack of credits that is bought so, by which a payment has been signed.
func packSteps() []step {
	return []step{
		{name: "signed and written down", says: "paid"},
		{name: "sent and answered", says: "paid", after: true},
		{name: "answer got in part", says: "paid", after: true, half: true},
		{name: "signed, resumed", says: "paid", begun: true},
		{name: "sent, resumed", says: "paid", after: true, begun: true},
		{name: "sent, resumed and kept", says: "paid", after: true, begun: true, kept: true},
	}
}

// bought buys a pack, is killed at a step and goes on. The key that it has in the end is the one that was paid for.
func (p *payer) bought(s step) {
	p.t.Helper()
	name := filepath.Join(p.home, "key")
	buy := []string{"credits", "buy", "starter", "--x402", "--yes", "--out", name}
	p.killAt(s, buy...)
	var key string
	if s.kept {
		p.store = "file"
		if told := strings.TrimSpace(string(p.again("pay", "resume", "--jq", ".[].answer | [.key, .creditBalance]"))); told != `["",1000]` {
			p.t.Errorf("it is resumed as %s", told)
		}
		if out, err := p.command("cite", "1").CombinedOutput(); err != nil {
			p.t.Errorf("with the key that was kept: %v\n%s", err, out)
		}
		return
	}
	if s.begun {
		key = strings.Trim(strings.TrimSpace(string(p.again("pay", "resume", "--jq", ".[].answer.key"))), `"`)
	} else {
		p.again(buy...)
		text, err := os.ReadFile(name)
		if err != nil {
			p.t.Fatal(err)
		}
		key = strings.TrimSpace(string(text))
	}
	client, err := sdk.New(sdk.WithoutEnv(), sdk.WithBaseURL(p.service.to), sdk.WithAPIKey(sdk.NewKey(key)))
	if err == nil {
		_, err = client.Cite(p.t.Context(), "", 1)
	}
	if err != nil {
		p.t.Errorf("the key of %d characters calls: %v", len(key), err)
	}
}

// TestKillAuthorizer kills ctx at every step of a payment by standard x402 and runs it again, and then at moments that chance chooses: the
// same authorization is sent again until its answer was shown, each call is paid once, and what was paid for is answered.
func TestKillAuthorizer(t *testing.T) {
	t.Parallel()
	dir := oldDemo(t)
	steps, packs := exactSteps(), packSteps()
	chain, err := devchain.Open(t.Context(), devchain.Config{Dir: filepath.Join(dir, "chain"), Listen: "127.0.0.1:0", Ahead: 30 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	accounts, err := chain.NewAccounts(t.Context(), len(steps)+1+len(packs), 20_000_000)
	if err := errors.Join(err, chain.Close()); err != nil {
		t.Fatal(err)
	}
	listen, err := testbed.DeadAddress()
	if err != nil {
		t.Fatal(err)
	}
	b := &buyer{t: t, dir: dir, listen: listen}
	c, info, _ := b.start()
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	newPayer := func(t *testing.T, i int) *payer {
		return &payer{t: t, home: t.TempDir(), account: accounts[i], token: info.Chain.Token, service: newTap(t, info.BaseURL),
			node: newTap(t, info.Chain.RPCURL), chain: info.Chain.RPCURL, abroad: true}
	}
	for i, s := range steps {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			p := newPayer(t, i)
			pay := []string{"pay", p.service.URL + "/v1/fresh"}
			p.killAt(s, pay...)
			first := p.service.answered()
			if s.begun {
				resume := []string{"pay", "resume", "--jq", ".[] | [.answer.state != null, .error]"}
				if got := strings.TrimSpace(string(p.again(resume...))); got != `[true,""]` {
					t.Errorf("it is resumed as %s", got)
				}
				return
			}
			var answer struct{ State json.RawMessage }
			got := p.again(pay...)
			if json.Unmarshal(got, &answer) != nil || answer.State == nil {
				t.Fatalf("the answer is %.200s", got)
			}
			state := answer.State
			if _ = json.Unmarshal(first, &answer); s.done && !bytes.Equal(answer.State, state) {
				t.Errorf("another answer came the second time:\n%.300s\n%.300s", answer.State, state)
			}
		})
	}
	for i, s := range packs {
		t.Run("pack/"+s.name, func(t *testing.T) {
			t.Parallel()
			p := newPayer(t, len(steps)+1+i)
			p.abroad = false
			p.bought(s)
		})
	}
	t.Run("by chance", func(t *testing.T) {
		t.Parallel()
		killByChance(t, newPayer(t, len(steps)))
	})
}

// killByChance has ctx pay one call after the other, and kills it at any moment of each.
func killByChance(t *testing.T, p *payer) {
	random := rand.New(rand.NewPCG(18, uint64(rounds())))
	killed, takes := 0, time.Second // as long as a call that nobody kills
	for round := range rounds() {
		pay := []string{"pay", fmt.Sprintf("%s/v1/cite?ref=1&round=%d", p.service.URL, round)}
		c := p.command(pay...)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- c.Wait() }()
		select {
		case err := <-ended:
			if err != nil {
				t.Fatal(err)
			}
		case <-time.After(time.Duration(random.Int64N(int64(takes)))):
			_ = c.Process.Kill()
			if err := <-ended; err != nil {
				killed++
			}
		}
		began := time.Now()
		out, err := p.command(pay...).CombinedOutput()
		for err != nil && bytes.Contains(out, []byte("rate_limited")) {
			out, err = p.command(pay...).CombinedOutput()
		}
		takes = time.Since(began)
		if err != nil || !bytes.Contains(out, []byte(`"citation"`)) {
			t.Fatalf("after kill %d: %v\n%s", killed, err, out)
		}
		if bytes.Contains(out, []byte(p.account.PrivateKey[2:])) {
			t.Error("the key is told")
		}
	}
	all, err := wallet.Payments(filepath.Join(p.home, ".local", "share", "ctx"))
	if err != nil {
		t.Fatal(err)
	}
	paid, signed := map[string]bool{}, 0
	for _, one := range all {
		if one.State != "answered" || one.TxHash == "" {
			t.Errorf("the journal says %+v", one)
		}
		paid[one.TxHash], signed = true, signed+1
	}
	if n := p.transfers(); n != len(all) || len(paid) != signed {
		t.Errorf("%d transfers for %d payments, of %d transactions", n, len(all), len(paid))
	}
	t.Logf("%d rounds, %d killed, %d payments", rounds(), killed, len(all))
	names, _ := filepath.Glob(filepath.Join(p.home, ".local", "share", "ctx", "payments", "*.json"))
	for _, name := range names {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
}
