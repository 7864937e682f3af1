// Package handbook is the manual of both programs, one Markdown file for each topic.
//
// The same text is what `ctx help TOPIC` and `contextd help TOPIC` print, what the daemon serves below /docs, and what `man DIR`
// writes as pages of section 7. A file begins with the title as its heading and a paragraph of one line, the summary; lines are
// wrapped, so a terminal needs no renderer. A link to another topic names its file, which is right where the files are browsed.
// Blocks marked sh are recipes that the tests run; blocks marked console need root, a network or the reader's own values.
package handbook

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/cpuguy83/go-md2man/v2/md2man"
	"github.com/russross/blackfriday/v2" // the parser that md2man brings along
)

//go:embed *.md
var files embed.FS

// Topic is a chapter of the handbook.
type Topic struct {
	Name    string // by which help, pages and links know it, such as "run"
	Title   string // such as "Run a daemon"
	Summary string // one line, without a full stop
	Text    string // all of it, title and summary included, as Markdown
}

// Topics are all topics, in the order in which a newcomer needs them.
func Topics() []Topic {
	var topics []Topic
	for _, name := range []string{
		"run", "configure", "sell", "payments", "agents", "watches", "packs", "operate", "backups", "nodes", "secure", "limits", "glossary",
		"develop",
	} {
		text, err := files.ReadFile(name + ".md")
		if err != nil {
			continue // a test finds every file among the topics, and every topic among the files
		}
		title, rest, _ := strings.Cut(strings.TrimPrefix(string(text), "# "), "\n\n")
		summary, _, _ := strings.Cut(rest, "\n")
		topics = append(topics, Topic{Name: name, Title: title, Summary: strings.TrimSuffix(summary, "."), Text: string(text)})
	}
	return topics
}

// HTML is the topic as the inside of a page. Links to other topics are relative to it.
func (t Topic) HTML() []byte {
	renderer := blackfriday.NewHTMLRenderer(blackfriday.HTMLRendererParameters{Flags: blackfriday.SkipHTML})
	extensions := blackfriday.NoIntraEmphasis | blackfriday.Tables | blackfriday.FencedCode | blackfriday.Autolink |
		blackfriday.SpaceHeadings | blackfriday.AutoHeadingIDs
	text := link(t.Text, func(name string) (from, to string) { return "](" + name + ".md)", "](" + name + ")" })
	page := blackfriday.Run([]byte(text), blackfriday.WithRenderer(renderer), blackfriday.WithExtensions(extensions))
	return bytes.ReplaceAll(page, []byte("<pre>"), []byte(`<pre tabindex="0">`)) // what scrolls can be reached by keyboard
}

// Man is the topic as a manual page of section 7 of a program, dated at.
func (t Topic) Man(program string, at time.Time) []byte {
	page := program + "-" + t.Name
	_, body, _ := strings.Cut(t.Text, t.Summary+".\n")
	body = link(body, func(name string) (from, to string) {
		return "[" + name + "](" + name + ".md)", "**" + program + "-" + name + "**(7)"
	})
	return Roff(md2man.Render(fmt.Appendf(nil, "%% %q \"7\" %q %q %q\n# NAME\n%s - %s\n%s",
		strings.ToUpper(page), at.Format(rendered), program, program+" manual", page, t.Summary, body)), at)
}

// WriteMan writes the manual page of every topic into dir.
func WriteMan(dir, program string, at time.Time) error {
	var failed error
	for _, t := range Topics() {
		failed = errors.Join(failed, os.WriteFile(filepath.Join(dir, program+"-"+t.Name+".7"), t.Man(program, at), 0o644))
	}
	return failed
}

// link replaces in text what form says of each topic.
func link(text string, form func(name string) (from, to string)) string {
	var pairs []string
	for _, t := range Topics() {
		from, to := form(t.Name)
		pairs = append(pairs, from, to)
	}
	return strings.NewReplacer(pairs...).Replace(text)
}
