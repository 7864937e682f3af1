package brief

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk/api"
)

// alerts tells the flags, gravest first, if one of them is more than a notice. Flags on sources are told with the sources, and
// notices where their subject is told of.
func (n *news) alerts() (p paragraph) {
	var critical, warning []flag
	for _, f := range n.Flags {
		switch {
		case api.AboutSource(f.Kind):
		case f.Severity == api.SeverityCritical:
			critical = append(critical, f)
		case f.Severity == api.SeverityWarning:
			warning = append(warning, f)
		}
	}
	grave, rest := critical, warning
	if len(critical) == 0 {
		grave, rest = warning, nil
	}
	if len(grave) == 0 {
		return nil
	}
	severity := grave[0].Severity
	grave, rest = companions(grave, rest)
	grave, rest = grave[:min(len(grave), 2*oneSentence)], rest[:min(len(rest), oneSentence+1)]
	items := n.incidents(grave)
	first := min(len(items), oneSentence)
	p.add(vital, n.countFlags(slices.Concat(grave, rest), severity)+": "+clauses(items[:first])+".")
	if more := items[first:]; len(more) > 0 {
		p.add(vital, "On the same level, "+clauses(more)+".")
	}
	if len(rest) > 0 {
		intro := "A warning is up as well: "
		if len(rest) > 1 {
			intro = sentenceCase(inWords(len(rest))) + " warnings follow: "
		}
		p.add(vital, intro+clauses(n.incidents(rest))+".")
	}
	return p
}

// oneSentence is how many flags a sentence takes.
const oneSentence = 3

// countFlags opens the sentence that tells the gravest flags: it counts those that are told with it, of the given severity and lesser ones.
func (n *news) countFlags(told []flag, severity api.Severity) string {
	total, grave := len(told), len(filter(slices.Clone(told), func(f flag) bool { return f.Severity == severity }))
	adjective, noun := "critical", "critical flag"
	if severity == api.SeverityWarning {
		adjective, noun = "a warning", "warning"
		if grave > 1 {
			adjective = "warnings"
		}
	}
	opening := sentenceCase(inWords(total))
	which := fmt.Sprintf("%s of them %s", inWords(grave), adjective)
	if all := len(n.Flags); all > total { // notices and sources are told elsewhere
		switch {
		case total == 1:
			which = "a " + noun
		case grave == total:
			which = "all " + adjective
		}
		return fmt.Sprintf("Of %s flags, %s, %s", inWords(all), plural(total, "one comes first", inWords(total)+" come first"), which)
	}
	if grave == total {
		return fmt.Sprintf("%s %s", opening, plural(total, noun+" stands", noun+"s stand"))
	}
	return fmt.Sprintf("%s flags stand, %s", opening, which)
}

// companions moves the lesser flags on a subject of grave behind it.
func companions(grave, rest []flag) (together, others []flag) {
	same := func(a flag) func(flag) bool {
		return func(b flag) bool { return a.Subject == b.Subject }
	}
	for i, g := range grave {
		together = append(together, g)
		if !slices.ContainsFunc(grave[i+1:], same(g)) {
			together = append(together, group(rest, g.Subject, func(f flag) string { return f.Subject })...)
		}
	}
	return together, filter(rest, func(f flag) bool { return !slices.ContainsFunc(grave, same(f)) })
}

// notices tells the least flags that no other part of the brief tells of.
func (n *news) notices() string {
	list := filter(slices.Clone(n.Flags), func(f flag) bool {
		return f.Severity != api.SeverityCritical && f.Severity != api.SeverityWarning && !api.AboutSource(f.Kind) &&
			f.Kind != api.FlagPriceMove && f.Kind != api.FlagSentiment && !n.mentioned[f.Subject]
	})
	if len(list) == 0 {
		return ""
	}
	items := n.incidents(list[:min(len(list), 3)])
	return "Also flagged: " + clauses(items) + "."
}

// incidents puts flags into clauses. Flags on one subject that follow each other name it once.
func (n *news) incidents(flags []flag) []string {
	var items []string
	for i, f := range flags {
		again := i > 0 && flags[i-1].Subject == f.Subject && !strings.HasPrefix(items[i-1], "“") // whose words may be about another
		n.mentioned[f.Subject] = true
		for _, m := range n.TopMovers { // bitcoin is Bitcoin, but another coin of that name is not
			if ofCoin(f, m.ID) && strings.EqualFold(m.Name, f.Subject) {
				f.Subject = m.Name
			}
		}
		items = append(items, incident(f, again)+cite(f.Ref))
	}
	return items
}

// ofCoin reports whether f is on the coin with the given id.
func ofCoin(f flag, id string) bool {
	return (f.Kind == api.FlagPriceMove || f.Kind == api.FlagFastMove || f.Kind == api.FlagDivergence) && strings.HasSuffix(f.ID, ":"+id)
}

// incident puts one flag into a clause. again says that the clause before has named its subject.
func incident(f flag, again bool) string {
	who := f.Subject
	if again {
		who = "it"
	}
	change := f.says("value", moved(f.Value))
	switch f.Kind {
	case api.FlagExploit:
		return exploit(who, f)
	case api.FlagTVLDrop:
		if again {
			return "its TVL is " + change + " in 24 hours"
		}
		return "the TVL of " + who + " is " + change + " in 24 hours"
	case api.FlagDepeg:
		side := map[bool]string{true: "below", false: "above"}[f.Value < 0]
		return fmt.Sprintf("%s trades %s %s its peg", who, f.says("value", human.Decimals(math.Abs(f.Value), 2)+"%"), side)
	case api.FlagPriceMove, api.FlagFastMove:
		span := map[bool]string{true: "in 24 hours", false: "within an hour"}[f.Kind == api.FlagPriceMove]
		return fmt.Sprintf("%s is %s %s", who, change, span)
	case api.FlagDivergence:
		return fmt.Sprintf("venues quote %s %s apart", who, f.says("value", human.Decimals(math.Abs(f.Value), 2)+"%"))
	case api.FlagFeeSpike, api.FlagGasSpike:
		if f.Value > 0 {
			return spike(who, f)
		}
	case api.FlagSuspiciousName:
		return "names from " + who + " read as instructions and are left out here"
	case api.FlagSentiment:
		if f.Value >= 0 {
			return who + " stands at an extreme of " + f.says("value", human.Plain(human.Round(f.Value, 1)))
		}
	}
	if sayable(f.Message, maxHeadline) {
		return fmt.Sprintf("“%s”", f.says("message", f.Message))
	}
	return fmt.Sprintf("%s is marked for %s", who, strings.ReplaceAll(f.Kind, "_", " "))
}

// exploit tells a reported loss. One too small to be meant is told without its size.
func exploit(who string, f flag) string {
	if f.Value < 1000 {
		return "a loss is reported at " + who
	}
	return who + " has a reported loss of " + f.says("value", human.USDInWords(int64(math.Round(f.Value))))
}

// spike tells what transactions cost.
func spike(who string, f flag) string {
	cost := f.says("value", human.Plain(human.Round(f.Value, 1)))
	if f.Kind == api.FlagGasSpike {
		return who + " has reached " + cost + " gwei"
	}
	return fees(who) + " have reached " + cost + " sat/vB"
}

// fees names the fees of a subject that may be called so itself.
func fees(who string) string {
	if strings.Contains(strings.ToLower(who), "fees") {
		return who
	}
	return "fees on " + who
}
