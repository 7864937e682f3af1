package store_test

import (
	"crypto/sha256"
	"fmt"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/daemon/testbed"
	"github.com/contextd/contextd/sdk/api"
)

// BenchmarkCharge books batches of charges to one key, and to as many keys as there are charges.
func BenchmarkCharge(b *testing.B) {
	const keys = 64
	opened := time.Date(2026, 11, 20, 20, 0, 0, 0, time.UTC)
	s, err := store.Open(b.Context(), testbed.Place(b), opened)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	for i := range keys {
		id := fmt.Sprintf("cv_test_%08d", i)
		k := account.Key{ID: id, Hash: sha256.Sum256([]byte(id)), OwnerID: "owner", Name: "k", Tier: api.TierPro, Consent: api.ConsentAggregated, CreatedAt: opened}
		if err := s.CreateKey(b.Context(), k); err != nil {
			b.Fatal(err)
		}
		if _, err := s.Move(b.Context(), billing.Entry{KeyID: id, Amount: 1e12, Kind: billing.KindGrant, Reason: "x", At: opened}); err != nil {
			b.Fatal(err)
		}
	}
	for _, n := range []int{1, 8, keys} {
		b.Run(fmt.Sprintf("keys=%d", n), func(b *testing.B) {
			batch := billing.Batch{Debits: map[string]int64{}, Usage: map[billing.UsageKey]billing.Count{}}
			for i := range n {
				id := fmt.Sprintf("cv_test_%08d", i)
				batch.Debits[id] = keys / int64(n)
				batch.Usage[billing.UsageKey{KeyID: id, Hour: opened.Unix() / 3600, Op: api.OpFresh}] = billing.Count{Paid: keys / int64(n)}
			}
			for b.Loop() {
				if err := s.Charge(b.Context(), batch.Whole); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
