package main

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/cmd/contextd/config"
	"github.com/contextd/contextd/daemon/pack"
	"github.com/contextd/contextd/daemon/pack/manifest"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/sdk/api"
)

// packRow is a pack that can be served.
type packRow struct {
	Pack    string `json:"pack"`
	Title   string `json:"title"`
	Version int    `json:"version"`
	Sources int    `json:"sources"`
	Enabled bool   `json:"enabled"`
	From    string `json:"from"` // its file, or "program"
	Error   string `json:"error,omitempty"`
}

// fromProgram is where the packs are from that are part of the program.
const fromProgram = "program"

func newPackList(s *settings) *cobra.Command {
	c := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Args: cobra.NoArgs,
		Short:   "List all packs and show the enabled ones",
		Example: "  contextd packs list\n  contextd packs list -q '.[] | select(.enabled) | .pack'",
	}
	out := cli.AddOutput(c, cli.FieldsIn(packRow{})...)
	c.RunE = func(*cobra.Command, []string) error {
		cfg, err := s.Load()
		if err != nil {
			return err
		}
		crypto := pack.Crypto()
		list := []packRow{{crypto.ID, crypto.Title, crypto.Version, len(crypto.Sources), !cfg.Packs.NoCrypto, fromProgram, ""}}
		for _, id := range cfg.Packs.Known() {
			list = append(list, rowOf(cfg.Packs, id))
		}
		return out.Print(list, packTable(list))
	}
	return c
}

func rowOf(p config.Packs, id string) packRow {
	row := packRow{Pack: id, Enabled: slices.Contains(p.Enabled, id), From: fromProgram}
	text, file, err := p.Text(id)
	if file != "" {
		row.From = file
	}
	if err != nil {
		row.Error = err.Error()
		return row
	}
	found := packText{text: text, file: file, name: id, dir: p.Directory()}
	if wrong := found.mistakes(); len(wrong) > 0 {
		row.Error = lineOf(wrong[0])
		return row
	}
	m, err := manifest.Read(text, file == "")
	if err != nil {
		row.Error = err.Error()
		return row
	}
	row.Title, row.Version, row.Sources = m.Title, m.Version, len(m.Sources)
	return row
}

func packTable(list []packRow) cli.Answer {
	rows := &cli.Rows{Columns: []string{"pack", "title", "version", "sources", "enabled", "from"}, Right: []bool{2: true, 3: true}, Wide: 5}
	for _, p := range list {
		enabled := map[bool]string{true: "yes", false: "no"}[p.Enabled]
		row := []string{p.Pack, p.Title, fmt.Sprint(p.Version), fmt.Sprint(p.Sources), enabled, p.From}
		if p.Error != "" {
			row = []string{p.Pack, "does not hold: " + p.Error, "-", "-", enabled, p.From}
		}
		rows.Rows = append(rows.Rows, row)
	}
	return table(rows)
}

// packView is all that a pack says of itself.
type packView struct {
	packRow
	Description string       `json:"description"`
	List        []sourceView `json:"list"`
	Members     []memberView `json:"members"`
	Flags       []flagView   `json:"flags"`
}

// sourceView is a source of a pack.
type sourceView struct {
	Ref             int    `json:"ref"`
	ID              string `json:"id"`
	Name            string `json:"name"`
	URL             string `json:"url"`
	Licence         string `json:"licence"`
	IntervalSeconds int    `json:"intervalSeconds"`

	Use api.Use `json:"use"`
}

// memberView is a list in the state of a pack.
type memberView struct {
	Name   string   `json:"name"`
	Kind   string   `json:"kind"`
	Fields []string `json:"fields"`
}

// flagView is a flag that a pack may raise.
type flagView struct {
	Kind string `json:"kind"`
	Over string `json:"over"`
	When string `json:"when"`
}

