package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// marketsPack is the pack markets.
func marketsPack() shippedPack {
	return shippedPack{
		id: "markets",
		sources: []upstream{
			{id: "treasury-yields", asked: "home.treasury.gov", sway: 0.01, alike: true, read: readYields,
				about: "10 year treasury yield",
				moves: regexp.MustCompile(`<d:BC_\w+ m:type="Edm.Double">([\d.]+)<`)},
			{id: "nyfed-rates", asked: "markets.newyorkfed.org", sway: 0.02, read: readRates, about: "SOFR rate",
				moves: regexp.MustCompile(`"(?:percentRate|average\d+day)": ([\d.]+)`)},
			{id: "frankfurter-fx", asked: "api.frankfurter.dev", sway: 0.01, alike: true, read: readFX, about: "EUR/USD rate",
				moves: regexp.MustCompile(`"[A-Z]{3}": ([\d.]+)`)},
			{id: "cboe-vix", asked: "cdn.cboe.com", sway: 0.05, read: readVIX, about: "vix level",
				moves: regexp.MustCompile(`([\d.]+)\s*$`)},
			{id: "bls-indicators", asked: "api.bls.gov", sway: 0.01, every: 12, read: readIndicators, about: "unemployment rate",
				moves: regexp.MustCompile(`"latest": "true", "value": "([\d.]+)"`)},
			{id: "bls-calendar", asked: "www.bls.gov", read: readCalendarBLS, about: "next cpi release"},
			{id: "fed-calendar", asked: "json/calendar.json", read: readCalendarFed, about: "next FOMC meeting"},
			{id: "bea-calendar", asked: "apps.bea.gov", read: readCalendarBEA, about: "next gdp release"},
			{id: "fed-press", asked: "press_all.xml", read: readPress, about: "latest fed press release"},
			{id: "sec-filings", asked: "browse-edgar", read: readFilings, about: "latest 8-K filings"},
			{id: "fiscaldata-debt", asked: "api.fiscaldata.treasury.gov", sway: 0.001, read: readDebt, about: "US public debt",
				moves: regexp.MustCompile(`"tot_pub_debt_out_amt": "([\d.]+)"`)},
		},
		ways: marketsWays(),
		steady: map[string][]string{
			"yield": {"yieldPct", "spreadBp"}, "reference_rate": {"ratePct"}, "fx": {"rate"}, "volatility": {"level"},
			"indicator": {"ratePct", "added", "openings", "change12mPct", "debtUsd"},
		},
		rows: func(facts []fact, f fact) bool {
			switch f.kind {
			case "yield":
				return slices.Contains([]string{"2y", "10y", "30y", "2s10s", "3m10y"}, f.key)
			case "fx":
				return slices.Contains([]string{"EURUSD", "USDJPY", "GBPUSD", "USDCNY", "USDCHF", "AUDUSD", "USDCAD"}, f.key)
			}
			return true
		},
		bears: map[string]func(evidence) bool{
			"vix_jump":       func(e evidence) bool { return e.is("change1dPct") >= 7.9 },
			"vix_high":       func(e evidence) bool { return e.is("level") >= 26.9 },
			"curve_inverted": func(e evidence) bool { return e.is("spreadBp") <= 4 },
			"yield_move":     func(e evidence) bool { return math.Abs(e.is("movedBp")) >= 7.9 },
			"fx_move":        func(e evidence) bool { return math.Abs(e.is("change1dPct")) >= 0.79 },
			"release_today":  func(e evidence) bool { return e.is("hours") <= 24 },
		},
		events: marketsEvents,
	}
}

