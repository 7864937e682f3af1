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
	"github.com/contextd/contextd/tui/theme"
)

// childEnv names what this program does, when a test has started it in a terminal of its own.
const childEnv = "CTX_TUI_TEST_CHILD"

// Things that a child does.
const (
	childQuiet  = "quiet"  // says something and ends
	childReplay = "replay" // shows the UI
	childPanic  = "panic"  // shows the UI, which panics on the first state
)

// child is the program in the terminal.
func child() {
	switch os.Getenv(childEnv) {
	case childQuiet:
		fmt.Println("TERM is", os.Getenv("TERM"))
		return
	case childPanic:
		err := tui.Run(context.Background(), tui.Config{Pack: "broken", Theme: theme.Mono, CrashDir: os.Getenv("CRASH_DIR"),
			Now:    func() time.Time { return began() },
			Stream: breaking})
		fmt.Println("ended with:", err)
		return
	}
	stream := tui.Replay(func() (io.ReadCloser, error) { return os.Open(os.Getenv("RECORDING")) }, time.Millisecond)
	err := tui.Run(context.Background(), tui.Config{Stream: stream, Recording: true, Pack: api.PackCrypto, Theme: theme.Mono})
	fmt.Println("ended with:", err)
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
