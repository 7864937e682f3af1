package client

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/contextd/contextd/internal/human"
)

// figure is a value of a state that the archive of its source may still tell.
type figure struct {
	path, row string // of its row in the state; its id
	member    string
	of        string // the day or month that it is about, "" for the moment of the answer
	number    float64
	text      string // where it is none
	round     func(float64) float64
}

// recall is what an archive tells of a figure: a span, of one number for most, or a text.
type recall struct {
	low, high float64
	text      string
}

// reader finds a figure in the answer of an archive.
type reader func(answer []byte, f figure) (recall, error)

// question is a request to an archive.
type question struct {
	url, body string // with a body it is a POST
	figures   []figure
	read      reader
}

// archive is how the archive of a source is asked, which anybody may do without a key.
type archive struct {
	members map[string]func(float64) float64 // figures that it tells of, and how a state rounds them; nil for text
	ask     func(list []figure, at, now time.Time) []question
	dated   bool // figures are about days or months, and others cannot be asked for
}

var errNotTold = errors.New("it has nothing of that moment")

func asPrice(x float64) float64    { return *human.RoundPrice(&x) }
func asPercent(x float64) float64  { return human.Round(x, 2) }
func asPercent4(x float64) float64 { return human.Round(x, 4) }
func asWhole(x float64) float64    { return human.Round(x, 0) }

// archives are those of sources that have one, by their ids.
func archives() map[string]archive {
	type members = map[string]func(float64) float64
	list := map[string]archive{
		"kraken-ticker":     {members{"priceUsd": asPrice}, askKraken, false},
		"coinbase-exchange": {members{"priceUsd": asPrice}, askCoinbase, false},
		"coingecko-markets": {members{"priceUsd": asPrice}, askCoinGecko, false},
		"treasury-yields":   {members{"yieldPct": asPercent}, askTreasury, true},
		"nyfed-rates":       {members{"ratePct": asPercent, "average30dPct": asPercent4}, askNewYorkFed, true},
		"frankfurter-fx":    {members{"rate": asPrice}, askFrankfurter, true},
		"cboe-vix":          {members{"level": asPrice, "high": asPrice, "low": asPrice}, askVIX, true},
		"bls-indicators":    {members{"ratePct": asPercent, "hourlyUsd": asPrice, "openings": asWhole}, askBLS, true},
		"fiscaldata-debt":   {members{"debtUsd": asWhole, "heldByPublicUsd": asWhole}, askDebt, true},
		"arxiv":             {members{"name": nil}, askArXiv, false},
		"hacker-news":       {members{"name": nil, "publishedAt": nil}, askHackerNews, false},
	}
	for _, id := range []string{"ollama-releases", "vllm-releases", "transformers-releases"} {
		list[id] = archive{members{"version": nil}, askReleases, false}
	}
	for _, id := range []string{"deribit-dvol-btc", "deribit-dvol-eth"} {
		list[id] = archive{members{"dvolPct": asPercent}, askDeribit, false}
	}
	return list
}

// each asks for figures one by one, as far as key knows their rows.
func each(list []figure, key map[string]string, address func(key string) string, read reader) (asks []question) {
	for _, f := range list {
		if k, ok := key[f.row]; ok {
			asks = append(asks, question{url: address(k), figures: []figure{f}, read: read})
		}
	}
	return asks
}

// around is how far before and after the answer of a source candles count.
const around = time.Minute

// spanOf is the span of the candles that touch the time around a moment: rows with their time in units, and a low and a high.
func spanOf(rows [][]any, unit, every time.Duration, at time.Time, margin time.Duration, low, high int) (t recall, _ error) {
	t.low, t.high = math.Inf(1), math.Inf(-1)
	for _, row := range rows {
		if len(row) <= max(low, high) {
			return t, errors.New("it answers with other candles")
		}
		begins := time.Unix(0, int64(numberOf(row[0]))*int64(unit))
		if begins.Add(every).After(at.Add(-margin)) && !begins.After(at.Add(margin)) {
			t.low, t.high = min(t.low, numberOf(row[low])), max(t.high, numberOf(row[high]))
		}
	}
	if !(t.low <= t.high) { // also where one is not a number
		return t, errNotTold
	}
	return t, nil
}

// numberOf is a number of an answer, which some write as text.
func numberOf(v any) float64 {
	switch v := v.(type) {
	case float64:
		return v
	case string:
		if x, err := strconv.ParseFloat(v, 64); err == nil && !math.IsInf(x, 0) {
			return x
		}
	}
	return math.NaN()
}

