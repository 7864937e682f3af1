package web_test

import (
	"crypto/ecdsa"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/eth/ethconfig"
	"github.com/ethereum/go-ethereum/ethclient/simulated"
	"github.com/ethereum/go-ethereum/node"
	"github.com/ethereum/go-ethereum/params"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/admin"
	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/daemon/x402"
	"github.com/contextd/contextd/internal/devchain"
	"github.com/contextd/contextd/internal/usdg"
	"github.com/contextd/contextd/sdk/api"
)

// fickle is a chain that can be reorganised, and a shop on it. By default all its blocks are safe and final.
type fickle struct {
	shop
	sim      *simulated.Backend
	client   *rpc.Client
	payer    *sender // owns the token too
	other    *sender
	token    common.Address
	treasury common.Address
	tags     map[string]*atomic.Uint64 // the blocks that are safe and finalized
	operator *admin.Operator
	sent     map[common.Hash]*types.Transaction
}

// sender is an account that sends transactions.
type sender struct {
	secret  *ecdsa.PrivateKey
	address common.Address
	nonce   uint64
}

func newSender(t *testing.T) *sender {
	t.Helper()
	secret, err := crypto.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	return &sender{secret: secret, address: crypto.PubkeyToAddress(secret.PublicKey)}
}

func newFickle(t *testing.T) *fickle {
	t.Helper()
	f := &fickle{shop: shop{t: t}, payer: newSender(t), other: newSender(t), treasury: common.HexToAddress("0x7eA5"),
		sent: map[common.Hash]*types.Transaction{}, tags: map[string]*atomic.Uint64{"safe": {}, "finalized": {}}}
	f.final(true, true)
	rich := types.Account{Balance: new(big.Int).Mul(big.NewInt(1_000), big.NewInt(params.Ether))}
	socket := filepath.Join(t.TempDir(), "s")
	f.sim = simulated.NewBackend(types.GenesisAlloc{f.payer.address: rich, f.other.address: rich},
		func(n *node.Config, eth *ethconfig.Config) {
			n.IPCPath = socket
			chain := *eth.Genesis.Config // shared by all who use it
			chain.ChainID, chain.OsakaTime, chain.BogotaTime = big.NewInt(api.ChainIDTest), nil, nil
			eth.Genesis.Config, eth.NetworkId = &chain, api.ChainIDTest
		})
	t.Cleanup(func() { _ = f.sim.Close() })
	var err error
	if f.client, err = rpc.DialContext(t.Context(), socket); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.client.Close)
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	f.token = crypto.CreateAddress(f.payer.address, f.payer.nonce)
	f.submit(f.payer, nil, common.FromHex(devchain.TestUSDGMetaData.Bin), low)
	f.sim.Commit()
	f.mint(f.payer.address, 1_000_000_000)
	f.mint(f.other.address, 1_000_000_000)
	f.d = daemontest.Start(t, free, func(c *daemon.Config) {
		c.ChainID = api.ChainIDTest
		c.Chain = &daemon.Chain{
			Rail: x402.Rail{RPCURL: server.URL, Token: f.token.Hex(), Treasury: f.treasury.Hex()}, Wait: 50 * time.Millisecond,
		}
		c.Now = func() time.Time { return time.Now().Add(time.Duration(f.ahead.Load())) }
	})
	f.scan()
	if f.operator, err = admin.Open(t.Context(), admin.Config{DataDir: f.d.Config.DataDir, Now: f.d.Config.Now}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.operator.Close() })
	return f
}

// ServeHTTP answers JSON-RPC for the daemon.
func (f *fickle) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	type call struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params []any           `json:"params"`
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	answer := func(c call) map[string]any {
		if c.Method == "eth_getBlockByNumber" {
			if tag, ok := f.tags[fmt.Sprint(c.Params[0])]; ok {
				c.Params[0] = hexutil.EncodeUint64(min(tag.Load(), f.head(r)))
			}
		}
		var result json.RawMessage
		if err := f.client.CallContext(r.Context(), &result, c.Method, c.Params...); err != nil {
			return map[string]any{"jsonrpc": "2.0", "id": c.ID, "error": map[string]any{"code": -32000, "message": err.Error()}}
		}
		return map[string]any{"jsonrpc": "2.0", "id": c.ID, "result": result}
	}
	w.Header().Set("Content-Type", "application/json")
	var one call
	if json.Unmarshal(body, &one) == nil {
		_ = json.NewEncoder(w).Encode(answer(one))
		return
	}
	var batch []call
	if err := json.Unmarshal(body, &batch); err != nil {
		http.Error(w, "no JSON-RPC", http.StatusBadRequest)
		return
	}
	answers := []map[string]any{}
	for _, c := range batch {
		answers = append(answers, answer(c))
	}
	_ = json.NewEncoder(w).Encode(answers)
}

