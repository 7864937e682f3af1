package handbook_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/contextd/contextd/internal/handbook"
)

// TestTopics: each file is a topic and has a title, a summary of one line and lines that fit a terminal.
func TestTopics(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	topics := handbook.Topics()
	if len(topics) != len(files) {
		t.Errorf("%d topics of %d files: add the name to Topics", len(topics), len(files))
	}
	for _, topic := range topics {
		if topic.Title == "" || topic.Summary == "" || utf8.RuneCountInString(topic.Summary) > 72 || strings.HasPrefix(topic.Summary, "#") ||
			!strings.HasPrefix(topic.Text, "# "+topic.Title+"\n\n"+topic.Summary+".\n\n") {
			t.Errorf("%s begins with neither title nor summary: %q, %q", topic.Name, topic.Title, topic.Summary)
		}
		for i, line := range strings.Split(topic.Text, "\n") {
			if utf8.RuneCountInString(line) > 100 {
				t.Errorf("%s.md:%d is wider than 100 columns", topic.Name, i+1)
			}
		}
		for _, link := range regexp.MustCompile(`\]\((\w+)\.md\)`).FindAllStringSubmatch(topic.Text, -1) {
			if !slices.ContainsFunc(topics, func(other handbook.Topic) bool { return other.Name == link[1] }) {
				t.Errorf("%s leads to %s, which is no topic", topic.Name, link[1])
			}
		}
	}
}

// TestHTML: text is escaped, tables and code are as they should be, links lead to pages.
func TestHTML(t *testing.T) {
	t.Parallel()
	text := "# A & B\n\nAll.\n\nSee [run](run.md), `<x>` and <b>bold</b>.\n\n" +
		"```sh\necho \"<script>\" && true\n```\n\n| a | b |\n|---|---|\n| 1 | `2` |\n"
	got := string(handbook.Topic{Text: text}.HTML())
	for _, part := range []string{
		`<h1 id="a-b">A &amp; B</h1>`, `<a href="run">run</a>`, `<code>&lt;x&gt;</code>`,
		`&lt;script&gt;`, `&amp;&amp; true`, `<td><code>2</code></td>`,
	} {
		if !strings.Contains(got, part) {
			t.Errorf("%s is not in\n%s", part, got)
		}
	}
	if strings.Contains(got, "<b>") || strings.Contains(got, "<script>") || strings.Contains(got, "“") {
		t.Errorf("HTML in the text stays HTML, or quotes are changed:\n%s", got)
	}
}

// TestMan: every topic is a page of section 7, with its name, its summary, its date and references to other pages.
func TestMan(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := handbook.WriteMan(dir, "ctx", time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)); err != nil {
		t.Fatal(err)
	}
	for _, topic := range handbook.Topics() {
		page, err := os.ReadFile(filepath.Join(dir, "ctx-"+topic.Name+".7"))
		if err != nil {
			t.Error(err)
			continue
		}
		text := strings.ReplaceAll(string(page), `\-`, "-")
		head := `.TH "CTX-` + strings.ToUpper(topic.Name) + `" "7" "2026-11-22" "ctx" "ctx manual"`
		for _, part := range []string{head, "ctx-" + topic.Name + " - "} {
			if !strings.Contains(text, part) {
				t.Errorf("%s has no %q:\n%.300s", topic.Name, part, text)
			}
		}
		if strings.Contains(text, `.md\[ra]`) {
			t.Errorf("%s leads to a file", topic.Name)
		}
	}
	if err := handbook.WriteMan(filepath.Join(dir, "none"), "ctx", time.Time{}); err == nil {
		t.Error("pages are written into a directory that is not there")
	}
}

// TestRoff: what formatters complain of in pages from the renderers is mended, and examples stay as they are.
func TestRoff(t *testing.T) {
	t.Parallel()
	const long = "word word word word word word word word word word word word word word word word .dot"
	page := ".nh\n.TH \"A\" \"1\" \"Nov 2026\" \"a\" \"a manual\"\n\n.SH NAME\n" + long + "\n\n\n.SH OPTIONS\n\\fB--one\\fP=false\n\tfirst\n\n.PP\n\\fB--two\\fP\n\t" + long +
		"\n\n\n.SH EXAMPLE\n.EX\n\tcat " + long + "\n\n  ls\n.EE\n\n.PP\nend\n"
	want := ".nh\n.TH \"A\" \"1\" \"2026-11-22\" \"a\" \"a manual\"\n.SH NAME\n" + long + "\n.SH OPTIONS\n.TP\n\\fB--one\\fP=false\nfirst\n.TP\n\\fB--two\\fP\n" +
		strings.TrimSuffix(long, " .dot") + "\n\\&.dot\n.SH EXAMPLE\n.EX\n\tcat " + long + "\n\n  ls\n.EE\n.PP\nend\n"
	if got := string(handbook.Roff([]byte(page), time.Date(2026, 11, 22, 23, 0, 0, 0, time.UTC))); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	dir := t.TempDir()
	if err := handbook.WriteMan(dir, "ctx", time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)); err != nil {
		t.Fatal(err)
	}
	linter, err := exec.LookPath("mandoc")
	if err != nil {
		t.Skip("no mandoc here")
	}
	pages, err := filepath.Glob(filepath.Join(dir, "*.7"))
	if err != nil {
		t.Fatal(err)
	}
	if said, err := exec.CommandContext(t.Context(), linter, append([]string{"-T", "lint", "-W", "warning"}, pages...)...).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, said)
	}
}

// TestReadme: README.md is short, goes on in the order in which a newcomer asks, and leads to every topic.
func TestReadme(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	text := string(readme)
	if lines := strings.Count(text, "\n"); lines > 200 || len(text) > 10_000 {
		t.Errorf("%d lines and %d bytes: a topic of the handbook is the place for more", lines, len(text))
	}
	parts := strings.Split(text, "\n## ")
	opening, rest, _ := strings.Cut(parts[0], "\n![")
	if sentences := len(regexp.MustCompile(`\.\s`).FindAllString(opening, -1)); sentences != 3 || !strings.Contains(rest, "](tui/ui.svg)") {
		t.Errorf("README.md begins with %d sentences; three and the picture are meant", sentences)
	}
	var headings []string
	for _, part := range parts[1:] {
		heading, _, _ := strings.Cut(part, "\n")
		headings = append(headings, heading)
	}
	want := []string{
		"Try it", "Install", "Ask it", "Run one", "Give it to an agent", "Sell calls", "What it guarantees", "Where the rest is",
	}
	if !slices.Equal(headings, want) {
		t.Errorf("the sections are %q, want %q", headings, want)
	}
	for _, topic := range handbook.Topics() {
		if !strings.Contains(text, "["+topic.Name+"](internal/handbook/"+topic.Name+".md)") {
			t.Errorf("README.md does not lead to %s", topic.Name)
		}
	}
}
