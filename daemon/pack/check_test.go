package pack_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/brief"
	"github.com/contextd/contextd/daemon/pack"
	"github.com/contextd/contextd/internal/check"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// material is what a recorded tick says, for a check of a text.
func material(t testing.TB, n int) check.Material {
	t.Helper()
	in := tick(t, n)
	data, _ := compact(t, in)
	p := pack.Crypto()
	return check.Material{At: in.Now, Tables: p.Tables(in), State: state.Read(data), Shown: p.Shown, Within: api.CheckWithin, All: true}
}

// TestCheckOfBriefs: each figure of the briefs that are written from a state is verified against it, and not with another first digit.
func TestCheckOfBriefs(t *testing.T) {
	t.Parallel()
	for n := 1; n <= 3; n++ {
		m := material(t, n)
		var citations []api.Citation
		for i, s := range pack.Crypto().Sources {
			citations = append(citations, api.Citation{Ref: i + 1, SourceID: s.ID, URL: s.PublicURL, FetchedAt: m.At})
		}
		draft, err := brief.BuiltIn().Write(t.Context(), brief.Input{Pack: api.PackCrypto, State: m.State, Citations: citations})
		if err != nil {
			t.Fatal(err)
		}
		r := check.Judge(draft.Text, m)
		for _, f := range r.Findings {
			if f.Verdict != api.CheckVerified {
				t.Errorf("tick %d: %q is %s: %s %s %s\n%s", n, f.Text, f.Verdict, f.Reason, f.Row, f.Field, draft.Text)
			}
			changed := []rune(draft.Text)
			at := f.Start + strings.IndexAny(f.Text, "0123456789")
			changed[at] = '1' + (changed[at]-'0')%9
			for _, g := range check.Judge(string(changed), m).Findings {
				if g.Start <= at && at < g.End && g.Verdict == api.CheckVerified {
					t.Errorf("tick %d: %q is verified as %q: %s %s\n%s", n, g.Text, f.Text, g.Row, g.Field, draft.Text)
				}
			}
		}
		if r.Counts[api.CheckVerified] < 30 {
			t.Errorf("tick %d: %v", n, r.Counts)
		}
	}
}

// TestCheckOfTampered: no figure of a brief that was changed is verified.
func TestCheckOfTampered(t *testing.T) {
	t.Parallel()
	m := material(t, 2)
	for _, c := range []struct{ told, changed string }{
		{"Bitcoin trades at $91,443.", "Bitcoin trades at $91,743."}, {"Bitcoin is down 1.6% in 24 hours.", "Bitcoin is up 1.6% in 24 hours."},
		{"Aave V3 holds $31.3 billion.", "Aave V3 holds $33.3 billion."}, {"Fear & Greed reads 24.", "Fear & Greed reads 42."},
		{"Bitcoin and Ethereum fell 1.6% and 2.9%.", "Bitcoin and Ethereum fell 2.9% and 1.6%."},
		{"Bitcoin is at $91,443 and Ethereum at $3,193.", "Ethereum is at $91,443 and Bitcoin at $3,193."},
	} {
		if r := check.Judge(c.told, m); r.Verdict() != api.CheckVerified {
			t.Errorf("%q is %s: %+v", c.told, r.Verdict(), r.Findings)
		}
		if r := check.Judge(c.changed, m); r.Counts[api.CheckVerified] > 0 {
			t.Errorf("%q: %+v", c.changed, r.Findings)
		}
	}
}

