package source

import (
	"context"
	"io"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/contextd/contextd/internal/human"
)

// BlockscoutGas is blockscout-gas: what a transaction on Ethereum pays for its gas, by two public nodes that agree. Its id is that of who
// answered at first, and stands in for them now: Blockscout has announced the end of this interface.
func BlockscoutGas() Connector {
	c := Connector{ID: "blockscout-gas", Interval: 5 * time.Minute, StaleAfter: 15 * time.Minute, fresh: gasFresh, Use: useGas()}
	blockscout := document(c, blockscoutStats, decodeGas)
	c.New = blockscout.New
	c.read = readNodes
	for _, url := range gasNodes() {
		c.Asks = append(c.Asks, Ask{URL: url})
	}
	readStats := func(ctx context.Context, a *attempt, _ Doc) (Doc, int, error) {
		doc, dropped, err := blockscout.read(ctx, a, nil)
		if err == nil {
			err = gasFresh(doc, a.Now)
		}
		return doc, dropped, err
	}
	c.Fallbacks = []Fallback{{Via: "Blockscout", Asks: blockscout.Asks, Use: useGas(), read: readStats}}
	return c
}

const blockscoutStats = "https://eth.blockscout.com/api/v2/stats"

// gasNodes answer without a key. Two of them are asked, and the third where these do not agree.
func gasNodes() []string {
	return []string{"https://ethereum-rpc.publicnode.com", "https://eth.drpc.org", "https://1rpc.io/eth"}
}

// feeHistory asks for the base fee of the next block, and what slow, usual and fast transactions of the last five paid above theirs.
const feeHistory = `{"jsonrpc":"2.0","id":1,"method":"eth_feeHistory","params":["0x5","latest",[10,50,90]]}`

// gasAgrees is how far apart the usual prices of two nodes may be: the base fee changes by an eighth from block to block at the most.
const gasAgrees = 0.25

// readNodes returns what two nodes agree on.
func readNodes(ctx context.Context, a *attempt, _ Doc) (Doc, int, error) {
	ask := &declaration{Declared{Method: http.MethodPost, Body: []byte(feeHistory)}}
	var said []*GasDoc
	var failure error
	for _, url := range gasNodes() {
		var doc *GasDoc
		err := a.Get(ctx, request{URL: url, declared: ask}, func(body io.Reader) (err error) {
			doc, err = decodeFeeHistory(body, a.At)
			return err
		})
		if err != nil {
			failure = err
			continue
		}
		for _, other := range said {
			if math.Abs(*doc.Average-*other.Average) <= gasAgrees*max(*doc.Average, *other.Average) {
				return other, 0, nil
			}
		}
		said = append(said, doc)
	}
	if failure == nil || len(said) > 1 {
		failure = fail(ClassBadContent, "no two nodes agree")
	}
	return nil, 0, failure
}

// decodeFeeHistory decodes the answer of a node. Of what transactions paid above the base fee the middle of the blocks counts.
func decodeFeeHistory(body io.Reader, at time.Time) (*GasDoc, error) {
	var in struct {
		Error  *struct{ Message string }
		Result struct {
			BaseFees []string   `json:"baseFeePerGas"`
			Rewards  [][]string `json:"reward"`
		}
	}
	if err := decodeObject(body, &in); err != nil {
		return nil, err
	}
	if in.Error != nil {
		return nil, fail(ClassBadContent, "HTTP 200 with error %s", human.Label(in.Error.Message, CapName))
	}
	if len(in.Result.BaseFees) == 0 {
		return nil, fail(ClassEmpty, "no base fee")
	}
	base, known := wei(in.Result.BaseFees[len(in.Result.BaseFees)-1])
	if !known {
		return nil, fail(ClassBadContent, "a base fee that is no number")
	}
	price := func(percentile int) *float64 {
		var tips []float64
		for _, block := range in.Result.Rewards {
			if percentile < len(block) {
				if tip, known := wei(block[percentile]); known {
					tips = append(tips, tip)
				}
			}
		}
		if len(tips) == 0 {
			return nil
		}
		slices.Sort(tips)
		gwei := (base + tips[len(tips)/2]) / 1e9
		if gwei > maxGas {
			return nil
		}
		return &gwei
	}
	doc := &GasDoc{Slow: price(0), Average: price(1), Fast: price(2), AsOf: at.UTC()}
	if doc.Average == nil {
		return nil, fail(ClassEmpty, "no gas price")
	}
	return doc, nil
}

// wei is a quantity as nodes write it.
func wei(text string) (x float64, known bool) {
	n, err := strconv.ParseUint(strings.TrimPrefix(text, "0x"), 16, 64)
	return float64(n), err == nil && strings.HasPrefix(text, "0x")
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
