package tui

import (
	"context"
	"time"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/tui/session"
	"github.com/contextd/contextd/tui/view"
)

// Service is what the screens ask the service for, at a credit a call. *sdk.Client is one.
type Service interface {
	Brief(ctx context.Context, pack string, opts ...sdk.CallOption) (*api.BriefResponse, error)
	Search(ctx context.Context, r sdk.SearchRequest, opts ...sdk.CallOption) (*api.SearchResponse, error)
	Snapshot(ctx context.Context, pack string, at time.Time, opts ...sdk.CallOption) (*api.StateResponse, error)
	Lookup(ctx context.Context, r sdk.LookupRequest, opts ...sdk.CallOption) (*api.LookupResponse, error)
	Series(ctx context.Context, r sdk.SeriesRequest, opts ...sdk.CallOption) (*api.SeriesResponse, error)
	CreateWatch(ctx context.Context, r api.WatchRequest, opts ...sdk.CallOption) (*api.Watch, error)
}

// Account is what the screens ask for as the owner of keys. *sdk.Console is one. Its calls cost nothing.
type Account interface {
	Keys(ctx context.Context, opts ...sdk.CallOption) ([]api.APIKeyRow, error)
	CreateKey(ctx context.Context, name string, consent api.TraceConsent, opts ...sdk.CallOption) (*api.IssuedKey, error)
	RevokeKey(ctx context.Context, keyID string, opts ...sdk.CallOption) (*api.RevokeResponse, error)
	Balance(ctx context.Context, keyID string, opts ...sdk.CallOption) (*api.CreditBalanceResponse, error)
	Usage(ctx context.Context, days int, opts ...sdk.CallOption) (*api.UsageResponse, error)
}

// SignIn signs the user in and keeps the session, at no cost.
type SignIn interface {
	// SendLink has a link mailed to an address, and returns until when it works.
	SendLink(ctx context.Context, email string) (time.Time, error)
	// ByLink signs in with such a link, or the code behind it.
	ByLink(ctx context.Context, code string) error
	// HasWallet reports whether a wallet is there to sign in with.
	HasWallet() bool
	// ByWallet signs in with it. An empty passphrase is that of the environment.
	ByWallet(ctx context.Context, passphrase string) error
}

// Seller is what the screens buy credits from. *sdk.Console is one. To ask for a purchase costs nothing.
type Seller interface {
	Buy(ctx context.Context, pack api.CreditPack, keyID string, opts ...sdk.CallOption) (*api.DepositIntent, error)
	Deposit(ctx context.Context, id, txHash string, opts ...sdk.CallOption) (*api.Deposit, error)
	AwaitDeposit(ctx context.Context, id, txHash string, opts ...sdk.CallOption) (*api.Deposit, error)
}

// Pay pays a purchase from the user's wallet and waits until the credits are there.
type Pay func(ctx context.Context, intent *api.DepositIntent) (*api.Deposit, error)

var (
	_ Service = (*sdk.Client)(nil)
	_ Account = (*sdk.Console)(nil)
	_ Seller  = (*sdk.Console)(nil)
)

// Env is what every screen is given.
type Env struct {
	Ctx       context.Context // ends with the program
	Session   *session.Session
	Theme     *view.Theme // changes when the user changes it
	Charts    *Charts     // so does this
	Keys      view.Keymap
	Service   Service
	Account   Account               // nil while nobody is signed in
	SignIn    SignIn                // nil where nobody can sign in here
	Seller    Seller                // nil where nothing can be bought
	Pay       Pay                   // nil where there is no wallet
	KeyID     string                // of the key in use, "" for none
	Packs     map[string]SavedPanes // what the user chose of the panes of each
	Watchlist []string              // names that the user keeps an eye on
	ReadOnly  bool                  // keys are neither made nor revoked, and nothing is bought
	Away      bool                  // another pack beside this one has the focus

	signIn *signIn // nil before it is shown
}

// Screen is one of the screens.
type Screen interface {
	// Update applies a message: a key or a click while the screen is shown, and whatever its commands found.
	Update(msg tea.Msg) tea.Cmd
	// View draws the screen as height lines of width columns.
	View(width, height int) []string
	// Bindings are the keys that do something on the screen now, the most useful first.
	Bindings() []key.Binding
	// Typing reports whether letters go into a text.
	Typing() bool
	// Enter is called when the screen begins to be shown.
	Enter() tea.Cmd
}

// Full is a Screen that at times fills the terminal in place of everything.
type Full interface {
	// Full draws that as height lines of width columns, and is nil for nothing.
	Full(width, height int) []string
}

