package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/sdk/api"
)

const (
	someToken    = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
	someTreasury = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
)

// TestReconciledExit has what does not agree end with 1, and what was not compared, as far as all else agrees, with 9.
func TestReconciledExit(t *testing.T) {
	t.Parallel()
	missing := billing.Reconciliation{Missing: []string{"base"}, Rails: []billing.RailReconciliation{{Rail: "l2chain"}, {Rail: "base", Missing: "no answer"}}}
	both := missing
	both.Findings = []string{"one more"}
	for name, c := range map[string]struct {
		r    billing.Reconciliation
		exit int
		told string
	}{
		"agrees":     {billing.Reconciliation{}, 0, ""},
		"not":        {billing.Reconciliation{Findings: []string{"one more"}}, 1, "one more\n"},
		"incomplete": {missing, int(cli.ExitUnavailable), "rail base was not compared: no answer\n"},
		"both":       {both, 1, "one more\nrail base was not compared: no answer\n"},
	} {
		var told strings.Builder
		err := reconciled(&told, c.r)
		exit := 0
		if failure, ok := errors.AsType[*cli.Failure](err); ok {
			exit = int(failure.Exit)
		} else if err != nil {
			exit = 1
		}
		if exit != c.exit || told.String() != c.told {
			t.Errorf("%s: exit %d, %q; %v", name, exit, told.String(), err)
		}
	}
	rows := reconciliationTable(missing).Rows
	if text := fmt.Sprint(rows); !strings.Contains(text, "not known") {
		t.Errorf("the table is %s", text)
	}
}

// configured is what the daemon would be started with by a configuration file, and the settings that were read.
func configured(t *testing.T, text string) (daemon.Config, *settings, error) {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{
		"config.yaml": strings.ReplaceAll(text, "DIR", dir), "gas.key": "0x" + strings.Repeat("01", 32), "rpc.url": "https://rpc.example.org/secret\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, mode := range map[string]os.FileMode{"group.key": 0o640, "open.key": 0o604} {
		file := filepath.Join(dir, name)
		if err := errors.Join(os.WriteFile(file, []byte("0x"+strings.Repeat("01", 32)), 0o600), os.Chmod(file, mode)); err != nil {
			t.Fatal(err)
		}
	}
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	s := newSettings(flags)
	if err := flags.Set("config", filepath.Join(dir, "config.yaml")); err != nil {
		t.Fatal(err)
	}
	c, _, err := s.read()
	if err != nil {
		return daemon.Config{}, s, err
	}
	d, err := c.daemon(nil)
	if err == nil {
		err = d.Check()
	}
	return d, s, err
}

// railText is a rail with some settings more, or others.
func railText(id string, chain int, more string) string {
	return fmt.Sprintf("- {id: %s, chain_id: %d, rpc_url: \"https://rpc.example.org\", token: %q, treasury: %q%s}\n", id, chain, someToken, someTreasury, more)
}

// TestRails reads a list of rails, and the one chain that is a list of one.
func TestRails(t *testing.T) {
	t.Parallel()
	d, s, err := configured(t, "rails:\n"+railText("l2chain", 4663, ", network: l2chain, settle: {key_file: DIR/gas.key}")+
		railText("base", 8453, `, decimals: 6, domain: {name: USD Coin, version: "2"}, confirmations: 3, start_block: 7, settle: {key_file: DIR/gas.key}`))
	if err != nil {
		t.Fatal(err)
	}
	list := d.Rails()
	if len(list) != 2 || d.ChainID != api.ChainIDMain || list[0].ID != api.NetworkL2 || list[0].ChainID != api.ChainIDMain || list[0].TokenName != "Global Dollar" ||
		list[0].TokenVersion != "1" || list[0].SettleKey == "" {
		t.Fatalf("the rails are %+v", list)
	}
	if r := list[1]; r.ID != "base" || r.ChainID != 8453 || r.TokenName != "USD Coin" || r.TokenVersion != "2" || r.Confirmations != 3 || r.StartBlock != 7 ||
		r.Section != "rails[1]" || r.RPCURL != "https://rpc.example.org" || r.Token != someToken || r.Treasury != someTreasury {
		t.Errorf("the second rail is %+v", r)
	}
	for _, v := range s.effective() {
		if v.Name == railsKey {
			if text := fmt.Sprint(v.Value); !strings.Contains(text, "base (eip155:8453, token "+someToken) || strings.Contains(text, "rpc.example") || v.From != "file, line 1" {
				t.Errorf("in effect is %s, from %s", text, v.From)
			}
		}
	}
	if files := s.secretFiles(); files["rails base: settle.key_file"] == "" {
		t.Errorf("the files with secrets are %v", files)
	}
	d, _, err = configured(t, fmt.Sprintf("chain: {id: 4663, rpc_url_file: DIR/rpc.url, token: %q, treasury: %q}\n", someToken, someTreasury))
	if list := d.Rails(); err != nil || len(list) != 1 || list[0].ID != api.NetworkL2 || list[0].ChainID != api.ChainIDMain || list[0].RPCURL != "https://rpc.example.org/secret" {
		t.Errorf("the chain is %+v, %v", list, err)
	}
}

