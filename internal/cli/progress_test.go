package cli_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/internal/cli"
)

// TestProgress looks at what a terminal gets to see of a task, and where nobody is told of it.
func TestProgress(t *testing.T) {
	t.Parallel()
	const clear = "\r\x1b[K"
	for name, c := range map[string]struct {
		env    []string // pairs
		noTTY  bool
		act    func(p *cli.Progress)
		screen string // all of it, or a part that it has where it is so long
		part   bool
	}{
		"done soon": {act: func(p *cli.Progress) {
			task := p.Begin("work")
			time.Sleep(299 * time.Millisecond)
			task.Done()
			time.Sleep(time.Second)
		}},
		"lasts": {act: func(p *cli.Progress) {
			task := p.Begin("work")
			time.Sleep(301 * time.Millisecond)
			task.Printf("%d of 2", 1)
			time.Sleep(100 * time.Millisecond)
			task.Done()
			time.Sleep(time.Second)
		}, screen: clear + "⠙ work" + clear + "⠹ 1 of 2" + clear},
		"within another": {act: func(p *cli.Progress) {
			outer, inner := p.Begin("outer"), p.Begin("inner")
			time.Sleep(301 * time.Millisecond)
			inner.Done()
			outer.Done()
			inner.Done()
		}, screen: clear + "⠙ outer" + clear},
		"a note goes above, a question stays last": {act: func(p *cli.Progress) {
			task := p.Begin("work")
			time.Sleep(301 * time.Millisecond)
			fmt.Fprintln(p, "note")
			time.Sleep(100 * time.Millisecond)
			fmt.Fprint(p, "sure? ")
			time.Sleep(time.Second)
			task.Done()
		}, screen: clear + "⠙ work" + clear + "note\n" + clear + "⠹ work" + clear + "sure? "},
		"no control characters, and cut": {env: []string{"LANG", "C"}, act: func(p *cli.Progress) {
			task := p.Begin("a\x1b[31m\nb, cut at the width")
			time.Sleep(2999 * time.Millisecond)
			fmt.Fprint(p, "?")
			time.Sleep(2 * time.Millisecond)
			fmt.Fprint(p, "\n")
			time.Sleep(100 * time.Millisecond)
			task.Done()
		}, screen: "?\n" + clear + "| a b, cut at the widt~" + clear, part: true},
		"the time": {act: func(p *cli.Progress) {
			task := p.Begin("work")
			time.Sleep(3001 * time.Millisecond)
			task.Done()
		}, screen: " work" + clear + "⠇ work  3s" + clear, part: true},
		"a screen reader": {env: []string{"ACCESSIBLE", "1"}, act: func(p *cli.Progress) {
			task := p.Begin("work")
			time.Sleep(2 * time.Second)
			task.Done()
		}, screen: "work\n"},
		"no terminal": {noTTY: true, act: lasting},
		"CI":          {env: []string{"CI", "true"}, act: lasting},
		"dumb":        {env: []string{"TERM", "dumb"}, act: lasting},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var screen bytes.Buffer
				c.act(cli.NewProgress(cli.System{Err: &screen, ErrTTY: !c.noTTY, Width: 24, Now: time.Now,
					LookupEnv: func(name string) (string, bool) {
						if len(c.env) > 0 && c.env[0] == name {
							return c.env[1], true
						}
						return "", false
					}}))
				if got := screen.String(); got != c.screen && !(c.part && strings.Contains(got, c.screen)) {
					t.Errorf("%q\nwant %q", got, c.screen)
				}
			})
		})
	}
}

// lasting is a task of two seconds.
func lasting(p *cli.Progress) {
	task := p.Begin("work")
	time.Sleep(2 * time.Second)
	task.Printf("more")
	task.Done()
}

// TestBusy begins a task only where people read the answer.
func TestBusy(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]bool{"": true, "-o table": true, "-o json": false, "-q .": false, "--json a": false} {
		p := cli.NewProgress(cli.System{Err: io.Discard, ErrTTY: true, Now: time.Now})
		c := &cobra.Command{Use: "c", RunE: func(c *cobra.Command, _ []string) error {
			if task := cli.Busy(c, "work"); (task != nil) != want {
				return errors.New("told, or not")
			} else {
				task.Done()
			}
			return nil
		}}
		cli.AddOutput(c, "a")
		c.SetErr(p)
		c.SetArgs(strings.Fields(args))
		c.SilenceErrors, c.SilenceUsage = true, true
		if err := c.Execute(); err != nil {
			t.Errorf("%q: %v", args, err)
		}
	}
}
