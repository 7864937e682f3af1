package config

import (
	"slices"
	"testing"

	"github.com/contextd/contextd/daemon/pack"
	"github.com/contextd/contextd/daemon/source"
	"github.com/contextd/contextd/sdk/api"
)

// TestLoad: crypto is first unless it is left out, and something is always served.
func TestLoad(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		packs Packs
		want  []string
	}{
		{Packs{}, []string{api.PackCrypto}},
		{Packs{Enabled: []string{api.PackAI, api.PackCrypto, api.PackAI}}, []string{api.PackCrypto, api.PackAI}},
		{Packs{NoCrypto: true, Enabled: []string{api.PackAI, api.PackCrypto}}, []string{api.PackAI}},
		{Packs{NoCrypto: true}, nil},
		{Packs{NoCrypto: true, Enabled: []string{api.PackCrypto}}, nil},
	} {
		list, err := c.packs.Load(source.CoinGecko{}, pack.Terms{})
		var got []string
		for _, p := range list {
			got = append(got, p.ID)
		}
		if !slices.Equal(got, c.want) || (err == nil) != (len(c.want) > 0) {
			t.Errorf("%+v makes %q, %v", c.packs, got, err)
		}
	}
}
