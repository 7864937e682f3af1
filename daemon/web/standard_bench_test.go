package web_test

import (
	"maps"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/admin"
)

// BenchmarkStandard measures from the request with a payment to its answer, on the embedded chain, which has a block a second at most; and a
// request with a proof of a transfer that is in a block already. It tells what a settlement takes: gas, and calls of the node, those before
// the answer and all of them, with what the scanner and the jobs ask until the books have it.
func BenchmarkStandard(b *testing.B) {
	for name, own := range map[string]bool{"exact": false, "proof": true} {
		b.Run(name, func(b *testing.B) {
			m, node := newMeddledMarket(b)
			offer := m.offer("/v1/fresh")
			if err := m.d.Scan(b.Context()); err != nil {
				b.Fatal(err)
			}
			var took []time.Duration
			during, asked := 0, map[string]int{}
			add := func() (sum int) {
				calls, sum := node.counted()
				for method, n := range calls {
					asked[method] += n
				}
				return sum
			}
			node.counted()
			for b.Loop() {
				b.StopTimer()
				var pay change
				if own {
					pay = proving(m.pay(m.quote("/v1/fresh")))
				} else {
					pay = authorizing(m.sign(m.chain.Wallet(), offer))
				}
				add()
				start := time.Now()
				b.StartTimer()
				a := get(b, m.d.URL()+"/v1/fresh", pay)
				took = append(took, time.Since(start))
				during += add()
				if a.Status != http.StatusOK {
					b.Fatalf("%d %s", a.Status, a.Body)
				}
			}
			if err := m.d.Scan(b.Context()); err != nil {
				b.Fatal(err)
			}
			add()
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Milliseconds()), "p50-ms")
			b.ReportMetric(float64(took[len(took)*99/100].Milliseconds()), "p99-ms")
			sum, each := 0, float64(len(took))
			for _, method := range slices.Sorted(maps.Keys(asked)) {
				sum += asked[method]
				b.ReportMetric(float64(asked[method])/each, method+"/op")
			}
			b.ReportMetric(float64(during)/each, "calls-before-answer/op")
			b.ReportMetric(float64(sum)/each, "calls/op")
			if !own {
				b.ReportMetric(m.gasEach(len(took)), "gas/op")
			}
		})
	}
}

// gasEach is the mean of the gas of the newest settlements.
func (m *market) gasEach(n int) float64 {
	m.t.Helper()
	o, err := admin.Open(m.t.Context(), admin.Config{DataDir: m.d.Config.DataDir, Now: time.Now})
	if err != nil {
		m.t.Fatal(err)
	}
	defer o.Close()
	list, err := o.Settlements(m.t.Context(), "settled", n)
	if err != nil || len(list) == 0 {
		m.t.Fatalf("%d are settled, %v", len(list), err)
	}
	sum := uint64(0)
	for _, one := range list {
		sum += one.GasUsed
	}
	return float64(sum) / float64(len(list))
}
