package replay

import (
	"math"
	"strconv"
	"time"
)

// shown writes a number as upstream does in texts, with at most eight digits.
func shown(x float64) string { return strconv.FormatFloat(significant(x), 'f', -1, 64) }

// spared is the coin whose longs an incident catches.
func (v *outlook) spared() string { return [...]string{"SOL", "DOGE", "ZEC", "XRP"}[v.number%4] }

// rate is what an hour's funding of a coin has become.
func (v *outlook) rate(coin, recorded string) float64 {
	rate := atof(recorded)*(1+v.drift("funding/"+coin, 0.5, v.at)) + v.drift("funding/"+coin, 2e-6, v.at)
	if coin == v.spared() {
		rate += 0.0013 * v.trouble
	}
	return rate
}

// contexts are the perpetual futures of one venue, told at the places of their names.
func (v *outlook) contexts(doc any) any {
	pair := list(doc)
	names := list(obj(pair[0])["universe"])
	var rows []any
	for i, row := range list(pair[1]) {
		c, name := obj(row), text(obj(names[i])["name"])
		symbol := name
		if len(name) > 1 && name[0] == 'k' {
			symbol = name[1:]
		}
		factor, day := v.coin(symbol)
		held := v.factor("held/"+name, 0.08)
		if name == v.spared() {
			held *= 1 + 0.25*v.trouble
		}
		mark := atof(text(c["markPx"])) * factor
		moved := with(c, "markPx", shown(mark), "oraclePx", shown(mark), "prevDayPx", shown(mark/(1+day/100)),
			"openInterest", shown(atof(text(c["openInterest"]))*held), "funding", shown(v.rate(name, text(c["funding"]))),
			"dayNtlVlm", shown(atof(text(c["dayNtlVlm"]))*v.factor("traded/"+name, 0.15)))
		if premium := text(c["premium"]); premium != "" {
			moved["premium"] = shown(atof(premium) * (1 + v.drift("premium/"+name, 0.5, v.at)))
		}
		if c["midPx"] != nil {
			moved["midPx"] = shown(mark)
		}
		rows = append(rows, moved)
	}
	return []any{pair[0], rows}
}

// fundings are what venues charge next, by coin.
func (v *outlook) fundings(doc any) any {
	var coins []any
	for _, row := range list(doc) {
		coin := list(row)
		name := text(coin[0])
		var venues []any
		for _, pair := range list(coin[1]) {
			venue, said := list(pair)[0], obj(list(pair)[1])
			if said == nil {
				venues = append(venues, pair)
				continue
			}
			hours := max(1, num(said["fundingIntervalHours"]))
			every := time.Duration(hours) * time.Hour
			own := 1 + v.drift("funding/"+name+text(venue), 0.1, v.at)
			rate := (v.rate(name, text(said["fundingRate"])) + v.rate(name, "0")*(hours-1)) * own
			venues = append(venues, []any{venue, with(said, "fundingRate", shown(rate),
				"nextFundingTime", v.up.Truncate(every).Add(every).UnixMilli())})
		}
		coins = append(coins, []any{name, venues})
	}
	return coins
}

// volatility is the implied volatility of a coin, a candle an hour.
func (v *outlook) volatility(doc any, coin string) any {
	candles := list(obj(obj(doc)["result"])["data"])
	base := num(list(candles[len(candles)-1])[4])
	value := func(at time.Time) float64 {
		x := base * math.Exp(v.drift("volatility", 0.06, at)+v.drift("volatility/"+coin, 0.02, at))
		if at.Equal(v.up) {
			x *= 1 + 0.22*v.trouble
		}
		return round(x, 2)
	}
	hour := v.up.Truncate(time.Hour)
	var rows []any
	for back := 26; back >= 0; back-- {
		from := hour.Add(-time.Duration(back) * time.Hour)
		to := from.Add(time.Hour)
		if to.After(v.up) {
			to = v.up
		}
		open, last := value(from), value(to)
		rows = append(rows, []any{from.UnixMilli(), open, round(max(open, last)*1.004, 2), round(min(open, last)*0.996, 2), last})
	}
	return with(obj(doc), "result", with(obj(obj(doc)["result"]), "data", rows))
}

