package pack_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/contextd/contextd/daemon/pack"
	"github.com/contextd/contextd/daemon/source"
)

func TestExcerpts(t *testing.T) {
	t.Parallel()
	p := pack.Crypto()
	var b bytes.Buffer
	states := recordedStates(t)
	for _, name := range []string{"tick1", "tick3", "degraded"} {
		data, s := compact(t, states[name])
		fmt.Fprintf(&b, "%s\n", name)
		for _, c := range p.Citations(read(data), s.SourceStatus, now) {
			fmt.Fprintf(&b, "  [%d] %s: %s\n", c.Ref, c.SourceID, c.Excerpt)
		}
	}
	golden(t, "excerpts.golden", b.Bytes())
}

func TestExcerptsOfOtherStates(t *testing.T) {
	t.Parallel()
	p := pack.Crypto()
	for _, state := range []string{"", "null", "7", "{", `{"top_movers":7}`, "{}", `{"top_movers":[{"symbol":"BTC","ref":1}],"flags":[{"ref":99,"message":"x"}]}`} {
		if got := p.Excerpts(read([]byte(state))); len(got) != 0 {
			t.Errorf("%s: %q", state, got)
		}
	}
	// Where nothing else is told of a source, its flag is; the flags about sources themselves are not.
	in := alarming(true)
	in = with(in, "coinbase-exchange", func(r *pack.Reading) { r.Failures = 2 })
	in = with(in, "news-decrypt", func(r *pack.Reading) { *r = pack.Reading{Doc: &source.NewsDoc{}, FetchedAt: now, Failures: 2} })
	data, s := compact(t, in)
	got := p.Excerpts(read(data))
	if want := "Kraken quotes Bitcoin 2.00% above CoinGecko"; got["kraken-ticker"] != want {
		t.Errorf("%q, want %q", got["kraken-ticker"], want)
	}
	if want := "H: $3.00M loss reported"; got["defillama-hacks"] != want {
		t.Errorf("%q, want %q", got["defillama-hacks"], want)
	}
	for _, id := range []string{"coinbase-exchange", "news-decrypt"} {
		if text, ok := got[id]; ok || !slices.Contains(ids(s), "source:"+id) {
			t.Errorf("%s: %q, flags %q", id, text, ids(s))
		}
	}
}
