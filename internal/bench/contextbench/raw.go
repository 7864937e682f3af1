package main

import (
	"cmp"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"html"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// fact is something that the raw payload of a source says.
type fact struct {
	source       string
	kind, key    string // of the row that holds it
	name, symbol string
	field        string
	value        float64
	text         string // in place of value
	slack        slack
	rank         int // of the thing among its kind, the largest is 1

	other string // what else questions call it
	asked string // the ways in which it is asked for, where they are not those of its kind
}

// slack is by how much an answer may differ, as the contract rounds: prices to six digits, percents to two decimals, amounts to whole ones.
type slack int

const (
	exact slack = iota
	price
	percent
	percent4
	whole
	moment // seconds since 1970
)

// near reports whether x is f's value as the contract rounds it.
func (f fact) near(x float64) bool {
	off := math.Abs(x - f.value)
	switch f.slack {
	case price:
		return off <= 5.01e-6*math.Abs(f.value)
	case percent:
		return off <= 0.00501
	case percent4:
		return off <= 0.0000501
	case whole:
		return off <= 0.501
	}
	return off < 1e-9
}

// payload is what upstream says on a page at a tick, by a part of its address.
func (w *world) payload(tick int, part string) ([]byte, error) {
	for _, page := range w.market.Pages() {
		if strings.Contains(page, part) {
			return w.market.Payload(tick, page)
		}
	}
	return nil, fmt.Errorf("no page with %s", part)
}

// decode decodes the payload of a page.
func (w *world) decode(tick int, part string, v any) error {
	text, err := w.payload(tick, part)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, v)
}

// raw is what all upstreams say at a tick.
type raw struct {
	coins     []coin
	protocols []protocol
	chains    []chain
	stables   []stable
	pools     []pool
	stories   []story
	categories,
	global,
	odds,
	coinbase,
	rest []fact
	hacks []hack
}

type coin struct {
	ID, Symbol, Name string
	Price            float64  `json:"current_price"`
	Cap              float64  `json:"market_cap"`
	Volume           float64  `json:"total_volume"`
	Rank             float64  `json:"market_cap_rank"`
	Hour             *float64 `json:"price_change_percentage_1h_in_currency"`
	Day              *float64 `json:"price_change_percentage_24h_in_currency"`
	Week             *float64 `json:"price_change_percentage_7d_in_currency"`
}

type protocol struct {
	Slug, Name, Category string
	TVL                  float64
	Day                  *float64 `json:"change_1d"`
	Week                 *float64 `json:"change_7d"`
}

type chain struct {
	Name string
	TVL  float64
}

type stable struct {
	ID           string `json:"gecko_id"`
	Name, Symbol string
	PegType      string
	Price        *float64
	Circulating  map[string]float64
}

type pool struct {
	ID         string
	Attributes struct {
		Name    string
		Price   string                        `json:"base_token_price_usd"`
		Volume  struct{ H24 string }          `json:"volume_usd"`
		Reserve string                        `json:"reserve_in_usd"`
		Changes struct{ H1, H24 json.Number } `json:"price_change_percentage"`

		Transactions struct{ H24 struct{ Buys, Sells float64 } }
	}
}

type hack struct {
	Name   string
	Date   int64
	Amount *float64
}

// story is an item of a feed.
type story struct {
	source, title, link string
	at                  time.Time
}

