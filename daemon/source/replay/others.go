package replay

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// others answers for the sources of the packs beside crypto: the shapes of the first recorded tick, with numbers that wander with the
// clock, and coins that stand where the Market has them. What it says of a time is always the same, so nothing of it has to be kept.
type others struct {
	cfg    LivingConfig
	zero   time.Time          // of the first recorded tick, on upstream's clock
	begun  time.Time          // the same moment on ours
	first  time.Time          // when the first incident begins, on ours
	pages  map[string][3]page // by tick, by key less its times
	market *Market
	coins  map[string]string // ids of the Market's coins, by symbol
}

var timeIn = regexp.MustCompile(`\d{4}-\d\d-\d\d|\d{13}`)

func timeless(method string, u *url.URL, body string) string {
	return timeIn.ReplaceAllLiteralString(key(method, u, body), "")
}

// newOthers returns what is recorded of all packs but the Market's.
func newOthers(cfg LivingConfig, market *Market, begun, first time.Time) (*others, error) {
	o := &others{cfg: cfg, begun: begun, first: first, market: market, pages: map[string][3]page{}, coins: map[string]string{}}
	all, err := readManifests()
	if err != nil {
		return nil, err
	}
	o.zero = all.Ticks[0]
	for _, p := range all.Entries {
		u, err := url.Parse(p.URL)
		if err != nil {
			return nil, fmt.Errorf("read URL of a recorded page: %w", err)
		}
		of := o.pages[timeless(p.Method, u, p.Body)]
		of[p.Tick-1] = p
		o.pages[timeless(p.Method, u, p.Body)] = of
	}
	for _, row := range list(market.base.doc("coins_markets.json")) {
		symbol := strings.ToUpper(text(obj(row)["symbol"]))
		if o.coins[symbol] == "" {
			o.coins[symbol] = text(obj(row)["id"])
		}
	}
	return o, nil
}

// RoundTrip implements http.RoundTripper.
func (o *others) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	body, err := bodyOf(req)
	if err != nil {
		return nil, err
	}
	pages, known := o.pages[timeless(req.Method, req.URL, body)]
	if !known {
		return response(req, http.StatusNotFound, nil), nil
	}
	said, err := o.outlook(o.cfg.Now()).body(pages)
	if err != nil {
		return nil, err
	}
	resp := response(req, http.StatusOK, said)
	resp.Header.Set("Content-Type", pages[0].Headers["Content-Type"])
	return resp, nil
}

// outlook is how things stand at a time.
type outlook struct {
	*others
	at      time.Time // on our clock, in whole seconds as upstream's times are
	up      time.Time // on upstream's
	number  int       // of the incident
	trouble float64   // how much of it there is, from 0 to 1
}

func (o *others) outlook(now time.Time) *outlook {
	now = now.Truncate(time.Second)
	v := &outlook{others: o, at: now, up: o.zero.Add(now.Sub(o.begun.Truncate(time.Second)))}
	if since := now.Sub(o.first); since >= 0 {
		v.number, since = int(since/betweenIncidents), since%betweenIncidents
		v.trouble = max(0, min(1, since.Minutes()/growing.Minutes(), (lasting-since).Minutes()/passing.Minutes()))
	}
	return v
}

// drift is how far a number has wandered in a time, as a logarithm or a share: about size of a day, and the less the shorter the time.
func (o *others) drift(name string, size float64, at time.Time) float64 {
	const day = 24 * time.Hour
	sum, named := 0.0, hash(name)
	for period := day; period >= 30*time.Second; period /= 3 {
		x := float64(at.UnixMilli()) / float64(period.Milliseconds())
		i := math.Floor(x)
		point := func(i float64) float64 {
			return rand.New(rand.NewPCG(o.cfg.Seed^named, uint64(int64(i))*31+uint64(period))).NormFloat64()
		}
		before := point(i)
		sum += 0.6 * math.Sqrt(period.Hours()/24) * (before + (point(i+1)-before)*(x-i))
	}
	return size * sum
}

// factor is what drift has made of a number.
func (v *outlook) factor(name string, size float64) float64 {
	return math.Exp(v.drift(name, size, v.at))
}

// coin is the factor of a coin's first price, and its change of the day in percent: the Market's where that has it.
func (v *outlook) coin(symbol string) (factor, day float64) {
	if id := v.coins[symbol]; id != "" {
		v.market.mu.Lock()
		defer v.market.mu.Unlock()
		s := &scene{m: v.market, moment: v.market.moments[len(v.market.moments)-1], tick: v.market.tick()}
		st := s.standing(id)
		return st.factor, st.day
	}
	now, was := v.drift(symbol, 0.05, v.at), v.drift(symbol, 0.05, v.at.Add(-24*time.Hour))
	return math.Exp(now), (math.Exp(now-was) - 1) * 100
}

