package client

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

type exportOptions struct {
	*streams
	client func() (*sdk.Client, error)
	packs  packList

	pack, member   string
	fromAt, toward string // as typed
	everyText      string
	format         string // csv or ndjson; empty means by the name of the file

	from, to time.Time
	every    time.Duration
}

// newExport makes the command that writes history to a file.
func newExport(f *factory) *cobra.Command {
	o := exportOptions{streams: f.streams, client: f.Client, packs: f.Packs}
	c := f.Command(&cobra.Command{
		Use: "export [FILE] --member MEMBER --from TIME", Short: "Write a member of past states to a file",
		Long: "Write a member of past states to FILE or stdout: one line per state or, in CSV, one per row.\n\n" +
			"If the file exists, the export continues where it ends: run the same command again to update it or to finish an\n" +
			"interrupted export; nothing is written twice. Each started day costs a credit or a free call. Times beyond the\n" +
			"reach of the key, or before the first state, are skipped and cost nothing. TIME is\n" +
			human.MomentForms + ".\n" +
			"In CSV, a text that a spreadsheet would run as a formula gets a leading '.",
		Example: "  ctx export movers.ndjson --member top_movers --from 30d\n" +
			"  ctx export movers.csv --member top_movers --from 7d --every 1h\n" +
			"  ctx export --member sentiment.fearGreed --from 24h --every 1h -o csv",
	}, []string{cli.OpenFields}, func(ctx context.Context, args []string) error {
		pack, err := f.Pack([]string{o.pack})
		if err != nil {
			return err
		}
		o.pack = pack
		return o.run(ctx, strings.Join(args, ""))
	})
	flags := c.Flags()
	flags.StringVar(&o.member, "member", "", "`member` of the state, or a part of one: top_movers, sentiment.market (required)")
	flags.StringVar(&o.fromAt, "from", "", "the first moment, as `time` (default for an existing file: its end)")
	flags.StringVar(&o.toward, "to", "now", "the last moment, as `time`")
	flags.StringVar(&o.everyText, "every", api.FormatSpan(api.HistoryEveryMin), "one state this `often`, 5m or more")
	flags.StringVarP(&o.format, "output", "o", "", "`format`: csv or ndjson (default by the name of FILE, else ndjson)")
	_ = c.RegisterFlagCompletionFunc("output",
		cobra.FixedCompletions([]string{formatCSV, formatNDJSON}, cobra.ShellCompDirectiveNoFileComp))
	_ = c.RegisterFlagCompletionFunc("member", f.CompleteMembers())
	return f.Packed(c, &o.pack, "export of this `pack`", 0, 1)
}

// run writes what is missing in the file at path, "" for stdout.
func (o exportOptions) run(ctx context.Context, path string) (err error) {
	if err := o.check(path); err != nil {
		return err
	}
	out, err := openExport(path, o.format, o.Out)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.close()) }()
	if out.columns == nil && out.csv {
		out.columns = o.columns(ctx)
	}
	if !out.last.IsZero() {
		if next := o.after(out.last); o.from.IsZero() || next.After(o.from) {
			o.from = next
		}
	}
	if o.from.IsZero() {
		return cli.Invalid("--from is missing: the first moment").WithHint("ctx export FILE --member %s --from 30d", o.member)
	}
	client, err := o.client()
	if err != nil {
		return err
	}
	err = o.days(ctx, client, out)
	if out.left {
		o.Note("some rows have fields that are no columns of the file; -o ndjson has them all")
	}
	if failure := cli.ToFailure(err, ownFailure); err != nil && path != "" && out.states > 0 && failure.Hint == "" {
		return failure.WithHint("the same command goes on from there")
	}
	return err
}

