package pack_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/pack"
	"github.com/contextd/contextd/sdk/api"
)

var narrativeNow = time.Date(2026, 11, 20, 20, 10, 0, 0, time.UTC)

func narrativePtr[T any](x T) *T { return &x }

// theme is a category of a billion dollars whose name is its topic.
func theme(id, name string, change *float64, coins ...string) pack.Theme {
	return pack.Theme{ID: id, Name: name, MarketCap: narrativePtr(1e9), Change24h: change, TopCoins: coins}
}

// wrote is what a publisher wrote: titles, the newest first, a minute apart from age ago on.
func wrote(ref int, age time.Duration, titles ...string) (list []pack.Headline) {
	for i, title := range titles {
		at := narrativeNow.Add(-age - time.Duration(i)*time.Minute)
		list = append(list, pack.Headline{Title: title, URL: fmt.Sprintf("https://example.com/%d/%d", ref, i), PublishedAt: at, Ref: ref})
	}
	return list
}

func TestScore(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		change   *float64
		trending int // of the three largest coins
		news     [][]pack.Headline
		score    float64
		dir      string
	}{
		{"half the change", narrativePtr(6.0), 0, nil, 0.225, api.DirectionUp},
		{"half the change, down", narrativePtr(-6.0), 0, nil, 0.225, api.DirectionDown},
		{"full change", narrativePtr(12.0), 0, nil, 0.45, api.DirectionUp},
		{"no more than full", narrativePtr(-80.0), 0, nil, 0.45, api.DirectionDown},
		{"hardly up", narrativePtr(0.51), 0, nil, 0.019, api.DirectionUp},
		{"flat", narrativePtr(0.5), 0, nil, 0.019, api.DirectionFlat},
		{"flat, down", narrativePtr(-0.5), 0, nil, 0.019, api.DirectionFlat},
		{"unknown change", nil, 1, nil, 0.125, api.DirectionFlat},
		{"two trending", nil, 2, nil, 0.25, api.DirectionFlat},
		{"no more than two", nil, 3, nil, 0.25, api.DirectionFlat},
		{"one publisher", nil, 0, [][]pack.Headline{wrote(11, 0, "Oddity rises")}, 0.075, api.DirectionFlat},
		{"one story of two", nil, 0, [][]pack.Headline{wrote(11, 0, "Oddity rises"), wrote(12, 0, "Oddity rises")}, 0.15, api.DirectionFlat},
		{"two stories of one", nil, 0, [][]pack.Headline{wrote(11, 0, "Oddity rises", "Bank buys oddity fund")}, 0.15, api.DirectionFlat},
		{"the same story of one twice", nil, 0, [][]pack.Headline{wrote(11, 0, "Oddity rises", "Oddity rises!")}, 0.075, api.DirectionFlat},
		{"five", nil, 0, [][]pack.Headline{
			wrote(11, 0, "Oddity rises", "Bank buys oddity fund"), wrote(12, 0, "Oddity rises", "Bank buys oddity fund"), wrote(13, 0, "Oddity rises"),
		}, 0.3, api.DirectionFlat},
		{"six hours ago", nil, 0, [][]pack.Headline{wrote(11, 6*time.Hour, "Oddity rises")}, 0.075, api.DirectionFlat},
		{"everything", narrativePtr(-12.0), 3, [][]pack.Headline{wrote(11, 0, "oddity one", "two for oddity", "an oddity third", "fourth time of oddity")}, 1, api.DirectionDown},
	} {
		searched := []pack.SearchedCoin{{ID: "other", Symbol: "O"}}
		var symbols []string
		for i := range c.trending {
			symbols = append(symbols, fmt.Sprint("S", i))
			searched = append(searched, pack.SearchedCoin{ID: fmt.Sprint("coin", i), Symbol: symbols[i]})
		}
		got := pack.RankThemes(pack.NarrativeInput{
			Themes: []pack.Theme{theme("oddity", "Oddity", c.change, "coin2", "coin1", "coin0")}, Ref: 4, Searched: searched,
			Headlines: slices.Concat(c.news...), Now: narrativeNow,
		})
		if len(got) != 1 || got[0].Score != c.score || got[0].Direction != c.dir || !slices.Equal(got[0].TrendingSymbols, symbols) {
			t.Errorf("%s: %+v, want %v %s %v", c.name, got, c.score, c.dir, symbols)
		}
	}
}