// Messages that a screen sends to the program.
type (
	// CopyMsg puts a text on the clipboard. What is the word for it.
	CopyMsg struct{ Text, What string }
	// OpenMsg opens an address in the browser.
	OpenMsg struct{ URL string }
	// NoticeMsg shows a line for some seconds.
	NoticeMsg struct{ Text string }
	// FailMsg shows an error until it is sent away.
	FailMsg struct{ Err error }
	// ConfirmMsg asks the user, and runs Yes if they agree. What they have to type to agree is in Typed, "" for the key y.
	ConfirmMsg struct {
		Question string
		Lines    []string
		Typed    string
		Yes      tea.Cmd
	}
	// GotoMsg shows another screen, counted from 0.
	GotoMsg struct{ At int }
	// ClickMsg is a press of the mouse at a place within the screen.
	ClickMsg struct {
		X, Y  int
		width int // of the screen
	}
	// WheelMsg turns by so many rows.
	WheelMsg struct{ Rows int }
	// BriefMsg is a brief of a pack that came.
	BriefMsg struct {
		Pack  string
		Brief *api.BriefResponse
		Left  sdk.Left // that the key can still call
	}
	// BalanceMsg is the balance of the account that came. Foreign says that the key in use is none of its keys.
	BalanceMsg struct {
		Credits int64
		Foreign bool
	}
	// BuyMsg begins a purchase, on the screen that does.
	BuyMsg struct{}
	// AgainMsg looks who has signed in since.
	AgainMsg struct{}
	// SwitchedMsg says that another pack is shown from now on.
	SwitchedMsg struct{}
)

// Send makes the command that sends msg.
func Send(msg tea.Msg) tea.Cmd { return func() tea.Msg { return msg } }

// firstOf is the first of values that is not empty.
func firstOf(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

// Notify makes the command that shows a line for some seconds.
func Notify(line string) tea.Cmd { return Send(NoticeMsg{line}) }

// CopyText makes the command that puts a text on the clipboard. What is the word for it.
func CopyText(text, what string) tea.Cmd { return Send(CopyMsg{text, what}) }

// Fail makes the message of an error.
func Fail(err error) tea.Msg { return FailMsg{err} }

// CopyCite makes the command that copies the citation of a source, as a line of Markdown.
func (e *Env) CopyCite(ref int) tea.Cmd {
	c := e.Session.Citation(ref)
	if c == nil {
		return e.noSources()
	}
	line := "- [" + c.SourceID + "](" + c.URL + "), fetched " + c.FetchedAt.UTC().Format("2006-01-02 15:04 UTC")
	return CopyText(line, "the citation of "+c.SourceID)
}

// OpenCite makes the command that opens a source.
func (e *Env) OpenCite(ref int) tea.Cmd {
	c := e.Session.Citation(ref)
	if c == nil {
		return e.noSources()
	}
	return Send(OpenMsg{c.URL})
}

// noSources makes the command that says why there is no source.
func (e *Env) noSources() tea.Cmd {
	return Notify("the sources are not known yet: they come with the brief")
}

// AskBrief makes the command that asks for the brief, at a credit.
func (e *Env) AskBrief() tea.Cmd {
	pack, service, ctx := e.Session.Pack, e.Service, e.Ctx
	if service == nil {
		return Notify("a recording has no service to ask")
	}
	return func() tea.Msg {
		var meta sdk.Response
		b, err := service.Brief(ctx, pack, sdk.WithResponse(&meta))
		if err != nil {
			return Fail(err)
		}
		return BriefMsg{pack, b, meta.Left()}
	}
}

// Move applies the keys that move in a list of so many rows, and reports whether msg was one of them.
func (e *Env) Move(l *view.List, rows int, msg tea.Msg) bool {
	if w, ok := msg.(WheelMsg); ok {
		l.Move(w.Rows, rows)
		return true
	}
	pressed, ok := msg.(tea.KeyMsg)
	if !ok {
		return false
	}
	k := e.Keys
	switch {
	case key.Matches(pressed, k.Up):
		l.Move(-1, rows)
	case key.Matches(pressed, k.Down):
		l.Move(1, rows)
	case key.Matches(pressed, k.Top):
		l.Move(-rows, rows)
	case key.Matches(pressed, k.Bottom):
		l.Move(rows, rows)
	case key.Matches(pressed, k.PageUp):
		l.Page(-1, rows)
	case key.Matches(pressed, k.PageDown):
		l.Page(1, rows)
	default:
		return false
	}
	return true
}
