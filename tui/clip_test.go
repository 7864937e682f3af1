package tui_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/contextd/contextd/tui"
)

// errTmux is why tmux took nothing.
var errTmux = errors.New("no server")

func TestCopy(t *testing.T) {
	t.Parallel()
	const osc = "]52;c;aGVsbG8=" // hello
	for name, test := range map[string]struct {
		env       map[string]string
		tmux      error
		how, want string
	}{
		"terminal":         {nil, nil, "OSC 52", "\x1b" + osc + "\x07"},
		"tmux":             {map[string]string{"TMUX": "/tmp/s"}, nil, "tmux", ""},
		"tmux that cannot": {map[string]string{"TMUX": "/tmp/s"}, errTmux, "OSC 52", "\x1bPtmux;\x1b\x1b" + osc + "\x07\x1b\\"},
		"screen":           {map[string]string{"TERM": "screen-256color"}, nil, "OSC 52", "\x1bP\x1b" + osc + "\x07\x1b\\"},
	} {
		var out bytes.Buffer
		loaded := ""
		c := tui.Clipboard{Terminal: &out, Env: func(name string) string { return test.env[name] },
			Tmux: func(_ context.Context, text string) error { loaded = text; return test.tmux }}
		how, err := c.Copy(t.Context(), "hello")
		if err != nil || how != test.how || out.String() != test.want || (loaded == "hello") != (test.env["TMUX"] != "") {
			t.Errorf("%s: %q, %v, wrote %q, tmux got %q", name, how, err, out.String(), loaded)
		}
	}
}

// broken fails every write.
type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errTmux }

func TestCopyFails(t *testing.T) {
	t.Parallel()
	c := tui.Clipboard{Terminal: broken{}, Env: func(string) string { return "" }}
	if _, err := c.Copy(t.Context(), "x"); !errors.Is(err, errTmux) {
		t.Errorf("broken terminal: %v", err)
	}
	if _, err := c.Copy(t.Context(), strings.Repeat("x", tui.ClipboardLimit+1)); err == nil {
		t.Error("a text that is too long was taken")
	}
}
