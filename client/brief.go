package client

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

// proseWidth is the width beyond which prose is hard to read.
const proseWidth = 100

type briefOptions struct {
	*streams
	client func() (*sdk.Client, error)

	pack   string
	cite   string // a CiteStyle; empty means footnotes
	render bool   // wrap and mark without a terminal too
	raw    bool   // the text alone, as it came
	width  int    // columns; 0 means those of the terminal, or no limit
	check  bool   // with what becomes of its figures in a check
}

func newBrief(f *factory) *cobra.Command {
	o := briefOptions{streams: f.streams, client: f.Client}
	c := f.Command(&cobra.Command{
		Use: "brief", Short: "Read the brief of a pack with its sources",
		SuggestFor: []string{"read", "summary"},
		Long: "Read the brief of a pack. Refs such as [1] name its sources, listed below the text.\n\n" +
			"On a terminal, the text is wrapped and refs are highlighted. Elsewhere, lines keep their length.",
		Example: "  ctx brief\n  ctx brief crypto --cite inline\n  ctx brief --raw > brief.txt\n  ctx brief --json brief -q .brief",
	}, briefFields(), func(ctx context.Context, _ []string) (err error) {
		if o.pack, err = f.Pack([]string{o.pack}); err != nil {
			return err
		}
		return o.run(ctx)
	})
	flags := c.Flags()
	flags.StringVar(&o.cite, "cite", "", "`how` to show sources: footnotes (the default), inline or none")
	flags.BoolVar(&o.render, "render", false, "wrap and highlight the text even without a terminal")
	flags.BoolVar(&o.raw, "raw", false, "only the text, as the service sent it")
	flags.BoolVar(&o.check, "check", false, "check each figure against the state of the brief, which is a call too")
	flags.IntVar(&o.width, "width", 0, "wrap at this many `columns`")
	_ = c.RegisterFlagCompletionFunc("cite",
		cobra.FixedCompletions([]string{"footnotes", "inline", "none"}, cobra.ShellCompDirectiveNoFileComp))
	c.AddCommand(newPrompt(f))
	return f.Packed(c, &o.pack, "the brief of this `pack`", 0, 0)
}

func briefFields() []string {
	return []string{"brief", "briefAt", "briefOf", "since", "citations", "check", "freshness"}
}

func (o briefOptions) run(ctx context.Context) error {
	if o.raw && (o.render || o.check || o.width != 0 || o.cite != "") {
		return cli.Invalid("--raw excludes --render, --check, --width and --cite")
	}
	if o.cite == "" {
		o.cite = string(CiteFootnotes)
	}
	if !slices.Contains(CiteStyles(), CiteStyle(o.cite)) {
		return cli.Invalid("--cite %q is none of footnotes, inline, none", o.cite)
	}
	if o.width != 0 && o.width < 20 {
		return cli.Invalid("--width is %d, must be 20 or more", o.width)
	}
	client, err := o.client()
	if err != nil {
		return err
	}
	var meta sdk.Response
	brief, err := client.Brief(ctx, o.pack, o.Call(&meta)...)
	if err != nil {
		return err
	}
	o.ReportMeta(&meta)
	check := &checkOptions{streams: o.streams, client: o.client}
	var found *api.CheckResponse
	if o.check {
		check.request = sdk.CheckRequest{Pack: o.pack, Text: brief.Brief, At: writtenFrom(brief), All: true}
		if found, err = check.judged(ctx); err != nil {
			return err
		}
		if meta.Body, err = withCheck(meta.Body, found); err != nil {
			return err
		}
	}
	flat, err := flatten(meta.Body, nil)
	if err != nil {
		return err
	}
	err = o.Print(ctx, cli.Answer{JSON: meta.Body, Flat: flat, Piped: cli.Text,
		Text: func(w io.Writer, width int, style cli.Style) error { return o.draw(w, width, style, brief, found) }})
	if err != nil || !o.check {
		return err
	}
	return check.verdict(found)
}

// writtenFrom is the moment of the state that a brief was written from.
func writtenFrom(brief *api.BriefResponse) time.Time {
	if brief.BriefOf != nil {
		return *brief.BriefOf
	}
	return brief.Freshness.GeneratedAt
}

// withCheck is a brief in JSON with what became of its figures.
func withCheck(brief []byte, found *api.CheckResponse) ([]byte, error) {
	text, err := cli.Marshal(found)
	if err != nil {
		return nil, err
	}
	head, _ := bytes.CutSuffix(bytes.TrimSpace(brief), []byte("}"))
	return slices.Concat(head, []byte(`,"check":`), bytes.TrimSpace(text), []byte("}")), nil
}

func (o briefOptions) draw(w io.Writer, width int, style cli.Style, brief *api.BriefResponse, found *api.CheckResponse) error {
	tty := o.OutTTY
	if o.raw {
		text := brief.Brief
		if tty {
			text = human.Text(text)
		}
		_, err := fmt.Fprintln(w, text)
		return err
	}
	page := Page{W: w, Style: style, Now: o.Now(), Saved: !tty}
	switch {
	case o.width > 0:
		page.Width = o.width
	case tty || o.render:
		page.Width = min(width, proseWidth)
	}
	if err := page.Brief(o.pack, brief, CiteStyle(o.cite)); err != nil || !o.check {
		return err
	}
	fmt.Fprintln(w)
	return page.check(found)
}
