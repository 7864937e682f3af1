package pack

import "encoding/json"

// EtherMicros is what an ether costs in micro-USDG by a state of the crypto pack, 0 where that does not say. A source that says it no
// longer has its row dropped, and the price is not known then.
func EtherMicros(doc []byte) int64 {
	var state struct {
		Movers []struct {
			ID    string  `json:"id"`
			Price float64 `json:"priceUsd"`
		} `json:"top_movers"`
	}
	if json.Unmarshal(doc, &state) != nil {
		return 0
	}
	for _, coin := range state.Movers {
		if coin.ID == "ethereum" {
			const micros = 1_000_000
			return int64(coin.Price * micros)
		}
	}
	return 0
}
