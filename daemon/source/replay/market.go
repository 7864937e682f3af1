package replay

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
)

// keptTicks is how many of the newest ticks a Market can still tell the payloads of: over a day of five-minute ticks.
const keptTicks = 400

// MarketConfig is what a Market needs.
type MarketConfig struct {
	Seed   uint64
	Start  time.Time        // of the first tick, on upstream's clock; zero is that of the first recording
	Every  time.Duration    // of upstream's time from tick to tick; 0 is five minutes
	Now    func() time.Time // the clock that Shift works against; nil is time.Now
	Events []Event          // what happens beside the ordinary course of things
}

// Market answers in the shapes of the first recorded tick with values that move on with every tick. The same seed gives the same payloads.
//
// Prices wander by a volatility of their own, together with Bitcoin's and back towards where they began; locked value, volumes, sentiment
// and headlines go with them. Events are planted on top. It knows what each payload of each tick says, so that reading them another
// way can be held against it. It is safe for concurrent use.
type Market struct {
	cfg  MarketConfig
	base *base

	mu       sync.Mutex // guards the rest
	first    int        // tick of moments[0]
	moments  []*moment
	trail    []trace           // of the newest days, oldest first
	payloads map[string][]byte // by key, payloads of the newest tick that are made already
}

var _ http.RoundTripper = (*Market)(nil)

// base is what a Market begins with: recorded pages, and what in them moves.
type base struct {
	pages  map[string]page // by key, of the first tick
	docs   map[string]any  // decoded JSON by file
	feeds  [3]feedShape
	things []thing
	place  map[string]int // in things, by id

	recorded time.Time
}

// NewMarket returns a Market at its first tick.
func NewMarket(cfg MarketConfig) (*Market, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Every == 0 {
		cfg.Every = 5 * time.Minute
	}
	manifest, err := readManifest(crypto)
	if err != nil {
		return nil, err
	}
	if cfg.Start.IsZero() {
		cfg.Start = manifest.Ticks[0]
	}
	m := &Market{cfg: cfg, payloads: map[string][]byte{}}
	m.base = &base{pages: map[string]page{}, docs: map[string]any{}, place: map[string]int{}, recorded: manifest.Ticks[0]}
	for _, p := range manifest.Entries {
		if p.Tick == 1 {
			if err := m.base.add(p); err != nil {
				return nil, err
			}
		}
	}
	m.base.findThings()
	m.moments = []*moment{m.firstMoment()}
	m.leaveTrail()
	return m, nil
}

func (b *base) add(p page) error {
	u, err := url.Parse(p.URL)
	if err != nil {
		return fmt.Errorf("read URL of a recorded page: %w", err)
	}
	text, err := recorded.ReadFile(path.Join("recorded", p.File))
	if err != nil {
		return fmt.Errorf("read recorded payload: %w", err)
	}
	b.pages[key(p.Method, u, p.Body)] = p
	if i := slices.Index(publishers(), sourceOf(u)); i >= 0 {
		b.feeds[i], err = readFeed(string(text))
		return err
	}
	var doc any
	if err := json.Unmarshal(text, &doc); err != nil {
		return fmt.Errorf("decode %s: %w", p.File, err)
	}
	b.docs[p.File] = doc
	return nil
}

// Tick is the current tick, the first of which is 0.
func (m *Market) Tick() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.tick()
}

func (m *Market) tick() int { return m.first + len(m.moments) - 1 }

// Advance moves to the next tick.
func (m *Market) Advance() { m.moveTo(m.At(m.Tick()).Add(m.cfg.Every)) }

// moveTo moves to the next tick, which is at a time.
func (m *Market) moveTo(at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.moments = append(m.moments, m.next(m.moments[len(m.moments)-1], at.Truncate(time.Second)))
	if drop := len(m.moments) - keptTicks; drop > 0 {
		m.first += drop
		m.moments = slices.Delete(m.moments, 0, drop)
	}
	m.leaveTrail()
	clear(m.payloads)
}

func (m *Market) plan(events ...Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.cfg.Events = slices.DeleteFunc(m.cfg.Events, func(e Event) bool { return e.Kind != Hack && e.Until < m.first })
	m.cfg.Events = append(m.cfg.Events, events...)
}

// At is when a tick is, on upstream's clock.
func (m *Market) At(tick int) time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.at(tick)
}

func (m *Market) at(tick int) time.Time {
	if m.first <= tick && tick <= m.tick() {
		return m.moments[tick-m.first].at
	}
	return m.cfg.Start.Add(time.Duration(tick) * m.cfg.Every)
}

// Shift is the time from the current tick to now, in whole seconds as upstream times are.
func (m *Market) Shift(string) time.Duration {
	return m.cfg.Now().Sub(m.At(m.Tick())).Truncate(time.Second)
}

// Pages are the URLs that a Market answers, sorted.
func (m *Market) Pages() []string {
	var list []string
	for _, p := range m.base.pages {
		list = append(list, p.URL)
	}
	slices.Sort(list)
	return list
}

// has reports whether a Market answers req.
func (m *Market) has(req *http.Request) bool {
	_, known := m.base.pages[key(req.Method, req.URL, "")]
	return known || toNode(req)
}

// tells reports whether a source reads pages of a Market.
func (m *Market) tells(source string) bool {
	return slices.ContainsFunc(m.Pages(), func(page string) bool { return SourceOf(page) == source })
}

