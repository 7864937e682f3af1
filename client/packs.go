package client

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"

	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

type packsOptions struct {
	*streams
	list packList
}

// newPacks makes the group of commands that show which packs there are.
func newPacks(f *factory) *cobra.Command {
	o := packsOptions{f.streams, f.Packs}
	fields := cli.FieldsIn(api.PackInfo{})
	pack := ""
	return f.Packed(f.Command(&cobra.Command{
		Use: "packs", Short: "Show the available packs, their sources and licences", SuggestFor: []string{"ls", "list", "sources"},
		Long: "Show the packs of the service, or the sources of one and the members of its state. This is free and needs no\n" +
			"key. A key without credits reads only " + api.DefaultPack + ".",
		Example: "  ctx packs\n  ctx packs crypto\n  ctx packs crypto -q '.sources[].licence'",
	}, fields, func(ctx context.Context, _ []string) error {
		if pack == "" {
			return o.all(ctx)
		}
		return o.view(ctx, pack)
	}), &pack, "only this `pack`", 0, 0)
}

func (o packsOptions) ask(ctx context.Context) ([]api.PackInfo, error) {
	var meta sdk.Response
	packs, err := o.list.Ask(ctx, o.Call(&meta)...)
	if err == nil {
		o.ReportMeta(&meta)
	}
	return append([]api.PackInfo{}, packs...), err
}

// all shows a line for each pack.
func (o packsOptions) all(ctx context.Context) error {
	packs, err := o.ask(ctx)
	if err != nil {
		return err
	}
	rows := &cli.Rows{Columns: []string{"pack", "title", "members", "sources", "interval"}, Right: []bool{3: true, 4: true}, Wide: 2,
		Empty: "the service has no packs"}
	for _, p := range packs {
		rows.Rows = append(rows.Rows, []string{
			p.ID, p.Title, strings.Join(topMembers(&p), ", "), fmt.Sprint(len(p.Sources)), shortest(p.Sources),
		})
	}
	return o.Show(ctx, packs, rows)
}

// shortest is how often the source is asked that is asked most often.
func shortest(sources []api.PackSource) string {
	least := 0
	for _, s := range sources {
		if s.IntervalSeconds > 0 && (least == 0 || s.IntervalSeconds < least) {
			least = s.IntervalSeconds
		}
	}
	return every(least)
}

// every is how often something is done that is done each so many seconds.
func every(seconds int) string {
	if seconds <= 0 {
		return human.Unknown
	}
	return api.FormatSpan(time.Duration(seconds) * time.Second)
}

func (o packsOptions) view(ctx context.Context, id string) error {
	packs, err := o.ask(ctx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(packs, func(p api.PackInfo) bool { return p.ID == id })
	if i < 0 {
		failure := &cli.Failure{Exit: cli.ExitNotFound, Reason: string(api.ReasonPackNotFound), Err: fmt.Errorf("there is no pack %q", id)}
		return failure.WithHint("ctx packs")
	}
	doc, err := cli.Marshal(packs[i])
	if err != nil {
		return err
	}
	return o.Print(ctx, cli.Answer{JSON: doc, Piped: cli.JSON, Text: func(w io.Writer, width int, style cli.Style) error {
		return Page{W: w, Width: width, Style: style, Now: o.Now()}.Pack(&packs[i])
	}})
}

// Pack draws what is known of a pack.
func (p Page) Pack(info *api.PackInfo) error {
	var b bytes.Buffer
	w := p.W
	p.W = &b
	p.line("%s  %s, version %d", p.Style.Bold(human.Line(info.ID)), human.Line(info.Title), info.Version)
	p.wrapped("", human.Line(info.Description))
	p.heading("SOURCES")
	for _, s := range info.Sources {
		name := fmt.Sprintf("  %4s %s", fmt.Sprintf("[%d]", s.Ref), human.Line(s.Name))
		p.line("%s", p.Style.Fit(name, max(p.Width-12, 0))+p.Style.FitRight("every "+every(s.IntervalSeconds), 12))
		p.wrapped("       ", strings.TrimPrefix(human.Line(s.Licence)+"  "+p.Style.Link(human.Line(s.URL)), "  "))
		p.wrapped("       ", p.Style.Dim(human.Line(s.Use.String())))
		p.wrapped("       ", human.Line(s.Use.Notice))
		p.wrapped("       ", human.Line(s.Unasked))
		if s.Moved {
			p.wrapped("       ", "asked at an address of the operator's")
		}
	}
	p.heading("MEMBERS")
	for _, m := range info.Members {
		p.line("  %s  %s", human.Line(m.Name), p.Style.Dim(human.Line(m.Kind)))
		p.wrapped("       ", human.Line(strings.Join(m.Fields, ", ")))
	}
	if len(info.Kinds) > 0 {
		p.heading("KINDS")
		p.wrapped("  ", human.Line(strings.Join(info.Kinds, ", ")))
	}
	_, err := w.Write(b.Bytes())
	return err
}

// wrapped writes text in lines behind an indent, none for "".
func (p Page) wrapped(indent, text string) {
	if text == "" {
		return
	}
	for line := range strings.SplitSeq(ansi.Wordwrap(text, max(p.Width-len(indent), 1), ""), "\n") {
		p.line("%s%s", indent, line)
	}
}
