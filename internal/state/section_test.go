package state_test

import (
	"os"
	"slices"
	"testing"

	"github.com/contextd/contextd/daemon/pack"
	"github.com/contextd/contextd/internal/state"
)

// TestSections: every row of a recorded state stands in one section, once, with its numbers as lookup names them and all else that it says.
func TestSections(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../../daemon/pack/testdata/tick1.golden.json")
	if err != nil {
		t.Fatal(err)
	}
	sections := state.Read(doc).Sections(pack.Crypto().Shown)
	var got []string
	for _, s := range sections {
		got = append(got, s.Path+" "+s.Kind)
		seen := map[string]bool{}
		for _, r := range s.Rows {
			if r.Ref == 0 || seen[r.Kind+"/"+r.Key] {
				t.Errorf("%s: row %s/%s of [%d] is there twice, or of no source", s.Path, r.Kind, r.Key, r.Ref)
			}
			seen[r.Kind+"/"+r.Key] = true
			for _, name := range []string{"id", "ref", "symbol", "url", "change1dPct", "probability"} {
				if s.Path != "" && r.Fields.Get(name) != nil {
					t.Errorf("%s: %s/%s tells %s", s.Path, r.Kind, r.Key, name)
				}
			}
		}
	}
	want := []string{" ", "top_movers asset", "protocol_tvl protocol", "protocol_tvl chain", "trending_pools pool",
		"sentiment.predictions prediction", "narratives category", "narratives.headlines headline"}
	slices.Sort(want[1:])
	slices.Sort(got[1:])
	if !slices.Equal(got, want) {
		t.Fatalf("sections %q\nwant     %q", got, want)
	}
	var readings []string
	for _, r := range sections[0].Rows {
		readings = append(readings, r.Kind+"/"+r.Key)
	}
	if want := []string{"index/fear-greed", "market/crypto", "breadth/crypto", "stablecoin_total/stablecoins", "fee/bitcoin",
		"reading/gas"}; !slices.Equal(readings, want) {
		t.Errorf("readings %q, want %q", readings, want)
	}
	pools := sections[slices.IndexFunc(sections, func(s state.Section) bool { return s.Kind == "pool" })]
	if f := pools.Rows[0].Fields; f.Get("network") != "base" || f.Get("change24hPct") != -30.9 || pools.News != "" {
		t.Errorf("the first pool is told as %v", f)
	}
	if news := sections[slices.IndexFunc(sections,
		func(s state.Section) bool { return s.Kind == "headline" })]; news.News != "publishedAt" {
		t.Errorf("headlines are news by %q", news.News)
	}
	if got := state.Read([]byte("damaged")).Sections(nil); len(got) != 0 {
		t.Errorf("a damaged state has %d sections", len(got))
	}
}
