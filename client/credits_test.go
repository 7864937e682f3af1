package client_test

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/client"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/sdk/api"
)

// TestPurchaseComesFirst: what to pay, where and until when is told before what the sources have to say.
func TestPurchaseComesFirst(t *testing.T) {
	t.Parallel()
	var told bytes.Buffer
	a := client.New(cli.System{Out: io.Discard, Err: &told, Now: time.Now, LookupEnv: func(string) (string, bool) { return "", false }})
	client.TellPurchase(a, &api.DepositIntent{AmountUSDC: "1.000000", Notices: []string{"a notice"}, Warning: "a warning"}, 1_000_000)
	transfer, notice, wait := strings.Index(told.String(), "transfer exactly"), strings.Index(told.String(), "a notice\nwarning: a warning"),
		strings.Index(told.String(), "waiting for it")
	if transfer != 0 || notice < transfer || wait < notice {
		t.Errorf("%s", &told)
	}
}

// TestPurchaseByNonce: where only the nonce names a purchase, people are told so, get the data that a wallet has to send and no link or code
// that would send a plain transfer.
func TestPurchaseByNonce(t *testing.T) {
	t.Parallel()
	i := &api.DepositIntent{
		ID: "dep_1", Pack: api.CreditStarter, Recipient: "0x" + strings.Repeat("aB", 20), AmountUSDC: "1.000000", Nonce: "0x" + strings.Repeat("12", 32),
		Token: "0x" + strings.Repeat("cd", 20), ChainID: 46630, NonceRequired: true,
	}
	var told bytes.Buffer
	a := client.New(cli.System{Out: io.Discard, Err: &told, ErrTTY: true, Now: time.Now,
		LookupEnv: func(string) (string, bool) { return "", false }})
	client.TellPurchase(a, i, 1_000_000)
	data := "0xa9059cbb" + strings.Repeat("0", 24) + strings.Repeat("ab", 20) + fmt.Sprintf("%064x", 1_000_000) + strings.Repeat("12", 32)
	for _, want := range []string{data, "A plain transfer pays for nothing", "ctx credits buy starter --pay"} {
		if !strings.Contains(told.String(), want) {
			t.Errorf("%q is not told: %s", want, &told)
		}
	}
	if strings.Contains(told.String(), "link") || strings.Contains(told.String(), "█") {
		t.Errorf("a link or a code: %s", &told)
	}
}

// TestDepositsFit: on a terminal of 80 columns no line of the purchases wraps, and hashes lose their middle alone.
func TestDepositsFit(t *testing.T) {
	t.Parallel()
	tx := "0x12" + strings.Repeat("0", 58) + "ef"
	d := api.Deposit{ID: "7d9f2f0e-8c55-4a0e-b8f5-0d8c2f6f6f11", Pack: api.CreditStarter, Credits: 100_000, AmountUSDC: "70.000001",
		Status: api.DepositVerified, TxHash: &tx}
	for rail, want := range map[string]string{
		"":     "7d9f2f0…f6f6f11  starter   100000  70.000001  verified  0001-01-01 00:00  0x1…ef",
		"base": "7d9f…6f11  starter   100000  70.000001  verified  0001-01-01 00:00  0x1…ef  base",
	} {
		d.Rail = rail
		var shown bytes.Buffer
		if err := client.WriteDeposits(&shown, 80, []api.Deposit{d}); err != nil {
			t.Fatal(err)
		}
		if head, row, _ := strings.Cut(strings.TrimSpace(shown.String()), "\n"); row != want || !strings.Contains(head, "  TRANS…") {
			t.Errorf("rail %q:\n%s", rail, &shown)
		}
	}
}

// TestDepositRails: the rail of purchases is told where there is more than the one that a service has if it has one alone.
func TestDepositRails(t *testing.T) {
	t.Parallel()
	for rails, want := range map[string]string{"": "", "l2chain": "", "l2chain base": "rail l2chain base", "base": "rail base", "l2chain ": ""} {
		var list []api.Deposit
		for rail := range strings.SplitSeq(rails, " ") {
			list = append(list, api.Deposit{ID: "d", Rail: rail})
		}
		rows := client.DepositRows(list)
		got := ""
		for _, row := range rows {
			if len(row) == len(rows[0]) && rows[0][len(row)-1] == "rail" {
				got += " " + row[len(row)-1]
			}
		}
		if strings.TrimSpace(got) != want {
			t.Errorf("rails %q: %q in %q", rails, got, rows)
		}
	}
}