// one is what an archive tells as one number.
func one(x float64) (recall, error) {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return recall{}, errNotTold
	}
	return recall{low: x, high: x}, nil
}

func askKraken(list []figure, at, now time.Time) []question {
	const kept = 700 // of 720 candles of each length
	every := time.Minute
	for _, longer := range []time.Duration{5, 15, 30, 60, 240, 1440, 10080} {
		if now.Sub(at) > kept*every {
			every = longer * time.Minute
		}
	}
	pairs := map[string]string{"bitcoin": "XBTUSD", "ethereum": "ETHUSD", "solana": "SOLUSD", "ripple": "XRPUSD", "tether": "USDTUSD",
		"usd-coin": "USDCUSD", "dogecoin": "XDGUSD", "cardano": "ADAUSD", "zcash": "ZECUSD", "chainlink": "LINKUSD",
		"binancecoin": "BNBUSD"}
	return each(list, pairs, func(pair string) string {
		return fmt.Sprintf("https://api.kraken.com/0/public/OHLC?pair=%s&interval=%d&since=%d", pair, int(every.Minutes()),
			at.Add(-around-every).Unix())
	}, func(answer []byte, _ figure) (t recall, err error) {
		var in struct {
			Error  []string
			Result map[string]json.RawMessage
		}
		if err := json.Unmarshal(answer, &in); err != nil {
			return t, err
		}
		if len(in.Error) > 0 {
			return t, errors.New(in.Error[0])
		}
		for name, raw := range in.Result {
			var rows [][]any
			if name != "last" && json.Unmarshal(raw, &rows) == nil {
				return spanOf(rows, time.Second, every, at, around, 3, 2)
			}
		}
		return t, errNotTold
	})
}

func askCoinbase(list []figure, at, _ time.Time) []question {
	products := map[string]string{"bitcoin": "BTC", "ethereum": "ETH", "solana": "SOL", "ripple": "XRP", "binancecoin": "BNB"}
	return each(list, products, func(product string) string {
		return fmt.Sprintf("https://api.exchange.coinbase.com/products/%s-USD/candles?granularity=60&start=%s&end=%s", product,
			at.Add(-around).UTC().Truncate(time.Minute).Format(time.RFC3339), at.Add(around).UTC().Format(time.RFC3339))
	}, func(answer []byte, _ figure) (recall, error) {
		var rows [][]any
		if err := json.Unmarshal(answer, &rows); err != nil {
			return recall{}, err
		}
		return spanOf(rows, time.Second, time.Minute, at, around, 1, 2)
	})
}

// askCoinGecko takes the points of ten minutes before and after: it has one each five minutes.
func askCoinGecko(list []figure, at, _ time.Time) []question {
	const margin = 10 * time.Minute
	coins := map[string]string{}
	for _, f := range list {
		coins[f.row] = url.PathEscape(f.row)
	}
	return each(list, coins, func(coin string) string {
		return fmt.Sprintf("https://api.coingecko.com/api/v3/coins/%s/market_chart/range?vs_currency=usd&from=%d&to=%d", coin,
			at.Add(-margin).Unix(), at.Add(margin).Unix())
	}, func(answer []byte, _ figure) (recall, error) {
		var in struct{ Prices [][]any }
		if err := json.Unmarshal(answer, &in); err != nil {
			return recall{}, err
		}
		return spanOf(in.Prices, time.Millisecond, 0, at, margin, 1, 1)
	})
}

func askDeribit(list []figure, at, _ time.Time) []question {
	return each(list, map[string]string{"BTC": "BTC", "ETH": "ETH"}, func(currency string) string {
		return fmt.Sprintf("https://www.deribit.com/api/v2/public/get_volatility_index_data?currency=%s&resolution=60&start_timestamp=%d"+
			"&end_timestamp=%d", currency, at.Add(-2*around).UnixMilli(), at.Add(around).UnixMilli())
	}, func(answer []byte, _ figure) (recall, error) {
		var in struct{ Result struct{ Data [][]any } }
		if err := json.Unmarshal(answer, &in); err != nil {
			return recall{}, err
		}
		return spanOf(in.Result.Data, time.Millisecond, time.Minute, at, around, 3, 2)
	})
}

// daysOf are the first and the last day that figures are about.
func daysOf(list []figure) (first, last string) {
	for _, f := range list {
		if first == "" || f.of < first {
			first = f.of
		}
		last = max(last, f.of)
	}
	return first, last
}