// head is the number of the newest block.
func (f *fickle) head(r *http.Request) uint64 {
	n, err := f.sim.Client().BlockNumber(r.Context())
	if err != nil {
		f.t.Error(err)
	}
	return n
}

// final has all blocks be safe, and final, or none that is to come.
func (f *fickle) final(safe, final bool) {
	for name, all := range map[string]bool{"safe": safe, "finalized": final} {
		n := uint64(1 << 62)
		if !all {
			var err error
			if n, err = f.sim.Client().BlockNumber(f.t.Context()); err != nil {
				f.t.Fatal(err)
			}
		}
		f.tags[name].Store(n)
	}
}

// Tips by which a transaction is mined, and by which it is mined before another.
const (
	low  = 10_000_000
	high = 1_000_000_000
)

// submit puts a transaction into the pool.
func (f *fickle) submit(from *sender, to *common.Address, data []byte, tip int64) common.Hash {
	f.t.Helper()
	head, err := f.sim.Client().HeaderByNumber(f.t.Context(), nil)
	if err != nil {
		f.t.Fatal(err)
	}
	const gas = 2_000_000
	tx, err := types.SignNewTx(from.secret, types.LatestSignerForChainID(big.NewInt(api.ChainIDTest)), &types.DynamicFeeTx{
		ChainID: big.NewInt(api.ChainIDTest), Nonce: from.nonce, GasTipCap: big.NewInt(tip), GasFeeCap: new(big.Int).Lsh(head.BaseFee, 3), Gas: gas, To: to, Data: data,
	})
	if err != nil {
		f.t.Fatal(err)
	}
	if err := f.sim.Client().SendTransaction(f.t.Context(), tx); err != nil {
		f.t.Fatal(err)
	}
	from.nonce++
	f.sent[tx.Hash()] = tx
	return tx.Hash()
}

// mint gives micro-USDG to an address, in a block of its own.
func (f *fickle) mint(to common.Address, amount int64) {
	f.submit(f.payer, &f.token, devchain.NewTestUSDG().PackMint(to, big.NewInt(amount)), low)
	f.sim.Commit()
}

// transferData is the calldata of a transfer.
func transferData(to common.Address, amount usdg.Amount) []byte {
	return devchain.NewTestUSDG().PackTransfer(to, big.NewInt(int64(amount)))
}

// amountOf is what an intent asks for.
func (f *fickle) amountOf(i api.DepositIntent) usdg.Amount {
	f.t.Helper()
	amount, err := usdg.ParseAmount(i.AmountUSDC)
	if err != nil {
		f.t.Fatal(err)
	}
	return amount
}

// pay transfers what an intent asks for, in a block of its own.
func (f *fickle) pay(i api.DepositIntent) common.Hash {
	hash := f.submit(f.payer, &f.token, transferData(f.treasury, f.amountOf(i)), low)
	f.sim.Commit()
	return hash
}

// dropBlock takes the newest block away. Its transactions are pending again, or are forgotten.
func (f *fickle) dropBlock(forget bool) {
	f.t.Helper()
	head, err := f.sim.Client().HeaderByNumber(f.t.Context(), nil)
	if err != nil {
		f.t.Fatal(err)
	}
	if err := f.sim.Fork(head.ParentHash); err != nil {
		f.t.Fatal(err)
	}
	if forget {
		f.sim.Rollback()
		f.payer.nonce--
	}
}

// afresh mines again what a dropped block had: in another block, behind a transfer of somebody else, so that its log has another number.
func (f *fickle) afresh(hash common.Hash) {
	f.t.Helper()
	f.submit(f.other, &f.token, transferData(f.payer.address, 1), high)
	f.sim.Commit()
	r, err := f.sim.Client().TransactionReceipt(f.t.Context(), hash)
	if err != nil || r.Status != 1 || r.Logs[0].Index == 0 {
		f.t.Fatalf("it was not mined again, behind another: %+v, %v", r, err)
	}
}