func marketsWays() map[string][]ways {
	return map[string][]ways{
		"yield": {
			{"yield", "yieldPct", []string{"V yield", "V treasury yield", "yield on the V", "what does the V treasury yield",
				"V treasury", "S"}},
			{"yield", "movedBp", []string{"how much did the V yield move", "V yield change"}},
		},
		"spread": {{"spread", "spreadBp", []string{"V", "V spread", "what is the V spread", "is the V inverted"}}},
		"reference_rate": {
			{"rate", "ratePct", []string{"S", "S rate", "what is S at", "current N", "what is the S rate", "N"}},
		},
		"fx": {
			{"fx", "rate", []string{"S", "N", "N rate", "N exchange rate", "what is N at", "S exchange rate", "N today", "price of N"}},
			{"fx", "change1dPct", []string{"N change", "how much did N move", "S daily change", "is N up"}},
		},
		"volatility": {
			{"vix", "level", []string{"vix", "vix level", "what is the vix at", "where is the VIX", "cboe volatility index",
				"VIX close", "vix index"}},
			{"vix", "change1dPct", []string{"vix change", "how much did the vix move", "vix 1d change"}},
		},
		"cpi": {{"cpi", "change12mPct", []string{
			"V", "V yoy", "V annual change", "what is V", "V 12 month change", "V year over year",
		}}},
		"wages": {{"wages", "change12mPct", []string{"wage growth", "average hourly earnings yoy",
			"hourly earnings annual change"}}},
		"payrolls": {{"payrolls", "added", []string{"jobs added", "nonfarm payrolls", "how many jobs were added", "payrolls",
			"NFP"}}},
		"unemployment": {{"unemployment", "ratePct", []string{"unemployment rate", "us unemployment", "jobless rate",
			"what is the unemployment rate"}}},
		"openings": {{"openings", "openings", []string{"job openings", "JOLTS", "JOLTS job openings", "how many job openings"}}},
		"debt": {{"debt", "debtUsd", []string{"US public debt", "national debt", "how much debt does the US have", "US debt",
			"federal debt"}}},
		"release": {{"calendar", "dueAt", []string{
			"next V", "when is the next V", "when is V", "V date", "when is the next V release", "V release date",
		}}},
		"headline": {{"headline", "", []string{"latest fed press release", "federal reserve news", "newest fed press release",
			"fed news"}}},
		"filing": {{"filing", "", []string{"N filing", "N 8-K", "latest filing of N", "8-K filings N"}}},
	}
}

func marketsEvents(at func(float64) int) []happening {
	last := max(4, at(0.06))
	event := func(source string, from float64, edit func(string) string, flag string, critical bool, named string) happening {
		return happening{source, at(from), at(from) + last, edit, flag, critical, named}
	}
	same := func(text string) string { return text }
	newest := func(series string, to string) func(string) string {
		re := regexp.MustCompile(`(?s).*<d:BC_` + series + ` m:type="Edm.Double">([\d.]+)<`)
		return func(text string) string { return replaceFirstGroup(re, text, func(_, _ string) string { return to }) }
	}
	return []happening{
		event("cboe-vix", 0.05, scale(`([\d.]+)\s*$`, 1.9), "vix_jump:VIX", true, "VIX"),
		event("cboe-vix", 0.05, same, "vix_high:VIX", false, "VIX"),
		event("treasury-yields", 0.15, newest("2YEAR", "4.95"), "curve_inverted:2s10s", false, "10-year"),
		event("treasury-yields", 0.15, same, "yield_move:2y", true, "2-year"),
		event("treasury-yields", 0.4, newest("10YEAR", "4.31"), "yield_move:10y", false, "10-year"),
		event("frankfurter-fx", 0.25, scale(`(?s).*"JPY": ([\d.]+)`, 1.05), "fx_move:USDJPY", true, "USD/JPY"),
		event("frankfurter-fx", 0.5, scale(`(?s).*"EUR": ([\d.]+)`, 0.975), "fx_move:EURUSD", false, "EUR/USD"),
		event("bea-calendar", 0.3, put("2026-11-25T13:30:00", "2026-11-21T13:30:00"), "release_today:2026-11-21-gross-domestic-product",
			false, "GDP"),
		event("fed-calendar", 0.45, put(`"month": "2026-12", "days": "9"`, `"month": "2026-11", "days": "21"`),
			"release_today:2026-11-21-fomc", false, ""),
	}
}

