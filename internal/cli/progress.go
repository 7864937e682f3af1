package cli

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/internal/human"
)

const (
	progressAfter = 300 * time.Millisecond // what is done sooner needs no word
	progressEvery = 100 * time.Millisecond // a frame
	elapsedAfter  = 3 * time.Second        // from then on the time is told
)

// Progress is stderr, with a line below what is written to it that says what the program is at once that has taken a while. It draws on a
// terminal alone, never in CI, and never behind a question. For a screen reader it is one plain line. It is safe for concurrent use.
type Progress struct {
	out   io.Writer
	style Style
	width int
	draws bool
	now   func() time.Time

	mu    sync.Mutex // guards what follows
	tasks []*Task    // the first is told
	timer *time.Timer
	frame int
	drawn bool // the line is on the screen
	open  bool // what was written last has no end: a question
}

// Task is something that takes a while. The nil Task is one that nobody is told of.
type Task struct {
	of        *Progress // which guards the rest
	text      string
	began     time.Time
	announced bool // to a screen reader
}

// NewProgress is the stderr of s with such a line; that of s itself if it has one.
func NewProgress(s System) *Progress {
	if p, ok := s.Err.(*Progress); ok {
		return p
	}
	draws := s.ErrTTY && s.Env("CI") == "" && s.Env("TERM") != "dumb"
	return &Progress{out: s.Err, style: s.Style(s.ErrTTY), width: s.Columns(), draws: draws, now: s.Now}
}

// Begin begins a task. Where others are going on it is a part of them, and nobody is told of it.
func (p *Progress) Begin(text string) *Task {
	if p == nil || !p.draws {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	t := &Task{of: p, text: text, began: p.now()}
	if p.tasks = append(p.tasks, t); len(p.tasks) == 1 {
		p.open = false // a question before was answered
		p.timer = time.AfterFunc(progressAfter, p.tick)
	}
	return t
}

// Printf says how the task stands.
func (t *Task) Printf(format string, args ...any) {
	if t == nil {
		return
	}
	t.of.mu.Lock()
	defer t.of.mu.Unlock()
	t.text = fmt.Sprintf(format, args...)
}

// Done ends the task. The line goes with the last one.
func (t *Task) Done() {
	if t == nil {
		return
	}
	p := t.of
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.Index(p.tasks, t)
	if i < 0 {
		return
	}
	if p.tasks = slices.Delete(p.tasks, i, i+1); len(p.tasks) == 0 {
		p.timer.Stop()
		p.clear()
	}
}

// tick draws the line of the first task.
func (p *Progress) tick() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.tasks) == 0 {
		return
	}
	p.timer.Reset(progressEvery)
	if t := p.tasks[0]; !p.open {
		p.draw(t)
	}
}

func (p *Progress) draw(t *Task) {
	line := human.Line(t.text)
	if p.style.Words {
		if !t.announced {
			fmt.Fprintln(p.out, line)
		}
		t.announced = true
		return
	}
	if took := p.now().Sub(t.began); took >= elapsedAfter {
		line += "  " + human.Age(took)
	}
	frames := []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")
	if p.style.ASCII {
		frames = []rune(`|/-\`)
	}
	p.frame++
	p.drawn = true
	fmt.Fprintf(p.out, "\r\x1b[K%c %s", frames[p.frame%len(frames)], p.style.Cut(line, p.width-3))
}

// clear takes the line away.
func (p *Progress) clear() {
	if p.drawn {
		_, _ = io.WriteString(p.out, "\r\x1b[K") // if it fails, nobody sees the line either
		p.drawn = false
	}
}

// Write writes b above the line.
func (p *Progress) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	if len(b) > 0 {
		p.open = !bytes.HasSuffix(b, []byte("\n"))
	}
	return p.out.Write(b)
}

// Busy begins a task of c, whose stderr is a Progress. Where that is none, or the answer goes to a program, nobody is told of it.
func Busy(c *cobra.Command, text string) *Task {
	p, _ := c.ErrOrStderr().(*Progress)
	for _, name := range []string{"output", "json", "jq", "template"} {
		if f := c.Flags().Lookup(name); f != nil && f.Changed && !slices.Contains([]string{"table", "text"}, f.Value.String()) {
			return nil
		}
	}
	return p.Begin(text)
}
