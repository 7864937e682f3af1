package manifest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/brief"
	"github.com/contextd/contextd/daemon/pack"
	"github.com/contextd/contextd/sdk/api"
)

// TestMarketsQuestions asks the recorded data what agents and people ask of markets.
func TestMarketsQuestions(t *testing.T) {
	t.Parallel()
	ask(t, api.PackMarkets, map[string]string{
		"inflation and of which month it is": "missing which month no_such_field",
		"how many jobs were added":           "indicator/payrolls added",
		"which currency gained most today":   "missing currency no_such_field",
		"currencies up more than 1%":         "missing currencies no_such_field",
		"biggest and smallest yield change":  "missing biggest ambiguous",
		"unemployment in 1995":               "missing in 1995 no_such_moment",
		"releases between 2026-12-04 and 2026-12-09": "release/2026-12-04-employment-situation; " +
			"release/2026-12-09-fomc-meeting; release/2026-12-08-u-s-international-trade-in-goods-and-services",
		"highest and lowest treasury yield": "yield/30y yieldPct; yield/3y yieldPct",
		"which yield moved the most":        "yield/6m yieldPct movedBp; yield/2m yieldPct movedBp",
		"where is the VIX":                  "volatility/VIX",
		"newest fed press release": "headline/synthetic-other20261119a; headline/synthetic-monetary20261118a; " +
			"headline/synthetic-bcreg20261117a",
		"ppi year over year":                  "indicator/ppi change12mPct",
		"10 year yield":                       "yield/10y yieldPct",
		"what is the 10-year treasury yield?": "yield/10y yieldPct",
		"30 year treasury":                    "yield/30y",
		"3 month bill":                        "yield/3m",
		"how much did the 2 year move":        "yield/2y movedBp",
		"2s10s":                               "yield/2s10s",
		"yield spread":                        "yield/2s10s spreadBp; yield/3m10y spreadBp",
		"treasury yields":                     "yield/10y yieldPct; yield/2y yieldPct; yield/30y yieldPct",
		"sofr":                                "reference_rate/SOFR",
		"fed funds rate":                      "reference_rate/EFFR ratePct",
		"sofr volume":                         "reference_rate/SOFR volumeUsd",
		"fed funds target":                    "reference_rate/EFFR targetLowPct targetHighPct",
		"chf":                                 "fx/USDCHF",
		"yen":                                 "fx/USDJPY",
		"dollars per euro":                    "fx/EURUSD",
		"swiss francs per dollar":             "fx/USDCHF",
		"strongest currency":                  "missing currency no_such_field",
		"spread between 10 year and 2 year":   "yield/2s10s spreadBp",
		"producer price inflation":            "indicator/ppi",
		"prices for consumers":                "indicator/cpi",
		"at what rate was sofr fixed":         "reference_rate/SOFR ratePct",
		"reference rate of the yen":           "fx/USDJPY rate",
		"number of vacancies":                 "indicator/job-openings",
		"interest rates":                      "reference_rate/EFFR ratePct; reference_rate/SOFR ratePct; reference_rate/OBFR ratePct",
		"eur usd":                             "fx/EURUSD",
		"EUR/USD":                             "fx/EURUSD",
		"usd jpy":                             "fx/USDJPY",
		"eur change":                          "fx/EURUSD change1dPct",
		"exchange rates":                      "fx/EURUSD rate; fx/USDJPY rate; fx/GBPUSD rate",
		"gbp usd rate":                        "fx/GBPUSD rate",
		"vix":                                 "volatility/VIX",
		"how much is the vix up today":        "volatility/VIX change1dPct",
		"vix yesterday":                       "volatility/VIX previous",
		"cpi":                                 "indicator/cpi",
		"inflation":                           "indicator/cpi",
		"core cpi":                            "indicator/core-cpi",
		"payrolls":                            "indicator/payrolls",
		"unemployment rate":                   "indicator/unemployment ratePct",
		"wage growth":                         "indicator/wages change12mPct",
		"job openings":                        "indicator/job-openings openings",
		"national debt":                       "indicator/us-debt debtUsd",
		"next fomc meeting":                   "release/2026-12-09-fomc-meeting dueAt",
		"when is the next fed meeting":        "release/2026-12-09-fomc-meeting dueAt",
		"rate decision":                       "release/2026-12-09-fomc-meeting",
		"next cpi release":                    "release/2026-12-10-consumer-price-index dueAt",
		"next jobs report":                    "release/2026-12-04-employment-situation dueAt",
		"next payrolls release":               "release/2026-12-04-employment-situation dueAt",
		"gdp":                                 "release/2026-11-25-gross-domestic-product",
		"pce":                                 "release/2026-11-25-personal-income-and-outlays",
		"latest filings":                      "filing/0001902219-26-041999; filing/0001193125-26-041962; filing/0001193125-26-041925",
		"quillon 8-K":                         "filing/0001193125-26-041962; filing/0001901902-26-041222",
		"mortgage rate":                       "missing mortgage unknown_word",
		"the next three scheduled releases": "release/2026-11-20-fomc-minutes dueAt; " +
			"release/2026-11-24-metropolitan-area-employment-and-unemployment dueAt; " +
			"release/2026-11-25-gross-domestic-product dueAt",
		"vix and the 10 year yield":    "volatility/VIX; yield/10y yieldPct",
		"has the fed put anything out": "missing out no_such_field",
		"what is inflation running at": "indicator/cpi",
		"fed news": "headline/synthetic-other20261119a; headline/synthetic-monetary20261118a; " +
			"headline/synthetic-bcreg20261117a",
	})
}

