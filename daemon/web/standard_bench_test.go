package web_test

import (
	"net/http"
	"slices"
	"testing"
	"time"
)

// BenchmarkStandard measures from the request with a payment to its answer, on the embedded chain, which has a block a second at most; and a
// request with a proof of a transfer that is in a block already.
func BenchmarkStandard(b *testing.B) {
	for name, own := range map[string]bool{"exact": false, "proof": true} {
		b.Run(name, func(b *testing.B) {
			m, node := newMeddledMarket(b)
			offer := m.offer("/v1/fresh")
			var took []time.Duration
			var asked int64
			for b.Loop() {
				b.StopTimer()
				var pay change
				if own {
					pay = proving(m.pay(m.quote("/v1/fresh")))
				} else {
					pay = authorizing(m.sign(m.chain.Wallet(), offer))
				}
				asked -= node.asked.Load()
				start := time.Now()
				b.StartTimer()
				a := get(b, m.d.URL()+"/v1/fresh", pay)
				took = append(took, time.Since(start))
				asked += node.asked.Load()
				if a.Status != http.StatusOK {
					b.Fatalf("%d %s", a.Status, a.Body)
				}
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Milliseconds()), "p50-ms")
			b.ReportMetric(float64(took[len(took)*99/100].Milliseconds()), "p99-ms")
			b.ReportMetric(float64(asked)/float64(len(took)), "rpc/op")
		})
	}
}