func TestRankLeavesOut(t *testing.T) {
	t.Parallel()
	small, unknown, twice := theme("small", "Small", narrativePtr(9.0)), theme("unknown", "U", narrativePtr(9.0)), theme("large", "Twice", narrativePtr(12.0))
	small.MarketCap, unknown.MarketCap = narrativePtr(499e6), nil
	enough := theme("enough", "Enough", narrativePtr(9.0))
	enough.MarketCap = narrativePtr(500e6)
	got := pack.RankThemes(pack.NarrativeInput{
		Themes:    []pack.Theme{small, unknown, theme("large", "Large", narrativePtr(8.0)), twice, theme("", "No id", narrativePtr(9.0)), theme("silent", "S", nil), enough},
		Headlines: slices.Concat(wrote(11, 6*time.Hour+1, "Silent s is old news")), Ref: 4, Now: narrativeNow,
	})
	var ids []string
	for _, n := range got {
		ids = append(ids, n.ID+" "+n.Name)
	}
	if want := []string{"enough Enough", "large Large"}; !slices.Equal(ids, want) {
		t.Errorf("%q, want %q", ids, want)
	}
	for _, empty := range [][]api.Narrative{pack.RankThemes(pack.NarrativeInput{Now: narrativeNow}), pack.RankThemes(pack.NarrativeInput{Headlines: wrote(11, 0, "x"), Now: narrativeNow})} {
		if empty == nil || len(empty) != 0 {
			t.Errorf("%#v, want an empty list", empty)
		}
	}
}

func TestRankOrdersAndCuts(t *testing.T) {
	t.Parallel()
	var list []pack.Theme
	for _, id := range []string{"j", "b", "d", "a", "c", "h", "g", "f", "e", "i"} {
		list = append(list, theme(id, "X", narrativePtr(3.0)))
	}
	list[0].Change24h = narrativePtr(4.0)
	var order string
	for _, n := range pack.RankThemes(pack.NarrativeInput{Themes: list, Ref: 4, Now: narrativeNow}) {
		order += n.ID
		if n.Ref != 4 || n.Headlines == nil || n.TrendingSymbols == nil || *n.MarketCapUSD != 1e9 {
			t.Errorf("%+v", n)
		}
	}
	if order != "jabcdefg" {
		t.Errorf("order %s", order)
	}
}

// headlines lists the stories about one theme, each as "title@ref:sources".
func headlines(t *testing.T, feeds ...[]pack.Headline) []string {
	t.Helper()
	got := pack.RankThemes(pack.NarrativeInput{Themes: []pack.Theme{theme("oddity", "Oddity", narrativePtr(1.0))}, Ref: 4, Headlines: slices.Concat(feeds...), Now: narrativeNow})
	if len(got) != 1 {
		t.Fatalf("%+v", got)
	}
	list := []string{}
	for _, h := range got[0].Headlines {
		list = append(list, fmt.Sprintf("%s@%d:%v", h.Title, h.Ref, h.Sources))
	}
	return list
}

func TestHeadlinesCluster(t *testing.T) {
	t.Parallel()
	m := time.Minute
	for _, c := range []struct {
		name  string
		feeds [][]pack.Headline
		want  []string
	}{
		{"the newest stands for the story", [][]pack.Headline{wrote(11, 9*m, "Oddity halts all markets"), wrote(12, 3*m, "Oddity pauses all markets"), wrote(13, 6*m, "ODDITY halts all markets!")},
			[]string{"Oddity pauses all markets@12:[11 12 13]"}},
		{"of two at once the first publisher", [][]pack.Headline{wrote(13, 0, "Oddity up"), wrote(11, 0, "Oddity up")}, []string{"Oddity up@11:[11 13]"}},
		{"half in common is enough", [][]pack.Headline{wrote(11, m, "oddity alpha beta"), wrote(12, 2*m, "oddity alpha gamma")}, []string{"oddity alpha beta@11:[11 12]"}},
		{"less is not", [][]pack.Headline{wrote(11, m, "oddity alpha beta"), wrote(12, 2*m, "oddity gamma delta")},
			[]string{"oddity alpha beta@11:[11]", "oddity gamma delta@12:[12]"}},
		{"stop words do not count", [][]pack.Headline{wrote(11, m, "the oddity is in with the new of it"), wrote(12, 2*m, "the gamma oddity beta is in with the new of it")},
			[]string{"the oddity is in with the new of it@11:[11]", "the gamma oddity beta is in with the new of it@12:[12]"}},
		{"only the newest headline is compared", [][]pack.Headline{wrote(11, m, "oddity a1 b1"), wrote(12, 2*m, "oddity b1 c1"), wrote(13, 3*m, "oddity c1 d1")},
			[]string{"oddity a1 b1@11:[11 12]", "oddity c1 d1@13:[13]"}},
		{"two at most", [][]pack.Headline{wrote(11, m, "oddity one two", "oddity three four", "oddity five six")}, []string{"oddity one two@11:[11]", "oddity three four@11:[11]"}},
		{"a story is on the topic if one headline is", [][]pack.Headline{wrote(11, m, "alpha beta gamma delta"), wrote(12, 2*m, "alpha beta gamma oddity")},
			[]string{"alpha beta gamma delta@11:[11 12]"}},
		{"words, not parts of words", [][]pack.Headline{wrote(11, m, "Oddityville opens")}, []string{}},
		{"nothing to compare", [][]pack.Headline{wrote(11, m, "the", "?", "Oddity!")}, []string{"Oddity!@11:[11]"}},
	} {
		if got := headlines(t, c.feeds...); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		slices.Reverse(c.feeds)
		if got := headlines(t, c.feeds...); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q in another order of feeds, want %q", c.name, got, c.want)
		}
	}
}