// TestBadRails refuses each thing that is wrong by its name.
func TestBadRails(t *testing.T) {
	t.Parallel()
	good := railText("l2chain", 4663, "")
	for text, want := range map[string]string{
		"rails:\n" + good + "chain: {id: 46630}\n":                                                                       "chain.id and rails both say where payments are made",
		"chain: {}\nrails:\n" + good:                                                                                     "",
		"rails:\n" + railText("l2chain", 4663, ", decimals: 18"):                                                         "rails[0].decimals is 18",
		"rails:\n" + railText("l2chain", 4663, ", decimals: 0"):                                                          "rails[0].decimals is 0",
		"rails:\n" + railText("L2", 4663, ""):                                                                            `rails[0].id is "L2"`,
		"rails:\n" + good + good:                                                                                         "rails[1].id",
		"rails:\n" + good + railText("base", 8453, ", network: l2chain"):                                                 `rails[1].network is "l2chain"`,
		"rails:\n" + railText("base", 8453, ", network: base"):                                                           `rails[0].network is "base"`,
		"rails:\n" + good + railText("base", 8453, "") + railText("b2", 1, ", network: base"):                            "rails[2].network",
		"rails:\n" + good + railText("again", 4663, ""):                                                                  "the same token on the same chain",
		"rails:\n" + good + railText("base", 0, ""):                                                                      "rails[1] needs chain_id",
		"rails:\n" + good + railText("base", 8453, ", settle: {key_file: DIR/gas.key}"):                                  "rails[1].domain needs name and version",
		"rails:\n" + good + railText("base", 8453, ", domain: {name: x}"):                                                "rails[1].domain needs name and version",
		"rails:\n" + good + railText("base", 8453, ", settle: {key_file: a, facilitator_url: b}"):                        "rails[1].settle has key_file and facilitator_url",
		"rails:\n" + good + railText("base", 8453, ", domain: {name: x, version: y}, settle: {facilitator_url: b}"):      "rails[1].settle.facilitator_url",
		"rails:\n" + good + railText("base", 8453, ", settle: {facilitator_url: b}"):                                     "rails[1].domain",
		"rails:\n" + good + railText("base", 8453, ", rpc_url_file: DIR/rpc.url"):                                        "rails[1].rpc_url and rails[1].rpc_url_file",
		"rails:\n" + good + railText("base", 8453, ", confirmations: -1"):                                                "rails[1].confirmations",
		"rails:\n" + railText("l2chain", 4663, ", settle: {key_file: DIR/rpc.url}"):                                      "holds no key",
		"rails:\n" + railText("l2chain", 4663, ", settle: {key_file: DIR/group.key}"):                                    "",
		"rails:\n" + railText("l2chain", 4663, ", settle: {key_file: DIR/open.key}"):                                     "rails[0].settle.key_file: everybody can read",
		"rails:\n" + railText("l2chain", 4663, ", settle: {key: a}"):                                                     "there is no setting rails[0].settle.key; it has key_file, facilitator_url",
		"rails:\n" + railText("l2chain", 4663, ", domain: a"):                                                            "rails[0].domain is not a section",
		"rails:\n- {id: l2chain, chain_id: 4663, rpc_url: \"https://a\", token: 0x12, treasury: " + someTreasury + "}\n": "rails[0].token",
	} {
		_, _, err := configured(t, text)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
