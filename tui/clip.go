package tui

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"strings"

	"github.com/aymanbagabas/go-osc52/v2"
)

// ClipboardLimit is how long a text may be, in bytes; many terminals drop longer sequences.
const ClipboardLimit = 74_000

// Clipboard is the way to the clipboard.
type Clipboard struct {
	Terminal io.Writer                                    // what the sequence is written to
	Env      func(name string) string                     // TMUX and TERM
	Tmux     func(ctx context.Context, text string) error // nil runs tmux load-buffer
}

// Copy puts text on the clipboard and says how: "tmux" or "OSC 52".
func (c Clipboard) Copy(ctx context.Context, text string) (how string, err error) {
	if len(text) > ClipboardLimit {
		return "", fmt.Errorf("copy: %d bytes are more than a terminal takes", len(text))
	}
	inTmux := c.Env("TMUX") != ""
	if inTmux {
		load := c.Tmux
		if load == nil {
			load = loadBuffer
		}
		if load(ctx, text) == nil {
			return "tmux", nil
		}
	}
	sequence := osc52.New(text)
	switch {
	case inTmux:
		sequence = sequence.Tmux()
	case strings.HasPrefix(c.Env("TERM"), "screen"):
		sequence = sequence.Screen()
	}
	// In one piece: the screen is drawn to the same terminal at any time.
	if _, err := io.WriteString(c.Terminal, sequence.String()); err != nil {
		return "", fmt.Errorf("copy: %w", err)
	}
	return "OSC 52", nil
}

// loadBuffer gives text to tmux, which with -w gives it to its own terminal.
func loadBuffer(ctx context.Context, text string) error {
	cmd := exec.CommandContext(ctx, "tmux", "load-buffer", "-w", "-")
	cmd.Stdin = strings.NewReader(text)
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("tmux load-buffer: %w", err)
	}
	return nil
}
