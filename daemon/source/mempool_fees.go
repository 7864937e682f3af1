package source

import (
	"io"
	"time"
)

// MempoolFees is mempool-fees: what a Bitcoin transaction costs.
func MempoolFees() Connector {
	c := Connector{ID: "mempool-fees", Interval: 5 * time.Minute, StaleAfter: 15 * time.Minute, Use: useMempool()}
	return document(c, "https://mempool.space/api/v1/fees/recommended", decodeFees)
}

func decodeFees(body io.Reader, _ time.Time) (*FeesDoc, int, error) {
	var in struct{ FastestFee, HalfHourFee, HourFee, EconomyFee, MinimumFee number }
	if err := decodeObject(body, &in); err != nil {
		return nil, 0, err
	}
	doc := &FeesDoc{
		Fastest:  in.FastestFee.Amount(),
		HalfHour: in.HalfHourFee.Amount(),
		Hour:     in.HourFee.Amount(),
		Economy:  in.EconomyFee.Amount(),
		Minimum:  in.MinimumFee.Amount(),
	}
	if doc.Fastest == nil {
		return nil, 0, fail(ClassEmpty, "no fee")
	}
	return doc, 0, nil
}