// dated asks for all figures at once, by the days that they are about.
func dated(list []figure, format string, read reader) []question {
	first, last := daysOf(list)
	if len(list) == 0 {
		return nil
	}
	return []question{{url: fmt.Sprintf(format, first, last), figures: list, read: read}}
}

func askTreasury(list []figure, _, _ time.Time) (asks []question) {
	years := map[string][]figure{}
	for _, f := range list {
		years[f.of[:4]] = append(years[f.of[:4]], f)
	}
	for _, year := range slices.Sorted(maps.Keys(years)) {
		asks = append(asks, question{url: "https://home.treasury.gov/resource-center/data-chart-center/interest-rates/pages/xml" +
			"?data=daily_treasury_yield_curve&field_tdr_date_value=" + year, figures: years[year], read: readTreasury})
	}
	return asks
}

func readTreasury(answer []byte, f figure) (recall, error) {
	var feed struct {
		Days []struct {
			Values []struct {
				XMLName xml.Name
				Text    string `xml:",chardata"`
			} `xml:",any"`
		} `xml:"entry>content>properties"`
	}
	if err := xml.Unmarshal(answer, &feed); err != nil {
		return recall{}, err
	}
	unit := map[byte]string{'m': "MONTH", 'y': "YEAR"}[f.row[len(f.row)-1]]
	name := "BC_" + f.row[:len(f.row)-1] + unit
	for _, day := range feed.Days {
		values := map[string]string{}
		for _, v := range day.Values {
			values[v.XMLName.Local] = strings.TrimSpace(v.Text)
		}
		if strings.HasPrefix(values["NEW_DATE"], f.of) {
			return one(numberOf(values[name]))
		}
	}
	return recall{}, errNotTold
}

func askNewYorkFed(list []figure, _, _ time.Time) []question {
	const address = "https://markets.newyorkfed.org/api/rates/all/search.json?startDate=%s&endDate=%s"
	return dated(list, address, func(answer []byte, f figure) (recall, error) {
		var in struct {
			RefRates []struct {
				EffectiveDate, Type       string
				PercentRate, Average30day any
			}
		}
		if err := json.Unmarshal(answer, &in); err != nil {
			return recall{}, err
		}
		for _, r := range in.RefRates {
			switch {
			case r.EffectiveDate != f.of || r.Type != f.row:
			case f.member == "ratePct":
				return one(numberOf(r.PercentRate))
			default:
				return one(numberOf(r.Average30day))
			}
		}
		return recall{}, errNotTold
	})
}

func askFrankfurter(list []figure, _, _ time.Time) []question {
	return dated(list, "https://api.frankfurter.dev/v1/%s..%s?base=USD", func(answer []byte, f figure) (recall, error) {
		var in struct{ Rates map[string]map[string]any }
		if err := json.Unmarshal(answer, &in); err != nil {
			return recall{}, err
		}
		if code, ok := strings.CutSuffix(f.row, "USD"); ok {
			return one(1 / numberOf(in.Rates[f.of][code]))
		}
		return one(numberOf(in.Rates[f.of][strings.TrimPrefix(f.row, "USD")]))
	})
}

func askVIX(list []figure, _, _ time.Time) []question {
	const address = "https://cdn.cboe.com/api/global/us_indices/daily_prices/VIX_History.csv"
	return []question{{url: address, figures: list, read: func(answer []byte, f figure) (recall, error) {
		rows, err := csv.NewReader(bytes.NewReader(answer)).ReadAll()
		if err != nil {
			return recall{}, err
		}
		day, err := time.Parse(time.DateOnly, f.of)
		if err != nil || len(rows) == 0 {
			return recall{}, errNotTold
		}
		column := slices.Index(rows[0], map[string]string{"level": "CLOSE", "high": "HIGH", "low": "LOW"}[f.member])
		for _, row := range rows {
			if row[0] == day.Format("01/02/2006") && column > 0 {
				return one(numberOf(row[column]))
			}
		}
		return recall{}, errNotTold
	}}}
}