// read decodes what all upstreams say at a tick, once.
func (w *world) read(tick int) (*raw, error) {
	if r := w.raws[tick]; r != nil {
		return r, nil
	}
	r := &raw{}
	w.raws[tick] = r
	var pegged struct{ PeggedAssets []stable }
	var trending struct{ Data []pool }
	for _, page := range []struct {
		part string
		into any
	}{
		{"coins/markets", &r.coins}, {"llama.fi/protocols", &r.protocols}, {"v2/chains", &r.chains}, {"stablecoins.llama.fi", &pegged},
		{"trending_pools", &trending}, {"llama.fi/hacks", &r.hacks},
	} {
		if err := w.decode(tick, page.part, page.into); err != nil {
			return nil, fmt.Errorf("read %s: %w", page.part, err)
		}
	}
	r.stables, r.pools = pegged.PeggedAssets, trending.Data
	slices.SortFunc(r.stables, func(a, b stable) int { return cmp.Compare(b.Circulating[b.PegType], a.Circulating[a.PegType]) })
	slices.SortFunc(r.chains, func(a, b chain) int { return cmp.Compare(b.TVL, a.TVL) })
	for _, add := range []func(*world, int) error{
		r.readMarket, r.readCategories, r.readFees, r.readGas, r.readOdds, r.readVenues, r.readNews,
	} {
		if err := add(w, tick); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func (r *raw) readMarket(w *world, tick int) error {
	var g struct {
		Data struct {
			Cap    map[string]float64 `json:"total_market_cap"`
			Volume map[string]float64 `json:"total_volume"`
			Share  map[string]float64 `json:"market_cap_percentage"`
			Change float64            `json:"market_cap_change_percentage_24h_usd"`
		}
	}
	var f struct {
		Data []struct {
			Value string
			Label string `json:"value_classification"`
		}
	}
	if err := w.decode(tick, "/global", &g); err != nil {
		return err
	}
	if err := w.decode(tick, "alternative.me", &f); err != nil {
		return err
	}
	base := fact{source: "coingecko-global", kind: "market", key: "crypto", name: "crypto market"}
	for _, x := range []fact{
		{field: "marketCapUsd", value: g.Data.Cap["usd"], slack: whole}, {field: "volume24hUsd", value: g.Data.Volume["usd"],
			slack: whole},
		{field: "btcDominancePct", value: g.Data.Share["btc"], slack: percent},
		{field: "ethDominancePct", value: g.Data.Share["eth"], slack: percent},
		{field: "change24hPct", value: g.Data.Change, slack: percent},
	} {
		r.global = append(r.global, base.of(x.field, x.value, x.slack))
	}
	base = fact{source: "alternativeme-fng", kind: "index", key: "fear-greed", name: "fear and greed"}
	for i, field := range map[int]string{0: "value", 1: "previousDay", 7: "weekAgo"} {
		value, err := strconv.ParseFloat(f.Data[i].Value, 64)
		if err != nil {
			return err
		}
		r.rest = append(r.rest, base.of(field, value, exact))
	}
	slices.SortFunc(r.rest, func(a, b fact) int { return strings.Compare(a.field, b.field) })
	return nil
}

// of is f about a field.
func (f fact) of(field string, value float64, s slack) fact {
	f.field, f.value, f.slack = field, value, s
	return f
}

func (r *raw) readCategories(w *world, tick int) error {
	var rows []struct {
		ID, Name string
		Cap      float64  `json:"market_cap"`
		Change   *float64 `json:"market_cap_change_24h"`
	}
	if err := w.decode(tick, "coins/categories", &rows); err != nil {
		return err
	}
	for i, c := range rows {
		base := fact{source: "coingecko-categories", kind: "category", key: c.ID, name: c.Name, rank: i + 1}
		if c.Cap > 0 && c.Change != nil {
			r.categories = append(r.categories, base.of("marketCapUsd", c.Cap, whole), base.of("change24hPct", *c.Change, percent))
		}
	}
	return nil
}

func (r *raw) readFees(w *world, tick int) error {
	var f struct{ FastestFee, HalfHourFee, HourFee, EconomyFee, MinimumFee float64 }
	if err := w.decode(tick, "mempool.space", &f); err != nil {
		return err
	}
	base := fact{source: "mempool-fees", kind: "fee", key: "bitcoin", name: "Bitcoin"}
	r.rest = append(r.rest, base.of("fastestSatVb", f.FastestFee, exact), base.of("hourSatVb", f.HourFee, exact),
		base.of("economySatVb", f.EconomyFee, exact))
	return nil
}

func (r *raw) readGas(w *world, tick int) error {
	var g struct {
		Prices struct{ Slow, Average, Fast float64 } `json:"gas_prices"`
	}
	if err := w.decode(tick, "blockscout", &g); err != nil {
		return err
	}
	base := fact{source: "blockscout-gas", kind: "fee", key: "ethereum", name: "Ethereum"}
	r.rest = append(r.rest, base.of("averageGwei", g.Prices.Average, exact), base.of("fastGwei", g.Prices.Fast, exact))
	return nil
}

func (r *raw) readOdds(w *world, tick int) error {
	var page struct {
		Events []struct {
			Markets []struct {
				ID, Question, OutcomePrices string
				Volume                      float64 `json:"volume24hr"`
			}
		}
	}
	if err := w.decode(tick, "polymarket", &page); err != nil {
		return err
	}
	for _, e := range page.Events {
		for _, m := range e.Markets {
			var prices []string
			if err := json.Unmarshal([]byte(m.OutcomePrices), &prices); err != nil {
				return err
			}
			yes, err := strconv.ParseFloat(prices[0], 64)
			if err != nil {
				return err
			}
			base := fact{source: "polymarket-crypto", kind: "prediction", key: m.ID, name: m.Question}
			r.odds = append(r.odds, base.of("probabilityPct", yes*100, percent))
		}
	}
	return nil
}

func (r *raw) readVenues(w *world, tick int) error {
	var k struct {
		Result map[string]struct{ C []string }
	}
	if err := w.decode(tick, "kraken", &k); err != nil {
		return err
	}
	for pair, id := range map[string]string{"XXBTZUSD": "bitcoin", "XETHZUSD": "ethereum", "SOLUSD": "solana"} {
		value, err := strconv.ParseFloat(k.Result[pair].C[0], 64)
		if err != nil {
			return err
		}
		r.rest = append(r.rest, fact{source: "kraken-ticker", kind: "venue", key: "kraken/" + id, name: id}.of("priceUsd", value, price))
	}
	slices.SortStableFunc(r.rest, func(a, b fact) int { return strings.Compare(a.key, b.key) })
	for symbol, id := range map[string]string{
		"BTC": "bitcoin", "ETH": "ethereum", "SOL": "solana", "XRP": "ripple", "BNB": "binancecoin",
	} {
		var c struct{ Last string }
		if err := w.decode(tick, "products/"+symbol+"-USD/stats", &c); err != nil {
			return err
		}
		base := fact{source: "coinbase-exchange", kind: "venue", key: "coinbase/" + id, name: id}
		r.coinbase = append(r.coinbase, base.of("priceUsd", atof(c.Last), price))
	}
	return nil
}

// markup is what a headline may have between its words.
var markup = regexp.MustCompile(`</?[a-zA-Z][^<>]*>`)

func (r *raw) readNews(w *world, tick int) error {
	for source, part := range map[string]string{
		"news-coindesk": "coindesk.com", "news-cointelegraph": "cointelegraph.com", "news-decrypt": "decrypt.co",
	} {
		text, err := w.payload(tick, part)
		if err != nil {
			return err
		}
		var feed struct {
			Items []struct {
				Title string `xml:"title"`
				Link  string `xml:"link"`
				Date  string `xml:"pubDate"`
			} `xml:"channel>item"`
		}
		if err := xml.Unmarshal(text, &feed); err != nil {
			return fmt.Errorf("read %s: %w", part, err)
		}
		for _, item := range feed.Items {
			at, err := time.Parse(time.RFC1123Z, item.Date)
			if err != nil {
				return err
			}
			link, err := url.Parse(item.Link)
			if err != nil {
				return err
			}
			link.RawQuery = "" // of tracking alone
			title := html.UnescapeString(markup.ReplaceAllString(item.Title, ""))
			r.stories = append(r.stories, story{source, title, link.String(), at})
		}
	}
	slices.SortFunc(r.stories, func(a, b story) int { return cmp.Or(b.at.Compare(a.at), strings.Compare(a.link, b.link)) })
	return nil
}

// excluded names the categories of protocols that the service leaves out by its documentation: their value is counted elsewhere.
func (p protocol) excluded() bool {
	return slices.Contains([]string{"CEX", "Chain", "Bridge", "Canonical Bridge", "Risk Curators", "Staking Pool"}, p.Category)
}

func (c coin) fact(rank int) fact {
	return fact{source: "coingecko-markets", kind: "asset", key: c.ID, name: c.Name, symbol: strings.ToUpper(c.Symbol), rank: rank}
}

func (p protocol) fact(rank int) fact {
	return fact{source: "defillama-protocols", kind: "protocol", key: p.Slug, name: p.Name, rank: rank}
}

func (c chain) fact(rank int) fact {
	return fact{source: "defillama-chains", kind: "chain", key: c.Name, name: c.Name, rank: rank}
}

func (s stable) fact(rank int) fact {
	return fact{source: "defillama-stablecoins", kind: "stablecoin", key: s.ID, name: s.Name, symbol: s.Symbol, rank: rank}
}

func atof(text string) float64 {
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return math.NaN()
	}
	return x
}
