package main

import (
	"cmp"
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// perpsPack is the pack perps.
func perpsPack() shippedPack {
	option := regexp.MustCompile(`"(?:open_interest|underlying_price)":(\d+\.\d+)`)
	last := regexp.MustCompile(`(\d+\.\d+)\]\]`)
	return shippedPack{
		id: "perps",
		sources: []upstream{
			{id: "hyperliquid-contexts", asked: "metaAndAssetCtxs", sway: 0.03, read: readContexts, about: "sol mark price",
				moves: regexp.MustCompile(`"(?:funding|openInterest|markPx|dayNtlVlm)":"([^"]+)"`)},
			{id: "hyperliquid-fundings", asked: "predictedFundings", sway: 0.1, read: readFundings, about: "ETH funding on Binance",
				moves: regexp.MustCompile(`"fundingRate":"([^"]+)"`)},
			{id: "deribit-dvol-btc", asked: "volatility_index_data?currency=BTC", sway: 0.02, moves: last, read: readDvol("BTC",
				"Bitcoin"),
				about: "bitcoin implied volatility"},
			{id: "deribit-dvol-eth", asked: "volatility_index_data?currency=ETH", sway: 0.02, moves: last, read: readDvol("ETH",
				"Ethereum"),
				about: "ethereum implied volatility"},
			{id: "deribit-options-btc", asked: "book_summary_by_currency?currency=BTC", sway: 0.02, moves: option,
				read: readOptions("BTC", "Bitcoin"), about: "bitcoin put call ratio"},
			{id: "deribit-options-eth", asked: "book_summary_by_currency?currency=ETH", sway: 0.02, moves: option,
				read: readOptions("ETH", "Ethereum"), about: "ethereum put call ratio"},
			{id: "defillama-open-interest", asked: "overview/open-interest", sway: 0.03, read: readVenuesOI,
				about: "GMX V2 Perps open interest",
				moves: regexp.MustCompile(`"total24h":(\d+)`)},
		},
		ways: perpsWays(),
		steady: map[string][]string{
			"perp": {"funding1hPct", "openInterestUsd", "markUsd"}, "volatility": {"dvolPct"}, "options": {"putCall", "openInterestUsd"},
			"funding": {"funding8hPct"}, "venue": {"openInterestUsd"},
		},
		rows: func(facts []fact, f fact) bool {
			switch f.kind {
			case "perp":
				return f.rank <= 6
			case "funding":
				return slices.Contains([]string{"BTC", "ETH", "SOL", "XRP"}, f.symbol)
			case "venue":
				return f.key == "total" || f.rank <= 4
			}
			return true
		},
		bears: map[string]func(evidence) bool{
			"funding_extreme": func(e evidence) bool { return math.Abs(e.is("funding1hPct")) >= 0.0139 },
			"oi_jump":         func(e evidence) bool { return math.Abs(e.moved("openInterestUsd", 1)) >= 4.9 },
			"oi_shift":        func(e evidence) bool { return math.Abs(e.moved("openInterestUsd", 12)) >= 14.9 },
			"volatility_jump": func(e evidence) bool { return math.Abs(e.is("change24hPct")) >= 11.9 },
		},
		events: perpsEvents,
	}
}

func perpsWays() map[string][]ways {
	return map[string][]ways{
		"perp": {
			{"funding", "funding1hPct", []string{"S hourly funding", "S perp funding 1h", "hourly funding rate of N perp",
				"S perp funding rate"}},
			{"open interest", "openInterestUsd", []string{
				"S open interest", "N open interest", "open interest of N", "S OI", "how much open interest does N have",
				"S perp open interest",
				"what is the open interest in S",
			}},
			{"mark", "markUsd", []string{"S perp price", "N mark price", "S mark", "what does the S perp trade at", "mark price of N"}},
			{"change", "change24hPct", []string{"S perp 24h change", "N perp change 24h", "how much did S perp move today"}},
			{"volume", "volume24hUsd", []string{"S perp volume", "N perp 24h volume", "volume of S perps", "how much S perp is traded"}},
		},
		"funding": {
			{"funding", "funding8hPct", []string{"S funding on V", "N funding rate V", "V funding S", "what is S funding on V",
				"V funding rate of N"}},
			{"funding", "fundingAnnualPct", []string{"S annualised funding on V", "N annual funding rate V", "annualized funding S V"}},
		},
		"volatility": {
			{"volatility", "dvolPct", []string{
				"N implied volatility", "S IV", "S dvol", "implied volatility of N", "N volatility index", "what is S implied vol",
				"dvol S",
			}},
			{"volatility", "change24hPct", []string{"S dvol 24h change", "N implied volatility change 24h",
				"how much did S implied vol move today"}},
		},
		"options": {
			{"options", "putCall", []string{"S put call ratio", "put/call ratio of V", "V put call", "S puts to calls"}},
			{"options", "openInterestUsd", []string{"S options open interest", "V options open interest", "open interest of S options"}},
			{"options", "volume24hUsd", []string{"S options volume", "V options 24h volume"}},
		},
		"venue": {
			{"venue", "openInterestUsd", []string{"N open interest", "open interest on N", "how much open interest does N have", "N OI"}},
			{"venue", "change24hPct", []string{"N open interest change 24h", "N 24h change"}},
		},
	}
}

func perpsEvents(at func(float64) int) []happening {
	last := max(4, at(0.06))
	// Contexts stand at the places of the names, so that edits find them by what surrounds them.
	of := func(coin, member string, by float64) func(string) string {
		return func(text string) string { return editContext(text, coin, member, by) }
	}
	event := func(source string, from float64, edit func(string) string, flag string, critical bool, named string) happening {
		return happening{source, at(from), at(from) + last, edit, flag, critical, named}
	}
	list := []happening{
		event("hyperliquid-contexts", 0.05, of("ETH", "funding", 0.0006), "funding_extreme:ETH", false, "ETH"),
		event("hyperliquid-contexts", 0.15, of("SOL", "funding", -0.0021), "funding_extreme:SOL", true, "Solana"),
		event("hyperliquid-contexts", 0.25, of("BTC", "openInterest", 0), "oi_jump:BTC", false, "BTC"),
		event("hyperliquid-contexts", 0.4, of("ETH", "openInterest", 0), "oi_jump:ETH", false, "ETH"),
		event("deribit-dvol-btc", 0.3, scale(`(\d+\.\d+)\]\]`, 1.45), "volatility_jump:BTC", false, "Bitcoin"),
		event("deribit-dvol-eth", 0.5, scale(`(\d+\.\d+)\]\]`, 0.6), "volatility_jump:ETH", false, "Ethereum"),
	}
	if at(1) >= 60 {
		list = append(list, event("hyperliquid-contexts", 0.25, func(t string) string { return t }, "oi_shift:BTC", false, ""))
	}
	return list
}

// editContext sets a rate of a coin, or for 0 makes its number larger by 35 %.
func editContext(text, coin, member string, rate float64) string {
	doc, err := decoded[[2]json.RawMessage]([]byte(text))
	if err != nil {
		return text
	}
	meta, _ := decoded[struct{ Universe []struct{ Name string } }](doc[0])
	list, _ := decoded[[]map[string]any](doc[1])
	for i, c := range meta.Universe {
		if c.Name == coin && rate != 0 {
			list[i][member] = strconv.FormatFloat(rate, 'f', 7, 64)
		} else if old, is := list[i][member].(string); c.Name == coin && is {
			list[i][member] = scaled(old, 1.35)
		}
	}
	doc[1], _ = json.Marshal(list) // it was decoded
	edited, _ := json.Marshal(doc)
	return string(edited)
}

func readContexts(text []byte) (list []fact, err error) {
	doc, err := decoded[[2]json.RawMessage](text)
	if err != nil {
		return nil, err
	}
	meta, err := decoded[struct {
		Universe []struct {
			Name       string
			IsDelisted bool
		}
	}](doc[0])
	if err != nil {
		return nil, err
	}
	contexts, err := decoded[[]struct{ Funding, OpenInterest, MarkPx, PrevDayPx, DayNtlVlm string }](doc[1])
	if err != nil {
		return nil, err
	}
	var rows [][]fact
	for i, c := range contexts {
		id := meta.Universe[i].Name
		if meta.Universe[i].IsDelisted {
			continue
		}
		symbol, unit := id, 1.0
		if strings.HasPrefix(id, "k") {
			symbol, unit = id[1:], 1000
		}
		name := symbol
		if known := map[string]string{"BTC": "Bitcoin", "ETH": "Ethereum", "SOL": "Solana", "DOGE": "Dogecoin", "ADA": "Cardano",
			"LINK": "Chainlink", "AVAX": "Avalanche", "UNI": "Uniswap", "PEPE": "Pepe", "LTC": "Litecoin", "TRUMP": "Official Trump",
			"PUMP": "Pump.fun"}[symbol]; known != "" {
			name = known
		}
		mark := atof(c.MarkPx)
		base := fact{source: "hyperliquid-contexts", kind: "perp", key: id, name: name, symbol: symbol}
		rows = append(rows, row(base,
			num("openInterestUsd", atof(c.OpenInterest)*mark, whole), num("funding1hPct", atof(c.Funding)*100, percent4),
			num("markUsd", mark/unit, price), num("change24hPct", (mark/atof(c.PrevDayPx)-1)*100, percent),
			num("volume24hUsd", atof(c.DayNtlVlm), whole)))
	}
	slices.SortFunc(rows, func(a, b []fact) int { return cmp.Compare(b[0].value, a[0].value) })
	for i, r := range rows {
		for _, f := range r {
			f.rank = i + 1
			list = append(list, f)
		}
	}
	return list, nil
}

func readFundings(text []byte) (list []fact, err error) {
	coins, err := decoded[[][2]json.RawMessage](text)
	if err != nil {
		return nil, err
	}
	for _, c := range coins {
		id, err := decoded[string](c[0])
		if err != nil {
			return nil, err
		}
		venues, err := decoded[[][2]json.RawMessage](c[1])
		if err != nil {
			return nil, err
		}
		for _, v := range venues {
			code, err := decoded[string](v[0])
			if err != nil {
				return nil, err
			}
			said, err := decoded[*struct {
				FundingRate          string
				FundingIntervalHours float64
			}](v[1])
			if err != nil || said == nil || strings.HasPrefix(id, "k") {
				continue
			}
			venue := map[string]string{"BinPerp": "Binance", "BybitPerp": "Bybit", "HlPerp": "Hyperliquid"}[code]
			rate := atof(said.FundingRate) / said.FundingIntervalHours * 100
			name := map[string]string{"BTC": "Bitcoin", "ETH": "Ethereum", "SOL": "Solana", "DOGE": "Dogecoin"}[id]
			base := fact{
				source: "hyperliquid-fundings", kind: "funding", key: id + "/" + venue, name: cmp.Or(name, id), symbol: id, other: venue,
			}
			list = append(list, row(base, num("funding8hPct", rate*8, percent4), num("fundingAnnualPct", rate*8760, percent))...)
		}
	}
	return list, nil
}

func readDvol(symbol, name string) func([]byte) ([]fact, error) {
	return func(text []byte) ([]fact, error) {
		doc, err := decoded[struct{ Result struct{ Data [][5]float64 } }](text)
		if err != nil {
			return nil, err
		}
		candles := doc.Result.Data
		now := candles[len(candles)-1]
		base := fact{source: "deribit-dvol-" + strings.ToLower(symbol), kind: "volatility", key: symbol, name: name, symbol: symbol}
		list := row(base, num("dvolPct", now[4], percent))
		for _, c := range candles {
			if now[0]-c[0] == 86400e3 {
				list = append(list, row(base, num("change24hPct", (now[4]/c[4]-1)*100, percent))...)
			}
		}
		return list, nil
	}
}

func readOptions(symbol, name string) func([]byte) ([]fact, error) {
	return func(text []byte) ([]fact, error) {
		doc, err := decoded[struct {
			Result []struct {
				Name   string  `json:"instrument_name"`
				Open   float64 `json:"open_interest"`
				Coin   float64 `json:"underlying_price"`
				Volume float64 `json:"volume_usd"`
			}
		}](text)
		if err != nil {
			return nil, err
		}
		open, volume := map[string]float64{}, 0.0
		for _, o := range doc.Result {
			open[o.Name[len(o.Name)-1:]] += o.Open * o.Coin
			volume += o.Volume
		}
		base := fact{
			source: "deribit-options-" + strings.ToLower(symbol), kind: "options", key: symbol, name: name + " options", symbol: symbol,
			other: name,
		}
		return row(base, num("putCall", math.Round(100*open["P"]/open["C"])/100, price),
			num("openInterestUsd", open["P"]+open["C"], whole), num("volume24hUsd", volume, whole)), nil
	}
}

func readVenuesOI(text []byte) (list []fact, err error) {
	doc, err := decoded[struct {
		Total24h  float64
		Change    *float64 `json:"change_1d"`
		Protocols []struct {
			Slug, DisplayName string
			Total24h          float64
			Change            *float64 `json:"change_1d"`
		}
	}](text)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(doc.Protocols, func(a, b struct {
		Slug, DisplayName string
		Total24h          float64
		Change            *float64 `json:"change_1d"`
	}) int {
		return cmp.Compare(b.Total24h, a.Total24h)
	})
	base := fact{source: "defillama-open-interest", kind: "venue"}
	for i, p := range doc.Protocols {
		if base.key, base.name, base.rank = p.Slug, p.DisplayName, i+1; p.Total24h == 0 {
			continue // it is closed
		}
		list = append(list, row(base, append(optional("change24hPct", p.Change, percent), num("openInterestUsd", p.Total24h,
			whole))...)...)
	}
	base.key, base.name, base.rank = "total", "total", 99
	return append(list, row(base, num("openInterestUsd", doc.Total24h, whole))...), nil
}
