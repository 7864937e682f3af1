package tui

import (
	"fmt"
	"time"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/tui/session"
	"github.com/contextd/contextd/tui/view"
)

// Keys is the screen of the owner's API keys.
type Keys struct {
	env     *Env
	rows    []api.APIKeyRow
	loaded  bool
	loading bool
	list    view.List
	filter  view.Filter
	name    view.Input     // of the key that is being made
	issued  *api.IssuedKey // shown once, nil when it was sent away
	copied  bool           // the issued key is on the clipboard
}

type keysMsg struct{ rows []api.APIKeyRow }

type (
	// issuedMsg is a key that was made.
	issuedMsg struct{ key *api.IssuedKey }
	// revokedMsg is a key that is gone.
	revokedMsg struct {
		id       string
		stranded int64
	}
)

// NewKeys makes the screen.
func NewKeys(env *Env) *Keys {
	return &Keys{env: env, filter: view.NewFilter(env.Keys.Filter), name: view.NewInput("a name, such as my-agent", api.MaxKeyName)}
}

// Enter asks for the keys.
func (s *Keys) Enter() tea.Cmd { return s.load() }

func (s *Keys) load() tea.Cmd {
	account, ctx := s.env.Account, s.env.Ctx
	if account == nil || s.loading {
		return nil
	}
	s.loading = true
	return func() tea.Msg {
		rows, err := account.Keys(ctx)
		if err != nil {
			return tea.BatchMsg{Send(Fail(err)), Send(keysMsg{})}
		}
		return keysMsg{append(make([]api.APIKeyRow, 0, len(rows)), rows...)}
	}
}

// Typing reports whether a sign-in, a name or a filter is being typed, or the new key waits to be taken.
func (s *Keys) Typing() bool {
	return s.env.form().typing() || s.filter.Typing() || s.name.Focused() || s.issued != nil
}

// Bindings are the keys of the screen.
func (s *Keys) Bindings() []key.Binding {
	k := s.env.Keys
	switch {
	case s.env.Account == nil:
		return s.env.form().bindings()
	case s.issued != nil:
		return []key.Binding{view.KeyGroup(view.KeyLabel(k.Copy), "copy the key"), view.KeyGroup("esc", "I have it")}
	case s.name.Focused():
		return []key.Binding{view.KeyGroup("enter", "make the key"), view.KeyGroup("esc", "do not")}
	case s.env.ReadOnly:
		return []key.Binding{k.Copy, k.Filter, k.Reload}
	}
	return []key.Binding{k.NewKey, k.Revoke, k.Copy, k.Filter, k.Reload}
}

// Update applies keys and answers.
func (s *Keys) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case keysMsg:
		s.loading = false
		if msg.rows != nil {
			s.rows, s.loaded = msg.rows, true
		}
		return nil
	case issuedMsg:
		s.issued, s.copied = msg.key, false
		s.env.Session.Log.Add(s.env.Session.Now, session.Info, "made key "+msg.key.KeyID+" named "+msg.key.Name)
		return s.load()
	case revokedMsg:
		said := fmt.Sprintf("revoked key %s; %s credits stay on its record", msg.id, human.Count(msg.stranded))
		s.env.Session.Log.Add(s.env.Session.Now, session.Info, said)
		return tea.Batch(Notify("revoked "+msg.id), s.load())
	case tea.KeyMsg:
		return s.press(msg)
	case ClickMsg:
		if s.issued == nil && !s.name.Focused() {
			s.list.Click(msg.Y-2, len(s.shown()))
		}
	case WheelMsg:
		s.env.Move(&s.list, len(s.shown()), msg)
	}
	return nil
}

func (s *Keys) press(msg tea.KeyMsg) tea.Cmd {
	switch {
	case s.env.Account == nil:
		return s.env.form().press(msg)
	case s.issued != nil:
		return s.pressIssued(msg)
	case s.name.Focused():
		return s.pressName(msg)
	case s.filter.Update(msg):
		return nil
	}
	rows, k := s.shown(), s.env.Keys
	switch {
	case s.env.Move(&s.list, len(rows), msg):
	case key.Matches(msg, k.Reload):
		return s.load()
	case key.Matches(msg, k.NewKey, k.Revoke) && s.env.ReadOnly:
		return Notify("keys are neither made nor revoked: this was started with --read-only")
	case key.Matches(msg, k.NewKey):
		s.name.Set("")
		s.name.Focus()
	case s.list.Cursor >= len(rows):
	case key.Matches(msg, k.Copy):
		return CopyText(rows[s.list.Cursor].KeyID, "the key's id")
	case key.Matches(msg, k.Revoke):
		return s.askRevoke(rows[s.list.Cursor])
	}
	return nil
}

func (s *Keys) pressIssued(msg tea.KeyMsg) tea.Cmd {
	switch {
	case key.Matches(msg, s.env.Keys.Copy):
		s.copied = true
		return CopyText(s.issued.Key, "the new key")
	case msg.Type == tea.KeyEsc:
		s.issued = nil
	}
	return nil
}

