package client_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/contextd/contextd/client"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/sdk/api"
)

// recorded are archives of sources behind a local server: what each answers, by the begin of its address.
type recorded struct {
	*httptest.Server
	mu      sync.Mutex
	answers map[string]string // an answer of three digits is a status
	asked   []string
}

func newRecorded(t *testing.T, answers map[string]string) *recorded {
	t.Helper()
	r := &recorded{answers: answers}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.mu.Lock()
		defer r.mu.Unlock()
		body, _ := io.ReadAll(req.Body)
		address := req.Host + req.URL.RequestURI() + string(body)
		r.asked = append(r.asked, req.Method+" "+address)
		for begin, answer := range r.answers {
			var status int
			switch {
			case !strings.HasPrefix(address, begin):
			case len(answer) == 3:
				fmt.Sscan(answer, &status)
				w.WriteHeader(status)
				return
			default:
				io.WriteString(w, answer)
				return
			}
		}
		w.WriteHeader(http.StatusNotFound)
	}))
	t.Cleanup(r.Close)
	return r
}

// RoundTrip sends to the local server what is for an archive, of which it keeps the name.
func (r *recorded) RoundTrip(req *http.Request) (*http.Response, error) {
	local, err := url.Parse(r.URL)
	if err != nil {
		return nil, err
	}
	if req.URL.Scheme != "https" || req.Header.Get("Authorization") != "" || !strings.HasPrefix(req.UserAgent(), "ctx/") {
		return nil, fmt.Errorf("it is asked at %s with %v", req.URL, req.Header)
	}
	again := req.Clone(req.Context())
	again.Host, again.URL.Scheme, again.URL.Host = req.URL.Host, "http", local.Host
	return http.DefaultTransport.RoundTrip(again)
}

// recheckedState is of sources that have an archive, of one that has none, and of one that is not in the leaf.
const recheckedState = `{"source_status":[{"ref":1,"id":"kraken-ticker"},{"ref":2,"id":"coinbase-exchange"},{"ref":3,"id":"treasury-yields"},` +
	`{"ref":4,"id":"nyfed-rates"},{"ref":5,"id":"frankfurter-fx"},{"ref":6,"id":"cboe-vix"},{"ref":7,"id":"bls-indicators"},` +
	`{"ref":8,"id":"fiscaldata-debt"},{"ref":9,"id":"hacker-news"},{"ref":10,"id":"ollama-releases"},{"ref":11,"id":"arxiv"},` +
	`{"ref":12,"id":"deribit-dvol-btc"},{"ref":13,"id":"coingecko-markets"},{"ref":14,"id":"openai-status"}],` +
	`"top_movers":[{"id":"bitcoin","priceUsd":92617.1,"venues":[{"priceUsd":92591.3,"ref":1},{"priceUsd":92603.4,"ref":2}],"ref":13}],` +
	`"yields":[{"id":"2y","yieldPct":3.98,"of":"2026-11-19","ref":3},{"id":"3m","yieldPct":4.1,"of":"2026-11-19","ref":3},` +
	`{"id":"2s10s","spreadBp":20,"of":"2026-11-19","ref":3}],` +
	`"rates":[{"id":"SOFR","ratePct":4.11,"of":"2026-11-19","ref":4},{"id":"SOFRAI","average30dPct":4.0935,"of":"2026-11-18","ref":4}],` +
	`"fx":[{"id":"EURUSD","rate":1.1597,"of":"2026-11-19","ref":5},{"id":"USDJPY","rate":152.26,"of":"2026-11-19","ref":5}],` +
	`"volatility":[{"id":"VIX","level":19.15,"high":19.37,"low":18.96,"of":"2026-11-19","ref":6},{"id":"BTC","dvolPct":54.06,"ref":12}],` +
	`"indicators":[{"id":"unemployment","ratePct":4.4,"of":"2026-10","ref":7},{"id":"wages","hourlyUsd":37.94,"of":"2026-10","ref":7},` +
	`{"id":"job-openings","openings":7105000,"of":"2026-09","ref":7},{"id":"cpi","ratePct":1,"of":"a&b","ref":7}],` +
	`"debt":[{"id":"us-debt","debtUsd":40318274651203,"heldByPublicUsd":32696038939326,"of":"2026-11-18","ref":8}],` +
	`"stories":[{"id":"991","name":"A story","publishedAt":"2026-11-19T11:40:56Z","ref":9},` +
	`{"id":"992","name":"A story","ref":9},{"id":"993","name":"A story","ref":9},{"id":"994","name":"A story","ref":9},` +
	`{"id":"995","name":"A story","ref":9},{"id":"996","name":"A story","ref":9}],` +
	`"releases":[{"id":"ollama/v9.4.1","version":"v9.4.1","ref":10},{"id":"ollama/../x","version":"x","ref":10}],` +
	`"papers":[{"id":"2611.99501","name":"Planning with Unreliable Simulators","ref":11}],` +
	`"services":[{"id":"openai","name":"OpenAI","ref":14}],"flags":[{"id":"x","priceUsd":1,"ref":1}]}`