func (v *outlook) options(doc any, coin string) any {
	factor, _ := v.coin(coin)
	traded := v.factor("options/"+coin, 0.1)
	var rows []any
	for _, row := range list(obj(doc)["result"]) {
		c := obj(row)
		name := text(c["instrument_name"])
		moved := with(c, "underlying_price", round(num(c["underlying_price"])*factor, 2),
			"open_interest", round(num(c["open_interest"])*v.factor(name, 0.03), 1))
		if x := num(c["volume_usd"]); x > 0 {
			moved["volume_usd"] = round(x*traded, 2)
		}
		rows = append(rows, moved)
	}
	return with(obj(doc), "result", rows)
}

func (v *outlook) openInterest(doc any) any {
	total, before := 0.0, 0.0
	var rows []any
	for _, row := range list(obj(doc)["protocols"]) {
		p := obj(row)
		name := "venue/" + text(p["slug"])
		size := 0.05
		held := num(p["total24h"]) * v.factor(name, size)
		day := math.Exp(v.drift(name, size, v.at)-v.drift(name, size, v.at.Add(-24*time.Hour))) - 1
		week := math.Exp(v.drift(name, size, v.at)-v.drift(name, size, v.at.Add(-7*24*time.Hour))) - 1
		total, before = total+held, before+held/(1+day)
		rows = append(rows, with(p, "total24h", math.Round(held), "change_1d", round(day*100, 2), "change_7d", round(week*100, 2)))
	}
	was := num(obj(doc)["total24h"])
	sum := 0.0
	for _, row := range list(obj(doc)["protocols"]) {
		sum += num(obj(row)["total24h"])
	}
	return with(obj(doc), "protocols", rows, "total24h", math.Round(was*total/sum), "change_1d", round((total/before-1)*100, 2))
}

// models are those of a router, one of which changes its prices every eight hours.
func (v *outlook) models(doc any) any {
	rows := append([]any(nil), list(obj(doc)["data"])...)
	const every = 8 * time.Hour
	for n := range int(v.up.Sub(v.zero)/every) + 1 {
		chance := hash("price" + strconv.Itoa(n))
		i, by := int(chance%uint64(len(rows))), [...]float64{0.8, 0.9, 1.25}[chance/1000%3]
		pricing := obj(obj(rows[i])["pricing"])
		rows[i] = with(obj(rows[i]), "pricing", with(pricing, "prompt", shown(atof(text(pricing["prompt"]))*by),
			"completion", shown(atof(text(pricing["completion"]))*by)))
	}
	return with(obj(doc), "data", rows)
}

// grown is what a count that only grows has become in a while, nearly all of it in the first of them.
func grown(count any, age, whole time.Duration) float64 {
	return math.Round(num(count) * (0.15 + 0.85*(1-math.Exp(-age.Hours()/whole.Hours()))))
}

// trendingModels are liked and loaded by more people all the time.
func (v *outlook) trendingModels(doc any) any {
	days := v.up.Sub(v.zero).Hours() / 24
	var rows []any
	for _, row := range list(doc) {
		m := obj(row)
		pace := 1 + days*0.02*(0.5+chance(text(m["id"])))
		rows = append(rows, with(m, "likes", math.Round(num(m["likes"])*pace), "downloads", math.Round(num(m["downloads"])*pace),
			"trendingScore", math.Round(num(m["trendingScore"])*v.factor("trend/"+text(m["id"]), 0.1))))
	}
	return rows
}

// papers gather votes through the day.
func (v *outlook) papers(doc any) any {
	var rows []any
	for _, row := range list(doc) {
		p := obj(row)
		rows = append(rows, with(p, "paper", with(obj(p["paper"]), "upvotes",
			grown(obj(p["paper"])["upvotes"], v.up.Sub(v.zero)+9*time.Hour, 20*time.Hour))))
	}
	return rows
}

// stories come and gather points.
func (v *outlook) stories(doc any) any {
	hits := list(obj(doc)["hits"])
	ages := v.ages(len(hits), 47*time.Minute)
	var rows []any
	for _, i := range byAge(ages) {
		h, at := obj(hits[i]), v.up.Add(-ages[i])
		rows = append(rows, with(h, "points", max(21, grown(h["points"], ages[i], 3*time.Hour)),
			"num_comments", grown(h["num_comments"], ages[i], 4*time.Hour),
			"created_at", at.Format(time.RFC3339), "created_at_i", at.Unix()))
	}
	return with(obj(doc), "hits", rows)
}