// TestCheck: what is said of figures in sentences, against what was fetched at 20:05.
func TestCheck(t *testing.T) {
	t.Parallel()
	m := material(t, 2)
	const verified, refuted = string(api.CheckVerified), string(api.CheckRefuted)
	for _, c := range []struct{ text, want string }{
		{"Bitcoin is at $91,443.", verified}, {"BTC: 91.443 $", verified}, {"$BTC is at 91,443", verified},
		{"Bitcoin trades at $91.4k.", verified}, {"Bitcoin kostet 91.443 Dollar.", verified}, {"Bitcoinは91,443ドルです。", verified}, {"Bitcoin costs 91'442.90 dollars", verified},
		{"Bitcoin trades at about $90k.", verified}, {"Bitcoin trades over $90,000.", verified}, {"Bitcoin costs almost $92,000.", verified},
		{"Bitcoin is between $91,000 and $92,000.", verified}, {"XRP rose 382 basis points.", verified},
		{"Ethereum fell 2.9% today.", verified}, {"Bitcoin dominance is 54.9%.", verified}, {"Solana holds $9.09 billion.", verified},
		{"Bitcoin rose, with a 2.9% drop in Ethereum.", verified}, {"Zcash extends its gains to 21.8%.", verified},
		{"Bitcoin's market cap is $1.83 trillion.", verified}, {"Bitcoin costs $91,442.87.", verified}, {"Bitcoin cotiza a 91.443 dólares.", verified},
		{"The Kamino hack has a reported loss of $5 million, Bitcoin is at $91,443.", "own_position, verified"},

		{"Bitcoin is at $120,000.", refuted}, {"Bitcoin is at 120,000.", refuted}, {"BTC: 120.000 $", refuted},
		{"Bitcoin costs $9,144.", refuted}, {"Bitcoin is up 1.6% today.", "refuted direction"},
		{"Bitcoin is down 5.6% in 24 hours.", refuted}, {"Solana dropped 14% this week.", refuted},
		{"Aave V3 has a TVL of $41.3 billion.", refuted}, {"Bitcoin has a market cap of $2.5 trillion.", refuted},
		{"Fear & Greed reads 64.", refuted}, {"Bitcoin dominance is 61.9%.", refuted}, {"Bitcoin trades over $120,000.", refuted},
		{"Bitcoin is between $120,000 and $121,000.", refuted}, {"Bitcoin costs $1.83 trillion.", refuted},
		{"Lido has a TVL of $40.2 trillion.", refuted}, {"Ethereum costs $0.2078.", refuted}, {"In 24 hours Ethereum fell 7.55% in price.", refuted},
		{"Ethereum fell 7.55% in 24 hours.", refuted}, {"Ethereum fell 7.55% in 24 hours and rose this week.", "ambiguous_subject"},
		{"XRP fell 0.90% this week.", "refuted direction"},
		{"Breadth agrees: 55 large coins rose and 55 fell [1].", "ambiguous_field, verified"}, {"Bitcoin has a market cap of $91,443.", refuted}, {"Bitcoin is at $1.83 trillion.", "ambiguous_subject"},

		{"Bitcoin trades at $91,442.", "near"}, {"Bitcoin trades at $93,000.", "near"}, {"The crypto market is worth $3 trillion.", "near"},
		{"Bitcoin could reach $120,000.", "forecast"}, {"Bitcoin's support is at $85,000.", "level"}, {"Bitcoin is not at $91,443.", "negated"},
		{"He said “Bitcoin is at $120,000”.", "quoted"}, {"Analysts said Bitcoin is at $120,000.", "quoted"}, {"`Bitcoin: $120,000`", "quoted"},
		{"We bought Bitcoin at $45,000.", "own_position"}, {"Bitcoin is at $120,000 on Binance.", "other_venue"},
		{"Bitcoin was at $120,000 yesterday.", "other_time"}, {"Bitcoin is down from $126,000.", "other_time"},
		{"The hack of Bitcoin cost $5.", "ambiguous_field"}, {"Tether minted $500 on Solana.", "ambiguous_field"},
		{"A TVL of $990 million in STON.fi.", refuted},
		{"A TVL of $990 million in STON.fi was burned.", "ambiguous_field"},
		{"Bitcoin costs 80.000 Euro.", "other_currency"}, {"Bitcoin lost $2,000 today.", "computed"},
		{"Bitcoin's average price is $120,000.", "computed"}, {"The S&P 500 rose 2%.", "no_subject"}, {"It is at $120,000.", "no_subject"},
		{"Bitcoin miners hold $120,000.", "ambiguous_field"}, {"Bitcoin kostet 120.443 Dollar.", "ambiguous_field"},
		{"bitcoin is at $120,000.", "ambiguous_subject"}, {"Ethereum is at $91,443, Bitcoin is down.", "ambiguous_subject"},
		{"Bitcoin is at 1400,1777", "number_format"}, {"Bitcoin rose 5% in 30 days.", "no_such_field"},

		{"Bitcoin came in 2009; see [3], V3, 24h, 2026-11-20 and 12:30.", "other_time"}, {"There are 5 of them.", ""},
		{"Fear & Greed is of 20 November 2026.", ""}, {"Bitcoin was in November 120000.", "other_time"}, {"", ""},
		{"Zcash rose 25% in the last hour.", "no_history"}, {"Zcash fell 25% in the last hour.", "no_history"},
		{"Bitcoin\u202e is here.", "character"}, {"https://example.com/Bitcoin/120000", ""},
	} {
		r := check.Judge(c.text, m)
		var got []string
		for _, f := range r.Findings {
			what := string(f.Verdict)
			switch {
			case f.Verdict == api.CheckUnknown:
				what = string(f.Reason)
			case f.Reason != "" && f.Reason != api.CheckOtherValue:
				what += " " + string(f.Reason)
			}
			got = append(got, what)
			if f.Verdict == api.CheckRefuted && (f.Actual == nil || f.Says == "" || f.Row == "" || f.Ref == 0) {
				t.Errorf("%q is refuted without what is true: %+v", c.text, f)
			}
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%q is %s, want %s: %+v", c.text, strings.Join(got, ", "), c.want, r.Findings)
		}
	}
}

