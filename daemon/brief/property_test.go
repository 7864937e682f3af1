package brief_test

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/contextd/contextd/daemon/brief"
	"github.com/contextd/contextd/internal/chance"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/long"
	"github.com/contextd/contextd/internal/prose"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// names are texts that have broken checks of this kind: brackets, digits, quotes, stops, units, scripts, the words of a brief.
var awkward = []string{"1inch", "Aave V3", "Layer 2 (L2)", "CAKE / WBNB 0.3%", "[3]", "[1, 2] Coin", "Yahoo! Finance", "Mr. Who? / SOL", "U.S. Dollar Inc.",
	"$100,000 Club", "5", "24h Fund", "up 20%", "“Quoted”", `Say "when"`, "cbXUSD", "ether.fi Stake", "Ünïcödé", "币安人生", "٣ Sisters", "½ Moon", "A.", "...", "",
	"x", "No. 7", "to 5%", "-3 Degrees", "Foo-2024", "7-day Yield", "12:00 Coin", "2026-11-20", "T", "million", "100%", "Moon 9", "a b  c", "…and more. And more", "K", "down"}

// mess is a source of random damage. A seed drawn by rapid drives it, for a state has more leaves than rapid has patience.
type mess struct {
	*rand.Rand
	rate int // chance of damage at each place, in percent
}

func (m mess) hits() bool { return m.IntN(100) < m.rate }

// up damages a JSON value: rows go, members become null, texts and numbers change.
func (m mess) up(key string, v any) any {
	switch v := v.(type) {
	case map[string]any:
		if slices.Contains([]string{"fearGreed", "market", "breadth", "stablecoins", "fees"}, key) && m.hits() {
			return nil
		}
		for _, k := range slices.Sorted(maps.Keys(v)) {
			if _, index := v["label"]; index && k == "value" {
				continue // Fear & Greed is a whole number
			}
			v[k] = m.up(k, v[k])
		}
	case []any:
		kept := []any{}
		for _, e := range v {
			if key == "sources" || !m.hits() {
				kept = append(kept, m.up(key, e))
			}
		}
		return kept
	case string:
		if slices.Contains([]string{"name", "symbol", "pair", "title", "question", "subject", "message", "label", "network"}, key) && m.hits() {
			return human.Label(m.text(), 96)
		}
	case float64:
		if m.hits() {
			return m.number(key, v)
		}
	}
	return v
}

// text makes a name: an awkward one, two of them, or noise.
func (m mess) text() string {
	switch m.IntN(4) {
	case 0:
		return awkward[m.IntN(len(awkward))] + " " + awkward[m.IntN(len(awkward))]
	case 1:
		noise := []rune(` .,;:!?[]()"“”'$%-–+0123456789kKmMbBtThdabcXYZéß٣½…/&`)
		name := make([]rune, m.IntN(20))
		for i := range name {
			name[i] = noise[m.IntN(len(noise))]
		}
		return string(name)
	}
	return awkward[m.IntN(len(awkward))]
}

// number makes another number for a member, or none.
func (m mess) number(key string, v float64) any {
	nullable := strings.HasSuffix(key, "Usd") || strings.HasSuffix(key, "Pct") || key == "probability"
	switch {
	case nullable && m.IntN(3) == 0:
		return nil
	case strings.HasSuffix(key, "Pct"), key == "value":
		return float64(m.IntN(2_000_001)-1_000_000) / []float64{1, 100, 1e4, 1e5, 1e7}[m.IntN(5)]
	case key == "priceUsd":
		return m.Float64() * []float64{0, 1, 1e3, 1e6, 1e-3, 1e-9}[m.IntN(6)]
	case strings.HasSuffix(key, "Usd"):
		return float64(m.Int64N(1<<52) >> m.IntN(52))
	case key == "probability":
		return m.Float64() * []float64{0, 1, 1e-4}[m.IntN(3)]
	case key == "advancing", key == "declining", key == "previousDay", key == "weekAgo":
		return float64(m.IntN(4) * 13)
	case key == "btcFastestSatVb":
		return float64(m.IntN(999)) / 10
	}
	return v
}

