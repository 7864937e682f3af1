package cli

import (
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// System is what surrounds a program.
type System struct {
	In       io.Reader
	Out, Err io.Writer

	InTTY, OutTTY, ErrTTY bool

	Height    int                              // lines of the terminal; 0 means that nothing is paged
	Width     int                              // columns of the terminal; 0 means 80
	LookupEnv func(name string) (string, bool) // as os.LookupEnv; nil means that nothing is set
	Now       func() time.Time                 // its location is the user's time zone
	Archives  http.RoundTripper                // to the archives of sources; nil is as to services
}

// OS is the System of this process.
func OS() System {
	return systemOf(os.Stdin, os.Stdout, os.Stderr)
}

// systemOf is the System of this process, with other streams.
func systemOf(in io.Reader, out, errOut io.Writer) System {
	s := System{In: in, Out: out, Err: errOut, LookupEnv: os.LookupEnv, Now: time.Now}
	s.InTTY, s.OutTTY, s.ErrTTY = IsTerminal(in), IsTerminal(out), IsTerminal(errOut)
	if width, height, err := term.GetSize(int(os.Stdout.Fd())); err == nil {
		s.Width, s.Height = width, height
	}
	return s
}

// IsTerminal reports whether people see what is written to a stream.
func IsTerminal(stream any) bool {
	if p, ok := stream.(*Progress); ok {
		stream = p.out
	}
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Env is the value of an environment variable, "" if it is not set.
func (s System) Env(name string) string {
	if s.LookupEnv == nil {
		return ""
	}
	value, _ := s.LookupEnv(name)
	return value
}

// Columns is the width to write for.
func (s System) Columns() int {
	if s.Width > 0 {
		return s.Width
	}
	return 80
}

// Style is how text for a stream may be marked, which is a terminal or not.
func (s System) Style(tty bool) Style {
	return Style{
		Color: tty && s.Env("NO_COLOR") == "" && s.Env("TERM") != "dumb",
		ASCII: !s.utf8(),
		Words: isSet(s.Env("CTX_ACCESSIBLE")) || isSet(s.Env("ACCESSIBLE")),
	}
}

// isSet reports whether the value of a variable switches something on.
func isSet(value string) bool { return value != "" && value != "0" && value != "false" }

// utf8 reports whether the locale takes more than ASCII. No locale at all is taken for a container's, which does.
func (s System) utf8() bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if value := s.Env(name); value != "" {
			lower := strings.ToLower(value)
			return strings.Contains(lower, "utf-8") || strings.Contains(lower, "utf8")
		}
	}
	return true
}

// Output prints the answer of a command that has flags about output of its own.
type Output struct {
	flags   OutputFlags
	command *cobra.Command
}

// AddOutput gives c the flags about output. Its output has the fields; what is wrong with the flags ends c before it runs.
func AddOutput(c *cobra.Command, fields ...string) *Output {
	o := &Output{command: c}
	o.flags.Bind(c.Flags())
	SetFields(c, fields...)
	c.PreRunE = func(c *cobra.Command, _ []string) error {
		spec, err := o.flags.Spec("")
		if err != nil {
			return Invalid("%w", err).WithHint("%s help formatting", c.Root().Name())
		}
		return spec.CheckFields(c)
	}
	return o
}

// Print writes v as the flags and the terminal ask: as JSON, or in the human form that view has.
func (o *Output) Print(v any, view Answer) error {
	spec, err := o.flags.Spec("")
	if err != nil {
		return err
	}
	if view.JSON, err = Marshal(v); err != nil {
		return err
	}
	if string(view.JSON) == "null" { // a list in which there is nothing
		view.JSON = []byte("[]")
	}
	c := o.command
	s := systemOf(c.InOrStdin(), c.OutOrStdout(), c.ErrOrStderr())
	p := NewPrinter(s, spec, s.Style(s.OutTTY))
	p.known = FieldsOf(c)
	return p.Print(c.Context(), view)
}

// Machine reports whether the answer goes to a program, as JSON in some way.
func (o *Output) Machine() bool {
	spec, err := o.flags.Spec("")
	return err == nil && spec.Machine()
}

// Chosen reports whether a format was asked for, in place of that of the terminal or the pipe.
func (o *Output) Chosen() bool {
	spec, err := o.flags.Spec("")
	return err == nil && (spec.Machine() || spec.Format != "")
}