func readYields(text []byte) (list []fact, err error) {
	var feed struct {
		Entries []struct {
			Values []struct {
				XMLName xml.Name
				Text    string `xml:",chardata"`
			} `xml:"content>properties>any"`
			Raw string `xml:",innerxml"`
		} `xml:"entry"`
	}
	if err := xml.Unmarshal(text, &feed); err != nil {
		return nil, err
	}
	value := regexp.MustCompile(`<d:BC_(\w+) m:type="Edm.Double">([\d.]+)<`)
	day := func(i int) map[string]float64 {
		of := map[string]float64{}
		for _, m := range value.FindAllStringSubmatch(feed.Entries[i].Raw, -1) {
			of[m[1]] = atof(m[2])
		}
		return of
	}
	n := len(feed.Entries)
	now, was := day(n-1), day(n-2)
	for series, other := range map[string][2]string{
		"10YEAR": {"10y", "10 year"}, "2YEAR": {"2y", "2 year"}, "30YEAR": {"30y", "30 year"}, "5YEAR": {"5y", "5 year"},
		"3MONTH": {"3m", "3 month"},
		"1MONTH": {"1m", "1 month"}, "2MONTH": {"2m", "2 month"}, "4MONTH": {"4m", "4 month"}, "3YEAR": {"3y", "3 year"},
		"1YEAR": {"1y", "1 year"}, "6MONTH": {"6m", "6 month"}, "7YEAR": {"7y", "7 year"}, "20YEAR": {"20y", "20 year"},
	} {
		base := fact{
			source: "treasury-yields", kind: "yield", key: other[0], name: other[1], symbol: "US" + strings.ToUpper(other[0]),
			other: other[1],
		}
		list = append(list, row(base, num("yieldPct", now[series], percent), num("movedBp", math.Round((now[series]-was[series])*100),
			exact))...)
	}
	base := fact{source: "treasury-yields", kind: "yield", asked: "spread", key: "2s10s", name: "2s10s", other: "2s10s"}
	list = append(list, row(base, num("spreadBp", math.Round((now["10YEAR"]-now["2YEAR"])*100), exact))...)
	base.key, base.other = "3m10y", "3m10y"
	return append(list, row(base, num("spreadBp", math.Round((now["10YEAR"]-now["3MONTH"])*100), exact))...), nil
}

func readRates(text []byte) (list []fact, err error) {
	doc, err := decoded[struct {
		RefRates []struct {
			Type        string
			PercentRate *float64
		}
	}](text)
	for _, r := range doc.RefRates {
		name := map[string]string{
			"EFFR": "effective federal funds rate", "SOFR": "secured overnight financing rate", "OBFR": "overnight bank funding rate",
			"BGCR": "broad general collateral rate", "TGCR": "tri-party general collateral rate",
		}[r.Type]
		base := fact{source: "nyfed-rates", kind: "reference_rate", key: r.Type, name: name, symbol: r.Type}
		if name != "" {
			list = append(list, row(base, optional("ratePct", r.PercentRate, percent)...)...)
		}
	}
	return list, err
}

func readFX(text []byte) (list []fact, err error) {
	doc, err := decoded[struct{ Rates map[string]map[string]float64 }](text)
	if err != nil {
		return nil, err
	}
	var days []string
	for day := range doc.Rates {
		days = append(days, day)
	}
	slices.Sort(days)
	now, was := doc.Rates[days[len(days)-1]], doc.Rates[days[len(days)-2]]
	for _, code := range slices.Sorted(maps.Keys(now)) {
		base, quote, x, y := "USD", code, now[code], was[code]
		if slices.Contains([]string{"EUR", "GBP", "AUD", "NZD"}, code) {
			base, quote, x, y = code, "USD", 1/x, 1/y
		}
		of := fact{source: "frankfurter-fx", kind: "fx", key: base + quote, name: base + "/" + quote, symbol: base + quote}
		list = append(list, row(of, num("rate", x, price), num("change1dPct", (x/y-1)*100, percent))...)
	}
	return list, nil
}

func readVIX(text []byte) ([]fact, error) {
	lines, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		return nil, err
	}
	now, was := atof(lines[len(lines)-1][4]), atof(lines[len(lines)-2][4])
	return row(fact{source: "cboe-vix", kind: "volatility", key: "VIX", name: "VIX", symbol: "VIX"},
		num("level", now, price), num("change1dPct", (now/was-1)*100, percent)), nil
}

