package tui

import (
	"errors"
	"time"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/tui/session"
	"github.com/contextd/contextd/tui/view"
)

// signIn is the form by which an owner signs in, on the screens that are theirs.
type signIn struct {
	env    *Env
	step   signInStep
	email  view.Input
	secret view.Input // a link or code, or a passphrase: only its length is shown
	until  time.Time  // when the mailed link ends
	busy   bool       // the service was asked and has not answered
}

type signInStep int

const (
	signedOut signInStep = iota
	mailing
	pasting
	unlocking // the wallet
)

// signInMsg is what came of a step.
type signInMsg struct {
	until time.Time // when the mailed link ends
	done  bool      // the session is kept
	err   error
}

// form is the sign-in of the screens without an account.
func (e *Env) form() *signIn {
	if e.signIn == nil {
		const longestEmail, longestSecret = 254, 512
		e.signIn = &signIn{env: e, email: view.NewInput("you@example.com", longestEmail), secret: view.NewInput("", longestSecret)}
	}
	return e.signIn
}

func (s *signIn) typing() bool { return s.env.Account == nil && s.step != signedOut }

func (s *signIn) to(step signInStep) {
	s.step = step
	s.secret.Set("")
	s.email.Blur()
	s.secret.Blur()
	switch step {
	case mailing:
		s.email.Focus()
	case pasting, unlocking:
		s.secret.Focus()
	}
}

func (s *signIn) bindings() []key.Binding {
	back, k := view.KeyGroup("esc", "back"), s.env.Keys
	switch {
	case s.step == mailing:
		return []key.Binding{view.KeyGroup("enter", "mail the link"), back}
	case s.step != signedOut:
		return []key.Binding{view.KeyGroup("enter", "sign in"), back}
	}
	elsewhere := view.KeyGroup(view.KeyLabel(k.Reload), "signed in elsewhere")
	switch by := s.env.SignIn; {
	case by == nil:
		return []key.Binding{elsewhere}
	case by.HasWallet():
		return []key.Binding{view.KeyGroup("enter", "sign in by mail"), view.KeyGroup(view.KeyLabel(k.Wallet), "by wallet"), elsewhere}
	}
	return []key.Binding{view.KeyGroup("enter", "sign in by mail"), elsewhere}
}

func (s *signIn) press(msg tea.KeyMsg) tea.Cmd {
	k, by := s.env.Keys, s.env.SignIn
	switch {
	case s.step != signedOut:
		return s.typed(msg)
	case key.Matches(msg, k.Reload):
		return Send(AgainMsg{})
	case by == nil || s.busy:
	case msg.Type == tea.KeyEnter:
		s.to(mailing)
	case key.Matches(msg, k.Wallet) && by.HasWallet():
		s.to(unlocking)
	}
	return nil
}

func (s *signIn) typed(msg tea.KeyMsg) tea.Cmd {
	switch {
	case msg.Type == tea.KeyEsc && s.step == pasting:
		s.to(mailing)
	case msg.Type == tea.KeyEsc:
		s.to(signedOut)
	case s.busy:
	case msg.Type == tea.KeyEnter:
		return s.send()
	case s.step == mailing:
		s.email.Update(msg)
	default:
		s.secret.Update(msg)
	}
	return nil
}

// send has the service do what the step is for.
func (s *signIn) send() tea.Cmd {
	by, ctx, email, secret := s.env.SignIn, s.env.Ctx, s.email.Value(), s.secret.Value()
	switch s.step {
	case mailing:
		if email == "" {
			return nil
		}
		s.busy = true
		return func() tea.Msg {
			until, err := by.SendLink(ctx, email)
			return signInMsg{until: until, err: err}
		}
	case pasting:
		if secret == "" {
			return nil
		}
		s.busy = true
		return func() tea.Msg { return signInMsg{done: true, err: by.ByLink(ctx, secret)} }
	}
	s.busy = true
	return func() tea.Msg { return signInMsg{done: true, err: by.ByWallet(ctx, secret)} }
}

