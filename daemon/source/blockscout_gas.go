package source

import (
	"io"
	"time"
)

// BlockscoutGas is blockscout-gas: what a transaction on Ethereum pays for its gas.
func BlockscoutGas() Connector {
	c := Connector{ID: "blockscout-gas", Interval: 5 * time.Minute, StaleAfter: 15 * time.Minute, fresh: gasFresh}
	return document(c, "https://eth.blockscout.com/api/v2/stats", decodeGas)
}

const (
	maxGas    = 1e6       // gwei; beyond, no transaction could be paid
	maxGasAge = time.Hour // of the prices; upstream makes new ones every minute, so older ones are frozen
)

// gas is a price in gwei, nil if unknown.
func gas(n number) *float64 {
	if x := n.Amount(); x != nil && *x <= maxGas {
		return x
	}
	return nil
}

func decodeGas(body io.Reader, at time.Time) (*GasDoc, int, error) {
	var in struct {
		Prices    struct{ Slow, Average, Fast number } `json:"gas_prices"`
		UpdatedAt string                               `json:"gas_price_updated_at"`
	}
	if err := decodeObject(body, &in); err != nil {
		return nil, 0, err
	}
	doc := &GasDoc{Slow: gas(in.Prices.Slow), Average: gas(in.Prices.Average), Fast: gas(in.Prices.Fast)}
	if doc.Average == nil {
		return nil, 0, fail(ClassEmpty, "no gas price")
	}
	if t, err := time.Parse(time.RFC3339, in.UpdatedAt); err == nil {
		doc.AsOf = clampTime(t.UTC(), at)
	}
	return doc, 0, nil
}

// gasFresh fails if the prices are old. A document without their time cannot tell.
func gasFresh(doc Doc, at time.Time) error {
	asOf := doc.(*GasDoc).AsOf
	if age := at.Sub(asOf); !asOf.IsZero() && age > maxGasAge {
		return fail(ClassStale, "the gas prices are %d minutes old", int(age.Minutes()))
	}
	return nil
}
