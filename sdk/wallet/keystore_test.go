package wallet_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/contextd/contextd/internal/usdg"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/sdk/wallet"
)

// names are the files in a directory.
func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

// TestChangePassphrase: afterwards the new one opens the same key and the old one does not; whatever is wrong, the file is as it was and
// nothing lies beside it.
func TestChangePassphrase(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "main")
	address := write(t, path)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := wallet.Find(link)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.ChangePassphraseQuickly("wrong", "new"); !errors.Is(err, wallet.ErrPassphrase) {
		t.Errorf("with a wrong passphrase: %v", err)
	}
	if err := f.ChangePassphraseQuickly(passphrase, ""); err == nil {
		t.Error("no passphrase is taken for one")
	}
	if after, err := os.ReadFile(path); err != nil || string(after) != string(before) || !slices.Equal(names(t, dir), []string{"main"}) {
		t.Errorf("the file has changed: %v, %v", names(t, dir), err)
	}
	if err := f.ChangePassphraseQuickly(passphrase, "new"); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, ".new-123")) // as a crash leaves it
	if list, err := wallet.List(dir); err != nil || len(list) != 1 {
		t.Errorf("%v, %v", list, err)
	}
	if _, err := wallet.Find(".new-123", dir); !errors.Is(err, wallet.ErrNoWallet) {
		t.Error(err)
	}
	if err := os.Remove(filepath.Join(dir, ".new-123")); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Open(passphrase); !errors.Is(err, wallet.ErrPassphrase) {
		t.Errorf("the old passphrase: %v", err)
	}
	if k, err := f.Open("new"); err != nil || k.Address() != address {
		t.Errorf("the new passphrase: %v, %v", k, err)
	}
	info, err := os.Lstat(path)
	if err != nil || info.Mode() != 0o600 || !slices.Equal(names(t, dir), []string{"main"}) {
		t.Errorf("%v, %v, %v", info, names(t, dir), err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is none any more: %v, %v", info, err)
	}
}

// TestPassphraseThatCannotBeWritten: where the directory takes no new file, the old one stays. Its path is so long that only a short name
// fits behind it, which holds root back too.
func TestPassphraseThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	fits := func(path string) bool { return os.MkdirAll(filepath.Join(path, "m"), 0o700) == nil }
	for _, step := range []string{strings.Repeat("d", 200), "dd"} {
		for fits(filepath.Join(dir, step)) {
			dir = filepath.Join(dir, step)
		}
	}
	path := filepath.Join(dir, "m")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	write(t, path)
	f, err := wallet.Find(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.ChangePassphraseQuickly(passphrase, "new"); err == nil {
		t.Error("no error")
	}
	if _, err := f.Open(passphrase); err != nil {
		t.Error(err)
	}
}