// TestCheckOfThePast: what was so before is stale, and what a figure was since keeps it from being refuted.
func TestCheckOfThePast(t *testing.T) {
	t.Parallel()
	m, before := material(t, 2), material(t, 1)
	was := check.NewSample(m.At, before.State, m.Shown)
	ago := func(d time.Duration) check.Earlier {
		return func(kind, key, field string) []state.Point {
			n, ok := was.Number(kind, key, field)
			if !ok {
				return nil
			}
			return []state.Point{{At: m.At.Add(-d), Value: n}}
		}
	}
	for _, c := range []struct {
		text string
		ago  time.Duration
		want api.CheckVerdict
	}{
		{"Bitcoin is at $91,240.", 0, api.CheckUnknown}, {"Bitcoin is at $91,240.", 20 * time.Minute, api.CheckStale},
		{"Bitcoin is at $91,240.", api.CheckWithin, api.CheckVerified}, {"Bitcoin is at $91,240.", api.CheckWithin + time.Second, api.CheckStale},
		{"Bitcoin is at $120,000.", time.Hour, api.CheckRefuted}, {"Bitcoin could be at $91,240.", time.Hour, api.CheckUnknown},
	} {
		now := m
		if c.ago > 0 {
			now.Earlier = ago(c.ago)
		}
		r := check.Judge(c.text, now)
		if r.Verdict() != c.want {
			t.Errorf("%q after %s: %+v, want %s", c.text, c.ago, r.Findings, c.want)
		}
		if c.want == api.CheckStale && !r.Findings[0].AsOf.Equal(m.At.Add(-c.ago)) {
			t.Errorf("%q was so at %s", c.text, r.Findings[0].AsOf)
		}
	}
	past := material(t, 2)
	past.Past = true
	past.Tables = before.Tables // names alone
	for text, want := range map[string]string{"Bitcoin is at $91,443.": "verified", "Bitcoin is at $120,000.": "refuted",
		"Bitcoin is at $91,240.": "near", "Tether's supply is $191 billion.": "not_in_state"} {
		f := check.Judge(text, past).Findings[0]
		if string(f.Verdict) != want && string(f.Reason) != want {
			t.Errorf("%q in the past is %s %s, want %s", text, f.Verdict, f.Reason, want)
		}
	}
	late := material(t, 2)
	late.Late = func(*state.Row) bool { return true }
	for text, want := range map[string]string{"Bitcoin is at $91,443.": "stale source_stale", "Bitcoin is at $120,000.": "unknown source_stale"} {
		if f := check.Judge(text, late).Findings[0]; fmt.Sprint(f.Verdict, " ", f.Reason) != want {
			t.Errorf("%q of a source that is overdue is %s %s", text, f.Verdict, f.Reason)
		}
	}
}

