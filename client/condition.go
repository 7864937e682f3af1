package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/contextd/contextd/internal/alert"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// Kinds of events that are not of a flag.
const (
	kindPrice = "price"
	kindWhen  = "when"
)

const (
	maxConditions  = 1000            // that a filter gives for one state
	conditionsTime = 5 * time.Second // for a filter to look at one state
)

// price is a bound that the price of a coin is compared with.
type price struct {
	coin  string // its symbol, id or name
	op    string
	bound float64
}

// parsePrice reads such as "BTC < 90000".
func parsePrice(text string) (price, error) {
	parts := regexp.MustCompile(`^\s*([^\s<>=][^<>=]*?)\s*(<=|>=|<|>)\s*\$?([0-9][0-9,_]*(?:\.[0-9]+)?)\s*$`).FindStringSubmatch(text)
	if parts == nil {
		return price{}, cli.Invalid("--price %q is not like \"BTC < 90000\": a coin, one of < <= > >=, an amount of dollars", text)
	}
	bound, err := strconv.ParseFloat(strings.NewReplacer(",", "", "_", "").Replace(parts[3]), 64)
	if err != nil {
		return price{}, cli.Invalid("--price %q: %s is no amount", text, parts[3])
	}
	return price{coin: parts[1], op: parts[2], bound: bound}, nil
}

// String is p as it may be typed.
func (p price) String() string {
	return p.coin + " " + p.op + " " + strconv.FormatFloat(p.bound, 'f', -1, 64)
}

// holds reports whether a price is beyond the bound.
func (p price) holds(usd float64) bool {
	switch p.op {
	case "<":
		return usd < p.bound
	case "<=":
		return usd <= p.bound
	case ">":
		return usd > p.bound
	}
	return usd >= p.bound
}

// find finds whether p holds. A price that is not known, or old, says neither that it does nor that it does not.
func (p price) find(_ context.Context, s alert.State) ([]alert.Finding, error) {
	row, text, err := p.row(s.Doc)
	switch {
	case err != nil:
		return nil, err
	case row.PriceUSD == nil:
		return nil, fmt.Errorf("the price of %s is not known now", human.Line(row.Name))
	case row.Stale:
		return nil, fmt.Errorf("the price of %s is stale: its source does not answer now", human.Line(row.Name))
	case !p.holds(*row.PriceUSD):
		return nil, nil
	}
	return []alert.Finding{{Event: alert.Event{
		Kind: kindPrice, Subject: human.Line(row.Symbol), Value: text,
		Message: human.Line(fmt.Sprintf("%s is at %s: %s", row.Name, human.USD(*row.PriceUSD), p)),
	}}}, nil
}

// row is the row of the coin in a state, and its JSON.
func (p price) row(doc *state.Document) (row api.Mover, text json.RawMessage, err error) {
	rows, err := pricedRows(doc)
	if err != nil {
		return row, nil, fmt.Errorf("read state: %w", err)
	}
	if len(rows) == 0 {
		return row, nil, errors.New("no row of the state has a priceUsd; --when compares any field")
	}
	for _, one := range rows {
		var m api.Mover
		if err := json.Unmarshal(one, &m); err != nil {
			return row, nil, fmt.Errorf("read row: %w", err)
		}
		if !strings.EqualFold(p.coin, m.Symbol) && !strings.EqualFold(p.coin, m.ID) && !strings.EqualFold(p.coin, m.Name) {
			continue
		}
		if text != nil && m.ID != row.ID { // a coin may be in two groups
			return row, nil, fmt.Errorf("%s is both %s and %s: use the id of one of them", p.coin, human.Line(row.ID), human.Line(m.ID))
		}
		row, text = m, one
	}
	if text == nil {
		return row, nil, fmt.Errorf("%s is not among the coins of the state now", p.coin)
	}
	return row, text, nil
}

// pricedRows are the rows of a state that have a price, whichever member they are in.
func pricedRows(doc *state.Document) (list []json.RawMessage, err error) {
	for _, member := range doc.Root().Members {
		for _, row := range member.Members {
			if row.Member("priceUsd") != nil {
				list = append(list, row.Raw)
			}
		}
	}
	return list, doc.Err()
}

// when finds what a jq filter makes of the state: each result that is neither false nor null is a condition.
type when struct{ filter *cli.Filter }

func (w when) find(ctx context.Context, s alert.State) (found []alert.Finding, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, conditionsTime, errors.New("the filter takes too long"))
	defer cancel()
	for v, err := range w.filter.Results(ctx, s.Doc.Text()) {
		switch {
		case err != nil && ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case err != nil:
			return nil, err
		case v == nil || v == false:
			continue
		case len(found) == maxConditions:
			return nil, fmt.Errorf("the filter gives more than %d results", maxConditions)
		}
		f, err := condition(v)
		if err != nil {
			return nil, err
		}
		found = append(found, f)
	}
	return found, nil
}

// condition is a result of a filter that is not false. A text, and a row by its id, is a condition of its own; all else is the one of the
// filter, for what changes with each state would be told with each.
func condition(v any) (alert.Finding, error) {
	text, err := cli.ResultJSON(v)
	if err != nil {
		return alert.Finding{}, err
	}
	f := alert.Finding{Event: alert.Event{Kind: kindWhen, Value: text}}
	switch v := v.(type) {
	case string:
		f.Key, f.Subject = v, human.Line(v)
	case map[string]any:
		if id, ok := v["id"].(string); ok {
			group, _ := v["group"].(string)
			f.Key, f.Subject = group+"\x00"+id, human.Line(id)
		}
	}
	if f.Message = f.Subject; f.Message == "" {
		f.Message = human.Clip(human.Line(string(text)), maxEventValue)
	}
	return f, nil
}

// maxEventValue is how many bytes of a value a message shows.
const maxEventValue = 200
