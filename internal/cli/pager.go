package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
)

// noCommand is how a shell ends that does not find the command.
const noCommand = 127

// page has write write to the terminal, through the pager where it is longer than that is high. As git does, it takes the command in
// PAGER, or less, which shows colours, leaves the text behind and ends at its end.
// Where that cannot be started the text is written as it is.
func (p *Printer) page(ctx context.Context, write func(w io.Writer) error) error {
	pager := p.pager(ctx)
	if pager == nil {
		return write(p.Out)
	}
	var text bytes.Buffer
	if err := write(&text); err != nil {
		return err
	}
	if bytes.Count(text.Bytes(), []byte("\n")) < p.Height {
		_, err := text.WriteTo(p.Out)
		return err
	}
	pager.Stdin, pager.Stdout, pager.Stderr = io.MultiReader(strings.NewReader(p.Above), bytes.NewReader(text.Bytes())), p.Out, p.Out
	if err := pager.Start(); err != nil {
		_, err := text.WriteTo(p.Out)
		return err
	}
	signal.Ignore(os.Interrupt) // Ctrl-C is a key of the pager, which must not be left alone with the terminal
	defer signal.Reset(os.Interrupt)
	failed, ok := errors.AsType[*exec.ExitError](pager.Wait()) // any other end is that of somebody who has read what they wanted
	if ok && failed.ExitCode() == noCommand {
		_, err := text.WriteTo(p.Out)
		return err
	}
	return nil
}

// pager is what pages, nil for nothing.
func (p *Printer) pager(ctx context.Context) *exec.Cmd {
	if !p.TTY || p.NoPager || p.Height == 0 || p.LookupEnv == nil {
		return nil
	}
	pager, ok := p.LookupEnv("PAGER")
	if term, _ := p.LookupEnv("TERM"); ok && (pager == "" || pager == "cat") || term == "dumb" {
		return nil
	}
	if _, err := exec.LookPath("less"); err != nil && !ok {
		return nil
	}
	c := exec.CommandContext(context.WithoutCancel(ctx), "sh", "-c", cmp.Or(pager, "less"))
	c.Env = os.Environ()
	if _, set := p.LookupEnv("LESS"); !set {
		c.Env = append(c.Env, "LESS=FRX")
	}
	return c
}