func (s *Keys) pressName(msg tea.KeyMsg) tea.Cmd {
	switch msg.Type {
	case tea.KeyEsc:
		s.name.Blur()
	case tea.KeyEnter:
		name := s.name.Value()
		if name == "" {
			return nil
		}
		s.name.Blur()
		account, ctx := s.env.Account, s.env.Ctx
		return func() tea.Msg {
			k, err := account.CreateKey(ctx, name, "")
			if err != nil {
				return Fail(err)
			}
			return issuedMsg{k}
		}
	default:
		s.name.Update(msg)
	}
	return nil
}

func (s *Keys) askRevoke(row api.APIKeyRow) tea.Cmd {
	if row.RevokedAt != nil {
		return Notify("that key is revoked already")
	}
	lines := []string{
		"At once and for good: its callers are refused from then on.",
		"Credits on its record cannot be used any more.",
		"Last used: " + s.used(row),
	}
	if row.KeyID == s.env.KeyID {
		lines = append(lines, "This is the key that this screen works with.")
	}
	account, ctx := s.env.Account, s.env.Ctx
	name := view.Line(row.Name)
	if name == "" {
		name = row.KeyID
	}
	return Send(ConfirmMsg{Question: "Revoke " + row.KeyID + ", named " + name + "?", Lines: lines, Typed: name, Yes: func() tea.Msg {
		r, err := account.RevokeKey(ctx, row.KeyID)
		if err != nil {
			return Fail(err)
		}
		return revokedMsg{row.KeyID, r.StrandedCredits}
	}})
}

func (s *Keys) shown() []api.APIKeyRow {
	var rows []api.APIKeyRow
	for _, r := range s.rows {
		if view.Matches(s.filter.Value(), r.Name+" "+r.KeyID+" "+string(r.Tier)) {
			rows = append(rows, r)
		}
	}
	return rows
}

func (s *Keys) used(r api.APIKeyRow) string {
	if r.LastUsedAt == nil {
		return "never"
	}
	return human.Age(s.env.Session.ServiceNow().Sub(*r.LastUsedAt)) + " ago"
}

// View draws the list, or the new key over it.
func (s *Keys) View(width, height int) []string {
	t := *s.env.Theme
	note := s.filter.Note()
	if note == "" {
		note = s.list.Place(len(s.shown()))
	}
	box := view.Box{Title: "API keys", Note: note, Focus: true}
	if s.env.Account == nil {
		return box.Draw(t, s.env.form().lines("Keys", width), width, height)
	}
	out := box.Draw(t, s.lines(width-2, height-2), width, height)
	switch {
	case s.issued != nil:
		return Overlay(t, out, width, "New key: shown this once", s.issuedLines())
	case s.name.Focused():
		return Overlay(t, out, width, "New key", []string{"", "Name: " + s.name.View(t, 40), "", "It gets the tier of your account."})
	}
	return out
}

func (s *Keys) lines(width, height int) []string {
	t, rows := *s.env.Theme, s.shown()
	switch {
	case !s.loaded && s.loading:
		return []string{"", " Loading."}
	case !s.loaded:
		return []string{"", " The keys could not be loaded; " + view.KeyLabel(s.env.Keys.Reload) + " tries again."}
	case len(s.rows) == 0:
		return []string{"", " No key yet; " + view.KeyLabel(s.env.Keys.NewKey) + " makes one."}
	case len(rows) == 0:
		return []string{"", " No key matches the filter."}
	}
	columns := []view.Column{{Title: "KEY", Width: api.KeyIDLength}, {Title: "NAME"}, {Title: "TIER", Width: 10},
		{Title: "LAST USED", Width: 10}, {Title: "STATE", Width: 20}}
	if width < 70 {
		columns[2].Width = -1
	}
	columns[1].Width = min(max(width-1-16-10-20-columns[2].Width-4, 6), 32)
	list := s.list.Rows(t, len(rows), width, height-1, true, func(i int) string {
		r := rows[i]
		state := t.Good.On(t.Glyphs.OK + " active")
		switch {
		case r.RevokedAt != nil:
			state = t.Dim.On(t.Glyphs.Bad + " revoked " + r.RevokedAt.In(s.env.Session.Now.Location()).Format(time.DateOnly))
		case r.KeyID == s.env.KeyID:
			state = t.Good.On(t.Glyphs.OK + " active, in use")
		case r.DailyCredits != nil:
			state = t.Good.On(t.Glyphs.OK + " " + human.Count(*r.DailyCredits) + " a day")
		}
		return view.Row(t, columns, []string{view.Line(r.KeyID), view.Line(r.Name), string(r.Tier), s.used(r), state})
	})
	return append([]string{view.Header(t, columns)}, list...)
}

func (s *Keys) issuedLines() []string {
	t := *s.env.Theme
	note := view.KeyLabel(s.env.Keys.Copy) + " copies it. The service keeps only its hash: nobody can show it again."
	if s.copied {
		note = t.Good.On(t.Glyphs.OK) + " copied. esc when you have it."
	}
	of := "named " + view.Line(s.issued.Name) + ", tier " + view.Line(string(s.issued.Tier))
	return []string{"", t.Bold.On(view.Line(s.issued.Key)), "", of, "", note}
}
