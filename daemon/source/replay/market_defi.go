package replay

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// protocols are those by the value that is locked in them.
func (s *scene) protocols() any {
	var rows []object
	for _, row := range list(s.doc) {
		p := obj(row)
		st := s.standing("tvl/" + text(p["slug"]))
		chains := object{}
		for name, tvl := range obj(p["chainTvls"]) {
			chains[name] = round(num(tvl)*st.factor, 2)
		}
		rows = append(rows, with(p, "tvl", round(num(p["tvl"])*st.factor, 2), "chainTvls", chains,
			"change_1h", st.hour, "change_1d", st.day, "change_7d", st.week))
	}
	slices.SortStableFunc(rows, func(a, b object) int { return cmp.Compare(num(b["tvl"]), num(a["tvl"])) })
	return rows
}

// chains have no changes: those come from their histories.
func (s *scene) chains() any {
	var rows []any
	for _, row := range list(s.doc) {
		c := obj(row)
		rows = append(rows, with(c, "tvl", round(num(c["tvl"])*s.standing("chain/"+text(c["name"])).factor, 2)))
	}
	return rows
}

// history is the value of a chain by day, the newest as it is now.
func (s *scene) history(chain string) any {
	points := list(s.doc)
	factor := s.standing("chain/" + chain).factor
	var rows []any
	for i, row := range points {
		back := len(points) - 1 - i
		tvl := num(obj(row)["tvl"])
		if back == 0 {
			tvl *= factor
		}
		rows = append(rows, object{"date": midnight(s.at).AddDate(0, 0, -back).Unix(), "tvl": math.Round(tvl)})
	}
	return rows
}

// stablecoins are their supplies and prices.
func (s *scene) stablecoins() any {
	var rows []any
	for _, row := range list(obj(s.doc)["peggedAssets"]) {
		c := obj(row)
		id := text(c["gecko_id"])
		supply := s.standing("supply/" + text(c["id"]))
		scaled := func(member string, by float64) object {
			all := object{}
			for peg, amount := range obj(c[member]) {
				all[peg] = round(num(amount)*by, 2)
			}
			return all
		}
		price := c["price"]
		if p, is := price.(float64); is {
			price = significant((p + s.sway("peg/"+id, 0.0002) - 1) * math.Exp(s.m.shock(id, s.tick)))
		}
		rows = append(rows, with(c, "price", price, "circulating", scaled("circulating", supply.factor),
			"circulatingPrevDay", scaled("circulating", supply.factor/(1+supply.day/100)),
			"circulatingPrevWeek", scaled("circulating", supply.factor/(1+supply.week/100))))
	}
	return with(obj(s.doc), "peggedAssets", rows)
}

// hacks are the recorded losses, moved to the Market's time, and those of events.
func (s *scene) hacks() any {
	var rows []any
	newest := 0.0
	for _, row := range list(s.doc) {
		newest = max(newest, num(obj(row)["date"]))
	}
	days := int(math.Round(float64(midnight(s.m.cfg.Start).Unix())-newest)/86400) - 12 // older than any flag
	for _, row := range list(s.doc) {
		at := time.Unix(int64(num(obj(row)["date"])), 0).AddDate(0, 0, days)
		rows = append(rows, with(obj(row), "date", at.Unix()))
	}
	for _, e := range s.m.losses(s.tick) {
		name := e.Subject
		for _, row := range list(s.m.base.doc("protocols.json")) {
			if text(obj(row)["slug"]) == e.Subject {
				name = text(obj(row)["name"])
			}
		}
		rows = append(rows, object{
			"date": midnight(s.m.at(e.From)).Unix(), "name": name,
			"classification": "Protocol Logic", "technique": "Access Control Exploit",
			"amount": e.Size, "chain": []any{"Ethereum"}, "bridgeHack": false, "targetType": "DeFi Protocol",
			"source": "https://rekt.news/" + e.Subject, "returnedFunds": nil, "defillamaId": nil, "language": "Solidity",
		})
	}
	return rows
}

