package client

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk/api"
)

// CiteStyle is how a brief shows its sources.
type CiteStyle string

// The styles: anchors in the text and the sources below it; the source's id in the place of its anchor; neither.
const (
	CiteFootnotes CiteStyle = "footnotes"
	CiteInline    CiteStyle = "inline"
	CiteNone      CiteStyle = "none"
)

// CiteStyles returns every style.
func CiteStyles() []CiteStyle { return []CiteStyle{CiteFootnotes, CiteInline, CiteNone} }

var (
	anchor      = regexp.MustCompile(`\[(\d{1,4})\]`)
	spaceAnchor = regexp.MustCompile(` ?\[\d{1,4}\]`)
)

// Brief draws a brief under a line that says how old it and its state are. A width of 0 leaves its lines as long as they are.
func (p Page) Brief(pack string, b *api.BriefResponse, cite CiteStyle) error {
	var out strings.Builder
	header := fmt.Sprintf("%s brief  %s", p.Style.Bold(human.Line(pack)), p.age(b.Freshness))
	if p.Saved {
		header += "  state of " + p.when(b.Freshness.GeneratedAt)
	}
	if b.BriefAt != nil {
		header += "  written " + p.when(*b.BriefAt)
	}
	if b.BriefOf != nil && !b.BriefOf.Equal(b.Freshness.GeneratedAt) {
		of := p.clock(*b.BriefOf)
		if p.Saved {
			of = p.when(*b.BriefOf)
		}
		header += "  from the state of " + of
	}
	fmt.Fprintf(&out, "%s\n\n", header)
	for line := range strings.SplitSeq(strings.TrimSpace(human.Text(b.Brief)), "\n") {
		out.WriteString(p.prose(anchors(line, b.Citations, cite)) + "\n")
	}
	if b.Since != nil {
		fmt.Fprintf(&out, "\n%s\n", p.Style.Bold("Since then"))
		out.WriteString(p.prose(anchors(human.Line(b.Since.Text), b.Citations, cite)) + "\n")
	}
	if cite == CiteFootnotes {
		out.WriteString(p.footnotes(b))
	}
	_, err := io.WriteString(p.W, out.String())
	return err
}

// when is how long ago something was, or its date and time in a text that is read later.
func (p Page) when(at time.Time) string {
	if p.Saved {
		return at.In(p.Now.Location()).Format("2006-01-02 15:04:05 MST")
	}
	return human.Age(p.Now.Sub(at)) + " ago"
}

func anchors(line string, citations []api.Citation, cite CiteStyle) string {
	switch cite {
	case CiteNone:
		return spaceAnchor.ReplaceAllString(line, "")
	case CiteInline:
		return anchor.ReplaceAllStringFunc(line, func(a string) string {
			if c, ok := cited(citations, a); ok {
				return "(" + human.Line(c.SourceID) + ")"
			}
			return a
		})
	}
	return line
}

// prose wraps a line and marks headings and anchors. It marks last: marks take no columns.
func (p Page) prose(line string) string {
	if p.Width > 0 {
		line = ansi.Wordwrap(line, p.Width, "")
	}
	if strings.HasPrefix(line, "#") {
		return p.Style.Bold(line)
	}
	return anchor.ReplaceAllStringFunc(line, p.Style.Link)
}

// footnotes lists the sources that the brief cites.
func (p Page) footnotes(b *api.BriefResponse) string {
	var refs []string
	for _, a := range anchor.FindAllString(b.Brief, -1) {
		if !slices.Contains(refs, a) {
			refs = append(refs, a)
		}
	}
	slices.SortFunc(refs, func(a, b string) int { return anchorNumber(a) - anchorNumber(b) })
	var list strings.Builder
	longest := 0
	for _, a := range refs {
		if c, ok := cited(b.Citations, a); ok {
			longest = max(longest, ansi.StringWidth(human.Line(c.SourceID)))
		}
	}
	for _, a := range refs {
		c, ok := cited(b.Citations, a)
		if !ok {
			continue
		}
		fmt.Fprintf(&list, "%s %s  %s  fetched %s\n", p.Style.Link(p.Style.FitRight(a, 4)),
			p.Style.Fit(human.Line(c.SourceID), longest), human.Line(c.URL), p.when(c.FetchedAt))
	}
	if list.Len() == 0 {
		return ""
	}
	return "\n" + p.Style.Bold("Sources") + "\n" + list.String()
}

// cited finds the citation of an anchor such as [3].
func cited(citations []api.Citation, a string) (api.Citation, bool) {
	i := slices.IndexFunc(citations, func(c api.Citation) bool { return c.Ref == anchorNumber(a) })
	if i < 0 {
		return api.Citation{}, false
	}
	return citations[i], true
}

// anchorNumber is the number in an anchor such as [3].
func anchorNumber(a string) int {
	n, _ := strconv.Atoi(strings.Trim(a, "[]"))
	return n
}
