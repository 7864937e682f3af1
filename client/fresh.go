package client

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/contextd/contextd/client/config"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

func dataCommands(f *factory) []*cobra.Command {
	return []*cobra.Command{
		newAsk(f), newState(f), newBrief(f), newChanges(f), newChart(f), newWatch(f), newQuery(f), newExport(f), newCite(f), newCheck(f),
		newOpen(f), newPacks(f), newAPI(f),
	}
}

// stateFields are the fields of a state. The members of the state are fields too.
func stateFields() []string {
	names := []string{"state", "brief", "briefAt", "briefOf", "since", "citations", "briefCitations", "freshness", "attestation"}
	return append(append(names, cli.FieldsIn(api.CryptoState{})...), cli.OpenFields)
}

type freshOptions struct {
	*streams
	client func() (*sdk.Client, error)
	config func() (*config.Config, error)
	logs   *logs

	pack    string
	members []string      // of the state that are asked for; none means all
	path    string        // of the part to show; empty means all
	maxAge  time.Duration // an older state is a failure; 0 means that none is
	watch   time.Duration // from one call to the next; 0 means one call
	bundle  string        // file for what proves the answer, "" for none
	trend   bool          // how the rows of the first table went
	past    *pflag.Flag   // the time of a past state, as typed
}

// newState makes the command that shows a state.
func newState(f *factory) *cobra.Command {
	o := freshOptions{streams: f.streams, client: f.Client, config: f.Config, logs: f.Logs}
	c := f.Command(&cobra.Command{
		Use: "state", Short: "Show the newest or a past state of a pack",
		SuggestFor: []string{"show", "flags", "history", "movers", "ps"},
		Long: "Show the newest state of a pack, or with --at the one of a past minute: an overview on a terminal, the service's\n" +
			"JSON elsewhere.\n\n" +
			"TIME is " + human.MomentForms + ".\n" +
			"Times without a zone are local. The tier of a key limits how far back it reaches. A time with seconds, such as\n" +
			"the generatedAt of an answer, selects the newest state at that moment.\n\n" +
			"--path selects a part of the state and prints text as it is. --json takes the members of the answer and of the\n" +
			"state. Each call costs one credit, and so does each round of --watch.",
		Example: "  ctx state\n  ctx state --members flags,sentiment -o yaml\n  ctx state crypto --path top_movers.0.symbol\n" +
			"  ctx state --json flags --jq '.flags[].message'\n  ctx state --max-age 5m || echo stale\n" +
			"  ctx state --watch 5m -o ndjson\n  ctx state --trend\n  ctx state --at \"yesterday 14:00\"\n" +
			"  ctx state --at 20m --bundle said.json     what proves it, for ctx verify",
	}, stateFields(), func(ctx context.Context, _ []string) (err error) {
		if o.pack, err = f.Pack([]string{o.pack}); err != nil {
			return err
		}
		return o.run(ctx)
	})
	flags := c.Flags()
	flags.StringSliceVar(&o.members, "members", nil, "ask for these `names` of members of the state alone, with commas between")
	_ = c.RegisterFlagCompletionFunc("members", f.CompleteMembers()) // it fails for a flag that is not there
	flags.StringVar(&o.path, "path", "", "show only this `path` of the state, such as top_movers.0.symbol")
	flags.DurationVar(&o.maxAge, "max-age", 0, "exit 10 if the state, or data of a source that is overdue, is older than this `age`")
	flags.BoolVar(&o.trend, "trend", false, "also show 24-hour trends for the rows of the first table; this is another call")
	flags.StringVar(&o.bundle, "bundle", "", bundleFlag)
	flags.DurationVar(&o.watch, "watch", 0, "ask again this `often` and show each new state")
	flags.String("at", "", "show the state of the past minute of this `time`")
	o.past = flags.Lookup("at")
	for _, other := range []string{"members", "max-age", "trend", "watch"} {
		c.MarkFlagsMutuallyExclusive("at", other)
	}
	c.AddCommand(newFollow(f))
	return f.Packed(c, &o.pack, "the state of this `pack`", 0, 0)
}

// run shows the state once, or again and again.
func (o freshOptions) run(ctx context.Context) error {
	switch {
	case o.trend && o.path != "":
		return cli.Invalid("--trend and --path exclude each other")
	case o.bundle != "" && (len(o.members) > 0 || o.watch != 0):
		return cli.Invalid("--bundle is of one whole state: it excludes --members and --watch")
	case o.watch != 0 && o.watch < time.Second: // each round costs a credit
		return cli.Invalid("--watch is %s, must be 1s or more", o.watch)
	}
	if err := writable("--bundle", o.bundle); err != nil {
		return err
	}
	if o.past.Changed {
		return o.snapshot(ctx)
	}
	o.trend = o.trend && o.forPeople()
	if o.watch == 0 {
		_, err := o.once(ctx, time.Time{})
		return err
	}
	return o.rounds(ctx)
}

