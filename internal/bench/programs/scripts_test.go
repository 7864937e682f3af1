package programs_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/accounts/keystore"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/google/uuid"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/contextd/contextd/internal/handbook"
	"github.com/contextd/contextd/internal/scripttest"
	"github.com/contextd/contextd/internal/skills"
)

// TestScripts runs testdata/script: both programs as their users call them, beside a demo.
func TestScripts(t *testing.T) {
	t.Parallel()
	p := params()
	p.Dir = "testdata/script"
	testscript.Run(t, p)
}

// params are those of a script that may start demos.
func params() testscript.Params {
	more := map[string]scripttest.Command{"usedemo": useDemo, "model": serveModel, "keystore": sealKey, "demobefore": demoBefore}
	return scripttest.Params("", more, func(env *testscript.Env) error {
		env.Setenv("PATH", programs+string(os.PathListSeparator)+env.Getenv("PATH"))
		return scripttest.AtHome(env)
	})
}

// useDemo makes the daemon that a demo file tells of the one that ctx calls: usedemo DIR.
func useDemo(ts *testscript.TestScript, _ bool, args []string) {
	info, err := readDemo(ts.MkAbs(args[0]))
	ts.Check(err)
	ts.Setenv("CTX_BASE_URL", info.BaseURL)
	ts.Setenv("CTX_API_KEY", info.APIKey)
	if info.Chain != nil {
		ts.Setenv("CTX_RPC_URL", info.Chain.RPCURL)
		ts.Setenv("CTX_CHAIN_ID", strconv.FormatInt(info.Chain.ChainID, 10))
		ts.Setenv("CTX_TOKEN", info.Chain.Token)
		ts.Setenv("CTX_WALLET_PRIVATE_KEY", info.Wallet.PrivateKey)
	}
}

// sealKey writes the wallet of the demo in use as a keystore that opens at once, with the passphrase of a file: keystore FILE PASS. What
// ctx seals takes a second of processor time to open, by design.
func sealKey(ts *testscript.TestScript, _ bool, args []string) {
	secret, err := crypto.HexToECDSA(strings.TrimPrefix(ts.Getenv("CTX_WALLET_PRIVATE_KEY"), "0x"))
	ts.Check(err)
	key := &keystore.Key{Id: uuid.New(), Address: crypto.PubkeyToAddress(secret.PublicKey), PrivateKey: secret}
	const n, p = 16, 1
	text, err := keystore.EncryptKey(key, strings.TrimRight(ts.ReadFile(args[1]), "\n"), n, p)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), text, 0o600))
}

// demoBefore makes a directory the data directory of a demo that ended: demobefore DIR.
func demoBefore(ts *testscript.TestScript, _ bool, args []string) {
	demo, err := past()
	ts.Check(err)
	ts.Check(demo.CopyTo(ts.MkAbs(args[0])))
}

