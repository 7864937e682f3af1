package tui_test

import (
	"context"
	"fmt"
	"io"
	"iter"
	"os"
	"time"

	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/tui"
	"github.com/contextd/contextd/tui/session"
	"github.com/contextd/contextd/tui/view"
)

// childEnv names what this program does, when a test has started it in a terminal of its own.
const childEnv = "CTX_TUI_TEST_CHILD"

// Things that a child does.
const (
	childQuiet  = "quiet"  // says something and ends
	childReplay = "replay" // shows the UI
	childPanic  = "panic"  // shows the UI, which panics on the first state
	childTwo    = "two"    // shows the UI of a profile that another can follow
)

// child is the program in the terminal.
func child() {
	switch os.Getenv(childEnv) {
	case childQuiet:
		fmt.Println("TERM is", os.Getenv("TERM"))
		return
	case childPanic:
		err := tui.Run(context.Background(), tui.Config{Pack: "broken", Theme: view.Mono, CrashDir: os.Getenv("CRASH_DIR"),
			Now:    func() time.Time { return began() },
			Stream: breaking})
		fmt.Println("ended with:", err)
		return
	}
	if os.Getenv(childEnv) == childTwo {
		fmt.Println("ended with:", tui.Run(context.Background(), profile("one")))
		return
	}
	stream := session.PlayRecording(func() (io.ReadCloser, error) { return os.Open(os.Getenv("RECORDING")) }, time.Millisecond)
	err := tui.Run(context.Background(), tui.Config{Stream: stream, Recording: true, Pack: api.PackCrypto, Theme: view.Mono})
	fmt.Println("ended with:", err)
}

// profile is the Config of a profile. Its pack has its name.
func profile(name string) tui.Config {
	return tui.Config{Stream: silent, Pack: "pack-" + name, Theme: view.Mono, Profile: name, Profiles: []string{"one", "two"},
		Switch: func(other string) (tui.Config, error) { return profile(other), nil },
		Close:  func() { fmt.Println("closed", name) }}
}

// silent is a stream without an event.
func silent(ctx context.Context, _ string, told func(sdk.Connection)) iter.Seq2[sdk.Event, error] {
	return func(func(sdk.Event, error) bool) {
		told(sdk.Connection{Connected: true})
		<-ctx.Done()
	}
}

// breaking is a stream whose events cannot be applied: what it tells of the connection panics in the model, as a bug would.
func breaking(ctx context.Context, _ string, told func(sdk.Connection)) iter.Seq2[sdk.Event, error] {
	return func(yield func(sdk.Event, error) bool) {
		told(sdk.Connection{Err: bug{}})
		<-ctx.Done()
	}
}

// bug is an error that panics when it is told.
type bug struct{}

func (bug) Error() string { panic("a bug") }
