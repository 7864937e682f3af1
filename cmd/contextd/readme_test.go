package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"go.yaml.in/yaml/v3"

	"github.com/contextd/contextd/cmd/contextd/config"
	"github.com/contextd/contextd/internal/handbook"
	"github.com/contextd/contextd/internal/skills"
)

// TestRecipes runs the recipes of README.md and then, but for -short, of the handbook and the skills for agents, each in a shell of its own,
// against one demo.
func TestRecipes(t *testing.T) {
	t.Parallel()
	const before = "env CONTEXTD_DATA_DIR=$WORK/d\ndemobefore d\n" +
		"exec sh -c 'exec contextd demo --listen 127.0.0.1:0 --data-dir d --refresh 2s > out 2> err' &demo&\n" +
		"await out 'Ctrl-C ends it'\nusedemo d\n"
	recipes := blocks(readme(t), "sh")
	if len(recipes) < 8 {
		t.Errorf("README.md has %d recipes", len(recipes))
	}
	for _, topic := range handbook.Topics() {
		if topic.Name != configuration && !testing.Short() {
			recipes = append(recipes, blocks(topic.Text, "sh")...)
		}
	}
	list, err := skills.All("")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range list {
		if !testing.Short() {
			recipes = append(recipes, blocks(string(s.Text), "sh")...)
		}
	}
	const least = 25
	if len(recipes) < least && !testing.Short() {
		t.Errorf("README.md and the handbook have %d recipes", len(recipes))
	}
	runRecipes(t, recipes, func(i int, recipe string) string {
		if i == 0 {
			return before + "RECIPE" + expect(recipe)
		}
		return "RECIPE" + expect(recipe)
	}, "kill -INT demo\nwait demo\n")
}

// configuration is the topic whose recipes need a daemon with a configuration file.
const configuration = "configure"

// TestRecipesOfConfiguration runs the recipes about the configuration; the last ones while a daemon runs.
func TestRecipesOfConfiguration(t *testing.T) {
	t.Parallel()
	for _, topic := range handbook.Topics() {
		if topic.Name != configuration {
			continue
		}
		recipes := blocks(topic.Text, "sh")
		if len(recipes) != 2 {
			t.Fatalf("the topic has %d recipes where 2 are expected", len(recipes))
		}
		runRecipes(t, recipes, func(i int, _ string) string {
			if i == 0 {
				return "env CONTEXTD_LISTEN=127.0.0.1:0\nRECIPE" + `stdout '^limits.mails\s+5\s+default$'` + "\n"
			}
			return "exec sh -c 'exec contextd serve 2> log' &serve&\nawait log listening\nRECIPE" +
				`stdout '^changed: log.level, limits.mails$'` + "\n" + `stdout '^after a restart: brief.at$'` + "\n"
		}, "kill -INT serve\nwait serve\n")
	}
}

// TestSettingsShown checks the configuration files that README.md and the handbook show.
func TestSettingsShown(t *testing.T) {
	t.Parallel()
	files := blocks(readme(t), "yaml")
	for _, topic := range handbook.Topics() {
		files = append(files, blocks(topic.Text, "yaml")...)
	}
	if len(files) < 6 {
		t.Errorf("README.md and the handbook show %d files", len(files))
	}
	script, archive := "chmod 0600 gas.key\n", ""
	for _, secret := range []string{"anthropic.key", "coingecko.key", "smtp.password"} {
		archive += "-- " + secret + " --\nsecret\n"
	}
	archive += "-- database.url --\npostgres://me@127.0.0.1/context\n-- database.key --\n" + strings.Repeat("01", 32) + "\n"
	archive += "-- rpc.url --\nhttps://rpc.example.org/secret\n-- gas.key --\n0x" + strings.Repeat("01", 32) + "\n"
	for i, file := range files {
		if strings.Contains(file, "cert_file") {
			if _, err := config.Parse([]byte(file)); err != nil { // there is no certificate
				t.Error(err)
			}
			continue
		}
		script += fmt.Sprintf("exec contextd config check --config %d.yaml\n", i)
		file = strings.NewReplacer("/etc/contextd/", "", `"0x…"`, `"0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"`).Replace(file)
		archive += fmt.Sprintf("-- %d.yaml --\n%s", i, file)
	}
	runScript(t, script+archive)
}