// rounds shows each new state until somebody ends it.
func (o freshOptions) rounds(ctx context.Context) error {
	o.Streams = true
	tick := time.NewTicker(o.watch)
	defer tick.Stop()
	for last := (time.Time{}); ; {
		at, err := o.once(ctx, last)
		shown := !last.IsZero()
		_, paid := errors.AsType[*sdk.PaidError](err)
		switch {
		case ctx.Err() != nil && shown && !paid:
			return nil // Ctrl-C is how one ends it
		case err != nil && (!shown || !passing(err) || ctx.Err() != nil):
			return err
		case err != nil:
			o.Note("%v; asking again in %s", err, o.watch)
		default:
			last = at
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// forPeople reports whether the state is drawn.
func (o freshOptions) forPeople() bool {
	spec, err := o.Spec()
	return err == nil && !spec.Machine() && (o.OutTTY || spec.Format != "")
}

// passing reports whether err may be gone in the next round.
func passing(err error) bool {
	f := cli.ToFailure(err, ownFailure) // a payment is shown again in the next round
	return f != nil && f.Exit == cli.ExitUnavailable
}

// once asks for the state and shows it unless it is the one of last. It returns when the state was made.
func (o freshOptions) once(ctx context.Context, last time.Time) (time.Time, error) {
	client, err := o.client()
	if err != nil {
		return last, err
	}
	var meta sdk.Response
	options := o.Call(&meta)
	if len(o.members) > 0 {
		options = append(options, sdk.WithMembers(o.members...))
	}
	state, err := client.Fresh(ctx, o.pack, options...)
	if err != nil {
		return last, err
	}
	made := state.Freshness.GeneratedAt
	if !last.IsZero() && made.Equal(last) {
		return last, nil
	}
	o.ReportMeta(&meta)
	if o.bundle != "" {
		if err := writeBundle(ctx, o.logs, "--bundle", o.bundle, o.pack, state, nil, &meta); err != nil {
			return last, err
		}
	}
	learn(o.config, namesOfState(state.State))
	answer, err := o.answer(state, meta.Body, func(p Page) error { return p.State(o.pack, state) })
	if err != nil {
		return last, err
	}
	if o.trend {
		if err := o.addTrend(ctx, client, state.State, &answer); err != nil {
			return last, err
		}
	}
	if err := o.Print(ctx, answer); err != nil {
		return last, err
	}
	return made, o.tooOld(state.Freshness)
}

// addTrend adds to what people are shown how the rows of the first table of the state went.
func (o freshOptions) addTrend(ctx context.Context, client *sdk.Client, of json.RawMessage, answer *cli.Answer) error {
	path := firstTable(state.Read(of))
	if path == "" {
		o.Note("there are no rows whose trend could be shown")
		return nil
	}
	var meta sdk.Response
	series, err := client.Series(ctx, sdk.SeriesRequest{Pack: o.pack, Path: path}, o.Call(&meta)...)
	if err != nil {
		return err
	}
	text := answer.Text
	answer.Text = func(w io.Writer, width int, style cli.Style) error {
		if err := text(w, width, style); err != nil {
			return err
		}
		return Page{W: w, Width: width, Style: style, Now: o.Now()}.trend(series)
	}
	return nil
}

// firstTable is the first member of a state that has rows of data, "" where none has.
func firstTable(doc *state.Document) string {
	for _, m := range doc.Root().Members {
		if m.Name != api.MemberFlags && m.Name != api.MemberSourceStatus &&
			m.IsArray() && len(m.Members) > 0 && m.Members[0].Member("id") != nil {
			return m.Name
		}
	}
	return ""
}

// tooOld is the failure of a state that, or of which some datum of a source that is overdue, is older than was asked for. The time at
// which it was made decides, and not the number that a cache or a replay may have kept.
func (o freshOptions) tooOld(f api.Freshness) error {
	f = f.At(o.Now())
	age := time.Duration(f.DataAgeSeconds) * time.Second
	if o.maxAge == 0 || age <= o.maxAge {
		return nil
	}
	what := "the state of " + o.pack + " is "
	if f.DataAgeSeconds > f.AgeSeconds {
		what = "data in the state of " + o.pack + " is up to "
	}
	return (&cli.Failure{Exit: cli.ExitStale, Reason: "stale",
		Err: errors.New(what + human.Age(age) + " old, older than " + o.maxAge.String())}).WithHint("ctx doctor")
}

// answer is what there is to show: the whole answer, or what is at the path.
func (o freshOptions) answer(state *api.StateResponse, body []byte, draw func(Page) error) (cli.Answer, error) {
	if o.path != "" {
		return at(state.State, o.path, o.Now())
	}
	return stateAnswer(state, body, draw, o.Now())
}

// stateAnswer is a state with its brief; draw draws it for people.
func stateAnswer(state *api.StateResponse, body []byte, draw func(Page) error, now time.Time) (cli.Answer, error) {
	flat, err := flatten(body, state.State)
	if err != nil {
		return cli.Answer{}, err
	}
	return cli.Answer{JSON: body, Flat: flat, Piped: cli.JSON, Text: func(w io.Writer, width int, style cli.Style) error {
		return draw(Page{W: w, Width: width, Style: style, Now: now})
	}}, nil
}
