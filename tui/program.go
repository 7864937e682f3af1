package tui

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/contextd/contextd/tui/view"
)

// twoPacks is the width from which on two packs stand side by side: that of two usual terminals.
const twoPacks = 2 * usualWidth

// Program is what is shown: a pack, or two side by side, each with a Model of its own. Make it with New; Run does. It is exported for
// tests, which feed it messages.
type Program struct {
	sides         []*Model // one or two, the left one first
	at            int      // side that has the focus, whose chrome and screens are shown
	wanted        string   // pack that is to stand at the right as soon as there is room, "" for none
	width, height int
}

var _ tea.Model = (*Program)(nil)

// New makes the program. ctx ends what it does in the background.
func New(ctx context.Context, c Config) *Program {
	p := &Program{wanted: c.Saved.Beside, width: usualWidth, height: usualHeight}
	if c.Recording || c.UseKey != nil || p.wanted == c.Pack {
		p.wanted = ""
	}
	p.sides = []*Model{newModel(ctx, c.withDefaults(), p)}
	return p
}

// sideMsg is a message for one side: what its commands found.
type sideMsg struct {
	of  *Model
	msg tea.Msg
}

// own makes what a command of m finds a message for m. What Bubble Tea itself reads stays as it is.
func (m *Model) own(cmd tea.Cmd) tea.Cmd {
	if cmd == nil {
		return nil
	}
	return func() tea.Msg {
		switch msg := cmd().(type) {
		case nil, sideMsg: // which is of the other side
			return msg
		case tea.BatchMsg:
			for i := range msg {
				msg[i] = m.own(msg[i])
			}
			return msg
		default:
			if reflect.TypeOf(msg).PkgPath() != reflect.TypeFor[sideMsg]().PkgPath() {
				return msg
			}
			return sideMsg{m, msg}
		}
	}
}

// front is the side that has the focus.
func (p *Program) front() *Model { return p.sides[p.at] }

// Init begins with the first side, and with seconds.
func (p *Program) Init() tea.Cmd { return tea.Batch(nextTick(), p.front().own(p.front().Init())) }

// Update gives a message to the side that it is for.
func (p *Program) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case sideMsg:
		if !slices.Contains(p.sides, msg.of) { // it is shown no more
			return p, nil
		}
		return p, msg.of.own(msg.of.Update(msg.msg))
	case tea.WindowSizeMsg:
		return p, p.resize(msg)
	case tickMsg:
		return p, tea.Batch(p.all(msg), nextTick(), p.front().own(p.front().everyMinute()))
	case tea.KeyMsg:
		return p, p.pressEach(msg)
	case tea.MouseMsg:
		return p, p.mouse(msg)
	}
	return p, p.front().own(p.front().Update(msg))
}

func (p *Program) all(msg tea.Msg) tea.Cmd {
	var cmds []tea.Cmd
	for _, m := range p.sides {
		cmds = append(cmds, m.own(m.Update(msg)))
	}
	return tea.Batch(cmds...)
}

// resize takes the size of the terminal. One that does not know its own, as tmux before it is attached, is taken for a usual one.
func (p *Program) resize(msg tea.WindowSizeMsg) tea.Cmd {
	if msg.Width <= 0 || msg.Height <= 0 {
		msg.Width, msg.Height = usualWidth, usualHeight
	}
	p.width, p.height = msg.Width, msg.Height
	cmd := p.all(msg)
	switch two := len(p.sides) == 2; {
	case p.width < twoPacks && two:
		p.front().notify(p.narrow() + "; " + view.KeyLabel(p.front().env.Keys.Side) + " shows " + p.other().env.Session.Pack)
	case p.width < twoPacks && p.wanted != "":
		p.front().notify(p.narrow())
	case p.wanted != "" && !two:
		return tea.Batch(cmd, p.open(p.wanted))
	}
	return cmd
}

// narrow says why one pack is shown.
func (p *Program) narrow() string {
	return fmt.Sprintf("two packs side by side need %d columns, this terminal has %d", twoPacks, p.width)
}

// pressEach presses keys one by one: what is typed fast, or comes over a slow line, comes as one message. What is pasted stays in one
// piece.
func (p *Program) pressEach(msg tea.KeyMsg) tea.Cmd {
	if msg.Paste || len(msg.Runes) < 2 {
		return p.front().own(p.front().Update(msg))
	}
	var cmds []tea.Cmd
	for _, r := range msg.Runes {
		cmds = append(cmds, p.pressEach(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{r}, Alt: msg.Alt}))
	}
	return tea.Batch(cmds...)
}