// sweep looks again at what was paid.
func (f *fickle) sweep() {
	f.t.Helper()
	if err := f.d.Sweep(f.t.Context()); err != nil {
		f.t.Fatal(err)
	}
}

// agree checks that the books agree with each other and with the chain, but for what findings say, and that there are so many strays.
func (f *fickle) agree(strays int, findings ...string) []billing.Unmatched {
	f.t.Helper()
	f.audit()
	r, err := f.operator.Reconcile(f.t.Context())
	if err != nil || len(r.Findings) != len(findings) {
		f.t.Errorf("%+v, %v", r, err)
	}
	for i, want := range findings {
		if i < len(r.Findings) && !strings.Contains(r.Findings[i], want) {
			f.t.Errorf("%q, want %q", r.Findings[i], want)
		}
	}
	list, err := f.operator.Unmatched(f.t.Context())
	if err != nil || len(list) != strays {
		f.t.Errorf("%d strays, want %d: %+v, %v", len(list), strays, list, err)
	}
	return list
}

// TestReorganisedDeposit: the transfer of a verified deposit comes to be in another block. It was credited once, and that stays so.
func TestReorganisedDeposit(t *testing.T) {
	t.Parallel()
	f := newFickle(t)
	u, _ := f.owner("moved@example.org")
	i := u.buy(api.CreditStarter)
	f.final(true, false)
	hash := f.pay(i)
	f.scan()
	if d := u.deposit(i); d.Status != api.DepositVerified {
		t.Fatalf("%+v", d)
	}
	f.dropBlock(false)
	f.afresh(hash)
	for range 2 {
		f.scan()
		f.sweep()
		if b := u.balance().Balance; b != 1_000 {
			t.Errorf("the balance is %d", b)
		}
		f.agree(0)
		f.final(true, true) // for the second time
	}
}

// TestVanishedDeposit is line 19: the transfer of a verified deposit is on chain no more. The credits are given; the operator is told, and
// can neither give the money to another deposit nor overlook it.
func TestVanishedDeposit(t *testing.T) {
	t.Parallel()
	f := newFickle(t)
	u, _ := f.owner("gone@example.org")
	i, second := u.buy(api.CreditStarter), u.buy(api.CreditStarter)
	f.final(true, false)
	f.pay(i)
	f.scan()
	f.dropBlock(true)
	f.sim.Commit()
	f.sim.Commit()
	f.sweep() // nothing is final yet
	f.final(true, true)
	f.sweep()
	list := f.agree(1, "1 were spent and have vanished")
	if len(list) != 1 || !strings.Contains(list[0].Note, "vanished from the chain after it had paid for deposit "+i.ID) || u.balance().Balance != 1_000 {
		t.Fatalf("%+v, %+v", list, u.balance())
	}
	ask := admin.UnmatchedRequest{TxHash: list[0].TxHash, LogIndex: list[0].LogIndex, DepositID: second.ID, Reason: "taken back by hand"}
	if _, err := f.operator.Assign(t.Context(), ask); err == nil {
		t.Error("money that has vanished has paid for something")
	}
	if err := f.operator.WriteOff(t.Context(), ask); err != nil {
		t.Fatal(err)
	}
	f.agree(0)
}

// TestBigPacksWaitForASafeBlock: pro and team are verified when their block is safe, wherever that is by then, and until then they neither
// expire nor are paid twice.
func TestBigPacksWaitForASafeBlock(t *testing.T) {
	t.Parallel()
	f := newFickle(t)
	u, _ := f.owner("big@example.org")
	i := u.buy(api.CreditPro)
	f.final(false, false)
	hash := f.pay(i)
	var d api.Deposit
	u.into(u.call(http.MethodPost, api.PathCredits+"/"+i.ID+"/verify", api.VerifyDepositRequest{TxHash: hash.Hex()}), http.StatusOK, &d)
	f.scan()
	if d.Status != api.DepositPending || u.balance().Balance != 0 {
		t.Fatalf("before its block is safe: %+v", d)
	}
	f.agree(0)
	f.ahead.Store(int64(time.Hour))
	f.scan()
	if d := u.deposit(i); d.Status != api.DepositPending {
		t.Errorf("while it waits it has become %s", d.Status)
	}
	f.dropBlock(false)
	f.afresh(hash)
	f.pay(i) // once too often
	f.scan()
	if list := f.agree(1); len(list) != 1 || !strings.Contains(list[0].Note, "was paid already") || u.deposit(i).Status != api.DepositPending {
		t.Errorf("paid twice: %+v", list)
	}
	f.final(true, false)
	f.scan()
	if d := u.deposit(i); d.Status != api.DepositVerified || d.TxHash == nil || *d.TxHash != hash.Hex() || u.balance().Balance != 100_000 || u.issue("b").Tier != api.TierPro {
		t.Errorf("%+v", d)
	}
	f.final(true, true)
	f.sweep()
	f.agree(1)
}