// TestCheckOfTheDay: what a number was in samples decides how near a figure has to be to have been right.
func TestCheckOfTheDay(t *testing.T) {
	t.Parallel()
	m := material(t, 2)
	for _, c := range []struct {
		text    string
		samples int
		was     map[string][2]float64 // from where to where a field went between samples
		want    string
	}{
		{"Bitcoin costs $93,600.", 12, map[string][2]float64{"priceUsd": {91_400, 91_500}}, "refuted other_value"}, // 92,930 a day ago
		{"Bitcoin costs $93,000.", 12, map[string][2]float64{"priceUsd": {91_400, 91_500}}, "unknown near"},
		{"Bitcoin costs $93,600.", 11, map[string][2]float64{"priceUsd": {91_400, 91_500}}, "unknown near"},
		{"Bitcoin costs $93,600.", 12, map[string][2]float64{"priceUsd": {91_400, 93_500}}, "unknown near"},
		{"Bitcoin costs $91,400.", 12, map[string][2]float64{"priceUsd": {91_400, 91_500}}, "verified"},
		{"Bitcoin is up 1.6% in 24 hours.", 12, map[string][2]float64{"change24hPct": {-1.5, -1.7}}, "refuted direction"},
		{"Bitcoin is up 1.6% in 24 hours.", 12, map[string][2]float64{"change24hPct": {-1.6, 1.7}}, "unknown near"},
		{"Bitcoin is up 1.6% in 24 hours.", 11, map[string][2]float64{"change24hPct": {-1.5, -1.7}}, "refuted direction"},
		{"Zcash rose 25% in the last hour.", 12, map[string][2]float64{"change1hPct": {1, 2}}, "refuted other_value"},
		{"Zcash rose 25% in the last hour.", 11, map[string][2]float64{"change1hPct": {1, 2}}, "unknown no_history"},
	} {
		m.Earlier = func(_, _, field string) (list []state.Point) {
			for i := range c.samples {
				if two, ok := c.was[field]; ok {
					list = append(list, state.Point{At: m.At.Add(-time.Duration(i+1) * 5 * time.Minute), Value: two[i%2]})
				}
			}
			return list
		}
		f := check.Judge(c.text, m).Findings[0]
		if got := strings.TrimSpace(fmt.Sprint(f.Verdict, " ", f.Reason)); got != c.want {
			t.Errorf("%q after %d samples of %v is %s, want %s: %+v", c.text, c.samples, c.was, got, c.want, f)
		}
		if known := c.samples >= 12; c.want[0] == 'r' && (f.Since != nil) != known {
			t.Errorf("%q: the range is since %v", c.text, f.Since)
		}
	}
}