// split reports whether two packs are drawn side by side: on the screen Live, where there is room.
func (p *Program) split() bool {
	return len(p.sides) == 2 && p.width >= twoPacks && p.front().at == 0 && !p.front().tooSmall()
}

// View draws the sides within the chrome of that in front.
func (p *Program) View() string {
	f := p.front()
	defer f.noteCrash()
	if !p.split() {
		return f.frame(f.strip(f.width), f.middle(f.width, f.height-f.top()-chromeBottom))
	}
	height := p.height - chromeTop - chromeBottom
	left, right := p.sides[0].side(p.width/2, height), p.sides[1].side(p.width-p.width/2, height)
	return f.frame("", view.Beside(left, right))
}

// mouse gives a click or a turn of the wheel to the side at its place. A click gives it the focus.
func (p *Program) mouse(msg tea.MouseMsg) tea.Cmd {
	m := p.front()
	if !p.split() || m.covered() || msg.Y < chromeTop || msg.Y >= p.height-chromeBottom {
		return m.own(m.Update(msg))
	}
	m = p.sides[0]
	if half := p.width / 2; msg.X >= half {
		m, msg.X = p.sides[1], msg.X-half
	}
	var turned tea.Cmd
	if m != p.front() && msg.Button == tea.MouseButtonLeft && msg.Action == tea.MouseActionPress {
		turned = p.turn()
	}
	if msg.Y == chromeTop { // the heading of the side, which a whole screen has not
		return turned
	}
	msg.Y--
	return tea.Batch(turned, m.own(m.Update(msg)))
}

// other is the side without the focus, nil where there is one side.
func (p *Program) other() *Model {
	if len(p.sides) < 2 {
		return nil
	}
	return p.sides[1-p.at]
}

// turn gives the focus to the other side, on the same screen.
func (p *Program) turn() tea.Cmd {
	was, now := p.front(), p.other()
	if now == nil {
		was.notify(view.KeyLabel(was.env.Keys.Beside) + " shows a second pack beside this one")
		return nil
	}
	at := was.at
	p.at, was.at = 1-p.at, 0
	was.env.Away, now.env.Away = true, false
	was.drawn.lines, now.drawn.lines = nil, nil
	now.setTheme(was.theme)
	return tea.Batch(now.own(now.show(at)), tea.SetWindowTitle("ctx "+now.env.Session.Pack))
}

// beside asks which pack is to stand beside the one that is shown, or has the one without the focus shown no more.
func (p *Program) beside() tea.Cmd {
	f, gone := p.front(), p.other()
	switch {
	case gone != nil && f.env.Session.Purchase != "":
		f.notify("a purchase waits for its payment; both packs stay until it ends")
	case gone != nil:
		gone.remember()
		gone.feed.close()
		p.sides, p.at, p.wanted = []*Model{f}, 0, ""
		f.notify(gone.env.Session.Pack + " is shown no more")
	case p.possible():
		f.palette = newPalette("beside ")
	}
	return nil
}

// possible reports whether two packs can be shown, and says why not.
func (p *Program) possible() bool {
	switch f := p.front(); {
	case f.cfg.Recording:
		f.notify("a recording has one pack")
	case p.width < twoPacks:
		f.notify(p.narrow())
	default:
		return true
	}
	return false
}

// open shows a pack at the right, on a stream of its own.
func (p *Program) open(pack string) tea.Cmd {
	f := p.front()
	switch other := p.other(); {
	case !p.possible() || pack == "":
		return nil
	case pack == f.env.Session.Pack:
		f.notify(pack + " is shown already")
		return nil
	case other != nil:
		return tea.Batch(p.turn(), other.own(other.switchPack(pack)))
	}
	c := f.cfg
	c.Pack, c.Saved = pack, f.saved()
	m := newModel(f.env.Ctx, c, p)
	m.env.Session.Shared, m.env.Packs, m.env.Away = f.env.Session.Shared, f.env.Packs, true
	m.packs, m.alerts.list, m.feed.done = f.packs, f.alerts.list, f.feed.done
	m.width, m.height = p.width, p.height
	m.setTheme(f.theme)
	p.sides, p.wanted = append(p.sides, m), ""
	f.notify(pack + " stands beside it" + m.env.Session.Cost(1))
	return m.own(m.feed.open(pack))
}

// Saved is what the user chose so far.
func (p *Program) Saved() Saved {
	k := p.front().saved()
	k.Beside = p.wanted
	if len(p.sides) == 2 {
		p.other().remember()
		k.Beside = p.sides[1].env.Session.Pack
	}
	return k
}
