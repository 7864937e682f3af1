package web_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/sdk/api"
)

// BenchmarkFreshBesideFailingSignIns calls fresh while nobody else does anything, and while somebody tries sign-in tokens as
// fast as they are answered, ten thousand of them.
func BenchmarkFreshBesideFailingSignIns(b *testing.B) {
	const attempts = 10_000
	d := daemontest.Start(b)
	key := d.Key(b, api.TierEnterprise)
	d.Grant(b, key, 1_000_000_000)
	for _, beside := range []bool{false, true} {
		b.Run(fmt.Sprintf("sign-ins=%v", beside), func(b *testing.B) {
			u := newUser(b, d)
			stop, ended := make(chan struct{}), make(chan int)
			if beside {
				go func() {
					n := 0
					defer func() { ended <- n }()
					for thief := newUser(b, d); n < attempts; n++ {
						select {
						case <-stop:
							return
						default:
						}
						got := thief.call(http.MethodPost, api.PathAuthEmailVerify, api.EmailVerifyRequest{Token: fmt.Sprintf("%043d", n)})
						if got.Status != http.StatusUnauthorized && got.Status != http.StatusTooManyRequests {
							b.Errorf("a token that is none: %s", got.Body)
						}
					}
				}()
			}
			var times []time.Duration
			for b.Loop() {
				u.header["Authorization"] = "Bearer " + key
				begin := time.Now()
				u.into(u.call(http.MethodGet, api.PathFresh, nil), http.StatusOK, nil)
				times = append(times, time.Since(begin))
			}
			if beside {
				close(stop)
				b.ReportMetric(float64(<-ended), "sign-ins")
			}
			slices.Sort(times)
			b.ReportMetric(times[len(times)/2].Seconds()*1e3, "p50-ms")
			b.ReportMetric(times[len(times)*99/100].Seconds()*1e3, "p99-ms")
		})
	}
}
