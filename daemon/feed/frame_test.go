package feed_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/contextd/contextd/daemon/feed"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// client reads a gzip stream that is under way.
type client struct {
	stream *io.PipeWriter

	mu   sync.Mutex // guards text
	text []byte
}

// newClient makes a client in the bubble of a synctest.
func newClient(t *testing.T) *client {
	r, w := io.Pipe()
	c := &client{stream: w}
	go func() {
		z, err := gzip.NewReader(r)
		for buf := make([]byte, 64<<10); err == nil; {
			var n int
			n, err = z.Read(buf)
			c.mu.Lock()
			c.text = append(c.text, buf[:n]...)
			c.mu.Unlock()
		}
		if err != io.EOF {
			t.Errorf("the stream ends with %v", err)
		}
	}()
	return c
}

// take is what the client has after a piece of the stream.
func (c *client) take(piece []byte) string {
	_, _ = c.stream.Write(piece) // it fails where the reading has, which is reported
	synctest.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	return string(c.text)
}

// TestZip sends frames of all sizes, some of them twice, on two streams: each arrives whole and at once, both streams send the same bytes,
// and each can end after any frame with the sum of what it sent.
func TestZip(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	var frames []*feed.Frame
	for _, size := range []int{0, 1, 100, 465, 466, 512, 513, 4096, 70_000, 300_000} {
		data := make([]byte, size)
		for i := range data {
			data[i] = "0123456789abcdefghijklmnopqrstuvwxyz\",:{}[]. "[random.IntN(45)]
		}
		frames = append(frames, feed.NewFrame(api.EventDelta, data), feed.NewComment(fmt.Sprintf("keepalive %d", size)))
	}
	frames = append(frames, frames[len(frames)-2], frames[0])
	synctest.Test(t, func(t *testing.T) {
		var all, late feed.Zip
		early := newClient(t)
		early.take(all.Head())
		stream, second := all.Head(), late.Head()
		var text, half strings.Builder
		for i, f := range frames {
			text.Write(f.Text())
			sent := all.Next(f)
			stream = append(stream, sent...)
			if got := early.take(sent); got != text.String() {
				t.Fatalf("after frame %d a client has %d bytes, want %d", i, len(got), text.Len())
			}
			if whole := string(unzip(t, append(bytes.Clone(stream), all.Tail()...))); whole != text.String() {
				t.Fatalf("a stream that ends after frame %d holds %d bytes, want %d", i, len(whole), text.Len())
			}
			if i < len(frames)/2 {
				continue
			}
			half.Write(f.Text())
			again := late.Next(f)
			second = append(second, again...)
			if &again[0] != &sent[0] {
				t.Errorf("frame %d is compressed once for each stream", i)
			}
		}
		early.take(all.Tail())
		_ = early.stream.Close()
		if got := string(unzip(t, append(second, late.Tail()...))); got != half.String() {
			t.Errorf("the stream that began late holds %d bytes, want %d", len(got), half.Len())
		}
	})
	empty := new(feed.Zip)
	if got := unzip(t, append(empty.Head(), empty.Tail()...)); len(got) != 0 {
		t.Errorf("a stream without frames holds %q", got)
	}
}

// TestPublishingWaitsForNoWatcher: who does not look finds the newest later, and holds up neither publishers nor other watchers.
func TestPublishingWaitsForNoWatcher(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := feed.New("crypto")
		first, second := f.Watch("crypto"), f.Watch("crypto")
		published := make(chan error, 3)
		go func() {
			for i := range 3 {
				published <- f.Publish(pulse("crypto", born().AddDate(0, 0, i)), state.Narration{}, nil)
			}
		}()
		for range 3 {
			synctest.Wait() // until the publisher has ended, or waits for something
			select {
			case err := <-published:
				must(t, err)
			default: // the bubble's end reports the publisher, too
				t.Fatal("publishing waits for watchers that do not look")
			}
		}
		for name, w := range map[string]*feed.Watcher{"first": first, "second": second} {
			select {
			case <-w.Wake():
			default:
				t.Errorf("the %s watcher is not told", name)
			}
			if e, _ := w.Latest(); e == nil || e.Serial != 3 {
				t.Errorf("the %s watcher finds %+v", name, e)
			}
			w.Close()
		}
	})
}
