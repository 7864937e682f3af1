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
	text, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "\n## Recipes\n")
	section, _, _ := strings.Cut(rest, "\n## ")
	blocks := regexp.MustCompile("(?s)\n```sh\n(.*?)```").FindAllStringSubmatch(section, -1)
	if len(blocks) < 8 {
		t.Fatalf("README.md has %d recipes", len(blocks))
	}
	var script, files strings.Builder
	script.WriteString("env CONTEXTD_DATA_DIR=$WORK/d\n" +
		"exec sh -c 'exec contextd demo --listen 127.0.0.1:0 --data-dir d --refresh 1s > out 2> err' &demo&\nawait out 'Ctrl-C ends it'\nusedemo d\n")
	for i, b := range blocks {
		fmt.Fprintf(&script, "exec sh -e -u %d.sh\n%s", i, expect(b[1]))
		fmt.Fprintf(&files, "-- %d.sh --\n%s", i, b[1])
	}
	script.WriteString("kill -INT demo\nwait demo\n")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "recipes.txtar"), []byte(script.String()+files.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, params(dir))
}

// TestReadmeSettings: the examples for language models are settings that contextd takes.
func TestReadmeSettings(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "\n### Briefs by a language model\n")
	section, _, _ := strings.Cut(rest, "\n## ")
	blocks := regexp.MustCompile("(?s)\n```yaml\n(.*?)```").FindAllStringSubmatch(section, -1)
	if len(blocks) != 2 {
		t.Fatalf("README.md has %d examples", len(blocks))
	}
	script, files := "", "-- anthropic.key --\nsecret\n"
	for i, b := range blocks {
		script += fmt.Sprintf("exec contextd check-config --config %d.yaml\nstdout '^brief.llm +(openai|anthropic)/'\n", i)
		files += fmt.Sprintf("-- %d.yaml --\n%s", i, strings.ReplaceAll(b[1], "/etc/contextd/", ""))
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "settings.txtar"), []byte(script+files), 0o600); err != nil {
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