// readme is the text of README.md.
func readme(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// blocks are the blocks of code of a language in a text.
func blocks(text, language string) (list []string) {
	for _, b := range regexp.MustCompile("(?s)\n```"+language+"\n(.*?)```").FindAllStringSubmatch(text, -1) {
		list = append(list, b[1])
	}
	return list
}

// runRecipes runs recipes. around is the script around each, in which RECIPE is where it runs; after is the end of the script.
func runRecipes(t *testing.T, recipes []string, around func(i int, recipe string) string, after string) {
	t.Helper()
	var script, files strings.Builder
	for i, recipe := range recipes {
		script.WriteString(strings.Replace(around(i, recipe), "RECIPE", fmt.Sprintf("exec sh -e -u %d.sh\n", i), 1))
		fmt.Fprintf(&files, "-- %d.sh --\n%s", i, recipe)
	}
	runScript(t, script.String()+after+files.String())
}

// runScript runs a script with the files behind it.
func runScript(t *testing.T, archive string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, strings.ToLower(t.Name())+".txtar"), []byte(archive), 0o600); err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, params(dir))
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

// TestComposeFile: the handbook's compose file names settings, secrets and volumes that there are, and its proxy the nodes that it starts.
func TestComposeFile(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, s := range config.Table() {
		known[config.Env(s.Key)] = !s.Section()
	}
	for _, topic := range handbook.Topics() {
		if topic.Name != "nodes" {
			continue
		}
		var file struct {
			Services map[string]struct {
				Image           string
				Environment     map[string]string
				Secrets         []string
				Volumes, Ports  []string
				DependsOn       []string `yaml:"depends_on"`
				StopGracePeriod string   `yaml:"stop_grace_period"`
				Restart         string
			}
			Secrets map[string]struct{ File string }
			Volumes map[string]struct{}
		}
		text := blocks(topic.Text, "yml")
		if len(text) != 1 {
			t.Fatalf("the topic has %d compose files", len(text))
		}
		read := yaml.NewDecoder(strings.NewReader(text[0]))
		read.KnownFields(true)
		if err := read.Decode(&file); err != nil {
			t.Fatal(err)
		}
		nodes := 0
		for name, s := range file.Services {
			if s.Image == "contextd" {
				nodes++
				for key, value := range s.Environment {
					if !known[key] {
						t.Errorf("%s: there is no setting %s", name, key)
					}
					secret, isSecret := strings.CutPrefix(value, "/run/secrets/")
					if isSecret && !slices.Contains(s.Secrets, secret) {
						t.Errorf("%s has no secret %s", name, secret)
					}
				}
				wait, err := time.ParseDuration(s.StopGracePeriod)
				drain, failed := time.ParseDuration(s.Environment["CONTEXTD_DRAIN_DELAY"])
				if err != nil || failed != nil || wait < drain+10*time.Second {
					t.Errorf("%s is killed %q after it was told to stop, %q of which it drains", name, s.StopGracePeriod, drain)
				}
			}
			for _, v := range s.Volumes {
				source, _, _ := strings.Cut(v, ":")
				if _, ok := file.Volumes[source]; !ok && !strings.HasPrefix(source, "./") {
					t.Errorf("%s: there is no volume %s", name, source)
				}
			}
			for _, secret := range s.Secrets {
				if file.Secrets[secret].File == "" {
					t.Errorf("%s: there is no secret %s", name, secret)
				}
			}
			for _, other := range s.DependsOn {
				if _, ok := file.Services[other]; !ok {
					t.Errorf("%s needs %s", name, other)
				}
			}
		}
		if nodes != 3 {
			t.Errorf("there are %d nodes", nodes)
		}
	}
}
