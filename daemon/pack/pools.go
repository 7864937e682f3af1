package pack

import (
	"math"
	"time"

	"github.com/contextd/contextd/daemon/source"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk/api"
)

// maxPools is how many trending pools are shown.
const maxPools = 12

// Bounds from which a pool bears a mark of risk.
const (
	lowLiquidity = 100e3 // USD
	newPool      = 24    // hours
	extremeMove  = 100   // percent in 24 hours, either way
	highTurnover = 20    // volume of 24 hours per liquidity
)

// pools is the pools that trend, in the order of their source.
func (v *view) pools() []api.TrendingPool {
	rows := []api.TrendingPool{}
	doc := lastGood[*source.PoolsDoc](v, refPools)
	if doc == nil {
		return rows
	}
	all := distinct(doc.Pools, func(p source.Pool) string { return p.ID })
	for i, p := range all[:min(len(all), maxPools)] {
		row := api.TrendingPool{
			Position: i + 1, ID: p.ID, Pair: p.Pair, Network: p.Network, Dex: p.Dex, PriceUSD: human.RoundPrice(p.Price),
			Change1hPct: human.RoundPercent(p.Change1h), Change24hPct: human.RoundPercent(p.Change24h),
			Volume24hUSD: human.RoundWhole(p.Volume24h), LiquidityUSD: human.RoundWhole(p.Liquidity), Txns24h: p.Txns24h, Ref: refPools,
		}
		if p.CreatedAt != nil { // whole hours, rounded down: a pool under 24 hours never reads 24
			hours := int64(max(0, v.in.Now.Sub(*p.CreatedAt)) / time.Hour)
			row.AgeHours = &hours
		}
		row.Risk = risks(row)
		rows = append(rows, row)
	}
	return rows
}

// risks lists the marks of a row. An unknown liquidity counts as low; of anything else that is unknown nothing follows.
func risks(row api.TrendingPool) []string {
	marks := []string{}
	if row.LiquidityUSD == nil || *row.LiquidityUSD < lowLiquidity {
		marks = append(marks, api.RiskLowLiquidity)
	}
	if row.AgeHours != nil && *row.AgeHours < newPool {
		marks = append(marks, api.RiskNewPool)
	}
	if row.Change24hPct != nil && math.Abs(*row.Change24hPct) >= extremeMove {
		marks = append(marks, api.RiskExtremeMove)
	}
	if volume, liquidity := row.Volume24hUSD, row.LiquidityUSD; volume != nil && liquidity != nil && *volume > 0 &&
		float64(*volume) >= highTurnover*float64(*liquidity) {
		marks = append(marks, api.RiskHighTurnover)
	}
	return marks
}
