package tui

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/tui/session"
	"github.com/contextd/contextd/tui/view"
)

// Sizes of the terminal.
const (
	leastWidth, leastHeight = 60, 16
	usualWidth, usualHeight = 80, 24 // where the terminal does not say
	chromeTop, chromeBottom = 2, 2   // lines over and under the screen
)

const (
	toastFor      = 4 * time.Second
	historyScreen = 3 // counted from 0
)

// Model is a pack that is shown: its screens and what is around them.
type Model struct {
	program *Program
	cfg     Config
	env     *Env
	theme   view.Theme
	feed    *feed
	clip    Clipboard
	screens [8]Screen
	at      int // screen that is shown

	width, height int
	help          int // page of the help that is shown, the first of which is 1; 0 while it is closed
	helpPages     int
	palette       *palette   // nil while it is closed
	alertForm     *alertForm // nil while it is closed
	alerts        alerts
	welcome       *welcome      // nil where there is a key
	confirmation  *confirmation // nil while nothing is asked
	toast         string
	toastAt       time.Time
	problem       *session.Problem // shown until it is sent away
	notice        []string         // the last error in full, nil while it is not asked for
	packs         []string         // that the service has, as far as they are known
	proof         proof
	drawn         drawn
	watchOf       string    // pack of which the watchlist was asked for
	watchAt       time.Time // when it was asked for last
	trendsOf      string    // pack whose past was asked for
	crashed       string    // file that tells of a crash
	goingTo       string    // profile that is being asked for, "" for none
	next          *Config   // to go on with after the end, nil for nothing
}

// drawn is the screen as it was drawn last. While nothing comes but seconds, it stands for some of them: its ages need no more.
// A purchase counts down every second.
type drawn struct {
	lines []string // nil when something has come since
	width int
	at    time.Time
}

const drawnFor = 5 * time.Second

type tickMsg struct{}

func newModel(ctx context.Context, c Config, p *Program) *Model {
	m := &Model{program: p, cfg: c, alerts: alerts{list: &[]standing{}},
		theme: view.NewTheme(c.Theme, c.Depth, c.ASCII), feed: newFeed(ctx, c.Stream),
		clip: Clipboard{Terminal: c.Out, Env: c.Env}, width: usualWidth, height: usualHeight}
	m.env = &Env{Ctx: ctx, Session: session.New(c.Pack, c.Now(), c.SearchCap), Theme: &m.theme, Charts: c.Saved.charts(),
		Packs: maps.Clone(c.Saved.Packs), Keys: *c.Keys,
		Service: c.Service, Account: c.Account, SignIn: c.SignIn, Seller: c.Seller, Pay: c.Pay, KeyID: c.KeyID, ReadOnly: c.ReadOnly,
		Watchlist: c.Watchlist}
	if m.env.Packs == nil {
		m.env.Packs = map[string]SavedPanes{}
	}
	m.env.Session.Mouse, m.env.Session.Recorded = !c.mouseOff, c.Recording
	if c.UseKey != nil {
		m.welcome = newWelcome()
		m.env.Session.Idle()
	}
	e := m.env
	m.screens = [8]Screen{NewLive(e), NewBrief(e), NewLookup(e), NewHistory(e), NewSources(e),
		NewKeys(e), NewCredits(e), NewLog(e)}
	return m
}

// Init opens the stream and asks for the balance.
func (m *Model) Init() tea.Cmd {
	if m.welcome != nil {
		return tea.SetWindowTitle("ctx")
	}
	return tea.Batch(m.feed.open(m.cfg.Pack), tea.SetWindowTitle("ctx "+m.cfg.Pack), m.askBalance(), m.askPacks())
}

// learn takes what was asked for in the background.
func (m *Model) learn(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case TrendMsg:
		return m.takeTrend(msg)
	case packsMsg:
		m.packs = msg
	case provenMsg:
		m.proved(msg)
	case BalanceMsg:
		m.env.Session.Balance, m.env.Session.Foreign = &msg.Credits, msg.Foreign
	}
	return nil
}

type packsMsg []string

