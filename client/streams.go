package client

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/term"

	"github.com/contextd/contextd/client/config"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

// streams are the surroundings of a run: its streams, clock and environment, its global flags, and how answers are written and people told.
type streams struct {
	cli.System
	Flags   *globalFlags
	Streams bool // answers follow one another, and no pager holds one of them up

	settings *settings // say how answers are written
	warned   bool      // that a secret goes over plain http
	demo     bool      // that the data is of a demo was told
	above    string    // of answers: what was told of them on stderr
}

// Call are the options of a call: the request id of the flags, where its HTTP side goes, and that people are told while it takes a while.
func (s *streams) Call(meta *sdk.Response) []sdk.CallOption {
	opts := []sdk.CallOption{sdk.WithResponse(meta), sdk.WithProgress(s.waiting())}
	if s.Flags.RequestID != "" {
		opts = append(opts, sdk.WithRequestID(s.Flags.RequestID))
	}
	return opts
}

// leftWords says what a key can still call, "" where the service did not say it.
func leftWords(left sdk.Left) string {
	switch {
	case left.Credits != nil:
		return human.Plural(int(*left.Credits), "credit") + " left"
	case left.FreeCalls != nil && left.Reset > 0:
		return fmt.Sprintf("%s left today, one more in %s", human.Plural(int(*left.FreeCalls), "free call"), human.Age(left.Reset))
	case left.FreeCalls != nil:
		return human.Plural(int(*left.FreeCalls), "free call") + " left today"
	case left.Unmetered:
		return "calls with this key are counted, not charged"
	}
	return ""
}

// waiting tells people that a call takes a while, and what its last attempt came to.
func (s *streams) waiting() func(sdk.Progress) {
	var task *cli.Task
	return func(p sdk.Progress) {
		switch {
		case p.Done:
			task.Done()
		case p.Attempt == 1:
			task = s.Busy("waiting for " + s.host())
		default:
			task.Printf("attempt %d in a moment: %v", p.Attempt, p.Err)
		}
	}
}

// Busy begins a task that people at a terminal are told of where it takes a while.
func (s *streams) Busy(text string) *cli.Task {
	spec, err := s.Spec()
	if err != nil || spec.Machine() || s.Flags.Quiet {
		return nil
	}
	return cli.NewProgress(s.System).Begin(text)
}

// host is where the configured service is.
func (s *streams) host() string {
	c, err := s.settings.Config()
	if err != nil {
		return "the service"
	}
	_, host, _ := strings.Cut(c.Get(config.BaseURL).Text, "://")
	return host
}

// Spec is how the output is wanted. It fails, before anything is called, where the flags cannot be followed.
func (s *streams) Spec() (cli.Spec, error) {
	c, err := s.settings.Config()
	if err != nil {
		return cli.Spec{}, err
	}
	spec, err := s.Flags.output.Spec(cli.Format(c.Get(config.Output).Text))
	if err != nil {
		err = cli.Invalid("%w", err).WithHint("ctx help formatting")
	}
	return spec, err
}

// Style is how text for stdout or stderr may be marked, which is a terminal or not.
func (s *streams) Style(tty bool) cli.Style {
	style, when := s.System.Style(tty), config.Value{}
	if c, err := s.settings.Config(); err == nil {
		when = c.Get(config.Color)
	}
	switch {
	case s.Flags.NoColor || when.Text == "never":
		style.Color = false
	case when.Text == "always" && (s.Env("NO_COLOR") == "" || strings.HasPrefix(when.Origin, "option")):
		style.Color = true
	}
	return style
}

// Printer writes answers to stdout as the flags, the configuration and the terminal ask.
func (s *streams) Printer() (*cli.Printer, error) {
	spec, err := s.Spec()
	if err != nil {
		return nil, err
	}
	spec.NoPager = spec.NoPager || s.Streams
	p := cli.NewPrinter(s.System, spec, s.Style(s.OutTTY))
	p.Above = s.above
	return p, nil
}