// TestBigPackPaidByAStray: the operator gives a stray to a deposit while the right transfer waits for it. That is a stray then, not lost.
func TestBigPackPaidByAStray(t *testing.T) {
	t.Parallel()
	f := newFickle(t)
	u, _ := f.owner("big-stray@example.org")
	i := u.buy(api.CreditPro)
	f.final(false, false)
	f.submit(f.payer, &f.token, transferData(f.treasury, f.amountOf(i)-1), low)
	f.sim.Commit()
	right := f.pay(i)
	f.scan()
	list := f.agree(1)
	if len(list) != 1 {
		t.FailNow()
	}
	ask := admin.UnmatchedRequest{TxHash: list[0].TxHash, LogIndex: list[0].LogIndex, DepositID: i.ID}
	if d, err := f.operator.Assign(t.Context(), ask); err != nil || d.Status != api.DepositVerified {
		t.Fatalf("%+v, %v", d, err)
	}
	f.final(true, true)
	f.scan()
	f.sweep()
	list = f.agree(1)
	if len(list) != 1 || list[0].TxHash != right.Hex() || !strings.Contains(list[0].Note, "was paid already") || u.balance().Balance != 100_000 {
		t.Fatalf("%+v, %+v", list, u.balance())
	}
	ask = admin.UnmatchedRequest{TxHash: list[0].TxHash, LogIndex: list[0].LogIndex, Reason: "sent back by hand"}
	if err := f.operator.WriteOff(t.Context(), ask); err != nil {
		t.Fatal(err)
	}
	f.agree(0)
}

// TestBigPackWhoseTransferVanishes was not credited, and is when the transfer comes back after all.
func TestBigPackWhoseTransferVanishes(t *testing.T) {
	t.Parallel()
	f := newFickle(t)
	u, _ := f.owner("big-gone@example.org")
	i := u.buy(api.CreditPro)
	f.final(false, false)
	hash := f.pay(i)
	f.scan()
	f.dropBlock(true)
	f.sim.Commit()
	f.final(true, true)
	f.scan()
	f.sweep()
	if d := u.deposit(i); d.Status != api.DepositPending || u.balance().Balance != 0 {
		t.Fatalf("%+v", d)
	}
	f.agree(0)
	if err := f.sim.Client().SendTransaction(t.Context(), f.sent[hash]); err != nil {
		t.Fatal(err)
	}
	f.sim.Commit()
	f.scan()
	if d := u.deposit(i); d.Status != api.DepositVerified || u.balance().Balance != 100_000 {
		t.Errorf("back again: %+v", d)
	}
	f.agree(0)
}

// paidCall pays for a call and returns its proof and what it is answered with.
func (f *fickle) paidCall() (hash common.Hash, ask func() (int, string)) {
	f.t.Helper()
	nonce, show := f.quoted()
	hash = f.submit(f.payer, &f.token, append(transferData(f.treasury, 1_000), nonce...), low)
	f.sim.Commit()
	return hash, func() (int, string) { return show(hash, f.payer.address) }
}