// askPacks asks which packs there are, for the palette.
func (m *Model) askPacks() tea.Cmd {
	if m.cfg.Packs == nil {
		return nil
	}
	list, ctx := m.cfg.Packs, m.env.Ctx
	return func() tea.Msg { return packsMsg(list(ctx)) }
}

func nextTick() tea.Cmd { return tea.Tick(time.Second, func(time.Time) tea.Msg { return tickMsg{} }) }

// Update applies a message. It only decides whom the message is for.
func (m *Model) Update(msg tea.Msg) (cmd tea.Cmd) {
	defer m.noteCrash()
	m.env.Session.Now = m.cfg.Now()
	if _, second := msg.(tickMsg); !second || m.env.Session.Purchase != "" || m.env.Session.Now.Sub(m.drawn.at) >= drawnFor {
		m.drawn.lines = nil
	}
	switch msg := msg.(type) {
	case tickMsg:
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case tea.KeyMsg:
		cmd = m.press(msg)
	case tea.MouseMsg:
		cmd = m.mouse(msg)
	case arrivedMsg:
		cmd = tea.Batch(m.take(msg), m.prove(), m.screens[0].Update(msg))
	case CopyMsg:
		cmd = m.copy(msg)
	case OpenMsg:
		cmd = m.browse(msg.URL)
	case NoticeMsg:
		m.notify(msg.Text)
	case FailMsg:
		m.failed(msg.Err)
	case GotoMsg:
		cmd = m.show(msg.At)
	case PastMsg:
		cmd = tea.Batch(m.show(historyScreen), m.screens[historyScreen].Update(msg))
	case AlertMsg:
		m.alertForm = newAlertForm(msg.Row, m.env.Session.Pack)
	case ConfirmMsg:
		m.confirmation = newConfirmation(msg)
	case BriefMsg:
		m.briefed(msg)
	case goOverMsg, profileMsg, AgainMsg, signInMsg:
		cmd = m.updateProfile(msg)
	case packsMsg, BalanceMsg, TrendMsg, provenMsg:
		cmd = m.learn(msg)
	default:
		cmd = m.broadcast(msg)
	}
	return cmd
}

// broadcast gives a message to all screens: each knows its own. The watchlist is of none.
func (m *Model) broadcast(msg tea.Msg) tea.Cmd {
	if found, ok := msg.(foundMsg); ok && found.watch {
		m.takeWatch(found)
		return nil
	}
	var cmds []tea.Cmd
	for _, s := range m.screens {
		cmds = append(cmds, s.Update(msg))
	}
	return tea.Batch(cmds...)
}

func (m *Model) take(msg arrivedMsg) tea.Cmd {
	var told []tea.Cmd
	for _, item := range msg.items {
		switch item := item.(type) {
		case sdk.Event:
			told = append(told, m.event(item)...)
		case sdk.Connection:
			m.env.Session.Connection(item, Explain(m.env.Keys, item.Err))
			m.learnReasons(item.Err)
			m.env.Keys.Brief.SetHelp(m.env.Keys.Brief.Help().Key, "new brief"+m.env.Session.Cost(1))
		case ended:
			m.end(item.err)
			return nil
		}
	}
	return tea.Batch(append(told, m.firstTrends(), m.laterWatch(), m.feed.again(msg.serial))...)
}

// event applies an event of the stream, and tells what of it must not be overlooked.
func (m *Model) event(e sdk.Event) []tea.Cmd {
	s := m.env.Session
	before, known := s.Flags, s.View != nil
	s.Event(e)
	if e.Type != api.EventPulse && e.Type != api.EventDelta || s.Recorded {
		return nil
	}
	told := m.watch(e)
	if known {
		for _, f := range raisedCritical(before, s.Flags) {
			told = append(told, m.ring("critical: "+view.Line(f.Message)))
		}
	}
	return told
}

// learnReasons takes from the refusal of a service without a state why its sources have none.
func (m *Model) learnReasons(err error) {
	if e, ok := errors.AsType[*api.Error](err); ok && m.env.Session.State == nil && len(e.SourceStatus) > 0 {
		m.env.Session.Sources = e.SourceStatus
	}
}