func newPackView(s *settings) *cobra.Command {
	c := &cobra.Command{
		Use: "view FILE|NAME", Short: "Show the sources, licences, members and flags of a pack", Args: cobra.ExactArgs(1),
		ValidArgsFunction: s.completePacks,
		Example:           "  contextd packs view markets\n  contextd packs view markets -q '.list[] | [.name, .licence]'",
	}
	out := cli.AddOutput(c, cli.FieldsIn(packView{})...)
	var text bool
	c.Flags().BoolVar(&text, "manifest", false, "print the manifest itself")
	c.RunE = func(_ *cobra.Command, args []string) error {
		if text {
			p, _, err := s.manifestOf(args[0])
			if err == nil {
				_, err = c.OutOrStdout().Write(p.text)
			}
			return err
		}
		v, err := s.viewPack(args[0])
		if err != nil {
			return err
		}
		return out.Print(v, cli.Answer{Piped: cli.Text, Text: func(w io.Writer, _ int, style cli.Style) error { return v.print(w, style) }})
	}
	return c
}

func (s *settings) viewPack(arg string) (v packView, err error) {
	made, m := pack.Crypto(), &manifest.Manifest{}
	cfg, err := s.Load()
	if err != nil {
		return v, err
	}
	v.From, v.Enabled = fromProgram, !cfg.Packs.NoCrypto
	if arg != api.PackCrypto {
		p, cfg, err := s.manifestOf(arg)
		if err != nil {
			return v, err
		}
		var e manifest.Evaluator
		if m, e, err = p.read(); err != nil {
			return v, err
		}
		if made, _, err = m.Make(e); err != nil {
			return v, err
		}
		if v.Enabled = slices.Contains(cfg.Packs.Enabled, m.Pack); p.file != "" {
			v.From = p.file
		}
	}
	v.Pack, v.Title, v.Version, v.Sources, v.Description = made.ID, made.Title, made.Version, len(made.Sources), made.Description
	v.List, v.Members, v.Flags = []sourceView{}, []memberView{}, []flagView{}
	for i, s := range made.Sources {
		v.List = append(v.List, sourceView{i + 1, s.ID, s.Name, s.PublicURL, s.Licence, int(s.Interval.Seconds()), s.Use})
	}
	for _, of := range made.Members {
		v.Members = append(v.Members, memberView{of.Name, of.Kind, append([]string{}, of.Fields...)})
	}
	for _, f := range m.Flags {
		v.Flags = append(v.Flags, flagView{f.Kind, f.Over, f.When})
	}
	return v, nil
}

func (v packView) print(w io.Writer, style cli.Style) error {
	var b bytes.Buffer
	enabled := map[bool]string{true: "enabled", false: "not enabled"}[v.Enabled]
	fmt.Fprintf(&b, "%s  %s, version %d, %s, from %s\n", style.Bold(v.Pack), v.Title, v.Version, enabled, v.From)
	if v.Description != "" {
		fmt.Fprintln(&b, v.Description)
	}
	fmt.Fprintf(&b, "\n%s\n", style.Bold("SOURCES"))
	for _, s := range v.List {
		fmt.Fprintf(&b, "%5s %s, every %s\n      %s  %s\n      %s\n", fmt.Sprintf("[%d]", s.Ref), s.Name,
			api.FormatSpan(time.Duration(s.IntervalSeconds)*time.Second), s.Licence, style.Link(s.URL), s.Use)
	}
	fmt.Fprintf(&b, "\n%s\n", style.Bold("MEMBERS"))
	for _, m := range v.Members {
		fmt.Fprintf(&b, "  %s  %s: %s\n", m.Name, m.Kind, strings.Join(m.Fields, ", "))
	}
	if len(v.Flags) > 0 {
		fmt.Fprintf(&b, "\n%s\n", style.Bold("FLAGS"))
	}
	for _, f := range v.Flags {
		fmt.Fprintf(&b, "  %s  of %s: %s\n", f.Kind, f.Over, f.When)
	}
	_, err := w.Write(b.Bytes())
	return err
}