// archived is what their archives answer, the same as the state. The sources answered at 20:00:30 on 19 November.
func archived() map[string]string {
	const minute = 1795118400 // 20:00:00
	candle := func(at int, format string) string { return fmt.Sprintf(format, minute+at) }
	return map[string]string{
		"api.kraken.com/0/public/OHLC?pair=XBTUSD&interval=5&since=": `{"error":[],"result":{"last":1,"XXBTZUSD":[` +
			candle(-600, `[%d,"1","9","0.5","1"],`) + candle(0, `[%d,"92590","92595.0","92590.0","92591.3","92591","2.1",9],`) +
			candle(120, `[%d,"1","99999","0.5","1"]`) + `]}}`,
		"api.exchange.coinbase.com/products/BTC-USD/candles?granularity=60&start=2026-11-19T19:59:00Z&end=2026-11-19T20:01:30Z": `[` +
			candle(60, `[%d,92610,92650,92610,92640,1],`) + candle(0, `[%d,92590.10,92603.4,92600,92603.4,1],`) + candle(-120, `[%d,1,2,1,2,1]`) + `]`,
		"home.treasury.gov/resource-center/data-chart-center/interest-rates/pages/xml?data=daily_treasury_yield_curve&field_tdr_date_value=2026": `
			<feed xmlns="a" xmlns:m="b" xmlns:d="c"><entry><content><m:properties><d:NEW_DATE>2026-11-18T00:00:00</d:NEW_DATE><d:BC_2YEAR>9</d:BC_2YEAR>
			</m:properties></content></entry><entry><content><m:properties><d:NEW_DATE>2026-11-19T00:00:00</d:NEW_DATE><d:BC_3MONTH>4.10</d:BC_3MONTH>
			<d:BC_2YEAR>3.98</d:BC_2YEAR></m:properties></content></entry></feed>`,
		"markets.newyorkfed.org/api/rates/all/search.json?startDate=2026-11-18&endDate=2026-11-19": `{"refRates":[` +
			`{"effectiveDate":"2026-11-18","type":"SOFR","percentRate":9},{"effectiveDate":"2026-11-19","type":"SOFR","percentRate":4.11},` +
			`{"effectiveDate":"2026-11-18","type":"SOFRAI","average30day":4.09352}]}`,
		"api.frankfurter.dev/v1/2026-11-19..2026-11-19?base=USD": `{"base":"USD","rates":{"2026-11-19":{"EUR":0.86229,"JPY":152.26}}}`,
		"cdn.cboe.com/api/global/us_indices/daily_prices/VIX_History.csv": "\ufeffDATE,OPEN,HIGH,LOW,CLOSE\n11/18/2026,1,2,3,4\n" +
			"11/19/2026,19,19.370000,18.96,19.15\n",
		`api.bls.gov/publicAPI/v1/timeseries/data/{"seriesid":["LNS14000000"`: `{"Results":{"series":[{"seriesID":"LNS14000000","data":[` +
			`{"year":"2026","period":"M09","value":"9"},{"year":"2026","period":"M10","value":"4.4"}]},{"seriesID":"CES0500000003","data":[` +
			`{"year":"2026","period":"M10","value":"37.94"}]},{"seriesID":"JTS000000000000000JOL","data":[{"year":"2026","period":"M09","value":"7105"}]}]}}`,
		"api.fiscaldata.treasury.gov/services/api/fiscal_service/v2/accounting/od/debt_to_penny?filter=record_date:gte:2026-11-18,record_date:lte:2026-11-18": `
			{"data":[{"record_date":"2026-11-18","tot_pub_debt_out_amt":"40318274651203.44","debt_held_public_amt":"32696038939326.1"}]}`,
		"hn.algolia.com/api/v1/items/99":                          `{"title":"A  story","created_at_i":1795088456}`,
		"api.github.com/repos/ollama/ollama/releases/tags/v9.4.1": `{"tag_name":"v9.4.1"}`,
		"export.arxiv.org/api/query?max_results=100&id_list=2611.99501": "<feed><entry><id>http://arxiv.org/abs/2611.99501v2</id><title>Planning with\n  " +
			"Unreliable Simulators</title></entry></feed>",
		"www.deribit.com/api/v2/public/get_volatility_index_data?currency=BTC&resolution=60&start_timestamp=": `{"result":{"data":[` +
			candle(0, `[%d000,54,54.101,54.057,54.1]`) + `]}}`,
		"api.coingecko.com/api/v3/coins/bitcoin/market_chart/range?vs_currency=usd&from=": `{"prices":[` + candle(-300, `[%d000,92600.5],`) +
			candle(90, `[%d000,92700.1]`) + `]}`,
	}
}

