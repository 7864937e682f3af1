package client

import (
	"bytes"
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/sdk/diff"
)

// minMove is the least move, in percent, that is told where nobody says another.
const minMove = 0.1

// digestOptions are the flags of how changes are told to people.
type digestOptions struct {
	all bool
	min float64 // percent
}

func (o *digestOptions) register(flags *pflag.FlagSet) {
	flags.BoolVar(&o.all, "all", false, "show every changed value, including bookkeeping")
	flags.Float64Var(&o.min, "min", minMove, "leave out rows with moves below this `percent`")
}

// check reports what is wrong with the flags.
func (o digestOptions) check() error {
	if !(o.min >= 0) {
		return cli.Invalid("--min is %v, must be 0 or more", o.min)
	}
	return nil
}

// news is what changes say of one row, a line for people.
type news struct {
	rank int // of the kind of news: flags come first
	size float64
	text string // with its mark
	ref  int
}

// Ranks of news.
const (
	newsFlag = iota
	newsHeadline
	newsSource
	newsRow // a row that came or went, or moved
)

// bookkeeping are fields that change with every state and say nothing by that, or nothing to people.
func bookkeeping(field string) bool {
	switch field {
	case "fetchedAt", "since", "position", "rank", "ageHours", "nextUpdateAt", "asOf", "items", "ref", "eventAt", "intervalSeconds",
		"score":
		return true
	}
	return false
}

// digest tells changes by row: flags first, then headlines and sources, then rows by the size of their moves, from least percent on.
func digest(changes []diff.Change, least float64, style cli.Style) []news {
	var list []news
	told := map[string]bool{} // rows of which the most important value was told
	for _, c := range changes {
		member, rest, _ := strings.Cut(plain(c.Path), ".")
		n, ok := news{}, false
		switch {
		case member == "flags":
			n, ok = flagNews(c, rest, style)
		case strings.Contains(rest, "headlines."):
			n, ok = headlineNews(c)
		case member == "source_status":
			n, ok = sourceNews(c, rest, style)
		default:
			n, ok = rowNews(c, member, least, style)
			row := member + "\x00" + cmp.Or(c.Row, c.Path)
			ok = ok && !told[row]
			told[row] = told[row] || ok || !bookkeeping(lastOf(c.Path))
		}
		if ok {
			n.ref = c.Ref
			list = append(list, n)
		}
	}
	slices.SortStableFunc(list, func(a, b news) int { return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(b.size, a.size)) })
	return list
}

// lastOf is the name of the field at a path.
func lastOf(path string) string {
	path = plain(path)
	return path[strings.LastIndexByte(path, '.')+1:]
}

// flagNews tells of a flag that came, ended or became graver or less grave.
func flagNews(c diff.Change, rest string, style cli.Style) (n news, ok bool) {
	n.rank = newsFlag
	var f api.Flag
	switch {
	case c.Old == nil && json.Unmarshal(c.New, &f) == nil && f.Message != "":
		n.text, n.size = graded(f.Severity, style, "")+human.Line(f.Message), float64(f.Severity.Rank())
	case c.New == nil && json.Unmarshal(c.Old, &f) == nil && f.Message != "":
		n.text = style.Good("- ") + "over  " + human.Line(f.Message)
	case strings.HasSuffix(rest, ".severity"):
		now := api.Severity(cli.Scalar(c.New))
		n.text, n.size = graded(now, style, ", was "+value(c.Old))+human.Line(c.Row), float64(now.Rank())
	default:
		return n, false
	}
	return n, true
}

// graded is how the line of a flag begins.
func graded(s api.Severity, style cli.Style, was string) string {
	mark := style.Warn("! ")
	if s == api.SeverityCritical {
		mark = style.Bad("! ")
	}
	return mark + human.Line(string(s)) + was + "  "
}

func headlineNews(c diff.Change) (n news, ok bool) {
	var h api.Headline
	if c.Old != nil || json.Unmarshal(c.New, &h) != nil || h.Title == "" {
		return n, false
	}
	return news{rank: newsHeadline, text: "  new  " + human.Line(h.Title)}, true
}

// sourceNews tells of a source whose status is another.
func sourceNews(c diff.Change, rest string, style cli.Style) (n news, ok bool) {
	if !strings.HasSuffix(rest, ".status") || c.Old == nil || c.New == nil {
		return n, false
	}
	mark := style.Warn("! ")
	if cli.Scalar(c.New) == string(api.SourceOK) {
		mark = style.Good("+ ")
	}
	return news{rank: newsSource, text: mark + human.Line(c.Row) + "  " + value(c.Old) + arrow(style) + value(c.New)}, true
}

// rowNews tells of a row that came or went, or of a value that moved.
func rowNews(c diff.Change, member string, least float64, style cli.Style) (n news, ok bool) {
	field := lastOf(c.Path)
	in := "  " + style.Dim(human.Line(member))
	name := human.Line(cmp.Or(c.Row, strings.ReplaceAll(strings.TrimSuffix(plain(c.Path), "."+field), ".", " ")))
	n.rank = newsRow
	var from, to float64
	switch {
	case bookkeeping(field):
		return n, false
	case c.Old == nil && bytes.HasPrefix(c.New, []byte("{")):
		n.text = style.Good("+ ") + name + in
	case c.New == nil && bytes.HasPrefix(c.Old, []byte("{")):
		n.text = style.Bad("- ") + name + in
	case json.Unmarshal(c.Old, &from) != nil || json.Unmarshal(c.New, &to) != nil:
		return n, false
	default:
		n.size = math.Abs(to - from)
		moved := ""
		if !human.FieldMoves(field) && from != 0 {
			change := (to/from - 1) * 100
			n.size, moved = math.Abs(change), "  "+human.Percent(change)
		}
		if human.Round(n.size, 4) < least {
			return n, false
		}
		n.text = "  " + name + "  " + strings.Replace(human.FieldMove(field, from, to), " → ", arrow(style), 1) + moved
	}
	return n, true
}

func arrow(style cli.Style) string {
	if style.ASCII {
		return " -> "
	}
	return " → "
}