func readIndicators(text []byte) (list []fact, err error) {
	doc, err := decoded[struct {
		Results struct {
			Series []struct {
				ID   string `json:"seriesID"`
				Data []struct{ Year, Period, Value string }
			}
		}
	}](text)
	if err != nil {
		return nil, err
	}
	of := map[string]func(back int) float64{}
	for _, s := range doc.Results.Series {
		at := map[int]float64{}
		newest := 0
		for _, d := range s.Data {
			year, _ := strconv.Atoi(d.Year)
			month, err := strconv.Atoi(strings.TrimPrefix(d.Period, "M"))
			if x, bad := strconv.ParseFloat(d.Value, 64); err == nil && bad == nil && month <= 12 {
				at[year*12+month] = x
				newest = max(newest, year*12+month)
			}
		}
		of[s.ID] = func(back int) float64 { return at[newest-back] }
	}
	year := func(id string) fact { return num("change12mPct", (of[id](0)/of[id](12)-1)*100, percent) }
	base := func(key, asked, other string) fact {
		return fact{source: "bls-indicators", kind: "indicator", key: key, name: other, other: other, asked: asked}
	}
	jobs := of["CES0000000001"]
	list = slices.Concat(
		row(base("cpi", "cpi", "inflation"), year("CUUR0000SA0")), row(base("cpi", "cpi", "CPI"), year("CUUR0000SA0")),
		row(base("core-cpi", "cpi", "core CPI"), year("CUUR0000SA0L1E")), row(base("core-cpi", "cpi", "core inflation"),
			year("CUUR0000SA0L1E")),
		row(base("ppi", "cpi", "PPI"), year("WPUFD4")), row(base("ppi", "cpi", "producer prices"), year("WPUFD4")),
		row(base("payrolls", "payrolls", ""), num("added", math.Round((jobs(0)-jobs(1))*1000), exact)),
		row(base("unemployment", "unemployment", ""), num("ratePct", of["LNS14000000"](0), percent)),
		row(base("job-openings", "openings", ""), num("openings", math.Round(of["JTS000000000000000JOL"](0)*1000), exact)),
		row(base("wages", "wages", ""), year("CES0500000003")),
	)
	return list, nil
}

// due is a release that a calendar has: its first date after the recorded moment.
func due(source, key, other string, at time.Time) []fact {
	hours := at.Sub(time.Date(2026, 11, 20, 20, 0, 0, 0, time.UTC)).Hours()
	base := fact{source: source, kind: "release", key: at.Format(time.DateOnly) + "-" + key, name: other, other: other}
	return row(base, num("dueAt", float64(at.Unix()), moment), num("hours", hours, exact))
}

func newYork(day, clock string) (time.Time, error) {
	place, err := time.LoadLocation("America/New_York")
	if err != nil {
		return time.Time{}, err
	}
	return time.ParseInLocation("2006-01-02 15:04", day+" "+clock, place)
}

func recordedNow() time.Time { return time.Date(2026, 11, 20, 20, 0, 0, 0, time.UTC) }

func readCalendarBLS(text []byte) (list []fact, err error) {
	events := regexp.MustCompile(`DTSTART(?:;TZID=[\w/-]+)?:(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)00(Z?)\r?\n(?:.*\r?\n)*?SUMMARY:([^\r\n]*)`)
	first := map[string]time.Time{}
	unfolded := strings.NewReplacer("\r\n ", "", "\n ", "").Replace(string(text))
	for _, m := range events.FindAllStringSubmatch(unfolded, -1) {
		at, err := newYork(m[1]+"-"+m[2]+"-"+m[3], m[4]+":"+m[5])
		if err != nil {
			return nil, err
		}
		if m[6] == "Z" {
			at = time.Date(at.Year(), at.Month(), at.Day(), at.Hour(), at.Minute(), 0, 0, time.UTC)
		}
		if old, known := first[m[7]]; at.After(recordedNow()) && (!known || at.Before(old)) {
			first[m[7]] = at.UTC()
		}
	}
	for title, other := range map[string][]string{
		"Employment Situation": {"jobs report", "nonfarm payrolls release"}, "Consumer Price Index": {"CPI release", "inflation report"},
		"Producer Price Index": {"PPI release"},
	} {
		for _, name := range other {
			if at, known := first[title]; known {
				list = append(list, due("bls-calendar", strings.ReplaceAll(strings.ToLower(title), " ", "-"), name, at)...)
			}
		}
	}
	return list, nil
}