func (o *exportOptions) check(path string) (err error) {
	if o.member == "" {
		return cli.Invalid("--member is missing: what to export").WithHint("ctx export --member top_movers --from 24h")
	}
	switch {
	case o.format == "" && strings.HasSuffix(strings.ToLower(path), "."+formatCSV):
		o.format = formatCSV
	case o.format == "":
		o.format = formatNDJSON
	case o.format != formatCSV && o.format != formatNDJSON:
		return cli.Invalid("output %q is neither csv nor ndjson", o.format)
	}
	if o.every, err = readSpan(api.OpHistory, "every", "--every", o.everyText); err != nil {
		return err
	}
	now := o.Now()
	if o.fromAt != "" {
		if o.from, err = human.ParsePoint(o.fromAt, now); err != nil {
			return cli.Invalid("--from: %w", err)
		}
		o.from = o.atOrAfter(o.from)
	}
	if o.to, err = human.ParsePoint(o.toward, now); err != nil {
		return cli.Invalid("--to: %w", err)
	}
	return nil
}

// atOrAfter is the first of the moments that are looked at from t on. They are the same in every run, whenever it is.
func (o exportOptions) atOrAfter(t time.Time) time.Time {
	if whole := t.Truncate(o.every); whole.Before(t) {
		return whole.Add(o.every)
	}
	return t
}

// after is the first moment behind the one that a state was written for.
func (o exportOptions) after(made time.Time) time.Time { return o.atOrAfter(made).Add(o.every) }

// earliest is in the hint of a refusal of what is too long ago.
var earliest = regexp.MustCompile(`the earliest minute for this caller is (\d{4}-\d\d-\d\dT\d\d:\d\d)`)

// days asks for a day at a time, so that what is cut off costs no more than that again, and writes what comes.
func (o exportOptions) days(ctx context.Context, client *sdk.Client, out *exportFile) error {
	first, credits := o.from, int64(0)
	var task *cli.Task
	if out.file != nil || !o.OutTTY { // else the states themselves are what people see
		task = o.Busy("exporting")
	}
	defer task.Done()
	for start := o.from; !start.After(o.to); {
		end := start.Add(api.HistoryDay)
		if end.After(o.to) {
			end = o.to
		}
		began, err := o.day(ctx, client, out, start, end)
		var refused *api.Error
		switch {
		case errors.As(err, &refused) && refused.Reason == api.ReasonSnapshotNotFound:
			start = o.beyond(refused, end)
			continue
		case err != nil:
			return err
		}
		if began {
			credits += api.HistoryCredits(start, end)
		}
		start = start.Add(end.Sub(start) / o.every * o.every).Add(o.every)
		task.Printf("exported %s of %s, %s", wholeSpan(end.Sub(first)), wholeSpan(o.to.Sub(first)), human.Plural(out.states, "state"))
	}
	if out.states == 0 {
		o.Note("there is nothing new to export")
		return nil
	}
	o.Note("exported %s, up to %s; it cost %s, or as many free calls", human.Plural(out.states, "state"),
		out.last.UTC().Format(time.RFC3339), human.Plural(int(credits), "credit"))
	return nil
}

func wholeSpan(d time.Duration) string { return api.FormatSpan(d.Truncate(time.Hour)) }

// beyond is where to go on when the service has nothing from the start of a day that ends at end: where it says that it begins.
func (o exportOptions) beyond(refused *api.Error, end time.Time) time.Time {
	if m := earliest.FindStringSubmatch(refused.Hint); m != nil {
		if at, err := time.Parse("2006-01-02T15:04", m[1]); err == nil {
			if next := o.atOrAfter(at.Add(time.Minute)); next.After(end.Add(-api.HistoryDay)) {
				return next
			}
		}
	}
	return o.atOrAfter(end.Add(time.Nanosecond))
}

// day writes the states of a day. began says that the service answered, and charged.
func (o exportOptions) day(ctx context.Context, client *sdk.Client, out *exportFile, start, end time.Time) (began bool, err error) {
	var meta sdk.Response
	r := sdk.HistoryRequest{Pack: o.pack, Member: o.member, From: start, To: end, Every: o.every}
	for line, err := range client.History(ctx, r, o.Call(&meta)...) {
		if err != nil {
			return began, err
		}
		if !began && out.states == 0 {
			o.ReportMeta(&meta)
		}
		if began = true; !line.GeneratedAt.After(out.last) { // it was the last one of the day before, too
			continue
		}
		if err := out.write(line); err != nil {
			return began, fmt.Errorf("write %s: %w", out.name, err)
		}
	}
	return began, nil
}