// TestRecipes runs the recipes of README.md, of the handbook and of the skills for agents against one demo. Those of the configuration, which
// need a daemon with a file, are with cmd/contextd.
func TestRecipes(t *testing.T) {
	t.Parallel()
	const before = "env CONTEXTD_DATA_DIR=$WORK/d\ndemobefore d\n" +
		"exec sh -c 'exec contextd demo --listen 127.0.0.1:0 --data-dir d --refresh 2s > out 2> err' &demo&\n" +
		"await out 'Ctrl-C ends it'\nusedemo d\n"
	readme, err := os.ReadFile(filepath.Join("..", "..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	recipes := scripttest.Blocks(string(readme), "sh")
	if len(recipes) < 8 {
		t.Errorf("README.md has %d recipes", len(recipes))
	}
	for _, topic := range handbook.Topics() {
		if topic.Name != "configure" {
			recipes = append(recipes, scripttest.Blocks(topic.Text, "sh")...)
		}
	}
	list, err := skills.All("")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range list {
		recipes = append(recipes, scripttest.Blocks(string(s.Text), "sh")...)
	}
	const least = 25
	if len(recipes) < least {
		t.Errorf("README.md and the handbook have %d recipes", len(recipes))
	}
	scripttest.RunRecipes(t, params(), recipes, func(i int, recipe string) string {
		if i == 0 {
			return before + "RECIPE" + expect(recipe)
		}
		return "RECIPE" + expect(recipe)
	}, "kill -INT demo\nwait demo\n")
}

// expect are the lines that check what a recipe printed.
func expect(recipe string) string {
	lines := ""
	for command, line := range map[string]string{
		"select(.symbol":            `stdout '^9[0-9]{4}'`,
		"state.json":                `grep '"top_movers"' state.json`,
		".severity":                 `stdout '^(critical|warning|notice): .* \[[0-9]+\]$'`,
		"brief.txt":                 `grep 'https://www.coingecko.com/' brief.txt`,
		"echo \"BTC":                `stdout '^BTC was 9[0-9.]+, is 9[0-9.]+$'`,
		"ctx watch --price":         `grep '^Bitcoin is at .*: BTC > 1000$' watched.txt` + "\n" + `stdout '"subject":"(BTC|ETH|BNB|SOL|XRP)"'`,
		"ctx state follow":          `stdout '^BTC top_movers\[0\]\.priceUsd'`,
		"--format md":               `stdout '\(https://defillama.com/stablecoins\)'`,
		"$CTX_BASE_URL/v1/search?q": `stdout '"total":[1-9]'`,
		"$CTX_BASE_URL/v1/check\"":  `stdout '"refuted":1'`,
		"q=ADA price,tether":        `stdout '"results":\[\{"q":"ADA price"'`,
		"/v1/series?path=asset":     `stdout '"times":\[.*"rows":\[\{"kind":"asset","key":"bitcoin"'`,
		"v1/changes?since=-20m":     `stdout '"flags":\['`,
		"\"condition.met\"":         `stdout '"status":"active"'`,
		"head -2 \"$skills":         "stdout '^name: contextd-lookup$'",
		"ctx mcp call":              `stdout '^1 of [0-9]+ rows in pack crypto'`,
		"tools/call":                `stdout '"structuredContent":\{"citation":\{"ref":1'`,
		"next fomc meeting":         `stdout 'release\t.*\tFOMC Meeting'`,
		"--no-wait":                 `stdout '^cv_test_........$'`,
		"-k 1 --pay":                `stdout bitcoin`,
		"keys rotate":               `stdout '^[0-9]+$'`,
		"ctx mcp install":           `stdout '^\+  "mcpServers": \{$'`,
		"restore --dry-run":         `stdout '^the databases are sound'` + "\nstderr 'its books agree'",
		"credits buy":               `stdout 'starter.1000.1.00000[0-9].verified'`,
		"mcp tools":                 `stdout 'context.fresh'`,
		"dashboard >":               `grep '"title": "contextd"' dashboard.json` + "\ngrep 'alert: ContextdNotReady' alerts.yaml",
		"man man":                   "exists man/contextd-run.7 man/contextd-keys-create.1 man/ctx-payments.7 man/ctx-state.1",
		"bash >":                    `grep '__start_contextd' contextd.bash`,
		"db stats":                  `stdout 'states read back'`,
		"ctx pay receipts\n":        `stdout 'search'`,
		"> answer.json":             `stdout '^\["http://127.0.0.1:[0-9]+",1000,"USDG","answered"\]$'` + "\n" + `grep '"rows"' answer.json`,
		"ctx verify said.json":      `stdout '^Proven. The service of the log contextd-demo/'`,
		"ctx verify --since":        `stdout 'each of which is in the log'`,
		"--accept-new-log":          `stdout 'From now on ctx follows the log contextd-demo/'`,
		"ctx verify witness add":    `stdout '^contextd-demo/.*/crypto'`,
		"contextd rec":              `stdout .`,
	} {
		if strings.Contains(recipe, command) {
			lines += line + "\n"
		}
	}
	if lines == "" {
		return "stdout .\n"
	}
	return lines
}