// drawState makes a random state from a recorded one.
func drawState(t *rapid.T, recorded map[string][]byte) *api.CryptoState {
	var tree map[string]any
	if err := json.Unmarshal(recorded[rapid.SampledFrom([]string{"tick1", "tick2", "tick3", "degraded"}).Draw(t, "from")], &tree); err != nil {
		t.Fatal(err)
	}
	rate := rapid.SampledFrom([]int{0, 5, 20, 50, 90}).Draw(t, "rate")
	m := mess{rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)), rate}
	tree = m.up("", tree).(map[string]any)
	flags, _ := tree["flags"].([]any)
	for _, f := range flags {
		flag := f.(map[string]any)
		if m.IntN(2) == 0 {
			kinds := []string{api.FlagDepeg, api.FlagPriceMove, api.FlagTVLDrop, api.FlagExploit, api.FlagSentiment, api.FlagDivergence, api.FlagFeeSpike, api.FlagSourceStale, "news_kind"}
			flag["kind"] = kinds[m.IntN(len(kinds))]
			flag["severity"] = []string{"critical", "warning", "notice"}[m.IntN(3)]
			unit, ok := map[any]string{api.FlagExploit: "usd", api.FlagSentiment: "index", api.FlagFeeSpike: "sat/vB"}[flag["kind"]]
			if !ok {
				unit = "pct"
			}
			flag["unit"] = unit
		}
	}
	b, err := json.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	var s api.CryptoState
	if err := json.Unmarshal(b, &s); err != nil {
		t.Fatalf("%v in %s", err, b)
	}
	return &s
}

func recordedStates(t *testing.T) map[string][]byte {
	all := map[string][]byte{}
	for _, name := range []string{"tick1", "tick2", "tick3", "degraded"} {
		b, err := json.Marshal(readState(t, name))
		if err != nil {
			t.Fatal(err)
		}
		all[name] = b
	}
	return all
}

var ugly = regexp.MustCompile(`  | [,;.]|NaN|Inf|%!|\[0\]|-0\.0|\.\.|\(\)|“”|,,|\b[1-9]\d{9}|\bnil\b| and and |\$0\b[^.]`)

func TestBuiltInPassesItsCheckOnAnyState(t *testing.T) {
	t.Parallel()
	long.Test(t)
	recorded := recordedStates(t)
	chance.Check(t, func(t *rapid.T) {
		s := drawState(t, recorded)
		b, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		in := brief.Input{Pack: api.PackCrypto, State: state.Read(b), Citations: citations()}
		draft, err := brief.BuiltIn().Write(t.Context(), in)
		text := draft.Text
		if err != nil {
			t.Fatalf("write: %v", err)
		}
		if list := brief.Check(text, in); len(list) > 0 {
			t.Fatalf("findings:\n%s%s\n%s", report(list), text, b)
		}
		if n := words(text); n > 350 {
			t.Fatalf("%d words:\n%s", n, text)
		}
		known := text
		for _, name := range stateTexts(s) {
			known = strings.ReplaceAll(known, name, "X")
		}
		if m := ugly.FindString(known); m != "" {
			t.Fatalf("%q in\n%s", m, text)
		}
		if again, _ := brief.BuiltIn().Write(t.Context(), in); again.Text != text {
			t.Fatalf("not deterministic:\n%s\n%s", text, again.Text)
		}
	})
}

// stateTexts lists the texts of s that a brief may repeat, longest first: what they look like is not the writer's doing.
func stateTexts(s *api.CryptoState) []string {
	var list []string
	add := func(texts ...string) {
		for _, x := range texts {
			if x = prose.Inline(x); len(x) > 1 {
				list = append(list, x)
			}
		}
	}
	for _, r := range s.TopMovers {
		add(r.Name)
	}
	for _, r := range s.ProtocolTVL {
		add(r.Name)
	}
	for _, r := range s.TrendingPools {
		add(r.Pair, r.Network)
	}
	for _, r := range s.Narratives {
		add(r.Name)
		for _, h := range r.Headlines {
			add(h.Title)
		}
	}
	for _, r := range s.Flags {
		add(r.Subject, r.Message)
	}
	for _, r := range s.Sentiment.Predictions {
		add(r.Question)
	}
	if f := s.Sentiment.FearGreed; f != nil {
		add(f.Label)
	}
	slices.SortFunc(list, func(a, b string) int { return len(b) - len(a) })
	return list
}
