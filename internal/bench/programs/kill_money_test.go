package programs_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/admin"
	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/demo"
	"github.com/contextd/contextd/daemon/testbed"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/sdk/wallet"
)

// buyer buys credits and pays for calls at a demo that is killed again and again.
type buyer struct {
	t       *testing.T
	dir     string // of the demo
	mail    string // who signs in
	journal string
	listen  string
	session string
	intents []*api.DepositIntent
	turns   int      // of live
	misused int      // payments that were begun to be presented for another call than they were quoted for
	refused []string // transactions of those that the service has refused
}

// start starts the demo and waits until it answers.
func (b *buyer) start() (c *exec.Cmd, info demo.Info, said *bytes.Buffer) {
	b.t.Helper()
	said = new(bytes.Buffer)
	c = program(b.t, "demo", "--packs", "crypto", "--listen", b.listen, "--chain-listen", "127.0.0.1:0", "--data-dir", b.dir, "--refresh", "1h")
	c.Stdout, c.Stderr = said, said
	_ = os.Remove(filepath.Join(b.dir, demo.File)) // it is of the life before
	if err := c.Start(); err != nil {
		b.t.Fatal(err)
	}
	if !comes(func() bool {
		var err error
		info, err = readDemo(b.dir)
		return err == nil && reachable(b.listen)
	}) {
		b.t.Fatalf("the demo does not start: %s", said)
	}
	return c, info, said
}

// console is the console of the demo, signed in.
func (b *buyer) console(ctx context.Context, info demo.Info) (*sdk.Console, error) {
	client, err := sdk.New(sdk.WithoutEnv(), sdk.WithBaseURL(info.BaseURL), sdk.WithRetries(0), sdk.WithHTTPClient(&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}))
	if err != nil {
		return nil, err
	}
	console := client.Console(b.session)
	if b.session != "" {
		return console, nil
	}
	if _, err := console.SendLink(ctx, b.mail); err != nil {
		return nil, err
	}
	mails, err := filepath.Glob(filepath.Join(info.Outbox, "*.eml"))
	if err != nil || len(mails) == 0 {
		return nil, errors.New("no mail")
	}
	text, err := os.ReadFile(mails[len(mails)-1])
	if err != nil {
		return nil, err
	}
	if _, err := console.ByLink(ctx, strings.TrimSpace(regexp.MustCompile(`http\S+token=\S+`).FindString(string(text)))); err != nil {
		return nil, err
	}
	if _, err := console.CreateKey(ctx, "a", ""); err != nil {
		return nil, err
	}
	b.session = console.Secret()
	return console, nil
}

// payer pays from the wallet of the demo, with one journal throughout.
func (b *buyer) payer(ctx context.Context, info demo.Info) (*wallet.Payer, error) {
	key, err := wallet.ParseKey(info.Wallet.PrivateKey)
	if err != nil {
		return nil, err
	}
	return wallet.NewPayer(ctx, wallet.Config{
		Key: key, RPCURL: info.Chain.RPCURL, ChainID: info.Chain.ChainID, Token: info.Chain.Token, Dir: b.journal, Policy: wallet.Policy{PerDay: 50_000_000},
	})
}

// live buys, pays for what was bought before and not settled, and pays for calls, until something fails: the demo was killed.
func (b *buyer) live(ctx context.Context, info demo.Info) error {
	console, err := b.console(ctx, info)
	if err != nil {
		return err
	}
	p, err := b.payer(ctx, info)
	if err != nil {
		return err
	}
	defer p.Close()
	client, err := sdk.New(sdk.WithoutEnv(), sdk.WithBaseURL(info.BaseURL), sdk.WithRetries(0), sdk.WithPayer(p), sdk.WithHTTPClient(&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}))
	if err != nil {
		return err
	}
	for {
		for len(b.intents) > 0 {
			if _, err := console.PayDeposit(ctx, b.intents[0], p); err != nil {
				return err
			}
			b.intents = b.intents[1:]
		}
		b.turns++
		var err error
		switch b.turns % 3 {
		case 0:
			_, err = client.Cite(ctx, "", 1+rand.IntN(10))
		case 1:
			err = b.misuse(ctx, info, p)
		case 2:
			var intent *api.DepositIntent
			if intent, err = console.Buy(ctx, api.CreditStarter, ""); err == nil {
				b.intents = append(b.intents, intent)
			}
		}
		if err != nil {
			return err
		}
	}
}

// misuse pays for one call and presents that for another, which the service refuses: the money has arrived and has bought nothing.
func (b *buyer) misuse(ctx context.Context, info demo.Info, p *wallet.Payer) error {
	one := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	get := func(path, proof string) (status int, answer api.ErrorBody, err error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, info.BaseURL+path, nil)
		if err != nil {
			return 0, answer, err
		}
		if proof != "" {
			req.Header.Set(api.HeaderPayment, proof)
		}
		res, err := one.Do(req)
		if err != nil {
			return 0, answer, err
		}
		defer res.Body.Close()
		return res.StatusCode, answer, json.NewDecoder(res.Body).Decode(&answer)
	}
	_, asked, err := get(api.PathFresh, "")
	if err != nil || asked.Payment == nil {
		return errors.Join(err, errors.New("no quote"))
	}
	b.misused++
	proof, err := p.Pay(ctx, sdk.Quote{PaymentRequirements: *asked.Payment, Service: info.BaseURL,
		Request: fmt.Sprintf("misuse %d", b.misused), Price: api.OpCite.PriceMicros()})
	if err != nil {
		return err
	}
	status, answer, err := get(api.PathCite+"?ref=1", base64.StdEncoding.EncodeToString(proof.Payload))
	if err != nil {
		return err
	}
	if status != http.StatusPaymentRequired || answer.Error == nil || answer.Error.Reason != api.ReasonNonceMismatch {
		b.t.Errorf("a payment for another call is answered with %d %+v", status, answer.Error)
	}
	b.refused = append(b.refused, proof.ID)
	return nil
}

