package source

import (
	"cmp"
	"encoding/json"
	"io"
	"slices"
	"time"

	"github.com/contextd/contextd/internal/human"
)

// DefiLlamaStablecoins is defillama-stablecoins, largest supply first.
func DefiLlamaStablecoins() Connector {
	c := Connector{ID: "defillama-stablecoins", Interval: 10 * time.Minute, StaleAfter: time.Hour, Use: useDefiLlama()}
	return document(c, "https://stablecoins.llama.fi/stablecoins?includePrices=true", decodeStablecoins)
}

// stablecoinRow is a row as upstream writes it. Amounts are keyed by the type of the peg.
type stablecoinRow struct {
	ID           string
	GeckoID      string `json:"gecko_id"`
	Name, Symbol string
	PegType      string
	Price        number
	Circulating  map[string]number
	PrevDay      map[string]number `json:"circulatingPrevDay"`
}

// stablecoin drops rows without a supply. A price that makes no sense is unknown: the supply still counts.
func (r stablecoinRow) stablecoin() (c Stablecoin, id string, wanted bool) {
	supply := r.Circulating[r.PegType].Amount()
	if supply == nil {
		return Stablecoin{}, "", false
	}
	c = Stablecoin{
		ID:      human.Label(r.GeckoID, capID),
		Symbol:  human.Label(r.Symbol, capSymbol),
		Name:    human.Label(r.Name, CapName),
		PegType: human.Label(r.PegType, capSymbol),
		Supply:  *supply,
		PrevDay: r.PrevDay[r.PegType].Amount(),
	}
	if price, ok := r.Price.Price(); ok {
		c.Price = &price
	}
	return c, r.ID, true // upstream's own id: CoinGecko's is missing from some rows
}

func decodeStablecoins(body io.Reader, _ time.Time) (*StablecoinsDoc, int, error) {
	var in struct{ PeggedAssets []json.RawMessage }
	if err := decodeObject(body, &in); err != nil {
		return nil, 0, err
	}
	kept, dropped, err := convertRows(in.PeggedAssets, stablecoinRow.stablecoin)
	slices.SortStableFunc(kept, func(a, b Stablecoin) int { return cmp.Compare(b.Supply, a.Supply) })
	return &StablecoinsDoc{Coins: capRows(kept)}, dropped, err
}
