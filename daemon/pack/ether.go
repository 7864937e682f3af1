package pack

import "github.com/contextd/contextd/internal/state"

// EtherMicros is what an ether costs in micro-USDG by a state of the crypto pack, 0 where that does not say. A source that says it no
// longer has its row dropped, and the price is not known then.
func EtherMicros(doc *state.Document) int64 {
	for _, row := range doc.Rows(cryptoShown()) {
		if price, known := row.Fields.Get("priceUsd").(float64); known && row.Kind == kindAsset && row.Key == "ethereum" {
			const micros = 1_000_000
			return int64(price * micros)
		}
	}
	return 0
}
