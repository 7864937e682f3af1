package replay

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// isoMilli is how CoinGecko writes times.
const isoMilli = "2006-01-02T15:04:05.000Z"

func (s *scene) markets() any {
	volume := s.standing("volume").factor
	var rows []object
	for _, row := range list(s.doc) {
		c := obj(row)
		id := text(c["id"])
		st := s.standing(id)
		price, supplied := num(c["current_price"])*st.factor, num(c["market_cap"])*st.factor
		traded := num(c["total_volume"]) * volume * (1 + math.Abs(st.day)/20)
		name := text(c["name"])
		if e := s.m.event(HostileName, id, s.tick); e != nil {
			name = e.Text
		}
		before := price / (1 + st.day/100)
		rows = append(rows, with(c, "name", name, "current_price", significant(price), "market_cap", math.Round(supplied),
			"fully_diluted_valuation", math.Round(num(c["fully_diluted_valuation"])*st.factor), "total_volume", math.Round(traded),
			"high_24h", significant(max(price, before)*1.004), "low_24h", significant(min(price, before)*0.996),
			"price_change_24h", significant(price-before), "market_cap_change_percentage_24h", st.day,
			"price_change_percentage_24h", st.day, "price_change_percentage_24h_in_currency", st.day,
			"price_change_percentage_1h_in_currency", st.hour, "price_change_percentage_7d_in_currency", st.week,
			"last_updated", s.at.Add(-time.Duration(9+hash(id)%50)*time.Second).Format(isoMilli)))
	}
	slices.SortStableFunc(rows, func(a, b object) int { return cmp.Compare(num(b["market_cap"]), num(a["market_cap"])) })
	for i, row := range rows {
		row["market_cap_rank"] = i + 1
	}
	return rows
}

// trending are the coins that people search for.
func (s *scene) trending() any {
	var rows []any
	for _, row := range list(obj(s.doc)["coins"]) {
		item := obj(obj(row)["item"])
		st := s.standing(text(item["id"]))
		data := obj(item["data"])
		changes := object{"btc": round(st.day-s.standing("bitcoin").day, 2), "usd": st.day, "eur": st.day}
		rows = append(rows, object{"item": with(item,
			"data", with(data, "price", significant(num(data["price"])*st.factor), "price_change_percentage_24h", changes))})
	}
	slices.SortStableFunc(rows, func(a, b any) int {
		heat := func(row any) float64 {
			return math.Abs(num(obj(obj(obj(obj(row)["item"])["data"])["price_change_percentage_24h"])["usd"]))
		}
		return cmp.Compare(heat(b), heat(a))
	})
	for i, row := range rows {
		obj(obj(row)["item"])["score"] = i
	}
	return with(obj(s.doc), "coins", rows)
}

// whole is the market cap of all coins together, in parts of what it was at first, and its change of the day in percent.
func (s *scene) whole() (factor, day float64) {
	now, then, before := 0.0, 0.0, 0.0
	for _, row := range list(s.m.base.doc("coins_markets.json")) {
		cap, st := num(obj(row)["market_cap"]), s.standing(text(obj(row)["id"]))
		then += cap
		now += cap * st.factor
		before += cap * st.factor / (1 + st.day/100)
	}
	return now / then, (now/before - 1) * 100
}

func (s *scene) global() any {
	data := obj(obj(s.doc)["data"])
	factor, day := s.whole()
	volume := s.standing("volume").factor
	scaled := func(member string, by float64) object {
		all := object{}
		for unit, amount := range obj(data[member]) {
			all[unit] = round(num(amount)*by, 2)
		}
		return all
	}
	shares := object{}
	for symbol, share := range obj(data["market_cap_percentage"]) {
		id := map[string]string{"btc": "bitcoin", "eth": "ethereum", "sol": "solana", "bnb": "binancecoin", "xrp": "ripple"}[symbol]
		shares[symbol] = num(share) * s.standing(id).factor / factor
	}
	return object{"data": with(data, "total_market_cap", scaled("total_market_cap", factor), "total_volume", scaled("total_volume", volume),
		"market_cap_percentage", shares, "market_cap_change_percentage_24h_usd", round(day, 5),
		"updated_at", s.at.Add(-30*time.Second).Unix())}
}

// categories move as the largest coins in them.
func (s *scene) categories() any {
	var rows []any
	for _, row := range list(s.doc) {
		c := obj(row)
		factor, before, n := 0.0, 0.0, 0.0
		for _, id := range list(c["top_3_coins_id"]) {
			st := s.standing(text(id))
			factor, before, n = factor+st.factor, before+st.factor/(1+st.day/100), n+1
		}
		if n == 0 {
			factor, before, n = 1, 1, 1
		}
		rows = append(rows, with(c, "market_cap", math.Round(num(c["market_cap"])*factor/n),
			"market_cap_change_24h", round((factor/before-1)*100, 4),
			"volume_24h", num(c["volume_24h"])*s.standing("volume").factor, "updated_at", s.at.Add(-2*time.Minute).Format(isoMilli)))
	}
	return rows
}

// quoted are the coins that exchanges list, by their keys.
func quoted() map[string]string {
	return map[string]string{
		"XXBTZUSD": "bitcoin", "XETHZUSD": "ethereum", "SOLUSD": "solana", "XXRPZUSD": "ripple",
		"USDTZUSD": "tether", "USDCUSD": "usd-coin", "XDGUSD": "dogecoin", "ADAUSD": "cardano",
		"XZECZUSD": "zcash", "LINKUSD": "chainlink", "BNBUSD": "binancecoin",
		"BTC-USD": "bitcoin", "ETH-USD": "ethereum", "SOL-USD": "solana", "XRP-USD": "ripple", "BNB-USD": "binancecoin",
	}
}

// kraken is the ticker of one exchange: a little beside the price elsewhere, more in a disagreement.
func (s *scene) kraken() any {
	result := object{}
	for pair, row := range obj(obj(s.doc)["result"]) {
		id, p := quoted()[pair], obj(row)
		was := text(list(p["c"])[0])
		price := atof(was) * s.standing(id).factor * s.sway(pair, 0.0002) * (1 + s.m.size(Disagreement, id, s.tick))
		decimals := len(was) - strings.Index(was, ".") - 1
		write := func(x float64) string { return strconv.FormatFloat(x, 'f', decimals, 64) }
		day := 1 + s.standing(id).day/100
		high, low := write(max(price, price/day)), write(min(price, price/day))
		result[pair] = with(p, "a", []any{write(price * 1.00005), "1", "1.000"}, "b", []any{write(price * 0.99995), "2", "2.000"},
			"c", []any{write(price), text(list(p["c"])[1])}, "h", []any{high, high}, "l", []any{low, low}, "o", write(price/day))
	}
	return object{"error": []any{}, "result": result}
}

// coinbase are the statistics of a product of the other exchange.
func (s *scene) coinbase(product string) any {
	doc, st := obj(s.doc), s.standing(quoted()[product])
	last := atof(text(doc["last"])) * st.factor * s.sway(product, 0.0002)
	open := last / (1 + st.day/100)
	decimals := 2
	if last < 10 {
		decimals = 4
	}
	write := func(x float64) string { return strconv.FormatFloat(x, 'f', decimals, 64) }
	return with(doc, "last", write(last), "open", write(open),
		"high", write(max(last, open)*1.003), "low", write(min(last, open)*0.997),
		"volume", strconv.FormatFloat(atof(text(doc["volume"]))*s.standing("volume").factor, 'f', 8, 64))
}

func atof(s string) float64 {
	x, _ := strconv.ParseFloat(s, 64) // of what was recorded
	return x
}