func TestHeadlineKeepsItsParts(t *testing.T) {
	t.Parallel()
	got := pack.RankThemes(pack.NarrativeInput{Themes: []pack.Theme{theme("oddity", "Oddity", narrativePtr(1.0))}, Headlines: slices.Concat(wrote(13, time.Hour, "Oddity")), Now: narrativeNow})
	want := []api.Headline{{Title: "Oddity", URL: "https://example.com/13/0", PublishedAt: narrativeNow.Add(-time.Hour), Ref: 13, Sources: []int{13}}}
	if !reflect.DeepEqual(got[0].Headlines, want) {
		t.Errorf("%+v, want %+v", got[0].Headlines, want)
	}
}

func TestTopics(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		id, name, title string
		covered         bool
	}{
		{"privacy-coins", "Privacy Coins", "Zcash tops 20% daily gain", true},
		{"privacy-coins", "Privacy Coins", "Users ask for privacy", false},
		{"ai-agents", "AI Agents", "Virtuals leads AI-agent tokens higher", true},
		{"layer-2", "Layer 2 (L2)", "Layer-2 tokens lag", true},
		{"layer-2", "Layer 2 (L2)", "Database breach at an exchange", false},
		{"real-world-assets-rwa", "Real World Assets (RWA)", "RWA lenders expand", true},
		{"oracle", "Oracle", "Oracle reports quarterly earnings", false},
		{"intent", "Intent", "A letter of intent", false},
		{"depin", "DePIN", "What DePIN wants", true},
		{"zero-knowledge-zk", "Zero Knowledge (ZK)", "A ZK proof in a second", true},
		{"zero-knowledge-zk", "Zero Knowledge (ZK)", "Zero-knowledge proofs explained", true},
		{"nameless", "()", "Anything at all", false},
	} {
		got := pack.RankThemes(pack.NarrativeInput{Themes: []pack.Theme{theme(c.id, c.name, narrativePtr(1.0))}, Headlines: slices.Concat(wrote(11, 0, c.title)), Now: narrativeNow})
		if covered := len(got[0].Headlines) > 0; covered != c.covered {
			t.Errorf("%s covers %q: %v, want %v", c.id, c.title, covered, c.covered)
		}
	}
}

func TestRankChangesNothing(t *testing.T) {
	t.Parallel()
	in := func() pack.NarrativeInput {
		return pack.NarrativeInput{
			Themes: []pack.Theme{theme("b", "Oddity", narrativePtr(1.0), "x"), theme("a", "Beta", narrativePtr(2.0))}, Ref: 4, Now: narrativeNow,
			Searched:  []pack.SearchedCoin{{ID: "x"}, {ID: "x", Symbol: "X"}, {ID: "x", Symbol: "X"}},
			Headlines: append(wrote(12, 0, "Oddity b", "Oddity"), wrote(11, 0, "Oddity", "Beta "+strings.Repeat("oddity ", 9))...),
		}
	}
	one, two := in(), in()
	first, second := pack.RankThemes(one), pack.RankThemes(one)
	if !reflect.DeepEqual(first, second) || !reflect.DeepEqual(one, two) {
		t.Error("the same input gives another result, or the input was changed")
	}
	if got := first[0].TrendingSymbols; first[0].ID != "b" || !slices.Equal(got, []string{"X"}) {
		t.Errorf("%s: symbols %q, want X once", first[0].ID, got)
	}
}

// TestSameStory has headlines that tell the same, and some that differ in a name or a figure alone.
func TestSameStory(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"NEAR Protocol leads large caps with a 2.5% gain", "Zcash leads large caps with a 2.4% gain", false},
		{"NEAR Protocol leads large caps with a 2.4% gain", "Zcash leads large caps with a 2.4% gain", false},
		{"Zcash leads large caps with a 2.5% gain", "Zcash leads large caps with a 2.4% gain", false},
		{"Zcash leads large caps with a 2.4% gain", "Zcash leads the large caps with 2.4% gain", true},
		{"Coinbase lists NEAR token", "Coinbase lists ZEC token", false},
		{"NEAR Falls After Upgrade Is Delayed", "ZEC Falls After Upgrade Is Delayed", false},
		{"Coinbase lists NEAR", "Coinbase lists token", true}, // which does not say of which it is
		{"Zcash tops 20% daily gain as shorts unwind", "Zcash daily gain tops 20% as shorts unwind", true},
		{"Zcash tops daily gain as shorts unwind", "Zcash tops 20% daily gain as shorts unwind", true},
	} {
		if got := pack.SameStory(c.a, c.b); got != c.same || pack.SameStory(c.b, c.a) != got {
			t.Errorf("%q and %q: %t, want %t", c.a, c.b, got, c.same)
		}
	}
}
