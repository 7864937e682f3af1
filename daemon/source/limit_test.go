package source_test

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/contextd/contextd/daemon/source"
)

// free answers every request at once.
func free(r *http.Request) (*http.Response, error) {
	return respond(r, 200, `{"data":{"total_market_cap":{"usd":5}},"fastestFee":1}`), nil
}

func TestLimitLetsOnePulseGo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := source.NewFetcher(source.Config{Transport: roundTrip(free)})
		begin := time.Now()
		for range 5 {
			if out := f.Fetch(t.Context(), source.CoinGeckoGlobal(), nil); out.Err != nil {
				t.Fatal(out.Err)
			}
		}
		if took := time.Since(begin); took != 0 {
			t.Errorf("five calls took %v, want none to wait", took)
		}
		if out := f.Fetch(t.Context(), source.CoinGeckoGlobal(), nil); out.Err != nil || time.Since(begin) != 12*time.Second {
			t.Errorf("the sixth came after %v (%v), want a fifth of a minute", time.Since(begin), out.Err)
		}
	})
}

func TestLimitFailsAtOnceRatherThanLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := source.NewFetcher(source.Config{Transport: roundTrip(free)})
		for range 5 {
			f.Fetch(t.Context(), source.CoinGeckoGlobal(), nil)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		begin := time.Now()
		out := f.Fetch(ctx, source.CoinGeckoGlobal(), nil)
		if out.Class != source.ClassRateLimited || time.Since(begin) != 0 {
			t.Errorf("%s, %v after %v", out.Class, out.Err, time.Since(begin))
		}
		if out := f.Fetch(ctx, source.MempoolFees(), nil); out.Err != nil {
			t.Errorf("another host has its own limit: %v", out.Err)
		}
	})
}

func TestLimitWaitEndsWithTheAttempt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := source.NewFetcher(source.Config{Transport: roundTrip(free)})
		for range 5 {
			f.Fetch(t.Context(), source.CoinGeckoGlobal(), nil)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		begin := time.Now()
		out := f.Fetch(ctx, source.CoinGeckoGlobal(), nil)
		if out.Class != source.ClassNetwork || time.Since(begin) != time.Second {
			t.Errorf("%s, %v after %v", out.Class, out.Err, time.Since(begin))
		}
	})
}