// settleRefused has the operator settle two of the refused payments: one buys what an owner has begun to buy, one is written off. The books
// agree before and afterwards, and each is on the list once until it is settled.
func (b *buyer) settleRefused(o *admin.Operator, console *sdk.Console, strays []billing.Unmatched) {
	b.t.Helper()
	byHash := map[string][]billing.Unmatched{}
	for _, s := range strays {
		byHash[s.TxHash] = append(byHash[s.TxHash], s)
	}
	for _, hash := range b.refused {
		if len(byHash[hash]) != 1 {
			b.t.Errorf("the payment %s that was refused is on the list %d times", hash, len(byHash[hash]))
		}
	}
	if b.t.Failed() || len(b.refused) < 2 {
		b.t.Fatalf("%d payments were refused", len(b.refused))
	}
	ctx := b.t.Context()
	before, err := console.Balance(ctx, "")
	if err != nil {
		b.t.Fatal(err)
	}
	intent, err := console.Buy(ctx, api.CreditStarter, "")
	if err != nil {
		b.t.Fatal(err)
	}
	if d, err := o.Assign(ctx, admin.UnmatchedRequest{TxHash: b.refused[0], DepositID: intent.ID}); err != nil || d.Status != api.DepositVerified {
		b.t.Errorf("%+v, %v", d, err)
	}
	if err := o.WriteOff(ctx, admin.UnmatchedRequest{TxHash: b.refused[1], Reason: "sent back by hand"}); err != nil {
		b.t.Error(err)
	}
	after, err := console.Balance(ctx, "")
	if err != nil || after.Balance != before.Balance+1_000 {
		b.t.Errorf("the balance was %d and is %d, %v", before.Balance, after.Balance, err)
	}
	r, err := o.Reconcile(ctx)
	if err != nil || len(r.Findings) > 0 || r.WrittenOff != 1_000 {
		b.t.Errorf("%+v, %v", r, err)
	}
	if left, err := o.Unmatched(ctx); err != nil || len(left) != len(strays)-2 {
		b.t.Errorf("%d of %d are left, %v", len(left), len(strays), err)
	}
}

// TestKillWhileMoneyMoves kills the program, and the chain within it, while credits are bought and calls are paid for. Afterwards all that
// was begun comes to an end, nothing was paid twice, and the books agree with each other and with the chain.
func TestKillWhileMoneyMoves(t *testing.T) {
	t.Parallel()
	listen, err := testbed.DeadAddress()
	if err != nil {
		t.Fatal(err)
	}
	b := &buyer{t: t, dir: oldDemo(t), mail: "killed@example.org", journal: t.TempDir(), listen: listen}
	random := rand.New(rand.NewPCG(2, uint64(rounds())))
	for range rounds() {
		c, info, said := b.start()
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- b.live(ctx, info) }()
		select {
		case err := <-ended:
			t.Fatalf("before it was killed: %v\n%s", err, said)
		case <-time.After(200*time.Millisecond + time.Duration(random.Int64N(int64(1500*time.Millisecond)))):
		}
		if err := c.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = c.Wait()
		<-time.After(10 * time.Millisecond)
		cancel() // what waits for a chain that is gone
		<-ended
	}
	c, info, said := b.start()
	defer func() { _ = c.Process.Kill(); _ = c.Wait() }()
	console, err := b.console(t.Context(), info)
	if err != nil {
		t.Fatal(err)
	}
	p, err := b.payer(t.Context(), info)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for _, intent := range b.intents { // what the last kill has left
		if d, err := console.PayDeposit(t.Context(), intent, p); err != nil || d.Status != api.DepositVerified {
			t.Errorf("%+v, %v", d, err)
		}
	}
	for range 2 { // however few there were between kills
		if err := b.misuse(t.Context(), info, p); err != nil {
			t.Fatal(err)
		}
	}
	o, err := admin.Open(t.Context(), admin.Config{DataDir: b.dir})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	if findings, err := o.Audit(t.Context()); err != nil || len(findings) > 0 {
		t.Errorf("the audit finds %v, %v", findings, err)
	}
	r, err := o.Reconcile(t.Context())
	if err != nil || len(r.Findings) > 0 {
		t.Errorf("%+v, %v\n%s", r, err, said)
	}
	deposits, err := o.Deposits(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var verified int64
	for _, d := range deposits {
		if d.Status == api.DepositVerified {
			verified++
		}
	}
	if balance, err := console.Balance(t.Context(), ""); err != nil || balance.Balance != 1_000*verified || r.Sold != 1_000*verified {
		t.Errorf("%d purchases are verified, the balance is %+v, %v", verified, balance, err)
	}
	// What was refused has bought nothing. But for that, only a call that was paid for and neither answered nor refused may be on chain and
	// have bought nothing: the next of the same pays it.
	strays, err := o.Unmatched(t.Context())
	if err != nil || len(strays) > rounds()+len(b.refused) {
		t.Errorf("%d transfers have bought nothing, %d were refused, %v", len(strays), len(b.refused), err)
	}
	for _, s := range strays {
		if s.Amount != 1_000 {
			t.Errorf("a transfer of %s has bought nothing: %s", s.Amount, s.Note)
		}
	}
	b.settleRefused(o, console, strays)
	t.Logf("%d kills, %d purchases, %s for calls, %s paid and not presented", rounds(), verified, r.Calls, r.Unmatched)
}
