package pack_test

import (
	"testing"

	"github.com/contextd/contextd/daemon/pack"
)

// TestEtherMicros: the price is that of the row of ether, and unknown without one.
func TestEtherMicros(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		doc  string
		want int64
	}{
		"a row":        {`{"top_movers":[{"id":"bitcoin","priceUsd":1},{"id":"ethereum","priceUsd":2345.678901}]}`, 2_345_678_901},
		"dropped":      {`{"top_movers":[{"id":"bitcoin","priceUsd":1}]}`, 0},
		"no movers":    {`{}`, 0},
		"not readable": {`{"top_movers":`, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := pack.EtherMicros(read([]byte(c.doc))); got != c.want {
				t.Errorf("%d, want %d", got, c.want)
			}
		})
	}
}
