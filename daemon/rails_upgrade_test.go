package daemon_test

import (
	"bytes"
	"crypto/rand"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/admin"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/daemon/x402"
	"github.com/contextd/contextd/internal/devchain"
	"github.com/contextd/contextd/internal/usdg"
	"github.com/contextd/contextd/sdk/api"
)

// node is one in front of a chain that can be told to lose what is sent to it.
type node struct {
	*httptest.Server
	loses atomic.Bool
}

func inFront(t *testing.T, c *devchain.Chain) *node {
	t.Helper()
	to, err := url.Parse(c.URL())
	if err != nil {
		t.Fatal(err)
	}
	n, proxy := &node{}, httputil.NewSingleHostReverseProxy(to)
	n.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || n.loses.Load() && strings.Contains(string(body), "eth_sendRawTransaction") {
			http.Error(w, "lost", http.StatusBadGateway)
			return
		}
		r.Body, r.Host = io.NopCloser(strings.NewReader(string(body))), to.Host
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(n.Close)
	return n
}

// exactly is the header of a payment of standard x402 from the wallet of a chain, with its nonce.
func exactly(t *testing.T, c *devchain.Chain, to string, micros int64) (header string, nonce [32]byte) {
	t.Helper()
	a := devchain.Authorization{To: to, Value: uint64(micros), Before: time.Now().Unix() + 900}
	_, _ = rand.Read(a.Nonce[:])
	signature, err := c.Authorize(c.Wallet(), a)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(map[string]any{"x402Version": 2, "payload": map[string]any{
		"signature": "0x" + hex.EncodeToString(signature[:]), "authorization": map[string]string{
			"from": c.Wallet().Address, "to": to, "value": fmt.Sprint(a.Value), "validAfter": "0", "validBefore": fmt.Sprint(a.Before),
			"nonce": "0x" + hex.EncodeToString(a.Nonce[:]),
		},
	}, "extensions": map[string]any{"payment-identifier": map[string]any{"info": map[string]string{"id": rand.Text()}}}})
	if err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(text), a.Nonce
}

// downgrade makes the database in dir one of schema 9: the rows of the one rail, in the tables that there were then.
func downgrade(t *testing.T, dir string) {
	t.Helper()
	path := filepath.Join(dir, store.File)
	if err := os.Rename(path, path+".new"); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite3", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	run := func(text string) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), text); err != nil {
			t.Fatalf("%v: %.200s", err, text)
		}
	}
	run("PRAGMA page_size = 4096; PRAGMA journal_mode = WAL; ATTACH '" + path + ".new' AS now")
	scripts, err := filepath.Glob("store/migrations/000[1-9]_*.sql")
	if err != nil || len(scripts) != 9 {
		t.Fatalf("%v, %v", scripts, err)
	}
	for _, name := range scripts {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		run(string(text))
	}
	run("CREATE TABLE schema_migrations AS SELECT * FROM now.schema_migrations WHERE version < 10")
	list, err := db.QueryContext(t.Context(), `SELECT m.name, group_concat(c.name), group_concat(iif(c.name = 'only_row', '1', c.name))
		FROM main.sqlite_schema m JOIN pragma_table_xinfo(m.name) c
		WHERE m.type = 'table' AND m.name NOT IN ('schema_migrations', 'sqlite_sequence') GROUP BY m.name`)
	if err != nil {
		t.Fatal(err)
	}
	var copies []string
	for list.Next() {
		var table, into, from string
		if err := list.Scan(&table, &into, &from); err != nil {
			t.Fatal(err)
		}
		copies = append(copies, fmt.Sprintf("INSERT INTO main.%s (%s) SELECT %s FROM now.%[1]s", table, into, from))
	}
	if err := list.Err(); err != nil {
		t.Fatal(err)
	}
	for _, text := range copies {
		run(text)
	}
	run("DETACH now")
	if err := os.Remove(path + ".new"); err != nil {
		t.Fatal(err)
	}
}