// end takes the end of the stream: a refusal that will not pass, or nil at the end of a recording.
func (m *Model) end(err error) {
	if err == nil {
		m.notify("the recording is at its end; " + view.KeyLabel(m.env.Keys.Quit) + " quits")
		return
	}
	problem := Explain(m.env.Keys, err)
	m.env.Session.Ended(problem)
	m.program.front().problem = &problem
}

func (m *Model) briefed(msg BriefMsg) {
	s := m.env.Session
	if msg.Pack == s.Pack {
		s.Brief = msg.Brief
	}
	s.Left = msg.Left
	s.Pay(api.OpBrief, msg.Brief.Freshness)
}

func (m *Model) quit() tea.Cmd { return m.leave("Quit while a purchase waits?", tea.Quit) }

// leave does what ends this session, after a question while a purchase waits for its payment.
func (m *Model) leave(question string, do tea.Cmd) tea.Cmd {
	if m.env.Session.Purchase == "" {
		return do
	}
	m.confirmation = newConfirmation(ConfirmMsg{Question: question, Lines: []string{m.env.Session.Purchase,
		"What you transfer until then is credited without this screen.", "ctx credits purchases shows how it stands."}, Yes: do})
	return nil
}

// reconnect opens the stream again.
func (m *Model) reconnect() tea.Cmd {
	m.env.Session.Opening()
	m.problem = nil
	m.notify("connecting" + m.env.Session.Cost(1))
	return m.feed.open(m.env.Session.Pack)
}

func (m *Model) switchPack(pack string) tea.Cmd {
	pack = strings.TrimSpace(pack)
	if pack == "" || pack == m.env.Session.Pack {
		return nil
	}
	if other := m.program.other(); other != nil && other.env.Session.Pack == pack { // it is shown already
		return m.program.turn()
	}
	m.env.Session.Switch(pack)
	m.problem, m.alerts.states = nil, nil
	return tea.Batch(m.broadcast(SwitchedMsg{}), m.feed.open(pack), tea.SetWindowTitle("ctx "+pack))
}

// past is what was known at the minute of the past that is shown, nil while now is.
func (m *Model) past() *session.Session {
	if h, ok := m.screens[m.at].(*History); ok {
		return h.Past()
	}
	return nil
}

// seen is what is known of the moment that is shown.
func (m *Model) seen() *session.Session {
	if past := m.past(); past != nil {
		return past
	}
	return m.env.Session
}

func (m *Model) show(at int) tea.Cmd {
	if at == m.at {
		return nil
	}
	m.at = at
	return m.screens[at].Enter()
}

// notify shows a line for some seconds, with the pack before it that another one is shown in front of.
func (m *Model) notify(line string) {
	front := m.program.front()
	if front != m {
		line = m.env.Session.Pack + ": " + line
	}
	front.toast, front.toastAt = line, m.env.Session.Now
}

// fail shows a problem until it is sent away.
func (m *Model) fail(p session.Problem) {
	m.program.front().problem = &p
	m.env.Session.Failed(p)
}

// everyMinute asks for the balance, if there is an account.
func (m *Model) everyMinute() tea.Cmd {
	if m.env.Session.Now.Second() != 0 || m.env.Session.Balance == nil {
		return nil
	}
	return m.askBalance()
}

// askBalance asks for the balance. That it cannot be had is told on the screen Credits alone.
func (m *Model) askBalance() tea.Cmd {
	account, ctx, id := m.cfg.Account, m.env.Ctx, m.cfg.KeyID
	if account == nil {
		return nil
	}
	return func() tea.Msg {
		keys, err := account.Keys(ctx)
		if err != nil {
			return nil
		}
		foreign := id != "" && !slices.ContainsFunc(keys, func(k api.APIKeyRow) bool { return k.KeyID == id })
		b, err := account.Balance(ctx, "")
		if err != nil {
			return nil
		}
		return BalanceMsg{Credits: b.Balance, Foreign: foreign}
	}
}
