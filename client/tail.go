package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/sdk/diff"
)

type tailOptions struct {
	*streams
	client func() (*sdk.Client, error)

	digestOptions
	pack        string
	path        string
	events      []string
	diff        bool
	changesOnly bool
	count       int
	limit       time.Duration
	exec        string
	noReconnect bool
}

// newFollow makes the command that follows a stream.
func newFollow(f *factory) *cobra.Command {
	o := tailOptions{streams: f.streams, client: f.Client}
	fields := []string{"type", "pack", "ts", "state", "changes", "from", "freshness", "message", cli.OpenFields}
	c := f.Command(&cobra.Command{
		Use: "follow", Short: "Follow the states of a pack as they arrive", SuggestFor: []string{"stream"},
		Long: "Follow the states of a pack: changes row by row on a terminal; elsewhere a JSON line for each event,\n" +
			"{\"type\",\"pack\",\"ts\",\"state\",\"freshness\"}. With --diff or --changes-only, \"changes\" replaces\n" +
			"\"state\". Rows of an overdue source show STALE and their age.\n\n" +
			"A broken connection is opened again. Opening the stream costs one credit; its events are free.",
		Example: "  ctx state follow\n  ctx state follow --path flags\n" +
			"  ctx state follow -o ndjson --changes-only | jq -r '.changes[].path'\n" +
			"  ctx state follow --count 1 --json ts\n  ctx state follow --changes-only --path flags --exec 'mail -s flags me@example.com'",
	}, fields, func(ctx context.Context, _ []string) (err error) {
		if o.pack, err = f.Pack([]string{o.pack}); err != nil {
			return err
		}
		return o.run(ctx)
	})
	flags := c.Flags()
	flags.StringVar(&o.path, "path", "", "show only this `path` of the state, such as flags or top_movers.0")
	flags.StringSliceVar(&o.events, "events", []string{"delta", "error"},
		"`kinds` to show: pulse, delta, error; pulse also repeats the last state")
	cli.CompleteValues(c, "events", api.EventPulse, api.EventDelta, api.EventError)
	flags.BoolVar(&o.diff, "diff", false, "show changes instead of states, also outside a terminal")
	flags.BoolVar(&o.changesOnly, "changes-only", false, "only changes; nothing for the first state")
	flags.IntVar(&o.count, "count", 0, "end after this `number` of events")
	flags.DurationVar(&o.limit, "for", 0, "end after this `time`")
	flags.StringVar(&o.exec, "exec", "", "run this shell `command` for each event, with its JSON as input")
	o.register(flags)
	flags.BoolVar(&o.noReconnect, "no-reconnect", false, "end with an error when the connection breaks")
	return f.Packed(c, &o.pack, "the states of this `pack`", 0, 0)
}

// check reports what is wrong with the flags.
func (o tailOptions) check() error {
	for _, e := range o.events {
		if !slices.Contains([]string{"pulse", "delta", "error"}, e) {
			return cli.Invalid("--events has %q, which is none of pulse, delta, error", e)
		}
	}
	if o.count < 0 || o.limit < 0 {
		return cli.Invalid("--count and --for must not be negative")
	}
	return o.digestOptions.check()
}

// run follows the stream until it ends, or it has shown enough.
func (o tailOptions) run(ctx context.Context) error {
	if err := o.check(); err != nil {
		return err
	}
	client, err := o.client()
	if err != nil {
		return err
	}
	whole := ctx
	if o.limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.limit)
		defer cancel()
	}
	o.Streams = true
	t := tail{tailOptions: o}
	t.stream = client.Subscribe(sdk.SubscribeRequest{Pack: o.pack, Proven: true, Repeats: slices.Contains(o.events, "pulse"),
		OnChange: t.connection})
	defer t.stream.Close()
	for event, err := range t.stream.Events(ctx) {
		switch {
		case err != nil && ctx.Err() != nil && (whole.Err() == nil || t.shown > 0):
			return nil // its time is over, or Ctrl-C, which is how one ends it
		case err != nil:
			return err
		}
		if err := t.show(ctx, event); err != nil {
			return err
		}
		if o.count > 0 && t.shown >= o.count {
			return nil
		}
	}
	return t.lost
}

type tail struct {
	tailOptions
	stream  *sdk.Stream
	last    api.StreamState // zero before the first
	shown   int
	noticed bool  // that the data is of a demo
	lost    error // with --no-reconnect: why the connection broke
}

