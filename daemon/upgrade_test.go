package daemon_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/admin"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/daemon/x402"
	"github.com/contextd/contextd/sdk/api"
)

// held is what clients of the daemon of commit 6c28228 held when it ended, and what its chain said afterwards.
type held struct {
	At     time.Time   // when it ended
	States []time.Time // of a year, one a week
	Ada    struct {    // who has bought, spent, revoked a key, and begun two purchases
		Session    string
		Keys       []string
		Revoked    string
		Balance    int64
		Open, Paid api.DepositIntent // the second was paid while there was no daemon
		List       api.KeyListResponse
	}
	Bob struct { // who has no credits, and whose transfer matched nothing
		Session, Key string
		FreeLeft     int // calls of the free window
		Stray        api.DepositIntent
		List         api.KeyListResponse
	}
	Operator struct {
		Team, Pro               string
		TeamCredits, ProCredits int64
	}
	Answered   struct{ Proof, Body string }
	Unanswered string // a proof of a payment that was not presented
	Quoted     string // a proof of one that was quoted then and paid while there was no daemon

	Token, Treasury string
	Node            map[string]json.RawMessage // by method and parameters
	Logs            []json.RawMessage
}

// unpack makes the data directory that testdata/6c28228.tar.gz holds: of a daemon of that commit on a chain, after a year of states, with
// owners, keys, sessions, deposits and payments in every condition, written by its own test harness.
func unpack(t *testing.T) (dir string, h held) {
	t.Helper()
	dir = untar(t, "testdata/6c28228.tar.gz")
	readJSON(t, filepath.Join(dir, "held.json"), &h)
	if err := os.Remove(filepath.Join(dir, "held.json")); err != nil {
		t.Fatal(err)
	}
	return dir, h
}