// Payload is what upstream says under address at a tick, also while an event keeps it from answering.
func (m *Market) Payload(tick int, address string) ([]byte, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("read address: %w", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	name := key(http.MethodGet, u, "")
	p, known := m.base.pages[name]
	if !known {
		return nil, fmt.Errorf("no page %s", address)
	}
	return m.payload(tick, name, p, u)
}

// payload makes the payload of a page at a tick. The caller holds mu.
func (m *Market) payload(tick int, name string, p page, u *url.URL) ([]byte, error) {
	newest := tick == m.tick()
	if text, made := m.payloads[name]; made && newest {
		return text, nil
	}
	if tick < m.first || tick > m.tick() {
		return nil, fmt.Errorf("tick %d is not among the %d kept", tick, len(m.moments))
	}
	s := &scene{m: m, moment: m.moments[tick-m.first], tick: tick, doc: m.base.docs[p.File]}
	source := sourceOf(u)
	var text []byte
	var err error
	if i := slices.Index(publishers(), source); i >= 0 {
		text = s.feed(i)
	} else {
		text, err = encode(s.page(source, u.Path))
	}
	if newest && err == nil {
		m.payloads[name] = text
	}
	return text, err
}

func encode(doc any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(doc); err != nil {
		return nil, fmt.Errorf("encode payload: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// page is the document of a source under a path.
func (s *scene) page(source, address string) any {
	switch last := path.Base(address); {
	case source == "coinbase-exchange":
		return s.coinbase(path.Base(path.Dir(address)))
	case source == "defillama-chains" && last != "chains":
		return s.history(last)
	}
	return map[string]func() any{
		"coingecko-markets":      s.markets,
		"coingecko-trending":     s.trending,
		"coingecko-global":       s.global,
		"coingecko-categories":   s.categories,
		"defillama-protocols":    s.protocols,
		"defillama-stablecoins":  s.stablecoins,
		"defillama-hacks":        s.hacks,
		"geckoterminal-trending": s.pools,
		"alternativeme-fng":      s.fearGreed,
		"polymarket-crypto":      s.odds,
		"kraken-ticker":          s.kraken,
		"mempool-fees":           s.fees,
		"blockscout-gas":         s.gas,
		"defillama-chains":       s.chains,
	}[source]()
}

// RoundTrip answers req with the payload of the current tick, 404 if there is none, or as an event has it.
func (m *Market) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	if toNode(req) {
		return askNode(req, m.RoundTrip)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	name := key(req.Method, req.URL, "")
	p, known := m.base.pages[name]
	if !known {
		return response(req, http.StatusNotFound, nil), nil
	}
	tick, source := m.tick(), sourceOf(req.URL)
	if e := m.event(Outage, source, tick); e != nil {
		return brokenAs(req, int(hash(source)%3))
	}
	if e := m.event(Frozen, source, tick); e != nil {
		tick = max(e.From-1, m.first)
	}
	text, err := m.payload(tick, name, p, req.URL)
	if err != nil {
		return nil, err
	}
	resp := response(req, p.Status, text)
	for name, value := range p.Headers {
		if name != "ETag" {
			resp.Header.Set(name, value)
		}
	}
	return resp, nil
}

// brokenAs is how a dead source answers, in one of three ways.
func brokenAs(req *http.Request, way int) (*http.Response, error) {
	switch way {
	case 0:
		return refuse(req)
	case 1:
		return response(req, http.StatusServiceUnavailable, []byte("upstream connect error")), nil
	}
	return response(req, http.StatusOK, []byte("<html><body>Checking your browser</body></html>")), nil
}

func publishers() []string { return []string{"news-coindesk", "news-cointelegraph", "news-decrypt"} }

// SourceOf is the id of the source that reads a page of a Market.
func SourceOf(page string) string {
	u, err := url.Parse(page)
	if err != nil {
		return ""
	}
	return sourceOf(u)
}

// sourceOf is SourceOf for an address that is read already.
func sourceOf(u *url.URL) string {
	last := path.Base(u.Path)
	switch u.Host {
	case "api.coingecko.com":
		return "coingecko-" + last
	case "api.llama.fi":
		if last == "protocols" || last == "hacks" {
			return "defillama-" + last
		}
		return "defillama-chains"
	case "stablecoins.llama.fi":
		return "defillama-stablecoins"
	case "api.geckoterminal.com":
		return "geckoterminal-trending"
	case "api.alternative.me":
		return "alternativeme-fng"
	case "api.kraken.com":
		return "kraken-ticker"
	case "mempool.space":
		return "mempool-fees"
	case "eth.blockscout.com":
		return "blockscout-gas"
	case "gamma-api.polymarket.com":
		return "polymarket-crypto"
	case "api.exchange.coinbase.com":
		return "coinbase-exchange"
	}
	host := strings.TrimPrefix(u.Host, "www.")
	name, _, _ := strings.Cut(host, ".")
	return "news-" + name
}

// hash is a number of a text, the same in every run.
func hash(text string) uint64 {
	h := fnv.New64a()
	_, _ = io.WriteString(h, text) // never fails
	return h.Sum64()
}

func (m *Market) random(purpose string, tick int) *rand.Rand {
	return rand.New(rand.NewPCG(m.cfg.Seed, hash(purpose)+uint64(tick)))
}

type object = map[string]any

// with is o with other values of some members, by name and value in turn.
func with(o object, pairs ...any) object {
	o = maps.Clone(o)
	for i := 0; i < len(pairs); i += 2 {
		o[pairs[i].(string)] = pairs[i+1]
	}
	return o
}

func obj(v any) object { o, _ := v.(object); return o }

func list(v any) []any { l, _ := v.([]any); return l }

func num(v any) float64 { x, _ := v.(float64); return x }

func text(v any) string { s, _ := v.(string); return s }