// connection tells people that the connection comes and goes.
func (t *tail) connection(c sdk.Connection) {
	switch {
	case c.Connected && c.Reconnects > 0:
		t.Note("connected again")
	case !c.Connected && t.noReconnect:
		t.lost = c.Err
		t.stream.Close()
	case !c.Connected:
		t.Note("connection lost: %v; trying again in %s", c.Err, human.Age(c.Wait.Round(time.Second)))
	}
	if c.Demo && !t.noticed {
		t.noticed = true
		t.Note("demo data: synthetic values")
	}
}

// show shows an event, if it is one to show.
func (t *tail) show(ctx context.Context, event sdk.Event) error {
	if event.Type == api.EventError {
		if !slices.Contains(t.events, "error") {
			return nil
		}
		return t.print(ctx, map[string]string{"type": "error", "message": event.Message}, func(w io.Writer, _ int, style cli.Style) error {
			_, err := fmt.Fprintln(w, style.Warn(human.Line(event.Message)))
			return err
		})
	}
	before := t.last
	t.last = event.State
	repeats := event.State.TS.Equal(before.TS)
	if repeats || before.State == nil {
		if t.changesOnly {
			return nil
		}
		return t.state(ctx, event)
	}
	r, err := t.compare(before, event.State)
	if err != nil {
		return err
	}
	switch {
	case len(r.Changes) == 0 && (t.changesOnly || t.path != ""):
		return nil
	case t.changesOnly || t.diff:
		return t.print(ctx, r, t.lines(r))
	}
	return t.stateAnd(ctx, event, t.lines(r))
}

func (t *tail) compare(before, now api.StreamState) (changeReport, error) {
	changes, err := diff.States(before.State, now.State)
	if err != nil {
		return changeReport{}, err
	}
	return changeReport{Type: "changes", Pack: now.Pack, From: before.TS, TS: now.TS, Changes: within(changes, t.path),
		Freshness: now.FreshnessAt(t.Now()), state: now.State}, nil
}

func (t *tail) lines(r changeReport) func(io.Writer, int, cli.Style) error {
	return func(w io.Writer, width int, style cli.Style) error {
		return r.write(Page{W: w, Width: width, Style: style, Now: t.Now()}, t.digestOptions)
	}
}

// state shows a state that there is nothing to compare with.
func (t *tail) state(ctx context.Context, event sdk.Event) error {
	return t.stateAnd(ctx, event, func(w io.Writer, _ int, style cli.Style) error {
		at := event.State.TS.In(t.Now().Location()).Format(time.TimeOnly)
		overdue := Page{Style: style, Now: t.Now()}.of(event.State.State, event.State.FreshnessAt(t.Now()), t.Now()).overdue(event.State.TS)
		_, err := fmt.Fprintf(w, "%s  state of %d bytes%s\n", style.Bold(at+"  "+event.State.Pack), len(event.State.State), overdue)
		return err
	})
}

// stateAnd shows a state to programs and what text writes to people.
func (t *tail) stateAnd(ctx context.Context, event sdk.Event, text func(io.Writer, int, cli.Style) error) error {
	return t.print(ctx, struct {
		Type api.EventType `json:"type"`
		api.StreamState
		Freshness api.Freshness `json:"freshness"`
	}{event.Type, event.State, event.State.FreshnessAt(t.Now())}, text)
}

// print writes an event and runs the command for it.
func (t *tail) print(ctx context.Context, v any, text func(io.Writer, int, cli.Style) error) error {
	doc, err := cli.Marshal(v)
	if err != nil {
		return err
	}
	t.shown++
	if err := t.Print(ctx, cli.Answer{JSON: doc, Text: text, Piped: cli.NDJSON}); err != nil {
		return err
	}
	return t.execute(ctx, doc)
}

// execute runs the command of --exec once, with doc as its input.
func (t *tail) execute(ctx context.Context, doc json.RawMessage) error {
	if t.exec == "" {
		return nil
	}
	c := exec.CommandContext(ctx, "sh", "-c", t.exec)
	c.Stdin, c.Stdout, c.Stderr = bytes.NewReader(append(doc, '\n')), t.Out, t.Err
	if err := c.Run(); err != nil {
		var ended *exec.ExitError
		if ctx.Err() == nil && errors.As(err, &ended) {
			t.Note("the command of --exec ended with %d", ended.ExitCode())
			return nil
		}
		return fmt.Errorf("run %s: %w", strings.Fields(t.exec)[0], err)
	}
	return nil
}