// pools are those that trend. Their numbers are written as text.
func (s *scene) pools() any {
	var rows []any
	for i, row := range list(obj(s.doc)["data"]) {
		p := obj(row)
		a, st := obj(p["attributes"]), s.standing("pool/"+text(p["id"]))
		scaled := func(member string, by float64, places int) object {
			all := object{}
			for span, x := range obj(a[member]) {
				all[span] = strconv.FormatFloat(atof(text(x))*by, 'f', places, 64)
			}
			return all
		}
		changes := scaled("price_change_percentage", 1, 3)
		changes["h1"] = strconv.FormatFloat(st.hour, 'f', 3, 64)
		changes["h24"] = strconv.FormatFloat(st.day, 'f', 3, 64)
		name := a["name"]
		if e := s.m.event(HostilePool, "", s.tick); e != nil && i == 0 {
			name = e.Text
		}
		created, err := time.Parse(time.RFC3339, text(a["pool_created_at"]))
		if err == nil {
			created = created.Add(s.m.cfg.Start.Sub(s.m.base.recorded))
		}
		attributes := with(a, "name", name, "price_change_percentage", changes, "pool_created_at", created.Format(time.RFC3339),
			"base_token_price_usd", strconv.FormatFloat(atof(text(a["base_token_price_usd"]))*st.factor, 'f', 18, 64),
			"volume_usd", scaled("volume_usd", s.standing("volume").factor, 10),
			"reserve_in_usd", strconv.FormatFloat(atof(text(a["reserve_in_usd"]))*math.Sqrt(st.factor), 'f', 4, 64))
		rows = append(rows, with(p, "attributes", attributes))
	}
	return with(obj(s.doc), "data", rows)
}

// fearGreed is the index of the last days. Its numbers are written as text.
func (s *scene) fearGreed() any {
	var rows []any
	for i, d := range s.fear {
		row := object{
			"value": strconv.Itoa(int(d.value)), "value_classification": feeling(int(d.value)),
			"timestamp": strconv.FormatInt(d.day.Unix(), 10),
		}
		if i == 0 {
			row["time_until_update"] = strconv.Itoa(int(d.day.AddDate(0, 0, 1).Sub(s.at) / time.Second))
		}
		rows = append(rows, row)
	}
	return with(obj(s.doc), "data", rows)
}

func feeling(value int) string {
	switch {
	case value < 25:
		return "Extreme Fear"
	case value < 46:
		return "Fear"
	case value < 55:
		return "Neutral"
	case value < 76:
		return "Greed"
	}
	return "Extreme Greed"
}

// odds are the markets of bets, whose prices are JSON inside text.
func (s *scene) odds() any {
	var rows []any
	for _, row := range list(obj(s.doc)["events"]) {
		e := obj(row)
		c := s.standing("odds/" + text(e["id"]))
		var markets []any
		for _, market := range list(e["markets"]) {
			m := obj(market)
			var first []string
			if json.Unmarshal([]byte(text(m["outcomePrices"])), &first) != nil || len(first) != 2 {
				continue
			}
			yes := atof(first[0]) * c.factor / (1 - atof(first[0]) + atof(first[0])*c.factor)
			yes = min(max(round(yes, 3), 0.001), 0.999)
			prices := []string{strconv.FormatFloat(yes, 'g', -1, 64), strconv.FormatFloat(round(1-yes, 3), 'g', -1, 64)}
			volume := math.Round(num(m["volume24hr"]) * s.standing("volume").factor)
			markets = append(markets, with(m, "outcomePrices", `["`+strings.Join(prices, `", "`)+`"]`, "volume24hr", volume,
				"lastTradePrice", yes, "bestBid", round(yes-0.005, 3), "bestAsk", round(yes+0.005, 3)))
		}
		rows = append(rows, with(e, "markets", markets, "volume24hr", math.Round(num(e["volume24hr"])*s.standing("volume").factor)))
	}
	return with(obj(s.doc), "events", rows)
}

// fees are what a Bitcoin transaction costs.
func (s *scene) fees() any {
	fastest := max(1, math.Round(4*s.standing("fees").factor))
	if spike := s.m.size(FeeSpike, "", s.tick); spike > 0 {
		fastest = math.Round(spike)
	}
	part := func(of float64) float64 { return max(1, math.Round(fastest*of)) }
	return object{
		"fastestFee": fastest, "halfHourFee": part(0.8), "hourFee": part(0.6), "economyFee": part(0.3), "minimumFee": part(0.15),
	}
}

// gas is what a transaction on Ethereum costs.
func (s *scene) gas() any {
	fast := max(0.05, 0.8*s.standing("fees").factor*max(0.5, s.sway("gas", 0.05)))
	if spike := s.m.size(GasSpike, "", s.tick); spike > 0 {
		fast = spike
	}
	return with(obj(s.doc), "gas_price_updated_at", s.at.Add(-9*time.Second).Format(isoMilli),
		"gas_prices", object{"slow": round(fast*0.4, 3), "average": round(fast*0.55, 3), "fast": round(fast, 3)})
}
