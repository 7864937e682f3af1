package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestReadme runs the recipes of README.md, each in a shell of its own, against a demo.
func TestReadme(t *testing.T) {
	t.Parallel()
	const before = "env CONTEXTD_DATA_DIR=$WORK/d\n" +
		"exec sh -c 'exec contextd demo --listen 127.0.0.1:0 --data-dir d --refresh 1s > out 2> err' &demo&\nawait out 'Ctrl-C ends it'\nusedemo d\n"
	runSection(t, "Recipes", 8, func(i int, recipe string) string {
		if i == 0 {
			return before + "RECIPE" + expect(recipe)
		}
		return "RECIPE" + expect(recipe)
	}, "kill -INT demo\nwait demo\n")
}

// TestReadmeConfiguration runs the commands of README.md about the configuration; the last ones while a daemon runs.
func TestReadmeConfiguration(t *testing.T) {
	t.Parallel()
	runSection(t, "Configuration", 2, func(i int, _ string) string {
		if i == 0 {
			return "env CONTEXTD_LISTEN=127.0.0.1:0\nRECIPE" + `stdout '^limits.mails +5 +default$'` + "\n"
		}
		return "exec sh -c 'exec contextd serve 2> log' &serve&\nawait log listening\nRECIPE" +
			`stdout '^changed: log.level, limits.mails$'` + "\n" + `stdout '^after a restart: brief.at$'` + "\n"
	}, "kill -INT serve\nwait serve\n")
}

// TestReadmeSettings checks the configuration files that README.md shows.
func TestReadmeSettings(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)\n```yaml\n(.*?)```").FindAllSubmatch(text, -1)
	if len(blocks) < 6 {
		t.Errorf("README.md shows %d files", len(blocks))
	}
	script, files := "", ""
	for _, secret := range []string{"anthropic.key", "smtp.password"} {
		files += "-- " + secret + " --\nsecret\n"
	}
	files += "-- rpc.url --\nhttps://rpc.example.org/secret\n"
	for i, b := range blocks {
		if strings.Contains(string(b[1]), "cert_file") {
			if _, err := Parse(b[1]); err != nil { // there is no certificate
				t.Error(err)
			}
			continue
		}
		script += fmt.Sprintf("exec contextd check-config --config %d.yaml\n", i)
		file := strings.NewReplacer("/etc/contextd/", "", `"0x…"`, `"0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"`).Replace(string(b[1]))
		files += fmt.Sprintf("-- %d.yaml --\n%s", i, file)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "settings.txtar"), []byte(script+files), 0o600); err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, params(dir))
}

// runSection runs the shell blocks of a section of README.md, of which there are at least so many. around is the script around each, in which
// RECIPE is where the block runs; after is the end of the script.
func runSection(t *testing.T, section string, least int, around func(i int, recipe string) string, after string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "\n## "+section+"\n")
	section, _, _ = strings.Cut(rest, "\n## ")
	blocks := regexp.MustCompile("(?s)\n```sh\n(.*?)```").FindAllStringSubmatch(section, -1)
	if len(blocks) < least {
		t.Fatalf("README.md has %d blocks where %d are expected", len(blocks), least)
	}
	var script, files strings.Builder
	for i, b := range blocks {
		script.WriteString(strings.Replace(around(i, b[1]), "RECIPE", fmt.Sprintf("exec sh -e -u %d.sh\n", i), 1))
		fmt.Fprintf(&files, "-- %d.sh --\n%s", i, b[1])
	}
	script.WriteString(after)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, strings.ToLower(t.Name())+".txtar"), []byte(script.String()+files.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, params(dir))
}

// expect is the line that checks what a recipe printed.
func expect(recipe string) string {
	for command, line := range map[string]string{
		"select(.symbol": `stdout '^9[0-9]{4}'`,
		"state.json":     `grep '"top_movers"' state.json`,
		".severity":      `stdout '^(critical|warning|notice): .* \[[0-9]+\]$'`,
		"brief.txt":      `grep 'https://www.coingecko.com/' brief.txt`,
		"echo \"BTC":     `stdout '^BTC was 9[0-9.]+, is 9[0-9.]+$'`,
		"ctx tail":       `stdout '^BTC top_movers\[0\]\.priceUsd'`,
		"--format md":    `stdout '\(https://defillama.com/stablecoins\)'`,
		"/v1/search?q":   `stdout '"total":[1-9]'`,
		"ctx mcp call":   `stdout '^1 of [0-9]+ matches in pack crypto'`,
		"tools/call":     `stdout '"structuredContent":\{"citation":\{"ref":1'`,
		"--no-wait":      `stdout '^cv_test_........$'`,
		"-k 1 --pay":     `stdout bitcoin`,
		"keys rotate":    `stdout '^[0-9]+$'`,
		"--dry-run":      `stdout '^the databases are sound'` + "\nstderr 'its books agree'",
		"credits buy":    `stdout 'starter.1000.1.00000[0-9].verified'`,
	} {
		if strings.Contains(recipe, command) {
			return line + "\n"
		}
	}
	return "stdout .\n"
}