// TestUpgradeToRails upgrades a directory of schema 9 in which a purchase was paid meanwhile and another is open, a payment of our own
// dialect was not presented yet, one was answered, and settlements of standard x402 are done and pending. All of it goes on, once, on the
// first rail, and the books agree with each other and with the chain.
func TestUpgradeToRails(t *testing.T) {
	t.Parallel()
	c := daemontest.Chain(t)
	front := inFront(t, c)
	setUp := func(dir string) func(*daemon.Config) {
		return func(cfg *daemon.Config) {
			cfg.DataDir = dir
			daemontest.On(c)(cfg)
			cfg.Chain.RPCURL, cfg.Chain.SettleKey = front.URL, c.Gas().PrivateKey
			cfg.Chain.Domain = x402.Domain{Name: devchain.TokenName, Version: devchain.TokenVersion}
		}
	}
	dir := filepath.Join(t.TempDir(), "data")
	d := daemontest.Start(t, setUp(dir))
	ask := func(path, name, value string, want int) []byte {
		t.Helper()
		res, body := (&upgraded{Daemon: d, t: t}).get(path, name, value)
		if res.StatusCode != want {
			t.Fatalf("%s: %d %s, want %d", path, res.StatusCode, body, want)
		}
		return body
	}
	settled := func(header string) { // each call waits for the block as long as the daemon does
		t.Helper()
		for range 50 {
			if res, _ := (&upgraded{Daemon: d, t: t}).get(api.PathFresh, api.HeaderSignature, header); res.StatusCode == http.StatusOK {
				return
			}
		}
		ask(api.PathFresh, api.HeaderSignature, header, http.StatusOK)
	}
	console, _ := owner(t, d, client(t, d, d.Key(t, api.TierFree)))
	buy := func(pack api.CreditPack) *api.DepositIntent {
		t.Helper()
		intent, err := console.Buy(t.Context(), pack, "")
		if err != nil {
			t.Fatal(err)
		}
		return intent
	}
	paid, open := buy(api.CreditStarter), buy(api.CreditHobby)
	answered, unanswered := daemontest.Pay(t, c, d.URL()+api.PathFresh), daemontest.Pay(t, c, d.URL()+api.PathFresh)
	first := ask(api.PathFresh, api.HeaderPayment, answered, http.StatusOK)
	price := api.OpFresh.PriceMicros()
	done, _ := exactly(t, c, c.Treasury(), price)
	settled(done)
	front.loses.Store(true)
	pending, nonce := exactly(t, c, c.Treasury(), price)
	ask(api.PathFresh, api.HeaderSignature, pending, http.StatusServiceUnavailable)
	d.Stop(t)
	front.loses.Store(false)
	downgrade(t, dir)
	amount, err := usdg.ParseAmount(paid.AmountUSDC)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Transfer(t.Context(), c.Wallet(), c.Treasury(), int64(amount), nil); err != nil {
		t.Fatal(err)
	}

	d = daemontest.Start(t, setUp(dir))
	if err := d.Scan(t.Context()); err != nil {
		t.Fatal(err)
	}
	made := regexp.MustCompile(`"generatedAt":"[^"]*"`)
	if got := ask(api.PathFresh, api.HeaderPayment, answered, http.StatusOK); made.Find(first) == nil || !bytes.Equal(made.Find(got), made.Find(first)) {
		t.Errorf("what was answered is answered %s, before it was %s", got, first)
	}
	for range 2 {
		ask(api.PathFresh, api.HeaderPayment, unanswered, http.StatusOK)
		settled(done)
		settled(pending)
	}
	ask(api.PathBrief, api.HeaderSignature, pending, http.StatusPaymentRequired)
	for id, want := range map[string]api.DepositStatus{paid.ID: api.DepositVerified, open.ID: api.DepositPending} {
		if got, err := client(t, d, d.Key(t, api.TierFree)).Console(console.Secret()).Deposit(t.Context(), id, ""); err != nil || got.Status != want {
			t.Errorf("the purchase is %+v, %v, want %s", got, err, want)
		}
	}
	var rail, state string
	query := "SELECT rail, state FROM settlements WHERE nonce = x'" + hex.EncodeToString(nonce[:]) + "'"
	db, err := sql.Open("sqlite3", filepath.Join(dir, store.File))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.QueryRowContext(t.Context(), query).Scan(&rail, &state); err != nil || rail != api.NetworkL2 || state != "settled" {
		t.Errorf("the settlement is %s on %s, %v", state, rail, err)
	}
	o, err := admin.Open(t.Context(), admin.Config{DataDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	if r, err := o.Reconcile(t.Context()); err != nil || len(r.Findings) > 0 || int64(r.Calls) != 4*price || r.Deposits != amount || r.Unmatched != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	if findings, err := d.Credits().Audit(t.Context()); err != nil || len(findings) > 0 {
		t.Errorf("the audit finds %v, %v", findings, err)
	}
}
