package wallet_test

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/sdk/wallet"
)

func TestMain(m *testing.M) {
	daemontest.Overlap(8)
	os.Exit(m.Run())
}

// late makes a Payer of a time at which every quote has ended.
func late(c *wallet.Config) {
	c.Now = func() time.Time { return time.Now().Add(6 * time.Minute) }
}

// TestAnotherChainEndsNothing: the node of another chain is an error, and the payment stays.
func TestAnotherChainEndsNothing(t *testing.T) {
	t.Parallel()
	m := newMarket(t)
	m.node.fail("eth_sendRawTransaction")
	if _, err := m.payer().Pay(t.Context(), m.purchase("1")); err == nil {
		t.Fatal("paid without a node")
	}
	m.node.fail("")
	main := func(c *wallet.Config) { c.ChainID = api.ChainIDMain }
	token := func(c *wallet.Config) { c.Token = m.chain.Treasury() }
	check := func(what string, changes ...func(*wallet.Config)) {
		t.Helper()
		for _, pay := range []func(*wallet.Payer) error{
			func(p *wallet.Payer) error { _, err := p.Resume(t.Context(), m.purchase("1")); return err },
			func(p *wallet.Payer) error { _, err := p.Pay(t.Context(), m.purchase("1")); return err },
		} {
			if err := pay(m.payer(append(changes, late)...)); !errors.Is(err, wallet.ErrWrongChain) || m.states() != "signed" {
				t.Errorf("%s: %v; payments are %s", what, err, m.states())
			}
		}
	}
	check("another chain", main)
	check("another token", token)
	path := filepath.Join(m.dir, "payments")
	files, err := os.ReadDir(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files { // as it was before chains were noted
		name := filepath.Join(path, f.Name())
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, regexp.MustCompile(`(?m)^  "(chainId|token)": .*\n`).ReplaceAll(text, nil), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	check("another chain and an old journal", main)
	if _, err := m.payer().Pay(t.Context(), m.purchase("1")); err != nil || m.balance() != 1_000_317 || m.states() != "mined" {
		t.Errorf("%v; the treasury has %d, payments are %s", err, m.balance(), m.states())
	}
}

// TestForgottenIsNotDropped: a payment that is on chain is not made again because the node has forgotten its transaction.
func TestForgottenIsNotDropped(t *testing.T) {
	t.Parallel()
	for state, method := range map[string]string{"signed": "+eth_sendRawTransaction", "mined": ""} {
		m := newMarket(t)
		m.node.fail(method)
		if _, err := m.payer().Pay(t.Context(), m.purchase("1")); (err == nil) != (method == "") || m.states() != state {
			t.Fatalf("%v; payments are %s", err, m.states())
		}
		m.node.fail("")
		for end := time.Now().Add(2 * time.Minute); m.balance() == 0; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%s: the payment is not mined", state)
			}
		}
		m.node.forgets.Store(true)
		if _, err := m.payer(late).Pay(t.Context(), m.purchase("1")); err == nil || !strings.Contains(err.Error(), "does not know transaction") || m.states() != state {
			t.Errorf("%s: %v; payments are %s", state, err, m.states())
		}
		m.node.forgets.Store(false)
		if _, err := m.payer(late).Pay(t.Context(), m.purchase("1")); err != nil || m.balance() != 1_000_317 || m.states() != "mined" {
			t.Errorf("%s: %v; the treasury has %d, payments are %s", state, err, m.balance(), m.states())
		}
	}
}

// TestMinedIsNotDropped: a payment that was seen on chain is not made again because a node is behind, and neither knows its transaction nor
// that its place is taken.
func TestMinedIsNotDropped(t *testing.T) {
	t.Parallel()
	m := newMarket(t)
	if _, err := m.payer().Pay(t.Context(), m.purchase("1")); err != nil || m.states() != "mined" {
		t.Fatalf("%v; payments are %s", err, m.states())
	}
	m.node.forgets.Store(true)
	m.node.behind.Store(true)
	if _, err := m.payer(late).Pay(t.Context(), m.purchase("1")); err == nil || !strings.Contains(err.Error(), "does not know transaction") ||
		m.states() != "mined" {
		t.Errorf("%v; payments are %s", err, m.states())
	}
}

// TestJournalAnywhere: a journal is read whatever the name of its directory.
func TestJournalAnywhere(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"[a]", "[", "a*", "what?"} {
		dir := filepath.Join(t.TempDir(), name)
		if list, err := wallet.Payments(dir); err != nil || len(list) != 0 {
			t.Errorf("%s before there is one: %+v, %v", name, list, err)
		}
		if err := os.MkdirAll(filepath.Join(dir, "payments"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "payments", "1.json"), []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
		if list, err := wallet.Payments(dir); err != nil || len(list) != 1 {
			t.Errorf("%s: %+v, %v", name, list, err)
		}
	}
}

// TestWalletsShareTheBounds: wallets that pay at once keep the bound of a day together.
func TestWalletsShareTheBounds(t *testing.T) {
	t.Parallel()
	m := newMarket(t)
	accounts, err := m.chain.NewAccounts(t.Context(), 4, 1_000_000)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	var paid atomic.Int32
	for _, a := range accounts {
		key, err := wallet.ParseKey(a.PrivateKey)
		if err != nil {
			t.Fatal(err)
		}
		p := m.payer(func(c *wallet.Config) { c.Key, c.Policy = key, wallet.Policy{PerDay: 1_500} })
		all.Go(func() {
			_, err := m.client(p).Fresh(t.Context(), "")
			if err == nil {
				paid.Add(1)
			} else if !errors.Is(err, wallet.ErrPolicy) {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if paid.Load() != 1 || m.balance() != 1_000 {
		t.Errorf("%d have paid, the treasury has %d, payments are %s", paid.Load(), m.balance(), m.states())
	}
}

// TestJournalIsReplaced: what the journal writes is a new file each time, that of internal/atomicfile, whose tests see it brought to the
// disk. One that is written where it lies would be half a payment after a loss of power.
func TestJournalIsReplaced(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "payments", "one.json")
	var files []os.FileInfo
	var open []*os.File // keeps each from being used again for the next
	for _, text := range []string{"signed", "mined", "answered"} {
		if err := wallet.Replace(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		info, err := f.Stat()
		if err != nil {
			t.Fatal(err)
		}
		files, open = append(files, info), append(open, f)
	}
	if os.SameFile(files[0], files[1]) || os.SameFile(files[1], files[2]) || files[2].Mode().Perm() != 0o600 {
		t.Error("a file was written where it lay")
	}
	for _, f := range open {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestStateIsThatOnDisk: what could not be written has not happened, or a payer would begin again what the journal still holds.
func TestStateIsThatOnDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if state, err := wallet.AdvanceIn(dir); err != nil || state != "mined" {
		t.Errorf("written as %s, %v", state, err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if state, err := wallet.AdvanceIn(filepath.Join(file, "payments")); err == nil || state != "signed" {
		t.Errorf("where nothing can be written it is %s, %v", state, err)
	}
}