// body is what a page says: its first recorded tick with what moves in it.
func (v *outlook) body(pages [3]page) ([]byte, error) {
	p := pages[0]
	if p.SourceID == "openai-status" && v.trouble > 0.3 {
		p = pages[1]
	}
	said, err := recorded.ReadFile(path.Join("recorded", p.File))
	if err != nil {
		return nil, fmt.Errorf("read recorded payload: %w", err)
	}
	if edit := v.texts()[p.SourceID]; edit != nil {
		return []byte(edit(string(said))), nil
	}
	edit := v.documents()[p.SourceID]
	if edit == nil {
		return said, nil
	}
	var doc any
	if err := json.Unmarshal(said, &doc); err != nil {
		return nil, fmt.Errorf("decode %s: %w", p.File, err)
	}
	return encode(edit(doc))
}

// documents are what moves in JSON, by source. All others stay as they were recorded: they are told once a day or less often.
func (v *outlook) documents() map[string]func(any) any {
	return map[string]func(any) any{
		"hyperliquid-contexts":    v.contexts,
		"hyperliquid-fundings":    v.fundings,
		"deribit-dvol-btc":        func(doc any) any { return v.volatility(doc, "BTC") },
		"deribit-dvol-eth":        func(doc any) any { return v.volatility(doc, "ETH") },
		"deribit-options-btc":     func(doc any) any { return v.options(doc, "BTC") },
		"deribit-options-eth":     func(doc any) any { return v.options(doc, "ETH") },
		"defillama-open-interest": v.openInterest,
		"openrouter-models":       v.models,
		"huggingface-models":      v.trendingModels,
		"huggingface-papers":      v.papers,
		"hacker-news":             v.stories,
	}
}

// texts are what moves in what is no JSON, or where only times do.
func (v *outlook) texts() map[string]func(string) string {
	return map[string]func(string) string{
		"treasury-yields": v.yields,
		"frankfurter-fx":  v.exchange,
		"cboe-vix":        v.vix,
		"nyfed-rates":     v.reference,
		"fiscaldata-debt": v.debt,
		"fed-press":       func(feed string) string { return v.ringFeed(feed, "item", 5*time.Hour) },
		"sec-filings":     func(feed string) string { return v.ringFeed(feed, "entry", 17*time.Minute) },
		"openai-status": func(doc string) string {
			return strings.ReplaceAll(doc, "2026-11-20T20:02:30.000Z", v.incidentAt().Format(isoMilli))
		},
	}
}

// incidentAt is when the newest incident began, on upstream's clock.
func (v *outlook) incidentAt() time.Time {
	return v.up.Add(v.first.Add(time.Duration(v.number) * betweenIncidents).Sub(v.at)).Truncate(time.Second)
}

// ages are how long the n items of a source have been out, each of which comes back as the newest one when it has become the oldest.
func (v *outlook) ages(n int, gap time.Duration) []time.Duration {
	list := make([]time.Duration, n)
	for i := range list {
		early := gap * time.Duration(hash(strconv.Itoa(i))%500) / 1000
		list[i] = (v.up.Sub(v.zero) + time.Duration(i)*gap + early).Truncate(time.Second) % (time.Duration(n) * gap)
	}
	return list
}

// byAge are the places of items, the newest first.
func byAge(ages []time.Duration) []int {
	places := make([]int, len(ages))
	for i := range places {
		places[i] = i
	}
	slices.SortFunc(places, func(a, b int) int { return int(ages[a] - ages[b]) })
	return places
}

var updatedIn = regexp.MustCompile(`<updated>[^<]*</updated>`)

// ringFeed gives the items of a feed the times of ages.
func (v *outlook) ringFeed(feed, element string, gap time.Duration) string {
	items := strings.SplitAfter(feed, "</"+element+">")
	head, first, _ := strings.Cut(items[0], "<"+element+">")
	tail := items[len(items)-1]
	items = items[:len(items)-1]
	items[0] = "<" + element + ">" + first
	ages := v.ages(len(items), gap)
	var b strings.Builder
	b.WriteString(head)
	for _, i := range byAge(ages) {
		at := v.up.Add(-ages[i])
		item := dateOf.ReplaceAllLiteralString(items[i], "<pubDate>"+at.Format("Mon, 02 Jan 2006 15:04:05 GMT")+"</pubDate>")
		b.WriteString(updatedIn.ReplaceAllLiteralString(item, "<updated>"+at.Format(time.RFC3339)+"</updated>"))
	}
	return b.String() + tail
}
