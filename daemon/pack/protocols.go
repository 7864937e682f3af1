package pack

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/contextd/contextd/daemon/source"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk/api"
)

const (
	maxTopProtocols   = 12
	maxProtocolMovers = 6
	maxChains         = 6
	minProtocolTVL    = 25e6 // USD, of a mover; below, one depositor is a headline
)

// valueLocked is the largest protocols, those of the others that moved most in a day, and the largest chains.
func (v *view) valueLocked() []api.ProtocolTVL {
	rows := []api.ProtocolTVL{}
	if doc := lastGood[*source.ProtocolsDoc](v, refProtocols); doc != nil {
		// distinct makes a list of our own: sorting must not reach the Doc, which is compacted again.
		all := distinct(doc.Protocols, func(p source.Protocol) string { return p.Slug })
		slices.SortStableFunc(all, func(a, b source.Protocol) int {
			return cmp.Or(cmp.Compare(b.TVL, a.TVL), strings.Compare(a.Slug, b.Slug))
		})
		top := min(len(all), maxTopProtocols)
		for _, p := range all[:top] {
			rows = append(rows, protocolRow(p, api.GroupTop))
		}
		rows = append(rows, protocolMovers(all[top:])...)
	}
	if doc := lastGood[*source.ChainsDoc](v, refChains); doc != nil {
		rows = append(rows, chainRows(doc.Chains)...)
	}
	return rows
}

// protocolMovers is the protocols of enough size that moved most in a day, either way.
func protocolMovers(all []source.Protocol) []api.ProtocolTVL {
	var rows []api.ProtocolTVL
	for _, p := range all {
		if row := protocolRow(p, api.GroupMover); p.TVL >= minProtocolTVL && row.Change1dPct != nil && *row.Change1dPct != 0 {
			rows = append(rows, row)
		}
	}
	slices.SortFunc(rows, func(a, b api.ProtocolTVL) int {
		return cmp.Or(cmp.Compare(math.Abs(*b.Change1dPct), math.Abs(*a.Change1dPct)), strings.Compare(a.ID, b.ID))
	})
	return rows[:min(len(rows), maxProtocolMovers)]
}

func protocolRow(p source.Protocol, group string) api.ProtocolTVL {
	return api.ProtocolTVL{
		Group: group, ID: p.Slug, Name: p.Name, Category: p.Category, Chains: p.Chains, TopChain: p.TopChain,
		TVLUSD: human.RoundWhole(&p.TVL), Change1dPct: human.RoundPercent(p.Change1d),
		Change7dPct: human.RoundPercent(p.Change7d), Ref: refProtocols,
	}
}

// chainRows is the largest chains. Their ids bear a prefix, so that a chain is never taken for a protocol of its name.
func chainRows(chains []source.Chain) []api.ProtocolTVL {
	all := distinct(chains, func(c source.Chain) string { return chainID(c.Name) })
	slices.SortStableFunc(all, func(a, b source.Chain) int { return cmp.Or(cmp.Compare(b.TVL, a.TVL), strings.Compare(a.Name, b.Name)) })
	var rows []api.ProtocolTVL
	for _, c := range all[:min(len(all), maxChains)] {
		rows = append(rows, api.ProtocolTVL{
			Group: api.GroupChain, ID: chainID(c.Name), Name: c.Name, Category: "Chain", TVLUSD: human.RoundWhole(&c.TVL),
			Change1dPct: human.RoundPercent(c.Change1d), Change7dPct: human.RoundPercent(c.Change7d), Ref: refChains,
		})
	}
	return rows
}

const chainPrefix = "chain:"

// chainID makes the id of a chain of its name, which is all that upstream has. No name, no id.
func chainID(name string) string {
	if name == "" {
		return ""
	}
	return chainPrefix + strings.ReplaceAll(strings.ToLower(name), " ", "-")
}
