package api

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// CryptoState is the state of the crypto pack. Amounts in USD are whole dollars, percents have two decimals, prices six
// significant digits; what is unknown is null, never 0. Every row names its source by Ref, and the ID of a row is unique
// within its member and group and stable from state to state. Stale rows are carried: the source's last attempt failed, or is too long
// ago.
type CryptoState struct {
	TopMovers     []Mover        `json:"top_movers"`
	ProtocolTVL   []ProtocolTVL  `json:"protocol_tvl"`
	TrendingPools []TrendingPool `json:"trending_pools"`
	Sentiment     Sentiment      `json:"sentiment"`
	Narratives    []Narrative    `json:"narratives"`
	Flags         []Flag         `json:"flags"`
	SourceStatus  []SourceStatus `json:"source_status"`
}

// ReadCrypto reads the state of the crypto pack. It reports false for other packs and other shapes.
func ReadCrypto(pack string, state json.RawMessage) (*CryptoState, bool) {
	s := new(CryptoState)
	return s, pack == PackCrypto && json.Unmarshal(state, s) == nil && (len(s.TopMovers) > 0 || len(s.SourceStatus) > 0)
}

// Groups of Mover and ProtocolTVL rows.
const (
	GroupMajor  = "major"
	GroupGainer = "gainer"
	GroupLoser  = "loser"
	GroupTop    = "top"
	GroupMover  = "mover"
	GroupChain  = "chain"
)

// Mover is a coin: one of the majors, or one that moved most in 24 hours. Venues are the last prices of a major at exchanges,
// beside the source of the row.
type Mover struct {
	Group        string   `json:"group"`
	ID           string   `json:"id"`
	Symbol       string   `json:"symbol"`
	Name         string   `json:"name"`
	PriceUSD     *float64 `json:"priceUsd"`
	Change1hPct  *float64 `json:"change1hPct"`
	Change24hPct *float64 `json:"change24hPct"`
	Change7dPct  *float64 `json:"change7dPct"`
	MarketCapUSD *int64   `json:"marketCapUsd"`
	Volume24hUSD *int64   `json:"volume24hUsd"`
	Rank         *int     `json:"rank"`
	Venues       []Quote  `json:"venues,omitempty"`
	Ref          int      `json:"ref"`
	Of           string   `json:"of,omitempty"` // as in LookupRow
	Stale        bool     `json:"stale,omitempty"`
}

// Quote is the price of a major at one exchange.
type Quote struct {
	PriceUSD *float64 `json:"priceUsd"`
	Ref      int      `json:"ref"`
	Stale    bool     `json:"stale,omitempty"`
}

// ProtocolTVL is the value locked in a protocol or on a chain. Chain rows have neither Chains nor TopChain.
type ProtocolTVL struct {
	Group       string   `json:"group"`
	ID          string   `json:"id"`
	Name        string   `json:"name"`
	Category    string   `json:"category"`
	Chains      int      `json:"chains,omitempty"`
	TopChain    string   `json:"topChain,omitempty"`
	TVLUSD      *int64   `json:"tvlUsd"`
	Change1dPct *float64 `json:"change1dPct"`
	Change7dPct *float64 `json:"change7dPct"`
	Ref         int      `json:"ref"`
	Stale       bool     `json:"stale,omitempty"`
}

// Risks of a TrendingPool.
const (
	RiskLowLiquidity = "low_liquidity"
	RiskNewPool      = "new_pool"
	RiskExtremeMove  = "extreme_move"
	RiskHighTurnover = "high_turnover"
)

// TrendingPool is a trending liquidity pool, in the order of its source.
type TrendingPool struct {
	Position     int      `json:"position"`
	ID           string   `json:"id"`
	Pair         string   `json:"pair"`
	Network      string   `json:"network"`
	Dex          string   `json:"dex"`
	PriceUSD     *float64 `json:"priceUsd"`
	Change1hPct  *float64 `json:"change1hPct"`
	Change24hPct *float64 `json:"change24hPct"`
	Volume24hUSD *int64   `json:"volume24hUsd"`
	LiquidityUSD *int64   `json:"liquidityUsd"`
	Txns24h      *int64   `json:"txns24h"`
	AgeHours     *int64   `json:"ageHours"`
	Risk         []string `json:"risk"`
	Ref          int      `json:"ref"`
	Stale        bool     `json:"stale,omitempty"`
}