func readCalendarFed(text []byte) (list []fact, err error) {
	doc, err := decoded[struct {
		Events []struct{ Title, Time, Month, Days, Type string }
	}](text)
	first := map[string]time.Time{}
	for _, e := range doc.Events {
		clock, bad := time.Parse("3:04 PM", strings.ToUpper(strings.ReplaceAll(e.Time, ".", "")))
		days := strings.FieldsFunc(e.Days, func(r rune) bool { return r < '0' || r > '9' })
		if bad != nil || len(days) == 0 {
			continue
		}
		at, bad := newYork(fmt.Sprintf("%s-%02s", e.Month, days[len(days)-1]), clock.Format("15:04"))
		if old, known := first[e.Title]; bad == nil && at.After(recordedNow()) && (!known || at.Before(old)) {
			first[e.Title] = at.UTC()
		}
	}
	for title, other := range map[string][]string{
		"FOMC Meeting": {"FOMC meeting", "fed meeting", "rate decision", "FOMC"}, "Beige Book": {"beige book"},
		"FOMC Minutes": {"FOMC minutes"},
	} {
		for _, name := range other {
			if at, known := first[title]; known {
				list = append(list, due("fed-calendar", strings.ReplaceAll(strings.ToLower(title), " ", "-"), name, at)...)
			}
		}
	}
	return list, err
}

func readCalendarBEA(text []byte) (list []fact, err error) {
	doc, err := decoded[map[string]json.RawMessage](text)
	if err != nil {
		return nil, err
	}
	for title, other := range map[string]string{"Gross Domestic Product": "GDP release", "Personal Income and Outlays": "PCE release"} {
		release, err := decoded[struct {
			Dates []time.Time `json:"release_dates"`
		}](doc[title])
		if err != nil {
			return nil, err
		}
		at := time.Time{}
		for _, d := range release.Dates {
			if d.After(recordedNow()) && (at.IsZero() || d.Before(at)) {
				at = d.UTC()
			}
		}
		if !at.IsZero() {
			list = append(list, due("bea-calendar", strings.ReplaceAll(strings.ToLower(title), " ", "-"), other, at)...)
		}
	}
	return list, err
}

func readPress(text []byte) ([]fact, error) {
	var feed struct {
		Items []struct {
			Title string `xml:"title"`
			Date  string `xml:"pubDate"`
		} `xml:"channel>item"`
	}
	if err := xml.Unmarshal(text, &feed); err != nil {
		return nil, err
	}
	newest, at := "", time.Time{}
	for _, item := range feed.Items {
		if t, err := time.Parse(time.RFC1123, strings.TrimSpace(item.Date)); err == nil && t.After(at) {
			newest, at = strings.TrimSpace(item.Title), t
		}
	}
	return []fact{{source: "fed-press", kind: "headline", key: "newest", name: newest, text: newest}}, nil
}

func readFilings(text []byte) (list []fact, err error) {
	entry := regexp.MustCompile(`<title>\S+ +- (.+) \(\d{10}\) \(Filer\)</title>(?s:.*?)accession-number=([\d-]+)`)
	of := map[string]int{}
	all := entry.FindAllStringSubmatch(string(text), -1)
	for _, m := range all {
		of[m[1]]++
	}
	for _, m := range all {
		if of[m[1]] == 1 && !strings.ContainsAny(m[1], "&,") {
			list = append(list, fact{source: "sec-filings", kind: "filing", key: m[2], name: m[1], text: m[1]})
		}
	}
	return list, nil
}

func readDebt(text []byte) ([]fact, error) {
	doc, err := decoded[struct {
		Data []struct {
			Date string `json:"record_date"`
			Debt string `json:"tot_pub_debt_out_amt"`
		}
	}](text)
	if err != nil || len(doc.Data) == 0 {
		return nil, err
	}
	base := fact{source: "fiscaldata-debt", kind: "indicator", asked: "debt", key: "us-debt", name: "US public debt"}
	return row(base, num("debtUsd", atof(doc.Data[0].Debt), whole)), nil
}
