package command

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"

	"golang.org/x/term"

	"github.com/contextd/contextd/internal/cli"
)

// Confirm asks a yes-or-no question, answered by --yes. Where nobody can be asked it fails at once and names the flag.
func (s *IO) Confirm(ctx context.Context, question string) error {
	if s.Flags.Yes {
		return nil
	}
	if !s.InTTY || !s.ErrTTY || s.Flags.NoInput {
		return cli.Invalid("%s: there is nobody to ask", question).WithHint("add --yes")
	}
	fmt.Fprintf(s.Err, "%s [y/N] ", question)
	// What cannot be read is no consent.
	text, _ := s.interruptible(ctx, func() (string, error) { return bufio.NewReader(s.In).ReadString('\n') })
	if answer := strings.ToLower(strings.TrimSpace(text)); answer == "y" || answer == "yes" {
		return nil
	}
	if ctx.Err() != nil {
		fmt.Fprintln(s.Err)
	}
	return &cli.Failure{Exit: cli.ExitDeclined, Reason: "declined", Err: fmt.Errorf("nothing was changed")}
}

// Ask asks for a line on the terminal. Where nobody can be asked it fails at once and names what to give instead.
func (s *IO) Ask(ctx context.Context, question, instead string) (string, error) {
	if !s.InTTY || !s.ErrTTY || s.Flags.NoInput {
		return "", cli.Invalid("%s: there is nobody to ask", question).WithHint("%s", instead)
	}
	fmt.Fprintf(s.Err, "%s: ", question)
	return s.interruptible(ctx, func() (string, error) { return s.Line() })
}

// AskHidden is Ask for what nobody is to read on the screen.
func (s *IO) AskHidden(ctx context.Context, question, instead string) (string, error) {
	file, ok := s.In.(interface{ Fd() uintptr })
	if !ok || !s.InTTY || !s.ErrTTY || s.Flags.NoInput {
		return "", cli.Invalid("%s: there is nobody to ask", question).WithHint("%s", instead)
	}
	fmt.Fprintf(s.Err, "%s: ", question)
	fd := int(file.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return "", fmt.Errorf("read terminal: %w", err)
	}
	defer func() {
		_ = term.Restore(fd, before) // after an interruption it would go on hiding
		fmt.Fprintln(s.Err)
	}()
	return s.interruptible(ctx, func() (string, error) {
		text, err := term.ReadPassword(fd)
		return string(text), err
	})
}

// Line reads one line of standard input.
func (s *IO) Line() (string, error) {
	const longest = 8 << 10
	text, err := bufio.NewReader(io.LimitReader(s.In, longest)).ReadString('\n')
	if text = strings.TrimSpace(text); text != "" {
		return text, nil
	}
	if err == nil || err == io.EOF {
		return "", cli.Invalid("standard input is empty")
	}
	return "", fmt.Errorf("read standard input: %w", err)
}

// interruptible waits for read, or for the user to interrupt it. A read of a terminal cannot be stopped; the process ends soon after.
func (s *IO) interruptible(ctx context.Context, read func() (string, error)) (string, error) {
	type result struct {
		text string
		err  error
	}
	done := make(chan result, 1)
	go func() {
		text, err := read()
		done <- result{text, err}
	}()
	select {
	case r := <-done:
		return r.text, r.err
	case <-ctx.Done():
		return "", &cli.Failure{Exit: cli.ExitDeclined, Reason: "declined", Err: fmt.Errorf("nothing was changed")}
	}
}