// quoted is the nonce of the quote for a call, and what that is answered to a transaction and a payer.
func (f *fickle) quoted() (nonce []byte, show func(common.Hash, common.Address) (int, string)) {
	f.t.Helper()
	get := func(proof string) (int, string) {
		f.t.Helper()
		req, err := http.NewRequestWithContext(f.t.Context(), http.MethodGet, f.d.URL()+"/v1/fresh", nil)
		if err != nil {
			f.t.Fatal(err)
		}
		if proof != "" {
			req.Header.Set(api.HeaderPayment, proof)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			f.t.Fatal(err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil {
			f.t.Fatal(err)
		}
		return res.StatusCode, string(ageless(text))
	}
	_, text := get("")
	var asked struct{ Payment api.PaymentRequirements }
	if err := json.Unmarshal([]byte(text), &asked); err != nil {
		f.t.Fatal(err)
	}
	nonce, err := hex.DecodeString(asked.Payment.Nonce[2:])
	if err != nil {
		f.t.Fatal(err)
	}
	return nonce, func(hash common.Hash, payer common.Address) (int, string) {
		return get(base64.StdEncoding.EncodeToString(fmt.Appendf(nil, `{"scheme":"x402","network":"l2chain","txHash":%q,"payer":%q}`,
			hash.Hex(), payer.Hex())))
	}
}

// TestReorganisedCall: the payment of an answered call comes to be in another block, and then in none.
func TestReorganisedCall(t *testing.T) {
	t.Parallel()
	f := newFickle(t)
	f.final(true, false)
	hash, ask := f.paidCall()
	status, first := ask()
	if status != http.StatusOK {
		t.Fatal(first)
	}
	f.dropBlock(false)
	f.afresh(hash)
	f.scan()
	f.agree(0)
	if status, again := ask(); status != http.StatusOK || again != first {
		t.Errorf("another answer: %d %s", status, again)
	}
	f.sweep()
	f.dropBlock(true)
	f.sim.Commit()
	f.sim.Commit()
	f.final(true, true)
	f.sweep()
	if list := f.agree(1, "vanished"); len(list) == 1 && !strings.Contains(list[0].Note, "vanished from the chain after it had paid for a call") {
		t.Errorf("%+v", list)
	}
}

// TestTwoTransfersInOneTransaction is D4: each pays for its own deposit. As a payment by call, a transfer by a contract is refused, with one
// log and the nonce of the quote behind it too, whoever it names as its payer; its money is on the list.
func TestTwoTransfersInOneTransaction(t *testing.T) {
	t.Parallel()
	f := newFickle(t)
	first, _ := f.owner("first@example.org")
	second, _ := f.owner("second@example.org")
	a, b := first.buy(api.CreditStarter), second.buy(api.CreditHobby)
	// It calls the address in its first word twice, with the next 68 bytes each time.
	twice := "60446020600037" + "600060006044600060006000355af150" + "60446064600037" + "600060006044600060006000355af150" + "00"
	code := common.FromHex("602f600c600039602f6000f3" + twice)
	forwarder := crypto.CreateAddress(f.payer.address, f.payer.nonce)
	f.submit(f.payer, nil, code, low)
	f.sim.Commit()
	f.mint(forwarder, 100_000_000)
	both := func(x, y usdg.Amount) common.Hash {
		t.Helper()
		hash := f.submit(f.payer, &forwarder, append(append(common.LeftPadBytes(f.token[:], 32), transferData(f.treasury, x)...), transferData(f.treasury, y)...), low)
		f.sim.Commit()
		if r, err := f.sim.Client().TransactionReceipt(t.Context(), hash); err != nil || r.Status != 1 || len(r.Logs) != 2 {
			t.Fatalf("%+v, %v", r, err)
		}
		return hash
	}
	both(f.amountOf(a), f.amountOf(b))
	f.scan()
	if first.balance().Balance != 1_000 || second.balance().Balance != 10_000 {
		t.Errorf("%+v, %+v", first.balance(), second.balance())
	}
	f.agree(0)
	c := first.buy(api.CreditStarter) // two equal halves of nothing, and one deposit beside too much
	both(f.amountOf(c), f.amountOf(c)+5)
	f.scan()
	if first.balance().Balance != 2_000 {
		t.Errorf("%+v", first.balance())
	}
	f.agree(1)
	nonce, show := f.quoted()
	hash := f.submit(f.payer, &forwarder, slices.Concat(common.LeftPadBytes(f.token[:], 32), transferData(f.treasury, 1_000), nonce), low)
	f.sim.Commit()
	if r, err := f.sim.Client().TransactionReceipt(t.Context(), hash); err != nil || r.Status != 1 || len(r.Logs) != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	for _, payer := range []common.Address{f.payer.address, forwarder} {
		if status, text := show(hash, payer); status != http.StatusPaymentRequired || !strings.Contains(text, string(api.ReasonWrongToken)) ||
			!strings.Contains(text, "contract wallets") {
			t.Errorf("by a contract, paid by %s: %d %s", payer, status, text)
		}
	}
	f.scan()
	f.agree(2)
}
