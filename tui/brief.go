package tui

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/tui/session"
	"github.com/contextd/contextd/tui/view"
)

var anchor = regexp.MustCompile(`\[(\d{1,4})\]`)

// Cited are the sources that a brief cites, in the order of their numbers.
func Cited(b *api.BriefResponse) []api.Citation {
	var list []api.Citation
	if b == nil {
		return nil
	}
	for _, c := range b.Citations {
		if strings.Contains(b.Brief, "["+strconv.Itoa(c.Ref)+"]") {
			list = append(list, c)
		}
	}
	slices.SortFunc(list, func(a, b api.Citation) int { return a.Ref - b.Ref })
	return list
}

// Prose is a brief as lines of width columns, its anchors marked.
func Prose(t view.Theme, brief string, width int) []string {
	var lines []string
	for paragraph := range strings.SplitSeq(strings.TrimSpace(view.Clean(brief)), "\n") {
		for _, line := range view.Wrap(paragraph, width) {
			lines = append(lines, anchor.ReplaceAllStringFunc(line, t.Accent.On))
		}
	}
	return lines
}

// Brief is the screen of the brief and its sources.
type Brief struct {
	env    *Env
	cited  view.List
	scroll int
	first  int // line of the body at which the list of sources begins
}

// NewBrief makes the screen.
func NewBrief(env *Env) *Brief { return &Brief{env: env} }

// Enter does nothing: the brief comes with the states.
func (s *Brief) Enter() tea.Cmd { return nil }

// Typing is never true.
func (s *Brief) Typing() bool { return false }

// Bindings are the keys of the screen.
func (s *Brief) Bindings() []key.Binding {
	k := s.env.Keys
	return []key.Binding{k.Open, k.Cite, k.Copy, k.Brief}
}

// Update moves among the sources and acts on the one at the cursor.
func (s *Brief) Update(msg tea.Msg) tea.Cmd {
	cited := Cited(s.env.Session.Brief)
	if click, ok := msg.(ClickMsg); ok {
		s.cited.Click(click.Y-s.first, len(cited))
		return nil
	}
	pressed, ok := msg.(tea.KeyMsg)
	k := s.env.Keys
	switch {
	case ok && key.Matches(pressed, k.PageDown):
		s.scroll += 5
	case ok && key.Matches(pressed, k.PageUp):
		s.scroll = max(s.scroll-5, 0)
	case s.env.Move(&s.cited, len(cited), msg), !ok:
	case key.Matches(pressed, k.Brief):
		return tea.Batch(Notify("asking for the brief"+s.env.Session.Cost(1)), s.env.AskBrief())
	case key.Matches(pressed, k.Copy) && s.env.Session.Brief != nil:
		return CopyText(view.Clean(s.env.Session.Brief.Brief), "the brief")
	case s.cited.Cursor >= len(cited):
	case key.Matches(pressed, k.Open, k.Enter):
		return Send(OpenMsg{cited[s.cited.Cursor].URL})
	case key.Matches(pressed, k.Cite):
		return s.env.CopyCite(cited[s.cited.Cursor].Ref)
	}
	return nil
}

// View draws the text over the sources.
func (s *Brief) View(width, height int) []string {
	t, now := *s.env.Theme, s.env.Session
	b := now.Brief
	if b == nil {
		return view.Box{Title: "Brief", Focus: true}.Draw(t, []string{"", " " + noBrief(now)}, width, height)
	}
	cited := Cited(b)
	title := s.env.briefTitle()
	below := min(len(cited)+2, max(height/2, 4))
	lines := Prose(t, briefText(b), min(width-4, 100))
	room := height - below - 2
	s.scroll = max(0, min(s.scroll, len(lines)-room))
	note := ""
	if len(lines) > room {
		keys := view.KeyPair(s.env.Keys.PageDown, "/", s.env.Keys.PageUp, "")
		note = fmt.Sprintf("%s scroll, line %d of %d", view.KeyLabel(keys), s.scroll+1, len(lines))
	}
	var body []string
	for _, line := range lines[s.scroll:min(len(lines), s.scroll+max(room, 0))] {
		body = append(body, " "+line)
	}
	s.first = height - below + 1
	copies := "enter opens, " + view.KeyLabel(s.env.Keys.Cite) + " copies"
	list := s.cited.Rows(t, len(cited), width-2, below-2, true, func(i int) string { return s.env.SourceLine(cited[i], width-4) })
	return slices.Concat(
		view.Box{Title: title, Note: note}.Draw(t, body, width, height-below),
		view.Box{Title: "Sources it cites", Note: copies, Focus: true}.Draw(t, list, width, below))
}

// briefTitle is the heading of the brief: when it was written, and whether that was of the state that is shown.
func (e *Env) briefTitle() string {
	s := e.Session
	if s.Brief == nil || s.Brief.BriefAt == nil {
		return "Brief"
	}
	at := *s.Brief.BriefAt
	title := "Brief " + view.When(at, s.Now) + ", "
	if s.Brief.Since == nil && !at.Before(s.TS) {
		return title + "of this state"
	}
	return title + human.Age(s.ServiceNow().Sub(at)) + " old"
}

// noBrief says why there is none.
func noBrief(s *session.Session) string {
	if s.Snapshot {
		return "No brief: the service answers for a past minute with its state alone."
	}
	if s.Recorded {
		return "No brief came with this state."
	}
	return "No brief yet. It comes with the states once it is written."
}

func briefText(b *api.BriefResponse) string {
	if b.Since == nil {
		return b.Brief
	}
	return b.Brief + "\n\nSince then: " + b.Since.Text
}

// SourceLine is a citation as a line of width columns: its number, its source, when that answered and its address.
func (e *Env) SourceLine(c api.Citation, width int) string {
	tail := e.Theme.Glyphs.Ellipsis
	at := c.FetchedAt.In(e.Session.Now.Location()).Format("15:04")
	line := view.AlignRight(fmt.Sprintf("[%d]", c.Ref), 4, tail) + " " + view.Fit(view.Line(c.SourceID), 22, tail) + " " + at
	if e.Session.Late(state.ViewRow{Ref: c.Ref}) != "" {
		line += " " + e.Theme.Warn.On(human.Stale(e.Session.ServiceNow().Sub(c.FetchedAt)))
	}
	if room := width - view.Width(line) - 2; room > 12 {
		line += "  " + e.Theme.Dim.On(view.Cut(view.Line(c.URL), room, tail))
	}
	return line
}
