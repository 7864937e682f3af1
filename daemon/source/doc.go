// Package source fetches outside data: one file per connector, each of which asks one upstream document, decodes it and
// keeps the rows that make sense.
//
// It owns politeness (intervals, limits per host, Retry-After, conditional requests, bounded bodies) and the judgement whether
// an answer is good. It never compacts, never stores and never decides when to fetch: daemon/pipeline does, and hands what is
// fetched to daemon/pack. Decoding is pure: bytes and a time in, a Doc out. Every text in a Doc is already clean and capped.
package source

import "time"

// Doc is what one source said, reduced to the rows and fields that packs use, at most 200 rows. A Doc is plain data that
// encoding/json writes and reads, so that it can be kept over a restart.
type Doc interface {
	// Len is the number of rows.
	Len() int
	// Shift moves every upstream time by d, for the replay of recorded data.
	Shift(d time.Duration)
}

const maxRows = 200

// Coin is a row of MarketsDoc. Percents are in percent, money in USD; nil is unknown.
type Coin struct {
	ID, Symbol, Name                                    string
	Price                                               float64
	Change1h, Change24h, Change7d, MarketCap, Volume24h *float64
	Rank                                                *int
	AsOf                                                time.Time `json:",omitzero"` // of Price
}

// MarketsDoc is coingecko-markets: coins by market cap.
type MarketsDoc struct {
	Coins []Coin
	AsOf  time.Time // the newest last_updated, never after the fetch
}

// TrendingCoin is a row of TrendingDoc.
type TrendingCoin struct {
	ID, Symbol, Name string
	Change24h        *float64
}

// TrendingDoc is coingecko-trending: what people search for, most searched first.
type TrendingDoc struct{ Coins []TrendingCoin }

// GlobalDoc is coingecko-global: the whole market in one row.
type GlobalDoc struct {
	MarketCap, Volume24h, Change24h, BTCDominance, ETHDominance *float64
	AsOf                                                        time.Time
}

// Category is a row of CategoriesDoc. TopCoins are coin ids.
type Category struct {
	ID, Name             string
	MarketCap, Change24h *float64
	TopCoins             []string
}

// CategoriesDoc is coingecko-categories.
type CategoriesDoc struct{ Categories []Category }

// Protocol is a row of ProtocolsDoc. LlamaID is the one by which other documents of DefiLlama name it, CoinID CoinGecko's of its token;
// each may be "".
type Protocol struct {
	Slug, Name, Category string
	LlamaID, CoinID      string
	TVL                  float64
	Change1d, Change7d   *float64
	Chains               int
	TopChain             string
}

// ProtocolsDoc is defillama-protocols: the largest protocols of the categories that hold users' value.
type ProtocolsDoc struct{ Protocols []Protocol }

// Chain is a row of ChainsDoc. Change1d is against what the document said a day before, nil until that is known; Change7d comes from the
// chain's own daily history, nil until that is. CoinID is CoinGecko's of its coin, "" if it has none.
type Chain struct {
	Name, CoinID       string
	TVL                float64
	Change1d, Change7d *float64
}

// ChainsDoc is defillama-chains, largest first. Hours are the values of the day before, oldest first, one an hour. HistoryAt is when the
// daily histories were last read, Histories the hashes of those that changes come from, as in Outcome.Bodies, by the name of the chain.
type ChainsDoc struct {
	Chains    []Chain
	Hours     []ChainHour `json:",omitempty"`
	HistoryAt time.Time
	Histories map[string]string `json:",omitempty"`
}

// ChainHour is what the largest chains held at a time, by our clock.
type ChainHour struct {
	At  time.Time
	TVL map[string]float64 // by name
}

// Stablecoin is a row of StablecoinsDoc. Supply and PrevDay are in units of the peg.
type Stablecoin struct {
	ID, Symbol, Name, PegType string // ID is CoinGecko's
	Price                     *float64
	Supply                    float64
	PrevDay                   *float64
}

// StablecoinsDoc is defillama-stablecoins.
type StablecoinsDoc struct{ Coins []Stablecoin }

// Hack is a row of HacksDoc. Date has the precision of a day. LlamaID is that of the protocol, "" if it is none of DefiLlama's.
type Hack struct {
	Name, Technique, LlamaID string
	Amount                   *float64 // USD
	Date                     time.Time
}

// HacksDoc is defillama-hacks, newest first.
type HacksDoc struct{ Hacks []Hack }

// Pool is a row of PoolsDoc. CoinID is CoinGecko's of the token whose price it is, known by its contract; "" if it is not listed.
type Pool struct {
	ID, Pair, Network, Dex, CoinID                   string
	Price, Change1h, Change24h, Volume24h, Liquidity *float64
	Txns24h                                          *int64
	CreatedAt                                        *time.Time
}

// PoolsDoc is geckoterminal-trending, in upstream order.
type PoolsDoc struct{ Pools []Pool }

// FearGreedDay is a row of FearGreedDoc.
type FearGreedDay struct {
	Value int
	Label string
	At    time.Time
}

// FearGreedDoc is alternativeme-fng, newest day first.
type FearGreedDoc struct {
	Days       []FearGreedDay
	NextUpdate *time.Time
}

// Headline is a row of NewsDoc.
type Headline struct {
	Title, URL  string
	PublishedAt time.Time
}

// NewsDoc is one publisher's feed, newest first.
type NewsDoc struct{ Items []Headline }

// Prediction is a row of PredictionsDoc. Probability, 0 to 1, is that of Outcome: yes, or the first where that is none of them.
type Prediction struct {
	ID, Question, Outcome string
	URL                   string // of its page, "" if unknown
	Probability           float64
	Volume24h             *float64
	EndsAt                *time.Time
}

// PredictionsDoc is polymarket-crypto, most traded first.
type PredictionsDoc struct{ Markets []Prediction }

// Ticker is a row of TickerDoc. CoinID is CoinGecko's id of the base coin; prices are in USD.
type Ticker struct {
	CoinID string
	Price  float64
}

// TickerDoc is kraken-ticker. It has no 24-hour change: upstream's open is that of the UTC day.
type TickerDoc struct{ Pairs []Ticker }

// ExchangeCoin is a row of ExchangeDoc. Change24h is measured against the price of 24 hours ago.
type ExchangeCoin struct {
	CoinID    string
	Price     float64
	Change24h *float64
}

// ExchangeDoc is coinbase-exchange, the fallback for the majors.
type ExchangeDoc struct{ Coins []ExchangeCoin }

// FeesDoc is mempool-fees, in sat/vB.
type FeesDoc struct{ Fastest, HalfHour, Hour, Economy, Minimum *float64 }

// GasDoc is blockscout-gas, in gwei. AsOf is when upstream made the prices.
type GasDoc struct {
	Slow, Average, Fast *float64
	AsOf                time.Time
}

// Time is when upstream made the prices, zero if it did not say.
func (d *MarketsDoc) Time() time.Time { return d.AsOf }

// Time is when upstream made the figures, zero if it did not say.
func (d *GlobalDoc) Time() time.Time { return d.AsOf }

// Time is when upstream made the prices, zero if it did not say.
func (d *GasDoc) Time() time.Time { return d.AsOf }