// TestMarketsValues: what the sources write in their own ways is understood, and what is missing is left out.
func TestMarketsValues(t *testing.T) {
	t.Parallel()
	values(t, api.PackMarkets, 3, map[string]string{
		"yield/10y yieldPct": "4.22", "yield/10y movedBp": "12", "yield/2s10s spreadBp": "16", "yield/10y date": "2026-11-20",
		"reference_rate/EFFR targetHighPct": "4.25", "reference_rate/SOFR volumeUsd": "3.187e+12",
		"reference_rate/OBFR ratePct": "4.08", "reference_rate/OBFR volumeUsd": "<nil>", // NA
		"fx/USDJPY rate": "150.99", "fx/USDJPY change1dPct": "-0.61", "fx/EURUSD inverse": "0.8647",
		"volatility/VIX level": "19.76", "volatility/VIX date": "2026-11-20",
		"indicator/cpi change12mPct": "3.17", "indicator/payrolls added": "66000", "indicator/job-openings period": "September 2026",
		"indicator/us-debt debtUsd": "4.0318274651203e+13", "indicator/us-debt date": "2026-11-19",
		"release/2026-12-10-consumer-price-index dueAt":                      "2026-12-10 13:30:00 +0000 UTC", // a folded line
		"release/2026-12-15-u-s-import-and-export-price-indexes dueAt":       "2026-12-15 13:30:00 +0000 UTC",
		"release/2026-12-15-u-s-import-and-export-price-indexes followingAt": "2027-03-17 12:30:00 +0000 UTC", // summer time
		"release/2026-12-09-fomc-meeting dueAt":                              "2026-12-09 19:00:00 +0000 UTC",
		"release/2026-11-20-fomc-minutes dueAt":                              "no row", // they are out
		"release/2026-12-30-fomc-minutes dueAt":                              "2026-12-30 19:00:00 +0000 UTC",
	})
}

// TestMarketsFlags: flags rise and fall, the state stays within its bound, and the brief tells nothing that is not in it.
func TestMarketsFlags(t *testing.T) {
	t.Parallel()
	raises(t, api.PackMarkets, [][]string{
		{"curve_inverted:3m10y", "release_today:2026-11-20-fomc-minutes"},
		{"vix_jump:VIX", "fx_move:USDJPY", "yield_move:10y", "yield_move:30y"},
		{"yield_move:10y", "yield_move:30y"},
	})
}

// TestMarketsExcerpts: a citation tells what its source says, with texts and times.
func TestMarketsExcerpts(t *testing.T) {
	t.Parallel()
	recorded(t, api.PackMarkets, func(tick int, p *pack.Pack, _ brief.Writer, in pack.Input) {
		text, err := p.Compact(in)
		if err != nil || tick > 1 {
			return
		}
		excerpts := p.Excerpts(read(text))
		for id, want := range map[string]string{
			"treasury-yields": "2-year Treasury (US2Y) yield 3.98% · moved 1 bp · tenor 2 years · date 2026-11-19",
			"bls-indicators":  "Consumer Price Index (CPI) 12m +3.17% · 1m +0.28% · period October 2026",
			"fed-calendar":    "FOMC Minutes due at 2026-11-20 20:05Z · importance 2",
			"fed-press":       "Federal Reserve Board announces results of its payments survey published at 2026-11-19 15:00Z",
		} {
			if excerpts[id] != want {
				t.Errorf("%s: %q, want %q", id, excerpts[id], want)
			}
		}
	})
}

// TestMarketsOf: a fixing, a close and a month are dated in rows, states and briefs, those of today are not.
func TestMarketsOf(t *testing.T) {
	t.Parallel()
	recorded(t, api.PackMarkets, func(tick int, p *pack.Pack, w brief.Writer, in pack.Input) {
		want := map[string]string{
			"volatility/VIX": "2026-11-19", "yield/10y": "2026-11-19", "fx/EURUSD": "2026-11-19", "reference_rate/SOFR": "2026-11-19",
			"indicator/cpi": "2026-10", "indicator/us-debt": "2026-11-19", "release/2026-12-09-fomc-meeting": "",
		}
		if tick > 1 { // that day's came
			want["volatility/VIX"], want["yield/10y"], want["fx/EURUSD"] = "", "", ""
		}
		rows := p.Tables(in)
		for name, of := range want {
			kind, key, _ := strings.Cut(name, "/")
			if r := rows.Row(kind, key); r == nil || r.Of != of {
				t.Errorf("tick %d: %s is of %q, want %q", tick, name, r.Of, of)
			}
		}
		text, err := p.Compact(in)
		if err != nil {
			t.Fatal(err)
		}
		doc := read(text)
		for _, r := range doc.Rows(p.Shown) {
			if known := rows.Row(r.Kind, r.Key); known == nil || r.Of != known.Of {
				t.Errorf("tick %d: the state has %s/%s of %q, the tables of %q", tick, r.Kind, r.Key, r.Of, known.Of)
			}
		}
		draft, err := w.Write(t.Context(), brief.Input{Pack: p.ID, State: doc, Citations: p.Citations(doc, p.Status(in), in.Now)})
		if close := "closed at 18.42 on 19 November,"; err != nil || strings.Contains(draft.Text, close) != (tick == 1) ||
			!strings.Contains(draft.Text, "the effective rate on 19 November was 4.08%") {
			t.Errorf("tick %d: %v\n%s", tick, err, draft.Text)
		}
		in.Now = in.Now.Truncate(24 * time.Hour) // of the day after the close
		tomorrow := in
		tomorrow.Now = in.Now.AddDate(0, 0, 1)
		if today, later := p.Tables(in).Row("fx", "EURUSD").Of, p.Tables(tomorrow).Row("fx", "EURUSD").Of; tick > 1 &&
			(today != "" || later != "2026-11-20") {
			t.Errorf("tick %d: of %q on its day, of %q on the next", tick, today, later)
		}
	})
}
