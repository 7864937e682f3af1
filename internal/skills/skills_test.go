package skills_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/contextd/contextd/internal/skills"
	"github.com/contextd/contextd/sdk/api"
)

// TestSkills holds each skill to the format: every directory here is one, with its name, front matter that YAML reads as it was read, and
// within the bounds. What it says of tools and paths is there.
func TestSkills(t *testing.T) {
	t.Parallel()
	list, err := skills.All("")
	if err != nil {
		t.Fatal(err)
	}
	dirs, err := filepath.Glob("contextd-*")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range list {
		names = append(names, s.Name)
		file, err := os.ReadFile(filepath.Join(s.Name, skills.File))
		if err != nil || !bytes.Equal(file, s.Text) {
			t.Errorf("%s is not its file: %v", s.Name, err)
		}
		_, rest, _ := strings.Cut(string(file), "---\n")
		front, body, _ := strings.Cut(rest, "---\n")
		var read map[string]string
		if err := yaml.Unmarshal([]byte(front), &read); err != nil || !maps.Equal(read, s.Front) {
			t.Errorf("%s: %v, YAML reads %q", s.Name, err, read)
		}
		for member, most := range map[string]int{"name": 64, "description": 1024, "compatibility": 500} {
			if n := utf8.RuneCountInString(read[member]); n == 0 || n > most {
				t.Errorf("%s: %s has %d characters", s.Name, member, n)
			}
		}
		for member := range read {
			if !slices.Contains([]string{"name", "description", "license", "compatibility", "metadata", "allowed-tools"}, member) {
				t.Errorf("%s: the format has no %s", s.Name, member)
			}
		}
		if !regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`).MatchString(s.Name) || s.Description != read["description"] {
			t.Errorf("%s is told as %q", s.Name, s.Description)
		}
		if len(body)/3 > 5000 || !strings.Contains(body, "data from outside") && s.Name != "contextd-backtest" {
			t.Errorf("%s has a body of %d bytes", s.Name, len(body))
		}
		for i, line := range strings.Split(body, "\n") {
			if utf8.RuneCountInString(line) > 100 {
				t.Errorf("line %d of the body of %s is wider than 100 columns", i+1, s.Name)
			}
		}
		tools(t, s.Name, body)
	}
	slices.Sort(dirs)
	if !slices.Equal(names, dirs) || len(names) == 0 {
		t.Errorf("the skills are %q, the directories %q", names, dirs)
	}
}

// tools finds the tools and paths that the body of a skill names.
func tools(t *testing.T, skill, body string) {
	t.Helper()
	for _, found := range regexp.MustCompile("(?:tools?|[Cc]all) `([a-z]+)`").FindAllStringSubmatch(body, -1) {
		if op := api.Op(found[1]); !slices.Contains(api.Tools(), op) && op != api.OpWatch {
			t.Errorf("%s names the tool %s, which there is none of", skill, found[1])
		}
	}
	for _, found := range regexp.MustCompile(`/v1/([a-z]+)`).FindAllStringSubmatch(body, -1) {
		if _, ok := api.OpAt("/v1/" + found[1]); !ok && found[0] != "/v1/watches" {
			t.Errorf("%s names %s, which there is none of", skill, found[0])
		}
	}
}

// TestAddress: what is served names the address of the service, the file that of ctx, and the digest is that of the text.
func TestAddress(t *testing.T) {
	t.Parallel()
	files, err := skills.All("")
	if err != nil {
		t.Fatal(err)
	}
	served, err := skills.All("https://context.example.org")
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range served {
		text := string(s.Text)
		if strings.Contains(text, "$CTX_BASE_URL") || !strings.Contains(text, `"https://context.example.org/v1/`) {
			t.Errorf("%s is served as\n%s", s.Name, text)
		}
		if back := strings.ReplaceAll(text, "https://context.example.org", "$CTX_BASE_URL"); back != string(files[i].Text) {
			t.Errorf("%s differs from its file", s.Name)
		}
		sum := sha256.Sum256(s.Text)
		if s.Digest() != "sha256:"+hex.EncodeToString(sum[:]) || s.Digest() == files[i].Digest() {
			t.Errorf("%s has the digest %s", s.Name, s.Digest())
		}
	}
}