// Print writes answer to stdout.
func (s *streams) Print(ctx context.Context, answer cli.Answer) error {
	p, err := s.Printer()
	if err != nil {
		return err
	}
	return p.Print(ctx, answer)
}

// Note tells people something on stderr, unless they asked for quiet.
func (s *streams) Note(format string, args ...any) {
	if !s.Flags.Quiet {
		fmt.Fprintln(s.Err, human.Text(fmt.Sprintf(format, args...)))
	}
}

// ReportMeta tells people what the HTTP side of an answer says: that its data is of the demo and, with --verbose, its request id.
func (s *streams) ReportMeta(meta *sdk.Response) {
	spec, err := s.Spec()
	if meta.Demo() && !s.demo && err == nil && (!spec.Machine() || s.ErrTTY) {
		s.demo = true
		s.warn("demo data: synthetic values")
	}
	if meta.Replayed {
		s.warn("this answer was paid for before and is given again, " + human.Age(meta.Age) + " later")
	}
	if warning := warningIn(meta.Header); warning != "" {
		s.warn("warning: " + warning)
	}
	if s.Flags.Verbose {
		s.Note("status %d, request %s, %d request(s) sent", meta.Status, meta.RequestID, meta.Attempts)
	}
}

// warn tells people of an answer that it is not what it seems: on stderr, and above what a pager shows.
func (s *streams) warn(what string) {
	line := s.Style(s.ErrTTY).Warn(what) + "\n"
	fmt.Fprint(s.Err, line)
	s.above += line
}

// warningIn is the text of a warning of the service, "" if there is none.
func warningIn(h http.Header) string {
	_, quoted, _ := strings.Cut(h.Get(api.HeaderWarning), ` "`)
	text, err := strconv.Unquote(`"` + quoted)
	if err != nil {
		return ""
	}
	return human.Line(text)
}

// Show writes v as JSON, or rows for people and pipes.
func (s *streams) Show(ctx context.Context, v any, rows *cli.Rows) error {
	doc, err := cli.Marshal(v)
	if err != nil {
		return err
	}
	return s.Print(ctx, cli.Answer{JSON: doc, Rows: rows})
}

// warnPlain tells people, once, that a secret is about to go to another machine without encryption.
func (s *streams) warnPlain(what, address string) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" || s.warned {
		return
	}
	host := u.Hostname()
	if ip := net.ParseIP(host); ip.IsLoopback() || host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return
	}
	s.warned = true
	fmt.Fprintln(s.Err, s.Style(s.ErrTTY).Warn(human.Line(
		fmt.Sprintf("warning: %s goes to %s over plain http, where others can read it on the way; use https", what, host))))
}

// Confirm asks a yes-or-no question, answered by --yes. Where nobody can be asked it fails at once and names the flag.
func (s *streams) Confirm(ctx context.Context, question string) error {
	if s.Flags.Yes {
		return nil
	}
	if err := s.Askable(question); err != nil {
		return err
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

// Askable reports that Confirm could not ask a question.
func (s *streams) Askable(question string) error {
	if !s.Flags.Yes && (!s.InTTY || !s.ErrTTY || s.Flags.NoInput) {
		return cli.Invalid("%s: there is nobody to ask", question).WithHint("add --yes")
	}
	return nil
}

// Ask asks for a line on the terminal. Where nobody can be asked it fails at once and names what to give instead.
func (s *streams) Ask(ctx context.Context, question, instead string) (string, error) {
	if !s.InTTY || !s.ErrTTY || s.Flags.NoInput {
		return "", cli.Invalid("%s: there is nobody to ask", question).WithHint("%s", instead)
	}
	fmt.Fprintf(s.Err, "%s: ", question)
	return s.interruptible(ctx, func() (string, error) { return s.Line() })
}

// AskHidden is Ask for what nobody is to read on the screen.
func (s *streams) AskHidden(ctx context.Context, question, instead string) (string, error) {
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
func (s *streams) Line() (string, error) {
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
func (s *streams) interruptible(ctx context.Context, read func() (string, error)) (string, error) {
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