// rechecks has ctx verify ask archives again for the figures of a state in a file.
func rechecks(t *testing.T, origin string, archives *recorded, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	p := newProven(t, origin, 0)
	leaf := api.LogLeaf{Brief: sumOf("brief"), GeneratedAt: fakeNow().Add(-24*time.Hour - 5*time.Minute)}
	for _, id := range strings.Fields("kraken-ticker coinbase-exchange treasury-yields nyfed-rates frankfurter-fx cboe-vix bls-indicators " +
		"fiscaldata-debt hacker-news ollama-releases arxiv deribit-dvol-btc coingecko-markets openai-status") {
		leaf.Sources = append(leaf.Sources, api.LogSource{ID: id, FetchedAt: time.Date(2026, 11, 19, 20, 0, 30, 0, time.UTC), Bodies: []string{}})
	}
	p.add(t, recheckedState, leaf)
	env := map[string]string{"CTX_BASE_URL": p.URL, "CTX_CONFIG_DIR": t.TempDir(), "HOME": t.TempDir(), "CTX_RETRIES": "0", "CTX_API_KEY": goodKey}
	var out, errOut bytes.Buffer
	code = client.Main(t.Context(), append([]string{"verify"}, args...), cli.System{In: strings.NewReader(""), Out: &out, Err: &errOut,
		Now: fakeNow, Archives: archives, LookupEnv: func(name string) (string, bool) { value, ok := env[name]; return value, ok }})
	return code, out.String(), errOut.String()
}

