package source

import (
	"cmp"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/contextd/contextd/internal/human"
)

// DefiLlamaProtocols is defillama-protocols: value held by protocols. The document has several megabytes; it is decoded row by
// row and never held as a whole.
func DefiLlamaProtocols() Connector {
	c := Connector{ID: "defillama-protocols", Interval: 30 * time.Minute, StaleAfter: 90 * time.Minute, limit: 32 << 20}
	c.Use = useDefiLlama()
	return document(c, "https://api.llama.fi/protocols", decodeProtocols)
}

// excludedCategory names the categories whose value is not a protocol's own, or is counted elsewhere too. Exchanges are the
// largest rows of the document: without this they would lead every ranking.
func excludedCategory(category string) bool {
	switch category {
	case "CEX", "Chain", "Bridge", "Canonical Bridge", "Risk Curators", "Staking Pool":
		return true
	}
	return false
}

type protocolRow struct {
	ID                   identifier
	CoinID               identifier `json:"gecko_id"`
	Slug, Name, Category string
	TVL                  number
	Chains               []string
	ChainTVLs            map[string]number `json:"chainTvls"`
	Change1d             number            `json:"change_1d"`
	Change7d             number            `json:"change_7d"`
}

// protocol drops rows without a slug and rows whose TVL is unknown or negative; an empty protocol and an excluded category are
// well-formed but not wanted.
func (r protocolRow) protocol() (p Protocol, id string, wanted bool) {
	tvl := r.TVL.Amount()
	if tvl == nil {
		return Protocol{}, "", false
	}
	p = Protocol{
		Slug:     human.Label(r.Slug, capID),
		Name:     human.Label(r.Name, CapName),
		Category: human.Label(r.Category, CapName),
		LlamaID:  string(r.ID),
		CoinID:   string(r.CoinID),
		TVL:      *tvl,
		Change1d: r.Change1d.Percent(),
		Change7d: r.Change7d.Percent(),
		Chains:   len(r.Chains),
		TopChain: human.Label(topChain(r.ChainTVLs), CapName),
	}
	return p, p.Slug, *tvl > 0 && !excludedCategory(r.Category)
}

// topChain is the chain that holds most, of two equal ones the first by name. Keys such as "borrowed" and "Ethereum-staking"
// are parts that upstream reports beside the chains.
func topChain(tvls map[string]number) string {
	best, most := "", 0.0
	for name, tvl := range tvls {
		switch name {
		case "borrowed", "staking", "pool2", "vesting", "treasury", "OwnTokens", "doublecounted", "liquidstaking", "dcAndLsOverlap":
			continue
		}
		x := tvl.Amount()
		if x == nil || strings.Contains(name, "-") {
			continue
		}
		if *x > most || *x == most && name < best {
			best, most = name, *x
		}
	}
	return best
}

func decodeProtocols(body io.Reader, _ time.Time) (*ProtocolsDoc, int, error) {
	kept, dropped, err := decodeRows(body, protocolRow.protocol)
	return &ProtocolsDoc{Protocols: chooseProtocols(kept)}, dropped, err
}

const (
	largestProtocols = 120 // of maxRows; the rest is for moves
	minMoverTVL      = 25e6
)

// chooseProtocols keeps what rankings and flags look at: the largest protocols, and of the others with at least $25M, now or a
// day ago, those with the largest change of the day. More than 200 protocols hold $25M, so size alone would lose a smaller one
// that is being drained. The result is by TVL, largest first.
func chooseProtocols(all []Protocol) []Protocol {
	bySize := func(a, b Protocol) int { return cmp.Or(cmp.Compare(b.TVL, a.TVL), strings.Compare(a.Slug, b.Slug)) }
	slices.SortFunc(all, bySize)
	if len(all) <= maxRows {
		return all
	}
	rest := slices.Clone(all[largestProtocols:])
	slices.SortStableFunc(rest, func(a, b Protocol) int { return cmp.Compare(b.move(), a.move()) })
	chosen := append(all[:largestProtocols:largestProtocols], rest[:maxRows-largestProtocols]...)
	slices.SortFunc(chosen, bySize)
	return chosen
}

// move is the size of the day's change if p holds or held enough for it to matter, else -1.
func (p Protocol) move() float64 {
	if p.Change1d == nil {
		return -1
	}
	before := p.TVL
	if *p.Change1d > -100 {
		before = p.TVL / (1 + *p.Change1d/100)
	}
	if max(p.TVL, before) < minMoverTVL {
		return -1
	}
	return math.Abs(*p.Change1d)
}
