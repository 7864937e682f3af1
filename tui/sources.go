package tui

import (
	"fmt"
	"time"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/tui/view"
)

// Sources is the screen of the pack's sources and how they do.
type Sources struct {
	env    *Env
	list   view.List
	filter view.Filter
}

// source is a row: what the state says of it, what the brief's citations say, or both.
type source struct {
	ref    int
	id     string
	url    string
	status *api.SourceStatus // nil where the state does not say
	at     *time.Time
}

// NewSources makes the screen.
func NewSources(env *Env) *Sources {
	return &Sources{env: env, filter: view.NewFilter(env.Keys.Filter)}
}

// Enter does nothing.
func (s *Sources) Enter() tea.Cmd { return nil }

// Typing reports whether a filter is being typed.
func (s *Sources) Typing() bool { return s.filter.Typing() }

// Bindings are the keys of the screen.
func (s *Sources) Bindings() []key.Binding {
	k := s.env.Keys
	return []key.Binding{k.Open, k.Cite, k.Copy, k.Filter}
}

// Update moves in the list and acts on the row at the cursor.
func (s *Sources) Update(msg tea.Msg) tea.Cmd {
	if s.filter.Update(msg) {
		return nil
	}
	rows := s.rows()
	if click, ok := msg.(ClickMsg); ok {
		s.list.Click(click.Y-2, len(rows))
		return nil
	}
	if s.env.Move(&s.list, len(rows), msg) || s.list.Cursor >= len(rows) {
		return nil
	}
	pressed, ok := msg.(tea.KeyMsg)
	row, k := rows[s.list.Cursor], s.env.Keys
	switch {
	case !ok:
	case key.Matches(pressed, k.Open, k.Enter):
		return s.env.OpenCite(row.ref)
	case key.Matches(pressed, k.Cite):
		return s.env.CopyCite(row.ref)
	case key.Matches(pressed, k.Copy):
		return CopyText(view.Line(row.id), "the source's name")
	}
	return nil
}

func (s *Sources) rows() []source {
	var rows []source
	if all := s.env.Session.Sources; len(all) > 0 {
		for i := range all {
			st := &all[i]
			row := source{ref: st.Ref, id: st.ID, status: st, at: st.FetchedAt}
			if cite := s.env.Session.Citation(st.Ref); cite != nil {
				row.url = cite.URL
			}
			rows = append(rows, row)
		}
	} else if b := s.env.Session.Brief; b != nil {
		for i, c := range b.Citations {
			rows = append(rows, source{ref: c.Ref, id: c.SourceID, url: c.URL, at: &b.Citations[i].FetchedAt})
		}
	}
	var kept []source
	for _, r := range rows {
		if view.Matches(s.filter.Value(), r.id+" "+r.word()) {
			kept = append(kept, r)
		}
	}
	return kept
}

func (r source) word() string {
	if r.status == nil {
		return "-"
	}
	return string(r.status.Status)
}

// View draws the list.
func (s *Sources) View(width, height int) []string {
	t, rows := *s.env.Theme, s.rows()
	box := view.Box{Title: "Sources", Note: s.filter.Note(), Focus: true}
	if len(rows) == 0 {
		why := " No state has come, and the service has not said how its sources do."
		if s.filter.Value() != "" {
			why = " No source matches the filter."
		}
		return box.Draw(t, []string{"", why}, width, height)
	}
	columns := s.columns(width - 3)
	room := height - 3 - detailHeight(height)
	body := s.list.Rows(t, len(rows), width-2, room, true, func(i int) string { return s.draw(rows[i], columns) })
	if detailHeight(height) > 0 {
		body = append(body, make([]string, room-len(body))...)
		body = append(body, s.detail(rows[s.list.Cursor], width-4)...)
	}
	box.Note = firstOf(box.Note, s.list.Place(len(rows)))
	return box.Draw(t, append([]string{view.Header(t, columns)}, body...), width, height)
}

// detailHeight is how many lines below the list tell more of the row at the cursor.
func detailHeight(height int) int {
	if height < 16 {
		return 0
	}
	return 3
}

func (s *Sources) columns(width int) []view.Column {
	c := []view.Column{{Title: "REF", Width: 4, Right: true}, {Title: "SOURCE", Width: min(max(width-36, 14), 26)},
		{Title: "STATE", Width: 8}, {Title: "ANSWERED", Width: 8, Right: true}, {Title: "ROWS", Width: 5, Right: true},
		{Title: "FAILED", Width: 6, Right: true}, {Title: "ADDRESS"}}
	if used := 4 + c[1].Width + 8 + 8 + 5 + 6 + 6; width-used > 16 {
		c[6].Width = width - used
	}
	return c
}

func (s *Sources) draw(r source, columns []view.Column) string {
	t := *s.env.Theme
	url := t.Dim.On(view.Cut(view.Line(r.url), columns[6].Width, t.Glyphs.Ellipsis))
	cells := []string{fmt.Sprintf("[%d]", r.ref), view.Line(r.id), r.word(), human.Unknown, human.Unknown, human.Unknown, url}
	if r.at != nil {
		cells[3] = human.Age(s.env.Session.ServiceNow().Sub(*r.at))
	}
	if st := r.status; st != nil {
		cells[2] = Health(s.env, st.Status)
		cells[4], cells[5] = fmt.Sprint(st.Items), fmt.Sprint(st.Failures)
	}
	return view.Row(t, columns, cells)
}

// Health is the state of a source as a glyph and a word.
func Health(e *Env, state api.SourceState) string {
	return healthStyle(*e.Theme, state).On(healthGlyph(*e.Theme, state) + " " + view.Line(string(state)))
}

// HealthMark is the state of a source as a glyph.
func HealthMark(t view.Theme, state api.SourceState) string {
	return healthStyle(t, state).On(healthGlyph(t, state))
}

func healthStyle(t view.Theme, state api.SourceState) view.Style {
	switch state {
	case api.SourceOK:
		return t.Good
	case api.SourceStale:
		return t.Warn
	}
	return t.Bad
}

func healthGlyph(t view.Theme, state api.SourceState) string {
	switch state {
	case api.SourceOK:
		return t.Glyphs.OK
	case api.SourceStale:
		return t.Glyphs.Warn
	}
	return t.Glyphs.Bad
}

func (s *Sources) detail(r source, width int) []string {
	if r.status == nil {
		return nil
	}
	t := *s.env.Theme
	why := "answers well; without an answer for " + shortSpan(time.Duration(r.status.StaleAfterSeconds)*time.Second) + " it counts as stale"
	if r.status.Error != nil {
		why = "last error: " + view.Line(*r.status.Error)
	}
	head := t.Bold.On(view.Line(r.id)) + "  " + t.Link.On(view.Line(r.url))
	return []string{"", " " + view.Cut(head, width, t.Glyphs.Ellipsis), " " + view.Cut(why, width, t.Glyphs.Ellipsis)}
}