// TestRechecked has verify ask the archives of sources for the figures of a state: it tells which they tell the same, and which otherwise, and
// names what has no archive.
func TestRechecked(t *testing.T) {
	t.Parallel()
	archives := newRecorded(t, archived())
	code, stdout, stderr := rechecks(t, originOne, archives, "--recheck", "all")
	for _, want := range []string{"Proven.", "Of the state of 2026-11-19 20:01:00 UTC, the archives of its sources tell 26 figures, and 26 of them the same. " +
		"That is their word of now, which they may have revised; it does not show what they answered the service.",
		"asked     kraken-ticker, by api.kraken.com: 1 of 1 the same\n", "asked     treasury-yields, by home.treasury.gov: 2 of 2 the same\n",
		"asked     bls-indicators, by api.bls.gov: 3 of 3 the same\n",
		"hacker-news, by hn.algolia.com: 6 of 6 the same; 1 figure not asked for\n", "asked     nyfed-rates, by markets.newyorkfed.org: 2 of 2 the same\n", "ollama-releases, by api.github.com: 1 of 1 the same; 1 figure not asked for\n",
		"not asked no archive, or no figure of it in the state: openai-status\n", "That it is true is not proven."} {
		if code != cli.ExitOK || !strings.Contains(stdout, want) {
			t.Errorf("exit %d, no %q\n%s%s", code, want, stdout, stderr)
		}
	}
	if len(archives.asked) != 17 || slices.ContainsFunc(archives.asked, func(a string) bool { return strings.HasPrefix(a, "POST") != strings.Contains(a, "bls") }) {
		t.Errorf("they are asked %d times: %q", len(archives.asked), archives.asked)
	}
	for what, c := range map[string]struct {
		source   string
		old, new string // in what its archive answers
		want     string
	}{
		"a price below":          {"kraken-ticker", `"92590.0"`, `"92591.4"`, "top_movers[0].venues[0].priceUsd of bitcoin is 92591.3, and the archive has 92591.4 to 92595"},
		"a price of the bound":   {"kraken-ticker", `"92590.0"`, `"92591.34"`, "1 of 1 the same"},
		"a price above":          {"coinbase-exchange", `92603.4,92600`, `92603.3,92600`, "1 of 1 the same"}, // the next minute has it
		"no candle near":         {"coinbase-exchange", `[1795118`, `[1795117`, "0 of 0 the same; it has nothing of that moment"},
		"candles of other kinds": {"coinbase-exchange", `[1795118400,`, `[1795118400],[1,`, "it answers with other candles"},
		"an infinite price":      {"kraken-ticker", `"92595.0"`, `"Inf"`, "it has nothing of that moment"},
		"what it has against it": {"kraken-ticker", `"error":[]`, `"error":["EGeneral:Too many requests"]`, "0 of 0 the same; EGeneral:Too many requests"},
		"another price":          {"coingecko-markets", `92700.1`, `92617`, "priceUsd of bitcoin is 92617.1, and the archive has 92600.5 to 92617\n"},
		"another index":          {"deribit-dvol-btc", `54.057`, `54.066`, "dvolPct of BTC is 54.06, and the archive has 54.07 to 54.1\n"},
		"another yield":          {"treasury-yields", `4.10`, `4.11`, "yields[1].yieldPct of 3m is 4.1, and the archive has 4.11\n"},
		"another rate":           {"nyfed-rates", `4.11}`, `4.12}`, "rates[0].ratePct of SOFR is 4.11, and the archive has 4.12\n"},
		"another average":        {"nyfed-rates", `4.09352`, `4.09356`, "is 4.0935, and the archive has 4.0936\n"},
		"another day":            {"nyfed-rates", `"2026-11-19"`, `"2026-11-20"`, "1 of 1 the same; it has nothing of that moment"},
		"another fixing":         {"frankfurter-fx", `0.86229`, `0.86222`, "fx[0].rate of EURUSD is 1.1597, and the archive has 1.1598\n"},
		"no fixing":              {"frankfurter-fx", `"EUR"`, `"USD"`, "1 of 1 the same; it has nothing of that moment"},
		"another close":          {"cboe-vix", `19.15`, `19.16`, "volatility[0].level of VIX is 19.15, and the archive has 19.16\n"},
		"other columns":          {"cboe-vix", `CLOSE`, `SETTLE`, "2 of 2 the same; it has nothing of that moment"},
		"a revision":             {"bls-indicators", `"37.94"`, `"37.95"`, "indicators[1].hourlyUsd of wages is 37.94, and the archive has 37.95\n"},
		"another debt":           {"fiscaldata-debt", `1203.44`, `1204.44`, "debt[0].debtUsd of us-debt is 40318274651203, and the archive has 40318274651204\n"},
		"another title":          {"hacker-news", `A  story`, `A tale`, "stories[0].name of 991 is A story, and the archive has A tale\n"},
		"another time":           {"hacker-news", `8456}`, `8457}`, "is 2026-11-19T11:40:56Z, and the archive has 2026-11-19T11:40:57Z\n"},
		"another paper":          {"arxiv", `2611.99501v2`, `2611.99502v2`, "0 of 0 the same; it has nothing of that moment"},
		"another tag":            {"ollama-releases", `"v9.4.1"`, `"v9.4.2"`, "releases[0].version of ollama/v9.4.1 is v9.4.1, and the archive has v9.4.2\n"},
		"no JSON":                {"bls-indicators", `{"Results"`, `<html>`, "0 of 0 the same; invalid character '<'"},
		"a refusal":              {"hacker-news", "", "429", "0 of 0 the same; it answers HTTP 429\n"},
		"all are gone":           {"hacker-news", "", "404", "0 of 0 the same; it answers HTTP 404, 1 figure not asked for\n"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			changed := archived()
			for begin, answer := range changed {
				if c.old == "" {
					changed[begin] = c.new
				} else {
					changed[begin] = strings.ReplaceAll(answer, c.old, c.new)
				}
			}
			archives := newRecorded(t, changed)
			code, stdout, stderr := rechecks(t, originOne, archives, "--recheck", c.source)
			if (c.new == "429") != (len(archives.asked) == 1) && c.old == "" {
				t.Errorf("after a refusal it asks %q", archives.asked)
			}
			if code != cli.ExitOK || !strings.Contains(stdout, c.want) || !strings.Contains(stdout, "asked     "+c.source+", by ") {
				t.Errorf("exit %d, no %q\n%s%s", code, c.want, stdout, stderr)
			}
		})
	}
	for what, c := range map[string]struct {
		origin string
		args   []string
		code   int
		want   string
	}{
		"a demo":         {"contextd-demo/1/crypto", []string{"--recheck", "all"}, cli.ExitUsage, "whose market is synthetic"},
		"no source":      {originOne, []string{"--recheck", "other"}, cli.ExitUsage, `the state has no source "other"`},
		"with --since":   {originOne, []string{"--recheck", "all", "--since", "1h"}, cli.ExitUsage, "since"},
		"with a new log": {originOne, []string{"--recheck", "all", "--accept-new-log"}, cli.ExitUsage, "accept-new-log"},
		"as JSON":        {originOne, []string{"--recheck", "cboe-vix", "-o", "json"}, cli.ExitOK, `"archive":"cdn.cboe.com","figures":3,"answered":3,"same":3`},
	} {
		archives := newRecorded(t, archived())
		code, stdout, stderr := rechecks(t, c.origin, archives, c.args...)
		said := strings.Join(strings.Fields(strings.ReplaceAll(stdout, `": `, `":`)), " ")
		if code != c.code || !strings.Contains(strings.ReplaceAll(said+stderr, ", \"", ",\""), c.want) || c.code != cli.ExitOK && len(archives.asked) > 0 {
			t.Errorf("%s: exit %d, no %q\n%s%s", what, code, c.want, stdout, stderr)
		}
	}
}
