package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/contextd/contextd/internal/handbook"
)

// maxShort is how many characters a line of a list of commands may have.
const maxShort = 60

// banned matches words that the style sheet bans, see contextd help develop.
var banned = regexp.MustCompile(`(?i)\b(anew|who(?:so)?ever|of\s+(?:its|their|his|her)\s+own|he or she|his or her|thereof|therein|wherein|hitherto)\b`)

// named matches a word that the style sheet names, with what to say in its place.
var named = regexp.MustCompile(`"[a-z ]+" \(`)

// notImperative matches how the Short of a command must not begin.
var notImperative = regexp.MustCompile(`^(?:What|How|Whether|The|A|An|This|That|Say|Tell|Have|[A-Z][a-z]+ing)\b`)

// TestEnglishOfHelp holds the mechanical part of the style sheet over the help of both programs.
func TestEnglishOfHelp(t *testing.T) {
	t.Parallel()
	for _, root := range trees() {
		eachCommand(root, func(c *cobra.Command) {
			path, topic := c.CommandPath(), c.IsAdditionalHelpTopicCommand()
			if n := utf8.RuneCountInString(c.Short); n > maxShort && !topic {
				t.Errorf("%s: Short has %d characters, at most %d: %s", path, n, maxShort, c.Short)
			}
			if first, _ := utf8.DecodeRuneInString(c.Short); c.HasParent() && (strings.HasSuffix(c.Short, ".") || !unicode.IsUpper(first)) {
				t.Errorf("%s: Short is no sentence without its full stop: %s", path, c.Short)
			}
			if !topic && c.HasParent() && notImperative.MatchString(c.Short) {
				t.Errorf("%s: Short does not begin with a verb: %s", path, c.Short)
			}
			for _, text := range []string{c.Short, c.Long, c.Example} {
				text = named.ReplaceAllString(text, "")
				if word := banned.FindString(text); word != "" {
					t.Errorf("%s: %q: %.80s", path, word, around(text, word))
				}
			}
			eachFlag(c, func(f *pflag.Flag) {
				if word := banned.FindString(f.Usage); word != "" || strings.HasSuffix(f.Usage, ".") {
					t.Errorf("%s --%s: %q or a full stop: %s", path, f.Name, word, f.Usage)
				}
			})
		})
	}
}

// TestEnglishOfTexts holds it over README, the handbook, and all that programs, screens, pages and mails say in their sources.
func TestEnglishOfTexts(t *testing.T) {
	t.Parallel()
	texts := map[string]string{"README.md": readme(t)}
	for _, topic := range handbook.Topics() {
		texts["handbook "+topic.Name] = topic.Text
	}
	root := filepath.Join("..", "..")
	for _, dir := range []string{"client", "cmd", "daemon", "internal", "sdk", "tui"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") ||
				strings.Contains(path, filepath.Join("internal", "build")) {
				return err
			}
			text, err := os.ReadFile(path)
			texts[path] = spoken(string(text))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range texts {
		text = named.ReplaceAllString(text, "")
		for _, word := range banned.FindAllString(text, -1) {
			t.Errorf("%s: %q: %s", name, word, around(text, word))
		}
	}
}

// literal matches a text in a source: what programs say.
var literal = regexp.MustCompile("\"(?:[^\"\\\\\n]|\\\\.)*\"|`[^`]*`")

// spoken is what a source says, without its comments.
func spoken(source string) string {
	var b strings.Builder
	for line := range strings.Lines(source) {
		if !strings.HasPrefix(strings.TrimSpace(line), "//") {
			b.WriteString(line)
		}
	}
	return strings.Join(literal.FindAllString(b.String(), -1), "\n")
}

// around is the part of a text around a word.
func around(text, word string) string {
	i := strings.Index(text, word)
	return strings.ToValidUTF8(strings.ReplaceAll(text[max(i-30, 0):min(i+40, len(text))], "\n", " "), "")
}
