package source

import "time"

// Len is the number of coins.
func (d *MarketsDoc) Len() int { return len(d.Coins) }

// Shift moves the times of prices.
func (d *MarketsDoc) Shift(by time.Duration) {
	d.AsOf = shifted(d.AsOf, by)
	for i := range d.Coins {
		d.Coins[i].AsOf = shifted(d.Coins[i].AsOf, by)
	}
}

// Len is the number of coins.
func (d *TrendingDoc) Len() int { return len(d.Coins) }

// Shift does nothing: no time of the document is kept.
func (d *TrendingDoc) Shift(time.Duration) {}

// Len is 1: the document is one row.
func (d *GlobalDoc) Len() int { return 1 }

// Shift moves AsOf.
func (d *GlobalDoc) Shift(by time.Duration) { d.AsOf = shifted(d.AsOf, by) }

// Len is the number of categories.
func (d *CategoriesDoc) Len() int { return len(d.Categories) }

// Shift does nothing: no time of the document is kept.
func (d *CategoriesDoc) Shift(time.Duration) {}

// Len is the number of protocols.
func (d *ProtocolsDoc) Len() int { return len(d.Protocols) }

// Shift does nothing: no time of the document is kept.
func (d *ProtocolsDoc) Shift(time.Duration) {}

// Len is the number of chains.
func (d *ChainsDoc) Len() int { return len(d.Chains) }

// Shift does nothing: Hours and HistoryAt are our own times.
func (d *ChainsDoc) Shift(time.Duration) {}

// Len is the number of coins.
func (d *StablecoinsDoc) Len() int { return len(d.Coins) }

// Shift does nothing: no time of the document is kept.
func (d *StablecoinsDoc) Shift(time.Duration) {}

// Len is the number of hacks.
func (d *HacksDoc) Len() int { return len(d.Hacks) }

// Shift moves the dates by the nearest number of whole days, so that they stay at midnight.
func (d *HacksDoc) Shift(by time.Duration) {
	for i := range d.Hacks {
		d.Hacks[i].Date = shifted(d.Hacks[i].Date, by.Round(24*time.Hour))
	}
}

// Len is the number of pools.
func (d *PoolsDoc) Len() int { return len(d.Pools) }

// Shift moves the times of creation.
func (d *PoolsDoc) Shift(by time.Duration) {
	for i := range d.Pools {
		shiftPointer(d.Pools[i].CreatedAt, by)
	}
}

// Len is the number of days.
func (d *FearGreedDoc) Len() int { return len(d.Days) }

// Shift moves the days and the next update.
func (d *FearGreedDoc) Shift(by time.Duration) {
	for i := range d.Days {
		d.Days[i].At = shifted(d.Days[i].At, by)
	}
	shiftPointer(d.NextUpdate, by)
}

// Len is the number of headlines.
func (d *NewsDoc) Len() int { return len(d.Items) }

// Shift moves the times of publication.
func (d *NewsDoc) Shift(by time.Duration) {
	for i := range d.Items {
		d.Items[i].PublishedAt = shifted(d.Items[i].PublishedAt, by)
	}
}

// Len is the number of markets.
func (d *PredictionsDoc) Len() int { return len(d.Markets) }

// Shift moves the times at which markets end.
func (d *PredictionsDoc) Shift(by time.Duration) {
	for i := range d.Markets {
		shiftPointer(d.Markets[i].EndsAt, by)
	}
}

// Len is the number of pairs.
func (d *TickerDoc) Len() int { return len(d.Pairs) }

// Shift does nothing: no time of the document is kept.
func (d *TickerDoc) Shift(time.Duration) {}

// Len is the number of coins.
func (d *ExchangeDoc) Len() int { return len(d.Coins) }

// Shift does nothing: no time of the document is kept.
func (d *ExchangeDoc) Shift(time.Duration) {}

// Len is 1: the document is one row.
func (d *FeesDoc) Len() int { return 1 }

// Shift does nothing: no time of the document is kept.
func (d *FeesDoc) Shift(time.Duration) {}

// Len is 1: the document is one row.
func (d *GasDoc) Len() int { return 1 }

// Shift moves AsOf.
func (d *GasDoc) Shift(by time.Duration) { d.AsOf = shifted(d.AsOf, by) }

// shifted moves t by d; an unknown time stays unknown.
func shifted(t time.Time, d time.Duration) time.Time {
	if t.IsZero() {
		return t
	}
	return t.Add(d)
}

// shiftPointer moves what t points to, if anything.
func shiftPointer(t *time.Time, d time.Duration) {
	if t != nil {
		*t = t.Add(d)
	}
}