// Sentiment gathers the market-wide readings. A part whose source has nothing usable is null.
type Sentiment struct {
	FearGreed   *FearGreed   `json:"fearGreed"`
	Market      *Market      `json:"market"`
	Breadth     *Breadth     `json:"breadth"`
	Stablecoins *Stablecoins `json:"stablecoins"`
	Fees        *Fees        `json:"fees"`
	Gas         *Gas         `json:"gas"`
	Predictions []Prediction `json:"predictions"`
}

// FearGreed is the Crypto Fear & Greed Index, 0 to 100.
type FearGreed struct {
	Value        int        `json:"value"`
	Label        string     `json:"label"`
	PreviousDay  *int       `json:"previousDay"`
	WeekAgo      *int       `json:"weekAgo"`
	NextUpdateAt *time.Time `json:"nextUpdateAt"`
	Ref          int        `json:"ref"`
	Of           string     `json:"of,omitempty"`
	Stale        bool       `json:"stale,omitempty"`
}

// Market is the whole market in numbers.
type Market struct {
	TotalMarketCapUSD *int64   `json:"totalMarketCapUsd"`
	Change24hPct      *float64 `json:"change24hPct"`
	Volume24hUSD      *int64   `json:"volume24hUsd"`
	BTCDominancePct   *float64 `json:"btcDominancePct"`
	ETHDominancePct   *float64 `json:"ethDominancePct"`
	Ref               int      `json:"ref"`
	Of                string   `json:"of,omitempty"`
	Stale             bool     `json:"stale,omitempty"`
}

// Breadth counts the large coins that rose and that fell in 24 hours, stablecoins left out.
type Breadth struct {
	Advancing    int      `json:"advancing"`
	Declining    int      `json:"declining"`
	AdvancingPct *float64 `json:"advancingPct"`
	Ref          int      `json:"ref"`
	Stale        bool     `json:"stale,omitempty"`
}

// Stablecoins is the supply of the USD-pegged stablecoins.
type Stablecoins struct {
	SupplyUSD   *int64   `json:"supplyUsd"`
	Change1dPct *float64 `json:"change1dPct"`
	Ref         int      `json:"ref"`
	Stale       bool     `json:"stale,omitempty"`
}

// Fees is the Bitcoin fee for inclusion in the next block, in satoshis per virtual byte.
type Fees struct {
	BTCFastestSatVb *float64 `json:"btcFastestSatVb"`
	Ref             int      `json:"ref"`
	Stale           bool     `json:"stale,omitempty"`
}

// Gas is the price of gas on Ethereum, in gwei.
type Gas struct {
	ETHAverageGwei *float64 `json:"ethAverageGwei"`
	ETHFastGwei    *float64 `json:"ethFastGwei"`
	ETHSlowGwei    *float64 `json:"ethSlowGwei"`
	Ref            int      `json:"ref"`
	Of             string   `json:"of,omitempty"`
	Stale          bool     `json:"stale,omitempty"`
}

// Prediction is a prediction market: its question and the probability of an outcome, 0 to 1.
type Prediction struct {
	ID           string     `json:"id"`
	Question     string     `json:"question"`
	Outcome      string     `json:"outcome,omitempty"` // the one that Probability is of; yes where it is absent
	Probability  *float64   `json:"probability"`
	Volume24hUSD *int64     `json:"volume24hUsd"`
	EndsAt       *time.Time `json:"endsAt,omitempty"`
	URL          string     `json:"url,omitempty"`
	Ref          int        `json:"ref"`
	Stale        bool       `json:"stale,omitempty"`
}

// Says returns the outcome of Probability, "yes" where Outcome is empty.
func (p Prediction) Says() string {
	if p.Outcome == "" || strings.EqualFold(p.Outcome, "yes") {
		return "yes"
	}
	return p.Outcome
}

// Directions of a Narrative.
const (
	DirectionUp   = "up"
	DirectionDown = "down"
	DirectionFlat = "flat"
)

// Narrative is a theme the market talks about. Score is 0 to 1.
type Narrative struct {
	ID              string     `json:"id"`
	Name            string     `json:"name"`
	Score           float64    `json:"score"`
	Direction       string     `json:"direction"`
	MarketCapUSD    *int64     `json:"marketCapUsd"`
	Change24hPct    *float64   `json:"change24hPct"`
	TrendingSymbols []string   `json:"trendingSymbols"`
	Headlines       []Headline `json:"headlines"`
	Ref             int        `json:"ref"`
	Stale           bool       `json:"stale,omitempty"`
}

