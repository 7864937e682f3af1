package source

import (
	"encoding/json"
	"io"
	"strings"
	"time"

	"github.com/contextd/contextd/internal/human"
)

// GeckoTerminalTrending is geckoterminal-trending: the pools that traders look at.
func GeckoTerminalTrending() Connector {
	c := Connector{ID: "geckoterminal-trending", Interval: 5 * time.Minute, StaleAfter: 15 * time.Minute, moves: true}
	c.Use = useGeckoTerminal()
	return document(c, "https://api.geckoterminal.com/api/v2/networks/trending_pools"+
		"?include=base_token,quote_token,dex,network&page=1&duration=24h", decodePools)
}

// poolRow is a row as upstream writes it, in the manner of JSON:API.
type poolRow struct {
	ID         string
	Attributes struct {
		Name      string
		Price     number                   `json:"base_token_price_usd"`
		Changes   struct{ H1, H24 number } `json:"price_change_percentage"`
		Volume    struct{ H24 number }     `json:"volume_usd"`
		Reserve   number                   `json:"reserve_in_usd"`
		CreatedAt string                   `json:"pool_created_at"`
		Txns      struct {
			H24 struct{ Buys, Sells number }
		} `json:"transactions"`
	}
	Relationships struct {
		Network, Dex struct{ Data struct{ ID string } }
		Token        struct{ Data struct{ ID identifier } } `json:"base_token"`
	}
}

type tokenRow struct {
	ID         identifier
	Attributes struct {
		CoinID identifier `json:"coingecko_coin_id"`
	}
}

// coinsOf are CoinGecko's ids of the tokens among what the rows refer to, by the ids by which they do. What makes no sense has none.
func coinsOf(included []json.RawMessage) map[identifier]identifier {
	coins := make(map[identifier]identifier)
	for _, raw := range included[:min(len(included), maxDecoded)] {
		var t tokenRow
		if json.Unmarshal(raw, &t) == nil && t.ID != "" && t.Attributes.CoinID != "" {
			coins[t.ID] = t.Attributes.CoinID
		}
	}
	return coins
}

// pool drops rows without an id or a price and rows whose change is out of this world.
func (r poolRow) pool(at time.Time, coins map[identifier]identifier) (p Pool, id string, wanted bool) {
	in := r.Attributes
	price, ok := in.Price.Price()
	if !ok || in.Changes.H24.Wild() {
		return Pool{}, "", false
	}
	p = Pool{
		ID:        human.Label(r.ID, 2*capID), // a network and an address, some of 64 digits
		Pair:      human.Label(in.Name, CapName),
		Network:   human.Label(r.Relationships.Network.Data.ID, CapName),
		Dex:       human.Label(r.Relationships.Dex.Data.ID, CapName),
		CoinID:    string(coins[r.Relationships.Token.Data.ID]),
		Price:     &price,
		Change1h:  in.Changes.H1.Percent(),
		Change24h: in.Changes.H24.Percent(),
		Volume24h: in.Volume.H24.Amount(),
		Liquidity: in.Reserve.Amount(),
	}
	if p.Network == "" {
		p.Network, _, _ = strings.Cut(p.ID, "_")
	}
	if buys, sells := in.Txns.H24.Buys.Int(), in.Txns.H24.Sells.Int(); buys != nil && sells != nil {
		n := int64(*buys) + int64(*sells)
		p.Txns24h = &n
	}
	if t, err := time.Parse(time.RFC3339, in.CreatedAt); err == nil {
		t = clampTime(t.UTC(), at)
		p.CreatedAt = &t
	}
	return p, p.ID, true
}

func decodePools(body io.Reader, at time.Time) (*PoolsDoc, int, error) {
	var in struct{ Data, Included []json.RawMessage }
	if err := decodeObject(body, &in); err != nil {
		return nil, 0, err
	}
	coins := coinsOf(in.Included)
	kept, dropped, err := convertRows(in.Data, func(r poolRow) (Pool, string, bool) { return r.pool(at, coins) })
	return &PoolsDoc{Pools: capRows(kept)}, dropped, err
}
