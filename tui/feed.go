package tui

import (
	"context"
	"iter"
	"sync"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/tui/session"
)

// Subscribe is the stream of a service.
func Subscribe(c *sdk.Client) session.Stream {
	return func(ctx context.Context, pack string, told func(sdk.Connection)) iter.Seq2[sdk.Event, error] {
		return c.Subscribe(sdk.SubscribeRequest{Pack: pack, Brief: true, Repeats: true, OnChange: told}).Events(ctx)
	}
}

// feedGap is the time between two deliveries: what comes in between is delivered together.
const feedGap = 100 * time.Millisecond

// maxPending bounds what waits for delivery; of more, the oldest is dropped, which a newer state makes up for.
const maxPending = 64

// feed reads one stream at a time and delivers what came as messages. Update never waits for it, and it never waits for Update.
type feed struct {
	stream session.Stream
	ctx    context.Context
	done   *sync.WaitGroup // the reading, of all feeds

	mu      sync.Mutex // guards what follows
	serial  int        // counts streams: what comes of an older one is dropped
	stop    context.CancelFunc
	pending []any // sdk.Event, sdk.Connection, ended
	signal  chan struct{}
}

// ended says that a stream is over, nil at the end of a recording.
type ended struct{ err error }

type arrivedMsg struct {
	serial int
	items  []any
}

func newFeed(ctx context.Context, s session.Stream) *feed {
	return &feed{stream: s, ctx: ctx, done: new(sync.WaitGroup), signal: make(chan struct{}, 1)}
}

// open begins to read the stream of a pack, in place of the one before. The commands read, and deliver the first that comes.
func (f *feed) open(pack string) tea.Cmd {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stop != nil {
		f.stop()
	}
	ctx, stop := context.WithCancel(f.ctx)
	f.serial++
	f.stop, f.pending = stop, nil
	serial := f.serial
	f.done.Add(1)
	go func() {
		defer f.done.Done()
		defer stop()
		f.read(ctx, serial, pack)
	}()
	return f.next(serial)
}

// close reads no more.
func (f *feed) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.serial++
	f.stop()
	select {
	case f.signal <- struct{}{}: // for who waits
	default:
	}
}

// read puts all that a stream brings into the queue.
func (f *feed) read(ctx context.Context, serial int, pack string) {
	told := func(c sdk.Connection) { f.put(serial, c) }
	for event, err := range f.stream(ctx, pack, told) {
		if err != nil {
			f.put(serial, ended{err})
			return
		}
		f.put(serial, event)
	}
	f.put(serial, ended{})
}

// put puts something into the queue, unless its stream was replaced.
func (f *feed) put(serial int, item any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if serial != f.serial {
		return
	}
	f.pending = append(f.pending, item)
	f.pending = f.pending[max(0, len(f.pending)-maxPending):]
	select {
	case f.signal <- struct{}{}:
	default:
	}
}

// take empties the queue of a stream; ok is false where that was replaced.
func (f *feed) take(serial int) (items []any, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if serial != f.serial {
		return nil, false
	}
	items, f.pending = f.pending, nil
	return items, true
}

// next makes the command that waits for what comes next.
func (f *feed) next(serial int) tea.Cmd {
	return func() tea.Msg {
		for {
			select {
			case <-f.signal:
			case <-f.ctx.Done():
				return nil
			}
			items, ok := f.take(serial)
			if !ok { // the signal may be for who follows
				select {
				case f.signal <- struct{}{}:
				default:
				}
				return nil
			}
			if len(items) > 0 {
				return arrivedMsg{serial, items}
			}
		}
	}
}

func (f *feed) again(serial int) tea.Cmd {
	next := f.next(serial)
	return tea.Tick(feedGap, func(time.Time) tea.Msg { return next() })
}

// wait waits until nothing is read any more. The context has to have ended.
func (f *feed) wait() { f.done.Wait() }