// Headline is a news title with a link. Sources are the anchors of all publishers with the story.
type Headline struct {
	Title       string    `json:"title"`
	URL         string    `json:"url"`
	PublishedAt time.Time `json:"publishedAt"`
	Ref         int       `json:"ref"`
	Sources     []int     `json:"sources"`
	Stale       bool      `json:"stale,omitempty"`
}

// Severity ranks flags.
type Severity string

// The severities, gravest first.
const (
	SeverityCritical Severity = "critical"
	SeverityWarning  Severity = "warning"
	SeverityNotice   Severity = "notice"
)

// Severities returns the severities, lowest first.
func Severities() []Severity { return []Severity{SeverityNotice, SeverityWarning, SeverityCritical} }

// Rank orders severities: 1 for a notice, more for graver ones, 0 for an unknown severity.
func (s Severity) Rank() int { return slices.Index(Severities(), s) + 1 }

// Kinds of flags.
const (
	FlagDepeg          = "stablecoin_depeg"
	FlagPriceMove      = "price_move"
	FlagFastMove       = "fast_move" // of a price within an hour
	FlagTVLDrop        = "tvl_drop"
	FlagExploit        = "exploit_reported"
	FlagSentiment      = "sentiment_extreme"
	FlagDivergence     = "price_divergence"
	FlagFeeSpike       = "fee_spike"
	FlagGasSpike       = "gas_spike"
	FlagSuspiciousName = "suspicious_name" // a name or headline of a source reads as an instruction
	FlagSourceStale    = "source_stale"
	FlagSourceError    = "source_error"
	FlagSourceEnding   = "source_ending" // it answers, and has announced that it will not for ever
)

// AboutSource reports whether flags of a kind are about a source, and not about what it says.
func AboutSource(kind string) bool {
	return kind == FlagSourceStale || kind == FlagSourceError || kind == FlagSourceEnding
}

// FlagKinds are the kinds of flags.
func FlagKinds() []string {
	return []string{
		FlagDepeg, FlagPriceMove, FlagFastMove, FlagTVLDrop, FlagExploit, FlagSentiment, FlagDivergence, FlagFeeSpike, FlagGasSpike,
		FlagSuspiciousName, FlagSourceStale, FlagSourceError, FlagSourceEnding,
	}
}

// Flag is an event that readers must not miss. Its ID stays the same from Since, when it was raised, until it ends. A flag raised again
// within an hour keeps its Since.
type Flag struct {
	ID        string     `json:"id"`
	Kind      string     `json:"kind"`
	Severity  Severity   `json:"severity"`
	Subject   string     `json:"subject"`
	Value     float64    `json:"value"`
	Threshold float64    `json:"threshold"`
	Unit      string     `json:"unit"` // pct, usd, index, sat/vB, gwei, names, failures, seconds or notices
	Since     time.Time  `json:"since"`
	EventAt   *time.Time `json:"eventAt,omitempty"` // when it happened, where that is known: the day of a loss, the time of a headline
	Message   string     `json:"message"`
	Entity    string     `json:"entity,omitempty"` // the thing of the flag, as in rows of a lookup
	Ref       int        `json:"ref"`
	Stale     bool       `json:"stale,omitempty"`
}

// SourceState is the state of a source of a pack.
type SourceState string

// The source states: the last attempt succeeded; it failed or is long ago, and the last good answer is shown; no usable data.
const (
	SourceOK    SourceState = "ok"
	SourceStale SourceState = "stale"
	SourceError SourceState = "error"
)

// SourceStatus is the health of one source. FetchedAt is the time of its last good answer, nil if there is none.
type SourceStatus struct {
	Ref               int         `json:"ref"`
	ID                string      `json:"id"`
	Status            SourceState `json:"status"`
	FetchedAt         *time.Time  `json:"fetchedAt"`
	Items             int         `json:"items"`
	Failures          int         `json:"failures"`        // attempts that failed since then
	IntervalSeconds   int         `json:"intervalSeconds"` // of its requests
	StaleAfterSeconds int         `json:"staleAfterSeconds"`
	Error             *string     `json:"error"`
	Ending            string      `json:"ending,omitempty"` // what it says of the end of its service
	Via               string      `json:"via,omitempty"`    // who answered in its place
}
