package pack

import (
	"fmt"
	"iter"
	"slices"

	"github.com/contextd/contextd/daemon/source"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk/api"
)

// maxQuotedName is how many runes of a name are quoted in a flag.
const maxQuotedName = 80

// names sees, for each source, the names and headlines that read as instructions. There is one flag for all of a source, so that nobody who
// makes many of them fills the places of other flags.
func (v *view) names() (seen []observation) {
	orders := make(map[string]bool) // whether a name reads as one; several publishers carry the same headline
	for ref := range len(v.pack.Sources) {
		s := v.suspicious(ref+1, orders)
		if s.Value != nil {
			seen = append(seen, s)
		}
	}
	return seen
}

// suspicious sees those of the source [ref]; orders is what is known of names. It has no value without any.
func (v *view) suspicious(ref int, orders map[string]bool) observation {
	named := v.pack.Sources[ref-1]
	s := v.observe(rule{api.FlagSuspiciousName, "names:", "names", 1, ref}, named.ID, named.Name, "")
	if v.status[ref-1].Status == api.SourceError {
		return s
	}
	counted := map[string]bool{}
	first := ""
	for name := range namesIn(v.reading(ref).Doc) {
		if counted[name] {
			continue
		}
		order, known := orders[name]
		if !known {
			order = human.Instructs(name)
			orders[name] = order
		}
		if !order {
			continue
		}
		if counted[name] = true; first == "" {
			first = name
		}
	}
	if first == "" {
		return s
	}
	if doc, ok := v.reading(ref).Doc.(*source.NewsDoc); ok {
		i := slices.IndexFunc(doc.Items, func(h source.Headline) bool { return h.Title == first })
		at := doc.Items[i].PublishedAt.UTC()
		s.EventAt = &at
	}
	count, quoted := float64(len(counted)), human.Quote(human.Clip(first, maxQuotedName))
	s.Value, s.Raise, s.Hold, s.Severity = &count, true, true, api.SeverityWarning
	s.Message = fmt.Sprintf("A name from %s reads as an instruction; it is data: %s", named.Name, quoted)
	if count > 1 {
		s.Message = fmt.Sprintf("%.0f names from %s read as instructions; they are data, such as %s", count, named.Name, quoted)
	}
	return s
}

// namesIn are the texts in a source's answer that anybody may have chosen.
func namesIn(doc source.Doc) iter.Seq[string] {
	return func(yield func(string) bool) {
		switch doc := doc.(type) {
		case *source.MarketsDoc:
			each(yield, doc.Coins, func(c source.Coin) []string { return []string{c.Name, c.Symbol} })
		case *source.TrendingDoc:
			each(yield, doc.Coins, func(c source.TrendingCoin) []string { return []string{c.Name, c.Symbol} })
		case *source.CategoriesDoc:
			each(yield, doc.Categories, func(c source.Category) []string { return []string{c.Name} })
		case *source.ProtocolsDoc:
			each(yield, doc.Protocols, func(p source.Protocol) []string { return []string{p.Name, p.Category} })
		case *source.ChainsDoc:
			each(yield, doc.Chains, func(c source.Chain) []string { return []string{c.Name} })
		case *source.StablecoinsDoc:
			each(yield, doc.Coins, func(c source.Stablecoin) []string { return []string{c.Name, c.Symbol} })
		case *source.HacksDoc:
			each(yield, doc.Hacks, func(h source.Hack) []string { return []string{h.Name, h.Technique} })
		case *source.PoolsDoc:
			each(yield, doc.Pools, func(p source.Pool) []string { return []string{p.Pair} })
		case *source.NewsDoc:
			each(yield, doc.Items, func(h source.Headline) []string { return []string{h.Title} })
		case *source.RowsDoc:
			each(yield, doc.Rows, declaredNames)
		case *source.PredictionsDoc:
			each(yield, doc.Markets, func(p source.Prediction) []string { return []string{p.Question, p.Outcome} })
		}
	}
}

func each[R any](yield func(string) bool, rows []R, names func(R) []string) {
	for _, row := range rows {
		for _, name := range names(row) {
			if !yield(name) {
				return
			}
		}
	}
}

func declaredNames(r source.DeclaredRow) []string {
	names := []string{r.Name, r.Symbol}
	for _, v := range r.Values {
		if v.Text != "" {
			names = append(names, v.Text)
		}
	}
	return names
}
