package session

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

// maxLine bounds a line of a recording, in bytes.
const maxLine = 8 << 20

type line struct {
	Type api.EventType `json:"type"`
	api.StreamState
	Message string `json:"message,omitempty"`
}

// Stream yields the events of a pack until it ends for good. It tells when the connection comes and goes, from the goroutine that
// reads the events.
type Stream func(ctx context.Context, pack string, told func(sdk.Connection)) iter.Seq2[sdk.Event, error]

// PlayRecording is a stream of the events of a recording, one each pace. The first is a state, or the recording is refused.
func PlayRecording(open func() (io.ReadCloser, error), pace time.Duration) Stream {
	return func(ctx context.Context, _ string, told func(sdk.Connection)) iter.Seq2[sdk.Event, error] {
		return func(yield func(sdk.Event, error) bool) {
			file, err := open()
			if err != nil {
				yield(sdk.Event{}, fmt.Errorf("open recording: %w", err))
				return
			}
			defer file.Close()
			told(sdk.Connection{Connected: true})
			if err := play(ctx, file, pace, yield); err != nil {
				yield(sdk.Event{}, err)
			}
		}
	}
}

// play yields the events of a recording. It returns nil at its end, and when the reader has had enough.
func play(ctx context.Context, file io.Reader, pace time.Duration, yield func(sdk.Event, error) bool) error {
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, maxLine)
	for n := 1; lines.Scan(); n++ {
		if len(lines.Bytes()) == 0 {
			continue
		}
		var r line
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil || r.Type == "" {
			return fmt.Errorf("line %d of the recording is no event: record with ctx state follow -o ndjson", n)
		}
		if n > 1 {
			select {
			case <-time.After(pace):
			case <-ctx.Done():
				return nil
			}
		}
		if !yield(sdk.Event{Type: r.Type, State: r.StreamState, Message: r.Message}, nil) {
			return nil
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read recording: %w", err)
	}
	return nil
}

// WriteRecording writes events as PlayRecording reads them.
func WriteRecording(w io.Writer, events []sdk.Event) error {
	encoder := json.NewEncoder(w)
	for _, e := range events {
		var one any = line{Type: e.Type, StreamState: e.State}
		if e.Type == api.EventError {
			one = map[string]string{"type": string(e.Type), "message": e.Message}
		}
		if err := encoder.Encode(one); err != nil {
			return fmt.Errorf("write recording: %w", err)
		}
	}
	return nil
}