// untar unpacks a tarball into a directory.
func untar(t *testing.T, name string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	plain, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for list := tar.NewReader(plain); ; {
		entry, err := list.Next()
		if errors.Is(err, io.EOF) {
			return dir
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, entry.Name)
		if entry.FileInfo().IsDir() {
			if err := os.MkdirAll(path, 0o700); err != nil {
				t.Fatal(err)
			}
			continue
		}
		text, err := io.ReadAll(list)
		if err == nil {
			err = os.WriteFile(path, text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// readJSON reads a file into what into points to.
func readJSON(t *testing.T, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// ServeHTTP answers JSON-RPC as the chain did.
func (h *held) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	type call struct {
		ID     json.RawMessage
		Method string
		Params json.RawMessage
	}
	answer := func(c call) map[string]any {
		var result any = h.Node[c.Method+" "+string(c.Params)] // null for what it did not know
		if c.Method == "eth_getLogs" {
			result = h.logs(c.Params)
		}
		return map[string]any{"jsonrpc": "2.0", "id": c.ID, "result": result}
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	w.Header().Set("Content-Type", "application/json")
	var one call
	if json.Unmarshal(body, &one) == nil {
		_ = json.NewEncoder(w).Encode(answer(one))
		return
	}
	var batch []call
	if json.Unmarshal(body, &batch) != nil {
		http.Error(w, "no JSON-RPC", http.StatusBadRequest)
		return
	}
	answers := []map[string]any{}
	for _, c := range batch {
		answers = append(answers, answer(c))
	}
	_ = json.NewEncoder(w).Encode(answers)
}

// logs are those of the blocks that the parameters name.
func (h *held) logs(params json.RawMessage) []json.RawMessage {
	list := []json.RawMessage{}
	var asked []struct{ FromBlock, ToBlock string }
	if json.Unmarshal(params, &asked) != nil || len(asked) != 1 {
		return list
	}
	for _, l := range h.Logs {
		var at struct{ BlockNumber string }
		if json.Unmarshal(l, &at) == nil && number(asked[0].FromBlock) <= number(at.BlockNumber) && number(at.BlockNumber) <= number(asked[0].ToBlock) {
			list = append(list, l)
		}
	}
	return list
}

// number reads a quantity of JSON-RPC.
func number(text string) uint64 {
	n, err := strconv.ParseUint(text, 0, 64)
	if err != nil {
		return 1 << 63
	}
	return n
}

// upgraded is a daemon in a directory of 6c28228, a minute after that ended.
type upgraded struct {
	*daemontest.Daemon
	held
	t *testing.T
}

func upgrade(t *testing.T) *upgraded {
	t.Helper()
	dir, h := unpack(t)
	u := &upgraded{held: h, t: t}
	node := httptest.NewServer(&u.held)
	t.Cleanup(node.Close)
	begin := time.Now()
	u.Daemon = daemontest.Open(t, at(dir), func(c *daemon.Config) {
		c.StoreURL, c.ChainID = "", api.ChainIDTest
		c.Chain = &daemon.Chain{Rail: x402.Rail{RPCURL: node.URL, Token: h.Token, Treasury: h.Treasury}, Wait: 50 * time.Millisecond}
		c.Now = func() time.Time { return h.At.Add(time.Minute + time.Since(begin)) }
	})
	u.Run(t)
	if err := u.Scan(t.Context()); err != nil {
		t.Fatal(err)
	}
	return u
}

// get asks for path with a header, and returns the answer with its body.
func (u *upgraded) get(path, name, value string) (*http.Response, []byte) {
	u.t.Helper()
	req, err := http.NewRequestWithContext(u.t.Context(), http.MethodGet, u.URL()+path, nil)
	if err != nil {
		u.t.Fatal(err)
	}
	req.Header.Set(name, value)
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	res, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		u.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		u.t.Fatal(err)
	}
	return res, body
}

// byKey asks with a key, and bySession with a session.
func (u *upgraded) byKey(path, key string, want int) []byte {
	u.t.Helper()
	res, body := u.get(path, "Authorization", "Bearer "+key)
	if res.StatusCode != want {
		u.t.Errorf("%s: %d %s, want %d", path, res.StatusCode, body, want)
	}
	return body
}

func (u *upgraded) bySession(path, session string, into any) {
	u.t.Helper()
	res, body := u.get(path, "Cookie", api.SessionCookie+"="+session)
	if err := json.Unmarshal(body, into); err != nil || res.StatusCode != http.StatusOK {
		u.t.Errorf("%s: %d %s, %v", path, res.StatusCode, body, err)
	}
}

// TestUpgradeKeepsWhatClientsHold: keys, sessions, credits, the free window and purchases are as they were, and what was paid while there
// was no daemon is credited. The books agree with each other and with the chain.
func TestUpgradeKeepsWhatClientsHold(t *testing.T) {
	t.Parallel()
	u := upgrade(t)
	balance := func() (b api.CreditBalanceResponse) {
		t.Helper()
		u.bySession(api.PathCredits, u.Ada.Session, &b)
		return b
	}
	if b := balance(); b.Balance != u.Ada.Balance+1_000 || len(b.RecentDeposits) != 3 {
		t.Errorf("the balance was %d and is %+v", u.Ada.Balance, b)
	}
	deposit := func(session string, i api.DepositIntent) (d api.Deposit) {
		t.Helper()
		u.bySession(api.PathCredits+"/"+i.ID, session, &d)
		return d
	}
	if d := deposit(u.Ada.Session, u.Ada.Paid); d.Status != api.DepositVerified || d.AmountUSDC != u.Ada.Paid.AmountUSDC {
		t.Errorf("what was paid meanwhile: %+v", d)
	}
	for session, i := range map[string]api.DepositIntent{u.Ada.Session: u.Ada.Open, u.Bob.Session: u.Bob.Stray} {
		if d := deposit(session, i); d.Status != api.DepositPending || d.AmountUSDC != i.AmountUSDC || d.Nonce != i.Nonce || d.NonceRequired ||
			d.ExpiresAt.Unix() != i.ExpiresAt {
			t.Errorf("what was not: %+v, want %+v", d, i)
		}
	}
	for session, want := range map[string]api.KeyListResponse{u.Ada.Session: u.Ada.List, u.Bob.Session: u.Bob.List} {
		var list api.KeyListResponse
		u.bySession(api.PathKeys, session, &list)
		for i := range list.Keys {
			list.Keys[i].LastUsedAt, want.Keys[i].LastUsedAt = nil, nil // is written now and then
		}
		if !reflect.DeepEqual(list.Keys, want.Keys) {
			t.Errorf("the keys are\n%+v\nthey were\n%+v", list.Keys, want.Keys)
		}
	}
	before := balance().Balance
	for _, key := range u.Ada.Keys {
		u.byKey(api.PathFresh, key, http.StatusOK)
	}
	if b := balance().Balance; b != before-int64(len(u.Ada.Keys)) {
		t.Errorf("%d calls took %d credits", len(u.Ada.Keys), before-b)
	}
	u.byKey(api.PathFresh, u.Ada.Revoked, http.StatusUnauthorized)
	for range u.Bob.FreeLeft {
		u.byKey(api.PathFresh, u.Bob.Key, http.StatusOK)
	}
	u.byKey(api.PathFresh, u.Bob.Key, http.StatusTooManyRequests)
	if findings, err := u.Credits().Audit(t.Context()); err != nil || len(findings) > 0 {
		t.Errorf("the audit finds %v, %v", findings, err)
	}
}

// TestUpgradeKeepsPayments: a payment that was answered is answered the same way, one that was not presented and one that was only quoted
// are taken, each once, and all that arrived is accounted for.
func TestUpgradeKeepsPayments(t *testing.T) {
	t.Parallel()
	u := upgrade(t)
	// plain is an answer without its ages.
	plain := func(text []byte) (members map[string]any) {
		t.Helper()
		if err := json.Unmarshal(text, &members); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		delete(members, "freshness")
		return members
	}
	res, body := u.get(api.PathFresh, api.HeaderPayment, u.Answered.Proof)
	if res.StatusCode != http.StatusOK || res.Header.Get(api.HeaderReplayed) != "true" || !reflect.DeepEqual(plain(body), plain([]byte(u.Answered.Body))) {
		t.Errorf("answered then, and now %d %v %s", res.StatusCode, res.Header, body)
	}
	for what, proof := range map[string]string{"not presented": u.Unanswered, "quoted": u.Quoted} {
		var first []byte
		for i := range 2 {
			res, body := u.get(api.PathFresh, api.HeaderPayment, proof)
			if res.StatusCode != http.StatusOK || (res.Header.Get(api.HeaderReplayed) == "true") != (i == 1) || i == 1 && !reflect.DeepEqual(plain(body), plain(first)) {
				t.Errorf("%s, for the %d. time: %d %v %s", what, i+1, res.StatusCode, res.Header, body)
			}
			first = body
		}
		if res, body := u.get(api.PathBrief, api.HeaderPayment, proof); res.StatusCode != http.StatusPaymentRequired || !bytes.Contains(body, []byte(api.ReasonAlreadyUsed)) {
			t.Errorf("%s, for another call: %d %s", what, res.StatusCode, body)
		}
	}
	o, err := admin.Open(t.Context(), admin.Config{DataDir: u.Config.DataDir, Now: u.Config.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	list, err := o.Unmatched(t.Context())
	if err != nil || len(list) != 1 || list[0].Amount.Fixed() != "1.005002" {
		t.Errorf("unmatched is %+v, %v", list, err)
	}
	r, err := o.Reconcile(t.Context())
	if err != nil || len(r.Findings) > 0 || r.Calls != 3_000 || r.Deposits != 9_000_001 {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestUpgradeKeepsHistory: every state of the year is read by whose tier reaches so far, and by no other.
func TestUpgradeKeepsHistory(t *testing.T) {
	t.Parallel()
	u := upgrade(t)
	ask := func(at time.Time) string {
		return api.PathSnapshot + "?at=" + at.Add(time.Minute).UTC().Format("2006-01-02T15:04")
	}
	for i, at := range u.States {
		body := u.byKey(ask(at), u.Operator.Team, http.StatusOK)
		var s api.StateResponse
		if err := json.Unmarshal(body, &s); err != nil || s.Freshness.GeneratedAt.Sub(at).Abs() > 2*time.Second || len(s.State) == 0 {
			t.Errorf("%d: the state of %v is of %v, %v", i, at, s.Freshness.GeneratedAt, err)
		}
		want := http.StatusOK
		if u.Config.Now().Sub(at) > api.TierPro.SnapshotWindow() {
			want = http.StatusNotFound
		}
		u.byKey(ask(at), u.Operator.Pro, want)
	}
}
