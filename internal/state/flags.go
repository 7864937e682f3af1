package state

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk/api"
)

// FlagGroup is a line of the flags of a state: what is raised about one subject, or one thing that is raised about many.
type FlagGroup struct {
	api.Flag             // the worst
	Text     string      // the line
	Flags    []api.Flag  // all that it stands for
	Subjects []FlagGroup // of many, the line of each; nil for one
}

// manySubjects is how many subjects of one kind are told together.
const manySubjects = 3

// GroupFlags puts flags, of which the worst come first, onto as few lines as tell all of them. What is critical keeps a line of its own.
func GroupFlags(flags []api.Flag) []FlagGroup {
	var lines []FlagGroup
	for _, f := range flags {
		about := func(g FlagGroup) bool {
			return cmp.Or(g.Entity, g.Subject, g.ID) == cmp.Or(f.Entity, f.Subject, f.ID)
		}
		if i := slices.IndexFunc(lines, about); i >= 0 {
			lines[i].Flags = append(lines[i].Flags, f)
			lines[i].Text += "; " + f.Message
			continue
		}
		lines = append(lines, FlagGroup{Flag: f, Text: f.Message, Flags: []api.Flag{f}})
	}
	byKind := map[string]int{}
	for _, g := range lines {
		if g.Severity != api.SeverityCritical {
			byKind[g.Kind]++
		}
	}
	var list []FlagGroup
	for _, g := range lines {
		same := func(o FlagGroup) bool { return o.Subjects != nil && o.Kind == g.Kind }
		i := slices.IndexFunc(list, same)
		switch {
		case g.Severity == api.SeverityCritical || byKind[g.Kind] < manySubjects:
			list = append(list, g)
		case i < 0:
			g.Subjects = []FlagGroup{g}
			list = append(list, g)
		default:
			list[i].Subjects = append(list[i].Subjects, g)
			list[i].Flags = append(list[i].Flags, g.Flags...)
		}
	}
	for i, g := range list {
		if g.Subjects != nil {
			list[i].Text = g.many()
		}
	}
	return list
}

// many tells what g says of its subjects, and names the first of them.
func (g FlagGroup) many() string {
	const named = 3
	n := len(g.Subjects)
	var names []string
	least, most, signs := math.Inf(1), 0.0, 0
	for _, one := range g.Subjects {
		names = append(names, cmp.Or(human.Line(one.Subject), one.ID))
		size := math.Abs(one.Value)
		least, most = min(least, size), max(most, size)
		signs += signOf(one.Value)
	}
	text := ""
	moved := func(what, span string) string {
		verb := "move by"
		switch signs {
		case n:
			verb = "are up"
		case -n:
			verb = "are down"
		}
		return fmt.Sprintf("%d %s %s %.1f%% to %.1f%% %s", n, what, verb, least, most, span)
	}
	switch g.Kind {
	case api.FlagPriceMove:
		text = moved("coins", "in 24 hours")
	case api.FlagFastMove:
		text = moved("coins", "within an hour")
	case api.FlagTVLDrop:
		text = fmt.Sprintf("%d protocols lose value locked", n)
	case api.FlagDepeg:
		text = fmt.Sprintf("%d stablecoins are off their pegs", n)
	case api.FlagExploit:
		text = fmt.Sprintf("%d losses are reported", n)
	case api.FlagDivergence:
		text = fmt.Sprintf("prices of %d coins differ by venue", n)
	case api.FlagSuspiciousName:
		text = fmt.Sprintf("%d names read as instructions", n)
	case api.FlagSourceStale:
		text = fmt.Sprintf("%d sources are late", n)
	case api.FlagSourceError:
		text = fmt.Sprintf("%d sources have no data", n)
	case api.FlagSourceEnding:
		text = fmt.Sprintf("%d sources will end", n)
	default:
		text = fmt.Sprintf("%s, %d of them", Title(g.Kind), n)
	}
	return text + ": " + human.List(names, named)
}