func askBLS(list []figure, _, _ time.Time) []question {
	series := map[string]string{"ratePct": "LNS14000000", "hourlyUsd": "CES0500000003", "openings": "JTS000000000000000JOL"}
	const body = `{"seriesid":["LNS14000000","CES0500000003","JTS000000000000000JOL"]}`
	const address = "https://api.bls.gov/publicAPI/v1/timeseries/data/"
	return []question{{url: address, body: body, figures: list, read: func(answer []byte, f figure) (recall, error) {
		var in struct {
			Results struct {
				Series []struct {
					SeriesID string
					Data     []struct{ Year, Period, Value string }
				}
			}
		}
		if err := json.Unmarshal(answer, &in); err != nil {
			return recall{}, err
		}
		for _, s := range in.Results.Series {
			for _, d := range s.Data {
				if s.SeriesID == series[f.member] && d.Year+"-"+strings.TrimPrefix(d.Period, "M") == f.of {
					x := numberOf(d.Value)
					if f.member == "openings" { // in thousands
						x *= 1000
					}
					return one(x)
				}
			}
		}
		return recall{}, errNotTold
	}}}
}

func askDebt(list []figure, _, _ time.Time) []question {
	const address = "https://api.fiscaldata.treasury.gov/services/api/fiscal_service/v2/accounting/od/debt_to_penny" +
		"?filter=record_date:gte:%s,record_date:lte:%s"
	return dated(list, address, func(answer []byte, f figure) (recall, error) {
		var in struct{ Data []map[string]any }
		if err := json.Unmarshal(answer, &in); err != nil {
			return recall{}, err
		}
		name := map[string]string{"debtUsd": "tot_pub_debt_out_amt", "heldByPublicUsd": "debt_held_public_amt"}[f.member]
		for _, day := range in.Data {
			if day["record_date"] == f.of {
				return one(numberOf(day[name]))
			}
		}
		return recall{}, errNotTold
	})
}

func askArXiv(list []figure, _, _ time.Time) []question {
	var ids []string
	for _, f := range list {
		ids = append(ids, url.QueryEscape(f.row))
	}
	address := "https://export.arxiv.org/api/query?max_results=100&id_list=" + strings.Join(ids, ",")
	return []question{{url: address, figures: list, read: func(answer []byte, f figure) (recall, error) {
		var feed struct {
			Entries []struct {
				ID    string `xml:"id"`
				Title string `xml:"title"`
			} `xml:"entry"`
		}
		if err := xml.Unmarshal(answer, &feed); err != nil {
			return recall{}, err
		}
		for _, e := range feed.Entries {
			if id := e.ID[strings.LastIndex(e.ID, "/")+1:]; id == f.row || strings.HasPrefix(id, f.row+"v") {
				return recall{text: e.Title}, nil
			}
		}
		return recall{}, errNotTold
	}}}
}

func askHackerNews(list []figure, _, _ time.Time) (asks []question) {
	for _, f := range list {
		address := "https://hn.algolia.com/api/v1/items/" + url.PathEscape(f.row)
		if i := slices.IndexFunc(asks, func(q question) bool { return q.url == address }); i >= 0 {
			asks[i].figures = append(asks[i].figures, f)
			continue
		}
		asks = append(asks, question{url: address, figures: []figure{f}, read: func(answer []byte, f figure) (recall, error) {
			var in struct {
				Title     string
				CreatedAt int64 `json:"created_at_i"`
			}
			if err := json.Unmarshal(answer, &in); err != nil || in.Title == "" {
				return recall{}, errors.Join(errNotTold, err)
			}
			if f.member == "publishedAt" {
				return recall{text: time.Unix(in.CreatedAt, 0).UTC().Format(time.RFC3339)}, nil
			}
			return recall{text: in.Title}, nil
		}})
	}
	return asks
}

// releaseOf is the id of a release as states have it, with the tag behind the project.
var releaseOf = regexp.MustCompile(`^([a-z]+)/([0-9A-Za-z._-]+)$`)

func askReleases(list []figure, _, _ time.Time) (asks []question) {
	owners := map[string]string{"ollama": "ollama/ollama", "vllm": "vllm-project/vllm", "transformers": "huggingface/transformers"}
	for _, f := range list {
		of := releaseOf.FindStringSubmatch(f.row)
		if of == nil || owners[of[1]] == "" {
			continue
		}
		address := "https://api.github.com/repos/" + owners[of[1]] + "/releases/tags/" + of[2]
		asks = append(asks, question{url: address, figures: []figure{f}, read: func(answer []byte, _ figure) (recall, error) {
			var in struct {
				Tag string `json:"tag_name"`
			}
			err := json.Unmarshal(answer, &in)
			return recall{text: in.Tag}, err
		}})
	}
	return asks
}