// TestCheckOfWhatIsLeftUnsaid: a figure without a period is of the one that the paragraph is about, and one in brackets of the name before.
func TestCheckOfWhatIsLeftUnsaid(t *testing.T) {
	t.Parallel()
	m := material(t, 2)
	for _, c := range []struct {
		text string
		want api.CheckVerdict // of the last figure
	}{
		{"Bitcoin is down 1.6% in 24 hours. Ethereum fell 2.9%.", api.CheckVerified},
		{"Bitcoin gained 4% this week. Ethereum fell 2.9%.", api.CheckUnknown},
		{"Bitcoin gained 4% this week.\n\nEthereum fell 2.9%.", api.CheckVerified},
		{"Bitcoin gained 4% this week. Ethereum fell 2.9% today.", api.CheckVerified},
		{"Leading are Bitcoin (−1.6%) and Ethereum (−2.9%).", api.CheckVerified},
		{"Leading are Ethereum (−2.9%) and Bitcoin (−2.9%).", api.CheckUnknown},
		{"Bitcoin leads them: Ethereum at $3,193 (down 2.9%).", api.CheckVerified},
		{"Bitcoin leads them: Ethereum at $3,193 (down 1.6%).", api.CheckUnknown},
		{"All are lower on the day: Bitcoin by 1.6% and Ethereum by 2.9%.", api.CheckVerified},
		{"All are lower on the day: Bitcoin by 1.6% and Ethereum by 1.6%.", api.CheckUnknown},
		{"Zcash outran Ethereum, having gained 21.8%.", api.CheckVerified},
		{"Ethereum trades near $6,404.", api.CheckRefuted},
		{"Bitcoin costs $50,000 and is down 1.6%.", api.CheckVerified},
		{"Bitcoin is down 1.6% and costs $50,000.", api.CheckRefuted},
		{"Ethereum gas costs $6,404.", api.CheckUnknown},
		{"Ethereum costs $6,404.", api.CheckRefuted},
		{"First are Zcash and Ethereum, up 21.8%.", api.CheckVerified},
		{"First is Zcash, and Ethereum is up by 21.8%.", api.CheckUnknown},
	} {
		list := check.Judge(c.text, m).Findings
		if f := list[len(list)-1]; f.Verdict != c.want {
			t.Errorf("%q is %s, want %s: %+v", c.text, f.Verdict, c.want, f)
		}
	}
}

// TestCheckOfTwoFigures: what is said of the second figure of a sentence is not said of the first.
func TestCheckOfTwoFigures(t *testing.T) {
	t.Parallel()
	m := material(t, 2)
	for text, want := range map[string]string{
		"Bitcoin costs $50,000 and is down 1.6%.":     "[refuted verified]",
		"Bitcoin costs $50,000 but rose 1.6%.":        "[refuted unknown]",
		"Bitcoin lost $50,000 and is down 1.6%.":      "[unknown verified]",
		"Bitcoin costs $91,443 while it is down 1.6%": "[verified verified]",
	} {
		var got []api.CheckVerdict
		for _, f := range check.Judge(text, m).Findings {
			got = append(got, f.Verdict)
		}
		if fmt.Sprint(got) != want {
			t.Errorf("%q is %v, want %s", text, got, want)
		}
	}
}

// TestCheckOfHostileText: a text of any kind takes no longer than one that is worth it, and its findings lie in it.
func TestCheckOfHostileText(t *testing.T) {
	t.Parallel()
	m := material(t, 2)
	for _, unit := range []string{"9", "Bitcoin ", "Bitcoin 1.5% ", "[", "Bitcoin is at $120,000. ", "`1`a", "Will Solana (", "“1.5%”. ", "- 1\n",
		"> 1\n", "\u202e1", "1.5万", "$", "\xff1"} {
		text := strings.Repeat(unit, api.MaxCheckBytes/len(unit))
		begun := time.Now()
		r := check.Judge(text, m)
		if took := time.Since(begun); took > 5*time.Second {
			t.Errorf("%q took %s", unit, took)
		}
		if r.Figures > api.MaxCheckFigures+1 {
			t.Errorf("%q has %d figures", unit, r.Figures)
		}
		for _, f := range r.Findings {
			if f.Start < 0 || f.End <= f.Start || f.End > len([]rune(text)) || len([]rune(f.Text)) > 120 {
				t.Fatalf("%q: %+v", unit, f)
			}
		}
	}
}

func FuzzCheck(f *testing.F) {
	m := material(f, 2)
	f.Add("Bitcoin (BTC) is at $91,443, down 1.6% – “XRP” +3.8 %.")
	f.Fuzz(func(t *testing.T, text string) {
		text = text[:min(len(text), api.MaxCheckBytes)]
		one, two := check.Judge(text, m), check.Judge(text, m)
		if fmt.Sprint(one.Counts) != fmt.Sprint(two.Counts) {
			t.Fatalf("%q is judged in two ways: %v and %v", text, one.Counts, two.Counts)
		}
		for _, f := range one.Findings {
			if f.Start < 0 || f.End <= f.Start || f.End > len([]rune(text)) {
				t.Fatalf("%q: %+v", text, f)
			}
		}
	})
}
