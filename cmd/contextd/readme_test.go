package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/contextd/contextd/cmd/contextd/config"
	"github.com/contextd/contextd/internal/handbook"
	"github.com/contextd/contextd/internal/scripttest"
)

// configuration is the topic whose recipes need a daemon with a configuration file.
const configuration = "configure"

// TestRecipesOfConfiguration runs the recipes about the configuration; the last ones while a daemon runs.
func TestRecipesOfConfiguration(t *testing.T) {
	t.Parallel()
	for _, topic := range handbook.Topics() {
		if topic.Name != configuration {
			continue
		}
		recipes := scripttest.Blocks(topic.Text, "sh")
		if len(recipes) != 2 {
			t.Fatalf("the topic has %d recipes where 2 are expected", len(recipes))
		}
		scripttest.RunRecipes(t, params(""), recipes, func(i int, _ string) string {
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
	files := scripttest.Blocks(readme(t), "yaml")
	for _, topic := range handbook.Topics() {
		files = append(files, scripttest.Blocks(topic.Text, "yaml")...)
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
	scripttest.Run(t, params(""), script+archive)
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
		text := scripttest.Blocks(topic.Text, "yml")
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
