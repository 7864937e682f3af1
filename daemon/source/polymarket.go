package source

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/contextd/contextd/internal/human"
)

// Polymarket is polymarket-crypto: what traders think will happen.
func Polymarket() Connector {
	c := Connector{ID: "polymarket-crypto", Interval: 10 * time.Minute, StaleAfter: 15 * time.Minute, Use: usePolymarket()}
	return document(c, "https://gamma-api.polymarket.com/events/keyset?active=true&closed=false&order=volume24hr&ascending=false"+
		"&limit=20&tag_slug=crypto", decodePredictions)
}

// eventRow is a row as upstream writes it: a topic with one or more markets.
type eventRow struct {
	Slug    identifier
	Markets []marketOfEvent
}

// marketOfEvent is a question. Its outcomes and their prices are JSON lists inside strings.
type marketOfEvent struct {
	ID, Question, EndDate   string
	Outcomes, OutcomePrices string
	Closed                  bool
	Volume24h               number `json:"volume24hr"`
}

// prediction is the most traded open market of an event: its other markets are variants of the same question.
func (r eventRow) prediction() (p Prediction, id string, wanted bool) {
	for _, m := range r.Markets {
		candidate, ok := m.prediction()
		if ok && (p.ID == "" || candidate.traded() > p.traded()) {
			p = candidate
		}
	}
	if r.Slug != "" && p.ID != "" {
		p.URL = "https://polymarket.com/event/" + string(r.Slug)
	}
	return p, p.ID, true
}

// traded is the volume of p, less than every other if unknown.
func (p Prediction) traded() float64 {
	if p.Volume24h == nil {
		return -1
	}
	return *p.Volume24h
}

func (m marketOfEvent) prediction() (p Prediction, ok bool) {
	outcome, probability, ok := m.probability()
	p = Prediction{
		ID:          human.Label(m.ID, capID),
		Question:    human.Label(m.Question, CapHeadline),
		Outcome:     human.Label(outcome, CapName),
		Probability: probability,
		Volume24h:   m.Volume24h.Amount(),
	}
	if t, err := time.Parse(time.RFC3339, m.EndDate); err == nil {
		t = t.UTC()
		p.EndsAt = &t
	}
	return p, ok && !m.Closed && p.ID != "" && p.Question != "" && p.Outcome != ""
}

// probability is the price of "Yes", or of the first outcome of a market without one, and which it is.
func (m marketOfEvent) probability() (outcome string, p float64, ok bool) {
	var outcomes []string
	var prices []number
	if json.Unmarshal([]byte(m.Outcomes), &outcomes) != nil || json.Unmarshal([]byte(m.OutcomePrices), &prices) != nil {
		return "", 0, false
	}
	yes := max(0, slices.IndexFunc(outcomes, func(o string) bool { return strings.EqualFold(o, "yes") }))
	if yes >= min(len(prices), len(outcomes)) {
		return "", 0, false
	}
	price := prices[yes].Amount()
	if price == nil || *price > 1 {
		return "", 0, false
	}
	return outcomes[yes], *price, true
}

// decodePredictions reads a page of events, or the list of them that upstream had before.
func decodePredictions(body io.Reader, _ time.Time) (*PredictionsDoc, int, error) {
	text, err := io.ReadAll(body)
	if err != nil {
		return nil, 0, err
	}
	var page struct{ Events []json.RawMessage }
	var kept []Prediction
	var dropped int
	if list := bytes.TrimSpace(bytes.TrimPrefix(text, []byte("\uFEFF"))); len(list) > 0 && list[0] == '[' {
		kept, dropped, err = decodeRows(bytes.NewReader(list), eventRow.prediction)
	} else if err = decodeObject(bytes.NewReader(text), &page); err == nil {
		kept, dropped, err = convertRows(page.Events, eventRow.prediction)
	}
	slices.SortStableFunc(kept, func(a, b Prediction) int { return cmp.Compare(b.traded(), a.traded()) })
	return &PredictionsDoc{Markets: capRows(kept)}, dropped, err
}
