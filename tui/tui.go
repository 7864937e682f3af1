// Package tui is the terminal UI of ctx: the stream of a pack, its brief, search, history and sources, and the owner's keys and
// credits.
//
// It owns the terminal's screen while it runs, and gives it back whatever happens. It stands on sdk and never imports client or
// daemon: who starts it hands it the service, the account and the surroundings in a Config. The flow is one way: a command does
// input or output and returns a message, Update changes the model, View draws it.
//
// What it costs: opening the stream is a call, and so is every connection that is made again. The brief comes in the stream. What else
// costs is asked for by a key that says so. Where calls are not charged, all trends and the watchlist come by themselves.
//
// The picture of it in the README is drawn by a test, from its own view: go test ./tui -run TestPicture -update.
package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/muesli/termenv"

	"github.com/contextd/contextd/tui/session"
	"github.com/contextd/contextd/tui/termguard"
	"github.com/contextd/contextd/tui/view"
)

// DefaultSearchCap is how many searches a session may make unless told otherwise.
const DefaultSearchCap = 200

// Packages that draw are initialised by now.
var _ = termguard.Release()

// Config is what the terminal UI needs.
type Config struct {
	Stream    session.Stream  // required
	Service   Service         // nil where there is only a recording
	Account   Account         // nil while nobody is signed in
	SignIn    SignIn          // nil where nobody can sign in here
	Seller    Seller          // nil where nothing can be bought
	Pay       Pay             // nil where there is no wallet
	Recording bool            // Stream is a recording, whose age says nothing
	Pack      string          // required
	Where     string          // what the service is called, such as the profile; shown as it is
	Profile   string          // settings that are in use
	Profiles  []string        // settings that there are
	KeyID     string          // of the key in use, "" for none
	Theme     view.ThemeName  // "" goes by the background of the terminal
	Depth     view.ColorDepth // colours of the terminal; of none, every theme is Mono
	ASCII     bool            // draw with ASCII alone
	ReadOnly  bool            // keys and watches are neither made nor revoked, and nothing is bought
	Notify    bool            // ring and notify by the terminal when an alert is met or a critical flag goes up
	Keys      *view.Keymap    // nil means the usual ones
	Saved     Saved           // what the user chose before
	Save      func(Saved)     // keeps what they chose, at the end; nil keeps nothing
	Watchlist []string        // names that the user keeps an eye on
	SearchCap int             // searches that may be made, 0 means DefaultSearchCap

	// Switch makes the Config of another of the Profiles. It may be called while this one is shown. nil where there is no other.
	Switch func(profile string) (Config, error)

	// Again makes this Config anew, for who has signed in since. nil where that cannot be.
	Again func() (Config, error)

	// UseKey makes the Config of a key that the user pastes. Where it is not nil there is none to begin with, and the user is asked how
	// to go on before anything is sent.
	UseKey func(key string) (Config, error)

	// Packs are those that the service has, which costs nothing to ask. nil where nobody is asked.
	Packs func(ctx context.Context) []string

	// Prove looks at what proves a state. It reports whether it is proven; an error is what became of the log of the service. nil where
	// nothing is looked at.
	Prove func(ctx context.Context, pack string, made time.Time, state []byte) (bool, error)

	// Notice is something to tell quietly, "" for nothing. nil where there never is anything.
	Notice func() string

	Now      func() time.Time                            // nil means time.Now; its zone is that of the times shown
	Env      func(name string) string                    // nil means os.Getenv
	In       io.Reader                                   // nil means os.Stdin
	Out      io.Writer                                   // nil means os.Stdout
	Browse   func(ctx context.Context, url string) error // opens an address; nil only shows it
	SaveDir  string                                      // where the stream is saved to, "" is the working directory
	CrashDir string                                      // where a crash is told, "" is nowhere
	Close    func()                                      // frees what this Config holds, at its end; nil does nothing

	mouseOff bool // the user has left clicks to the terminal
}

func (c Config) close() {
	if c.Close != nil {
		c.Close()
	}
}

func (c Config) withDefaults() Config {
	if c.SearchCap == 0 {
		c.SearchCap = DefaultSearchCap
	}
	if c.Keys == nil {
		usual := view.DefaultKeymap()
		c.Keys = &usual
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Env == nil {
		c.Env = os.Getenv
	}
	if c.In == nil {
		c.In = os.Stdin
	}
	if c.Out == nil {
		c.Out = os.Stdout
	}
	if c.Theme == "" {
		c.Theme = view.Dark
	}
	return c
}

// Detect fills Theme and Depth, where they are not set, by what the terminal says of itself. It may write to the terminal and wait
// for its answer, so it is called before anything else reads from it.
func (c Config) Detect() Config {
	file, ok := c.Out.(*os.File)
	if !ok {
		return c
	}
	out := termenv.NewOutput(file)
	switch profile := out.EnvColorProfile(); {
	case c.Env("NO_COLOR") != "" || profile == termenv.Ascii:
		c.Depth = view.NoColor
	case profile == termenv.ANSI:
		c.Depth = view.Colors16
	default:
		c.Depth = view.Colors256
	}
	if c.Theme == "" && c.Depth != view.NoColor {
		c.Theme = view.Dark
		if !out.HasDarkBackground() {
			c.Theme = view.Light
		}
	}
	return c
}

// Run shows the terminal UI until the user quits or ctx ends, and gives the terminal back. It fails where the terminal cannot be
// used and after a panic.
func Run(ctx context.Context, c Config) error {
	for next := &c; next != nil; {
		var err error
		if next, err = run(ctx, next.withDefaults()); err != nil {
			return err
		}
	}
	return nil
}

// run is Run for one profile, and returns the Config that the user goes over to, nil at their end.
func run(ctx context.Context, c Config) (next *Config, err error) {
	ctx, cancel := context.WithCancel(ctx)
	m := New(ctx, c)
	defer func() {
		cancel()
		m.front().feed.wait()
		m.front().cfg.close() // and what a sign-in made since
	}()
	const framesPerSecond = 20 // what comes in between is drawn once
	options := []tea.ProgramOption{tea.WithContext(ctx), tea.WithInput(c.In), tea.WithOutput(c.Out),
		tea.WithAltScreen(), tea.WithoutSignalHandler(), tea.WithFPS(framesPerSecond)}
	if !c.mouseOff {
		options = append(options, tea.WithMouseCellMotion())
	}
	p := tea.NewProgram(m, options...)
	_, err = p.Run()
	if c.Save != nil && err == nil {
		c.Save(m.Saved())
	}
	switch {
	case errors.Is(err, tea.ErrProgramPanic):
		return nil, fmt.Errorf("terminal UI: %w%s", err, m.front().crashNote())
	case ctx.Err() != nil:
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("terminal UI: %w", err)
	}
	return m.front().next, nil
}