func (s *signIn) take(msg signInMsg) tea.Cmd {
	s.busy = false
	s.secret.Set("")
	switch {
	case msg.err != nil:
		return Send(Fail(msg.err))
	case msg.done:
		s.to(signedOut)
		s.env.Session.Log.Add(s.env.Session.Now, session.Info, "signed in")
		return Send(AgainMsg{})
	}
	s.until = msg.until
	if s.step == mailing {
		s.to(pasting)
	}
	return nil
}

// lines say how to sign in. What is of an account is named by what.
func (s *signIn) lines(what string, width int) []string {
	t, k := *s.env.Theme, s.env.Keys
	lines := []string{""}
	say := func(text string) {
		for _, line := range view.Wrap(text, width-4) {
			lines = append(lines, " "+line)
		}
	}
	line := func(name, value string) { lines = append(lines, "", " "+name+" "+value) }
	hide := func() string { return view.Cut(hidden(t, s.secret.Value(), 0), max(width-24, 8), "") + t.Flash.On("_") }
	switch s.step {
	case mailing:
		say("The service mails you a link to sign in with.")
		line("Mail address:", s.email.View(t, max(width-20, 8)))
	case pasting:
		say("A link was mailed to " + view.Line(s.email.Value()) + ". It works once, until " +
			s.until.In(s.env.Session.Now.Location()).Format(time.TimeOnly) + ".")
		say("Paste the link, or the code that its page shows. It is not shown here.")
		line("Link or code:", hide())
	case unlocking:
		say("The wallet signs a message, which moves nothing. With an empty passphrase, that of the environment is taken.")
		line("Passphrase:", hide())
	default:
		say(what + " belong to an account, and nobody is signed in here.")
		if s.env.SignIn == nil {
			lines = append(lines, "", " Sign in, in another terminal:", "", "   ctx login --email you@example.com")
		} else {
			line(t.Key.On("enter"), "signs in by mail")
			if s.env.SignIn.HasWallet() {
				line(t.Key.On(view.KeyLabel(k.Wallet)), "signs in with your wallet")
			}
		}
		lines = append(lines, "")
		say(t.Key.On(view.KeyLabel(k.Reload)) + " looks whether you have signed in elsewhere since. It costs nothing: " +
			"the stream stays open.")
	}
	if s.busy {
		lines = append(lines, "", " "+t.Glyphs.Retry+" asking the service")
	}
	return lines
}

// failed shows an error. Who is not signed in any more can sign in again where the account was.
func (m *Model) failed(err error) {
	p := Explain(m.env.Keys, err)
	if m.cfg.SignIn != nil && (errors.Is(err, sdk.ErrMissingSession) || errors.Is(err, sdk.ErrInvalidSession)) {
		p.Next = "esc, and " + view.KeyLabel(m.env.Keys.Tab[5]) + " signs in again"
		m.owner(Config{})
	}
	m.fail(p)
}

// owner has who is signed in by c be the owner, on both sides. The streams stay open.
func (m *Model) owner(c Config) {
	for _, side := range m.program.sides {
		side.cfg.Account, side.cfg.Seller, side.cfg.Pay = c.Account, c.Seller, c.Pay
		side.env.Account, side.env.Seller, side.env.Pay = c.Account, c.Seller, c.Pay
	}
}

// takeOwner takes who has signed in since.
func (m *Model) takeOwner(c Config) tea.Cmd {
	if c.Account == nil {
		c.close()
		m.notify("nobody has signed in yet")
		return nil
	}
	before := m.cfg
	for _, side := range m.program.sides {
		side.cfg.Close = func() { c.close(); before.close() }
	}
	m.owner(c)
	m.problem = nil
	m.notify("you are signed in")
	return tea.Batch(m.askBalance(), m.screens[m.at].Enter())
}