// TestPins: a service is paid where it was paid first, until the user says otherwise.
func TestPins(t *testing.T) {
	t.Parallel()
	m := newMarket(t)
	if err := wallet.TrustRecipient(t.Context(), m.dir, "https://other.example", m.chain.Owner().Address); err != nil {
		t.Fatal(err)
	}
	if _, err := m.client(m.payer()).Fresh(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	want := []wallet.Pin{{Service: "https://other.example", Recipient: m.chain.Owner().Address}, {Service: m.d.URL(), Recipient: m.chain.Treasury()}}
	if pins, err := wallet.Pins(m.dir); err != nil || !slices.Equal(pins, want) {
		t.Errorf("%v, %v", pins, err)
	}
	if err := wallet.TrustRecipient(t.Context(), m.dir, m.d.URL(), strings.ToLower(m.chain.Owner().Address)); err != nil {
		t.Fatal(err)
	}
	if _, err := m.client(m.payer()).Fresh(t.Context(), ""); !errors.Is(err, wallet.ErrRecipient) {
		t.Errorf("at another address: %v", err)
	}
	if was, err := wallet.ForgetRecipient(t.Context(), m.dir, m.d.URL()); err != nil || was != m.chain.Owner().Address {
		t.Errorf("%s, %v", was, err)
	}
	if was, err := wallet.ForgetRecipient(t.Context(), m.dir, m.d.URL()); err != nil || was != "" {
		t.Errorf("forgotten twice: %s, %v", was, err)
	}
	if _, err := m.client(m.payer()).Fresh(t.Context(), ""); err != nil {
		t.Error(err)
	}
	for service, address := range map[string]string{"": m.chain.Treasury(), "a b": m.chain.Treasury(), "https://x.example": "me", "https://y.example": m.chain.Treasury()[2:]} {
		if err := wallet.TrustRecipient(t.Context(), m.dir, service, address); err == nil {
			t.Errorf("%q at %q is trusted", service, address)
		}
	}
}

// TestLook says what paying would do, without a key, and does nothing.
func TestLook(t *testing.T) {
	t.Parallel()
	m := newMarket(t)
	_, err := m.client(nil).Fresh(t.Context(), "")
	var refused *api.Error
	if !errors.As(err, &refused) || refused.Payment == nil {
		t.Fatal(err)
	}
	q := sdk.Quote{PaymentRequirements: *refused.Payment, Service: m.d.URL(), Request: "GET /v1/fresh", Price: 1_000}
	look := func(change func(*wallet.Config)) wallet.Preview {
		t.Helper()
		v, err := m.payer(func(cfg *wallet.Config) {
			cfg.Key, cfg.Address = nil, m.chain.Wallet().Address
			change(cfg)
		}).Preview(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	v := look(func(*wallet.Config) {})
	if v.Refusal != "" || v.Amount != 1_000 || v.MaxFee == "" || !strings.HasSuffix(v.Calldata, q.Nonce[2:]) {
		t.Errorf("%+v", v)
	}
	for want, change := range map[string]func(*wallet.Config){
		"the bound per call is 0.0005": func(cfg *wallet.Config) { cfg.Policy.PerCall = 500 },
		"the fee may reach":            func(cfg *wallet.Config) { cfg.Policy.MaxFee = 1 },
		"no ether":                     func(cfg *wallet.Config) { cfg.Address = "0x1000000000000000000000000000000000000001" },
		"another chain":                func(cfg *wallet.Config) { cfg.ChainID = 1 },
	} {
		if v := look(change); !strings.Contains(v.Refusal, want) || v.MaxFee != "" {
			t.Errorf("%+v, want %q", v, want)
		}
	}
	if _, err := m.payer(func(cfg *wallet.Config) { cfg.Key, cfg.Address = nil, m.chain.Wallet().Address }).Pay(t.Context(), q); err == nil {
		t.Error("paid without a key")
	}
	if m.states() != "" || m.balance() != 0 {
		t.Errorf("%q, %d", m.states(), m.balance())
	}
}

// TestDelete: a wallet with a payment that is not at its end stays.
func TestDelete(t *testing.T) {
	t.Parallel()
	m := newMarket(t)
	path := filepath.Join(t.TempDir(), "main")
	f := wallet.File{Path: path, Address: m.chain.Wallet().Address}
	if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	m.node.fail("eth_sendRawTransaction")
	if _, err := m.client(m.payer()).Fresh(t.Context(), ""); err == nil {
		t.Fatal("paid without a node")
	}
	if err := f.Delete(t.Context(), m.dir); !errors.Is(err, wallet.ErrUnfinished) {
		t.Errorf("with a payment begun: %v", err)
	}
	if paid, err := wallet.Spent(m.dir, m.payments()[0].At); err != nil || paid.Day != usdg.Amount(1_000) || paid.Month != paid.Day {
		t.Errorf("%+v, %v", paid, err)
	}
	m.node.fail("")
	if _, err := m.client(m.payer()).Fresh(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	if err := (wallet.File{Path: path}).Delete(t.Context(), m.dir); err == nil {
		t.Error("deleted without an address")
	}
	if err := f.Delete(t.Context(), m.dir); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// payments are those in the journal.
func (m *market) payments() []wallet.Payment {
	m.t.Helper()
	list, err := wallet.Payments(m.dir)
	if err != nil || len(list) == 0 {
		m.t.Fatal(list, err)
	}
	return list
}
